/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of a store: their contents, their counts, and damage in the original. */
#include "sweep.h"

#include "store.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* The linker gives the store __wrap_, and __real_ is the C library's. */
int __wrap_linkat(int from, const char *a, int to, const char *b, int flags);
int __real_linkat(int from, const char *a, int to, const char *b, int flags);

static int link_errno; /* errno of failing links; 0: they work */

int __wrap_linkat(int from, const char *a, int to, const char *b, int flags)
{
	if (link_errno == 0)
		return __real_linkat(from, a, to, b, flags);
	errno = link_errno;
	return -1;
}

struct world {
	struct ux_store store;
	char top[64], from[96], to[96];
	unsigned n_reports;
	char hash[2 * UX_BLOB_HASH_SIZE + 1], words[UX_ERROR_TEXT];
};

static const struct {
	const char *id, *bytes;
} files[] = {{"gnu:a", "abc"}, {"gnu:b", "other bytes"}};

enum {
	BYTES = 3 + 11 /* of both files */
};

static void add_module(struct ux_store *s, const char *id, const char *text)
{
	struct ux_blobs *b = s->blobs;
	struct ux_blob_part *part = NULL;
	char uid[UX_UPLOAD_UID_SIZE];
	uint64_t size = 0;
	struct ux_bytes bytes = ux_bytes_cstr(text);
	const struct ux_who who = {.key_id = "", .from = "test"};
	const struct ux_arrival what = {.ns = UX_NAMESPACE_DEFAULT, .ids = &id, .n_ids = 1};
	const struct ux_candidate c = {.kind = UX_KIND_GSYM,
				       .state = UX_CANDIDATE_READY,
				       .blob = ux_blob_hash_of(bytes),
				       .size = bytes.size,
				       .quality = UX_QUALITY_LINES,
				       .reason = "",
				       .origin_name = "",
				       .description = "",
				       .file_name = "",
				       .key_id = ""};
	struct ux_add_result added;
	assert_int_equal(ux_upload_uid_make(uid, NULL), UX_OK);
	assert_int_equal(b->part_open(b, uid, &part, &size, NULL), UX_OK);
	assert_int_equal(b->part_write(part, bytes, NULL), UX_OK);
	assert_int_equal(ux_store_commit_candidate(s, part, &what, &c, &who, &added, NULL), UX_OK);
	b->part_close(part);
}

static int open_world(void **state)
{
	static struct world world;
	struct world *w = &world;
	*w = (struct world){.n_reports = 0};
	snprintf(w->top, sizeof(w->top), "/tmp/unhex-backup-XXXXXX");
	assert_non_null(mkdtemp(w->top));
	/* The compiler does not see how long the name is. */
	assert_in_range(snprintf(w->from, sizeof(w->from), "%s/store", w->top), 1,
			sizeof(w->from) - 1);
	assert_in_range(snprintf(w->to, sizeof(w->to), "%s/copy", w->top), 1, sizeof(w->to) - 1);
	assert_int_equal(ux_store_open(&w->store, w->from, NULL), UX_OK);
	for (size_t i = 0; i < ux_countof(files); i++)
		add_module(&w->store, files[i].id, files[i].bytes);
	link_errno = 0;
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;
	char command[128];
	ux_store_close(&w->store);
	snprintf(command, sizeof(command), "rm -rf '%s'", w->top);
	assert_int_equal(system(command), 0);
	return 0;
}

static void on_report(void *ctx, const char *hash, const char *words)
{
	struct world *w = ctx;
	w->n_reports++;
	snprintf(w->hash, sizeof(w->hash), "%s", hash);
	snprintf(w->words, sizeof(w->words), "%s", words);
}

static struct ux_backup_sum copy(struct world *w, bool whole)
{
	struct ux_backup_sum sum;
	struct ux_error err = UX_ERROR_INIT;
	const struct ux_backup_how how = {.copy = whole, .report = on_report, .ctx = w};
	if (ux_store_copy(&w->store, w->from, w->to, &how, &sum, &err) != UX_OK)
		fail_msg("%s", err.text);
	assert_int_equal(sum.problems, w->n_reports);
	return sum;
}

