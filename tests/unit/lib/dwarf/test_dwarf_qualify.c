/* SPDX-License-Identifier: Apache-2.0 */
/* Qualified names. */
#include "test_dwarf.h"

enum { /* abbreviation codes */
	UNIT = 1,
	SPACE,     /* a namespace: name */
	HIDDEN,    /* a namespace without a name */
	CLASS,     /* name */
	STRUCT,    /* name */
	STRUCT_OF, /* a structure's definition: specification */
	UNION,     /* without a name */
	ENUMERATION,
	BODILESS,   /* a class: signature of its type unit */
	BLOCK,      /* lexical */
	FUNC,       /* name, low_pc, high_pc; children */
	FUNC_OF,    /* specification anywhere, low_pc, high_pc */
	LINKED,     /* name, linkage name, low_pc, high_pc */
	DECLARED,   /* name */
	CALL,       /* abstract_origin, low_pc, high_pc; children */
	NAMED_CALL, /* name, low_pc, high_pc */
	MODULE_OF,  /* a module: name */
	SIBLED,     /* a namespace: name, sibling */
	ALT,        /* abstract_origin in a supplementary file, low_pc, high_pc */
	TYPE_UNIT,
	NAMED_UNIT, /* language, and its name since DWARF 6 */
};

static void make_abbrevs(struct make_dwarf *m)
{
	MAKE_ABBREV(m, UNIT, DW_TAG_compile_unit, true, {DW_AT_language, DW_FORM_data2});
	MAKE_ABBREV(m, SPACE, DW_TAG_namespace, true, {DW_AT_name, DW_FORM_string});
	MAKE_ABBREV(m, HIDDEN, DW_TAG_namespace, true, {0x3a, DW_FORM_data1});
	MAKE_ABBREV(m, CLASS, DW_TAG_class_type, true, {DW_AT_name, DW_FORM_strp},
		    {0x3a, DW_FORM_implicit_const, 70000}, {0x0b, DW_FORM_udata});
	MAKE_ABBREV(m, STRUCT, DW_TAG_structure_type, true, {DW_AT_name, DW_FORM_string});
	MAKE_ABBREV(m, STRUCT_OF, DW_TAG_structure_type, true, {DW_AT_specification, DW_FORM_ref4});
	MAKE_ABBREV(m, UNION, DW_TAG_union_type, true, {0x3a, DW_FORM_data1});
	MAKE_ABBREV(m, ENUMERATION, DW_TAG_enumeration_type, true, {DW_AT_name, DW_FORM_string});
	MAKE_ABBREV(m, BODILESS, DW_TAG_class_type, true, {DW_AT_signature, DW_FORM_ref_sig8});
	MAKE_ABBREV(m, BLOCK, 0x0b, true, {0x3a, DW_FORM_data1});
	MAKE_ABBREV(m, FUNC, DW_TAG_subprogram, true, {DW_AT_name, DW_FORM_string},
		    {DW_AT_low_pc, DW_FORM_addr}, {DW_AT_high_pc, DW_FORM_data4});
	MAKE_ABBREV(m, FUNC_OF, DW_TAG_subprogram, true, {DW_AT_specification, DW_FORM_ref_addr},
		    {DW_AT_low_pc, DW_FORM_addr}, {DW_AT_high_pc, DW_FORM_data4});
	MAKE_ABBREV(m, LINKED, DW_TAG_subprogram, false, {DW_AT_name, DW_FORM_string},
		    {DW_AT_linkage_name, DW_FORM_string}, {DW_AT_low_pc, DW_FORM_addr},
		    {DW_AT_high_pc, DW_FORM_data4});
	MAKE_ABBREV(m, DECLARED, DW_TAG_subprogram, true, {DW_AT_name, DW_FORM_string});
	MAKE_ABBREV(m, CALL, DW_TAG_inlined_subroutine, true, {DW_AT_abstract_origin, DW_FORM_ref4},
		    {DW_AT_low_pc, DW_FORM_addr}, {DW_AT_high_pc, DW_FORM_data4});
	MAKE_ABBREV(m, NAMED_CALL, DW_TAG_inlined_subroutine, true, {DW_AT_name, DW_FORM_string},
		    {DW_AT_low_pc, DW_FORM_addr}, {DW_AT_high_pc, DW_FORM_data4});
	MAKE_ABBREV(m, MODULE_OF, DW_TAG_module, true, {DW_AT_name, DW_FORM_string});
	MAKE_ABBREV(m, SIBLED, DW_TAG_namespace, true, {DW_AT_name, DW_FORM_string},
		    {DW_AT_sibling, DW_FORM_ref4});
	MAKE_ABBREV(m, ALT, DW_TAG_subprogram, false, {DW_AT_abstract_origin, DW_FORM_GNU_ref_alt},
		    {DW_AT_low_pc, DW_FORM_addr}, {DW_AT_high_pc, DW_FORM_data4});
	MAKE_ABBREV(m, TYPE_UNIT, DW_TAG_type_unit, true, {DW_AT_language, DW_FORM_data2});
	MAKE_ABBREV(m, NAMED_UNIT, DW_TAG_compile_unit, true, {DW_AT_language, DW_FORM_data2},
		    {DW_AT_language_name, DW_FORM_data1}, {0x91, DW_FORM_data4});
	make_table_end(m);
}

