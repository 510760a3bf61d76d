/* SPDX-License-Identifier: Apache-2.0 */
/* Requirements for every backend of the index: use, pins, quotas, removal, blobs. */
#include "sweep.h"

#include "index_suite.h"

static struct ux_idle_list idle(struct ux_index *ix, struct ux_arena *arena, ux_time before)
{
	struct ux_idle_list list;
	assert_int_equal(ix->modules.idle(ix, "keep", before, 100, arena, &list, NULL), UX_OK);
	return list;
}

static int64_t keep(struct ux_index *ix, const char *id, uint8_t hash)
{
	struct ux_add_result r;
	const char *ids[] = {id};
	struct ux_candidate c = index_candidate(hash, UX_QUALITY_LINES, 3);
	assert_int_equal(index_add_to(ix, "keep", ids, 1, c, false, NULL, &r), UX_OK);
	return r.module;
}

static bool mark(struct ux_index *ix, int64_t module, ux_time before, ux_time now)
{
	bool done = false;
	assert_int_equal(ix->modules.mark(ix, module, before, now, &done, NULL), UX_OK);
	return done;
}

static bool sweep(struct ux_index *ix, int64_t module, ux_time before, ux_time marked_before)
{
	bool done = false;
	assert_int_equal(ix->modules.sweep(ix, module, before, marked_before, 6000, &done, NULL),
			 UX_OK);
	return done;
}

static void only_what_is_idle_unpinned_and_long_marked_is_swept(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	int64_t a = keep(ix, "gnu:k1", 60), b = keep(ix, "gnu:k2", 61), c = keep(ix, "gnu:k3", 62);
	const struct ux_touch uses[] = {{a, 3000}, {b, 4000}, {999999, 1}, {b, 3500}};
	assert_int_equal(ix->modules.touch(ix, uses, ux_countof(uses), 0, NULL), UX_OK);
	struct ux_idle_list list = idle(ix, &arena, 3001);
	assert_int_equal(list.n, 2);
	assert_int_equal(list.modules[0].module, c); /* last used when it came, at 2000 */
	assert_int_equal(list.modules[1].module, a);
	assert_int_equal(list.modules[1].last_used, 3000);
	assert_int_equal(list.modules[1].bytes, 7);
	assert_string_equal(list.modules[1].id, "gnu:k1");
	assert_int_equal(idle(ix, &arena, 4001).n, 3); /* the later time stayed */
	assert_int_equal(idle(ix, &arena, 2000).n, 0);
	struct ux_touch many[1200]; /* of several transactions */
	for (size_t i = 0; i < ux_countof(many); i++)
		many[i] = (struct ux_touch){i == 700 ? b : 900000 + (int64_t)i,
					    4000 + (i == 700 ? 1 : (ux_time)i % 7)};
	assert_int_equal(ix->modules.touch(ix, many, ux_countof(many), 0, NULL), UX_OK);
	assert_int_equal(idle(ix, &arena, 4001).n, 2);
	assert_int_equal(idle(ix, &arena, 4002).n, 3);

	assert_int_equal(ix->modules.pin(ix, "keep", "gnu:k3", "v1", &index_tester, 1, NULL),
			 UX_OK);
	assert_int_equal(ix->modules.pin(ix, "keep", "gnu:k3", "v1", &index_tester, 2, NULL),
			 UX_OK);
	assert_int_equal(ix->modules.pin(ix, "keep", "gnu:kx", "v1", &index_tester, 2, NULL),
			 UX_ENOTFOUND);
	assert_int_equal(idle(ix, &arena, 3001).n, 1);
	struct ux_pin_list pins;
	assert_int_equal(ix->modules.pins(ix, c, &arena, &pins, NULL), UX_OK);
	assert_int_equal(pins.n, 1);
	assert_string_equal(pins.pins[0].label, "v1");
	assert_string_equal(pins.pins[0].key_id, "tester");
	assert_int_equal(pins.pins[0].created, 1);

	assert_false(mark(ix, c, 9999, 5000));
	assert_false(mark(ix, b, 3001, 5000));
	assert_true(mark(ix, a, 3001, 5000));
	assert_false(mark(ix, a, 3001, 5500)); /* the first time counts */
	index_offers_agree(ix, "keep", 3);     /* of a marked one, too */
	assert_false(sweep(ix, a, 3001, 4999));
	assert_false(sweep(ix, b, 9999, 9999));
	const struct ux_touch again = {a, 3000}; /* used, however long ago: the mark goes */
	assert_int_equal(ix->modules.touch(ix, &again, 1, 0, NULL), UX_OK);
	assert_false(sweep(ix, a, 3001, 9999));
	assert_true(mark(ix, a, 3001, 5500));
	assert_true(sweep(ix, a, 3001, 5500));
	assert_false(sweep(ix, a, 3001, 5500));
	assert_false(sweep(ix, c, 9999, 9999));
	assert_int_equal(ix->modules.unpin(ix, "keep", "gnu:k3", "v2", &index_tester, 2, NULL),
			 UX_ENOTFOUND);
	assert_int_equal(ix->modules.unpin(ix, "keep", "gnu:k3", "v1", &index_tester, 2, NULL),
			 UX_OK);
	assert_int_equal(idle(ix, &arena, 3001).n, 1);
}

