/* SPDX-License-Identifier: Apache-2.0 */
/* The names of functions. */
#include "test_dwarf.h"

enum { /* abbreviation codes */
	UNIT = 1,
	NAMED,      /* name */
	LINKED,     /* name, linkage name */
	ORIGIN,     /* abstract_origin, in the unit */
	SPEC,       /* specification, in the unit */
	FAR,        /* abstract_origin, anywhere */
	NAMED_SPEC, /* name, specification */
	OLD_LINKED, /* name, MIPS_linkage_name */
	BOTH,       /* abstract_origin and specification */
	BARE,       /* nothing that names */
	ALT,        /* abstract_origin in a supplementary file */
	ALT_SPEC,   /* the same, and a specification in the unit */
};

static void make_abbrevs(struct make_dwarf *m)
{
	MAKE_ABBREV(m, UNIT, DW_TAG_compile_unit, true, {DW_AT_language, DW_FORM_data1});
	MAKE_ABBREV(m, NAMED, DW_TAG_subprogram, false, {DW_AT_name, DW_FORM_string});
	MAKE_ABBREV(m, LINKED, DW_TAG_subprogram, false, {DW_AT_name, DW_FORM_string},
		    {DW_AT_linkage_name, DW_FORM_string});
	MAKE_ABBREV(m, ORIGIN, DW_TAG_subprogram, false, {DW_AT_abstract_origin, DW_FORM_ref4});
	MAKE_ABBREV(m, SPEC, DW_TAG_subprogram, false, {DW_AT_specification, DW_FORM_ref4});
	MAKE_ABBREV(m, FAR, DW_TAG_subprogram, false, {DW_AT_abstract_origin, DW_FORM_ref_addr});
	MAKE_ABBREV(m, NAMED_SPEC, DW_TAG_subprogram, false, {DW_AT_name, DW_FORM_string},
		    {DW_AT_specification, DW_FORM_ref4});
	MAKE_ABBREV(m, OLD_LINKED, DW_TAG_subprogram, false, {DW_AT_name, DW_FORM_string},
		    {DW_AT_MIPS_linkage_name, DW_FORM_string});
	MAKE_ABBREV(m, BOTH, DW_TAG_subprogram, false, {DW_AT_specification, DW_FORM_ref4},
		    {DW_AT_abstract_origin, DW_FORM_ref4});
	MAKE_ABBREV(m, BARE, DW_TAG_subprogram, false, {0x3a, DW_FORM_data1});
	MAKE_ABBREV(m, ALT, DW_TAG_subprogram, false, {DW_AT_abstract_origin, DW_FORM_GNU_ref_alt});
	MAKE_ABBREV(m, ALT_SPEC, DW_TAG_subprogram, false,
		    {DW_AT_abstract_origin, DW_FORM_GNU_ref_alt},
		    {DW_AT_specification, DW_FORM_ref4});
	make_table_end(m);
}

static void begin_unit(struct make_dwarf *m, struct make_unit unit)
{
	if (make_off(m, UX_DWARF_ABBREV) == 0)
		make_abbrevs(m);
	make_unit_begin(m, unit);
	MAKE_DIE(m, UNIT, N(DW_LANG_C));
}

static void end_unit(struct make_dwarf *m)
{
	make_null(m);
	make_unit_end(m);
}

/* Returns the name of the entry at off of the open unit; "?": none. */
static const char *name_at(struct reading *r, uint64_t off)
{
	struct ux_dwarf_die die;
	uint32_t name = 0;
	if (!r->names.sections) {
		ux_dwarf_names_init(&r->names, &r->sections, &r->units);
		ux_dwarf_names_begin(&r->names, &r->ctx);
	}
	assert_int_equal(ux_dwarf_die_at(&r->ctx, off, &die, NULL), UX_OK);
	assert_int_equal(ux_dwarf_names_of(&r->names, &r->ctx, &die, true, &name, NULL), UX_OK);
	assert_int_equal(ux_dwarf_names_find(&r->names, NULL), UX_OK);
	return name_of(r, name);
}

