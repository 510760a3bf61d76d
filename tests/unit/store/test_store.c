/* SPDX-License-Identifier: Apache-2.0 */
/* store: requirements for every backend of blobs and of the index, keys, the sweep. */
#include "sweep.h"

#include "blobs_mem.h"
#include "blobs_suite.h"
#include "db_engine.h"
#include "index.h"
#include "index_suite.h"
#include "keys.h"
#include "path_canonical.h"
#include "store.h"
#include "text.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

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
	blobs_put(b, blobs_uid_a, "abc");
	blobs_commit(b, blobs_uid_a);
	char path[256];
	snprintf(path, sizeof(path), "%s/blobs/ba/78/%s", d.path,
		 "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	struct stat st;
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0222, 0);
	assert_int_equal(chmod(path, 0600), 0); /* only root may write without it */
	assert_int_equal(truncate(path, 1), 0); /* damage, which the same bytes repair */
	blobs_put(b, blobs_uid_a, "abc");
	struct ux_blob_hash hash = blobs_commit(b, blobs_uid_a);
	assert_blob(b, &hash, "abc");
	b->close(b);
	dir_remove(&d);
}

/* index */

static int64_t count_of(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st = NULL;
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	int64_t n = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return n;
}

static void index_in_sqlite_conforms(void **state)
{
	(void)state;
	struct dir d;
	struct ux_index *ix = NULL;
	dir_make(&d);
	assert_int_equal(ux_store_open_index(d.path, &ix, NULL), UX_OK);
	assert_int_equal(ix->version, UX_INDEX_VERSION);
	index_conforms(ix);
	ix->close(ix);
	char path[128];
	sqlite3 *db = NULL;
	snprintf(path, sizeof(path), "%s/index.sqlite", d.path);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(count_of(db, "PRAGMA user_version"), ux_sqlite_schema.version);
	assert_true(count_of(db, "SELECT count(*) FROM blobs") > 0);
	assert_int_equal(count_of(db, "SELECT count(*) FROM blobs"),
			 count_of(db, "SELECT count(DISTINCT blob) FROM blobs_referred"));
	sqlite3_close(db);
	/* opened again, all is still there */
	assert_int_equal(ux_store_open_index(d.path, &ix, NULL), UX_OK);
	UX_ARENA(arena, 1 << 20);
	assert_int_equal(index_find(ix, &arena, "gnu:a").n_candidates, 2);
	ix->close(ix);
	dir_remove(&d);
}

static void damaged_rows_of_sqlite_are_found(void **state)
{
	(void)state;
	struct dir d;
	struct ux_index *ix = NULL;
	char path[128];
	dir_make(&d);
	assert_int_equal(ux_store_open_index(d.path, &ix, NULL), UX_OK);
	snprintf(path, sizeof(path), "%s/index.sqlite", d.path);
	index_damage_conforms(ix, path);
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
	assert_int_equal(ux_index_open(&ix, path, &err), UX_EUNSUPPORTED);
	char text[128];
	snprintf(text, sizeof(text), "newer unhex (schema 999, this one reads up to %d); install",
		 ux_sqlite_schema.version);
	assert_non_null(strstr(err.text, text));
	assert_non_null(strstr(err.text, "that version or restore a backup"));
	dir_remove(&d);
}

/* Its tables are not looked at: nothing may have changed in the file but its header. */
static void index_of_before_the_base_is_refused(void **state)
{
	(void)state;
	const struct ux_schema *s = &ux_sqlite_schema;
	assert_true(s->base > 1);
	for (int version = 1; version < s->base; version++) {
		struct dir d;
		char path[128], text[256];
		dir_make(&d);
		snprintf(path, sizeof(path), "%s/index.sqlite", d.path);
		sqlite3 *db = NULL;
		assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
		snprintf(text, sizeof(text), "PRAGMA user_version = %d; CREATE TABLE modules (x)",
			 version);
		assert_int_equal(sqlite3_exec(db, text, NULL, NULL, NULL), SQLITE_OK);
		struct ux_index *ix = NULL;
		struct ux_error err = UX_ERROR_INIT;
		assert_int_equal(ux_index_open(&ix, path, &err), UX_EUNSUPPORTED);
		snprintf(text, sizeof(text),
			 "the index was written by an older unhex (schema %d, this one reads %d "
			 "and later); open it once with an unhex that upgrades it to schema %d",
			 version, s->base, s->base);
		assert_string_equal(err.text, text);
		assert_int_equal(count_of(db, "PRAGMA user_version"), version);
		assert_int_equal(count_of(db, "SELECT count(*) FROM sqlite_schema"), 1);
		sqlite3_close(db);
		dir_remove(&d);
	}
}

