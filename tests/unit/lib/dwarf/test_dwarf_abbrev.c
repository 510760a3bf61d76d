/* SPDX-License-Identifier: Apache-2.0 */
/* Abbreviation tables. */
#include "test_dwarf.h"

#include "dwarf_stride.h"
#include "pool.h"

static const struct ux_dwarf_layout layout64 = {8, 4, 4};

static enum ux_code parse(const struct ux_dwarf_sections *s, struct ux_dwarf_layout layout,
			  struct ux_dwarf_abbrevs *ret, struct ux_error *err)
{
	struct ux_dwarf_table table = {.end = s->data[UX_DWARF_ABBREV].size, .layout = layout};
	return ux_dwarf_abbrevs_parse(s, &table, ret, err);
}

/* Parses the declarations made by m, which must be valid. */
static struct ux_dwarf_abbrevs parsed(const struct make_dwarf *m, struct ux_dwarf_layout layout)
{
	struct ux_dwarf_sections s = make_dwarf_sections(m);
	struct ux_dwarf_abbrevs table;
	assert_int_equal(parse(&s, layout, &table, NULL), UX_OK);
	return table;
}

static void codes_from_one_on_are_an_index(void **state)
{
	(void)state;
	ASSEMBLER(m);
	for (unsigned code = 1; code <= 20; code++)
		MAKE_ABBREV(&m, code, 0x100 + code, false, {DW_AT_name, DW_FORM_strp});
	make_table_end(&m);
	ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs table = parsed(&m, layout64);
	assert_true(table.dense);
	assert_int_equal(table.count, 20);
	for (unsigned code = 1; code <= 20; code++)
		assert_int_equal(ux_dwarf_abbrevs_find(&table, code)->tag, 0x100 + code);
	assert_null(ux_dwarf_abbrevs_find(&table, 0));
	assert_null(ux_dwarf_abbrevs_find(&table, 21));
	assert_null(ux_dwarf_abbrevs_find(&table, UINT64_MAX));
}

static void sparse_codes_in_any_order_are_found(void **state)
{
	(void)state;
	static const uint64_t codes[] = {700, 3, UINT64_MAX, 1, 128, 5};
	ASSEMBLER(m);
	for (unsigned i = 0; i < ux_countof(codes); i++)
		MAKE_ABBREV(&m, codes[i], 0x100 + i, false, {DW_AT_name, DW_FORM_strp});
	make_table_end(&m);
	ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs table = parsed(&m, layout64);
	assert_false(table.dense);
	for (unsigned i = 0; i < ux_countof(codes); i++)
		assert_int_equal(ux_dwarf_abbrevs_find(&table, codes[i])->tag, 0x100 + i);
	assert_null(ux_dwarf_abbrevs_find(&table, 0));
	assert_null(ux_dwarf_abbrevs_find(&table, 2));
	assert_null(ux_dwarf_abbrevs_find(&table, 701));
}

static void code_that_stands_twice_is_still_found(void **state)
{
	(void)state;
	ASSEMBLER(m);
	MAKE_ABBREV(&m, 1, DW_TAG_variable, false, {DW_AT_name, DW_FORM_strp});
	MAKE_ABBREV(&m, 1, DW_TAG_variable, false, {DW_AT_name, DW_FORM_strp});
	make_table_end(&m);
	ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs table = parsed(&m, layout64);
	assert_false(table.dense);
	assert_non_null(ux_dwarf_abbrevs_find(&table, 1));
}

static void empty_table_has_no_code(void **state)
{
	(void)state;
	ASSEMBLER(m);
	make_table_end(&m);
	ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs table = parsed(&m, layout64);
	assert_int_equal(table.count, 0);
	assert_null(ux_dwarf_abbrevs_find(&table, 1));
}

static void fixed_forms_add_up_by_layout(void **state)
{
	(void)state;
	ASSEMBLER(m);
	MAKE_ABBREV(&m, 1, DW_TAG_variable, false, {0x31, DW_FORM_addr}, {0x32, DW_FORM_strp},
		    {0x33, DW_FORM_ref_addr}, {0x34, DW_FORM_data16}, {0x35, DW_FORM_strx3},
		    {0x36, DW_FORM_flag_present}, {0x37, DW_FORM_implicit_const, -5});
	make_table_end(&m);
	static const struct {
		struct ux_dwarf_layout layout;
		uint32_t bytes;
	} cases[] = {
		{{8, 4, 4}, 8 + 4 + 4 + 19},
		{{4, 4, 4}, 4 + 4 + 4 + 19},
		{{8, 8, 8}, 8 + 8 + 8 + 19},
		{{8, 4, 8}, 8 + 4 + 8 + 19}, /* DWARF 2 */
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs table =
			parsed(&m, cases[i].layout);
		assert_int_equal(table.steps[1].size, 1 + cases[i].bytes);
	}
}