static void begin_unit_of(struct make_dwarf *m, struct make_unit unit, uint64_t language)
{
	if (make_off(m, UX_DWARF_ABBREV) == 0)
		make_abbrevs(m);
	make_unit_begin(m, unit);
	MAKE_DIE(m, unit.type == DW_UT_type ? TYPE_UNIT : UNIT, N(language));
}

static void begin_unit(struct make_dwarf *m, uint64_t language)
{
	begin_unit_of(m, (struct make_unit){0}, language);
}

static void end_unit(struct make_dwarf *m)
{
	make_null(m);
	make_unit_end(m);
}

/* A function of its own at pc: name, then nothing in it. */
static void add_func(struct make_dwarf *m, const char *name, uint64_t pc)
{
	MAKE_DIE(m, FUNC, T(name), N(pc), N(4));
	make_null(m);
}

static uint64_t declare(struct make_dwarf *m, const char *name)
{
	uint64_t off = MAKE_DIE(m, DECLARED, T(name));
	make_null(m);
	return off;
}

static void define(struct make_dwarf *m, uint64_t declared, uint64_t pc)
{
	MAKE_DIE(m, FUNC_OF, N(declared), N(pc), N(4));
	make_null(m);
}

/* "f, g > h": the functions of the open unit by name, each with its inlined calls. */
static const char *names_in(struct reading *r)
{
	static char text[1 << 12];
	size_t n = 0;
	text[0] = '\0';
	assert_int_equal(read_code(r), UX_OK);
	for (size_t i = 0; i < r->code.functions.size; i++) {
		const struct ux_code_function *f = &r->code.functions.data[i];
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? ", " : "",
				      name_of(r, f->name));
		for (size_t k = f->inline_first; k < f->inline_first + f->inline_count; k++)
			n += (size_t)snprintf(text + n, sizeof(text) - n, " > %s",
					      name_of(r, r->code.inlines.data[k].name));
	}
	return text;
}

static void function_is_called_by_what_it_stands_in(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_Rust);
	MAKE_DIE(&m, SPACE, T("a"));
	add_func(&m, "f", 0x1000);
	MAKE_DIE(&m, CLASS, T("B"), N(300));
	add_func(&m, "g<T>", 0x1010);
	MAKE_DIE(&m, ENUMERATION, T("E"));
	add_func(&m, "h", 0x1020);
	make_null(&m);
	make_null(&m);
	add_func(&m, "i", 0x1030);
	make_null(&m);
	add_func(&m, "j", 0x1040);
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(names_in(&r), "a::f, a::B::g<T>, a::B::E::h, a::i, j");
	assert_int_equal(r.names.own.data[1], strlen("a::B::"));
	assert_int_equal(r.names.own.data[4], 0);
}

