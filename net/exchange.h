/* SPDX-License-Identifier: Apache-2.0 */
/* One request and its answer, from the first header to the last byte; knows no sockets. */
#ifndef UX_EXCHANGE_H
#define UX_EXCHANGE_H

#include "http.h"
#include "route.h"

/* A program that answers requests. Immutable while it serves; the functions run on many threads. */
struct ux_http_app {
	const struct ux_route *routes;
	size_t n_routes;
	void *ctx;           /* becomes req->app */
	ux_handler_fn *gate; /* after the route is known, before the body: may it be? NULL: yes */
	/* Says to the answer of an OPTIONS, which has Allow already, what pages of other sites may;
	 * req->route is the one of Access-Control-Request-Method, or NULL. NULL: nothing. */
	ux_handler_fn *options;
	/* after the answer was sent, or the client vanished (sent = false) */
	void (*log)(void *ctx, const struct ux_request *req, const struct ux_response *res,
		    bool sent, uint64_t duration_us);
	/* after an error document was made: may put a page for people in its place; NULL: never */
	void (*error_page)(struct ux_request *req, struct ux_response *res);
	/* Does that peer speak for many, so that it may have as many connections as there are?
	 * NULL: none does. */
	bool (*is_proxy)(void *ctx, const struct ux_address *peer);
	struct ux_http_memory *memory; /* of all requests; NULL: it is not counted */
	struct ux_http_limits limits;  /* complete, see ux_http_limits_default() */
	uint64_t seed; /* of the names of requests, so that those of two processes differ */
};

/*
 * The stages, in order: init, header for each line, begin, data for each piece, finish, deinit.
 * Whoever owns the socket drives them; tests and the fuzzer drive them without one.
 */
struct ux_exchange {
	const struct ux_http_app *app;
	struct ux_request req;
	struct ux_response res;
	struct ux_out body;
	bool answered; /* res is final: the rest of the body is only drained */
	bool refused;  /* res was final before the body was in */
	bool parked;   /* the handler waits: finish again when it is woken */
	uint64_t start_us;
	uint64_t body_most; /* bytes of the body, as it was when the request came */
};

/* method and target ("/path?query") as sent. */
void ux_exchange_init(struct ux_exchange *x, const struct ux_http_app *app, struct ux_bytes method,
		      struct ux_bytes target);

/* name and value live as long as the exchange. */
void ux_exchange_header(struct ux_exchange *x, struct ux_bytes name, struct ux_bytes value);

/* Where it comes from; before the headers. */
void ux_exchange_peer(struct ux_exchange *x, struct ux_address peer);

/* All headers are in: finds the route, asks the gate, opens the sink. May answer already. */
void ux_exchange_begin(struct ux_exchange *x);

/* A piece of the body. */
void ux_exchange_data(struct ux_exchange *x, struct ux_bytes bytes);

/* The body is complete: runs the handler. x->res is the answer, unless x->parked: only where
 * x->req.waits was set. */
void ux_exchange_finish(struct ux_exchange *x);

/* Logs, closes the sink, frees. sent: the whole answer reached the system. */
void ux_exchange_deinit(struct ux_exchange *x, bool sent);

#endif
