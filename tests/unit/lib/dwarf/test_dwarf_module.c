/* SPDX-License-Identifier: Apache-2.0 */
/* A whole module: units, names across them, ranges, lines, and damage anywhere. */
#include "test_dwarf.h"

/* A whole small module: two units, calls, ranges, lines, a name in the other unit. */
static void make_module(struct make_dwarf *m)
{
	static const char *const dirs[] = {"/comp", NULL};
	static const char *const files[] = {"a.c", "b.h", NULL};
	static const uint8_t file_dirs[] = {0, 0};
	MAKE_ABBREV(m, 1, DW_TAG_compile_unit, true, {DW_AT_language, DW_FORM_data1},
		    {DW_AT_name, DW_FORM_strp}, {DW_AT_stmt_list, DW_FORM_sec_offset},
		    {DW_AT_low_pc, DW_FORM_addr}, {DW_AT_rnglists_base, DW_FORM_sec_offset});
	MAKE_ABBREV(m, 2, DW_TAG_subprogram, true, {DW_AT_linkage_name, DW_FORM_strp},
		    {DW_AT_ranges, DW_FORM_rnglistx}, {DW_AT_sibling, DW_FORM_ref4});
	MAKE_ABBREV(m, 3, DW_TAG_inlined_subroutine, true,
		    {DW_AT_abstract_origin, DW_FORM_ref_addr}, {DW_AT_low_pc, DW_FORM_addr},
		    {DW_AT_high_pc, DW_FORM_udata}, {DW_AT_call_line, DW_FORM_data1});
	MAKE_ABBREV(m, 4, DW_TAG_variable, false, {0x02, DW_FORM_exprloc}, {0x49, DW_FORM_ref4});
	MAKE_ABBREV(m, 5, DW_TAG_subprogram, false, {DW_AT_name, DW_FORM_string});
	make_table_end(m);
	uint64_t base = make_table_begin(m, UX_DWARF_RNGLISTS, 4, 1);
	make_offset(m, UX_DWARF_RNGLISTS, 4);
	make_rle(m, DW_RLE_offset_pair, 0x10, 0x80);
	make_rle(m, DW_RLE_start_length, 0x2000, 16);
	make_rle(m, DW_RLE_end_of_list, 0, 0);
	make_table_length(m, UX_DWARF_RNGLISTS);
	make_unit_begin(m, (struct make_unit){0});
	MAKE_DIE(m, 1, N(DW_LANG_C_plus_plus), T("a.c"), N(0), N(0x1000), N(base));
	MAKE_DIE(m, 2, T("_Z1fv"), N(0), N(0));
	size_t sibling_at = m->value_at[2];
	MAKE_DIE(m, 3, N(0), N(0x1020), N(0x20), N(7));
	size_t origin_at = m->value_at[0];
	MAKE_DIE(m, 4, B("ab"), N(12));
	make_null(m);
	make_null(m);
	make_patch(m, UX_DWARF_INFO, sibling_at, make_off(m, UX_DWARF_INFO), 4);
	make_null(m);
	make_unit_end(m);
	make_unit_begin(m, (struct make_unit){0});
	MAKE_DIE(m, 1, N(DW_LANG_C), T("b.c"), N(0), N(0), N(base));
	make_patch(m, UX_DWARF_INFO, origin_at, MAKE_DIE(m, 5, T("g")), 4);
	make_null(m);
	make_unit_end(m);
	make_lines_begin(m, (struct make_lines){0});
	make_lines_files(m, dirs, files, file_dirs);
	make_lines_program(m);
	make_set_address(m, 0x1010);
	make_row(m, 0, 6);
	make_op(m, 201);
	make_end_sequence(m, 0x60);
	make_lines_end(m);
}

static void whole_module_is_read(void **state)
{
	(void)state;
	MODULE(m, r);
	make_module(&m);
	reading_of(&r, &m);
	assert_int_equal(read_code(&r), UX_OK);
	assert_int_equal(r.code.functions.size, 1);
	assert_string_equal(name_of(&r, r.code.functions.data[0].name), "_Z1fv");
	assert_int_equal(r.code.functions.data[0].range_count, 2);
	assert_int_equal(r.code.inlines.size, 1);
	assert_string_equal(name_of(&r, r.code.inlines.data[0].name), "g");
	assert_int_equal(r.code.inlines.data[0].call_line, 7);
	assert_int_equal(r.code.ranges.data[2].lo, 0x1020);
	assert_int_equal(read_lines(&r), UX_OK);
	assert_int_equal(r.lines.rows.size, 2);
}

static void no_damage_breaks_the_order_of_code(void **state)
{
	(void)state;
	ASSEMBLER(m);
	make_module(&m);
	struct ux_dwarf_sections s = make_dwarf_sections(&m);
	ux_cleanup(ux_out_deinit) struct ux_out joined = {0};
	join_sections(&s, &joined);
	each_prefix(ux_out_bytes(&joined), sweep_module, NULL);
	each_bit_flip(ux_out_bytes(&joined), sweep_module, NULL);
	each_byte_extreme(ux_out_bytes(&joined), sweep_module, NULL);
}

static void each_failed_allocation_is_reported(void **state)
{
	(void)state;
	ASSEMBLER(m);
	make_module(&m);
	assert_true(each_failed_alloc(module_with_failures, &m, false) > 20);
}

UX_SUITE(dwarf_module)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(whole_module_is_read),
		UX_TEST(no_damage_breaks_the_order_of_code),
		UX_TEST(each_failed_allocation_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
