/* SPDX-License-Identifier: Apache-2.0 */
/* One request to a bucket; private to this folder. */
#ifndef UX_S3_REQUEST_H
#define UX_S3_REQUEST_H

#include "s3_client.h"

enum {
	UX_S3_HEADERS_MAX = 4,
	UX_S3_HEX_SIZE = 65, /* a SHA-256 in hex, and a NUL */
};

/* SHA-256 of no bytes. */
#define UX_S3_EMPTY "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

struct ux_s3_request {
	enum ux_method method;
	const char *key;            /* NULL: the bucket itself */
	const char *query;          /* by ux_s3_query_add(); NULL: none */
	const char *const *headers; /* not signed; at most UX_S3_HEADERS_MAX, NULL-terminated */
	/*
	 * more headers, signed, with names in lower case; headers that begin with x-amz- must be
	 * signed
	 */
	const char *const *signed_headers;
	const char *sha256; /* SHA-256 of the body, in hex */
	struct ux_bytes body;
	bool from_file;
	int fd;
	uint64_t off, size;
	uint64_t expected; /* bytes of the answer, for its time limit */
	/*
	 * The answer is a document with this element, or an error, which may follow a status of
	 * 200. NULL: it has no document that matters.
	 */
	const char *root;
	bool tagged; /* the answer is about an object: S3 always sends its ETag */
	/*
	 * Called with sink_ctx before each attempt; may change the memory that the headers point
	 * to. True: the previous attempt made progress, so the patience starts again. NULL: not
	 * called.
	 */
	bool (*prepare)(void *sink_ctx);
	ux_http_begins_fn *begins; /* as in struct ux_http_call */
	ux_http_sink_fn *sink;
	void *sink_ctx;
};

/*
 * Sends a request until it succeeds, is refused, or the patience is used up. The answer is a
 * success.
 */
enum ux_code ux_s3_call(struct ux_s3 *s3, const struct ux_s3_request *r, struct ux_http_answer *ret,
			struct ux_error *err) ux_must;

/*
 * Returns the success of an answer, or its error; *ret_again: a retry may succeed. A success must
 * be S3's: a proxy, a page of a login or of maintenance also answers 200, and means nothing.
 */
enum ux_code ux_s3_judge(const struct ux_s3 *s3, const struct ux_s3_request *r,
			 const struct ux_http_answer *answer, bool *ret_again, struct ux_error *err)
	ux_must;

/*
 * Returns the sign by which an answer with a success cannot be S3's; NULL: none, as far as its head
 * tells.
 */
const char *ux_s3_foreign(const struct ux_s3_request *r, const struct ux_http_answer *answer);

/* Counts an attempt, which began at this time of the monotonic clock. */
void ux_s3_count(struct ux_s3_counts *counts, const struct ux_s3_request *r,
		 const struct ux_http_answer *answer, enum ux_s3_result result, int64_t began_ns);

enum {
	UX_S3_ETAG_SIZE = sizeof(((struct ux_http_answer *)0)->etag),
};

/* Like ux_s3_head(), and sets ret_etag (UX_S3_ETAG_SIZE bytes; NULL: not) to the object's ETag. */
enum ux_code ux_s3_head_tag(struct ux_s3 *s3, const char *key, uint64_t *ret_size, char *ret_etag,
			    struct ux_error *err) ux_must;

/*
 * Appends the name of an object as the source of a copy: "/BUCKET/PREFIX/KEY", as in a URL, and a
 * NUL.
 */
enum ux_code ux_s3_source(const struct ux_s3 *s3, const char *key, struct ux_out *ret,
			  struct ux_error *err) ux_must;

/* The prefix of the place, without slashes at its ends; "": none. */
const char *ux_s3_prefix(const struct ux_s3 *s3);

#endif
