/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of DWARF with their lines and inlined calls, and which one has the code that several
 * claim. */
#include "test_extract.h"

static void functions_lines_and_inlined_calls_are_found(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	uint64_t lines = begin_lines(&m);
	ROWS(&m, 0x1100, 0x10, 10, 11, 12, 13);
	make_lines_end(&m.dwarf);
	begin_unit(&m, lines);
	uint64_t callee = MAKE_DIE(&m.dwarf, ABSTRACT, T("callee"));
	MAKE_DIE(&m.dwarf, FUNCTION, T("outer"), N(0x1100), N(0x40));
	MAKE_DIE(&m.dwarf, INLINE, N(callee), N(0x1110), N(0x20), N(2), N(77));
	make_null(&m.dwarf);
	make_null(&m.dwarf);
	end_unit(&m);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1100), "outer a.cc:10");
	assert_string_equal(at(&m, 0x1110), "callee a.cc:11 < outer b.h:77");
	assert_string_equal(at(&m, 0x112f), "callee a.cc:12 < outer b.h:77");
	assert_string_equal(at(&m, 0x1130), "outer a.cc:13");
	assert_string_equal(at(&m, 0x1140), "-");
	assert_int_equal(m.stats.quality, UX_QUALITY_INLINES);
	assert_int_equal(m.stats.counts.inlines, 1);
	assert_int_equal(m.reader.base, 0x400);
	made_deinit(&m);
}

static void split_function_has_a_record_for_each_range(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	uint64_t lines = begin_lines(&m);
	ROWS(&m, 0x1100, 0x10, 5, 6);
	ROWS(&m, 0x1800, 0x8, 90, 91);
	make_lines_end(&m.dwarf);
	uint64_t list = make_rle(&m.dwarf, DW_RLE_start_end, 0x1100, 0x1120);
	make_rle(&m.dwarf, DW_RLE_start_end, 0x1800, 0x1810);
	make_rle(&m.dwarf, DW_RLE_end_of_list, 0, 0);
	begin_unit(&m, lines);
	MAKE_DIE(&m.dwarf, SPLIT, T("hot"), N(list));
	make_null(&m.dwarf);
	end_unit(&m);
	add_symbol(&m, "hot", 0x1100, 0x20, STB_GLOBAL);
	add_symbol(&m, "hot.cold", 0x1800, 0x10, STB_LOCAL);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1100), "hot a.cc:5");
	assert_string_equal(at(&m, 0x1808), "hot a.cc:91"); /* DWARF's name, not hot.cold */
	assert_int_equal(m.stats.counts.functions, 2);
	made_deinit(&m);
}

/* Edge 31: `second` was folded with another function, whose rows come first. */
static void function_with_a_sequence_of_its_own_has_the_lines_of_that(void **state)
{
	(void)state;
	static const uint64_t none = UINT32_MAX; /* producers' value for "no sequence" */
	for (int own = 0; own < 2; own++) {
		struct made m;
		made_init(&m);
		add_abbrevs(&m);
		uint64_t lines = begin_lines(&m);
		ROWS(&m, 0x1100, 0x10, 10, 11);
		uint64_t off = make_off(&m.dwarf, UX_DWARF_LINE);
		ROWS(&m, 0x1100, 0x10, 70, 71);
		make_lines_end(&m.dwarf);
		begin_unit(&m, lines);
		MAKE_DIE(&m.dwarf, SEQUENCED, T("second"), N(0x1100), N(0x20), N(own ? off : none));
		end_unit(&m);
		made_extract(&m);
		assert_string_equal(at(&m, 0x1100), own ? "second a.cc:70" : "second a.cc:10");
		assert_string_equal(at(&m, 0x111f), own ? "second a.cc:71" : "second a.cc:11");
		made_deinit(&m);
	}
}

