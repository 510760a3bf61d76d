/* SPDX-License-Identifier: Apache-2.0 */
/* Which abbreviations let entries lead out of their unit. */
#include "sweep.h"

#include "dwarf_abbrev.h"
#include "make_dwarf.h"

/* Two tables; the second has one attribute more. */
static bool alone_with(uint32_t attr, uint32_t form)
{
	struct make_dwarf m;
	make_dwarf_init(&m, false);
	MAKE_ABBREV(&m, 1, DW_TAG_compile_unit, true, {DW_AT_name, DW_FORM_strp},
		    {DW_AT_low_pc, DW_FORM_addr});
	MAKE_ABBREV(&m, 2, DW_TAG_subprogram, false, {DW_AT_specification, DW_FORM_ref4});
	make_table_end(&m);
	MAKE_ABBREV(&m, 1, DW_TAG_subprogram, false, {DW_AT_call_line, DW_FORM_implicit_const, -70},
		    {attr, form}, {DW_AT_name, DW_FORM_string});
	make_table_end(&m);
	struct ux_dwarf_sections s = make_dwarf_sections(&m);
	bool alone = ux_dwarf_units_are_independent(&s);
	make_dwarf_deinit(&m);
	return alone;
}

static void references_within_a_unit_leave_it_alone(void **state)
{
	(void)state;
	static const uint32_t forms[] = {
		DW_FORM_ref1,  DW_FORM_ref2,      DW_FORM_ref4,   DW_FORM_ref8,
		DW_FORM_strp,  DW_FORM_ref_udata, DW_FORM_data16, DW_FORM_GNU_ref_alt,
		DW_FORM_strx1, DW_FORM_ref_sup4,  DW_FORM_block1, DW_FORM_flag_present,
	};
	for (size_t i = 0; i < ux_countof(forms); i++)
		assert_true(alone_with(DW_AT_abstract_origin, forms[i]));
}

static void references_to_other_units_do_not(void **state)
{
	(void)state;
	assert_false(alone_with(DW_AT_abstract_origin, DW_FORM_ref_addr));
	assert_false(alone_with(DW_AT_signature, DW_FORM_ref_sig8));
	assert_false(alone_with(DW_AT_name, DW_FORM_indirect));
	assert_false(alone_with(DW_AT_dwo_name, DW_FORM_strp));
	assert_false(alone_with(DW_AT_GNU_dwo_name, DW_FORM_strp));
}

static bool of_bytes(struct ux_bytes abbrev)
{
	struct ux_bytes guarded = guard(abbrev);
	struct ux_dwarf_sections s = {0};
	s.data[UX_DWARF_ABBREV] = guarded;
	bool alone = ux_dwarf_units_are_independent(&s);
	guard_free(guarded);
	return alone;
}

static void damaged_table_says_nothing(void **state)
{
	(void)state;
	assert_true(of_bytes(UX_STR("\x01\x11\x01\x03\x08\x00\x00\x00")));
	assert_true(of_bytes(UX_STR("")));
	assert_false(of_bytes(UX_STR("\x01\x11\x01\x03\x08\x00")));
	assert_false(of_bytes(UX_STR("\x01\x11\x01\x03")));
	assert_false(of_bytes(UX_STR("\x01\x11")));
	assert_false(of_bytes(UX_STR("\x80")));
}

UX_SUITE(dwarf_alone)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(references_within_a_unit_leave_it_alone),
		UX_TEST(references_to_other_units_do_not),
		UX_TEST(damaged_table_says_nothing),
	};
	return cmocka_run_group_tests_name("dwarf_alone", tests, NULL, NULL);
}
