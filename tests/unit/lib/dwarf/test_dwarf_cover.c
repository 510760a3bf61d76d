/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses that a unit claims. */
#include "test_dwarf.h"

#include "dwarf_ranges.h"

/* Returns "1000-1010 2000-2004"; "?": the unit does not tell. */
static const char *cover_of(struct reading *r)
{
	static char text[512];
	ux_cleanup(ux_range_vec_deinit) struct ux_range_vec out = {0};
	size_t n = 0;
	text[0] = '\0';
	if (!ux_dwarf_unit_ranges(&r->ctx, &out))
		return "?";
	for (size_t i = 0; i < out.size; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%" PRIx64 "-%" PRIx64,
				      i ? " " : "", out.data[i].lo, out.data[i].hi);
	return text;
}

/* A unit of one entry with a low pc, 0x1200, and another attribute. */
static void make_low_and(struct make_dwarf *m, uint32_t name, uint32_t form, uint64_t value)
{
	MAKE_ABBREV(m, 1, DW_TAG_compile_unit, false, {DW_AT_low_pc, DW_FORM_addr}, {name, form});
	make_table_end(m);
	make_unit_begin(m, (struct make_unit){0});
	MAKE_DIE(m, 1, N(0x1200), N(value));
	make_unit_end(m);
}

static void a_low_and_a_high_pc_say_it(void **state)
{
	(void)state;
	MODULE(m, r);
	make_low_and(&m, DW_AT_high_pc, DW_FORM_data4, 0x34);
	reading_of(&r, &m);
	assert_string_equal(cover_of(&r), "1200-1234");
}

static void code_outside_of_the_text_counts(void **state)
{
	(void)state;
	MODULE(m, r);
	make_low_and(&m, DW_AT_high_pc, DW_FORM_data8, UINT64_C(1) << 40);
	reading_of(&r, &m);
	r.text.count = 0;
	assert_string_equal(cover_of(&r), "1200-10000001200");
}

static void a_low_pc_alone_does_not_say_it(void **state)
{
	(void)state;
	MODULE(m, r);
	make_low_and(&m, DW_AT_language, DW_FORM_data1, DW_LANG_C);
	reading_of(&r, &m);
	assert_string_equal(cover_of(&r), "?");
	MODULE(m2, r2);
	make_low_and(&m2, DW_AT_high_pc, DW_FORM_sec_offset, 0);
	reading_of(&r2, &m2);
	assert_string_equal(cover_of(&r2), "?");
}

static void a_unit_without_code_says_so(void **state)
{
	(void)state;
	MODULE(m, r);
	make_low_and(&m, DW_AT_high_pc, DW_FORM_data1, 0);
	reading_of(&r, &m);
	assert_string_equal(cover_of(&r), "");
}

static void a_list_says_it_and_may_be_empty(void **state)
{
	(void)state;
	for (unsigned n = 0; n < 3; n++) {
		MODULE(m, r);
		make_table_begin(&m, UX_DWARF_RNGLISTS, 4, 0);
		uint64_t off = make_off(&m, UX_DWARF_RNGLISTS);
		if (n > 0)
			make_rle(&m, DW_RLE_start_length, 0x1100, 0x10);
		if (n > 1)
			make_rle(&m, DW_RLE_offset_pair, 0x0, 0x8);
		make_rle(&m, DW_RLE_end_of_list, 0, 0);
		make_table_length(&m, UX_DWARF_RNGLISTS);
		make_low_and(&m, DW_AT_ranges, DW_FORM_sec_offset, off);
		reading_of(&r, &m);
		assert_string_equal(cover_of(&r), n == 0   ? ""
						  : n == 1 ? "1100-1110"
							   : "1100-1110 1200-1208");
	}
}

static void a_damaged_list_does_not_say_it(void **state)
{
	(void)state;
	MODULE(m, r);
	make_table_begin(&m, UX_DWARF_RNGLISTS, 4, 0);
	uint64_t off = make_off(&m, UX_DWARF_RNGLISTS);
	make_rle(&m, DW_RLE_start_length, 0x1100, 0x10);
	make_table_length(&m, UX_DWARF_RNGLISTS);
	make_low_and(&m, DW_AT_ranges, DW_FORM_sec_offset, off);
	reading_of(&r, &m);
	assert_string_equal(cover_of(&r), "?");
}

UX_SUITE(dwarf_cover)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_low_and_a_high_pc_say_it),
		cmocka_unit_test(code_outside_of_the_text_counts),
		cmocka_unit_test(a_low_pc_alone_does_not_say_it),
		cmocka_unit_test(a_unit_without_code_says_so),
		cmocka_unit_test(a_list_says_it_and_may_be_empty),
		cmocka_unit_test(a_damaged_list_does_not_say_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
