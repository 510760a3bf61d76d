/* SPDX-License-Identifier: Apache-2.0 */
/* store: what every backend of blobs and of the index must do, keys, the sweep. */
#include "sweep.h"

#include "blobs_mem.h"
#include "keys.h"
#include "sqlite_db.h"
#include "store.h"
#include "time_text.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <unistd.h>

static const char uid_a[] = "0123456789abcdef0123456789abcdef";
static const char uid_b[] = "fedcba9876543210fedcba9876543210";

struct dir {
	char path[64];
	char cmd[96];
};

static void dir_make(struct dir *d)
{
	snprintf(d->path, sizeof(d->path), "/tmp/unhex-test-XXXXXX");
	assert_non_null(mkdtemp(d->path));
}

static void dir_remove(struct dir *d)
{
	snprintf(d->cmd, sizeof(d->cmd), "rm -rf %s", d->path);
	assert_int_equal(system(d->cmd), 0);
}

/* blobs: each backend */

static void put(struct ux_blobs *b, const char *uid, const char *text)
{
	struct ux_blob_part *part = NULL;
	uint64_t size = 99;
	assert_int_equal(b->part_open(b, uid, &part, &size, NULL), UX_OK);
	assert_int_equal(b->part_write(part, ux_bytes_cstr(text), NULL), UX_OK);
	b->part_close(part);
}

static struct ux_blob_hash commit(struct ux_blobs *b, const char *uid)
{
	struct ux_blob_part *part = NULL;
	uint64_t size = 0;
	struct ux_mapping m = {0};
	assert_int_equal(b->part_open(b, uid, &part, &size, NULL), UX_OK);
	assert_int_equal(b->part_map(part, &m, NULL), UX_OK);
	assert_int_equal(m.bytes.size, size);
	struct ux_blob_hash hash = ux_blob_hash_of(m.bytes);
	assert_int_equal(b->part_commit(part, &hash, NULL), UX_OK);
	b->part_close(part);
	struct ux_blob_hash after = ux_blob_hash_of(m.bytes); /* still readable */
	assert_memory_equal(&after, &hash, sizeof(hash));
	ux_file_unmap(&m);
	return hash;
}

static void assert_blob(struct ux_blobs *b, const struct ux_blob_hash *hash, const char *text)
{
	struct ux_mapping m = {0};
	assert_int_equal(ux_blobs_map(b, hash, strlen(text), &m, NULL), UX_OK);
	assert_true(ux_bytes_eq(m.bytes, ux_bytes_cstr(text)));
	ux_file_unmap(&m);
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_blobs_map(b, hash, strlen(text) + 1, &m, &err), UX_EIO);
	assert_non_null(strstr(err.text, "bytes; expected"));
}

static enum ux_code count_one(void *ctx, const char *name, int64_t age_s, struct ux_error *err)
{
	(void)err;
	assert_true(strlen(name) == 64 || strlen(name) == 32);
	assert_true(age_s >= 0 && age_s < 60);
	++*(unsigned *)ctx;
	return UX_OK;
}

static unsigned count_blobs(struct ux_blobs *b)
{
	unsigned n = 0;
	assert_int_equal(b->each_blob(b, count_one, &n, NULL), UX_OK);
	return n;
}

static unsigned count_parts(struct ux_blobs *b)
{
	unsigned n = 0;
	assert_int_equal(b->each_part(b, count_one, &n, NULL), UX_OK);
	return n;
}

