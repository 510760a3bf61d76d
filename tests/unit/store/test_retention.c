/* SPDX-License-Identifier: Apache-2.0 */
/* store: which modules it removes and when, its clock, and the check of its contents. */
#include "sweep.h"

#include "index_suite.h"
#include "store.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum {
	DAY = 24 * 60 * 60
};

struct folder {
	char path[64];
	struct ux_store store;
};

static const char some_node[] = "some-node";

static int folder_open(void **state)
{
	static struct folder f;
	snprintf(f.path, sizeof(f.path), "/tmp/unhex-test-XXXXXX");
	assert_non_null(mkdtemp(f.path));
	assert_int_equal(ux_store_open(&f.store, f.path, NULL), UX_OK);
	*state = &f;
	return 0;
}

static int folder_close(void **state)
{
	struct folder *f = *state;
	char cmd[96];
	ux_store_close(&f->store);
	snprintf(cmd, sizeof(cmd), "rm -rf %s", f->path);
	return system(cmd);
}

/* Moves the store's clock forward, as days of serving would. */
static void pass(struct ux_store *s, int64_t seconds)
{
	s->clock.at += seconds;
	s->clock.shown += seconds;
}

/* A blob of these bytes, and a module that has it. */
static struct ux_module put(struct ux_store *s, struct ux_arena *arena, const char *id,
			    const char *text)
{
	static unsigned serial;
	struct ux_blob_part *part = NULL;
	struct ux_add_result r;
	struct ux_module m;
	uint64_t size = 0;
	char uid[UX_UPLOAD_UID_SIZE];
	snprintf(uid, sizeof(uid), "%032x", ++serial);
	struct ux_candidate c = index_candidate(0, UX_QUALITY_LINES, 3);
	c.blob = ux_blob_hash_of(ux_bytes_cstr(text));
	c.size = strlen(text);
	assert_int_equal(s->blobs->part_open(s->blobs, uid, &part, &size, NULL), UX_OK);
	assert_int_equal(s->blobs->part_write(part, ux_bytes_cstr(text), NULL), UX_OK);
	assert_int_equal(s->blobs->part_commit(part, &c.blob, NULL), UX_OK);
	s->blobs->part_close(part);
	const struct ux_arrival what = {"default", &id, 1, false};
	assert_int_equal(s->index->modules.add(s->index, &what, &c, &index_tester, ux_store_now(s),
					       &r, NULL),
			 UX_OK);
	assert_int_equal(s->index->modules.find(s->index, "default", id, arena, &m, NULL), UX_OK);
	return m;
}

static bool is_there(struct ux_store *s, const char *id)
{
	int64_t number = 0;
	return s->index->modules.number(s->index, "default", id, &number, NULL) == UX_OK;
}

static const struct ux_retention month = {.default_s = 30 * DAY, .grace_s = 7 * DAY};

static struct ux_retained_sum retain(struct ux_store *s, const struct ux_retention *how)
{
	struct ux_retained_sum sum;
	assert_int_equal(ux_store_retain(s, how, NULL, NULL, &sum, NULL), UX_OK);
	return sum;
}

static void module_goes_after_its_retention_and_its_grace(void **state)
{
	struct ux_store *s = &((struct folder *)*state)->store;
	UX_ARENA(arena, 1 << 20);
	put(s, &arena, "gnu:a", "a");
	pass(s, 30 * DAY);
	struct ux_retained_sum sum =
		retain(s, &month); /* the slack: a use may not have been written yet */
	assert_int_equal(sum.n[UX_RETAINED_MARKED], 0);
	pass(s, UX_RETENTION_SLACK - 60);
	assert_int_equal(retain(s, &month).n[UX_RETAINED_MARKED], 0);
	pass(s, 120);
	struct ux_retention dry = month;
	dry.dry_run = true;
	assert_int_equal(retain(s, &dry).n[UX_RETAINED_MARKED], 1);
	sum = retain(s, &month);
	assert_int_equal(sum.n[UX_RETAINED_MARKED], 1);
	assert_int_equal(sum.bytes[UX_RETAINED_MARKED], 1);
	sum = retain(s, &month);
	assert_int_equal(sum.n[UX_RETAINED_IDLE], 1);
	pass(s, 7 * DAY - 60);
	assert_int_equal(retain(s, &month).n[UX_RETAINED_SWEPT], 0);
	pass(s, 120);
	assert_int_equal(retain(s, &dry).n[UX_RETAINED_SWEPT], 1);
	assert_true(is_there(s, "gnu:a"));
	assert_int_equal(retain(s, &month).n[UX_RETAINED_SWEPT], 1);
	assert_false(is_there(s, "gnu:a"));
	assert_int_equal(retain(s, &month).n[UX_RETAINED_SWEPT], 0);
}

