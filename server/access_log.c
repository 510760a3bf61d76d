/* SPDX-License-Identifier: Apache-2.0 */
/* The line of a request in the log. */
#include "access_log.h"

#include "route.h"
#include "server.h"

enum {
	QUOTED = 400,             /* room for a text of strangers, quoted */
	DECODED_MOST = 128 << 10, /* of a path: more than header lines may have */
};

/* path with what follows "/k/" at its start, and every token, taken out. */
static void put_redacted(struct ux_bytes path, struct ux_out *out)
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

/* As it was sent, unless escapes hide a token in it. */
void ux_log_path(struct ux_bytes path, struct ux_out *out)
{
	UX_ARENA(arena, DECODED_MOST);
	ux_cleanup(ux_out_deinit) struct ux_out plain = {0};
	struct ux_bytes decoded;
	bool escaped = path.size > 0 && memchr(path.data, '%', path.size);
	if (escaped && ux_percent_decode(path, /* plus= */ false, &arena, &decoded)) {
		put_redacted(decoded, &plain);
		if (!ux_bytes_eq(ux_out_bytes(&plain), decoded))
			ux_out_put(out, plain.data, plain.size);
		else
			ux_out_put(out, path.data, path.size);
	} else {
		put_redacted(path, out);
	}
}

void ux_log_request(void *ctx, const struct ux_request *req, const struct ux_response *res,
		    bool sent, uint64_t duration_us)
{
	(void)ctx;
	ux_cleanup(ux_out_deinit) struct ux_out shown = {0};
	const struct ux_caller *caller = req->caller;
	char path[QUOTED], why[QUOTED + 8] = "";
	const char *key = caller && caller->key_id[0] != '\0' ? caller->key_id : "-";
	ux_log_path(req->path, &shown);
	if (req->err.code != UX_OK) {
		char text[256], quoted[QUOTED];
		ux_error_format(&req->err, text, sizeof(text));
		snprintf(why, sizeof(why), " error=%s",
			 ux_log_quote(ux_bytes_cstr(text), quoted, sizeof(quoted)));
	}
	uint64_t bytes = res->fd_size > 0 ? res->fd_size : res->body.size;
	ux_log_line(res->status >= 500 ? "error" : "info", "request",
		    "request=%s method=%s path=%s status=%u sent=%s "
		    "duration_us=%" PRIu64 " in=%" PRIu64 " out=%" PRIu64 " key=%s%s",
		    req->name, ux_method_name(req->method),
		    ux_log_quote(ux_out_bytes(&shown), path, sizeof(path)), res->status,
		    sent ? "yes" : "no", duration_us, req->body_size, bytes, key, why);
}
