/* SPDX-License-Identifier: Apache-2.0 */
/* An index with one failing statement: the change fails as a whole, and a list has no holes. */
#include "sweep.h"

#include "index_suite.h"
#include "keys.h"
#include "out.h"
#include "store.h"

#include <sqlite3.h>
#include <stdio.h>
#include <unistd.h>

/* The linker gives the store __wrap_, and __real_ is SQLite's. */
int __wrap_sqlite3_step(sqlite3_stmt *st);
int __real_sqlite3_step(sqlite3_stmt *st);

static unsigned n_steps, fails_at; /* the step that fails, counted from 1; 0: none */

int __wrap_sqlite3_step(sqlite3_stmt *st)
{
	const char *sql = sqlite3_sql(st);
	if (sql && strcmp(sql, "ROLLBACK") == 0) /* SQLite's own does not fail */
		return __real_sqlite3_step(st);
	return ++n_steps == fails_at ? SQLITE_IOERR : __real_sqlite3_step(st);
}

/* A text is NULL if there is no memory for it. */
const unsigned char *__wrap_sqlite3_column_text(sqlite3_stmt *st, int column);
const unsigned char *__real_sqlite3_column_text(sqlite3_stmt *st, int column);

static unsigned n_texts, text_fails_at; /* the same of texts */

const unsigned char *__wrap_sqlite3_column_text(sqlite3_stmt *st, int column)
{
	return ++n_texts == text_fails_at ? NULL : __real_sqlite3_column_text(st, column);
}

/* sqlite3_exec() sets how commits wait for the disk. The call that turns waiting off fails like a
 * step. */
int __wrap_sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **),
			void *ctx, char **err);
int __real_sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **),
			void *ctx, char **err);

static bool full_fails; /* the call that turns waiting on always fails */

int __wrap_sqlite3_exec(sqlite3 *db, const char *sql, int (*row)(void *, int, char **, char **),
			void *ctx, char **err)
{
	if (strcmp(sql, "PRAGMA synchronous = NORMAL") == 0 && ++n_steps == fails_at)
		return SQLITE_IOERR;
	if (strcmp(sql, "PRAGMA synchronous = FULL") == 0 && full_fails)
		return SQLITE_IOERR;
	return __real_sqlite3_exec(db, sql, row, ctx, err);
}

static char dir[64];
static sqlite3 *reader; /* another connection to the index */

static int open_store(void **state)
{
	static struct ux_store store;
	char path[128];
	snprintf(dir, sizeof(dir), "/tmp/unhex-faults-XXXXXX");
	assert_non_null(mkdtemp(dir));
	assert_int_equal(ux_store_open(&store, dir, NULL), UX_OK);
	snprintf(path, sizeof(path), "%s/index.sqlite", dir);
	assert_int_equal(sqlite3_open(path, &reader), SQLITE_OK);
	fails_at = 0;
	*state = &store;
	return 0;
}

static int close_store(void **state)
{
	char command[128];
	fails_at = 0;
	assert_int_equal(sqlite3_close(reader), SQLITE_OK);
	ux_store_close(*state);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	assert_int_equal(system(command), 0);
	return 0;
}

static void add_rows(struct ux_out *out, const char *sql)
{
	sqlite3_stmt *st = NULL;
	assert_int_equal(sqlite3_prepare_v2(reader, sql, -1, &st, NULL), SQLITE_OK);
	while (__real_sqlite3_step(st) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(st); i++) {
			const uint8_t *value = sqlite3_column_blob(st, i);
			ux_out_put(out, value, (size_t)sqlite3_column_bytes(st, i));
			ux_out_u8(out, '|');
		}
	assert_int_equal(sqlite3_finalize(st), SQLITE_OK);
}

/* The hash of all rows of all tables. */
static struct ux_blob_hash contents(void)
{
	struct ux_out out = {0};
	sqlite3_stmt *st = NULL;
	static const char tables[] = "SELECT name FROM sqlite_master WHERE type = 'table'";
	assert_int_equal(sqlite3_prepare_v2(reader, tables, -1, &st, NULL), SQLITE_OK);
	while (__real_sqlite3_step(st) == SQLITE_ROW) {
		char sql[128];
		snprintf(sql, sizeof(sql), "SELECT * FROM %s", sqlite3_column_text(st, 0));
		add_rows(&out, sql);
	}
	assert_int_equal(sqlite3_finalize(st), SQLITE_OK);
	struct ux_blob_hash hash = ux_blob_hash_of(ux_bytes(out.data, out.size));
	ux_out_deinit(&out);
	return hash;
}

