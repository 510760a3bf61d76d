/* SPDX-License-Identifier: Apache-2.0 */
/* lib/symbolize as a whole: the frames at an address of a made module. */
#include "test_extract.h"

static void rows(struct made *m, uint64_t from, const uint32_t *lines, size_t n, uint64_t step)
{
	make_set_address(&m->dwarf, from);
	int64_t line = 1;
	for (size_t i = 0; i < n; i++) {
		make_row(&m->dwarf, i ? step : 0, (int64_t)lines[i] - line);
		line = lines[i];
	}
	make_end_sequence(&m->dwarf, step);
}
#define ROWS(m, from, step, ...)                           \
	rows((m), (from), (const uint32_t[]){__VA_ARGS__}, \
	     sizeof((const uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (step))

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

/* Names of dropped functions, of files without rows and of symbols that others outdo are not kept.
 */
static void text_that_nothing_refers_to_is_not_stored(void **state)
{
	(void)state;
	struct made m;
	struct ux_gsym_notes notes;
	static const char *const absent[] = {"dropped", "declared", "_alias_of_it", "b.h", "/usr"};
	made_init(&m);
	add_abbrevs(&m);
	uint64_t lines = begin_lines(&m);
	ROWS(&m, 0x1100, 0x10, 10, 10, 11, 12);
	make_lines_end(&m.dwarf);
	begin_unit(&m, lines);
	MAKE_DIE(&m.dwarf, ABSTRACT, T("declared"));
	MAKE_DIE(&m.dwarf, FUNCTION, T("kept"), N(0x1100), N(0x40));
	make_null(&m.dwarf);
	MAKE_DIE(&m.dwarf, FUNCTION, T("dropped"), N(0), N(0x40));
	make_null(&m.dwarf);
	end_unit(&m);
	add_symbol(&m, "kept", 0x1100, 0x40, STB_GLOBAL);
	add_symbol(&m, "_alias_of_it", 0x1100, 0x40, STB_LOCAL);
	made_extract(&m);
	assert_string_equal(at(&m, 0x1120), "kept a.cc:11");
	struct ux_bytes bytes = ux_out_bytes(&m.gsym);
	for (size_t i = 0; i < ux_countof(absent); i++)
		assert_null(memmem(bytes.data, bytes.size, absent[i], strlen(absent[i])));
	assert_int_equal(ux_gsym_verify(&m.reader, &notes, NULL), UX_OK);
	assert_int_equal(notes.count[UX_GSYM_NOTE_UNUSED_STRING], 0);
	assert_int_equal(notes.count[UX_GSYM_NOTE_SHADOWED_ROW], 0);
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

static void segments_of_a_relocatable_file_are_no_code(void **state)
{
	(void)state;
	struct made m;
	struct ux_error err = UX_ERROR_INIT;
	made_init(&m);
	m.elf.type = ET_REL;
	m.elf.sections.data[TEXT_SECTION].flags = 0;
	add_symbol(&m, "f", 0x1100, 16, STB_GLOBAL);
	assert_int_equal(extract_with(&m, made_file(&m), 1, &err), UX_ENOTFOUND);
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
	rows(&m, TEXT_AT, lines, SIZE, 1);
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

static void big_endian_32_bit_module_is_read(void **state)
{
	(void)state;
	struct made m;
	made_init_as(&m, 32, true);
	add_abbrevs(&m);
	uint64_t lines = begin_lines(&m);
	make_extended(&m.dwarf, DW_LNE_set_address, UX_STR("\0\0\x11\0"));
	make_row(&m.dwarf, 0, 41);
	make_end_sequence(&m.dwarf, 0x10);
	make_lines_end(&m.dwarf);
	make_unit_begin(&m.dwarf, (struct make_unit){.addr_size = 4});
	MAKE_DIE(&m.dwarf, UNIT, T("a.cc"), T("/src"), N(lines), N(DW_LANG_C_plus_plus_14), N(0));
	MAKE_DIE(&m.dwarf, FUNCTION, T("f"), N(0x1100), N(0x10));
	make_null(&m.dwarf);
	end_unit(&m);
	made_extract(&m);
	assert_memory_equal(m.gsym.data, "GSYM", 4);
	assert_string_equal(at(&m, 0x1108), "f a.cc:42");
	made_deinit(&m);
}

/* Several units with functions, inlined calls and symbols: enough to give every thread some. */
static void make_many(struct made *m)
{
	static char names[40][16];
	made_init(m);
	add_abbrevs(m);
	for (uint64_t u = 0; u < 40; u++) {
		uint64_t from = 0x1100 + u * 0x20;
		uint64_t lines = begin_lines(m);
		ROWS(m, from, 8, (uint32_t)u + 1, (uint32_t)u + 9, 3);
		make_lines_end(&m->dwarf);
		snprintf(names[u], sizeof(names[u]), "function_%d", (int)u);
		begin_unit(m, lines);
		uint64_t callee = MAKE_DIE(&m->dwarf, ABSTRACT, T(names[39 - u]));
		MAKE_DIE(&m->dwarf, FUNCTION, T(names[u]), N(from), N(0x18));
		MAKE_DIE(&m->dwarf, INLINE, N(callee), N(from + 8), N(8), N(u % 3), N(u + 100));
		make_null(&m->dwarf);
		make_null(&m->dwarf);
		end_unit(m);
		add_symbol(m, names[u], from + 0x18, 8, STB_LOCAL);
	}
}

static void bytes_do_not_depend_on_the_number_of_threads(void **state)
{
	(void)state;
	struct made m;
	make_many(&m);
	struct ux_bytes file = made_file(&m);
	assert_int_equal(extract_with(&m, file, 1, NULL), UX_OK);
	size_t size = 0;
	uint8_t *one = ux_out_steal(&m.gsym, &size);
	for (unsigned threads = 2; threads <= 8; threads *= 2) {
		assert_int_equal(extract_with(&m, file, threads, NULL), UX_OK);
		assert_int_equal(m.gsym.size, size);
		assert_memory_equal(m.gsym.data, one, size);
	}
	struct ux_spill spill = {.folder = "/tmp"};
	struct ux_extract_options options = {.threads = 2, .memory = 1, .spill = &spill};
	ux_out_reset(&m.gsym);
	assert_int_equal(
		ux_extract(file, UX_BYTES_NONE, &options, collect_gsym, &m.gsym, &m.stats, NULL),
		UX_OK);
	assert_memory_equal(m.gsym.data, one, size);
	free(one);
	made_deinit(&m);
}

static void nothing_to_tell_is_an_error_that_says_so(void **state)
{
	(void)state;
	struct made m;
	struct ux_error err = UX_ERROR_INIT;
	made_init(&m);
	assert_int_equal(extract_with(&m, made_file(&m), 1, &err), UX_ENOTFOUND);
	assert_string_equal(err.text,
			    "no symbols: expected DWARF, .symtab, .dynsym or Go's tables with "
			    "functions, or .eh_frame");
	assert_int_equal(m.gsym.size, 0);
	made_deinit(&m);
}

static void debug_file_of_another_build_is_refused_unless_allowed(void **state)
{
	(void)state;
	struct made exe, debug;
	struct ux_error err = UX_ERROR_INIT;
	made_init(&exe);
	make_elf_note(&exe.elf, ".note.gnu.build-id", "GNU", 3, UX_STR("aaaaaaaaaaaaaaaaaaaa"));
	made_init(&debug);
	make_elf_note(&debug.elf, ".note.gnu.build-id", "GNU", 3, UX_STR("bbbbbbbbbbbbbbbbbbbb"));
	add_symbol(&debug, "f", 0x1100, 0x10, STB_GLOBAL);
	struct ux_bytes exe_file = made_file(&exe), debug_file = made_file(&debug);
	struct ux_extract_options options = {.threads = 1};
	assert_int_equal(ux_extract(exe_file, debug_file, &options, collect_gsym, &exe.gsym,
				    &exe.stats, &err),
			 UX_ECONFLICT);
	assert_non_null(strstr(err.text, "build IDs differ: debug file gnu:6262"));
	options.allow_mismatch = true;
	assert_int_equal(ux_extract(exe_file, debug_file, &options, collect_gsym, &exe.gsym,
				    &exe.stats, NULL),
			 UX_OK);
	assert_int_equal(ux_gsym_open(&exe.reader, ux_out_bytes(&exe.gsym), NULL), UX_OK);
	assert_memory_equal(exe.reader.uuid.data, "aaaaaaaaaaaaaaaaaaaa", 20); /* exe's identity */
	made_deinit(&exe);
	made_deinit(&debug);
}

/* Functions on one range, as many rows below them, and calls inlined into each. */
static void thousands_of_functions_on_one_range_do_not_copy_its_rows_each_time(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	uint64_t lines = begin_lines(&m);
	make_set_address(&m.dwarf, 0x1100);
	for (int i = 0; i < 2000; i++)
		make_row(&m.dwarf, i > 0, i % 2 ? 1 : -1);
	make_end_sequence(&m.dwarf, 1);
	make_lines_end(&m.dwarf);
	begin_unit(&m, lines);
	for (int i = 0; i < 5000; i++) {
		MAKE_DIE(&m.dwarf, FUNCTION, T("f"), N(0x1100), N(2000));
		make_null(&m.dwarf);
	}
	end_unit(&m);
	made_extract(&m);
	assert_int_equal(m.stats.counts.functions, 1);
	assert_int_equal(m.stats.bad_units, 1);
	assert_int_equal(m.stats.first_bad.code, UX_ELIMIT);
	made_deinit(&m);
}

static void names_that_are_ends_of_one_text_do_not_add_up_for_ever(void **state)
{
	(void)state;
	enum {
		LONG = 1 << 20,
		SYMBOLS = 2000
	};
	struct made m;
	made_init(&m);
	char *text = malloc(LONG + 1);
	assert_non_null(text);
	memset(text, 'n', LONG);
	text[LONG] = '\0';
	add_abbrevs(&m);
	make_unit_begin(&m.dwarf, (struct make_unit){0});
	MAKE_DIE(&m.dwarf, UNIT, T("a.cc"), T("/src"), N(0xffffff), N(DW_LANG_C_plus_plus_14),
		 N(0));
	size_t off = make_text(&m.dwarf, UX_DWARF_STR, text);
	for (uint64_t i = 0; i < SYMBOLS; i++) {
		MAKE_DIE(&m.dwarf, LONG_NAMED, N(off + i), N(0x1100 + i), N(1));
	}
	make_null(&m.dwarf);
	make_unit_end(&m.dwarf);
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(extract_with(&m, made_file(&m), 1, &err), UX_ELIMIT);
	assert_non_null(strstr(err.text, "names and paths exceed"));
	free(text);
	made_deinit(&m);
}

/* Outcomes that are allowed for a damaged module: a GSYM that opens and verifies, or a clean error.
 */
static void extract_damaged(struct ux_bytes input, void *ctx)
{
	struct made *m = ctx;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = extract_with(m, input, 1, &err);
	if (code != UX_OK) {
		assert_int_not_equal(err.code, UX_OK);
		return;
	}
	struct ux_gsym g;
	assert_int_equal(ux_gsym_open(&g, ux_out_bytes(&m->gsym), NULL), UX_OK);
	struct ux_frame frames[16];
	size_t n = 0;
	for (uint64_t pc = TEXT_AT; pc < TEXT_AT + 0x200; pc += 8)
		(void)!ux_gsym_lookup(&g, pc, frames, 16, &n, NULL);
}

static void damaged_modules_give_clean_answers(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	uint64_t lines = begin_lines(&m);
	ROWS(&m, 0x1100, 0x10, 10, 11, 12);
	make_lines_end(&m.dwarf);
	uint64_t list = make_rle(&m.dwarf, DW_RLE_start_end, 0x1200, 0x1220);
	make_rle(&m.dwarf, DW_RLE_end_of_list, 0, 0);
	begin_unit(&m, lines);
	uint64_t callee = MAKE_DIE(&m.dwarf, ABSTRACT, T("callee"));
	MAKE_DIE(&m.dwarf, FUNCTION, T("outer"), N(0x1100), N(0x40));
	MAKE_DIE(&m.dwarf, INLINE, N(callee), N(0x1110), N(0x20), N(2), N(77));
	make_null(&m.dwarf);
	make_null(&m.dwarf);
	MAKE_DIE(&m.dwarf, SPLIT, T("split"), N(list));
	make_null(&m.dwarf);
	end_unit(&m);
	add_symbol(&m, "thunk", 0x1140, 0x10, STB_GLOBAL);
	struct ux_bytes file = made_file(&m);
	struct made scratch = {0};
	extract_damaged(file, &scratch);
	each_prefix(file, extract_damaged, &scratch);
	each_bit_flip(file, extract_damaged, &scratch);
	each_byte_extreme(file, extract_damaged, &scratch);
	ux_out_deinit(&scratch.gsym);
	made_deinit(&m);
}

struct again {
	struct made m;
	struct ux_bytes file;
};

static enum ux_code extract_again(void *ctx)
{
	struct again *a = ctx;
	struct ux_error err = UX_ERROR_INIT;
	ux_out_deinit(&a->m.gsym);
	return extract_with(&a->m, a->file, 1, &err);
}

static void each_failed_allocation_is_reported(void **state)
{
	(void)state;
	struct again a;
	make_many(&a.m);
	a.file = made_file(&a.m);
	assert_true(each_failed_alloc(extract_again, &a, /* may_recover= */ false) > 50);
	made_deinit(&a.m);
}

UX_SUITE(extract)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(functions_lines_and_inlined_calls_are_found),
		UX_TEST(text_that_nothing_refers_to_is_not_stored),
		UX_TEST(split_function_has_a_record_for_each_range),
		UX_TEST(function_with_a_sequence_of_its_own_has_the_lines_of_that),
		UX_TEST(tail_of_an_outer_function_stays_findable),
		UX_TEST(partly_overlapping_functions_share_at_the_later_start),
		UX_TEST(function_that_passes_the_end_of_what_it_began_in_keeps_its_rest),
		UX_TEST(first_unit_of_a_range_stays),
		UX_TEST(segments_of_a_relocatable_file_are_no_code),
		UX_TEST(inlined_call_outside_its_parent_is_clipped),
		UX_TEST(later_sibling_has_what_both_claim),
		UX_TEST(siblings_in_any_order_share_as_the_last_one_says),
		UX_TEST(inlined_call_without_ranges_has_those_of_its_children),
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
		UX_TEST(gap_in_the_line_table_has_neither_file_nor_line),
		UX_TEST(symbol_longer_than_its_function_has_lines_behind_it),
		UX_TEST(symbol_of_several_units_has_the_lines_of_each),
		UX_TEST(big_endian_32_bit_module_is_read),
		UX_TEST(bytes_do_not_depend_on_the_number_of_threads),
		UX_TEST(nothing_to_tell_is_an_error_that_says_so),
		UX_TEST(debug_file_of_another_build_is_refused_unless_allowed),
		UX_TEST(thousands_of_functions_on_one_range_do_not_copy_its_rows_each_time),
		UX_TEST(names_that_are_ends_of_one_text_do_not_add_up_for_ever),
		UX_TEST(damaged_modules_give_clean_answers),
		UX_TEST(each_failed_allocation_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