static void linkage_name_goes_before_the_short_one(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, (struct make_unit){0});
	uint64_t named = MAKE_DIE(&m, NAMED, T("main"));
	uint64_t linked = MAKE_DIE(&m, LINKED, T("f"), T("_Z1fv"));
	uint64_t old = MAKE_DIE(&m, OLD_LINKED, T("g"), T("_Z1gv"));
	uint64_t bare = MAKE_DIE(&m, BARE, N(1));
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(name_at(&r, named), "main");
	assert_string_equal(name_at(&r, linked), "_Z1fv");
	assert_string_equal(name_at(&r, old), "_Z1gv");
	assert_string_equal(name_at(&r, bare), "?");
}

static void empty_names_are_none(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, (struct make_unit){0});
	uint64_t linked = MAKE_DIE(&m, LINKED, T("f"), T(""));
	uint64_t empty = MAKE_DIE(&m, LINKED, T(""), T(""));
	uint64_t origin = MAKE_DIE(&m, ORIGIN, N(empty));
	uint64_t spec = MAKE_DIE(&m, NAMED_SPEC, T(""), N(linked));
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(name_at(&r, linked), "f");
	assert_string_equal(name_at(&r, empty), "?");
	assert_string_equal(name_at(&r, origin), "?");
	assert_string_equal(name_at(&r, spec), "f");
}

static void name_is_found_along_origin_and_specification(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, (struct make_unit){0});
	uint64_t declared = MAKE_DIE(&m, LINKED, T("f"), T("_Z1fv"));
	uint64_t abstract = MAKE_DIE(&m, SPEC, N(declared));
	uint64_t concrete = MAKE_DIE(&m, ORIGIN, N(abstract));
	uint64_t again = MAKE_DIE(&m, ORIGIN, N(concrete));
	end_unit(&m);
	reading_of(&r, &m);
	for (int times = 0; times < 2; times++) {
		assert_string_equal(name_at(&r, abstract), "_Z1fv");
		assert_string_equal(name_at(&r, concrete), "_Z1fv");
		assert_string_equal(name_at(&r, again), "_Z1fv");
	}
}

static void own_name_stands_unless_a_linkage_name_lies_behind(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, (struct make_unit){0});
	uint64_t short_only = MAKE_DIE(&m, NAMED, T("base"));
	uint64_t a = MAKE_DIE(&m, NAMED_SPEC, T("a"), N(short_only));
	uint64_t b = MAKE_DIE(&m, NAMED_SPEC, T("b"), N(short_only));
	uint64_t none = MAKE_DIE(&m, SPEC, N(short_only));
	uint64_t linked = MAKE_DIE(&m, LINKED, T("f"), T("_Z1fv"));
	uint64_t c = MAKE_DIE(&m, NAMED_SPEC, T("c"), N(linked));
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(name_at(&r, a), "a");
	assert_string_equal(name_at(&r, b), "b");
	assert_string_equal(name_at(&r, none), "base");
	assert_string_equal(name_at(&r, c), "_Z1fv");
}

static void origin_goes_before_specification(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, (struct make_unit){0});
	uint64_t a = MAKE_DIE(&m, NAMED, T("by_specification"));
	uint64_t b = MAKE_DIE(&m, NAMED, T("by_origin"));
	uint64_t both = MAKE_DIE(&m, BOTH, N(a), N(b));
	uint64_t alt = MAKE_DIE(&m, ALT_SPEC, N(4), N(a));
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(name_at(&r, both), "by_origin");
	assert_string_equal(name_at(&r, alt), "by_specification");
}

static void chain_of_sixteen_is_followed_and_no_longer_one(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, (struct make_unit){0});
	uint64_t link[18] = {MAKE_DIE(&m, NAMED, T("far"))};
	for (size_t i = 1; i < ux_countof(link); i++)
		link[i] = MAKE_DIE(&m, ORIGIN, N(link[i - 1]));
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(name_at(&r, link[16]), "far");
	assert_string_equal(name_at(&r, link[17]), "?");
}

