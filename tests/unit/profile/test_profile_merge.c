/* SPDX-License-Identifier: Apache-2.0 */
/* The sum of several profiles. */
#include "sweep.h"

#include "folded.h"
#include "make_profile.h"
#include "pprof.h"
#include "profile_merge.h"

struct parts {
	struct ux_profile a, b;
};

static void make_parts(struct parts *p)
{
	make_profile(&p->a, "samples/count cpu/nanoseconds");
	make_profile_sample(&p->a, "prog!main;prog!work|inner", 0, 2, 200);
	make_profile_sample(&p->a, "prog!main;libc@1234", 0, 1, 100);
	p->a.start_ns = 5000;
	p->a.duration_ns = 1000;
	make_profile(&p->b, "cpu/nanoseconds alloc/bytes");
	uint32_t thread = make_profile_thread(&p->b, "worker", 7, 8);
	make_profile_sample(&p->b, "prog!main;prog!work|inner", 0, 30, 4);
	make_profile_sample(&p->b, "prog!main;prog!other", thread, 40, 8);
	p->b.start_ns = 3000;
	p->b.duration_ns = 500;
}

static void drop_parts(struct parts *p)
{
	ux_profile_deinit(&p->a);
	ux_profile_deinit(&p->b);
}

static void expect_folded(const struct ux_profile *p, const char *type, const char *lines)
{
	ux_cleanup(ux_stream_deinit) struct ux_stream s = {0};
	size_t n = 0;
	assert_int_equal(ux_profile_type_find(p, ux_bytes_cstr(type), &n, NULL), UX_OK);
	assert_int_equal(ux_folded_write(p, n, UX_DEMANGLE_FULL, &s, NULL), UX_OK);
	ux_out_u8(&s.out, 0);
	assert_string_equal((const char *)s.out.data, lines);
}

static void equal_things_are_there_once_and_values_are_added(void **state)
{
	(void)state;
	struct parts parts;
	ux_cleanup(ux_profile_deinit) struct ux_profile sum = {0};
	ux_cleanup(ux_profile_merger_deinit) struct ux_profile_merger m = {0};
	make_parts(&parts);
	assert_int_equal(ux_profile_init(&sum, NULL), UX_OK);
	assert_int_equal(ux_profile_merger_init(&m, &sum, NULL), UX_OK);
	assert_int_equal(ux_profile_merge(&m, &parts.a, NULL), UX_OK);
	size_t modules = sum.modules.size;
	assert_int_equal(ux_profile_merge(&m, &parts.b, NULL), UX_OK);
	assert_int_equal(sum.modules.size, modules);
	assert_int_equal(sum.n_types, 3);
	expect_folded(&sum, "samples", "main;[libc+0x1234] 1\nmain;other 0\nmain;work;inner 2\n");
	expect_folded(&sum, "cpu", "main;[libc+0x1234] 100\nmain;other 40\nmain;work;inner 230\n");
	expect_folded(&sum, "alloc", "main;[libc+0x1234] 0\nmain;other 8\nmain;work;inner 4\n");
	assert_int_equal(sum.start_ns, 3000);
	assert_int_equal(sum.duration_ns, 3000); /* from 3000 to 6000 */
	drop_parts(&parts);
}

/* Splits off one thread into an empty profile, and returns the cost. */
static uint64_t split_one(struct ux_profile_splitter *s, uint32_t thread, struct ux_profile *into)
{
	ux_cleanup(ux_profile_merger_deinit) struct ux_profile_merger m = {0};
	uint64_t cost = 0;
	assert_int_equal(ux_profile_init(into, NULL), UX_OK);
	assert_int_equal(ux_profile_merger_init(&m, into, NULL), UX_OK);
	assert_int_equal(ux_profile_split(s, thread, &m, &cost, NULL), UX_OK);
	return cost;
}

static void samples_of_one_thread_bring_their_stacks_alone(void **state)
{
	(void)state;
	struct parts parts;
	ux_cleanup(ux_profile_deinit) struct ux_profile sum = {0};
	ux_cleanup(ux_profile_splitter_free) struct ux_profile_splitter *s = NULL;
	make_parts(&parts);
	assert_int_equal(ux_profile_splitter_create(&s, &parts.b, NULL), UX_OK);
	uint64_t cost = split_one(s, 1, &sum);
	expect_folded(&sum, "cpu", "main;other 40\n");
	assert_int_equal(sum.locations.size, 3); /* none, main, other */
	assert_true(cost > strlen("mainother") && cost < 1000);
	/* The same thread again, and the one without a number: nothing of an earlier round is left.
	 */
	ux_profile_deinit(&sum);
	assert_int_equal(split_one(s, 1, &sum), cost);
	expect_folded(&sum, "cpu", "main;other 40\n");
	ux_profile_deinit(&sum);
	split_one(s, 0, &sum);
	expect_folded(&sum, "cpu", "main;work;inner 30\n");
	drop_parts(&parts);
}

enum {
	THREADS = 500, /* of a profile that is split */
};