static void blobs_conform(struct ux_blobs *b)
{
	uint64_t size = 9;
	struct ux_blob_part *part = NULL, *other = NULL;
	assert_int_equal(b->part_size(b, uid_a, &size, NULL), UX_OK);
	assert_int_equal(size, 0);
	put(b, uid_a, "hello ");
	put(b, uid_a, "world"); /* a second writer goes on at the end */
	assert_int_equal(b->part_size(b, uid_a, &size, NULL), UX_OK);
	assert_int_equal(size, 11);
	assert_int_equal(count_parts(b), 1);
	assert_int_equal(count_blobs(b), 0);

	assert_int_equal(b->part_open(b, uid_a, &part, &size, NULL), UX_OK);
	assert_int_equal(b->part_open(b, uid_a, &other, &size, NULL), UX_ECONFLICT);
	b->part_close(part);

	struct ux_blob_hash hash = commit(b, uid_a);
	assert_blob(b, &hash, "hello world");
	assert_int_equal(count_parts(b), 0);
	assert_int_equal(count_blobs(b), 1);
	put(b, uid_b, "hello world"); /* the same again is success */
	commit(b, uid_b);
	assert_int_equal(count_parts(b), 0);
	assert_int_equal(count_blobs(b), 1);
	assert_blob(b, &hash, "hello world");

	assert_int_equal(b->part_open(b, uid_b, &part, &size, NULL), UX_OK);
	assert_int_equal(b->part_write(part, UX_STR("wrong"), NULL), UX_OK);
	assert_int_equal(b->part_reset(part, NULL), UX_OK);
	assert_int_equal(b->part_write(part, UX_STR("right"), NULL), UX_OK);
	b->part_close(part);
	hash = commit(b, uid_b);
	assert_blob(b, &hash, "right");

	assert_int_equal(b->remove(b, &hash, NULL), UX_OK);
	assert_int_equal(b->remove(b, &hash, NULL), UX_OK);
	int fd = -1;
	assert_int_equal(b->open(b, &hash, &fd, &size, NULL), UX_ENOTFOUND);
	put(b, uid_a, "x");
	assert_int_equal(b->part_remove(b, uid_a, NULL), UX_OK);
	assert_int_equal(b->part_remove(b, uid_a, NULL), UX_OK);
	assert_int_equal(count_parts(b), 0);
	const char *const bad[] = {"", "x", "../../../../../../../../etc/pass",
				   "0123456789ABCDEF0123456789abcdef"};
	for (size_t i = 0; i < ux_countof(bad); i++)
		assert_int_equal(b->part_open(b, bad[i], &part, &size, NULL), UX_EINVAL);
}

static void blobs_in_memory_conform(void **state)
{
	(void)state;
	struct ux_blobs *b = blobs_mem_create();
	blobs_conform(b);
	b->close(b);
}

static void blobs_in_files_conform(void **state)
{
	(void)state;
	struct dir d;
	struct ux_blobs *b = NULL;
	dir_make(&d);
	assert_int_equal(ux_blobs_fs_open(&b, d.path, NULL), UX_OK);
	blobs_conform(b);
	b->close(b);
	dir_remove(&d);
}

static void blob_file_is_where_its_hash_says_and_is_not_writable(void **state)
{
	(void)state;
	struct dir d;
	struct ux_blobs *b = NULL;
	dir_make(&d);
	assert_int_equal(ux_blobs_fs_open(&b, d.path, NULL), UX_OK);
	put(b, uid_a, "abc");
	commit(b, uid_a);
	char path[256];
	snprintf(path, sizeof(path), "%s/blobs/ba/78/%s", d.path,
		 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0222, 0);
	assert_int_equal(truncate(path, 1), 0); /* damage, which the same bytes repair */
	put(b, uid_a, "abc");
	struct ux_blob_hash hash = commit(b, uid_a);
	assert_blob(b, &hash, "abc");
	b->close(b);
	dir_remove(&d);
}

/* index: each backend */

static struct ux_upload upload(const char *uid, const char **ids, size_t n)
{
	struct ux_upload up = {.ns = "default",
			       .key_id = "k",
			       .ids = ids,
			       .n_ids = n,
			       .size = 7,
			       .kind = "gsym",
			       .claim = UX_QUALITY_LINES,
			       .description = "d \xe2\x82\xac",
			       .file_name = "f",
			       .created = 1000};
	snprintf(up.uid, sizeof(up.uid), "%s", uid);
	memset(&up.hash, 0x11, sizeof(up.hash));
	return up;
}

static struct ux_candidate candidate(uint8_t hash, enum ux_quality quality, uint64_t line_bytes)
{
	struct ux_candidate c = {.size = 7,
				 .kind = "gsym",
				 .quality = quality,
				 .counts = {.functions = 1, .line_bytes = line_bytes},
				 .description = "cd",
				 .file_name = "cf",
				 .key_id = "ck"};
	memset(&c.blob, hash, sizeof(c.blob));
	return c;
}