struct call {
	const char *name;
	enum ux_code (*run)(struct ux_index *ix);
	bool reads; /* it changes nothing */
};

/* Fails each statement of the call in turn; the last time none. */
static void each_failed_statement(struct ux_index *ix, const struct call *call)
{
	struct ux_blob_hash before = contents();
	for (unsigned n = 1;; n++) {
		n_steps = 0;
		fails_at = n;
		enum ux_code code = call->run(ix);
		bool failed = n_steps >= n;
		fails_at = 0;
		if (!failed) {
			if (code != UX_OK)
				fail_msg("%s: code %d", call->name, (int)code);
			return;
		}
		if (code == UX_OK)
			fail_msg("%s: statement %u fails, and it does not", call->name, n);
		struct ux_blob_hash after = contents();
		if (memcmp(&before, &after, sizeof(before)) != 0)
			fail_msg("%s: statement %u fails, and a part is changed", call->name, n);
	}
}

/* The same for texts, in a call that only reads. */
static void each_failed_text(struct ux_index *ix, const struct call *call)
{
	for (unsigned n = 1;; n++) {
		n_texts = 0;
		text_fails_at = n;
		enum ux_code code = call->run(ix);
		text_fails_at = 0;
		if (n_texts < n)
			return;
		if (code == UX_OK)
			fail_msg("%s: there is no memory for text %u, and it does not fail",
				 call->name, n);
	}
}

/* --- calls ------------------------------------------------------------------------------------ */

#define NS UX_NAMESPACE_DEFAULT
#define ID "gnu:a"

static const struct ux_who who = {.key_id = "k", .from = "test"};
static const char uid_gsym[] = "0123456789abcdef0123456789abcdef";
static const char uid_elf[] = "fedcba9876543210fedcba9876543210";
static const char uid_bad[] = "00000000000000000000000000000000";
static char key_id[UX_KEY_ID_SIZE], token_id[UX_KEY_ID_SIZE];
static int64_t module, elf, job;
static struct ux_arena arena;

static enum ux_code add_key(struct ux_index *ix)
{
	char token[UX_TOKEN_SIZE];
	struct ux_key key = {.ns = "team", .scopes = UX_SCOPE_READ, .description = "d"};
	UX_TRY(ux_key_create(ix, &key, &who, 1000, token, NULL));
	memcpy(key_id, key.id, sizeof(key_id));
	ux_token_id(ux_bytes_cstr(token), token_id);
	return UX_OK;
}

static enum ux_code rotate_key(struct ux_index *ix)
{
	char token[UX_TOKEN_SIZE];
	return ux_key_rotate(ix, key_id, 60, &who, 1100, token, NULL);
}

static enum ux_code touch_key(struct ux_index *ix)
{
	struct ux_key_touch touch = {.time = 1200};
	memcpy(touch.id, key_id, sizeof(key_id));
	return ix->keys.touch(ix, &touch, 1, NULL);
}

static enum ux_code revoke_key(struct ux_index *ix)
{
	return ix->keys.revoke(ix, key_id, &who, 1300, NULL);
}

static enum ux_code put_namespace(struct ux_index *ix)
{
	const struct ux_namespace ns = {.name = "other", .upstreams = "*", .description = "d"};
	return ix->namespaces.put(ix, &ns, &who, 1400, NULL);
}

static enum ux_code remove_namespace(struct ux_index *ix)
{
	return ix->namespaces.remove(ix, "other", &who, 1500, NULL);
}

static struct ux_upload upload(const char *uid, enum ux_kind kind)
{
	static const char *ids[] = {ID, "file:a"};
	struct ux_upload up = {.ns = NS,
			       .key_id = "k",
			       .ids = ids,
			       .n_ids = 2,
			       .size = 7,
			       .kind = kind,
			       .description = "d",
			       .file_name = "f",
			       .status = "",
			       .reason = "",
			       .created = 2000};
	snprintf(up.uid, sizeof(up.uid), "%s", uid);
	return up;
}