static void assert_sum(struct ux_backup_sum s, uint64_t linked, uint64_t copied,
		       uint64_t copied_bytes)
{
	assert_int_equal(s.linked, linked);
	assert_int_equal(s.copied, copied);
	assert_int_equal(s.copied_bytes, copied_bytes);
}

/* The path of a blob in a folder. */
static const char *blob_path(const char *dir, const char *text)
{
	static char path[300];
	char hash[2 * UX_BLOB_HASH_SIZE + 1];
	const struct ux_blob_hash h = ux_blob_hash_of(ux_bytes_cstr(text));
	ux_blob_hash_text(&h, hash);
	snprintf(path, sizeof(path), "%s/blobs/%.2s/%.2s/%s", dir, hash, hash + 2, hash);
	return path;
}

/* Whether the copy has the module and the bytes of the file. */
static bool copy_has(struct world *w, size_t file)
{
	struct ux_index *ix = NULL;
	UX_ARENA(arena, 1 << 20);
	struct ux_module m;
	assert_int_equal(ux_store_open_index(w->to, &ix, NULL), UX_OK);
	bool named = ix->modules.find(ix, UX_NAMESPACE_DEFAULT, files[file].id, &arena, &m, NULL) ==
			     UX_OK &&
		     m.n_candidates > 0;
	ix->close(ix);
	assert_int_equal(named, access(blob_path(w->to, files[file].bytes), F_OK) == 0);
	return named;
}

static void a_copy_has_everything_once(void **state)
{
	struct world *w = *state;
	struct ux_backup_sum sum = copy(w, /* whole= */ false);
	assert_sum(sum, 2, 0, 0);
	assert_int_equal(sum.blobs, 2);
	assert_int_equal(sum.bytes, BYTES);
	assert_true(copy_has(w, 0) && copy_has(w, 1));
	sum = copy(w, false); /* all is there */
	assert_sum(sum, 0, 0, 0);
	assert_int_equal(sum.blobs, 2);
	assert_int_equal(sum.bytes, BYTES);
	assert_int_equal(sum.pruned + sum.deleted + sum.problems, 0);
	/* A file that the store no longer has is removed from the copy too. */
	const struct ux_who who = {.key_id = "", .from = "test"};
	struct ux_index *ix = w->store.index;
	assert_int_equal(ix->modules.remove(ix, UX_NAMESPACE_DEFAULT, "gnu:b", &who, 1, NULL),
			 UX_OK);
	sum = copy(w, false);
	assert_int_equal(sum.blobs, 1);
	assert_int_equal(sum.pruned, 1);
	assert_true(copy_has(w, 0));
	assert_false(copy_has(w, 1));
}

static void files_are_copied_on_order_and_where_no_link_can_be_made(void **state)
{
	struct world *w = *state;
	struct stat st;
	assert_sum(copy(w, /* whole= */ true), 0, 2, BYTES);
	assert_int_equal(stat(blob_path(w->to, "abc"), &st), 0);
	assert_int_equal(st.st_nlink, 1);
	assert_true(copy_has(w, 0) && copy_has(w, 1));
	/* A file of another size does not count as a copy, and is replaced. */
	assert_int_equal(chmod(blob_path(w->to, "abc"), 0600),
			 0); /* only root may write without it */
	assert_int_equal(truncate(blob_path(w->to, "abc"), 2), 0);
	assert_sum(copy(w, true), 0, 1, 3);
	snprintf(w->to, sizeof(w->to), "%s/second", w->top);
	link_errno = EXDEV;
	assert_sum(copy(w, false), 0, 2, BYTES);
	assert_true(copy_has(w, 0) && copy_has(w, 1));
}