/* Announces and finishes; the UID is made from a counter. */
static enum ux_code add(struct ux_index *ix, const char **ids, size_t n, struct ux_candidate c,
			bool force, struct ux_add_result *ret)
{
	static unsigned serial;
	char uid[UX_UPLOAD_UID_SIZE];
	snprintf(uid, sizeof(uid), "%032x", ++serial);
	struct ux_upload up = upload(uid, ids, n);
	up.force = force;
	assert_int_equal(ix->upload_add(ix, &up, NULL), UX_OK);
	return ix->upload_finish(ix, &up, &c, 2000, ret, NULL);
}

static struct ux_module find(struct ux_index *ix, struct ux_arena *arena, const char *id)
{
	struct ux_module m;
	assert_int_equal(ix->module_find(ix, "default", id, arena, &m, NULL), UX_OK);
	return m;
}

static void uploads_are_kept_as_announced(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_upload got;
	const char *ids[] = {"file:1", "gnu:1"};
	struct ux_upload up = upload(uid_a, ids, 2);
	assert_int_equal(ix->upload_add(ix, &up, NULL), UX_OK);
	assert_int_not_equal(ix->upload_add(ix, &up, NULL), UX_OK);
	assert_int_equal(ix->upload_find(ix, uid_a, &arena, &got, NULL), UX_OK);
	assert_string_equal(got.uid, uid_a);
	assert_string_equal(got.ns, "default");
	assert_string_equal(got.ids[0], "file:1");
	assert_string_equal(got.ids[1], "gnu:1");
	assert_int_equal(got.n_ids, 2);
	assert_string_equal(got.description, "d \xe2\x82\xac");
	assert_int_equal(got.claim, UX_QUALITY_LINES);
	assert_int_equal(got.state, UX_UPLOAD_OPEN);
	assert_memory_equal(&got.hash, &up.hash, sizeof(up.hash));
	assert_int_equal(ix->upload_find(ix, uid_b, &arena, &got, NULL), UX_ENOTFOUND);
	assert_int_equal(ix->upload_fail(ix, uid_a, "why", 1500, NULL), UX_OK);
	assert_int_equal(ix->upload_fail(ix, uid_a, "again", 1600, NULL), UX_ECONFLICT);
	assert_int_equal(ix->upload_find(ix, uid_a, &arena, &got, NULL), UX_OK);
	assert_int_equal(got.state, UX_UPLOAD_FAILED);
	assert_string_equal(got.reason, "why");
	uint64_t n = 0;
	assert_int_equal(ix->upload_expire(ix, 1500, &n, NULL), UX_OK);
	assert_int_equal(n, 0);
	assert_int_equal(ix->upload_expire(ix, 1501, &n, NULL), UX_OK);
	assert_int_equal(n, 1);
	up.n_ids = 0;
	assert_int_equal(ix->upload_add(ix, &up, NULL), UX_EINVAL);
}

static void modules_are_found_by_any_id_best_candidate_first(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_add_result r;
	const char *ids[] = {"file:a", "gnu:a"}, *more[] = {"gnu:a", "file:b", "go:x"};
	assert_int_equal(add(ix, ids, 2, candidate(1, UX_QUALITY_SYMTAB, 0), false, &r), UX_OK);
	assert_int_equal(r.add, UX_ADD_NEW);
	assert_false(r.had_any);
	assert_int_equal(add(ix, more, 3, candidate(2, UX_QUALITY_INLINES, 50), false, &r), UX_OK);
	assert_int_equal(r.add, UX_ADD_NEW);
	assert_int_equal(r.best, UX_QUALITY_SYMTAB);
	struct ux_module m = find(ix, &arena, "file:a");
	assert_int_equal(m.number, find(ix, &arena, "file:b").number);
	assert_int_equal(m.n_ids, 4);
	assert_string_equal(m.ids[0], "gnu:a");
	assert_string_equal(m.ids[1], "go:x");
	assert_string_equal(m.ids[2], "file:a");
	assert_int_equal(m.n_candidates, 2);
	assert_int_equal(m.candidates[0].quality, UX_QUALITY_INLINES);
	assert_int_equal(m.candidates[0].counts.line_bytes, 50);
	assert_string_equal(m.candidates[0].description, "cd");
	assert_int_equal(m.candidates[0].created, 2000);
	struct ux_module none;
	assert_int_equal(ix->module_find(ix, "default", "gnu:", &arena, &none, NULL), UX_ENOTFOUND);
	assert_int_equal(ix->module_find(ix, "other", "gnu:a", &arena, &none, NULL), UX_ENOTFOUND);
}

