/* SPDX-License-Identifier: Apache-2.0 */
/* Requirements for every backend of the index: packages of a crawl. */
#include "index_suite.h"

#include "name_glob.h"
#include "sweep.h"

enum {
	LEASE_S = 100,
};

static struct ux_package_row package(const char *key, const char *host)
{
	return (struct ux_package_row){.key = key,
				       .name = "libz-dbg",
				       .version = "1.2-3",
				       .arch = "amd64",
				       .source = "zlib",
				       .distribution = "debian",
				       .suite = "bookworm",
				       .component = "main",
				       .kind = "deb",
				       .role = "debug",
				       .url = key,
				       .host = host,
				       .sha256 = "",
				       .size = 1000,
				       .installed = 5000,
				       .crawl = true};
}

static struct ux_packages_announced announce(struct ux_index *ix, const char *ns,
					     const char *repository,
					     const struct ux_package_row *rows, size_t n,
					     unsigned extractor, ux_time now)
{
	struct ux_packages_announced sum = {0};
	assert_int_equal(
		ix->packages.announce(ix, ns, repository, rows, n, extractor, now, &sum, NULL),
		UX_OK);
	return sum;
}

/* Announces packages whose keys are these letters, at 1000. */
static void announce_keys(struct ux_index *ix, const char *ns, const char *repository,
			  const char *host, const char *letters)
{
	for (; *letters; letters++) {
		const char key[] = {*letters, '\0'};
		const struct ux_package_row row = package(key, host);
		assert_int_equal(announce(ix, ns, repository, &row, 1, 1, 1000).new, 1);
	}
}

static struct ux_package_jobs take_as(struct ux_index *ix, const char *ns, const char *worker,
				      size_t max, unsigned of_host, ux_time now,
				      struct ux_arena *arena, ux_time *ret_next)
{
	const struct ux_package_take what = {
		.worker = worker, .max = max, .lease_s = LEASE_S, .of_host = of_host};
	struct ux_package_jobs jobs = {0};
	assert_int_equal(ix->packages.take(ix, ns, &what, now, arena, &jobs, ret_next, NULL),
			 UX_OK);
	return jobs;
}

/* Leases as many as there are; returns the keys in order. */
static const char *take_keys(struct ux_index *ix, const char *ns, size_t max, unsigned of_host,
			     ux_time now)
{
	static char keys[64];
	ux_time next = 0;
	UX_ARENA(arena, 1 << 20);
	struct ux_package_jobs jobs = take_as(ix, ns, "w", max, of_host, now, &arena, &next);
	assert_true(jobs.n < sizeof(keys));
	for (size_t i = 0; i < jobs.n; i++)
		keys[i] = jobs.items[i].package.key[0];
	keys[jobs.n] = '\0';
	return keys;
}

static enum ux_code end_job(struct ux_index *ix, const char *ns, const struct ux_package_job *job,
			    enum ux_package_outcome outcome, ux_time now,
			    enum ux_package_state *ret)
{
	const struct ux_package_end how = {.lease = job->lease,
					   .outcome = outcome,
					   .cause = "hash",
					   .reason = "because",
					   .later_s = 7,
					   .modules = 2,
					   .fetched = 1000,
					   .stored = 60,
					   .extractor = 1};
	return ix->packages.end(ix, ns, job->number, &how, now, ret, NULL);
}

static struct ux_package_status status(struct ux_index *ix, const char *ns, ux_time now,
				       struct ux_arena *arena)
{
	struct ux_package_status s;
	assert_int_equal(ix->packages.status(ix, ns, now, arena, &s, NULL), UX_OK);
	return s;
}