static void step_tells_how_entry_of_short_code_is_passed(void **state)
{
	(void)state;
	ASSEMBLER(m);
	MAKE_ABBREV(&m, 1, DW_TAG_variable, false, {DW_AT_name, DW_FORM_strp},
		    {0x02, DW_FORM_exprloc}, {0x3f, DW_FORM_data1});
	MAKE_ABBREV(&m, 2, DW_TAG_structure_type, true, {DW_AT_name, DW_FORM_strp},
		    {DW_AT_sibling, DW_FORM_ref4});
	MAKE_ABBREV(&m, 3, DW_TAG_variable, false, {0x02, DW_FORM_exprloc}, {0x03, DW_FORM_exprloc},
		    {0x04, DW_FORM_exprloc});
	MAKE_ABBREV(&m, 4, DW_TAG_array_type, true, {0x3f, DW_FORM_data1});
	MAKE_ABBREV(&m, 5, DW_TAG_subprogram, true, {DW_AT_sibling, DW_FORM_ref_udata});
	make_table_end(&m);
	ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs table = parsed(&m, layout64);
	const struct ux_dwarf_step *s = table.steps;
	assert_int_equal(table.n_steps, UX_DWARF_STEPS_MIN);
	for (unsigned code = 6; code < UX_DWARF_STEPS_MIN; code++)
		assert_int_equal(s[code].flags, UX_STEP_LOOSE);
	assert_int_equal(s[0].size, 1);
	assert_int_equal(s[0].depth, -1);
	assert_int_equal(s[1].size, 1 + 4 + 1 + 1);
	assert_int_equal(s[1].block, 1 + 4);
	assert_int_equal(s[1].flags, UX_STEP_BLOCK);
	assert_int_equal(s[2].sibling, 1 + 4);
	assert_int_equal(s[2].depth, 1);
	assert_int_equal(s[2].flags, UX_STEP_CLASS | UX_STEP_SIBLING | UX_STEP_USELESS);
	assert_true((s[3].flags & UX_STEP_LOOSE) != 0);
	assert_int_equal(s[4].flags, UX_STEP_DEEP);
	assert_int_equal(s[5].flags, UX_STEP_DECLARES | UX_STEP_LOOSE);
}

static void step_has_one_text_in_front_of_its_block_and_its_sibling(void **state)
{
	(void)state;
	ASSEMBLER(m);
	MAKE_ABBREV(&m, 1, DW_TAG_variable, false, {DW_AT_name, DW_FORM_string},
		    {0x02, DW_FORM_exprloc}, {0x3f, DW_FORM_data1});
	MAKE_ABBREV(&m, 2, DW_TAG_structure_type, true, {0x3f, DW_FORM_data1},
		    {DW_AT_name, DW_FORM_string}, {DW_AT_sibling, DW_FORM_ref4});
	MAKE_ABBREV(&m, 3, DW_TAG_structure_type, true, {DW_AT_sibling, DW_FORM_ref4},
		    {DW_AT_name, DW_FORM_string});
	MAKE_ABBREV(&m, 4, DW_TAG_variable, false, {0x02, DW_FORM_exprloc},
		    {DW_AT_name, DW_FORM_string});
	MAKE_ABBREV(&m, 5, DW_TAG_variable, false, {DW_AT_name, DW_FORM_string},
		    {DW_AT_linkage_name, DW_FORM_string});
	make_table_end(&m);
	ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs table = parsed(&m, layout64);
	const struct ux_dwarf_step *s = table.steps;
	assert_int_equal(s[1].flags, UX_STEP_TEXT | UX_STEP_BLOCK);
	assert_int_equal(s[1].text, 1);
	assert_int_equal(s[1].block, 1);
	assert_int_equal(s[1].size, 1 + 1 + 1);
	assert_int_equal(s[2].flags,
			 UX_STEP_TEXT | UX_STEP_CLASS | UX_STEP_SIBLING | UX_STEP_USELESS);
	assert_int_equal(s[2].text, 1 + 1);
	assert_int_equal(s[2].sibling, 1 + 1);
	for (unsigned code = 3; code <= 5; code++)
		assert_true((s[code].flags & UX_STEP_LOOSE) != 0);
}

