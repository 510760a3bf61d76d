/* SPDX-License-Identifier: Apache-2.0 */
/* Functions and inlined calls of a unit. */
#include "test_dwarf.h"

enum { /* abbreviation codes */
	UNIT = 1,
	FUNC,         /* name, low_pc, high_pc; children */
	FUNC_LEAF,    /* the same without */
	CALL,         /* abstract_origin, low_pc, high_pc, call_file, call_line; children */
	CALL_LEAF,    /* the same without */
	CALL_BARE,    /* abstract_origin; children */
	CALL_RANGES,  /* abstract_origin, ranges */
	ABSTRACT,     /* name, linkage name; children */
	BLOCK,        /* a lexical block; children */
	CLASS,        /* name; children */
	NAMESPACE,    /* name; children */
	VARIABLE,     /* name */
	ARRAY,        /* a sibling; children */
	DIE_ONLY,     /* low_pc alone */
	SPLIT,        /* name, ranges; children */
	OUTLINE,      /* abstract_origin, low_pc, high_pc; children */
	PARAMETER,    /* a formal parameter with children, as GCC has them for packs */
	ODD_CALL,     /* abstract_origin, low_pc, high_pc, call_file exprloc, call_line data8 */
	SIBLING_FUNC, /* name, low_pc, high_pc, sibling; children */
	UNKNOWN_FORM, /* a variable with a form that does not exist */
	ENUMERATION,  /* name; children */
	COLUMN_CALL,  /* abstract_origin, low_pc, high_pc, call_file, call_line, call_column */
};

#define CHILDREN true

static void make_abbrevs(struct make_dwarf *m)
{
	MAKE_ABBREV(m, UNIT, DW_TAG_compile_unit, CHILDREN, {DW_AT_language, DW_FORM_data2},
		    {DW_AT_producer, DW_FORM_string}, {DW_AT_low_pc, DW_FORM_addr});
	MAKE_ABBREV(m, FUNC, DW_TAG_subprogram, CHILDREN, {DW_AT_name, DW_FORM_string},
		    {DW_AT_low_pc, DW_FORM_addr}, {DW_AT_high_pc, DW_FORM_data4});
	MAKE_ABBREV(m, FUNC_LEAF, DW_TAG_subprogram, false, {DW_AT_name, DW_FORM_string},
		    {DW_AT_low_pc, DW_FORM_addr}, {DW_AT_high_pc, DW_FORM_data4});
	MAKE_ABBREV(m, CALL, DW_TAG_inlined_subroutine, CHILDREN,
		    {DW_AT_abstract_origin, DW_FORM_ref4}, {DW_AT_low_pc, DW_FORM_addr},
		    {DW_AT_high_pc, DW_FORM_data4}, {DW_AT_call_file, DW_FORM_data1},
		    {DW_AT_call_line, DW_FORM_data2});
	MAKE_ABBREV(m, CALL_LEAF, DW_TAG_inlined_subroutine, false,
		    {DW_AT_abstract_origin, DW_FORM_ref4}, {DW_AT_low_pc, DW_FORM_addr},
		    {DW_AT_high_pc, DW_FORM_data4}, {DW_AT_call_file, DW_FORM_implicit_const, 3},
		    {DW_AT_call_line, DW_FORM_data2});
	MAKE_ABBREV(m, CALL_BARE, DW_TAG_inlined_subroutine, CHILDREN,
		    {DW_AT_abstract_origin, DW_FORM_ref4});
	MAKE_ABBREV(m, CALL_RANGES, DW_TAG_inlined_subroutine, false,
		    {DW_AT_abstract_origin, DW_FORM_ref4}, {DW_AT_ranges, DW_FORM_sec_offset});
	MAKE_ABBREV(m, ABSTRACT, DW_TAG_subprogram, CHILDREN, {DW_AT_name, DW_FORM_string},
		    {DW_AT_linkage_name, DW_FORM_string});
	MAKE_ABBREV(m, BLOCK, 0x0b, CHILDREN, {0x3a, DW_FORM_data1});
	MAKE_ABBREV(m, CLASS, DW_TAG_class_type, CHILDREN, {DW_AT_name, DW_FORM_string});
	MAKE_ABBREV(m, NAMESPACE, DW_TAG_namespace, CHILDREN, {DW_AT_name, DW_FORM_string});
	MAKE_ABBREV(m, VARIABLE, DW_TAG_variable, false, {DW_AT_name, DW_FORM_string});
	MAKE_ABBREV(m, ARRAY, DW_TAG_array_type, CHILDREN, {DW_AT_sibling, DW_FORM_ref4});
	MAKE_ABBREV(m, DIE_ONLY, DW_TAG_subprogram, false, {DW_AT_low_pc, DW_FORM_addr});
	MAKE_ABBREV(m, SPLIT, DW_TAG_subprogram, CHILDREN, {DW_AT_name, DW_FORM_string},
		    {DW_AT_ranges, DW_FORM_sec_offset});
	MAKE_ABBREV(m, OUTLINE, DW_TAG_subprogram, CHILDREN, {DW_AT_abstract_origin, DW_FORM_ref4},
		    {DW_AT_low_pc, DW_FORM_addr}, {DW_AT_high_pc, DW_FORM_data4});
	MAKE_ABBREV(m, PARAMETER, DW_TAG_formal_parameter, CHILDREN, {0x3a, DW_FORM_string});
	MAKE_ABBREV(m, ODD_CALL, DW_TAG_inlined_subroutine, false,
		    {DW_AT_abstract_origin, DW_FORM_ref4}, {DW_AT_low_pc, DW_FORM_addr},
		    {DW_AT_high_pc, DW_FORM_data4}, {DW_AT_call_file, DW_FORM_exprloc},
		    {DW_AT_call_line, DW_FORM_data8});
	MAKE_ABBREV(m, SIBLING_FUNC, DW_TAG_subprogram, CHILDREN, {DW_AT_name, DW_FORM_string},
		    {DW_AT_low_pc, DW_FORM_addr}, {DW_AT_high_pc, DW_FORM_data4},
		    {DW_AT_sibling, DW_FORM_ref4});
	MAKE_ABBREV(m, UNKNOWN_FORM, DW_TAG_variable, false, {DW_AT_name, 0x7e});
	MAKE_ABBREV(m, ENUMERATION, DW_TAG_enumeration_type, CHILDREN,
		    {DW_AT_name, DW_FORM_string});
	MAKE_ABBREV(m, COLUMN_CALL, DW_TAG_inlined_subroutine, false,
		    {DW_AT_abstract_origin, DW_FORM_ref4}, {DW_AT_low_pc, DW_FORM_addr},
		    {DW_AT_high_pc, DW_FORM_data4}, {DW_AT_call_file, DW_FORM_data1},
		    {DW_AT_call_line, DW_FORM_data2}, {DW_AT_call_column, DW_FORM_data1});
	make_table_end(m);
}

