/* SPDX-License-Identifier: Apache-2.0 */
/* Skeleton units and the split units they stand for. */
#include "test_dwarf.h"

#include "dwarf_split.h"

#define ID UINT64_C(0x1234567890abcdef)

/* A linked file, and the sections of a .dwo file by their names in it. */
struct pair {
	struct make_dwarf linked;
	struct make_dwarf dwo;
};

static void pair_init(struct pair *p, bool big)
{
	make_dwarf_init(&p->linked, big);
	make_dwarf_init(&p->dwo, big);
	p->linked.unit.addr_size = 8; /* addresses are written before the unit is begun */
	p->dwo.table_offset_size = 4; /* .debug_str_offsets.dwo has no header before DWARF 5 */
}

static void pair_deinit(struct pair *p)
{
	make_dwarf_deinit(&p->linked);
	make_dwarf_deinit(&p->dwo);
}

#define PAIR(p)                                \
	ux_cleanup(pair_deinit) struct pair p; \
	pair_init(&p, /* big= */ false)

/* Puts a foreign table first, so that bases differ from those without one. */
static uint64_t make_addresses(struct make_dwarf *m, bool v5)
{
	make_table_begin(m, UX_DWARF_ADDR, 4, 0);
	make_addr(m, UX_DWARF_ADDR, 0xdead);
	make_table_length(m, UX_DWARF_ADDR);
	uint64_t base = make_off(m, UX_DWARF_ADDR);
	if (v5)
		base = make_table_begin(m, UX_DWARF_ADDR, 4, 0);
	make_addr(m, UX_DWARF_ADDR, 0x2000);
	make_addr(m, UX_DWARF_ADDR, 0x3000);
	if (v5)
		make_table_length(m, UX_DWARF_ADDR);
	return base;
}

static void make_skeleton_v5(struct make_dwarf *m, uint64_t id)
{
	MAKE_ABBREV(m, 1, DW_TAG_skeleton_unit, false, {DW_AT_dwo_name, DW_FORM_string},
		    {DW_AT_comp_dir, DW_FORM_string}, {DW_AT_low_pc, DW_FORM_addr},
		    {DW_AT_addr_base, DW_FORM_sec_offset});
	make_table_end(m);
	uint64_t base = make_addresses(m, true);
	make_unit_begin(m, (struct make_unit){.type = DW_UT_skeleton, .id = id});
	MAKE_DIE(m, 1, T("a.dwo"), T("/comp"), N(0x4000), N(base));
	make_unit_end(m);
}

static void make_split_abbrevs_v5(struct make_dwarf *m)
{
	MAKE_ABBREV(m, 1, DW_TAG_compile_unit, true, {DW_AT_language, DW_FORM_data1});
	MAKE_ABBREV(m, 2, DW_TAG_subprogram, false, {DW_AT_name, DW_FORM_strx1},
		    {DW_AT_low_pc, DW_FORM_addrx}, {DW_AT_high_pc, DW_FORM_data4});
	MAKE_ABBREV(m, 3, DW_TAG_subprogram, false, {DW_AT_name, DW_FORM_strx1},
		    {DW_AT_ranges, DW_FORM_rnglistx});
	MAKE_ABBREV(m, 4, DW_TAG_type_unit, false, {DW_AT_language, DW_FORM_data1});
	make_table_end(m);
}

/* A unit of two functions: 'plain' by an index of .debug_addr, 'parts' by a range list. */
static void make_split_unit_v5(struct make_dwarf *m, uint64_t id)
{
	make_unit_begin(m, (struct make_unit){.type = DW_UT_split_compile, .id = id});
	MAKE_DIE(m, 1, N(DW_LANG_C11));
	MAKE_DIE(m, 2, N(0), N(1), N(0x10));
	MAKE_DIE(m, 3, N(1), N(0));
	make_null(m);
	make_unit_end(m);
}

static void make_split_tables_v5(struct make_dwarf *m)
{
	make_table_begin(m, UX_DWARF_STR_OFFSETS, 4, 0);
	make_offset(m, UX_DWARF_STR_OFFSETS, make_text(m, UX_DWARF_STR, "plain"));
	make_offset(m, UX_DWARF_STR_OFFSETS, make_text(m, UX_DWARF_STR, "parts"));
	make_table_length(m, UX_DWARF_STR_OFFSETS);
	size_t base = make_table_begin(m, UX_DWARF_RNGLISTS, 4, 1);
	make_offset(m, UX_DWARF_RNGLISTS, 4);
	assert_int_equal(make_off(m, UX_DWARF_RNGLISTS), base + 4);
	make_rle(m, DW_RLE_offset_pair, 0x20, 0x28); /* from the skeleton's low_pc */
	make_rle(m, DW_RLE_startx_length, 0, 8);
	make_rle(m, DW_RLE_end_of_list, 0, 0);
	make_table_length(m, UX_DWARF_RNGLISTS);
}