static void a_link_that_fails_ends_the_copy(void **state)
{
	struct world *w = *state;
	struct ux_backup_sum sum;
	struct ux_error err = UX_ERROR_INIT;
	const struct ux_backup_how how = {.copy = false};
	link_errno = EIO;
	assert_int_equal(ux_store_copy(&w->store, w->from, w->to, &how, &sum, &err), UX_EIO);
	assert_int_equal(err.os_errno, EIO);
	assert_sum(sum, 0, 0, 0);
	assert_int_equal(sum.blobs, 0);
}

static void write_over(const char *path, const char *text)
{
	assert_int_equal(chmod(path, 0600), 0);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* Damaged, cut and lost files are reported, and the copy names none of them. */
static void what_is_damaged_is_not_copied(void **state)
{
	struct world *w = *state;
	static const struct {
		const char *content; /* NULL: there is no file */
		const char *says;
	} cases[] = {
		{"xyz", "does not match its SHA-256"}, {"ab", "2 bytes; expected 3"}, {NULL, ""}};
	for (size_t i = 0; i < 2 * ux_countof(cases); i++) {
		bool whole = i % 2 != 0;
		const char *content = cases[i / 2].content;
		char hash[2 * UX_BLOB_HASH_SIZE + 1];
		const struct ux_blob_hash h = ux_blob_hash_of(UX_STR("abc"));
		snprintf(w->to, sizeof(w->to), "%s/copy%zu", w->top, i);
		w->n_reports = 0;
		if (content)
			write_over(blob_path(w->from, "abc"), content);
		else
			(void)unlink(blob_path(w->from, "abc"));
		struct ux_backup_sum sum = copy(w, whole);
		assert_int_equal(sum.problems, 1);
		assert_int_equal(sum.blobs, 1);
		assert_sum(sum, whole ? 0 : 1, whole ? 1 : 0, whole ? 11 : 0);
		ux_blob_hash_text(&h, hash);
		assert_string_equal(w->hash, hash);
		if (!strstr(w->words, cases[i / 2].says))
			fail_msg("'%s' is not in '%s'", cases[i / 2].says, w->words);
		assert_false(copy_has(w, 0));
		assert_true(copy_has(w, 1));
	}
}

static void a_folder_that_is_no_place_for_a_copy_is_refused(void **state)
{
	struct world *w = *state;
	struct ux_backup_sum sum;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_backup_how how = {.fresh = true};
	struct ux_store other;
	const bool open_before = fcntl(STDIN_FILENO, F_GETFD) >= 0;
	assert_int_equal(ux_store_copy(&w->store, w->from, w->from, &how, &sum, &err), UX_EINVAL);
	assert_int_equal(fcntl(STDIN_FILENO, F_GETFD) >= 0, open_before);
	assert_non_null(strstr(err.text, "store's own folder"));
	assert_int_equal(ux_store_copy(&w->store, w->from, w->to, &how, &sum, NULL), UX_OK);
	assert_int_equal(ux_store_copy(&w->store, w->from, w->to, &how, &sum, NULL), UX_ECONFLICT);
	how.fresh = false;
	assert_int_equal(ux_store_open(&other, w->to, NULL), UX_OK);
	assert_int_equal(ux_store_copy(&w->store, w->from, w->to, &how, &sum, NULL), UX_ECONFLICT);
	ux_store_close(&other);
	assert_int_equal(ux_store_copy(&w->store, w->from, w->to, &how, &sum, NULL), UX_OK);
}

#define BACKUP_TEST(name) cmocka_unit_test_setup_teardown(name, open_world, close_world)

UX_SUITE(store_backup)
{
	const struct CMUnitTest tests[] = {
		BACKUP_TEST(a_copy_has_everything_once),
		BACKUP_TEST(files_are_copied_on_order_and_where_no_link_can_be_made),
		BACKUP_TEST(a_link_that_fails_ends_the_copy),
		BACKUP_TEST(what_is_damaged_is_not_copied),
		BACKUP_TEST(a_folder_that_is_no_place_for_a_copy_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
