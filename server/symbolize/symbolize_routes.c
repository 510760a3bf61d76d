/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/symbolize: handlers for the JSON and the compact form. */
#include "frame_cache.h"
#include "frame_cache_wire.h"
#include "json_out.h"
#include "request_values.h"
#include "spare_memory.h"
#include "symbolize.h"
#include "text.h"

/* --- JSON ------------------------------------------------------------------------------------- */

struct json_form {
	struct ux_request *req;
	struct ux_json j;
	struct ux_out later;   /* frames of a module whose status is not known yet */
	struct ux_out *frames; /* buffer for frames: the answer or `later` */
	bool any;              /* an address of the module has been written */
};

static void json_form_deinit(struct json_form *f)
{
	ux_out_deinit(&f->later);
}

/* Writes everything before the frames of an open module. */
static void json_form_head(struct json_form *f, const struct ux_module_answer *a)
{
	ux_json_key_cstr(&f->j, "status", a->status == UX_MODULE_PENDING ? "pending" : "found");
	ux_json_key_cstr(&f->j, "quality", ux_quality_name(a->quality));
	ux_json_key_cstr(&f->j, "trust", ux_trust_name(a->trust));
	ux_json_key(&f->j, "frames");
	ux_json_array_begin(&f->j);
}

static void json_form_begin(void *ctx, const struct ux_module_answer *a)
{
	struct json_form *f = ctx;
	ux_json_object_begin(&f->j);
	ux_json_key_str(&f->j, "id", a->module->id);
	f->any = false;
	f->frames = a->deadline ? &f->later : f->j.out;
	ux_out_reset(&f->later);
	if (a->open && !a->deadline)
		json_form_head(f, a);
}

/* Writes the frames of the addresses of a group. */
static enum ux_code json_form_put_group(struct json_form *f, const struct ux_resolver *r,
					const uint32_t *frames, size_t n)
{
	ux_frame_cache_prefetch_json(r->cache, frames, n);
	for (size_t i = 0; i < n; i++) {
		if (f->any)
			ux_out_u8(f->frames, ',');
		f->any = true;
		ux_frame_cache_json(r->cache, frames[i], f->frames);
	}
	return ux_out_status(f->frames, &f->req->err);
}

static enum ux_code json_form_put(void *ctx, const struct ux_resolver *r, const uint32_t *frames,
				  size_t n)
{
	struct json_form *f = ctx;
	for (size_t i = 0; i < n; i += UX_FRAME_CACHE_GROUP)
		UX_TRY(json_form_put_group(f, r, frames + i,
					   ux_min(n - i, (size_t)UX_FRAME_CACHE_GROUP)));
	return ux_out_status(f->frames, &f->req->err);
}

static void json_form_end(void *ctx, const struct ux_module_answer *a)
{
	static const char *const words[] = {"found", "missing", "failed", "pending"};
	struct json_form *f = ctx;
	if (a->open && a->deadline) {
		json_form_head(f, a);
		ux_out_put(f->j.out, f->later.data, f->later.size);
	}
	if (a->open)
		ux_json_array_end(&f->j);
	else
		ux_json_key_cstr(&f->j, "status", words[a->status]);
	if (a->reason[0] != '\0')
		ux_json_key_cstr(&f->j, "reason", a->reason);
	if (a->status == UX_MODULE_PENDING)
		ux_json_key_u64(&f->j, "retry_after", a->retry_after_s);
	ux_json_object_end(&f->j);
}

static void symbolize_keep_memory(void *ctx)
{
	struct ux_request *req = ctx;
	if (req->out.cap >= UX_SPARE_MIN)
		ux_spare_memory_give(ux_module_cache_spare(ux_server_of(req)->cache), &req->out);
}

/*
 * Gives this answer a buffer of earlier answers if it will be large, and keeps that buffer for the
 * next large answer. to: the buffer to replace.
 */
static enum ux_code symbolize_expect_answer(struct ux_request *req, size_t n, struct ux_out *to)
{
	struct ux_spare_memory *spare = ux_module_cache_spare(ux_server_of(req)->cache);
	if (n < UX_SPARE_ADDRESSES)
		return UX_OK;
	ux_spare_memory_take(spare, to);
	return ux_request_keep(req, symbolize_keep_memory, req);
}

static const struct ux_symbolize_writer json_form = {json_form_begin, json_form_put, json_form_end};