static void use_that_is_not_written_yet_counts(void **state)
{
	struct ux_store *s = &((struct folder *)*state)->store;
	UX_ARENA(arena, 1 << 20);
	struct ux_module m = put(s, &arena, "gnu:a", "a");
	pass(s, 40 * DAY);
	ux_store_used(s, &m);
	assert_true(ux_last_use_urgent(&s->last_use));
	assert_int_equal(retain(s, &month).n[UX_RETAINED_MARKED], 0);
	assert_false(ux_last_use_urgent(&s->last_use));
	pass(s, 40 * DAY);
	assert_int_equal(retain(s, &month).n[UX_RETAINED_MARKED], 1);
	/* while it is marked, a use is in the index before the answer is sent */
	assert_int_equal(s->index->modules.find(s->index, "default", "gnu:a", &arena, &m, NULL),
			 UX_OK);
	assert_int_not_equal(m.marked, 0);
	ux_store_used(s, &m);
	assert_int_equal(s->index->modules.find(s->index, "default", "gnu:a", &arena, &m, NULL),
			 UX_OK);
	assert_int_equal(m.marked, 0);
	assert_int_equal(m.last_used, ux_store_now(s));
	pass(s, 20 * DAY);
	struct ux_retained_sum sum = retain(s, &month);
	assert_true(sum.n[UX_RETAINED_MARKED] == 0 && sum.n[UX_RETAINED_SWEPT] == 0);
}

static ux_time last_used(struct ux_store *s, const char *id)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_module m;
	assert_int_equal(s->index->modules.find(s->index, "default", id, &arena, &m, NULL), UX_OK);
	return m.last_used;
}

/* A query does not know earlier uses, and writes one an hour. */
static void query_counts_as_a_use_of_what_it_found(void **state)
{
	struct ux_store *s = &((struct folder *)*state)->store;
	UX_ARENA(arena, 1 << 20);
	static const char *const ids[] = {"gnu:a", "gnu:b", "gnu:c"};
	int64_t modules[ux_countof(ids)];
	struct ux_known known[ux_countof(ids)];
	for (size_t i = 0; i < ux_countof(ids); i++)
		modules[i] = put(s, &arena, ids[i], ids[i]).number;
	const ux_time put_at = last_used(s, "gnu:a");
	pass(s, UX_STORE_QUERY_S / 2);
	ux_store_queried(s, modules, 2, /* marked= */ false);
	assert_int_equal(ux_store_tick(s, NULL), UX_OK);
	assert_int_equal(last_used(s, "gnu:a"), put_at);
	pass(s, UX_STORE_QUERY_S);
	ux_store_queried(s, modules, 2, /* marked= */ false);
	assert_int_equal(ux_store_tick(s, NULL), UX_OK);
	assert_int_equal(last_used(s, "gnu:a"), ux_store_now(s));
	assert_int_equal(last_used(s, "gnu:b"), ux_store_now(s));
	assert_int_equal(last_used(s, "gnu:c"), put_at);
	pass(s, 40 * DAY);
	assert_int_equal(retain(s, &month).n[UX_RETAINED_MARKED], 3);
	assert_int_equal(s->index->modules.known(s->index, "default", ids, 3, known, NULL), UX_OK);
	for (size_t i = 0; i < ux_countof(ids); i++)
		assert_true(known[i].any && known[i].marked != 0);
	ux_store_queried(s, modules, 2, /* marked= */ true); /* both are written in one call */
	assert_int_equal(s->index->modules.known(s->index, "default", ids, 3, known, NULL), UX_OK);
	for (size_t i = 0; i < ux_countof(ids); i++)
		assert_true(known[i].any && (known[i].marked == 0) == (i < 2));
	assert_int_equal(last_used(s, "gnu:a"), ux_store_now(s));
	assert_int_equal(last_used(s, "gnu:b"), ux_store_now(s));
	assert_int_equal(last_used(s, "gnu:c"), put_at);
}

