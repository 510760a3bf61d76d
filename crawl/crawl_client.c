/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of a crawl to the server that keeps its packages. */
#include "crawl_client.h"

#include "clock.h"
#include "http_client.h"
#include "retry.h"
#include "server_answer.h"

enum {
	CALL_MS = 120000,  /* ms of one attempt: 5,000 packages are a few megabytes */
	TIME_MS = 1800000, /* ms of all attempts */
};

enum ux_code ux_crawl_client_open(struct ux_crawl_client *c,
				  const struct ux_crawl_client_options *o, struct ux_error *err)
{
	const struct ux_http_client_options options = {
		.url = o->url, .token = o->token, .cafile = o->cacert, .proxy = o->proxy};
	c->tries = ux_max(o->tries, 1U);
	return ux_http_client_create(&c->http, &options, err);
}

void ux_crawl_client_close(struct ux_crawl_client *c)
{
	if (c->http)
		ux_http_client_destroy(c->http);
	c->http = NULL;
}

/* Makes one attempt. *ret_after: seconds to wait, from the server; 0: none. */
static enum ux_code crawl_client_try(const struct ux_crawl_client *c,
				     const struct ux_http_call *call, json_t **ret, bool *ret_busy,
				     unsigned *ret_after, struct ux_error *err)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	*ret_after = 0;
	*ret_busy = false;
	UX_TRY(ux_http_client_call(c->http, call, &answer, err));
	*ret_after = answer.retry_after_s;
	*ret_busy = answer.status == 429 || (answer.status == 503 && answer.retry_after_s > 0);
	if (answer.status == 204)
		return UX_OK;
	return ux_server_answer(&answer, ret, err);
}

static void crawl_client_free_text(char **text)
{
	free(*text);
}

enum ux_code ux_crawl_client_call(struct ux_crawl_client *c, enum ux_method method,
				  const char *path, const json_t *body, json_t **ret,
				  struct ux_error *err)
{
	struct ux_retry retry = {.max = c->tries, .deadline_ms = ux_clock_ms() + TIME_MS};
	ux_cleanup(crawl_client_free_text) char *text =
		body ? json_dumps(body, JSON_COMPACT) : NULL;
	if (body && !text)
		return ux_error_nomem(err);
	const struct ux_http_call call = {
		.method = method,
		.path = path,
		.type = body ? "application/json" : NULL,
		.body = body ? ux_bytes_cstr(text) : UX_BYTES_NONE,
		.timeout_ms = CALL_MS,
	};
	for (;;) {
		struct ux_error why = UX_ERROR_INIT;
		json_t *doc = NULL;
		unsigned after = 0;
		bool busy = false;
		enum ux_code code = crawl_client_try(c, &call, &doc, &busy, &after, &why);
		if (code == UX_OK && ret)
			*ret = doc;
		else
			json_decref(doc);
		if (code == UX_OK)
			return UX_OK;
		if ((busy || code == UX_EUNAVAILABLE) && ux_retry_again(&retry, busy, after))
			continue;
		*err = err->code == UX_OK ? why : *err;
		return code;
	}
}
