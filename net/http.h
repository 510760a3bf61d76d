/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP requests, responses and handlers, independent of sockets and of an HTTP library. */
#ifndef UX_HTTP_H
#define UX_HTTP_H

#include "address.h"
#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "out.h"

#include <stdatomic.h>

enum ux_method {
	UX_METHOD_GET,
	UX_METHOD_HEAD, /* answered by the GET handler; the body is not sent */
	UX_METHOD_POST,
	UX_METHOD_PUT,
	UX_METHOD_DELETE,
	UX_METHOD_OPTIONS, /* answered without a handler: see struct ux_http_app */
	UX_METHOD_COUNT
};

/* Returns "GET", ...; never NULL. */
const char *ux_method_name(enum ux_method method);

/* Parses a method, which is case-sensitive (RFC 9110, 9.1). False: unknown. */
bool ux_method_parse(struct ux_bytes text, enum ux_method *ret) ux_must;

/* A header or a query parameter. */
struct ux_http_field {
	struct ux_bytes name;
	struct ux_bytes value;
};

enum {
	UX_ROUTE_PARAMS_MAX = 4,      /* placeholders of one pattern */
	UX_RESPONSE_FIELDS_MAX = 24,  /* headers that a handler may add */
	UX_QUERY_FIELDS_MAX = 64,     /* parameters of one request */
	UX_REQUEST_HEADERS_MAX = 128, /* headers of one request */
	UX_REQUEST_NAME_MAX = 64      /* bytes of a request's name */
};

struct ux_route;
struct ux_kept;

/* Why a handler has to stop its work early: see ux_request_check(). */
enum ux_request_over {
	UX_REQUEST_GOES_ON,
	UX_REQUEST_LATE, /* its deadline has passed: 503, "deadline" */
	UX_REQUEST_LEFT, /* its client has disconnected: 499, "client_closed", only for the log */
	UX_REQUEST_LONG, /* see ux_request_too_long() */
};

enum {
	/*
	 * bytes that a request can hold without being counted, so that small requests never wait
	 * for room; their number is bounded by the number of connections
	 */
	UX_HTTP_SMALL = 64 << 10,
	UX_HTTP_CLIENTS = 64, /* sums of struct ux_http_memory; clients share them by hash */
};

/*
 * Memory that all requests of a server hold together: received bodies, and answers that slow
 * clients have not read yet. It limits the memory that many clients can use together. One client
 * holds at most half of it, and bodies are received only while less than half of it is used, so
 * there is always room for answers. Any thread.
 */
struct ux_http_memory {
	atomic_size_t used; /* a sum, so no memory order is needed */
	atomic_size_t max;  /* may change while requests run */
	atomic_size_t by_client[UX_HTTP_CLIENTS];
};

/* Receives the body of a streamed request. */
struct ux_body_sink {
	enum ux_code (*write)(void *ctx, struct ux_bytes bytes, struct ux_error *err);
	/* called exactly once, also if the client disconnects; NULL: nothing to do */
	void (*close)(void *ctx);
	void *ctx;
};