static void tail_of_an_outer_function_stays_findable(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	uint64_t lines = begin_lines(&m);
	ROWS(&m, 0x1100, 0x10, 1, 2, 3, 4);
	make_lines_end(&m.dwarf);
	begin_unit(&m, lines);
	MAKE_DIE(&m.dwarf, FUNCTION, T("outer"), N(0x1100), N(0x40));
	make_null(&m.dwarf);
	MAKE_DIE(&m.dwarf, FUNCTION, T("nested"), N(0x1110), N(0x10));
	make_null(&m.dwarf);
	end_unit(&m);
	made_extract(&m);
	assert_string_equal(at(&m, 0x110f), "outer a.cc:1");
	assert_string_equal(at(&m, 0x1110), "nested a.cc:2");
	assert_string_equal(at(&m, 0x1120), "outer a.cc:3");
	assert_string_equal(at(&m, 0x113f), "outer a.cc:4");
	assert_int_equal(m.stats.counts.functions, 3);
	made_deinit(&m);
}

static void partly_overlapping_functions_share_at_the_later_start(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	begin_unit(&m, 0xffffff); /* no table there: a damaged one costs lines, not names */
	MAKE_DIE(&m.dwarf, FUNCTION, T("first"), N(0x1100), N(0x40));
	make_null(&m.dwarf);
	MAKE_DIE(&m.dwarf, FUNCTION, T("second"), N(0x1120), N(0x40));
	make_null(&m.dwarf);
	MAKE_DIE(&m.dwarf, FUNCTION, T("short"), N(0x1200), N(0x10));
	make_null(&m.dwarf);
	MAKE_DIE(&m.dwarf, FUNCTION, T("long"), N(0x1200), N(0x20));
	make_null(&m.dwarf);
	end_unit(&m);
	made_extract(&m);
	assert_string_equal(at(&m, 0x111f), "first :0");
	assert_string_equal(at(&m, 0x1120), "second :0");
	assert_string_equal(at(&m, 0x115f), "second :0");
	assert_string_equal(at(&m, 0x1200), "short :0");
	assert_string_equal(at(&m, 0x1210), "long :0");
	assert_int_equal(m.stats.bad_units, 1);
	assert_int_equal(m.stats.quality, UX_QUALITY_SYMTAB);
	made_deinit(&m);
}

static void function_that_passes_the_end_of_what_it_began_in_keeps_its_rest(void **state)
{
	(void)state;
	struct made m;
	struct ux_gsym_notes notes;
	made_init(&m);
	add_abbrevs(&m);
	begin_unit(&m, 0xffffff);
	MAKE_DIE(&m.dwarf, FUNCTION, T("outer"), N(0x1100), N(0x100));
	make_null(&m.dwarf);
	MAKE_DIE(&m.dwarf, FUNCTION, T("first"), N(0x1120), N(0x10));
	make_null(&m.dwarf);
	MAKE_DIE(&m.dwarf, FUNCTION, T("second"), N(0x1124), N(0x10));
	make_null(&m.dwarf);
	end_unit(&m);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1123), "first :0");
	assert_string_equal(at(&m, 0x1133), "second :0");
	assert_string_equal(at(&m, 0x1134), "outer :0");
	assert_int_equal(ux_gsym_verify(&m.reader, &notes, NULL), UX_OK);
	assert_int_equal(notes.count[UX_GSYM_NOTE_OVERLAP], 0);
	made_deinit(&m);
}

