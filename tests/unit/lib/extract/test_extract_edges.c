/* SPDX-License-Identifier: Apache-2.0 */
/* Odd modules as compilers, assemblers and linkers make them: docs/edge-cases.md has the list. */
#include "test_extract.h"

enum { /* abbreviation codes in addition to test_extract.h's */
	ENTRY = SEQUENCED + 1,
	WIDE_CALL, /* an inlined call whose call_file is wide */
};

/* A unit whose functions begin at 0x1100 and have a row for every 16 bytes. */
static void begin_module(struct made *m)
{
	made_init(m);
	add_abbrevs(m);
	uint64_t lines = begin_lines(m);
	ROWS(m, 0x1100, 0x10, 10, 11, 12, 13, 14, 15, 16, 17);
	make_lines_end(&m->dwarf);
	begin_unit(m, lines);
}

static void add_function(struct made *m, const char *name, uint64_t pc, uint64_t size)
{
	MAKE_DIE(&m->dwarf, FUNCTION, T(name), N(pc), N(size));
	make_null(&m->dwarf);
}

/* Edge 7. */
static void function_that_its_symbol_gives_another_size_is_dwarfs(void **state)
{
	(void)state;
	struct made m;
	begin_module(&m);
	add_function(&m, "longer", 0x1100, 0x20);
	add_function(&m, "shorter", 0x1140, 0x20);
	end_unit(&m);
	add_symbol(&m, "longer", 0x1100, 0x10, STB_GLOBAL);
	add_symbol(&m, "shorter", 0x1140, 0x30, STB_GLOBAL);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1118), "longer a.cc:11");
	assert_string_equal(at(&m, 0x1120), "-");
	assert_string_equal(at(&m, 0x1158), "shorter a.cc:15");
	assert_string_equal(at(&m, 0x1168), "shorter a.cc:16"); /* the symbol's rest */
	assert_int_equal(m.stats.counts.functions, 3);
	made_deinit(&m);
}

/* Edges 11 and 12: the number of a file is an index of the table, whatever its value. */
static void call_file_counts_as_the_versions_tables_do(void **state)
{
	(void)state;
	static const struct {
		uint16_t version;
		uint32_t file;
		const char *caller;
	} cases[] = {
		{4, 0, "outer :7"}, /* none */
		{4, 1, "outer a.cc:7"}, {4, 2, "outer b.h:7"},       {4, 3, "outer :7"},
		{5, 0, "outer a.cc:7"}, {5, 1, "outer b.h:7"},       {5, 2, "outer :7"},
		{5, 70000, "outer :7"}, {5, UINT32_MAX, "outer :7"}, {4, UINT32_MAX, "outer :7"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct made m;
		made_init(&m);
		struct make_dwarf *d = &m.dwarf;
		uint16_t version = cases[i].version;
		MAKE_ABBREV(d, WIDE_CALL, DW_TAG_inlined_subroutine, false,
			    {DW_AT_abstract_origin, DW_FORM_ref4}, {DW_AT_low_pc, DW_FORM_addr},
			    {DW_AT_high_pc, DW_FORM_data4}, {DW_AT_call_file, DW_FORM_udata},
			    {DW_AT_call_line, DW_FORM_data2});
		add_abbrevs(&m);
		uint64_t lines = make_lines_begin(d, (struct make_lines){.version = version});
		make_lines_files(d, (const char *const[]){"/src", NULL},
				 (const char *const[]){"a.cc", "b.h", NULL},
				 (const uint8_t[]){version < 5, version < 5});
		make_lines_program(d);
		ROWS(&m, 0x1100, 0x10, 7);
		make_lines_end(d);
		make_unit_begin(d, (struct make_unit){.version = version});
		MAKE_DIE(d, UNIT, T("a.cc"), T("/src"), N(lines), N(DW_LANG_C), N(0));
		uint64_t callee = MAKE_DIE(d, ABSTRACT, T("callee"));
		MAKE_DIE(d, FUNCTION, T("outer"), N(0x1100), N(0x10));
		MAKE_DIE(d, WIDE_CALL, N(callee), N(0x1100), N(8), N(cases[i].file), N(7));
		make_null(d);
		end_unit(&m);
		made_extract(&m);
		const char *caller = strstr(at(&m, 0x1104), " < ");
		assert_non_null(caller);
		assert_string_equal(caller + 3, cases[i].caller);
		made_deinit(&m);
	}
}

/* Edge 15: for `x = f(1) + f(2)` on one line, and a call in a call. */
static void calls_from_one_place_stay_two(void **state)
{
	(void)state;
	struct made m;
	begin_module(&m);
	uint64_t f = MAKE_DIE(&m.dwarf, ABSTRACT, T("f"));
	MAKE_DIE(&m.dwarf, FUNCTION, T("outer"), N(0x1100), N(0x40));
	MAKE_DIE(&m.dwarf, INLINE, N(f), N(0x1100), N(0x10), N(1), N(9));
	MAKE_DIE(&m.dwarf, INLINE, N(f), N(0x1108), N(8), N(1), N(9));
	make_null(&m.dwarf);
	make_null(&m.dwarf);
	MAKE_DIE(&m.dwarf, INLINE, N(f), N(0x1110), N(0x10), N(1), N(9));
	make_null(&m.dwarf);
	make_null(&m.dwarf);
	end_unit(&m);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1104), "f a.cc:10 < outer a.cc:9");
	assert_string_equal(at(&m, 0x1108), "f a.cc:10 < f a.cc:9 < outer a.cc:9");
	assert_string_equal(at(&m, 0x1110), "f a.cc:11 < outer a.cc:9");
	assert_int_equal(m.stats.counts.inlines, 3);
	made_deinit(&m);
}

