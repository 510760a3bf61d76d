/* SPDX-License-Identifier: Apache-2.0 */
/* store_commit: blob before row, the lock held over both and released on every path. */
#include "sweep.h"

#include "store.h"

#include <unistd.h>

enum step {
	NONE,
	BLOB,
	ROW
};

/* A store whose blobs and index record the calls, and fail on request. */
struct fixture {
	struct ux_store store;
	char dir[64];
	enum step fails;
	enum ux_code with;  /* that it fails with */
	enum step steps[8]; /* done, in order */
	size_t n;
	unsigned woken;
	enum ux_code (*part_commit)(struct ux_blob_part *, const struct ux_blob_hash *,
				    struct ux_error *);
	struct ux_index_uploads uploads;
	struct ux_index_modules modules;
	struct ux_index_sources sources;
	struct ux_index_fetched fetched;
};

static struct fixture *fixture; /* the functions of a backend do not get the test's context */

static bool is_locked(void)
{
	if (pthread_rwlock_trywrlock(&fixture->store.commit_lock) != 0)
		return true;
	pthread_rwlock_unlock(&fixture->store.commit_lock);
	return false;
}

static enum ux_code record(enum step step, struct ux_error *err)
{
	assert_true(is_locked());
	fixture->steps[fixture->n++] = step;
	return fixture->fails == step ? ux_error_set(err, fixture->with, "injected") : UX_OK;
}

static enum ux_code part_commit(struct ux_blob_part *part, const struct ux_blob_hash *hash,
				struct ux_error *err)
{
	UX_TRY(record(BLOB, err));
	return fixture->part_commit(part, hash, err);
}

/* The blob that a row names is there, whole, when the row is written. */
static void assert_blob(const struct ux_blob_hash *hash)
{
	struct ux_blobs *b = fixture->store.blobs;
	struct ux_blob_hash found;
	uint64_t size = 0;
	int fd = -1;
	assert_int_equal(b->open(b, hash, &fd, &size, NULL), UX_OK);
	assert_int_equal(ux_blob_hash_fd(fd, &found, NULL), UX_OK);
	assert_memory_equal(&found, hash, sizeof(found));
	close(fd);
}

static enum ux_code finish(struct ux_index *ix, const struct ux_upload *up,
			   const struct ux_candidate *cand, const struct ux_who *who, ux_time now,
			   struct ux_add_result *ret, struct ux_error *err)
{
	assert_blob(&up->hash);
	UX_TRY(record(ROW, err));
	return fixture->uploads.finish(ix, up, cand, who, now, ret, err);
}

static enum ux_code add(struct ux_index *ix, const struct ux_arrival *what,
			const struct ux_candidate *cand, const struct ux_who *who, ux_time now,
			struct ux_add_result *ret, struct ux_error *err)
{
	assert_blob(&cand->blob);
	UX_TRY(record(ROW, err));
	return fixture->modules.add(ix, what, cand, who, now, ret, err);
}

static enum ux_code settle(struct ux_index *ix, int64_t candidate, const struct ux_settled *what,
			   ux_time now, struct ux_add_result *ret, struct ux_error *err)
{
	if (what->derived)
		assert_blob(&what->derived->blob);
	UX_TRY(record(ROW, err));
	return fixture->modules.settle(ix, candidate, what, now, ret, err);
}

static enum ux_code put_sources(struct ux_index *ix, int64_t candidate,
				const struct ux_source *sources, size_t n, struct ux_error *err)
{
	assert_blob(&sources[0].blob);
	UX_TRY(record(ROW, err));
	return fixture->sources.put(ix, candidate, sources, n, err);
}

static enum ux_code put_answer(struct ux_index *ix, const struct ux_fetched *answer,
			       struct ux_error *err)
{
	if (answer->has_blob)
		assert_blob(&answer->blob);
	UX_TRY(record(ROW, err));
	return fixture->fetched.put(ix, answer, err);
}