/* Retention counts from the last use, though the index has one that is nearly an hour older. */
static void use_that_a_query_does_not_write_counts(void **state)
{
	struct ux_store *s = &((struct folder *)*state)->store;
	UX_ARENA(arena, 1 << 20);
	const int64_t module = put(s, &arena, "gnu:a", "a").number;
	const ux_time put_at = last_used(s, "gnu:a");
	pass(s, UX_STORE_QUERY_S - 60);
	ux_store_queried(s, &module, 1, /* marked= */ false);
	assert_int_equal(ux_store_tick(s, NULL), UX_OK);
	assert_int_equal(last_used(s, "gnu:a"), put_at);
	pass(s, 30 * DAY);
	assert_int_equal(retain(s, &month).n[UX_RETAINED_MARKED], 0);
	pass(s, UX_RETENTION_SLACK);
	assert_int_equal(retain(s, &month).n[UX_RETAINED_MARKED], 1);
}

static void nothing_goes_when_a_use_could_not_be_noted(void **state)
{
	struct ux_store *s = &((struct folder *)*state)->store;
	UX_ARENA(arena, 1 << 20);
	put(s, &arena, "gnu:a", "a");
	pass(s, 40 * DAY);
	s->last_use.dropped = true;
	assert_int_equal(retain(s, &month).n[UX_RETAINED_MARKED], 0);
	assert_int_equal(ux_store_tick(s, NULL), UX_OK);
	assert_int_equal(retain(s, &month).n[UX_RETAINED_MARKED], 0);
}

static void pinned_modules_and_namespaces_that_keep_longer_are_kept(void **state)
{
	struct ux_store *s = &((struct folder *)*state)->store;
	struct ux_index *ix = s->index;
	UX_ARENA(arena, 1 << 20);
	put(s, &arena, "gnu:a", "a");
	put(s, &arena, "gnu:b", "b");
	assert_int_equal(ix->modules.pin(ix, "default", "gnu:a", "v1", &index_tester, 1, NULL),
			 UX_OK);
	pass(s, 40 * DAY);
	struct ux_namespace ns = {.name = "default", .upstreams = "*", .description = ""};
	const struct {
		int64_t retention_s;
		unsigned marked;
	} cases[] = {{50 * DAY, 0}, {0, 0}, {-1, 1}};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		ns.retention_s = cases[i].retention_s;
		assert_int_equal(ix->namespaces.put(ix, &ns, &index_tester, 1, NULL), UX_OK);
		assert_int_equal(retain(s, &month).n[UX_RETAINED_MARKED], cases[i].marked);
	}
	pass(s, 8 * DAY);
	assert_int_equal(retain(s, &month).n[UX_RETAINED_SWEPT], 1);
	assert_true(is_there(s, "gnu:a"));
	assert_false(is_there(s, "gnu:b"));
	const struct ux_retention for_ever = {.grace_s = 1};
	assert_int_equal(retain(s, &for_ever).n[UX_RETAINED_MARKED], 0);
}

static void cached(struct ux_store *s, struct ux_arena *arena, const char *id, uint8_t hash)
{
	struct ux_add_result r;
	struct ux_candidate c = index_candidate(hash, UX_QUALITY_LINES, 3);
	struct ux_module m;
	c.origin = UX_ORIGIN_UPSTREAM;
	const struct ux_arrival what = {"default", &id, 1, false};
	assert_int_equal(s->index->modules.add(s->index, &what, &c, &index_tester, ux_store_now(s),
					       &r, NULL),
			 UX_OK);
	assert_int_equal(s->index->modules.find(s->index, "default", id, arena, &m, NULL), UX_OK);
	pass(s, 10);
}

static void reported(void *ctx, const struct ux_retained_one *one)
{
	char *text = ctx;
	assert_int_equal(one->n_ids, 1);
	strncat(text, one->id, 31 - strlen(text));
}

static uint64_t fetched_total(struct ux_store *s, const char *ns)
{
	uint64_t n = 0;
	assert_int_equal(s->index->fetched.bytes(s->index, ns, &n, NULL), UX_OK);
	return n;
}

