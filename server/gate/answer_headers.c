/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Headers that say who else may see an answer. A cache between client and server knows neither keys
 * nor namespaces, so it may store only answers that every client gets under that URL.
 */
#include "auth.h"

/*
 * Seconds for which a cache may answer from the files of an open namespace; after that it
 * revalidates by the ETag. So it notices within that time that a namespace was closed or got a
 * better file.
 */
#define OPEN_FRESH "300"

/*
 * Tests whether the URL contains a token, which is a secret, even if the rest of the path is
 * malformed.
 */
static bool answer_url_has_token(const struct ux_request *req)
{
	return req->prefix.size >= 3 && memcmp(req->prefix.data, "/k/", 3) == 0;
}

/* Tests whether every client gets these bytes under this URL, whatever else it sends. */
static bool answer_is_for_all(const struct ux_request *req)
{
	const struct ux_caller *caller = req->caller;
	struct ux_bytes unused;
	return caller && caller->openness == UX_OPEN_TO_ALL && caller->key_id[0] == '\0' &&
	       !ux_request_header(req, "Unhex-Namespace", &unused);
}

static struct ux_bytes answer_cache_control(const struct ux_request *req,
					    const struct ux_response *res)
{
	bool secret = answer_url_has_token(req);
	switch (res->caching) {
	case UX_CACHING_NONE:
		break;
	case UX_CACHING_CONTENT:
		return !secret && answer_is_for_all(req) ? UX_STR("public, max-age=" OPEN_FRESH)
							 : UX_STR("private, no-cache");
	case UX_CACHING_STATIC:
		return secret ? UX_STR("private, no-cache") : UX_STR("no-cache");
	case UX_CACHING_IMMUTABLE:
		return secret ? UX_STR("private, max-age=31536000, immutable")
			      : UX_STR("public, max-age=31536000, immutable");
	}
	return UX_STR("no-store");
}

/*
 * Returns the request headers that select the answer, even if this request lacks them: a cache that
 * stored the answer without a key must not use it for a client that sends one. None for answers
 * that are the same for all.
 */
static struct ux_bytes answer_vary(const struct ux_request *req, const struct ux_response *res)
{
	const struct ux_route *route = req->route;
	if (res->caching == UX_CACHING_STATIC || res->caching == UX_CACHING_IMMUTABLE)
		return UX_BYTES_NONE;
	if (!route || route->page)
		return req->method == UX_METHOD_OPTIONS
			       ? UX_STR("Origin")
			       : UX_STR("Accept, Authorization, Cookie, Unhex-Namespace");
	if (ux_cors_may_read(route))
		return UX_STR("Authorization, Cookie, Origin, Unhex-Namespace");
	return route->scope != 0 ? UX_STR("Authorization, Cookie, Unhex-Namespace") : UX_BYTES_NONE;
}

/*
 * Lets pages send the referrer only within this server: without any, browsers would send Origin:
 * null with our forms. Nothing else needs to send its URL, and a URL with a token must not be sent.
 */
static struct ux_bytes answer_referrer_policy(const struct ux_request *req,
					      const struct ux_response *res)
{
	bool page = res->type && strncmp(res->type, "text/html", 9) == 0;
	return page && !answer_url_has_token(req) ? UX_STR("same-origin") : UX_STR("no-referrer");
}

void ux_answer_complete(struct ux_request *req, struct ux_response *res)
{
	struct ux_bytes vary = answer_vary(req, res);
	ux_response_field(res, "Cache-Control", answer_cache_control(req, res));
	if (vary.size > 0)
		ux_response_field(res, "Vary", vary);
	ux_response_field(res, "Referrer-Policy", answer_referrer_policy(req, res));
	ux_response_field(res, "X-Content-Type-Options", UX_STR("nosniff"));
}