static void each_language_joins_names_in_its_manner(void **state)
{
	(void)state;
	static const struct {
		uint64_t language;
		const char *name;
	} cases[] = {
		{DW_LANG_C_plus_plus, "a::f"},
		{DW_LANG_C_plus_plus_03, "a::f"},
		{DW_LANG_C_plus_plus_11, "a::f"},
		{DW_LANG_C_plus_plus_14, "a::f"},
		{DW_LANG_C_plus_plus_17, "a::f"},
		{DW_LANG_C_plus_plus_20, "a::f"},
		{DW_LANG_C_plus_plus_23, "a::f"},
		{DW_LANG_ObjC_plus_plus, "a::f"},
		{DW_LANG_CPP_for_OpenCL, "a::f"},
		{DW_LANG_HIP, "a::f"},
		{DW_LANG_OpenCL_CPP, "a::f"},
		{DW_LANG_Metal, "a::f"},
		{DW_LANG_SYCL, "a::f"},
		{DW_LANG_Crystal, "a::f"},
		{DW_LANG_Fortran90, "a::f"},
		{DW_LANG_Fortran95, "a::f"},
		{DW_LANG_Fortran03, "a::f"},
		{DW_LANG_Fortran08, "a::f"},
		{DW_LANG_Fortran18, "a::f"},
		{DW_LANG_Rust, "a::f"},
		{DW_LANG_C_sharp, "a.f"},
		{DW_LANG_D, "a.f"},
		{DW_LANG_Java, "a.f"},
		{DW_LANG_Kotlin, "a.f"},
		{DW_LANG_Swift, "a.f"},
		{DW_LANG_Zig, "a.f"},
		{DW_LANG_C, "f"},
		{DW_LANG_C11, "f"},
		{DW_LANG_C17, "f"},
		{0x0d /* Ada: names are whole as they stand */, "f"},
		{0x16 /* Go, likewise */, "f"},
		{0x10 /* Objective-C, likewise */, "f"},
		{0x8001 /* assembler */, "f"},
		{0, "f"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		MODULE(m, r);
		begin_unit(&m, cases[i].language);
		MAKE_DIE(&m, MODULE_OF, T("a"));
		add_func(&m, "f", 0x1000);
		make_null(&m);
		end_unit(&m);
		reading_of(&r, &m);
		assert_string_equal(names_in(&r), cases[i].name);
	}
}

/* DW_AT_language_name of DWARF 6, with DW_AT_language beside it, as GCC 15 does, or without. */
static void name_of_the_language_counts_where_it_is_known(void **state)
{
	(void)state;
	static const struct {
		uint64_t language, name;
		const char *function;
	} cases[] = {
		{0, DW_LNAME_C_plus_plus, "a::f"},
		{DW_LANG_C_plus_plus_14, DW_LNAME_C_plus_plus, "a::f"},
		{DW_LANG_C11, DW_LNAME_C, "f"},
		{DW_LANG_C, DW_LNAME_D, "a.f"},
		{DW_LANG_Rust, 0, "a::f"},
		{DW_LANG_Rust, 0xff, "a::f"}, /* a name to come */
		{DW_LANG_Rust, 0x0a /* Go */, "a::f"},
		{0, DW_LNAME_Crystal, "a::f"},
		{0, DW_LNAME_Fortran, "a::f"},
		{0, DW_LNAME_Java, "a.f"},
		{0, DW_LNAME_Kotlin, "a.f"},
		{0, DW_LNAME_ObjC_plus_plus, "a::f"},
		{0, DW_LNAME_Rust, "a::f"},
		{0, DW_LNAME_Swift, "a.f"},
		{0, DW_LNAME_Zig, "a.f"},
		{0, DW_LNAME_C_sharp, "a.f"},
		{0, DW_LNAME_OpenCL_CPP, "a::f"},
		{0, DW_LNAME_CPP_for_OpenCL, "a::f"},
		{0, DW_LNAME_SYCL, "a::f"},
		{0, DW_LNAME_HIP, "a::f"},
		{0, DW_LNAME_Metal, "a::f"},
		{0, 0x01 /* Ada */, "f"},
		{0, 0x2d, "f"},
		{0, 0, "f"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		MODULE(m, r);
		make_abbrevs(&m);
		make_unit_begin(&m, (struct make_unit){0});
		MAKE_DIE(&m, NAMED_UNIT, N(cases[i].language), N(cases[i].name), N(202602));
		MAKE_DIE(&m, MODULE_OF, T("a"));
		add_func(&m, "f", 0x1000);
		make_null(&m);
		end_unit(&m);
		reading_of(&r, &m);
		assert_string_equal(names_in(&r), cases[i].function);
	}
}

static void what_has_no_name_is_called_anonymous(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C_plus_plus_17);
	MAKE_DIE(&m, HIDDEN, N(1));
	add_func(&m, "f", 0x1000);
	MAKE_DIE(&m, UNION, N(1));
	uint64_t g = declare(&m, "g");
	make_null(&m);
	MAKE_DIE(&m, STRUCT, T(""));
	uint64_t h = declare(&m, "h");
	make_null(&m);
	MAKE_DIE(&m, CLASS, T(""), N(0));
	uint64_t i = declare(&m, "i");
	make_null(&m);
	MAKE_DIE(&m, ENUMERATION, T(""));
	uint64_t j = declare(&m, "j");
	make_null(&m);
	make_null(&m);
	define(&m, g, 0x1010);
	define(&m, h, 0x1020);
	define(&m, i, 0x1030);
	define(&m, j, 0x1040);
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(names_in(&r), "(anonymous namespace)::f, "
					  "(anonymous namespace)::(anonymous union)::g, "
					  "(anonymous namespace)::(anonymous struct)::h, "
					  "(anonymous namespace)::(anonymous class)::i, "
					  "(anonymous namespace)::j");
}

static void linkage_names_stay_as_they_are(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C_plus_plus);
	MAKE_DIE(&m, SPACE, T("a"));
	MAKE_DIE(&m, LINKED, T("f"), T("_ZN1a1fEv"), N(0x1000), N(4));
	MAKE_DIE(&m, LINKED, T("g"), T(""), N(0x1010), N(4));
	add_func(&m, "_ZN1a1hEv.isra.0", 0x1020); /* as GCC names some clones */
	make_null(&m);
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(names_in(&r), "_ZN1a1fEv, a::g, _ZN1a1hEv.isra.0");
}