static void step_passes_two_blocks(void **state)
{
	(void)state;
	ASSEMBLER(m);
	MAKE_ABBREV(&m, 1, 0x49, false, {DW_AT_name, DW_FORM_data2}, {0x02, DW_FORM_exprloc},
		    {0x3f, DW_FORM_data1}, {0x7e, DW_FORM_exprloc});
	MAKE_ABBREV(&m, 2, 0x49, true, {0x02, DW_FORM_exprloc}, {0x7e, DW_FORM_block1},
		    {DW_AT_sibling, DW_FORM_ref4});
	make_table_end(&m);
	ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs table = parsed(&m, layout64);
	const struct ux_dwarf_step *step = &table.steps[1];
	/* the code, a number, 3 bytes, a number, 5 bytes, and the rest */
	uint8_t die[UX_DWARF_STRIDE_MARGIN] = {1, 0x80, 0x81, 3, 9, 9, 9, 7, 5, 8, 8, 8, 8, 8};
	assert_int_equal(step->flags, UX_STEP_BLOCK | UX_STEP_SECOND);
	assert_int_equal(step->size, 1 + 2 + 1 + 1 + 1);
	assert_ptr_equal(ux_dwarf_stride_pass(step, die), die + 14);
	die[8] = 0x80; /* a length of two bytes */
	assert_null(ux_dwarf_stride_pass(step, die));
	assert_true((table.steps[2].flags & UX_STEP_LOOSE) != 0);
}

static void steps_are_for_dense_codes_in_order(void **state)
{
	(void)state;
	ASSEMBLER(m);
	for (unsigned code = 1; code <= 60; code++)
		MAKE_ABBREV(&m, code, DW_TAG_variable, false, {DW_AT_name, DW_FORM_strp});
	make_table_end(&m);
	ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs table = parsed(&m, layout64);
	assert_int_equal(table.n_steps, UX_DWARF_STEPS_MIN);
	ASSEMBLER(many);
	for (unsigned code = 1; code <= 150; code++)
		MAKE_ABBREV(&many, code, DW_TAG_variable, false, {DW_AT_name, DW_FORM_strp});
	make_table_end(&many);
	ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs long_codes =
		parsed(&many, layout64);
	assert_int_equal(long_codes.n_steps, 151);
	assert_int_equal(long_codes.steps[0x7f].size, 1 + 4);
	assert_int_equal(long_codes.steps[0x80].size, 2 + 4);
	ASSEMBLER(backward);
	MAKE_ABBREV(&backward, 2, DW_TAG_variable, false, {DW_AT_name, DW_FORM_strp});
	MAKE_ABBREV(&backward, 1, DW_TAG_variable, true, {DW_AT_name, DW_FORM_data1});
	make_table_end(&backward);
	ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs turned =
		parsed(&backward, layout64);
	assert_true(turned.dense && turned.n_steps == 0);
	ASSEMBLER(sparse);
	MAKE_ABBREV(&sparse, 2, DW_TAG_variable, false, {DW_AT_name, DW_FORM_strp});
	make_table_end(&sparse);
	ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs other = parsed(&sparse, layout64);
	assert_int_equal(other.n_steps, 0);
}

static void runs_of_fixed_forms_that_are_not_read_are_one_skip(void **state)
{
	(void)state;
	ASSEMBLER(m);
	MAKE_ABBREV(&m, 1, DW_TAG_subprogram, false, {0x36, DW_FORM_data1}, {0x37, DW_FORM_data2},
		    {DW_AT_name, DW_FORM_string}, {0x3c, DW_FORM_flag_present},
		    {0x40, DW_FORM_exprloc});
	make_table_end(&m);
	ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs table = parsed(&m, layout64);
	const uint32_t *words = table.words + table.list[0].program;
	assert_int_equal(words[0], UX_OP_SKIP | 3u << 8);
	assert_int_equal(words[1],
			 UX_OP_READ | (uint32_t)UX_SLOT_NAME << 8 | (uint32_t)DW_FORM_string << 16);
	assert_int_equal(words[2], UX_OP_BLOCK);
	assert_int_equal(words[3], UX_OP_END);
}