static void steps_after_the_base_are_found(void **state)
{
	(void)state;
	static const struct ux_schema_step steps[] = {
		{"0007-base.sql", "a"}, {"0008-b.sql", "b"}, {"0009-c.sql", "c"}, {0}};
	const struct ux_schema s = {steps, 7, 9};
	assert_ptr_equal(ux_schema_missing(&s, 0), &steps[0]);
	assert_ptr_equal(ux_schema_missing(&s, 7), &steps[1]);
	assert_ptr_equal(ux_schema_missing(&s, 8), &steps[2]);
	assert_null(ux_schema_missing(&s, 9)->sql);
	assert_null(ux_schema_missing(&s, 9000)->sql); /* one that PostgreSQL allows */
	assert_int_equal(ux_schema_check_base(&s, 0, NULL), UX_OK);
	assert_int_equal(ux_schema_check_base(&s, 1, NULL), UX_EUNSUPPORTED);
	assert_int_equal(ux_schema_check_base(&s, 6, NULL), UX_EUNSUPPORTED);
	assert_int_equal(ux_schema_check_base(&s, 7, NULL), UX_OK);
	assert_int_equal(ux_schema_check_base(&s, 9, NULL), UX_OK);
}

/* Rows for all columns of the base; later steps add columns with defaults. */
static const char rows_of_each_schema[] =
	"INSERT INTO modules (number, ns, created, updated) VALUES (5, 'team', 100, 200);"
	"INSERT INTO ids (ns, id, module, rank) VALUES ('team', 'gnu:old', 5, 0), "
	"('team', 'file:old', 5, 3);"
	"INSERT INTO blobs VALUES (zeroblob(32), 1234);"
	"INSERT INTO candidates (number, ns, module, blob, kind, quality, functions, inlines, "
	"rows, "
	"code_bytes, line_bytes, description, file_name, key_id, created) VALUES (9, 'team', 5, "
	"zeroblob(32), 'gsym', 4, 1, 2, 3, 4, 5, 'd', '/opt/a/prog', 'k', 150);"
	"INSERT INTO uploads (uid, ns, key_id, size, hash, kind, claim, description, file_name, "
	"force, state, status, reason, created, updated) VALUES "
	"('0123456789abcdef0123456789abcdef', 'team', 'k', 7, zeroblob(32), 'gsym', 3, 'd', 'f', "
	"0, "
	"0, '', '', 300, 300);"
	"INSERT INTO upload_ids VALUES ('0123456789abcdef0123456789abcdef', 0, 'gnu:new');";

static void put_key(sqlite3 *db, const char *token)
{
	struct ux_blob_hash hash = ux_blob_hash_of(ux_bytes_cstr(token));
	char text[65], sql[512];
	ux_blob_hash_text(&hash, text);
	snprintf(sql, sizeof(sql),
		 "INSERT INTO keys (id, ns, scopes, description, created, expires, revoked) "
		 "VALUES ('%.12s', 'team', 5, 'ci', 50, 0, 0);"
		 "INSERT INTO tokens (id, hash, key, created, expires) "
		 "VALUES ('%.12s', x'%s', '%.12s', 50, 0)",
		 text, text, text, text);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static void make_index_of_schema(const char *path, int version, const char *token)
{
	sqlite3 *db = NULL;
	char sql[64];
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_true(ux_sqlite_define_row_sum(db));
	for (int i = 0; i <= version - ux_sqlite_schema.base; i++)
		assert_int_equal(sqlite3_exec(db, ux_sqlite_schema.steps[i].sql, NULL, NULL, NULL),
				 SQLITE_OK);
	snprintf(sql, sizeof(sql), "PRAGMA user_version = %d", version);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, rows_of_each_schema, NULL, NULL, NULL), SQLITE_OK);
	put_key(db, token);
	sqlite3_close(db);
}

