/* SPDX-License-Identifier: Apache-2.0 */
/* agent: what its health is decided by. */
#include "sweep.h"

#include "agent_metrics.h"

enum {
	MINUTE = 60000,
	PATIENCE = 600000,
	NOW = 10000000,
};

static const char *stalled(uint64_t finds_ms, uint64_t sends_ms)
{
	static struct ux_host_watch watch;
	static struct ux_agent_metrics m = {.watch = &watch, .patience_ms = PATIENCE};
	watch.alive_ms = finds_ms;
	m.alive_ms = sends_ms;
	return ux_agent_metrics_stalled(&m, NOW);
}

static void an_agent_that_gives_signs_or_waits_is_healthy(void **state)
{
	(void)state;
	assert_null(stalled(NOW, NOW));
	assert_null(stalled(0, 0));
	assert_null(stalled(NOW - MINUTE, NOW - MINUTE - PATIENCE));
	assert_null(stalled(NOW + 1, NOW + 1)); /* a sign between the look at the clock and this */
}

static void a_thread_without_a_sign_for_a_minute_has_stalled(void **state)
{
	(void)state;
	assert_string_equal(stalled(NOW - MINUTE - 1, NOW), "finding files");
	assert_string_equal(stalled(NOW - MINUTE - 1, 0), "finding files");
}

static void a_loop_may_wait_for_the_server_as_long_as_a_request_takes(void **state)
{
	(void)state;
	assert_string_equal(stalled(NOW, NOW - MINUTE - PATIENCE - 1), "sending symbols");
	assert_string_equal(stalled(0, 1), "sending symbols");
}

UX_SUITE(agent_metrics)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(an_agent_that_gives_signs_or_waits_is_healthy),
		UX_TEST(a_thread_without_a_sign_for_a_minute_has_stalled),
		UX_TEST(a_loop_may_wait_for_the_server_as_long_as_a_request_takes),
	};
	return cmocka_run_group_tests_name("agent_metrics", tests, NULL, NULL);
}