enum {
	USED = 230, /* modules: several transactions; the last one is not full */
	USES = USED + 7,
};

/* Uses of each module, some of them twice, in no order. The later one is at 5000, 5001 or 5002. */
static void uses_of(const int64_t modules[USED], ux_time later, struct ux_touch uses[USES])
{
	for (size_t i = 0; i < USES; i++) {
		const size_t at = i * 77 % USED;
		const ux_time time = 5000 + later + (ux_time)(at % 3);
		uses[i] = (struct ux_touch){modules[at], i < USED ? time : time - 700};
	}
}

static void check_uses(struct ux_index *ix, const int64_t modules[USED], ux_time later)
{
	UX_ARENA(arena, 4 << 20);
	struct ux_module_list list;
	assert_int_equal(ix->modules.numbered(ix, "used", modules, USED, &arena, &list, NULL),
			 UX_OK);
	assert_int_equal(list.n, USED);
	for (size_t i = 0; i < USED; i++)
		assert_int_equal(list.modules[i].last_used, 5000 + later + (ux_time)(i % 3));
}

/* A use noted a moment ago is not updated, if the caller requests that. */
static void no_use_of_many_modules_is_lost(struct ux_index *ix)
{
	int64_t modules[USED];
	struct ux_touch uses[USES];
	for (size_t i = 0; i < USED; i++) {
		char id[16];
		struct ux_add_result r;
		snprintf(id, sizeof(id), "gnu:u%03zu", i);
		assert_int_equal(index_add_to(ix, "used", (const char *[]){id}, 1,
					      index_candidate(90, UX_QUALITY_LINES, 3), false, NULL,
					      &r),
				 UX_OK);
		modules[i] = r.module;
	}
	uses_of(modules, 0, uses);
	assert_int_equal(ix->modules.touch(ix, uses, USES, 600, NULL), UX_OK);
	check_uses(ix, modules, 0);
	uses_of(modules, 600, uses);
	assert_int_equal(ix->modules.touch(ix, uses, USES, 601, NULL), UX_OK);
	check_uses(ix, modules, 0);
	assert_int_equal(ix->modules.touch(ix, uses, USES, 600, NULL), UX_OK);
	check_uses(ix, modules, 0); /* the last one was 600 seconds before, not more */
	assert_int_equal(ix->modules.touch(ix, uses, USES, 599, NULL), UX_OK);
	check_uses(ix, modules, 600);
	for (size_t i = 0; i < USED; i++) {
		char id[16];
		snprintf(id, sizeof(id), "gnu:u%03zu", i);
		assert_int_equal(ix->modules.remove(ix, "used", id, &index_tester, 9000, NULL),
				 UX_OK);
	}
}

