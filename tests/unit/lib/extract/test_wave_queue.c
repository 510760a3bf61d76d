/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs in waves: which of them may start, and the guarantees they have. */
#include "sweep.h"

#include "pool.h"
#include "wave_queue.h"

#include <stdatomic.h>

enum {
	UNITS = 10, /* of a wave, which has a batch for each unit */
	WAVES = 50,
};

/* Adds a wave of UNITS units; unit I of it has I + 1 bytes. */
static void add_wave(struct ux_wave_queue *q, uint32_t first)
{
	struct ux_wave_batch batches[UNITS];
	for (uint32_t i = 0; i < UNITS; i++)
		batches[i] = (struct ux_wave_batch){.first = first + i, .count = 1, .bytes = i + 1};
	assert_int_equal(ux_wave_queue_add(q, batches, UNITS, NULL), UX_OK);
}

static struct ux_wave_job take(struct ux_wave_queue *q)
{
	struct ux_wave_job job;
	ux_wave_queue_take(q, &job);
	return job;
}

static void end(struct ux_wave_queue *q, const struct ux_wave_job *job)
{
	ux_wave_queue_done(q, job, UX_OK, NULL);
}

static void the_largest_job_of_a_wave_starts_first_and_relies_on_waves_that_are_done(void **state)
{
	(void)state;
	struct ux_wave_queue q;
	ux_wave_queue_init(&q, 1);
	for (uint32_t w = 0; w < 3; w++)
		add_wave(&q, w * UNITS);
	ux_wave_queue_complete(&q);
	for (uint32_t i = 0; i < 3 * UNITS; i++) {
		uint32_t wave = i / UNITS;
		struct ux_wave_job job = take(&q);
		assert_int_equal(job.kind, UX_WAVE_JOB_READ);
		assert_int_equal(job.batch.wave, wave);
		assert_int_equal(job.batch.first, wave * UNITS + UNITS - 1 - i % UNITS);
		assert_int_equal(job.claimants, wave == 2 ? UNITS : 0);
		assert_int_equal(job.position, (uint64_t)i << 32);
		end(&q, &job);
	}
	assert_int_equal(take(&q).kind, UX_WAVE_JOB_NONE);
	ux_wave_queue_deinit(&q);
}

static void a_wave_starts_while_jobs_of_the_one_before_still_run(void **state)
{
	(void)state;
	struct ux_wave_queue q;
	struct ux_wave_job jobs[2 * UNITS];
	ux_wave_queue_init(&q, 2 * UNITS);
	add_wave(&q, 0);
	add_wave(&q, UNITS);
	ux_wave_queue_complete(&q);
	for (uint32_t i = 0; i < 2 * UNITS; i++) {
		jobs[i] = take(&q);
		assert_int_equal(jobs[i].kind, UX_WAVE_JOB_READ);
	}
	for (uint32_t i = 0; i < 2 * UNITS; i++)
		end(&q, &jobs[i]);
	assert_int_equal(take(&q).kind, UX_WAVE_JOB_NONE);
	ux_wave_queue_deinit(&q);
}

static void a_job_as_large_as_a_wave_is_the_first_and_relies_on_nothing(void **state)
{
	(void)state;
	struct ux_wave_queue q;
	struct ux_wave_batch large = {.first = 2 * UNITS, .count = 3, .bytes = 1000, .early = true};
	ux_wave_queue_init(&q, 1);
	add_wave(&q, 0);
	add_wave(&q, UNITS);
	assert_int_equal(ux_wave_queue_add(&q, &large, 1, NULL), UX_OK);
	add_wave(&q, 2 * UNITS + 3);
	ux_wave_queue_order(&q);
	ux_wave_queue_complete(&q);
	struct ux_wave_job job = take(&q);
	assert_int_equal(job.batch.first, 2 * UNITS);
	assert_int_equal(job.batch.wave, 2);
	assert_int_equal(job.claimants, 0);
	end(&q, &job);
	for (uint32_t i = 0; i < 3 * UNITS; i++) {
		job = take(&q);
		assert_false(job.batch.early);
		end(&q, &job);
	}
	assert_int_equal(job.claimants, 2 * UNITS);
	assert_int_equal(take(&q).kind, UX_WAVE_JOB_NONE);
	ux_wave_queue_deinit(&q);
}

static void one_thread_makes_a_wave_when_it_has_read_the_one_before(void **state)
{
	(void)state;
	struct ux_wave_queue q;
	ux_wave_queue_init(&q, 1);
	for (uint32_t w = 0; w < 3; w++) {
		struct ux_wave_job job = take(&q);
		assert_int_equal(job.kind, UX_WAVE_JOB_FEED);
		assert_int_equal(job.n_read, w * UNITS);
		add_wave(&q, w * UNITS);
		end(&q, &job);
		for (uint32_t i = 0; i < UNITS; i++) {
			job = take(&q);
			assert_int_equal(job.kind, UX_WAVE_JOB_READ);
			end(&q, &job);
		}
	}
	struct ux_wave_job job = take(&q);
	assert_int_equal(job.kind, UX_WAVE_JOB_FEED);
	ux_wave_queue_complete(&q);
	end(&q, &job);
	assert_int_equal(take(&q).kind, UX_WAVE_JOB_NONE);
	ux_wave_queue_deinit(&q);
}

