/* SPDX-License-Identifier: Apache-2.0 */
/* Actions of the agent while the server is away, and when it is back. */
#include "agent_work.h"

#include "agent_queue.h"
#include "clock.h"
#include "hash.h"
#include "http_client.h"

enum {
	RETRY_MS = 10000,      /* until the first attempt to reach the server again; doubles... */
	RETRY_MAX_MS = 300000, /* ...up to this */
	/* up to this part of the delay is added at random, so that hosts take turns */
	SPREAD_SHARE = 4,
	PROBE_MS = 10000,  /* for the attempt */
	QUEUE_BATCH = 256, /* maximum number of messages of one query */
};

/* --- when to come again ----------------------------------------------------------------------- */

void ux_agent_away(struct ux_agent *a)
{
	int64_t now = ux_clock_ms();
	int64_t ms = ux_min((int64_t)RETRY_MS << ux_min(a->attempts, 16U), (int64_t)RETRY_MAX_MS);
	ms += (int64_t)(ux_hash_u64((uint64_t)now) % (uint64_t)(ms / SPREAD_SHARE));
	a->away = true;
	a->attempts++;
	a->again_ms = now + ms;
}

void ux_agent_back(struct ux_agent *a)
{
	a->away = false;
	a->reached = true;
	a->attempts = 0;
	a->again_ms = 0;
}

bool ux_agent_keeps(const struct ux_agent *a)
{
	return a->queue && a->o->queue_max > 0 && a->away;
}

/* Any answer suffices: reading files for a query that then fails would cost far more than this
 * request. */
enum ux_code ux_agent_probe(struct ux_agent *a, struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	const struct ux_http_call call = {
		.method = UX_METHOD_GET, .path = "/healthz", .timeout_ms = PROBE_MS};
	return ux_http_client_call(a->work.client.http, &call, &answer, err);
}

/* --- the queue -------------------------------------------------------------------------------- */

enum ux_code ux_agent_queue_put(struct ux_agent *a, const struct ux_agent_message *m,
				struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out head = {0};
	ux_agent_message_write_head(&head, m);
	const struct ux_bytes parts[] = {ux_out_bytes(&head), m->gsym};
	UX_TRY(ux_out_status(&head, err));
	UX_TRY(ux_disk_queue_add_parts(a->queue, 0, parts, ux_countof(parts), err));
	ux_agent_metric_add(&a->metrics.queued, 1);
	return UX_OK;
}

enum ux_code ux_agent_queue_module(struct ux_agent *a, struct ux_push_module *m,
				   struct ux_error *err)
{
	ux_cleanup(ux_push_gsym_deinit) struct ux_push_gsym gsym = {0};
	struct ux_extract_stats stats = {0};
	struct ux_error why = UX_ERROR_INIT;
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	enum ux_code code = ux_push_extract(&a->work, m, &gsym, &stats, &why);
	if (code == UX_OK && stats.quality == UX_QUALITY_NONE)
		return UX_OK;
	const struct ux_agent_message message = {.ids = m->ids,
						 .quality = stats.quality,
						 .origin = m->origin,
						 .path = ux_bytes_cstr(m->path),
						 .gsym = gsym.file.bytes};
	if (code == UX_OK)
		code = ux_agent_queue_put(a, &message, &why);
	if (code == UX_OK || code == UX_ENOTFOUND)
		return UX_OK;
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	ux_push_report(&a->work, &(struct ux_push_result){
					 .path = m->path,
					 .id = &m->ids.ids[0],
					 .status = UX_PUSH_DONE_FAILED,
					 .reason = ux_error_format(&why, text, sizeof(text))});
	return UX_OK;
}

enum ux_code ux_agent_queue_ids(struct ux_agent *a, struct ux_error *err)
{
	uint64_t from = 0;
	for (struct ux_disk_message m = {0};
	     a->queue && ux_disk_queue_next(a->queue, 0, from, &m, NULL) == UX_OK;) {
		struct ux_agent_message message;
		enum ux_agent_taken taken = UX_AGENT_NEW;
		enum ux_code code = UX_OK;
		if (ux_agent_message_parse(m.file.bytes, &message, NULL) == UX_OK)
			code = ux_agent_take_ids(a, &message.ids, message.origin.trust, &taken,
						 err);
		from = m.number + 1;
		ux_disk_message_close(&m);
		UX_TRY(code);
	}
	return UX_OK;
}

/* The messages of one query. */
struct queue_batch {
	struct ux_disk_message files[QUEUE_BATCH];
	struct ux_agent_message messages[QUEUE_BATCH];
	struct ux_push_query_entry entries[QUEUE_BATCH];
	struct ux_push_answer answers[QUEUE_BATCH];
	size_t n;
};

static void queue_batch_free(struct queue_batch **b)
{
	for (size_t i = 0; *b && i < (*b)->n; i++)
		ux_disk_message_close(&(*b)->files[i]);
	free(*b);
}

/* Opens the first messages of the queue. An unreadable message is reported and removed. */
static void queue_batch_read(struct ux_agent *a, struct queue_batch *b)
{
	uint64_t from = 0;
	while (b->n < QUEUE_BATCH &&
	       ux_disk_queue_next(a->queue, 0, from, &b->files[b->n], NULL) == UX_OK) {
		struct ux_error why = UX_ERROR_INIT;
		struct ux_agent_message *m = &b->messages[b->n];
		from = b->files[b->n].number + 1;
		if (ux_agent_message_parse(b->files[b->n].file.bytes, m, &why) != UX_OK) {
			m->ids.size = 0; /* it is removed in its turn */
			ux_push_report_left_out(&a->work, "a message of the queue",
						/* named= */ true, &why);
		}
		b->n++;
	}
}

