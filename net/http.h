/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP as the programs see it: requests, responses, handlers; no sockets and no library in here. */
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
	UX_METHOD_HEAD, /* answered by the GET handler, the body is not sent */
	UX_METHOD_POST,
	UX_METHOD_PUT,
	UX_METHOD_DELETE,
	UX_METHOD_OPTIONS, /* answered without a handler: see struct ux_http_app */
	UX_METHOD_COUNT
};

/* "GET", ...; never NULL. */
const char *ux_method_name(enum ux_method method);

/* False for a method that we do not know. Methods are case-sensitive (RFC 9110, 9.1). */
bool ux_method_parse(struct ux_bytes text, enum ux_method *ret) ux_must;

/* A header line or a query parameter. */
struct ux_http_field {
	struct ux_bytes name;
	struct ux_bytes value;
};

enum {
	UX_ROUTE_PARAMS_MOST = 4,      /* placeholders of one pattern */
	UX_RESPONSE_FIELDS_MOST = 24,  /* header lines that a handler may add */
	UX_QUERY_FIELDS_MOST = 64,     /* parameters of one request */
	UX_REQUEST_HEADERS_MOST = 128, /* header lines of one request */
	UX_REQUEST_NAME_MOST = 64      /* bytes of what a request is called */
};

struct ux_route;
struct ux_kept;

/*
 * Bytes that all requests of a server together keep, bodies that came and answers that a slow
 * client has yet to take: so many clients cannot do what one may not. Any thread.
 */
struct ux_http_memory {
	atomic_size_t used; /* a sum alone: no order needed */
	atomic_size_t most; /* may change while requests run */
};

/* Where the body of a streamed request goes as it arrives. */
struct ux_body_sink {
	enum ux_code (*write)(void *ctx, struct ux_bytes bytes, struct ux_error *err);
	void (*close)(void *ctx); /* exactly once, also when the client vanishes; NULL: nothing */
	void *ctx;
};

/* One request. Everything in it lives until the answer was sent. One thread at a time. */
struct ux_request {
	uint64_t id; /* number within this process */
	/* What logs call it and X-Request-Id says: the client's word, where that is sane, or ours.
	 */
	char name[UX_REQUEST_NAME_MOST + 1];
	enum ux_method method;
	struct ux_address peer;      /* of the connection */
	struct ux_bytes path;        /* as sent, without prefix and query */
	struct ux_bytes prefix;      /* "/k/TOKEN/n/NAME", either or none of both, as sent */
	struct ux_bytes path_token;  /* decoded; empty when the prefix has none */
	struct ux_bytes path_space;  /* NAME, decoded; empty when the prefix has none */
	struct ux_http_field *query; /* decoded */
	size_t n_query;
	struct ux_http_field *headers;
	size_t n_headers;
	uint64_t content_length; /* bytes; UINT64_MAX when not announced */
	uint64_t body_size;      /* bytes of body that came */
	struct ux_bytes body;    /* collected body; empty when streamed to the sink */
	const struct ux_route *route;
	struct ux_bytes params[UX_ROUTE_PARAMS_MOST]; /* what the placeholders matched, decoded */
	size_t n_params;
	struct ux_body_sink sink; /* set by a route's begin() */
	struct ux_arena arena;
	struct ux_out out;             /* where a handler writes a body of unknown size */
	struct ux_error err;           /* of the handler, becomes the answer */
	struct ux_http_memory *memory; /* of all requests; NULL: it is not counted */
	size_t held;                   /* of them by this one: see ux_request_hold() */
	void *app;                     /* the program's own: see struct ux_http_app */
	struct ux_kept *kept;          /* see ux_request_keep() */
	void *caller;                  /* the caller, as the program's gate found; from the arena */
	struct ux_http_waits *waits;   /* the driver's; NULL: it cannot wait */
	void *waits_ctx;
	bool parked; /* the handler's last word was ux_request_park() */
	unsigned park_ms;
	void (*end)(void *ctx); /* see ux_request_on_end() */
	void *end_ctx;
};

/* How requests of a server wait: see ux_request_park(). */
struct ux_http_waits {
	bool (*may)(void *ctx);  /* false: the server is stopping */
	void (*wake)(void *ctx); /* the request's turn again; any thread */
};

/*
 * For a handler that waits for others: it says so, returns UX_OK and leaves the response alone, and
 * no thread is held meanwhile. It is called again from its beginning after ux_request_wake(), or
 * when wait_ms are over, or for no reason; what it took from the arena is gone. False: an answer is
 * due now.
 */
bool ux_request_park(struct ux_request *req, unsigned wait_ms) ux_must;

/* Any thread, until the request has ended; before it is parked too. */
void ux_request_wake(struct ux_request *req);

/* fn(ctx) is called once when the request ends, however it does: it takes back what might wake it.
 * One a request. */
void ux_request_on_end(struct ux_request *req, void (*fn)(void *ctx), void *ctx);

/*
 * The request keeps so many bytes now, in place of what it said before; a handler whose answer
 * grows large says so on the way. UX_EUNAVAILABLE: all requests together have too much.
 */
enum ux_code ux_request_hold(struct ux_request *req, size_t bytes) ux_must;

