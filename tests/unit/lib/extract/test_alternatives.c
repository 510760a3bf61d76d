/* SPDX-License-Identifier: Apache-2.0 */
/* lib/extract/alternatives: the other names of a range that are kept, and their form in the GSYM.
 */
#include "test_extract.h"

#include "gsym_reader.h"
#include "pack.h"

static bool alike(const char *a, const char *b)
{
	bool there = ux_names_alike(ux_bytes_cstr(a), ux_bytes_cstr(b));
	assert_int_equal(ux_names_alike(ux_bytes_cstr(b), ux_bytes_cstr(a)), there);
	return there;
}

static void names_that_say_the_same_are_alike(void **state)
{
	(void)state;
	assert_true(alike("abort", "__GI_abort"));
	assert_true(alike("write", "__write"));
	assert_true(alike("write", "_write"));
	assert_true(alike("f", "f.constprop.0"));
	assert_true(alike("f.isra.0.cold", "f.part.12"));
	assert_true(alike("f.lto_priv.3", "f"));
	assert_true(alike("_ZN1AC1Ev", "_ZN1AC2Ev"));
	assert_true(alike("_ZN1AD0Ev", "_ZN1AD2Ev"));
	assert_true(alike("_ZN4core3fmt5write17h0123456789abcdefE",
			  "_ZN4core3fmt5write17hfedcba9876543210E"));
}

static void names_that_say_something_else_are_not_alike(void **state)
{
	(void)state;
	assert_false(alike("read", "write"));
	assert_false(alike("f", "f.g")); /* Go: a package's function */
	assert_false(alike("main.f", "main.g"));
	assert_false(alike("f", "f2"));
	assert_false(alike("_ZN1AC1Ev", "_ZN1AC1Ei"));
	assert_false(alike("_ZN1AC1Ev", "_ZN1BC1Ev"));
	assert_false(alike("_Z1f1v", "_Z1f2v")); /* a digit that does not follow C or D */
	assert_false(alike("_ZN4core3fmt4read17h0123456789abcdefE",
			   "_ZN4core3fmt5write17h0123456789abcdefE"));
	assert_false(alike("_ZN1a17h0123456789abcdefE", "_ZN1a17h0123456789abcdeGE"));
	assert_false(alike(".cold", "f.cold")); /* nothing would be left */
	assert_false(alike("_", "__x"));
}

/* "a b" of the other names at pc. */
static const char *also(struct made *m, uint64_t pc)
{
	static char text[256];
	const char *names[16];
	size_t n = 0;
	text[0] = '\0';
	if (ux_gsym_alternatives(&m->reader, pc, names, 16, &n, NULL) != UX_OK)
		return "-";
	for (size_t i = 0; i < n; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s", i ? " " : "",
			 names[i]);
	return text;
}

static void extract_kept(struct made *m, unsigned version)
{
	struct ux_extract_options how = {
		.threads = 1, .alternatives = true, .gsym_version = version};
	struct ux_gsym_notes notes;
	struct ux_bytes file = made_file(m);
	assert_int_equal(
		ux_extract(file, UX_BYTES_NONE, &how, collect_gsym, &m->gsym, &m->stats, NULL),
		UX_OK);
	assert_int_equal(ux_gsym_open(&m->reader, ux_out_bytes(&m->gsym), NULL), UX_OK);
	assert_int_equal(ux_gsym_verify(&m->reader, &notes, NULL), UX_OK);
}

/* GSYM 2.4: identical range, here of symbols. */
static void aliases_of_the_whole_range_are_kept_in_the_order_of_their_rank(void **state)
{
	(void)state;
	for (unsigned version = 1; version <= 2; version++) {
		struct made m;
		made_init(&m);
		add_symbol(&m, "weak", 0x1100, 0x20, STB_WEAK);
		add_symbol(&m, "local", 0x1100, 0x20, STB_LOCAL);
		add_symbol(&m, "__GI_best", 0x1100, 0x20, STB_LOCAL);
		add_symbol(&m, "best", 0x1100, 0x20, STB_GLOBAL);
		add_symbol(&m, "short", 0x1100, 0x10, STB_GLOBAL);
		add_symbol(&m, "alone", 0x1200, 0x20, STB_GLOBAL);
		extract_kept(&m, version);
		assert_int_equal(m.reader.version, version);
		assert_string_equal(at(&m, 0x1110), "best :0");
		assert_string_equal(also(&m, 0x1110), "weak local");
		assert_string_equal(also(&m, 0x1200), "");
		assert_string_equal(also(&m, 0x1300), "-");
		assert_string_equal(also(&m, 0x10), "-");
		made_deinit(&m);
	}
}

static void short_name_of_the_function_itself_is_no_other_name(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	begin_unit(&m, 0);
	MAKE_DIE(&m.dwarf, FUNCTION, T("f"), N(0x1100), N(0x20));
	make_null(&m.dwarf);
	MAKE_DIE(&m.dwarf, FUNCTION, T("g"), N(0x1200), N(0x20));
	make_null(&m.dwarf);
	end_unit(&m);
	add_symbol(&m, "_ZL1fi", 0x1100, 0x20, STB_LOCAL);
	add_symbol(&m, "g.constprop.0", 0x1200, 0x20, STB_LOCAL);
	extract_kept(&m, 1);
	assert_string_equal(at(&m, 0x1110), "_ZL1fi :0");
	assert_string_equal(also(&m, 0x1110), "");
	assert_string_equal(at(&m, 0x1210), "g.constprop.0 :0");
	assert_string_equal(also(&m, 0x1210), "");
	made_deinit(&m);
}