static void attribute_that_stands_twice_counts_once(void **state)
{
	(void)state;
	ASSEMBLER(m);
	MAKE_ABBREV(&m, 1, DW_TAG_subprogram, false, {DW_AT_call_line, DW_FORM_implicit_const, 7},
		    {DW_AT_call_line, DW_FORM_implicit_const, 8}, {DW_AT_call_line, DW_FORM_data4});
	make_table_end(&m);
	ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs table = parsed(&m, layout64);
	const uint32_t *words = table.words + table.list[0].program;
	assert_int_equal(words[0], UX_OP_CONST | (uint32_t)UX_SLOT_CALL_LINE << 8);
	assert_int_equal(words[1], 7);
	assert_int_equal(words[3], UX_OP_SKIP | 4u << 8);
	assert_int_equal(words[4], UX_OP_END);
}

static void skip_rides_along_with_a_read_attribute_of_fixed_size(void **state)
{
	(void)state;
	ASSEMBLER(m);
	MAKE_ABBREV(&m, 1, DW_TAG_subprogram, false, {0x36, DW_FORM_data1}, {0x37, DW_FORM_data2},
		    {DW_AT_name, DW_FORM_strp}, {DW_AT_low_pc, DW_FORM_addr});
	make_table_end(&m);
	ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs table = parsed(&m, layout64);
	const uint32_t *words = table.words + table.list[0].program;
	uint32_t name = UX_SLOT_NAME | 4u << 5 | (uint32_t)DW_FORM_strp << 9;
	uint32_t low_pc = UX_SLOT_LOW_PC | 8u << 5 | (uint32_t)DW_FORM_addr << 9;
	assert_int_equal(words[0], UX_OP_LOAD | name << 8);
	assert_int_equal(words[1], 3);
	assert_int_equal(words[2], UX_OP_LOAD | low_pc << 8);
	assert_int_equal(words[3], 0);
	assert_int_equal(words[4], UX_OP_END);
}

static void implicit_constant_of_any_width_is_kept(void **state)
{
	(void)state;
	static const int64_t values[] = {0, 7, -1, INT64_MAX, INT64_MIN, INT64_C(0x123456789a)};
	for (size_t i = 0; i < ux_countof(values); i++) {
		ASSEMBLER(m);
		MAKE_ABBREV(&m, 1, DW_TAG_inlined_subroutine, false,
			    {DW_AT_call_line, DW_FORM_implicit_const, values[i]});
		make_table_end(&m);
		ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs table =
			parsed(&m, layout64);
		const uint32_t *words = table.words + table.list[0].program;
		assert_int_equal(words[0], UX_OP_CONST | (uint32_t)UX_SLOT_CALL_LINE << 8);
		assert_int_equal(words[1] | (uint64_t)words[2] << 32, (uint64_t)values[i]);
		assert_int_equal(words[3], UX_OP_END);
	}
}

static void kinds_follow_the_tag(void **state)
{
	(void)state;
	static const struct {
		uint64_t tag;
		enum ux_dwarf_kind kind;
	} cases[] = {
		{DW_TAG_subprogram, UX_KIND_FUNCTION},
		{DW_TAG_inlined_subroutine, UX_KIND_INLINE},
		{DW_TAG_compile_unit, UX_KIND_ROOT},
		{DW_TAG_partial_unit, UX_KIND_ROOT},
		{DW_TAG_class_type, UX_KIND_CLASS},
		{DW_TAG_enumeration_type, UX_KIND_CLASS},
		{DW_TAG_formal_parameter, UX_KIND_LEAF},
		{DW_TAG_GNU_call_site, UX_KIND_LEAF},
		{DW_TAG_namespace, UX_KIND_PLAIN},
		{0x0b /* lexical_block */, UX_KIND_PLAIN},
		{0x123456 /* unknown */, UX_KIND_PLAIN},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		ASSEMBLER(m);
		MAKE_ABBREV(&m, 1, cases[i].tag, true, {0x36, DW_FORM_data1});
		make_table_end(&m);
		ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs table =
			parsed(&m, layout64);
		assert_int_equal(table.list[0].kind, cases[i].kind);
		assert_int_equal(table.list[0].tag, ux_min(cases[i].tag, (uint64_t)0xffff));
		assert_true(table.list[0].has_children);
	}
}

