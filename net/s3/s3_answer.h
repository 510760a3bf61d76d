/* SPDX-License-Identifier: Apache-2.0 */
/* XML answers of S3: errors, listings of objects and of unfinished uploads. */
#ifndef UX_S3_ANSWER_H
#define UX_S3_ANSWER_H

#include "bytes.h"
#include "error.h"

enum {
	UX_S3_KEY_MAX = 1024, /* bytes of a key, by S3's reference */
};

/* An object of a listing, or an unfinished multipart upload. */
struct ux_s3_object {
	const char *key;
	const char *upload; /* ID of the upload; "" for an object */
	uint64_t size;      /* size of an object in bytes */
	/* time of the last change, or of the upload's start; seconds since 1970 */
	int64_t time;
};

/* Called for each object of a listing; the strings live until it returns. */
typedef enum ux_code ux_s3_each_fn(void *ctx, const struct ux_s3_object *object,
				   struct ux_error *err);

/* The fields of an answer besides its objects; "" and false if absent. */
struct ux_s3_answer {
	char root[64];     /* name of the document's element */
	char code[64];     /* error code, such as "NoSuchKey" */
	char message[256]; /* error message */
	char request[128]; /* ID of the request, in an error */
	char upload[UX_S3_KEY_MAX + 1];
	char etag[128];               /* entity tag of the object that was made */
	bool truncated;               /* the listing continues... */
	char next[UX_S3_KEY_MAX + 1]; /* ...with this continuation token or key marker */
	char next_upload[UX_S3_KEY_MAX + 1];
};

/*
 * Reads an answer and calls fn for its objects; fn may be NULL. UX_ECORRUPT: not XML of this kind.
 * struct ux_s3_answer is too large for a small stack. Any thread.
 */
enum ux_code ux_s3_answer_read(struct ux_bytes xml, struct ux_s3_answer *ret, ux_s3_each_fn *fn,
			       void *ctx, struct ux_error *err) ux_must;

#endif