static void first_unit_of_a_range_stays(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	uint64_t lines = begin_lines(&m);
	ROWS(&m, 0x1100, 0x10, 1);
	make_lines_end(&m.dwarf);
	begin_unit(&m, lines);
	MAKE_DIE(&m.dwarf, FUNCTION, T("kept"), N(0x1100), N(0x10));
	make_null(&m.dwarf);
	end_unit(&m);
	begin_unit(&m, lines);
	uint64_t callee = MAKE_DIE(&m.dwarf, ABSTRACT, T("callee"));
	MAKE_DIE(&m.dwarf, FUNCTION, T("dropped"), N(0x1100), N(0x10));
	MAKE_DIE(&m.dwarf, INLINE, N(callee), N(0x1100), N(0x10), N(1), N(7));
	make_null(&m.dwarf);
	make_null(&m.dwarf);
	end_unit(&m);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1100), "kept a.cc:1");
	/* Unreferenced text is not stored. */
	struct ux_bytes strings = m.reader.strings;
	assert_null(memmem(strings.data, strings.size, "dropped", 7));
	assert_null(memmem(strings.data, strings.size, "callee", 6));
	made_deinit(&m);
}

static void inlined_call_outside_its_parent_is_clipped(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	begin_unit(&m, 0xffffff);
	uint64_t callee = MAKE_DIE(&m.dwarf, ABSTRACT, T("callee"));
	uint64_t leaf = MAKE_DIE(&m.dwarf, ABSTRACT, T("leaf"));
	MAKE_DIE(&m.dwarf, FUNCTION, T("f"), N(0x1100), N(0x40));
	MAKE_DIE(&m.dwarf, INLINE, N(callee), N(0x10f0), N(0x30), N(0), N(7));
	MAKE_DIE(&m.dwarf, INLINE, N(leaf), N(0x1118), N(0x100), N(0), N(8));
	make_null(&m.dwarf);
	make_null(&m.dwarf);
	MAKE_DIE(&m.dwarf, INLINE, N(leaf), N(0x1300), N(0x10), N(0), N(9)); /* wholly outside */
	make_null(&m.dwarf);
	make_null(&m.dwarf);
	end_unit(&m);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1100), "callee :0 < f :7");
	assert_string_equal(at(&m, 0x1118), "leaf :0 < callee :8 < f :7");
	assert_string_equal(at(&m, 0x1120), "f :0");
	assert_string_equal(at(&m, 0x1300), "-");
	assert_int_equal(m.stats.counts.inlines, 2);
	made_deinit(&m);
}

static void later_sibling_has_what_both_claim(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	begin_unit(&m, 0xffffff);
	uint64_t one = MAKE_DIE(&m.dwarf, ABSTRACT, T("one"));
	uint64_t deep = MAKE_DIE(&m.dwarf, ABSTRACT, T("deep"));
	uint64_t two = MAKE_DIE(&m.dwarf, ABSTRACT, T("two"));
	MAKE_DIE(&m.dwarf, FUNCTION, T("f"), N(0x1100), N(0x40));
	MAKE_DIE(&m.dwarf, INLINE, N(one), N(0x1100), N(0x30), N(0), N(1));
	MAKE_DIE(&m.dwarf, INLINE, N(deep), N(0x1108), N(0x20), N(0), N(2));
	make_null(&m.dwarf);
	make_null(&m.dwarf);
	MAKE_DIE(&m.dwarf, INLINE, N(two), N(0x1110), N(0x10), N(0), N(3));
	make_null(&m.dwarf);
	make_null(&m.dwarf);
	end_unit(&m);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1108), "deep :0 < one :2 < f :1");
	assert_string_equal(at(&m, 0x1110), "two :0 < f :3");
	assert_string_equal(at(&m, 0x1120), "deep :0 < one :2 < f :1");
	assert_string_equal(at(&m, 0x1128), "one :0 < f :1");
	made_deinit(&m);
}

enum {
	SIBLINGS = 24,
	SHARED = 0x60 /* bytes of code that they share */
};

