/* SPDX-License-Identifier: Apache-2.0 */
/* Units: headers, the unit's own entry, forms. */
#include "test_dwarf.h"

/* Makes one unit with the header, whose entry has the name "u". */
static void make_plain_unit(struct make_dwarf *m, struct make_unit unit)
{
	unit.abbrev_off = make_off(m, UX_DWARF_ABBREV);
	MAKE_ABBREV(m, 1, DW_TAG_compile_unit, false, {DW_AT_name, DW_FORM_string});
	make_table_end(m);
	make_unit_begin(m, unit);
	MAKE_DIE(m, 1, T("u"));
	make_unit_end(m);
}

static void each_version_width_and_byte_order_is_read(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 4 * 2 * 2 * 3; i++) {
		struct make_unit unit = {
			.version = (uint16_t)(2 + i % 4),
			.offset_size = i / 4 % 2 ? 8 : 4,
			.addr_size = (const uint8_t[]){2, 4, 8}[i / 16],
		};
		ux_cleanup(make_dwarf_deinit) struct make_dwarf m;
		make_dwarf_init(&m, /* big= */ i / 8 % 2);
		ux_cleanup(reading_deinit) struct reading r = {0};
		make_plain_unit(&m, unit);
		reading_of(&r, &m);
		assert_int_equal(r.units.count, 1);
		assert_int_equal(r.units.bad, 0);
		assert_int_equal(r.ctx.unit->version, unit.version);
		assert_int_equal(r.ctx.unit->layout.addr_size, unit.addr_size);
		assert_int_equal(r.ctx.unit->layout.offset_size, unit.offset_size);
		assert_int_equal(r.ctx.unit->layout.ref_addr_size,
				 unit.version == 2 ? unit.addr_size : unit.offset_size);
		assert_string_equal(r.ctx.name, "u");
	}
}

static void units_of_both_formats_stand_side_by_side(void **state)
{
	(void)state;
	MODULE(m, r);
	make_plain_unit(&m, (struct make_unit){.version = 4});
	make_plain_unit(&m, (struct make_unit){.version = 5, .offset_size = 8});
	make_plain_unit(&m, (struct make_unit){.version = 2});
	reading_of(&r, &m);
	assert_int_equal(r.units.count, 3);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(open_unit(&r, i), UX_OK);
	assert_int_equal(r.units.list[2].end, make_off(&m, UX_DWARF_INFO));
}

static void headers_of_every_unit_type_are_passed(void **state)
{
	(void)state;
	MODULE(m, r);
	for (uint8_t type = DW_UT_compile; type <= DW_UT_split_type; type++)
		make_plain_unit(&m, (struct make_unit){.type = type});
	make_plain_unit(&m, (struct make_unit){.type = DW_UT_type, .offset_size = 8});
	reading_of(&r, &m);
	assert_int_equal(r.units.count, 7);
	for (size_t i = 0; i < 7; i++) {
		assert_int_equal(open_unit(&r, i), UX_OK);
		assert_string_equal(r.ctx.name, "u");
		assert_int_equal(r.units.list[i].type, i < 6 ? i + 1 : DW_UT_type);
	}
}

static void unreadable_header_costs_its_unit_only(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		MODULE(m, r);
		make_plain_unit(&m, (struct make_unit){0});
		size_t second = make_off(&m, UX_DWARF_INFO);
		make_plain_unit(&m, (struct make_unit){0});
		make_plain_unit(&m, (struct make_unit){0});
		const struct {
			size_t at;
			uint64_t value;
			unsigned size;
		} damage[] = {{4, 7, 2}, {4, 1, 2}, {6, 7, 1}, {7, 3, 1}};
		make_patch(&m, UX_DWARF_INFO, second + damage[i].at, damage[i].value,
			   damage[i].size);
		reading_of(&r, &m);
		assert_int_equal(r.units.count, 2);
		assert_int_equal(r.units.bad, 1);
		assert_int_equal(r.units.reason.code, UX_ECORRUPT);
		assert_int_equal(r.units.reason.off, second + damage[i].at);
		assert_int_equal(open_unit(&r, 1), UX_OK);
	}
}