static void add_call(struct made *m, uint64_t name, uint64_t lo, uint64_t size)
{
	MAKE_DIE(&m->dwarf, INLINE, N(name), N(lo), N(size), N(1), N(9));
	make_null(&m->dwarf);
}

/*
 * If several calls claim one address, the last one gets it, unless a function has too many calls to
 * compare each with all others: then the first keeps it.
 */
static void calls_are_compared_as_long_as_their_budget_lasts(void **state)
{
	(void)state;
	static const unsigned rivals[] = {10, 20000};
	for (size_t i = 0; i < ux_countof(rivals); i++) {
		struct made m;
		begin_module(&m);
		uint64_t first = MAKE_DIE(&m.dwarf, ABSTRACT, T("first"));
		uint64_t rival = MAKE_DIE(&m.dwarf, ABSTRACT, T("rival"));
		uint64_t last = MAKE_DIE(&m.dwarf, ABSTRACT, T("last"));
		MAKE_DIE(&m.dwarf, FUNCTION, T("outer"), N(0x1100), N(0x40));
		add_call(&m, first, 0x1104, 8);
		for (unsigned k = 0; k < rivals[i]; k++)
			add_call(&m, rival, 0x1108, 8);
		add_call(&m, last, 0x1104, 4);
		make_null(&m.dwarf);
		end_unit(&m);
		made_extract(&m);
		assert_string_equal(at(&m, 0x1104), i == 0 ? "last a.cc:10 < outer a.cc:9"
							   : "first a.cc:10 < outer a.cc:9");
		made_deinit(&m);
	}
}

/* Edge 22: a second way into a Fortran subroutine has no range of its own. */
static void second_entry_of_a_function_is_the_functions_code(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	MAKE_ABBREV(&m.dwarf, ENTRY, 0x03 /* DW_TAG_entry_point */, true,
		    {DW_AT_name, DW_FORM_string}, {DW_AT_low_pc, DW_FORM_addr});
	add_abbrevs(&m);
	uint64_t lines = begin_lines(&m);
	ROWS(&m, 0x1100, 0x10, 10, 11);
	make_lines_end(&m.dwarf);
	begin_unit(&m, lines);
	uint64_t f = MAKE_DIE(&m.dwarf, ABSTRACT, T("f"));
	MAKE_DIE(&m.dwarf, FUNCTION, T("sub"), N(0x1100), N(0x20));
	MAKE_DIE(&m.dwarf, ENTRY, T("entry"), N(0x1110));
	make_null(&m.dwarf);
	MAKE_DIE(&m.dwarf, INLINE, N(f), N(0x1118), N(8), N(1), N(9));
	make_null(&m.dwarf);
	make_null(&m.dwarf);
	end_unit(&m);
	add_symbol(&m, "sub_", 0x1100, 0x20, STB_GLOBAL);
	add_symbol(&m, "entry_", 0x1110, 0x10, STB_GLOBAL);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1110), "sub a.cc:11");
	assert_string_equal(at(&m, 0x1118), "f a.cc:11 < sub a.cc:9");
	made_deinit(&m);
}

/*
 * Functions are merged in parts by address, of a thousand or more: here of 1 KiB of the text, since
 * each function is there twice. A function that reaches into later parts also gets the bytes there
 * that no other function has.
 */