/* Siblings in no order; none to many of them overlap; the oracle is one number for each byte. */
static void siblings_in_any_order_share_as_the_last_one_says(void **state)
{
	(void)state;
	uint32_t dice = 1;
	for (unsigned round = 0; round < 120; round++) {
		struct made m;
		unsigned owner[SHARED] = {0};
		made_init(&m);
		add_abbrevs(&m);
		begin_unit(&m, 0xffffff);
		uint64_t callee = MAKE_DIE(&m.dwarf, ABSTRACT, T("callee"));
		MAKE_DIE(&m.dwarf, FUNCTION, T("f"), N(0x1100), N(SHARED));
		for (unsigned i = 1; i <= 1 + round % SIBLINGS; i++) {
			dice = dice * 1103515245 + 12345;
			unsigned lo = (dice >> 8) % SHARED,
				 size = 1 + (dice >> 20) % (round / SIBLINGS % 2 ? 80 : 12);
			size = ux_min(size, SHARED - lo);
			MAKE_DIE(&m.dwarf, INLINE, N(callee), N(0x1100 + lo), N(size), N(0), N(i));
			make_null(&m.dwarf);
			for (unsigned b = 0; b < size; b++)
				owner[lo + b] = i;
		}
		make_null(&m.dwarf);
		end_unit(&m);
		made_extract(&m);
		for (unsigned b = 0; b < SHARED; b++) {
			char want[32];
			snprintf(want, sizeof(want), "%sf :%u", owner[b] ? "callee :0 < " : "",
				 owner[b]);
			assert_string_equal(at(&m, 0x1100 + b), want);
		}
		made_deinit(&m);
	}
}

static void inlined_call_without_ranges_has_those_of_its_children(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	begin_unit(&m, 0xffffff);
	uint64_t outer = MAKE_DIE(&m.dwarf, ABSTRACT, T("outer"));
	uint64_t inner = MAKE_DIE(&m.dwarf, ABSTRACT, T("inner"));
	MAKE_DIE(&m.dwarf, FUNCTION, T("f"), N(0x1100), N(0x40));
	MAKE_DIE(&m.dwarf, BLOCK, N(outer), N(0), N(5));
	MAKE_DIE(&m.dwarf, INLINE, N(inner), N(0x1110), N(0x10), N(0), N(6));
	make_null(&m.dwarf);
	make_null(&m.dwarf);
	make_null(&m.dwarf);
	end_unit(&m);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1110), "inner :0 < outer :6 < f :5");
	assert_string_equal(at(&m, 0x1120), "f :0");
	made_deinit(&m);
}

static void gap_in_the_line_table_has_neither_file_nor_line(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	uint64_t lines = begin_lines(&m);
	ROWS(&m, 0x1110, 0x10, 11);
	ROWS(&m, 0x1130, 0x8, 13);
	make_lines_end(&m.dwarf);
	begin_unit(&m, lines);
	MAKE_DIE(&m.dwarf, FUNCTION, T("f"), N(0x1100), N(0x40));
	make_null(&m.dwarf);
	end_unit(&m);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1100), "f :0");
	assert_string_equal(at(&m, 0x1110), "f a.cc:11");
	assert_string_equal(at(&m, 0x1120), "f :0");
	assert_string_equal(at(&m, 0x1130), "f a.cc:13");
	assert_string_equal(at(&m, 0x1138), "f :0");
	made_deinit(&m);
}

UX_SUITE(extract_functions)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(functions_lines_and_inlined_calls_are_found),
		UX_TEST(split_function_has_a_record_for_each_range),
		UX_TEST(function_with_a_sequence_of_its_own_has_the_lines_of_that),
		UX_TEST(tail_of_an_outer_function_stays_findable),
		UX_TEST(partly_overlapping_functions_share_at_the_later_start),
		UX_TEST(function_that_passes_the_end_of_what_it_began_in_keeps_its_rest),
		UX_TEST(first_unit_of_a_range_stays),
		UX_TEST(inlined_call_outside_its_parent_is_clipped),
		UX_TEST(later_sibling_has_what_both_claim),
		UX_TEST(siblings_in_any_order_share_as_the_last_one_says),
		UX_TEST(inlined_call_without_ranges_has_those_of_its_children),
		UX_TEST(gap_in_the_line_table_has_neither_file_nor_line),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
