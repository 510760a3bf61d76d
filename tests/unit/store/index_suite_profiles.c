/* SPDX-License-Identifier: Apache-2.0 */
/* Requirements for every backend of the index: kept profiles. */
#include "index_suite.h"

#include "sweep.h"

enum {
	DAY_S = 24 * 60 * 60,
};

/* A profile of ten seconds; each byte of its hash is this byte. */
static struct ux_kept_profile profile(uint8_t hash, const char *service, const char *host,
				      ux_time started)
{
	struct ux_kept_profile p = {.ns = "default",
				    .service = service,
				    .host = host,
				    .build = "v1",
				    .started = started,
				    .ended = started + 10,
				    .samples = 7,
				    .size = 100,
				    .length = 100,
				    .key_id = "k",
				    .created = started};
	memset(p.blob.bytes, hash, sizeof(p.blob.bytes));
	return p;
}

static int64_t add(struct ux_index *ix, struct ux_kept_profile p)
{
	int64_t number = 0;
	uint64_t trimmed = 9;
	const struct ux_profile_addition a = {.rows = &p, .n = 1};
	assert_int_equal(ix->profiles.add(ix, &a, &number, &trimmed, NULL), UX_OK);
	assert_true(number > 0);
	assert_int_equal(trimmed, 0);
	return number;
}

static enum ux_code replace(struct ux_index *ix, struct ux_kept_profile p, const int64_t *parts,
			    size_t n, int64_t *ret)
{
	uint64_t trimmed = 0;
	const struct ux_profile_addition a = {
		.rows = &p, .n = 1, .replaced = parts, .n_replaced = n};
	return ix->profiles.add(ix, &a, ret, &trimmed, NULL);
}

static bool is_used(struct ux_index *ix, uint8_t hash)
{
	struct ux_blob_hash h;
	bool used = false;
	memset(h.bytes, hash, sizeof(h.bytes));
	assert_int_equal(ix->blobs.used(ix, &h, &used, NULL), UX_OK);
	return used;
}

/* Returns how many profiles of a service are in a span. */
static size_t count(struct ux_index *ix, const char *service, const char *host, ux_time from,
		    ux_time until)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_kept_profiles list;
	const struct ux_profile_filter f = {.ns = "default",
					    .service = service,
					    .host = host,
					    .from = from,
					    .until = until,
					    .limit = 100};
	assert_int_equal(ix->profiles.span(ix, &f, &arena, &list, NULL), UX_OK);
	assert_false(list.more);
	return list.n;
}

static void profiles_are_found_by_service_host_and_time(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_kept_profile got;
	int64_t first = add(ix, profile(0xa0, "api", "a", 1000));
	int64_t second = add(ix, profile(0xa1, "api", "b", 2000));
	int64_t other = add(ix, profile(0xa2, "web", "a", 1000));
	assert_int_equal(count(ix, "api", NULL, 0, 9999), 2);
	assert_int_equal(count(ix, "api", "a", 0, 9999), 1);
	assert_int_equal(count(ix, "api", NULL, 1010, 1999), 1); /* both ends belong to a span */
	assert_int_equal(count(ix, "api", NULL, 1011, 1999), 0);
	assert_int_equal(count(ix, "api", NULL, 1010, 2000), 2);
	assert_int_equal(count(ix, "none", NULL, 0, 9999), 0);
	assert_int_equal(ix->profiles.find(ix, "default", first, &arena, &got, NULL), UX_OK);
	assert_string_equal(got.host, "a");
	assert_int_equal(got.ended, 1010);
	assert_int_equal(got.samples, 7);
	assert_int_equal(ix->profiles.find(ix, "theirs", first, &arena, &got, NULL), UX_ENOTFOUND);
	struct ux_kept_profiles page;
	struct ux_profile_filter all = {.ns = "default", .until = INT64_MAX, .limit = 2};
	assert_int_equal(ix->profiles.list(ix, &all, &arena, &page, NULL), UX_OK);
	assert_int_equal(page.n, 2);
	assert_true(page.more);
	assert_int_equal(page.items[0].number, other);
	assert_int_equal(page.items[1].number, second);
	all.before = second;
	assert_int_equal(ix->profiles.list(ix, &all, &arena, &page, NULL), UX_OK);
	assert_int_equal(page.n, 1);
	assert_int_equal(page.items[0].number, first);
	struct ux_profile_texts hosts;
	const struct ux_profile_filter api = {
		.ns = "default", .service = "api", .until = 9999, .limit = 1};
	assert_int_equal(ix->profiles.texts(ix, UX_PROFILE_HOSTS, &api, &arena, &hosts, NULL),
			 UX_OK);
	assert_int_equal(hosts.n, 1);
	assert_true(hosts.more);
	assert_string_equal(hosts.items[0], "a");
}

