/* SPDX-License-Identifier: Apache-2.0 */
/* The addresses a DIE covers. */
#include "test_dwarf.h"

enum {
	MANY = 1 << 20
}; /* entries, where a test is not about the bound */

/* The ranges of the entry at off of the open unit. */
static enum ux_code ranges_at(struct reading *r, uint64_t off, uint64_t *entries,
			      struct ux_range_vec *out)
{
	struct ux_dwarf_die die;
	assert_int_equal(ux_dwarf_die_at(&r->ctx, off, &die, NULL), UX_OK);
	r->err = (struct ux_error)UX_ERROR_INIT;
	struct ux_dwarf_range_reader reader;
	ux_dwarf_range_reader_init(&reader, &r->ctx, &r->text, out);
	reader.entries = *entries;
	enum ux_code code = ux_dwarf_die_ranges(&reader, &die, &r->err);
	*entries = reader.entries;
	return code;
}

/* "1000-1010 2000-2004": the ranges of the unit's first function, in order. */
static const char *ranges_of(struct reading *r, enum ux_code expected)
{
	static char text[512];
	ux_cleanup(ux_range_vec_deinit) struct ux_range_vec out = {0};
	uint64_t entries = MANY;
	assert_int_equal(ranges_at(r, r->ctx.first_child, &entries, &out), expected);
	assert_int_equal(r->err.code, expected);
	size_t n = 0;
	text[0] = '\0';
	for (size_t i = 0; i < out.size; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%" PRIx64 "-%" PRIx64,
				      i ? " " : "", out.data[i].lo, out.data[i].hi);
	return text;
}

/* A unit of the version with one function of these two attributes; its low_pc is 0x3000. */
static void make_function(struct make_dwarf *m, struct make_unit unit, struct make_attr a,
			  struct make_value av, struct make_attr b, struct make_value bv)
{
	MAKE_ABBREV(m, 1, DW_TAG_compile_unit, true, {DW_AT_low_pc, DW_FORM_addr});
	MAKE_ABBREV(m, 2, DW_TAG_subprogram, false, a, b);
	make_table_end(m);
	make_unit_begin(m, unit);
	MAKE_DIE(m, 1, N(0x3000));
	if (b.form == DW_FORM_implicit_const)
		MAKE_DIE(m, 2, av);
	else
		MAKE_DIE(m, 2, av, bv);
	make_null(m);
	make_unit_end(m);
}

/* low_pc with high_pc in the form. */
static void make_low_high(struct make_dwarf *m, struct make_unit unit, uint64_t lo,
			  struct make_attr high, struct make_value value)
{
	make_function(m, unit, (struct make_attr){DW_AT_low_pc, DW_FORM_addr}, N(lo), high, value);
}

static void high_pc_is_an_end_or_a_length(void **state)
{
	(void)state;
	static const struct {
		struct make_attr high;
		uint64_t value;
	} cases[] = {
		{{DW_AT_high_pc, DW_FORM_addr}, 0x1234},
		{{DW_AT_high_pc, DW_FORM_data1}, 0x34},
		{{DW_AT_high_pc, DW_FORM_data2}, 0x34},
		{{DW_AT_high_pc, DW_FORM_data4}, 0x34},
		{{DW_AT_high_pc, DW_FORM_data8}, 0x34},
		{{DW_AT_high_pc, DW_FORM_udata}, 0x34},
		{{DW_AT_high_pc, DW_FORM_sdata}, 0x34},
		{{DW_AT_high_pc, DW_FORM_implicit_const, 0x34}, 0},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		MODULE(m, r);
		make_low_high(&m, (struct make_unit){0}, 0x1200, cases[i].high, N(cases[i].value));
		reading_of(&r, &m);
		assert_string_equal(ranges_of(&r, UX_OK), "1200-1234");
	}
}

