/* SPDX-License-Identifier: Apache-2.0 */
/* Sending questions to an unhex server: libunhex-client, which links libcurl. */
#ifndef UNHEX_CLIENT_H
#define UNHEX_CLIENT_H

#include <unhex/question.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A connection to one server, kept open between questions. One thread at a time; any number of
 * them in a process. */
struct ux_client;

/* All zeros but for `size` and `url`; see struct ux_extract_opts for versions. */
struct ux_client_opts {
	size_t size;        /* sizeof(struct ux_client_opts) */
	const char *url;    /* "http://host:port" or https, a path in front of the routes is fine */
	const char *token;  /* an API key; NULL: none */
	const char *agent;  /* User-Agent; NULL: "unhex/VERSION" */
	const char *cafile; /* PEM file of trusted roots; NULL: the system's */
	uint32_t connect_ms; /* 0: 10 s */
	uint32_t call_ms;    /* for a question and its reply; 0: 60 s */
};

/* Copies the options; connects at the first question. UX_EINVAL: no http or https URL, or a token
 * that no header line can hold. UX_ENOMEM. Since 0.1. */
UX_API enum ux_code ux_client_open(const struct ux_client_opts *opts, struct ux_client **ret,
				   struct ux_error *err) UX_MUST;

/* NULL is fine. Replies live on. Since 0.1. */
UX_API void ux_client_close(struct ux_client *c);

/*
 * Sends a question with its modules and waits for the reply, which ux_reply_close() releases. A
 * module without symbols is a status in it, not a failure.
 *
 * UX_EUNAVAILABLE: no connection, no answer in time, or a server that asks to retry later; then
 * *ret_retry_s (it may be NULL) is when, in seconds, or 0. UX_EDENIED: it wants a key, or another
 * one. UX_ELIMIT: too many modules or addresses, or frames. UX_EUNSUPPORTED: it is another server,
 * or one that does not know the question's version. UX_EINVAL, UX_EIO: other 4xx and 5xx. err says
 * what the server said. Since 0.1.
 */
UX_API enum ux_code ux_client_ask(struct ux_client *c, struct ux_question *q, struct ux_reply **ret,
				  uint32_t *ret_retry_s, struct ux_error *err) UX_MUST;

#ifdef __cplusplus
}
#endif
#endif
