/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /pprof/{id}/symbol: names for `go tool pprof -symbolize=remote` and the older pprof. Source:
 * google/pprof, "Remote Servers"; a line without its end is lost there, a name is all it takes.
 */
#include "text.h"
#include "lookup.h"
#include "request_values.h"
#include "protocols.h"
#include "symbolize.h"

enum {
	WAIT_MS = 5000 /* for a module that is being fetched: pprof does not ask again */
};

static void drop_module(struct ux_open_module **m)
{
	ux_open_module_unref(*m);
}

static enum ux_code open_module(struct ux_request *req, struct ux_open_module **ret)
{
	const char *id = NULL;
	uint32_t retry_s = 0;
	UX_TRY(ux_module_id_parse(req->params[0], &req->arena, &id, &req->err));
	return ux_server_module_open(ux_server_of(req), ux_caller_of(req)->ns, id, WAIT_MS, ret,
				     &retry_s, &req->err);
}

/* 0 would say that the addresses have names already. */
enum ux_code ux_handle_pprof_probe(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(drop_module) struct ux_open_module *m = NULL;
	UX_TRY(open_module(req, &m));
	ux_out_cstr(&req->out, "num_symbols: 1\n");
	return ux_response_out(req, res, "text/plain; charset=utf-8");
}

/* What stands before the next '+'. */
static struct ux_bytes word_next(struct ux_bytes *s)
{
	const uint8_t *plus = memchr(s->data, '+', s->size);
	size_t n = plus ? (size_t)(plus - s->data) : s->size;
	struct ux_bytes word = ux_bytes(s->data, n);
	*s = plus ? ux_bytes(plus + 1, s->size - n - 1) : UX_BYTES_NONE;
	return word;
}

/* A line per address that has a name: of the innermost call, which is what runs there. */
static enum ux_code put_line(struct ux_request *req, struct ux_lookup *l,
			     const struct ux_open_module *m, struct ux_bytes word)
{
	struct ux_frame frames[UX_FRAMES_MOST];
	uint64_t pc = 0;
	if (!ux_hex_parse_u64(word, /* hex= */ true, &pc))
		return ux_error_set(&req->err, UX_EINVAL, "'%.*s' is no address; expected 0x...",
				    (int)ux_min(word.size, (size_t)40), (const char *)word.data);
	if (ux_lookup_frames(l, m, pc, frames) == 0)
		return UX_OK;
	struct ux_bytes name = ux_lookup_name(l, frames[0].function);
	ux_out_fmt(&req->out, "0x%" PRIx64 "\t", pc);
	ux_out_put(&req->out, name.data, name.size);
	ux_out_u8(&req->out, '\n');
	if (req->out.size > UX_SYMBOLIZE_ANSWER_MOST)
		return ux_error_set(&req->err, UX_ELIMIT, "the answer is over %d bytes",
				    UX_SYMBOLIZE_ANSWER_MOST);
	size_t bytes = req->body.size + req->out.cap;
	return bytes > req->held ? ux_request_hold(req, bytes) : UX_OK;
}

static struct ux_bytes without_newline(struct ux_bytes s)
{
	while (s.size > 0 && (s.data[s.size - 1] == '\n' || s.data[s.size - 1] == '\r'))
		s.size--;
	return s;
}

enum ux_code ux_handle_pprof_symbol(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(drop_module) struct ux_open_module *m = NULL;
	ux_cleanup(ux_lookup_deinit) struct ux_lookup l = {.demangle = UX_DEMANGLE_FULL};
	struct ux_bytes left = without_newline(req->body);
	size_t n = 0;
	UX_TRY(open_module(req, &m));
	while (left.size > 0) {
		if (++n > UX_SYMBOLIZE_ADDRESSES_MOST)
			return ux_error_set(&req->err, UX_ELIMIT, "over %d addresses",
					    UX_SYMBOLIZE_ADDRESSES_MOST);
		UX_TRY(put_line(req, &l, m, word_next(&left)));
	}
	return ux_response_out(req, res, "text/plain; charset=utf-8");
}