static void count_wake(void *ctx)
{
	assert_false(is_locked()); /* the extractor may start immediately */
	++*(unsigned *)ctx;
}

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	assert_non_null(f);
	snprintf(f->dir, sizeof(f->dir), "/tmp/unhex-test-XXXXXX");
	assert_non_null(mkdtemp(f->dir));
	assert_int_equal(ux_store_open(&f->store, f->dir, NULL), UX_OK);
	struct ux_index *ix = f->store.index;
	f->part_commit = f->store.blobs->part_commit;
	f->uploads = ix->uploads;
	f->modules = ix->modules;
	f->sources = ix->sources;
	f->fetched = ix->fetched;
	f->store.blobs->part_commit = part_commit;
	ix->uploads.finish = finish;
	ix->modules.add = add;
	ix->modules.settle = settle;
	ix->sources.put = put_sources;
	ix->fetched.put = put_answer;
	ux_store_on_work(&f->store, count_wake, &f->woken);
	*state = fixture = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;
	char cmd[96];
	ux_store_close(&f->store);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", f->dir);
	assert_int_equal(system(cmd), 0);
	free(f);
	return 0;
}

static const char uid[] = "0123456789abcdef0123456789abcdef";
static const char *ids[] = {"gnu:0011"};
static const char text[] = "the bytes";
static const struct ux_who tester = {.key_id = "", .from = "test"};
static const struct ux_arrival arrival = {.ns = "default", .ids = ids, .n_ids = 1};

static struct ux_candidate candidate_of(const char *bytes, enum ux_candidate_state state)
{
	return (struct ux_candidate){.kind = UX_KIND_EXECUTABLE,
				     .state = state,
				     .blob = ux_blob_hash_of(ux_bytes_cstr(bytes)),
				     .size = strlen(bytes),
				     .reason = "",
				     .origin_name = "",
				     .description = "",
				     .file_name = "x",
				     .key_id = ""};
}

static struct ux_blob_part *part_of(struct fixture *f, const char *bytes)
{
	struct ux_blobs *b = f->store.blobs;
	struct ux_blob_part *part = NULL;
	uint64_t size = 0;
	assert_int_equal(b->part_open(b, uid, &part, &size, NULL), UX_OK);
	assert_int_equal(b->part_write(part, ux_bytes_cstr(bytes), NULL), UX_OK);
	return part;
}

static struct ux_upload upload_of(struct fixture *f)
{
	struct ux_upload up = {.ns = "default",
			       .key_id = "",
			       .ids = ids,
			       .n_ids = 1,
			       .size = strlen(text),
			       .hash = ux_blob_hash_of(ux_bytes_cstr(text)),
			       .kind = UX_KIND_EXECUTABLE,
			       .description = "",
			       .file_name = "x",
			       .status = "",
			       .reason = "",
			       .created = ux_store_now(&f->store)};
	snprintf(up.uid, sizeof(up.uid), "%s", uid);
	assert_int_equal(f->uploads.add(f->store.index, &up, NULL), UX_OK);
	return up;
}

/* The candidate that the other commits are about. */
static int64_t add_pending(struct fixture *f)
{
	struct ux_candidate c = candidate_of(text, UX_CANDIDATE_PENDING);
	struct ux_blob_part *part = part_of(f, text);
	struct ux_add_result r;
	assert_int_equal(
		ux_store_commit_candidate(&f->store, part, &arrival, &c, &tester, &r, NULL), UX_OK);
	f->store.blobs->part_close(part);
	f->n = 0;
	f->woken = 0;
	return r.candidate;
}

static bool has_blob(struct fixture *f, const char *bytes)
{
	struct ux_blob_hash hash = ux_blob_hash_of(ux_bytes_cstr(bytes));
	uint64_t size = 0;
	int fd = -1;
	if (f->store.blobs->open(f->store.blobs, &hash, &fd, &size, NULL) != UX_OK)
		return false;
	close(fd);
	return true;
}

static enum ux_code count_one(void *ctx, const char *name, int64_t age_s, struct ux_error *err)
{
	(void)name;
	(void)age_s;
	(void)err;
	++*(unsigned *)ctx;
	return UX_OK;
}

static unsigned count_parts(struct fixture *f)
{
	unsigned n = 0;
	assert_int_equal(f->store.blobs->each_part(f->store.blobs, count_one, &n, NULL), UX_OK);
	return n;
}

