/* SPDX-License-Identifier: Apache-2.0 */
/* Requirements for every backend of the index: kinds and states of candidates. */
#include "sweep.h"

#include "index_suite.h"

static struct ux_candidate pending_elf(uint8_t hash)
{
	struct ux_candidate c = index_candidate(hash, UX_QUALITY_NONE, 0);
	c.kind = UX_KIND_EXECUTABLE;
	c.state = UX_CANDIDATE_PENDING;
	c.claim = UX_QUALITY_INLINES;
	c.counts = (struct ux_counts){0};
	c.file_name = "/usr/bin/prog";
	c.size = 100;
	return c;
}

static struct ux_settled measured(enum ux_quality quality, const struct ux_candidate *derived)
{
	return (struct ux_settled){
		.state = UX_CANDIDATE_READY,
		.kind = UX_KIND_EXECUTABLE,
		.quality = quality,
		.counts = {.functions = 3, .code_bytes = 40, .line_bytes = 30, .unnamed = 1},
		.code_total = 50,
		.holds = UX_HOLDS_CODE | UX_HOLDS_DEBUG,
		.parser = 7,
		.derived = derived,
	};
}

static struct ux_upload upload_of(struct ux_index *ix, struct ux_arena *arena, const char *uid)
{
	struct ux_upload up;
	assert_int_equal(ix->uploads.find(ix, uid, arena, &up, NULL), UX_OK);
	return up;
}

static uint64_t jobs_waiting(struct ux_index *ix)
{
	struct ux_job_counts n;
	assert_int_equal(ix->jobs.counts(ix, UX_JOB_EXTRACT, 2000, &n, NULL), UX_OK);
	return n.waiting;
}

static void finish_job(struct ux_index *ix, int64_t candidate)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_job job;
	assert_int_equal(ix->jobs.take(ix, UX_JOB_EXTRACT, "t", 2000, 60, &arena, &job, NULL),
			 UX_OK);
	assert_int_equal(job.candidate, candidate);
	assert_int_equal(ix->jobs.done(ix, job.number, "t", NULL), UX_OK);
}

static void elf_is_pending_until_it_is_settled(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_add_result r;
	char uid[UX_UPLOAD_UID_SIZE];
	const char *ids[] = {"gnu:e1"}, *learnt[] = {"gnu:e1", "file:e1", "gnu:a"};
	assert_int_equal(index_add_to(ix, "default", ids, 1, pending_elf(40), false, uid, &r),
			 UX_OK);
	assert_int_equal(r.add, UX_ADD_NEW);
	assert_int_equal(r.state, UX_CANDIDATE_PENDING);
	struct ux_module m = index_find(ix, &arena, "gnu:e1");
	assert_int_equal(m.number, r.module);
	assert_int_equal(m.candidates[0].number, r.candidate);
	assert_int_equal(m.candidates[0].claim, UX_QUALITY_INLINES);
	assert_int_equal(ux_module_quality(&m), UX_QUALITY_NONE);
	assert_null(ux_module_best(&m, UX_KIND_GSYM));
	assert_ptr_equal(ux_module_in_state(&m, UX_CANDIDATE_PENDING), &m.candidates[0]);
	assert_int_equal(upload_of(ix, &arena, uid).state, UX_UPLOAD_PENDING);
	assert_int_equal(jobs_waiting(ix), 1);
	uint64_t n = 0;
	assert_int_equal(ix->uploads.expire(ix, 9999, &n, NULL),
			 UX_OK); /* not the one that is waited for */
	assert_int_equal(upload_of(ix, &arena, uid).state, UX_UPLOAD_PENDING);

	struct ux_candidate gsym = index_candidate(41, UX_QUALITY_INLINES, 30);
	struct ux_settled s = measured(UX_QUALITY_INLINES, &gsym);
	s.ids = learnt; /* gnu:a is another module's */
	s.n_ids = 2;
	int64_t elf = r.candidate;
	for (unsigned i = 0; i < 2; i++) { /* the second time, nothing changes */
		assert_int_equal(ix->modules.settle(ix, elf, &s, 2100, &r, NULL), UX_OK);
		assert_int_equal(r.add, UX_ADD_NEW);
		assert_int_equal(r.candidate, elf);
		m = index_find(ix, &arena, "file:e1");
		assert_int_equal(m.n_candidates, 2);
	}
	const struct ux_candidate *g = ux_module_best(&m, UX_KIND_GSYM);
	assert_ptr_equal(g, &m.candidates[0]);
	assert_int_equal(g->parent, elf);
	assert_string_equal(g->file_name, "/usr/bin/prog");
	const struct ux_candidate *e = ux_module_elf(&m, UX_HOLDS_DEBUG);
	assert_ptr_equal(e, &m.candidates[1]);
	assert_int_equal(e->number, elf);
	assert_int_equal(e->counts.unnamed, 1);
	assert_int_equal(e->code_total, 50);
	assert_int_equal(e->parser, 7);
	assert_null(ux_module_elf(&m, UX_HOLDS_SECTIONS));
	struct ux_upload up = upload_of(ix, &arena, uid);
	assert_int_equal(up.state, UX_UPLOAD_DONE);
	assert_string_equal(up.status, "uploaded");
	assert_int_equal(up.candidate, elf);
	finish_job(ix, elf);
}

