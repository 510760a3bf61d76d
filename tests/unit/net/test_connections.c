/* SPDX-License-Identifier: Apache-2.0 */
#include "http_server.h"

#include "clock.h"
#include "sweep.h"

#include <sys/socket.h>
#include <unistd.h>

static const struct ux_http_limits limits = {
	.idle_seconds = 30, .rate_bytes = 512, .connections = 100, .address_connections = 3};

static struct ux_timers *timers;

static const struct ux_address local; /* of a socket in the file system */

static bool slow(enum ux_connection_phase phase, int64_t seconds, uint64_t moved, bool crowded)
{
	return ux_connection_is_slow(&limits, phase, seconds * 1000, moved, crowded);
}

static void headers_have_to_come_in_time_and_sooner_in_a_crowd(void **state)
{
	(void)state;
	assert_false(slow(UX_CONNECTION_WAITING, 30, 0, false));
	assert_true(slow(UX_CONNECTION_WAITING, 31, 1 << 30, false)); /* however many bytes came */
	assert_false(slow(UX_CONNECTION_WAITING, 2, 0, true));
	assert_true(slow(UX_CONNECTION_WAITING, 3, 0, true));
	assert_false(slow(UX_CONNECTION_WAITING, -5, 0, true));
}

static void bodies_and_answers_have_to_move(void **state)
{
	(void)state;
	const enum ux_connection_phase phases[] = {UX_CONNECTION_BODY, UX_CONNECTION_ANSWER};
	for (size_t i = 0; i < ux_countof(phases); i++) {
		assert_false(slow(phases[i], 30, 0, true));
		assert_true(slow(phases[i], 31, 0, false));
		assert_false(slow(phases[i], 130, 100 * 512, true));
		assert_true(slow(phases[i], 131, 100 * 512, false));
		assert_false(slow(phases[i], 1 << 30, UINT64_MAX, false));
	}
	assert_false(slow(UX_CONNECTION_WORK, 1 << 30, 0, true)); /* the server's own time */
}

static void those_that_hold_memory_have_to_move_fast_while_it_is_short(void **state)
{
	(void)state;
	const unsigned rate = 32 << 10;
	assert_false(ux_connection_is_a_burden(UX_CONNECTION_BODY, 3999, 0, rate));
	assert_true(ux_connection_is_a_burden(UX_CONNECTION_BODY, 4000, (4 << 15) - 1, rate));
	assert_false(ux_connection_is_a_burden(UX_CONNECTION_BODY, 4000, 4 << 15, rate));
	assert_false(ux_connection_is_a_burden(UX_CONNECTION_BODY, 4000, 0, 0));
	assert_true(ux_connection_is_a_burden(UX_CONNECTION_ANSWER, 4000, 0, rate));
	assert_false(ux_connection_is_a_burden(UX_CONNECTION_WORK, 1 << 30, 0, rate));
	assert_false(ux_connection_is_a_burden(UX_CONNECTION_WAITING, 1 << 30, 0, rate));
}

static struct ux_address address(const char *text)
{
	struct ux_address a;
	assert_true(ux_address_parse(ux_bytes_cstr(text), &a));
	return a;
}

static bool allows(struct ux_connections *c, const char *text)
{
	struct ux_address a = address(text);
	return ux_connections_allow(c, &a);
}

static struct ux_connection *add(struct ux_connections *c, const char *text)
{
	struct ux_address a = address(text);
	return ux_connections_add(c, -1, &a);
}

static void an_address_has_so_many_and_this_machine_as_many_as_there_are(void **state)
{
	(void)state;
	static const struct {
		const char *taken;
		const char *asks;
		bool allowed;
	} cases[] = {
		{"192.0.2.1", "192.0.2.1", false},
		{"192.0.2.1", "192.0.2.2", true},
		{"192.0.2.1", "::ffff:192.0.2.1", false},
		{"2001:db8::1", "2001:db8::2", false}, /* a network is one's own */
		{"2001:db8::1", "2001:db8:0:1::1", true},
		{"127.0.0.1", "127.0.0.1", true},
		{"127.8.0.1", "127.8.0.1", true},
		{"::1", "::1", true},
		{"::ffff:127.0.0.1", "::ffff:127.0.0.1", true},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_connections *c = NULL;
		struct ux_connection *taken[3];
		assert_int_equal(ux_connections_open(&c, &limits, NULL, timers, NULL), UX_OK);
		for (size_t k = 0; k < ux_countof(taken); k++) {
			assert_true(allows(c, cases[i].asks));
			taken[k] = add(c, cases[i].taken);
			assert_non_null(taken[k]);
		}
		assert_int_equal(allows(c, cases[i].asks), cases[i].allowed);
		ux_connections_remove(c, taken[1]);
		assert_true(allows(c, cases[i].asks));
		ux_connections_remove(c, taken[0]);
		ux_connections_remove(c, taken[2]);
		assert_true(ux_connections_allow(c, &local));
		ux_connections_close(c);
	}
}