static void begin_unit(struct make_dwarf *m, uint16_t language, const char *producer)
{
	if (make_off(m, UX_DWARF_ABBREV) == 0)
		make_abbrevs(m);
	make_unit_begin(m, (struct make_unit){.version = 4});
	MAKE_DIE(m, UNIT, N(language), T(producer), N(0));
}

/*
 * DIEs near the end of a unit are read with checks of their own. Each test runs twice: with the
 * plain unit, and with a long DIE after the others, so that they are far from that end.
 */
static bool long_units;

static void end_unit(struct make_dwarf *m)
{
	static char name[1000];
	memset(name, 'v', sizeof(name) - 1);
	if (long_units)
		MAKE_DIE(m, VARIABLE, T(name));
	make_null(m);
	make_unit_end(m);
}

static size_t put_ranges(const struct reading *r, char *text, size_t size, uint32_t first,
			 uint32_t count)
{
	size_t n = 0;
	assert_true(first + count <= r->code.ranges.size);
	for (uint32_t i = first; i < first + count; i++)
		n += (size_t)snprintf(text + n, size - n, " %" PRIx64 "-%" PRIx64,
				      r->code.ranges.data[i].lo, r->code.ranges.data[i].hi);
	return n;
}

/*
 * The code of the open unit, one function after the other: "f 1000-1010; >g 1/5 1004-1008; >>h
 * ...;". A '>' for each depth, the call's file and line, the ranges.
 */
static const char *code_of(struct reading *r, enum ux_code expected)
{
	static char text[4096];
	enum ux_code code = read_code(r);
	assert_int_equal(code, expected);
	assert_int_equal(r->err.code, expected);
	size_t n = 0, inlines = 0;
	text[0] = '\0';
	for (size_t i = 0; i < r->code.functions.size; i++) {
		const struct ux_code_function *f = &r->code.functions.data[i];
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? " " : "",
				      name_of(r, f->name));
		n += put_ranges(r, text + n, sizeof(text) - n, f->range_first, f->range_count);
		n += (size_t)snprintf(text + n, sizeof(text) - n, ";");
		for (size_t k = f->inline_first; k < f->inline_first + f->inline_count; k++) {
			const struct ux_code_inline *c = &r->code.inlines.data[k];
			assert_int_equal(r->code.owners.data[k], i);
			n += (size_t)snprintf(text + n, sizeof(text) - n, " %.*s%s %u/%u",
					      (int)c->depth, ">>>>>>>>", name_of(r, c->name),
					      c->call_file, c->call_line);
			n += put_ranges(r, text + n, sizeof(text) - n, c->range_first,
					c->range_count);
			n += (size_t)snprintf(text + n, sizeof(text) - n, ";");
		}
		inlines += f->inline_count;
	}
	assert_int_equal(inlines, r->code.inlines.size);
	return text;
}