static void declaration_tells_what_a_function_stands_in(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C_plus_plus);
	MAKE_DIE(&m, SPACE, T("a"));
	MAKE_DIE(&m, CLASS, T("B"), N(1));
	uint64_t f = declare(&m, "f");
	make_null(&m);
	make_null(&m);
	uint64_t outer = declare(&m, "plain");
	define(&m, f, 0x1000);
	MAKE_DIE(&m, FUNC_OF, N(outer), N(0x1010), N(0x40));
	MAKE_DIE(&m, CALL, N(f), N(0x1018), N(8));
	make_null(&m);
	make_null(&m);
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(names_in(&r), "a::B::f, plain > a::B::f");
}

static void local_types_are_called_by_their_functions(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C_plus_plus);
	MAKE_DIE(&m, SPACE, T("a"));
	uint64_t outer = declare(&m, "outer");
	make_null(&m);
	MAKE_DIE(&m, FUNC_OF, N(outer), N(0x1000), N(0x40));
	MAKE_DIE(&m, BLOCK, N(1));
	MAKE_DIE(&m, STRUCT, T("Local"));
	add_func(&m, "run", 0x2000);
	make_null(&m);
	MAKE_DIE(&m, STRUCT, T("<lambda(int)>"));
	add_func(&m, "operator()", 0x2010);
	make_null(&m);
	make_null(&m);
	make_null(&m);
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(names_in(&r), "a::outer, a::outer::Local::run, "
					  "a::outer::{lambda(int)}::operator()");
}

static void type_defined_elsewhere_is_called_by_where_it_was_declared(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C_plus_plus);
	MAKE_DIE(&m, SPACE, T("a"));
	MAKE_DIE(&m, CLASS, T("B"), N(1));
	uint64_t impl = MAKE_DIE(&m, STRUCT, T("Impl"));
	make_null(&m);
	make_null(&m);
	make_null(&m);
	MAKE_DIE(&m, STRUCT_OF, N(impl));
	uint64_t f = declare(&m, "f");
	make_null(&m);
	define(&m, f, 0x1000);
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(names_in(&r), "a::B::Impl::f");
}

