/* SPDX-License-Identifier: Apache-2.0 */
/* extraction_memory: the memory shared by concurrent extractions. */
#include "sweep.h"

#include "crawl_work.h"

#include <pthread.h>
#include <stdatomic.h>

#define TOTAL ((uint64_t)160 << 20)

enum {
	THREADS = 8,
	ROUNDS = 200,
};

static void a_small_file_has_a_part_and_a_large_one_all(void **state)
{
	(void)state;
	struct ux_extraction_memory *m = ux_extraction_memory_new(TOTAL);
	assert_non_null(m);
	uint64_t small = ux_extraction_memory_take(m, 1000);
	assert_true(small >= (uint64_t)24 << 20 && small < TOTAL / 4);
	uint64_t other = ux_extraction_memory_take(m, 10 << 20);
	assert_true(other > small && small + other <= TOTAL);
	ux_extraction_memory_give(m, small);
	ux_extraction_memory_give(m, other);
	assert_int_equal(ux_extraction_memory_take(m, UINT64_MAX), TOTAL);
	ux_extraction_memory_give(m, TOTAL);
	ux_extraction_memory_free(m);
}

static void a_total_that_is_too_small_is_what_one_extraction_needs(void **state)
{
	(void)state;
	struct ux_extraction_memory *m = ux_extraction_memory_new(1);
	assert_non_null(m);
	assert_int_equal(ux_extraction_memory_take(m, 1 << 30), 24 << 20);
	ux_extraction_memory_free(m);
}

struct shared {
	struct ux_extraction_memory *m;
	_Atomic uint64_t used, max;
	atomic_uint seed;
};

static void *extract_often(void *ctx)
{
	struct shared *s = ctx;
	unsigned x = atomic_fetch_add(&s->seed, 1) * 2654435761u + 1;
	for (int i = 0; i < ROUNDS; i++) {
		x = x * 1103515245u + 12345;
		/* from nothing to more than there is */
		uint64_t part = ux_extraction_memory_take(s->m, (uint64_t)(x >> 8) % (60u << 20));
		uint64_t used = atomic_fetch_add(&s->used, part) + part;
		uint64_t max = atomic_load(&s->max);
		while (used > max && !atomic_compare_exchange_weak(&s->max, &max, used))
			;
		atomic_fetch_sub(&s->used, part);
		ux_extraction_memory_give(s->m, part);
	}
	return NULL;
}

static void threads_never_have_more_than_the_total_and_all_get_theirs(void **state)
{
	(void)state;
	struct shared s = {.m = ux_extraction_memory_new(TOTAL)};
	pthread_t threads[THREADS];
	assert_non_null(s.m);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, extract_often, &s), 0);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_true(s.max > 0 && s.max <= TOTAL);
	ux_extraction_memory_free(s.m);
}

UX_SUITE(extraction_memory)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_small_file_has_a_part_and_a_large_one_all),
		UX_TEST(a_total_that_is_too_small_is_what_one_extraction_needs),
		UX_TEST(threads_never_have_more_than_the_total_and_all_get_theirs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