static void functions_come_in_the_order_of_their_entries(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C11, "GNU C17 12.2.0");
	MAKE_DIE(&m, FUNC_LEAF, T("b"), N(0x2000), N(16));
	MAKE_DIE(&m, VARIABLE, T("v"));
	MAKE_DIE(&m, FUNC, T("a"), N(0x1000), N(16));
	make_null(&m);
	MAKE_DIE(&m, FUNC_LEAF, T("c"), N(0x1010), N(4));
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(code_of(&r, UX_OK), "b 2000-2010; a 1000-1010; c 1010-1014;");
}

static void unit_without_children_has_no_code(void **state)
{
	(void)state;
	MODULE(m, r);
	MAKE_ABBREV(&m, 1, DW_TAG_compile_unit, false, {DW_AT_language, DW_FORM_data1});
	make_table_end(&m);
	make_unit_begin(&m, (struct make_unit){0});
	MAKE_DIE(&m, 1, N(DW_LANG_C));
	make_unit_end(&m);
	reading_of(&r, &m);
	assert_string_equal(code_of(&r, UX_OK), "");
}

static void inlined_calls_nest_in_pre_order(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C11, "clang version 14.0.6");
	uint64_t g = MAKE_DIE(&m, ABSTRACT, T("g"), T("_Z1gv"));
	make_null(&m);
	uint64_t h = MAKE_DIE(&m, ABSTRACT, T("h"), T(""));
	make_null(&m);
	MAKE_DIE(&m, FUNC, T("f"), N(0x1000), N(0x100));
	MAKE_DIE(&m, CALL, N(g), N(0x1010), N(0x40), N(1), N(5));
	MAKE_DIE(&m, CALL_LEAF, N(h), N(0x1020), N(8), N(6));
	MAKE_DIE(&m, CALL_LEAF, N(h), N(0x1030), N(8), N(6)); /* the same call, unrolled */
	make_null(&m);
	MAKE_DIE(&m, CALL_LEAF, N(g), N(0x1080), N(8), N(7));
	make_null(&m);
	MAKE_DIE(&m, FUNC, T("e"), N(0x2000), N(0x10));
	MAKE_DIE(&m, CALL_LEAF, N(h), N(0x2000), N(8), N(9));
	make_null(&m);
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(code_of(&r, UX_OK),
			    "f 1000-1100; >_Z1gv 1/5 1010-1050; >>h 3/6 1020-1028; "
			    ">>h 3/6 1030-1038; >_Z1gv 3/7 1080-1088; e 2000-2010; "
			    ">h 3/9 2000-2008;");
}

static void blocks_around_calls_are_not_frames(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C11, "");
	MAKE_DIE(&m, FUNC, T("f"), N(0x1000), N(0x100));
	MAKE_DIE(&m, BLOCK, N(0));
	MAKE_DIE(&m, CALL, N(0x1000000), N(0x1010), N(0x40), N(1), N(5));
	MAKE_DIE(&m, BLOCK, N(0));
	MAKE_DIE(&m, BLOCK, N(0));
	MAKE_DIE(&m, CALL_LEAF, N(0x1000000), N(0x1020), N(8), N(6));
	make_null(&m);
	make_null(&m);
	MAKE_DIE(&m, CALL_LEAF, N(0x1000000), N(0x1028), N(8), N(7));
	make_null(&m);
	make_null(&m);
	MAKE_DIE(&m, CALL_LEAF, N(0x1000000), N(0x1080), N(8), N(8));
	make_null(&m);
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(code_of(&r, UX_OK), "f 1000-1100; >? 1/5 1010-1050; >>? 3/6 1020-1028; "
						">>? 3/7 1028-1030; >? 3/8 1080-1088;");
}

static void calls_without_ranges_keep_their_children(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C11, "");
	uint64_t g = MAKE_DIE(&m, ABSTRACT, T("g"), T(""));
	make_null(&m);
	MAKE_DIE(&m, FUNC, T("f"), N(0x1000), N(0x100));
	MAKE_DIE(&m, CALL_BARE, N(g));
	MAKE_DIE(&m, CALL_LEAF, N(g), N(0x1020), N(8), N(6));
	make_null(&m);
	MAKE_DIE(&m, CALL_LEAF, N(g), N(0x1030), N(0), N(7)); /* empty */
	make_null(&m);
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(code_of(&r, UX_OK), "f 1000-1100; >g 0/0; >>g 3/6 1020-1028; >g 3/7;");
}

static void call_places_that_are_no_numbers_are_unknown(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C11, "");
	uint64_t g = MAKE_DIE(&m, ABSTRACT, T("g"), T(""));
	make_null(&m);
	MAKE_DIE(&m, FUNC, T("f"), N(0x1000), N(0x100));
	MAKE_DIE(&m, ODD_CALL, N(g), N(0x1000), N(1), B("x"), N(UINT64_C(1) << 32));
	MAKE_DIE(&m, ODD_CALL, N(g), N(0x1001), N(1), B("x"), N(UINT32_MAX));
	make_null(&m);
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(code_of(&r, UX_OK),
			    "f 1000-1100; >g 0/0 1000-1001; >g 0/4294967295 1001-1002;");
}