/* Makes one commit of each kind; commits of bytes in memory are for "derived". */
static enum ux_code commit_upload(struct fixture *f)
{
	struct ux_upload up = upload_of(f);
	struct ux_candidate c = candidate_of(text, UX_CANDIDATE_PENDING);
	struct ux_add_result r;
	struct ux_blob_part *part = part_of(f, text);
	enum ux_code code = ux_store_commit_upload(&f->store, part, &up, &c, &tester, &r, NULL);
	f->store.blobs->part_close(part);
	return code;
}

static enum ux_code commit_candidate(struct fixture *f)
{
	struct ux_candidate c = candidate_of(text, UX_CANDIDATE_PENDING);
	struct ux_add_result r;
	struct ux_blob_part *part = part_of(f, text);
	enum ux_code code =
		ux_store_commit_candidate(&f->store, part, &arrival, &c, &tester, &r, NULL);
	f->store.blobs->part_close(part);
	return code;
}

static enum ux_code commit_settled(struct fixture *f)
{
	enum step fails = f->fails;
	f->fails = NONE;
	int64_t number = add_pending(f);
	f->fails = fails;
	struct ux_candidate derived = candidate_of("derived", UX_CANDIDATE_READY);
	derived.kind = UX_KIND_GSYM;
	const struct ux_settled what = {.kind = UX_KIND_EXECUTABLE,
					.reason = "",
					.quality = UX_QUALITY_SYMTAB,
					.derived = &derived};
	struct ux_add_result r;
	return ux_store_commit_settled(&f->store, number, &what, UX_STR("derived"), &r, NULL);
}

static enum ux_code commit_sources(struct fixture *f)
{
	enum step fails = f->fails;
	f->fails = NONE;
	int64_t number = add_pending(f);
	f->fails = fails;
	const struct ux_source s = {.path = "/a",
				    .blob = ux_blob_hash_of(UX_STR("derived")),
				    .blob_size = 7,
				    .size = 7};
	return ux_store_commit_sources(&f->store, number, UX_STR("derived"), &s.blob, &s, 1, NULL);
}

static enum ux_code commit_answer(struct fixture *f)
{
	const struct ux_fetched a = {.ns = "default",
				     .upstream = "u",
				     .id = ids[0],
				     .artifact = "source/a",
				     .reason = "",
				     .expires = 9999999999,
				     .has_blob = true,
				     .blob = ux_blob_hash_of(ux_bytes_cstr(text)),
				     .size = strlen(text),
				     .file_name = ""};
	struct ux_blob_part *part = part_of(f, text);
	enum ux_code code = ux_store_commit_answer(&f->store, part, &a, NULL);
	f->store.blobs->part_close(part);
	return code;
}

static const struct commit_kind {
	enum ux_code (*run)(struct fixture *f);
	const char *bytes;
	bool queues; /* an extraction */
} kinds[] = {
	{commit_upload, text, true},        {commit_candidate, text, true},
	{commit_settled, "derived", false}, {commit_sources, "derived", false},
	{commit_answer, text, false},
};

static void each_kind(void (*check)(struct fixture *f, const struct commit_kind *kind))
{
	for (size_t i = 0; i < ux_countof(kinds); i++) {
		void *state = NULL;
		setup(&state);
		check(state, &kinds[i]);
		assert_false(is_locked());
		teardown(&state);
	}
}

static void check_order(struct fixture *f, const struct commit_kind *kind)
{
	assert_int_equal(kind->run(f), UX_OK);
	assert_int_equal(f->n, 2);
	assert_int_equal(f->steps[0], BLOB);
	assert_int_equal(f->steps[1], ROW);
	assert_true(has_blob(f, kind->bytes));
	assert_int_equal(count_parts(f), 0);
	assert_int_equal(f->woken, kind->queues);
}

static void blob_is_durable_before_the_row_and_both_are_under_the_lock(void **state)
{
	(void)state;
	each_kind(check_order);
}

static void check_blob_failure(struct fixture *f, const struct commit_kind *kind)
{
	f->fails = BLOB;
	f->with = UX_EIO;
	assert_int_equal(kind->run(f), UX_EIO);
	assert_int_equal(f->n, 1); /* no row */
	assert_false(has_blob(f, kind->bytes));
	assert_int_equal(count_parts(f), strcmp(kind->bytes, text) == 0); /* a client's alone */
	assert_int_equal(f->woken, 0);
}

