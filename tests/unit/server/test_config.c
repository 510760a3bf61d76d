/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration file and its table. */
#include "sweep.h"

#include "settings.h"

#include <unistd.h>

enum mode {
	MODE_SLOW,
	MODE_FAST
};

struct thing {
	const char *name;
	const char *url;
	const char *token;
	uint64_t timeout_ms;
};

struct all {
	const char *text;
	struct ux_setting_list list;
	uint64_t count;
	uint64_t bytes;
	bool on;
	unsigned mode;
	struct ux_section_list things;
};

static const char *const modes[] = {"slow", "fast", NULL};

static const struct ux_setting rows[] = {
	{NULL, "text", UX_SETTING_TEXT, offsetof(struct all, text), "default", 0, 0, 0, NULL, "T."},
	{NULL, "list", UX_SETTING_LIST, offsetof(struct all, list), "a b", 0, 0, 0, NULL, "L."},
	{NULL, "count", UX_SETTING_COUNT, offsetof(struct all, count), "7", 2, 90, 0, NULL, "C."},
	{NULL, "bytes", UX_SETTING_BYTES, offsetof(struct all, bytes), "3M", 0, 0, 0, NULL, "B."},
	{NULL, "on", UX_SETTING_SWITCH, offsetof(struct all, on), "yes", 0, 0, 0, NULL, "O."},
	{NULL, "mode", UX_SETTING_CHOICE, offsetof(struct all, mode), "fast", 0, 0, 0, modes, "M."},
	{"thing", "url", UX_SETTING_TEXT, offsetof(struct thing, url), NULL, 0, 0,
	 UX_SETTING_NEEDED, NULL, "U."},
	{"thing", "token", UX_SETTING_TEXT, offsetof(struct thing, token), NULL, 0, 0,
	 UX_SETTING_SECRET, NULL, "S."},
	{"thing", "timeout", UX_SETTING_TIME, offsetof(struct thing, timeout_ms), "5s", 1, 60000, 0,
	 NULL, "W."},
};

static const struct ux_setting_section sections[] = {
	{"thing", sizeof(struct thing), offsetof(struct all, things), 3, "Things."},
};

static const struct ux_setting_table table = {rows, ux_countof(rows), sections,
					      ux_countof(sections)};

static enum ux_code parse(const char *text, struct all *all, struct ux_arena *arena,
			  struct ux_error *err)
{
	*all = (struct all){0};
	UX_TRY(ux_setting_defaults(&table, NULL, all, arena, err));
	return ux_config_parse(&table, ux_bytes_cstr(text), "f.conf", all, arena, err);
}

static void an_empty_file_gives_the_defaults(void **state)
{
	(void)state;
	UX_ARENA(arena, 1 << 20);
	struct all all;
	assert_int_equal(parse("", &all, &arena, NULL), UX_OK);
	assert_string_equal(all.text, "default");
	assert_int_equal(all.list.n, 2);
	assert_string_equal(all.list.items[1], "b");
	assert_int_equal(all.count, 7);
	assert_int_equal(all.bytes, 3 << 20);
	assert_true(all.on);
	assert_int_equal(all.mode, MODE_FAST);
	assert_int_equal(all.things.n, 0);
}

static void keys_are_read_with_blanks_comments_and_sections(void **state)
{
	(void)state;
	UX_ARENA(arena, 1 << 20);
	struct all all;
	assert_int_equal(parse("# comment = 1\r\n"
			       "\t text=  a = b # c  \r\n"
			       "list = \tone   two\tthree\n"
			       "count = 90\nbytes = 2g\non = no\nmode = slow\n\n"
			       "[thing a.b-c_1]\nurl = http://x/\ntimeout = 1m\n"
			       "  [ thing  z ]  \ntoken=secret\nurl=u",
			       &all, &arena, NULL),
			 UX_OK);
	assert_string_equal(all.text, "a = b # c");
	assert_int_equal(all.list.n, 3);
	assert_string_equal(all.list.items[2], "three");
	assert_int_equal(all.count, 90);
	assert_int_equal(all.bytes, UINT64_C(2) << 30);
	assert_false(all.on);
	assert_int_equal(all.mode, MODE_SLOW);
	assert_int_equal(all.things.n, 2);
	const struct thing *t = all.things.items[0];
	assert_string_equal(t->name, "a.b-c_1");
	assert_string_equal(t->url, "http://x/");
	assert_int_equal(t->timeout_ms, 60000);
}

