/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads that only send symbols. The agent's thread identifies and extracts files; it owns the
 * processor share and the remembered answers. Tasks begin and end in their order.
 */
#include "agent_work.h"

#include "clock.h"
#include "condition.h"

#include <errno.h>

enum {
	ROOM_MS = 1000, /* ms between checks for room for a task */
};

struct ux_agent_sender {
	struct ux_agent *agent;
	pthread_t thread;
	struct ux_push_work work; /* only o, summary and client are used */
	struct ux_push_options options;
	struct ux_push_summary summary; /* not used: results are counted when they are reported */
	struct ux_agent_task *task;     /* under way */
	bool no_memory;                 /* out of memory for a result of the task */
};

static pthread_mutex_t *senders_lock(struct ux_agent_senders *s)
{
	(void)pthread_mutex_lock(&s->lock);
	return &s->lock;
}

static void senders_unlock(pthread_mutex_t **lock)
{
	(void)pthread_mutex_unlock(*lock);
}

void ux_agent_senders_init(struct ux_agent_senders *s)
{
	(void)pthread_mutex_init(&s->lock, NULL);
	(void)pthread_cond_init(&s->added, NULL);
	ux_condition_init(&s->done);
}

void ux_agent_senders_deinit(struct ux_agent *a)
{
	ux_agent_senders_drop(a);
	ux_agent_senders_stop(a);
	(void)pthread_cond_destroy(&a->senders.done);
	(void)pthread_cond_destroy(&a->senders.added);
	(void)pthread_mutex_destroy(&a->senders.lock);
}

/* --- a thread --------------------------------------------------------------------------------- */

static void sender_keep_result(void *ctx, const struct ux_push_result *r)
{
	struct ux_agent_sender *s = ctx;
	if (!ux_kept_results_add(&s->task->results, r))
		s->no_memory = true;
}

/* Waits for a task to begin. NULL: the thread should end. */
static struct ux_agent_task *sender_next(struct ux_agent_senders *s)
{
	ux_cleanup(senders_unlock) pthread_mutex_t *lock = senders_lock(s);
	while (!s->stops && (!s->fresh || s->failed))
		(void)pthread_cond_wait(&s->added, lock);
	if (s->stops)
		return NULL;
	struct ux_agent_task *t = s->fresh;
	t->state = UX_AGENT_TASK_BEGUN;
	s->waiting--;
	do
		s->fresh = s->fresh->next;
	while (s->fresh && s->fresh->state != UX_AGENT_TASK_WAITS);
	return t;
}

static void sender_end(struct ux_agent_senders *s, struct ux_agent_task *t, enum ux_code code)
{
	ux_cleanup(senders_unlock) pthread_mutex_t *lock = senders_lock(s);
	(void)lock;
	t->state = UX_AGENT_TASK_DONE;
	t->code = code;
	s->bytes -= t->bytes;
	s->failed = s->failed || code != UX_OK;
	(void)pthread_cond_signal(&s->done);
}

static void *sender_thread(void *ctx)
{
	struct ux_agent_sender *me = ctx;
	struct ux_agent_senders *s = &me->agent->senders;
	for (struct ux_agent_task *t; (t = sender_next(s));) {
		me->task = t;
		me->no_memory = false;
		me->work.client.deadline_ms = ux_clock_ms() + t->left_ms;
		enum ux_code code = t->send(t, &me->work, &t->why);
		if (code == UX_OK && me->no_memory)
			code = ux_error_nomem(&t->why);
		sender_end(s, t, code);
	}
	return NULL;
}

static void sender_free(struct ux_agent_sender **s)
{
	if (*s)
		ux_push_client_close(&(*s)->work.client);
	free(*s);
}

