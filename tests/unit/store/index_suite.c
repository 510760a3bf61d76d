/* SPDX-License-Identifier: Apache-2.0 */
/* Requirements for every backend of the index: modules and uploads. */
#include "sweep.h"

#include "index_suite.h"

const struct ux_who index_tester = {.key_id = "tester", .from = "test"};

static const char uid_a[] = "0123456789abcdef0123456789abcdef";
static const char uid_b[] = "fedcba9876543210fedcba9876543210";

static struct ux_upload index_upload(const char *uid, const char **ids, size_t n)
{
	struct ux_upload up = {.ns = "default",
			       .key_id = "k",
			       .ids = ids,
			       .n_ids = n,
			       .size = 7,
			       .kind = UX_KIND_GSYM,
			       .claim = UX_QUALITY_LINES,
			       .description = "d \xe2\x82\xac",
			       .file_name = "f",
			       .created = 1000};
	snprintf(up.uid, sizeof(up.uid), "%s", uid);
	memset(&up.hash, 0x11, sizeof(up.hash));
	return up;
}

struct ux_candidate index_candidate(uint8_t hash, enum ux_quality quality, uint64_t line_bytes)
{
	struct ux_candidate c = {.size = 7,
				 .kind = UX_KIND_GSYM,
				 .quality = quality,
				 .counts = {.functions = 1, .line_bytes = line_bytes},
				 .reason = "",
				 .origin_name = "",
				 .description = "cd",
				 .file_name = "cf",
				 .key_id = "ck"};
	memset(&c.blob, hash, sizeof(c.blob));
	return c;
}

enum ux_code index_add_to(struct ux_index *ix, const char *ns, const char **ids, size_t n,
			  struct ux_candidate c, bool force, char *ret_uid,
			  struct ux_add_result *ret)
{
	static unsigned serial;
	char uid[UX_UPLOAD_UID_SIZE];
	snprintf(uid, sizeof(uid), "%032x", ++serial);
	if (ret_uid)
		memcpy(ret_uid, uid, sizeof(uid));
	struct ux_upload up = index_upload(uid, ids, n);
	up.ns = ns;
	up.force = force;
	up.kind = c.kind;
	up.size = c.size;
	UX_TRY(ix->uploads.add(ix, &up, NULL));
	return ix->uploads.finish(ix, &up, &c, &index_tester, 2000, ret, NULL);
}

enum ux_code index_add(struct ux_index *ix, const char **ids, size_t n, struct ux_candidate c,
		       bool force, struct ux_add_result *ret)
{
	return index_add_to(ix, UX_NAMESPACE_DEFAULT, ids, n, c, force, NULL, ret);
}

struct ux_module index_find(struct ux_index *ix, struct ux_arena *arena, const char *id)
{
	struct ux_module m;
	assert_int_equal(ix->modules.find(ix, "default", id, arena, &m, NULL), UX_OK);
	return m;
}