static enum ux_code add_upload(struct ux_index *ix)
{
	struct ux_upload_limits limits = {.of_key = 9, .since = 1000};
	struct ux_upload up = upload(uid_gsym, UX_KIND_GSYM);
	up.limits = &limits;
	return ix->uploads.add(ix, &up, NULL);
}

static enum ux_code finish_upload(struct ux_index *ix)
{
	struct ux_add_result r;
	const struct ux_upload up = upload(uid_gsym, UX_KIND_GSYM);
	const struct ux_candidate c = index_candidate(1, UX_QUALITY_SYMTAB, 0);
	UX_TRY(ix->uploads.finish(ix, &up, &c, &who, 2100, &r, NULL));
	module = r.module;
	return UX_OK;
}

static enum ux_code add_upload_of_elf(struct ux_index *ix)
{
	const struct ux_upload up = upload(uid_elf, UX_KIND_EXECUTABLE);
	return ix->uploads.add(ix, &up, NULL);
}

static enum ux_code finish_upload_of_elf(struct ux_index *ix)
{
	struct ux_add_result r;
	const struct ux_upload up = upload(uid_elf, UX_KIND_EXECUTABLE);
	struct ux_candidate c = index_candidate(2, UX_QUALITY_NONE, 0);
	c.kind = UX_KIND_EXECUTABLE;
	c.state = UX_CANDIDATE_PENDING;
	UX_TRY(ix->uploads.finish(ix, &up, &c, &who, 2200, &r, NULL));
	elf = r.candidate;
	return UX_OK;
}

static enum ux_code give_up_upload(struct ux_index *ix)
{
	return ix->uploads.give_up(ix, uid_bad, "corrupt", "why", 2300, NULL);
}

static enum ux_code expire_uploads(struct ux_index *ix)
{
	uint64_t n = 0;
	return ix->uploads.expire(ix, 9000, &n, NULL);
}

static enum ux_code take_turn(struct ux_index *ix)
{
	struct ux_job got;
	const struct ux_job_turn turn = {
		.kind = UX_JOB_EXTRACT, .owner = "w", .lane = UX_JOB_QUICK, .after = ""};
	UX_TRY(ix->jobs.take_turn(ix, &turn, 3000, 60, &arena, &got, NULL));
	job = got.number;
	return UX_OK;
}

static enum ux_code renew_job(struct ux_index *ix)
{
	return ix->jobs.renew(ix, job, "w", 3010, 60, NULL);
}

static enum ux_code slow_down_job(struct ux_index *ix)
{
	return ix->jobs.slow_down(ix, job, "w", NULL);
}

static enum ux_code take_job(struct ux_index *ix)
{
	struct ux_job got;
	UX_TRY(ix->jobs.take(ix, UX_JOB_EXTRACT, "w", 3100, 60, &arena, &got, NULL));
	job = got.number;
	return UX_OK;
}

static enum ux_code retry_job(struct ux_index *ix)
{
	return ix->jobs.retry(ix, job, "w", 3050, "later", NULL);
}

static enum ux_code release_jobs(struct ux_index *ix)
{
	return ix->jobs.release(ix, "w", true, NULL);
}

static enum ux_code give_up_job(struct ux_index *ix)
{
	return ix->jobs.give_up(ix, job, "w", "no more", NULL);
}

static enum ux_code settle(struct ux_index *ix)
{
	struct ux_add_result r;
	static const char *ids[] = {ID, "file:b"};
	const struct ux_candidate gsym = index_candidate(3, UX_QUALITY_INLINES, 30);
	const struct ux_settled s = {.state = UX_CANDIDATE_READY,
				     .reason = "",
				     .kind = UX_KIND_EXECUTABLE,
				     .quality = UX_QUALITY_INLINES,
				     .holds = UX_HOLDS_CODE,
				     .parser = 7,
				     .ids = ids,
				     .n_ids = 2,
				     .supplementary = "gnu:5",
				     .supplementary_state = UX_SUPPLEMENTARY_ABSENT,
				     .derived = &gsym};
	return ix->modules.settle(ix, elf, &s, 3200, &r, NULL);
}

static enum ux_code add_job(struct ux_index *ix)
{
	const struct ux_job spec = {
		.kind = "fetch", .subject = "s", .ns = NS, .payload = "", .next = 3300};
	return ix->jobs.add(ix, &spec, 3300, &job, NULL);
}