/* GSYM 2.4: identical range, here of functions that the linker folded into one. */
static void folded_functions_of_dwarf_are_kept(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_abbrevs(&m);
	uint64_t lines = begin_lines(&m);
	make_set_address(&m.dwarf, 0x1100);
	make_row(&m.dwarf, 0, 9);
	make_end_sequence(&m.dwarf, 0x20);
	make_lines_end(&m.dwarf);
	static const char *const names[] = {"first", "second", "first"};
	for (size_t i = 0; i < ux_countof(names); i++) {
		begin_unit(&m, lines);
		MAKE_DIE(&m.dwarf, FUNCTION, T(names[i]), N(0x1100), N(0x20));
		make_null(&m.dwarf);
		end_unit(&m);
	}
	extract_kept(&m, 0);
	assert_string_equal(at(&m, 0x1100), "first a.cc:10");
	assert_string_equal(also(&m, 0x1100), "second");
	made_deinit(&m);
}

static void no_more_than_the_limit_are_kept_and_none_unless_requested(void **state)
{
	(void)state;
	static char names[2 * UX_ALTERNATIVES_MAX][8];
	struct made m;
	made_init(&m);
	for (unsigned i = 0; i < 2 * UX_ALTERNATIVES_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "f%02u", i);
		add_symbol(&m, names[i], 0x1100, 0x20, STB_GLOBAL);
	}
	extract_kept(&m, 0);
	assert_string_equal(at(&m, 0x1100), "f00 :0");
	assert_string_equal(also(&m, 0x1100), "f01 f02 f03 f04 f05 f06 f07 f08");
	const char *one[1];
	size_t n = 0;
	assert_int_equal(ux_gsym_alternatives(&m.reader, 0x1100, one, 1, &n, NULL), UX_OK);
	assert_int_equal(n, UX_ALTERNATIVES_MAX);
	assert_string_equal(one[0], "f01");
	made_deinit(&m);
	made_init(&m);
	add_symbol(&m, "a", 0x1100, 0x20, STB_GLOBAL);
	add_symbol(&m, "b", 0x1100, 0x20, STB_GLOBAL);
	made_extract(&m);
	assert_string_equal(also(&m, 0x1100), "");
	made_deinit(&m);
}

static void frames_stay_the_same_with_them(void **state)
{
	(void)state;
	struct made m;
	made_init(&m);
	add_symbol(&m, "a", 0x1100, 0x20, STB_GLOBAL);
	add_symbol(&m, "b", 0x1100, 0x20, STB_GLOBAL);
	struct ux_bytes file = made_file(&m);
	assert_int_equal(extract_with(&m, file, 1, NULL), UX_OK);
	size_t without = m.gsym.size;
	ux_out_reset(&m.gsym);
	struct ux_extract_options how = {.threads = 1, .alternatives = true};
	assert_int_equal(
		ux_extract(file, UX_BYTES_NONE, &how, collect_gsym, &m.gsym, &m.stats, NULL),
		UX_OK);
	/* a block, its count, the record in it and its size; the name takes the strings past 4 */
	assert_int_equal(m.gsym.size, without + 8 + 4 + 4 + 16 + 4);
	assert_int_equal(ux_gsym_open(&m.reader, ux_out_bytes(&m.gsym), NULL), UX_OK);
	assert_string_equal(at(&m, 0x1100), "a :0");
	made_deinit(&m);
}

static void ask(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	struct ux_gsym g;
	const char *names[4];
	size_t n = 0;
	if (ux_gsym_open(&g, input, NULL) != UX_OK)
		return;
	for (uint64_t pc = 0x10f0; pc < 0x1130; pc += 5) {
		struct ux_error err = UX_ERROR_INIT;
		if (ux_gsym_alternatives(&g, pc, names, 4, &n, &err) != UX_OK)
			assert_true(err.text[0] != 0);
		else
			for (size_t i = 0; i < n && i < 4; i++)
				assert_true(strlen(names[i]) < input.size);
	}
}

static void damaged_files_are_survived(void **state)
{
	(void)state;
	for (unsigned version = 1; version <= 2; version++) {
		struct made m;
		made_init(&m);
		add_symbol(&m, "a", 0x1100, 0x20, STB_GLOBAL);
		add_symbol(&m, "b", 0x1100, 0x20, STB_GLOBAL);
		add_symbol(&m, "c", 0x1100, 0x20, STB_GLOBAL);
		extract_kept(&m, version);
		each_prefix(ux_out_bytes(&m.gsym), ask, NULL);
		each_bit_flip(ux_out_bytes(&m.gsym), ask, NULL);
		each_byte_extreme(ux_out_bytes(&m.gsym), ask, NULL);
		made_deinit(&m);
	}
}

UX_SUITE(alternatives)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(names_that_say_the_same_are_alike),
		UX_TEST(names_that_say_something_else_are_not_alike),
		UX_TEST(aliases_of_the_whole_range_are_kept_in_the_order_of_their_rank),
		UX_TEST(short_name_of_the_function_itself_is_no_other_name),
		UX_TEST(folded_functions_of_dwarf_are_kept),
		UX_TEST(no_more_than_the_limit_are_kept_and_none_unless_requested),
		UX_TEST(frames_stay_the_same_with_them),
		UX_TEST(damaged_files_are_survived),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