static void high_pc_by_indirect_form_has_that_forms_meaning(void **state)
{
	(void)state;
	static const struct make_attr high = {DW_AT_high_pc, DW_FORM_indirect};
	MODULE(m, r);
	make_low_high(&m, (struct make_unit){0}, 0x1200, high, INDIRECT(DW_FORM_udata, 0x34));
	reading_of(&r, &m);
	assert_string_equal(ranges_of(&r, UX_OK), "1200-1234");
	MODULE(m2, r2);
	make_low_high(&m2, (struct make_unit){0}, 0x1200, high, INDIRECT(DW_FORM_addr, 0x1234));
	reading_of(&r2, &m2);
	assert_string_equal(ranges_of(&r2, UX_OK), "1200-1234");
}

static void high_pc_that_is_no_number_gives_no_range(void **state)
{
	(void)state;
	static const uint32_t forms[] = {DW_FORM_exprloc, DW_FORM_block1, DW_FORM_string,
					 DW_FORM_data16};
	for (size_t i = 0; i < ux_countof(forms); i++) {
		MODULE(m, r);
		struct make_value value = {.bytes = UX_STR("0123456789abcdef")};
		if (forms[i] == DW_FORM_string)
			value.text = "x";
		make_low_high(&m, (struct make_unit){0}, 0x1200,
			      (struct make_attr){DW_AT_high_pc, forms[i]}, value);
		reading_of(&r, &m);
		assert_string_equal(ranges_of(&r, UX_OK), "");
	}
}

static void low_pc_alone_is_a_place_and_no_range(void **state)
{
	(void)state;
	MODULE(m, r);
	make_function(&m, (struct make_unit){0}, (struct make_attr){DW_AT_low_pc, DW_FORM_addr},
		      N(0x1200), (struct make_attr){0x3a, DW_FORM_data1}, N(1));
	reading_of(&r, &m);
	assert_string_equal(ranges_of(&r, UX_OK), "");
}

static void empty_and_backward_ranges_are_dropped(void **state)
{
	(void)state;
	static const struct {
		uint32_t form;
		uint64_t value;
	} cases[] = {{DW_FORM_addr, 0x1200},
		     {DW_FORM_addr, 0x1100},
		     {DW_FORM_data4, 0},
		     {DW_FORM_sdata, -16},
		     {DW_FORM_udata, UINT64_MAX}};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		MODULE(m, r);
		make_low_high(&m, (struct make_unit){0}, 0x1200,
			      (struct make_attr){DW_AT_high_pc, cases[i].form}, N(cases[i].value));
		reading_of(&r, &m);
		assert_string_equal(ranges_of(&r, UX_OK), "");
	}
}

static void range_is_cut_at_the_end_of_its_section(void **state)
{
	(void)state;
	MODULE(m, r);
	make_low_high(&m, (struct make_unit){0}, TEXT_HI - 16,
		      (struct make_attr){DW_AT_high_pc, DW_FORM_data4}, N(0x100000));
	reading_of(&r, &m);
	assert_string_equal(ranges_of(&r, UX_OK), "8ff0-9000");
}

static void dropped_functions_are_known_by_the_section_they_are_not_in(void **state)
{
	(void)state;
	for (uint8_t addr_size = 4; addr_size <= 8; addr_size = (uint8_t)(addr_size + 4)) {
		uint64_t mask = addr_size == 8 ? UINT64_MAX : UINT32_MAX;
		const uint64_t dead[] = {0,           1,    0xfff,    TEXT_HI,
					 TEXT_HI + 5, mask, mask - 1, mask - 2};
		for (size_t i = 0; i < ux_countof(dead); i++) {
			MODULE(m, r);
			make_low_high(&m, (struct make_unit){.addr_size = addr_size}, dead[i],
				      (struct make_attr){DW_AT_high_pc, DW_FORM_data4}, N(1));
			reading_of(&r, &m);
			assert_string_equal(ranges_of(&r, UX_OK), "");
		}
	}
}

