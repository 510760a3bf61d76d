/* SPDX-License-Identifier: Apache-2.0 */
/* Implements unhex/client.h with libcurl. */
#include "unhex/client.h"

#include "error.h"
#include "http_client.h"

enum {
	OPTS_MIN = sizeof(
		struct ux_client_opts), /* bytes of the options in the first version of the API */
	CALL_MS = 60000,
	REPLY_MAX = 256 << 20, /* bytes; servers never send more */
};

struct ux_client {
	struct ux_http_client *http;
	uint32_t call_ms;
};

enum ux_code ux_client_open(const struct ux_client_opts *caller, struct ux_client **ret,
			    struct ux_error *err)
{
	struct ux_client_opts opts;
	UX_TRY(ux_sized_read(&opts, sizeof(opts), OPTS_MIN, caller, err));
	if (!opts.url)
		return ux_error_set(err, UX_EINVAL, "missing URL");
	struct ux_client *c = calloc(1, sizeof(*c));
	if (!c)
		return ux_error_nomem(err);
	const struct ux_http_client_options options = {.url = opts.url,
						       .token = opts.token,
						       .agent = opts.agent,
						       .cafile = opts.cafile,
						       .connect_ms = opts.connect_ms};
	enum ux_code code = ux_http_client_create(&c->http, &options, err);
	if (code != UX_OK) {
		free(c);
		return code;
	}
	c->call_ms = opts.call_ms ? opts.call_ms : CALL_MS;
	*ret = c;
	return UX_OK;
}

void ux_client_close(struct ux_client *c)
{
	if (!c)
		return;
	ux_http_client_destroy(c->http);
	free(c);
}

static enum ux_code client_code(unsigned status)
{
	switch (status) {
	case 401:
	case 403:
		return UX_EDENIED;
	case 413:
		return UX_ELIMIT;
	case 404: /* the server lacks the route; a missing module is not an error */
	case 405:
	case 415:
	case 422:
		return UX_EUNSUPPORTED;
	case 408:
	case 429:
	case 502:
	case 503:
	case 504:
		return UX_EUNAVAILABLE;
	default:
		return status >= 500 ? UX_EIO : status >= 400 ? UX_EINVAL : UX_EUNSUPPORTED;
	}
}

/*
 * Returns the message of an error document up to its first escape sequence; empty: the body is not
 * an error document.
 */
static struct ux_bytes client_message(struct ux_bytes body)
{
	static const char key[] = "\"message\":\"";
	const uint8_t *at = body.size ? memmem(body.data, body.size, key, sizeof(key) - 1) : NULL;
	if (!at)
		return UX_BYTES_NONE;
	const uint8_t *start = at + sizeof(key) - 1, *end = start;
	while (end < body.data + body.size && *end >= 0x20 && *end < 0x7f && *end != '"' &&
	       *end != '\\')
		end++;
	return ux_bytes(start, (size_t)(end - start));
}

static enum ux_code client_refusal(const struct ux_http_answer *answer, struct ux_error *err)
{
	struct ux_bytes says = client_message(ux_out_bytes(&answer->body));
	if (says.size == 0)
		return ux_error_set(err, client_code(answer->status), "server answered HTTP %u",
				    answer->status);
	return ux_error_set(err, client_code(answer->status), "server says: %.*s (HTTP %u)",
			    (int)ux_min(says.size, (size_t)110), (const char *)says.data,
			    answer->status);
}

enum ux_code ux_client_ask(struct ux_client *c, struct ux_question *q, struct ux_reply **ret,
			   uint32_t *ret_retry_s, struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	struct ux_http_call call = {.method = UX_METHOD_POST,
				    .path = "/v1/symbolize",
				    .type = UX_QUESTION_TYPE,
				    .timeout_ms = c->call_ms,
				    .answer_max = REPLY_MAX};
	if (ret_retry_s)
		*ret_retry_s = 0;
	call.body.data = ux_question_bytes(q, &call.body.size);
	if (!call.body.data)
		return ux_error_nomem(err);
	UX_TRY(ux_http_client_call(c->http, &call, &answer, err));
	if (ret_retry_s)
		*ret_retry_s = answer.retry_after_s;
	if (answer.status != 200)
		return client_refusal(&answer, err);
	enum ux_code code = ux_reply_open(answer.body.data, answer.body.size, ret, err);
	return code == UX_ECORRUPT ? UX_EUNSUPPORTED : code;
}
