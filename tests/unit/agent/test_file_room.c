/* SPDX-License-Identifier: Apache-2.0 */
/* agent: how many files may wait, and of whom. */
#include "sweep.h"

#include "file_room.h"

enum {
	NOBODY = 65534,
	SERVICE = 111,
};

static size_t take_all(struct ux_file_room *r, uid_t owner, bool large, size_t max)
{
	for (size_t n = 0; n < max; n++) {
		bool taken = false;
		assert_int_equal(ux_file_room_take(r, owner, large, &taken, NULL), UX_OK);
		if (!taken)
			return n;
	}
	return max;
}

static void a_user_with_thousands_of_files_leaves_room_for_others(void **state)
{
	(void)state;
	struct ux_file_room r;
	ux_file_room_init(&r, UX_FILE_ROOM_MAX);
	assert_int_equal(take_all(&r, NOBODY, false, 9000), UX_FILE_ROOM_MAX / 2);
	assert_int_equal(take_all(&r, SERVICE, false, 1000), 1000);
	assert_int_equal(take_all(&r, NOBODY, false, 1), 0);
	for (uid_t other = 1000; other < 1008; other++) /* helpers of the first one */
		(void)take_all(&r, other, false, 5000);
	assert_true(take_all(&r, SERVICE + 1, false, 5000) > 0);
	ux_file_room_deinit(&r);
}

static void large_files_have_room_of_their_own(void **state)
{
	(void)state;
	struct ux_file_room r;
	ux_file_room_init(&r, 1);
	assert_int_equal(take_all(&r, NOBODY, false, 9), 1);
	assert_int_equal(take_all(&r, SERVICE, false, 9), 0);
	assert_true(take_all(&r, SERVICE, true, 9) == 9);
	ux_file_room_deinit(&r);
}

static void refused_files_are_looked_for_when_half_are_gone(void **state)
{
	(void)state;
	struct ux_file_room r;
	ux_file_room_init(&r, 8);
	assert_int_equal(take_all(&r, NOBODY, false, 4), 4);
	assert_false(ux_file_room_has_eased(&r));
	assert_int_equal(take_all(&r, NOBODY, false, 1), 0);
	ux_file_room_give_back(&r, NOBODY);
	assert_false(ux_file_room_has_eased(&r));
	ux_file_room_give_back(&r, NOBODY);
	assert_true(ux_file_room_has_eased(&r));
	assert_false(ux_file_room_has_eased(&r));
	ux_file_room_give_back(&r, SERVICE); /* of whom none waits */
	assert_int_equal(r.waiting, 2);
	ux_file_room_deinit(&r);
}

UX_SUITE(file_room)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_user_with_thousands_of_files_leaves_room_for_others),
		UX_TEST(large_files_have_room_of_their_own),
		UX_TEST(refused_files_are_looked_for_when_half_are_gone),
	};
	return cmocka_run_group_tests_name("file_room", tests, NULL, NULL);
}
