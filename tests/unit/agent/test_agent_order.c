/* SPDX-License-Identifier: Apache-2.0 */
/* agent: the order in which waiting files are handled. */
#include "sweep.h"

#include "agent_work.h"

#include <sys/wait.h>
#include <unistd.h>

enum {
	KIB = 1 << 10,
	MIB = 1 << 20,
	NOW = 1000000,
	MINUTE = 60000,
};

static pid_t ended_process(void)
{
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	assert_true(pid > 0 && waitpid(pid, NULL, 0) == pid);
	return pid;
}

static void add(struct ux_mapped_files *files, uid_t owner, pid_t pid, uint64_t size)
{
	const struct ux_mapped_file f = {
		.key.size = size, .process_owner = owner, .pid = pid, .fd = -1, .found_ms = NOW};
	assert_true(ux_mapped_files_append(files, f));
}

static void assert_sizes(struct ux_mapped_files *files, const uint64_t *sizes, size_t n)
{
	assert_int_equal(files->size, n);
	ux_agent_order(files, NOW);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(files->data[i].key.size, sizes[i]);
	ux_mapped_files_free(files);
}

static void files_of_processes_that_have_ended_are_last(void **state)
{
	(void)state;
	struct ux_mapped_files files = {0};
	const pid_t ended = ended_process();
	add(&files, 1, ended, 1 * KIB);
	add(&files, 1, getpid(), 9 * MIB);
	add(&files, 1, ended, 8 * MIB);
	add(&files, 1, getpid(), 2 * KIB);
	add(&files, 0, 0, 3 * KIB); /* the kernel's */
	assert_sizes(&files, (uint64_t[]){2 * KIB, 3 * KIB, 9 * MIB, 1 * KIB, 8 * MIB}, 5);
}

static void large_files_have_turns_among_small_ones(void **state)
{
	(void)state;
	struct ux_mapped_files files = {0};
	for (uint64_t i = 4; i > 0; i--)
		add(&files, 1, getpid(), i * KIB);
	add(&files, 1, getpid(), 7 * MIB);
	add(&files, 1, getpid(), 5 * MIB);
	assert_sizes(&files, (uint64_t[]){1 * KIB, 5 * MIB, 2 * KIB, 7 * MIB, 3 * KIB, 4 * KIB}, 6);
}

static void users_and_containers_take_turns(void **state)
{
	(void)state;
	struct ux_mapped_files files = {0};
	for (uint64_t i = 1; i <= 4; i++)
		add(&files, 1, getpid(), i * KIB);
	add(&files, 2, getpid(), 10 * KIB);
	add(&files, 2, getpid(), 11 * KIB);
	assert_sizes(&files, (uint64_t[]){1 * KIB, 10 * KIB, 2 * KIB, 11 * KIB, 3 * KIB, 4 * KIB},
		     6);
}

/* A namespace is made by anyone. */
static void a_user_with_many_containers_has_one_turn(void **state)
{
	(void)state;
	struct ux_mapped_files files = {0};
	for (uint64_t i = 1; i <= 4; i++) {
		add(&files, 65534, getpid(), i);
		files.data[files.size - 1].container = i;
	}
	add(&files, 111, getpid(), 1 * KIB);
	add(&files, 111, getpid(), 2 * KIB);
	assert_sizes(&files, (uint64_t[]){1, 1 * KIB, 2, 2 * KIB, 3, 4}, 6);
}

static void containers_of_a_user_take_turns(void **state)
{
	(void)state;
	struct ux_mapped_files files = {0};
	for (uint64_t i = 1; i <= 3; i++)
		add(&files, 1, getpid(), i);
	add(&files, 1, getpid(), 1 * KIB);
	files.data[3].container = 7;
	assert_sizes(&files, (uint64_t[]){1, 1 * KIB, 2, 3}, 4);
}

static void the_oldest_files_have_their_turn(void **state)
{
	(void)state;
	struct ux_mapped_files files = {0};
	const pid_t ended = ended_process();
	add(&files, 1, getpid(), 1 * KIB);
	add(&files, 1, ended, 9 * MIB);
	add(&files, 1, ended, 2 * MIB);
	add(&files, 1, ended, 3 * MIB);
	add(&files, 1, getpid(), 8 * MIB);
	files.data[1].found_ms = NOW - MINUTE;
	files.data[2].found_ms = NOW - MINUTE;
	files.data[3].found_ms = NOW - MINUTE - 1;
	ux_agent_order(&files, NOW);
	assert_false(files.data[0].ended || files.data[1].ended);
	assert_sizes(&files, (uint64_t[]){3 * MIB, 9 * MIB, 1 * KIB, 8 * MIB, 2 * MIB}, 5);
}

static void nothing_and_one_file_are_in_order(void **state)
{
	(void)state;
	struct ux_mapped_files files = {0};
	assert_sizes(&files, NULL, 0);
	add(&files, 1, getpid(), 1);
	assert_sizes(&files, (uint64_t[]){1}, 1);
}

UX_SUITE(agent_order)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(files_of_processes_that_have_ended_are_last),
		UX_TEST(large_files_have_turns_among_small_ones),
		UX_TEST(users_and_containers_take_turns),
		UX_TEST(a_user_with_many_containers_has_one_turn),
		UX_TEST(containers_of_a_user_take_turns),
		UX_TEST(the_oldest_files_have_their_turn),
		UX_TEST(nothing_and_one_file_are_in_order),
	};
	return cmocka_run_group_tests_name("agent_order", tests, NULL, NULL);
}