static void make_pair_v5(struct pair *p)
{
	make_skeleton_v5(&p->linked, ID);
	make_split_abbrevs_v5(&p->dwo);
	make_split_unit_v5(&p->dwo, ID);
	make_split_tables_v5(&p->dwo);
}

/* As GCC and clang make them for DWARF 4. */
static void make_pair_v4(struct pair *p)
{
	struct make_dwarf *m = &p->linked;
	MAKE_ABBREV(m, 1, DW_TAG_compile_unit, false, {DW_AT_GNU_dwo_name, DW_FORM_string},
		    {DW_AT_comp_dir, DW_FORM_string}, {DW_AT_low_pc, DW_FORM_addr},
		    {DW_AT_GNU_addr_base, DW_FORM_sec_offset}, {DW_AT_GNU_dwo_id, DW_FORM_data8},
		    {DW_AT_GNU_ranges_base, DW_FORM_sec_offset},
		    {DW_AT_ranges, DW_FORM_sec_offset});
	make_table_end(m);
	uint64_t base = make_addresses(m, false);
	make_unit_begin(m, (struct make_unit){.version = 4});
	size_t own = make_pair(m, 0x5000, 0x5004);
	make_pair(m, 0, 0);
	size_t ranges = make_pair(m, 0x6000, 0x6008);
	make_pair(m, 0, 0);
	size_t second = make_pair(m, 0x2000, 0x2008);
	make_pair(m, 0x6020, 0x6028);
	make_pair(m, 0, 0);
	MAKE_DIE(m, 1, T("a.dwo"), T("/comp"), N(0), N(base), N(ID), N(ranges), N(own));
	make_unit_end(m);
	m = &p->dwo;
	MAKE_ABBREV(m, 1, DW_TAG_compile_unit, true, {DW_AT_GNU_dwo_id, DW_FORM_data8});
	MAKE_ABBREV(m, 2, DW_TAG_subprogram, false, {DW_AT_name, DW_FORM_GNU_str_index},
		    {DW_AT_low_pc, DW_FORM_GNU_addr_index}, {DW_AT_high_pc, DW_FORM_data4});
	MAKE_ABBREV(m, 3, DW_TAG_subprogram, false, {DW_AT_name, DW_FORM_GNU_str_index},
		    {DW_AT_ranges, DW_FORM_sec_offset});
	make_table_end(m);
	make_unit_begin(m, (struct make_unit){.version = 4});
	MAKE_DIE(m, 1, N(ID));
	MAKE_DIE(m, 2, N(0), N(1), N(0x10));
	MAKE_DIE(m, 3, N(1), N(second - ranges));
	make_null(m);
	make_unit_end(m);
	make_offset(m, UX_DWARF_STR_OFFSETS, make_text(m, UX_DWARF_STR, "plain"));
	make_offset(m, UX_DWARF_STR_OFFSETS, make_text(m, UX_DWARF_STR, "parts"));
}

/* Opens the split unit of the linked file's first unit. */
static enum ux_code open_split(struct reading *linked, struct reading *split,
			       const struct ux_dwarf_sections *dwo)
{
	struct ux_dwarf_sections both = ux_dwarf_split_sections(dwo, &linked->sections);
	UX_TRY(reading_init(split, both));
	ux_cleanup(ux_dwarf_split_ids_free) struct ux_dwarf_split_ids ids = {0};
	UX_TRY(ux_dwarf_split_ids_find(&split->sections, &split->units, &ids, &split->err));
	return ux_dwarf_split_open(&split->sections, &split->units, &ids, &linked->ctx, &split->ctx,
				   &split->err);
}

/* "plain 3000-3010, ...": the functions of the split unit. */
static const char *functions_of(struct pair *p)
{
	static char text[512];
	ux_cleanup(reading_deinit) struct reading linked = {0}, split = {0};
	struct ux_dwarf_sections dwo = make_dwarf_sections(&p->dwo);
	reading_of(&linked, &p->linked);
	assert_true(ux_dwarf_is_skeleton(&linked.ctx));
	assert_int_equal(open_split(&linked, &split, &dwo), UX_OK);
	assert_int_equal(read_code(&split), UX_OK);
	assert_int_equal(split.code.bad_ranges, 0);
	size_t n = 0;
	text[0] = '\0';
	for (size_t i = 0; i < split.code.functions.size; i++) {
		const struct ux_code_function *f = &split.code.functions.data[i];
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", i ? ", " : "",
				      name_of(&split, f->name));
		for (uint32_t k = 0; k < f->range_count; k++) {
			const struct ux_range *r = &split.code.ranges.data[f->range_first + k];
			n += (size_t)snprintf(text + n, sizeof(text) - n, " %" PRIx64 "-%" PRIx64,
					      r->lo, r->hi);
		}
	}
	return text;
}

