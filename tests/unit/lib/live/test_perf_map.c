/* SPDX-License-Identifier: Apache-2.0 */
/* lib/jit: perf maps. */
#include "sweep.h"

#include "jit.h"

static struct ux_perf_map read_map(const char *text)
{
	struct ux_perf_map m;
	size_t used = 0;
	ux_perf_map_init(&m);
	struct ux_bytes bytes = guard(ux_bytes_cstr(text));
	assert_int_equal(ux_perf_map_feed(&m, bytes, &used, NULL), UX_OK);
	assert_int_equal(used, bytes.size);
	guard_free(bytes);
	return m;
}

static void assert_frame(const struct ux_perf_map *m, uint64_t addr, const char *function,
			 const char *dir, const char *base, uint32_t line)
{
	struct ux_frame f;
	assert_true(ux_perf_map_lookup(m, addr, &f, NULL));
	assert_string_equal(f.function, function);
	assert_string_equal(f.dir, dir);
	assert_string_equal(f.base, base);
	assert_int_equal(f.line, line);
	assert_false(f.inlined);
}

/* One line's function at its start. */
static void assert_line(const char *line, uint64_t addr, const char *function)
{
	struct ux_perf_map m = read_map(line);
	assert_int_equal(m.skipped, 0);
	assert_frame(&m, addr, function, "", "", 0);
	ux_perf_map_deinit(&m);
}

static void each_runtimes_line_is_read(void **state)
{
	(void)state;
	assert_line("0x00007f60f0eca920 0x00000000000000d8 int T.f(int)\n", 0x7f60f0eca920,
		    "int T.f(int)");
	assert_line("0x7fd4b9a22000 68 $global::apply_fun_shared\n", 0x7fd4b9a22067,
		    "$global::apply_fun_shared");
	assert_line("00007F60F0ECA920 0D8 void [Asm] Ns.Type::M(int32)[Tier0]\n", 0x7f60f0eca9f7,
		    "void [Asm] Ns.Type::M(int32)[Tier0]");
	assert_line(" \t7f00 \t10 \t Lpkg/Cls;::m->n\r\n", 0x7f00, "Lpkg/Cls;::m->n");
	assert_line("7f00 10 JIT$Cls::fn\n", 0x7f0f, "JIT$Cls::fn");
	assert_line("7f00 10 JS:broken\n", 0x7f0f, "JS:broken");
	assert_line("7f00 10 Builtin:ArrayMap\n", 0x7f0f, "Builtin:ArrayMap");
	assert_line("7f00 10 py::\n", 0x7f0f, "py::");
	assert_line("7f00 10 JS:~ :1:1\n", 0x7f0f, "JS:~ :1:1");
}

static void file_and_line_are_taken_out_of_the_name(void **state)
{
	(void)state;
	struct ux_perf_map m = read_map("1000 10 JS:*hot /path/t.js:12:13\n"
					"2000 10 JS:~get x /a b/c d.js:7:1\n"
					"3000 10 JS:^realm node:internal/bootstrap/realm:3:1\n"
					"4000 10 LazyCompile:~f evalmachine.<anonymous>:5:6\n"
					"5000 c py::K.meth:/tmp/t.py\n"
					"6000 c py::_find:<frozen importlib._bootstrap>\n"
					"7000 40 TRACE_3::/srv/x.lua:99\n"
					"8000 40 JS:+ /t.js:1:1\n"
					"9000 40 JS:*f file:///w/m.mjs:2:3\n"
					"a000 40 LazyCompile:*hot /w/with blank.js:2\n");
	assert_frame(&m, 0x1008, "JS:*hot", "/path", "t.js", 12);
	assert_frame(&m, 0x2000, "JS:~get x", "/a b", "c d.js", 7);
	assert_frame(&m, 0x3000, "JS:^realm", "node:internal/bootstrap", "realm", 3);
	assert_frame(&m, 0x4000, "LazyCompile:~f", "", "evalmachine.<anonymous>", 5);
	assert_frame(&m, 0x5000, "py::K.meth", "/tmp", "t.py", 0);
	assert_frame(&m, 0x6000, "py::_find", "", "<frozen importlib._bootstrap>", 0);
	assert_frame(&m, 0x7000, "TRACE_3", "/srv", "x.lua", 99);
	assert_frame(&m, 0x8000, "JS:+", "/", "t.js", 1);
	assert_frame(&m, 0x9000, "JS:*f", "file:///w", "m.mjs", 2);
	assert_frame(&m, 0xa000, "LazyCompile:*hot", "/w", "with blank.js", 2);
	ux_perf_map_deinit(&m);
}