static void code_at_zero_lives_when_a_section_is_there(void **state)
{
	(void)state;
	MODULE(m, r);
	make_low_high(&m, (struct make_unit){0}, 0,
		      (struct make_attr){DW_AT_high_pc, DW_FORM_data4}, N(8));
	reading_of(&r, &m);
	r.text_list[0] = (struct ux_range){0, 0x100};
	assert_string_equal(ranges_of(&r, UX_OK), "0-8");
}

static void text_section_is_found_by_any_address_in_it(void **state)
{
	(void)state;
	static const struct ux_range list[] = {{0, 4}, {4, 8}, {16, 32}, {64, 65}};
	static const struct ux_range_set text = {list, 4};
	for (uint64_t pc = 0; pc < 70; pc++) {
		const struct ux_range *found = ux_range_set_find(&text, pc);
		const struct ux_range *expected = NULL;
		for (size_t i = 0; i < 4; i++)
			if (pc >= list[i].lo && pc < list[i].hi)
				expected = &list[i];
		assert_ptr_equal(found, expected);
	}
	assert_null(ux_range_set_find(&(struct ux_range_set){NULL, 0}, 0));
}

/* A version 4 function whose ranges are the pairs made so far. */
static void make_pairs_user(struct make_dwarf *m, struct make_unit unit, uint64_t list)
{
	unit.version = unit.version ? unit.version : 4;
	make_function(m, unit,
		      (struct make_attr){DW_AT_ranges,
					 unit.version < 4 ? DW_FORM_data4 : DW_FORM_sec_offset},
		      N(list), (struct make_attr){0x3a, DW_FORM_data1}, N(1));
}

static void pairs_count_from_the_units_low_pc(void **state)
{
	(void)state;
	for (uint16_t version = 3; version <= 4; version++) {
		MODULE(m, r);
		make_pair(&m, 9, 9);
		uint64_t list = make_pair(&m, 0x10, 0x20);
		make_pair(&m, 0x40, 0x44);
		make_pair(&m, 0, 0);
		make_pair(&m, 0x50, 0x54);
		make_pairs_user(&m, (struct make_unit){.version = version}, list);
		reading_of(&r, &m);
		assert_string_equal(ranges_of(&r, UX_OK), "3010-3020 3040-3044");
	}
}

static void pair_of_all_ones_selects_another_base(void **state)
{
	(void)state;
	for (uint8_t addr_size = 4; addr_size <= 8; addr_size = (uint8_t)(addr_size + 4)) {
		MODULE(m, r);
		m.unit.addr_size = addr_size;
		make_pair(&m, UINT64_MAX, 0x4000);
		make_pair(&m, 0x10, 0x20);
		make_pair(&m, UINT64_MAX, 0);
		make_pair(&m, 0x5000, 0x5001);
		make_pair(&m, 0, 0);
		make_pairs_user(&m, (struct make_unit){.addr_size = addr_size}, 0);
		reading_of(&r, &m);
		assert_string_equal(ranges_of(&r, UX_OK), "4010-4020 5000-5001");
	}
}

static void pairs_of_a_dropped_base_do_not_come_back(void **state)
{
	(void)state;
	for (uint64_t tombstone = UINT64_MAX - 1; tombstone != 0; tombstone++) {
		MODULE(m, r);
		make_pair(&m, UINT64_MAX, tombstone);
		make_pair(&m, 0x2000, 0x2010); /* would wrap into text */
		make_pair(&m, UINT64_MAX, 0x4000);
		make_pair(&m, 0, 0x10);
		make_pair(&m, 0, 0);
		make_pairs_user(&m, (struct make_unit){0}, 0);
		reading_of(&r, &m);
		assert_string_equal(ranges_of(&r, UX_OK), "4000-4010");
	}
}

static void pair_that_the_linker_made_one_is_dropped(void **state)
{
	(void)state;
	MODULE(m, r);
	make_pair(&m, UINT64_MAX, 0);
	make_pair(&m, 1, 1);
	make_pair(&m, 0x2000, 0x2010);
	make_pair(&m, 0, 0);
	make_pairs_user(&m, (struct make_unit){0}, 0);
	reading_of(&r, &m);
	assert_string_equal(ranges_of(&r, UX_OK), "2000-2010");
}

