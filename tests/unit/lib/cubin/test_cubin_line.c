/* SPDX-License-Identifier: Apache-2.0 */
/* Line tables of cubins: rows and inlined calls. */
#include "sweep.h"

#include "cubin_line.h"
#include "make_cubin.h"

static const char *const no_dirs[] = {NULL};
static const char *const dirs[] = {"/src", "/usr/include", NULL};
static const char *const files[] = {"k.cu", "math.h", NULL};
static const uint8_t dir_of[] = {1, 2};

static struct ux_cur cur(struct ux_bytes bytes)
{
	return ux_cur_make(bytes, ".debug_line", __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__);
}

/* Two sequences; in the first a call in a call. */
static void make_table(struct make_cubin *m)
{
	make_cubin_init(m, 80, false);
	make_cubin_lines_begin(m, dirs, files, dir_of);
	make_cubin_sequence(m, 1);
	make_cubin_row(m, 0, 1, 10);
	make_cubin_row(m, 0x10, 1, 12);
	make_cubin_inlined(m, 2, "outer");
	make_cubin_row(m, 0x10, 2, 400);
	make_cubin_inlined(m, 3, "inner");
	make_cubin_row(m, 0x20, 2, 7);
	make_cubin_inlined(m, 0, NULL);
	make_cubin_row(m, 0x30, 1, 13);
	make_cubin_sequence_end(m, 0x80);
	make_cubin_sequence(m, 2);
	make_cubin_row(m, 0, 1, 20);
	make_cubin_sequence_end(m, 0x40);
	make_cubin_lines_end(m);
}

static void rows_are_kept_in_the_order_of_the_program(void **state)
{
	(void)state;
	static const struct ux_cubin_row expected[] = {
		{0x00, 1, 10, 0, UX_CUBIN_NO_NAME},
		{0x10, 1, 12, 0, UX_CUBIN_NO_NAME},
		{0x10, 2, 400, 2, 0},
		{0x20, 2, 7, 3, 6},
		{0x30, 1, 13, 0, UX_CUBIN_NO_NAME},
		{0x00, 1, 20, 0, UX_CUBIN_NO_NAME},
	};
	struct make_cubin m;
	struct ux_cubin_lines lines = {0};
	make_table(&m);
	struct ux_cur c = cur(ux_out_bytes(&m.lines));
	assert_int_equal(ux_cubin_lines_read(&c, &lines, NULL), UX_OK);
	assert_false(ux_cur_more(&c));
	assert_int_equal(lines.rows.size, ux_countof(expected));
	for (size_t i = 0; i < ux_countof(expected); i++) {
		assert_int_equal(lines.rows.data[i].pc, expected[i].pc);
		assert_int_equal(lines.rows.data[i].file, expected[i].file);
		assert_int_equal(lines.rows.data[i].line, expected[i].line);
		assert_int_equal(lines.rows.data[i].context, expected[i].context);
		assert_int_equal(lines.rows.data[i].name, expected[i].name);
	}
	assert_int_equal(lines.sequences.size, 2);
	assert_int_equal(lines.sequences.data[0].hi, 0x80);
	assert_int_equal(lines.sequences.data[0].count, 5);
	assert_int_equal(lines.sequences.data[1].first, 5);
	assert_int_equal(lines.files.size, 2);
	assert_string_equal(lines.files.data[1].name, "math.h");
	assert_string_equal(lines.dirs.data[lines.files.data[1].dir - 1], "/usr/include");
	ux_cubin_lines_deinit(&lines);
	make_cubin_deinit(&m);
}

static void names_count_from_where_the_table_says(void **state)
{
	(void)state;
	struct make_cubin m;
	struct ux_cubin_lines lines = {0};
	make_table(&m);
	make_cubin_lines_begin(&m, no_dirs, files, dir_of);
	make_cubin_sequence(&m, 3);
	make_cubin_row(&m, 0, 1, 1);
	make_cubin_inlined(&m, 1, "third");
	make_cubin_row(&m, 0, 1, 2);
	make_cubin_sequence_end(&m, 0x10);
	make_cubin_lines_end(&m);
	struct ux_cur c = cur(ux_out_bytes(&m.lines));
	assert_int_equal(ux_cubin_lines_read(&c, &lines, NULL), UX_OK);
	assert_int_equal(ux_cubin_lines_read(&c, &lines, NULL), UX_OK);
	assert_false(ux_cur_more(&c));
	assert_int_equal(lines.rows.size, 2);
	assert_string_equal((const char *)m.strings.data + lines.rows.data[1].name, "third");
	ux_cubin_lines_deinit(&lines);
	make_cubin_deinit(&m);
}

static void damaged_table_keeps_whole_sequences_and_costs_no_other_table(void **state)
{
	(void)state;
	struct make_cubin m;
	struct ux_cubin_lines lines = {0};
	struct ux_error err = UX_ERROR_INIT;
	make_table(&m);
	m.lines.data[m.lines.size - 2] = 0x7f; /* length of the last opcode */
	size_t second = m.lines.size;
	make_cubin_lines_begin(&m, no_dirs, files, dir_of);
	make_cubin_lines_end(&m);
	struct ux_cur c = cur(ux_out_bytes(&m.lines));
	assert_int_equal(ux_cubin_lines_read(&c, &lines, &err), UX_ECORRUPT);
	assert_int_equal(lines.sequences.size, 1);
	assert_int_equal(lines.rows.size, 5);
	assert_int_equal(ux_cur_off(&c), second);
	assert_int_equal(ux_cubin_lines_read(&c, &lines, NULL), UX_OK);
	assert_int_equal(lines.sequences.size, 0);
	ux_cubin_lines_deinit(&lines);
	make_cubin_deinit(&m);
}