/* Each step of the retention decides anew: a listed module may have changed since. */
static void pin_that_is_set_after_the_mark_keeps_the_module(struct ux_index *ix)
{
	int64_t a = keep(ix, "gnu:k4", 63);
	assert_true(mark(ix, a, 3001, 5000));
	assert_int_equal(ix->modules.pin(ix, "keep", "gnu:k4", "v1", &index_tester, 1, NULL),
			 UX_OK);
	assert_false(sweep(ix, a, 3001, 5500));
	assert_int_equal(ix->modules.unpin(ix, "keep", "gnu:k4", "v1", &index_tester, 2, NULL),
			 UX_OK);
	assert_true(sweep(ix, a, 3001, 5500));
}

static void replaceable_candidates_are_listed_least_used_first(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_idle_list some, all;
	assert_int_equal(ix->modules.caches(ix, UINT64_MAX, &arena, &all, NULL), UX_OK);
	assert_true(all.n >= 2);
	assert_int_equal(ix->modules.caches(ix, 1, &arena, &some, NULL), UX_OK);
	assert_int_equal(some.n, 1);
	for (size_t i = 0; i < all.n; i++) {
		struct ux_candidate c;
		struct ux_idle of;
		assert_int_equal(
			ix->modules.candidate(ix, all.modules[i].module, &arena, &c, &of, NULL),
			UX_OK);
		assert_true(c.parent != 0 || c.origin == UX_ORIGIN_UPSTREAM);
		assert_true(i == 0 || all.modules[i - 1].last_used <= all.modules[i].last_used);
	}
}

static void quotas_bound_what_a_namespace_holds(struct ux_index *ix)
{
	struct ux_add_result r;
	struct ux_usage use;
	struct ux_namespace ns = {.name = "small",
				  .quota_bytes = 20,
				  .quota_modules = 2,
				  .retention_s = 60,
				  .upstreams = "debian",
				  .description = "d"};
	const char *a[] = {"gnu:q1"}, *b[] = {"gnu:q2"}, *c[] = {"gnu:q3"};
	struct ux_candidate x = index_candidate(70, UX_QUALITY_LINES, 3),
			    y = index_candidate(71, UX_QUALITY_LINES, 4),
			    z = index_candidate(72, UX_QUALITY_LINES, 5);
	assert_int_equal(ix->namespaces.put(ix, &ns, &index_tester, 100, NULL), UX_OK);
	assert_int_equal(index_add_to(ix, "small", a, 1, x, false, NULL, &r), UX_OK);
	assert_int_equal(index_add_to(ix, "small", b, 1, x, false, NULL, &r), UX_OK);
	assert_int_equal(index_add_to(ix, "small", c, 1, x, false, NULL, &r), UX_ELIMIT);
	struct ux_error err = UX_ERROR_INIT;
	const char *none[] = {"gnu:q4"};
	const struct ux_arrival what = {"small", none, 1, false};
	assert_int_equal(ix->modules.add(ix, &what, &z, &index_tester, 1, &r, &err), UX_ELIMIT);
	assert_non_null(strstr(err.text, "2 of 2 modules"));
	assert_int_equal(index_add_to(ix, "small", a, 1, y, false, NULL, &r), UX_ELIMIT);
	y.size = 6;
	assert_int_equal(index_add_to(ix, "small", a, 1, y, false, NULL, &r), UX_OK);
	assert_int_equal(ix->namespaces.usage(ix, "small", &use, NULL), UX_OK);
	assert_int_equal(use.modules, 2);
	assert_int_equal(use.bytes, 20);
	assert_int_equal(ix->modules.remove(ix, "small", "gnu:q2", &index_tester, 1, NULL), UX_OK);
	assert_int_equal(ix->namespaces.usage(ix, "small", &use, NULL), UX_OK);
	assert_int_equal(use.modules, 1);
	assert_int_equal(use.bytes, 13);
	assert_int_equal(ix->namespaces.usage(ix, "nothing", &use, NULL), UX_OK);
	assert_int_equal(use.modules, 0);
}