static void lines_that_make_no_sense_are_counted_and_passed(void **state)
{
	(void)state;
	struct ux_perf_map m = read_map("\n"
					"1000 10 good\n"
					"2000 0 no size\n"
					"3000 10\n"
					"3000 10 \n"
					"xyz 10 a\n"
					"4000 -1 a\n"
					"00000000000000001 10 seventeen digits\n"
					"ffffffffffffffff 2 past the end\n"
					"0x 10 a\n"
					"5000 10 last\n");
	struct ux_frame f;
	assert_int_equal(m.skipped, 8);
	assert_int_equal(m.entries.size, 2);
	assert_frame(&m, 0x100f, "good", "", "", 0);
	assert_frame(&m, 0x5000, "last", "", "", 0);
	assert_false(ux_perf_map_lookup(&m, 0x1010, &f, NULL));
	assert_false(ux_perf_map_lookup(&m, 0x2000, &f, NULL));
	ux_perf_map_deinit(&m);

	static const char nul[] = "1000 10 a\0b\n2000 10 c\n";
	size_t used = 0;
	ux_perf_map_init(&m);
	assert_int_equal(ux_perf_map_feed(&m, ux_bytes(nul, sizeof(nul) - 1), &used, NULL), UX_OK);
	assert_int_equal(m.skipped, 1);
	assert_frame(&m, 0x2000, "c", "", "", 0);
	ux_perf_map_deinit(&m);
}

static void names_come_out_printable(void **state)
{
	(void)state;
	assert_line("1000 10 a\x1b[31mb\x7f\n", 0x1000, "a\xef\xbf\xbd[31mb\xef\xbf\xbd");
	assert_line("1000 10 h\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80\n", 0x1000,
		    "h\xc3\xa9 \xe4\xb8\xad \xf0\x9f\x98\x80");
	assert_line("1000 10 \xc2\x85 \xed\xa0\x80 \xc3\n", 0x1000,
		    "\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd \xef\xbf\xbd");
}

static void very_long_names_are_cut(void **state)
{
	(void)state;
	static char line[100000];
	memset(line, 'x', sizeof(line) - 2);
	memcpy(line, "1000 10 ", 8);
	line[sizeof(line) - 2] = '\n';
	struct ux_perf_map m = read_map(line);
	struct ux_frame f;
	assert_true(ux_perf_map_lookup(&m, 0x1000, &f, NULL));
	assert_int_equal(strlen(f.function), UX_JIT_NAME_MAX);
	ux_perf_map_deinit(&m);
}

static void the_last_line_that_has_an_address_wins(void **state)
{
	(void)state;
	struct ux_perf_map m = read_map("1000 100 old\n"
					"1040 20 young\n"
					"10f0 20 tail\n");
	assert_frame(&m, 0x103f, "old", "", "", 0);
	assert_frame(&m, 0x1040, "young", "", "", 0);
	assert_frame(&m, 0x105f, "young", "", "", 0);
	assert_frame(&m, 0x1060, "old", "", "", 0);
	assert_frame(&m, 0x10f0, "tail", "", "", 0);
	assert_frame(&m, 0x110f, "tail", "", "", 0);
	ux_perf_map_deinit(&m);
}

static void an_unfinished_line_waits_for_its_end(void **state)
{
	(void)state;
	static const char text[] = "1000 10 first\n2000 10 sec";
	static const char rest[] = "2000 10 second\n";
	struct ux_perf_map m;
	struct ux_frame f;
	size_t used = 0;
	ux_perf_map_init(&m);
	assert_int_equal(ux_perf_map_feed(&m, ux_bytes_cstr(text), &used, NULL), UX_OK);
	assert_int_equal(used, strlen("1000 10 first\n"));
	assert_false(ux_perf_map_lookup(&m, 0x2000, &f, NULL));
	assert_int_equal(ux_perf_map_feed(&m, ux_bytes_cstr(rest), &used, NULL), UX_OK);
	assert_int_equal(used, strlen(rest));
	assert_frame(&m, 0x1000, "first", "", "", 0);
	assert_frame(&m, 0x2000, "second", "", "", 0);
	ux_perf_map_deinit(&m);
}

