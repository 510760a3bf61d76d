/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups at the edges of records, where LLVM's reader often finds nothing; in each version. */
#include "sweep.h"

#include "gsym_format.h"
#include "gsym_reader.h"
#include "gsym_record.h"
#include "make_gsym.h"

/* "in d/b:3 < f :0 +4": names, places, the outermost offset. "-": not found, "!": damaged. */
static const char *answer_of(struct ux_bytes file, uint64_t pc)
{
	static char text[256];
	struct ux_gsym g;
	struct ux_frame f[8];
	size_t n = 0, used = 0;
	assert_int_equal(ux_gsym_open(&g, file, NULL), UX_OK);
	enum ux_code code = ux_gsym_lookup(&g, pc, f, ux_countof(f), &n, NULL);
	if (code != UX_OK)
		return code == UX_ENOTFOUND ? "-" : "!";
	for (size_t i = 0; i < n; i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %s%s%s:%u",
					 i ? " < " : "", f[i].function, f[i].dir,
					 *f[i].dir ? "/" : "", f[i].base, f[i].line);
	snprintf(text + used, sizeof(text) - used, " +%u", (unsigned)f[n - 1].offset);
	return text;
}

/* Names of the files below. */
enum {
	NAME_F = 1,
	NAME_G = 3,
	NAME_IN = 5,
	DIR = 8,
	BASE = 10
};
static const char names[] = "\0f\0g\0in\0d\0b";
static struct ux_gsym_file_entry files[] = {{0, 0}, {DIR, BASE}};

static void write_functions(struct ux_out *out, unsigned version, struct ux_gsym_function *f,
			    size_t n)
{
	const struct make_gsym m = {.version = version,
				    .base = 0x1000,
				    .functions = f,
				    .n_functions = n,
				    .files = files,
				    .n_files = ux_countof(files),
				    .strings = ux_bytes(names, sizeof(names))};
	ux_out_reset(out);
	assert_int_equal(make_gsym_write(&m, out), UX_OK);
}

#define EACH_VERSION(version) for (unsigned version = 1; version <= 2; version++)

static void address_before_the_first_row_keeps_the_name(void **state)
{
	(void)state;
	const struct ux_gsym_row row = {.off = 4, .line = 9, .file = 1};
	struct ux_gsym_function f = {
		.start = 0x1000, .size = 8, .name = NAME_F, .rows = &row, .n_rows = 1};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	EACH_VERSION(version)
	{
		write_functions(&out, version, &f, 1);
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1003), "f :0 +3");
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1004), "f d/b:9 +4");
	}
}

static void row_without_a_file_keeps_its_line(void **state)
{
	(void)state;
	const struct ux_gsym_row row = {.off = 0, .line = 9, .file = 0};
	struct ux_gsym_function f = {
		.start = 0x1000, .size = 8, .name = NAME_F, .rows = &row, .n_rows = 1};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	EACH_VERSION(version)
	{
		write_functions(&out, version, &f, 1);
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1007), "f :9 +7");
	}
}

static void inlined_calls_without_a_line_table_are_frames(void **state)
{
	(void)state;
	const struct ux_gsym_range range = {2, 6};
	const struct ux_code_inline node = {
		.name = NAME_IN, .call_file = 1, .call_line = 5, .depth = 1, .range_count = 1};
	struct ux_gsym_function f = {.start = 0x1000,
				     .size = 8,
				     .name = NAME_F,
				     .inlines = &node,
				     .n_inlines = 1,
				     .ranges = &range};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	EACH_VERSION(version)
	{
		write_functions(&out, version, &f, 1);
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1001), "f :0 +1");
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1002), "in :0 < f d/b:5 +2");
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1006), "f :0 +6");
	}
}