static void a_mistake_is_reported_with_file_and_line(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		const char *says;
	} bad[] = {
		{"\n\nnope = 1", "f.conf:3: unknown key \"nope\""},
		{"url = 1", "f.conf:1: unknown key \"url\""},
		{"[thing a]\nurl=x\ntext = 1", "f.conf:3: unknown key \"text\" of a section thing"},
		{"count = 5\ncount = 6", "f.conf:2: duplicate key \"count\""},
		{"count = 1", "f.conf:1: key \"count\" is \"1\"; expected a number, from 2 to 90"},
		{"count = 91", "is \"91\""},
		{"count = -5", "is \"-5\""},
		{"count = 5 5", "is \"5 5\""},
		{"count =", "is \"\""},
		{"count = 0x10", "is \"0x10\""},
		{"count = 99999999999999999999999", "expected a number"},
		{"bytes = 17179869184G", "expected a size such as 100M"},
		{"bytes = 5X", "expected a size such as 100M"},
		{"on = true", "expected yes or no"},
		{"mode = Fast", "expected slow or fast"},
		{"words alone", "f.conf:1: expected"},
		{"text = a\x01", "byte 0x01"},
		{"text = \x7f", "byte 0x7f"},
		{"[thing", "lacks its \"]\""},
		{"[", "lacks its \"]\""},
		{"[]", "unknown section \"\""},
		{"[nope a]", "f.conf:1: unknown section \"nope\""},
		{"[thing]", "needs a name"},
		{"[thing a b]", "needs a name"},
		{"[thing a/b]", "needs a name"},
		{"[thing a]\nurl=x\n[thing a]", "f.conf:3: duplicate section [thing a]"},
		{"\n[thing a]\n\n", "f.conf:2: [thing a] needs the key \"url\""},
		{"[thing a]\n[thing b]\nurl = x", "f.conf:1: [thing a] needs"},
		{"[thing a]\nurl=x\ntimeout = 5", "expected a duration such as"},
		{"[thing a]\nurl=x\ntimeout = 61s", "from 1ms to 1m"},
		{"[thing a]\nurl=x\n[thing b]\nurl=x\n[thing c]\nurl=x\n[thing d]",
		 "f.conf:7: more than 3 sections"},
	};
	for (size_t i = 0; i < ux_countof(bad); i++) {
		UX_ARENA(arena, 1 << 20);
		struct ux_error err = UX_ERROR_INIT;
		struct all all;
		assert_int_equal(parse(bad[i].text, &all, &arena, &err), UX_EINVAL);
		if (!strstr(err.text, bad[i].says))
			fail_msg("\"%s\" says \"%s\"; expected \"%s\"", bad[i].text, err.text,
				 bad[i].says);
	}
}

static void a_line_that_is_too_long_is_refused(void **state)
{
	(void)state;
	UX_ARENA(arena, 1 << 20);
	struct ux_error err = UX_ERROR_INIT;
	struct all all;
	char text[UX_CONFIG_LINE_MAX + 2];
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	memcpy(text, "text = ", 7);
	assert_int_equal(parse(text, &all, &arena, &err), UX_EINVAL);
	assert_non_null(strstr(err.text, "f.conf:1:"));
	text[UX_CONFIG_LINE_MAX] = '\0';
	assert_int_equal(parse(text, &all, &arena, NULL), UX_OK);
}

static void a_secret_is_in_no_message(void **state)
{
	(void)state;
	static const struct ux_setting secret = {NULL, "s", UX_SETTING_COUNT,  0,    NULL,
						 0,    0,   UX_SETTING_SECRET, NULL, "S."};
	UX_ARENA(arena, 1 << 20);
	struct ux_error err = UX_ERROR_INIT;
	uint64_t v = 0;
	assert_int_equal(ux_setting_read(&secret, UX_STR("hush"), &v, &arena, &err), UX_EINVAL);
	assert_null(strstr(err.text, "hush"));
}

static void any_bytes_end_cleanly(struct ux_bytes input, void *ctx)
{
	(void)ctx;
	UX_ARENA(arena, 1 << 20);
	struct ux_error err = UX_ERROR_INIT;
	struct all all = {0};
	enum ux_code code = ux_config_parse(&table, input, "f", &all, &arena, &err);
	assert_true(code == UX_OK || code == UX_EINVAL);
	assert_int_equal(code, err.code);
}

