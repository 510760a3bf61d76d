/* SPDX-License-Identifier: Apache-2.0 */
/* Headers of line tables: files and directories. */
#include "test_dwarf_line.h"

/* Returns "comp|dir|name" of a file, "-" for an absent part, "none" for no file. */
static const char *file_of(const struct reading *r, uint64_t file)
{
	static char text[128];
	struct ux_code_path p;
	if (!ux_dwarf_lines_file(&r->lines, file, &p))
		return "none";
	snprintf(text, sizeof(text), "%s|%s|%s", p.comp_dir ? p.comp_dir : "-", p.dir ? p.dir : "-",
		 p.name);
	return text;
}

static void files_before_version_5_count_from_one(void **state)
{
	(void)state;
	static const char *const dirs[] = {"inc", "/abs", NULL};
	static const char *const files[] = {"a.c", "b.h", "c.h", "/d.h", "e.h", NULL};
	static const uint8_t file_dirs[] = {0, 1, 2, 1, 9};
	for (uint16_t version = 2; version <= 4; version++) {
		MODULE(m, r);
		make_user_at(&m, (struct make_unit){.version = 4}, 0);
		make_lines_begin(&m, (struct make_lines){.version = version});
		make_lines_files(&m, dirs, files, file_dirs);
		make_lines_program(&m);
		assert_string_equal(rows_of(&m, &r, UX_OK), "");
		assert_string_equal(file_of(&r, 0), "none");
		assert_string_equal(file_of(&r, 1), "/src|-|a.c");
		assert_string_equal(file_of(&r, 2), "/src|inc|b.h");
		assert_string_equal(file_of(&r, 3), "/src|/abs|c.h");
		assert_string_equal(file_of(&r, 4), "/src|inc|/d.h");
		assert_string_equal(file_of(&r, 5), "/src|-|e.h"); /* no such directory */
		assert_string_equal(file_of(&r, 6), "none");
		assert_string_equal(file_of(&r, UINT64_MAX), "none");
	}
}

static void files_of_version_5_count_from_zero(void **state)
{
	(void)state;
	static const char *const dirs[] = {"/comp", "inc", "", NULL};
	static const char *const files[] = {"a.c", "b.h", "c.h", NULL};
	static const uint8_t file_dirs[] = {0, 1, 2};
	MODULE(m, r);
	make_user_at(&m, (struct make_unit){0}, 0);
	make_lines_begin(&m, (struct make_lines){0});
	make_lines_files(&m, dirs, files, file_dirs);
	make_lines_program(&m);
	assert_string_equal(rows_of(&m, &r, UX_OK), "");
	assert_string_equal(file_of(&r, 0), "-|/comp|a.c");
	assert_string_equal(file_of(&r, 1), "/src|inc|b.h");
	assert_string_equal(file_of(&r, 2), "/src||c.h");
	assert_string_equal(file_of(&r, 3), "none");
}

static void file_defined_by_the_program_is_the_next_one(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_table(&m, (struct make_unit){.version = 3}, (struct make_lines){.version = 3});
	make_extended(&m, DW_LNE_define_file, UX_STR("late.c\0\0\0\0"));
	make_set_address(&m, 0x1000);
	make_set_file(&m, 2);
	make_row(&m, 0, 9);
	make_end_sequence(&m, 4);
	assert_string_equal(rows_of(&m, &r, UX_OK), "1000:10/2 | 1004");
	assert_string_equal(file_of(&r, 2), "/src|-|late.c");
}

static void unit_without_comp_dir_has_relative_files(void **state)
{
	(void)state;
	MODULE(m, r);
	MAKE_ABBREV(&m, 1, DW_TAG_compile_unit, false, {DW_AT_stmt_list, DW_FORM_sec_offset});
	make_table_end(&m);
	make_unit_begin(&m, (struct make_unit){.version = 4});
	MAKE_DIE(&m, 1, N(0));
	make_unit_end(&m);
	make_lines_begin(&m, (struct make_lines){.version = 4});
	make_lines_files(&m, no_dirs, one_file, dir_zero);
	make_lines_program(&m);
	assert_string_equal(rows_of(&m, &r, UX_OK), "");
	assert_string_equal(file_of(&r, 1), "-|-|a.c");
}

/* A version 5 table with these bytes for directories and files. */
static void make_raw_tables(struct make_dwarf *m, struct ux_bytes tables)
{
	make_user_at(m, (struct make_unit){0}, 0);
	make_lines_begin(m, (struct make_lines){0});
	ux_out_put(&m->out[UX_DWARF_LINE], tables.data, tables.size);
	make_lines_program(m);
}

static void entries_of_any_form_and_content_are_read(void **state)
{
	(void)state;
	MODULE(m, r);
	make_text(&m, UX_DWARF_LINE_STR, "/comp");
	make_text(&m, UX_DWARF_STR, "s.c");
	make_table_begin(&m, UX_DWARF_STR_OFFSETS, 4, 0);
	make_offset(&m, UX_DWARF_STR_OFFSETS, 0);
	make_table_length(&m, UX_DWARF_STR_OFFSETS);
	/* dir: line_strp. files: MD5 data16, path strx1, a vendor's block, size data4, dir data2 */
	make_raw_tables(&m, UX_STR("\x01\x01\x1f\x01\0\0\0\0"
				   "\x05\x05\x1e\x01\x25\x80\x40\x09\x04\x06\x02\x05"
				   "\x01"
				   "0123456789abcdef\0\3xyz\0\0\0\1\0\0"));
	assert_string_equal(rows_of(&m, &r, UX_OK), "");
	assert_string_equal(file_of(&r, 0), "-|/comp|s.c");
}

