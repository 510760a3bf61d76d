/* SPDX-License-Identifier: Apache-2.0 */
/* A window over a run of bytes: places stay, memory moves. */
#include "sweep.h"

#include "region.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	MIB = 1 << 20,
	SIZE = 40 * MIB,
	PART = 4 * MIB,
};

/* MiB of the window that are memory. */
static size_t resident(const struct ux_window *w)
{
	static unsigned char pages[SIZE / 4096 + 1024];
	size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 0;
	assert_int_equal(mincore(w->mapping, w->mapping_size, pages), 0);
	for (size_t i = 0; i < w->mapping_size / page; i++)
		n += pages[i] & 1;
	return n * page / MIB;
}

static void what_was_written_stays_until_it_is_let_go_of(void **state)
{
	(void)state;
	struct ux_window w;
	assert_int_equal(ux_window_open(&w, SIZE, NULL, NULL), UX_OK);
	for (size_t at = 0; at < SIZE; at += PART) {
		ux_window_advance(&w, at + PART);
		memset(w.data + at, (int)(at / PART + 1), PART);
		if (at > 0)
			for (size_t i = 0; i < PART; i += 4096)
				assert_int_equal(w.data[at - PART + i], at / PART);
		ux_window_release(&w, at);
		assert_true(resident(&w) <= 3 * PART / MIB);
	}
	ux_window_close(&w);
}

static void a_window_in_a_file_gives_back_its_disk_space(void **state)
{
	(void)state;
	struct ux_window w;
	struct stat st;
	struct ux_spill spill = {.fd = memfd_create("window", MFD_CLOEXEC), .size = SIZE};
	assert_int_equal(ftruncate(spill.fd, SIZE), 0);
	assert_int_equal(ux_window_open(&w, SIZE, &spill, NULL), UX_OK);
	for (size_t at = 0; at < SIZE; at += PART) {
		ux_window_advance(&w, at + PART);
		memset(w.data + at, (int)(at / PART + 1), PART);
		if (at > 0)
			for (size_t i = 0; i < PART; i += 4096)
				assert_int_equal(w.data[at - PART + i], at / PART);
		ux_window_release(&w, at);
		assert_int_equal(fstat(spill.fd, &st), 0);
		assert_true((size_t)st.st_blocks * 512 <= SIZE - at);
	}
	ux_window_close(&w);
	assert_int_equal(fstat(spill.fd, &st), 0);
	assert_int_equal(st.st_blocks, 0);
	close(spill.fd);
}

static void without_letting_go_all_is_kept(void **state)
{
	(void)state;
	struct ux_window w;
	assert_int_equal(ux_window_open(&w, SIZE, NULL, NULL), UX_OK);
	ux_window_advance(&w, SIZE + MIB); /* more than there is */
	for (size_t i = 0; i < SIZE; i += 4096)
		w.data[i] = (uint8_t)(i >> 12);
	ux_window_release(&w, 100);
	ux_window_advance(&w, SIZE);
	for (size_t i = 0; i < SIZE; i += 4096)
		assert_int_equal(w.data[i], (uint8_t)(i >> 12));
	ux_window_close(&w);
	ux_window_close(&w);
}

static void a_size_that_no_machine_has_is_refused(void **state)
{
	(void)state;
	struct ux_window w;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_window_open(&w, SIZE_MAX, NULL, &err), UX_ENOMEM);
	assert_int_equal(ux_window_open(&w, SIZE_MAX / 2, NULL, NULL), UX_ENOMEM);
}

UX_SUITE(window)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(what_was_written_stays_until_it_is_let_go_of),
		UX_TEST(a_window_in_a_file_gives_back_its_disk_space),
		UX_TEST(without_letting_go_all_is_kept),
		UX_TEST(a_size_that_no_machine_has_is_refused),
	};
	return cmocka_run_group_tests_name("window", tests, NULL, NULL);
}
