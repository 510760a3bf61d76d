/* SPDX-License-Identifier: Apache-2.0 */
/* The log line of a request. */
#include "event_log.h"
#include "hash.h"
#include "json_out.h"
#include "route.h"
#include "routes.h"

#include <stdatomic.h>

enum {
	QUOTED = 400,            /* bytes for a quoted text from a client */
	LINE_MOSTLY = 512,       /* bytes for nearly every line */
	DECODED_MAX = 128 << 10, /* bytes of a decoded path: more than the limit on headers */
};

/* Writes the path without the token after a leading "/k/", and with every other token shortened. */
static void access_log_put_redacted(struct ux_bytes path, struct ux_out *out)
{
	size_t slashes = 0, end = 0;
	while (slashes < path.size && path.data[slashes] == '/')
		slashes++;
	if (slashes > 0 && path.size - slashes > 2 && memcmp(path.data + slashes, "k/", 2) == 0) {
		end = slashes + 2;
		while (end < path.size && path.data[end] != '/')
			end++;
		ux_out_cstr(out, "/k/…");
	}
	ux_log_redact(ux_bytes(path.data + end, path.size - end), out);
}

/* Writes the path as sent, unless an escape hides a token. */
void ux_log_path(struct ux_bytes path, struct ux_out *out)
{
	UX_ARENA(arena, DECODED_MAX);
	ux_cleanup(ux_out_deinit) struct ux_out plain = {0};
	struct ux_bytes decoded;
	bool escaped = path.size > 0 && memchr(path.data, '%', path.size);
	if (escaped &&
	    ux_percent_decode(path, /* plus= */ false, &arena, "path", &decoded, NULL) == UX_OK) {
		access_log_put_redacted(decoded, &plain);
		if (!ux_bytes_eq(ux_out_bytes(&plain), decoded))
			ux_out_put(out, plain.data, plain.size);
		else
			ux_out_put(out, path.data, path.size);
	} else {
		access_log_put_redacted(path, out);
	}
}

/* Requests are frequent, so their lines are built without format strings. */
static void access_log_put_word(struct ux_out *out, const char *key, const char *word)
{
	ux_out_cstr(out, key);
	ux_out_cstr(out, word);
}

static void access_log_put_number(struct ux_out *out, const char *key, uint64_t v)
{
	struct ux_json j = ux_json_make(out);
	ux_out_cstr(out, key);
	ux_json_u64(&j, v);
}

static void access_log_put_quoted(struct ux_out *out, const char *key, struct ux_bytes text)
{
	char quoted[QUOTED];
	access_log_put_word(out, key, ux_log_quote(text, quoted, sizeof(quoted)));
}

static void access_log_put_error(struct ux_out *out, const struct ux_error *err)
{
	char text[256];
	if (err->code == UX_OK)
		return;
	ux_error_format(err, text, sizeof(text));
	access_log_put_quoted(out, " error=", ux_bytes_cstr(text));
}

/* A setting of the process, read once for each request, so no memory order is needed. */
static atomic_uint sample_of = 1;

void ux_log_sample(unsigned n)
{
	atomic_store_explicit(&sample_of, n, memory_order_relaxed);
}

/*
 * Tests whether the line is left out. An answer that did not reach its client is not a success,
 * whatever its status.
 */
static bool access_log_is_sampled_out(const struct ux_request *req, const struct ux_response *res,
				      bool sent, unsigned of)
{
	if (!sent || res->status >= 400 || of == 1)
		return false;
	return of == 0 || ux_hash_u64(req->id) % of != 0;
}

void ux_log_request(void *ctx, const struct ux_request *req, const struct ux_response *res,
		    bool sent, uint64_t duration_us)
{
	(void)ctx;
	ux_cleanup(ux_out_deinit) struct ux_out shown = {0}, out = {0};
	const struct ux_caller *caller = req->caller;
	unsigned of = atomic_load_explicit(&sample_of, memory_order_relaxed);
	char from[UX_ADDRESS_TEXT];
	const char *key = caller && caller->key_id[0] != '\0' ? caller->key_id : "-";
	if (access_log_is_sampled_out(req, res, sent, of))
		return;
	ux_out_grow(&out, LINE_MOSTLY);
	ux_log_path(req->path, &shown);
	access_log_put_word(&out, "request=", req->name);
	access_log_put_word(&out, " method=", ux_method_name(req->method));
	access_log_put_quoted(&out, " path=", ux_out_bytes(&shown));
	access_log_put_number(&out, " status=", res->status);
	access_log_put_word(&out, " sent=", sent ? "yes" : "no");
	access_log_put_number(&out, " duration_us=", duration_us);
	access_log_put_number(&out, " in=", req->body_size);
	access_log_put_number(&out, " out=", res->fd_size > 0 ? res->fd_size : res->body.size);
	access_log_put_word(&out, " key=", key);
	access_log_put_word(&out,
			    " from=", caller ? caller->from : ux_address_text(&req->peer, from));
	if (of > 1 && sent && res->status < 400)
		access_log_put_number(&out, " sample=", of);
	access_log_put_error(&out, &req->err);
	ux_log_text(res->status >= 500 ? "error" : "info", "request", ux_out_bytes(&out));
}