static void unit_that_passes_the_section_ends_the_list(void **state)
{
	(void)state;
	MODULE(m, r);
	make_plain_unit(&m, (struct make_unit){0});
	size_t second = make_off(&m, UX_DWARF_INFO);
	make_plain_unit(&m, (struct make_unit){0});
	make_patch(&m, UX_DWARF_INFO, second, 1000, 4);
	reading_of(&r, &m);
	assert_int_equal(r.units.count, 1);
	assert_int_equal(r.units.bad, 1);
	make_patch(&m, UX_DWARF_INFO, second, 0xfffffff1, 4);
	reading_deinit(&r);
	reading_of(&r, &m);
	assert_int_equal(r.units.count, 1);
	assert_int_equal(r.units.bad, 1);
}

static void zeros_between_units_are_padding(void **state)
{
	(void)state;
	MODULE(m, r);
	make_plain_unit(&m, (struct make_unit){0});
	ux_out_u64(&m.out[UX_DWARF_INFO], 0);
	make_plain_unit(&m, (struct make_unit){0});
	ux_out_u32(&m.out[UX_DWARF_INFO], 0);
	reading_of(&r, &m);
	assert_int_equal(r.units.count, 2);
	assert_int_equal(r.units.bad, 0);
}

static void no_section_is_no_unit(void **state)
{
	(void)state;
	MODULE(m, r);
	assert_int_equal(reading_init(&r, make_dwarf_sections(&m)), UX_OK);
	assert_int_equal(r.units.count, 0);
	assert_int_equal(r.units.bad, 0);
	assert_null(ux_dwarf_units_find(&r.units, 0));
}

static void unit_is_found_by_any_of_its_offsets(void **state)
{
	(void)state;
	MODULE(m, r);
	make_plain_unit(&m, (struct make_unit){0});
	ux_out_u32(&m.out[UX_DWARF_INFO], 0);
	make_plain_unit(&m, (struct make_unit){0});
	reading_of(&r, &m);
	const struct ux_dwarf_unit *u = r.units.list;
	assert_ptr_equal(ux_dwarf_units_find(&r.units, 0), &u[0]);
	assert_ptr_equal(ux_dwarf_units_find(&r.units, u[0].end - 1), &u[0]);
	assert_null(ux_dwarf_units_find(&r.units, u[0].end)); /* the padding */
	assert_ptr_equal(ux_dwarf_units_find(&r.units, u[1].off), &u[1]);
	assert_null(ux_dwarf_units_find(&r.units, u[1].end));
	assert_null(ux_dwarf_units_find(&r.units, UINT64_MAX));
}

static void unit_must_begin_with_an_entry_of_a_unit(void **state)
{
	(void)state;
	MODULE(m, r);
	MAKE_ABBREV(&m, 1, DW_TAG_variable, false, {DW_AT_name, DW_FORM_string});
	make_table_end(&m);
	make_unit_begin(&m, (struct make_unit){0});
	MAKE_DIE(&m, 1, T("v"));
	make_unit_end(&m);
	make_unit_begin(&m, (struct make_unit){0});
	make_null(&m);
	make_unit_end(&m);
	make_unit_begin(&m, (struct make_unit){0});
	make_unit_end(&m);
	assert_int_equal(reading_init(&r, make_dwarf_sections(&m)), UX_OK);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(open_unit(&r, i), UX_ECORRUPT);
}

static void unit_tells_what_all_its_entries_need(void **state)
{
	(void)state;
	MODULE(m, r);
	MAKE_ABBREV(&m, 1, DW_TAG_compile_unit, true, {DW_AT_producer, DW_FORM_strp},
		    {DW_AT_language, DW_FORM_data2}, {DW_AT_name, DW_FORM_line_strp},
		    {DW_AT_comp_dir, DW_FORM_string}, {DW_AT_low_pc, DW_FORM_addr},
		    {DW_AT_stmt_list, DW_FORM_sec_offset}, {DW_AT_addr_base, DW_FORM_sec_offset},
		    {DW_AT_str_offsets_base, DW_FORM_sec_offset},
		    {DW_AT_rnglists_base, DW_FORM_sec_offset});
	make_table_end(&m);
	make_unit_begin(&m, (struct make_unit){0});
	MAKE_DIE(&m, 1, T("GNU C17"), N(DW_LANG_C11), T("a.c"), T("/src"), N(0x1000), N(7), N(16),
		 N(24), N(32));
	make_null(&m);
	make_unit_end(&m);
	reading_of(&r, &m);
	assert_string_equal(r.ctx.producer, "GNU C17");
	assert_string_equal(r.ctx.name, "a.c");
	assert_string_equal(r.ctx.comp_dir, "/src");
	assert_int_equal(r.ctx.language, DW_LANG_C11);
	assert_true(r.ctx.has_low_pc && r.ctx.has_lines && r.ctx.has_children);
	assert_int_equal(r.ctx.low_pc, 0x1000);
	assert_int_equal(r.ctx.lines_off, 7);
	assert_int_equal(r.ctx.addr_base, 16);
	assert_int_equal(r.ctx.str_offsets_base, 24);
	assert_int_equal(r.ctx.rnglists_base, 32);
	assert_int_equal(r.ctx.first_child, make_off(&m, UX_DWARF_INFO) - 1);
}

