/* SPDX-License-Identifier: Apache-2.0 */
/* Route tables: which handler answers which method and path. */
#ifndef UX_ROUTE_H
#define UX_ROUTE_H

#include "http.h"

/*
 * pattern is made of segments; "{name}" matches one segment that is not empty, anything else
 * matches itself: "/v1/modules/{id}". A last "{name...}" matches all that is left, which is not
 * empty and may have '/' in it. Literal segments go before placeholders, whatever the order of the
 * table.
 */
struct ux_route {
	enum ux_method method;
	const char *pattern;
	ux_handler_fn *handler;
	ux_handler_fn *begin; /* not NULL: the body is streamed; sets req->sink before it comes */
	unsigned scope;       /* what the program's gate asks of the caller */
	const char *what;     /* one line for people */
	bool page;            /* for people: errors are shown as a page */
	bool waits;           /* its clients wait in a queue rather than hear that they are many */
};

/* Does path (as sent) match? On true, params hold the raw segments of the placeholders. */
bool ux_route_match(const char *pattern, struct ux_bytes path, struct ux_bytes *params,
		    size_t *ret_n);

/*
 * The route for method and path. UX_ENOTFOUND: no pattern matches; UX_EINVAL with *ret_allow set: a
 * pattern matches with other methods, bit 1 << method each. HEAD finds GET routes.
 */
enum ux_code ux_route_find(const struct ux_route *routes, size_t n, enum ux_method method,
			   struct ux_bytes path, const struct ux_route **ret,
			   struct ux_bytes *params, size_t *ret_n, unsigned *ret_allow) ux_must;

/*
 * s with %XX decoded (and with plus, '+' to a space), in the arena with a NUL behind. UX_EINVAL: a
 * bad escape, or a NUL; the message names `of`. And the codes of ux_arena_fail().
 */
enum ux_code ux_percent_decode(struct ux_bytes s, bool plus, struct ux_arena *arena, const char *of,
			       struct ux_bytes *ret, struct ux_error *err) ux_must;

#endif