static const char whole[] = "# c\ntext = a\nlist = a b\ncount = 9\nbytes = 4K\non = yes\n"
			    "mode = slow\n[thing a]\nurl = u\ntoken = t\ntimeout = 5s\n";

static void damaged_files_end_cleanly(void **state)
{
	(void)state;
	struct ux_bytes good = ux_bytes(whole, sizeof(whole) - 1);
	each_prefix(good, any_bytes_end_cleanly, NULL);
	each_bit_flip(good, any_bytes_end_cleanly, NULL);
	each_byte_extreme(good, any_bytes_end_cleanly, NULL);
}

static enum ux_code parse_whole(void *ctx)
{
	(void)ctx;
	UX_ARENA(arena, 1 << 20);
	struct all all;
	return parse(whole, &all, &arena, NULL);
}

static void short_memory_is_an_error(void **state)
{
	(void)state;
	assert_true(each_failed_alloc(parse_whole, NULL, /* may_recover= */ false) > 1);
}

/* The table of the server. */

static void every_row_is_complete_and_its_default_is_taken(void **state)
{
	(void)state;
	const struct ux_setting_table *t = &ux_settings_table;
	const struct ux_settings_source none = {0};
	struct ux_settings *s = NULL;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_settings_load(&none, &s, &err), UX_OK);
	ux_settings_destroy(s);
	for (size_t i = 0; i < t->n_rows; i++) {
		const struct ux_setting *row = &t->rows[i];
		assert_ptr_equal(ux_setting_find(t, row->section, ux_bytes_cstr(row->key)), row);
		assert_true(row->what[strlen(row->what) - 1] == '.');
		assert_int_equal(row->type == UX_SETTING_CHOICE, row->words != NULL);
		if ((row->flags & UX_SETTING_SECRET) != 0)
			assert_int_equal(row->type, UX_SETTING_TEXT);
		assert_int_equal(strspn(row->key, "abcdefghijklmnopqrstuvwxyz0123456789-"),
				 strlen(row->key));
	}
}

static void what_is_printed_reads_as_the_same(void **state)
{
	(void)state;
	const struct ux_setting_word words[] = {{"listen", "[::1]:99", "--listen"},
						{"memory", "17M", "--set"},
						{"idle", "90s", "--set"},
						{"log-format", "json", "--set"}};
	const struct ux_settings_source source = {NULL, words, ux_countof(words)};
	ux_cleanup(ux_out_deinit) struct ux_out first = {0}, second = {0};
	struct ux_settings *s = NULL;
	char path[] = "/tmp/unhex-config-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(ux_settings_load(&source, &s, NULL), UX_OK);
	ux_settings_print(&ux_settings_table, s, &first);
	ux_settings_destroy(s);
	assert_int_equal(write(fd, first.data, first.size), first.size);
	close(fd);
	const struct ux_settings_source again = {path, NULL, 0};
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_settings_load(&again, &s, &err), UX_OK);
	assert_string_equal(s->listen, "[::1]:99");
	ux_settings_print(&ux_settings_table, s, &second);
	ux_settings_destroy(s);
	unlink(path);
	assert_true(ux_bytes_eq(ux_out_bytes(&first), ux_out_bytes(&second)));
}

static void sections_are_printed_as_they_are_and_secrets_are_not(void **state)
{
	(void)state;
	UX_ARENA(arena, 1 << 20);
	struct all all, again;
	ux_cleanup(ux_out_deinit) struct ux_out none = {0}, some = {0};
	assert_int_equal(parse("", &all, &arena, NULL), UX_OK);
	ux_settings_print(&table, &all, &none);
	ux_out_u8(&none, '\0');
	assert_non_null(strstr((char *)none.data, "# Things.\n# [thing NAME]\n"));
	assert_non_null(strstr((char *)none.data, "# timeout = 5s\n"));
	assert_int_equal(parse("text =\n[thing a]\nurl = u v\ntoken = hush\n[thing b]\nurl = w\n"
			       "timeout = 90ms\n",
			       &all, &arena, NULL),
			 UX_OK);
	ux_settings_print(&table, &all, &some);
	ux_out_u8(&some, '\0');
	const char *text = (char *)some.data;
	assert_null(strstr(text, "hush"));
	assert_non_null(strstr(text, "[thing a]\n"));
	assert_non_null(strstr(text, "# token = (set, but secret)\n"));
	assert_non_null(strstr(text, "\ntext =\n"));
	assert_int_equal(parse(text, &again, &arena, NULL), UX_OK);
	assert_null(again.text);
	assert_int_equal(again.things.n, 2);
	assert_string_equal(((struct thing *)again.things.items[0])->url, "u v");
	assert_int_equal(((struct thing *)again.things.items[1])->timeout_ms, 90);
	assert_non_null(strstr(text, "timeout = 90ms\n"));
}

