/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of S3, the protocol of object stores: Amazon's, Ceph's radosgw, Google's by its XML API,
 * and others.
 */
#ifndef UX_S3_CLIENT_H
#define UX_S3_CLIENT_H

#include "http_client.h"
#include "s3_answer.h"

#include <stdatomic.h>

enum {
	UX_S3_BUCKET_MAX = 63, /* bytes of a bucket's name, by S3's reference */
	UX_S3_PREFIX_MAX = 512,
	UX_S3_PARTS_MAX = 10000, /* parts of one upload, by S3's reference */
	/*
	 * Bytes of one part. A larger file is sent in parts of this size, or of larger ones if they
	 * would be too many: after a failure only the current part is repeated.
	 */
	UX_S3_PART_BYTES = 64 << 20,
};

/* The place of a bucket, and the keys to use. Borrowed strings. */
struct ux_s3_options {
	const char *place;    /* "s3://BUCKET" or "s3://BUCKET/PREFIX" */
	const char *endpoint; /* URL of the server; NULL or "": Amazon's for the region */
	/* URL of the same server for other clients, for presigned URLs; NULL or "": endpoint */
	const char *public_endpoint;
	/* NULL or "": AWS_REGION or AWS_DEFAULT_REGION of the environment, or us-east-1 */
	const char *region;
	const char *keys;   /* file of access keys (s3_keys.h); NULL or "": the environment */
	const char *cafile; /* as in struct ux_http_client_options */
	/*
	 * the bucket is a part of the host's name ("BUCKET.HOST") rather than of the path, as for
	 * Amazon's newer buckets
	 */
	bool host_style;
	unsigned patience_ms; /* ms for all attempts at one request; 0: 15 s */
};

/* A bucket. All functions may be called from any thread. */
struct ux_s3;

/* The result of an attempt at a request. */
enum ux_s3_result {
	UX_S3_OK,
	UX_S3_ABSENT,  /* no such object */
	UX_S3_REFUSED, /* another answer that is not a success */
	UX_S3_FAILED,  /* no answer, or one that may differ on a retry */
	UX_S3_RESULTS
};

enum {
	UX_S3_DURATIONS = 9 /* bounds of durations, ux_s3_durations_ms */
};
extern const unsigned ux_s3_durations_ms[UX_S3_DURATIONS];

/* Counts of attempts since the bucket was opened; no memory order is needed. */
struct ux_s3_counts {
	_Atomic uint64_t requests[UX_METHOD_COUNT][UX_S3_RESULTS];
	_Atomic uint64_t sent;     /* bytes of bodies */
	_Atomic uint64_t received; /* bytes of the bodies of answers, from their heads */
	/*
	 * attempts that took at most ux_s3_durations_ms[i], and longer than the previous bound; the
	 * last one: longer ones
	 */
	_Atomic uint64_t durations[UX_S3_DURATIONS + 1];
	_Atomic uint64_t duration_us; /* total of all attempts */
};

const struct ux_s3_counts *ux_s3_get_counts(const struct ux_s3 *s3);

/* Tests whether the server answered when it was last needed. */
bool ux_s3_is_up(const struct ux_s3 *s3);

/*
 * Tests whether the server did not answer when it was last needed, at most so many milliseconds
 * ago.
 */
bool ux_s3_failed_within(const struct ux_s3 *s3, int64_t ms);

/*
 * Checks the options and opens a bucket, without a request. Without keys requests are not signed,
 * which is enough for a public bucket. UX_EINVAL, UX_ENOTFOUND.
 */
enum ux_code ux_s3_open(struct ux_s3 **ret, const struct ux_s3_options *options,
			struct ux_error *err) ux_must;
void ux_s3_close(struct ux_s3 *s3);

/*
 * Keys of objects are relative to the prefix of the place. Temporary failures (no connection, no
 * answer, 429 and 5xx) are retried for patience_ms. Codes of all requests: UX_EUNAVAILABLE: the
 * server cannot be reached or is overloaded, or the bucket does not exist: this says nothing about
 * the object. UX_EDENIED: the keys are wrong or not allowed to do this. UX_ENOTFOUND: no such
 * object. UX_ECONFLICT: a condition does not hold. UX_EIO: anything else that the server refuses.
 * Messages have S3's code and the ID of the request.
 */