static void bytes_of_another_build_id_do_not_settle(struct ux_index *ix)
{
	struct ux_add_result r;
	const char *ids[] = {"gnu:e2"}, *other[] = {"gnu:e2x"};
	assert_int_equal(index_add(ix, ids, 1, pending_elf(42), false, &r), UX_OK);
	int64_t elf = r.candidate;
	struct ux_settled s = measured(UX_QUALITY_LINES, NULL);
	s.ids = other;
	s.n_ids = 1;
	assert_int_equal(ix->modules.settle(ix, elf, &s, 2100, &r, NULL), UX_ECONFLICT);
	finish_job(ix, elf);
	assert_int_equal(ix->modules.settle(ix, 999999, &s, 2100, &r, NULL), UX_ENOTFOUND);
	assert_int_equal(ix->modules.candidate_remove(ix, elf, &index_tester, 2200, NULL), UX_OK);
	assert_int_equal(ix->modules.candidate_remove(ix, elf, &index_tester, 2200, NULL),
			 UX_ENOTFOUND);
}

static void failed_candidate_says_why_and_may_be_tried_again(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_add_result r;
	char uid[UX_UPLOAD_UID_SIZE];
	const char *ids[] = {"gnu:e3"};
	struct ux_settled s = {.state = UX_CANDIDATE_FAILED,
			       .reason = "a bomb",
			       .kind = UX_KIND_EXECUTABLE,
			       .parser = 7};
	assert_int_equal(index_add_to(ix, "default", ids, 1, pending_elf(43), false, uid, &r),
			 UX_OK);
	int64_t elf = r.candidate;
	finish_job(ix, elf);
	assert_int_equal(ix->modules.settle(ix, elf, &s, 2100, &r, NULL), UX_OK);
	struct ux_module m = index_find(ix, &arena, "gnu:e3");
	assert_string_equal(m.candidates[0].reason, "a bomb");
	assert_int_equal(m.candidates[0].state, UX_CANDIDATE_FAILED);
	assert_null(ux_module_elf(&m, 0));
	struct ux_upload up = upload_of(ix, &arena, uid);
	assert_int_equal(up.state, UX_UPLOAD_FAILED);
	assert_string_equal(up.reason, "a bomb");

	uint64_t n = 9;
	assert_int_equal(ix->modules.retry_failed(ix, 7, 2200, &n, NULL), UX_OK);
	assert_int_equal(n, 0);
	assert_int_equal(ix->modules.retry_failed(ix, 8, 2000, &n, NULL), UX_OK);
	assert_int_equal(n, 1);
	assert_int_equal(index_find(ix, &arena, "gnu:e3").candidates[0].state,
			 UX_CANDIDATE_PENDING);
	finish_job(ix, elf);
	assert_int_equal(ix->modules.settle(ix, elf, &s, 2100, &r, NULL), UX_OK);

	/* the same bytes are tried again */
	assert_int_equal(index_add(ix, ids, 1, pending_elf(43), false, &r), UX_OK);
	assert_int_equal(r.add, UX_ADD_NEW);
	assert_int_equal(r.candidate, elf);
	assert_int_equal(r.state, UX_CANDIDATE_PENDING);
	finish_job(ix, elf);
	/* a second upload of them waits for the same */
	assert_int_equal(index_add_to(ix, "default", ids, 1, pending_elf(43), false, uid, &r),
			 UX_OK);
	assert_int_equal(r.add, UX_ADD_SAME);
	assert_int_equal(upload_of(ix, &arena, uid).state, UX_UPLOAD_PENDING);
	finish_job(ix, elf);
	assert_int_equal(ix->modules.remove(ix, "default", "gnu:e3", &index_tester, 1, NULL),
			 UX_OK);
	assert_int_equal(upload_of(ix, &arena, uid).state, UX_UPLOAD_FAILED);
}