static void a_record_that_continues_a_function_counts_from_its_start(void **state)
{
	(void)state;
	const struct ux_gsym_range range = {1, 2};
	const struct ux_code_inline node = {
		.name = NAME_IN, .call_file = 1, .call_line = 5, .depth = 1, .range_count = 1};
	struct ux_gsym_function f[] = {
		{.start = 0x1000, .size = 4, .name = NAME_F},
		{.start = 0x1004, .size = 4, .name = NAME_G},
		{.start = 0x1008,
		 .size = 4,
		 .name = NAME_F,
		 .before = 8,
		 .inlines = &node,
		 .n_inlines = 1,
		 .ranges = &range},
	};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	EACH_VERSION(version)
	{
		write_functions(&out, version, f, ux_countof(f));
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1003), "f :0 +3");
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1007), "g :0 +3");
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1008), "f :0 +8");
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1009), "in :0 < f d/b:5 +9");
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x100b), "f :0 +11");
		struct ux_gsym g;
		uint64_t start = 0, size = 0;
		assert_int_equal(ux_gsym_open(&g, ux_out_bytes(&out), NULL), UX_OK);
		assert_int_equal(ux_gsym_extent(&g, 0x1003, &start, &size, NULL), UX_OK);
		assert_true(start == 0x1000 && size == 4);
		assert_int_equal(ux_gsym_extent(&g, 0x100b, &start, &size, NULL), UX_OK);
		assert_true(start == 0x1000 && size == 12);
	}
}

static void call_without_a_file_keeps_its_frame(void **state)
{
	(void)state;
	const struct ux_gsym_range range = {2, 6};
	const struct ux_code_inline node = {
		.name = NAME_IN, .call_line = 5, .depth = 1, .range_count = 1};
	const struct ux_gsym_row row = {.off = 0, .line = 9, .file = 1};
	struct ux_gsym_function f = {.start = 0x1000,
				     .size = 8,
				     .name = NAME_F,
				     .rows = &row,
				     .n_rows = 1,
				     .inlines = &node,
				     .n_inlines = 1,
				     .ranges = &range};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	EACH_VERSION(version)
	{
		write_functions(&out, version, &f, 1);
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1002), "in d/b:9 < f :5 +2");
	}
}

static void symbol_alone_gives_its_name(void **state)
{
	(void)state;
	struct ux_gsym_function f = {.start = 0x1000, .size = 8, .name = NAME_F};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	EACH_VERSION(version)
	{
		write_functions(&out, version, &f, 1);
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1005), "f :0 +5");
	}
}

static void nothing_is_found_in_a_gap_or_outside(void **state)
{
	(void)state;
	struct ux_gsym_function f[] = {{.start = 0x1010, .size = 8, .name = NAME_F},
				       {.start = 0x1020, .size = 8, .name = NAME_G}};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	EACH_VERSION(version)
	{
		write_functions(&out, version, f, 2);
		static const uint64_t gaps[] = {0,      0xfff,  0x1000, 0x100f,
						0x1018, 0x101f, 0x1028, UINT64_MAX};
		for (size_t i = 0; i < ux_countof(gaps); i++)
			assert_string_equal(answer_of(ux_out_bytes(&out), gaps[i]), "-");
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1017), "f :0 +7");
	}
}

/* Therefore our writer splits the outer one: tail_of_an_outer_function_stays_findable. */
static void tail_behind_a_nested_record_is_not_found(void **state)
{
	(void)state;
	struct ux_gsym_function f[] = {{.start = 0x1000, .size = 0x30, .name = NAME_F},
				       {.start = 0x1010, .size = 8, .name = NAME_G}};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	EACH_VERSION(version)
	{
		write_functions(&out, version, f, 2);
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x100f), "f :0 +15");
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1017), "g :0 +7");
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1018), "-");
	}
}

static void smaller_of_one_start_wins_where_both_reach(void **state)
{
	(void)state;
	struct ux_gsym_function f[] = {{.start = 0x1000, .size = 8, .name = NAME_F},
				       {.start = 0x1000, .size = 16, .name = NAME_G}};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	EACH_VERSION(version)
	{
		write_functions(&out, version, f, 2);
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1007), "f :0 +7");
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1008), "g :0 +8");
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1010), "-");
	}
}