static void type_of_a_type_unit_is_found_by_its_signature(void **state)
{
	(void)state;
	MODULE(m, r);
	for (uint64_t id = 0x77; id >= 0x75; id--) {
		begin_unit_of(&m, (struct make_unit){.type = DW_UT_type, .id = id}, DW_LANG_C);
		MAKE_DIE(&m, SPACE, T(id == 0x76 ? "a" : "wrong"));
		uint64_t type = MAKE_DIE(&m, CLASS, T("Typed"), N(1));
		make_patch(&m, UX_DWARF_INFO, m.unit_off + 20, type - m.unit_off, 4);
		declare(&m, "f");
		make_null(&m);
		make_null(&m);
		end_unit(&m);
	}
	begin_unit(&m, DW_LANG_C_plus_plus);
	MAKE_DIE(&m, BODILESS, N(0x76));
	uint64_t f = declare(&m, "f");
	make_null(&m);
	MAKE_DIE(&m, BODILESS, N(0x99));
	uint64_t g = declare(&m, "g");
	make_null(&m);
	define(&m, f, 0x1000);
	define(&m, g, 0x1010);
	end_unit(&m);
	reading_of(&r, &m);
	assert_int_equal(open_unit(&r, 3), UX_OK);
	assert_string_equal(names_in(&r), "a::Typed::f, (anonymous class)::g");
}

static void scopes_of_other_units_are_found(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C_plus_plus);
	MAKE_DIE(&m, FUNC_OF, N(0), N(0x1000), N(4));
	size_t at = m.value_at[0];
	make_null(&m);
	MAKE_DIE(&m, FUNC_OF, N(0), N(0x1010), N(4));
	size_t c_at = m.value_at[0];
	make_null(&m);
	end_unit(&m);
	begin_unit(&m, 0); /* a partial unit need not tell its language */
	MAKE_DIE(&m, SPACE, T("far"));
	make_patch(&m, UX_DWARF_INFO, at, declare(&m, "f"), 4);
	make_null(&m);
	end_unit(&m);
	begin_unit(&m, DW_LANG_C);
	MAKE_DIE(&m, STRUCT, T("s"));
	make_patch(&m, UX_DWARF_INFO, c_at, declare(&m, "g"), 4);
	make_null(&m);
	end_unit(&m);
	reading_of(&r, &m);
	for (int times = 0; times < 2; times++) {
		assert_string_equal(names_in(&r), "far::f, g");
		r.names.far_scopes = UX_DWARF_FAR_SCOPES + 1; /* the next unit forgets them */
	}
}

static void scopes_of_a_supplementary_file_are_found(void **state)
{
	(void)state;
	MODULE(sup, sr);
	begin_unit(&sup, DW_LANG_C_plus_plus);
	MAKE_DIE(&sup, SPACE, T("shared"));
	uint64_t f = declare(&sup, "f");
	make_null(&sup);
	end_unit(&sup);
	reading_of(&sr, &sup);
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C_plus_plus);
	MAKE_DIE(&m, ALT, N(f), N(0x1000), N(4));
	end_unit(&m);
	assert_int_equal(reading_init(&r, make_dwarf_sections(&m)), UX_OK);
	r.sections.sup = &sr.sections;
	r.units.sup = &sr.units;
	assert_int_equal(open_unit(&r, 0), UX_OK);
	assert_string_equal(names_in(&r), "shared::f");
}

static void inlined_calls_are_not_called_by_their_callers(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C_plus_plus);
	MAKE_DIE(&m, SPACE, T("a"));
	MAKE_DIE(&m, FUNC, T("f"), N(0x1000), N(0x40));
	MAKE_DIE(&m, NAMED_CALL, T("g"), N(0x1000), N(8));
	MAKE_DIE(&m, STRUCT, T("S"));
	add_func(&m, "h", 0x2000);
	make_null(&m);
	add_func(&m, "i", 0x2010);
	make_null(&m);
	make_null(&m);
	make_null(&m);
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(names_in(&r), "a::f > g, S::h, i");
}