static bool has_candidate(struct ux_store *s, const char *id)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_module m;
	return s->index->modules.find(s->index, "default", id, &arena, &m, NULL) == UX_OK &&
	       m.n_candidates > 0;
}

/* An answer with a source file of `size` bytes. */
static void fetched_source(struct ux_store *s, const char *artifact, uint64_t size)
{
	struct ux_fetched a = {.ns = "default",
			       .upstream = "u",
			       .id = "gnu:50",
			       .artifact = artifact,
			       .outcome = UX_FETCH_FOUND,
			       .reason = "",
			       .file_name = "",
			       .queried = ux_store_now(s),
			       .expires = INT64_MAX,
			       .has_blob = true,
			       .size = size};
	memset(a.blob.bytes, artifact[0], sizeof(a.blob.bytes));
	assert_int_equal(s->index->fetched.put(s->index, &a, NULL), UX_OK);
	pass(s, 10);
}

static void what_upstreams_send_is_bounded_when_it_comes(void **state)
{
	struct ux_store *s = &((struct folder *)*state)->store;
	UX_ARENA(arena, 1 << 20);
	char gone[32] = "";
	struct ux_error err = UX_ERROR_INIT;
	put(s, &arena, "gnu:0f", "an original does not count");
	cached(s, &arena, "gnu:a", 1);
	uint64_t one = fetched_total(s, "");
	assert_true(one > 0);
	cached(s, &arena, "gnu:b", 2);
	cached(s, &arena, "gnu:c", 3);
	assert_int_equal(fetched_total(s, "default"), 3 * one);
	assert_int_equal(fetched_total(s, "other"), 0);
	assert_int_equal(ux_store_make_room(s, "default", 0, 1 << 30, reported, gone, NULL), UX_OK);
	assert_int_equal(ux_store_make_room(s, "default", 4 * one, one, reported, gone, NULL),
			 UX_OK);
	assert_string_equal(gone, "");
	/* One byte more than one candidate leaves free. */
	assert_int_equal(ux_store_make_room(s, "default", 3 * one, one + 1, reported, gone, NULL),
			 UX_OK);
	assert_string_equal(gone, "gnu:agnu:b");
	assert_true(!has_candidate(s, "gnu:a") && has_candidate(s, "gnu:c") &&
		    has_candidate(s, "gnu:0f"));
	assert_int_equal(ux_store_make_room(s, "default", one, one + 1, reported, gone, &err),
			 UX_ELIMIT);
	assert_true(has_candidate(s, "gnu:c"));

	fetched_source(s, "source/a", 100);
	fetched_source(s, "tource/b", 200);
	assert_int_equal(fetched_total(s, ""), one + 300);
	assert_int_equal(ux_store_make_room(s, "default", 250, 50, reported, gone, NULL), UX_OK);
	assert_false(has_candidate(s, "gnu:c"));
	assert_int_equal(fetched_total(s, ""), 200);
}

static void a_quota_bounds_what_upstreams_send_too(void **state)
{
	struct ux_store *s = &((struct folder *)*state)->store;
	UX_ARENA(arena, 1 << 20);
	char gone[32] = "";
	cached(s, &arena, "gnu:a", 1);
	uint64_t one = fetched_total(s, "");
	const struct ux_namespace ns = {
		.name = "default", .quota_bytes = one, .upstreams = "*", .description = ""};
	assert_int_equal(
		s->index->namespaces.put(s->index, &ns, &index_tester, ux_store_now(s), NULL),
		UX_OK);
	assert_int_equal(ux_store_make_room(s, "default", 0, 1, reported, gone, NULL), UX_OK);
	assert_string_equal(gone, "gnu:a");
	assert_int_equal(ux_store_make_room(s, "default", 0, one + 1, reported, gone, NULL),
			 UX_ELIMIT);
}

