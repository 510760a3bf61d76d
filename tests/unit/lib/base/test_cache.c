/* SPDX-License-Identifier: Apache-2.0 */
#include "sweep.h"

#include "cache.h"
#include "hash.h"

struct number {
	uint64_t v;
	bool busy;
};

static struct ux_bytes key_of(const uint32_t *k)
{
	return ux_bytes(k, sizeof(*k));
}

static uint64_t *find(struct ux_cache *c, uint32_t k, int64_t now)
{
	struct number *n = ux_cache_find(c, key_of(&k), now);
	return n ? &n->v : NULL;
}

static bool put(struct ux_cache *c, uint32_t k, uint64_t v, int64_t now, int64_t expires)
{
	bool fresh = false;
	struct number *n = ux_cache_insert(c, key_of(&k), now, expires, &fresh);
	assert_non_null(n);
	if (fresh)
		assert_int_equal(n->v, 0);
	n->v = v;
	return fresh;
}

static void count_eviction(void *ctx, void *value)
{
	(void)value;
	++*(size_t *)ctx;
}

static bool number_is_busy(void *ctx, const void *value)
{
	(void)ctx;
	return ((const struct number *)value)->busy;
}

static struct ux_cache make(size_t max, size_t key_size, size_t *evicted)
{
	struct ux_cache c = {0};
	const struct ux_cache_opts opts = {.value_size = sizeof(struct number),
					   .entries_max = max,
					   .key_size = key_size,
					   .evict = evicted ? count_eviction : NULL,
					   .ctx = evicted};
	assert_true(ux_cache_init(&c, &opts));
	return c;
}

static void what_was_used_longest_ago_makes_room(void **state)
{
	(void)state;
	size_t evicted = 0;
	struct ux_cache c = make(3, 0, &evicted);
	assert_true(put(&c, 1, 10, 0, UX_CACHE_FOREVER));
	assert_true(put(&c, 2, 20, 0, UX_CACHE_FOREVER));
	assert_true(put(&c, 3, 30, 0, UX_CACHE_FOREVER));
	assert_int_equal(*find(&c, 1, 0), 10);
	assert_true(put(&c, 4, 40, 0, UX_CACHE_FOREVER));
	assert_null(find(&c, 2, 0));
	assert_int_equal(*find(&c, 1, 0), 10);
	assert_false(put(&c, 3, 31, 0, UX_CACHE_FOREVER));
	assert_int_equal(*find(&c, 3, 0), 31);
	assert_int_equal(evicted, 1);
	assert_int_equal(c.n, 3);
	ux_cache_deinit(&c);
	assert_int_equal(evicted, 4);
	ux_cache_deinit(&c);
}

static void what_has_expired_is_not_found(void **state)
{
	(void)state;
	size_t evicted = 0;
	struct ux_cache c = make(8, sizeof(uint32_t), &evicted);
	put(&c, 1, 10, 100, 150);
	assert_int_equal(*find(&c, 1, 149), 10);
	assert_null(find(&c, 1, 150));
	assert_int_equal(c.n, 0);
	put(&c, 1, 11, 200, 250);
	assert_true(put(&c, 1, 12, 260, 300)); /* the old value is not seen */
	assert_int_equal(*find(&c, 1, 299), 12);
	assert_int_equal(evicted, 2);
	ux_cache_deinit(&c);
}

static void values_over_the_bound_in_bytes_leave(void **state)
{
	(void)state;
	size_t evicted = 0;
	struct ux_cache c = {0};
	const struct ux_cache_opts opts = {.value_size = sizeof(struct number),
					   .entries_max = 100,
					   .bytes_max = 1000,
					   .evict = count_eviction,
					   .ctx = &evicted};
	assert_true(ux_cache_init(&c, &opts));
	for (uint32_t i = 0; i < 10; i++) {
		put(&c, i, i, 0, UX_CACHE_FOREVER);
		ux_cache_charge(&c, ux_cache_find(&c, key_of(&i), 0), 300);
		assert_in_range(c.bytes, 0, 1000);
	}
	assert_int_equal(c.n, 3);
	assert_null(find(&c, 6, 0));
	uint32_t last = 9;
	ux_cache_charge(&c, ux_cache_find(&c, key_of(&last), 0), 5000); /* alone, it stays */
	assert_int_equal(c.n, 1);
	assert_int_equal(c.bytes, 5000);
	ux_cache_charge(&c, ux_cache_find(&c, key_of(&last), 0), 10);
	assert_true(ux_cache_remove(&c, key_of(&last)));
	assert_false(ux_cache_remove(&c, key_of(&last)));
	assert_int_equal(c.bytes, 0);
	ux_cache_deinit(&c);
}