static void split_unit_takes_bases_and_low_pc_of_its_skeleton(void **state)
{
	(void)state;
	PAIR(p);
	make_pair_v5(&p);
	assert_string_equal(functions_of(&p), "plain 3000-3010, parts 4020-4028 2000-2008");
}

static void big_endian_split_units_are_read(void **state)
{
	(void)state;
	ux_cleanup(pair_deinit) struct pair p;
	pair_init(&p, /* big= */ true);
	make_pair_v5(&p);
	assert_string_equal(functions_of(&p), "plain 3000-3010, parts 4020-4028 2000-2008");
}

static void ranges_base_of_dwarf_4_is_for_the_split_unit_alone(void **state)
{
	(void)state;
	PAIR(p);
	make_pair_v4(&p);
	assert_string_equal(functions_of(&p), "plain 3000-3010, parts 2000-2008 6020-6028");
	ux_cleanup(reading_deinit) struct reading linked = {0};
	reading_of(&linked, &p.linked);
	assert_int_equal(linked.ctx.ranges_base, 0);
	assert_int_equal(linked.ctx.split_ranges_base, 0x20);
}

static void skeleton_says_where_its_unit_is(void **state)
{
	(void)state;
	for (int v5 = 0; v5 < 2; v5++) {
		PAIR(p);
		ux_cleanup(reading_deinit) struct reading linked = {0};
		if (v5)
			make_pair_v5(&p);
		else
			make_pair_v4(&p);
		reading_of(&linked, &p.linked);
		assert_string_equal(linked.ctx.dwo_name, "a.dwo");
		assert_string_equal(linked.ctx.comp_dir, "/comp");
		assert_int_equal(linked.ctx.dwo_id, ID);
	}
}

static void unit_without_an_id_is_no_skeleton(void **state)
{
	(void)state;
	MODULE(m, r);
	MAKE_ABBREV(&m, 1, DW_TAG_compile_unit, false, {DW_AT_GNU_dwo_name, DW_FORM_string});
	make_table_end(&m);
	make_unit_begin(&m, (struct make_unit){.version = 4});
	MAKE_DIE(&m, 1, T("a.dwo"));
	make_unit_end(&m);
	reading_of(&r, &m);
	assert_false(ux_dwarf_is_skeleton(&r.ctx));
}

static void the_unit_of_the_same_id_is_taken_among_many(void **state)
{
	(void)state;
	PAIR(p);
	make_skeleton_v5(&p.linked, ID);
	make_split_abbrevs_v5(&p.dwo);
	make_unit_begin(&p.dwo, (struct make_unit){.type = DW_UT_split_type, .id = ID});
	MAKE_DIE(&p.dwo, 4, N(DW_LANG_C11));
	make_unit_end(&p.dwo);
	make_split_unit_v5(&p.dwo, ID + 1);
	uint64_t expected = make_off(&p.dwo, UX_DWARF_INFO);
	make_split_unit_v5(&p.dwo, ID);
	make_split_unit_v5(&p.dwo, ID + 2);
	make_split_tables_v5(&p.dwo);
	ux_cleanup(reading_deinit) struct reading linked = {0}, split = {0};
	struct ux_dwarf_sections dwo = make_dwarf_sections(&p.dwo);
	reading_of(&linked, &p.linked);
	assert_int_equal(open_split(&linked, &split, &dwo), UX_OK);
	assert_int_equal(split.ctx.unit->off, expected);
}

static void a_unit_of_another_id_is_not_taken(void **state)
{
	(void)state;
	for (int v5 = 0; v5 < 2; v5++) {
		PAIR(p);
		ux_cleanup(reading_deinit) struct reading linked = {0}, split = {0};
		if (v5)
			make_pair_v5(&p);
		else
			make_pair_v4(&p);
		struct ux_dwarf_sections dwo = make_dwarf_sections(&p.dwo);
		reading_of(&linked, &p.linked);
		linked.ctx.dwo_id = 0x42;
		assert_int_equal(open_split(&linked, &split, &dwo), UX_ENOTFOUND);
		assert_string_equal(split.err.text, "no unit has the ID 0000000000000042");
	}
}