static void waves_are_made_ahead_up_to_a_limit(void **state)
{
	(void)state;
	struct ux_wave_queue q;
	struct ux_wave_batch batch = {.count = 1, .bytes = UX_WAVES_AHEAD / 2};
	ux_wave_queue_init(&q, 2);
	for (batch.first = 0; batch.first < 2; batch.first++) {
		struct ux_wave_job job = take(&q);
		assert_int_equal(job.kind, UX_WAVE_JOB_FEED);
		assert_int_equal(ux_wave_queue_add(&q, &batch, 1, NULL), UX_OK);
		end(&q, &job);
	}
	struct ux_wave_job read = take(&q);
	assert_int_equal(read.kind, UX_WAVE_JOB_READ);
	end(&q, &read);
	assert_int_equal(take(&q).kind, UX_WAVE_JOB_FEED);
	ux_wave_queue_deinit(&q);
}

static void of_several_failures_the_first_in_order_is_reported(void **state)
{
	(void)state;
	struct ux_wave_queue q;
	struct ux_wave_job jobs[3];
	static const int ends[] = {1, 0, 2};
	ux_wave_queue_init(&q, 3);
	add_wave(&q, 0);
	ux_wave_queue_complete(&q);
	for (size_t i = 0; i < 3; i++)
		jobs[i] = take(&q);
	assert_int_equal(ux_wave_queue_status(&q, NULL), UX_OK);
	for (size_t i = 0; i < 3; i++) {
		struct ux_error why = UX_ERROR_INIT;
		enum ux_code code = ux_error_set(&why, UX_ECORRUPT, "job %d is damaged", ends[i]);
		ux_wave_queue_done(&q, &jobs[ends[i]], code, &why);
	}
	assert_int_equal(take(&q).kind, UX_WAVE_JOB_NONE);
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_wave_queue_status(&q, &err), UX_ECORRUPT);
	assert_string_equal(err.text, "job 0 is damaged");
	ux_wave_queue_deinit(&q);
}

/* The threads' progress in a queue: which units have ended. */
struct crowd {
	struct ux_wave_queue queue;
	atomic_bool ended[WAVES * UNITS]; /* relaxed: the lock of the queue orders it */
	uint32_t n_made;
	atomic_uint n_wrong;
};

static void crowd_feed(struct crowd *c)
{
	if (c->n_made == WAVES * UNITS) {
		ux_wave_queue_complete(&c->queue);
		return;
	}
	add_wave(&c->queue, c->n_made);
	c->n_made += UNITS;
}

static enum ux_code crowd_work(void *ctx, size_t number, unsigned worker, struct ux_error *err)
{
	struct crowd *c = ctx;
	(void)number, (void)worker, (void)err;
	for (;;) {
		struct ux_wave_job job = take(&c->queue);
		uint32_t relied = job.kind == UX_WAVE_JOB_FEED ? job.n_read : job.claimants;
		if (job.kind == UX_WAVE_JOB_NONE)
			return UX_OK;
		for (uint32_t i = 0; i < relied; i++)
			if (!atomic_load_explicit(&c->ended[i], memory_order_relaxed))
				atomic_fetch_add(&c->n_wrong, 1);
		if (job.kind == UX_WAVE_JOB_FEED)
			crowd_feed(c);
		else if (atomic_exchange_explicit(&c->ended[job.batch.first], true,
						  memory_order_relaxed))
			atomic_fetch_add(&c->n_wrong, 1); /* it was read before */
		end(&c->queue, &job);
	}
}

static void threads_read_every_unit_once_and_rely_on_units_that_have_ended(void **state)
{
	(void)state;
	for (unsigned threads = 1; threads <= 8; threads++) {
		struct crowd *c = calloc(1, sizeof(*c));
		assert_non_null(c);
		ux_wave_queue_init(&c->queue, threads);
		assert_int_equal(ux_pool_run(threads, threads, crowd_work, c, NULL), UX_OK);
		assert_int_equal(c->n_wrong, 0);
		for (size_t i = 0; i < ux_countof(c->ended); i++)
			assert_true(c->ended[i]);
		ux_wave_queue_deinit(&c->queue);
		free(c);
	}
}

UX_SUITE(wave_queue)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(the_largest_job_of_a_wave_starts_first_and_relies_on_waves_that_are_done),
		UX_TEST(a_wave_starts_while_jobs_of_the_one_before_still_run),
		UX_TEST(a_job_as_large_as_a_wave_is_the_first_and_relies_on_nothing),
		UX_TEST(one_thread_makes_a_wave_when_it_has_read_the_one_before),
		UX_TEST(waves_are_made_ahead_up_to_a_limit),
		UX_TEST(of_several_failures_the_first_in_order_is_reported),
		UX_TEST(threads_read_every_unit_once_and_rely_on_units_that_have_ended),
	};
	return cmocka_run_group_tests_name("wave_queue", tests, NULL, NULL);
}
