/* SPDX-License-Identifier: Apache-2.0 */
/* cli/options/options.c. */
#include "sweep.h"

#include "debug_file.h"
#include "options.h"
#include "output.h"

struct values {
	bool flag;
	bool other;
	const char *text;
	unsigned count;
	uint64_t bytes;
	char *list;
	char *dirs;
};

static const struct ux_option options[] = {
	{"flag", 'f', UX_OPTION_FLAG, offsetof(struct values, flag), NULL, "a flag"},
	{"other", 'o', UX_OPTION_FLAG, offsetof(struct values, other), NULL, "another"},
	{"text", 't', UX_OPTION_TEXT, offsetof(struct values, text), "TEXT", "a text"},
	{"list", 0, UX_OPTION_LIST, offsetof(struct values, list), "DIR", "several"},
	{"dirs", 0, UX_OPTION_DIRS, offsetof(struct values, dirs), "DIR", "folders"},
	{"count", 0, UX_OPTION_COUNT, offsetof(struct values, count), "N", "a number"},
	{"a-name-that-leaves-no-room", 0, UX_OPTION_BYTES, offsetof(struct values, bytes), "SIZE",
	 "bytes"},
};

static const struct ux_command command = {
	.name = "test",
	.usage = "FILE...\n--text TEXT",
	.line = "tests",
	.text = "A paragraph.",
	.options = options,
	.n_options = ux_countof(options),
};

/* One command line, run through the parser. */
struct parsed {
	struct values values;
	struct ux_args args;
	bool ok;
	int status;
};

/* The operands point into one static vector, so they live until the next call. */
static struct parsed parse_words(const char *const *words)
{
	static char *argv[12];
	struct parsed p = {.status = -1};
	int argc = 1;
	for (; words[argc - 1]; argc++)
		argv[argc] = (char *)(uintptr_t)words[argc - 1];
	p.ok = ux_options_parse(&command, argc, argv, &p.values, &p.args, &p.status);
	return p;
}

#define PARSE(...) parse_words((const char *const[]){__VA_ARGS__, NULL})

static void a_list_has_all_that_were_given(void **state)
{
	(void)state;
	struct parsed p = PARSE("--list", "a", "-f", "--list=b:c", "--list", "");
	assert_true(p.ok);
	assert_string_equal(p.values.list, "a:b:c:");
	free(p.values.list);
	p = PARSE("--list=");
	assert_true(p.ok);
	assert_string_equal(p.values.list, "");
	free(p.values.list);
}

static void folders_come_before_the_default_unless_one_is_empty(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{"/usr:/", "/usr:/:" UX_DEBUG_DIRS_DEFAULT},
		{"/nosuch", "/nosuch:" UX_DEBUG_DIRS_DEFAULT},
		{UX_DEBUG_DIRS_DEFAULT ":/usr", UX_DEBUG_DIRS_DEFAULT ":/usr"},
		{":/usr", ":/usr"},
		{"", ""},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct parsed p = PARSE("--dirs", cases[i][0]);
		assert_true(p.ok);
		assert_string_equal(p.values.dirs, cases[i][1]);
		free(p.values.dirs);
	}
	struct parsed p = PARSE("-f");
	assert_true(p.ok);
	assert_null(p.values.dirs);
}

static void options_and_operands_mix(void **state)
{
	(void)state;
	struct parsed p = PARSE("a", "-f", "b", "--text", "x", "-", "--count=7", "c");
	assert_true(p.ok);
	assert_true(p.values.flag);
	assert_false(p.values.other);
	assert_string_equal(p.values.text, "x");
	assert_int_equal(p.values.count, 7);
	assert_int_equal(p.args.n, 4);
	assert_string_equal(p.args.items[0], "a");
	assert_string_equal(p.args.items[1], "b");
	assert_string_equal(p.args.items[2], "-");
	assert_string_equal(p.args.items[3], "c");
}

static void two_dashes_end_the_options(void **state)
{
	(void)state;
	struct parsed p = PARSE("-f", "--", "-o", "--text", "--");
	assert_true(p.ok && p.values.flag);
	assert_false(p.values.other);
	assert_int_equal(p.args.n, 3);
	assert_string_equal(p.args.items[2], "--");
}

static void short_options_come_in_one_word(void **state)
{
	(void)state;
	struct parsed p = PARSE("-fotword", "x");
	assert_true(p.ok && p.values.flag && p.values.other);
	assert_string_equal(p.values.text, "word");
	assert_int_equal(p.args.n, 1);
	p = PARSE("-t", "-f");
	assert_true(p.ok);
	assert_string_equal(p.values.text, "-f");
	assert_false(p.values.flag);
}

