/* SPDX-License-Identifier: Apache-2.0 */
/* Where variables are declared. */
#include "test_dwarf.h"

#include "dwarf_code.h"

enum { /* abbreviation codes */
	UNIT = 1,
	VARIABLE,   /* location, file, line */
	CONSTANT,   /* location; file and line in the abbreviation */
	OLD,        /* location as a block, line alone */
	BARE,       /* location alone */
	DEFINITION, /* specification anywhere, location */
	DECLARED,   /* file, line */
	LISTED,     /* location as a list */
	SPACE,      /* a namespace */
	FUNC,
	CLASS,
};

enum {
	FILE_OF = 3, /* the file that entries name */
	LINE_OF = 77,
};

static void make_abbrevs(struct make_dwarf *m)
{
	MAKE_ABBREV(m, UNIT, DW_TAG_compile_unit, true, {DW_AT_addr_base, DW_FORM_sec_offset});
	MAKE_ABBREV(m, VARIABLE, DW_TAG_variable, false, {DW_AT_name, DW_FORM_string},
		    {DW_AT_decl_file, DW_FORM_data1}, {DW_AT_decl_line, DW_FORM_data2},
		    {DW_AT_location, DW_FORM_exprloc});
	MAKE_ABBREV(m, CONSTANT, DW_TAG_variable, true,
		    {DW_AT_decl_file, DW_FORM_implicit_const, FILE_OF},
		    {DW_AT_decl_line, DW_FORM_implicit_const, LINE_OF},
		    {DW_AT_location, DW_FORM_exprloc});
	MAKE_ABBREV(m, OLD, DW_TAG_variable, false, {DW_AT_decl_line, DW_FORM_udata},
		    {DW_AT_location, DW_FORM_block1});
	MAKE_ABBREV(m, BARE, DW_TAG_variable, false, {DW_AT_location, DW_FORM_exprloc});
	MAKE_ABBREV(m, DEFINITION, DW_TAG_variable, false, {DW_AT_specification, DW_FORM_ref_addr},
		    {DW_AT_location, DW_FORM_exprloc});
	MAKE_ABBREV(m, DECLARED, DW_TAG_variable, false, {DW_AT_decl_file, DW_FORM_data1},
		    {DW_AT_decl_line, DW_FORM_data2});
	MAKE_ABBREV(m, LISTED, DW_TAG_variable, false, {DW_AT_location, DW_FORM_sec_offset});
	MAKE_ABBREV(m, SPACE, DW_TAG_namespace, true, {DW_AT_name, DW_FORM_string});
	MAKE_ABBREV(m, FUNC, DW_TAG_subprogram, true, {DW_AT_name, DW_FORM_string});
	MAKE_ABBREV(m, CLASS, DW_TAG_class_type, true, {DW_AT_name, DW_FORM_string});
	make_table_end(m);
}

/* DW_OP_addr 0x1000 and the like, of a little-endian file with addresses of 8 bytes. */
#define AT(address_byte) B("\x03\x00" address_byte "\0\0\0\0\0\0")

static void begin(struct make_dwarf *m)
{
	make_dwarf_init(m, false);
	make_abbrevs(m);
	make_unit_begin(m, (struct make_unit){0});
	MAKE_DIE(m, UNIT, N(0));
}

/* Queries the first unit; *ret_unit is the number of the variable's unit, or -1. */
static enum ux_code ask(const struct make_dwarf *m, size_t number, uint64_t pc,
			struct ux_dwarf_declared *ret, int *ret_unit)
{
	struct ux_dwarf_sections s = make_dwarf_sections(m);
	ux_cleanup(ux_dwarf_units_free) struct ux_dwarf_units units = {0};
	struct ux_dwarf_context ctx;
	assert_int_equal(ux_dwarf_units_parse(&s, &units, NULL), UX_OK);
	assert_int_equal(ux_dwarf_context_open(&s, &units.list[number], NULL, &ctx, NULL), UX_OK);
	enum ux_code code = ux_dwarf_variable_find(&ctx, &units, pc, ret, NULL);
	*ret_unit = code == UX_OK && ret->unit ? (int)(ret->unit - units.list) : -1;
	return code;
}

static void expect(const struct make_dwarf *m, size_t number, uint64_t pc, uint64_t file,
		   uint64_t line, int unit)
{
	struct ux_dwarf_declared got;
	int in = -1;
	assert_int_equal(ask(m, number, pc, &got, &in), UX_OK);
	assert_int_equal(got.line, line);
	assert_int_equal(in, unit);
	if (unit >= 0)
		assert_int_equal(got.file, file);
}

static void expect_none(const struct make_dwarf *m, uint64_t pc)
{
	struct ux_dwarf_declared got;
	int in = -1;
	assert_int_equal(ask(m, 0, pc, &got, &in), UX_ENOTFOUND);
}