static enum ux_code take_fetch(struct ux_index *ix)
{
	struct ux_job got;
	return ix->jobs.take(ix, "fetch", "w", 3300, 60, &arena, &got, NULL);
}

static enum ux_code end_job(struct ux_index *ix)
{
	return ix->jobs.done(ix, job, "w", NULL);
}

static enum ux_code put_sources(struct ux_index *ix)
{
	const struct ux_source sources[] = {{.path = "/a.c", .size = 1},
					    {.path = "/b.c", .off = 1, .size = 1}};
	return ix->sources.put(ix, elf, sources, 2, NULL);
}

static enum ux_code put_answer(struct ux_index *ix)
{
	const struct ux_fetched row = {.ns = NS,
				       .upstream = "up",
				       .id = ID,
				       .artifact = "source/a.c",
				       .reason = "",
				       .queried = 1,
				       .expires = 2,
				       .has_blob = true,
				       .blob = {{9}},
				       .size = 5,
				       .file_name = ""};
	return ix->fetched.put(ix, &row, NULL);
}

static enum ux_code drop_files(struct ux_index *ix)
{
	return ix->fetched.drop_files(ix, NS, 1, NULL);
}

static enum ux_code expire_answers(struct ux_index *ix)
{
	uint64_t n = 0;
	return ix->fetched.expire(ix, NULL, INT64_MAX, &n, NULL);
}

static enum ux_code pin(struct ux_index *ix)
{
	return ix->modules.pin(ix, NS, ID, "release", &who, 4000, NULL);
}

static enum ux_code unpin(struct ux_index *ix)
{
	return ix->modules.unpin(ix, NS, ID, "release", &who, 4100, NULL);
}

static enum ux_code touch_modules(struct ux_index *ix)
{
	const struct ux_touch touches[] = {{module, 4200}, {module, 4300}};
	return ix->modules.touch(ix, touches, 2, 0, NULL);
}

static enum ux_code mark(struct ux_index *ix)
{
	bool done = false;
	return ix->modules.mark(ix, module, 5000, 5000, &done, NULL);
}

static enum ux_code retry_failed(struct ux_index *ix)
{
	uint64_t n = 0;
	return ix->modules.retry_failed(ix, 8, 5100, &n, NULL);
}

static enum ux_code requeue(struct ux_index *ix)
{
	uint64_t n = 0;
	return ix->modules.requeue(ix, 5100, &n, NULL);
}

static enum ux_code remove_candidate(struct ux_index *ix)
{
	return ix->modules.candidate_remove(ix, elf, &who, 5200, NULL);
}

static enum ux_code is_lost(void *ctx, const struct ux_blob_hash *hash, bool *ret,
			    struct ux_error *err)
{
	(void)ctx, (void)hash, (void)err;
	*ret = true;
	return UX_OK;
}

static enum ux_code fail_lost_blob(struct ux_index *ix)
{
	struct ux_blob_loss loss;
	bool expected = false;
	const struct ux_candidate c = index_candidate(1, UX_QUALITY_SYMTAB, 0);
	UX_TRY(ix->blobs.expected(ix, &c.blob, &expected, NULL));
	return ix->blobs.fail_lost(ix, &c.blob, "why", 5250, is_lost, NULL, &loss, NULL);
}

static enum ux_code lose_blob(struct ux_index *ix)
{
	struct ux_blob_loss loss;
	const struct ux_candidate c = index_candidate(1, UX_QUALITY_SYMTAB, 0);
	return ix->blobs.lose(ix, &c.blob, "why", 5300, &loss, NULL);
}

static enum ux_code collect(struct ux_index *ix)
{
	const struct ux_blob_row rows[] = {{.hash = {{9}}}};
	return ix->blobs.collected(ix, rows, 1, NULL);
}

static enum ux_code sweep(struct ux_index *ix)
{
	bool done = false;
	return ix->modules.sweep(ix, module, 6000, 6000, 6000, &done, NULL);
}

static enum ux_code remove_module(struct ux_index *ix)
{
	return ix->modules.remove(ix, NS, "gnu:b", &who, 6100, NULL);
}

static enum ux_code add_module(struct ux_index *ix)
{
	struct ux_add_result r;
	static const char *ids[] = {"gnu:b"};
	const struct ux_arrival what = {.ns = NS, .ids = ids, .n_ids = 1};
	const struct ux_candidate c = index_candidate(4, UX_QUALITY_SYMTAB, 0);
	return ix->modules.add(ix, &what, &c, &who, 6050, &r, NULL);
}