static void code_is_where_low_pc_or_ranges_is(void **state)
{
	(void)state;
	ASSEMBLER(m);
	MAKE_ABBREV(&m, 1, DW_TAG_subprogram, false, {DW_AT_low_pc, DW_FORM_addr});
	MAKE_ABBREV(&m, 2, DW_TAG_subprogram, false, {DW_AT_ranges, DW_FORM_sec_offset});
	MAKE_ABBREV(&m, 3, DW_TAG_subprogram, false, {DW_AT_high_pc, DW_FORM_data4});
	make_table_end(&m);
	ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs table = parsed(&m, layout64);
	assert_true(table.list[0].has_pc && table.list[1].has_pc && !table.list[2].has_pc);
}

static void unknown_form_does_not_cost_the_table(void **state)
{
	(void)state;
	ASSEMBLER(m);
	MAKE_ABBREV(&m, 1, DW_TAG_variable, false, {0x36, DW_FORM_data1}, {0x37, 0x7e});
	MAKE_ABBREV(&m, 2, DW_TAG_variable, false, {0x3a, DW_FORM_data1});
	make_table_end(&m);
	ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs table = parsed(&m, layout64);
	assert_int_equal(table.count, 2);
	assert_true((table.steps[1].flags & UX_STEP_LOOSE) != 0);
	assert_int_equal(table.words[table.list[0].program + 1], UX_OP_UNKNOWN);
	assert_int_equal(table.steps[2].size, 1 + 1);
}

static enum ux_code parse_bytes(struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_dwarf_sections s = {.data = {[UX_DWARF_ABBREV] = bytes}};
	ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs table = {0};
	return parse(&s, layout64, &table, err);
}

static void damaged_table_is_corrupt_where_the_damage_is(void **state)
{
	(void)state;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(parse_bytes(UX_STR("\1\x34\2\3\x08\0\0\0"), &err), UX_ECORRUPT);
	assert_string_equal(err.section, ".debug_abbrev");
	assert_int_equal(err.off, 2);
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(parse_bytes(UX_STR("\1\x34\0\3\x08\0\0"), &err), UX_ECORRUPT);
	assert_int_equal(err.off, 7);
	assert_int_equal(parse_bytes(UX_STR("\1\x34\0\3\x08"), NULL), UX_ECORRUPT);
	assert_int_equal(parse_bytes(UX_BYTES_NONE, NULL), UX_ECORRUPT);
}

static void abbreviation_with_too_many_attributes_is_corrupt(void **state)
{
	(void)state;
	for (unsigned n = 1024; n <= 1025; n++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		ux_out_put(&out, "\1\x34\0", 3);
		for (unsigned i = 0; i < n; i++)
			ux_out_put(&out, "\x3a\x1e", 2); /* 16 bytes each */
		ux_out_put(&out, "\0\0\0", 3);
		assert_int_equal(parse_bytes(ux_out_bytes(&out), NULL),
				 n == 1024 ? UX_OK : UX_ECORRUPT);
	}
}

/* Two units, the second with its abbreviations at off. */
static void two_units(struct make_dwarf *m, uint64_t off, uint8_t addr_size)
{
	MAKE_ABBREV(m, 1, DW_TAG_compile_unit, false, {DW_AT_name, DW_FORM_string});
	make_table_end(m);
	make_unit_begin(m, (struct make_unit){0});
	MAKE_DIE(m, 1, T("a"));
	make_unit_end(m);
	make_unit_begin(m, (struct make_unit){.abbrev_off = off, .addr_size = addr_size});
	MAKE_DIE(m, 1, T("b"));
	make_unit_end(m);
}

static void units_with_one_table_share_it(void **state)
{
	(void)state;
	MODULE(m, r);
	two_units(&m, 0, 8);
	reading_of(&r, &m);
	const void *first = r.ctx.abbrevs.list;
	assert_int_equal(open_unit(&r, 1), UX_OK);
	assert_ptr_equal(r.ctx.abbrevs.list, first);
	assert_string_equal(r.ctx.name, "b");
}

