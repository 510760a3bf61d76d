/* SPDX-License-Identifier: Apache-2.0 */
/* agent: threads that send tasks, and the order in which these end. */
#include "sweep.h"

#include "agent_work.h"

#include "clock.h"

#include <stdatomic.h>
#include <unistd.h>

enum {
	TASKS = 200,
	SEND_US = 2000,
};

/* Server and results of a test. */
struct world {
	struct ux_agent agent;
	struct ux_push_summary summary;
	size_t ended[TASKS], n_ended; /* numbers of tasks, in the order in which they ended */
	bool sent[TASKS];
	unsigned reported;
	pthread_t own;
};

struct numbered {
	struct ux_agent_task task; /* first */
	struct world *world;
	size_t number;
	enum ux_code code;
};

static atomic_uint sending, sending_max;

static void on_result(void *ctx, const struct ux_push_result *r)
{
	struct world *w = ctx;
	assert_true(pthread_equal(w->own, pthread_self()));
	assert_string_equal(r->path, "a path");
	w->reported++;
}

static enum ux_code send_numbered(struct ux_agent_task *task, struct ux_push_work *w,
				  struct ux_error *err)
{
	const struct numbered *t = (struct numbered *)task;
	unsigned now = atomic_fetch_add(&sending, 1) + 1;
	if (now > atomic_load(&sending_max))
		atomic_store(&sending_max, now);
	assert_true(w->client.deadline_ms > ux_clock_ms());
	usleep((unsigned)(t->number % 3 + 1) * SEND_US);
	atomic_fetch_sub(&sending, 1);
	if (t->code != UX_OK)
		return ux_error_set(err, t->code, "task %zu", t->number);
	ux_push_report(w, &(struct ux_push_result){.path = "a path"});
	return UX_OK;
}

static void end_numbered(struct ux_agent *a, struct ux_agent_task *task, bool sent)
{
	struct numbered *t = (struct numbered *)task;
	assert_ptr_equal(a, &t->world->agent);
	t->world->sent[t->number] = sent;
	t->world->ended[t->world->n_ended++] = t->number;
	free(t);
}

static enum ux_code add_numbered(struct world *w, size_t number, enum ux_code code, bool alone,
				 struct ux_error *err)
{
	struct numbered *t = calloc(1, sizeof(*t));
	assert_non_null(t);
	*t = (struct numbered){.task = {.send = number % 10 == 9 ? NULL : send_numbered,
					.end = end_numbered,
					.bytes = 1 << 16,
					.left_ms = 60000},
			       .world = w,
			       .number = number,
			       .code = code};
	return ux_agent_senders_add(&w->agent, &t->task, alone, err);
}

static int open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	assert_non_null(w);
	w->own = pthread_self();
	w->agent.push = (struct ux_push_options){
		.url = "http://127.0.0.1:9", .timeout_ms = 60000, .result = on_result, .ctx = w};
	w->agent.work.o = &w->agent.push;
	w->agent.work.summary = &w->summary;
	ux_agent_senders_init(&w->agent.senders);
	assert_int_equal(ux_push_client_open(&w->agent.work.client, &w->agent.push, NULL), UX_OK);
	atomic_store(&sending_max, 0);
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;
	ux_agent_senders_deinit(&w->agent);
	ux_push_client_close(&w->agent.work.client);
	free(w);
	return 0;
}

static void assert_in_order(const struct world *w, size_t n)
{
	assert_int_equal(w->n_ended, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(w->ended[i], i);
}

static void tasks_are_sent_together_and_end_in_their_order(void **state)
{
	struct world *w = *state;
	struct ux_error err = UX_ERROR_INIT;
	for (size_t i = 0; i < TASKS; i++)
		assert_int_equal(add_numbered(w, i, UX_OK, false, &err), UX_OK);
	assert_int_equal(ux_agent_senders_finish(&w->agent, &err), UX_OK);
	assert_in_order(w, TASKS);
	assert_int_equal(w->reported, TASKS - TASKS / 10);
	assert_true(atomic_load(&sending_max) > 1);
	assert_true(w->agent.senders.n <= UX_AGENT_SENDERS_MAX);
	assert_false(ux_agent_senders_have_tasks(&w->agent.senders));
	ux_agent_senders_stop(&w->agent);
	assert_int_equal(w->agent.senders.n, 0);
}

static void a_small_task_that_is_alone_needs_no_thread(void **state)
{
	struct world *w = *state;
	w->agent.work.client.deadline_ms = ux_clock_ms() + 60000;
	assert_int_equal(add_numbered(w, 0, UX_OK, true, NULL), UX_OK);
	assert_in_order(w, 1);
	assert_int_equal(w->agent.senders.n, 0);
}

static void after_an_error_nothing_begins_and_every_task_ends_once(void **state)
{
	struct world *w = *state;
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = UX_OK;
	size_t n = 0;
	while (n < TASKS && code == UX_OK) {
		code = add_numbered(w, n, n == 40 ? UX_EUNAVAILABLE : UX_OK, false, &err);
		n++;
	}
	if (code == UX_OK)
		code = ux_agent_senders_finish(&w->agent, &err);
	assert_int_equal(code, UX_EUNAVAILABLE);
	assert_string_equal(err.text, "task 40");
	assert_true(n < TASKS);
	assert_in_order(w, n);
	for (size_t i = 0; i < 40; i++)
		assert_true(w->sent[i]);
	assert_false(w->sent[40]);
	/* The next ones begin anew. */
	assert_int_equal(add_numbered(w, n, UX_OK, false, &err), UX_OK);
	assert_int_equal(ux_agent_senders_finish(&w->agent, NULL), UX_OK);
	assert_true(w->sent[n]);
}

static void dropped_tasks_end_unsent(void **state)
{
	struct world *w = *state;
	for (size_t i = 0; i < 30; i++)
		assert_int_equal(add_numbered(w, i, UX_OK, false, NULL), UX_OK);
	ux_agent_senders_drop(&w->agent);
	assert_in_order(w, 30);
	assert_false(w->sent[28]);
}

UX_SUITE(agent_senders)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(tasks_are_sent_together_and_end_in_their_order,
						open_world, close_world),
		cmocka_unit_test_setup_teardown(a_small_task_that_is_alone_needs_no_thread,
						open_world, close_world),
		cmocka_unit_test_setup_teardown(
			after_an_error_nothing_begins_and_every_task_ends_once, open_world,
			close_world),
		cmocka_unit_test_setup_teardown(dropped_tasks_end_unsent, open_world, close_world),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