/*
 * What the answer borrows from lives until it was sent, or the client has vanished: then drop(ctx)
 * is called; at once on failure.
 */
enum ux_code ux_request_keep(struct ux_request *req, void (*drop)(void *ctx), void *ctx) ux_must;

/* Drops what was kept after `until` (NULL: all), the last one first; for the driver of the
 * exchange. */
void ux_request_drop_kept(struct ux_request *req, const struct ux_kept *until);

/* The value of the first header line of that name (any case), or false. */
bool ux_request_header(const struct ux_request *req, const char *name, struct ux_bytes *ret);

/* The value of the first parameter of that name, or false. */
bool ux_request_query(const struct ux_request *req, const char *name, struct ux_bytes *ret);

/* The answer. Zeroed apart from fd = -1, it is an empty 200. */
struct ux_response {
	unsigned status;      /* 0: 200, or what the handler's code maps to */
	const char *word;     /* of an error document; NULL: what the handler's code maps to */
	const char *type;     /* content type, static; NULL: none */
	struct ux_bytes body; /* borrowed until the request ends: static, in the arena, or req->out
			       */
	int fd;               /* with fd >= 0: this range of a file instead; closed after */
	uint64_t fd_off;
	uint64_t fd_size;
	/* Set before the body comes: all further waits so long; the socket's owner does it. */
	unsigned wait_ms;
	bool reset; /* no answer: the connection is reset */
	struct ux_http_field fields[UX_RESPONSE_FIELDS_MOST]; /* values as long-lived as body */
	size_t n_fields;
};

/*
 * Answers one request whose body is complete. A code other than UX_OK becomes an error document
 * with the status that it maps to, unless the handler set res->status itself.
 */
typedef enum ux_code ux_handler_fn(struct ux_request *req, struct ux_response *res);

/* Adds a header line; silently too many is a mistake of the program's. value lives like body. */
void ux_response_field(struct ux_response *res, const char *name, struct ux_bytes value);

/* Takes what was written to req->out as the body. */
enum ux_code ux_response_out(struct ux_request *req, struct ux_response *res, const char *type)
	ux_must;

/* The status of an error code: the one table of the tree. 200 for UX_OK. */
unsigned ux_http_status(enum ux_code code);

/* The word in an error document: "not_found", "corrupt", ...; never NULL. */
const char *ux_http_code_word(enum ux_code code);

/*
 * Turns req->err into {"error":{"code":...,"message":...}}, replacing whatever was in res. An error
 * that the operating system gave (os_errno) is the server's own, a 500 without details, whatever
 * its code; but a full disk is reported, with a 507.
 */
void ux_response_error(struct ux_request *req, struct ux_response *res, enum ux_code code);

/* What any client may make a server do. Zeroed fields take the default in brackets. */
struct ux_http_limits {
	size_t header_bytes;   /* of a connection, for request line and header lines [32 KiB] */
	size_t body_bytes;     /* a body that is collected in memory; above: 413 [16 MiB] */
	uint64_t upload_bytes; /* a body that is streamed to a sink; above: 413 [4 GiB] */
	size_t drain_bytes;    /* of a refused body, read and thrown away so that the client gets to
			  see the answer; above: the connection is closed [32 MiB] */
	size_t arena_bytes;    /* memory of one request besides its body [64 MiB] */
	size_t memory_bytes;   /* bodies and answers of all requests together; above: 503 [1 GiB] */
	unsigned idle_seconds; /* a connection that neither sends nor takes bytes is closed [30] */
	size_t rate_bytes;     /* a second that a body and an answer must move on the average, after
				  idle_seconds for a start; slower ones are cut [512] */
	unsigned connections;  /* at once; more wait in the system's queue [1024] */
	unsigned address_connections; /* of one address that is not this machine's; more are closed
					 [256] */
	unsigned threads;             /* that serve requests [2 a processor, at least 4] */
	unsigned stop_seconds;        /* how long requests in flight may take when stopping [20] */
};

/* One that may change while requests run, which each takes as it is at its time. */
#define ux_http_limit(limits, field) __atomic_load_n(&(limits)->field, __ATOMIC_RELAXED)

/* Changes those of a server that serves: body_bytes, upload_bytes, drain_bytes, arena_bytes. Any
 * thread. */
void ux_http_limits_change(struct ux_http_limits *limits, const struct ux_http_limits *next);

/* Fills in the defaults. */
struct ux_http_limits ux_http_limits_default(struct ux_http_limits limits);

/* From whom a request really comes. */
struct ux_forwarded {
	struct ux_address client; /* the peer, or the one that trusted proxies name */
	bool proxied;             /* a header line says that the request came through a proxy */
	bool https;               /* a trusted proxy says that it came encrypted */
};

/*
 * Reads X-Forwarded-For, X-Forwarded-Proto and Forwarded (RFC 7239) of a request whose peer is
 * trusted, from the right, as far as those who wrote them are trusted: the first address that is
 * not in the list is the client. What the client itself may have written does not count. When both
 * headers are there and name different clients, some proxy passed one of them on without reading
 * it: then the client is the peer.
 */
struct ux_forwarded ux_forwarded_of(const struct ux_request *req,
				    const struct ux_networks *trusted);

#endif
