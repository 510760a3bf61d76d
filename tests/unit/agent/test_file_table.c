/* SPDX-License-Identifier: Apache-2.0 */
/* agent: which mapped files were seen, and records of the kernel about them. */
#include "sweep.h"

#include "file_table.h"
#include "mapping_events.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* A file of the test's own, mapped by nobody: the table looks at its path. */
struct fixture {
	char path[64];
	struct ux_open_helper opener;
	struct ux_file_room room;
	struct ux_file_table table;
	struct ux_proc_map map;
};

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	(void)close(fd);
}

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct stat st;
	assert_non_null(f);
	snprintf(f->path, sizeof(f->path), "/tmp/unhex-table-XXXXXX");
	int fd = mkstemp(f->path);
	assert_true(fd >= 0);
	(void)close(fd);
	write_file(f->path, "first");
	assert_int_equal(stat(f->path, &st), 0);
	ux_file_room_init(&f->room, 8);
	f->table.room = &f->room;
	f->table.opener = &f->opener;
	f->map = (struct ux_proc_map){.start = 0x1000,
				      .end = 0x2000,
				      .dev = st.st_dev,
				      .ino = st.st_ino,
				      .path = f->path,
				      .kind = UX_PROC_MAP_FILE,
				      .exec = true};
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;
	ux_file_table_deinit(&f->table);
	ux_open_helper_deinit(&f->opener);
	ux_file_room_deinit(&f->room);
	(void)unlink(f->path);
	free(f);
	return 0;
}

/* The mapping is seen in a round of its own. */
static void sight(struct fixture *f)
{
	ux_file_table_begin(&f->table);
	assert_int_equal(ux_file_table_sight(&f->table, getpid(), &f->map, NULL), UX_OK);
}

static void a_file_waits_once_however_often_it_is_seen(void **state)
{
	struct fixture *f = *state;
	for (int i = 0; i < 60; i++)
		sight(f);
	assert_int_equal(f->table.waiting.size, 1);
	assert_string_equal(f->table.waiting.data[0].path, f->path);
	assert_int_equal(f->table.waiting.data[0].key.size, 5);
}

