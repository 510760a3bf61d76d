/* SPDX-License-Identifier: Apache-2.0 */
#include "work_queue.h"

#include "sweep.h"

#include <sched.h>
#include <stdatomic.h>

enum {
	CLIENTS = 8,
	JOBS = 64,
	ORDER_MAX = 1 << 14 /* jobs of one test that are recorded */
};

static atomic_bool gate_is_open;
static atomic_uint n_ordered, n_begun, n_ended, n_canceled;
static atomic_uint order[ORDER_MAX]; /* clients in the order in which their jobs began */

static void job_run(struct ux_work_job *job, bool canceled)
{
	if (canceled) {
		atomic_fetch_add(&n_canceled, 1);
		return;
	}
	atomic_store(&order[atomic_fetch_add(&n_ordered, 1)], (unsigned)job->client);
	atomic_fetch_add(&n_begun, 1); /* whoever waits for it reads the order */
	while (!atomic_load(&gate_is_open))
		sched_yield();
	atomic_fetch_add(&n_ended, 1);
}

static void jobs_reset(struct ux_work_job *jobs)
{
	atomic_store(&gate_is_open, false);
	atomic_store(&n_ordered, 0);
	atomic_store(&n_begun, 0);
	atomic_store(&n_ended, 0);
	atomic_store(&n_canceled, 0);
	for (size_t i = 0; i < JOBS; i++)
		jobs[i] = (struct ux_work_job){.run = job_run};
}

static void wait_until(atomic_uint *n, unsigned value)
{
	while (atomic_load(n) < value)
		sched_yield();
}

static struct ux_work_queue *queue_open(unsigned threads, unsigned share)
{
	const struct ux_work_limits limits = {.threads = threads,
					      .group_share = threads,
					      .share = share,
					      .group_waiting = JOBS + 1,
					      .waiting = JOBS / 2,
					      .all = JOBS};
	struct ux_work_queue *q = NULL;
	assert_int_equal(ux_work_queue_open(&q, &limits, NULL), UX_OK);
	return q;
}

static void jobs_add(struct ux_work_queue *q, struct ux_work_job *jobs, size_t n, uint64_t client)
{
	for (size_t i = 0; i < n; i++) {
		jobs[i].client = client;
		assert_int_equal(ux_work_queue_add(q, &jobs[i]), UX_WORK_ADDED);
	}
}

static void a_client_never_holds_more_than_its_share_of_the_threads(void **state)
{
	(void)state;
	struct ux_work_job jobs[JOBS];
	struct ux_work_queue *q = queue_open(4, 2);
	jobs_reset(jobs);
	jobs_add(q, jobs, 16, 7);
	wait_until(&n_begun, 2);
	jobs_add(q, jobs + 16, 1, 9); /* of another client: it begins although 14 wait */
	wait_until(&n_begun, 3);
	struct ux_work_counts counts = ux_work_queue_count(q);
	assert_int_equal(counts.running, 3);
	assert_int_equal(counts.waiting, 14);
	assert_int_equal(order[2], 9);
	atomic_store(&gate_is_open, true);
	wait_until(&n_ended, 17);
	ux_work_queue_close(q);
}

static void clients_take_turns(void **state)
{
	(void)state;
	struct ux_work_job jobs[JOBS];
	struct ux_work_queue *q = queue_open(1, 1);
	jobs_reset(jobs);
	jobs_add(q, jobs, 5, 0); /* one of them runs */
	wait_until(&n_begun, 1);
	for (uint64_t client = 1; client < CLIENTS; client++)
		jobs_add(q, jobs + 5 * client, 5, client);
	atomic_store(&gate_is_open, true);
	wait_until(&n_ended, 5 * CLIENTS);
	/* After the first job each round has one of every client. */
	for (size_t round = 0; round < 4; round++) {
		unsigned seen = 0;
		for (size_t i = 0; i < CLIENTS; i++)
			seen |= 1u << order[1 + round * CLIENTS + i];
		assert_int_equal(seen, (1u << CLIENTS) - 1);
	}
	ux_work_queue_close(q);
}