static void the_last_of_two_alike_wins(void **state)
{
	(void)state;
	struct parsed p = PARSE("--text=a", "-tb", "--text", "");
	assert_true(p.ok);
	assert_string_equal(p.values.text, "");
}

static void sizes_have_units(void **state)
{
	(void)state;
	assert_int_equal(PARSE("--a-name-that-leaves-no-room=7").values.bytes, 7);
	assert_int_equal(PARSE("--a-name-that-leaves-no-room=7K").values.bytes, 7 << 10);
	assert_int_equal(PARSE("--a-name-that-leaves-no-room=100m").values.bytes, 100 << 20);
	assert_int_equal(PARSE("--a-name-that-leaves-no-room=2G").values.bytes, 2ull << 30);
}

static void senseless_command_lines_are_usage_errors(void **state)
{
	(void)state;
	static const char *const lines[][3] = {
		{"--nope"},
		{"-n"},
		{"-fn"},
		{"--"
		 "a-name-that-is-longer-than-any-option-and-does-not-fit-anywhere-at-all"},
		{"--flag=yes"},
		{"--text"},
		{"-t"},
		{"--count", "0"},
		{"--count", "-1"},
		{"--count", "4294967297"},
		{"--count=x"},
		{"--count="},
		{"--a-name-that-leaves-no-room", "K"},
		{"--a-name-that-leaves-no-room", "1T"},
		{"--a-name-that-leaves-no-room", "99999999999G"},
		{"--tex", "prefixes are no names"},
		{"--=x"},
	};
	for (size_t i = 0; i < ux_countof(lines); i++) {
		struct parsed p = parse_words(lines[i]);
		assert_false(p.ok);
		assert_int_equal(p.status, UX_EXIT_USAGE);
	}
}

static void help_is_printed_from_the_table(void **state)
{
	(void)state;
	char *text = NULL;
	size_t size = 0;
	FILE *to = open_memstream(&text, &size);
	assert_non_null(to);
	ux_command_help(&command, to);
	assert_int_equal(fclose(to), 0);
	assert_string_equal(text, "Usage: unhex test FILE...\n"
				  "       unhex test --text TEXT\n"
				  "\n"
				  "A paragraph.\n"
				  "\n"
				  "Options:\n"
				  "  -f, --flag              a flag\n"
				  "  -o, --other             another\n"
				  "  -t, --text TEXT         a text\n"
				  "      --list DIR          several\n"
				  "      --dirs DIR          folders\n"
				  "      --count N           a number\n"
				  "      --a-name-that-leaves-no-room SIZE\n"
				  "                          bytes\n"
				  "  -h, --help              print this help\n");
	free(text);
}

static void text_for_terminals_is_escaped(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	ux_text(&out, UX_STR("a\x1b[31m\n\x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xff\xc0\x80"
			     "\xc2\x9b\xe2\x80\xae\xed\xa0\x80\xe2\x82"));
	ux_out_u8(&out, 0);
	assert_string_equal(
		(char *)out.data,
		"a\\x1b[31m\\x0a\\x7f\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\\xff\\xc0\\x80"
		"\\xc2\\x9b\\xe2\\x80\\xae\\xed\\xa0\\x80\\xe2\\x82");
}

static void sizes_are_rounded_for_people(void **state)
{
	(void)state;
	static const struct {
		uint64_t bytes;
		const char *text;
	} cases[] = {
		{0, "0 bytes"},          {1023, "1023 bytes"},           {1024, "1.0 KiB"},
		{1536 << 10, "1.5 MiB"}, {UINT64_MAX, "16777216.0 TiB"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		ux_cleanup(ux_out_deinit) struct ux_out out = {0};
		ux_text_size(&out, cases[i].bytes);
		ux_out_u8(&out, 0);
		assert_string_equal((char *)out.data, cases[i].text);
	}
}

UX_SUITE(options)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(options_and_operands_mix),
		UX_TEST(a_list_has_all_that_were_given),
		UX_TEST(folders_come_before_the_default_unless_one_is_empty),
		UX_TEST(two_dashes_end_the_options),
		UX_TEST(short_options_come_in_one_word),
		UX_TEST(the_last_of_two_alike_wins),
		UX_TEST(sizes_have_units),
		UX_TEST(senseless_command_lines_are_usage_errors),
		UX_TEST(help_is_printed_from_the_table),
		UX_TEST(text_for_terminals_is_escaped),
		UX_TEST(sizes_are_rounded_for_people),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