static void a_variable_is_found_wherever_code_may_stand(void **state)
{
	(void)state;
	ux_cleanup(make_dwarf_deinit) struct make_dwarf m;
	begin(&m);
	MAKE_DIE(&m, VARIABLE, T("a"), N(1), N(10), AT("\x10"));
	MAKE_DIE(&m, SPACE, T("n"));
	MAKE_DIE(&m, FUNC, T("f"));
	MAKE_DIE(&m, CONSTANT, AT("\x20"));
	make_null(&m);
	make_null(&m);
	make_null(&m);
	MAKE_DIE(&m, CLASS, T("c"));
	MAKE_DIE(&m, VARIABLE, T("no"), N(1), N(99), AT("\x30"));
	make_null(&m);
	MAKE_DIE(&m, OLD, N(12), AT("\x40"));
	make_null(&m);
	make_unit_end(&m);
	expect(&m, 0, 0x1000, 1, 10, 0);
	expect(&m, 0, 0x2000, FILE_OF, LINE_OF, 0);
	expect(&m, 0, 0x4000, 0, 12, -1);
	expect_none(&m, 0x1001);
	expect_none(&m, 0x3000); /* in a class */
}

static void what_a_definition_leaves_out_its_declaration_says(void **state)
{
	(void)state;
	ux_cleanup(make_dwarf_deinit) struct make_dwarf m;
	begin(&m);
	size_t declared = MAKE_DIE(&m, DECLARED, N(5), N(50));
	make_null(&m);
	make_unit_end(&m);
	make_unit_begin(&m, (struct make_unit){0});
	MAKE_DIE(&m, UNIT, N(0));
	MAKE_DIE(&m, DEFINITION, N(declared), AT("\x10"));
	MAKE_DIE(&m, DEFINITION, N(0xffffff), AT("\x20"));
	size_t self = make_off(&m, UX_DWARF_INFO);
	MAKE_DIE(&m, DEFINITION, N(self), AT("\x30"));
	make_null(&m);
	make_unit_end(&m);
	expect(&m, 1, 0x1000, 5, 50, 0);
	expect(&m, 1, 0x2000, 0, 0, -1); /* the reference leads nowhere */
	expect(&m, 1, 0x3000, 0, 0, -1); /* and this one refers to itself */
}

static void only_what_is_at_a_fixed_place_counts(void **state)
{
	(void)state;
	ux_cleanup(make_dwarf_deinit) struct make_dwarf m;
	begin(&m);
	MAKE_DIE(&m, BARE, B("\x03\x00\x10\0\0\0\0\0\0\xe0"));     /* a thread's own */
	MAKE_DIE(&m, BARE, B("\x03\x00\x20\0\0\0\0\0\0\x23\x04")); /* 4 bytes into another */
	MAKE_DIE(&m, BARE, B("\x03\x00"));                         /* cut */
	MAKE_DIE(&m, BARE, B(""));
	MAKE_DIE(&m, BARE, B("\x91\x7c")); /* on the stack */
	MAKE_DIE(&m, BARE, B("\xa1\x09")); /* in a table that does not exist */
	MAKE_DIE(&m, LISTED, N(0));
	make_null(&m);
	make_unit_end(&m);
	expect_none(&m, 0x1000);
	expect_none(&m, 0x2000);
	expect(&m, 0, 0x2004, 0, 0, -1);
	expect_none(&m, 0);
}

static void find_in_changed(struct ux_bytes info, void *ctx)
{
	struct ux_dwarf_sections s = make_dwarf_sections(ctx);
	ux_cleanup(ux_dwarf_units_free) struct ux_dwarf_units units = {0};
	s.data[UX_DWARF_INFO] = info;
	assert_int_equal(ux_dwarf_units_parse(&s, &units, NULL), UX_OK);
	for (size_t i = 0; i < units.count; i++) {
		struct ux_dwarf_context c;
		struct ux_dwarf_declared got;
		enum ux_code code = ux_dwarf_context_open(&s, &units.list[i], NULL, &c, NULL);
		if (code == UX_OK)
			code = ux_dwarf_variable_find(&c, &units, 0x3000, &got, NULL);
		assert_true(code == UX_OK || code == UX_ENOTFOUND || code == UX_ECORRUPT ||
			    code == UX_EUNSUPPORTED);
	}
}

static void damage_is_bounded(void **state)
{
	(void)state;
	ux_cleanup(make_dwarf_deinit) struct make_dwarf m;
	begin(&m);
	size_t declared = MAKE_DIE(&m, DECLARED, N(5), N(50));
	MAKE_DIE(&m, SPACE, T("n"));
	MAKE_DIE(&m, VARIABLE, T("a"), N(1), N(10), AT("\x10"));
	make_null(&m);
	MAKE_DIE(&m, DEFINITION, N(declared), AT("\x30"));
	make_null(&m);
	make_unit_end(&m);
	struct ux_bytes info = make_dwarf_sections(&m).data[UX_DWARF_INFO];
	each_prefix(info, find_in_changed, &m);
	each_bit_flip(info, find_in_changed, &m);
	each_byte_extreme(info, find_in_changed, &m);
}

UX_SUITE(dwarf_variable)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_variable_is_found_wherever_code_may_stand),
		UX_TEST(what_a_definition_leaves_out_its_declaration_says),
		UX_TEST(only_what_is_at_a_fixed_place_counts),
		UX_TEST(damage_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