static void functions_reach_from_part_to_part(void **state)
{
	(void)state;
	enum {
		STEP = 2, /* every second byte is a function */
		PART = 1 << 10,
	};
	static const struct {
		unsigned from, to; /* of long functions: offsets in the text */
	} cases[][2] = {
		{{0, 0}, {0, 0}},
		{{PART - 10, PART + 10}, {0, 0}},
		{{PART - 11, PART - 1}, {0, 0}},
		{{2 * PART - 10, 2 * PART + 10}, {0, 0}},
		{{3 * PART - 10, 3 * PART + 10}, {0, 0}},
		{{PART - 10, PART + 10}, {2 * PART - 10, 2 * PART + 10}},
		{{PART - 10, PART + 10}, {3 * PART - 10, 3 * PART + 10}},
		{{PART - 10, 2 * PART + 10}, {2 * PART - 10, 3 * PART + 10}},
		{{1, TEXT_SIZE}, {2 * PART, 4 * PART}},
		{{0, TEXT_SIZE}, {0, 0}},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct made m;
		begin_module(&m);
		for (unsigned k = 0; k < TEXT_SIZE; k++)
			add_function(&m, "short", TEXT_AT + k / 2 * STEP, 1);
		for (size_t k = 0; k < 2; k++)
			if (cases[i][k].to > 0)
				add_function(&m, k ? "second" : "first", TEXT_AT + cases[i][k].from,
					     cases[i][k].to - cases[i][k].from);
		end_unit(&m);
		made_extract(&m);
		for (unsigned pc = 0; pc < TEXT_SIZE; pc++) {
			const char *name = pc % STEP ? "-" : "short", *have = at(&m, TEXT_AT + pc);
			for (size_t k = 0; k < 2; k++)
				if (pc % STEP && pc >= cases[i][k].from && pc < cases[i][k].to)
					name = k ? "second" : "first";
			if (strncmp(have, name, strlen(name)) != 0)
				fail_msg("case %zu, +%u: %s, expected %s", i, pc, have, name);
		}
		made_deinit(&m);
	}
}

static size_t size_with(const char *section, struct ux_bytes content, char *ret_text, size_t size)
{
	struct made m;
	begin_module(&m);
	add_function(&m, "f", 0x1100, 0x20);
	end_unit(&m);
	if (section)
		make_elf_section(&m.elf,
				 (struct make_section){.name = section, .content = content});
	made_extract(&m);
	snprintf(ret_text, size, "%s", at(&m, 0x1108));
	size_t bytes = m.gsym.size;
	made_deinit(&m);
	return bytes;
}

/* Edge 45: .debug_aranges is not read. */
static void wrong_aranges_change_nothing(void **state)
{
	(void)state;
	char plain[64], odd[64];
	size_t a = size_with(NULL, UX_BYTES_NONE, plain, sizeof(plain));
	size_t b = size_with(".debug_aranges", UX_STR("\xff\xff\xff\x7f\2\0\0\0\0\0\x08"), odd,
			     sizeof(odd));
	assert_string_equal(plain, "f a.cc:10");
	assert_string_equal(odd, plain);
	assert_int_equal(a, b);
}

/* Edges 44 and 46: a unit's own range is not read either. */
static void units_that_claim_one_range_keep_their_functions(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	MAKE_ABBREV(&m.dwarf, ENTRY, DW_TAG_compile_unit, true, {DW_AT_low_pc, DW_FORM_addr},
		    {DW_AT_high_pc, DW_FORM_data8});
	add_abbrevs(&m);
	for (int i = 0; i < 3; i++) {
		make_unit_begin(&m.dwarf, (struct make_unit){0});
		MAKE_DIE(&m.dwarf, ENTRY, N(i == 2 ? 0 : 0x1000), N(i == 2 ? 0 : 0x1000));
		add_function(&m,
			     i == 0   ? "a"
			     : i == 1 ? "b"
				      : "c",
			     0x1100 + (uint64_t)i * 0x20, 0x20);
		end_unit(&m);
	}
	made_extract(&m);
	assert_string_equal(at(&m, 0x1110), "a :0");
	assert_string_equal(at(&m, 0x1130), "b :0");
	assert_string_equal(at(&m, 0x1150), "c :0");
	made_deinit(&m);
}

/* Edge 49. */
static void smaller_function_of_one_start_has_what_it_reaches(void **state)
{
	(void)state;
	for (int order = 0; order < 2; order++) {
		struct made m;
		begin_module(&m);
		add_function(&m, order ? "large" : "small", 0x1100, order ? 0x40 : 0x10);
		add_function(&m, order ? "small" : "large", 0x1100, order ? 0x10 : 0x40);
		end_unit(&m);
		made_extract(&m);
		assert_string_equal(at(&m, 0x110f), "small a.cc:10");
		assert_string_equal(at(&m, 0x1110), "large a.cc:11");
		made_deinit(&m);
	}
}

static void add_odd(struct made *m, const char *name, uint64_t pc, uint8_t type, bool dynamic)
{
	make_elf_symbol(&m->elf, (struct make_symbol){.name = name,
						      .value = pc,
						      .section = TEXT_SECTION,
						      .type = type,
						      .bind = STB_GLOBAL,
						      .dynamic = dynamic});
}

