/* SPDX-License-Identifier: Apache-2.0 */
/* Regions in files, and the arrays that may be such regions. */
#include "sweep.h"

#include "order.h"
#include "spill_vec.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	ROOM = 8 << 20,
	PART = 1 << 20
};

/* One file of ROOM bytes for all regions. */
static struct ux_spill common_file(void)
{
	struct ux_spill spill = {.fd = memfd_create("spill", MFD_CLOEXEC), .size = ROOM};
	assert_true(spill.fd >= 0);
	assert_int_equal(ftruncate(spill.fd, ROOM), 0);
	return spill;
}

static uint64_t bytes_on_disk(const struct ux_spill *spill)
{
	struct stat st;
	assert_int_equal(fstat(spill->fd, &st), 0);
	return (uint64_t)st.st_blocks * 512;
}

static void regions_in_one_file_do_not_overlap(void **state)
{
	(void)state;
	struct ux_spill spill = common_file();
	void *first = NULL, *second = NULL;
	assert_int_equal(ux_spill_map(&spill, PART + 1, &first, NULL), UX_OK);
	assert_int_equal(ux_spill_map(&spill, PART, &second, NULL), UX_OK);
	memset(first, 1, PART + 1);
	memset(second, 2, PART);
	assert_int_equal(((uint8_t *)first)[PART], 1);
	assert_int_equal(((uint8_t *)second)[0], 2);
	assert_true(bytes_on_disk(&spill) >= 2 * PART);
	ux_spill_unmap(first, PART + 1);
	ux_spill_unmap(second, PART);
	close(spill.fd);
}

static void what_ends_gives_its_disk_space_back(void **state)
{
	(void)state;
	struct ux_spill spill = common_file();
	void *region = NULL;
	assert_int_equal(ux_spill_map(&spill, PART, &region, NULL), UX_OK);
	memset(region, 1, PART);
	ux_spill_unmap(region, PART);
	assert_int_equal(bytes_on_disk(&spill), 0);
	close(spill.fd);
}

static void a_file_without_room_is_an_error_that_says_how_large_it_is(void **state)
{
	(void)state;
	struct ux_spill spill = common_file();
	struct ux_error err = UX_ERROR_INIT;
	void *region = NULL;
	assert_int_equal(ux_spill_map(&spill, ROOM + 1, &region, &err), UX_ELIMIT);
	assert_string_equal(err.text, "temporary files exceed 8388608 bytes");
	assert_int_equal(ux_spill_map(&spill, SIZE_MAX, &region, NULL), UX_ELIMIT);
	assert_int_equal(ux_spill_map(&spill, ROOM, &region, NULL), UX_OK);
	assert_int_equal(ux_spill_map(&spill, 1, &region, NULL), UX_ELIMIT);
	ux_spill_unmap(region, ROOM);
	close(spill.fd);
}

UX_SPILL_VEC(numbers, uint64_t);

/* An array of numbers that grows from memory to disk, or stays in memory without a spill. */
static void grow_and_check(struct ux_spill *spill)
{
	enum {
		N = 3 * UX_SPILL_MIN / 8
	};
	struct numbers v = {.spill = spill};
	for (uint64_t i = 0; i < N; i++)
		assert_true(numbers_append(&v, i * 7));
	for (uint64_t i = 0; i < N; i++)
		assert_int_equal(v.data[i], i * 7);
	numbers_deinit(&v);
	assert_ptr_equal(v.spill, spill);
	assert_null(v.data);
}

static void an_array_keeps_its_elements_when_it_moves_to_disk(void **state)
{
	(void)state;
	struct ux_spill spill = common_file(), folder = {.folder = "/tmp"};
	grow_and_check(NULL);
	grow_and_check(&folder);
	grow_and_check(&spill);
	assert_true(spill.end > 0);
	assert_int_equal(bytes_on_disk(&spill), 0);
	close(spill.fd);
}

static void an_array_that_has_no_room_to_grow_stays(void **state)
{
	(void)state;
	struct ux_spill spill = common_file();
	uint8_t *array = ux_spill_calloc(&spill, ROOM / 2, 1);
	assert_non_null(array);
	array[ROOM / 2 - 1] = 5;
	assert_null(ux_spill_realloc(&spill, array, ROOM));
	assert_int_equal(array[ROOM / 2 - 1], 5);
	assert_null(ux_spill_calloc(&spill, SIZE_MAX / 2, 4));
	assert_null(ux_spill_calloc(NULL, SIZE_MAX, 1));
	ux_spill_free(array);
	ux_spill_free(NULL);
	close(spill.fd);
}

struct item {
	uint64_t start;
	uint32_t value;
};

static int item_compare(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	return (x->value > y->value) - (x->value < y->value);
}

static void items_are_sorted_through_a_region_as_through_memory(void **state)
{
	(void)state;
	enum {
		N = UX_SPILL_MIN
	};
	struct ux_spill spill = common_file();
	struct item *items = calloc(N, sizeof(*items)), *same = calloc(N, sizeof(*same));
	assert_true(items && same);
	for (uint32_t i = 0; i < N; i++)
		items[i] = same[i] = (struct item){i * UINT64_C(2654435761) % (N / 2), i};
	ux_sort_by_start(items, N, sizeof(*items), item_compare);
	ux_sort_by_start_spilled(same, N, sizeof(*same), item_compare, &spill);
	assert_true(spill.end >= N * sizeof(*same));
	for (uint32_t i = 0; i < N; i++) {
		assert_int_equal(items[i].start, same[i].start);
		assert_int_equal(items[i].value, same[i].value);
		assert_true(i == 0 || items[i - 1].start <= items[i].start);
	}
	free(items);
	free(same);
	close(spill.fd);
}

UX_SUITE(region)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(regions_in_one_file_do_not_overlap),
		UX_TEST(what_ends_gives_its_disk_space_back),
		UX_TEST(a_file_without_room_is_an_error_that_says_how_large_it_is),
		UX_TEST(an_array_keeps_its_elements_when_it_moves_to_disk),
		UX_TEST(an_array_that_has_no_room_to_grow_stays),
		UX_TEST(items_are_sorted_through_a_region_as_through_memory),
	};
	return cmocka_run_group_tests_name("region", tests, NULL, NULL);
}