static void circle_of_origins_names_nothing(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, (struct make_unit){0});
	uint64_t self = make_off(&m, UX_DWARF_INFO);
	MAKE_DIE(&m, ORIGIN, N(self));
	uint64_t a = make_off(&m, UX_DWARF_INFO);
	MAKE_DIE(&m, ORIGIN, N(a + 5));
	MAKE_DIE(&m, ORIGIN, N(a));
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(name_at(&r, self), "?");
	assert_string_equal(name_at(&r, a), "?");
}

static void references_that_lead_nowhere_name_nothing(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, (struct make_unit){0});
	uint64_t outside = MAKE_DIE(&m, FAR, N(0xffffff));
	uint64_t header = MAKE_DIE(&m, ORIGIN, N(2));
	uint64_t alt = MAKE_DIE(&m, ALT, N(0));
	uint64_t inside = MAKE_DIE(&m, ORIGIN, N(alt + 2)); /* a null byte */
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(name_at(&r, outside), "?");
	assert_string_equal(name_at(&r, header), "?");
	assert_string_equal(name_at(&r, alt), "?");
	assert_string_equal(name_at(&r, inside), "?");
}

static void name_of_another_unit_is_found(void **state)
{
	(void)state;
	for (uint16_t version = 2; version <= 5; version++) {
		MODULE(m, r);
		begin_unit(&m, (struct make_unit){.version = version});
		uint64_t user = make_off(&m, UX_DWARF_INFO);
		MAKE_DIE(&m, FAR, N(0));
		size_t at = m.value_at[0];
		end_unit(&m);
		begin_unit(&m, (struct make_unit){.version = 5, .offset_size = 8});
		uint64_t named = MAKE_DIE(&m, LINKED, T("f"), T("_Z1fv"));
		uint64_t second = MAKE_DIE(&m, ORIGIN, N(named));
		end_unit(&m);
		make_patch(&m, UX_DWARF_INFO, at, second, version == 2 ? 8 : 4);
		reading_of(&r, &m);
		assert_string_equal(name_at(&r, user), "_Z1fv");
	}
}

static void chain_may_come_back_to_its_first_unit(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, (struct make_unit){0});
	uint64_t named = MAKE_DIE(&m, NAMED, T("home"));
	uint64_t user = MAKE_DIE(&m, FAR, N(0));
	size_t at = m.value_at[0];
	end_unit(&m);
	begin_unit(&m, (struct make_unit){0});
	uint64_t away = MAKE_DIE(&m, FAR, N(named));
	end_unit(&m);
	make_patch(&m, UX_DWARF_INFO, at, away, 4);
	reading_of(&r, &m);
	assert_string_equal(name_at(&r, user), "home");
}

static void unit_that_cannot_be_opened_names_nothing(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, (struct make_unit){0});
	uint64_t user = MAKE_DIE(&m, FAR, N(0));
	size_t at = m.value_at[0];
	uint64_t other = MAKE_DIE(&m, FAR, N(0));
	size_t other_at = m.value_at[0];
	end_unit(&m);
	begin_unit(&m, (struct make_unit){.abbrev_off = 10000});
	uint64_t named = MAKE_DIE(&m, NAMED, T("lost"));
	end_unit(&m);
	make_patch(&m, UX_DWARF_INFO, at, named, 4);
	make_patch(&m, UX_DWARF_INFO, other_at, named + 1, 4);
	reading_of(&r, &m);
	assert_string_equal(name_at(&r, user), "?");
	assert_string_equal(name_at(&r, other), "?");
	assert_int_equal(r.names.others.size, 1); /* the failure is remembered */
}