static void elf_that_turns_out_poorer_is_refused_after_all(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_add_result r;
	char uid[UX_UPLOAD_UID_SIZE];
	const char *ids[] = {"gnu:e4"};
	struct ux_settled good = measured(UX_QUALITY_INLINES, NULL),
			  poor = measured(UX_QUALITY_DYNSYM, NULL);
	assert_int_equal(index_add(ix, ids, 1, pending_elf(44), false, &r), UX_OK);
	finish_job(ix, r.candidate);
	assert_int_equal(ix->modules.settle(ix, r.candidate, &good, 2100, &r, NULL), UX_OK);
	for (unsigned force = 0; force < 2; force++) {
		assert_int_equal(
			index_add_to(ix, "default", ids, 1, pending_elf(45), force, uid, &r),
			UX_OK);
		finish_job(ix, r.candidate);
		assert_int_equal(ix->modules.settle(ix, r.candidate, &poor, 2100, &r, NULL), UX_OK);
		assert_int_equal(r.add, force ? UX_ADD_NEW : UX_ADD_POORER);
		assert_int_equal(index_find(ix, &arena, "gnu:e4").n_candidates, 1 + force);
		if (!force) {
			struct ux_upload up = upload_of(ix, &arena, uid);
			assert_string_equal(up.status, "better-there");
			assert_non_null(strstr(up.reason, "inlines"));
		}
	}
	/* a .debug file beside it has another purpose: not a rival */
	struct ux_candidate debug = pending_elf(46);
	debug.kind = UX_KIND_DEBUGINFO;
	assert_int_equal(index_add(ix, ids, 1, debug, false, &r), UX_OK);
	finish_job(ix, r.candidate);
	poor.kind = UX_KIND_DEBUGINFO;
	poor.holds = UX_HOLDS_DEBUG;
	assert_int_equal(ix->modules.settle(ix, r.candidate, &poor, 2100, &r, NULL), UX_OK);
	assert_int_equal(r.add, UX_ADD_NEW);
}

static void what_was_extracted_goes_with_its_parent_unless_it_was_uploaded_too(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_add_result r;
	struct ux_usage before, after;
	const char *ids[] = {"gnu:e5"};
	assert_int_equal(ix->namespaces.usage(ix, "default", &before, NULL), UX_OK);
	for (unsigned upload = 0; upload < 2; upload++) {
		struct ux_candidate gsym = index_candidate(48, UX_QUALITY_LINES, 30);
		struct ux_settled s = measured(UX_QUALITY_LINES, &gsym);
		assert_int_equal(index_add(ix, ids, 1, pending_elf(47), false, &r), UX_OK);
		int64_t elf = r.candidate;
		finish_job(ix, elf);
		assert_int_equal(ix->modules.settle(ix, elf, &s, 2100, &r, NULL), UX_OK);
		assert_int_equal(ix->namespaces.usage(ix, "default", &after, NULL), UX_OK);
		assert_int_equal(after.bytes - before.bytes, 100);
		assert_int_equal(after.cache_bytes - before.cache_bytes, 7);
		if (upload) {
			assert_int_equal(index_add(ix, ids, 1, gsym, false, &r), UX_OK);
			assert_int_equal(r.add, UX_ADD_SAME);
			assert_int_equal(ix->namespaces.usage(ix, "default", &after, NULL), UX_OK);
			assert_int_equal(after.bytes - before.bytes, 107);
			assert_int_equal(after.cache_bytes, before.cache_bytes);
		}
		assert_int_equal(ix->modules.candidate_remove(ix, elf, &index_tester, 2200, NULL),
				 UX_OK);
		assert_int_equal(index_find(ix, &arena, "gnu:e5").n_candidates, upload);
	}
}

static void one_candidate_tells_where_it_belongs(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_candidate c;
	struct ux_idle of;
	struct ux_module m = index_find(ix, &arena, "gnu:e1");
	assert_int_equal(ix->modules.candidate(ix, m.candidates[1].number, &arena, &c, &of, NULL),
			 UX_OK);
	assert_int_equal(c.kind, UX_KIND_EXECUTABLE);
	assert_int_equal(of.module, m.number);
	assert_string_equal(of.ns, "default");
	assert_string_equal(of.id, "gnu:e1");
	assert_int_equal(ix->modules.candidate(ix, 999999, &arena, &c, &of, NULL), UX_ENOTFOUND);
	int64_t number = 0;
	assert_int_equal(ix->modules.number(ix, "default", "file:e1", &number, NULL), UX_OK);
	assert_int_equal(number, m.number);
	assert_int_equal(ix->modules.number(ix, "other", "file:e1", &number, NULL), UX_ENOTFOUND);
}

static void upstreams_candidates_are_caches_and_need_no_upload(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_add_result r;
	struct ux_usage before, after;
	const char *ids[] = {"gnu:e6"};
	struct ux_candidate c = index_candidate(49, UX_QUALITY_LINES, 3);
	const struct ux_arrival what = {"default", ids, 1, false};
	c.origin = UX_ORIGIN_UPSTREAM;
	c.origin_name = "debian";
	assert_int_equal(ix->namespaces.usage(ix, NULL, &before, NULL), UX_OK);
	assert_int_equal(ix->modules.add(ix, &what, &c, &index_tester, 2000, &r, NULL), UX_OK);
	assert_int_equal(r.add, UX_ADD_NEW);
	struct ux_module m = index_find(ix, &arena, "gnu:e6");
	assert_int_equal(m.candidates[0].origin, UX_ORIGIN_UPSTREAM);
	assert_string_equal(m.candidates[0].origin_name, "debian");
	assert_int_equal(ix->namespaces.usage(ix, NULL, &after, NULL), UX_OK);
	assert_int_equal(after.bytes, before.bytes);
	assert_int_equal(after.cache_bytes, before.cache_bytes + 7);
	struct ux_arrival none = {"default", ids, 0, false};
	assert_int_equal(ix->modules.add(ix, &none, &c, &index_tester, 2000, &r, NULL), UX_EINVAL);
}