static void caches_are_bounded_and_the_least_used_goes_first(void **state)
{
	struct ux_store *s = &((struct folder *)*state)->store;
	UX_ARENA(arena, 1 << 20);
	struct ux_retained_sum sum;
	char gone[32] = "";
	put(s, &arena, "gnu:o", "an original does not count");
	cached(s, &arena, "gnu:a", 1);
	cached(s, &arena, "gnu:b", 2);
	cached(s, &arena, "gnu:c", 3);
	struct ux_module m;
	assert_int_equal(s->index->modules.find(s->index, "default", "gnu:a", &arena, &m, NULL),
			 UX_OK);
	ux_store_used(s, &m);
	struct ux_retention how = {.cache_bytes = 21};
	assert_int_equal(retain(s, &how).n[UX_RETAINED_EVICTED], 0);
	how.cache_bytes = 13;
	assert_int_equal(ux_store_retain(s, &how, reported, gone, &sum, NULL), UX_OK);
	assert_string_equal(gone, "gnu:bgnu:c");
	assert_int_equal(sum.bytes[UX_RETAINED_EVICTED], 14);
	assert_true(is_there(s, "gnu:b")); /* only its candidate went */
	struct ux_usage use;
	assert_int_equal(s->index->namespaces.usage(s->index, NULL, &use, NULL), UX_OK);
	assert_int_equal(use.cache_bytes, 7);
	assert_int_equal(use.bytes, 26);
}

static void clock_never_leaps_nor_goes_back(void **state)
{
	(void)state;
	const ux_time t = 1800000000;
	assert_int_equal(ux_store_clock_resume(0, t), t);
	assert_int_equal(ux_store_clock_resume(t, t + 100), t + 100);
	assert_int_equal(ux_store_clock_resume(t, t + 365 * DAY), t + DAY);
	assert_int_equal(ux_store_clock_resume(t, t - 365 * DAY), t);
	assert_int_equal(ux_store_clock_step(t, t + 60, 60), t + 60);
	assert_int_equal(ux_store_clock_step(t, t + 365 * DAY, 60), t + 120);
	assert_int_equal(ux_store_clock_step(t, t - 365 * DAY, 60), t + 30);
	assert_int_equal(ux_store_clock_step(t, 0, 0), t);
	/* however the clock changes for 100 hours, at most 200 hours pass */
	ux_time at = t;
	uint64_t seed = 12345;
	for (unsigned i = 0; i < 6000; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		ux_time next = ux_store_clock_step(at, (ux_time)(seed >> 30), 60);
		assert_true(next >= at + 30 && next <= at + 120);
		at = next;
	}
	assert_true(at <= t + 200 * 3600);
	/* and once it is right, the store catches up with it */
	for (unsigned i = 0; i < 20000; i++)
		at = ux_store_clock_step(at, t + 300 * 3600 + 60 * (ux_time)i, 60);
	assert_int_equal(at, t + 300 * 3600 + 60 * 19999);
}

/* All nodes use the time of their database, whatever their machines' clocks are. */
static void clock_follows_a_database(void **state)
{
	(void)state;
	struct ux_store_clock c;
	const ux_time there = (ux_time)time(NULL) + 5000;
	ux_store_clock_init(&c, there - 100, 0, INT64_C(1000) * there);
	assert_true(ux_store_clock_now(&c) >= there && ux_store_clock_now(&c) <= there + 5);
	assert_true(ux_store_clock_latest(&c) >= there);
	assert_false(ux_store_clock_agrees(&c)); /* files have times of this machine */
	assert_true(ux_store_clock_ahead(&c) <= -4995 && ux_store_clock_ahead(&c) >= -5005);
	ux_store_clock_follow(&c, INT64_C(1000) * (there + 1));
	assert_true(ux_store_clock_now(&c) >= there && ux_store_clock_now(&c) <= there + 5);
	ux_store_clock_deinit(&c);
}

/* Keys expire by this time. */
static void latest_time_never_goes_back_and_goes_on_after_a_restart(void **state)
{
	struct folder *f = *state;
	struct ux_store *s = &f->store;
	const ux_time wall = ux_store_key_now(s), ahead = wall + 365 * DAY;
	assert_false(ux_store_clock_urgent(&s->clock) && s->clock.written != 0);
	s->clock.latest = ahead; /* the machine's clock showed that for a moment */
	assert_in_range(ux_store_key_now(s), ahead, ahead + 60);
	s->clock.latest_mono -= 100; /* it goes on with the monotonic clock */
	assert_in_range(ux_store_key_now(s), ahead + 100, ahead + 160);
	assert_true(ux_store_clock_urgent(&s->clock));
	assert_int_equal(ux_store_tick(s, NULL), UX_OK);
	assert_false(ux_store_clock_urgent(&s->clock));
	ux_time now = 0;
	assert_int_equal(ux_store_key_now_of(s->index, &now, NULL), UX_OK);
	assert_in_range(now, ahead + 100, ahead + 160);
	ux_store_close(s);
	assert_int_equal(ux_store_open(s, f->path, NULL), UX_OK);
	assert_in_range(ux_store_key_now(s), ahead + 100, ahead + 160);
	assert_in_range(ux_store_now(s), wall,
			wall + 60); /* ages are not computed with this time */
}