static void last_of_rows_at_one_address_is_used(void **state)
{
	(void)state;
	const struct ux_gsym_row rows[] = {{0, 1, 1}, {4, 2, 1}, {4, 3, 1}, {4, 4, 1}, {6, 5, 1}};
	struct ux_gsym_function f = {
		.start = 0x1000, .size = 8, .name = NAME_F, .rows = rows, .n_rows = 5};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	EACH_VERSION(version)
	{
		write_functions(&out, version, &f, 1);
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1003), "f d/b:1 +3");
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1004), "f d/b:4 +4");
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1007), "f d/b:5 +7");
	}
}

static void block_of_an_unknown_type_is_passed_over(void **state)
{
	(void)state;
	const struct ux_gsym_row row = {.off = 0, .line = 9, .file = 1};
	struct ux_gsym_function f[] = {
		{.start = 0x1000,
		 .size = 8,
		 .name = NAME_F,
		 .n_merged = 1,
		 .merged = &(uint32_t){NAME_G}},
		{.start = 0x1010, .size = 8, .name = NAME_G, .rows = &row, .n_rows = 1}};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	EACH_VERSION(version)
	{
		write_functions(&out, version, f, 2);
		struct ux_gsym g;
		assert_int_equal(ux_gsym_open(&g, ux_out_bytes(&out), NULL), UX_OK);
		size_t at = (size_t)(g.body.data - out.data) + ux_gsym_record(&g, 0);
		uint8_t *type = out.data + at + sizeof(uint32_t) + g.offset_size;
		assert_int_equal(*type, GSYM_INFO_MERGED);
		*type = 0x63;
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1001), "f :0 +1");
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1011), "g d/b:9 +1");
	}
}

static void function_without_a_name_is_damage(void **state)
{
	(void)state;
	struct ux_gsym_function f = {.start = 0x1000, .size = 8, .name = 0};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	EACH_VERSION(version)
	{
		write_functions(&out, version, &f, 1);
		assert_string_equal(answer_of(ux_out_bytes(&out), 0x1001), "!");
	}
}

/* Only version 1 can express this: in version 2 an empty section is an error. LLVM reads past the
 * table. */
static void file_without_functions_finds_nothing(void **state)
{
	(void)state;
	uint8_t file[48 + 4 + 8 + 1] = {0};
	memcpy(file, make_gsym_example, 16); /* up to the number of functions */
	file[7] = 0;
	file[20] = 60;
	file[24] = 1;
	file[48] = 1;
	assert_string_equal(answer_of(ux_bytes(file, sizeof(file)), 0x400000), "-");
	assert_string_equal(answer_of(ux_bytes(file, sizeof(file)), 0), "-");
}

static void offsets_count_from_the_calls_first_range(void **state)
{
	(void)state;
	const struct ux_gsym_range ranges[] = {{2, 4}, {6, 8}};
	const struct ux_code_inline node = {
		.name = NAME_IN, .call_line = 5, .depth = 1, .range_count = 2};
	struct ux_gsym_function f = {.start = 0x1000,
				     .size = 8,
				     .name = NAME_F,
				     .inlines = &node,
				     .n_inlines = 1,
				     .ranges = ranges};
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	EACH_VERSION(version)
	{
		struct ux_gsym g;
		struct ux_frame frames[2];
		size_t n = 0;
		write_functions(&out, version, &f, 1);
		assert_int_equal(ux_gsym_open(&g, ux_out_bytes(&out), NULL), UX_OK);
		assert_int_equal(ux_gsym_lookup(&g, 0x1007, frames, 2, &n, NULL), UX_OK);
		assert_int_equal(n, 2);
		assert_int_equal(frames[0].offset, 5);
		assert_int_equal(frames[1].offset, 7);
	}
}