static void poorer_is_refused_unless_forced_and_the_same_is_the_same(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_add_result r;
	const char *ids[] = {"gnu:p"};
	assert_int_equal(add(ix, ids, 1, candidate(3, UX_QUALITY_LINES, 50), false, &r), UX_OK);
	assert_int_equal(add(ix, ids, 1, candidate(3, UX_QUALITY_LINES, 50), false, &r), UX_OK);
	assert_int_equal(r.add, UX_ADD_SAME);
	assert_int_equal(add(ix, ids, 1, candidate(4, UX_QUALITY_SYMTAB, 90), false, &r), UX_OK);
	assert_int_equal(r.add, UX_ADD_POORER);
	assert_int_equal(r.best, UX_QUALITY_LINES);
	assert_int_equal(add(ix, ids, 1, candidate(5, UX_QUALITY_LINES, 49), false, &r), UX_OK);
	assert_int_equal(r.add, UX_ADD_POORER);
	assert_int_equal(find(ix, &arena, "gnu:p").n_candidates, 1);
	assert_int_equal(add(ix, ids, 1, candidate(4, UX_QUALITY_SYMTAB, 90), true, &r), UX_OK);
	assert_int_equal(r.add, UX_ADD_NEW);
	struct ux_module m = find(ix, &arena, "gnu:p");
	assert_int_equal(m.n_candidates, 2);
	assert_int_equal(m.candidates[0].quality, UX_QUALITY_LINES);
}

static void ids_that_contradict_are_refused_and_change_nothing(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_add_result r;
	struct ux_module m;
	const char *one[] = {"gnu:c1"}, *two[] = {"gnu:c2", "file:c2"};
	const char *both[] = {"gnu:c1", "file:c2"}, *second[] = {"gnu:c3", "file:c2"},
		   *pair[] = {"gnu:c4", "gnu:c5"};
	struct ux_candidate c = candidate(6, UX_QUALITY_INLINES, 1);
	assert_int_equal(add(ix, one, 1, c, false, &r), UX_OK);
	assert_int_equal(add(ix, two, 2, c, false, &r), UX_OK);
	c = candidate(7, UX_QUALITY_INLINES, 2);
	assert_int_equal(add(ix, both, 2, c, false, &r), UX_ECONFLICT);
	assert_int_equal(add(ix, second, 2, c, false, &r), UX_ECONFLICT);
	assert_int_equal(add(ix, pair, 2, c, false, &r), UX_ECONFLICT);
	assert_int_equal(find(ix, &arena, "gnu:c1").n_candidates, 1);
	assert_int_equal(find(ix, &arena, "gnu:c2").n_candidates, 1);
	assert_int_equal(ix->module_find(ix, "default", "gnu:c4", &arena, &m, NULL), UX_ENOTFOUND);
	bool used = true;
	assert_int_equal(ix->blob_used(ix, &c.blob, &used, NULL), UX_OK);
	assert_false(used);
}

static void finishing_twice_is_a_conflict(struct ux_index *ix)
{
	struct ux_add_result r;
	const char *ids[] = {"gnu:f"};
	struct ux_upload up = upload(uid_b, ids, 1);
	struct ux_candidate c = candidate(8, UX_QUALITY_LINES, 1);
	assert_int_equal(ix->upload_add(ix, &up, NULL), UX_OK);
	assert_int_equal(ix->upload_finish(ix, &up, &c, 1, &r, NULL), UX_OK);
	assert_int_equal(ix->upload_finish(ix, &up, &c, 1, &r, NULL), UX_ECONFLICT);
}

