/* SPDX-License-Identifier: Apache-2.0 */
/* Memory of tables. */
#include "sweep.h"

#include "table_memory.h"

#include <stdlib.h>
#include <sys/resource.h>

static void tables_of_all_sizes_are_zero_and_can_be_written(void **state)
{
	(void)state;
	static const size_t sizes[] = {1, 4096, (2u << 20) - 1, 2u << 20, (2u << 20) + 1, 7u << 20};
	for (size_t i = 0; i < ux_countof(sizes); i++) {
		uint8_t *table = ux_table_alloc(sizes[i]), any = 0;
		assert_non_null(table);
		for (size_t k = 0; k < sizes[i]; k++)
			any |= table[k];
		assert_int_equal(any, 0);
		memset(table, 0xff, sizes[i]);
		ux_table_free(table, sizes[i]);
	}
	ux_table_free(NULL, 1);
	ux_table_free(NULL, 8u << 20);
}

#ifndef __SANITIZE_ADDRESS__
static size_t address_space(void)
{
	size_t pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%zu", &pages), 1);
	fclose(f);
	return pages * 4096;
}

static void large_tables_are_aligned_and_take_no_more_than_their_size(void **state)
{
	enum {
		HUGE_PAGE = 2 << 20,
		SIZE = 8 * HUGE_PAGE,
	};
	(void)state;
	size_t before = address_space();
	void *tables[20];
	for (size_t i = 0; i < ux_countof(tables); i++) {
		tables[i] = ux_table_alloc(SIZE);
		assert_non_null(tables[i]);
		assert_int_equal((uintptr_t)tables[i] % HUGE_PAGE, 0);
	}
	assert_true(address_space() - before <= ux_countof(tables) * SIZE + (1 << 20));
	for (size_t i = 0; i < ux_countof(tables); i++)
		ux_table_free(tables[i], SIZE);
	assert_true(address_space() - before <= 1 << 20);
}

static void a_table_that_does_not_fit_is_null(void **state)
{
	(void)state;
	struct rlimit old, new;
	assert_int_equal(getrlimit(RLIMIT_AS, &old), 0);
	new = old;
	new.rlim_cur = address_space() + (9u << 20);
	assert_int_equal(setrlimit(RLIMIT_AS, &new), 0);
	void *none = ux_table_alloc(64u << 20), *table = ux_table_alloc(8u << 20);
	assert_int_equal(setrlimit(RLIMIT_AS, &old), 0);
	assert_null(none);
	assert_non_null(table); /* there is no room to align it */
	memset(table, 1, 8u << 20);
	ux_table_free(table, 8u << 20);
}
#endif

UX_SUITE(table_memory)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(tables_of_all_sizes_are_zero_and_can_be_written),
#ifndef __SANITIZE_ADDRESS__
		UX_TEST(large_tables_are_aligned_and_take_no_more_than_their_size),
		UX_TEST(a_table_that_does_not_fit_is_null),
#endif
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