/* One request. Everything in it lives until the answer was sent. Used by one thread at a time. */
struct ux_request {
	uint64_t id; /* number within this process */
	/*
	 * The request's name in logs and in X-Request-Id: the client's if it is well-formed,
	 * otherwise a generated one.
	 */
	char name[UX_REQUEST_NAME_MAX + 1];
	enum ux_method method;
	struct ux_address peer; /* peer of the connection */
	/*
	 * Requests with the same number belong to one client, for the fairness of the work queue.
	 * Derived from the peer's address, until the program's gate sets another number.
	 */
	uint64_t client;
	uint64_t group; /* clients with the same number belong together; 0 until the gate sets it */
	struct ux_bytes path;       /* as sent, without the prefix and the query */
	struct ux_bytes prefix;     /* "/k/TOKEN/n/NAME", only one of them, or empty; as sent */
	struct ux_bytes path_token; /* decoded; "": the prefix has no token */
	/* the namespace NAME, decoded; "": the prefix has none */
	struct ux_bytes path_space;
	struct ux_http_field *query; /* decoded */
	size_t n_query;
	struct ux_http_field *headers;
	size_t n_headers;
	uint64_t content_length; /* UINT64_MAX: not announced */
	uint64_t body_size;      /* bytes of the body received so far */
	struct ux_bytes body;    /* the whole body; empty when it is streamed to the sink */
	uint64_t body_max;       /* limit of its size; a handler that decodes it applies it again */
	const struct ux_route *route;
	struct ux_bytes params[UX_ROUTE_PARAMS_MAX]; /* values of the placeholders, decoded */
	size_t n_params;
	struct ux_body_sink sink; /* set by a route's begin() */
	struct ux_arena arena;
	struct ux_out out; /* buffer for a body of unknown size */
	/*
	 * limit of `out` and of every other buffer that becomes part of the answer; it counts them
	 * as held by the request while they grow; see ux_request_answer_max()
	 */
	struct ux_out_quota answer;
	size_t answer_max;
	struct ux_error err;           /* error of the handler, which becomes the answer */
	struct ux_http_memory *memory; /* shared by all requests; NULL: memory is not counted */
	size_t held;          /* bytes of `memory` that this request holds: see ux_request_hold() */
	void *app;            /* the program's context: see struct ux_http_app */
	struct ux_kept *kept; /* see ux_request_keep() */
	void *caller;         /* set by the program's gate; allocated in the arena */
	int64_t end_ms;       /* deadline, by ux_clock_ms(); 0: none */
	enum ux_request_over over;
	bool quick; /* the handler is tried as struct ux_route describes */
	/* set by the driver of the exchange; NULL: the request cannot be parked */
	struct ux_http_waits *waits;
	void *waits_ctx;
	bool parked; /* the handler has called ux_request_park() */
	unsigned park_ms;
	void (*end)(void *ctx); /* see ux_request_on_end() */
	void *end_ctx;
};

/* Functions with which a server parks requests: see ux_request_park(). */
struct ux_http_waits {
	bool (*may)(void *ctx);  /* false: the server is stopping */
	void (*wake)(void *ctx); /* makes the server run the handler again; any thread */
	bool (*left)(void *ctx); /* the client has disconnected, or the server is stopping */
};

/*
 * Called by a handler that has to wait: it then returns UX_OK without setting the response, and no
 * thread is blocked. The handler is called again from its beginning after ux_request_wake(), after
 * wait_ms, or spuriously; its allocations in the arena have been freed by then. False: the handler
 * must answer now.
 */
bool ux_request_park(struct ux_request *req, unsigned wait_ms) ux_must;

/*
 * Wakes a parked request. Any thread, until the request has ended; it may be called before the
 * request is parked.
 */
void ux_request_wake(struct ux_request *req);

/*
 * Tests whether the handler should continue. Long work calls it at intervals of some milliseconds;
 * it costs a system call. UX_EUNAVAILABLE: the deadline has passed, or the client has disconnected.
 */
enum ux_code ux_request_check(struct ux_request *req) ux_must;

enum {
	UX_QUICK_BODY = 4 << 10,     /* largest body of a request that is tried */
	UX_QUICK_ANSWER = 256 << 10, /* bytes of buffers for its answer; more take too long */
};

/*
 * For a handler that is tried (req->quick) and needs more time than a thread that serves
 * connections may take, or would have to wait: it returns this code, and is run again from its
 * beginning on a thread of the work queue. Its allocations in the arena and its output have been
 * freed by then.
 */
enum ux_code ux_request_too_long(struct ux_request *req) ux_must;

/*
 * Sets a function that is called once when the request ends, for whatever reason, so that it can
 * cancel anything that might wake the request. One for each request.
 */
void ux_request_on_end(struct ux_request *req, void (*fn)(void *ctx), void *ctx);