static void pages_join_to_the_whole_list(struct ux_index *ix)
{
	UX_ARENA(arena, 8 << 20);
	struct ux_add_result r;
	char text[16];
	const char *ids[] = {text};
	for (unsigned i = 0; i < 7; i++) {
		snprintf(text, sizeof(text), "gnu:l%u", i);
		assert_int_equal(add(ix, ids, 1, candidate(9, UX_QUALITY_LINES, 1), false, &r),
				 UX_OK);
	}
	struct ux_module_list all, page;
	assert_int_equal(ix->module_list(ix, "default", 0, 1000, &arena, &all, NULL), UX_OK);
	assert_false(all.more);
	assert_true(all.n >= 7);
	int64_t after = 0;
	for (size_t i = 0; i < all.n; i += 3) {
		assert_int_equal(ix->module_list(ix, "default", after, 3, &arena, &page, NULL),
				 UX_OK);
		assert_int_equal(page.more, i + 3 < all.n);
		for (size_t k = 0; k < page.n; k++)
			assert_int_equal(page.modules[k].number, all.modules[i + k].number);
		after = page.modules[page.n - 1].number;
	}
	assert_int_equal(ix->module_list(ix, "other", 0, 10, &arena, &page, NULL), UX_OK);
	assert_int_equal(page.n, 0);
}

static void removed_module_leaves_nothing(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_add_result r;
	struct ux_module m;
	const char *ids[] = {"gnu:r", "file:r"};
	struct ux_candidate c = candidate(10, UX_QUALITY_LINES, 1);
	bool used = false;
	assert_int_equal(add(ix, ids, 2, c, false, &r), UX_OK);
	assert_int_equal(ix->blob_used(ix, &c.blob, &used, NULL), UX_OK);
	assert_true(used);
	assert_int_equal(ix->module_remove(ix, "other", "gnu:r", NULL), UX_ENOTFOUND);
	assert_int_equal(ix->module_remove(ix, "default", "file:r", NULL), UX_OK);
	assert_int_equal(ix->module_remove(ix, "default", "gnu:r", NULL), UX_ENOTFOUND);
	assert_int_equal(ix->module_find(ix, "default", "gnu:r", &arena, &m, NULL), UX_ENOTFOUND);
	assert_int_equal(ix->blob_used(ix, &c.blob, &used, NULL), UX_OK);
	assert_false(used);
}

static void index_in_sqlite_conforms(void **state)
{
	(void)state;
	struct dir d;
	struct ux_index *ix = NULL;
	dir_make(&d);
	assert_int_equal(ux_store_open_index(d.path, &ix, NULL), UX_OK);
	assert_int_equal(ix->version, UX_INDEX_VERSION);
	uploads_are_kept_as_announced(ix);
	modules_are_found_by_any_id_best_candidate_first(ix);
	poorer_is_refused_unless_forced_and_the_same_is_the_same(ix);
	ids_that_contradict_are_refused_and_change_nothing(ix);
	finishing_twice_is_a_conflict(ix);
	pages_join_to_the_whole_list(ix);
	removed_module_leaves_nothing(ix);
	ix->close(ix);
	/* opened again, all is still there */
	assert_int_equal(ux_store_open_index(d.path, &ix, NULL), UX_OK);
	UX_ARENA(arena, 1 << 20);
	assert_int_equal(find(ix, &arena, "gnu:a").n_candidates, 2);
	ix->close(ix);
	dir_remove(&d);
}

static void index_of_a_newer_unhex_is_refused(void **state)
{
	(void)state;
	struct dir d;
	char path[128];
	dir_make(&d);
	snprintf(path, sizeof(path), "%s/index.sqlite", d.path);
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "PRAGMA user_version = 999", NULL, NULL, NULL),
			 SQLITE_OK);
	sqlite3_close(db);
	struct ux_index *ix = NULL;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_index_sqlite_open(&ix, path, &err), UX_EUNSUPPORTED);
	assert_non_null(strstr(err.text, "schema 999"));
	dir_remove(&d);
}

static int64_t count_of(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st = NULL;
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	int64_t n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return n;
}