static void each_call_has_a_place_when_columns_are_read(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C11, "");
	uint64_t g = MAKE_DIE(&m, ABSTRACT, T("g"), T(""));
	make_null(&m);
	MAKE_DIE(&m, FUNC, T("f"), N(0x1000), N(0x100));
	MAKE_DIE(&m, CALL_LEAF, N(g), N(0x1000), N(8), N(5));
	MAKE_DIE(&m, COLUMN_CALL, N(g), N(0x1008), N(8), N(2), N(6), N(17));
	MAKE_DIE(&m, CALL_LEAF, N(g), N(0x1010), N(8), N(7));
	make_null(&m);
	end_unit(&m);
	struct ux_dwarf_sections sections = make_dwarf_sections(&m);
	sections.columns = true;
	assert_int_equal(reading_init(&r, sections), UX_OK);
	assert_int_equal(open_unit(&r, 0), UX_OK);
	r.code.columns = true;
	assert_string_equal(code_of(&r, UX_OK),
			    "f 1000-1100; >g 0/5 1000-1008; >g 1/6 1008-1010; >g 2/7 1010-1018;");
	const struct ux_dwarf_place *places = r.code.places.data;
	assert_int_equal(r.code.places.size, 3);
	assert_true(places[0].file == 3 && places[0].column == 0);
	assert_true(places[1].file == 2 && places[1].column == 17);
	assert_true(places[2].file == 3 && places[2].column == 0);
}

static void outlined_copy_has_its_origins_name_and_calls_of_its_own(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C11, "");
	uint64_t g = MAKE_DIE(&m, ABSTRACT, T("g"), T("_Z1gv"));
	MAKE_DIE(&m, CALL_BARE, N(g)); /* inlined early: means nothing here */
	make_null(&m);
	make_null(&m);
	MAKE_DIE(&m, OUTLINE, N(g), N(0x1000), N(0x20));
	MAKE_DIE(&m, CALL_LEAF, N(g), N(0x1008), N(8), N(6));
	make_null(&m);
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(code_of(&r, UX_OK), "_Z1gv 1000-1020; >_Z1gv 3/6 1008-1010;");
}

static void function_in_parts_has_all_its_ranges(void **state)
{
	(void)state;
	MODULE(m, r);
	m.unit.addr_size = 8;
	make_pair(&m, 0x2000, 0x2040);
	make_pair(&m, 0x1000, 0x1008); /* the cold part is at lower addresses */
	make_pair(&m, 1, 1);
	make_pair(&m, 0, 0);
	uint64_t calls = make_pair(&m, 0x2004, 0x2008);
	make_pair(&m, 0x1000, 0x1004);
	make_pair(&m, 0, 0);
	begin_unit(&m, DW_LANG_C11, "");
	uint64_t g = MAKE_DIE(&m, ABSTRACT, T("g"), T(""));
	make_null(&m);
	MAKE_DIE(&m, SPLIT, T("f"), N(0));
	MAKE_DIE(&m, CALL_RANGES, N(g), N(calls));
	make_null(&m);
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(code_of(&r, UX_OK),
			    "f 2000-2040 1000-1008; >g 0/0 2004-2008 1000-1004;");
}

static void damaged_list_is_counted_and_costs_no_more(void **state)
{
	(void)state;
	MODULE(m, r);
	m.unit.addr_size = 8;
	make_pair(&m, 0x2000, 0x2040); /* no end */
	begin_unit(&m, DW_LANG_C11, "");
	MAKE_DIE(&m, SPLIT, T("f"), N(0));
	make_null(&m);
	MAKE_DIE(&m, SPLIT, T("g"), N(1000));
	make_null(&m);
	MAKE_DIE(&m, FUNC_LEAF, T("h"), N(0x1000), N(16));
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(code_of(&r, UX_OK), "f 2000-2040; h 1000-1010;");
	assert_int_equal(r.code.bad_ranges, 2);
	assert_string_equal(code_of(&r, UX_OK), "f 2000-2040; h 1000-1010;");
	assert_int_equal(r.code.bad_ranges, 2);
}

static void long_list_that_all_share_comes_to_a_limit(void **state)
{
	(void)state;
	MODULE(m, r);
	m.unit.addr_size = 8;
	for (unsigned i = 0; i < 1000; i++)
		make_pair(&m, 0x1000 + i, 0x1001 + i);
	make_pair(&m, 0, 0);
	begin_unit(&m, DW_LANG_C11, "");
	for (unsigned i = 0; i < 100; i++) {
		MAKE_DIE(&m, SPLIT, T("f"), N(0));
		make_null(&m);
	}
	end_unit(&m);
	reading_of(&r, &m);
	assert_int_equal(read_code(&r), UX_OK);
	assert_true(r.code.bad_ranges > 90);
	assert_true(r.code.ranges.size <= UX_DWARF_RANGES_PER_BYTE * make_off(&m, UX_DWARF_INFO));
	assert_true(r.code.functions.size >= 3);
}