static void unit_that_says_nothing_has_the_usual_bases(void **state)
{
	(void)state;
	static const struct {
		struct make_unit unit;
		uint64_t header, rnglists;
	} cases[] = {
		{{.version = 5}, 8, 12},
		{{.version = 5, .offset_size = 8}, 16, 20},
		{{.version = 4}, 0, 4},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		MODULE(m, r);
		make_plain_unit(&m, cases[i].unit);
		reading_of(&r, &m);
		assert_int_equal(r.ctx.addr_base, cases[i].header);
		assert_int_equal(r.ctx.str_offsets_base, cases[i].header);
		assert_int_equal(r.ctx.rnglists_base, cases[i].rnglists);
		assert_false(r.ctx.has_lines || r.ctx.has_low_pc || r.ctx.has_children);
		assert_null(r.ctx.comp_dir);
		assert_null(r.ctx.producer);
		assert_int_equal(r.ctx.language, 0);
	}
}

static void statement_list_is_an_offset_of_old_and_new_forms_only(void **state)
{
	(void)state;
	static const struct {
		uint32_t form;
		bool lines;
	} cases[] = {{DW_FORM_sec_offset, true},
		     {DW_FORM_data4, true},
		     {DW_FORM_data8, true},
		     {DW_FORM_string, false},
		     {DW_FORM_exprloc, false}};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		MODULE(m, r);
		MAKE_ABBREV(&m, 1, DW_TAG_compile_unit, false, {DW_AT_stmt_list, cases[i].form});
		make_table_end(&m);
		make_unit_begin(&m, (struct make_unit){.version = 3});
		MAKE_DIE(&m, 1, {.number = 9, .text = "x", .bytes = UX_STR("y")});
		make_unit_end(&m);
		reading_of(&r, &m);
		assert_int_equal(r.ctx.has_lines, cases[i].lines);
		assert_int_equal(r.ctx.lines_off, cases[i].lines ? 9 : 0);
	}
}

/* Makes a unit with one function. Its attribute 0x3a, which is not read, has the form and precedes
 * its name. */
static void make_form_unit(struct make_dwarf *m, uint32_t form, struct make_value value)
{
	MAKE_ABBREV(m, 1, DW_TAG_compile_unit, true, {DW_AT_language, DW_FORM_data1});
	MAKE_ABBREV(m, 2, DW_TAG_subprogram, false, {0x3a, form, -3}, {DW_AT_name, DW_FORM_string});
	make_table_end(m);
	make_unit_begin(m, (struct make_unit){0});
	MAKE_DIE(m, 1, N(DW_LANG_C));
	if (form == DW_FORM_implicit_const || form == DW_FORM_flag_present)
		MAKE_DIE(m, 2, T("f"));
	else
		MAKE_DIE(m, 2, value, T("f"));
	make_null(m);
	make_unit_end(m);
}