static void units_of_two_layouts_read_one_table_each_in_its_way(void **state)
{
	(void)state;
	MODULE(m, r);
	two_units(&m, 0, 4);
	reading_of(&r, &m);
	const void *first = r.ctx.abbrevs.list;
	assert_int_equal(open_unit(&r, 1), UX_OK);
	assert_ptr_not_equal(r.ctx.abbrevs.list, first);
	assert_string_equal(r.ctx.name, "b");
}

/* The results of each job, for comparison. */
struct race {
	struct reading *r;
	const void *lists[64];
	enum ux_code codes[64];
};

static enum ux_code open_in_race(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	(void)worker;
	(void)err;
	struct race *race = ctx;
	struct ux_dwarf_context unit = {0};
	const struct ux_dwarf_unit *units = race->r->units.list;
	race->codes[job] =
		ux_dwarf_context_open(&race->r->sections, &units[job % 2], NULL, &unit, NULL);
	race->lists[job] = unit.abbrevs.list;
	return UX_OK;
}

static void threads_that_want_one_table_get_the_same(void **state)
{
	(void)state;
	for (int times = 0; times < 20; times++) {
		MODULE(m, r);
		two_units(&m, 0, 8);
		assert_int_equal(reading_init(&r, make_dwarf_sections(&m)), UX_OK);
		struct race race = {.r = &r};
		assert_int_equal(ux_pool_run(8, 64, open_in_race, &race, NULL), UX_OK);
		for (size_t i = 0; i < 64; i++) {
			assert_int_equal(race.codes[i], UX_OK);
			assert_ptr_equal(race.lists[i], race.lists[0]);
		}
	}
}

static void table_that_runs_into_the_next_is_corrupt(void **state)
{
	(void)state;
	MODULE(m, r);
	two_units(&m, 4, 8);
	assert_int_equal(reading_init(&r, make_dwarf_sections(&m)), UX_OK);
	assert_int_equal(open_unit(&r, 0), UX_ECORRUPT);
	assert_string_equal(r.err.section, ".debug_abbrev");
	char again[UX_ERROR_TEXT];
	snprintf(again, sizeof(again), "%s", r.err.text);
	assert_int_equal(open_unit(&r, 0), UX_ECORRUPT);
	assert_string_equal(r.err.text, again);
}

static void table_behind_its_section_is_corrupt(void **state)
{
	(void)state;
	MODULE(m, r);
	two_units(&m, 1000, 8);
	assert_int_equal(reading_init(&r, make_dwarf_sections(&m)), UX_OK);
	assert_int_equal(open_unit(&r, 0), UX_OK);
	assert_int_equal(open_unit(&r, 1), UX_ECORRUPT);
}

/* A table with each kind of opcode. */
static void make_rich_table(struct make_dwarf *m)
{
	MAKE_ABBREV(m, 1, DW_TAG_compile_unit, true, {DW_AT_name, DW_FORM_string},
		    {DW_AT_language, DW_FORM_data2});
	MAKE_ABBREV(m, 2, DW_TAG_subprogram, true, {0x3a, DW_FORM_data1}, {0x3b, DW_FORM_udata},
		    {DW_AT_low_pc, DW_FORM_indirect}, {0x40, DW_FORM_block2},
		    {DW_AT_high_pc, DW_FORM_implicit_const, 300});
	MAKE_ABBREV(m, 200, 0x4109, false, {0x2111, DW_FORM_block4}, {3, DW_FORM_string});
	make_table_end(m);
}

static void sweep_parse(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = parse_bytes(input, &err);
	assert_int_equal(code, err.code);
	assert_true(code == UX_OK || (code == UX_ECORRUPT && err.off <= input.size));
}

static void no_damage_is_read_past_the_table(void **state)
{
	(void)state;
	ASSEMBLER(m);
	make_rich_table(&m);
	struct ux_bytes good = make_dwarf_sections(&m).data[UX_DWARF_ABBREV];
	each_prefix(good, sweep_parse, NULL);
	each_bit_flip(good, sweep_parse, NULL);
	each_byte_extreme(good, sweep_parse, NULL);
}