/* 40 functions that stand 0x100 apart, and their sizes as a text. */
static struct ux_perf_map neighbours(const char *size)
{
	static char text[4096];
	size_t n = 0;
	for (unsigned i = 0; i < 40; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%x %s f%u\n",
				      0x10000 + i * 0x100, size, i);
	return read_map(text);
}

static void sizes_that_only_make_sense_as_decimal_are_decimal(void **state)
{
	(void)state;
	struct ux_frame f;
	struct ux_perf_map m = neighbours("200");
	assert_true(m.decimal);
	assert_frame(&m, 0x10000 + 199, "f0", "", "", 0);
	assert_false(ux_perf_map_lookup(&m, 0x10000 + 200, &f, NULL));

	size_t used = 0; /* a later letter decides */
	assert_int_equal(ux_perf_map_feed(&m, UX_STR("90000 1f a\n"), &used, NULL), UX_OK);
	assert_false(m.decimal);
	assert_frame(&m, 0x90010, "a", "", "", 0);
	assert_frame(&m, 0x10000 + 200, "f0", "", "", 0);
	ux_perf_map_deinit(&m);

	m = neighbours("90"); /* only digits, but they fit */
	assert_false(m.decimal);
	assert_frame(&m, 0x1008f, "f0", "", "", 0);
	ux_perf_map_deinit(&m);
}

static void read_whatever(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	struct ux_perf_map m;
	struct ux_frame f;
	size_t used = 0;
	ux_perf_map_init(&m);
	assert_int_equal(ux_perf_map_feed(&m, input, &used, NULL), UX_OK);
	assert_true(used <= input.size);
	if (ux_perf_map_lookup(&m, 0x1004, &f, NULL))
		assert_non_null(f.function);
	ux_perf_map_deinit(&m);
}

static const char good_text[] = "1000 10 JS:*hot /path/t.js:12:13\n0x1004 0x8 py::f:/x.py\n";

static void damaged_maps_are_read_as_far_as_they_go(void **state)
{
	(void)state;
	struct ux_bytes good = ux_bytes_cstr(good_text);
	each_prefix(good, read_whatever, NULL);
	each_bit_flip(good, read_whatever, NULL);
	each_byte_extreme(good, read_whatever, NULL);
}

static enum ux_code feed_twice(void *ctx)
{
	(void)ctx;
	struct ux_perf_map m;
	size_t used = 0;
	ux_perf_map_init(&m);
	enum ux_code code = ux_perf_map_feed(&m, ux_bytes_cstr(good_text), &used, NULL);
	if (code == UX_OK)
		code = ux_perf_map_feed(&m, UX_STR("2000 10 more\n"), &used, NULL);
	if (code == UX_OK)
		assert_frame(&m, 0x2000, "more", "", "", 0);
	ux_perf_map_deinit(&m);
	return code;
}

static void without_memory_it_fails_cleanly(void **state)
{
	(void)state;
	assert_true(each_failed_alloc(feed_twice, NULL, /* may_recover= */ true) > 5);
}

UX_SUITE(perf_map)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(each_runtimes_line_is_read),
		UX_TEST(file_and_line_are_taken_out_of_the_name),
		UX_TEST(lines_that_make_no_sense_are_counted_and_passed),
		UX_TEST(names_come_out_printable),
		UX_TEST(very_long_names_are_cut),
		UX_TEST(the_last_line_that_has_an_address_wins),
		UX_TEST(an_unfinished_line_waits_for_its_end),
		UX_TEST(sizes_that_only_make_sense_as_decimal_are_decimal),
		UX_TEST(damaged_maps_are_read_as_far_as_they_go),
		UX_TEST(without_memory_it_fails_cleanly),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