static void order_and_repetition_are_the_producers(void **state)
{
	(void)state;
	MODULE(m, r);
	make_pair(&m, 0x40, 0x44);
	make_pair(&m, 0x10, 0x20); /* the cold part may lie below the hot one */
	make_pair(&m, 0x40, 0x44);
	make_pair(&m, 0, 0);
	make_pairs_user(&m, (struct make_unit){0}, 0);
	reading_of(&r, &m);
	assert_string_equal(ranges_of(&r, UX_OK), "3040-3044 3010-3020 3040-3044");
}

static void list_without_an_end_keeps_what_came_before(void **state)
{
	(void)state;
	MODULE(m, r);
	make_pair(&m, 0x10, 0x20);
	ux_out_u32(&m.out[UX_DWARF_RANGES], 7);
	make_pairs_user(&m, (struct make_unit){0}, 0);
	reading_of(&r, &m);
	assert_string_equal(ranges_of(&r, UX_ECORRUPT), "3010-3020");
	assert_string_equal(r.err.section, ".debug_ranges");
	assert_int_equal(r.err.off, 16);
}

static void list_outside_its_section_is_corrupt(void **state)
{
	(void)state;
	static const uint16_t versions[] = {4, 5};
	for (size_t i = 0; i < 2; i++) {
		MODULE(m, r);
		make_pair(&m, 0, 0);
		make_rle(&m, DW_RLE_end_of_list, 0, 0);
		make_pairs_user(&m, (struct make_unit){.version = versions[i]}, 1000);
		reading_of(&r, &m);
		assert_string_equal(ranges_of(&r, UX_ECORRUPT), "");
	}
}

static void ranges_of_a_form_that_leads_nowhere_are_corrupt(void **state)
{
	(void)state;
	static const uint32_t forms[] = {DW_FORM_exprloc, DW_FORM_rnglistx};
	for (size_t i = 0; i < ux_countof(forms); i++) {
		MODULE(m, r);
		make_pair(&m, 0x10, 0x20);
		make_pair(&m, 0, 0);
		make_function(&m, (struct make_unit){.version = 4},
			      (struct make_attr){DW_AT_ranges, forms[i]},
			      (struct make_value){.bytes = UX_STR("ab")},
			      (struct make_attr){0x3a, DW_FORM_data1}, N(1));
		reading_of(&r, &m);
		assert_string_equal(ranges_of(&r, UX_ECORRUPT), "");
	}
}

/* A version 5 function whose list is at `list`; .debug_addr holds 0x5000 and 0x5040. */
static void make_lists_user(struct make_dwarf *m, struct make_unit unit, uint64_t list)
{
	make_table_begin(m, UX_DWARF_ADDR, 4, 0);
	make_addr(m, UX_DWARF_ADDR, 0x5000);
	make_addr(m, UX_DWARF_ADDR, 0x5040);
	make_table_length(m, UX_DWARF_ADDR);
	make_function(m, unit, (struct make_attr){DW_AT_ranges, DW_FORM_sec_offset}, N(list),
		      (struct make_attr){0x3a, DW_FORM_data1}, N(1));
}