/* Parses into the buffers, and compares the table with the result without them. */
static void assert_parsed_alike(const struct make_dwarf *m, struct ux_dwarf_layout layout,
				struct ux_dwarf_abbrev_buffers *buffers)
{
	struct ux_dwarf_sections s = make_dwarf_sections(m);
	struct ux_dwarf_table place = {.end = s.data[UX_DWARF_ABBREV].size, .layout = layout};
	ux_cleanup(ux_dwarf_abbrevs_free) struct ux_dwarf_abbrevs plain = {0};
	struct ux_dwarf_abbrevs table;
	assert_int_equal(ux_dwarf_abbrevs_parse(&s, &place, &plain, NULL), UX_OK);
	assert_int_equal(ux_dwarf_abbrevs_parse_into(&s, &place, buffers, &table, NULL), UX_OK);
	assert_int_equal(table.count, plain.count);
	assert_int_equal(table.n_steps, plain.n_steps);
	assert_memory_equal(table.steps, plain.steps, plain.n_steps * sizeof(*plain.steps));
	for (size_t i = 0; i < plain.count; i++) {
		struct ux_dwarf_abbrev a = table.list[i], b = plain.list[i];
		const uint32_t *words = table.words + a.program, *others = plain.words + b.program;
		for (; *others != UX_OP_END; words++, others++)
			assert_int_equal(*words, *others);
		assert_int_equal(*words, UX_OP_END);
		assert_int_equal(a.code, b.code);
		assert_int_equal(a.tag, b.tag);
		assert_int_equal(a.kind, b.kind);
		assert_int_equal(a.has_children, b.has_children);
		assert_int_equal(a.has_pc, b.has_pc);
	}
}

/* Makes declarations whose codes begin at `first`, followed by as many bytes as one wide read
 * takes. */
static void make_declarations(struct make_dwarf *m, unsigned first)
{
	for (unsigned code = 1; code < first; code++)
		MAKE_ABBREV(m, code, DW_TAG_variable, false, {0x3f, DW_FORM_data1});
	MAKE_ABBREV(m, first, DW_TAG_inlined_subroutine, true,
		    {DW_AT_abstract_origin, DW_FORM_ref4}, {DW_AT_low_pc, DW_FORM_addr},
		    {DW_AT_high_pc, DW_FORM_data8}, {DW_AT_call_file, DW_FORM_implicit_const, 0},
		    {DW_AT_call_line, DW_FORM_data2});
	MAKE_ABBREV(m, first + 1, DW_TAG_subprogram, true, {DW_AT_name, DW_FORM_strp},
		    {DW_AT_sibling, DW_FORM_ref4});
	MAKE_ABBREV(m, first + 2, 0x4109, false, {0x2111, DW_FORM_exprloc});
	MAKE_ABBREV(m, first + 3, DW_TAG_variable, false, {DW_AT_name, DW_FORM_string},
		    {DW_AT_call_line, DW_FORM_implicit_const, 0});
	for (unsigned i = 4; i < 40; i++)
		MAKE_ABBREV(m, first + i, DW_TAG_variable, false, {0x3f, DW_FORM_data4});
	make_table_end(m);
}

static void declarations_of_earlier_tables_are_translated_alike(void **state)
{
	(void)state;
	static const struct ux_dwarf_layout others[] = {
		{8, 4, 4}, {4, 4, 4}, {8, 8, 8}, {8, 4, 4}, {8, 4, 8}};
	ux_cleanup(ux_dwarf_abbrev_buffers_deinit) struct ux_dwarf_abbrev_buffers buffers = {0};
	for (size_t i = 0; i < ux_countof(others); i++) {
		/* with codes of one byte, and of two */
		static const unsigned firsts[] = {1, 1, 7, 118, 40, 100, 3};
		for (size_t k = 0; k < ux_countof(firsts); k++) {
			ASSEMBLER(m);
			make_declarations(&m, firsts[k]);
			assert_parsed_alike(&m, others[i], &buffers);
			assert_parsed_alike(&m, others[i], &buffers);
		}
	}
	assert_true(buffers.known && buffers.known->map.size > 0);
}