static void every_form_is_stepped_over_by_its_size(void **state)
{
	(void)state;
	static const uint32_t forms[] = {
		DW_FORM_addr,        DW_FORM_block2,         DW_FORM_block4,
		DW_FORM_data2,       DW_FORM_data4,          DW_FORM_data8,
		DW_FORM_string,      DW_FORM_block,          DW_FORM_block1,
		DW_FORM_data1,       DW_FORM_flag,           DW_FORM_sdata,
		DW_FORM_strp,        DW_FORM_udata,          DW_FORM_ref_addr,
		DW_FORM_ref1,        DW_FORM_ref2,           DW_FORM_ref4,
		DW_FORM_ref8,        DW_FORM_ref_udata,      DW_FORM_indirect,
		DW_FORM_sec_offset,  DW_FORM_exprloc,        DW_FORM_flag_present,
		DW_FORM_strx,        DW_FORM_addrx,          DW_FORM_ref_sup4,
		DW_FORM_strp_sup,    DW_FORM_data16,         DW_FORM_line_strp,
		DW_FORM_ref_sig8,    DW_FORM_implicit_const, DW_FORM_loclistx,
		DW_FORM_rnglistx,    DW_FORM_ref_sup8,       DW_FORM_strx1,
		DW_FORM_strx2,       DW_FORM_strx3,          DW_FORM_strx4,
		DW_FORM_addrx1,      DW_FORM_addrx2,         DW_FORM_addrx3,
		DW_FORM_addrx4,      DW_FORM_GNU_addr_index, DW_FORM_GNU_str_index,
		DW_FORM_GNU_ref_alt, DW_FORM_GNU_strp_alt,   DW_FORM_LLVM_addrx_offset,
	};
	for (size_t i = 0; i < ux_countof(forms); i++) {
		MODULE(m, r);
		struct make_value value = {.number = 0x77, .form = DW_FORM_udata};
		if (forms[i] == DW_FORM_string)
			value.text = "text";
		value.bytes = UX_STR("0123456789abcdef");
		make_form_unit(&m, forms[i], value);
		reading_of(&r, &m);
		struct ux_dwarf_die die;
		assert_int_equal(ux_dwarf_die_at(&r.ctx, r.ctx.first_child, &die, NULL), UX_OK);
		assert_string_equal(ux_dwarf_die_text(&r.ctx, &die, UX_SLOT_NAME), "f");
	}
}

static void long_leb128_and_blocks_are_stepped_over(void **state)
{
	(void)state;
	static char text[301];
	memset(text, 'x', 300);
	static const uint32_t forms[] = {DW_FORM_block, DW_FORM_block2, DW_FORM_block4,
					 DW_FORM_exprloc};
	for (size_t i = 0; i < ux_countof(forms); i++) {
		MODULE(m, r);
		make_form_unit(&m, forms[i], (struct make_value){.bytes = ux_bytes(text, 300)});
		reading_of(&r, &m);
		struct ux_dwarf_die die;
		assert_int_equal(ux_dwarf_die_at(&r.ctx, r.ctx.first_child, &die, NULL), UX_OK);
		assert_string_equal(ux_dwarf_die_text(&r.ctx, &die, UX_SLOT_NAME), "f");
	}
	MODULE(m, r);
	make_form_unit(&m, DW_FORM_udata, N(UINT64_MAX));
	reading_of(&r, &m);
	struct ux_dwarf_die die;
	assert_int_equal(ux_dwarf_die_at(&r.ctx, r.ctx.first_child, &die, NULL), UX_OK);
	assert_string_equal(ux_dwarf_die_text(&r.ctx, &die, UX_SLOT_NAME), "f");
}

static void unknown_form_is_met_by_its_entry_alone(void **state)
{
	(void)state;
	MODULE(m, r);
	make_form_unit(&m, 0x7e, N(1));
	reading_of(&r, &m);
	struct ux_dwarf_die die;
	assert_int_equal(ux_dwarf_die_at(&r.ctx, r.ctx.first_child, &die, &r.err), UX_ECORRUPT);
	assert_string_equal(r.err.text, "unknown form");
}

static void indirect_form_must_name_a_plain_one(void **state)
{
	(void)state;
	static const uint32_t inner[] = {DW_FORM_indirect, DW_FORM_implicit_const, 0x7e, 0x12345};
	for (size_t i = 0; i < ux_countof(inner); i++) {
		MODULE(m, r);
		make_form_unit(&m, DW_FORM_udata, N(inner[i]));
		m.out[UX_DWARF_ABBREV].data[make_off(&m, UX_DWARF_ABBREV) - 6] = DW_FORM_indirect;
		reading_of(&r, &m);
		struct ux_dwarf_die die;
		assert_int_equal(ux_dwarf_die_at(&r.ctx, r.ctx.first_child, &die, &r.err),
				 UX_ECORRUPT);
	}
}

