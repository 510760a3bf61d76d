/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols beside the functions of DWARF: which name an address has. */
#include "test_extract.h"

static void nameless_function_takes_the_symbols_name_or_is_dropped(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	begin_unit(&m, 0xffffff);
	MAKE_DIE(&m.dwarf, NAMELESS, N(0x1100), N(0x10));
	MAKE_DIE(&m.dwarf, NAMELESS, N(0x1200), N(0x10));
	end_unit(&m);
	add_symbol(&m, "known", 0x1100, 0x10, STB_GLOBAL);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1100), "known :0");
	assert_string_equal(at(&m, 0x1200), "-");
	made_deinit(&m);
}

static void symbols_fill_what_dwarf_leaves(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	uint64_t lines = begin_lines(&m);
	ROWS(&m, 0x1100, 0x10, 1, 2, 2, 4);
	make_lines_end(&m.dwarf);
	begin_unit(&m, lines);
	MAKE_DIE(&m.dwarf, FUNCTION, T("f"), N(0x1100), N(0x20));
	make_null(&m.dwarf);
	end_unit(&m);
	/* Its row began in f and reaches over it. */
	add_symbol(&m, "thunk", 0x1120, 0x20, STB_GLOBAL);
	add_symbol(&m, "around", 0x10f0, 0x100, STB_GLOBAL);
	made_extract(&m);
	assert_string_equal(at(&m, 0x10f0), "around :0");
	assert_string_equal(at(&m, 0x1110), "f a.cc:2");
	assert_string_equal(at(&m, 0x1120), "thunk a.cc:2");
	assert_string_equal(at(&m, 0x1130), "thunk a.cc:4");
	assert_string_equal(at(&m, 0x1140), "around :0");
	made_deinit(&m);
}

static void best_alias_is_chosen_whatever_the_order(void **state)
{
	(void)state;
	for (int order = 0; order < 2; order++) {
		struct made m;
		made_init(&m);
		static const struct {
			const char *name;
			uint8_t bind;
		} names[] = {{"__internal", STB_LOCAL},
			     {"weak", STB_WEAK},
			     {"__global", STB_GLOBAL},
			     {"global_two", STB_GLOBAL},
			     {"global", STB_GLOBAL}};
		for (size_t i = 0; i < ux_countof(names); i++) {
			size_t k = order ? ux_countof(names) - 1 - i : i;
			add_symbol(&m, names[k].name, 0x1100, 0x10, names[k].bind);
		}
		made_extract(&m);
		assert_string_equal(at(&m, 0x1100), "global :0");
		assert_int_equal(m.stats.counts.functions, 1);
		made_deinit(&m);
	}
}

/*
 * GNU ld points the debug information of a copy of a COMDAT function that it dropped at the one it
 * kept, where another function may be at the offset: here a thunk.
 */
static void dropped_copy_does_not_override_the_function_at_its_address(void **state)
{
	(void)state;
	for (int variant = 0; variant < 4; variant++) {
		struct made m;
		made_init(&m);
		add_abbrevs(&m);
		uint64_t lines = begin_lines(&m);
		ROWS(&m, 0x1100, 0x10, 10, 11);
		ROWS(&m, 0x1180, 0x10, 70, 71);
		make_lines_end(&m.dwarf);
		begin_unit(&m, lines);
		MAKE_DIE(&m.dwarf, FUNCTION, T("_ZN1A3getEv"), N(0x1100), N(0x20));
		make_null(&m.dwarf);
		MAKE_DIE(&m.dwarf, FUNCTION, T("_ZN1A3getEv"), N(0x1180), N(0x10));
		make_null(&m.dwarf);
		end_unit(&m);
		if (variant != 2) /* without it nothing tells where the function is */
			add_symbol(&m, "_ZN1A3getEv", 0x1100, 0x20, STB_WEAK);
		if (variant == 1) /* two symbols of that name: a function of several units */
			add_symbol(&m, "_ZN1A3getEv", 0x1180, 0x20, STB_WEAK);
		else if (variant == 3) /* a part of the function itself */
			add_symbol(&m, "_ZN1A3getEv.cold", 0x1180, 0x20, STB_LOCAL);
		else
			add_symbol(&m, "_ZThn8_N1A3getEv", 0x1180, 0x20, STB_WEAK);
		made_extract(&m);
		assert_string_equal(at(&m, 0x1110), "_ZN1A3getEv a.cc:11");
		assert_string_equal(at(&m, 0x1180),
				    variant == 0 ? "_ZThn8_N1A3getEv :0" : "_ZN1A3getEv a.cc:70");
		made_deinit(&m);
	}
}