/* Edge 64: a stub of cgo once had 1.4 MiB that were others'. */
static void dynamic_symbol_without_a_size_is_its_first_byte(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_odd(&m, "stub", 0x1100, STT_FUNC, true);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1100), "stub :0");
	assert_string_equal(at(&m, 0x1101), "-");
	assert_int_equal(m.stats.quality, UX_QUALITY_DYNSYM);
	made_deinit(&m);
}

/* Edges 65 and 77. */
static void untyped_symbols_in_code_are_functions_and_others_are_not(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_odd(&m, "entry_from_user", 0x1100, STT_NOTYPE, false);
	add_odd(&m, "thread_local", 0x1200, STT_TLS, false);
	add_odd(&m, "data", 0x1210, STT_OBJECT, false);
	add_odd(&m, "a.c", 0x1220, STT_FILE, false);
	add_odd(&m, ".text", 0x1230, STT_SECTION, false);
	make_elf_symbol(&m.elf, (struct make_symbol){.name = "absolute",
						     .value = 0x1240,
						     .reserved = SHN_ABS,
						     .type = STT_NOTYPE});
	made_extract(&m);
	assert_string_equal(at(&m, 0x1100), "entry_from_user :0");
	assert_string_equal(at(&m, 0x1250), "entry_from_user :0");
	assert_int_equal(m.stats.counts.functions, 1);
	made_deinit(&m);
}

/* Edge 66: padding belongs to no function. */
static void padding_between_functions_has_no_name(void **state)
{
	(void)state;
	struct made m;
	begin_module(&m);
	add_function(&m, "f", 0x1100, 0x0a);
	end_unit(&m);
	add_symbol(&m, "f", 0x1100, 0x0a, STB_GLOBAL);
	add_symbol(&m, "g", 0x1110, 0x0a, STB_GLOBAL);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1109), "f a.cc:10");
	assert_string_equal(at(&m, 0x110a), "-");
	assert_string_equal(at(&m, 0x1110), "g a.cc:11");
	assert_string_equal(at(&m, 0x111a), "-");
	made_deinit(&m);
}

/* Edge 54: a partial unit without a table hides nothing of the one at 0 that the next unit has. */
static void unit_without_a_table_leaves_the_next_its_lines_outside_of_functions(void **state)
{
	(void)state;
	enum {
		PARTIAL = SEQUENCED + 1
	};
	struct made m;
	made_init(&m);
	MAKE_ABBREV(&m.dwarf, PARTIAL, DW_TAG_partial_unit, false, {DW_AT_name, DW_FORM_string});
	add_abbrevs(&m);
	make_unit_begin(&m.dwarf, (struct make_unit){0});
	MAKE_DIE(&m.dwarf, PARTIAL, T("common"));
	make_unit_end(&m.dwarf);
	uint64_t lines = begin_lines(&m);
	ROWS(&m, 0x1100, 0x10, 10, 11);
	make_lines_end(&m.dwarf);
	begin_unit(&m, lines);
	end_unit(&m);
	add_symbol(&m, "assembly", 0x1110, 0x0a, STB_GLOBAL);
	made_extract(&m);
	assert_int_equal(lines, 0);
	assert_string_equal(at(&m, 0x1110), "assembly a.cc:11");
	made_deinit(&m);
}

/* Edge 47: a unit of rubbish at 0 has no section there. */
static void unit_at_zero_takes_nothing_from_others(void **state)
{
	(void)state;
	struct made m;
	begin_module(&m);
	add_function(&m, "rubbish", 0, 0x2000);
	add_function(&m, "f", 0x1100, 0x20);
	end_unit(&m);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1110), "f a.cc:11");
	assert_string_equal(at(&m, 0x1130), "-");
	assert_int_equal(m.stats.counts.functions, 1);
	made_deinit(&m);
}

UX_SUITE(extract_edges)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(function_that_its_symbol_gives_another_size_is_dwarfs),
		UX_TEST(call_file_counts_as_the_versions_tables_do),
		UX_TEST(calls_from_one_place_stay_two),
		UX_TEST(calls_are_compared_as_long_as_their_budget_lasts),
		UX_TEST(functions_reach_from_part_to_part),
		UX_TEST(second_entry_of_a_function_is_the_functions_code),
		UX_TEST(wrong_aranges_change_nothing),
		UX_TEST(units_that_claim_one_range_keep_their_functions),
		UX_TEST(smaller_function_of_one_start_has_what_it_reaches),
		UX_TEST(dynamic_symbol_without_a_size_is_its_first_byte),
		UX_TEST(untyped_symbols_in_code_are_functions_and_others_are_not),
		UX_TEST(padding_between_functions_has_no_name),
		UX_TEST(unit_without_a_table_leaves_the_next_its_lines_outside_of_functions),
		UX_TEST(unit_at_zero_takes_nothing_from_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