/*
 * Sets the number of bytes that the request holds, replacing the previous number. A handler with a
 * growing answer calls it repeatedly. Up to UX_HTTP_SMALL nothing is counted, nor for routes that
 * are probes. UX_EUNAVAILABLE: all requests together, or this client's, would hold too much.
 */
enum ux_code ux_request_hold(struct ux_request *req, size_t bytes) ux_must;

/* Like ux_request_hold(), for a body that is being received. */
enum ux_code ux_request_hold_body(struct ux_request *req, size_t bytes) ux_must;

enum {
	/*
	 * Bytes of the buffers of one answer, unless a handler sets a lower limit. An answer with
	 * the names of a hundred thousand addresses takes a fifth of it.
	 */
	UX_ANSWER_MAX = 256 << 20
};

/* Starts the limit on the answer's buffers. Called by the driver of the exchange. */
void ux_request_answer_begin(struct ux_request *req);

/* Sets the limit of this answer; above it, its buffers fail with UX_ELIMIT. */
void ux_request_answer_max(struct ux_request *req, size_t bytes);

/*
 * Keeps a resource that the answer refers to until the answer was sent or the client disconnected:
 * then drop(ctx) is called. On failure it is called immediately.
 */
enum ux_code ux_request_keep(struct ux_request *req, void (*drop)(void *ctx), void *ctx) ux_must;

/*
 * Drops the resources that were kept after `until` (NULL: all), the last one first. Called by the
 * driver of the exchange.
 */
void ux_request_drop_kept(struct ux_request *req, const struct ux_kept *until);

/* Finds the first header of that name, case-insensitively; false: absent. */
bool ux_request_header(const struct ux_request *req, const char *name, struct ux_bytes *ret);

/* Finds the first query parameter of that name; false: absent. */
bool ux_request_query(const struct ux_request *req, const char *name, struct ux_bytes *ret);

/*
 * How caches may store an answer. A handler sets the kind of its answer; the program's complete()
 * knows who may read it, and makes the headers: see struct ux_http_app.
 */
enum ux_caching {
	UX_CACHING_NONE, /* no cache may store it; always used for errors */
	/* bytes of the store that have an ETag: cacheability depends on who may read them */
	UX_CACHING_CONTENT,
	UX_CACHING_STATIC,    /* a part of the program: the same for every client, but may change */
	UX_CACHING_IMMUTABLE, /* a part of the program whose URL changes with its contents */
};

/* The answer. Zeroed except for fd = -1, it is an empty 200. */
struct ux_response {
	unsigned status; /* 0: 200, or the status of the handler's error code */
	/* code in an error document; NULL: derived from the handler's error code */
	const char *word;
	/* seconds of the Retry-After of an error document; 0: derived from the error code */
	unsigned retry_s;
	/* message of the error document in the body; in the arena; NULL: none */
	const char *message;
	const char *type; /* content type, a static string; NULL: none */
	/* valid until the request ends: static, in the arena, or in req->out */
	struct ux_bytes body;
	/* if >= 0, a range of this file is the body; it is closed afterwards */
	int fd;
	uint64_t fd_off;
	uint64_t fd_size;
	/*
	 * Set by the gate: delay before the request is processed. The owner of the socket does the
	 * waiting.
	 */
	unsigned wait_ms;
	bool reset; /* send no answer: reset the connection */
	enum ux_caching caching;
	bool close; /* the connection ends after the answer */
	struct ux_http_field fields[UX_RESPONSE_FIELDS_MAX]; /* the values live like body */
	size_t n_fields;
};

/*
 * Answers one request whose body is complete. A code other than UX_OK becomes an error document
 * with the status of the code, unless the handler set res->status itself.
 */
typedef enum ux_code ux_handler_fn(struct ux_request *req, struct ux_response *res);

/*
 * Adds a header. Adding more than UX_RESPONSE_FIELDS_MAX is a programming error, and silently
 * ignored. value must live like body.
 */