/* Reads the next row opcode by opcode. */
static bool next_row_plainly(struct gsym_lines *l)
{
	for (;;) {
		uint32_t op = ux_cur_u8(&l->c);
		if (op >= GSYM_LINE_SPECIAL) {
			op -= GSYM_LINE_SPECIAL;
			l->off += op / l->range;
			l->line += (uint64_t)l->min + op % l->range;
			return true;
		}
		switch (op) {
		case GSYM_LINE_ADVANCE_LINE:
			l->line += (uint64_t)ux_cur_sleb(&l->c);
			break;
		case GSYM_LINE_SET_FILE:
			l->file = ux_cur_uleb(&l->c);
			break;
		case GSYM_LINE_ADVANCE_PC:
			l->off += ux_cur_uleb(&l->c);
			return !l->c.failed;
		default:
			return false;
		}
	}
}

static void read_rows_twice(struct ux_bytes bytes, void *ctx)
{
	size_t *rows = ctx;
	struct gsym_lines plain = gsym_lines_start(ux_cur_make(bytes, NULL, false)), l = plain;
	for (;;) {
		bool more = next_row_plainly(&plain);
		assert_int_equal(gsym_lines_next(&l), more);
		assert_int_equal(l.c.failed, plain.c.failed);
		if (!more)
			break;
		assert_int_equal(l.off, plain.off);
		assert_int_equal(l.line, plain.line);
		assert_int_equal(l.file, plain.file);
		assert_ptr_equal(l.c.pos, plain.c.pos);
		++*rows;
	}
}

/* Writes a number of one to three bytes, sometimes of ten. */
static void put_number_of_row(struct ux_out *out, uint64_t drawn, bool is_signed)
{
	uint64_t v = drawn % 16 == 0 ? drawn * 0x9e3779b97f4a7c15u : drawn >> 4;
	v = drawn % 16 == 0 ? v : v & ((UINT64_C(1) << (1 + drawn % 19)) - 1);
	if (is_signed)
		ux_out_sleb(out, drawn % 3 == 0 ? -(int64_t)(v >> 1) : (int64_t)(v >> 1));
	else
		ux_out_uleb(out, v);
}

static void rows_are_those_of_a_reader_of_opcodes(void **state)
{
	(void)state;
	size_t rows = 0;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		uint64_t drawn = seed;
		ux_out_sleb(&out, -(int64_t)(seed % 10));
		ux_out_sleb(&out, (int64_t)(seed % 7 * 50));
		ux_out_uleb(&out, seed * 100);
		for (size_t i = 0; i < 60; i++) {
			drawn = drawn * 6364136223846793005u + 1442695040888963407u;
			const uint8_t op = (uint8_t)(drawn >> 60 < 8 ? 1 + (drawn >> 33) % 3
								     : 4 + (drawn >> 33) % 252);
			ux_out_u8(&out, op);
			if (op < GSYM_LINE_SPECIAL)
				put_number_of_row(&out, drawn >> 20 & 0xfffffff,
						  op == GSYM_LINE_ADVANCE_LINE);
		}
		ux_out_u8(&out, GSYM_LINE_END);
		each_prefix(ux_out_bytes(&out), read_rows_twice, &rows);
		each_byte_extreme(ux_out_bytes(&out), read_rows_twice, &rows);
	}
	assert_true(rows > 100000);
}

UX_SUITE(gsym_lookup)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(rows_are_those_of_a_reader_of_opcodes),
		UX_TEST(address_before_the_first_row_keeps_the_name),
		UX_TEST(row_without_a_file_keeps_its_line),
		UX_TEST(inlined_calls_without_a_line_table_are_frames),
		UX_TEST(a_record_that_continues_a_function_counts_from_its_start),
		UX_TEST(call_without_a_file_keeps_its_frame),
		UX_TEST(symbol_alone_gives_its_name),
		UX_TEST(nothing_is_found_in_a_gap_or_outside),
		UX_TEST(tail_behind_a_nested_record_is_not_found),
		UX_TEST(smaller_of_one_start_wins_where_both_reach),
		UX_TEST(last_of_rows_at_one_address_is_used),
		UX_TEST(block_of_an_unknown_type_is_passed_over),
		UX_TEST(function_without_a_name_is_damage),
		UX_TEST(file_without_functions_finds_nothing),
		UX_TEST(offsets_count_from_the_calls_first_range),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
