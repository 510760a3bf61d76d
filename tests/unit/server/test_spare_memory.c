/* SPDX-License-Identifier: Apache-2.0 */
/* spare_memory: which memory is kept, who gets it, and how it is counted. */
#include "sweep.h"

#include "spare_memory.h"

enum {
	MB = 1 << 20
};

/* A quota of `most` bytes. */
struct bounded {
	struct ux_out_quota quota;
	size_t max;
};

static enum ux_code bounded_may(struct ux_out_quota *q, size_t bytes, bool try)
{
	const struct bounded *b = ux_container_of(q, struct bounded, quota);
	(void)try;
	return bytes <= b->max ? UX_OK : UX_ELIMIT;
}

/* Gives away a buffer of n bytes. */
static void give(struct ux_spare_memory *s, size_t n)
{
	struct ux_out out = {.data = malloc(n), .cap = n};
	assert_non_null(out.data);
	ux_spare_memory_give(s, &out);
	assert_null(out.data);
	assert_int_equal(out.cap, 0);
}

static void large_buffers_are_kept_up_to_the_limit(void **state)
{
	(void)state;
	struct ux_spare_memory s;
	ux_spare_memory_init(&s);
	give(&s, MB);
	assert_int_equal(s.n, 0); /* nothing is kept without a limit */
	ux_spare_memory_limit(&s, 10 * MB);
	give(&s, MB - 1);
	assert_int_equal(s.n, 0);
	give(&s, 4 * MB);
	give(&s, 7 * MB); /* too much beside the first */
	give(&s, 6 * MB);
	assert_int_equal(s.n, 2);
	assert_int_equal(s.bytes, 10 * MB);
	ux_spare_memory_limit(&s, 5 * MB);
	assert_int_equal(s.n, 1);
	assert_int_equal(s.bytes, 4 * MB);
	ux_spare_memory_limit(&s, 100 * MB);
	for (int i = 0; i < 2 * UX_SPARE_BUFFERS; i++)
		give(&s, MB);
	assert_int_equal(s.n, UX_SPARE_BUFFERS);
	ux_spare_memory_deinit(&s);
}

static void largest_buffer_is_taken_and_counted(void **state)
{
	(void)state;
	struct ux_spare_memory s;
	struct bounded b = {.quota.may = bounded_may, .max = 4 * MB};
	struct ux_out out = {.quota = &b.quota};
	ux_spare_memory_init(&s);
	ux_spare_memory_limit(&s, 10 * MB);
	ux_spare_memory_take(&s, &out); /* the list is empty */
	assert_int_equal(out.cap, 0);
	give(&s, MB);
	give(&s, 3 * MB);
	give(&s, 2 * MB);
	ux_spare_memory_take(&s, &out);
	assert_int_equal(out.cap, 3 * MB);
	assert_int_equal(b.quota.bytes, 3 * MB);
	assert_int_equal(s.bytes, 3 * MB);
	ux_spare_memory_take(&s, &out); /* it has memory already */
	assert_int_equal(s.n, 2);
	struct ux_out other = {.quota = &b.quota};
	ux_spare_memory_take(&s, &other); /* more than the quota, and released therefore */
	assert_int_equal(other.cap, 0);
	assert_int_equal(s.bytes, MB);
	ux_out_cstr(&other, "a buffer as any other");
	assert_false(other.failed);
	memset(ux_out_room(&out, 3 * MB), 'x', 3 * MB);
	ux_out_deinit(&other);
	ux_spare_memory_give(&s, &out);
	assert_int_equal(out.size, 0);
	assert_int_equal(b.quota.bytes, 0);
	assert_int_equal(s.bytes, 4 * MB);
	ux_spare_memory_deinit(&s);
}

UX_SUITE(spare_memory)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(large_buffers_are_kept_up_to_the_limit),
		UX_TEST(largest_buffer_is_taken_and_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