/* Requests that read the row earlier may still open the file. */
static void files_of_deleted_modules_go_after_a_while(void **state)
{
	struct ux_store *s = &((struct folder *)*state)->store;
	UX_ARENA(arena, 1 << 20);
	uint64_t n = 0;
	put(s, &arena, "gnu:a", "a");
	put(s, &arena, "gnu:b", "b");
	for (unsigned i = 0; i < 2; i++) {
		const char *id = i == 0 ? "gnu:a" : "gnu:b";
		assert_int_equal(ux_store_remove_module(s, "default", id, &index_tester, NULL),
				 UX_OK);
		assert_int_equal(ux_store_collect(s, &n, NULL), UX_OK);
		assert_int_equal(n, i); /* of the first one, but not yet of the second */
		assert_int_equal(ux_store_collect(s, &n, NULL), UX_OK);
		assert_int_equal(n, 0); /* nothing before the time has passed */
		s->collect_s = 0;
	}
	assert_int_equal(ux_store_collect(s, &n, NULL), UX_OK);
	assert_int_equal(n, 1);
}

static void jump_of_the_clock_between_two_runs_removes_nothing(void **state)
{
	struct folder *f = *state;
	UX_ARENA(arena, 1 << 20);
	put(&f->store, &arena, "gnu:a", "a");
	/* the store was last closed when the clock stood two years back, and ahead */
	static const int64_t jumps[] = {-730 * DAY, 730 * DAY};
	for (size_t i = 0; i < ux_countof(jumps); i++) {
		struct ux_module m;
		ux_time was = time(NULL) + jumps[i];
		const struct ux_touch use = {1, was};
		assert_int_equal(f->store.index->modules.touch(f->store.index, &use, 1, 0, NULL),
				 UX_OK);
		assert_int_equal(f->store.index->number_put(f->store.index, "clock", was, NULL),
				 UX_OK);
		ux_store_close(&f->store);
		assert_int_equal(ux_store_open(&f->store, f->path, NULL), UX_OK);
		assert_false(ux_store_clock_agrees(&f->store.clock));
		struct ux_retained_sum sum = retain(&f->store, &month);
		assert_true(sum.n[UX_RETAINED_MARKED] == 0 && sum.n[UX_RETAINED_SWEPT] == 0);
		assert_int_equal(f->store.index->modules.find(f->store.index, "default", "gnu:a",
							      &arena, &m, NULL),
				 UX_OK);
		ux_store_used(&f->store, &m);
		assert_int_equal(ux_store_tick(&f->store, NULL), UX_OK);
	}
}

/* check */

static struct ux_check_sum check(struct ux_store *s, bool repair, unsigned *found)
{
	struct ux_check_sum sum;
	memset(found, 0, UX_CHECK_COUNT * sizeof(*found));
	assert_int_equal(ux_store_check(s, repair, 3, NULL, NULL, &sum, NULL), UX_OK);
	return sum;
}

static void note(void *ctx, const struct ux_check_one *one)
{
	unsigned *found = ctx;
	found[one->problem]++;
	if (one->problem == UX_CHECK_DAMAGED)
		assert_string_equal(one->id, "gnu:damaged");
}

static void blob_path(const struct folder *f, const char *text, char *path, size_t size)
{
	char hash[2 * UX_BLOB_HASH_SIZE + 1];
	struct ux_blob_hash h = ux_blob_hash_of(ux_bytes_cstr(text));
	ux_blob_hash_text(&h, hash);
	snprintf(path, size, "%s/blobs/%.2s/%.2s/%s", f->path, hash, hash + 2, hash);
}