static void declarations_and_dead_functions_are_no_functions(void **state)
{
	(void)state;
	static const char *const producers[] = {"GNU C11", "clang version 14.0.6"};
	for (size_t i = 0; i < 2; i++) {
		MODULE(m, r);
		begin_unit(&m, DW_LANG_C11, producers[i]);
		MAKE_DIE(&m, ABSTRACT, T("declared"), T(""));
		make_null(&m);
		MAKE_DIE(&m, DIE_ONLY, N(0x1000));
		static const uint64_t dead[] = {0, 1, UINT64_MAX, UINT64_MAX - 1};
		for (size_t k = 0; k < ux_countof(dead); k++) {
			MAKE_DIE(&m, FUNC, T("dead"), N(dead[k]), N(16));
			MAKE_DIE(&m, CALL_LEAF, N(0), N(0x1004), N(4), N(3));
			make_null(&m);
		}
		MAKE_DIE(&m, FUNC_LEAF, T("alive"), N(0x1000), N(16));
		end_unit(&m);
		reading_of(&r, &m);
		assert_string_equal(code_of(&r, UX_OK), "alive 1000-1010;");
	}
}

/* outer(abstract) { class { method } }, outer2(dead) { class { method } }, nested { nested } */
static void make_nests(struct make_dwarf *m, uint16_t language, const char *producer)
{
	begin_unit(m, language, producer);
	MAKE_DIE(m, ABSTRACT, T("abstract"), T(""));
	MAKE_DIE(m, CLASS, T("local"));
	MAKE_DIE(m, FUNC_LEAF, T("m1"), N(0x1000), N(4));
	make_null(m);
	MAKE_DIE(m, FUNC_LEAF, T("n1"), N(0x1010), N(4));
	make_null(m);
	MAKE_DIE(m, FUNC, T("dead"), N(0), N(4));
	MAKE_DIE(m, BLOCK, N(0));
	MAKE_DIE(m, CLASS, T("local"));
	MAKE_DIE(m, FUNC_LEAF, T("m2"), N(0x2000), N(4));
	make_null(m);
	make_null(m);
	MAKE_DIE(m, FUNC_LEAF, T("n2"), N(0x2010), N(4));
	make_null(m);
	MAKE_DIE(m, CLASS, T("global"));
	MAKE_DIE(m, FUNC_LEAF, T("m3"), N(0x3000), N(4));
	make_null(m);
	MAKE_DIE(m, ENUMERATION, T("enum"));
	MAKE_DIE(m, FUNC_LEAF, T("m4"), N(0x4000), N(4));
	make_null(m);
	MAKE_DIE(m, NAMESPACE, T("ns"));
	MAKE_DIE(m, FUNC_LEAF, T("n5"), N(0x5000), N(4));
	make_null(m);
	end_unit(m);
}

static void functions_are_looked_for_where_the_producer_puts_them(void **state)
{
	(void)state;
	static const struct {
		uint16_t language;
		const char *producer;
		const char *code;
	} cases[] = {
		{DW_LANG_C11, "clang version 14.0.6", "n5 5000-5004;"},
		{DW_LANG_C_plus_plus_14, "Apple clang version 15", "ns::n5 5000-5004;"},
		{DW_LANG_C_plus_plus_17, "clang version 14.0.6", "ns::n5 5000-5004;"},
		{DW_LANG_C17, "clang version 14.0.6", "n5 5000-5004;"},
		{DW_LANG_C11, "GNU C11", "n1 1010-1014; n2 2010-2014; n5 5000-5004;"},
		{DW_LANG_C_plus_plus_14, "GNU C++14",
		 "abstract::local::m1 1000-1004; abstract::n1 1010-1014; "
		 "dead::local::m2 2000-2004; dead::n2 2010-2014; ns::n5 5000-5004;"},
		{DW_LANG_Rust, "clang LLVM (rustc version 1.63.0)",
		 "abstract::local::m1 1000-1004; abstract::n1 1010-1014; "
		 "dead::local::m2 2000-2004; dead::n2 2010-2014; global::m3 3000-3004; "
		 "enum::m4 4000-4004; ns::n5 5000-5004;"},
		{0, "",
		 "m1 1000-1004; n1 1010-1014; m2 2000-2004; n2 2010-2014; m3 3000-3004; "
		 "m4 4000-4004; n5 5000-5004;"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		MODULE(m, r);
		make_nests(&m, cases[i].language, cases[i].producer);
		reading_of(&r, &m);
		assert_string_equal(code_of(&r, UX_OK), cases[i].code);
	}
}

static void nested_functions_keep_their_calls_apart(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C11, "GNU C11");
	uint64_t g = MAKE_DIE(&m, ABSTRACT, T("g"), T(""));
	make_null(&m);
	MAKE_DIE(&m, FUNC, T("outer"), N(0x1000), N(0x100));
	MAKE_DIE(&m, CALL, N(g), N(0x1010), N(0x40), N(1), N(5));
	MAKE_DIE(&m, FUNC, T("nested"), N(0x2000), N(0x100));
	MAKE_DIE(&m, CALL_LEAF, N(g), N(0x2020), N(8), N(6));
	make_null(&m);
	MAKE_DIE(&m, CALL_LEAF, N(g), N(0x1030), N(8), N(7));
	make_null(&m);
	MAKE_DIE(&m, FUNC_LEAF, T("nested2"), N(0x3000), N(0x100));
	MAKE_DIE(&m, CALL_LEAF, N(g), N(0x1080), N(8), N(8));
	make_null(&m);
	MAKE_DIE(&m, FUNC, T("last"), N(0x4000), N(0x100));
	MAKE_DIE(&m, CALL_LEAF, N(g), N(0x4020), N(8), N(9));
	make_null(&m);
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(code_of(&r, UX_OK),
			    "outer 1000-1100; >g 1/5 1010-1050; >>g 3/7 1030-1038; "
			    ">g 3/8 1080-1088; nested 2000-2100; >g 3/6 2020-2028; "
			    "nested2 3000-3100; last 4000-4100; >g 3/9 4020-4028;");
}