static void declarations_are_dropped_before_their_programs_fill_the_memory(void **state)
{
	(void)state;
	ux_cleanup(ux_dwarf_abbrev_buffers_deinit) struct ux_dwarf_abbrev_buffers buffers = {0};
	ASSEMBLER(small);
	make_declarations(&small, 1);
	assert_parsed_alike(&small, layout64, &buffers);
	size_t words = buffers.words.size, known = buffers.known->map.size;
	assert_int_equal(known, 4); /* all but the one with a constant of 0 before its end */
	while (buffers.words.size <= UX_DWARF_KNOWN_WORDS_MAX)
		assert_true(ux_dwarf_word_vec_append(&buffers.words, 0));
	assert_parsed_alike(&small, layout64, &buffers);
	assert_int_equal(buffers.words.size, words);
	assert_int_equal(buffers.known->map.size, known);
	/* only a limited number of different declarations is kept */
	for (unsigned i = 0; i <= UX_DWARF_KNOWN_MAX / 32; i++) {
		ASSEMBLER(m);
		for (unsigned code = 1; code <= 100; code++)
			MAKE_ABBREV(&m, code, DW_TAG_variable, false,
				    {0x3f, DW_FORM_implicit_const, 1 + i * 100 + code});
		make_table_end(&m);
		assert_parsed_alike(&m, layout64, &buffers);
	}
	assert_int_equal(buffers.known->map.size, UX_DWARF_KNOWN_MAX);
}

static enum ux_code parse_into_with_failures(void *ctx)
{
	const struct ux_bytes *input = ctx;
	struct ux_dwarf_sections s = {0};
	struct ux_dwarf_table place = {.end = input->size, .layout = layout64};
	struct ux_dwarf_abbrevs table;
	ux_cleanup(ux_dwarf_abbrev_buffers_deinit) struct ux_dwarf_abbrev_buffers buffers = {0};
	s.data[UX_DWARF_ABBREV] = *input;
	UX_TRY(ux_dwarf_abbrevs_parse_into(&s, &place, &buffers, &table, NULL));
	return ux_dwarf_abbrevs_parse_into(&s, &place, &buffers, &table, NULL);
}

static void each_failed_allocation_of_known_declarations_is_reported(void **state)
{
	(void)state;
	ASSEMBLER(m);
	make_declarations(&m, 118);
	struct ux_bytes good = make_dwarf_sections(&m).data[UX_DWARF_ABBREV];
	assert_true(each_failed_alloc(parse_into_with_failures, &good, false) > 6);
}

static enum ux_code parse_with_failures(void *ctx)
{
	return parse_bytes(*(const struct ux_bytes *)ctx, NULL);
}

static void each_failed_allocation_is_reported(void **state)
{
	(void)state;
	ASSEMBLER(m);
	make_rich_table(&m);
	struct ux_bytes good = make_dwarf_sections(&m).data[UX_DWARF_ABBREV];
	assert_true(each_failed_alloc(parse_with_failures, &good, false) > 3);
}

UX_SUITE(dwarf_abbrev)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(codes_from_one_on_are_an_index),
		UX_TEST(sparse_codes_in_any_order_are_found),
		UX_TEST(code_that_stands_twice_is_still_found),
		UX_TEST(empty_table_has_no_code),
		UX_TEST(fixed_forms_add_up_by_layout),
		UX_TEST(step_tells_how_entry_of_short_code_is_passed),
		UX_TEST(step_has_one_text_in_front_of_its_block_and_its_sibling),
		UX_TEST(step_passes_two_blocks),
		UX_TEST(steps_are_for_dense_codes_in_order),
		UX_TEST(runs_of_fixed_forms_that_are_not_read_are_one_skip),
		UX_TEST(attribute_that_stands_twice_counts_once),
		UX_TEST(skip_rides_along_with_a_read_attribute_of_fixed_size),
		UX_TEST(implicit_constant_of_any_width_is_kept),
		UX_TEST(kinds_follow_the_tag),
		UX_TEST(code_is_where_low_pc_or_ranges_is),
		UX_TEST(unknown_form_does_not_cost_the_table),
		UX_TEST(damaged_table_is_corrupt_where_the_damage_is),
		UX_TEST(abbreviation_with_too_many_attributes_is_corrupt),
		UX_TEST(units_with_one_table_share_it),
		UX_TEST(units_of_two_layouts_read_one_table_each_in_its_way),
		UX_TEST(threads_that_want_one_table_get_the_same),
		UX_TEST(table_that_runs_into_the_next_is_corrupt),
		UX_TEST(table_behind_its_section_is_corrupt),
		UX_TEST(no_damage_is_read_past_the_table),
		UX_TEST(each_failed_allocation_is_reported),
		UX_TEST(declarations_of_earlier_tables_are_translated_alike),
		UX_TEST(declarations_are_dropped_before_their_programs_fill_the_memory),
		UX_TEST(each_failed_allocation_of_known_declarations_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