static void check_finds_each_kind_of_damage_and_repairs_it(void **state)
{
	struct folder *f = *state;
	struct ux_store *s = &f->store;
	UX_ARENA(arena, 1 << 20);
	unsigned found[UX_CHECK_COUNT] = {0};
	char path[256];
	put(s, &arena, "gnu:good", "good");
	put(s, &arena, "gnu:missing", "missing");
	put(s, &arena, "gnu:cut", "cut off");
	put(s, &arena, "gnu:damaged", "damaged");
	put(s, &arena, "gnu:garbage", "garbage");
	assert_int_equal(s->index->modules.remove(s->index, "default", "gnu:garbage", &index_tester,
						  1, NULL),
			 UX_OK);
	struct ux_check_sum sum = check(s, false, found);
	assert_int_equal(sum.blobs, 4);
	assert_int_equal(sum.problems, 0);
	assert_int_equal(sum.garbage, 1);
	blob_path(f, "missing", path, sizeof(path));
	assert_int_equal(unlink(path), 0);
	blob_path(f, "cut off", path, sizeof(path));
	assert_int_equal(chmod(path, 0600), 0); /* only root may write without it */
	assert_int_equal(truncate(path, 3), 0);
	blob_path(f, "damaged", path, sizeof(path));
	assert_int_equal(chmod(path, 0600), 0);
	FILE *file = fopen(path, "r+");
	assert_non_null(file);
	fputc('D', file);
	assert_int_equal(fclose(file), 0);

	for (unsigned repair = 0; repair < 2; repair++) {
		memset(found, 0, sizeof(found));
		assert_int_equal(ux_store_check(s, repair, 0, note, found, &sum, NULL), UX_OK);
		assert_int_equal(found[UX_CHECK_MISSING], 1);
		assert_int_equal(found[UX_CHECK_SIZE], 1);
		assert_int_equal(found[UX_CHECK_DAMAGED], 1);
		assert_int_equal(sum.problems, 3);
		assert_int_equal(sum.repaired, 3 * repair);
	}
	sum = check(s, false, found);
	assert_int_equal(sum.blobs, 1);
	assert_int_equal(sum.problems, 0);
	struct ux_module m = put(s, &arena, "gnu:damaged", "damaged"); /* is wanted again */
	assert_int_equal(m.n_candidates, 1);
	sum = check(s, false, found);
	assert_int_equal(sum.blobs, 2);
	assert_int_equal(sum.problems, 0);
}

static void store_beside_a_server_can_be_checked_but_an_empty_folder_not(void **state)
{
	struct folder *f = *state;
	struct ux_store beside;
	struct ux_check_sum sum;
	UX_ARENA(arena, 1 << 20);
	put(&f->store, &arena, "gnu:a", "a");
	assert_int_equal(
		ux_store_open_beside(&beside, &(const struct ux_store_place){.dir = f->path}, NULL),
		UX_OK);
	assert_int_equal(ux_store_check(&beside, false, 1, NULL, NULL, &sum, NULL), UX_OK);
	assert_true(sum.blobs == 1 && sum.problems == 0);
	ux_store_close(&beside);
	assert_int_equal(ux_store_open_beside(&beside,
					      &(const struct ux_store_place){.dir = "/nonexistent"},
					      NULL),
			 UX_ENOTFOUND);
}

/* A server that was killed in the middle of a job. */
static void jobs_of_a_server_that_died_are_free_when_the_next_one_starts(void **state)
{
	struct folder *f = *state;
	struct ux_index *ix = f->store.index;
	UX_ARENA(arena, 1 << 20);
	struct ux_add_result r;
	struct ux_job job, again;
	const char *ids[] = {"gnu:j"};
	struct ux_candidate c = index_candidate(5, UX_QUALITY_NONE, 0);
	c.kind = UX_KIND_EXECUTABLE;
	c.state = UX_CANDIDATE_PENDING;
	assert_int_equal(index_add(ix, ids, 1, c, false, &r), UX_OK);
	ux_time now = ux_store_now(&f->store);
	assert_int_equal(
		ix->jobs.take(ix, UX_JOB_EXTRACT, some_node, now, 3600, &arena, &job, NULL), UX_OK);
	assert_int_equal(
		ix->jobs.take(ix, UX_JOB_EXTRACT, some_node, now, 3600, &arena, &again, NULL),
		UX_ENOTFOUND);
	ux_store_close(&f->store);
	assert_int_equal(ux_store_open(&f->store, f->path, NULL), UX_OK);
	ix = f->store.index;
	assert_int_equal(
		ix->jobs.take(ix, UX_JOB_EXTRACT, some_node, now, 3600, &arena, &again, NULL),
		UX_OK);
	assert_int_equal(again.number, job.number);
	assert_int_equal(again.attempts, 2);
	/* and a job that was lost is made again */
	assert_int_equal(ix->jobs.done(ix, job.number, some_node, NULL), UX_OK);
	ux_store_close(&f->store);
	assert_int_equal(ux_store_open(&f->store, f->path, NULL), UX_OK);
	ix = f->store.index;
	assert_int_equal(
		ix->jobs.take(ix, UX_JOB_EXTRACT, some_node, now + 60, 3600, &arena, &again, NULL),
		UX_OK);
	assert_int_equal(again.candidate, r.candidate);
}