static void note(void *ctx, const struct ux_setting *row)
{
	ux_out_fmt(ctx, "%s ", row->key);
}

static void a_reload_keeps_what_needs_a_restart(void **state)
{
	(void)state;
	const struct ux_setting_word old_words[] = {{"listen", "a:1", "--set"},
						    {"log-level", "debug", "--set"}};
	const struct ux_setting_word new_words[] = {
		{"listen", "b:2", "--set"}, {"data", "/d", "--set"}, {"cache", "5M", "--set"}};
	const struct ux_settings_source source[] = {{NULL, old_words, ux_countof(old_words)},
						    {NULL, new_words, ux_countof(new_words)}};
	struct ux_settings *now = NULL, *next = NULL;
	ux_cleanup(ux_out_deinit) struct ux_out said = {0};
	assert_int_equal(ux_settings_load(&source[0], &now, NULL), UX_OK);
	assert_int_equal(ux_settings_load(&source[1], &next, NULL), UX_OK);
	assert_int_equal(ux_settings_keep(now, next, note, &said, NULL), UX_OK);
	assert_true(
		ux_bytes_eq(ux_out_bytes(&said), ux_bytes_cstr("listen data log-level cache ")));
	assert_string_equal(next->listen, "a:1");
	assert_null(next->data);
	assert_int_equal(next->log_level, UX_LOG_INFO);
	assert_int_equal(next->cache_bytes, 5 << 20);
	ux_settings_destroy(now);
	ux_settings_destroy(next);
}

static void options_that_make_no_sense_are_named(void **state)
{
	(void)state;
	static const struct {
		struct ux_setting_word word;
		const char *says;
	} bad[] = {
		{{"keep-days", "x", "--keep-days"},
		 "option --keep-days is \"x\"; expected a number"},
		{{"nope", "x", "--set"}, "option --set: unknown key \"nope\""},
		{{"threads", "9999", "--set"}, "option --set: threads is \"9999\"; expected"},
		{{"tls-key", "x", "--set"}, "tls-certificate and tls-key"},
	};
	for (size_t i = 0; i < ux_countof(bad); i++) {
		const struct ux_settings_source source = {NULL, &bad[i].word, 1};
		struct ux_settings *s = NULL;
		struct ux_error err = UX_ERROR_INIT;
		assert_int_equal(ux_settings_load(&source, &s, &err), UX_EINVAL);
		assert_non_null(strstr(err.text, bad[i].says));
		assert_null(s);
	}
}

static void a_file_that_is_none_is_an_error(void **state)
{
	(void)state;
	struct ux_settings *s = NULL;
	const struct ux_settings_source missing = {"/nonexistent/f.conf", NULL, 0};
	const struct ux_settings_source endless = {"/dev/zero", NULL, 0};
	const struct ux_settings_source folder = {"/", NULL, 0};
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_settings_load(&missing, &s, &err), UX_ENOTFOUND);
	assert_non_null(strstr(err.text, "/nonexistent/f.conf"));
	assert_int_equal(ux_settings_load(&endless, &s, NULL), UX_EINVAL);
	assert_int_equal(ux_settings_load(&folder, &s, NULL), UX_EIO);
}

UX_SUITE(config)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(an_empty_file_gives_the_defaults),
		UX_TEST(keys_are_read_with_blanks_comments_and_sections),
		UX_TEST(a_mistake_is_reported_with_file_and_line),
		UX_TEST(a_line_that_is_too_long_is_refused),
		UX_TEST(a_secret_is_in_no_message),
		UX_TEST(damaged_files_end_cleanly),
		UX_TEST(short_memory_is_an_error),
		UX_TEST(every_row_is_complete_and_its_default_is_taken),
		UX_TEST(what_is_printed_reads_as_the_same),
		UX_TEST(sections_are_printed_as_they_are_and_secrets_are_not),
		UX_TEST(a_reload_keeps_what_needs_a_restart),
		UX_TEST(options_that_make_no_sense_are_named),
		UX_TEST(a_file_that_is_none_is_an_error),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
