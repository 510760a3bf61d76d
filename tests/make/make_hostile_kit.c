/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by the makers of hostile files. */
#include "make_hostile_kit.h"

void make_hostile_abbrevs(struct make_dwarf *d, bool children)
{
	MAKE_ABBREV(d, UNIT, DW_TAG_compile_unit, true, {DW_AT_stmt_list, DW_FORM_sec_offset},
		    {DW_AT_comp_dir, DW_FORM_line_strp},
		    {DW_AT_language, DW_FORM_implicit_const, 0x1c});
	MAKE_ABBREV(d, FUNCTION, DW_TAG_subprogram, children, {DW_AT_name, DW_FORM_strp},
		    {DW_AT_low_pc, DW_FORM_addr}, {DW_AT_high_pc, DW_FORM_data4});
	MAKE_ABBREV(d, NAMELESS, DW_TAG_subprogram, false, {DW_AT_low_pc, DW_FORM_addr},
		    {DW_AT_high_pc, DW_FORM_data4}, {DW_AT_name, DW_FORM_strx1});
	MAKE_ABBREV(d, LISTED, DW_TAG_subprogram, children, {DW_AT_name, DW_FORM_strx1},
		    {DW_AT_ranges, DW_FORM_rnglistx});
	MAKE_ABBREV(d, INLINE, DW_TAG_inlined_subroutine, false, {DW_AT_low_pc, DW_FORM_addrx},
		    {DW_AT_high_pc, DW_FORM_udata}, {DW_AT_call_line, DW_FORM_implicit_const, 7});
	MAKE_ABBREV(d, INLINED, DW_TAG_inlined_subroutine, false, {DW_AT_ranges, DW_FORM_rnglistx});
	MAKE_ABBREV(d, RANGELESS, DW_TAG_inlined_subroutine, true,
		    {DW_AT_call_line, DW_FORM_implicit_const, 7});
	MAKE_ABBREV(d, SHORT, DW_TAG_subprogram, false, {DW_AT_low_pc, DW_FORM_addrx1},
		    {DW_AT_high_pc, DW_FORM_udata}, {DW_AT_name, DW_FORM_strx1});
	MAKE_ABBREV(d, NAMED, DW_TAG_subprogram, false, {DW_AT_name, DW_FORM_strp},
		    {DW_AT_specification, DW_FORM_ref4}, {DW_AT_low_pc, DW_FORM_addr},
		    {DW_AT_high_pc, DW_FORM_data1});
	MAKE_ABBREV(d, LINK, DW_TAG_subprogram, false, {0x3a, DW_FORM_string},
		    {DW_AT_specification, DW_FORM_ref4});
	MAKE_ABBREV(d, NAMESPACE, DW_TAG_namespace, true, {DW_AT_name, DW_FORM_strp});
	make_table_end(d);
}

void make_hostile_tables(struct make_dwarf *d)
{
	make_text(d, UX_DWARF_STR, "f");
	make_text(d, UX_DWARF_LINE_STR, "/d");
	make_table_begin(d, UX_DWARF_STR_OFFSETS, 4, 0);
	make_offset(d, UX_DWARF_STR_OFFSETS, 0);
	make_table_length(d, UX_DWARF_STR_OFFSETS);
	make_table_begin(d, UX_DWARF_ADDR, 4, 0);
	for (uint64_t i = 0; i < 1000; i++)
		make_addr(d, UX_DWARF_ADDR, CODE + i * 0x100);
	make_table_length(d, UX_DWARF_ADDR);
}

void make_hostile_list(struct make_dwarf *d, unsigned n, bool apart)
{
	make_table_begin(d, UX_DWARF_RNGLISTS, 4, 1);
	make_offset(d, UX_DWARF_RNGLISTS, 4);
	make_rle(d, DW_RLE_base_address, CODE, 0);
	for (unsigned i = 0; i < n; i++)
		make_rle(d, DW_RLE_offset_pair, apart ? 4 * i : 0, apart ? 4 * i + 2 : CODE_SIZE);
	make_rle(d, DW_RLE_end_of_list, 0, 0);
	make_table_length(d, UX_DWARF_RNGLISTS);
}

void make_hostile_rows(struct make_dwarf *d, unsigned n)
{
	make_lines_begin(d, (struct make_lines){.line_range = 10, .line_base = -3});
	make_lines_files(d, (const char *const[]){"/d", NULL},
			 (const char *const[]){"a", "b", NULL}, (const uint8_t[]){0, 0});
	make_lines_program(d);
	make_set_address(d, CODE);
	for (unsigned i = 0; i < n; i++)
		make_op(d, (uint8_t)(13 + 10 + i % 7)); /* an address on, some lines back or on */
	make_end_sequence(d, 1);
	make_lines_end(d);
}

void make_hostile_unit(struct make_dwarf *d)
{
	make_unit_begin(d, (struct make_unit){0});
	MAKE_DIE(d, UNIT, N(0), N(0));
}

void make_hostile_unit_end(struct make_dwarf *d)
{
	make_null(d);
	make_unit_end(d);
}

size_t make_hostile_info(const struct make_hostile *m)
{
	return make_off(&m->dwarf, UX_DWARF_INFO);
}

void make_hostile_run(struct ux_out *out, const char *pattern, size_t n)
{
	for (size_t i = 0, k = strlen(pattern); i < n; i++)
		ux_out_u8(out, (uint8_t)pattern[i % k]);
}