static enum ux_code symbolize_answer_json(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(ux_symbolize_request_deinit) struct ux_symbolize_request request =
		UX_SYMBOLIZE_REQUEST_INIT;
	ux_cleanup(json_form_deinit) struct json_form f = {
		.req = req, .j = ux_json_make(&req->out), .later.quota = &req->answer};
	enum ux_code first = UX_OK;
	UX_TRY(ux_symbolize_request_parse_json(&request, req->body, &req->arena, &req->err));
	UX_TRY(symbolize_expect_answer(req, request.pcs.size, &req->out));
	ux_json_object_begin(&f.j);
	ux_json_key(&f.j, "modules");
	ux_json_array_begin(&f.j);
	UX_TRY(ux_symbolize(req, &request, &json_form, &f, &first));
	ux_json_array_end(&f.j);
	ux_json_object_end(&f.j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}

/* --- the compact form ------------------------------------------------------------------------- */

struct compact_form {
	struct ux_request *req;
	struct ux_frame_reply_pool *wires;
	struct ux_frame_reply *wire;
};

static void compact_form_begin(void *ctx, const struct ux_module_answer *a)
{
	struct compact_form *f = ctx;
	(void)a;
	ux_frame_reply_reset(f->wire);
}

static enum ux_code compact_form_put(void *ctx, const struct ux_resolver *r, const uint32_t *frames,
				     size_t n)
{
	struct compact_form *f = ctx;
	if (r->fresh)
		ux_frame_reply_reset(f->wire);
	if (!ux_frame_reply_add(f->wire, r->cache, frames, n))
		return ux_error_nomem(&f->req->err);
	return ux_frame_reply_status(f->wire, &f->req->err);
}

static void compact_form_end(void *ctx, const struct ux_module_answer *s)
{
	struct compact_form *f = ctx;
	ux_wire_reply_module(&f->wire->reply, s->status, s->quality, ux_bytes_cstr(s->reason),
			     s->retry_after_s, s->n);
}

static const struct ux_symbolize_writer compact_form = {compact_form_begin, compact_form_put,
							compact_form_end};

static void compact_form_deinit(struct compact_form *f)
{
	ux_frame_reply_pool_put(f->wires, f->wire);
}

/*
 * A small reply is copied, and its memory kept with the tables. A large one is sent from where it
 * was written.
 */
static enum ux_code compact_form_finish(struct compact_form *f, struct ux_response *res)
{
	struct ux_out *out = &f->req->out, *strings = &f->wire->reply.strings;
	struct ux_bytes reply = ux_wire_reply_finish(&f->wire->reply);
	UX_TRY(ux_out_status(strings, &f->req->err));
	if (strings->cap < UX_SPARE_MIN) {
		ux_out_put(out, reply.data, reply.size);
		return ux_response_out(f->req, res, UX_WIRE_TYPE);
	}
	struct ux_out unused = *out;
	assert(out->quota == strings->quota);
	*out = *strings;
	*strings = unused;
	UX_TRY(ux_response_out(f->req, res, UX_WIRE_TYPE));
	res->body = reply;
	return UX_OK;
}

static enum ux_code symbolize_answer_compact(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(ux_symbolize_request_deinit) struct ux_symbolize_request request = {0};
	struct ux_frame_reply_pool *wires = ux_module_cache_replies(ux_server_of(req)->cache);
	ux_cleanup(compact_form_deinit) struct compact_form f = {
		.req = req, .wires = wires, .wire = ux_frame_reply_pool_get(wires, &req->answer)};
	enum ux_code first = UX_OK;
	if (!f.wire)
		return ux_error_nomem(&req->err);
	UX_TRY(ux_symbolize_request_parse_compact(&request, req->body, &req->arena, &req->err));
	UX_TRY(symbolize_expect_answer(req, request.pcs.size, &f.wire->reply.strings));
	UX_TRY(ux_symbolize(req, &request, &compact_form, &f, &first));
	return compact_form_finish(&f, res);
}

/* --- handlers --------------------------------------------------------------------------------- */

/* Parameters of the content type are ignored. */
static bool symbolize_is_compact(const struct ux_request *req)
{
	struct ux_bytes type, want = UX_STR(UX_WIRE_TYPE);
	if (!ux_request_header(req, "Content-Type", &type) || !ux_bytes_starts(type, want))
		return false;
	return type.size == want.size || type.data[want.size] == ';' || type.data[want.size] == ' ';
}

enum ux_code ux_handle_symbolize(struct ux_request *req, struct ux_response *res)
{
	return symbolize_is_compact(req) ? symbolize_answer_compact(req, res)
					 : symbolize_answer_json(req, res);
}

static enum ux_code symbolize_query_options(struct ux_request *req, struct ux_symbolize_request *a)
{
	struct ux_bytes v;
	uint64_t timeout = 0;
	if (ux_request_query(req, "demangle", &v))
		UX_TRY(ux_symbolize_request_parse_demangle(a, v, &req->err));
	if (ux_request_query(req, "timeout_ms", &v) &&
	    (!ux_decimal_parse(v, &timeout) || timeout > UINT32_MAX))
		return ux_error_set(&req->err, UX_EINVAL, "timeout_ms is not a 32-bit number");
	a->timeout_ms = (uint32_t)timeout;
	if (!ux_request_query(req, "return_addresses", &v))
		return UX_OK;
	a->return_addresses = ux_bytes_eq(v, UX_STR("true")) || ux_bytes_eq(v, UX_STR("1"));
	if (a->return_addresses || ux_bytes_eq(v, UX_STR("false")) || ux_bytes_eq(v, UX_STR("0")))
		return UX_OK;
	return ux_error_set(&req->err, UX_EINVAL, "return_addresses is neither true nor false");
}

enum ux_code ux_handle_symbolize_one(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(ux_symbolize_request_deinit) struct ux_symbolize_request request =
		UX_SYMBOLIZE_REQUEST_INIT;
	ux_cleanup(json_form_deinit) struct json_form f = {
		.req = req, .j = ux_json_make(&req->out), .later.quota = &req->answer};
	struct ux_requested_module module = {.id = req->params[0]};
	struct ux_bytes list;
	enum ux_code first = UX_OK;
	UX_TRY(symbolize_query_options(req, &request));
	UX_TRY(ux_module_id_parse(module.id, &req->arena, &module.canonical, &req->err));
	if (!ux_request_query(req, "addr", &list) || list.size == 0)
		return ux_error_set(&req->err, UX_EINVAL, "expected ?addr=0x1,0x2");
	if (!ux_requested_modules_append(&request.modules, module))
		return ux_error_nomem(&req->err);
	UX_TRY(ux_symbolize_request_parse_list(&request, list, &req->err));
	UX_TRY(ux_symbolize(req, &request, &json_form, &f, &first));
	if (first == UX_ENOTFOUND)
		return ux_error_set(&req->err, first, "no module has the ID %.100s",
				    module.canonical);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}
