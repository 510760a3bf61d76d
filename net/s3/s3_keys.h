/* SPDX-License-Identifier: Apache-2.0 */
/* Access keys of S3, from the environment or from a file. */
#ifndef UX_S3_KEYS_H
#define UX_S3_KEYS_H

#include "bytes.h"
#include "error.h"

enum {
	UX_S3_KEYS_FILE_MAX = 64 << 10, /* bytes of a file of keys */
};

/* All NULL: no keys; requests are not signed. The texts have no blanks and control characters. */
struct ux_s3_keys {
	char *id;
	char *secret;
	char *session; /* session token of temporary keys; NULL: permanent keys */
};

/*
 * Loads the keys of a file, or, if file is NULL, of the environment: AWS_ACCESS_KEY_ID,
 * AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN. *ret is released by ux_s3_keys_deinit(). UX_EINVAL:
 * only one of the first two is set, or one has a byte that is invalid in a header. UX_ENOTFOUND:
 * the file has no keys.
 */
enum ux_code ux_s3_keys_load(const char *file, struct ux_s3_keys *ret, struct ux_error *err)
	ux_must;

/*
 * Parses a file in the form of AWS's tools: "aws_access_key_id = ...", "aws_secret_access_key =
 * ...", "aws_session_token = ..." in the section [default], or before any section. The same codes.
 */
enum ux_code ux_s3_keys_parse(struct ux_bytes text, struct ux_s3_keys *ret, struct ux_error *err)
	ux_must;

/* Overwrites and frees the keys. */
void ux_s3_keys_deinit(struct ux_s3_keys *keys);

#endif