static void blob_that_fails_leaves_no_row_and_no_lock(void **state)
{
	(void)state;
	each_kind(check_blob_failure);
}

static void check_row_failure(struct fixture *f, const struct commit_kind *kind)
{
	struct ux_sweep swept;
	f->fails = ROW;
	f->with = UX_EIO;
	assert_int_equal(kind->run(f), UX_EIO);
	assert_int_equal(f->n, 2);
	assert_true(has_blob(f, kind->bytes)); /* garbage */
	assert_int_equal(f->woken, 0);
	assert_false(is_locked());
	assert_int_equal(ux_store_sweep(&f->store, 0, 0, false, &swept, NULL), UX_OK);
	assert_false(has_blob(f, kind->bytes));
}

static void row_that_fails_leaves_garbage_for_the_sweep_and_no_lock(void **state)
{
	(void)state;
	each_kind(check_row_failure);
}

static void refused_blob_goes_at_once_unless_it_is_used(void **state)
{
	struct fixture *f = *state;
	f->fails = ROW;
	f->with = UX_ELIMIT;
	assert_int_equal(commit_candidate(f), UX_ELIMIT);
	assert_false(has_blob(f, text));
	f->fails = NONE;
	add_pending(f);
	f->fails = ROW;
	f->with = UX_ECONFLICT;
	assert_int_equal(commit_candidate(f), UX_ECONFLICT);
	assert_true(has_blob(f, text));
	assert_false(is_locked());
}

enum {
	TOGETHER = 2,
	MEET_S = 20
};

/* Each commit of a blob waits for the other one. */
static pthread_mutex_t meet_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t meet_changed = PTHREAD_COND_INITIALIZER;
static unsigned meet_n;

static enum ux_code part_commit_together(struct ux_blob_part *part, const struct ux_blob_hash *hash,
					 struct ux_error *err)
{
	struct timespec until;
	int r = 0;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += MEET_S;
	pthread_mutex_lock(&meet_lock);
	meet_n++;
	pthread_cond_broadcast(&meet_changed);
	while (meet_n < TOGETHER && r == 0)
		r = pthread_cond_timedwait(&meet_changed, &meet_lock, &until);
	pthread_mutex_unlock(&meet_lock);
	if (r != 0)
		return ux_error_set(err, UX_EIO, "the other commit waits for this one");
	return fixture->part_commit(part, hash, err);
}

static void *commit_own_bytes(void *ctx)
{
	struct ux_store *s = &fixture->store;
	struct ux_blob_part *part = NULL;
	struct ux_blob_hash hash = ux_blob_hash_of(ux_bytes_cstr(ctx));
	char own[UX_UPLOAD_UID_SIZE];
	uint64_t size = 0;
	enum ux_code code = ux_upload_uid_make(own, NULL);
	if (code == UX_OK)
		code = s->blobs->part_open(s->blobs, own, &part, &size, NULL);
	if (code == UX_OK)
		code = s->blobs->part_write(part, ux_bytes_cstr(ctx), NULL);
	if (code == UX_OK)
		code = ux_store_commit_blob(s, part, &hash, NULL);
	s->blobs->part_close(part);
	return code == UX_OK ? ctx : NULL;
}

static void commits_do_not_wait_for_each_other(void **state)
{
	static char first[] = "of the first thread", second[] = "of the second thread";
	struct fixture *f = *state;
	pthread_t other;
	void *done = NULL;
	meet_n = 0;
	f->store.blobs->part_commit = part_commit_together;
	assert_int_equal(pthread_create(&other, NULL, commit_own_bytes, first), 0);
	assert_ptr_equal(commit_own_bytes(second), second);
	assert_int_equal(pthread_join(other, &done), 0);
	assert_ptr_equal(done, first);
	assert_true(has_blob(f, first) && has_blob(f, second));
	assert_false(is_locked());
}