static void damaged_neighbour_before_dwarf_5_is_passed_over(void **state)
{
	(void)state;
	PAIR(p);
	make_pair_v4(&p);
	ux_cleanup(reading_deinit) struct reading linked = {0}, split = {0};
	/* Before the unit, one whose abbreviation code does not exist. */
	ux_cleanup(ux_out_deinit) struct ux_out info = {0};
	ux_out_put(&info, "\x09\0\0\0\4\0\0\0\0\0\x08\x63\0", 13);
	struct ux_dwarf_sections dwo = make_dwarf_sections(&p.dwo);
	ux_out_put(&info, dwo.data[UX_DWARF_INFO].data, dwo.data[UX_DWARF_INFO].size);
	dwo.data[UX_DWARF_INFO] = ux_out_bytes(&info);
	reading_of(&linked, &p.linked);
	assert_int_equal(open_split(&linked, &split, &dwo), UX_OK);
	assert_int_equal(split.ctx.unit->off, 13);
}

static void addresses_stay_those_of_the_linked_file(void **state)
{
	(void)state;
	PAIR(p);
	make_pair_v5(&p);
	make_addr(&p.dwo, UX_DWARF_ADDR, 0x7777); /* no such section in a .dwo file */
	struct ux_dwarf_sections linked = make_dwarf_sections(&p.linked);
	struct ux_dwarf_sections dwo = make_dwarf_sections(&p.dwo);
	struct ux_dwarf_sections both = ux_dwarf_split_sections(&dwo, &linked);
	assert_ptr_equal(both.data[UX_DWARF_ADDR].data, linked.data[UX_DWARF_ADDR].data);
	assert_ptr_equal(both.data[UX_DWARF_INFO].data, dwo.data[UX_DWARF_INFO].data);
	assert_null(ux_dwarf_split_section_name(UX_DWARF_ADDR));
	assert_null(ux_dwarf_split_section_name(UX_DWARF_RANGES));
	assert_string_equal(ux_dwarf_split_section_name(UX_DWARF_INFO), ".debug_info.dwo");
}

static void sweep_dwo(struct ux_bytes input, void *ctx)
{
	struct pair *p = ctx;
	ux_cleanup(reading_deinit) struct reading linked = {0}, split = {0};
	struct ux_dwarf_sections dwo = split_sections(input);
	reading_of(&linked, &p->linked);
	enum ux_code code = open_split(&linked, &split, &dwo);
	assert_int_equal(code, split.err.code);
	if (code != UX_OK)
		return;
	code = read_code(&split);
	assert_int_equal(code, split.err.code);
	check_code(&split);
}

static void damaged_split_units_end_in_a_clear_answer(void **state)
{
	(void)state;
	for (int v5 = 0; v5 < 2; v5++) {
		PAIR(p);
		ux_cleanup(ux_out_deinit) struct ux_out joined = {0};
		if (v5)
			make_pair_v5(&p);
		else
			make_pair_v4(&p);
		struct ux_dwarf_sections dwo = make_dwarf_sections(&p.dwo);
		join_sections(&dwo, &joined);
		each_prefix(ux_out_bytes(&joined), sweep_dwo, &p);
		each_bit_flip(ux_out_bytes(&joined), sweep_dwo, &p);
		each_byte_extreme(ux_out_bytes(&joined), sweep_dwo, &p);
	}
}

static enum ux_code split_with_failures(void *ctx)
{
	struct pair *p = ctx;
	ux_cleanup(reading_deinit) struct reading linked = {0}, split = {0};
	struct ux_dwarf_sections dwo = make_dwarf_sections(&p->dwo);
	UX_TRY(reading_init(&linked, make_dwarf_sections(&p->linked)));
	UX_TRY(open_unit(&linked, 0));
	UX_TRY(open_split(&linked, &split, &dwo));
	return read_code(&split);
}

static void each_failed_allocation_is_reported(void **state)
{
	(void)state;
	for (int v5 = 0; v5 < 2; v5++) {
		PAIR(p);
		if (v5)
			make_pair_v5(&p);
		else
			make_pair_v4(&p);
		assert_true(each_failed_alloc(split_with_failures, &p, /* may_recover= */ false) >
			    8);
	}
}

UX_SUITE(dwarf_split)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(split_unit_takes_bases_and_low_pc_of_its_skeleton),
		UX_TEST(big_endian_split_units_are_read),
		UX_TEST(ranges_base_of_dwarf_4_is_for_the_split_unit_alone),
		UX_TEST(skeleton_says_where_its_unit_is),
		UX_TEST(unit_without_an_id_is_no_skeleton),
		UX_TEST(the_unit_of_the_same_id_is_taken_among_many),
		UX_TEST(a_unit_of_another_id_is_not_taken),
		UX_TEST(damaged_neighbour_before_dwarf_5_is_passed_over),
		UX_TEST(addresses_stay_those_of_the_linked_file),
		UX_TEST(damaged_split_units_end_in_a_clear_answer),
		UX_TEST(each_failed_allocation_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