static struct ux_hits search(struct ux_index *ix, struct ux_arena *arena, enum ux_search_by by,
			     const char *text, int64_t after, size_t limit)
{
	struct ux_hits hits;
	const struct ux_search what = {by, text, after, limit};
	assert_int_equal(ix->modules.search(ix, "default", &what, arena, &hits, NULL), UX_OK);
	return hits;
}

static void files_and_ids_are_found(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_hits all = search(ix, &arena, UX_SEARCH_FILE, "/usr/bin/prog", 0, 100);
	assert_true(all.n >= 2);
	assert_false(all.more);
	assert_int_equal(search(ix, &arena, UX_SEARCH_FILE, "prog", 0, 100).n, all.n);
	assert_int_equal(search(ix, &arena, UX_SEARCH_GLOB, "/usr/*pro?", 0, 100).n, all.n);
	assert_int_equal(search(ix, &arena, UX_SEARCH_GLOB, "/bin/*", 0, 100).n, 0);
	assert_int_equal(search(ix, &arena, UX_SEARCH_FILE, "/bin/prog", 0, 100).n, 0);
	struct ux_hits one = search(ix, &arena, UX_SEARCH_FILE, "prog", 0, 1);
	assert_true(one.more);
	assert_int_equal(one.hits[0].candidate, all.hits[0].candidate);
	one = search(ix, &arena, UX_SEARCH_FILE, "prog", one.hits[0].candidate, 1);
	assert_int_equal(one.hits[0].candidate, all.hits[1].candidate);
	assert_string_equal(all.hits[0].id, "gnu:e1");
	assert_string_equal(all.hits[0].file_name, "/usr/bin/prog");

	struct ux_hits ids = search(ix, &arena, UX_SEARCH_ID, "gnu:e", 0, 2);
	assert_int_equal(ids.n, 2);
	assert_true(ids.more);
	assert_string_equal(ids.hits[0].id, "gnu:e1");
	ids = search(ix, &arena, UX_SEARCH_ID, "gnu:e5", 0, 2);
	assert_int_equal(ids.n, 1);
	assert_false(ids.more);
	assert_int_equal(search(ix, &arena, UX_SEARCH_ID, "gnu:%", 0, 2).n, 0);
}

static struct ux_module_list newest(struct ux_index *ix, struct ux_arena *arena,
				    struct ux_module_search what, uint64_t *ret_total)
{
	struct ux_module_list list;
	if (what.limit == 0)
		what.limit = 100;
	assert_int_equal(
		ix->modules.search_newest(ix, "newest", &what, arena, &list, ret_total, NULL),
		UX_OK);
	return list;
}

/* Each module of the list has a lower number than the one before it. */
static void assert_newest_first(struct ux_module_list list)
{
	for (size_t i = 1; i < list.n; i++)
		assert_true(list.modules[i].number < list.modules[i - 1].number);
}