static void namespaces_are_made_changed_and_removed_when_empty(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_namespace ns, small;
	struct ux_namespace_list list;
	assert_int_equal(ix->namespaces.find(ix, "small", &arena, &small, NULL), UX_OK);
	assert_string_equal(small.upstreams, "debian");
	assert_int_equal(small.retention_s, 60);
	assert_int_equal(small.created, 100);
	small.reading = UX_NS_OPEN;
	assert_int_equal(ix->namespaces.put(ix, &small, &index_tester, 200, NULL), UX_OK);
	assert_int_equal(ix->namespaces.find(ix, "small", &arena, &ns, NULL), UX_OK);
	assert_int_equal(ns.reading, UX_NS_OPEN);
	assert_int_equal(ns.created, 100);
	assert_int_equal(ns.updated, 200);
	assert_int_equal(ix->namespaces.find(ix, "default", &arena, &ns, NULL), UX_OK);
	assert_int_equal(ns.retention_s, -1);
	assert_string_equal(ns.upstreams, "*");
	assert_int_equal(ix->namespaces.find(ix, "nothing", &arena, &ns, NULL), UX_ENOTFOUND);
	assert_int_equal(ix->namespaces.list(ix, &arena, &list, NULL), UX_OK);
	assert_true(list.n >= 3);
	const char *const bad[] = {"", "A", "-a", "a b", "a/b"};
	for (size_t i = 0; i < ux_countof(bad); i++) {
		small.name = bad[i];
		assert_int_equal(ix->namespaces.put(ix, &small, &index_tester, 1, NULL), UX_EINVAL);
	}
	assert_int_equal(ix->namespaces.remove(ix, "default", &index_tester, 1, NULL),
			 UX_ECONFLICT);
	assert_int_equal(ix->namespaces.remove(ix, "small", &index_tester, 1, NULL), UX_ECONFLICT);
	assert_int_equal(ix->modules.remove(ix, "small", "gnu:q1", &index_tester, 1, NULL), UX_OK);
	assert_int_equal(ix->namespaces.remove(ix, "small", &index_tester, 1, NULL), UX_OK);
	assert_int_equal(ix->namespaces.remove(ix, "small", &index_tester, 1, NULL), UX_ENOTFOUND);
}

static void blobs_in_use_are_listed_in_order_and_may_be_lost(struct ux_index *ix)
{
	UX_ARENA(arena, 4 << 20);
	struct ux_blob_rows all, page;
	struct ux_add_result r;
	const char *ids[] = {"gnu:b1"};
	struct ux_candidate c = index_candidate(80, UX_QUALITY_LINES, 3);
	assert_int_equal(index_add(ix, ids, 1, c, false, &r), UX_OK);
	assert_int_equal(ix->blobs.list(ix, NULL, 1000, &arena, &all, NULL), UX_OK);
	assert_false(all.more);
	const struct ux_blob_hash *after = NULL;
	for (size_t i = 0; i < all.n; i++) {
		bool used = false;
		assert_int_equal(ix->blobs.list(ix, after, 1, &arena, &page, NULL), UX_OK);
		assert_int_equal(page.n, 1);
		assert_int_equal(page.more, i + 1 < all.n);
		assert_memory_equal(&page.rows[0].hash, &all.rows[i].hash, UX_BLOB_HASH_SIZE);
		assert_int_equal(ix->blobs.used(ix, &page.rows[0].hash, &used, NULL), UX_OK);
		assert_true(used);
		after = &page.rows[0].hash;
	}
	struct ux_blob_loss loss;
	bool used = true;
	assert_int_equal(ix->blobs.lose(ix, &c.blob, "flipped", 5, &loss, NULL), UX_OK);
	assert_int_equal(loss.candidates, 1);
	assert_int_equal(loss.sources + loss.fetched, 0);
	assert_int_equal(ix->blobs.used(ix, &c.blob, &used, NULL), UX_OK);
	assert_false(used);
	assert_int_equal(index_find(ix, &arena, "gnu:b1").n_candidates, 0);
	assert_int_equal(index_add(ix, ids, 1, c, false, &r), UX_OK);
	assert_int_equal(r.add, UX_ADD_NEW);
	assert_int_equal(ix->blobs.verify(ix, NULL), UX_OK);
}

