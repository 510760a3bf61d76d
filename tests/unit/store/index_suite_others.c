/* SPDX-License-Identifier: Apache-2.0 */
/* Requirements for every backend of the index: jobs, sources, upstreams' answers, keys, the audit.
 */
#include "sweep.h"

#include "index_suite.h"

static enum ux_code take(struct ux_index *ix, const char *owner, ux_time now, struct ux_job *ret)
{
	static struct ux_arena arena = {.budget = 1 << 20};
	ux_arena_deinit(&arena);
	arena = (struct ux_arena){.budget = 1 << 20};
	enum ux_code code = ix->jobs.take(ix, "fetch", owner, now, 60, &arena, ret, NULL);
	if (code == UX_OK)
		ret->kind = ret->subject = ret->ns = ret->payload = ret->reason = NULL;
	ux_arena_deinit(&arena);
	return code;
}

static void add_job(struct ux_index *ix, const char *subject, const char *ns, ux_time next)
{
	const struct ux_job spec = {
		.kind = "turn", .subject = subject, .ns = ns, .payload = "", .next = next};
	int64_t number = 0;
	assert_int_equal(ix->jobs.add(ix, &spec, next, &number, NULL), UX_OK);
}

/* Returns the subject of the next job; `after` is then its namespace; "": none. */
static const char *next_turn(struct ux_index *ix, enum ux_job_lane lane, char after[16],
			     int64_t *ret_number)
{
	static char subject[16];
	UX_ARENA(arena, 1 << 20);
	struct ux_job job;
	const struct ux_job_turn turn = {
		.kind = "turn", .owner = "w", .lane = lane, .after = after};
	if (ix->jobs.take_turn(ix, &turn, 1000, 60, &arena, &job, NULL) != UX_OK)
		return "";
	*ret_number = job.number;
	assert_int_equal(job.slow, lane == UX_JOB_SLOW);
	snprintf(after, 16, "%s", job.ns);
	snprintf(subject, sizeof(subject), "%s", job.subject);
	return subject;
}

static void namespaces_take_turns(struct ux_index *ix)
{
	static const char *const order[] = {"a1", "b1", "c1", "a2", "b2", "a3", "a4"};
	char after[16] = "", slow_after[16] = "";
	int64_t number = 0, b1 = 0;
	for (unsigned i = 1; i <= 4; i++)
		add_job(ix, (const char *[]){"a1", "a2", "a3", "a4"}[i - 1], "a", 100 * i);
	add_job(ix, "b2", "b", 600);
	add_job(ix, "b1", "b", 500);
	add_job(ix, "c1", "c", 900);
	add_job(ix, "c2", "c", 2000); /* not due */
	for (size_t i = 0; i < ux_countof(order); i++) {
		assert_string_equal(next_turn(ix, UX_JOB_QUICK, after, &number), order[i]);
		b1 = i == 1 ? number : b1;
	}
	assert_string_equal(next_turn(ix, UX_JOB_QUICK, after, &number), "");
	assert_string_equal(next_turn(ix, UX_JOB_SLOW, slow_after, &number), "");
	assert_int_equal(ix->jobs.slow_down(ix, b1, "other", NULL), UX_ECONFLICT);
	assert_int_equal(ix->jobs.slow_down(ix, b1, "w", NULL), UX_OK);
	assert_string_equal(next_turn(ix, UX_JOB_QUICK, after, &number), "");
	assert_string_equal(next_turn(ix, UX_JOB_SLOW, slow_after, &number), "b1");
	assert_int_equal(ix->jobs.done(ix, b1, "w", NULL), UX_OK);
}