static void modules_are_searched_newest_first_with_their_total(struct ux_index *ix)
{
	static const struct {
		const char *id, *file;
		enum ux_quality quality;
		ux_time created;
	} rows[] = {
		{"gnu:90", "/opt/a/Reader", UX_QUALITY_LINES, 1000},
		{"gnu:91", "/opt/b/reader", UX_QUALITY_DYNSYM, 2000},
		{"gnu:92", "/opt/b/writer", UX_QUALITY_INLINES, 3000},
		{"gnu:93", "/srv/READER.debug", UX_QUALITY_SYMTAB, 4000},
	};
	UX_ARENA(arena, 1 << 20);
	struct ux_add_result r;
	uint64_t total = 0;
	for (size_t i = 0; i < ux_countof(rows); i++) {
		struct ux_candidate c = index_candidate((uint8_t)(0xd0 + i), rows[i].quality, 1);
		const struct ux_arrival what = {"newest", &rows[i].id, 1, false};
		c.file_name = rows[i].file;
		assert_int_equal(
			ix->modules.add(ix, &what, &c, &index_tester, rows[i].created, &r, NULL),
			UX_OK);
	}
	struct ux_module_list all = newest(ix, &arena, (struct ux_module_search){0}, &total);
	assert_newest_first(all);
	assert_true(all.n == 4 && total == 4 && !all.more);
	assert_string_equal(all.modules[0].ids[0], "gnu:93");
	struct ux_module_list some =
		newest(ix, &arena, (struct ux_module_search){.pattern = "*reader*"}, &total);
	assert_newest_first(some);
	assert_true(some.n == 3 && total == 3);
	some = newest(ix, &arena,
		      (struct ux_module_search){.pattern = "*reader*", .also = "/opt/*"}, &total);
	assert_true(some.n == 2 && total == 2);
	some = newest(ix, &arena, (struct ux_module_search){.pattern = "*reader*", .limit = 1},
		      &total);
	assert_true(some.n == 1 && some.more && total == 3);
	some = newest(
		ix, &arena,
		(struct ux_module_search){.pattern = "*reader*", .before = some.modules[0].number},
		&total);
	assert_true(some.n == 2 && total == 3 && !some.more);
	assert_string_equal(some.modules[0].ids[0], "gnu:91");
	some = newest(ix, &arena, (struct ux_module_search){.base = "reader"}, &total);
	assert_true(some.n == 1 && total == 1);
	some = newest(ix, &arena, (struct ux_module_search){.min = UX_QUALITY_LINES}, &total);
	assert_true(some.n == 2 && total == 2);
	some = newest(ix, &arena, (struct ux_module_search){.since = 2001}, &total);
	assert_true(some.n == 2 && total == 2);
	some = newest(ix, &arena, (struct ux_module_search){.pattern = "*no such*"}, &total);
	assert_true(some.n == 0 && total == 0);

	some = newest(ix, &arena, (struct ux_module_search){.pattern = "/opt/?/*", .gsym = true},
		      &total);
	assert_true(some.n == 3 && total == 3);
	some = newest(ix, &arena, (struct ux_module_search){.pattern = "*writer*", .gsym = true},
		      NULL);
	assert_newest_first(some);
	assert_int_equal(some.n, 1);
	assert_int_equal(newest(ix, &arena, (struct ux_module_search){.limit = 2}, NULL).n, 2);
	assert_int_equal(newest(ix, &arena, (struct ux_module_search){.base = "writer"}, NULL).n,
			 1);
	const struct ux_module_search open = {.pattern = "*[a", .limit = 1};
	assert_int_equal(
		ix->modules.search_newest(ix, "newest", &open, &arena, &some, &total, NULL),
		UX_EINVAL);
	const struct ux_module_search any = {.limit = 1};
	assert_int_equal(
		ix->modules.search_newest(ix, "elsewhere", &any, &arena, &some, &total, NULL),
		UX_OK);
	assert_int_equal(some.n, 0);
}

static void modules_are_searched_by_revision_and_run(struct ux_index *ix)
{
	struct {
		const char *id, *revision, *run;
	} rows[] = {
		{"gnu:a0", "abc0000000000000000000000000000000000000", "https://ci/1"},
		{"gnu:a1", "abcf000000000000000000000000000000000000", "https://ci/1"},
		{"gnu:a2", "abd0000000000000000000000000000000000000", "https://ci/2"},
		{"gnu:a3", "", ""},
	};
	UX_ARENA(arena, 1 << 20);
	struct ux_add_result r;
	struct ux_module m;
	for (size_t i = 0; i < ux_countof(rows); i++) {
		struct ux_candidate c = index_candidate((uint8_t)(0x30 + i), UX_QUALITY_LINES, 1);
		c.provenance.facts[UX_GIT_REVISION] = rows[i].revision;
		c.provenance.facts[UX_CI_RUN] = rows[i].run;
		c.provenance.facts[UX_PACKAGE] = i == 1 ? "libc6-dbg" : "";
		c.provenance.facts[UX_PACKAGE_VERSION] = "2.36-9";
		assert_int_equal(index_add_to(ix, "newest", &rows[i].id, 1, c, false, NULL, &r),
				 UX_OK);
	}
	uint64_t total = 0;
	const struct ux_module_search some = {.revision = "abc", .limit = 1};
	assert_int_equal(newest(ix, &arena, some, &total).n, 1);
	assert_int_equal(total, 2);
	static const struct ux_module_search one = {.revision = "abcf"},
					     none = {.revision = "abcf1"},
					     run = {.ci_run = "https://ci/1"},
					     no_run = {.ci_run = "https://ci/"},
					     package = {.package = "libc6-dbg"},
					     no_package = {.package = "libc6"};
	assert_int_equal(newest(ix, &arena, package, NULL).n, 1);
	assert_int_equal(newest(ix, &arena, no_package, NULL).n, 0);
	assert_int_equal(newest(ix, &arena, one, NULL).n, 1);
	assert_int_equal(newest(ix, &arena, none, NULL).n, 0);
	assert_int_equal(newest(ix, &arena, run, NULL).n, 2);
	assert_int_equal(newest(ix, &arena, no_run, NULL).n, 0);
	/* The same bytes from another build. */
	struct ux_candidate c = index_candidate(0x30, UX_QUALITY_LINES, 1);
	c.provenance.facts[UX_GIT_REVISION] = rows[2].revision;
	assert_int_equal(index_add_to(ix, "newest", &rows[0].id, 1, c, false, NULL, &r), UX_OK);
	assert_int_equal(ix->modules.find(ix, "newest", rows[0].id, &arena, &m, NULL), UX_OK);
	assert_string_equal(m.candidates[0].provenance.facts[UX_GIT_REVISION], rows[2].revision);
	assert_string_equal(m.candidates[0].provenance.facts[UX_CI_RUN], "");
	assert_string_equal(m.candidates[0].provenance.facts[UX_GIT_BRANCH], "");
	/* The same bytes with a description alone, then with a build alone. */
	c = index_candidate(0x30, UX_QUALITY_LINES, 1);
	c.description = "again";
	assert_int_equal(index_add_to(ix, "newest", &rows[0].id, 1, c, false, NULL, &r), UX_OK);
	c.description = "";
	c.provenance.facts[UX_CI_RUN] = rows[0].run;
	assert_int_equal(ix->modules.find(ix, "newest", rows[0].id, &arena, &m, NULL), UX_OK);
	assert_string_equal(m.candidates[0].description, "again");
	assert_string_equal(m.candidates[0].provenance.facts[UX_GIT_REVISION], rows[2].revision);
	assert_int_equal(index_add_to(ix, "newest", &rows[0].id, 1, c, false, NULL, &r), UX_OK);
	assert_int_equal(ix->modules.find(ix, "newest", rows[0].id, &arena, &m, NULL), UX_OK);
	assert_string_equal(m.candidates[0].description, "again");
	assert_string_equal(m.candidates[0].provenance.facts[UX_CI_RUN], rows[0].run);
	assert_int_equal(ix->modules.find(ix, "newest", rows[1].id, &arena, &m, NULL), UX_OK);
	assert_string_equal(m.candidates[0].provenance.facts[UX_PACKAGE], "libc6-dbg");
	assert_string_equal(m.candidates[0].provenance.facts[UX_PACKAGE_VERSION], "2.36-9");
}

