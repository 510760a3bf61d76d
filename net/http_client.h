/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP client: requests to one server. */
#ifndef UX_HTTP_CLIENT_H
#define UX_HTTP_CLIENT_H

#include "http.h"

struct ux_http_client;

enum {
	UX_HTTP_LOCATION_MAX =
		4096, /* bytes of a redirect's target; signed URLs have up to 2,000 */
};

/*
 * The addresses that a client may connect to, because names and redirects may be untrusted. Checked
 * for each connection, after the name was resolved.
 */
enum ux_http_reach {
	UX_HTTP_ANYWHERE,
	/* public addresses only (address.h); no proxy, and no redirect from https to http */
	UX_HTTP_PUBLIC,
	UX_HTTP_OWN, /* like PUBLIC, and private addresses for the URL's own host and port */
};

struct ux_http_client_options {
	const char *url;     /* "http://host:port" or https, optionally with a path prefix */
	const char *token;   /* sent as "Authorization: Bearer"; NULL or "": none */
	const char *agent;   /* User-Agent; NULL: "unhex/VERSION" */
	const char *cafile;  /* PEM file of trusted roots; NULL: the system's */
	unsigned connect_ms; /* 0: 10 s */
	enum ux_http_reach reach;
	/*
	 * with UX_HTTP_PUBLIC: the end of the error about a private address of the URL's own host,
	 * which UX_HTTP_OWN would allow; a literal, or NULL
	 */
	const char *private_advice;
	uint64_t rate;         /* bytes a second for sending a body; 0: no limit */
	uint64_t receive_rate; /* bytes a second for receiving an answer; 0: no limit */
	const char *proxy;     /* URL of a proxy, with reach ANYWHERE; NULL: the environment's */
};

/*
 * Checks that a URL names a server: http or https, a host, an optional port and path, no query and
 * no control character. UX_EINVAL if not.
 */
enum ux_code ux_http_url_check(const char *url, struct ux_error *err) ux_must;

/*
 * Copies the options. UX_EINVAL: ux_http_url_check() rejects the URL, or the token has a byte that
 * is invalid in a header. Connections are kept open between calls. One thread at a time.
 */
enum ux_code ux_http_client_create(struct ux_http_client **ret,
				   const struct ux_http_client_options *options,
				   struct ux_error *err) ux_must;
void ux_http_client_destroy(struct ux_http_client *c);

/* Receives a piece of the body of an answer with status 200. Any code but UX_OK ends the call. */
typedef enum ux_code ux_http_sink_fn(void *ctx, struct ux_bytes bytes, struct ux_error *err);

struct ux_http_answer;

/* Every call has these bounds, so that no server holds its client by a few bytes a second. */
enum {
	UX_HTTP_SLOW_BYTES_S = 512, /* as the server demands of its clients (slowest-rate) */
	UX_HTTP_SLOW_S = 30,
};

/* Inspects an answer before its body. Any code but UX_OK ends the call. */
typedef enum ux_code ux_http_begins_fn(void *ctx, const struct ux_http_answer *answer,
				       struct ux_error *err);

/* A request. Defaults of zeroed fields: GET, no body, 30 s, at most 16 MiB of answer. */
struct ux_http_call {
	enum ux_method method;
	const char *path;     /* appended to the URL without changes: "/v1/query?x=1" */
	const char *type;     /* content type of the body */
	struct ux_bytes body; /* a body in memory, or */
	bool from_file;       /* body_size bytes of body_fd, from body_off on */
	int body_fd;
	uint64_t body_off;
	uint64_t body_size;
	/* additional headers, "Name: value"; NULL-terminated; may be NULL */
	const char *const *headers;
	int64_t timeout_ms; /* timeout of the whole call; 0: 30 s */
	/* longest ms without a byte from the server; 0: only timeout_ms applies */
	int64_t silence_ms;
	/*
	 * The lowest rate of body and answer, in bytes a second; 0: UX_HTTP_SLOW_BYTES_S. A call
	 * that moves less in any period of slow_s (0: UX_HTTP_SLOW_S) ends. The time until the
	 * answer begins does not count, since a server may compute.
	 */
	uint64_t slow_bytes_s;
	unsigned slow_s;
	/* polled about once a second; true ends the call with UX_EUNAVAILABLE. NULL: never */
	bool (*cancelled)(void *ctx);
	void *cancelled_ctx;
	size_t answer_max; /* size limit of the answer; above: UX_ELIMIT; 0: 16 MiB */
	/* number of redirects to follow, to any http or https server; 0: none */
	unsigned redirects;
	/* receives the body of an answer with status 200; NULL: it is stored in the answer */
	ux_http_sink_fn *sink;
	void *sink_ctx;
	/*
	 * Called before the sink gets the first byte, with the status, the validators and part_off
	 * of the answer. With it the sink also receives the body of a 206. NULL: not called.
	 */
	ux_http_begins_fn *begins;
};

/* The answer with any status: a 404 is an answer, not a failure. */
struct ux_http_answer {
	unsigned status;
	/* no answer: the server's certificate was not accepted, and a retry will not help */
	bool untrusted;
	/* released by ux_http_answer_deinit(); with a sink, at most the first 64 KiB */
	struct ux_out body;
	uint64_t length;        /* Content-Length; UINT64_MAX: absent */
	unsigned retry_after_s; /* 0: no Retry-After */
	/* target of a redirect that was not followed; "": none, or too long */
	char location[UX_HTTP_LOCATION_MAX];
	char etag[128];    /* "": none, or too long */
	char modified[64]; /* Last-Modified; "": none */
	char type[128];    /* Content-Type; "": none, or too long */
	char software[64]; /* Server header of an error; "": none */
	/* for status 206: position in the file where the body begins; otherwise UINT64_MAX */
	uint64_t part_off;
	/* for status 401: the WWW-Authenticate header, the one for Bearer if there are several; "":
	 * none */
	char authenticate[1024];
};

void ux_http_answer_deinit(struct ux_http_answer *answer);

/*
 * UX_EUNAVAILABLE: no connection, no answer within timeout_ms, one below the lowest rate, a broken
 * connection, or a TLS error; the message tells which and names the server, never the token.
 * UX_EDENIED: the address is not allowed. UX_ELIMIT: the answer is too large. UX_EUNSUPPORTED: it
 * has a Content-Encoding.
 */
enum ux_code ux_http_client_call(struct ux_http_client *c, const struct ux_http_call *call,
				 struct ux_http_answer *ret, struct ux_error *err) ux_must;

/*
 * Returns s with every byte except letters, digits and "-._~:" as %XX; NULL when memory is short.
 */
char *ux_percent_encode(struct ux_arena *arena, struct ux_bytes s);

#endif