static enum ux_code put_number(struct ux_index *ix)
{
	return ix->number_put(ix, "a number", 5, NULL);
}

static enum ux_code add_audit(struct ux_index *ix)
{
	const struct ux_audit line = {.time = 6200,
				      .key_id = "k",
				      .from = "test",
				      .ns = NS,
				      .what = "backup",
				      .subject = "",
				      .detail = ""};
	return ix->audit.add(ix, &line, NULL);
}

static enum ux_code expire_audit(struct ux_index *ix)
{
	uint64_t n = 0;
	return ix->audit.expire(ix, 9000, &n, NULL);
}

static enum ux_code spoil_usage(struct ux_index *ix)
{
	(void)ix;
	assert_int_equal(sqlite3_exec(reader, "UPDATE usage SET bytes = 999", NULL, NULL, NULL),
			 SQLITE_OK);
	return UX_OK;
}

static enum ux_code recount(struct ux_index *ix)
{
	struct ux_usage_errors errors;
	return ix->namespaces.recount(ix, /* repair= */ true, &arena, &errors, NULL);
}

/* --- reading ---------------------------------------------------------------------------------- */

static enum ux_code find_module(struct ux_index *ix)
{
	struct ux_module m;
	return ix->modules.find(ix, NS, ID, &arena, &m, NULL);
}

static enum ux_code find_number(struct ux_index *ix)
{
	return ix->modules.number(ix, NS, ID, &module, NULL);
}

static enum ux_code list_modules(struct ux_index *ix)
{
	struct ux_module_list l;
	UX_TRY(ix->modules.list(ix, NS, 0, 10, &arena, &l, NULL));
	return ix->modules.newest(ix, NS, INT64_MAX, 10, &arena, &l, NULL);
}

static enum ux_code search_modules(struct ux_index *ix)
{
	struct ux_hits hits;
	for (int by = UX_SEARCH_FILE; by <= UX_SEARCH_ID; by++) {
		const struct ux_search what = {
			.by = (enum ux_search_by)by, .text = "gnu:", .limit = 10};
		UX_TRY(ix->modules.search(ix, NS, &what, &arena, &hits, NULL));
	}
	return UX_OK;
}

static enum ux_code read_candidate(struct ux_index *ix)
{
	struct ux_candidate c;
	struct ux_idle of;
	struct ux_supplementary supplementary;
	struct ux_hits hits;
	UX_TRY(ix->modules.candidate(ix, elf, &arena, &c, &of, NULL));
	UX_TRY(ix->modules.supplementary(ix, elf, &arena, &supplementary, NULL));
	return ix->blobs.users(ix, &c.blob, 10, &arena, &hits, NULL);
}

static enum ux_code list_kept(struct ux_index *ix)
{
	struct ux_pin_list pins;
	struct ux_idle_list idle;
	UX_TRY(ix->modules.pins(ix, module, &arena, &pins, NULL));
	UX_TRY(ix->modules.idle(ix, NS, 9000, 10, &arena, &idle, NULL));
	UX_TRY(ix->modules.caches(ix, 100, &arena, &idle, NULL));
	return ix->fetched.caches(ix, NS, 100, &arena, &idle, NULL);
}

static enum ux_code read_uploads(struct ux_index *ix)
{
	struct ux_upload up;
	struct ux_upload_list l;
	struct ux_upload_counts counts;
	UX_TRY(ix->uploads.find(ix, uid_gsym, &arena, &up, NULL));
	UX_TRY(ix->uploads.list(ix, NS, false, 10, &arena, &l, NULL));
	return ix->uploads.counts(ix, NS, "k", &counts, NULL);
}

static enum ux_code list_blobs(struct ux_index *ix)
{
	struct ux_blob_rows rows;
	int64_t last = 0;
	bool used = false;
	const struct ux_blob_hash hash = {{9}};
	UX_TRY(ix->blobs.used(ix, &hash, &used, NULL));
	UX_TRY(ix->blobs.list(ix, NULL, 10, &arena, &rows, NULL));
	UX_TRY(ix->blobs.garbage_last(ix, &last, NULL));
	return ix->blobs.garbage(ix, INT64_MAX, 10, &arena, &rows, NULL);
}