static void a_client_with_too_many_waiting_jobs_is_refused_and_others_are_not(void **state)
{
	(void)state;
	struct ux_work_job jobs[JOBS + 1];
	struct ux_work_queue *q = queue_open(1, 1);
	jobs_reset(jobs);
	jobs_add(q, jobs, 1, 1);
	wait_until(&n_begun, 1);
	jobs_add(q, jobs + 1, JOBS / 2, 1);
	struct ux_work_job more = {.client = 1, .run = job_run};
	assert_int_equal(ux_work_queue_add(q, &more), UX_WORK_CLIENT_FULL);
	more.client = 2;
	assert_int_equal(ux_work_queue_add(q, &more), UX_WORK_ADDED);
	atomic_store(&gate_is_open, true);
	wait_until(&n_ended, JOBS / 2 + 2);
	ux_work_queue_close(q);
}

static void all_clients_together_are_bounded(void **state)
{
	(void)state;
	struct ux_work_job jobs[JOBS], one = {.run = job_run},
				       more = {.client = 99, .run = job_run};
	struct ux_work_queue *q = queue_open(1, 1);
	jobs_reset(jobs);
	jobs_add(q, &one, 1, 1);
	wait_until(&n_begun, 1);
	for (uint64_t client = 0; client < JOBS; client++)
		jobs_add(q, jobs + client, 1, client);
	assert_int_equal(ux_work_queue_add(q, &more), UX_WORK_FULL);
	ux_work_queue_count(q);
	atomic_store(&gate_is_open, true);
	wait_until(&n_ended, 1);
	ux_work_queue_close(q);
}

static void stopping_cancels_what_waits_and_lets_end_what_runs(void **state)
{
	(void)state;
	struct ux_work_job jobs[JOBS], late = {.run = job_run};
	struct ux_work_queue *q = queue_open(2, 1);
	jobs_reset(jobs);
	jobs_add(q, jobs, 10, 1);
	jobs_add(q, jobs + 10, 10, 2);
	wait_until(&n_begun, 2);
	atomic_store(&gate_is_open, true);
	ux_work_queue_stop(q);
	assert_int_equal(n_begun, n_ended);
	assert_int_equal(n_ended + n_canceled, 20);
	assert_int_equal(ux_work_queue_add(q, &late), UX_WORK_FULL);
	ux_work_queue_stop(q);
	ux_work_queue_close(q);
}

static atomic_uint n_tickets[3]; /* jobs of each group that may end before the gate is opened */

static void job_run_for_a_ticket(struct ux_work_job *job, bool canceled)
{
	(void)canceled;
	atomic_store(&order[atomic_fetch_add(&n_ordered, 1)], (unsigned)job->group);
	atomic_fetch_add(&n_begun, 1);
	for (unsigned n = 0; !atomic_load(&gate_is_open); sched_yield()) {
		n = atomic_load(&n_tickets[job->group]);
		if (n > 0 && atomic_compare_exchange_strong(&n_tickets[job->group], &n, n - 1))
			break;
	}
	atomic_fetch_add(&n_ended, 1);
}

/* Lets a job of a group end, and returns the group whose job begins next. */
static unsigned end_one(unsigned group)
{
	const unsigned begun = atomic_load(&n_begun);
	atomic_fetch_add(&n_tickets[group], 1);
	wait_until(&n_begun, begun + 1);
	return order[begun];
}

static void four_clients_of_a_group_get_as_much_as_one_of_another(void **state)
{
	(void)state;
	enum {
		THREADS = 4,
		EACH = 20 /* jobs of a client */
	};
	static struct ux_work_job jobs[5 * EACH];
	const struct ux_work_limits limits = {.threads = THREADS,
					      .group_share = THREADS - 1,
					      .share = THREADS / 2,
					      .group_waiting = 4 * EACH,
					      .waiting = EACH,
					      .all = 5 * EACH};
	struct ux_work_queue *q = NULL;
	struct ux_work_job unused[JOBS];
	jobs_reset(unused);
	assert_int_equal(ux_work_queue_open(&q, &limits, NULL), UX_OK);
	for (unsigned i = 0; i < 5 * EACH; i++) {
		jobs[i] = (struct ux_work_job){.group = i < 4 * EACH ? 1 : 2,
					       .client = i < 4 * EACH ? i % 4 : 0,
					       .run = job_run_for_a_ticket};
		if (i == 4 * EACH) { /* a thread is left for others, although many wait */
			wait_until(&n_begun, THREADS - 1);
			assert_int_equal(ux_work_queue_count(q).running, THREADS - 1);
		}
		assert_int_equal(ux_work_queue_add(q, &jobs[i]), UX_WORK_ADDED);
	}
	wait_until(&n_begun, THREADS);
	assert_int_equal(order[THREADS - 1], 2);
	/* Three threads to one: the next free one is for the single client. Then both have two. */
	assert_int_equal(end_one(1), 2);
	for (unsigned i = 0; i < 16; i++) {
		assert_int_equal(end_one(1), 1);
		assert_int_equal(end_one(2), 2);
	}
	atomic_store(&gate_is_open, true);
	wait_until(&n_ended, 5 * EACH);
	ux_work_queue_close(q);
}

