/* SPDX-License-Identifier: Apache-2.0 */
/* Sending requests to an unhex server. This is libunhex-client, which links libcurl. */
#ifndef UNHEX_CLIENT_H
#define UNHEX_CLIENT_H

#include <unhex/question.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A connection to one server, which is kept open between requests. One thread at a time may use a
 * client; a process may have any number of clients.
 */
struct ux_client;

/*
 * All zeros but for `size` and `url`; see struct ux_extract_opts for how structs of other versions
 * are handled.
 */
struct ux_client_opts {
	size_t size;         /* sizeof(struct ux_client_opts) */
	const char *url;     /* "http://host:port" or https; may have a path prefix */
	const char *token;   /* an API key; NULL: none */
	const char *agent;   /* User-Agent; NULL: "unhex/VERSION" */
	const char *cafile;  /* PEM file of trusted roots; NULL: the system's */
	uint32_t connect_ms; /* ms; timeout of connecting; 0: 10 s */
	uint32_t call_ms;    /* ms; timeout of a request with its reply; 0: 60 s */
};

/*
 * Copies the options. The connection is made by the first request. UX_EINVAL: the URL is not http
 * or https, or the token cannot be part of a header line. UX_ENOMEM. Since 0.1.
 */
UX_API enum ux_code ux_client_open(const struct ux_client_opts *opts, struct ux_client **ret,
				   struct ux_error *err) UX_MUST;

/* Closes the connection. c may be NULL. Replies stay valid. Since 0.1. */
UX_API void ux_client_close(struct ux_client *c);

/*
 * Sends a request and waits for the reply, which the caller releases with ux_reply_close(). A
 * module without symbols is not a failure: the reply has its status.
 *
 * UX_EUNAVAILABLE: no connection, no reply within the timeout, or the server asked to retry later;
 * then *ret_retry_s (which may be NULL) is the delay in seconds, 0 when the server named none.
 * UX_EDENIED: the server requires a key, or rejected this one. UX_ELIMIT: too many modules,
 * addresses or frames. UX_EUNSUPPORTED: the server is not unhex, or does not know this version of
 * the format. UX_EINVAL, UX_EIO: any other 4xx or 5xx status. err contains the server's message.
 * Since 0.1.
 */
UX_API enum ux_code ux_client_ask(struct ux_client *c, struct ux_question *q, struct ux_reply **ret,
				  uint32_t *ret_retry_s, struct ux_error *err) UX_MUST;

#ifdef __cplusplus
}
#endif
#endif