static enum ux_code read_sources(struct ux_index *ix)
{
	struct ux_source one;
	struct ux_source_list l;
	UX_TRY(ix->sources.find(ix, NS, ID, "/a.c", &arena, &one, NULL));
	return ix->sources.list(ix, module, "", 10, &arena, &l, NULL);
}

static enum ux_code read_answers(struct ux_index *ix)
{
	struct ux_fetched one;
	struct ux_fetched_list l;
	uint64_t bytes = 0;
	UX_TRY(ix->fetched.find(ix, NS, ID, "source/a.c", "up", &arena, &one, NULL));
	UX_TRY(ix->fetched.list(ix, NS, ID, NULL, &arena, &l, NULL));
	UX_TRY(ix->fetched.list(ix, NS, ID, "source/a.c", &arena, &l, NULL));
	return ix->fetched.bytes(ix, NS, &bytes, NULL);
}

static enum ux_code list_jobs(struct ux_index *ix)
{
	struct ux_job_list l;
	struct ux_job_counts counts;
	ux_time due = 0;
	UX_TRY(ix->jobs.list(ix, NULL, NULL, 10, &arena, &l, NULL));
	UX_TRY(ix->jobs.counts(ix, UX_JOB_EXTRACT, 9000, &counts, NULL));
	return ix->jobs.next_due(ix, UX_JOB_EXTRACT, &due, NULL);
}

static enum ux_code read_namespaces(struct ux_index *ix)
{
	struct ux_namespace ns;
	struct ux_namespace_list l;
	struct ux_usage usage;
	struct ux_usage_errors errors;
	UX_TRY(ix->namespaces.find(ix, NS, &arena, &ns, NULL));
	UX_TRY(ix->namespaces.list(ix, &arena, &l, NULL));
	UX_TRY(ix->namespaces.usage(ix, NS, &usage, NULL));
	return ix->namespaces.recount(ix, /* repair= */ false, &arena, &errors, NULL);
}

static enum ux_code read_keys(struct ux_index *ix)
{
	struct ux_key key;
	struct ux_token_row row;
	struct ux_key_list l;
	struct ux_audit_list lines;
	int64_t number = 0;
	UX_TRY(ix->keys.find(ix, token_id, &arena, &key, &row, NULL));
	UX_TRY(ix->keys.get(ix, key_id, &arena, &key, NULL));
	UX_TRY(ix->keys.list(ix, &arena, &l, NULL));
	UX_TRY(ix->audit.list(ix, NULL, 0, 10, &arena, &lines, NULL));
	UX_TRY(ix->audit.history(ix, module, 10, &arena, &lines, NULL));
	return ix->number_get(ix, "a number", &number, NULL);
}

/* --- tests ------------------------------------------------------------------------------------ */

/* clang-format off */
#define CALL(fn) {#fn, fn, false}
#define READ(fn) {#fn, fn, true}
/* clang-format on */

/* In an order in which each call has something to change or to read. */
static void a_statement_that_fails_is_never_ignored(void **state)
{
	struct ux_store *s = *state;
	struct ux_index *ix = s->index;
	const struct ux_upload bad = upload(uid_bad, UX_KIND_GSYM);
	static const struct call calls[] = {
		CALL(add_key),
		CALL(rotate_key),
		CALL(touch_key),
		READ(read_keys),
		CALL(revoke_key),
		CALL(put_namespace),
		CALL(remove_namespace),
		CALL(add_upload),
		CALL(finish_upload),
		CALL(add_upload_of_elf),
		CALL(finish_upload_of_elf),
		CALL(give_up_upload),
		READ(read_uploads),
		READ(list_jobs),
		CALL(take_turn),
		CALL(renew_job),
		CALL(slow_down_job),
		CALL(take_job),
		CALL(retry_job),
		CALL(take_job),
		CALL(release_jobs),
		CALL(take_job),
		CALL(settle),
		CALL(give_up_job),
		CALL(expire_uploads),
		CALL(add_job),
		CALL(take_fetch),
		CALL(end_job),
		CALL(put_sources),
		CALL(put_answer),
		READ(find_module),
		READ(find_number),
		READ(list_modules),
		READ(search_modules),
		READ(read_candidate),
		CALL(pin),
		READ(list_kept),
		READ(list_blobs),
		READ(read_sources),
		READ(read_answers),
		READ(read_namespaces),
		CALL(unpin),
		CALL(drop_files),
		CALL(put_answer),
		CALL(expire_answers),
		CALL(collect),
		CALL(touch_modules),
		CALL(mark),
		CALL(retry_failed),
		CALL(requeue),
		CALL(remove_candidate),
		CALL(fail_lost_blob),
		CALL(lose_blob),
		CALL(sweep),
		CALL(add_module),
		CALL(spoil_usage),
		CALL(recount),
		CALL(remove_module),
		CALL(put_number),
		CALL(add_audit),
		CALL(expire_audit),
	};
	assert_int_equal(ix->uploads.add(ix, &bad, NULL), UX_OK);
	for (size_t i = 0; i < ux_countof(calls); i++) {
		ux_arena_init(&arena, 16 << 20);
		each_failed_statement(ix, &calls[i]);
		if (calls[i].reads)
			each_failed_text(ix, &calls[i]);
		ux_arena_deinit(&arena);
	}
}