static void what_is_in_use_stays(void **state)
{
	(void)state;
	struct ux_cache c = {0};
	const struct ux_cache_opts opts = {
		.value_size = sizeof(struct number), .entries_max = 4, .is_busy = number_is_busy};
	assert_true(ux_cache_init(&c, &opts));
	for (uint32_t i = 0; i < 200; i++) {
		put(&c, i, i, 0, UX_CACHE_FOREVER);
		((struct number *)ux_cache_find(&c, key_of(&i), 0))->busy = i < 100;
	}
	assert_in_range(c.n, 100, 104);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(*find(&c, i, 0), i);
	for (struct number *n = NULL; (n = ux_cache_next(&c, n));)
		n->busy = false;
	put(&c, 1000, 0, 0, UX_CACHE_FOREVER);
	assert_int_equal(c.n, 4);
	ux_cache_deinit(&c);
}

static void a_key_of_another_size_has_no_room_among_fixed_ones(void **state)
{
	(void)state;
	struct ux_cache c = make(2, 4, NULL);
	assert_null(ux_cache_insert(&c, UX_STR("hello"), 0, UX_CACHE_FOREVER, NULL));
	assert_null(ux_cache_find(&c, UX_STR("hello"), 0));
	ux_cache_deinit(&c);
}

static void a_walk_meets_all_with_their_keys_in_order_of_use(void **state)
{
	(void)state;
	struct ux_cache c = make(16, 0, NULL);
	for (uint32_t i = 0; i < 10; i++)
		put(&c, i, i, 0, UX_CACHE_FOREVER);
	(void)!find(&c, 0, 0);
	uint32_t expected = 1;
	for (const struct number *n = NULL; (n = ux_cache_next(&c, n)); expected++) {
		uint32_t k = expected % 10;
		assert_int_equal(n->v, k);
		assert_true(ux_bytes_eq(ux_cache_key(&c, n), key_of(&k)));
	}
	assert_int_equal(expected, 11);
	ux_cache_clear(&c);
	assert_null(ux_cache_next(&c, NULL));
	ux_cache_deinit(&c);
}

enum {
	KEYS = 40,
	ROOM = 12
};

/* Compares it with a list that is searched from end to end. */
static void it_answers_like_a_plain_list(void **state)
{
	(void)state;
	for (size_t key_size = 0; key_size <= sizeof(uint32_t); key_size += sizeof(uint32_t)) {
		struct ux_cache c = make(ROOM, key_size, NULL);
		struct {
			uint32_t key;
			uint64_t v;
			int64_t expires;
		} list[ROOM + 1] = {0}; /* the newest last */
		size_t n = 0;
		uint64_t dice = 12345;
		for (int64_t now = 0; now < 20000; now++) {
			dice = ux_hash_mix(dice ^ 0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u);
			uint32_t k = (uint32_t)(dice % KEYS);
			size_t at = 0;
			while (at < n && list[at].key != k)
				at++;
			__typeof__(list[0]) one = {.key = k};
			bool there = at < n && list[at].expires > now;
			if (at < n) {
				one = list[at];
				memmove(&list[at], &list[at + 1], (--n - at) * sizeof(list[0]));
			}
			if ((dice >> 32) % 16 == 0) {
				ux_cache_remove(&c, key_of(&k));
			} else if ((dice >> 40) % 2 == 0) {
				const uint64_t *v = find(&c, k, now);
				assert_true((v != NULL) == there);
				if (there) {
					assert_int_equal(*v, one.v);
					list[n++] = one;
				}
			} else {
				int64_t expires = now + (int64_t)(dice >> 48) % 60;
				assert_true(put(&c, k, dice, now, expires) == !there);
				one.v = dice;
				one.expires = expires;
				list[n++] = one;
				if (n > ROOM)
					memmove(&list[0], &list[1], --n * sizeof(list[0]));
			}
			assert_int_equal(c.n, n);
		}
		ux_cache_deinit(&c);
	}
}

static enum ux_code fill(void *ctx)
{
	const size_t *key_size = ctx;
	struct ux_cache c = {0};
	const struct ux_cache_opts opts = {
		.value_size = sizeof(struct number), .entries_max = 20, .key_size = *key_size};
	enum ux_code code = UX_OK;
	if (!ux_cache_init(&c, &opts))
		return UX_ENOMEM;
	for (uint32_t i = 0; i < 40; i++)
		if (!ux_cache_insert(&c, key_of(&i), 0, UX_CACHE_FOREVER, NULL))
			code = UX_ENOMEM;
	ux_cache_deinit(&c);
	return code;
}

static void want_of_memory_is_seen(void **state)
{
	(void)state;
	size_t key_size = 0;
	assert_true(each_failed_alloc(fill, &key_size, /* may_recover= */ false) > 40);
	key_size = sizeof(uint32_t);
	assert_int_equal(each_failed_alloc(fill, &key_size, /* may_recover= */ false), 3);
}

UX_SUITE(cache)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(what_was_used_longest_ago_makes_room),
		UX_TEST(what_has_expired_is_not_found),
		UX_TEST(values_over_the_bound_in_bytes_leave),
		UX_TEST(what_is_in_use_stays),
		UX_TEST(a_key_of_another_size_has_no_room_among_fixed_ones),
		UX_TEST(a_walk_meets_all_with_their_keys_in_order_of_use),
		UX_TEST(it_answers_like_a_plain_list),
		UX_TEST(want_of_memory_is_seen),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