static int64_t schema_changes(const char *path)
{
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	int64_t n = count_of(db, "PRAGMA schema_version");
	sqlite3_close(db);
	return n;
}

/* Profiles of the base have a blob for themselves, which two of them share if it is the same. */
static const char profiles_of_the_base[] =
	"INSERT INTO blobs VALUES (randomblob(32), 77);"
	"INSERT INTO profiles (number, ns, service, host, build, started, ended, samples, level, "
	"blob, size, key_id, created) SELECT n, 'team', 'api', 'a', 'v1', 1, 2, 3, 0, hash, 77, "
	"'k', 100 FROM blobs JOIN (SELECT 1 AS n UNION SELECT 2) ON size = 77;";

static void profiles_of_the_base_are_whole_blobs(void **state)
{
	(void)state;
	struct dir d;
	char path[128];
	sqlite3 *db = NULL;
	struct ux_index *ix = NULL;
	struct ux_kept_profile got;
	struct ux_profile_usage usage;
	uint64_t n = 0;
	UX_ARENA(arena, 1 << 20);
	dir_make(&d);
	snprintf(path, sizeof(path), "%s/index.sqlite", d.path);
	make_index_of_schema(path, ux_sqlite_schema.base, "ux_token");
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, profiles_of_the_base, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(ux_index_open(&ix, path, NULL), UX_OK);
	assert_int_equal(ix->profiles.find(ix, "team", 2, &arena, &got, NULL), UX_OK);
	assert_true(got.off == 0 && got.length == 77 && got.size == 77);
	assert_int_equal(ix->profiles.usage(ix, "team", &usage, NULL), UX_OK);
	assert_true(usage.profiles == 2 && usage.bytes == 77);
	assert_int_equal(ix->profiles.expire(ix, INT64_MAX, 10, &n, NULL), UX_OK);
	assert_int_equal(n, 2);
	assert_int_equal(ix->profiles.usage(ix, NULL, &usage, NULL), UX_OK);
	assert_true(usage.profiles == 0 && usage.bytes == 0);
	ix->close(ix);
	dir_remove(&d);
}

static void index_of_each_schema_keeps_everything(void **state)
{
	(void)state;
	static const char token[] = "ux_abcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrst";
	static const char uid[] = "0123456789abcdef0123456789abcdef";
	for (int version = ux_sqlite_schema.base; version <= ux_sqlite_schema.version; version++) {
		struct dir d;
		char path[128];
		struct ux_index *ix = NULL;
		struct ux_module m;
		struct ux_upload up;
		struct ux_key key;
		struct ux_usage use;
		struct ux_known known;
		static const char *const ids[] = {"file:old"};
		struct ux_usage_errors wrong;
		UX_ARENA(arena, 1 << 20);
		dir_make(&d);
		snprintf(path, sizeof(path), "%s/index.sqlite", d.path);
		make_index_of_schema(path, version, token);
		const int64_t changes = schema_changes(path);
		assert_int_equal(ux_index_open(&ix, path, NULL), UX_OK);
		assert_int_equal(schema_changes(path) == changes,
				 version == ux_sqlite_schema.version);
		index_rows_are_whole(ix);
		assert_int_equal(ix->modules.find(ix, "team", "file:old", &arena, &m, NULL), UX_OK);
		assert_int_equal(m.number, 5);
		assert_int_equal(m.n_ids, 2);
		assert_int_equal(m.n_candidates, 1);
		assert_string_equal(m.candidates[0].file_name, "/opt/a/prog");
		assert_int_equal(m.candidates[0].quality, 4);
		assert_int_equal(ix->modules.known(ix, "team", ids, 1, &known, NULL), UX_OK);
		assert_true(known.module == 5 && known.any && known.quality == 4);
		assert_int_equal(ix->uploads.find(ix, uid, &arena, &up, NULL), UX_OK);
		assert_string_equal(up.ids[0], "gnu:new");
		assert_int_equal(ux_key_check(ix, ux_bytes_cstr(token), 60, &arena, &key, NULL),
				 UX_OK);
		assert_string_equal(key.ns, "team");
		assert_int_equal(ix->namespaces.usage(ix, "team", &use, NULL), UX_OK);
		assert_int_equal(use.modules, 1);
		assert_int_equal(ix->namespaces.recount(ix, false, &arena, &wrong, NULL), UX_OK);
		assert_int_equal(wrong.n, 0);
		assert_int_equal(
			ix->modules.remove(ix, "team", "gnu:old", &index_tester, 400, NULL), UX_OK);
		struct ux_blob_rows garbage;
		assert_int_equal(ix->blobs.garbage(ix, INT64_MAX, 10, &arena, &garbage, NULL),
				 UX_OK);
		assert_int_equal(garbage.n, 1);
		ix->close(ix);
		dir_remove(&d);
	}
}

