/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of uploads to be finished: its order, and who learns the outcome. */
#include "sweep.h"

#include "finish_queue.h"

#include <pthread.h>

/* The actions of the finisher's threads. */
struct log {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	char order[64]; /* first characters of the numbers of uploads */
	size_t n;
	size_t n_woken;
	bool open; /* the first upload, "x", ends when this is set */
};

static void run(void *ctx, const struct ux_finish_request *what, struct ux_finish_outcome *ret)
{
	struct log *l = ctx;
	pthread_mutex_lock(&l->lock);
	if (what->uid[0] != 'x')
		l->order[l->n++] = what->uid[0];
	while (what->uid[0] == 'x' && !l->open)
		pthread_cond_wait(&l->changed, &l->lock);
	pthread_mutex_unlock(&l->lock);
	assert_string_equal(what->who.key_id, "key");
	ret->code = what->uid[0] == 'b' ? ux_error_set(&ret->err, UX_ECORRUPT, "bad") : UX_OK;
}

static void wake(void *ctx)
{
	struct log *l = ctx;
	pthread_mutex_lock(&l->lock);
	l->n_woken++;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

static void log_wait_woken(struct log *l, size_t n)
{
	pthread_mutex_lock(&l->lock);
	while (l->n_woken < n)
		pthread_cond_wait(&l->changed, &l->lock);
	pthread_mutex_unlock(&l->lock);
}

static void log_let_go(struct log *l)
{
	pthread_mutex_lock(&l->lock);
	l->open = true;
	pthread_cond_broadcast(&l->changed);
	pthread_mutex_unlock(&l->lock);
}

static enum ux_finish_state join(struct ux_finisher *f, const char *ns, const char *uid,
				 uint64_t size, struct ux_finish_waiter *w)
{
	const struct ux_finish_request what = {
		.ns = ns, .uid = uid, .size = size, .who = {.key_id = "key", .from = "test"}};
	return ux_finisher_join(f, &what, w);
}

static void namespaces_take_turns_and_small_uploads_come_first(void **state)
{
	(void)state;
	struct log l = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
	struct ux_finisher *f = NULL;
	static const struct {
		const char *ns, *uid;
		uint64_t size;
	} uploads[] = {{"m", "x", 1},      {"many", "4", 400}, {"many", "3", 300},
		       {"many", "1", 100}, {"many", "2", 200}, {"one", "b", 9000},
		       {"other", "c", 5}};
	struct ux_finish_waiter w[ux_countof(uploads)] = {0}, again = {.wake = wake, .ctx = &l};
	assert_int_equal(ux_finisher_open(&f, 1, 0, run, &l, NULL), UX_OK);
	for (size_t i = 0; i < ux_countof(uploads); i++) {
		w[i] = (struct ux_finish_waiter){.wake = wake, .ctx = &l};
		assert_int_equal(join(f, uploads[i].ns, uploads[i].uid, uploads[i].size, &w[i]),
				 UX_FINISH_WAITING);
	}
	assert_int_equal(join(f, "one", "b", 9000, &w[5]), UX_FINISH_WAITING); /* waits already */
	assert_int_equal(join(f, "one", "b", 9000, &again), UX_FINISH_WAITING);
	ux_finisher_leave(f, &w[6]); /* its upload is still finished */
	log_let_go(&l);
	log_wait_woken(&l, 7);
	for (size_t i = 0; i < 6; i++)
		assert_int_equal(join(f, uploads[i].ns, uploads[i].uid, 1, &w[i]), UX_FINISH_DONE);
	assert_int_equal(join(f, "one", "b", 9000, &again), UX_FINISH_DONE);
	assert_int_equal(again.outcome.code, UX_ECORRUPT);
	assert_string_equal(w[5].outcome.err.text, "bad");
	assert_int_equal(w[1].outcome.code, UX_OK);
	assert_false(w[6].done);
	ux_finisher_close(f);
	assert_string_equal(l.order, "1bc234");
}

/* With two threads, one is kept for files that are not large. */
static void large_uploads_leave_a_thread(void **state)
{
	(void)state;
	struct log l = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
	struct ux_finisher *f = NULL;
	struct ux_finish_waiter w[3] = {
		{.wake = wake, .ctx = &l}, {.wake = wake, .ctx = &l}, {.wake = wake, .ctx = &l}};
	assert_int_equal(ux_finisher_open(&f, 2, 0, run, &l, NULL), UX_OK);
	assert_int_equal(join(f, "a", "x1", UINT64_C(1) << 30, &w[0]), UX_FINISH_WAITING);
	assert_int_equal(join(f, "b", "x2", UINT64_C(1) << 30, &w[1]), UX_FINISH_WAITING);
	assert_int_equal(join(f, "c", "s", 1000, &w[2]), UX_FINISH_WAITING);
	log_wait_woken(&l, 1);
	assert_int_equal(join(f, "c", "s", 1000, &w[2]), UX_FINISH_DONE);
	log_let_go(&l);
	log_wait_woken(&l, 3);
	ux_finisher_close(f);
}

/* Threads for small uploads take none that takes processor time. */
static void small_uploads_have_threads_of_their_own(void **state)
{
	(void)state;
	struct log l = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
	struct ux_finisher *f = NULL;
	struct ux_finish_waiter w[4];
	assert_int_equal(ux_finisher_open(&f, 1, 2, run, &l, NULL), UX_OK);
	for (size_t i = 0; i < ux_countof(w); i++)
		w[i] = (struct ux_finish_waiter){.wake = wake, .ctx = &l};
	assert_int_equal(join(f, "a", "x1", UX_FINISH_SMALL + 1, &w[0]), UX_FINISH_WAITING);
	assert_int_equal(join(f, "b", "2", UX_FINISH_SMALL + 1, &w[1]), UX_FINISH_WAITING);
	assert_int_equal(join(f, "c", "3", UX_FINISH_SMALL, &w[2]), UX_FINISH_WAITING);
	assert_int_equal(join(f, "d", "4", 1, &w[3]), UX_FINISH_WAITING);
	log_wait_woken(&l, 2);
	assert_int_equal(join(f, "c", "3", 1, &w[2]), UX_FINISH_DONE);
	assert_int_equal(join(f, "d", "4", 1, &w[3]), UX_FINISH_DONE);
	assert_int_equal(join(f, "b", "2", 1, &w[1]), UX_FINISH_WAITING);
	log_let_go(&l);
	log_wait_woken(&l, 4);
	ux_finisher_close(f);
}

static void what_waits_is_dropped_when_the_server_stops(void **state)
{
	(void)state;
	struct log l = {.lock = PTHREAD_MUTEX_INITIALIZER,
			.changed = PTHREAD_COND_INITIALIZER,
			.open = true};
	struct ux_finisher *f = NULL;
	struct ux_finish_waiter w = {.wake = wake, .ctx = &l};
	assert_int_equal(ux_finisher_open(&f, 2, 0, run, &l, NULL), UX_OK);
	assert_int_equal(join(f, "a", "1", 1, &w), UX_FINISH_WAITING);
	ux_finisher_leave(f, &w);
	ux_finisher_close(f);
	ux_finisher_close(NULL);
	assert_true(l.n <= 1);
}

UX_SUITE(finish_queue)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(namespaces_take_turns_and_small_uploads_come_first),
		UX_TEST(large_uploads_leave_a_thread),
		UX_TEST(small_uploads_have_threads_of_their_own),
		UX_TEST(what_waits_is_dropped_when_the_server_stops),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