static void table_of_another_version_is_unsupported(void **state)
{
	(void)state;
	struct make_cubin m;
	struct ux_cubin_lines lines = {0};
	struct ux_error err = UX_ERROR_INIT;
	make_table(&m);
	m.lines.data[4] = 5;
	struct ux_cur c = cur(ux_out_bytes(&m.lines));
	assert_int_equal(ux_cubin_lines_read(&c, &lines, &err), UX_EUNSUPPORTED);
	assert_string_equal(err.text, "line table has version 5; expected 2 to 4");
	assert_false(ux_cur_more(&c));
	ux_cubin_lines_deinit(&lines);
	make_cubin_deinit(&m);
}

static void other_opcodes_are_stepped_over(void **state)
{
	(void)state;
	struct make_cubin m;
	struct ux_cubin_lines lines = {0};
	make_cubin_init(&m, 80, false);
	make_cubin_lines_begin(&m, no_dirs, files, dir_of);
	make_cubin_sequence(&m, 1);
	ux_out_put(&m.lines, "\x00\x02\x91\x05", 4);     /* set_function_name */
	ux_out_put(&m.lines, "\x00\x03\xee\x01\x02", 5); /* an unknown opcode */
	ux_out_put(&m.lines, "\x05\x09\x06\x07", 4);     /* column, is_stmt, basic block */
	ux_out_put(&m.lines, "\x08", 1);                 /* const_add_pc: 17 */
	ux_out_put(&m.lines, "\x09\x03\x00", 3);         /* fixed_advance_pc */
	ux_out_put(&m.lines, "\x01", 1);
	ux_out_put(&m.lines, "\x00\x07\x03new\x00\x01\x00\x00", 10); /* define_file, too short */
	make_cubin_sequence_end(&m, 0x40);
	make_cubin_lines_end(&m);
	struct ux_cur c = cur(ux_out_bytes(&m.lines));
	assert_int_equal(ux_cubin_lines_read(&c, &lines, NULL), UX_ECORRUPT);
	m.lines.data[m.lines.size - 3 - 2 - 9] = 8;
	c = cur(ux_out_bytes(&m.lines));
	assert_int_equal(ux_cubin_lines_read(&c, &lines, NULL), UX_OK);
	assert_int_equal(lines.rows.size, 1);
	assert_int_equal(lines.rows.data[0].pc, 20);
	assert_int_equal(lines.files.size, 3);
	ux_cubin_lines_deinit(&lines);
	make_cubin_deinit(&m);
}

static void read_all(struct ux_bytes input, void *ctx)
{
	struct ux_cubin_lines *lines = ctx;
	struct ux_cur c = cur(input);
	while (ux_cur_more(&c)) {
		struct ux_error err = UX_ERROR_INIT;
		enum ux_code code = ux_cubin_lines_read(&c, lines, &err);
		assert_int_equal(code, err.code);
		for (size_t i = 0; i < lines->sequences.size; i++) {
			const struct ux_cubin_sequence *s = &lines->sequences.data[i];
			assert_true(s->lo < s->hi);
			assert_true(s->first + s->count <= lines->rows.size);
		}
	}
}

static void damaged_tables_are_read_cleanly(void **state)
{
	(void)state;
	struct make_cubin m;
	struct ux_cubin_lines lines = {0};
	make_table(&m);
	each_prefix(ux_out_bytes(&m.lines), read_all, &lines);
	each_bit_flip(ux_out_bytes(&m.lines), read_all, &lines);
	each_byte_extreme(ux_out_bytes(&m.lines), read_all, &lines);
	ux_cubin_lines_deinit(&lines);
	make_cubin_deinit(&m);
}

static enum ux_code read_once(void *ctx)
{
	const struct make_cubin *m = ctx;
	ux_cleanup(ux_cubin_lines_deinit) struct ux_cubin_lines lines = {0};
	struct ux_cur c = cur(ux_out_bytes(&m->lines));
	return ux_cubin_lines_read(&c, &lines, NULL);
}

static void lack_of_memory_is_an_error(void **state)
{
	(void)state;
	struct make_cubin m;
	make_table(&m);
	assert_true(each_failed_alloc(read_once, &m, /* may_recover= */ false) > 3);
	make_cubin_deinit(&m);
}

UX_SUITE(cubin_line)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(rows_are_kept_in_the_order_of_the_program),
		UX_TEST(names_count_from_where_the_table_says),
		UX_TEST(damaged_table_keeps_whole_sequences_and_costs_no_other_table),
		UX_TEST(table_of_another_version_is_unsupported),
		UX_TEST(other_opcodes_are_stepped_over),
		UX_TEST(damaged_tables_are_read_cleanly),
		UX_TEST(lack_of_memory_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