static void uploads_are_kept_as_announced(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_upload got;
	const char *ids[] = {"file:1", "gnu:1"};
	struct ux_upload up = index_upload(uid_a, ids, 2);
	assert_int_equal(ix->uploads.add(ix, &up, NULL), UX_OK);
	assert_int_not_equal(ix->uploads.add(ix, &up, NULL), UX_OK);
	assert_int_equal(ix->uploads.find(ix, uid_a, &arena, &got, NULL), UX_OK);
	assert_string_equal(got.uid, uid_a);
	assert_string_equal(got.ns, "default");
	assert_string_equal(got.ids[0], "file:1");
	assert_string_equal(got.ids[1], "gnu:1");
	assert_int_equal(got.n_ids, 2);
	assert_string_equal(got.description, "d \xe2\x82\xac");
	assert_int_equal(got.claim, UX_QUALITY_LINES);
	assert_int_equal(got.state, UX_UPLOAD_OPEN);
	assert_memory_equal(&got.hash, &up.hash, sizeof(up.hash));
	assert_int_equal(ix->uploads.find(ix, uid_b, &arena, &got, NULL), UX_ENOTFOUND);
	struct ux_upload again = up;
	again.uid[0] = '\0';
	assert_int_equal(ix->uploads.find_same(ix, &again, &arena, &got, NULL), UX_OK);
	assert_string_equal(got.uid, uid_a);
	again.n_ids = 1;
	assert_int_equal(ix->uploads.find_same(ix, &again, &arena, &got, NULL), UX_ENOTFOUND);
	again = up;
	again.key_id = "another";
	assert_int_equal(ix->uploads.find_same(ix, &again, &arena, &got, NULL), UX_ENOTFOUND);
	struct ux_upload_list list;
	assert_int_equal(ix->uploads.list(ix, up.ns, /* running= */ true, 10, &arena, &list, NULL),
			 UX_OK);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.uploads[0].uid, uid_a);
	assert_string_equal(list.uploads[0].ids[0], up.ids[0]);
	assert_int_equal(ix->uploads.list(ix, "none", true, 10, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 0);
	assert_int_equal(ix->uploads.list(ix, up.ns, false, 10, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 0);
	assert_int_equal(ix->uploads.give_up(ix, uid_a, "corrupt", "why", 1500, NULL), UX_OK);
	assert_int_equal(ix->uploads.list(ix, up.ns, true, 10, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 0);
	assert_int_equal(ix->uploads.list(ix, up.ns, false, 10, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.uploads[0].reason, "why");
	assert_int_equal(ix->uploads.give_up(ix, uid_a, "corrupt", "again", 1600, NULL),
			 UX_ECONFLICT);
	assert_int_equal(ix->uploads.find_same(ix, &up, &arena, &got, NULL), UX_ENOTFOUND);
	assert_int_equal(ix->uploads.find(ix, uid_a, &arena, &got, NULL), UX_OK);
	assert_int_equal(got.state, UX_UPLOAD_FAILED);
	assert_string_equal(got.reason, "why");
	uint64_t n = 0;
	assert_int_equal(ix->uploads.expire(ix, 1500, &n, NULL), UX_OK);
	assert_int_equal(n, 0);
	assert_int_equal(ix->uploads.expire(ix, 1501, &n, NULL), UX_OK);
	assert_int_equal(n, 1);
	up.n_ids = 0;
	assert_int_equal(ix->uploads.add(ix, &up, NULL), UX_EINVAL);
}

static void modules_are_found_by_any_id_best_candidate_first(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_add_result r;
	const char *ids[] = {"file:a", "gnu:a"}, *more[] = {"gnu:a", "file:b", "go:x"};
	assert_int_equal(index_add(ix, ids, 2, index_candidate(1, UX_QUALITY_SYMTAB, 0), false, &r),
			 UX_OK);
	assert_int_equal(r.add, UX_ADD_NEW);
	assert_false(r.had_any);
	assert_int_equal(
		index_add(ix, more, 3, index_candidate(2, UX_QUALITY_INLINES, 50), false, &r),
		UX_OK);
	assert_int_equal(r.add, UX_ADD_NEW);
	assert_int_equal(r.best, UX_QUALITY_SYMTAB);
	struct ux_module m = index_find(ix, &arena, "file:a");
	assert_int_equal(m.number, index_find(ix, &arena, "file:b").number);
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
	assert_int_equal(ix->modules.find(ix, "default", "gnu:", &arena, &none, NULL),
			 UX_ENOTFOUND);
	assert_int_equal(ix->modules.find(ix, "other", "gnu:a", &arena, &none, NULL), UX_ENOTFOUND);
}

static void poorer_is_refused_unless_forced_and_the_same_is_the_same(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_add_result r;
	const char *ids[] = {"gnu:p"};
	assert_int_equal(index_add(ix, ids, 1, index_candidate(3, UX_QUALITY_LINES, 50), false, &r),
			 UX_OK);
	assert_int_equal(index_add(ix, ids, 1, index_candidate(3, UX_QUALITY_LINES, 50), false, &r),
			 UX_OK);
	assert_int_equal(r.add, UX_ADD_SAME);
	assert_int_equal(
		index_add(ix, ids, 1, index_candidate(4, UX_QUALITY_SYMTAB, 90), false, &r), UX_OK);
	assert_int_equal(r.add, UX_ADD_POORER);
	assert_int_equal(r.best, UX_QUALITY_LINES);
	assert_int_equal(index_add(ix, ids, 1, index_candidate(5, UX_QUALITY_LINES, 49), false, &r),
			 UX_OK);
	assert_int_equal(r.add, UX_ADD_POORER);
	assert_int_equal(index_find(ix, &arena, "gnu:p").n_candidates, 1);
	assert_int_equal(index_add(ix, ids, 1, index_candidate(4, UX_QUALITY_SYMTAB, 90), true, &r),
			 UX_OK);
	assert_int_equal(r.add, UX_ADD_NEW);
	struct ux_module m = index_find(ix, &arena, "gnu:p");
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
	struct ux_candidate c = index_candidate(6, UX_QUALITY_INLINES, 1);
	assert_int_equal(index_add(ix, one, 1, c, false, &r), UX_OK);
	assert_int_equal(index_add(ix, two, 2, c, false, &r), UX_OK);
	c = index_candidate(7, UX_QUALITY_INLINES, 2);
	assert_int_equal(index_add(ix, both, 2, c, false, &r), UX_ECONFLICT);
	assert_int_equal(index_add(ix, second, 2, c, false, &r), UX_ECONFLICT);
	assert_int_equal(index_add(ix, pair, 2, c, false, &r), UX_ECONFLICT);
	assert_int_equal(index_find(ix, &arena, "gnu:c1").n_candidates, 1);
	assert_int_equal(index_find(ix, &arena, "gnu:c2").n_candidates, 1);
	assert_int_equal(ix->modules.find(ix, "default", "gnu:c4", &arena, &m, NULL), UX_ENOTFOUND);
	bool used = true;
	assert_int_equal(ix->blobs.used(ix, &c.blob, &used, NULL), UX_OK);
	assert_false(used);
}

static void a_go_program_does_not_join_another_one(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_add_result r;
	struct ux_error err = UX_ERROR_INIT;
	const char *one[] = {"gnu:d1", "go:l/p/c/e"}, *linked[] = {"gnu:d1", "go:x/p/c/y"},
		   *two[] = {"gnu:d1", "go:l/q/c/e"}, *bare[] = {"gnu:d1"};
	struct ux_candidate c = index_candidate(61, UX_QUALITY_INLINES, 1);
	c.file_name = "/build/one";
	assert_int_equal(index_add(ix, one, 2, c, false, &r), UX_OK);
	c = index_candidate(62, UX_QUALITY_INLINES, 2);
	assert_int_equal(index_add(ix, linked, 2, c, false, &r), UX_OK);
	c = index_candidate(63, UX_QUALITY_INLINES, 3);
	for (int forced = 0; forced < 2; forced++)
		assert_int_equal(index_add(ix, two, 2, c, forced, &r), UX_ECONFLICT);
	struct ux_module m = index_find(ix, &arena, "gnu:d1");
	assert_int_equal(m.n_candidates, 2);
	assert_int_equal(m.n_ids, 3);
	assert_int_equal(ux_ids_agree(&m, two, 2, &err), UX_ECONFLICT);
	assert_non_null(strstr(err.text, "has this build ID"));
	assert_int_equal(index_add(ix, bare, 1, c, false, &r), UX_OK);
}

static void finishing_twice_is_a_conflict(struct ux_index *ix)
{
	struct ux_add_result r;
	const char *ids[] = {"gnu:f"};
	struct ux_upload up = index_upload(uid_b, ids, 1);
	struct ux_candidate c = index_candidate(8, UX_QUALITY_LINES, 1);
	assert_int_equal(ix->uploads.add(ix, &up, NULL), UX_OK);
	assert_int_equal(ix->uploads.finish(ix, &up, &c, &index_tester, 1, &r, NULL), UX_OK);
	assert_int_equal(ix->uploads.finish(ix, &up, &c, &index_tester, 1, &r, NULL), UX_ECONFLICT);
}

static void pages_join_to_the_whole_list(struct ux_index *ix)
{
	UX_ARENA(arena, 8 << 20);
	struct ux_add_result r;
	char text[16];
	const char *ids[] = {text};
	for (unsigned i = 0; i < 7; i++) {
		snprintf(text, sizeof(text), "gnu:l%u", i);
		assert_int_equal(
			index_add(ix, ids, 1, index_candidate(9, UX_QUALITY_LINES, 1), false, &r),
			UX_OK);
	}
	struct ux_module_list all, page;
	assert_int_equal(ix->modules.list(ix, "default", 0, 1000, &arena, &all, NULL), UX_OK);
	assert_false(all.more);
	assert_true(all.n >= 7);
	int64_t after = 0;
	for (size_t i = 0; i < all.n; i += 3) {
		assert_int_equal(ix->modules.list(ix, "default", after, 3, &arena, &page, NULL),
				 UX_OK);
		assert_int_equal(page.more, i + 3 < all.n);
		for (size_t k = 0; k < page.n; k++)
			assert_int_equal(page.modules[k].number, all.modules[i + k].number);
		after = page.modules[page.n - 1].number;
	}
	int64_t before = INT64_MAX;
	for (size_t at = 0; at < all.n; at += page.n) {
		assert_int_equal(ix->modules.newest(ix, "default", before, 3, &arena, &page, NULL),
				 UX_OK);
		assert_int_equal(page.more, at + page.n < all.n);
		assert_in_range(page.n, 1, 3);
		for (size_t i = 0; i < page.n; i++)
			assert_int_equal(page.modules[i].number,
					 all.modules[all.n - 1 - at - i].number);
		before = page.modules[page.n - 1].number;
	}
	assert_int_equal(ix->modules.list(ix, "other", 0, 10, &arena, &page, NULL), UX_OK);
	assert_int_equal(page.n, 0);
}

static void removed_module_leaves_nothing(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_add_result r;
	struct ux_module m;
	const char *ids[] = {"gnu:r", "file:r"};
	struct ux_candidate c = index_candidate(10, UX_QUALITY_LINES, 1);
	bool used = false;
	assert_int_equal(index_add(ix, ids, 2, c, false, &r), UX_OK);
	assert_int_equal(ix->blobs.used(ix, &c.blob, &used, NULL), UX_OK);
	assert_true(used);
	assert_int_equal(ix->modules.remove(ix, "other", "gnu:r", &index_tester, 3000, NULL),
			 UX_ENOTFOUND);
	assert_int_equal(ix->modules.remove(ix, "default", "file:r", &index_tester, 3000, NULL),
			 UX_OK);
	assert_int_equal(ix->modules.remove(ix, "default", "gnu:r", &index_tester, 3000, NULL),
			 UX_ENOTFOUND);
	assert_int_equal(ix->modules.find(ix, "default", "gnu:r", &arena, &m, NULL), UX_ENOTFOUND);
	assert_int_equal(ix->blobs.used(ix, &c.blob, &used, NULL), UX_OK);
	assert_false(used);
}

static void many_ids_are_looked_up_at_once(struct ux_index *ix)
{
	enum {
		MANY = 25000
	};
	struct ux_add_result r;
	const char *first[] = {"go:a\"b\\c", "gnu:e1"}, *second[] = {"gnu:e2"},
		   *third[] = {"gnu:e3"};
	struct ux_candidate pending = index_candidate(72, UX_QUALITY_NONE, 0);
	pending.kind = UX_KIND_DEBUGINFO;
	pending.state = UX_CANDIDATE_PENDING;
	pending.claim = UX_QUALITY_INLINES;
	struct ux_candidate bundle = index_candidate(73, UX_QUALITY_NONE, 0);
	bundle.kind = UX_KIND_SOURCES;
	assert_int_equal(
		index_add(ix, first, 2, index_candidate(70, UX_QUALITY_SYMTAB, 0), false, &r),
		UX_OK);
	const int64_t module = r.module;
	assert_int_equal(
		index_add(ix, first, 2, index_candidate(71, UX_QUALITY_LINES, 5), false, &r),
		UX_OK);
	assert_int_equal(index_add(ix, second, 1, pending, false, &r), UX_OK);
	assert_int_equal(index_add(ix, third, 1, bundle, false, &r), UX_OK);

	const char **ids = calloc(MANY, sizeof(*ids));
	struct ux_known *known = calloc(MANY, sizeof(*known));
	assert_non_null(ids);
	assert_non_null(known);
	for (size_t i = 0; i < MANY; i++)
		ids[i] = "gnu:none";
	ids[0] = "gnu:e1";
	ids[9999] = "gnu:e2";
	ids[10000] = "go:a\"b\\c";
	ids[MANY - 2] = "gnu:e3";
	ids[MANY - 1] = "gnu:e1"; /* a second time */
	assert_int_equal(ix->modules.known(ix, "default", ids, MANY, known, NULL), UX_OK);
	size_t found = 0;
	for (size_t i = 0; i < MANY; i++)
		found += known[i].module != 0;
	assert_int_equal(found, 5);
	assert_int_equal(known[0].module, module);
	assert_true(known[0].any);
	assert_int_equal(known[0].quality, UX_QUALITY_LINES);
	assert_int_equal(known[10000].module, module);
	assert_int_equal(known[MANY - 1].module, module);
	assert_true(known[9999].any); /* with its client's claim */
	assert_int_equal(known[9999].quality, UX_QUALITY_INLINES);
	assert_false(known[MANY - 2].any); /* sources have no symbols */
	assert_int_equal(ix->modules.known(ix, "other", ids, MANY, known, NULL), UX_OK);
	for (size_t i = 0; i < MANY; i++)
		assert_int_equal(known[i].module, 0);
	assert_int_equal(ix->modules.known(ix, "default", ids, 0, known, NULL), UX_OK);
	UX_ARENA(arena, 1 << 20);
	struct ux_module_list list;
	const int64_t numbers[] = {r.module, INT64_MAX, module};
	assert_int_equal(ix->modules.numbered(ix, "default", numbers, 3, &arena, &list, NULL),
			 UX_OK);
	assert_int_equal(list.n, 2);
	assert_string_equal(list.modules[0].ids[0], "gnu:e3");
	assert_int_equal(list.modules[0].n_candidates, 1);
	assert_int_equal(list.modules[1].n_ids, 2);
	assert_string_equal(list.modules[1].ids[0], "gnu:e1");
	assert_int_equal(list.modules[1].n_candidates, 2);
	assert_int_equal(list.modules[1].candidates[0].quality, UX_QUALITY_LINES);
	assert_int_equal(ix->modules.numbered(ix, "other", numbers, 3, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 0);
	free(ids);
	free(known);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(
			ix->modules.remove(ix, "default",
					   (const char *[]){"gnu:e1", "gnu:e2", "gnu:e3"}[i],
					   &index_tester, 3000, NULL),
			UX_OK);
}

void index_modules_conform(struct ux_index *ix)
{
	uploads_are_kept_as_announced(ix);
	modules_are_found_by_any_id_best_candidate_first(ix);
	poorer_is_refused_unless_forced_and_the_same_is_the_same(ix);
	ids_that_contradict_are_refused_and_change_nothing(ix);
	a_go_program_does_not_join_another_one(ix);
	finishing_twice_is_a_conflict(ix);
	pages_join_to_the_whole_list(ix);
	removed_module_leaves_nothing(ix);
	many_ids_are_looked_up_at_once(ix);
}

/* Computes a query's answer for a module from its candidates. */
static struct ux_known index_offer(const struct ux_module *m)
{
	struct ux_known best = {0};
	for (size_t i = 0; i < m->n_candidates; i++) {
		const struct ux_candidate *c = &m->candidates[i];
		const bool pending = c->state == UX_CANDIDATE_PENDING && c->kind != UX_KIND_SOURCES;
		const bool ready = c->state == UX_CANDIDATE_READY && c->kind == UX_KIND_GSYM;
		const enum ux_quality quality = ready ? c->quality : c->claim;
		if ((!pending && !ready) ||
		    (best.any &&
		     (c->trust < best.trust || (c->trust == best.trust && quality < best.quality))))
			continue;
		best = (struct ux_known){.any = true, .trust = c->trust, .quality = quality};
	}
	return best;
}

void index_offers_agree(struct ux_index *ix, const char *ns, size_t min)
{
	UX_ARENA(arena, 8 << 20);
	struct ux_module_list all;
	assert_int_equal(ix->modules.list(ix, ns, 0, 10000, &arena, &all, NULL), UX_OK);
	assert_in_range(all.n, min, 9999);
	for (size_t i = 0; i < all.n; i++) {
		const struct ux_module *m = &all.modules[i];
		struct ux_known known;
		const struct ux_known offer = index_offer(m);
		if (m->n_ids == 0)
			continue;
		assert_int_equal(ix->modules.known(ix, ns, m->ids, 1, &known, NULL), UX_OK);
		assert_int_equal(known.module, m->number);
		assert_int_equal(known.any, offer.any);
		assert_int_equal(known.trust, offer.trust);
		assert_int_equal(known.quality, offer.quality);
		assert_int_equal(known.marked, m->marked);
	}
}

void index_conforms(struct ux_index *ix)
{
	index_modules_conform(ix);
	index_candidates_conform(ix);
	index_keeping_conforms(ix);
	index_others_conform(ix);
	index_profiles_conform(ix);
	index_packages_conform(ix);
	index_trust_conforms(ix);
	index_offers_agree(ix, UX_NAMESPACE_DEFAULT, 10);
	/* whatever the suite has written fits its sum */
	index_rows_are_whole(ix);
}