/* An accepted connection counts before a thread serves it, and not forever if none ever does. */
static void expected_connections_count_until_they_are_added(void **state)
{
	(void)state;
	struct ux_http_limits three = limits;
	struct ux_connections *c = NULL;
	struct ux_connection *added[3];
	const struct ux_address from = address("192.0.2.1");
	three.connections = three.address_connections = (unsigned)ux_countof(added);
	assert_int_equal(ux_connections_open(&c, &three, NULL, timers, NULL), UX_OK);
	for (int i = 0; i < 3; i++) {
		assert_false(ux_connections_are_full(c));
		assert_true(ux_connections_allow(c, &from));
		ux_connections_expect(c, 1000 + i, &from);
		ux_connections_expect(c, 1000 + i, &from); /* the number was used again */
	}
	assert_true(ux_connections_are_full(c));
	assert_false(ux_connections_allow(c, &from));
	for (int i = 0; i < 2; i++) {
		added[i] = ux_connections_add(c, 1000 + i, &from);
		ux_connection_enter(added[i], UX_CONNECTION_WORK);
	}
	assert_true(ux_connections_are_full(c)); /* they were counted already */
	/* the third one is written off, and only that one */
	for (int64_t end = ux_clock_ms() + 30000; ux_connections_are_full(c); usleep(10000))
		assert_true(ux_clock_ms() < end);
	ux_connections_expect(c, 1003, &from);
	assert_true(ux_connections_are_full(c));
	assert_int_equal(ux_connections_cut(c), 0);
	for (int i = 0; i < 2; i++)
		ux_connections_remove(c, added[i]);
	ux_connections_close(c); /* with one that is expected */
}

/* The thread sleeps for a second, and the client has another one. */
static void slow_clients_are_cut_and_others_are_not(void **state)
{
	(void)state;
	struct ux_http_limits short_ones = limits;
	struct ux_connections *c = NULL;
	int lazy[2], busy[2];
	char byte = 'x';
	short_ones.idle_seconds = 1;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, lazy), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, busy), 0);
	assert_int_equal(ux_connections_open(&c, &short_ones, NULL, timers, NULL), UX_OK);
	struct ux_connection *one = ux_connections_add(c, lazy[0], &local);
	struct ux_connection *other = ux_connections_add(c, busy[0], &local);
	ux_connection_enter(other, UX_CONNECTION_WORK);
	ux_connection_enter(one, UX_CONNECTION_BODY);
	assert_int_equal(read(lazy[1], &byte, 1), 0); /* waits until it is cut */
	assert_int_equal(ux_connections_cut(c), 1);
	assert_int_equal(write(busy[0], &byte, 1), 1);
	assert_int_equal(read(busy[1], &byte, 1), 1);
	ux_connections_remove(c, one);
	ux_connections_remove(c, other);
	ux_connections_remove(c, NULL);
	ux_connection_enter(NULL, UX_CONNECTION_BODY);
	ux_connection_moved(NULL, 1);
	ux_connections_close(c);
	ux_connections_close(NULL);
	for (int i = 0; i < 2; i++) {
		close(lazy[i]);
		close(busy[i]);
	}
}

static void answers_over_unix_sockets_are_not_measured(void **state)
{
	(void)state;
	struct ux_http_limits short_ones = limits;
	struct ux_connections *c = NULL;
	int fds[2];
	char byte = 'x';
	short_ones.idle_seconds = 1;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(write(fds[0], "not read", 8), 8);
	assert_int_equal(ux_connections_open(&c, &short_ones, NULL, timers, NULL), UX_OK);
	struct ux_connection *one = ux_connections_add(c, fds[0], &local);
	ux_connection_enter(one, UX_CONNECTION_ANSWER);
	usleep(4500 * 1000);
	assert_int_equal(ux_connections_cut(c), 0);
	assert_int_equal(write(fds[0], &byte, 1), 1);
	ux_connections_remove(c, one);
	ux_connections_close(c);
	close(fds[0]);
	close(fds[1]);
}