/* A message that is being sent. It stays in the queue until it was sent. */
struct queue_task {
	struct ux_agent_task task;        /* first */
	const struct ux_agent_message *m; /* NULL: it could not be read */
	const char *description;
	struct ux_push_answer answer;
	uint64_t number; /* in the queue */
};

/* Returns the path of a message as a string. */
static const char *queue_path(const struct ux_agent_message *m, char ret[UX_AGENT_PATH_MAX + 1])
{
	memcpy(ret, m->path.data, m->path.size);
	ret[m->path.size] = '\0';
	return ret;
}

/* By any thread. */
static enum ux_code queue_upload(struct ux_agent_task *task, struct ux_push_work *w,
				 struct ux_error *err)
{
	struct queue_task *t = (struct queue_task *)task;
	char path[UX_AGENT_PATH_MAX + 1];
	struct ux_provenance from = w->o->provenance;
	struct ux_push_origin_text text;
	ux_push_origin_describe(&t->m->origin, &text, &from);
	const struct ux_push_upload upload = {
		.ids = &t->m->ids,
		.trust = t->m->origin.trust,
		.provenance = &from,
		.quality = t->m->quality,
		.bytes = t->m->gsym,
		.kind = "gsym",
		.description = t->description,
		.file = queue_path(t->m, path),
	};
	return ux_push_upload(&w->client, &upload, &t->answer, err);
}

static void queue_report(struct ux_agent *a, const struct queue_task *t)
{
	char path[UX_AGENT_PATH_MAX + 1];
	enum ux_push_status status = ux_push_status_of(t->answer.verdict);
	ux_push_report(&a->work,
		       &(struct ux_push_result){
			       .path = queue_path(t->m, path),
			       .id = &t->m->ids.ids[0],
			       .status = status,
			       .reason = t->answer.reason,
			       .quality = t->m->quality,
			       .size = status == UX_PUSH_DONE_UPLOADED ? t->m->gsym.size : 0,
		       });
}

static void queue_end_task(struct ux_agent *a, struct ux_agent_task *task, bool sent)
{
	struct queue_task *t = (struct queue_task *)task;
	if (sent && t->m) {
		queue_report(a, t);
		if (!a->failed)
			ux_agent_remember_ids(a, &t->m->ids, t->m->origin.trust, UX_AGENT_THERE);
	}
	if (sent)
		ux_disk_queue_remove(a->queue, 0, t->number);
	free(t);
}

/* Sends a message if the server wants it. NULL: the message is only removed. */
static enum ux_code queue_send_one(struct ux_agent *a, const struct queue_batch *b, size_t i,
				   const struct ux_push_answer *answer, struct ux_error *err)
{
	struct queue_task *t = calloc(1, sizeof(*t));
	if (!t)
		return ux_error_nomem(err);
	t->task.end = queue_end_task;
	t->number = b->files[i].number;
	t->description = a->push.description ? a->push.description : "";
	if (answer) {
		t->m = &b->messages[i];
		t->answer = *answer;
		t->task.send = answer->verdict == UX_PUSH_WANTED ? queue_upload : NULL;
		t->task.bytes = t->m->gsym.size;
	}
	ux_agent_budget_wait(a);
	t->task.left_ms = a->push.timeout_ms;
	a->work.client.deadline_ms = ux_clock_ms() + a->push.timeout_ms;
	return ux_agent_senders_add(a, &t->task, /* alone= */ b->n == 1, err);
}

static enum ux_code queue_send_batch(struct ux_agent *a, struct queue_batch *b,
				     struct ux_error *err)
{
	size_t n = 0;
	for (size_t i = 0; i < b->n; i++)
		if (b->messages[i].ids.size > 0)
			b->entries[n++] = (struct ux_push_query_entry){&b->messages[i].ids,
								       b->messages[i].quality,
								       b->messages[i].origin.trust};
	a->work.client.deadline_ms = ux_clock_ms() + a->push.timeout_ms;
	if (n > 0)
		UX_TRY(ux_push_query(&a->work.client, b->entries, n, false, b->answers, err));
	const struct ux_push_answer *answer = b->answers;
	for (size_t i = 0; i < b->n; i++)
		UX_TRY(queue_send_one(a, b, i, b->messages[i].ids.size > 0 ? answer++ : NULL, err));
	return UX_OK;
}

enum ux_code ux_agent_queue_send(struct ux_agent *a, bool *more, struct ux_error *err)
{
	if (!a->queue || ux_disk_queue_state(a->queue).messages == 0)
		return UX_OK;
	ux_cleanup(queue_batch_free) struct queue_batch *b = calloc(1, sizeof(*b));
	if (!b)
		return ux_error_nomem(err);
	queue_batch_read(a, b);
	*more = *more || b->n > 0;
	enum ux_code code = queue_send_batch(a, b, err);
	if (code != UX_OK) /* tasks point into the batch */
		ux_agent_senders_drop(a);
	return code != UX_OK ? code : ux_agent_senders_finish(a, err);
}