static enum ux_code said_lost(void *ctx, const struct ux_blob_hash *hash, bool *ret,
			      struct ux_error *err)
{
	(void)hash, (void)err;
	*ret = *(const bool *)ctx;
	return UX_OK;
}

static void a_candidate_whose_bytes_are_lost_fails_until_they_come_again(struct ux_index *ix)
{
	UX_ARENA(arena, 4 << 20);
	struct ux_blob_loss loss;
	struct ux_add_result r;
	const char *ids[] = {"gnu:b2"};
	struct ux_candidate elf = index_candidate(81, UX_QUALITY_NONE, 0),
			    made = index_candidate(82, UX_QUALITY_LINES, 3);
	bool lost = false, expected = false;
	elf.kind = UX_KIND_EXECUTABLE;
	assert_int_equal(index_add(ix, ids, 1, elf, false, &r), UX_OK);
	made.parent = r.candidate;
	assert_int_equal(index_add(ix, ids, 1, made, false, &r), UX_OK);
	/* the bytes came back meanwhile */
	assert_int_equal(
		ix->blobs.fail_lost(ix, &made.blob, "gone", 5, said_lost, &lost, &loss, NULL),
		UX_OK);
	assert_int_equal(loss.candidates, 0);
	assert_int_equal(ix->blobs.expected(ix, &made.blob, &expected, NULL), UX_OK);
	assert_true(expected);
	lost = true;
	assert_int_equal(
		ix->blobs.fail_lost(ix, &made.blob, "gone", 5, said_lost, &lost, &loss, NULL),
		UX_OK);
	assert_int_equal(loss.candidates, 1);
	assert_int_equal(ix->blobs.expected(ix, &made.blob, &expected, NULL), UX_OK);
	assert_false(expected);
	struct ux_module m = index_find(ix, &arena, "gnu:b2");
	assert_int_equal(m.n_candidates, 2);
	for (size_t i = 0; i < m.n_candidates; i++) {
		bool is_made = m.candidates[i].number == r.candidate;
		assert_int_equal(m.candidates[i].state,
				 is_made ? UX_CANDIDATE_FAILED : UX_CANDIDATE_PENDING);
		assert_string_equal(m.candidates[i].reason, is_made ? "gone" : "");
	}
	made.parent = 0;
	assert_int_equal(index_add(ix, ids, 1, made, false, &r), UX_OK);
	assert_int_equal(r.add, UX_ADD_NEW);
	assert_int_equal(ix->blobs.expected(ix, &made.blob, &expected, NULL), UX_OK);
	assert_true(expected);
}

void index_keeping_conforms(struct ux_index *ix)
{
	pin_that_is_set_after_the_mark_keeps_the_module(ix);
	only_what_is_idle_unpinned_and_long_marked_is_swept(ix);
	no_use_of_many_modules_is_lost(ix);
	replaceable_candidates_are_listed_least_used_first(ix);
	quotas_bound_what_a_namespace_holds(ix);
	namespaces_are_made_changed_and_removed_when_empty(ix);
	blobs_in_use_are_listed_in_order_and_may_be_lost(ix);
	a_candidate_whose_bytes_are_lost_fails_until_they_come_again(ix);
}
