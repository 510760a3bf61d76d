/* SPDX-License-Identifier: Apache-2.0 */
/* disk_queue: order, bounds, and the state that a killed process leaves. */
#include "sweep.h"

#include "disk_queue.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
	ROOM = 1 << 20
};

static char folder[64];

static int make_folder(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/unhex-queue-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int drop_folder(void **state)
{
	(void)state;
	DIR *d = opendir(folder);
	for (struct dirent *one; d && (one = readdir(d));)
		(void)unlinkat(dirfd(d), one->d_name, 0);
	closedir(d);
	return rmdir(folder);
}

static struct ux_disk_queue *open_with(uint64_t bytes, unsigned lanes, bool drops_oldest)
{
	struct ux_disk_queue *q = NULL;
	struct ux_error err = UX_ERROR_INIT;
	const struct ux_disk_queue_options options = {.dir = folder,
						      .suffix = ".pb.gz",
						      .bytes_max = bytes,
						      .lanes = lanes,
						      .drops_oldest = drops_oldest};
	if (ux_disk_queue_open(&q, &options, &err) != UX_OK)
		fail_msg("%s", err.text);
	return q;
}

static struct ux_disk_queue *open_queue(uint64_t bytes, unsigned lanes)
{
	return open_with(bytes, lanes, /* drops_oldest= */ false);
}

static void add(struct ux_disk_queue *q, uint64_t sender, const char *text)
{
	assert_int_equal(ux_disk_queue_add(q, sender, ux_bytes_cstr(text), NULL), UX_OK);
}

static void expect_text(const struct ux_disk_message *m, const char *text)
{
	assert_int_equal(m->file.bytes.size, strlen(text));
	if (*text)
		assert_memory_equal(m->file.bytes.data, text, strlen(text));
}

/* Takes the message at the front of a lane. */
static void expect(struct ux_disk_queue *q, unsigned lane, const char *text)
{
	struct ux_disk_message m = {0};
	assert_int_equal(ux_disk_queue_front(q, lane, &m, NULL), UX_OK);
	expect_text(&m, text);
	uint64_t number = m.number;
	ux_disk_message_close(&m);
	ux_disk_queue_remove(q, lane, number);
}

static size_t count_files(void)
{
	size_t n = 0;
	DIR *d = opendir(folder);
	for (struct dirent *one; (one = readdir(d));)
		n += strstr(one->d_name, ".pb.gz") != NULL;
	closedir(d);
	return n;
}

static void messages_come_out_as_they_went_in_across_a_restart(void **state)
{
	(void)state;
	struct ux_disk_queue *q = open_queue(ROOM, 1);
	add(q, 7, "one");
	add(q, 8, "two");
	add(q, 7, "");
	expect(q, 0, "one");
	ux_disk_queue_close(q);
	q = open_queue(ROOM, 1);
	add(q, 1, "four");
	assert_int_equal(ux_disk_queue_state(q).messages, 3);
	expect(q, 0, "two");
	expect(q, 0, "");
	expect(q, 0, "four");
	assert_int_equal(count_files(), 0);
	assert_int_equal(ux_disk_queue_state(q).bytes, 0);
	ux_disk_queue_close(q);
}

static void each_sender_keeps_its_lane_and_its_order(void **state)
{
	(void)state;
	struct ux_disk_queue *q = open_queue(ROOM, 4);
	add(q, 5, "a1");
	add(q, 6, "b1");
	add(q, 5, "a2");
	add(q, 9, "c1"); /* shares the lane of 5 */
	expect(q, 6 % 4, "b1");
	ux_disk_queue_close(q);
	q = open_queue(ROOM, 4);
	expect(q, 1, "a1");
	expect(q, 1, "a2");
	expect(q, 1, "c1");
	ux_disk_queue_close(q);
}

static void a_full_queue_refuses_and_leaves_no_file(void **state)
{
	(void)state;
	struct ux_disk_queue *q = open_queue(2 * 4096, 1);
	struct ux_error err = UX_ERROR_INIT;
	add(q, 1, "one");
	assert_true(ux_disk_queue_has_room(q));
	add(q, 1, "two");
	assert_false(ux_disk_queue_has_room(q));
	assert_int_equal(ux_disk_queue_add(q, 1, UX_STR("three"), &err), UX_ELIMIT);
	assert_non_null(strstr(err.text, "2 messages, 8192 bytes"));
	assert_int_equal(count_files(), 2);
	expect(q, 0, "one");
	add(q, 1, "four");
	expect(q, 0, "two");
	expect(q, 0, "four");
	ux_disk_queue_close(q);
}

static void a_full_queue_that_drops_makes_room_for_the_newest(void **state)
{
	(void)state;
	struct ux_disk_queue *q = open_with(2 * 4096, 2, /* drops_oldest= */ true);
	struct ux_error err = UX_ERROR_INIT;
	static const uint8_t large[2 * 4096 + 1];
	add(q, 1, "one");
	add(q, 0, "two");
	add(q, 0, "three");
	assert_int_equal(ux_disk_queue_state(q).dropped, 1);
	assert_int_equal(ux_disk_queue_state(q).messages, 2);
	assert_int_equal(count_files(), 2);
	/* Nothing is dropped for a message that can never have room. */
	assert_int_equal(ux_disk_queue_add(q, 0, ux_bytes(large, sizeof(large)), &err), UX_ELIMIT);
	assert_int_equal(ux_disk_queue_state(q).messages, 2);
	expect(q, 0, "two");
	expect(q, 0, "three");
	ux_disk_queue_close(q);
}

static void a_message_that_is_dropped_while_it_is_read_can_be_read_on(void **state)
{
	(void)state;
	struct ux_disk_queue *q = open_with(4096, 1, /* drops_oldest= */ true);
	struct ux_disk_message m = {0};
	add(q, 0, "one");
	assert_int_equal(ux_disk_queue_front(q, 0, &m, NULL), UX_OK);
	add(q, 0, "two");
	expect_text(&m, "one");
	/* Its number is no longer at the front, so nothing else is removed in its place. */
	ux_disk_queue_remove(q, 0, m.number);
	ux_disk_message_close(&m);
	expect(q, 0, "two");
	ux_disk_queue_close(q);
}

static void messages_are_visited_in_order_without_waiting(void **state)
{
	(void)state;
	struct ux_disk_queue *q = open_queue(ROOM, 1);
	struct ux_disk_message m = {0};
	static const char *const texts[] = {"one", "two", "three"};
	for (size_t i = 0; i < ux_countof(texts); i++)
		add(q, 0, texts[i]);
	uint64_t from = 0;
	for (size_t i = 0; i < ux_countof(texts); i++) {
		assert_int_equal(ux_disk_queue_next(q, 0, from, &m, NULL), UX_OK);
		expect_text(&m, texts[i]);
		from = m.number + 1;
		ux_disk_message_close(&m);
	}
	assert_int_equal(ux_disk_queue_next(q, 0, from, &m, NULL), UX_ENOTFOUND);
	assert_int_equal(ux_disk_queue_state(q).messages, 3);
	ux_disk_queue_close(q);
}

static void one_process_at_a_time_has_the_folder(void **state)
{
	(void)state;
	struct ux_disk_queue *q = open_queue(ROOM, 1), *other = NULL;
	const struct ux_disk_queue_options options = {
		.dir = folder, .suffix = ".pb.gz", .bytes_max = ROOM, .lanes = 1};
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_disk_queue_open(&other, &options, &err), UX_ECONFLICT);
	ux_disk_queue_close(q);
	q = open_queue(ROOM, 1);
	ux_disk_queue_close(q);
}

