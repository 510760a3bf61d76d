/* SPDX-License-Identifier: Apache-2.0 */
/* push/push_sources.c: which files of a GSYM go into the archive, and from where. */
#include "sweep.h"

#include "bundle.h"
#include "make_gsym.h"
#include "push_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

struct scene {
	char dir[64];
	char read[1024]; /* paths that were tried, a line each */
	struct ux_push_sources s;
	struct ux_error err;
};

static int setup(void **state)
{
	struct scene *w = calloc(1, sizeof(*w));
	assert_non_null(w);
	snprintf(w->dir, sizeof(w->dir), "/tmp/unhex-sources-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	*state = w;
	return 0;
}

static int teardown(void **state)
{
	struct scene *w = *state;
	char command[128];
	ux_push_sources_deinit(&w->s);
	snprintf(command, sizeof(command), "rm -rf '%s'", w->dir);
	assert_int_equal(system(command), 0);
	free(w);
	return 0;
}

/* Writes a file below the folder, with its own name as content. */
static void put_file(const struct scene *w, const char *name)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", w->dir, name);
	for (char *p = strchr(path + strlen(w->dir) + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = '\0';
		(void)mkdir(path, 0700);
		*p = '/';
	}
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(name, f);
	assert_int_equal(fclose(f), 0);
}

static void on_reading(void *ctx, const char *path)
{
	struct scene *w = ctx;
	size_t n = strlen(w->read);
	snprintf(w->read + n, sizeof(w->read) - n, "%s\n", path);
}

/* Collects the files of a GSYM that names these; each is a folder and a name. */
static enum ux_code collect(struct scene *w, const char *const (*files)[2], size_t n,
			    const char *prefixes)
{
	UX_ARENA(arena, 1 << 20);
	ux_cleanup(ux_out_deinit) struct ux_out strings = {0}, gsym = {0};
	struct ux_gsym_file_entry entries[16] = {{0, 0}};
	struct ux_gsym_function function = {.start = 0x1000, .size = 16, .name = 1};
	ux_out_put(&strings, "\0f", 3);
	assert_true(n < ux_countof(entries));
	for (size_t i = 0; i < n; i++) {
		entries[i + 1].dir = (uint32_t)strings.size;
		ux_out_put(&strings, files[i][0], strlen(files[i][0]) + 1);
		entries[i + 1].base = (uint32_t)strings.size;
		ux_out_put(&strings, files[i][1], strlen(files[i][1]) + 1);
	}
	const struct make_gsym m = {.arena = &arena,
				    .base = 0x1000,
				    .functions = &function,
				    .n_functions = 1,
				    .files = entries,
				    .n_files = n + 1,
				    .strings = ux_out_bytes(&strings)};
	assert_int_equal(make_gsym_write(&m, &gsym), UX_OK);
	const struct ux_push_options o = {.prefixes = prefixes, .reading = on_reading, .ctx = w};
	ux_push_sources_deinit(&w->s);
	w->read[0] = '\0';
	w->err = (struct ux_error)UX_ERROR_INIT;
	ux_cleanup(ux_source_trees_deinit) struct ux_source_trees trees = {0};
	assert_int_equal(ux_source_trees_add(&trees, w->dir, NULL), UX_OK);
	return ux_push_sources_collect(ux_out_bytes(&gsym), &o, &trees, &w->s, &w->err);
}

/* Lists each member of the archive as "NAME=CONTENT;". */
static void list(const struct scene *w, char *ret, size_t size)
{
	struct ux_archive_calls calls;
	struct archive_entry *entry = NULL;
	assert_int_equal(ux_archive_load(&calls, NULL), UX_OK);
	struct archive *a = calls.archive_read_new();
	assert_non_null(a);
	calls.archive_read_support_filter_zstd(a);
	calls.archive_read_support_format_tar(a);
	assert_int_equal(calls.archive_read_open_memory(a, w->s.archive.data, w->s.archive.size),
			 0);
	ret[0] = '\0';
	while (calls.archive_read_next_header(a, &entry) == 0) {
		char content[128];
		la_ssize_t n = calls.archive_read_data(a, content, sizeof(content) - 1);
		assert_true(n >= 0);
		size_t at = strlen(ret);
		snprintf(ret + at, size - at, "%s=%.*s;", calls.archive_entry_pathname(entry),
			 (int)n, content);
	}
	calls.archive_read_free(a);
}

static void files_that_are_here_go_into_the_archive(void **state)
{
	struct scene *w = *state;
	char text[512], expected[512], src[96], above[96];
	snprintf(src, sizeof(src), "%s/src", w->dir);
	snprintf(above, sizeof(above), "%s/none/../src", w->dir);
	const char *const files[][2] = {
		{src, "b.c"},    {src, "a.h"},   {src, "gone.c"}, {src, "password"}, {src, "x.key"},
		{above, "c.rs"}, {"/..", "d.c"}, {above, "b.c"},  {src, ""},         {src, "dot."},
	};
	put_file(w, "src/a.h");
	put_file(w, "src/b.c");
	put_file(w, "src/c.rs");
	put_file(w, "src/password");
	put_file(w, "src/x.key");
	put_file(w, "src/dot.");
	assert_int_equal(collect(w, files, ux_countof(files), NULL), UX_OK);
	assert_int_equal(w->s.files, 3);
	assert_int_equal(w->s.missing, 1);
	assert_int_equal(w->s.left_out, 4);
	list(w, text, sizeof(text));
	snprintf(expected, sizeof(expected), "%s/a.h=src/a.h;%s/b.c=src/b.c;%s/c.rs=src/c.rs;",
		 src + 1, src + 1, src + 1);
	assert_string_equal(text, expected);
	assert_null(strstr(w->read, "password"));
	assert_null(strstr(w->read, "x.key"));
	/* A header of C++ has no extension. */
	snprintf(src, sizeof(src), "%s/include/c++", w->dir);
	const char *const header[][2] = {{src, "vector"}};
	put_file(w, "include/c++/vector");
	assert_int_equal(collect(w, header, 1, NULL), UX_OK);
	assert_int_equal(w->s.files, 1);
}

static void a_path_begins_with_a_prefix_as_a_folder(void **state)
{
	struct scene *w = *state;
	static const struct {
		const char *from;
		bool here;
	} cases[] = {{"/build", true},      {"/build/", true},   {"/build/src", true},
		     {"/buil", false},      {"/build/s", false}, {"/build/src/a.c", true},
		     {"/build/../x", false}};
	const char *const files[][2] = {{"/build/src", "a.c"}};
	char prefixes[256], path[128];
	put_file(w, "src/a.c");
	for (size_t i = 0; i < ux_countof(cases); i++) {
		const char *to = strcmp(cases[i].from, "/build/src") == 0 ? "/src"
				 : strstr(cases[i].from, "a.c")           ? "/src/a.c"
				 : strcmp(cases[i].from, "/build/") == 0  ? "/"
									  : "";
		snprintf(prefixes, sizeof(prefixes), "/other=/nowhere:%s=%s%s:/build=/nowhere",
			 cases[i].from, w->dir, to);
		enum ux_code code = collect(w, files, 1, prefixes);
		if (code != (cases[i].here ? UX_OK : UX_ENOTFOUND))
			fail_msg("%s: %d %s", prefixes, (int)code, w->err.text);
		snprintf(path, sizeof(path), "%s/src/a.c\n", w->dir);
		assert_int_equal(strcmp(w->read, path) == 0, cases[i].here);
	}
	assert_int_equal(collect(w, files, 1, NULL), UX_ENOTFOUND);
	assert_non_null(strstr(w->err.text, "none of its 1 source files was found"));
	assert_int_equal(w->s.missing, 1);
}

/* A text file outside of the tree, and links of all kinds to it. */
static void no_link_leads_out_of_the_trees(void **state)
{
	struct scene *w = *state;
	char outside[] = "/tmp/unhex-secret-XXXXXX", secret[64], text[512], path[256], target[256];
	assert_non_null(mkdtemp(outside));
	snprintf(secret, sizeof(secret), "%s/secret.c", outside);
	FILE *f = fopen(secret, "w");
	assert_non_null(f);
	fputs("SECRET", f);
	assert_int_equal(fclose(f), 0);
	put_file(w, "real/a.c");
	static const struct {
		const char *name, *to; /* '@': the folder; '!': the secret; '?': its folder */
	} links[] = {
		{"by_name.c", "!"},
		{"dir", "?"},
		{"inner.c", "real/a.c"},
		{"abs.c", "@/real/a.c"},
		{"twice.c", "by_name.c"},
		{"round", "@/real/../real"},
		{"up.c", "../../../../../../etc/hostname"},
	};
	for (size_t i = 0; i < ux_countof(links); i++) {
		const char *to = links[i].to;
		snprintf(path, sizeof(path), "%s/%s", w->dir, links[i].name);
		snprintf(target, sizeof(target), "%s%s",
			 *to == '@'   ? w->dir
			 : *to == '!' ? secret
			 : *to == '?' ? outside
				      : to,
			 *to == '@' ? to + 1 : "");
		assert_int_equal(symlink(target, path), 0);
	}
	char dir[96], round[96];
	snprintf(dir, sizeof(dir), "%s/dir", w->dir);
	snprintf(round, sizeof(round), "%s/round", w->dir);
	const char *const files[][2] = {
		{w->dir, "by_name.c"}, {w->dir, "twice.c"}, {w->dir, "up.c"},  {dir, "secret.c"},
		{outside, "secret.c"}, {w->dir, "inner.c"}, {w->dir, "abs.c"}, {round, "a.c"},
	};
	assert_int_equal(collect(w, files, ux_countof(files), NULL), UX_OK);
	assert_int_equal(w->s.files, 3);
	assert_int_equal(w->s.outside, 5);
	assert_int_equal(w->s.missing, 0);
	list(w, text, sizeof(text));
	assert_null(strstr(text, "SECRET"));
	assert_non_null(strstr(text, "inner.c=real/a.c;"));
	assert_non_null(strstr(text, "abs.c=real/a.c;"));
	assert_non_null(strstr(text, "round/a.c=real/a.c;"));
	/* nothing but files outside */
	assert_int_equal(collect(w, files, 5, NULL), UX_ENOTFOUND);
	assert_non_null(strstr(w->err.text, "5 outside; --source-prefix DIR=DIR allows more"));
	assert_int_equal(unlink(secret), 0);
	assert_int_equal(rmdir(outside), 0);
}

static void expect_trees(const char *path, const char *want)
{
	ux_cleanup(ux_source_trees_deinit) struct ux_source_trees t = {0};
	assert_int_equal(ux_source_trees_add_around(&t, path, NULL), UX_OK);
	const char *have = t.roots.size > 0 ? t.roots.data[0] : "";
	if (strcmp(have, want) != 0 || t.roots.size > 1)
		fail_msg("%s: '%s', wanted '%s'", path, have, want);
}

static void the_tree_of_a_file_is_its_git_tree_or_its_folder(void **state)
{
	struct scene *w = *state;
	char path[256], top[128], home[128];
	const char *before = getenv("HOME");
	char *kept = before ? strdup(before) : NULL;
	put_file(w, "home/plain/bin/prog");
	put_file(w, "home/work/build/bin/prog");
	put_file(w, "home/prog");
	snprintf(home, sizeof(home), "%s/home", w->dir);
	setenv("HOME", home, 1);
	snprintf(top, sizeof(top), "%s/home/plain/bin", w->dir);
	snprintf(path, sizeof(path), "%s/prog", top);
	expect_trees(path, top);
	expect_trees(top, top);
	/* neither the home of the user nor the root, even with .git */
	put_file(w, "home/.git/HEAD");
	expect_trees(path, top);
	snprintf(path, sizeof(path), "%s/prog", home);
	expect_trees(path, "");
	expect_trees("/", "");
	expect_trees("/nonexistent/x", "");
	put_file(w, "home/work/.git/HEAD");
	snprintf(top, sizeof(top), "%s/home/work", w->dir);
	snprintf(path, sizeof(path), "%s/build/bin/prog", top);
	expect_trees(path, top);
	snprintf(path, sizeof(path), "%s/build", top);
	expect_trees(path, top);
	/* somebody else's .git in a folder above is none of ours */
	snprintf(path, sizeof(path), "%s/.git", top);
	if (geteuid() == 0 && chown(path, 12345, 12345) == 0) {
		snprintf(path, sizeof(path), "%s/build/bin/prog", top);
		snprintf(top, sizeof(top), "%s/home/work/build/bin", w->dir);
		expect_trees(path, top);
	}
	if (kept)
		setenv("HOME", kept, 1);
	else
		unsetenv("HOME");
	free(kept);
}

/* The distribution's headers are everyone's, unless only root may read them. */
static void files_of_the_distribution_are_sent(void **state)
{
	(void)state;
	const struct ux_source_trees none = {0};
	struct ux_mapping m = {0};
	assert_int_equal(ux_source_trees_map(&none, "/usr/include/stdio.h", &m, NULL), UX_OK);
	ux_file_unmap(&m);
	assert_int_equal(ux_source_trees_map(&none, "/etc/passwd", &m, NULL), UX_EDENIED);
	assert_int_equal(ux_source_trees_map(&none, "/usr/../etc/passwd", &m, NULL), UX_EDENIED);
	assert_int_equal(ux_source_trees_map(&none, "/proc/self/root/etc/passwd", &m, NULL),
			 UX_EDENIED);
	assert_int_equal(ux_source_trees_map(&none, "/usr/include", &m, NULL), UX_EINVAL);
	assert_int_equal(ux_source_trees_map(&none, "/usr/include/nowhere.h", &m, NULL),
			 UX_ENOTFOUND);
}

static void prefixes_have_two_sides(void **state)
{
	(void)state;
	static const char *const good[] = {"", "/a=/b", "/a=/b:/c=/d", "/a=/b=c"};
	static const char *const bad[] = {"/a", "=/b", "/a=", "/a=/b:/c", "/a=/b::/c=/d", ":"};
	for (size_t i = 0; i < ux_countof(good); i++)
		assert_int_equal(ux_push_prefixes_check(good[i], NULL), UX_OK);
	assert_int_equal(ux_push_prefixes_check(NULL, NULL), UX_OK);
	for (size_t i = 0; i < ux_countof(bad); i++)
		if (ux_push_prefixes_check(bad[i], NULL) != UX_EINVAL)
			fail_msg("%s", bad[i]);
}

UX_SUITE(push_sources)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(files_that_are_here_go_into_the_archive, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_path_begins_with_a_prefix_as_a_folder, setup,
						teardown),
		cmocka_unit_test_setup_teardown(no_link_leads_out_of_the_trees, setup, teardown),
		cmocka_unit_test_setup_teardown(the_tree_of_a_file_is_its_git_tree_or_its_folder,
						setup, teardown),
		UX_TEST(files_of_the_distribution_are_sent),
		UX_TEST(prefixes_have_two_sides),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