/* Starts a thread. If that fails, the other threads do its work. */
static void sender_start(struct ux_agent *a)
{
	ux_cleanup(sender_free) struct ux_agent_sender *me = calloc(1, sizeof(*me));
	if (!me)
		return;
	me->agent = a;
	me->options = a->push;
	me->options.result = sender_keep_result;
	me->options.ctx = me;
	me->work.o = &me->options;
	me->work.summary = &me->summary;
	if (ux_push_client_share(&me->work.client, &me->options, &a->work.client, NULL) != UX_OK)
		return;
	me->work.client.sends = ux_agent_budget_sends;
	me->work.client.sends_ctx = a;
	if (pthread_create(&me->thread, NULL, sender_thread, me) == 0)
		a->senders.threads[a->senders.n++] = ux_take(&me);
}

void ux_agent_senders_stop(struct ux_agent *a)
{
	struct ux_agent_senders *s = &a->senders;
	struct ux_push_direct *bucket = &a->work.client.direct;
	(void)senders_lock(s);
	s->stops = true;
	(void)pthread_cond_broadcast(&s->added);
	(void)pthread_mutex_unlock(&s->lock);
	for (; s->n > 0; s->n--) {
		struct ux_agent_sender *t = s->threads[s->n - 1];
		(void)pthread_join(t->thread, NULL);
		/* An unreachable bucket costs seconds: the next threads should not try it. */
		bucket->off_until_ms =
			ux_max(bucket->off_until_ms, t->work.client.direct.off_until_ms);
		sender_free(&t);
	}
	s->stops = false;
}

/* --- the agent's thread ----------------------------------------------------------------------- */

/*
 * Removes the first task from the line if it is done or was dropped. Waits for that until until_ms
 * (of the monotonic clock). NULL: the first task is not done, or there is no task.
 */
static struct ux_agent_task *senders_take(struct ux_agent_senders *s, int64_t until_ms)
{
	ux_cleanup(senders_unlock) pthread_mutex_t *lock = senders_lock(s);
	while (s->first && s->first->state != UX_AGENT_TASK_DONE &&
	       !(s->failed && s->first->state == UX_AGENT_TASK_WAITS)) {
		if (!ux_condition_wait(&s->done, lock, until_ms))
			return NULL;
	}
	struct ux_agent_task *t = s->first;
	if (!t)
		return NULL;
	s->first = t->next;
	s->last = s->first ? s->last : NULL;
	s->size--;
	if (t->state == UX_AGENT_TASK_WAITS) {
		s->waiting--;
		s->bytes -= t->bytes;
		if (s->fresh == t)
			s->fresh = NULL; /* the others are dropped, too */
	}
	return t;
}

/* Reports the results of a task that was removed from the line, and releases it. */
static enum ux_code senders_end(struct ux_agent *a, struct ux_agent_task *t, struct ux_error *err)
{
	enum ux_code code = t->code;
	bool sent = t->state == UX_AGENT_TASK_DONE && code == UX_OK;
	a->failed = false;
	if (sent)
		ux_kept_results_report(&t->results, &a->work);
	else
		ux_kept_results_free(&t->results);
	if (code != UX_OK && err && err->code == UX_OK)
		*err = t->why;
	t->end(a, t, sent);
	return code;
}

static bool senders_have_failed(struct ux_agent_senders *s)
{
	ux_cleanup(senders_unlock) pthread_mutex_t *lock = senders_lock(s);
	(void)lock;
	return s->failed;
}

enum ux_code ux_agent_senders_finish(struct ux_agent *a, struct ux_error *err)
{
	struct ux_agent_senders *s = &a->senders;
	enum ux_code first = UX_OK;
	for (struct ux_agent_task *t; (t = senders_take(s, INT64_MAX));) {
		enum ux_code code = senders_end(a, t, first == UX_OK ? err : NULL);
		first = first == UX_OK ? code : first;
	}
	(void)senders_lock(s);
	s->failed = false;
	(void)pthread_mutex_unlock(&s->lock);
	return first;
}

void ux_agent_senders_drop(struct ux_agent *a)
{
	(void)senders_lock(&a->senders);
	a->senders.failed = true;
	(void)pthread_mutex_unlock(&a->senders.lock);
	(void)!ux_agent_senders_finish(a, NULL);
}