/* Adds a debug file and settles it as extracted from its supplementary file in that state. */
static int64_t settled_with(struct ux_index *ix, const char *id, uint8_t hash,
			    const char *supplementary, enum ux_supplementary_state state)
{
	struct ux_add_result r;
	const char *ids[] = {id};
	struct ux_settled s = measured(UX_QUALITY_LINES, NULL);
	struct ux_candidate c = pending_elf(hash);
	c.kind = s.kind = UX_KIND_DEBUGINFO;
	s.holds = UX_HOLDS_DEBUG;
	s.supplementary = supplementary;
	s.supplementary_state = state;
	assert_int_equal(index_add_to(ix, "dwz", ids, 1, c, false, NULL, &r), UX_OK);
	finish_job(ix, r.candidate);
	assert_int_equal(ix->modules.settle(ix, r.candidate, &s, 2100, &r, NULL), UX_OK);
	return r.candidate;
}

static void no_job_is_due(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_job job;
	assert_int_equal(ix->jobs.take(ix, UX_JOB_EXTRACT, "t", 9000, 60, &arena, &job, NULL),
			 UX_ENOTFOUND);
}

static void job_is_due_again(struct ux_index *ix, int64_t candidate)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_job job;
	assert_int_equal(ix->jobs.take(ix, UX_JOB_EXTRACT, "t", 9000, 60, &arena, &job, NULL),
			 UX_OK);
	assert_int_equal(job.candidate, candidate);
	assert_string_equal(job.payload, UX_JOB_AGAIN);
	assert_string_equal(job.ns, "dwz");
	assert_int_equal(ix->jobs.done(ix, job.number, "t", NULL), UX_OK);
}