static void entries_inside_of_a_function_have_their_own_names(void **state)
{
	(void)state;
	for (int inlined = 0; inlined < 2; inlined++) {
		struct made m;
		made_init(&m);
		add_abbrevs(&m);
		uint64_t lines = begin_lines(&m);
		ROWS(&m, 0x1100, 0x10, 10, 11, 12, 13);
		make_lines_end(&m.dwarf);
		begin_unit(&m, lines);
		uint64_t callee = MAKE_DIE(&m.dwarf, ABSTRACT, T("callee"));
		MAKE_DIE(&m.dwarf, FUNCTION, T("outer"), N(0x1100), N(0x40));
		if (inlined)
			MAKE_DIE(&m.dwarf, INLINE, N(callee), N(0x1130), N(0x8), N(2), N(77));
		if (inlined)
			make_null(&m.dwarf);
		make_null(&m.dwarf);
		end_unit(&m);
		add_symbol(&m, "outer", 0x1100, 0x40, STB_GLOBAL);
		add_symbol(&m, "entry", 0x1110, 0x10, STB_GLOBAL);
		add_symbol(&m, "local", 0x1120, 0x8, STB_LOCAL);
		made_extract(&m);
		assert_string_equal(at(&m, 0x1108), "outer a.cc:10");
		assert_string_equal(at(&m, 0x1110), inlined ? "outer a.cc:11" : "entry a.cc:11");
		assert_string_equal(at(&m, 0x111f), inlined ? "outer a.cc:11" : "entry a.cc:11");
		assert_string_equal(at(&m, 0x1120), "outer a.cc:12");
		assert_string_equal(at(&m, 0x113f), "outer a.cc:13");
		assert_int_equal(offset_at(&m, 0x1118), inlined ? 0x18 : 0x8);
		assert_int_equal(offset_at(&m, 0x1120), 0x20);
		assert_int_equal(offset_at(&m, 0x113f), 0x3f);
		made_deinit(&m);
	}
}

/* As of Linux, where objtool names the NOPs before each function. */
static void padding_has_no_line_of_the_function_before_it(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	uint64_t lines = begin_lines(&m);
	ROWS(&m, 0x1100, 0x20, 10, 20, 30);
	make_lines_end(&m.dwarf);
	begin_unit(&m, lines);
	MAKE_DIE(&m.dwarf, FUNCTION, T("f"), N(0x1100), N(0x10));
	make_null(&m.dwarf);
	MAKE_DIE(&m.dwarf, FUNCTION, T("g"), N(0x1120), N(0x10));
	make_null(&m.dwarf);
	end_unit(&m);
	add_symbol(&m, "__pfx_f", 0x10f0, 0x10, STB_GLOBAL);
	add_symbol(&m, "f", 0x1100, 0x10, STB_GLOBAL);
	add_symbol(&m, "__pfx_g", 0x1110, 0x10, STB_GLOBAL);
	add_symbol(&m, "g", 0x1120, 0x10, STB_GLOBAL);
	add_symbol(&m, "__cfi_h", 0x1130, 0x8, STB_GLOBAL);
	add_symbol(&m, "thunk", 0x1138, 0x8, STB_GLOBAL);
	made_extract(&m);
	assert_string_equal(at(&m, 0x10f8), "__pfx_f :0");
	assert_string_equal(at(&m, 0x110f), "f a.cc:10");
	assert_string_equal(at(&m, 0x1110), "__pfx_g :0");
	assert_string_equal(at(&m, 0x111f), "__pfx_g :0");
	assert_string_equal(at(&m, 0x1120), "g a.cc:20");
	assert_string_equal(at(&m, 0x1130), "__cfi_h :0");
	assert_string_equal(at(&m, 0x1138), "thunk a.cc:20");
	made_deinit(&m);
}