/* Makes a unit whose only function has its name in the form. */
static const char *text_by(struct make_dwarf *m, struct reading *r, uint32_t form,
			   struct make_value value)
{
	static struct ux_dwarf_die die;
	MAKE_ABBREV(m, 1, DW_TAG_compile_unit, true, {DW_AT_str_offsets_base, DW_FORM_sec_offset});
	MAKE_ABBREV(m, 2, DW_TAG_subprogram, false, {DW_AT_name, form});
	make_table_end(m);
	make_unit_begin(m, (struct make_unit){0});
	MAKE_DIE(m, 1, N(8));
	MAKE_DIE(m, 2, value);
	make_null(m);
	make_unit_end(m);
	reading_of(r, m);
	assert_int_equal(ux_dwarf_die_at(&r->ctx, r->ctx.first_child, &die, NULL), UX_OK);
	return ux_dwarf_die_text(&r->ctx, &die, UX_SLOT_NAME);
}

static void text_is_found_by_index_in_each_width(void **state)
{
	(void)state;
	static const uint32_t forms[] = {DW_FORM_strx,  DW_FORM_strx1, DW_FORM_strx2,
					 DW_FORM_strx3, DW_FORM_strx4, DW_FORM_GNU_str_index};
	for (size_t i = 0; i < ux_countof(forms); i++) {
		MODULE(m, r);
		make_table_begin(&m, UX_DWARF_STR_OFFSETS, 4, 0);
		make_offset(&m, UX_DWARF_STR_OFFSETS, make_text(&m, UX_DWARF_STR, "zero"));
		make_offset(&m, UX_DWARF_STR_OFFSETS, make_text(&m, UX_DWARF_STR, "one"));
		make_table_length(&m, UX_DWARF_STR_OFFSETS);
		assert_string_equal(text_by(&m, &r, forms[i], N(1)), "one");
	}
}

static void text_that_is_not_there_is_null(void **state)
{
	(void)state;
	static const struct {
		uint32_t form;
		uint64_t number;
	} cases[] = {
		{DW_FORM_strp, 5},          {DW_FORM_strp, UINT32_MAX},
		{DW_FORM_line_strp, 0},     {DW_FORM_strx, 1},
		{DW_FORM_strx, UINT64_MAX}, {DW_FORM_strx, UINT64_MAX / 4},
		{DW_FORM_GNU_strp_alt, 0},  {DW_FORM_strp_sup, 0},
		{DW_FORM_udata, 0},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		MODULE(m, r);
		make_text(&m, UX_DWARF_STR, "text");
		assert_null(text_by(&m, &r, cases[i].form, N(cases[i].number)));
	}
}

static void text_without_an_end_is_null(void **state)
{
	(void)state;
	MODULE(m, r);
	make_text(&m, UX_DWARF_STR, "fine");
	ux_out_cstr(&m.out[UX_DWARF_STR], "cut");
	assert_null(text_by(&m, &r, DW_FORM_strp, N(5)));
	struct ux_bytes all = ux_out_bytes(&m.out[UX_DWARF_STR]);
	struct ux_bytes guarded = guard(all);
	struct ux_dwarf_sections s = {.data = {[UX_DWARF_STR] = guarded}};
	assert_string_equal(ux_dwarf_text_at(&s, UX_DWARF_STR, 0), "fine");
	for (uint64_t off = 5; off < 10; off++)
		assert_null(ux_dwarf_text_at(&s, UX_DWARF_STR, off));
	guard_free(guarded);
}

static void address_is_found_by_index_in_each_width(void **state)
{
	(void)state;
	static const uint32_t forms[] = {DW_FORM_addrx,  DW_FORM_addrx1, DW_FORM_addrx2,
					 DW_FORM_addrx3, DW_FORM_addrx4, DW_FORM_GNU_addr_index};
	for (size_t i = 0; i < ux_countof(forms); i++) {
		MODULE(m, r);
		uint64_t base = make_table_begin(&m, UX_DWARF_ADDR, 4, 0);
		make_addr(&m, UX_DWARF_ADDR, 0x1000);
		make_addr(&m, UX_DWARF_ADDR, 0x2000);
		make_table_length(&m, UX_DWARF_ADDR);
		MAKE_ABBREV(&m, 1, DW_TAG_compile_unit, false, {DW_AT_low_pc, forms[i]},
			    {DW_AT_addr_base, DW_FORM_sec_offset});
		make_table_end(&m);
		for (uint64_t index = 1; index <= 2; index++) {
			make_unit_begin(&m, (struct make_unit){0});
			MAKE_DIE(&m, 1, N(index), N(base));
			make_unit_end(&m);
		}
		reading_of(&r, &m);
		assert_true(r.ctx.has_low_pc);
		assert_int_equal(r.ctx.low_pc, 0x2000);
		assert_int_equal(open_unit(&r, 1), UX_OK);
		assert_false(r.ctx.has_low_pc); /* past the section */
	}
}