static void what_lacked_a_supplementary_file_is_extracted_again_when_it_comes(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_supplementary got;
	struct ux_idle_list idle;
	no_job_is_due(ix);
	int64_t one = settled_with(ix, "gnu:d1", 0xd1, "gnu:ddd", UX_SUPPLEMENTARY_ABSENT);
	int64_t two = settled_with(ix, "gnu:d2", 0xd2, "gnu:eee", UX_SUPPLEMENTARY_ABSENT);
	no_job_is_due(ix);
	assert_int_equal(ix->modules.supplementary(ix, one, &arena, &got, NULL), UX_OK);
	assert_string_equal(got.id, "gnu:ddd");
	assert_int_equal(got.state, UX_SUPPLEMENTARY_ABSENT);
	/* The supplementary file comes: the candidate that refers to it gets a job, the other one
	 * does not. */
	(void)settled_with(ix, "gnu:ddd", 0xd3, NULL, UX_SUPPLEMENTARY_NONE);
	job_is_due_again(ix, one);
	no_job_is_due(ix);
	/* It arrives before the extraction without it ends. */
	int64_t late = settled_with(ix, "gnu:d4", 0xd4, "gnu:ddd", UX_SUPPLEMENTARY_ABSENT);
	job_is_due_again(ix, late);
	/* A file that exists but cannot be used is no reason to try again. */
	(void)settled_with(ix, "gnu:d5", 0xd5, "gnu:ddd", UX_SUPPLEMENTARY_UNUSABLE);
	(void)settled_with(ix, "gnu:d6", 0xd6, "gnu:ddd", UX_SUPPLEMENTARY_USED);
	no_job_is_due(ix);
	/* Other bytes of it are, if they were forced. */
	struct ux_candidate forced = pending_elf(0xd8);
	struct ux_add_result again;
	struct ux_settled sup = measured(UX_QUALITY_LINES, NULL);
	const char *of[] = {"gnu:ddd"};
	forced.kind = sup.kind = UX_KIND_DEBUGINFO;
	sup.holds = UX_HOLDS_DEBUG;
	assert_int_equal(index_add_to(ix, "dwz", of, 1, forced, true, NULL, &again), UX_OK);
	finish_job(ix, again.candidate);
	assert_int_equal(ix->modules.settle(ix, again.candidate, &sup, 2150, &again, NULL), UX_OK);
	assert_int_equal(again.queued, 4);
	while (again.queued-- > 0) {
		struct ux_job job;
		assert_int_equal(
			ix->jobs.take(ix, UX_JOB_EXTRACT, "t", 9000, 60, &arena, &job, NULL),
			UX_OK);
		assert_int_equal(ix->jobs.done(ix, job.number, "t", NULL), UX_OK);
	}
	no_job_is_due(ix);
	/* A file that came without an upload and is ready immediately counts too. */
	struct ux_candidate c = pending_elf(0xd7);
	const char *ids[] = {"gnu:eee"};
	const struct ux_arrival what = {.ns = "dwz", .ids = ids, .n_ids = 1};
	struct ux_add_result r;
	c.state = UX_CANDIDATE_READY;
	c.kind = UX_KIND_DEBUGINFO;
	c.holds = UX_HOLDS_DEBUG;
	c.origin = UX_ORIGIN_UPSTREAM;
	c.origin_name = "up";
	assert_int_equal(ix->modules.add(ix, &what, &c, &index_tester, 2200, &r, NULL), UX_OK);
	assert_int_equal(r.queued, 1);
	job_is_due_again(ix, two);
	no_job_is_due(ix);
	/* Both are needed while there are files that refer to them, and idle afterwards. */
	assert_int_equal(ix->modules.idle(ix, "dwz", 9000, 100, &arena, &idle, NULL), UX_OK);
	assert_int_equal(idle.n, 5);
	assert_int_equal(ix->modules.remove(ix, "dwz", "gnu:d2", &index_tester, 2300, NULL), UX_OK);
	assert_int_equal(ix->modules.idle(ix, "dwz", 9000, 100, &arena, &idle, NULL), UX_OK);
	assert_int_equal(idle.n, 5);
	bool kept = true;
	for (size_t i = 0; i < idle.n; i++)
		kept = kept && strcmp(idle.modules[i].id, "gnu:eee") != 0;
	assert_false(kept);
}

static void files_that_refer_to_each_other_do_not_work_for_ever(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_idle_list idle;
	struct ux_add_result r;
	no_job_is_due(ix);
	int64_t a = settled_with(ix, "gnu:c1", 0xc1, "gnu:c2", UX_SUPPLEMENTARY_UNUSABLE);
	int64_t b = settled_with(ix, "gnu:c2", 0xc2, "gnu:c1", UX_SUPPLEMENTARY_UNUSABLE);
	job_is_due_again(ix, a);
	struct ux_settled s = measured(UX_QUALITY_LINES, NULL);
	s.kind = UX_KIND_DEBUGINFO;
	s.holds = UX_HOLDS_DEBUG;
	s.supplementary = "gnu:c2";
	s.supplementary_state = UX_SUPPLEMENTARY_UNUSABLE;
	assert_int_equal(ix->modules.settle(ix, a, &s, 2300, &r, NULL), UX_OK);
	s.supplementary = "gnu:c1";
	assert_int_equal(ix->modules.settle(ix, b, &s, 2300, &r, NULL), UX_OK);
	no_job_is_due(ix);
	/* Nor do they keep each other. */
	assert_int_equal(ix->modules.idle(ix, "dwz", 9000, 100, &arena, &idle, NULL), UX_OK);
	unsigned n = 0;
	for (size_t i = 0; i < idle.n; i++)
		n += strncmp(idle.modules[i].id, "gnu:c", 5) == 0;
	assert_int_equal(n, 2);
}