static void sweep_and_loss_release_the_lock_when_they_fail(void **state)
{
	struct fixture *f = *state;
	struct ux_blob_hash hash = ux_blob_hash_of(ux_bytes_cstr(text));
	bool dropped = true;
	add_pending(f);
	assert_int_equal(ux_store_drop_blob(&f->store, &hash, false, &dropped, NULL), UX_OK);
	assert_false(dropped);
	assert_true(has_blob(f, text));
	assert_int_equal(ux_store_lose_blob(&f->store, &hash, "test", NULL), UX_OK);
	assert_false(has_blob(f, text));
	assert_int_equal(ux_store_drop_blob(&f->store, &hash, false, &dropped, NULL), UX_OK);
	assert_true(dropped);
	assert_false(is_locked());
}

/* Functions of a backend that fail. */

static enum ux_code broken_part_open(struct ux_blobs *b, const char *name,
				     struct ux_blob_part **ret, uint64_t *ret_size,
				     struct ux_error *err)
{
	(void)b;
	(void)name;
	(void)ret;
	(void)ret_size;
	return ux_error_set(err, UX_EIO, "injected");
}

static enum ux_code broken_part_write(struct ux_blob_part *part, struct ux_bytes bytes,
				      struct ux_error *err)
{
	(void)part;
	(void)bytes;
	return ux_error_set(err, UX_EIO, "injected");
}

static enum ux_code broken_used(struct ux_index *ix, const struct ux_blob_hash *hash, bool *ret,
				struct ux_error *err)
{
	(void)ix;
	(void)hash;
	(void)ret;
	return ux_error_set(err, UX_EIO, "injected");
}

static enum ux_code broken_lose(struct ux_index *ix, const struct ux_blob_hash *hash,
				const char *reason, ux_time now, struct ux_blob_loss *ret,
				struct ux_error *err)
{
	(void)ix;
	(void)hash;
	(void)reason;
	(void)now;
	(void)ret;
	return ux_error_set(err, UX_EIO, "injected");
}

static enum ux_code broken_remove(struct ux_blobs *b, const struct ux_blob_hash *hash,
				  struct ux_error *err)
{
	(void)b;
	(void)hash;
	return ux_error_set(err, UX_EIO, "injected");
}

static void break_part_open(struct ux_store *s)
{
	s->blobs->part_open = broken_part_open;
}

static void break_part_write(struct ux_store *s)
{
	s->blobs->part_write = broken_part_write;
}

static void break_used(struct ux_store *s)
{
	s->index->blobs.used = broken_used;
}

static void break_lose(struct ux_store *s)
{
	s->index->blobs.lose = broken_lose;
}

static void break_remove(struct ux_store *s)
{
	s->blobs->remove = broken_remove;
}

/* Runs each function of the store that takes the lock, whether or not the broken part makes it
 * fail. */
static void run_all(struct fixture *f, int64_t candidate)
{
	struct ux_store *s = &f->store;
	const struct ux_blob_hash hash = ux_blob_hash_of(ux_bytes_cstr(text));
	const struct ux_source source = {.path = "/a", .blob = hash, .blob_size = 9, .size = 7};
	struct ux_candidate derived = candidate_of("derived", UX_CANDIDATE_READY);
	const struct ux_settled settled = {
		.kind = UX_KIND_EXECUTABLE, .reason = "", .derived = &derived};
	struct ux_add_result r;
	struct ux_sweep swept;
	uint64_t n = 0;
	bool dropped = false;
	(void)!ux_store_commit_settled(s, candidate, &settled, UX_STR("derived"), &r, NULL);
	assert_false(is_locked());
	f->n = 0;
	(void)!ux_store_commit_sources(s, candidate, ux_bytes_cstr(text), &hash, &source, 1, NULL);
	assert_false(is_locked());
	f->n = 0;
	(void)!ux_store_drop_blob(s, &hash, /* dry_run= */ false, &dropped, NULL);
	assert_false(is_locked());
	(void)!ux_store_lose_blob(s, &hash, "test", NULL);
	assert_false(is_locked());
	(void)!ux_store_sweep(s, 0, 0, /* dry_run= */ false, &swept, NULL);
	assert_false(is_locked());
	(void)!ux_store_remove_module(s, "default", ids[0], &tester, NULL);
	assert_false(is_locked());
	(void)!ux_store_collect_all(s, &n, NULL);
	assert_false(is_locked());
}