/* As clang writes them to need fewer entries of .debug_addr (-minimize-addr-in-v5). */
static void address_may_be_an_offset_from_another_one(void **state)
{
	(void)state;
	const struct {
		uint32_t form;
		struct make_value value;
		uint64_t pc; /* 0: unknown */
	} cases[] = {
		{DW_FORM_LLVM_addrx_offset, N((uint64_t)1 << 32 | 0x34), 0x2034},
		{DW_FORM_LLVM_addrx_offset, N((uint64_t)2 << 32 | 0x34), 0},
		{DW_FORM_exprloc, B("\xa1\x01\x0c\x34\x00\x00\x00\x22"), 0x2034},
		{DW_FORM_exprloc, B("\xa1\x01\x23\x34"), 0x2034},
		{DW_FORM_exprloc, B("\xa1\x01"), 0x2000},
		{DW_FORM_exprloc, B("\xa1\x02\x23\x34"), 0},
		{DW_FORM_exprloc, B("\xa1\x01\x0c\x34\x00\x00\x00"), 0},     /* no plus */
		{DW_FORM_exprloc, B("\xa1\x01\x0c\x34\x00\x00\x00\x1c"), 0}, /* minus */
		{DW_FORM_exprloc, B("\xa1\x01\x23\x34\x06"), 0},
		{DW_FORM_exprloc, B("\x9c"), 0},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		MODULE(m, r);
		uint64_t base = make_table_begin(&m, UX_DWARF_ADDR, 4, 0);
		make_addr(&m, UX_DWARF_ADDR, 0x1000);
		make_addr(&m, UX_DWARF_ADDR, 0x2000);
		make_table_length(&m, UX_DWARF_ADDR);
		MAKE_ABBREV(&m, 1, DW_TAG_compile_unit, false, {DW_AT_low_pc, cases[i].form},
			    {DW_AT_addr_base, DW_FORM_sec_offset});
		make_table_end(&m);
		make_unit_begin(&m, (struct make_unit){0});
		MAKE_DIE(&m, 1, cases[i].value, N(base));
		make_unit_end(&m);
		reading_of(&r, &m);
		assert_int_equal(r.ctx.has_low_pc, cases[i].pc != 0);
		if (cases[i].pc != 0)
			assert_int_equal(r.ctx.low_pc, cases[i].pc);
	}
}

static void references_of_each_width_count_from_the_unit(void **state)
{
	(void)state;
	static const uint32_t forms[] = {DW_FORM_ref1, DW_FORM_ref2,      DW_FORM_ref4,
					 DW_FORM_ref8, DW_FORM_ref_udata, DW_FORM_ref_addr};
	for (size_t i = 0; i < ux_countof(forms); i++) {
		MODULE(m, r);
		make_plain_unit(&m, (struct make_unit){0});
		uint64_t table = make_off(&m, UX_DWARF_ABBREV);
		MAKE_ABBREV(&m, 1, DW_TAG_compile_unit, true, {DW_AT_language, DW_FORM_data1});
		MAKE_ABBREV(&m, 2, DW_TAG_subprogram, false, {DW_AT_abstract_origin, forms[i]});
		make_table_end(&m);
		make_unit_begin(&m, (struct make_unit){.abbrev_off = table});
		MAKE_DIE(&m, 1, N(DW_LANG_C));
		MAKE_DIE(&m, 2, N(make_off(&m, UX_DWARF_INFO)));
		make_unit_end(&m);
		reading_of(&r, &m);
		assert_int_equal(open_unit(&r, 1), UX_OK);
		struct ux_dwarf_die die;
		uint64_t off = 0;
		assert_int_equal(ux_dwarf_die_at(&r.ctx, r.ctx.first_child, &die, NULL), UX_OK);
		assert_true(ux_dwarf_die_ref(&r.ctx, &die, UX_SLOT_ORIGIN, &off));
		assert_int_equal(off, r.ctx.first_child);
	}
}