/* As old versions of glibc have __write_nocancel in write. */
static void offsets_after_a_symbol_inside_count_from_the_start(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	begin_unit(&m, begin_lines(&m));
	ROWS(&m, 0x1200, 0x10, 10, 11);
	make_lines_end(&m.dwarf);
	MAKE_DIE(&m.dwarf, FUNCTION, T("compiled"), N(0x1150), N(0x10));
	make_null(&m.dwarf);
	end_unit(&m);
	add_symbol(&m, "outer", 0x1100, 0x80, STB_GLOBAL);
	add_symbol(&m, "middle", 0x1110, 0x20, STB_GLOBAL);
	add_symbol(&m, "inner", 0x1118, 0x8, STB_GLOBAL);
	add_symbol(&m, "start", 0x11f8, 0x20, STB_GLOBAL);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1120), "middle :0");
	assert_int_equal(offset_at(&m, 0x1118), 0);
	assert_int_equal(offset_at(&m, 0x1120), 0x10);
	assert_string_equal(at(&m, 0x1130), "outer :0");
	assert_int_equal(offset_at(&m, 0x1130), 0x30);
	assert_string_equal(at(&m, 0x1158), "compiled :0");
	assert_int_equal(offset_at(&m, 0x1158), 0x8);
	assert_string_equal(at(&m, 0x1160), "outer :0");
	assert_int_equal(offset_at(&m, 0x117f), 0x7f);
	assert_string_equal(at(&m, 0x1210), "start a.cc:11");
	assert_int_equal(offset_at(&m, 0x1210), 0x18);
	made_deinit(&m);
}

/* Each entry covers the rest of the function, and would get all of its rows again. */
static void entries_get_names_as_long_as_their_rows_last(void **state)
{
	(void)state;
	enum {
		SIZE = 0x1000
	};
	static uint32_t lines[SIZE];
	for (uint32_t i = 0; i < SIZE; i++)
		lines[i] = 1 + i % 100;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	uint64_t table = begin_lines(&m);
	add_rows(&m, TEXT_AT, 1, lines, SIZE);
	make_lines_end(&m.dwarf);
	begin_unit(&m, table);
	MAKE_DIE(&m.dwarf, FUNCTION, T("outer"), N(TEXT_AT), N(SIZE));
	make_null(&m.dwarf);
	end_unit(&m);
	add_symbol(&m, "outer", TEXT_AT, SIZE, STB_GLOBAL);
	for (uint32_t i = 1; i < SIZE; i++)
		add_symbol(&m, "entry", TEXT_AT + i, SIZE - i, STB_GLOBAL);
	made_extract(&m);
	assert_string_equal(at(&m, TEXT_AT), "outer a.cc:1");
	assert_string_equal(at(&m, TEXT_AT + 1), "entry a.cc:2");
	assert_string_equal(at(&m, TEXT_AT + SIZE - 1), "entry a.cc:96");
	/* 4,095 entries would have eight million rows. */
	assert_true(m.stats.counts.functions < SIZE / 2);
	made_deinit(&m);
}

static void symbols_without_a_size_reach_to_the_next_or_the_sections_end(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_symbol(&m, "entry", 0x1100, 0, STB_GLOBAL);
	add_symbol(&m, "next", 0x1180, 0x20, STB_GLOBAL);
	add_symbol(&m, "label_inside", 0x1190, 0, STB_LOCAL);
	add_symbol(&m, "last", 0x1f00, 0, STB_GLOBAL);
	make_elf_symbol(&m.elf, (struct make_symbol){.name = "untyped",
						     .value = 0x1300,
						     .section = TEXT_SECTION,
						     .type = STT_NOTYPE});
	make_elf_symbol(&m.elf, (struct make_symbol){.name = "$x",
						     .value = 0x1400,
						     .section = TEXT_SECTION,
						     .type = STT_OBJECT});
	made_extract(&m);
	assert_string_equal(at(&m, 0x117f), "entry :0");
	assert_string_equal(at(&m, 0x1190), "next :0");
	assert_string_equal(at(&m, 0x11a0), "-");
	assert_string_equal(at(&m, 0x1400), "untyped :0");
	assert_string_equal(at(&m, TEXT_AT + TEXT_SIZE - 1), "last :0");
	assert_string_equal(at(&m, TEXT_AT + TEXT_SIZE), "-");
	made_deinit(&m);
}