static void packages_are_announced_once(struct ux_index *ix)
{
	struct ux_package_row rows[1200];
	char keys[ux_countof(rows)][8];
	UX_ARENA(arena, 1 << 20);
	for (size_t i = 0; i < ux_countof(rows); i++) {
		snprintf(keys[i], sizeof(keys[i]), "k%zu", i);
		rows[i] = package(keys[i], "h");
	}
	struct ux_packages_announced sum =
		announce(ix, "once", "r", rows, ux_countof(rows), 1, 1000);
	assert_int_equal(sum.new, ux_countof(rows));
	assert_int_equal(sum.known, 0);
	sum = announce(ix, "once", "other", rows, ux_countof(rows), 1, 1001);
	assert_int_equal(sum.new, 0);
	assert_int_equal(sum.known, ux_countof(rows));
	assert_int_equal(sum.again, 0);
	struct ux_package_status s = status(ix, "once", 2000, &arena);
	assert_int_equal(s.states[UX_PACKAGE_WAITING].packages, ux_countof(rows));
	assert_int_equal(s.states[UX_PACKAGE_WAITING].size, 1000 * ux_countof(rows));
	assert_int_equal(announce(ix, "else", "r", rows, 1, 1, 1000).new, 1); /* of another ns */
}

static void state_of_a_repository_is_kept_when_it_is_complete(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_repositories list;
	const struct ux_package_row row = package("c", "h");
	announce(ix, "repo", "b", &row, 1, 1, 1000);
	assert_int_equal(ix->packages.complete(ix, "repo", "a", "{\"etag\":1}", 2000, NULL), UX_OK);
	assert_int_equal(ix->packages.repositories(ix, "repo", "", 1, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 1);
	assert_true(list.more);
	assert_string_equal(list.items[0].name, "a");
	assert_string_equal(list.items[0].state, "{\"etag\":1}");
	assert_int_equal(list.items[0].completed, 2000);
	assert_int_equal(ix->packages.repositories(ix, "repo", "a", 9, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 1);
	assert_false(list.more);
	assert_string_equal(list.items[0].state, "");
	assert_int_equal(list.items[0].completed, 0);
	assert_int_equal(list.items[0].packages[UX_PACKAGE_WAITING], 1);
	assert_int_equal(list.items[0].bytes[UX_PACKAGE_WAITING], 1000);
	assert_int_equal(ix->packages.repositories(ix, "none", "", 9, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 0);
}

static void repositories_take_turns(struct ux_index *ix)
{
	announce_keys(ix, "turns", "large", "h1", "abcdefgh");
	announce_keys(ix, "turns", "small", "h2", "xyz");
	assert_string_equal(take_keys(ix, "turns", 1, 9, 1000), "a");
	assert_string_equal(take_keys(ix, "turns", 1, 9, 1000), "x");
	assert_string_equal(take_keys(ix, "turns", 4, 9, 1000), "bycz");
	assert_string_equal(take_keys(ix, "turns", 4, 9, 1000), "defg");
	assert_string_equal(take_keys(ix, "else", 1, 9, 999), ""); /* not due */
}

static void repositories_are_chosen_by_a_pattern(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_glob glob;
	struct ux_package_jobs jobs;
	ux_time next = 0;
	announce_keys(ix, "glob", "debian trixie", "h", "a");
	announce_keys(ix, "glob", "debian bookworm", "h", "b");
	assert_int_equal(ux_glob_parse("debian b*", &glob, NULL), UX_OK);
	const struct ux_package_take what = {
		.worker = "w", .max = 9, .lease_s = LEASE_S, .of_host = 9, .glob = &glob};
	assert_int_equal(ix->packages.take(ix, "glob", &what, 1000, &arena, &jobs, &next, NULL),
			 UX_OK);
	assert_int_equal(jobs.n, 1);
	assert_string_equal(jobs.items[0].package.key, "b");
	assert_string_equal(jobs.items[0].package.name, "libz-dbg");
	assert_string_equal(jobs.items[0].repository, "debian bookworm");
	assert_int_equal(jobs.items[0].package.installed, 5000);
	assert_string_equal(jobs.items[0].package.files, "");
}

static void one_host_has_so_many_leases(struct ux_index *ix)
{
	ux_time next = 0;
	UX_ARENA(arena, 1 << 20);
	announce_keys(ix, "host1", "r", "mirror", "abcd");
	announce_keys(ix, "host2", "r", "mirror", "efgh");
	announce_keys(ix, "host2", "q", "", "pqrs"); /* paths */
	assert_string_equal(take_keys(ix, "host1", 3, 2, 1000), "ab");
	assert_string_equal(take_keys(ix, "host2", 9, 2, 1000), "pqrs");
	assert_int_equal(take_as(ix, "host2", "w", 9, 2, 1000, &arena, &next).n, 0);
	assert_int_equal(next, 1002); /* the queue is read again, since packages are due */
	assert_string_equal(take_keys(ix, "host2", 9, 3, 1000), "e");
}

/* Its mirror is done with it, although its symbols are not sent yet. */
static void package_that_was_received_takes_no_place_of_its_host(struct ux_index *ix)
{
	ux_time next = 0;
	UX_ARENA(arena, 1 << 20);
	announce_keys(ix, "received", "r", "far", "abcd");
	struct ux_package_jobs jobs = take_as(ix, "received", "w", 1, 1, 1000, &arena, &next);
	assert_int_equal(jobs.n, 1);
	assert_string_equal(take_keys(ix, "received", 9, 1, 1000), "");
	assert_int_equal(ix->packages.renew(ix, "received", jobs.items[0].number,
					    jobs.items[0].lease, 1000, LEASE_S, true, NULL),
			 UX_OK);
	assert_string_equal(take_keys(ix, "received", 9, 1, 1000), "b");
	/* a later renewal does not undo that */
	assert_int_equal(ix->packages.renew(ix, "received", jobs.items[0].number,
					    jobs.items[0].lease, 1010, LEASE_S, false, NULL),
			 UX_OK);
	assert_string_equal(take_keys(ix, "received", 9, 2, 1000), "c");
	/* the next worker has to receive it too */
	assert_string_equal(take_keys(ix, "received", 9, 9, 1010 + LEASE_S), "dabc");
	announce_keys(ix, "received", "r", "far", "e");
	assert_string_equal(take_keys(ix, "received", 9, 4, 1010 + LEASE_S), "");
	assert_string_equal(take_keys(ix, "received", 9, 5, 1010 + LEASE_S), "e");
}

/* The one that has none gets what becomes free, although the other one asks first and more often.
 */
static void namespaces_share_the_leases_of_a_host(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	ux_time next = 0;
	enum ux_package_state after;
	announce_keys(ix, "hog", "r", "shared", "abcdefghij");
	announce_keys(ix, "meek", "r", "shared", "uvwxyz");
	announce_keys(ix, "idle", "r", "shared", "123"); /* nobody works on these */
	struct ux_package_jobs hog = take_as(ix, "hog", "w", 9, 4, 1000, &arena, &next);
	assert_int_equal(hog.n, 4);
	assert_string_equal(take_keys(ix, "meek", 9, 4, 1001), "");
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(
			end_job(ix, "hog", &hog.items[i], UX_PACKAGE_ENDS_DONE, 1002, &after),
			UX_OK);
		assert_string_equal(take_keys(ix, "hog", 9, 4, 1002), "");
		assert_string_equal(take_keys(ix, "meek", 9, 4, 1002), i == 0 ? "u" : "v");
	}
	/* both have two: who had the last turn waits */
	assert_int_equal(end_job(ix, "hog", &hog.items[2], UX_PACKAGE_ENDS_DONE, 1003, &after),
			 UX_OK);
	assert_string_equal(take_keys(ix, "meek", 9, 4, 1003), "");
	assert_string_equal(take_keys(ix, "hog", 9, 4, 1003), "e");
	/* a namespace that asks no more keeps nobody waiting */
	assert_int_equal(end_job(ix, "hog", &hog.items[3], UX_PACKAGE_ENDS_DONE, 1040, &after),
			 UX_OK);
	assert_string_equal(take_keys(ix, "meek", 9, 4, 1040), "w");
}

/* A host with room for one: namespaces take turns. */
static void namespaces_take_turns_at_a_host(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	ux_time next = 0, now = 1000;
	enum ux_package_state after;
	announce_keys(ix, "turn1", "r", "narrow", "abcdef");
	announce_keys(ix, "turn2", "r", "narrow", "uvwxyz");
	for (size_t i = 0; i < 6; i++, now += 3) {
		const char *first = i % 2 == 0 ? "turn1" : "turn2";
		const char *second = i % 2 == 0 ? "turn2" : "turn1";
		struct ux_package_jobs jobs = take_as(ix, first, "w", 9, 1, now, &arena, &next);
		assert_int_equal(jobs.n, 1);
		assert_string_equal(take_keys(ix, second, 9, 1, now), "");
		assert_int_equal(
			end_job(ix, first, &jobs.items[0], UX_PACKAGE_ENDS_DONE, now + 1, &after),
			UX_OK);
		assert_string_equal(take_keys(ix, first, 9, 1, now + 1), "");
	}
}

/* Neither ends nor lets go. */
static void lease_of_a_namespace_that_has_all_of_a_host_ends(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	ux_time next = 0;
	enum ux_package_state after;
	const ux_time late = 1000 + UX_PACKAGE_SHARED_S;
	announce_keys(ix, "holder", "r", "held", "ab");
	announce_keys(ix, "comer", "r", "held", "xy");
	struct ux_package_jobs jobs = take_as(ix, "holder", "w", 9, 2, 1000, &arena, &next);
	assert_int_equal(jobs.n, 2);
	for (ux_time now = 1000; now < late; now += LEASE_S / 2)
		for (size_t i = 0; i < 2; i++)
			assert_int_equal(ix->packages.renew(ix, "holder", jobs.items[i].number,
							    jobs.items[i].lease, now, LEASE_S,
							    false, NULL),
					 UX_OK);
	assert_string_equal(take_keys(ix, "comer", 9, 2, late - 1), "");
	assert_string_equal(take_keys(ix, "comer", 9, 2, late), "x"); /* its share, and no more */
	assert_int_equal(ix->packages.renew(ix, "holder", jobs.items[0].number, jobs.items[0].lease,
					    late, LEASE_S, false, NULL),
			 UX_ECONFLICT);
	assert_int_equal(ix->packages.renew(ix, "holder", jobs.items[1].number, jobs.items[1].lease,
					    late, LEASE_S, false, NULL),
			 UX_OK);
	struct ux_package_status s = status(ix, "holder", late, &arena);
	assert_int_equal(s.n_causes, 1);
	assert_string_equal(s.causes[0].cause, "shared");
	assert_string_equal(take_keys(ix, "holder", 9, 2, late), ""); /* the host is full */
	/* what it did counts, since no other worker has the package */
	assert_int_equal(end_job(ix, "holder", &jobs.items[0], UX_PACKAGE_ENDS_DONE, late, &after),
			 UX_OK);
	assert_int_equal(after, UX_PACKAGE_DONE);
}

static void lease_lasts_no_longer_than_the_most(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	ux_time next = 0, now = 1000;
	enum ux_package_state after;
	const ux_time latest = 1000 + UX_PACKAGE_LEASE_MOST_S;
	announce_keys(ix, "forever", "r", "", "a");
	struct ux_package_jobs jobs = take_as(ix, "forever", "w1", 1, 1, now, &arena, &next);
	assert_int_equal(jobs.n, 1);
	for (; now < latest; now += LEASE_S / 2)
		assert_int_equal(ix->packages.renew(ix, "forever", jobs.items[0].number,
						    jobs.items[0].lease, now, LEASE_S, false, NULL),
				 UX_OK);
	assert_int_equal(take_as(ix, "forever", "w2", 1, 1, latest - 1, &arena, &next).n, 0);
	assert_int_equal(next, latest);
	assert_int_equal(ix->packages.renew(ix, "forever", jobs.items[0].number,
					    jobs.items[0].lease, latest, LEASE_S, false, NULL),
			 UX_ECONFLICT);
	jobs = take_as(ix, "forever", "w2", 1, 1, latest, &arena, &next);
	assert_int_equal(jobs.n, 1);
	assert_int_equal(
		end_job(ix, "forever", &jobs.items[0], UX_PACKAGE_ENDS_DONE, latest, &after),
		UX_OK);
}

static void lease_that_ends_by_itself_is_given_to_another(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	ux_time next = 0;
	enum ux_package_state after;
	announce_keys(ix, "lapse", "r", "", "a");
	struct ux_package_jobs first = take_as(ix, "lapse", "w1", 1, 1, 1000, &arena, &next);
	assert_int_equal(first.n, 1);
	assert_int_equal(take_as(ix, "lapse", "w2", 1, 1, 1000 + LEASE_S - 1, &arena, &next).n, 0);
	assert_true(next <= 1000 + LEASE_S);
	assert_int_equal(ix->packages.renew(ix, "lapse", first.items[0].number,
					    first.items[0].lease, 1050, LEASE_S, false, NULL),
			 UX_OK);
	assert_int_equal(take_as(ix, "lapse", "w2", 1, 1, 1050 + LEASE_S - 1, &arena, &next).n, 0);
	struct ux_package_jobs second =
		take_as(ix, "lapse", "w2", 1, 1, 1050 + LEASE_S, &arena, &next);
	assert_int_equal(second.n, 1);
	assert_int_equal(second.items[0].number, first.items[0].number);
	assert_int_equal(second.items[0].losses, 1);
	assert_string_not_equal(second.items[0].lease, first.items[0].lease);
	assert_int_equal(end_job(ix, "lapse", &first.items[0], UX_PACKAGE_ENDS_DONE, 1200, &after),
			 UX_ECONFLICT);
	assert_int_equal(ix->packages.renew(ix, "lapse", first.items[0].number,
					    first.items[0].lease, 1200, LEASE_S, false, NULL),
			 UX_ECONFLICT);
	assert_int_equal(end_job(ix, "lapse", &second.items[0], UX_PACKAGE_ENDS_DONE, 1200, &after),
			 UX_OK);
	assert_int_equal(after, UX_PACKAGE_DONE);
	assert_int_equal(take_as(ix, "lapse", "w2", 1, 1, 9999, &arena, &next).n, 0);
}

/* Another take of the repository notes that the lease has ended; no other worker has leased the
 * package since. */
static void work_counts_whose_lease_ended_meanwhile(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_glob none;
	ux_time next = 0;
	enum ux_package_state after;
	struct ux_package_jobs jobs;
	announce_keys(ix, "late", "r", "", "a");
	struct ux_package_jobs first = take_as(ix, "late", "w", 1, 1, 1000, &arena, &next);
	assert_int_equal(ux_glob_parse("nothing", &none, NULL), UX_OK);
	const struct ux_package_take what = {
		.worker = "w", .max = 9, .lease_s = LEASE_S, .of_host = 9, .glob = &none};
	assert_int_equal(ix->packages.take(ix, "late", &what, 5000, &arena, &jobs, &next, NULL),
			 UX_OK);
	assert_int_equal(status(ix, "late", 5000, &arena).states[UX_PACKAGE_FAILED].packages, 1);
	assert_int_equal(ix->packages.renew(ix, "late", first.items[0].number, first.items[0].lease,
					    5000, LEASE_S, false, NULL),
			 UX_ECONFLICT);
	assert_int_equal(end_job(ix, "late", &first.items[0], UX_PACKAGE_ENDS_DONE, 5000, &after),
			 UX_OK);
	assert_int_equal(take_as(ix, "late", "w", 1, 1, 9999, &arena, &next).n, 0);
	assert_int_equal(next, INT64_MAX);
}

static void failures_are_tried_again_later_and_then_quarantined(struct ux_index *ix)
{
	static const int64_t back_off[] = {60, 240};
	UX_ARENA(arena, 1 << 20);
	enum ux_package_state after = UX_PACKAGE_WAITING;
	ux_time now = 1000, next = 0;
	uint64_t n = 0;
	announce_keys(ix, "fails", "r", "", "a");
	for (size_t i = 0; i < UX_PACKAGE_TRIES; i++) {
		struct ux_package_jobs jobs = take_as(ix, "fails", "w", 1, 1, now, &arena, &next);
		assert_int_equal(jobs.n, 1);
		assert_int_equal(jobs.items[0].tries, i);
		for (int again = 0; again < 2; again++) /* the answer to the first one was lost */
			assert_int_equal(end_job(ix, "fails", &jobs.items[0],
						 UX_PACKAGE_ENDS_FAILED, now, &after),
					 UX_OK);
		if (i + 1 == UX_PACKAGE_TRIES)
			break;
		assert_int_equal(after, UX_PACKAGE_FAILED);
		assert_int_equal(
			take_as(ix, "fails", "w", 1, 1, now + back_off[i] - 1, &arena, &next).n, 0);
		assert_int_equal(next, now + back_off[i] - 1 + 2);
		now += back_off[i];
	}
	assert_int_equal(after, UX_PACKAGE_QUARANTINED);
	assert_int_equal(take_as(ix, "fails", "w", 1, 1, now + 100000, &arena, &next).n, 0);
	assert_int_equal(next, INT64_MAX);
	struct ux_package_jobs list;
	assert_int_equal(ix->packages.failures(ix, "fails", 9, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.items[0].cause, "hash");
	assert_string_equal(list.items[0].reason, "because");
	assert_int_equal(ix->packages.retry(ix, 1, now, &n, NULL), UX_OK); /* the same extractor */
	assert_int_equal(n, 0);
	const struct ux_package_row row = package("a", "");
	assert_int_equal(announce(ix, "fails", "r", &row, 1, 1, now).again, 0);
	assert_int_equal(announce(ix, "fails", "r", &row, 1, 2, now).again, 1);
	struct ux_package_jobs jobs = take_as(ix, "fails", "w", 1, 1, now, &arena, &next);
	assert_int_equal(jobs.n, 1);
	assert_int_equal(jobs.items[0].tries, 0);
	assert_int_equal(
		end_job(ix, "fails", &jobs.items[0], UX_PACKAGE_ENDS_QUARANTINED, now, &after),
		UX_OK);
	assert_int_equal(ix->packages.retry(ix, 2, now, &n, NULL), UX_OK);
	assert_int_equal(n, 0);
	assert_int_equal(ix->packages.retry(ix, 3, now, &n, NULL), UX_OK);
	assert_int_equal(n, 1);
	assert_int_equal(take_as(ix, "fails", "w", 1, 1, now, &arena, &next).n, 1);
}

static void later_is_no_failure(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	enum ux_package_state after = UX_PACKAGE_WAITING;
	ux_time now = 1000, next = 0;
	announce_keys(ix, "later", "r", "", "a");
	for (size_t i = 0; i < 2 * UX_PACKAGE_TRIES; i++, now += 7) {
		struct ux_package_jobs jobs = take_as(ix, "later", "w", 1, 1, now, &arena, &next);
		assert_int_equal(jobs.n, 1);
		assert_int_equal(
			end_job(ix, "later", &jobs.items[0], UX_PACKAGE_ENDS_LATER, now, &after),
			UX_OK);
		assert_int_equal(after, UX_PACKAGE_FAILED);
		assert_int_equal(take_as(ix, "later", "w", 1, 1, now + 6, &arena, &next).n, 0);
	}
}

static void package_that_ends_its_workers_is_quarantined(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	ux_time now = 1000, next = 0;
	announce_keys(ix, "poison", "r", "", "a");
	for (size_t i = 0; i < UX_PACKAGE_LOSSES; i++, now += LEASE_S)
		assert_int_equal(take_as(ix, "poison", "w", 1, 1, now, &arena, &next).n, 1);
	assert_int_equal(take_as(ix, "poison", "w", 1, 1, now, &arena, &next).n, 0);
	struct ux_package_status s = status(ix, "poison", now, &arena);
	assert_int_equal(s.states[UX_PACKAGE_QUARANTINED].packages, 1);
	assert_int_equal(s.n_causes, 1);
	assert_string_equal(s.causes[0].cause, "lost");
}

static void leases_of_another_namespace_are_not_found(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	ux_time next = 0;
	enum ux_package_state after;
	announce_keys(ix, "mine", "r", "", "a");
	struct ux_package_jobs jobs = take_as(ix, "mine", "w", 1, 1, 1000, &arena, &next);
	assert_int_equal(jobs.n, 1);
	assert_int_equal(end_job(ix, "else", &jobs.items[0], UX_PACKAGE_ENDS_DONE, 1000, &after),
			 UX_ENOTFOUND);
	assert_int_equal(ix->packages.renew(ix, "else", jobs.items[0].number, jobs.items[0].lease,
					    1000, LEASE_S, false, NULL),
			 UX_ENOTFOUND);
	assert_int_equal(ix->packages.renew(ix, "mine", jobs.items[0].number, "", 1000, LEASE_S,
					    false, NULL),
			 UX_ECONFLICT);
	assert_int_equal(ix->packages.renew(ix, "mine", 999999, "", 1000, LEASE_S, false, NULL),
			 UX_ENOTFOUND);
}

static void packages_are_found_by_build_id(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_package_jobs list;
	const struct ux_bytes ids[] = {UX_STR("11111111111111111111"),
				       UX_STR("22222222222222222222")};
	struct ux_package_row known = package("known", "h"), other = package("other", "h");
	ux_time next = 0;
	known.ids = ids;
	known.n_ids = 2;
	known.crawl = false;
	other.ids = ids + 1;
	other.n_ids = 1;
	announce(ix, "ids", "r", &known, 1, 1, 1000);
	assert_int_equal(take_as(ix, "ids", "w", 9, 9, 2000, &arena, &next).n, 0);
	assert_int_equal(next, INT64_MAX);
	announce(ix, "ids", "r", &other, 1, 1, 1000);
	assert_int_equal(ix->packages.holding(ix, "ids", ids[0], 9, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.items[0].package.key, "known");
	assert_int_equal(list.items[0].state, UX_PACKAGE_KNOWN);
	assert_int_equal(ix->packages.holding(ix, "ids", ids[1], 9, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 2);
	assert_string_equal(list.items[0].package.key, "other");
	assert_int_equal(ix->packages.holding(ix, "else", ids[0], 9, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 0);
	int64_t unrelated = list.n > 0 ? list.items[0].number : 0;
	assert_int_equal(ix->packages.holding(ix, "ids", ids[1], 9, &arena, &list, NULL), UX_OK);
	assert_int_equal(ix->packages.lacks(ix, "else", ids[1], unrelated, NULL), UX_OK);
	assert_int_equal(ix->packages.lacks(ix, "ids", ids[1], list.items[0].number, NULL), UX_OK);
	assert_int_equal(ix->packages.holding(ix, "ids", ids[1], 9, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 1);
	assert_string_equal(list.items[0].package.key, "known");
	known.crawl = true;
	known.url = "http://elsewhere/known";
	known.files = "[{\"key\":\"k\"}]";
	known.host = "elsewhere";
	struct ux_packages_announced sum = announce(ix, "ids", "r", &known, 1, 1, 3000);
	assert_int_equal(sum.again, 1);
	assert_int_equal(ix->packages.holding(ix, "ids", ids[0], 9, &arena, &list, NULL), UX_OK);
	assert_string_equal(list.items[0].package.url, "http://elsewhere/known");
	assert_string_equal(list.items[0].package.files, known.files);
	assert_string_equal(list.items[0].package.host, "elsewhere");
	assert_int_equal(take_as(ix, "ids", "w", 9, 9, 3000, &arena, &next).n, 2);
}

/* Source packages of a module that was built from the package "binary", at most nine. */
static struct ux_package_jobs sources_of(struct ux_index *ix, struct ux_arena *arena)
{
	struct ux_package_jobs list;
	assert_int_equal(ix->packages.sources(ix, "sources", "gnu:5c", 9, arena, &list, NULL),
			 UX_OK);
	return list;
}

static void sources_are_those_of_the_same_version(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	const char *ids[] = {"gnu:5c"};
	struct ux_add_result added;
	static const struct {
		const char *key, *version, *source, *distribution, *role;
		bool found;
	} rows[] = {
		{"same", "1.2-3", "zlib", "debian", "source", true},
		{"rebuilt", "1.2-3+b1", "zlib", "debian", "source", false},
		{"older", "1.2", "zlib", "debian", "source", false},
		{"more", "1.2-3+b", "zlib", "debian", "source", false},
		{"elsewhere", "1.2-3", "zlib", "ubuntu", "source", false},
		{"other", "1.2-3", "zstd", "debian", "source", false},
		{"no source", "1.2-3", "zlib", "debian", "debug", false},
	};
	struct ux_package_row binary = package("binary", "h");
	binary.version = "1.2-3+b12";
	assert_int_equal(announce(ix, "sources", "r", &binary, 1, 1, 1000).new, 1);
	for (size_t i = 0; i < ux_countof(rows); i++) {
		struct ux_package_row row = package(rows[i].key, "h");
		row.version = rows[i].version;
		row.source = rows[i].source;
		row.distribution = rows[i].distribution;
		row.role = rows[i].role;
		assert_int_equal(announce(ix, "sources", "r", &row, 1, 1, 1000).new, 1);
	}
	assert_int_equal(sources_of(ix, &arena).n, 0); /* there is no such module */
	struct ux_candidate c = index_candidate(0x5c, UX_QUALITY_LINES, 0);
	c.provenance.facts[UX_PACKAGE_SHA256] = "binary";
	assert_int_equal(index_add_to(ix, "sources", ids, 1, c, false, NULL, &added), UX_OK);
	struct ux_package_jobs list = sources_of(ix, &arena);
	size_t n = 0;
	for (size_t i = 0; i < ux_countof(rows); i++)
		n += rows[i].found;
	assert_int_equal(list.n, n);
	assert_string_equal(list.items[0].package.key, "same");
	c = index_candidate(0x5d, UX_QUALITY_NONE, 0);
	c.kind = UX_KIND_SOURCES;
	c.provenance.facts[UX_PACKAGE_SHA256] = "same";
	assert_int_equal(index_add_to(ix, "sources", ids, 1, c, false, NULL, &added), UX_OK);
	assert_int_equal(sources_of(ix, &arena).n, 0); /* it has these sources */
}

static void sums_follow_the_packages(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	enum ux_package_state after;
	ux_time next = 0;
	announce_keys(ix, "sums", "r", "", "abcd");
	struct ux_package_jobs jobs = take_as(ix, "sums", "w", 3, 1, 1000, &arena, &next);
	assert_int_equal(jobs.n, 3);
	assert_int_equal(end_job(ix, "sums", &jobs.items[0], UX_PACKAGE_ENDS_DONE, 1010, &after),
			 UX_OK);
	assert_int_equal(end_job(ix, "sums", &jobs.items[1], UX_PACKAGE_ENDS_FAILED, 1010, &after),
			 UX_OK);
	struct ux_package_status s = status(ix, "sums", 1020, &arena);
	assert_int_equal(s.states[UX_PACKAGE_DONE].packages, 1);
	assert_int_equal(s.states[UX_PACKAGE_DONE].modules, 2);
	assert_int_equal(s.states[UX_PACKAGE_DONE].stored, 60);
	assert_int_equal(s.states[UX_PACKAGE_FAILED].packages, 1);
	assert_int_equal(s.states[UX_PACKAGE_LEASED].packages, 1);
	assert_int_equal(s.states[UX_PACKAGE_WAITING].packages, 1);
	assert_int_equal(s.recent.packages, 1);
	assert_int_equal(s.recent.fetched, 1000);
	assert_int_equal(s.recent_since, 1010);
	assert_int_equal(s.workers, 1);
	assert_int_equal(s.n_causes, 1);
	assert_string_equal(s.causes[0].cause, "hash");
	assert_int_equal(status(ix, "sums", 1010 + UX_PACKAGE_RATE_S, &arena).recent.packages, 0);
	struct ux_package_status all = status(ix, NULL, 1020, &arena);
	assert_true(all.states[UX_PACKAGE_WAITING].packages > 1200);
}

void index_packages_conform(struct ux_index *ix)
{
	packages_are_announced_once(ix);
	sources_are_those_of_the_same_version(ix);
	state_of_a_repository_is_kept_when_it_is_complete(ix);
	repositories_take_turns(ix);
	repositories_are_chosen_by_a_pattern(ix);
	one_host_has_so_many_leases(ix);
	namespaces_share_the_leases_of_a_host(ix);
	namespaces_take_turns_at_a_host(ix);
	lease_of_a_namespace_that_has_all_of_a_host_ends(ix);
	lease_lasts_no_longer_than_the_most(ix);
	package_that_was_received_takes_no_place_of_its_host(ix);
	lease_that_ends_by_itself_is_given_to_another(ix);
	work_counts_whose_lease_ended_meanwhile(ix);
	failures_are_tried_again_later_and_then_quarantined(ix);
	later_is_no_failure(ix);
	package_that_ends_its_workers_is_quarantined(ix);
	leases_of_another_namespace_are_not_found(ix);
	packages_are_found_by_build_id(ix);
	sums_follow_the_packages(ix);
}