static void references_into_other_files_stay_unresolved(void **state)
{
	(void)state;
	static const uint32_t forms[] = {DW_FORM_ref_sig8, DW_FORM_ref_sup4, DW_FORM_ref_sup8,
					 DW_FORM_GNU_ref_alt, DW_FORM_data4};
	for (size_t i = 0; i < ux_countof(forms); i++) {
		MODULE(m, r);
		MAKE_ABBREV(&m, 1, DW_TAG_compile_unit, true, {DW_AT_language, DW_FORM_data1});
		MAKE_ABBREV(&m, 2, DW_TAG_subprogram, false, {DW_AT_abstract_origin, forms[i]});
		make_table_end(&m);
		make_unit_begin(&m, (struct make_unit){0});
		MAKE_DIE(&m, 1, N(DW_LANG_C));
		MAKE_DIE(&m, 2, N(0x10));
		make_unit_end(&m);
		reading_of(&r, &m);
		struct ux_dwarf_die die;
		uint64_t off = 0;
		assert_int_equal(ux_dwarf_die_at(&r.ctx, r.ctx.first_child, &die, NULL), UX_OK);
		assert_false(ux_dwarf_die_ref(&r.ctx, &die, UX_SLOT_ORIGIN, &off));
		assert_false(ux_dwarf_die_ref(&r.ctx, &die, UX_SLOT_SPECIFICATION, &off));
	}
}

static void entry_is_only_read_inside_its_unit(void **state)
{
	(void)state;
	MODULE(m, r);
	make_form_unit(&m, DW_FORM_data1, N(1));
	reading_of(&r, &m);
	struct ux_dwarf_die die;
	const struct ux_dwarf_unit *u = r.ctx.unit;
	assert_int_equal(ux_dwarf_die_at(&r.ctx, u->end - 1, &die, NULL), UX_ENOTFOUND);
	assert_int_equal(ux_dwarf_die_at(&r.ctx, u->end, &die, NULL), UX_ECORRUPT);
	assert_int_equal(ux_dwarf_die_at(&r.ctx, u->end + 1, &die, NULL), UX_ECORRUPT);
	assert_int_equal(ux_dwarf_die_at(&r.ctx, u->off, &die, NULL), UX_ECORRUPT);
	assert_int_equal(ux_dwarf_die_at(&r.ctx, UINT64_MAX, &die, NULL), UX_ECORRUPT);
	/* its second byte is a code that no table has */
	assert_int_equal(ux_dwarf_die_at(&r.ctx, r.ctx.first_child + 2, &die, &r.err), UX_ECORRUPT);
	assert_int_equal(r.err.off, r.ctx.first_child + 2);
}

static void entry_that_others_refer_to_is_at_most_16_kib(void **state)
{
	(void)state;
	for (size_t extra = 0; extra < 2; extra++) {
		MODULE(m, r);
		size_t n = UX_DWARF_DIE_MAX - 6 + extra; /* code, length, name */
		uint8_t *zeros = calloc(1, n);
		make_form_unit(&m, DW_FORM_block2, (struct make_value){.bytes = {zeros, n}});
		free(zeros);
		ux_out_u64(&m.out[UX_DWARF_INFO], 0);
		make_unit_end(&m); /* again: the unit continues after the entry */
		reading_of(&r, &m);
		struct ux_dwarf_die die;
		enum ux_code code = ux_dwarf_die_at(&r.ctx, r.ctx.first_child, &die, NULL);
		assert_int_equal(code, n + 5 <= UX_DWARF_DIE_MAX ? UX_OK : UX_ELIMIT);
	}
}

/* A unit of version and form for each slot. */
static void make_rich_unit(struct make_dwarf *m)
{
	MAKE_ABBREV(m, 1, DW_TAG_compile_unit, true, {DW_AT_name, DW_FORM_strx1},
		    {DW_AT_low_pc, DW_FORM_addrx}, {DW_AT_comp_dir, DW_FORM_strp});
	MAKE_ABBREV(m, 9, DW_TAG_subprogram, false, {0x3a, DW_FORM_udata}, {0x40, DW_FORM_exprloc},
		    {DW_AT_name, DW_FORM_indirect}, {DW_AT_abstract_origin, DW_FORM_ref4});
	make_table_end(m);
	make_table_begin(m, UX_DWARF_STR_OFFSETS, 4, 0);
	make_offset(m, UX_DWARF_STR_OFFSETS, make_text(m, UX_DWARF_STR, "zero"));
	make_table_length(m, UX_DWARF_STR_OFFSETS);
	make_table_begin(m, UX_DWARF_ADDR, 4, 0);
	make_addr(m, UX_DWARF_ADDR, 0x1000);
	make_table_length(m, UX_DWARF_ADDR);
	make_unit_begin(m, (struct make_unit){0});
	MAKE_DIE(m, 1, N(0), N(0), T("/src"));
	MAKE_DIE(m, 9, N(300), B("abc"), INDIRECT(DW_FORM_strx1, 0), N(12));
	make_null(m);
	make_unit_end(m);
}