static void clients_of_a_group_take_turns(void **state)
{
	(void)state;
	struct ux_work_job jobs[JOBS];
	struct ux_work_queue *q = queue_open(1, 1);
	jobs_reset(jobs);
	jobs_add(q, jobs, 1, 0); /* it runs, while the others line up */
	wait_until(&n_begun, 1);
	for (unsigned i = 0; i < 12; i++) {
		/* group 1 has the clients 1, 2 and 3, and group 2 has client 4 */
		jobs[1 + i].group = i < 9 ? 1 : 2;
		jobs_add(q, &jobs[1 + i], 1, i < 9 ? i / 3 + 1 : 4);
	}
	atomic_store(&gate_is_open, true);
	wait_until(&n_ended, 13);
	static const unsigned expected[] = {1, 4, 2, 4, 3, 4, 1, 2, 3, 1, 2, 3};
	for (size_t i = 0; i < 12; i++)
		assert_int_equal(order[1 + i], expected[i]);
	ux_work_queue_close(q);
}

static void a_group_with_too_many_waiting_jobs_is_refused_and_others_are_not(void **state)
{
	(void)state;
	struct ux_work_job jobs[JOBS];
	const struct ux_work_limits limits = {.threads = 1,
					      .group_share = 1,
					      .share = 1,
					      .group_waiting = 4,
					      .waiting = 3,
					      .all = 5};
	struct ux_work_queue *q = NULL;
	jobs_reset(jobs);
	assert_int_equal(ux_work_queue_open(&q, &limits, NULL), UX_OK);
	jobs_add(q, jobs, 1, 1);
	wait_until(&n_begun, 1);
	jobs_add(q, jobs + 1, 3, 1);
	jobs_add(q, jobs + 4, 1, 2);
	struct ux_work_job more = {.client = 3, .run = job_run};
	assert_int_equal(ux_work_queue_add(q, &more), UX_WORK_CLIENT_FULL);
	more.group = 7;
	assert_int_equal(ux_work_queue_add(q, &more), UX_WORK_ADDED);
	struct ux_work_job last = {.group = 8, .run = job_run};
	assert_int_equal(ux_work_queue_add(q, &last), UX_WORK_FULL);
	atomic_store(&gate_is_open, true);
	wait_until(&n_ended, 6);
	ux_work_queue_close(q);
}

static enum ux_code queue_open_body(void *ctx)
{
	(void)ctx;
	const struct ux_work_limits limits = {.threads = 1,
					      .group_share = 1,
					      .share = 1,
					      .group_waiting = 1,
					      .waiting = 1,
					      .all = 1};
	struct ux_work_queue *q = NULL;
	UX_TRY(ux_work_queue_open(&q, &limits, NULL));
	ux_work_queue_close(q);
	return UX_OK;
}

static void memory_that_is_short_is_reported(void **state)
{
	(void)state;
	each_failed_alloc(queue_open_body, NULL, /* may_recover= */ false);
}

UX_SUITE(work_queue)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_client_never_holds_more_than_its_share_of_the_threads),
		cmocka_unit_test(clients_take_turns),
		cmocka_unit_test(a_client_with_too_many_waiting_jobs_is_refused_and_others_are_not),
		cmocka_unit_test(four_clients_of_a_group_get_as_much_as_one_of_another),
		cmocka_unit_test(clients_of_a_group_take_turns),
		cmocka_unit_test(a_group_with_too_many_waiting_jobs_is_refused_and_others_are_not),
		cmocka_unit_test(all_clients_together_are_bounded),
		cmocka_unit_test(stopping_cancels_what_waits_and_lets_end_what_runs),
		cmocka_unit_test(memory_that_is_short_is_reported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