static bool name_at_1000(void *ctx, const struct ux_range *range)
{
	++*(size_t *)ctx;
	return range->lo == 0x1000;
}

/* Only the name of a skipped function is read; nested entries are skipped too. */
static void calls_of_a_skipped_function_are_not_read(void **state)
{
	(void)state;
	size_t requested = 0;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C11, "GNU C11");
	uint64_t g = MAKE_DIE(&m, ABSTRACT, T("g"), T(""));
	make_null(&m);
	MAKE_DIE(&m, FUNC, T("outer"), N(0x1000), N(0x100));
	MAKE_DIE(&m, CALL, N(g), N(0x1010), N(0x40), N(1), N(5));
	MAKE_DIE(&m, FUNC, T("nested"), N(0x2000), N(0x100));
	MAKE_DIE(&m, CALL_LEAF, N(g), N(0x2020), N(8), N(6));
	make_null(&m);
	MAKE_DIE(&m, CALL_LEAF, N(g), N(0x1030), N(8), N(7));
	make_null(&m);
	make_null(&m);
	MAKE_DIE(&m, FUNC, T("last"), N(0x4000), N(0x100));
	MAKE_DIE(&m, CALL_LEAF, N(g), N(0x4020), N(8), N(9));
	make_null(&m);
	end_unit(&m);
	reading_of(&r, &m);
	r.code.skip = name_at_1000;
	r.code.skip_ctx = &requested;
	assert_string_equal(code_of(&r, UX_OK),
			    "outer 1000-1100; nested 2000-2100; >g 3/6 2020-2028; "
			    "last 4000-4100; >g 3/9 4020-4028;");
	assert_int_equal(requested, 3);
}

static void leaves_are_passed_with_and_without_siblings(void **state)
{
	(void)state;
	for (int with = 0; with < 2; with++) {
		MODULE(m, r);
		begin_unit(&m, DW_LANG_C11, "");
		MAKE_DIE(&m, ARRAY, N(0));
		size_t at = m.value_at[0];
		MAKE_DIE(&m, PARAMETER, T("nested"));
		MAKE_DIE(&m, FUNC_LEAF, T("hidden"), N(0x1000), N(4));
		make_null(&m);
		make_null(&m);
		if (with)
			make_patch(&m, UX_DWARF_INFO, at, make_off(&m, UX_DWARF_INFO), 4);
		MAKE_DIE(&m, FUNC_LEAF, T("seen"), N(0x2000), N(4));
		end_unit(&m);
		reading_of(&r, &m);
		assert_string_equal(code_of(&r, UX_OK), "seen 2000-2004;");
	}
}