/* Undumpable processes are in folders of root. */
static void a_file_has_its_owner_and_the_user_of_its_process(void **state)
{
	struct fixture *f = *state;
	const bool root = geteuid() == 0;
	const uid_t other = root ? 4711 : getuid();
	assert_int_equal(root ? chown(f->path, 4712, (gid_t)-1) : 0, 0);
	int ready[2], hold[2];
	assert_int_equal(pipe(ready) + pipe(hold), 0);
	pid_t pid = fork();
	if (pid == 0) {
		char byte = 0;
		(void)close(hold[1]);
		bool good = (!root || setuid(other) == 0) && prctl(PR_SET_DUMPABLE, 0) == 0 &&
			    write(ready[1], &byte, 1) == 1;
		_exit(good ? (int)read(hold[0], &byte, 1) : 1);
	}
	char byte = 0;
	assert_int_equal(read(ready[0], &byte, 1), 1);
	ux_file_table_begin(&f->table);
	assert_int_equal(ux_file_table_sight(&f->table, pid, &f->map, NULL), UX_OK);
	for (int i = 0; i < 2; i++) {
		(void)close(ready[i]);
		(void)close(hold[i]);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(f->table.waiting.size, 1);
	assert_int_equal(f->table.waiting.data[0].file_owner, root ? 4712 : getuid());
	assert_int_equal(f->table.waiting.data[0].process_owner, other);
}

static void the_user_of_a_process_that_has_ended_is_unknown(void **state)
{
	struct fixture *f = *state;
	ux_file_table_begin(&f->table);
	assert_int_equal(ux_file_table_sight(&f->table, INT32_MAX, &f->map, NULL), UX_OK);
	assert_int_equal(f->table.waiting.size, 1);
	assert_int_equal(f->table.waiting.data[0].process_owner, UX_OWNER_UNKNOWN);
}

/* Also immediately: a build overwrites a program that has just run, and runs it. */
static void a_file_that_has_changed_is_another_one(void **state)
{
	struct fixture *f = *state;
	sight(f);
	write_file(f->path, "second");
	sight(f);
	assert_int_equal(f->table.waiting.size, 2);
	assert_int_equal(f->table.waiting.data[1].key.size, 6);
}

static void a_file_is_looked_at_once_in_a_round(void **state)
{
	struct fixture *f = *state;
	sight(f);
	write_file(f->path, "second");
	assert_int_equal(ux_file_table_sight(&f->table, getpid(), &f->map, NULL), UX_OK);
	assert_int_equal(f->table.waiting.size, 1);
}

static void a_deleted_file_of_a_process_that_has_ended_is_counted(void **state)
{
	struct fixture *f = *state;
	(void)unlink(f->path);
	assert_int_equal(ux_file_table_sight(&f->table, INT32_MAX, &f->map, NULL), UX_OK);
	assert_int_equal(f->table.waiting.size, 0);
	assert_int_equal(f->table.vanished, 1);
}

static void another_file_at_the_path_is_not_taken_for_the_mapped_one(void **state)
{
	struct fixture *f = *state;
	f->map.ino++;
	sight(f);
	assert_int_equal(f->table.waiting.size, 0);
	assert_int_equal(f->table.vanished, 1);
}

static void what_does_not_find_room_is_found_later(void **state)
{
	struct fixture *f = *state;
	f->room.max = 0;
	sight(f);
	assert_int_equal(f->table.waiting.size, 0);
	assert_int_equal(f->room.refused, 1);
	assert_true(ux_file_room_has_eased(&f->room));
	f->room.max = 1;
	sight(f);
	assert_int_equal(f->table.waiting.size, 1);
}

static void an_opener_that_was_killed_is_started_again(void **state)
{
	struct fixture *f = *state;
	sight(f);
	assert_int_equal(kill(f->opener.pid, SIGKILL), 0);
	write_file(f->path, "second");
	sight(f);
	assert_int_equal(f->table.waiting.size, 2);
	assert_int_equal(f->opener.hung, 0);
}

/* Opening a device may have effects. inotify tells of every opening of the FIFO, which stands for
 * one, and of none with O_PATH. */
static void a_device_that_takes_the_files_place_is_not_opened(void **state)
{
	enum {
		LOOKS = 30000
	};
	struct fixture *f = *state;
	char fifo[80], event[256];
	snprintf(fifo, sizeof(fifo), "%s.fifo", f->path);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	int watch = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
	assert_true(watch >= 0 && inotify_add_watch(watch, fifo, IN_OPEN) >= 0);
	pid_t pid = fork();
	if (pid == 0)
		for (;;)
			(void)renameat2(AT_FDCWD, f->path, AT_FDCWD, fifo, RENAME_EXCHANGE);
	size_t found = 0;
	for (int i = 0; i < LOOKS; i++) {
		struct ux_file_table t = {.room = &f->room, .opener = &f->opener};
		assert_int_equal(ux_file_table_sight(&t, INT32_MAX, &f->map, NULL), UX_OK);
		found += t.waiting.size;
		if (t.waiting.size > 0)
			ux_file_room_give_back(&f->room, UX_OWNER_UNKNOWN);
		ux_file_table_deinit(&t);
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	ssize_t opened = read(watch, event, sizeof(event));
	(void)close(watch);
	(void)unlink(fifo);
	assert_true(found > 0 && found < LOOKS);
	assert_int_equal(opened, -1);
}

static void mappings_without_code_and_without_file_are_ignored(void **state)
{
	struct fixture *f = *state;
	f->map.exec = false;
	sight(f);
	f->map.exec = true;
	f->map.kind = UX_PROC_MAP_ANON;
	sight(f);
	assert_int_equal(f->table.waiting.size, 0);
	assert_int_equal(f->table.seen.size, 0);
}

static enum ux_code sight_in_new_table(void *ctx)
{
	struct fixture *f = ctx;
	struct ux_file_room room;
	ux_file_room_init(&room, 1);
	struct ux_file_table t = {.room = &room, .opener = &f->opener};
	enum ux_code code = ux_file_table_sight(&t, getpid(), &f->map, NULL);
	ux_file_table_deinit(&t);
	ux_file_room_deinit(&room);
	return code;
}

static void each_failed_allocation_is_reported(void **state)
{
	sight(*state); /* the opener runs from now on: its own allocations do not fail */
	assert_true(each_failed_alloc(sight_in_new_table, *state, /* may_recover= */ false) > 2);
}

/* --- records ---------------------------------------------------------------------------------- */

static void put_record(struct ux_out *out, const char *path, uint32_t protection)
{
	ux_out_u32(out, PERF_RECORD_MMAP2);
	ux_out_u16(out, 2);
	ux_out_u16(out, 0);
	ux_out_u32(out, 77); /* process */
	ux_out_u32(out, 78);
	ux_out_u64(out, 0x7000);
	ux_out_u64(out, 0x2000);
	ux_out_u64(out, 0x1000);
	ux_out_u32(out, 8); /* device */
	ux_out_u32(out, 1);
	ux_out_u64(out, 1234);
	ux_out_u64(out, 1);
	ux_out_u32(out, protection);
	ux_out_u32(out, MAP_PRIVATE);
	ux_out_cstr(out, path);
	ux_out_u8(out, '\0');
	while (out->size % 8 != 0)
		ux_out_u8(out, '\0');
}

static void a_record_tells_process_addresses_and_file(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_proc_map map;
	char path[PATH_MAX];
	pid_t pid = 0;
	put_record(&out, "/usr/bin/a (deleted)", PROT_READ | PROT_EXEC);
	assert_true(ux_mapping_record_read(ux_out_bytes(&out), &pid, &map, path, NULL));
	assert_int_equal(pid, 77);
	assert_int_equal(map.start, 0x7000);
	assert_int_equal(map.end, 0x9000);
	assert_int_equal(map.off, 0x1000);
	assert_int_equal(map.ino, 1234);
	assert_string_equal(map.path, "/usr/bin/a");
	assert_true(map.deleted);
	assert_true(map.exec);
	assert_int_equal(map.kind, UX_PROC_MAP_FILE);
}

static void a_record_that_ends_early_is_none(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_proc_map map;
	char path[PATH_MAX];
	pid_t pid = 0;
	put_record(&out, "/memfd:x", PROT_EXEC);
	size_t whole = 72 + sizeof("/memfd:x");
	for (size_t size = 0; size < whole; size++) {
		struct ux_bytes part = guard(ux_bytes(out.data, size));
		assert_false(ux_mapping_record_read(part, &pid, &map, path, NULL));
		guard_free(part);
	}
	assert_true(ux_mapping_record_read(ux_bytes(out.data, whole), &pid, &map, path, NULL));
	assert_int_equal(map.kind, UX_PROC_MAP_MEMORY);
}

UX_SUITE(file_table)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_file_waits_once_however_often_it_is_seen, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_file_is_looked_at_once_in_a_round, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_file_has_its_owner_and_the_user_of_its_process,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_user_of_a_process_that_has_ended_is_unknown,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_that_has_changed_is_another_one, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(
			a_deleted_file_of_a_process_that_has_ended_is_counted, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			another_file_at_the_path_is_not_taken_for_the_mapped_one, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(what_does_not_find_room_is_found_later, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(an_opener_that_was_killed_is_started_again, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(a_device_that_takes_the_files_place_is_not_opened,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(mappings_without_code_and_without_file_are_ignored,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_failed_allocation_is_reported, set_up,
						tear_down),
		cmocka_unit_test(a_record_tells_process_addresses_and_file),
		cmocka_unit_test(a_record_that_ends_early_is_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