static void every_kind_of_list_entry_is_read(void **state)
{
	(void)state;
	for (int big = 0; big < 2; big++) {
		for (uint8_t addr_size = 4; addr_size <= 8; addr_size = (uint8_t)(addr_size + 4)) {
			ux_cleanup(make_dwarf_deinit) struct make_dwarf m;
			make_dwarf_init(&m, big);
			ux_cleanup(reading_deinit) struct reading r = {0};
			m.unit.addr_size = addr_size;
			make_table_begin(&m, UX_DWARF_RNGLISTS, 4, 0);
			uint64_t list = make_rle(&m, DW_RLE_offset_pair, 0x10, 0x20);
			make_rle(&m, DW_RLE_base_address, 0x4000, 0);
			make_rle(&m, DW_RLE_offset_pair, 0x11, 0x21);
			make_rle(&m, DW_RLE_base_addressx, 1, 0);
			make_rle(&m, DW_RLE_offset_pair, 1, 2);
			make_rle(&m, DW_RLE_startx_endx, 0, 1);
			make_rle(&m, DW_RLE_startx_length, 1, 0x200);
			make_rle(&m, DW_RLE_start_end, 0x6000, 0x6001);
			make_rle(&m, DW_RLE_start_length, 0x7000, 0x80);
			make_rle(&m, DW_RLE_end_of_list, 0, 0);
			make_rle(&m, DW_RLE_start_length, 0x8000, 0x80);
			make_table_length(&m, UX_DWARF_RNGLISTS);
			make_lists_user(&m, (struct make_unit){.addr_size = addr_size}, list);
			reading_of(&r, &m);
			assert_string_equal(ranges_of(&r, UX_OK),
					    "3010-3020 4011-4021 5041-5042 5000-5040 5040-5240 "
					    "6000-6001 7000-7080");
		}
	}
}

static void list_entries_of_dropped_code_do_not_come_back(void **state)
{
	(void)state;
	MODULE(m, r);
	make_rle(&m, DW_RLE_base_address, UINT64_MAX, 0);
	make_rle(&m, DW_RLE_offset_pair, 0x2000, 0x2010);
	make_rle(&m, DW_RLE_base_address, UINT64_MAX - 1, 0);
	make_rle(&m, DW_RLE_offset_pair, 0x2000, 0x2010);
	make_rle(&m, DW_RLE_start_length, UINT64_MAX, 0x3000);
	make_rle(&m, DW_RLE_start_length, 0, 0x3000);
	make_rle(&m, DW_RLE_start_end, 1, 1);
	make_rle(&m, DW_RLE_start_end, 0x6000, 0x6010);
	make_rle(&m, DW_RLE_end_of_list, 0, 0);
	make_lists_user(&m, (struct make_unit){0}, 0);
	reading_of(&r, &m);
	assert_string_equal(ranges_of(&r, UX_OK), "6000-6010");
}

static void damaged_list_keeps_what_came_before(void **state)
{
	(void)state;
	static const struct {
		uint8_t kind;
		uint64_t a;
	} last[] = {
		{8, 0}, {0xff, 0}, {DW_RLE_base_addressx, 2}, {DW_RLE_startx_length, UINT64_MAX}};
	for (size_t i = 0; i < ux_countof(last); i++) {
		MODULE(m, r);
		make_rle(&m, DW_RLE_start_length, 0x6000, 1);
		make_rle(&m, last[i].kind, last[i].a, 1);
		make_rle(&m, DW_RLE_start_length, 0x7000, 1);
		make_rle(&m, DW_RLE_end_of_list, 0, 0);
		make_lists_user(&m, (struct make_unit){0}, 0);
		reading_of(&r, &m);
		assert_string_equal(ranges_of(&r, UX_ECORRUPT), "6000-6001");
		assert_string_equal(r.err.section, ".debug_rnglists");
	}
}

/* A unit with rnglistx number `index`; with_base: it says where the offsets begin. */
static void make_indexed(struct make_dwarf *m, uint8_t offset_size, bool with_base, uint64_t index)
{
	uint64_t base = make_table_begin(m, UX_DWARF_RNGLISTS, offset_size, 2);
	make_offset(m, UX_DWARF_RNGLISTS, 2u * offset_size);
	make_offset(m, UX_DWARF_RNGLISTS, 2u * offset_size + 1);
	make_rle(m, DW_RLE_end_of_list, 0, 0);
	make_rle(m, DW_RLE_start_length, 0x6000, 1);
	make_rle(m, DW_RLE_end_of_list, 0, 0);
	make_table_length(m, UX_DWARF_RNGLISTS);
	MAKE_ABBREV(m, 1, DW_TAG_compile_unit, true,
		    {with_base ? DW_AT_rnglists_base : 0x3a, DW_FORM_sec_offset});
	MAKE_ABBREV(m, 2, DW_TAG_subprogram, false, {DW_AT_ranges, DW_FORM_rnglistx});
	make_table_end(m);
	make_unit_begin(m, (struct make_unit){.offset_size = offset_size});
	MAKE_DIE(m, 1, N(base));
	MAKE_DIE(m, 2, N(index));
	make_null(m);
	make_unit_end(m);
}