static void source_paths_have_one_form(void **state)
{
	(void)state;
	static const struct {
		const char *path, *canonical;
	} cases[] = {
		{"/a/b.c", "/a/b.c"},
		{"//a///b.c", "/a/b.c"},
		{"/a/./b.c", "/a/b.c"},
		{"/a/x/../b.c", "/a/b.c"},
		{"/a/b.c/", "/a/b.c"},
		{"/a/b/..", "/a"},
		{"/..a/b..", "/..a/b.."},
		{"/a/x/y/../../b", "/a/b"},
		{"/.../b", "/.../b"},
		{"a/b.c", NULL},
		{"", NULL},
		{"/", NULL},
		{"/..", NULL},
		{"/a/../..", NULL},
		{"/a/..", NULL},
	};
	UX_ARENA(arena, 1 << 20);
	for (size_t i = 0; i < ux_countof(cases); i++) {
		const char *got = NULL;
		struct ux_bytes path = guard(ux_bytes_cstr(cases[i].path));
		enum ux_code code = ux_path_canonical(path, &arena, &got, NULL);
		assert_int_equal(code, cases[i].canonical ? UX_OK : UX_EINVAL);
		if (cases[i].canonical)
			assert_string_equal(got, cases[i].canonical);
		guard_free(path);
	}
	const char *got = NULL;
	assert_int_equal(ux_path_canonical(UX_STR("/a\0b"), &arena, &got, NULL), UX_EINVAL);
	static char much[UX_PATH_BYTES + 1];
	memset(much, 'a', UX_PATH_BYTES);
	much[0] = '/';
	assert_int_equal(ux_path_canonical(ux_bytes_cstr(much), &arena, &got, NULL), UX_EINVAL);
}

/* Processor time: other programs' work does not count. */
static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* 100,000 modules of two IDs and a candidate each, by SQL: through the interface, each would sync.
 */
static void make_many(const char *path)
{
	struct ux_index *ix = NULL;
	assert_int_equal(ux_index_open(&ix, path, NULL), UX_OK);
	ix->close(ix);
	sqlite3 *db = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_true(ux_sqlite_define_row_sum(db));
	assert_int_equal(
		sqlite3_exec(
			db,
			"BEGIN;"
			"CREATE TEMP TABLE n AS WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT "
			"i + 1 FROM c WHERE i < 100000) SELECT i FROM c;"
			"INSERT INTO modules (number, ns, created, updated, last_used) "
			"SELECT i, 'default', i, i, i FROM n;"
			"INSERT INTO ids (ns, id, module, rank) SELECT 'default', "
			"printf('gnu:%040x', i * 2654435761), i, "
			"0 FROM n;"
			"INSERT INTO ids (ns, id, module, rank) SELECT 'default', "
			"printf('file:%032x', i * 40503), i, 3 "
			"FROM n;"
			"INSERT INTO blobs SELECT CAST(printf('%032d', i) AS BLOB), 1000 FROM n;"
			"INSERT INTO candidates (ns, module, blob, size, kind, quality, functions, "
			"inlines, rows, code_bytes, line_bytes, description, file_name, key_id, "
			"created) SELECT 'default', i, CAST(printf('%032d', i) AS BLOB), 1000, "
			"'gsym', 4, 1, 2, 3, 4, 5, '', printf('lib%d.so', i), '', i FROM n;"
			"COMMIT;",
			NULL, NULL, NULL),
		SQLITE_OK);
	sqlite3_close(db);
}