/* As the first schema left it: a row of a blob that no candidate has. */
static void index_of_the_first_schema_is_brought_up_to_date(void **state)
{
	(void)state;
	struct dir d;
	char path[128];
	dir_make(&d);
	snprintf(path, sizeof(path), "%s/index.sqlite", d.path);
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, ux_schema_steps[0].sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "PRAGMA user_version = 1;"
				      "INSERT INTO blobs (hash, size) VALUES (zeroblob(32), 1)",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	struct ux_index *ix = NULL;
	assert_int_equal(ux_index_sqlite_open(&ix, path, NULL), UX_OK);
	assert_int_equal(count_of(db, "PRAGMA user_version"), ux_schema_count);
	assert_int_equal(count_of(db, "SELECT count(*) FROM blobs"), 0);
	poorer_is_refused_unless_forced_and_the_same_is_the_same(ix);
	int64_t blobs = count_of(db, "SELECT count(*) FROM blobs");
	assert_true(blobs > 0);
	removed_module_leaves_nothing(ix);
	assert_int_equal(count_of(db, "SELECT count(*) FROM blobs"),
			 count_of(db, "SELECT count(DISTINCT blob) FROM candidates"));
	ix->close(ix);
	sqlite3_close(db);
	dir_remove(&d);
}

static void folder_is_for_its_owner_alone(void **state)
{
	(void)state;
	struct dir d;
	struct ux_store s;
	dir_make(&d);
	assert_int_equal(chmod(d.path, 0755), 0); /* made by somebody else, as /var/lib/unhex is */
	assert_int_equal(ux_store_open(&s, d.path, NULL), UX_OK);
	static const char *const names[] = {"index.sqlite", "index.sqlite-wal", "lock", "blobs",
					    "uploads"};
	for (size_t i = 0; i < ux_countof(names); i++) {
		char path[160];
		struct stat st;
		snprintf(path, sizeof(path), "%s/%s", d.path, names[i]);
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 077, 0);
	}
	ux_store_close(&s);
	dir_remove(&d);
}

static void index_file_that_is_none_is_refused(void **state)
{
	(void)state;
	struct dir d;
	char path[128];
	dir_make(&d);
	snprintf(path, sizeof(path), "%s/index.sqlite", d.path);
	FILE *f = fopen(path, "w");
	for (unsigned i = 0; i < 2000; i++)
		fputs("this is no database ", f);
	fclose(f);
	struct ux_index *ix = NULL;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_index_sqlite_open(&ix, path, &err), UX_EIO);
	assert_non_null(strstr(err.text, "damaged"));
	dir_remove(&d);
}

/* keys */

static void keys_open_what_they_say_until_they_end(void **state)
{
	(void)state;
	struct dir d;
	struct ux_index *ix = NULL;
	UX_ARENA(arena, 1 << 20);
	dir_make(&d);
	assert_int_equal(ux_store_open_index(d.path, &ix, NULL), UX_OK);
	char token[UX_TOKEN_SIZE], other[UX_TOKEN_SIZE];
	struct ux_key spec = {.scopes = UX_SCOPE_READ | UX_SCOPE_UPLOAD,
			      .description = "ci",
			      .expires = 500},
		      key, second = {.scopes = UX_SCOPE_ADMIN};
	assert_int_equal(ux_key_create(ix, &spec, 100, token, NULL), UX_OK);
	assert_int_equal(ux_key_create(ix, &second, 101, other, NULL), UX_OK);
	assert_int_equal(strlen(token), UX_TOKEN_SIZE - 1);
	assert_string_not_equal(token, other);
	assert_int_equal(ux_key_check(ix, ux_bytes_cstr(token), 499, &arena, &key, NULL), UX_OK);
	assert_int_equal(key.scopes, UX_SCOPE_READ | UX_SCOPE_UPLOAD);
	assert_string_equal(key.ns, "default");
	assert_string_equal(key.description, "ci");
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_key_check(ix, ux_bytes_cstr(token), 500, &arena, &key, &err),
			 UX_EDENIED);
	assert_non_null(strstr(err.text, "expired"));
	assert_int_equal(ix->key_revoke(ix, spec.id, 200, NULL), UX_OK);
	assert_int_equal(ix->key_revoke(ix, "nope", 200, NULL), UX_ENOTFOUND);
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(ux_key_check(ix, ux_bytes_cstr(token), 300, &arena, &key, &err),
			 UX_EDENIED);
	assert_non_null(strstr(err.text, "revoked"));
	struct ux_key_list list;
	assert_int_equal(ix->key_list(ix, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 2);
	assert_int_equal(list.keys[0].revoked, 200);
	assert_int_equal(list.keys[1].revoked, 0);
	ix->close(ix);
	dir_remove(&d);
}