static void jobs_are_leased_to_one_at_a_time(struct ux_index *ix)
{
	struct ux_job job, spec = {.kind = "fetch",
				   .subject = "s",
				   .ns = "default",
				   .payload = "{}",
				   .next = 100};
	int64_t number = 0, same = 0;
	ux_time due = 0;
	assert_int_equal(take(ix, "w1", 999, &job), UX_ENOTFOUND);
	assert_int_equal(ix->jobs.next_due(ix, "fetch", &due, NULL), UX_OK);
	assert_true(due == INT64_MAX);
	assert_int_equal(ix->jobs.add(ix, &spec, 50, &number, NULL), UX_OK);
	spec.next = 200;
	assert_int_equal(ix->jobs.add(ix, &spec, 60, &same, NULL), UX_OK);
	assert_int_equal(same, number);
	assert_int_equal(take(ix, "w1", 99, &job), UX_ENOTFOUND);
	assert_int_equal(take(ix, "w1", 100, &job), UX_OK);
	assert_int_equal(job.number, number);
	assert_int_equal(job.attempts, 1);
	assert_int_equal(job.created, 50);
	assert_int_equal(take(ix, "w2", 159, &job), UX_ENOTFOUND);
	assert_int_equal(ix->jobs.renew(ix, number, "w2", 159, 60, NULL), UX_ECONFLICT);
	assert_int_equal(ix->jobs.renew(ix, number, "w1", 159, 60, NULL), UX_OK);
	assert_int_equal(ix->jobs.next_due(ix, "fetch", &due, NULL), UX_OK);
	assert_int_equal(due, 219);
	assert_int_equal(take(ix, "w2", 160, &job), UX_ENOTFOUND);
	assert_int_equal(take(ix, "w2", 219, &job), UX_OK); /* the lease has ended */
	assert_int_equal(job.attempts, 2);
	assert_int_equal(ix->jobs.done(ix, number, "w1", NULL), UX_ECONFLICT);
	assert_int_equal(ix->jobs.retry(ix, number, "w2", 300, "later", NULL), UX_OK);
	assert_int_equal(ix->jobs.retry(ix, number, "w2", 300, "later", NULL), UX_ECONFLICT);
	assert_int_equal(take(ix, "w2", 299, &job), UX_ENOTFOUND);
	assert_int_equal(take(ix, "w2", 300, &job), UX_OK);
	assert_int_equal(ix->jobs.postpone(ix, number, "w2", 300, "away", NULL), UX_OK);
	assert_int_equal(take(ix, "w2#1", 300, &job), UX_OK);
	assert_int_equal(job.attempts, 3); /* the previous attempt does not count */
	assert_int_equal(ix->jobs.release(ix, "w2", true, NULL), UX_OK); /* it died */
	assert_int_equal(take(ix, "w1", 301, &job), UX_OK);
	assert_int_equal(job.attempts, 4);
	assert_int_equal(ix->jobs.give_up(ix, number, "w1", "no more", NULL), UX_OK);
	assert_int_equal(take(ix, "w1", 9999, &job), UX_ENOTFOUND);

	UX_ARENA(arena, 1 << 20);
	struct ux_job_list list;
	struct ux_job_counts n;
	assert_int_equal(ix->jobs.list(ix, NULL, "fetch", 10, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 1);
	assert_true(list.jobs[0].failed);
	assert_string_equal(list.jobs[0].reason, "no more");
	assert_string_equal(list.jobs[0].payload, "{}");
	assert_int_equal(ix->jobs.counts(ix, "fetch", 9999, &n, NULL), UX_OK);
	assert_true(n.waiting == 0 && n.running == 0 && n.failed == 1);
	assert_int_equal(ix->jobs.add(ix, &spec, 400, &same, NULL), UX_OK); /* is forgiven */
	assert_int_equal(take(ix, "w1", 400, &job), UX_OK);
	assert_int_equal(job.attempts, 1);
	assert_int_equal(ix->jobs.done(ix, number, "w1", NULL), UX_OK);
	assert_int_equal(ix->jobs.list(ix, NULL, NULL, 10, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 0);
}

static void jobs_of_a_namespace_are_listed_whatever_others_have(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_job_list list;
	struct ux_job_counts n;
	struct ux_job job;
	int64_t number[12];
	for (int i = 0; i < 12; i++) {
		char subject[8];
		snprintf(subject, sizeof(subject), "c%d", i);
		const struct ux_job spec = {.kind = "count",
					    .subject = subject,
					    .ns = i < 10 ? "busy" : "calm",
					    .payload = "",
					    .next = 100};
		assert_int_equal(ix->jobs.add(ix, &spec, 50 + i, &number[i], NULL), UX_OK);
	}
	assert_int_equal(ix->jobs.list(ix, "calm", NULL, 5, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 2);
	assert_string_equal(list.jobs[0].subject, "c10");
	assert_int_equal(ix->jobs.list(ix, "calm", "fetch", 5, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 0);
	assert_int_equal(ix->jobs.list(ix, "busy", "count", 5, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 5);

	for (int i = 0; i < 3; i++)
		assert_int_equal(ix->jobs.take(ix, "count", "w", 100, 60, &arena, &job, NULL),
				 UX_OK);
	assert_int_equal(ix->jobs.give_up(ix, number[0], "w", "no", NULL), UX_OK);
	assert_int_equal(ix->jobs.counts(ix, "count", 159, &n, NULL), UX_OK);
	assert_true(n.waiting == 9 && n.running == 2 && n.failed == 1 && n.oldest == 53);
	assert_int_equal(ix->jobs.counts(ix, "count", 160, &n, NULL), UX_OK); /* leases ended */
	assert_true(n.waiting == 11 && n.running == 0 && n.failed == 1 && n.oldest == 51);
	for (int i = 0; i < 12; i++) { /* the failed one is due again */
		const struct ux_job spec = {
			.kind = "count", .subject = "c0", .ns = "busy", .payload = "", .next = 100};
		int64_t same = 0;
		assert_int_equal(ix->jobs.add(ix, &spec, 200, &same, NULL), UX_OK);
		assert_int_equal(ix->jobs.take(ix, "count", "w", 500, 60, &arena, &job, NULL),
				 UX_OK);
	}
	assert_int_equal(ix->jobs.counts(ix, "count", 500, &n, NULL), UX_OK);
	assert_true(n.waiting == 0 && n.running == 12 && n.failed == 0 && n.oldest == 0);
	for (int i = 0; i < 12; i++)
		assert_int_equal(ix->jobs.done(ix, number[i], "w", NULL), UX_OK);
	assert_int_equal(ix->jobs.counts(ix, "count", 500, &n, NULL), UX_OK);
	assert_true(n.waiting == 0 && n.running == 0 && n.failed == 0);
}

static struct ux_source source(const char *path, uint8_t hash, uint64_t off)
{
	struct ux_source s = {.path = path, .blob_size = 500, .off = off, .size = 10};
	memset(&s.blob, hash, sizeof(s.blob));
	return s;
}

static void sources_belong_to_a_candidate_and_are_found_by_path(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_add_result r;
	const char *ids[] = {"gnu:s1", "file:s1"};
	struct ux_candidate bundle = index_candidate(90, UX_QUALITY_NONE, 0);
	bundle.kind = UX_KIND_SOURCES;
	assert_int_equal(index_add(ix, ids, 2, bundle, false, &r), UX_OK);
	struct ux_source files[] = {source("/src/b.c", 90, 20), source("/src/a.c", 90, 10),
				    source("/src/c.c", 91, 0)};
	assert_int_equal(ix->sources.put(ix, r.candidate, files, 3, NULL), UX_OK);
	assert_int_equal(ix->sources.put(ix, 999999, files, 1, NULL), UX_ENOTFOUND);
	struct ux_source s;
	assert_int_equal(ix->sources.find(ix, "default", "file:s1", "/src/b.c", &arena, &s, NULL),
			 UX_OK);
	assert_int_equal(s.off, 20);
	assert_int_equal(s.size, 10);
	assert_int_equal(s.blob_size, 7); /* the bundle's, known first */
	assert_int_equal(ix->sources.find(ix, "default", "file:s1", "/src/x.c", &arena, &s, NULL),
			 UX_ENOTFOUND);
	assert_int_equal(ix->sources.find(ix, "default", "gnu:a", "/src/b.c", &arena, &s, NULL),
			 UX_ENOTFOUND);
	/* a second bundle: its files hide the first one's */
	bundle = index_candidate(92, UX_QUALITY_NONE, 0);
	bundle.kind = UX_KIND_SOURCES;
	int64_t first = r.candidate;
	assert_int_equal(index_add(ix, ids, 2, bundle, false, &r), UX_OK);
	struct ux_source newer = source("/src/b.c", 92, 5);
	assert_int_equal(ix->sources.put(ix, r.candidate, &newer, 1, NULL), UX_OK);
	struct ux_source_list list;
	assert_int_equal(ix->sources.list(ix, r.module, "", 2, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 2);
	assert_true(list.more);
	assert_string_equal(list.sources[0].path, "/src/a.c");
	assert_int_equal(list.sources[1].off, 5);
	assert_int_equal(ix->sources.list(ix, r.module, "/src/b.c", 2, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 1);
	assert_false(list.more);
	bool used = false;
	assert_int_equal(ix->blobs.used(ix, &files[2].blob, &used, NULL), UX_OK);
	assert_true(used);
	assert_int_equal(ix->modules.candidate_remove(ix, first, &index_tester, 1, NULL), UX_OK);
	assert_int_equal(ix->blobs.used(ix, &files[2].blob, &used, NULL), UX_OK);
	assert_false(used);
	assert_int_equal(ix->sources.find(ix, "default", "gnu:s1", "/src/a.c", &arena, &s, NULL),
			 UX_ENOTFOUND);
	assert_int_equal(ix->sources.put(ix, r.candidate, NULL, 0, NULL), UX_OK);
	assert_int_equal(ix->sources.find(ix, "default", "gnu:s1", "/src/b.c", &arena, &s, NULL),
			 UX_ENOTFOUND);
}

static void answers_of_upstreams_are_remembered_until_they_expire(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_fetched got, a = {.ns = "default",
				    .upstream = "deb",
				    .id = "gnu:u",
				    .artifact = "debuginfo",
				    .outcome = UX_FETCH_ABSENT,
				    .status = 404,
				    .reason = "not found",
				    .queried = 10,
				    .expires = 100,
				    .took_ms = 3,
				    .file_name = ""};
	assert_int_equal(
		ix->fetched.find(ix, "default", "gnu:u", "debuginfo", "deb", &arena, &got, NULL),
		UX_ENOTFOUND);
	assert_int_equal(ix->fetched.put(ix, &a, NULL), UX_OK);
	assert_int_equal(
		ix->fetched.find(ix, "default", "gnu:u", "debuginfo", "deb", &arena, &got, NULL),
		UX_OK);
	assert_int_equal(got.outcome, UX_FETCH_ABSENT);
	assert_int_equal(got.status, 404);
	assert_string_equal(got.reason, "not found");
	assert_int_equal(got.expires, 100);
	assert_false(got.has_blob);
	a.outcome = UX_FETCH_FOUND;
	a.has_blob = true;
	a.expires = 500;
	memset(&a.blob, 95, sizeof(a.blob));
	a.size = 12;
	bool used = false;
	for (unsigned i = 0; i < 2; i++) { /* it replaces itself; its blob stays known */
		assert_int_equal(ix->fetched.put(ix, &a, NULL), UX_OK);
		assert_int_equal(ix->blobs.used(ix, &a.blob, &used, NULL), UX_OK);
		assert_true(used);
	}
	struct ux_fetched b = a;
	b.upstream = "other";
	b.has_blob = false;
	b.artifact = "source//x.c";
	assert_int_equal(ix->fetched.put(ix, &b, NULL), UX_OK);
	struct ux_fetched_list list;
	assert_int_equal(ix->fetched.list(ix, "default", "gnu:u", NULL, &arena, &list, NULL),
			 UX_OK);
	assert_int_equal(list.n, 2);
	assert_true(list.answers[0].has_blob);
	assert_memory_equal(&list.answers[0].blob, &a.blob, sizeof(a.blob));
	assert_int_equal(ix->fetched.list(ix, "default", "gnu:u", b.artifact, &arena, &list, NULL),
			 UX_OK);
	assert_int_equal(list.n, 1);
	uint64_t n = 0;
	assert_int_equal(ix->fetched.expire(ix, NULL, 500, &n, NULL), UX_OK);
	assert_int_equal(n, 0);
	assert_int_equal(ix->fetched.expire(ix, "deb", INT64_MAX, &n, NULL), UX_OK);
	assert_int_equal(n, 1);
	assert_int_equal(ix->blobs.used(ix, &a.blob, &used, NULL), UX_OK);
	assert_false(used);
	assert_int_equal(ix->fetched.expire(ix, NULL, 501, &n, NULL), UX_OK);
	assert_int_equal(n, 1);
}

static struct ux_token_row token(const char *id, uint8_t hash)
{
	struct ux_token_row t = {.created = 10};
	snprintf(t.id, sizeof(t.id), "%s", id);
	memset(&t.hash, hash, sizeof(t.hash));
	return t;
}

static void keys_have_tokens_that_replace_each_other(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_token_row first = token("aaaaaaaaaaaa", 1), second = token("bbbbbbbbbbbb", 2),
			    got;
	struct ux_key k, key = {.id = "aaaaaaaaaaaa",
				.ns = "team",
				.scopes = 3,
				.description = "d",
				.created = 10,
				.rate = 5,
				.uploads = 6};
	assert_int_equal(ix->keys.add(ix, &key, &first, &index_tester, NULL), UX_OK);
	assert_int_equal(ix->keys.add(ix, &key, &first, &index_tester, NULL), UX_ECONFLICT);
	assert_int_equal(ix->keys.find(ix, first.id, &arena, &k, &got, NULL), UX_OK);
	assert_memory_equal(&got.hash, &first.hash, sizeof(got.hash));
	assert_string_equal(k.ns, "team");
	assert_int_equal(k.rate, 5);
	assert_int_equal(k.uploads, 6);
	struct ux_namespace ns;
	assert_int_equal(ix->namespaces.find(ix, "team", &arena, &ns, NULL), UX_OK);
	assert_int_equal(ix->namespaces.remove(ix, "team", &index_tester, 1, NULL), UX_ECONFLICT);
	assert_int_equal(ix->keys.rotate(ix, key.id, &second, 500, &index_tester, 20, NULL), UX_OK);
	assert_int_equal(ix->keys.rotate(ix, "nope", &second, 500, &index_tester, 20, NULL),
			 UX_ENOTFOUND);
	assert_int_equal(ix->keys.find(ix, first.id, &arena, &k, &got, NULL), UX_OK);
	assert_int_equal(got.expires, 500);
	assert_int_equal(ix->keys.find(ix, second.id, &arena, &k, &got, NULL), UX_OK);
	assert_int_equal(got.expires, 0);
	assert_string_equal(k.id, first.id); /* the key's, for good */
	assert_int_equal(k.tokens, 2);
	struct ux_token_row third = token("cccccccccccc", 3);
	assert_int_equal(ix->keys.rotate(ix, key.id, &third, 900, &index_tester, 500, NULL), UX_OK);
	assert_int_equal(ix->keys.find(ix, first.id, &arena, &k, &got, NULL), UX_ENOTFOUND);
	struct ux_key_touch use = {.id = "aaaaaaaaaaaa", .time = 700};
	assert_int_equal(ix->keys.touch(ix, &use, 1, NULL), UX_OK);
	assert_int_equal(ix->keys.get(ix, key.id, &arena, &k, NULL), UX_OK);
	assert_int_equal(k.last_used, 700);
	assert_int_equal(ix->keys.revoke(ix, key.id, &index_tester, 800, NULL), UX_OK);
	assert_int_equal(ix->keys.revoke(ix, key.id, &index_tester, 900, NULL), UX_OK);
	assert_int_equal(ix->keys.get(ix, key.id, &arena, &k, NULL), UX_OK);
	assert_int_equal(k.revoked, 800);
	assert_int_equal(ix->keys.rotate(ix, key.id, &first, 900, &index_tester, 850, NULL),
			 UX_ECONFLICT);
	assert_int_equal(ix->namespaces.remove(ix, "team", &index_tester, 1, NULL), UX_OK);
}

static bool has_line(const struct ux_audit_list *list, const char *what, const char *subject)
{
	for (size_t i = 0; i < list->n; i++)
		if (strcmp(list->lines[i].what, what) == 0 &&
		    strcmp(list->lines[i].subject, subject) == 0 &&
		    strcmp(list->lines[i].from, "test") == 0)
			return true;
	return false;
}

static void every_change_has_its_line(struct ux_index *ix)
{
	UX_ARENA(arena, 8 << 20);
	struct ux_audit_list all, keep, page;
	assert_int_equal(ix->audit.list(ix, NULL, 0, 10000, &arena, &all, NULL), UX_OK);
	assert_int_equal(ix->audit.list(ix, "keep", 0, 10000, &arena, &keep, NULL), UX_OK);
	assert_true(keep.n > 0 && keep.n < all.n);
	assert_true(has_line(&all, "upload", "gnu:k1"));
	assert_true(has_line(&all, "module-delete", "gnu:e3"));
	assert_true(has_line(&all, "pin", "gnu:k3"));
	assert_true(has_line(&all, "unpin", "gnu:k3"));
	assert_true(has_line(&all, "candidate-add", "gnu:e6"));
	assert_true(has_line(&all, "candidate-delete", "gnu:e5"));
	assert_true(has_line(&all, "key-create", "aaaaaaaaaaaa"));
	assert_true(has_line(&all, "key-rotate", "aaaaaaaaaaaa"));
	assert_true(has_line(&all, "key-revoke", "aaaaaaaaaaaa"));
	assert_true(has_line(&all, "namespace-put", "small"));
	assert_int_equal(ix->audit.list(ix, NULL, all.lines[0].number, 1, &arena, &page, NULL),
			 UX_OK);
	assert_int_equal(page.lines[0].number, all.lines[1].number);
	struct ux_module e1 = index_find(ix, &arena, "gnu:e1");
	assert_int_equal(ix->audit.history(ix, e1.number, 10, &arena, &page, NULL), UX_OK);
	assert_int_equal(page.n, 2); /* settled twice; the second time changed nothing */
	assert_string_equal(page.lines[0].what, "extract");
	assert_string_equal(page.lines[0].detail, "inlines");
	assert_string_equal(page.lines[1].what, "upload");
	assert_int_equal(page.lines[1].module, e1.number);
	assert_int_equal(ix->audit.history(ix, e1.number, 1, &arena, &page, NULL), UX_OK);
	assert_int_equal(page.n, 1);
	assert_int_equal(ix->audit.history(ix, 0, 10, &arena, &page, NULL), UX_OK);
	assert_int_equal(page.n, 0);
	const struct ux_audit old = {.time = -5,
				     .key_id = "",
				     .from = "t",
				     .ns = "",
				     .what = "x",
				     .subject = "",
				     .detail = ""};
	uint64_t n = 0;
	assert_int_equal(ix->audit.add(ix, &old, NULL), UX_OK);
	assert_int_equal(ix->audit.expire(ix, 0, &n, NULL), UX_OK);
	assert_int_equal(n, 1);
}

static void numbers_are_kept_by_name(struct ux_index *ix)
{
	int64_t v = 1;
	assert_int_equal(ix->number_get(ix, "n", &v, NULL), UX_OK);
	assert_int_equal(v, 0);
	assert_int_equal(ix->number_put(ix, "n", -7, NULL), UX_OK);
	assert_int_equal(ix->number_put(ix, "n", INT64_MAX, NULL), UX_OK);
	assert_int_equal(ix->number_get(ix, "n", &v, NULL), UX_OK);
	assert_true(v == INT64_MAX);
}

static void uploads_at_work_are_counted(struct ux_index *ix)
{
	struct ux_upload_counts before, after;
	const char *ids[] = {"gnu:w"};
	struct ux_upload up = {.uid = "00000000000000000000000000000abc",
			       .ns = "default",
			       .key_id = "w",
			       .ids = ids,
			       .n_ids = 1,
			       .size = 1000,
			       .description = "",
			       .file_name = "",
			       .created = 1};
	assert_int_equal(ix->uploads.counts(ix, "default", "w", &before, NULL), UX_OK);
	assert_int_equal(ix->uploads.add(ix, &up, NULL), UX_OK);
	assert_int_equal(ix->uploads.counts(ix, "default", "w", &after, NULL), UX_OK);
	assert_int_equal(after.of_key, before.of_key + 1);
	assert_int_equal(after.all, before.all + 1);
	assert_int_equal(after.bytes_of_ns, before.bytes_of_ns + 1000);
	assert_int_equal(ix->uploads.give_up(ix, up.uid, "corrupt", "x", 2, NULL), UX_OK);
	assert_int_equal(ix->uploads.counts(ix, "default", "w", &after, NULL), UX_OK);
	assert_int_equal(after.of_key, before.of_key);
}

/* Adds a GSYM to namespace "exported". */
static void export_add(struct ux_index *ix, const char **ids, size_t n, uint8_t hash)
{
	struct ux_add_result r;
	assert_int_equal(index_add_to(ix, "exported", ids, n,
				      index_candidate(hash, UX_QUALITY_LINES, hash), false, NULL,
				      &r),
			 UX_OK);
}

/* Returns the first bytes of the hashes of a page, as a text; moves *place to the end of the page.
 */
static const char *export_page(struct ux_index *ix, struct ux_stored_place *place, size_t limit)
{
	static char text[64];
	UX_ARENA(arena, 1 << 20);
	struct ux_stored_objects list;
	size_t n = 0;
	assert_int_equal(ix->objects.list(ix, "exported", place, limit, &arena, &list, NULL),
			 UX_OK);
	text[0] = '\0';
	for (size_t i = 0; i < list.n; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%u%s ",
				      list.objects[i].candidate.blob.bytes[0],
				      list.objects[i].n_ids > 1 ? "+" : "");
	if (list.more)
		(void)snprintf(text + n, sizeof(text) - n, "...");
	*place = list.next;
	return text;
}

static void objects_are_listed_in_the_order_in_which_they_became_ready(struct ux_index *ix)
{
	const char *a[] = {"gnu:e1", "file:e1"}, *b[] = {"gnu:e2"}, *c[] = {"gnu:e3"};
	struct ux_stored_place place = {0}, beginning = {0};
	struct ux_blob_hash hash;
	uint64_t size = 0;
	assert_string_equal(export_page(ix, &place, 10), "");
	export_add(ix, a, 1, 201);
	export_add(ix, b, 1, 202);
	assert_string_equal(export_page(ix, &place, 10), "201 202 ");
	assert_string_equal(export_page(ix, &place, 10), "");
	export_add(ix, a, 2, 203); /* the module gets a further ID: it is listed again */
	export_add(ix, c, 1, 204);
	assert_string_equal(export_page(ix, &place, 2), "201+ 203+ ...");
	assert_string_equal(export_page(ix, &place, 2), "204 ");
	assert_string_equal(export_page(ix, &beginning, 10), "202 201+ 203+ 204 ");
	struct ux_stored_place other = place;
	other.store++;
	assert_string_equal(export_page(ix, &other, 1), "202 ...");
	other = place;
	other.sequence += 1000; /* as after a backup was restored */
	assert_string_equal(export_page(ix, &other, 1), "202 ...");
	memset(&hash, 204, sizeof(hash));
	assert_int_equal(ix->objects.find(ix, "exported", &hash, &size, NULL), UX_OK);
	assert_int_equal(size, 7);
	assert_int_equal(ix->objects.find(ix, "default", &hash, &size, NULL), UX_ENOTFOUND);
}

static void a_candidate_is_listed_once_it_is_ready(struct ux_index *ix)
{
	const char *ids[] = {"gnu:e4"};
	struct ux_stored_place place = {0};
	struct ux_add_result r;
	struct ux_candidate c = index_candidate(205, UX_QUALITY_NONE, 0);
	c.kind = UX_KIND_EXECUTABLE;
	c.state = UX_CANDIDATE_PENDING;
	(void)export_page(ix, &place, 100);
	assert_int_equal(index_add_to(ix, "exported", ids, 1, c, false, NULL, &r), UX_OK);
	assert_string_equal(export_page(ix, &place, 10), "");
	const struct ux_settled done = {.state = UX_CANDIDATE_READY,
					.reason = "",
					.kind = UX_KIND_EXECUTABLE,
					.holds = UX_HOLDS_CODE};
	assert_int_equal(ix->modules.settle(ix, r.candidate, &done, 3000, &r, NULL), UX_OK);
	assert_string_equal(export_page(ix, &place, 10), "205 ");
}

static bool claims(struct ux_index *ix, const char *owner, ux_time now)
{
	const struct ux_job spec = {.kind = "maintenance", .subject = "all", .ns = "default"};
	bool mine = false;
	assert_int_equal(ix->jobs.claim(ix, &spec, owner, now, 10, &mine, NULL), UX_OK);
	return mine;
}

/* Subjects without a row are claimed by one owner, who renews the claim, until the lease or the
 * work ends. */
static void others_claim_in_turn(struct ux_index *ix)
{
	assert_true(claims(ix, "a", 100));
	assert_false(claims(ix, "b", 109));
	assert_true(claims(ix, "a", 109));
	assert_false(claims(ix, "b", 118));
	assert_true(claims(ix, "b", 119));
	assert_false(claims(ix, "a", 119));
	assert_int_equal(ix->jobs.unclaim(ix, "maintenance", "all", "a", NULL),
			 UX_OK); /* not its own */
	assert_false(claims(ix, "a", 119));
	assert_int_equal(ix->jobs.unclaim(ix, "maintenance", "all", "b", NULL), UX_OK);
	assert_true(claims(ix, "a", 119));
	assert_int_equal(ix->jobs.release(ix, NULL, true, NULL), UX_OK); /* of whoever has leases */
	assert_true(claims(ix, "b", 120));
	assert_int_equal(ix->jobs.unclaim(ix, "maintenance", "all", "b", NULL), UX_OK);
}

static bool begins_removal(struct ux_index *ix, const struct ux_blob_hash *hash, ux_time now)
{
	bool mine = false;
	assert_int_equal(ix->blobs.remove_begin(ix, hash, now, &mine, NULL), UX_OK);
	return mine;
}

/* The removal of a file is claimed once, and again after its claimer has long been gone. */
static void others_remove_in_turn(struct ux_index *ix)
{
	const struct ux_blob_hash hash = {{0x7e, 0x57}};
	const struct ux_blob_row row = {.hash = hash};
	assert_true(begins_removal(ix, &hash, 1000));
	assert_false(begins_removal(ix, &hash, 1000));
	assert_false(begins_removal(ix, &hash, 1300));
	assert_int_equal(ix->blobs.collected(ix, &row, 1, NULL), UX_OK); /* others leave it alone */
	assert_false(begins_removal(ix, &hash, 1300));
	assert_true(begins_removal(ix, &hash, 1301));
	assert_int_equal(ix->blobs.removed(ix, &hash, 1000, NULL), UX_OK); /* of the one before */
	assert_false(begins_removal(ix, &hash, 1302));
	assert_int_equal(ix->blobs.removed(ix, &hash, 1301, NULL), UX_OK);
	assert_true(begins_removal(ix, &hash, 1302));
	assert_int_equal(ix->blobs.removed(ix, &hash, 1302, NULL), UX_OK);
}

void index_others_conform(struct ux_index *ix)
{
	others_claim_in_turn(ix);
	others_remove_in_turn(ix);
	jobs_are_leased_to_one_at_a_time(ix);
	jobs_of_a_namespace_are_listed_whatever_others_have(ix);
	namespaces_take_turns(ix);
	sources_belong_to_a_candidate_and_are_found_by_path(ix);
	answers_of_upstreams_are_remembered_until_they_expire(ix);
	keys_have_tokens_that_replace_each_other(ix);
	every_change_has_its_line(ix);
	numbers_are_kept_by_name(ix);
	uploads_at_work_are_counted(ix);
	objects_are_listed_in_the_order_in_which_they_became_ready(ix);
	a_candidate_is_listed_once_it_is_ready(ix);
}