static void services_have_sums_that_follow(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_profile_services list;
	struct ux_profile_service one;
	struct ux_profile_usage usage;
	assert_int_equal(ix->profiles.services(ix, "default", "", 1, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 1);
	assert_true(list.more);
	assert_string_equal(list.items[0].name, "api");
	assert_int_equal(list.items[0].profiles, 2);
	assert_int_equal(list.items[0].bytes, 200);
	assert_int_equal(list.items[0].ended, 2010);
	assert_int_equal(ix->profiles.services(ix, "default", "api", 1, &arena, &list, NULL),
			 UX_OK);
	assert_string_equal(list.items[0].name, "web");
	assert_int_equal(ix->profiles.service(ix, "default", "nosuch", &arena, &one, NULL),
			 UX_ENOTFOUND);
	assert_int_equal(ix->profiles.usage(ix, NULL, &usage, NULL), UX_OK);
	assert_int_equal(usage.profiles, 3);
	assert_int_equal(usage.bytes, 300);
	assert_int_equal(ix->profiles.usage(ix, "theirs", &usage, NULL), UX_OK);
	assert_int_equal(usage.profiles, 0);
	assert_int_equal(ix->profiles.services(ix, "theirs", "", 9, &arena, &list, NULL), UX_OK);
	assert_int_equal(list.n, 0);
}

static void removed_profiles_free_their_blobs(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_profile_service one;
	int64_t number = add(ix, profile(0xa3, "gone", "a", 50));
	int64_t same = add(ix, profile(0xa3, "gone", "b", 50));
	assert_int_equal(ix->profiles.remove(ix, "theirs", number, &index_tester, 1, NULL),
			 UX_ENOTFOUND);
	assert_int_equal(ix->profiles.remove(ix, "default", number, &index_tester, 1, NULL), UX_OK);
	assert_true(is_used(ix, 0xa3));
	assert_int_equal(ix->profiles.remove(ix, "default", same, &index_tester, 1, NULL), UX_OK);
	assert_false(is_used(ix, 0xa3));
	assert_int_equal(ix->profiles.service(ix, "default", "gone", &arena, &one, NULL),
			 UX_ENOTFOUND);
}

static void a_sum_replaces_its_parts_in_one_step(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_kept_profiles parts;
	struct ux_profile_slot slot = {.level = 0, .slot_s = 600, .before = 1200};
	int64_t sum = 0, numbers[3];
	for (uint8_t i = 0; i < 3; i++)
		(void)add(ix, profile(0xb0 + i, "slot", "a", 600 + 100 * i));
	(void)add(ix, profile(0xb3, "slot", "a", 1200)); /* of the next slot */
	(void)add(ix, profile(0xb4, "slot", "b", 600));  /* alone on its host */
	struct ux_kept_profile known = profile(0xb5, "slot", "a", 600);
	known.level = UX_PROFILE_LEVEL_ALONE;
	(void)add(ix, known);
	assert_int_equal(ix->profiles.slot(ix, &slot, &arena, &parts, NULL), UX_OK);
	assert_int_equal(parts.n, 3);
	for (size_t i = 0; i < 3; i++)
		numbers[i] = parts.items[i].number;
	struct ux_kept_profile row = profile(0xb6, "slot", "a", 600);
	row.level = 1;
	assert_int_equal(replace(ix, row, numbers, 3, &sum), UX_OK);
	assert_false(is_used(ix, 0xb0));
	assert_true(is_used(ix, 0xb6));
	assert_int_equal(count(ix, "slot", "a", 0, 1199), 2);
	assert_int_equal(ix->profiles.slot(ix, &slot, &arena, &parts, NULL), UX_OK);
	assert_int_equal(parts.n, 0);
	/* Replacing a profile twice is a conflict, and nothing is added. */
	row = profile(0xb7, "slot", "a", 600);
	assert_int_equal(replace(ix, row, numbers, 3, &sum), UX_ECONFLICT);
	assert_false(is_used(ix, 0xb7));
	assert_int_equal(count(ix, "slot", "a", 0, 1199), 2);
	/* Neighbours of the next level; one of them is left alone. */
	row = profile(0xb8, "slot", "a", 700);
	row.level = 1;
	int64_t left = add(ix, row);
	slot = (struct ux_profile_slot){.level = 1, .slot_s = 3600, .before = 3600};
	assert_int_equal(ix->profiles.slot(ix, &slot, &arena, &parts, NULL), UX_OK);
	assert_int_equal(parts.n, 2);
	assert_int_equal(ix->profiles.leave(ix, left, NULL), UX_OK);
	assert_int_equal(ix->profiles.slot(ix, &slot, &arena, &parts, NULL), UX_OK);
	assert_int_equal(parts.n, 0);
}

static void old_ones_go_and_the_largest_namespace_makes_room(struct ux_index *ix)
{
	struct ux_profile_usage usage;
	uint64_t n = 0;
	assert_int_equal(ix->profiles.expire(ix, INT64_MAX, 1000, &n, NULL), UX_OK);
	assert_true(n > 5);
	for (uint8_t i = 0; i < 4; i++) {
		struct ux_kept_profile p = profile(0xc0 + i, "api", "a", (i + 1) * DAY_S);
		p.ns = i == 0 ? "theirs" : "default";
		(void)add(ix, p);
	}
	assert_int_equal(ix->profiles.expire(ix, DAY_S, 1000, &n, NULL), UX_OK);
	assert_int_equal(n, 0);
	/* Their profile is the oldest, but most profiles are ours. */
	assert_int_equal(ix->profiles.evict(ix, 101, 1000, &n, NULL), UX_OK);
	assert_int_equal(n, 2);
	assert_int_equal(count(ix, "api", NULL, 0, INT64_MAX), 1);
	assert_int_equal(ix->profiles.usage(ix, "theirs", &usage, NULL), UX_OK);
	assert_int_equal(usage.profiles, 1);
	assert_int_equal(ix->profiles.evict(ix, 1, 1000, &n, NULL), UX_OK);
	assert_int_equal(n, 1);
	assert_int_equal(ix->profiles.expire(ix, INT64_MAX, 1, &n, NULL), UX_OK);
	assert_int_equal(n, 1);
	assert_int_equal(ix->profiles.expire(ix, INT64_MAX, 1, &n, NULL), UX_OK);
	assert_int_equal(ix->profiles.usage(ix, NULL, &usage, NULL), UX_OK);
	assert_int_equal(usage.profiles, 0);
	assert_int_equal(usage.bytes, 0);
}

static void a_lost_blob_takes_its_profile_along(struct ux_index *ix)
{
	struct ux_kept_profile p = profile(0xd0, "lost", "a", 1000);
	struct ux_blob_loss loss;
	(void)add(ix, p);
	assert_int_equal(ix->blobs.lose(ix, &p.blob, "missing", 1, &loss, NULL), UX_OK);
	assert_int_equal(loss.profiles, 1);
	assert_int_equal(count(ix, "lost", NULL, 0, INT64_MAX), 0);
}

enum {
	MESSAGE = 5, /* profiles of one message */
};

/* Adds the profiles of a message: ten bytes each in one blob of 100, and a limit. */
static uint64_t add_message(struct ux_index *ix, uint8_t hash, const char *ns, ux_time started,
			    uint64_t max, int64_t numbers[MESSAGE])
{
	static const char *const services[MESSAGE] = {"m0", "m1", "m2", "m3", "m4"};
	struct ux_kept_profile rows[MESSAGE];
	uint64_t trimmed = 0;
	for (size_t i = 0; i < MESSAGE; i++) {
		rows[i] = profile(hash, services[i], "a", started);
		rows[i].ns = ns;
		rows[i].off = 10 * i;
		rows[i].length = 10;
	}
	const struct ux_profile_addition a = {.rows = rows, .n = MESSAGE, .profiles_max = max};
	assert_int_equal(ix->profiles.add(ix, &a, numbers, &trimmed, NULL), UX_OK);
	return trimmed;
}

static void expect_usage(struct ux_index *ix, const char *ns, uint64_t profiles, uint64_t bytes)
{
	struct ux_profile_usage usage;
	assert_int_equal(ix->profiles.usage(ix, ns, &usage, NULL), UX_OK);
	assert_int_equal(usage.profiles, profiles);
	assert_int_equal(usage.bytes, bytes);
}

static void profiles_of_a_message_share_a_blob_that_counts_once(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_kept_profile got;
	struct ux_profile_service one;
	int64_t numbers[MESSAGE], again[MESSAGE];
	uint64_t n = 0;
	assert_int_equal(add_message(ix, 0xe0, "default", DAY_S, 0, numbers), 0);
	for (size_t i = 0; i < MESSAGE; i++) {
		assert_true(i == 0 || numbers[i] > numbers[i - 1]);
		assert_int_equal(ix->profiles.find(ix, "default", numbers[i], &arena, &got, NULL),
				 UX_OK);
		assert_int_equal(got.off, 10 * i);
		assert_int_equal(got.length, 10);
		assert_int_equal(got.size, 100);
	}
	expect_usage(ix, "default", MESSAGE, 100);
	assert_int_equal(ix->profiles.service(ix, "default", "m1", &arena, &one, NULL), UX_OK);
	assert_int_equal(one.bytes, 10);
	/* the same message again, and in another namespace */
	add_message(ix, 0xe0, "default", DAY_S, 0, again);
	expect_usage(ix, "default", (uint64_t)2 * MESSAGE, 100);
	add_message(ix, 0xe0, "theirs", DAY_S, 0, again);
	expect_usage(ix, NULL, (uint64_t)3 * MESSAGE, 200);
	/* The blob stays, and counts, until the last one is gone. */
	assert_int_equal(ix->profiles.expire(ix, INT64_MAX, 2 * MESSAGE - 1, &n, NULL), UX_OK);
	assert_int_equal(n, 2 * MESSAGE - 1);
	expect_usage(ix, "default", 1, 100);
	assert_true(is_used(ix, 0xe0));
	assert_int_equal(ix->profiles.expire(ix, INT64_MAX, 1, &n, NULL), UX_OK);
	expect_usage(ix, "default", 0, 0);
	expect_usage(ix, "theirs", MESSAGE, 100);
	assert_true(is_used(ix, 0xe0));
	/* Several in one statement. */
	assert_int_equal(ix->profiles.expire(ix, INT64_MAX, 1000, &n, NULL), UX_OK);
	assert_int_equal(n, MESSAGE);
	expect_usage(ix, NULL, 0, 0);
	assert_false(is_used(ix, 0xe0));
}

static void a_message_makes_room_as_a_whole(struct ux_index *ix)
{
	int64_t numbers[MESSAGE];
	uint64_t n = 0;
	for (uint8_t i = 0; i < 3; i++)
		add_message(ix, 0xe1 + i, "default", (i + 1) * DAY_S, 0, numbers);
	expect_usage(ix, "default", 15, 300);
	assert_int_equal(ix->profiles.evict(ix, 1, 1000, &n, NULL), UX_OK);
	assert_int_equal(n, MESSAGE);
	expect_usage(ix, "default", 10, 200);
	assert_false(is_used(ix, 0xe1));
	assert_int_equal(ix->profiles.evict(ix, 101, 1000, &n, NULL), UX_OK);
	assert_int_equal(n, 2 * MESSAGE);
	expect_usage(ix, "default", 0, 0);
}

static void a_namespace_has_at_most_so_many_profiles(struct ux_index *ix)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_kept_profile got;
	int64_t first[MESSAGE], second[MESSAGE], theirs[MESSAGE];
	assert_int_equal(add_message(ix, 0xe4, "default", DAY_S, 8, first), 0);
	assert_int_equal(add_message(ix, 0xe5, "theirs", DAY_S, 8, theirs), 0);
	/* It is older, but came later: what a message adds is not removed by it. */
	assert_int_equal(add_message(ix, 0xe6, "default", 1, 8, second), 2);
	expect_usage(ix, "default", 8, 200);
	expect_usage(ix, "theirs", MESSAGE, 100);
	for (size_t i = 0; i < MESSAGE; i++) {
		assert_int_equal(ix->profiles.find(ix, "default", first[i], &arena, &got, NULL),
				 i < 2 ? UX_ENOTFOUND : UX_OK);
		assert_int_equal(ix->profiles.find(ix, "default", second[i], &arena, &got, NULL),
				 UX_OK);
	}
	assert_int_equal(add_message(ix, 0xe7, "default", DAY_S, MESSAGE, first), 8);
	expect_usage(ix, "default", MESSAGE, 100);
	uint64_t n = 0;
	assert_int_equal(ix->profiles.expire(ix, INT64_MAX, 1000, &n, NULL), UX_OK);
	expect_usage(ix, NULL, 0, 0);
}

void index_profiles_conform(struct ux_index *ix)
{
	profiles_are_found_by_service_host_and_time(ix);
	services_have_sums_that_follow(ix);
	removed_profiles_free_their_blobs(ix);
	a_sum_replaces_its_parts_in_one_step(ix);
	old_ones_go_and_the_largest_namespace_makes_room(ix);
	profiles_of_a_message_share_a_blob_that_counts_once(ix);
	a_message_makes_room_as_a_whole(ix);
	a_namespace_has_at_most_so_many_profiles(ix);
	a_lost_blob_takes_its_profile_along(ix);
}