static void put_file(const char *name)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	int fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
}

static bool has_file(const char *name)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return access(path, F_OK) == 0;
}

static void only_what_a_killed_process_was_writing_is_removed(void **state)
{
	static const char *const others[] = {"README", "0000000000000001.pb.gz",
					     "000000000000000x-0000000000000000.pb.gz",
					     "0000000000000001_0000000000000000.pb.gz"};
	(void)state;
	for (size_t i = 0; i < ux_countof(others); i++)
		put_file(others[i]);
	put_file("0000000000000007-0000000000000000.pb.gz.tmp-a1b2c3");
	struct ux_disk_queue *q = open_queue(ROOM, 1);
	assert_int_equal(ux_disk_queue_state(q).messages, 0);
	assert_false(has_file("0000000000000007-0000000000000000.pb.gz.tmp-a1b2c3"));
	for (size_t i = 0; i < ux_countof(others); i++)
		assert_true(has_file(others[i]));
	ux_disk_queue_close(q);
}

static void a_file_that_vanished_is_counted_and_left_out(void **state)
{
	(void)state;
	struct ux_disk_queue *q = open_queue(ROOM, 1);
	char path[256];
	add(q, 0, "gone");
	add(q, 0, "there");
	snprintf(path, sizeof(path), "%s/0000000000000000-0000000000000000.pb.gz", folder);
	assert_int_equal(unlink(path), 0);
	expect(q, 0, "there");
	assert_int_equal(ux_disk_queue_state(q).lost, 1);
	ux_disk_queue_close(q);
}