static void tokens_that_are_wrong_in_any_way_are_denied_without_an_echo(void **state)
{
	(void)state;
	struct dir d;
	struct ux_index *ix = NULL;
	UX_ARENA(arena, 1 << 20);
	dir_make(&d);
	assert_int_equal(ux_store_open_index(d.path, &ix, NULL), UX_OK);
	char token[UX_TOKEN_SIZE];
	struct ux_key spec = {.scopes = UX_SCOPE_ADMIN}, key;
	assert_int_equal(ux_key_create(ix, &spec, 100, token, NULL), UX_OK);
	for (size_t i = 0; i < UX_TOKEN_SIZE - 1; i++) {
		char bad[UX_TOKEN_SIZE];
		memcpy(bad, token, sizeof(bad));
		bad[i] = bad[i] == 'q' ? 'p' : 'q';
		struct ux_error err = UX_ERROR_INIT;
		struct ux_bytes cut = guard(ux_bytes(token, i));
		assert_int_equal(ux_key_check(ix, cut, 1, &arena, &key, NULL), UX_EDENIED);
		guard_free(cut);
		assert_int_equal(ux_key_check(ix, ux_bytes_cstr(bad), 1, &arena, &key, &err),
				 UX_EDENIED);
		assert_null(strstr(err.text, bad + 3));
	}
	ix->close(ix);
	char cmd[256];
	snprintf(cmd, sizeof(cmd), "! grep -rqF %s %s", token + 3, d.path);
	assert_int_equal(system(cmd), 0); /* the token is nowhere on the disk */
	dir_remove(&d);
}

static void times_have_text_however_far_they_are(void **state)
{
	(void)state;
	char text[UX_TIME_TEXT];
	assert_string_equal(ux_time_text(0, text), "1970-01-01T00:00:00Z");
	assert_string_equal(ux_time_text(1787306400, text), "2026-08-21T10:00:00Z");
	assert_string_equal(ux_time_text(INT64_MAX, text), "unknown");
	assert_string_equal(ux_time_text(INT64_MIN, text), "unknown");
}

static void scopes_have_names(void **state)
{
	(void)state;
	unsigned scopes = 0;
	char text[UX_SCOPES_TEXT];
	assert_true(ux_scopes_parse(UX_STR("upload,read"), &scopes));
	assert_int_equal(scopes, UX_SCOPE_READ | UX_SCOPE_UPLOAD);
	assert_string_equal(ux_scopes_text(scopes, text), "read,upload");
	assert_string_equal(ux_scopes_text(UX_SCOPES_ALL, text),
			    "read,symbolize,upload,delete,admin");
	const char *const bad[] = {"", ",", "read,", "read,,upload", "Read", "all"};
	for (size_t i = 0; i < ux_countof(bad); i++)
		assert_false(ux_scopes_parse(ux_bytes_cstr(bad[i]), &scopes));
	struct ux_key none = {.scopes = 0}, more = {.scopes = 1 << 9};
	char token[UX_TOKEN_SIZE];
	assert_int_equal(ux_key_create(NULL, &none, 1, token, NULL), UX_EINVAL);
	assert_int_equal(ux_key_create(NULL, &more, 1, token, NULL), UX_EINVAL);
}

/* the store */