static void no_failure_of_a_backend_keeps_the_lock(void **state)
{
	(void)state;
	static void (*const breaks[])(struct ux_store *) = {break_part_open, break_part_write,
							    break_used, break_lose, break_remove};
	for (size_t i = 0; i < ux_countof(breaks); i++) {
		void *one = NULL;
		setup(&one);
		struct fixture *f = one;
		int64_t candidate = add_pending(f);
		breaks[i](&f->store);
		run_all(f, candidate);
		teardown(&one);
	}
}

/* A client that has the same bytes need not send them; meanwhile they may be deleted. */
static void stored_blob_that_has_gone_gets_no_row(void **state)
{
	struct fixture *f = *state;
	struct ux_candidate c = candidate_of(text, UX_CANDIDATE_PENDING);
	struct ux_add_result r;
	uint64_t n = 0;
	add_pending(f);
	assert_int_equal(
		ux_store_commit_candidate(&f->store, NULL, &arrival, &c, &tester, &r, NULL), UX_OK);
	assert_int_equal(r.add, UX_ADD_SAME);
	assert_int_equal(ux_store_remove_module(&f->store, "default", ids[0], &tester, NULL),
			 UX_OK);
	assert_true(has_blob(f, text)); /* for requests that know it */
	assert_int_equal(ux_store_collect_all(&f->store, &n, NULL), UX_OK);
	assert_int_equal(n, 1);
	assert_false(has_blob(f, text));
	f->n = 0;
	assert_int_equal(
		ux_store_commit_candidate(&f->store, NULL, &arrival, &c, &tester, &r, NULL),
		UX_ENOTFOUND);
	struct ux_upload up = upload_of(f);
	assert_int_equal(ux_store_commit_upload(&f->store, NULL, &up, &c, &tester, &r, NULL),
			 UX_ENOTFOUND);
	assert_int_equal(f->n, 0); /* no row */
	assert_false(is_locked());
}

static void blob_that_returns_in_time_is_not_collected(void **state)
{
	struct fixture *f = *state;
	uint64_t n = 0;
	add_pending(f);
	assert_int_equal(ux_store_remove_module(&f->store, "default", ids[0], &tester, NULL),
			 UX_OK);
	add_pending(f);
	assert_int_equal(ux_store_collect_all(&f->store, &n, NULL), UX_OK);
	assert_int_equal(n, 0);
	assert_true(has_blob(f, text));
}

static void queued_extraction_is_due_and_wakes_the_extractor(void **state)
{
	struct fixture *f = *state;
	struct ux_index *ix = f->store.index;
	UX_ARENA(arena, 1 << 20);
	struct ux_job job;
	int64_t number = add_pending(f);
	assert_int_equal(ux_store_extract(&f->store, "default", number, NULL), UX_OK);
	assert_int_equal(f->woken, 1);
	assert_int_equal(ix->jobs.take(ix, UX_JOB_EXTRACT, "t", ux_store_now(&f->store), 60, &arena,
				       &job, NULL),
			 UX_OK);
	assert_int_equal(job.candidate, number);
	ux_store_on_work(&f->store, NULL, NULL);
	assert_int_equal(ux_store_extract(&f->store, "default", number, NULL), UX_OK);
	assert_int_equal(f->woken, 1);
}

UX_SUITE(store_commit)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(blob_is_durable_before_the_row_and_both_are_under_the_lock),
		cmocka_unit_test_setup_teardown(commits_do_not_wait_for_each_other, setup,
						teardown),
		UX_TEST(blob_that_fails_leaves_no_row_and_no_lock),
		UX_TEST(row_that_fails_leaves_garbage_for_the_sweep_and_no_lock),
		cmocka_unit_test_setup_teardown(refused_blob_goes_at_once_unless_it_is_used, setup,
						teardown),
		cmocka_unit_test_setup_teardown(stored_blob_that_has_gone_gets_no_row, setup,
						teardown),
		cmocka_unit_test_setup_teardown(blob_that_returns_in_time_is_not_collected, setup,
						teardown),
		cmocka_unit_test(no_failure_of_a_backend_keeps_the_lock),
		cmocka_unit_test_setup_teardown(sweep_and_loss_release_the_lock_when_they_fail,
						setup, teardown),
		cmocka_unit_test_setup_teardown(queued_extraction_is_due_and_wakes_the_extractor,
						setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