static void *wait_for_front(void *ctx)
{
	struct ux_disk_message m = {0};
	enum ux_code code = ux_disk_queue_front(ctx, 0, &m, NULL);
	ux_disk_message_close(&m);
	return (void *)(intptr_t)code;
}

static void a_stop_ends_all_waiting(void **state)
{
	(void)state;
	struct ux_disk_queue *q = open_queue(ROOM, 1);
	pthread_t thread;
	void *code = NULL;
	assert_int_equal(pthread_create(&thread, NULL, wait_for_front, q), 0);
	ux_disk_queue_stop(q);
	assert_int_equal(pthread_join(thread, &code), 0);
	assert_int_equal((intptr_t)code, UX_EUNAVAILABLE);
	assert_false(ux_disk_queue_pause(q, 60000));
	assert_true(ux_disk_queue_is_stopping(q));
	ux_disk_queue_close(q);
}

static void a_message_that_cannot_be_written_holds_up_nothing(void **state)
{
	(void)state;
	struct ux_disk_queue *q = open_queue(ROOM, 1);
	char path[256];
	/* A folder is at the path of the first message. */
	snprintf(path, sizeof(path), "%s/0000000000000000-0000000000000000.pb.gz", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_not_equal(ux_disk_queue_add(q, 0, UX_STR("lost"), NULL), UX_OK);
	assert_int_equal(rmdir(path), 0);
	add(q, 0, "kept");
	expect(q, 0, "kept");
	assert_int_equal(ux_disk_queue_state(q).messages, 0);
	ux_disk_queue_close(q);
}

enum {
	WRITERS = 4,
	EACH = 50
};

static void *write_many(void *ctx)
{
	for (int i = 0; i < EACH; i++)
		add(ctx, 0, "x");
	return NULL;
}

static void many_threads_add_while_one_removes(void **state)
{
	(void)state;
	struct ux_disk_queue *q = open_queue(64 << 20, 1);
	pthread_t threads[WRITERS];
	for (size_t i = 0; i < WRITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, write_many, q), 0);
	for (size_t i = 0; i < WRITERS * EACH; i++)
		expect(q, 0, "x");
	for (size_t i = 0; i < WRITERS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(ux_disk_queue_state(q).messages, 0);
	assert_int_equal(count_files(), 0);
	ux_disk_queue_close(q);
}

#define QUEUE_TEST(f) cmocka_unit_test_setup_teardown(f, make_folder, drop_folder)

UX_SUITE(disk_queue)
{
	const struct CMUnitTest tests[] = {
		QUEUE_TEST(messages_come_out_as_they_went_in_across_a_restart),
		QUEUE_TEST(each_sender_keeps_its_lane_and_its_order),
		QUEUE_TEST(a_full_queue_refuses_and_leaves_no_file),
		QUEUE_TEST(a_full_queue_that_drops_makes_room_for_the_newest),
		QUEUE_TEST(a_message_that_is_dropped_while_it_is_read_can_be_read_on),
		QUEUE_TEST(messages_are_visited_in_order_without_waiting),
		QUEUE_TEST(one_process_at_a_time_has_the_folder),
		QUEUE_TEST(only_what_a_killed_process_was_writing_is_removed),
		QUEUE_TEST(a_file_that_vanished_is_counted_and_left_out),
		QUEUE_TEST(a_stop_ends_all_waiting),
		QUEUE_TEST(a_message_that_cannot_be_written_holds_up_nothing),
		QUEUE_TEST(many_threads_add_while_one_removes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
