/* SPDX-License-Identifier: Apache-2.0 */
/* Route tables: the handler for each method and path. */
#ifndef UX_ROUTE_H
#define UX_ROUTE_H

#include "http.h"

enum {
	/* for routes that read no body: dropped up to this size, then 413 */
	UX_BODY_UNUSED = 4 << 10,
	UX_BODY_FORM = 4 << 10,    /* a form of short fields */
	UX_BODY_SMALL = 64 << 10,  /* a JSON object about one thing */
	UX_BODY_LARGE = INT32_MAX, /* the server's limit */
};

/*
 * A pattern consists of segments: "/v1/modules/{id}". "{name}" matches one non-empty segment; other
 * segments match themselves. A final "{name...}" matches the non-empty rest of the path, including
 * '/'. Literal segments take precedence over placeholders, whatever the order of the table.
 */
struct ux_route {
	enum ux_method method;
	const char *pattern;
	ux_handler_fn *handler;
	/* not NULL: the body is streamed; called before the body, sets req->sink */
	ux_handler_fn *begin;
	unsigned scope;   /* scope that the caller needs, checked by the program's gate */
	const char *what; /* one-line description */
	bool page;        /* an HTML page: errors are shown as a page */
	bool waits;       /* clients that exceed their rate are delayed rather than refused */
	/*
	 * the handler may take long: it runs on a thread of the work queue (work_queue.h), never on
	 * one that serves connections
	 */
	bool works;
	/*
	 * with `works`: the handler is first tried on the thread that serves the connection, with
	 * req->quick set. It answers there only if that takes at most some 100 us, without waiting
	 * for a lock that is held for longer, and otherwise returns ux_request_too_long(). So a
	 * small request is not moved to another thread and back.
	 */
	bool quick;
	/* for monitoring: answered however much memory other requests hold */
	bool probe;
	uint32_t body; /* largest body in bytes, without begin(); 0: it reads none */
	/*
	 * stores or passes on what it receives, although its scope is for reading: no page of
	 * another site may use it, unless it has a key
	 */
	bool keeps;
	bool coded; /* the body may have a Content-Encoding, which the handler decodes */
	/*
	 * replaces the document of any error by one in the form of the route's protocol; NULL: the
	 * program's form
	 */
	void (*error)(struct ux_request *req, struct ux_response *res);
};

/*
 * Tests whether path (as sent) matches the pattern. If so, params receives the raw segments of the
 * placeholders.
 */
bool ux_route_match(const char *pattern, struct ux_bytes path, struct ux_bytes *params,
		    size_t *ret_n);

/*
 * Finds the route for method and path. UX_ENOTFOUND: no pattern matches. UX_EINVAL: a pattern
 * matches with other methods; *ret_allow has a bit 1 << method for each. HEAD finds GET routes.
 */
enum ux_code ux_route_find(const struct ux_route *routes, size_t n, enum ux_method method,
			   struct ux_bytes path, const struct ux_route **ret,
			   struct ux_bytes *params, size_t *ret_n, unsigned *ret_allow) ux_must;

/*
 * Decodes %XX (and '+' to a space if plus is set) into the arena, NUL-terminated. UX_EINVAL: a
 * malformed escape, or a NUL; the message names `of`. Also the codes of ux_arena_fail().
 */
enum ux_code ux_percent_decode(struct ux_bytes s, bool plus, struct ux_arena *arena, const char *of,
			       struct ux_bytes *ret, struct ux_error *err) ux_must;

#endif