static void texts_of_any_length_are_passed(void **state)
{
	(void)state;
	static const char *const texts[] = {"",
					    "a",
					    "abc",
					    "abcdef",
					    "abcdefg",
					    "abcdefgh",
					    "abcdefghi",
					    "abcdefghijk",
					    "\x01\x80",
					    "\x80\x01\xff",
					    "\xff\xff\xff\xff",
					    "\x01"};
	for (size_t i = 0; i < ux_countof(texts); i++) {
		MODULE(m, r);
		begin_unit(&m, DW_LANG_C_plus_plus, "GNU C++17");
		MAKE_DIE(&m, VARIABLE, T(texts[i]));
		MAKE_DIE(&m, FUNC, T("f"), N(0x1000), N(0x10));
		MAKE_DIE(&m, VARIABLE, T(texts[i]));
		MAKE_DIE(&m, ENUMERATION, T(texts[i]));
		MAKE_DIE(&m, VARIABLE, T(texts[i]));
		make_null(&m);
		MAKE_DIE(&m, ABSTRACT, T(texts[i]), T(texts[i]));
		make_null(&m);
		make_null(&m);
		MAKE_DIE(&m, FUNC_LEAF, T("g"), N(0x1010), N(0x10));
		end_unit(&m);
		reading_of(&r, &m);
		assert_string_equal(code_of(&r, UX_OK), "f 1000-1010; g 1010-1020;");
	}
}

static void code_that_is_padded_is_read(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C, "GNU C17");
	struct ux_out *info = &m.out[UX_DWARF_INFO];
	ux_out_u8(info, VARIABLE | 0x80);
	ux_out_u8(info, 0);
	ux_out_u16(info, 'v'); /* and the end of the name */
	MAKE_DIE(&m, FUNC_LEAF, T("g"), N(0x1010), N(0x10));
	ux_out_u8(info, FUNC_LEAF | 0x80);
	ux_out_u8(info, 0x80);
	ux_out_u8(info, 0);
	ux_out_u16(info, 'h');
	ux_out_u64(info, 0x1020);
	ux_out_u32(info, 0x10);
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(code_of(&r, UX_OK), "g 1010-1020; h 1020-1030;");
}

static void sibling_that_does_not_lie_ahead_is_not_followed(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		MODULE(m, r);
		begin_unit(&m, DW_LANG_C11, "clang");
		uint64_t self = MAKE_DIE(&m, ARRAY, N(0));
		size_t at = m.value_at[0];
		make_null(&m);
		MAKE_DIE(&m, FUNC_LEAF, T("seen"), N(0x2000), N(4));
		end_unit(&m);
		const uint64_t siblings[] = {self, at + 3, 0, make_off(&m, UX_DWARF_INFO) + 1};
		make_patch(&m, UX_DWARF_INFO, at, siblings[i], 4);
		reading_of(&r, &m);
		assert_string_equal(code_of(&r, UX_OK), "seen 2000-2004;");
	}
}

static void dead_function_is_jumped_over_by_its_sibling(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C11, "clang version 14");
	MAKE_DIE(&m, SIBLING_FUNC, T("dead"), N(0), N(4), N(0));
	size_t at = m.value_at[3];
	ux_out_u8(&m.out[UX_DWARF_INFO], 0x7f); /* a code that no table has: a reader that enters
						   the entry fails */
	make_patch(&m, UX_DWARF_INFO, at, make_off(&m, UX_DWARF_INFO), 4);
	MAKE_DIE(&m, FUNC_LEAF, T("seen"), N(0x2000), N(4));
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(code_of(&r, UX_OK), "seen 2000-2004;");
}

static void damage_keeps_what_was_read_before(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		MODULE(m, r);
		begin_unit(&m, DW_LANG_C11, "");
		MAKE_DIE(&m, FUNC_LEAF, T("before"), N(0x2000), N(4));
		uint64_t bad = make_off(&m, UX_DWARF_INFO);
		if (i == 0)
			ux_out_u8(&m.out[UX_DWARF_INFO], 0x7f); /* a code of no table */
		else if (i == 1)
			MAKE_DIE(&m, UNKNOWN_FORM, N(0));
		else if (i == 2)
			ux_out_u8(&m.out[UX_DWARF_INFO], FUNC_LEAF); /* cut */
		else
			ux_out_put(&m.out[UX_DWARF_INFO], "\xff\xff", 2); /* half a code */
		if (i < 2)
			MAKE_DIE(&m, FUNC_LEAF, T("after"), N(0x2000), N(4));
		make_unit_end(&m);
		reading_of(&r, &m);
		assert_string_equal(code_of(&r, UX_ECORRUPT), "before 2000-2004;");
		assert_string_equal(r.err.section, ".debug_info");
		assert_true(r.err.off >= bad && r.err.off <= make_off(&m, UX_DWARF_INFO));
	}
}

static void missing_ends_of_children_are_forgiven(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C11, "");
	MAKE_DIE(&m, FUNC, T("f"), N(0x1000), N(16));
	MAKE_DIE(&m, BLOCK, N(0));
	MAKE_DIE(&m, CALL_LEAF, N(0), N(0x1004), N(4), N(3));
	make_unit_end(&m);
	reading_of(&r, &m);
	assert_string_equal(code_of(&r, UX_OK), "f 1000-1010; >? 3/3 1004-1008;");
}