static void list_is_found_by_index_with_and_without_a_base(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		MODULE(m, r);
		make_indexed(&m, i / 2 ? 8 : 4, i % 2, 1);
		reading_of(&r, &m);
		assert_string_equal(ranges_of(&r, UX_OK), "6000-6001");
	}
}

static void list_index_that_is_not_there_is_corrupt(void **state)
{
	(void)state;
	static const uint64_t indexes[] = {50, UINT64_MAX, UINT64_MAX / 4, UINT64_MAX / 8};
	for (size_t i = 0; i < ux_countof(indexes); i++) {
		MODULE(m, r);
		make_indexed(&m, i % 2 ? 8 : 4, true, indexes[i]);
		reading_of(&r, &m);
		assert_string_equal(ranges_of(&r, UX_ECORRUPT), "");
	}
}

static void base_of_all_ones_leads_nowhere(void **state)
{
	(void)state;
	MODULE(m, r);
	make_indexed(&m, 8, true, 1);
	make_patch(&m, UX_DWARF_INFO, make_off(&m, UX_DWARF_INFO) - 11, UINT64_MAX, 8);
	reading_of(&r, &m);
	assert_int_equal(r.ctx.rnglists_base, UINT64_MAX);
	assert_string_equal(ranges_of(&r, UX_ECORRUPT), "");
}

static void reading_stops_at_the_units_allowance(void **state)
{
	(void)state;
	MODULE(m, r);
	for (unsigned i = 0; i < 10; i++)
		make_pair(&m, 16 * i, 16 * i + 8);
	make_pair(&m, 0, 0);
	make_pairs_user(&m, (struct make_unit){0}, 0);
	reading_of(&r, &m);
	ux_cleanup(ux_range_vec_deinit) struct ux_range_vec out = {0};
	uint64_t entries = 11;
	assert_int_equal(ranges_at(&r, r.ctx.first_child, &entries, &out), UX_OK);
	assert_int_equal(entries, 0);
	assert_int_equal(out.size, 10);
	entries = 4;
	assert_int_equal(ranges_at(&r, r.ctx.first_child, &entries, &out), UX_ELIMIT);
	assert_int_equal(out.size, 14);
}

/* The input of a sweep: a function of each version. */
static void sweep_ranges(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	ux_cleanup(reading_deinit) struct reading r = {0};
	assert_int_equal(reading_init(&r, split_sections(input)), UX_OK);
	for (size_t i = 0; i < r.units.count; i++) {
		struct ux_dwarf_die die;
		if (open_unit(&r, i) != UX_OK ||
		    ux_dwarf_die_at(&r.ctx, r.ctx.first_child, &die, NULL) != UX_OK)
			continue;
		ux_cleanup(ux_range_vec_deinit) struct ux_range_vec out = {0};
		struct ux_dwarf_range_reader reader;
		ux_dwarf_range_reader_init(&reader, &r.ctx, &r.text, &out);
		reader.entries = 1000;
		struct ux_error err = UX_ERROR_INIT;
		enum ux_code code = ux_dwarf_die_ranges(&reader, &die, &err);
		assert_int_equal(code, err.code);
		assert_true(reader.entries <= 1000 && out.size <= 1001);
		for (size_t k = 0; k < out.size; k++)
			assert_true(out.data[k].lo >= TEXT_LO && out.data[k].lo < out.data[k].hi &&
				    out.data[k].hi <= TEXT_HI);
	}
}