void ux_response_field(struct ux_response *res, const char *name, struct ux_bytes value);

/* Makes the contents of req->out the body. */
enum ux_code ux_response_out(struct ux_request *req, struct ux_response *res, const char *type)
	ux_must;

/* Returns the HTTP status of an error code; 200 for UX_OK. */
unsigned ux_http_status(enum ux_code code);

/* Returns the code in an error document: "not_found", "corrupt", ...; never NULL. */
const char *ux_http_code_word(enum ux_code code);

/*
 * Turns req->err into {"error":{"code":...,"message":...}}, replacing the contents of res. An error
 * from the operating system (os_errno) is the server's fault: whatever its code, it becomes a 500
 * without details; only a full disk is reported, with a 507. Every 503 says when to retry.
 */
void ux_response_error(struct ux_request *req, struct ux_response *res, enum ux_code code);

/* Limits on the resources that clients can use. Zeroed fields take the default in brackets. */
struct ux_http_limits {
	/* bytes of a connection's buffer for the request line and headers [32 KiB] */
	size_t header_bytes;
	size_t body_bytes;     /* body that is collected in memory; above: 413 [16 MiB] */
	size_t coded_bytes;    /* the same on routes whose handlers decode the body [64 MiB] */
	uint64_t upload_bytes; /* body that is streamed to a sink; above: 413 [4 GiB] */
	/*
	 * bytes of a rejected body that are read and dropped so that the client receives the
	 * answer; above: the connection is closed [32 MiB]
	 */
	size_t drain_bytes;
	size_t arena_bytes;    /* memory of one request in addition to its body [64 MiB] */
	size_t memory_bytes;   /* bodies and answers of all requests together; above: 503 [1 GiB] */
	unsigned idle_seconds; /* a connection without transfers for this long is closed [30] */
	/*
	 * minimum rate of a body and of an answer, in bytes a second, measured over each
	 * idle_seconds; slower connections are closed [512]
	 */
	size_t rate_bytes;
	/* concurrent connections; more wait in the listening socket's queue [1024] */
	unsigned connections;
	unsigned address_connections; /* from one remote address; more are closed [256] */
	/*
	 * threads that serve connections, and as many that run the handlers of routes that work [2
	 * for each processor, at least 4]
	 */
	unsigned threads;
	unsigned client_queue; /* requests of one client that wait for such a thread [256] */
	/* deadline for such a request, including its wait; above: 503 [30000] */
	unsigned request_ms;
	unsigned stop_seconds; /* time for requests in flight when the server stops [20] */
};

/* Reads a limit that may change while requests run. */
#define ux_http_limit(limits, field) __atomic_load_n(&(limits)->field, __ATOMIC_RELAXED)

/*
 * Changes body_bytes, coded_bytes, upload_bytes, drain_bytes, arena_bytes and request_ms of a
 * running server. Any thread.
 */
void ux_http_limits_change(struct ux_http_limits *limits, const struct ux_http_limits *next);

/* Fills in the defaults. */
struct ux_http_limits ux_http_limits_default(struct ux_http_limits limits);

/* The client of a request behind proxies. */
struct ux_forwarded {
	struct ux_address client; /* the peer, or the address reported by trusted proxies */
	bool proxied;             /* a header shows that the request came through a proxy */
	bool https;               /* a trusted proxy received it over https */
};

/*
 * Reads X-Forwarded-For, X-Forwarded-Proto and Forwarded (RFC 7239) of a request whose peer is
 * trusted. The lists are read from the right as long as the writers of the entries are trusted: the
 * first address that is not in the list is the client, and entries that the client may have written
 * are ignored. If both headers are present and name different clients, a proxy has forwarded one of
 * them unread; then the peer counts as the client.
 */
struct ux_forwarded ux_forwarded_of(const struct ux_request *req,
				    const struct ux_networks *trusted);

#endif