static void sweep_units(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	ux_cleanup(reading_deinit) struct reading r = {0};
	assert_int_equal(reading_init(&r, split_sections(input)), UX_OK);
	for (size_t i = 0; i < r.units.count; i++) {
		const struct ux_dwarf_unit *u = &r.units.list[i];
		assert_true(u->off < u->die_off && u->die_off <= u->end &&
			    u->end <= r.sections.data[UX_DWARF_INFO].size);
		enum ux_code code = open_unit(&r, i);
		assert_int_equal(code, r.err.code);
		struct ux_dwarf_die die;
		if (code == UX_OK &&
		    ux_dwarf_die_at(&r.ctx, r.ctx.first_child, &die, NULL) == UX_OK) {
			const char *name = ux_dwarf_die_text(&r.ctx, &die, UX_SLOT_NAME);
			assert_true(!name || strlen(name) < input.size);
		}
	}
}

static void no_damage_is_read_past_the_sections(void **state)
{
	(void)state;
	ASSEMBLER(m);
	make_rich_unit(&m);
	struct ux_dwarf_sections s = make_dwarf_sections(&m);
	ux_cleanup(ux_out_deinit) struct ux_out joined = {0};
	join_sections(&s, &joined);
	each_prefix(ux_out_bytes(&joined), sweep_units, NULL);
	each_bit_flip(ux_out_bytes(&joined), sweep_units, NULL);
	each_byte_extreme(ux_out_bytes(&joined), sweep_units, NULL);
}

static enum ux_code open_with_failures(void *ctx)
{
	const struct make_dwarf *m = ctx;
	ux_cleanup(reading_deinit) struct reading r = {0};
	UX_TRY(reading_init(&r, make_dwarf_sections(m)));
	return open_unit(&r, 0);
}

static void each_failed_allocation_is_reported(void **state)
{
	(void)state;
	ASSEMBLER(m);
	make_rich_unit(&m);
	assert_true(each_failed_alloc(open_with_failures, &m, false) > 8);
}

UX_SUITE(dwarf_unit)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(each_version_width_and_byte_order_is_read),
		UX_TEST(units_of_both_formats_stand_side_by_side),
		UX_TEST(headers_of_every_unit_type_are_passed),
		UX_TEST(unreadable_header_costs_its_unit_only),
		UX_TEST(unit_that_passes_the_section_ends_the_list),
		UX_TEST(zeros_between_units_are_padding),
		UX_TEST(no_section_is_no_unit),
		UX_TEST(unit_is_found_by_any_of_its_offsets),
		UX_TEST(unit_must_begin_with_an_entry_of_a_unit),
		UX_TEST(unit_tells_what_all_its_entries_need),
		UX_TEST(unit_that_says_nothing_has_the_usual_bases),
		UX_TEST(statement_list_is_an_offset_of_old_and_new_forms_only),
		UX_TEST(every_form_is_stepped_over_by_its_size),
		UX_TEST(long_leb128_and_blocks_are_stepped_over),
		UX_TEST(unknown_form_is_met_by_its_entry_alone),
		UX_TEST(indirect_form_must_name_a_plain_one),
		UX_TEST(text_is_found_by_index_in_each_width),
		UX_TEST(text_that_is_not_there_is_null),
		UX_TEST(text_without_an_end_is_null),
		UX_TEST(address_is_found_by_index_in_each_width),
		UX_TEST(address_may_be_an_offset_from_another_one),
		UX_TEST(references_of_each_width_count_from_the_unit),
		UX_TEST(references_into_other_files_stay_unresolved),
		UX_TEST(entry_is_only_read_inside_its_unit),
		UX_TEST(entry_that_others_refer_to_is_at_most_16_kib),
		UX_TEST(no_damage_is_read_past_the_sections),
		UX_TEST(each_failed_allocation_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
