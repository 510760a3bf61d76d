/* SPDX-License-Identifier: Apache-2.0 */
/* CORS: decides which pages of other sites may read answers. */
#include "auth.h"

/* The usual viewers for a server that is open only to its own machine. */
static const char *const cors_viewers[] = {"https://profiler.firefox.com",
					   "https://www.speedscope.app"};

bool ux_cors_may_read(const struct ux_route *route)
{
	return route && !route->page && !route->keeps && route->scope != 0 &&
	       (route->scope & ~(unsigned)(UX_SCOPE_READ | UX_SCOPE_SYMBOLIZE)) == 0;
}

/* Returns "*", the origin itself, or an empty text. */
static struct ux_bytes cors_allowed_origin(const struct ux_request *req, enum ux_openness openness,
					   struct ux_bytes origin)
{
	const struct ux_access *a = ux_server_access(ux_server_of(req));
	if (openness == UX_OPEN_TO_ALL)
		return UX_STR("*");
	for (size_t i = 0; i < a->n_origins; i++) {
		if (strcmp(a->origins[i], "*") == 0)
			return UX_STR("*");
		if (ux_bytes_eq(ux_bytes_cstr(a->origins[i]), origin))
			return origin;
	}
	for (size_t i = 0; i < ux_countof(cors_viewers); i++)
		if (openness == UX_OPEN_TO_MACHINE &&
		    ux_bytes_eq(origin, ux_bytes_cstr(cors_viewers[i])))
			return origin;
	return UX_BYTES_NONE;
}

/* Adds the header with the origin. False: the page cannot read the answer. */
static bool cors_put_origin(struct ux_request *req, struct ux_response *res,
			    enum ux_openness openness)
{
	struct ux_bytes origin;
	if (!ux_request_header(req, "Origin", &origin) || !ux_cors_may_read(req->route))
		return false;
	struct ux_bytes who = cors_allowed_origin(req, openness, origin);
	if (who.size == 0)
		return false;
	const char *text = ux_arena_strndup(&req->arena, who.data, who.size);
	if (!text)
		return false;
	ux_response_field(res, "Access-Control-Allow-Origin", ux_bytes(text, who.size));
	return true;
}

void ux_cors_answer(struct ux_request *req, struct ux_response *res)
{
	if (cors_put_origin(req, res, ux_caller_of(req)->openness))
		ux_response_field(res, "Access-Control-Expose-Headers",
				  UX_STR("ETag, Retry-After, X-DEBUGINFOD-SIZE, "
					 "X-DEBUGINFOD-FILE"));
}

/* Echoes the requested header names: a page may send any header. */
static void cors_put_headers(struct ux_request *req, struct ux_response *res)
{
	struct ux_bytes names;
	if (!ux_request_header(req, "Access-Control-Request-Headers", &names))
		return;
	for (size_t i = 0; i < names.size; i++) /* only a list of header names is echoed */
		if (names.data[i] < ' ' || names.data[i] > '~')
			return;
	const char *text = ux_arena_strndup(&req->arena, names.data, names.size);
	if (text)
		ux_response_field(res, "Access-Control-Allow-Headers", ux_bytes(text, names.size));
}

enum ux_code ux_cors_preflight(struct ux_request *req, struct ux_response *res)
{
	struct ux_bytes private;
	enum ux_openness openness = UX_OPEN_TO_NONE;
	UX_TRY(ux_gate_openness(req, &openness));
	if (!cors_put_origin(req, res, openness))
		return UX_OK;
	ux_response_field(res, "Access-Control-Allow-Methods", UX_STR("GET, HEAD, POST"));
	ux_response_field(res, "Access-Control-Max-Age", UX_STR("86400"));
	cors_put_headers(req, res);
	/*
	 * Lets a page from the Internet read from a machine of a private network (Private Network
	 * Access).
	 */
	if (ux_request_header(req, "Access-Control-Request-Private-Network", &private))
		ux_response_field(res, "Access-Control-Allow-Private-Network", UX_STR("true"));
	return UX_OK;
}