static void bytes_that_the_server_has_not_read_are_not_held_against_the_client(void **state)
{
	(void)state;
	struct ux_http_limits short_ones = limits;
	struct ux_connections *c = NULL;
	int fds[2];
	short_ones.idle_seconds = 1;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(write(fds[1], "not read", 8), 8);
	assert_int_equal(ux_connections_open(&c, &short_ones, NULL, timers, NULL), UX_OK);
	struct ux_connection *one = ux_connections_add(c, fds[0], &local);
	ux_connection_enter(one, UX_CONNECTION_BODY);
	usleep(4500 * 1000);
	assert_int_equal(ux_connections_cut(c), 0);
	ux_connections_remove(c, one);
	ux_connections_close(c);
	close(fds[0]);
	close(fds[1]);
}

/* Takes the sent bytes until the connection is cut; returns how long that took. */
static int64_t cut_after_ms(struct ux_connections *c, int peer, struct ux_connection *one,
			    uint64_t at_first)
{
	char byte;
	int64_t start = ux_clock_ms();
	ux_connection_enter(one, UX_CONNECTION_BODY);
	usleep(1200 * 1000); /* so that its first check has passed */
	ux_connection_moved(one, at_first);
	assert_int_equal(read(peer, &byte, 1), 0);
	assert_int_equal(ux_connections_cut(c), 1);
	ux_connections_remove(c, one);
	return ux_clock_ms() - start;
}

static void what_was_fast_before_does_not_count(void **state)
{
	(void)state;
	struct ux_http_limits short_ones = limits;
	struct ux_connections *c = NULL;
	int fds[2];
	short_ones.idle_seconds = 2;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(ux_connections_open(&c, &short_ones, NULL, timers, NULL), UX_OK);
	struct ux_connection *one = ux_connections_add(c, fds[0], &local);
	assert_in_range(cut_after_ms(c, fds[1], one, (uint64_t)1 << 40), 3000, 60000);
	ux_connections_close(c);
	close(fds[0]);
	close(fds[1]);
}

static void memory_that_is_short_is_taken_from_the_slow(void **state)
{
	(void)state;
	struct ux_http_memory memory = {.used = 26, .max = 100};
	struct ux_connections *c = NULL;
	int fds[2], other[2];
	char byte = 'x';
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, other), 0);
	assert_int_equal(ux_connections_open(&c, &limits, &memory, timers, NULL), UX_OK);
	struct ux_connection *one = ux_connections_add(c, fds[0], &local);
	struct ux_connection *small = ux_connections_add(c, other[0], &local);
	ux_connection_holds(one, 26);
	ux_connection_enter(small, UX_CONNECTION_BODY);
	assert_in_range(cut_after_ms(c, fds[1], one, 1 << 10), 4000, 29000);
	assert_int_equal(write(other[0], &byte, 1), 1); /* holds nothing, and is slow: not cut */
	ux_connections_remove(c, small);
	ux_connections_close(c);
	for (int i = 0; i < 2; i++) {
		close(fds[i]);
		close(other[i]);
	}
}

UX_SUITE(connections)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(headers_have_to_come_in_time_and_sooner_in_a_crowd),
		UX_TEST(bodies_and_answers_have_to_move),
		UX_TEST(those_that_hold_memory_have_to_move_fast_while_it_is_short),
		UX_TEST(what_was_fast_before_does_not_count),
		UX_TEST(answers_over_unix_sockets_are_not_measured),
		UX_TEST(bytes_that_the_server_has_not_read_are_not_held_against_the_client),
		UX_TEST(memory_that_is_short_is_taken_from_the_slow),
		UX_TEST(an_address_has_so_many_and_this_machine_as_many_as_there_are),
		UX_TEST(expected_connections_count_until_they_are_added),
		UX_TEST(slow_clients_are_cut_and_others_are_not),
	};
	if (ux_timers_open(&timers, NULL) != UX_OK)
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	ux_timers_close(timers);
	return failed;
}
