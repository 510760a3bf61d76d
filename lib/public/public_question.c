/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions of unhex/question.h, for the compact form. */
#include "unhex/question.h"

#include "error.h"
#include "wire.h"

static_assert(sizeof(UX_QUESTION_TYPE) == sizeof(UX_WIRE_TYPE), "one type");

enum {
	OPTS_MIN = sizeof(struct ux_question_opts) /* size in the first version */
};

struct ux_question {
	struct ux_out out;
	size_t head; /* bytes before the first module */
};

struct ux_reply {
	struct ux_wire_read read;
	uint8_t *bytes;
};

enum ux_code ux_question_create(const struct ux_question_opts *caller, struct ux_question **ret,
				struct ux_error *err)
{
	struct ux_question_opts opts;
	UX_TRY(ux_sized_read(&opts, sizeof(opts), OPTS_MIN, caller, err));
	if ((opts.flags & ~(uint32_t)UX_QUESTION_RETURN_ADDRESSES) != 0)
		return ux_error_set(err, UX_EINVAL, "unknown flag in 0x%" PRIx32, opts.flags);
	if (opts.demangle > UX_DEMANGLE_ELIDED)
		return ux_error_set(err, UX_EINVAL, "unknown mode %" PRIu32, opts.demangle);
	struct ux_question *q = calloc(1, sizeof(*q));
	if (!q)
		return ux_error_nomem(err);
	const struct ux_wire_options options = {
		.return_addresses = (opts.flags & UX_QUESTION_RETURN_ADDRESSES) != 0,
		.demangle = (enum ux_demangle_mode)opts.demangle,
		.timeout_ms = opts.timeout_ms};
	ux_wire_question_begin(&q->out, &options);
	q->head = q->out.size;
	if (!q->out.failed) {
		*ret = q;
		return UX_OK;
	}
	ux_question_destroy(q);
	return ux_error_nomem(err);
}

void ux_question_destroy(struct ux_question *q)
{
	if (!q)
		return;
	ux_out_deinit(&q->out);
	free(q);
}

enum ux_code ux_question_add(struct ux_question *q, const char *id, const uint64_t *pcs, size_t n,
			     struct ux_error *err)
{
	struct ux_id typed;
	UX_TRY(ux_id_parse(ux_bytes_cstr(id), &typed, err));
	/* Appends the module and the end mark completely or not at all. */
	ux_cleanup(ux_out_deinit) struct ux_out module = {0};
	size_t before = q->out.size;
	ux_wire_question_add(&module, &typed, pcs, n);
	if (module.failed || !ux_out_grow(&q->out, module.size + 1)) {
		q->out.failed = false;
		q->out.size = before;
		return ux_error_nomem(err);
	}
	ux_out_put(&q->out, module.data, module.size);
	return UX_OK;
}

const void *ux_question_bytes(struct ux_question *q, size_t *ret_size)
{
	ux_wire_question_end(&q->out);
	if (q->out.failed)
		return NULL;
	*ret_size = q->out.size;
	q->out.size--; /* the next module overwrites the end mark */
	return q->out.data;
}

void ux_question_clear(struct ux_question *q)
{
	q->out.size = q->head;
}

enum ux_code ux_reply_open(const void *bytes, size_t size, struct ux_reply **ret,
			   struct ux_error *err)
{
	struct ux_reply *r = calloc(1, sizeof(*r));
	if (r)
		r->bytes = malloc(size + 1);
	if (!r || !r->bytes) {
		free(r);
		return ux_error_nomem(err);
	}
	if (size > 0)
		memcpy(r->bytes, bytes, size);
	enum ux_code code = ux_wire_read_open(&r->read, ux_bytes(r->bytes, size), err);
	if (code == UX_OK)
		*ret = r;
	else
		ux_reply_close(r);
	return code;
}

void ux_reply_close(struct ux_reply *r)
{
	if (!r)
		return;
	ux_wire_read_deinit(&r->read);
	free(r->bytes);
	free(r);
}

size_t ux_reply_count(const struct ux_reply *r)
{
	return r->read.n_modules;
}

struct ux_reply_module ux_reply_module_at(const struct ux_reply *r, size_t i)
{
	assert(i < r->read.n_modules);
	const struct ux_wire_module *m = &r->read.modules[i];
	return (struct ux_reply_module){
		.status = (enum ux_module_status)m->status,
		.quality = (enum ux_quality)m->quality,
		.reason = ux_wire_read_string(&r->read, m->reason),
		.retry_after_s = m->retry_after_s,
		.n = m->n,
	};
}

size_t ux_reply_frames(const struct ux_reply *r, size_t module, size_t address,
		       struct ux_frame *frames, size_t max)
{
	if (module >= r->read.n_modules || address >= r->read.modules[module].n)
		return 0;
	return ux_wire_read_frames(&r->read, r->read.modules[module].first + address, frames, max);
}