/* Counting alone changes nothing. */
static void usage_is_corrected_on_order(void **state)
{
	struct ux_store *s = *state;
	struct ux_index *ix = s->index;
	struct ux_usage_errors errors;
	UX_ARENA(own, 1 << 20);
	assert_int_equal(add_module(ix), UX_OK);
	assert_int_equal(spoil_usage(ix), UX_OK);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(ix->namespaces.recount(ix, false, &own, &errors, NULL), UX_OK);
		assert_int_equal(errors.n, 1);
	}
	assert_int_equal(errors.items[0].bytes, 999 - 7);
	assert_int_equal(ix->namespaces.recount(ix, true, &own, &errors, NULL), UX_OK);
	assert_int_equal(errors.n, 1);
	assert_int_equal(ix->namespaces.recount(ix, true, &own, &errors, NULL), UX_OK);
	assert_int_equal(errors.n, 0);
}

/* A number that this version does not know is not one of its states. */
static void a_state_of_a_supplementary_file_is_one_of_four(void **state)
{
	struct ux_store *s = *state;
	struct ux_index *ix = s->index;
	UX_ARENA(own, 1 << 20);
	static const int states[][2] = {
		{-1, UX_SUPPLEMENTARY_NONE},    {0, UX_SUPPLEMENTARY_NONE},
		{1, UX_SUPPLEMENTARY_USED},     {2, UX_SUPPLEMENTARY_ABSENT},
		{3, UX_SUPPLEMENTARY_UNUSABLE}, {4, UX_SUPPLEMENTARY_NONE}};
	struct ux_supplementary got;
	assert_int_equal(add_upload_of_elf(ix), UX_OK);
	assert_int_equal(finish_upload_of_elf(ix), UX_OK);
	assert_int_equal(settle(ix), UX_OK);
	for (size_t i = 0; i < ux_countof(states); i++) {
		char sql[64];
		snprintf(sql, sizeof(sql), "UPDATE supplementary SET state = %d", states[i][0]);
		assert_int_equal(sqlite3_exec(reader, sql, NULL, NULL, NULL), SQLITE_OK);
		assert_int_equal(ix->modules.supplementary(ix, elf, &own, &got, NULL), UX_OK);
		assert_int_equal(got.state, states[i][1]);
		assert_string_equal(got.id, "gnu:5");
	}
}

/* After a commit that did not wait for the disk, others wait again, or fail. */
static void a_commit_that_would_not_wait_for_the_disk_fails(void **state)
{
	struct ux_store *s = *state;
	struct ux_index *ix = s->index;
	full_fails = true;
	assert_int_equal(add_upload(ix), UX_OK); /* such a commit */
	assert_int_equal(add_key(ix), UX_EIO);
	full_fails = false;
	assert_int_equal(add_key(ix), UX_OK);
}

UX_SUITE(store_faults)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_statement_that_fails_is_never_ignored, open_store,
						close_store),
		cmocka_unit_test_setup_teardown(a_commit_that_would_not_wait_for_the_disk_fails,
						open_store, close_store),
		cmocka_unit_test_setup_teardown(a_state_of_a_supplementary_file_is_one_of_four,
						open_store, close_store),
		cmocka_unit_test_setup_teardown(usage_is_corrected_on_order, open_store,
						close_store),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
