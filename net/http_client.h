/* SPDX-License-Identifier: Apache-2.0 */
/* The asking side: one connection to one server. */
#ifndef UX_HTTP_CLIENT_H
#define UX_HTTP_CLIENT_H

#include "http.h"

struct ux_http_client;

/* Where a client may be led by names and redirects; checked where each connection is made, after
 * the name was resolved. */
enum ux_http_reach {
	UX_HTTP_ANYWHERE,
	UX_HTTP_PUBLIC, /* public addresses alone (address.h); no proxy, and not from https
			   to http */
	UX_HTTP_OWN,    /* the same, but private ones too for the URL's own host and port */
};

struct ux_http_client_options {
	const char *url;     /* "http://host:port" or https, a path prefix is fine */
	const char *token;   /* sent as "Authorization: Bearer"; NULL or "": none */
	const char *agent;   /* User-Agent; NULL: "unhex/VERSION" */
	const char *cafile;  /* PEM file of trusted roots; NULL: the system's */
	unsigned connect_ms; /* 0: 10 s */
	enum ux_http_reach reach;
};

/*
 * Copies the options. UX_EINVAL: not an http or https URL, or a token with a byte that a header
 * line cannot hold. Keeps connections open between calls. One thread at a time.
 */
enum ux_code ux_http_client_create(struct ux_http_client **ret,
				   const struct ux_http_client_options *options,
				   struct ux_error *err) ux_must;
void ux_http_client_destroy(struct ux_http_client *c);

/* Takes a piece of the body of an answer of status 200; another code than UX_OK ends the call. */
typedef enum ux_code ux_http_sink_fn(void *ctx, struct ux_bytes bytes, struct ux_error *err);

/* What to ask. Zeroed fields: GET, no body, 30 s, 16 MiB of answer. */
struct ux_http_call {
	enum ux_method method;
	const char *path;     /* appended to the URL as it is: "/v1/query?x=1" */
	const char *type;     /* content type of the body */
	struct ux_bytes body; /* from memory, or */
	bool from_file;       /* body_size bytes of body_fd from body_off on */
	int body_fd;
	uint64_t body_off;
	uint64_t body_size;
	const char *const *headers; /* more lines, "Name: value"; NULL-terminated; may be NULL */
	int64_t timeout_ms;         /* for the whole call; 0: 30 s */
	int64_t silence_ms;         /* without a byte from the server; 0: timeout_ms alone counts */
	uint64_t slow_bytes_s;      /* slower than that for slow_s is over; 0: never */
	unsigned slow_s;
	/* Asked about once a second; true ends the call with UX_EUNAVAILABLE. NULL: never. */
	bool (*cancelled)(void *ctx);
	void *cancelled_ctx;
	size_t answer_most;    /* bytes of answer; more is UX_ELIMIT; 0: 16 MiB */
	unsigned redirects;    /* to follow, to whatever http or https server; 0: none */
	ux_http_sink_fn *sink; /* takes the body of an answer of status 200; NULL: the answer */
	void *sink_ctx;
};

/* The answer, of any status: a 404 is an answer, not a failure. */
struct ux_http_answer {
	unsigned status;
	struct ux_out body;     /* released by ux_http_answer_deinit(); of a call with a sink no
				   more than its first 64 KiB */
	unsigned retry_after_s; /* 0: not said */
	char location[256];     /* of a redirect; "" otherwise (which is not followed) */
};

void ux_http_answer_deinit(struct ux_http_answer *answer);

/*
 * UX_EUNAVAILABLE: no connection, no answer within timeout_ms, a broken connection or TLS; the
 * message says which and names the server, never the token. UX_EDENIED: its address is not within
 * reach. UX_ELIMIT: the answer is too big.
 */
enum ux_code ux_http_client_call(struct ux_http_client *c, const struct ux_http_call *call,
				 struct ux_http_answer *ret, struct ux_error *err) ux_must;

/* s with every byte but letters, digits and "-._~:" as %XX; NULL when memory is short. */
char *ux_percent_encode(struct ux_arena *arena, struct ux_bytes s);

#endif