/* Gets the size of an object. */
enum ux_code ux_s3_head(struct ux_s3 *s3, const char *key, uint64_t *ret_size, struct ux_error *err)
	ux_must;

/*
 * Reads n bytes of an object from off on, and passes them to the sink in order, each once; n
 * UINT64_MAX: up to the end. After a broken connection requests the rest. UX_ECORRUPT: there are
 * fewer than n bytes.
 */
enum ux_code ux_s3_get(struct ux_s3 *s3, const char *key, uint64_t off, uint64_t n,
		       ux_http_sink_fn *sink, void *ctx, struct ux_error *err) ux_must;

/*
 * Appends the last n bytes of an object to *ret, or all if it has fewer, and sets *ret_size to the
 * object's size. n is at most a few MiB: they are in memory.
 */
enum ux_code ux_s3_get_tail(struct ux_s3 *s3, const char *key, uint64_t n, struct ux_out *ret,
			    uint64_t *ret_size, struct ux_error *err) ux_must;

/* The content to write to an object. */
struct ux_s3_body {
	struct ux_bytes bytes; /* in memory, or */
	bool from_file;        /* bytes of fd, from off on */
	int fd;
	uint64_t off, size;
	/* SHA-256 of the bytes in hex, which the server verifies; NULL: compute it */
	const char *sha256;
	/*
	 * the object must not exist: UX_ECONFLICT; only if the body is sent in one request, and the
	 * server knows If-None-Match
	 */
	bool fresh;
};

/*
 * Writes an object: it appears as a whole, or not at all. Sends a body over UX_S3_PART_BYTES in
 * parts.
 */
enum ux_code ux_s3_put(struct ux_s3 *s3, const char *key, const struct ux_s3_body *body,
		       struct ux_error *err) ux_must;

/* An object that is copied. */
struct ux_s3_from {
	const char *key;
	uint64_t size;
};

enum {
	/* bytes of an object that is followed by others, by S3's reference */
	UX_S3_JOINED_MIN = 5 << 20,
};

/*
 * Writes an object from the bytes of n >= 1 others, in order, within the store. All but the last
 * need at least UX_S3_JOINED_MIN bytes. UX_EUNSUPPORTED: the store cannot do it, or there are too
 * many objects; other stores answer with one of the codes above.
 */
enum ux_code ux_s3_copy(struct ux_s3 *s3, const struct ux_s3_from *from, size_t n, const char *key,
			struct ux_error *err) ux_must;

/* Removing an absent object succeeds. */
enum ux_code ux_s3_delete(struct ux_s3 *s3, const char *key, struct ux_error *err) ux_must;

/*
 * Calls fn for each object whose key begins with `under`, in the order of keys, which are relative
 * to the place's prefix. fn may remove objects.
 */
enum ux_code ux_s3_list(struct ux_s3 *s3, const char *under, ux_s3_each_fn *fn, void *ctx,
			struct ux_error *err) ux_must;

/* Calls fn for uploads in parts that were neither completed nor aborted. */
enum ux_code ux_s3_list_unfinished(struct ux_s3 *s3, const char *under, ux_s3_each_fn *fn,
				   void *ctx, struct ux_error *err) ux_must;

/* Removes the parts of an unfinished upload. A missing upload is not a failure. */
enum ux_code ux_s3_abort(struct ux_s3 *s3, const char *key, const char *upload,
			 struct ux_error *err) ux_must;

/* The permission that a presigned URL gives to anyone who has it. */
struct ux_s3_presign {
	enum ux_method method; /* GET, HEAD or PUT */
	const char *key;
	unsigned expires_s;
	uint64_t length; /* the only Content-Length of a PUT; 0: any */
};

/*
 * Makes a URL with a signature in its query; malloc'ed. It has the host of public_endpoint. Sends
 * no request. UX_EUNSUPPORTED: no keys. UX_EINVAL: expires_s is 0 or too large.
 */
enum ux_code ux_s3_presigned(const struct ux_s3 *s3, const struct ux_s3_presign *what, char **ret,
			     struct ux_error *err) ux_must;

/* "s3://BUCKET/PREFIX", without a trailing slash. */
const char *ux_s3_place(const struct ux_s3 *s3);

/* Tests whether it is the address of a bucket rather than a folder. */
static inline bool ux_s3_is_place(const char *text)
{
	return strncmp(text, "s3://", 5) == 0;
}

#endif