enum ux_code ux_agent_senders_report(struct ux_agent *a, int64_t wait_ms, struct ux_error *err)
{
	struct ux_agent_senders *s = &a->senders;
	int64_t until = ux_clock_ms() + wait_ms;
	/* A failure is reported after all earlier tasks; meanwhile no thread begins a task. */
	for (struct ux_agent_task *t; !senders_have_failed(s) && (t = senders_take(s, until));) {
		enum ux_code code = senders_end(a, t, err);
		if (code != UX_OK) {
			ux_agent_senders_drop(a);
			return code;
		}
		until = 0;
	}
	return senders_have_failed(s) ? ux_agent_senders_finish(a, err) : UX_OK;
}

bool ux_agent_senders_have_tasks(const struct ux_agent_senders *s)
{
	return s->size > 0; /* only the agent's thread changes it */
}

static bool senders_have_room(struct ux_agent_senders *s, const struct ux_agent_task *t)
{
	ux_cleanup(senders_unlock) pthread_mutex_t *lock = senders_lock(s);
	(void)lock;
	return s->waiting < UX_AGENT_TASKS_WAITING_MAX && s->size < UX_AGENT_TASKS_MAX &&
	       (s->bytes == 0 || t->bytes <= UX_AGENT_TASK_SMALL ||
		s->bytes + t->bytes <= UX_AGENT_TASKS_BYTES_MAX);
}

/* Appends the task. Returns the number of tasks that wait for a thread. */
static size_t senders_append(struct ux_agent_senders *s, struct ux_agent_task *t)
{
	ux_cleanup(senders_unlock) pthread_mutex_t *lock = senders_lock(s);
	(void)lock;
	t->state = t->send ? UX_AGENT_TASK_WAITS : UX_AGENT_TASK_DONE;
	if (s->last)
		s->last->next = t;
	else
		s->first = t;
	s->last = t;
	s->size++;
	if (!t->send)
		return 0;
	s->fresh = s->fresh ? s->fresh : t;
	s->bytes += t->bytes;
	(void)pthread_cond_signal(&s->added);
	return ++s->waiting;
}

/* Does a task in this thread, after all earlier tasks. */
static enum ux_code senders_do_here(struct ux_agent *a, struct ux_agent_task *t,
				    struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	a->failed = false;
	ux_kept_results_report(&t->results, &a->work);
	enum ux_code code = t->send ? t->send(t, &a->work, &why) : UX_OK;
	t->end(a, t, code == UX_OK);
	if (code != UX_OK && err && err->code == UX_OK)
		*err = why;
	return code;
}

/* Waits until there is room for the task. */
static enum ux_code senders_make_room(struct ux_agent *a, const struct ux_agent_task *t,
				      struct ux_error *err)
{
	UX_TRY(ux_agent_senders_report(a, 0, err));
	while (!senders_have_room(&a->senders, t))
		UX_TRY(ux_agent_senders_report(a, ROOM_MS, err));
	return UX_OK;
}

enum ux_code ux_agent_senders_add(struct ux_agent *a, struct ux_agent_task *t, bool alone,
				  struct ux_error *err)
{
	struct ux_agent_senders *s = &a->senders;
	enum ux_code code = senders_make_room(a, t, err);
	if (code != UX_OK) {
		ux_kept_results_free(&t->results);
		t->end(a, t, /* sent= */ false);
		return code;
	}
	bool here = !t->send || (alone && t->bytes <= UX_AGENT_ALONE_BYTES_MAX);
	if (t->send && !here && s->n == 0)
		sender_start(a);
	here = here || s->n == 0;
	if (here && !ux_agent_senders_have_tasks(s))
		return senders_do_here(a, t, err);
	size_t waiting = senders_append(s, t);
	if (waiting > s->n && s->n < UX_AGENT_SENDERS_MAX)
		sender_start(a);
	return UX_OK;
}
