/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signatures of requests to S3: AWS Signature Version 4, in a header or in the query of a URL. The
 * process is "Signature Version 4 signing process" of AWS's reference; Google's object store takes
 * the same ("V4 signing process", with AWS4-HMAC-SHA256).
 */
#ifndef UX_S3_SIGN_H
#define UX_S3_SIGN_H

#include "bytes.h"
#include "error.h"
#include "out.h"
#include "s3_keys.h"

enum {
	UX_S3_DATE_SIZE = 17,              /* "20130524T000000Z" and a NUL */
	UX_S3_EXPIRES_MAX = 7 * 24 * 3600, /* seconds that a presigned URL may be valid */
	UX_S3_SIGNED_MAX = 16,             /* headers that are signed */
};

/* The payload of a request whose bytes are not signed. */
#define UX_S3_UNSIGNED "UNSIGNED-PAYLOAD"

/* The parts of a request to sign. Borrowed strings. */
struct ux_s3_signed {
	const char *method; /* "GET" */
	const char *host;   /* in the form of the Host header */
	const char *path;   /* as sent: "/bucket/key", by ux_s3_encode() */
	/*
	 * By ux_s3_query_add(), with names in ascending order, which begin with a lower-case
	 * letter; "": none.
	 */
	const char *query;
	const char *payload; /* SHA-256 of the body in hex, or UX_S3_UNSIGNED */
	const char *region;
	int64_t time; /* seconds since 1970 UTC */
	/*
	 * additional headers, "name: value" with names in lower case; NULL-terminated; may be NULL
	 */
	const char *const *headers;
};

/* Writes every byte except letters, digits and "-._~" as %XX. path: also keeps '/'. */
void ux_s3_encode(struct ux_out *out, struct ux_bytes s, bool path);

/* Appends "name=value", both encoded, and "&" before it if the query is not empty. */
void ux_s3_query_add(struct ux_out *query, const char *name, struct ux_bytes value);

/* Formats the time for the x-amz-date header. */
void ux_s3_date(int64_t time, char date[UX_S3_DATE_SIZE]);

/*
 * Appends the value of the Authorization header. Send the request with x-amz-date,
 * x-amz-content-sha256 and, if the keys have a session, x-amz-security-token. UX_EINVAL: too many
 * headers. Any thread.
 */
enum ux_code ux_s3_sign(const struct ux_s3_signed *request, const struct ux_s3_keys *keys,
			struct ux_out *ret, struct ux_error *err) ux_must;

/*
 * Appends the query of a URL that anyone may use for expires_s seconds; the payload is not signed,
 * whatever request->payload is. The same codes; also if expires_s is 0 or over UX_S3_EXPIRES_MAX.
 */
enum ux_code ux_s3_presign(const struct ux_s3_signed *request, const struct ux_s3_keys *keys,
			   unsigned expires_s, struct ux_out *ret, struct ux_error *err) ux_must;

#endif
