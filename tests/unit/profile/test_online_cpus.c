/* SPDX-License-Identifier: Apache-2.0 */
/* record: the processors on which events are opened. */
#include "sweep.h"

#include "online_cpus.h"
#include "proc_files.h"

#include <fcntl.h>
#include <unistd.h>

enum {
	STAT_MAX = 1 << 24
};

#define EXPECT_CPUS(cpus, ...)                                                        \
	do {                                                                          \
		const int expected[] = {__VA_ARGS__};                                 \
		assert_int_equal((cpus)->size, sizeof(expected) / sizeof(*expected)); \
		assert_memory_equal((cpus)->data, expected, sizeof(expected));        \
		ux_cpus_deinit(cpus);                                                 \
	} while (0)

static void a_list_has_numbers_and_ranges(void **state)
{
	(void)state;
	struct ux_cpus cpus = {0};
	assert_int_equal(ux_cpus_parse_list(UX_STR("0\n"), &cpus, NULL), UX_OK);
	EXPECT_CPUS(&cpus, 0);
	assert_int_equal(ux_cpus_parse_list(UX_STR("0-2,5,8-9\n"), &cpus, NULL), UX_OK);
	EXPECT_CPUS(&cpus, 0, 1, 2, 5, 8, 9);
	assert_int_equal(ux_cpus_parse_list(UX_STR("3,x,5"), &cpus, NULL), UX_OK);
	EXPECT_CPUS(&cpus, 3);
}

static void a_list_without_numbers_is_empty_and_a_long_one_is_cut(void **state)
{
	(void)state;
	struct ux_cpus cpus = {0};
	assert_int_equal(ux_cpus_parse_list(UX_STR(""), &cpus, NULL), UX_OK);
	assert_int_equal(ux_cpus_parse_list(UX_STR("\n"), &cpus, NULL), UX_OK);
	assert_int_equal(ux_cpus_parse_list(UX_STR("7-3"), &cpus, NULL), UX_OK);
	assert_int_equal(ux_cpus_parse_list(UX_STR("9999999999"), &cpus, NULL), UX_OK);
	assert_int_equal(cpus.size, 0);
	assert_int_equal(ux_cpus_parse_list(UX_STR("0-18446744073709551615"), &cpus, NULL), UX_OK);
	assert_int_equal(cpus.size, UX_CPUS_MAX);
	ux_cpus_deinit(&cpus);
}

static void the_statistics_have_a_line_for_each(void **state)
{
	(void)state;
	struct ux_cpus cpus = {0};
	assert_int_equal(ux_cpus_parse_stat(UX_STR("cpu  609050 96528\ncpu0 287811 47477\n"
						   "cpu12 1 2\ncpu 3\ncpu99999999999 1\n"
						   "cpux 1\nintr 12057701 0\ncp\n"),
					    &cpus, NULL),
			 UX_OK);
	EXPECT_CPUS(&cpus, 0, 12);
	assert_int_equal(ux_cpus_parse_stat(UX_STR("intr 1\n"), &cpus, NULL), UX_OK);
	assert_int_equal(cpus.size, 0);
}

/* Where sysfs is not mounted the statistics give the same processors. */
static void both_sources_agree_on_this_machine(void **state)
{
	(void)state;
	ux_cleanup(ux_read_deinit) struct ux_read stat = {0};
	ux_cleanup(ux_cpus_deinit) struct ux_cpus listed = {0};
	ux_cleanup(ux_cpus_deinit) struct ux_cpus counted = {0};
	assert_int_equal(ux_cpus_read(&listed, NULL), UX_OK);
	assert_int_equal(listed.size, (size_t)sysconf(_SC_NPROCESSORS_ONLN));
	assert_int_equal(ux_proc_read(AT_FDCWD, "/proc/stat", STAT_MAX, &stat, NULL), UX_OK);
	assert_int_equal(ux_cpus_parse_stat(stat.bytes, &counted, NULL), UX_OK);
	assert_int_equal(counted.size, listed.size);
	assert_memory_equal(counted.data, listed.data, listed.size * sizeof(*listed.data));
}

UX_SUITE(online_cpus)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_list_has_numbers_and_ranges),
		cmocka_unit_test(a_list_without_numbers_is_empty_and_a_long_one_is_cut),
		cmocka_unit_test(the_statistics_have_a_line_for_each),
		cmocka_unit_test(both_sources_agree_on_this_machine),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