/* Each thread has a stack of its own, and one that all of them have. */
static void the_cost_of_all_threads_is_linear(void **state)
{
	(void)state;
	struct ux_profile p;
	ux_cleanup(ux_profile_splitter_free) struct ux_profile_splitter *s = NULL;
	uint64_t first = 0;
	make_profile(&p, "samples/count");
	for (uint32_t i = 0; i < THREADS; i++) {
		char own[64];
		uint32_t thread = make_profile_thread(&p, "t", 1, i + 1);
		snprintf(own, sizeof(own), "prog!main;prog!own%03u", i);
		make_profile_sample(&p, own, thread, i + 1, 0);
		make_profile_sample(&p, "prog!main;prog!all", thread, 1, 0);
	}
	assert_int_equal(ux_profile_splitter_create(&s, &p, NULL), UX_OK);
	for (uint32_t i = THREADS; i-- > 0;) {
		ux_cleanup(ux_profile_deinit) struct ux_profile part = {0};
		char lines[64];
		uint64_t cost = split_one(s, i + 1, &part);
		first = i == THREADS - 1 ? cost : first;
		assert_int_equal(cost, first);
		snprintf(lines, sizeof(lines), "main;all 1\nmain;own%03u %u\n", i, i + 1);
		expect_folded(&part, "samples", lines);
		assert_int_equal(part.stacks.size, 4); /* none, main, and two */
	}
	ux_profile_deinit(&p);
}

static void a_sum_is_the_same_after_it_was_written_and_read(void **state)
{
	(void)state;
	struct parts parts;
	struct ux_pprof f;
	ux_cleanup(ux_stream_deinit) struct ux_stream bytes = {0};
	ux_cleanup(ux_profile_deinit) struct ux_profile sum = {0}, read = {0}, twice = {0};
	ux_cleanup(ux_profile_merger_deinit) struct ux_profile_merger m = {0}, n = {0};
	make_parts(&parts);
	assert_int_equal(ux_profile_init(&sum, NULL), UX_OK);
	assert_int_equal(ux_profile_merger_init(&m, &sum, NULL), UX_OK);
	assert_int_equal(ux_profile_merge(&m, &parts.a, NULL), UX_OK);
	assert_int_equal(ux_pprof_write(&sum, &bytes, NULL), UX_OK);
	assert_int_equal(ux_profile_init(&read, NULL), UX_OK);
	assert_int_equal(ux_pprof_read(&f, ux_out_bytes(&bytes.out), &read, NULL), UX_OK);
	/* The sum of the profile and of its written copy has each value twice. */
	assert_int_equal(ux_profile_init(&twice, NULL), UX_OK);
	assert_int_equal(ux_profile_merger_init(&n, &twice, NULL), UX_OK);
	assert_int_equal(ux_profile_merge(&n, &read, NULL), UX_OK);
	assert_int_equal(ux_profile_merge(&n, &read, NULL), UX_OK);
	expect_folded(&twice, "cpu", "main;[libc+0x1234] 200\nmain;work;inner 400\n");
	assert_int_equal(twice.locations.size, sum.locations.size);
	drop_parts(&parts);
}

static void memory_over_the_limit_is_refused(void **state)
{
	(void)state;
	struct parts parts;
	struct ux_error err = UX_ERROR_INIT;
	make_parts(&parts);
	for (uint64_t max = 1; max < 3000; max += 200) {
		ux_cleanup(ux_profile_deinit) struct ux_profile sum = {0};
		ux_cleanup(ux_profile_merger_deinit) struct ux_profile_merger m = {0};
		assert_int_equal(ux_profile_init(&sum, NULL), UX_OK);
		sum.max = max;
		assert_int_equal(ux_profile_merger_init(&m, &sum, NULL), UX_OK);
		enum ux_code code = ux_profile_merge(&m, &parts.a, &err);
		assert_int_equal(code, sum.charged > max ? UX_ELIMIT : UX_OK);
		assert_true(max > 1 || code == UX_ELIMIT);
	}
	assert_non_null(strstr(err.text, "memory"));
	drop_parts(&parts);
}

static enum ux_code merge_both(void *ctx)
{
	const struct parts *parts = ctx;
	ux_cleanup(ux_profile_deinit) struct ux_profile sum = {0};
	ux_cleanup(ux_profile_merger_deinit) struct ux_profile_merger m = {0};
	UX_TRY(ux_profile_init(&sum, NULL));
	UX_TRY(ux_profile_merger_init(&m, &sum, NULL));
	UX_TRY(ux_profile_merge(&m, &parts->a, NULL));
	ux_cleanup(ux_profile_splitter_free) struct ux_profile_splitter *s = NULL;
	uint64_t cost = 0;
	UX_TRY(ux_profile_splitter_create(&s, &parts->b, NULL));
	UX_TRY(ux_profile_split(s, 1, &m, &cost, NULL));
	return ux_profile_merge(&m, &parts->b, NULL);
}

static void each_failed_allocation_is_reported(void **state)
{
	(void)state;
	struct parts parts;
	make_parts(&parts);
	assert_true(each_failed_alloc(merge_both, &parts, /* may_recover= */ false) > 10);
	drop_parts(&parts);
}

UX_SUITE(profile_merge)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(equal_things_are_there_once_and_values_are_added),
		UX_TEST(samples_of_one_thread_bring_their_stacks_alone),
		UX_TEST(the_cost_of_all_threads_is_linear),
		UX_TEST(a_sum_is_the_same_after_it_was_written_and_read),
		UX_TEST(memory_over_the_limit_is_refused),
		UX_TEST(each_failed_allocation_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