static void siblings_are_jumped_to_and_false_ones_are_not(void **state)
{
	(void)state;
	for (int with = 0; with < 3; with++) {
		MODULE(m, r);
		begin_unit(&m, DW_LANG_C_plus_plus);
		MAKE_DIE(&m, SIBLED, T("a"), N(0));
		size_t at = m.value_at[1];
		uint64_t f = declare(&m, "f");
		make_null(&m);
		if (with > 0) /* or back to the beginning */
			make_patch(&m, UX_DWARF_INFO, at,
				   with == 1 ? make_off(&m, UX_DWARF_INFO) : 12, 4);
		MAKE_DIE(&m, SPACE, T("b"));
		uint64_t g = declare(&m, "g");
		make_null(&m);
		define(&m, f, 0x1000);
		define(&m, g, 0x1010);
		end_unit(&m);
		reading_of(&r, &m);
		assert_string_equal(names_in(&r), "a::f, b::g");
	}
}

static void type_that_declares_itself_ends(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C_plus_plus);
	uint64_t self = make_off(&m, UX_DWARF_INFO);
	MAKE_DIE(&m, STRUCT_OF, N(self));
	uint64_t f = declare(&m, "f");
	uint64_t inner = make_off(&m, UX_DWARF_INFO);
	MAKE_DIE(&m, STRUCT_OF, N(inner));
	size_t at = m.value_at[0];
	uint64_t g = declare(&m, "g");
	make_null(&m);
	make_null(&m);
	make_patch(&m, UX_DWARF_INFO, at, g - m.unit_off, 4); /* declared by a nested entry */
	define(&m, f, 0x1000);
	define(&m, g, 0x1010);
	end_unit(&m);
	reading_of(&r, &m);
	assert_int_equal(read_code(&r), UX_OK);
	assert_string_equal(name_of(&r, 0), "(anonymous struct)::f");
	assert_true(strlen(name_of(&r, 1)) < UX_DWARF_QUALIFIED_MAX);
}

static void deep_scopes_are_named_as_far_as_they_are_read(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_Rust);
	for (int i = 0; i < UX_DWARF_SCOPES_DEEP + 10; i++)
		MAKE_DIE(&m, SPACE, T("s"));
	add_func(&m, "f", 0x1000);
	for (int i = 0; i < UX_DWARF_SCOPES_DEEP + 10; i++)
		make_null(&m);
	end_unit(&m);
	reading_of(&r, &m);
	assert_int_equal(strlen(names_in(&r)), 3 * UX_DWARF_SCOPES_DEEP + 1);
}

static void names_that_would_be_too_long_stay_short(void **state)
{
	(void)state;
	char *name = malloc(UX_DWARF_QUALIFIED_MAX);
	assert_non_null(name);
	memset(name, 'n', UX_DWARF_QUALIFIED_MAX - 1);
	for (size_t size = UX_DWARF_QUALIFIED_MAX - 4; size < UX_DWARF_QUALIFIED_MAX; size++) {
		MODULE(m, r);
		name[size] = '\0';
		begin_unit(&m, DW_LANG_C_plus_plus);
		MAKE_DIE(&m, CLASS, T(name), N(1));
		uint64_t f = declare(&m, "f");
		make_null(&m);
		define(&m, f, 0x1000);
		end_unit(&m);
		reading_of(&r, &m);
		assert_int_equal(read_code(&r), UX_OK);
		size_t whole = size + strlen("::f");
		assert_int_equal(strlen(name_of(&r, 0)),
				 whole < UX_DWARF_QUALIFIED_MAX ? whole : 1);
		name[size] = 'n';
	}
	free(name);
}

static void made_names_are_bounded_by_the_unit(void **state)
{
	(void)state;
	char name[4001];
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C_plus_plus);
	MAKE_DIE(&m, CLASS, T(name), N(1)); /* its text is not in the unit */
	uint64_t f[20];
	for (size_t i = 0; i < ux_countof(f); i++)
		f[i] = declare(&m, "f");
	make_null(&m);
	for (size_t i = 0; i < ux_countof(f); i++)
		define(&m, f[i], 0x1000 + i * 16);
	end_unit(&m);
	reading_of(&r, &m);
	assert_int_equal(read_code(&r), UX_OK);
	uint64_t max = UX_DWARF_QUALIFIED_MAX +
		       UX_DWARF_QUALIFIED_EACH * (r.ctx.unit->end - r.ctx.unit->off);
	for (size_t i = 0; i < ux_countof(f); i++)
		assert_int_equal(strlen(name_of(&r, (uint32_t)i)),
				 i < max / 4004 ? sizeof(name) - 1 + 3 : 1);
}

