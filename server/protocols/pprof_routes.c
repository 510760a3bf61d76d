/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /pprof/{id}/symbol: names for `go tool pprof -symbolize=remote` and the older pprof. Source:
 * google/pprof, "Remote Servers". The protocol has no inlined calls: each address has one name.
 */
#include "clock.h"
#include "protocols.h"
#include "request_values.h"
#include "symbolize.h"
#include "text.h"

enum {
	WAIT_MS = 5000 /* ms to wait while a module is fetched, because pprof does not retry */
};

static enum ux_code pprof_open_module(struct ux_request *req, struct ux_response *res,
				      struct ux_open_module **ret)
{
	const char *id = NULL;
	UX_TRY(ux_module_id_parse(req->params[0], &req->arena, &id, &req->err));
	const int64_t until = ux_clock_ms() + WAIT_MS;
	for (;;) {
		struct ux_error why = UX_ERROR_INIT;
		int64_t left = ux_max(until - ux_clock_ms(), INT64_C(0));
		uint32_t step = (uint32_t)ux_min(left, (int64_t)UX_WORK_WAIT_MS);
		struct ux_module_later later = {0};
		UX_TRY(ux_request_check(req));
		enum ux_code code = ux_server_module_open(ux_server_of(req), ux_caller_of(req)->ns,
							  id, step, ret, &later, &why);
		res->retry_s = later.retry_s;
		if (code != UX_EUNAVAILABLE || later.away || left == 0) {
			if (code != UX_OK)
				req->err = why;
			return code;
		}
	}
}

/* Always answers with a number above 0: 0 would mean that the profile already has names. */
enum ux_code ux_handle_pprof_probe(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(ux_open_module_release) struct ux_open_module *m = NULL;
	UX_TRY(pprof_open_module(req, res, &m));
	ux_out_cstr(&req->out, "num_symbols: 1\n");
	return ux_response_out(req, res, "text/plain; charset=utf-8");
}

/* --- the request: addresses separated by '+' -------------------------------------------------- */

/* Cuts the text before the next '+' from the front. */
static struct ux_bytes pprof_word_next(struct ux_bytes *s)
{
	const uint8_t *plus = memchr(s->data, '+', s->size);
	size_t n = plus ? (size_t)(plus - s->data) : s->size;
	struct ux_bytes word = ux_bytes(s->data, n);
	*s = plus ? ux_bytes(plus + 1, s->size - n - 1) : UX_BYTES_NONE;
	return word;
}

static struct ux_bytes pprof_trim_newline(struct ux_bytes s)
{
	while (s.size > 0 && (s.data[s.size - 1] == '\n' || s.data[s.size - 1] == '\r'))
		s.size--;
	return s;
}

static enum ux_code pprof_read_addresses(struct ux_request *req, struct ux_requested_pcs *ret)
{
	struct ux_bytes left = pprof_trim_newline(req->body);
	while (left.size > 0) {
		struct ux_bytes word = pprof_word_next(&left);
		uint64_t pc = 0;
		if (ret->size == UX_SYMBOLIZE_ADDRESSES_MAX)
			return ux_error_set(&req->err, UX_ELIMIT, "more than %d addresses",
					    UX_SYMBOLIZE_ADDRESSES_MAX);
		if (!ux_hex_parse_u64(word, /* hex= */ true, &pc))
			return ux_error_set(
				&req->err, UX_EINVAL, "'%.*s' is not an address; expected 0x...",
				(int)ux_min(word.size, (size_t)40), (const char *)word.data);
		if (!ux_requested_pcs_append(ret, pc))
			return ux_error_nomem(&req->err);
	}
	return UX_OK;
}

/* --- the answer ------------------------------------------------------------------------------- */

/* Writes a line for each address with a name: the name of the innermost frame. */
static enum ux_code pprof_put_lines(struct ux_request *req, const struct ux_resolver *r,
				    const uint64_t *pcs, const uint32_t *frames, size_t n)
{
	struct ux_out *out = &req->out;
	for (size_t i = 0; i < n && !out->failed; i++) {
		if (frames[i] == 0)
			continue;
		struct ux_bytes name = ux_frame_cache_text(r->cache, frames[i]).function;
		ux_out_fmt(out, "0x%" PRIx64 "\t", pcs[i]);
		ux_out_put(out, name.data, name.size);
		ux_out_u8(out, '\n');
	}
	return ux_out_status(out, &req->err);
}

enum ux_code ux_handle_pprof_symbol(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(ux_open_module_release) struct ux_open_module *m = NULL;
	ux_cleanup(ux_requested_pcs_deinit) struct ux_requested_pcs pcs = {0};
	UX_TRY(pprof_open_module(req, res, &m));
	UX_TRY(pprof_read_addresses(req, &pcs));
	UX_TRY(ux_open_module_bring(m, pcs.data, pcs.size, /* back= */ 0, &req->err));
	struct ux_work work = ux_request_work(req);
	ux_cleanup(ux_resolver_deinit) struct ux_resolver r = {
		.module = m, .mode = UX_DEMANGLE_FULL, .work = &work, .brought = true};
	uint32_t *frames = ux_arena_array(&req->arena, uint32_t, UX_RESOLVE_MAX);
	if (!frames)
		return ux_arena_fail(&req->arena, &req->err);
	for (size_t i = 0, done = 0; i < pcs.size; i += done) {
		UX_TRY(ux_resolve(&r, pcs.data + i, pcs.size - i, frames, &done, &req->err));
		UX_TRY(pprof_put_lines(req, &r, pcs.data + i, frames, done));
	}
	return ux_response_out(req, res, "text/plain; charset=utf-8");
}