static void what_follows_the_units_last_child_is_padding(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C11, "");
	MAKE_DIE(&m, FUNC_LEAF, T("f"), N(0x1000), N(16));
	make_null(&m);
	make_null(&m);
	MAKE_DIE(&m, FUNC_LEAF, T("g"), N(0x1000), N(16));
	make_unit_end(&m);
	reading_of(&r, &m);
	assert_string_equal(code_of(&r, UX_OK), "f 1000-1010;");
}

static void nesting_past_the_limit_is_flattened(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C11, "");
	MAKE_DIE(&m, FUNC, T("f"), N(0x1000), N(0x1000));
	for (unsigned i = 0; i < 1000; i++)
		MAKE_DIE(&m, CALL, N(0), N(0x1000), N(0x1000 - i), N(1), N(i));
	for (unsigned i = 0; i < 1000; i++)
		make_null(&m);
	MAKE_DIE(&m, CALL_LEAF, N(0), N(0x1000), N(16), N(7));
	make_null(&m);
	MAKE_DIE(&m, FUNC, T("g"), N(0x3000), N(0x1000));
	MAKE_DIE(&m, CALL_LEAF, N(0), N(0x3000), N(16), N(7));
	make_null(&m);
	end_unit(&m);
	reading_of(&r, &m);
	assert_int_equal(read_code(&r), UX_OK);
	assert_int_equal(r.code.functions.size, 2);
	assert_int_equal(r.code.inlines.size, 1002);
	for (unsigned i = 0; i < 1000; i++)
		assert_int_equal(r.code.inlines.data[i].depth,
				 ux_min(i + 1, (unsigned)UX_DWARF_NEST_MAX));
	assert_int_equal(r.code.inlines.data[1000].depth, 1);
	assert_int_equal(r.code.inlines.data[1001].depth, 1);
	assert_int_equal(r.code.owners.data[1001], 1);
}

static void each_reading_replaces_the_one_before(void **state)
{
	(void)state;
	MODULE(m, r);
	make_nests(&m, 0, "");
	make_nests(&m, DW_LANG_C11, "clang");
	reading_of(&r, &m);
	assert_int_equal(strlen(code_of(&r, UX_OK)) > 20, true);
	assert_int_equal(open_unit(&r, 1), UX_OK);
	assert_string_equal(code_of(&r, UX_OK), "n5 5000-5004;");
}

static void no_damage_breaks_nested_functions(void **state)
{
	(void)state;
	ASSEMBLER(m);
	make_nests(&m, DW_LANG_C_plus_plus, "GNU C++14");
	struct ux_dwarf_sections s = make_dwarf_sections(&m);
	ux_cleanup(ux_out_deinit) struct ux_out joined = {0};
	join_sections(&s, &joined);
	each_byte_extreme(ux_out_bytes(&joined), sweep_module, NULL);
}

static void each_failed_allocation_is_reported(void **state)
{
	(void)state;
	ASSEMBLER(nests);
	make_nests(&nests, DW_LANG_C_plus_plus, "GNU C++14");
	assert_true(each_failed_alloc(module_with_failures, &nests, false) > 15);
}

UX_SUITE(dwarf_code)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(functions_come_in_the_order_of_their_entries),
		UX_TEST(unit_without_children_has_no_code),
		UX_TEST(inlined_calls_nest_in_pre_order),
		UX_TEST(blocks_around_calls_are_not_frames),
		UX_TEST(calls_without_ranges_keep_their_children),
		UX_TEST(call_places_that_are_no_numbers_are_unknown),
		UX_TEST(each_call_has_a_place_when_columns_are_read),
		UX_TEST(outlined_copy_has_its_origins_name_and_calls_of_its_own),
		UX_TEST(function_in_parts_has_all_its_ranges),
		UX_TEST(damaged_list_is_counted_and_costs_no_more),
		UX_TEST(long_list_that_all_share_comes_to_a_limit),
		UX_TEST(declarations_and_dead_functions_are_no_functions),
		UX_TEST(functions_are_looked_for_where_the_producer_puts_them),
		UX_TEST(nested_functions_keep_their_calls_apart),
		UX_TEST(calls_of_a_skipped_function_are_not_read),
		UX_TEST(leaves_are_passed_with_and_without_siblings),
		UX_TEST(texts_of_any_length_are_passed),
		UX_TEST(code_that_is_padded_is_read),
		UX_TEST(sibling_that_does_not_lie_ahead_is_not_followed),
		UX_TEST(dead_function_is_jumped_over_by_its_sibling),
		UX_TEST(damage_keeps_what_was_read_before),
		UX_TEST(missing_ends_of_children_are_forgiven),
		UX_TEST(what_follows_the_units_last_child_is_padding),
		UX_TEST(nesting_past_the_limit_is_flattened),
		UX_TEST(each_reading_replaces_the_one_before),
		UX_TEST(no_damage_breaks_nested_functions),
		UX_TEST(each_failed_allocation_is_reported),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	long_units = true;
	return failed + cmocka_run_group_tests(tests, NULL, NULL);
}