static void second_server_on_a_folder_is_refused(void **state)
{
	(void)state;
	struct dir d;
	struct ux_store one, two;
	struct ux_error err = UX_ERROR_INIT;
	dir_make(&d);
	assert_int_equal(ux_store_open(&one, d.path, NULL), UX_OK);
	assert_int_equal(ux_store_open(&two, d.path, &err), UX_ECONFLICT);
	assert_non_null(strstr(err.text, "another server"));
	ux_store_close(&one);
	assert_int_equal(ux_store_open(&two, d.path, NULL), UX_OK);
	ux_store_close(&two);
	dir_remove(&d);
}

static void sweep_takes_garbage_after_the_grace_time_only(void **state)
{
	(void)state;
	struct dir d;
	struct ux_store s;
	struct ux_add_result r;
	struct ux_sweep sw;
	dir_make(&d);
	assert_int_equal(ux_store_open(&s, d.path, NULL), UX_OK);
	put(s.blobs, uid_a, "used");
	struct ux_candidate c = candidate(0, UX_QUALITY_LINES, 1);
	c.blob = commit(s.blobs, uid_a);
	const char *ids[] = {"gnu:s"};
	assert_int_equal(add(s.index, ids, 1, c, false, &r), UX_OK);
	put(s.blobs, uid_b, "garbage");
	commit(s.blobs, uid_b);
	put(s.blobs, uid_b, "part");
	assert_int_equal(ux_store_sweep(&s, 3600, 2100, &sw, NULL), UX_OK);
	assert_true(sw.blobs == 0 && sw.parts == 0 && sw.uploads == 0);
	assert_int_equal(count_blobs(s.blobs), 2);
	assert_int_equal(ux_store_sweep(&s, 0, 2001, &sw, NULL), UX_OK);
	assert_int_equal(sw.blobs, 1);
	assert_int_equal(sw.parts, 1);
	assert_int_equal(sw.uploads, 1);
	assert_blob(s.blobs, &c.blob, "used");
	assert_int_equal(count_blobs(s.blobs), 1);
	ux_store_close(&s);
	dir_remove(&d);
}

static void data_folder_follows_the_environment(void **state)
{
	(void)state;
	char *dir = NULL;
	assert_int_equal(setenv("XDG_DATA_HOME", "/x/y", 1), 0);
	assert_int_equal(ux_store_default_dir(&dir, NULL), UX_OK);
	assert_string_equal(dir, "/x/y/unhex");
	free(dir);
	assert_int_equal(setenv("XDG_DATA_HOME", "relative", 1), 0); /* to be ignored */
	assert_int_equal(setenv("HOME", "/h", 1), 0);
	assert_int_equal(ux_store_default_dir(&dir, NULL), UX_OK);
	assert_string_equal(dir, "/h/.local/share/unhex");
	free(dir);
	assert_int_equal(unsetenv("HOME"), 0);
	assert_int_equal(ux_store_default_dir(&dir, NULL), UX_EINVAL);
}

static enum ux_code open_and_close(void *ctx)
{
	struct ux_store s;
	UX_TRY(ux_store_open(&s, ctx, NULL));
	ux_store_close(&s);
	return UX_OK;
}

static void store_survives_each_failed_allocation(void **state)
{
	(void)state;
	struct dir d;
	dir_make(&d);
	assert_true(each_failed_alloc(open_and_close, d.path, /* may_recover= */ true) > 3);
	dir_remove(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(blobs_in_memory_conform),
		UX_TEST(blobs_in_files_conform),
		UX_TEST(blob_file_is_where_its_hash_says_and_is_not_writable),
		UX_TEST(index_in_sqlite_conforms),
		UX_TEST(index_of_a_newer_unhex_is_refused),
		UX_TEST(index_of_the_first_schema_is_brought_up_to_date),
		UX_TEST(folder_is_for_its_owner_alone),
		UX_TEST(index_file_that_is_none_is_refused),
		UX_TEST(keys_open_what_they_say_until_they_end),
		UX_TEST(tokens_that_are_wrong_in_any_way_are_denied_without_an_echo),
		UX_TEST(times_have_text_however_far_they_are),
		UX_TEST(scopes_have_names),
		UX_TEST(second_server_on_a_folder_is_refused),
		UX_TEST(sweep_takes_garbage_after_the_grace_time_only),
		UX_TEST(data_folder_follows_the_environment),
		UX_TEST(store_survives_each_failed_allocation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