/* A module that refers into a supplementary file, and the file. */
static void names_of_a_supplementary_file_are_found(void **state)
{
	(void)state;
	MODULE(sup, sr);
	begin_unit(&sup, (struct make_unit){0});
	uint64_t named = MAKE_DIE(&sup, LINKED, T("f"), T("_Z1fv"));
	uint64_t second = MAKE_DIE(&sup, FAR, N(named)); /* stays in that file */
	end_unit(&sup);
	reading_of(&sr, &sup);
	MODULE(m, r);
	begin_unit(&m, (struct make_unit){0});
	uint64_t home = MAKE_DIE(&m, NAMED, T("home"));
	uint64_t user = MAKE_DIE(&m, ALT, N(second));
	uint64_t chain = MAKE_DIE(&m, ORIGIN, N(user));
	uint64_t both = MAKE_DIE(&m, ALT_SPEC, N(named), N(home));
	uint64_t lost = MAKE_DIE(&m, ALT, N(0xffffff));
	uint64_t same = MAKE_DIE(&m, ORIGIN, N(home)); /* maybe an offset of both files */
	end_unit(&m);
	assert_int_equal(reading_init(&r, make_dwarf_sections(&m)), UX_OK);
	r.sections.sup = &sr.sections;
	r.units.sup = &sr.units;
	assert_int_equal(open_unit(&r, 0), UX_OK);
	for (int times = 0; times < 2; times++) {
		assert_string_equal(name_at(&r, user), "_Z1fv");
		assert_string_equal(name_at(&r, chain), "_Z1fv");
		assert_string_equal(name_at(&r, both), "_Z1fv");
		assert_string_equal(name_at(&r, lost), "?");
		assert_string_equal(name_at(&r, same), "home");
	}
}

static void text_of_a_supplementary_file_is_found(void **state)
{
	(void)state;
	static const uint32_t forms[] = {DW_FORM_GNU_strp_alt, DW_FORM_strp_sup};
	for (size_t i = 0; i < ux_countof(forms); i++) {
		ASSEMBLER(sup);
		make_text(&sup, UX_DWARF_STR, "x");
		uint64_t text = make_text(&sup, UX_DWARF_STR, "far");
		struct ux_dwarf_sections supplementary = make_dwarf_sections(&sup);
		MODULE(m, r);
		MAKE_ABBREV(&m, 1, DW_TAG_compile_unit, false, {DW_AT_name, forms[i]},
			    {DW_AT_comp_dir, forms[i]});
		make_table_end(&m);
		make_unit_begin(&m, (struct make_unit){0});
		MAKE_DIE(&m, 1, N(text), N(1000));
		make_unit_end(&m);
		reading_of(&r, &m);
		assert_null(r.ctx.name);
		r.sections.sup = &supplementary;
		assert_int_equal(open_unit(&r, 0), UX_OK);
		assert_string_equal(r.ctx.name, "far");
		assert_null(r.ctx.comp_dir);
	}
}

static void names_are_kept_byte_for_byte(void **state)
{
	(void)state;
	static const char odd[] = "caf\xe9\n\xff name\t";
	MODULE(m, r);
	begin_unit(&m, (struct make_unit){0});
	uint64_t named = MAKE_DIE(&m, NAMED, T(odd));
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(name_at(&r, named), odd);
}

static void one_origin_is_one_number(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, (struct make_unit){0});
	uint64_t named[3000], user[3000];
	for (size_t i = 0; i < 3000; i++) {
		char text[16];
		snprintf(text, sizeof(text), "f%zu", i);
		named[i] = MAKE_DIE(&m, NAMED, T(text));
		user[i] = MAKE_DIE(&m, ORIGIN, N(named[i]));
	}
	end_unit(&m);
	reading_of(&r, &m);
	for (int times = 0; times < 3; times++) {
		for (size_t i = 0; i < 3000; i++) {
			char text[16];
			snprintf(text, sizeof(text), "f%zu", i);
			assert_string_equal(name_at(&r, user[i]), text);
		}
		assert_int_equal(r.names.list.size, 3000);
	}
	ux_dwarf_names_begin(&r.names, &r.ctx);
	assert_string_equal(name_at(&r, user[7]), "f7");
	assert_int_equal(r.names.list.size, 1);
}

