/* SPDX-License-Identifier: Apache-2.0 */
/* The upload protocol, asking side. Source: docs/api/openapi.yaml. */
#ifndef UX_PUSH_CLIENT_H
#define UX_PUSH_CLIENT_H

#include "bytes.h"
#include "error.h"
#include "id.h"
#include "unhex/quality.h"

struct ux_http_client;

enum {
	UX_PUSH_REASON = 160,       /* bytes of a reason, with the NUL */
	UX_PUSH_QUERY_MOST = 10000, /* modules of one query */
};

/* One server and the time there is for it. One thread at a time. */
struct ux_push_client {
	struct ux_http_client *http;
	int64_t deadline_ms; /* by CLOCK_MONOTONIC */
};

enum ux_code ux_push_client_open(struct ux_push_client *c, const char *url, const char *token,
				 const char *cacert, int64_t timeout_ms, struct ux_error *err)
	ux_must;
void ux_push_client_close(struct ux_push_client *c);

/* What a server says of a module. */
enum ux_push_verdict {
	UX_PUSH_WANTED,
	UX_PUSH_UPLOADED,
	UX_PUSH_ALREADY_THERE,
	UX_PUSH_BETTER_THERE,
	UX_PUSH_PENDING, /* the server has the bytes and is reading them */
	UX_PUSH_REFUSED, /* an ID that it cannot take, a GSYM that it finds broken */
};

struct ux_push_answer {
	enum ux_push_verdict verdict;
	char reason[UX_PUSH_REASON]; /* "" when none was given */
	bool told;                   /* how good what the server has found in it is: */
	enum ux_quality quality;
};

struct ux_push_question {
	const struct ux_id_set *ids;
	enum ux_quality quality;
};

/*
 * What of these does the server want? Calls are repeated while the server cannot be reached, a few
 * times and until the deadline. UX_EDENIED: it wants a key, or another one; UX_EUNAVAILABLE;
 * UX_EUNSUPPORTED: it does not answer as an unhex server does.
 */
enum ux_code ux_push_query(struct ux_push_client *c, const struct ux_push_question *questions,
			   size_t n, bool force, struct ux_push_answer *answers,
			   struct ux_error *err) ux_must;

struct ux_push_upload {
	const struct ux_id_set *ids;
	enum ux_quality quality;
	struct ux_bytes bytes;
	const char *kind;        /* "gsym", "executable", "debuginfo" */
	const char *description; /* "" for none */
	const char *file;
	bool force;
};

/*
 * Sends one file in pieces, unless the server has the very bytes, which it is asked first by their
 * hash; after a broken connection it goes on where the server has come to. Of
 * a file that the server extracts by itself, waits for what comes of it.
 * Verdicts other than UX_PUSH_WANTED; UX_PUSH_PENDING when the time ended before. Codes as of
 * ux_push_query().
 */
enum ux_code ux_push_upload(struct ux_push_client *c, const struct ux_push_upload *upload,
			    struct ux_push_answer *ret, struct ux_error *err) ux_must;

#endif