static void no_damage_leaves_text_or_sections(void **state)
{
	(void)state;
	ASSEMBLER(m);
	make_indexed(&m, 4, true, 1);
	struct ux_dwarf_sections s = make_dwarf_sections(&m);
	ux_cleanup(ux_out_deinit) struct ux_out joined = {0};
	join_sections(&s, &joined);
	each_prefix(ux_out_bytes(&joined), sweep_ranges, NULL);
	each_bit_flip(ux_out_bytes(&joined), sweep_ranges, NULL);
	each_byte_extreme(ux_out_bytes(&joined), sweep_ranges, NULL);
	ASSEMBLER(m4);
	make_pair(&m4, 0x10, 0x20);
	make_pair(&m4, UINT64_MAX, 0x4000);
	make_pair(&m4, 0x10, 0x20);
	make_pair(&m4, 0, 0);
	make_pairs_user(&m4, (struct make_unit){0}, 0);
	s = make_dwarf_sections(&m4);
	ux_out_reset(&joined);
	join_sections(&s, &joined);
	each_prefix(ux_out_bytes(&joined), sweep_ranges, NULL);
	each_bit_flip(ux_out_bytes(&joined), sweep_ranges, NULL);
	each_byte_extreme(ux_out_bytes(&joined), sweep_ranges, NULL);
}

static enum ux_code read_with_failures(void *ctx)
{
	struct reading *r = ctx;
	ux_cleanup(ux_range_vec_deinit) struct ux_range_vec out = {0};
	uint64_t entries = MANY;
	return ranges_at(r, r->ctx.first_child, &entries, &out);
}

static void each_failed_allocation_is_reported(void **state)
{
	(void)state;
	MODULE(m, r);
	for (unsigned i = 0; i < 20; i++)
		make_pair(&m, 16 * i, 16 * i + 8);
	make_pair(&m, 0, 0);
	make_pairs_user(&m, (struct make_unit){0}, 0);
	reading_of(&r, &m);
	assert_true(each_failed_alloc(read_with_failures, &r, false) > 2);
}

UX_SUITE(dwarf_ranges)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(high_pc_is_an_end_or_a_length),
		UX_TEST(high_pc_by_indirect_form_has_that_forms_meaning),
		UX_TEST(high_pc_that_is_no_number_gives_no_range),
		UX_TEST(low_pc_alone_is_a_place_and_no_range),
		UX_TEST(empty_and_backward_ranges_are_dropped),
		UX_TEST(range_is_cut_at_the_end_of_its_section),
		UX_TEST(dropped_functions_are_known_by_the_section_they_are_not_in),
		UX_TEST(code_at_zero_lives_when_a_section_is_there),
		UX_TEST(text_section_is_found_by_any_address_in_it),
		UX_TEST(pairs_count_from_the_units_low_pc),
		UX_TEST(pair_of_all_ones_selects_another_base),
		UX_TEST(pairs_of_a_dropped_base_do_not_come_back),
		UX_TEST(pair_that_the_linker_made_one_is_dropped),
		UX_TEST(order_and_repetition_are_the_producers),
		UX_TEST(list_without_an_end_keeps_what_came_before),
		UX_TEST(list_outside_its_section_is_corrupt),
		UX_TEST(ranges_of_a_form_that_leads_nowhere_are_corrupt),
		UX_TEST(every_kind_of_list_entry_is_read),
		UX_TEST(list_entries_of_dropped_code_do_not_come_back),
		UX_TEST(damaged_list_keeps_what_came_before),
		UX_TEST(list_is_found_by_index_with_and_without_a_base),
		UX_TEST(list_index_that_is_not_there_is_corrupt),
		UX_TEST(base_of_all_ones_leads_nowhere),
		UX_TEST(reading_stops_at_the_units_allowance),
		UX_TEST(no_damage_leaves_text_or_sections),
		UX_TEST(each_failed_allocation_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