/* Chains of all lengths wait for the end of the unit; the numbers are the first request's. */
static void names_that_wait_are_found_together(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, (struct make_unit){0});
	enum {
		WAITING = 100
	};
	uint64_t requested[WAITING];
	uint32_t numbers[WAITING];
	for (size_t i = 0; i < WAITING; i++) {
		char text[16];
		snprintf(text, sizeof(text), "f%zu", i);
		requested[i] = i % 7 == 3 ? MAKE_DIE(&m, BARE, N(1)) : MAKE_DIE(&m, NAMED, T(text));
		for (size_t hop = 0; hop <= i % 5; hop++)
			requested[i] = MAKE_DIE(&m, ORIGIN, N(requested[i]));
	}
	end_unit(&m);
	reading_of(&r, &m);
	ux_dwarf_names_init(&r.names, &r.sections, &r.units);
	ux_dwarf_names_begin(&r.names, &r.ctx);
	for (size_t i = 0; i < WAITING; i++) {
		struct ux_dwarf_die die;
		assert_int_equal(ux_dwarf_die_at(&r.ctx, requested[i], &die, NULL), UX_OK);
		assert_int_equal(
			ux_dwarf_names_of(&r.names, &r.ctx, &die, false, &numbers[i], NULL), UX_OK);
		assert_int_equal(numbers[i], i);
	}
	assert_int_equal(ux_dwarf_names_find(&r.names, NULL), UX_OK);
	for (size_t i = 0; i < WAITING; i++) {
		char text[16];
		snprintf(text, sizeof(text), "f%zu", i);
		assert_string_equal(name_of(&r, numbers[i]), i % 7 == 3 ? "?" : text);
	}
}

static enum ux_code name_with_failures(void *ctx)
{
	struct make_dwarf *m = ctx;
	ux_cleanup(reading_deinit) struct reading r = {0};
	struct ux_dwarf_die die;
	uint32_t name = 0;
	UX_TRY(reading_init(&r, make_dwarf_sections(m)));
	UX_TRY(open_unit(&r, 0));
	ux_dwarf_names_init(&r.names, &r.sections, &r.units);
	ux_dwarf_names_begin(&r.names, &r.ctx);
	UX_TRY(ux_dwarf_die_at(&r.ctx, r.ctx.first_child, &die, NULL));
	UX_TRY(ux_dwarf_names_of(&r.names, &r.ctx, &die, true, &name, NULL));
	UX_TRY(ux_dwarf_names_find(&r.names, NULL));
	assert_string_equal(name_of(&r, name), "_Z1fv");
	return UX_OK;
}

static void each_failed_allocation_is_reported(void **state)
{
	(void)state;
	ASSEMBLER(m);
	begin_unit(&m, (struct make_unit){0});
	MAKE_DIE(&m, FAR, N(0));
	size_t at = m.value_at[0];
	end_unit(&m);
	begin_unit(&m, (struct make_unit){.abbrev_off = make_off(&m, UX_DWARF_ABBREV)});
	make_abbrevs(&m);
	make_patch(&m, UX_DWARF_INFO, at, MAKE_DIE(&m, LINKED, T("f"), T("_Z1fv")), 4);
	end_unit(&m);
	assert_true(each_failed_alloc(name_with_failures, &m, false) > 15);
}

UX_SUITE(dwarf_name)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(linkage_name_goes_before_the_short_one),
		UX_TEST(empty_names_are_none),
		UX_TEST(name_is_found_along_origin_and_specification),
		UX_TEST(own_name_stands_unless_a_linkage_name_lies_behind),
		UX_TEST(origin_goes_before_specification),
		UX_TEST(chain_of_sixteen_is_followed_and_no_longer_one),
		UX_TEST(circle_of_origins_names_nothing),
		UX_TEST(references_that_lead_nowhere_name_nothing),
		UX_TEST(name_of_another_unit_is_found),
		UX_TEST(chain_may_come_back_to_its_first_unit),
		UX_TEST(unit_that_cannot_be_opened_names_nothing),
		UX_TEST(names_of_a_supplementary_file_are_found),
		UX_TEST(text_of_a_supplementary_file_is_found),
		UX_TEST(names_are_kept_byte_for_byte),
		UX_TEST(one_origin_is_one_number),
		UX_TEST(names_that_wait_are_found_together),
		UX_TEST(each_failed_allocation_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
