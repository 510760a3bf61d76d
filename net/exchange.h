/* SPDX-License-Identifier: Apache-2.0 */
/* One request and its answer, from the first header to the last byte. Independent of sockets. */
#ifndef UX_EXCHANGE_H
#define UX_EXCHANGE_H

#include "http.h"
#include "route.h"

/*
 * A program that answers requests. It must not change while it serves; many threads call its
 * functions.
 */
struct ux_http_app {
	const struct ux_route *routes;
	size_t n_routes;
	void *ctx; /* becomes req->app */
	/*
	 * called when the route is known, before the body: refuses requests that are not allowed;
	 * NULL: all are allowed
	 */
	ux_handler_fn *gate;
	/*
	 * Adds the CORS headers to the answer of an OPTIONS request, which already has Allow.
	 * req->route is the route of Access-Control-Request-Method, or NULL. NULL: none are added.
	 */
	ux_handler_fn *options;
	/*
	 * Called once when the answer is final, before any of it is sent: adds the headers that
	 * depend on the caller rather than on the handler. req->route and req->caller may be NULL.
	 * NULL: not called.
	 */
	void (*complete)(struct ux_request *req, struct ux_response *res);
	/* called after the answer was sent, or after the client disconnected (sent = false) */
	void (*log)(void *ctx, const struct ux_request *req, const struct ux_response *res,
		    bool sent, uint64_t duration_us);
	/*
	 * called after an error document was made; may replace it by an HTML page; NULL: not called
	 */
	void (*error_page)(struct ux_request *req, struct ux_response *res);
	/*
	 * Tests whether the peer is a proxy with many clients, to which the limit of connections
	 * from one address does not apply. NULL: no proxies.
	 */
	bool (*is_proxy)(void *ctx, const struct ux_address *peer);
	struct ux_http_memory *memory; /* shared by all requests; NULL: memory is not counted */
	struct ux_http_limits limits;  /* with all defaults, see ux_http_limits_default() */
	uint64_t seed;                 /* makes the names of requests differ between processes */
};

/*
 * The stages of an exchange are, in order: init, header for each header, begin, data for each piece
 * of the body, finish, deinit. The owner of the socket drives them; tests and the fuzzer drive them
 * without a socket.
 */
struct ux_exchange {
	const struct ux_http_app *app;
	struct ux_request req;
	struct ux_response res;
	struct ux_out body;
	bool answered; /* res is final: the rest of the body is read and dropped */
	bool refused;  /* res was final before the whole body was received */
	bool parked;   /* the handler waits: call finish again when it is woken */
	bool worked;   /* the handler ran on a thread of the work queue */
	uint64_t start_us;
	uint64_t body_max; /* limit of the body's size, read at the start of the request */
};

/* method and target ("/path?query") as sent. */
void ux_exchange_init(struct ux_exchange *x, const struct ux_http_app *app, struct ux_bytes method,
		      struct ux_bytes target);

/*
 * Refuses an ambiguous head (err): the answer is 400, and the connection ends after it. Call it
 * instead of ux_exchange_begin().
 */
void ux_exchange_refuse(struct ux_exchange *x, const struct ux_error *err);

/* Adds a header. name and value must live as long as the exchange. */
void ux_exchange_header(struct ux_exchange *x, struct ux_bytes name, struct ux_bytes value);

/* Sets the address of the peer; before the headers. */
void ux_exchange_peer(struct ux_exchange *x, struct ux_address peer);

/*
 * Called when all headers have been received: finds the route, calls the gate, opens the sink. May
 * already set the answer.
 */
void ux_exchange_begin(struct ux_exchange *x);

/* A piece of the body. */
void ux_exchange_data(struct ux_exchange *x, struct ux_bytes bytes);

/*
 * Called when the body is complete: runs the handler. x->res is the answer unless x->parked, which
 * is possible only if x->req.waits is set.
 */
void ux_exchange_finish(struct ux_exchange *x);

/*
 * Tests whether the handler belongs on a thread of the work queue. Then the owner of the socket
 * calls finish there, and sets x->worked.
 */
bool ux_exchange_works(const struct ux_exchange *x);

/*
 * Tries the handler of a route with `works` on this thread, if the request may be quick. True: the
 * answer is complete. False: run the handler on a thread of the work queue.
 */
bool ux_exchange_try(struct ux_exchange *x);

/* Sets the deadline of a request whose handler works, once. */
void ux_exchange_start_clock(struct ux_exchange *x);

/*
 * Refuses the request, because the work queue has no room. by_client: no room for this client or
 * its group. The answer is 429 or 503 with Retry-After; a client of a route that waits gets no
 * answer, so that it repeats the request.
 */
void ux_exchange_refuse_work(struct ux_exchange *x, bool by_client);

/*
 * Logs the request, closes the sink and frees the exchange. sent: the whole answer was passed to
 * the operating system.
 */
void ux_exchange_deinit(struct ux_exchange *x, bool sent);

/* --- strict reading of the head --------------------------------------------------------------- */

/* The request line and the headers in the form in which the HTTP library found them. */
struct ux_request_head {
	struct ux_bytes method;
	struct ux_bytes target;
	struct ux_bytes version;
	const struct ux_http_field *fields;
	size_t n_fields;
};

/*
 * Refuses any head that two programs could read differently, so that a proxy and this server always
 * agree where a request ends and for which host it is: RFC 9112 without any of its leniency.
 * *ret_chunked: the body has chunks. UX_EINVAL: the connection must end after the answer.
 */
enum ux_code ux_request_head_check(const struct ux_request_head *head, bool *ret_chunked,
				   struct ux_error *err) ux_must;

/*
 * For libmicrohttpd 0.9, which hides some bytes of a head: parts end at a NUL, and a line may end
 * with a bare LF or CR, or continue in the next line. It parses in place and replaces separators by
 * NULs, one for each byte. All slices of head must point into its buffer, where the head begins
 * with the method and has size bytes. True: the parts cover the head without a gap, each line ended
 * with CRLF, and no NUL was received.
 */
bool ux_request_head_is_whole(const struct ux_request_head *head, size_t size) ux_must;

/*
 * The authority of a target in absolute form ("http://host:80/path?query"); empty for "/path". path
 * receives the rest of the target.
 */
struct ux_bytes ux_target_authority(struct ux_bytes target, struct ux_bytes *path);

#endif