static void folder_of_a_hundred_thousand_modules_opens_and_answers_at_once(void **state)
{
	(void)state;
	struct dir d;
	struct ux_store s;
	struct ux_module m;
	struct ux_usage use;
	char path[128], id[64];
	UX_ARENA(arena, 4 << 20);
	dir_make(&d);
	snprintf(path, sizeof(path), "%s/index.sqlite", d.path);
	make_many(path);
	double start = seconds();
	assert_int_equal(ux_store_open(&s, d.path, NULL), UX_OK);
	for (unsigned i = 1; i <= 1000; i++) {
		snprintf(id, sizeof(id), "file:%032x", i * 40503);
		assert_int_equal(s.index->modules.find(s.index, "default", id, &arena, &m, NULL),
				 UX_OK);
		assert_int_equal(m.number, i);
	}
	assert_int_equal(s.index->namespaces.usage(s.index, "default", &use, NULL), UX_OK);
	assert_true(use.modules == 100000 && use.bytes == 100000000);
	double took = seconds() - start;
	print_message("opened, and 1000 modules found, in %.0f ms of processor time\n",
		      took * 1000);
	assert_true(took < 1);
	ux_store_close(&s);
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
	assert_int_equal(ux_index_open(&ix, path, &err), UX_EIO);
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
	assert_int_equal(ux_key_create(ix, &spec, &index_tester, 100, token, NULL), UX_OK);
	assert_int_equal(ux_key_create(ix, &second, &index_tester, 101, other, NULL), UX_OK);
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
	assert_int_equal(ix->keys.revoke(ix, spec.id, &index_tester, 200, NULL), UX_OK);
	assert_int_equal(ix->keys.revoke(ix, "nope", &index_tester, 200, NULL), UX_ENOTFOUND);
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(ux_key_check(ix, ux_bytes_cstr(token), 300, &arena, &key, &err),
			 UX_EDENIED);
	assert_non_null(strstr(err.text, "revoked"));
	struct ux_key_list list;
	assert_int_equal(ix->keys.list(ix, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 2);
	assert_int_equal(list.keys[0].revoked, 200);
	assert_int_equal(list.keys[1].revoked, 0);
	ix->close(ix);
	dir_remove(&d);
}

/* Finding the row by the beginning of the hash is not enough: all of it is compared. */
static void token_whose_hash_differs_in_any_byte_is_denied(void **state)
{
	(void)state;
	static const char token[] = "ux_abcdefghijklmnopqrstuvwxyz234567abcdefghijklmnopqrst";
	const struct ux_blob_hash hash = ux_blob_hash_of(ux_bytes_cstr(token));
	for (size_t i = 0; i <= sizeof(hash.bytes); i++) {
		struct dir d;
		struct ux_index *ix = NULL;
		UX_ARENA(arena, 1 << 20);
		dir_make(&d);
		assert_int_equal(ux_store_open_index(d.path, &ix, NULL), UX_OK);
		struct ux_token_row row = {.hash = hash, .created = 1};
		struct ux_key got, key = {.ns = "default",
					  .scopes = UX_SCOPE_READ,
					  .description = "",
					  .created = 1};
		ux_hex_encode(ux_bytes(hash.bytes, (UX_KEY_ID_SIZE - 1) / 2), row.id);
		memcpy(key.id, row.id, sizeof(key.id));
		if (i < sizeof(hash.bytes))
			row.hash.bytes[i] ^= 1;
		assert_int_equal(ix->keys.add(ix, &key, &row, &index_tester, NULL), UX_OK);
		assert_int_equal(ux_key_check(ix, ux_bytes_cstr(token), 2, &arena, &got, NULL),
				 i < sizeof(hash.bytes) ? UX_EDENIED : UX_OK);
		ix->close(ix);
		dir_remove(&d);
	}
}

static void rotation_never_lengthens_the_life_of_an_earlier_token(void **state)
{
	(void)state;
	struct dir d;
	struct ux_index *ix = NULL;
	UX_ARENA(arena, 1 << 20);
	enum {
		HALF_HOUR = 30 * 60,
		WEEK = 7 * 24 * 60 * 60
	};
	char first[UX_TOKEN_SIZE], second[UX_TOKEN_SIZE], third[UX_TOKEN_SIZE];
	struct ux_key spec = {.scopes = UX_SCOPE_READ}, key;
	dir_make(&d);
	assert_int_equal(ux_store_open_index(d.path, &ix, NULL), UX_OK);
	assert_int_equal(ux_key_create(ix, &spec, &index_tester, 100, first, NULL), UX_OK);
	assert_int_equal(ux_key_rotate(ix, spec.id, HALF_HOUR, &index_tester, 200, second, NULL),
			 UX_OK);
	assert_int_equal(ux_key_rotate(ix, spec.id, WEEK, &index_tester, 300, third, NULL), UX_OK);
	const struct {
		const char *token;
		ux_time ends; /* 0: never */
	} cases[] = {{first, 200 + HALF_HOUR}, {second, 300 + WEEK}, {third, 0}};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_bytes token = ux_bytes_cstr(cases[i].token);
		ux_time last = cases[i].ends ? cases[i].ends - 1 : INT64_MAX;
		assert_int_equal(ux_key_check(ix, token, last, &arena, &key, NULL), UX_OK);
		if (cases[i].ends)
			assert_int_equal(ux_key_check(ix, token, cases[i].ends, &arena, &key, NULL),
					 UX_EDENIED);
	}
	/* A shorter overlap ends all of them earlier. */
	assert_int_equal(ux_key_rotate(ix, spec.id, 0, &index_tester, 400, third, NULL), UX_OK);
	assert_int_equal(ux_key_check(ix, ux_bytes_cstr(second), 400, &arena, &key, NULL),
			 UX_EDENIED);
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
	assert_int_equal(ux_key_create(ix, &spec, &index_tester, 100, token, NULL), UX_OK);
	for (size_t i = 0; i < UX_TOKEN_SIZE - 1; i++) {
		char bad[UX_TOKEN_SIZE];
		memcpy(bad, token, sizeof(bad));
		bad[i] = bad[i] == 'q' ? 'p' : 'q';
		struct ux_error err = UX_ERROR_INIT;
		struct ux_bytes cut = guard(ux_bytes(token, i));
		assert_int_equal(ux_key_check(ix, cut, 1, &arena, &key, &err), UX_EDENIED);
		assert_non_null(strstr(err.text, "not a token"));
		guard_free(cut);
		err = (struct ux_error)UX_ERROR_INIT;
		assert_int_equal(ux_key_check(ix, ux_bytes_cstr(bad), 1, &arena, &key, &err),
				 UX_EDENIED);
		assert_null(strstr(err.text, bad + 3));
		assert_non_null(strstr(err.text, i < 3 ? "not a token" : "unknown token"));
		/* neither a letter or digit of a token nor the end of one */
		static const char never[] = {'\0', '1', 'Q', '\xff'};
		memcpy(bad, token, sizeof(bad));
		bad[i] = never[i % ux_countof(never)];
		err = (struct ux_error)UX_ERROR_INIT;
		assert_int_equal(
			ux_key_check(ix, ux_bytes(bad, UX_TOKEN_SIZE - 1), 1, &arena, &key, &err),
			UX_EDENIED);
		assert_non_null(strstr(err.text, "not a token"));
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
			    "read,symbolize,upload,delete,admin,metrics,server,crawl,agent");
	assert_true(sizeof("read,symbolize,upload,delete,admin,metrics,server,crawl,agent") <=
		    UX_SCOPES_TEXT);
	assert_int_equal(ux_scopes_included(UX_SCOPE_ADMIN), UX_SCOPES_NAMESPACE);
	assert_int_equal(ux_scopes_included(UX_SCOPE_METRICS), UX_SCOPE_METRICS);
	assert_int_equal(ux_scopes_included(UX_SCOPE_SERVER), UX_SCOPES_ALL);
	const char *const bad[] = {"", ",", "read,", "read,,upload", "Read", "all"};
	for (size_t i = 0; i < ux_countof(bad); i++)
		assert_false(ux_scopes_parse(ux_bytes_cstr(bad[i]), &scopes));
	struct ux_key none = {.scopes = 0}, more = {.scopes = 1 << 9};
	char token[UX_TOKEN_SIZE];
	assert_int_equal(ux_key_create(NULL, &none, &index_tester, 1, token, NULL), UX_EINVAL);
	assert_int_equal(ux_key_create(NULL, &more, &index_tester, 1, token, NULL), UX_EINVAL);
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

static void backends_of_another_interface_are_refused(void **state)
{
	(void)state;
	struct dir d;
	struct ux_store s;
	struct ux_error err = UX_ERROR_INIT;
	dir_make(&d);
	assert_int_equal(ux_store_open(&s, d.path, NULL), UX_OK);
	assert_int_equal(ux_store_check_backends(&s, NULL), UX_OK);
	s.blobs->version++;
	assert_int_equal(ux_store_check_backends(&s, &err), UX_EUNSUPPORTED);
	assert_non_null(strstr(err.text, "blob backend"));
	s.blobs->version--;
	s.index->version--;
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(ux_store_check_backends(&s, &err), UX_EUNSUPPORTED);
	assert_non_null(strstr(err.text, "index backend"));
	ux_store_close(&s);
	dir_remove(&d);
}

static void sweep_takes_garbage_after_the_grace_time_only(void **state)
{
	(void)state;
	struct dir d;
	dir_make(&d);
	store_conforms(&(const struct ux_store_place){.dir = d.path});
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

UX_SUITE(store)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(blobs_in_memory_conform),
		UX_TEST(blobs_in_files_conform),
		UX_TEST(blob_file_is_where_its_hash_says_and_is_not_writable),
		UX_TEST(index_in_sqlite_conforms),
		UX_TEST(damaged_rows_of_sqlite_are_found),
		UX_TEST(index_of_a_newer_unhex_is_refused),
		UX_TEST(index_of_before_the_base_is_refused),
		UX_TEST(steps_after_the_base_are_found),
		UX_TEST(profiles_of_the_base_are_whole_blobs),
		UX_TEST(index_of_each_schema_keeps_everything),
		UX_TEST(source_paths_have_one_form),
		UX_TEST(folder_of_a_hundred_thousand_modules_opens_and_answers_at_once),
		UX_TEST(folder_is_for_its_owner_alone),
		UX_TEST(index_file_that_is_none_is_refused),
		UX_TEST(keys_open_what_they_say_until_they_end),
		UX_TEST(token_whose_hash_differs_in_any_byte_is_denied),
		UX_TEST(rotation_never_lengthens_the_life_of_an_earlier_token),
		UX_TEST(tokens_that_are_wrong_in_any_way_are_denied_without_an_echo),
		UX_TEST(times_have_text_however_far_they_are),
		UX_TEST(scopes_have_names),
		UX_TEST(second_server_on_a_folder_is_refused),
		UX_TEST(backends_of_another_interface_are_refused),
		UX_TEST(sweep_takes_garbage_after_the_grace_time_only),
		UX_TEST(data_folder_follows_the_environment),
		UX_TEST(store_survives_each_failed_allocation),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