static void versions_are_no_part_of_a_name(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_symbol(&m, "memcpy@@GLIBC_2.14", 0x1100, 0x10, STB_GLOBAL);
	add_symbol(&m, "@odd", 0x1200, 0x10, STB_GLOBAL);
	add_symbol(&m, "..@620.done", 0x1300, 0x10, STB_LOCAL); /* NASM's form of local names */
	add_symbol(&m, "..@7.next@V1", 0x1400, 0x10, STB_LOCAL);
	add_symbol(&m, "...", 0x1500, 0x10, STB_LOCAL);
	add_symbol(&m, "f@libf.so.1", 0x1600, 0x10, STB_GLOBAL);
	add_symbol(&m, "*A(T)@B(T)#f<T>:Nil", 0x1700, 0x10, STB_GLOBAL); /* as Crystal does */
	add_symbol(&m, "~proc@/lib/a.cr:1", 0x1800, 0x10, STB_GLOBAL);
	add_symbol(&m, "tail@", 0x1900, 0x10, STB_GLOBAL);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1600), "f :0");
	assert_string_equal(at(&m, 0x1700), "*A(T)@B(T)#f<T>:Nil :0");
	assert_string_equal(at(&m, 0x1800), "~proc@/lib/a.cr:1 :0");
	assert_string_equal(at(&m, 0x1900), "tail :0");
	assert_string_equal(at(&m, 0x1300), "..@620.done :0");
	assert_string_equal(at(&m, 0x1400), "..@7.next :0");
	assert_string_equal(at(&m, 0x1500), "... :0");
	assert_string_equal(at(&m, 0x1100), "memcpy :0");
	assert_string_equal(at(&m, 0x1200), "@odd :0");
	made_deinit(&m);
}

/* GHC's DWARF functions end where the first block of a procedure does; its symbol goes on. */
static void symbol_longer_than_its_function_has_lines_behind_it(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	uint64_t lines = begin_lines(&m);
	ROWS(&m, 0x1100, 0x10, 10, 11, 12);
	make_lines_end(&m.dwarf);
	begin_unit(&m, lines);
	MAKE_DIE(&m.dwarf, FUNCTION, T("f"), N(0x1100), N(0x10));
	make_null(&m.dwarf);
	end_unit(&m);
	add_symbol(&m, "f", 0x1100, 0x40, STB_GLOBAL);
	made_extract(&m);
	assert_string_equal(at(&m, 0x110f), "f a.cc:10");
	assert_string_equal(at(&m, 0x1110), "f a.cc:11");
	assert_string_equal(at(&m, 0x112f), "f a.cc:12");
	assert_string_equal(at(&m, 0x1130), "f :0");
	made_deinit(&m);
}

/* _init is begun by crti.o and ended by crtn.o, with padding between. */
static void symbol_of_several_units_has_the_lines_of_each(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	for (int unit = 0; unit < 2; unit++) {
		uint64_t lines = begin_lines(&m);
		ROWS(&m, unit ? 0x1110u : 0x1100u, 4, 10 + unit);
		ROWS(&m, unit ? 0x1118u : 0x1108u, 4, 20 + unit);
		make_lines_end(&m.dwarf);
		begin_unit(&m, lines);
		end_unit(&m);
	}
	add_symbol(&m, "_init", 0x1100, 0x20, STB_GLOBAL);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1100), "_init a.cc:10");
	assert_string_equal(at(&m, 0x1104), "_init :0");
	assert_string_equal(at(&m, 0x1108), "_init a.cc:20");
	assert_string_equal(at(&m, 0x110c), "_init :0");
	assert_string_equal(at(&m, 0x1110), "_init a.cc:11");
	assert_string_equal(at(&m, 0x1114), "_init :0");
	assert_string_equal(at(&m, 0x1118), "_init a.cc:21");
	assert_string_equal(at(&m, 0x111f), "_init :0");
	made_deinit(&m);
}

UX_SUITE(extract_symbols)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(nameless_function_takes_the_symbols_name_or_is_dropped),
		UX_TEST(symbols_fill_what_dwarf_leaves),
		UX_TEST(best_alias_is_chosen_whatever_the_order),
		UX_TEST(dropped_copy_does_not_override_the_function_at_its_address),
		UX_TEST(entries_inside_of_a_function_have_their_own_names),
		UX_TEST(padding_has_no_line_of_the_function_before_it),
		UX_TEST(offsets_after_a_symbol_inside_count_from_the_start),
		UX_TEST(entries_get_names_as_long_as_their_rows_last),
		UX_TEST(symbols_without_a_size_reach_to_the_next_or_the_sections_end),
		UX_TEST(versions_are_no_part_of_a_name),
		UX_TEST(symbol_longer_than_its_function_has_lines_behind_it),
		UX_TEST(symbol_of_several_units_has_the_lines_of_each),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