static void tables_without_entries_or_formats_are_empty(void **state)
{
	(void)state;
	static const struct ux_bytes tables[] = {
		{(const uint8_t *)"\0\0\0\0", 4},
		{(const uint8_t *)"\1\1\x08\0\1\1\x08\0", 8},
	};
	for (size_t i = 0; i < 2; i++) {
		MODULE(m, r);
		make_raw_tables(&m, tables[i]);
		make_set_address(&m, 0x1000);
		make_row(&m, 0, 9);
		make_end_sequence(&m, 4);
		assert_string_equal(rows_of(&m, &r, UX_OK), "1000:10 | 1004");
		assert_string_equal(file_of(&r, 1), "none");
	}
}

static void file_without_a_path_is_none(void **state)
{
	(void)state;
	MODULE(m, r);
	/* a file that has only a directory, and one whose path is a number */
	make_raw_tables(&m, UX_STR("\0\0\1\2\x0b\1\7"));
	assert_string_equal(rows_of(&m, &r, UX_OK), "");
	assert_string_equal(file_of(&r, 0), "none");
	MODULE(m2, r2);
	make_raw_tables(&m2, UX_STR("\0\0\1\1\x0b\1\7"));
	assert_string_equal(rows_of(&m2, &r2, UX_OK), "");
	assert_string_equal(file_of(&r2, 0), "none");
}

static void tables_that_promise_more_than_there_is_are_corrupt(void **state)
{
	(void)state;
	static const struct ux_bytes tables[] = {
		{(const uint8_t *)"\0\x05\0\0", 4},             /* entries without formats */
		{(const uint8_t *)"\1\1\x19\x05\0\0", 6},       /* entries of no bytes */
		{(const uint8_t *)"\2\1\x19\2\x0b\1\0\0\0", 9}, /* a form of none */
		{(const uint8_t *)"\1\1\x08\x05"
				  "a\0b\0",
		 8},                                      /* fewer than counted */
		{(const uint8_t *)"\1\1\x7e\1\0\0\0", 7}, /* an unknown form */
		{(const uint8_t *)"\xff\1\x08", 3},       /* formats cut */
	};
	for (size_t i = 0; i < ux_countof(tables); i++) {
		MODULE(m, r);
		make_raw_tables(&m, tables[i]);
		assert_string_equal(rows_of(&m, &r, UX_ECORRUPT), "");
		assert_string_equal(r.err.section, ".debug_line");
	}
}

static void header_that_makes_no_sense_is_corrupt(void **state)
{
	(void)state;
	static const struct {
		size_t at;
		uint64_t value;
		unsigned size;
	} damage[] = {
		{0, 0xfffffff5, 4},             /* a reserved length */
		{0, 0xffffff, 4},               /* past the section */
		{8, 0xffff, 4},                 /* header length */
		{8, 3, 4},          {13, 0, 1}, /* max_ops */
		{16, 0, 1},                     /* line_range */
		{17, 0, 1},                     /* opcode_base */
	};
	for (size_t i = 0; i < ux_countof(damage); i++) {
		MODULE(m, r);
		begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
		make_lines_end(&m);
		make_patch(&m, UX_DWARF_LINE, damage[i].at, damage[i].value, damage[i].size);
		reading_of(&r, &m);
		assert_string_equal(rows_of(&m, &r, UX_ECORRUPT), "");
		assert_string_equal(r.err.section, ".debug_line");
	}
}

static void table_of_another_version_is_not_read(void **state)
{
	(void)state;
	for (unsigned version = 0; version < 8; version = version == 1 ? 6 : version + 1) {
		MODULE(m, r);
		begin_table(&m, (struct make_unit){0}, (struct make_lines){0});
		make_lines_end(&m);
		make_patch(&m, UX_DWARF_LINE, 4, version, 2);
		reading_of(&r, &m);
		assert_string_equal(rows_of(&m, &r, UX_EUNSUPPORTED), "");
		char text[64];
		snprintf(text, sizeof(text), "line table has version %u; expected 2 to 5", version);
		assert_string_equal(r.err.text, text);
		assert_string_equal(r.err.section, ".debug_line");
		assert_int_equal(r.err.off, 4);
	}
}

static void table_behind_its_section_is_corrupt(void **state)
{
	(void)state;
	MODULE(m, r);
	make_user_at(&m, (struct make_unit){0}, 1000);
	reading_of(&r, &m);
	assert_string_equal(rows_of(&m, &r, UX_ECORRUPT), "");
}

UX_SUITE(dwarf_line_file)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(files_before_version_5_count_from_one),
		UX_TEST(files_of_version_5_count_from_zero),
		UX_TEST(file_defined_by_the_program_is_the_next_one),
		UX_TEST(unit_without_comp_dir_has_relative_files),
		UX_TEST(entries_of_any_form_and_content_are_read),
		UX_TEST(tables_without_entries_or_formats_are_empty),
		UX_TEST(file_without_a_path_is_none),
		UX_TEST(tables_that_promise_more_than_there_is_are_corrupt),
		UX_TEST(header_that_makes_no_sense_is_corrupt),
		UX_TEST(table_of_another_version_is_not_read),
		UX_TEST(table_behind_its_section_is_corrupt),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