static void gsym_extracted_again_replaces_the_earlier_one(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_candidate gsym = index_candidate(0xf1, UX_QUALITY_LINES, 30);
	struct ux_settled s = measured(UX_QUALITY_LINES, &gsym);
	struct ux_add_result r;
	const char *ids[] = {"gnu:f1"};
	assert_int_equal(index_add(ix, ids, 1, pending_elf(0xf0), false, &r), UX_OK);
	finish_job(ix, r.candidate);
	int64_t elf = r.candidate;
	assert_int_equal(ix->modules.settle(ix, elf, &s, 2100, &r, NULL), UX_OK);
	gsym.blob.bytes[0] = 0xf2;
	assert_int_equal(ix->modules.settle(ix, elf, &s, 2200, &r, NULL), UX_OK);
	struct ux_module m = index_find(ix, &arena, "gnu:f1");
	assert_int_equal(m.n_candidates, 2);
	assert_int_equal(ux_module_best(&m, UX_KIND_GSYM)->blob.bytes[0], 0xf2);
	gsym.blob.bytes[0] = 0xf3; /* a poorer one does not */
	gsym.counts.line_bytes--;
	assert_int_equal(ix->modules.settle(ix, elf, &s, 2300, &r, NULL), UX_OK);
	m = index_find(ix, &arena, "gnu:f1");
	assert_int_equal(ux_module_best(&m, UX_KIND_GSYM)->blob.bytes[0], 0xf2);
}

/* Returns the candidate whose job is taken next; 0: none is due. */
static int64_t taken(struct ux_index *ix, enum ux_job_lane lane, const char *owner, ux_time now,
		     int64_t *ret_job)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_job job = {0};
	const struct ux_job_turn turn = {
		.kind = UX_JOB_EXTRACT, .owner = owner, .lane = lane, .after = ""};
	if (ix->jobs.take_turn(ix, &turn, now, 60, &arena, &job, NULL) != UX_OK)
		return 0;
	*ret_job = job.number;
	return job.candidate;
}

static void small_files_come_first_and_modules_one_at_a_time(struct ux_index *ix)
{
	static const uint64_t sizes[] = {30 << 20, 100, (64 << 20) + 1, 5 << 20};
	static const char *const of[] = {"gnu:5e01", "gnu:5e02", "gnu:5e03", "gnu:5e02"};
	struct ux_add_result r;
	int64_t number[4], job = 0, quick = 0;
	for (unsigned i = 0; i < ux_countof(sizes); i++) {
		struct ux_candidate c = pending_elf((uint8_t)(0xc1 + i));
		const char *ids[] = {of[i]};
		c.size = sizes[i];
		c.kind = i == 3 ? UX_KIND_DEBUGINFO : c.kind;
		assert_int_equal(index_add(ix, ids, 1, c, false, &r), UX_OK);
		number[i] = r.candidate;
	}
	assert_int_equal(taken(ix, UX_JOB_QUICK, "a", 9000, &quick), number[1]);
	/* The debug file of the same module waits, although it is smaller. */
	assert_int_equal(taken(ix, UX_JOB_QUICK, "b", 9000, &job), number[0]);
	assert_int_equal(taken(ix, UX_JOB_QUICK, "c", 9000, &job), 0);
	assert_int_equal(ix->jobs.done(ix, quick, "a", NULL), UX_OK);
	assert_int_equal(taken(ix, UX_JOB_QUICK, "c", 9000, &job), number[3]);
	assert_int_equal(taken(ix, UX_JOB_SLOW, "d", 9000, &job), number[2]);
	assert_int_equal(taken(ix, UX_JOB_SLOW, "e", 9000, &job), 0);
	for (unsigned i = 0; i < ux_countof(sizes); i++)
		assert_int_equal(
			ix->modules.candidate_remove(ix, number[i], &index_tester, 9000, NULL),
			UX_OK);
}

void index_candidates_conform(struct ux_index *ix)
{
	elf_is_pending_until_it_is_settled(ix);
	bytes_of_another_build_id_do_not_settle(ix);
	failed_candidate_says_why_and_may_be_tried_again(ix);
	elf_that_turns_out_poorer_is_refused_after_all(ix);
	what_was_extracted_goes_with_its_parent_unless_it_was_uploaded_too(ix);
	one_candidate_tells_where_it_belongs(ix);
	upstreams_candidates_are_caches_and_need_no_upload(ix);
	files_and_ids_are_found(ix);
	modules_are_searched_newest_first_with_their_total(ix);
	modules_are_searched_by_revision_and_run(ix);
	what_lacked_a_supplementary_file_is_extracted_again_when_it_comes(ix);
	files_that_refer_to_each_other_do_not_work_for_ever(ix);
	gsym_extracted_again_replaces_the_earlier_one(ix);
	small_files_come_first_and_modules_one_at_a_time(ix);
}
