/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/uploads/UID/finish: makes a candidate of the uploaded bytes. */
#include "finish_queue.h"
#include "upload.h"

enum {
	PARK_MS = 30 * 1000 /* ms that a request waits at most; it is usually woken earlier */
};

/*
 * Finds the candidate that the upload became, if it still exists. One that was kept apart is in the
 * module of its File ID.
 */
static const struct ux_candidate *finish_candidate(struct ux_request *req,
						   const struct ux_upload *up, struct ux_module *m)
{
	struct ux_index *ix = ux_server_of(req)->store->index;
	for (size_t k = 0; k < up->n_ids; k++) {
		if (ix->modules.find(ix, up->ns, up->ids[k], &req->arena, m, NULL) != UX_OK)
			continue;
		for (size_t i = 0; i < m->n_candidates; i++)
			if (memcmp(&m->candidates[i].blob, &up->hash, sizeof(up->hash)) == 0)
				return &m->candidates[i];
	}
	return NULL;
}

/*
 * Returns the quality. The quality of an ELF file is the quality of the GSYM that was extracted
 * from it.
 */
static enum ux_quality finish_quality(const struct ux_module *m, const struct ux_candidate *c)
{
	for (size_t i = 0; i < m->n_candidates; i++)
		if (m->candidates[i].parent == c->number)
			return m->candidates[i].quality;
	return c->quality;
}

static enum ux_code finish_answer_done(struct ux_request *req, struct ux_response *res,
				       const struct ux_upload *up)
{
	struct ux_module m = {0};
	const struct ux_candidate *c = finish_candidate(req, up, &m);
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "uid", up->uid);
	ux_json_key_cstr(&j, "id", c ? m.ids[0] : up->ids[0]);
	ux_json_key_cstr(&j, "status", up->status);
	ux_json_key_cstr(&j, "reason", up->reason);
	if (c && up->state == UX_UPLOAD_DONE)
		ux_json_key_cstr(&j, "quality", ux_quality_name(finish_quality(&m, c)));
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}

/* Maps the status of a failed upload to an error code. */
static enum ux_code finish_code_of(const char *word)
{
	for (unsigned code = UX_OK + 1; code < UX_CODE_COUNT; code++)
		if (strcmp(ux_http_code_word((enum ux_code)code), word) == 0)
			return (enum ux_code)code;
	return UX_ECORRUPT; /* "failed": the confined child could not read it */
}

/*
 * Repeats the answer for an upload that has ended. The first request may still wait for the disk.
 */
static enum ux_code finish_answer_ended(struct ux_request *req, struct ux_response *res,
					const struct ux_upload *up)
{
	struct ux_store *s = ux_server_of(req)->store;
	struct ux_stage_clock clock = ux_stage_begin(&s->stages);
	UX_TRY(s->index->sync(s->index, UX_SYNC_PROMISED, &req->err));
	if (up->state == UX_UPLOAD_PENDING)
		res->status = 202;
	if (up->state == UX_UPLOAD_DONE || up->state == UX_UPLOAD_PENDING) {
		UX_TRY(finish_answer_done(req, res, up));
		ux_stage_end(&clock, UX_STAGE_ANSWER);
		return UX_OK;
	}
	if (strcmp(up->status, "better-there") == 0) {
		res->word = "better_there";
		return ux_error_set(&req->err, UX_ECONFLICT, "%s", up->reason);
	}
	return ux_error_set(&req->err, finish_code_of(up->status), "%s", up->reason);
}

/* State that a request keeps between the calls of its handler. */
struct finish_wait {
	struct ux_finish_waiter waiter;
	struct ux_finisher *finisher;
	struct ux_request *req;
};

static void finish_wait_wake(void *ctx)
{
	struct finish_wait *w = ctx;
	ux_request_wake(w->req);
}

static void finish_wait_end(void *ctx)
{
	struct finish_wait *w = ctx;
	ux_finisher_leave(w->finisher, &w->waiter);
	free(w);
}

/* Returns the state of this request; NULL: memory is short. */
static struct finish_wait *finish_wait_of(struct ux_request *req)
{
	if (req->end == finish_wait_end)
		return req->end_ctx;
	struct finish_wait *w = req->end ? NULL : calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	w->req = req;
	w->finisher = ux_server_of(req)->finisher;
	w->waiter = (struct ux_finish_waiter){.wake = finish_wait_wake, .ctx = w};
	ux_request_on_end(req, finish_wait_end, w);
	return w;
}

/*
 * Lets a thread of the finisher do it. True: the request is parked until it is done. If the
 * finisher has too many, finishes a small upload here.
 */
static bool finish_elsewhere(struct ux_request *req, const struct ux_finish_request *what,
			     struct ux_finish_outcome *ret)
{
	struct finish_wait *w = finish_wait_of(req);
	enum ux_finish_state state =
		w ? ux_finisher_join(w->finisher, what, &w->waiter) : UX_FINISH_FULL;
	if (state == UX_FINISH_WAITING && ux_request_park(req, PARK_MS))
		return true;
	if (state == UX_FINISH_DONE) {
		*ret = w->waiter.outcome;
		return false;
	}
	if (state == UX_FINISH_FULL && what->size <= UX_FINISH_SMALL) {
		ux_finish_upload(ux_server_of(req), what, ret);
		return false;
	}
	ret->full = true;
	ret->code = ux_error_set(&ret->err, UX_EUNAVAILABLE,
				 "too many uploads are being finished; retry later");
	return false;
}

static enum ux_code finish_answer_failed(struct ux_request *req, struct ux_response *res,
					 const struct ux_finish_outcome *out)
{
	req->err = out->err;
	res->word = out->word;
	if (out->has_offset)
		ux_upload_offset_field(req, res, out->offset);
	return out->code;
}

enum ux_code ux_handle_upload_finish(struct ux_request *req, struct ux_response *res)
{
	struct ux_server *s = ux_server_of(req);
	struct ux_upload up;
	struct ux_finish_outcome out = {.err = UX_ERROR_INIT};
	UX_TRY(ux_upload_of(req, &up));
	if (up.state != UX_UPLOAD_OPEN)
		return finish_answer_ended(req, res, &up);
	const struct ux_finish_request what = {
		.ns = up.ns, .uid = up.uid, .size = up.size, .who = ux_who_of(req)};
	if (!s->finisher || !req->waits)
		ux_finish_upload(s, &what, &out);
	else if (finish_elsewhere(req, &what, &out))
		return UX_OK;
	if (out.code != UX_OK)
		return finish_answer_failed(req, res, &out);
	UX_TRY(ux_upload_of(req, &up));
	return finish_answer_ended(req, res, &up);
}