static enum ux_code look_after(void *ctx)
{
	struct ux_store *s = ctx;
	struct ux_retained_sum sum;
	struct ux_check_sum found;
	const struct ux_retention dry = {.default_s = DAY, .cache_bytes = 1, .dry_run = true};
	UX_TRY(ux_store_retain(s, &dry, NULL, NULL, &sum, NULL));
	UX_TRY(ux_store_check(s, false, 0, NULL, NULL, &found, NULL));
	if (found.problems > 0 || sum.n[UX_RETAINED_MARKED] != 1 || sum.n[UX_RETAINED_EVICTED] != 1)
		return UX_ECORRUPT;
	return ux_store_tick(s, NULL);
}

static void looking_after_it_survives_each_failed_allocation(void **state)
{
	struct ux_store *s = &((struct folder *)*state)->store;
	UX_ARENA(arena, 1 << 20);
	put(s, &arena, "gnu:a", "aa");
	pass(s, 40 * DAY);
	put(s, &arena, "gnu:b", "b");
	struct ux_add_result r;
	struct ux_candidate c = index_candidate(0, UX_QUALITY_INLINES, 9);
	const char *ids[] = {"gnu:b"};
	c.blob = ux_blob_hash_of(UX_STR("aa")); /* the bytes of another */
	c.size = 2;
	c.origin = UX_ORIGIN_UPSTREAM;
	const struct ux_arrival what = {"default", ids, 1, false};
	assert_int_equal(s->index->modules.add(s->index, &what, &c, &index_tester, ux_store_now(s),
					       &r, NULL),
			 UX_OK);
	assert_true(each_failed_alloc(look_after, s, /* may_recover= */ true) > 3);
}

#define FOLDER_TEST(f) cmocka_unit_test_setup_teardown(f, folder_open, folder_close)

UX_SUITE(retention)
{
	const struct CMUnitTest tests[] = {
		FOLDER_TEST(module_goes_after_its_retention_and_its_grace),
		FOLDER_TEST(use_that_is_not_written_yet_counts),
		FOLDER_TEST(query_counts_as_a_use_of_what_it_found),
		FOLDER_TEST(use_that_a_query_does_not_write_counts),
		FOLDER_TEST(nothing_goes_when_a_use_could_not_be_noted),
		FOLDER_TEST(pinned_modules_and_namespaces_that_keep_longer_are_kept),
		FOLDER_TEST(caches_are_bounded_and_the_least_used_goes_first),
		FOLDER_TEST(what_upstreams_send_is_bounded_when_it_comes),
		FOLDER_TEST(a_quota_bounds_what_upstreams_send_too),
		UX_TEST(clock_never_leaps_nor_goes_back),
		UX_TEST(clock_follows_a_database),
		FOLDER_TEST(latest_time_never_goes_back_and_goes_on_after_a_restart),
		FOLDER_TEST(files_of_deleted_modules_go_after_a_while),
		FOLDER_TEST(jump_of_the_clock_between_two_runs_removes_nothing),
		FOLDER_TEST(check_finds_each_kind_of_damage_and_repairs_it),
		FOLDER_TEST(store_beside_a_server_can_be_checked_but_an_empty_folder_not),
		FOLDER_TEST(looking_after_it_survives_each_failed_allocation),
		FOLDER_TEST(jobs_of_a_server_that_died_are_free_when_the_next_one_starts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