static void search_that_costs_too_much_leaves_names_short(void **state)
{
	(void)state;
	MODULE(m, r);
	begin_unit(&m, DW_LANG_C_plus_plus);
	MAKE_DIE(&m, SPACE, T("a"));
	uint64_t f = declare(&m, "f");
	make_null(&m);
	define(&m, f, 0x1000);
	end_unit(&m);
	reading_of(&r, &m);
	assert_string_equal(names_in(&r), "a::f");
	assert_true(r.names.scope_work > 0);
	r.names.scope_work = 0;
	assert_string_equal(names_in(&r), "f");
}

/* One unit of everything above that can be together. */
static void make_mixed(struct make_dwarf *m)
{
	begin_unit_of(m, (struct make_unit){.type = DW_UT_type, .id = 0x76}, DW_LANG_C_plus_plus);
	uint64_t type = MAKE_DIE(m, CLASS, T("T"), N(1));
	make_patch(m, UX_DWARF_INFO, m->unit_off + 20, type - m->unit_off, 4);
	make_null(m);
	end_unit(m);
	begin_unit(m, DW_LANG_C_plus_plus);
	MAKE_DIE(m, SPACE, T("a"));
	uint64_t impl = MAKE_DIE(m, STRUCT, T("I"));
	make_null(m);
	make_null(m);
	MAKE_DIE(m, STRUCT_OF, N(impl));
	uint64_t f = declare(m, "f");
	make_null(m);
	MAKE_DIE(m, BODILESS, N(0x76));
	uint64_t g = declare(m, "g");
	make_null(m);
	MAKE_DIE(m, FUNC_OF, N(f), N(0x1000), N(0x40));
	MAKE_DIE(m, CALL, N(g), N(0x1008), N(8));
	make_null(m);
	MAKE_DIE(m, STRUCT, T("<lambda()>"));
	add_func(m, "operator()", 0x2000);
	make_null(m);
	make_null(m);
	end_unit(m);
}

static void no_damage_breaks_what_is_promised_of_names(void **state)
{
	(void)state;
	ASSEMBLER(m);
	make_mixed(&m);
	struct ux_dwarf_sections s = make_dwarf_sections(&m);
	MODULE(same, r);
	assert_int_equal(reading_init(&r, s), UX_OK);
	assert_int_equal(open_unit(&r, 1), UX_OK);
	assert_string_equal(names_in(&r), "a::I::f > T::g, a::I::f::{lambda()}::operator()");
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
	make_mixed(&m);
	assert_true(each_failed_alloc(module_with_failures, &m, false) > 20);
}

UX_SUITE(dwarf_qualify)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(function_is_called_by_what_it_stands_in),
		UX_TEST(each_language_joins_names_in_its_manner),
		UX_TEST(name_of_the_language_counts_where_it_is_known),
		UX_TEST(what_has_no_name_is_called_anonymous),
		UX_TEST(linkage_names_stay_as_they_are),
		UX_TEST(declaration_tells_what_a_function_stands_in),
		UX_TEST(local_types_are_called_by_their_functions),
		UX_TEST(type_defined_elsewhere_is_called_by_where_it_was_declared),
		UX_TEST(type_of_a_type_unit_is_found_by_its_signature),
		UX_TEST(scopes_of_other_units_are_found),
		UX_TEST(scopes_of_a_supplementary_file_are_found),
		UX_TEST(inlined_calls_are_not_called_by_their_callers),
		UX_TEST(siblings_are_jumped_to_and_false_ones_are_not),
		UX_TEST(type_that_declares_itself_ends),
		UX_TEST(deep_scopes_are_named_as_far_as_they_are_read),
		UX_TEST(names_that_would_be_too_long_stay_short),
		UX_TEST(made_names_are_bounded_by_the_unit),
		UX_TEST(search_that_costs_too_much_leaves_names_short),
		UX_TEST(no_damage_breaks_what_is_promised_of_names),
		UX_TEST(each_failed_allocation_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
