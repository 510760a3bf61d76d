/* SPDX-License-Identifier: Apache-2.0 */
/* Requests of a crawl to the server that keeps its packages: docs/api/openapi.yaml, /v1/crawl. */
#ifndef UX_CRAWL_CLIENT_H
#define UX_CRAWL_CLIENT_H

#include "error.h"
#include "http.h"

#include <jansson.h>

struct ux_http_client;

struct ux_crawl_client_options {
	const char *url;
	const char *token;  /* "" for none */
	const char *cacert; /* PEM file of trusted roots; NULL: the system's */
	const char *proxy;  /* URL; NULL: the environment's */
	unsigned tries;     /* attempts of a request while the server cannot be reached */
};

/* One thread at a time. */
struct ux_crawl_client {
	struct ux_http_client *http;
	unsigned tries;
};

/* Codes of ux_http_client_create(). */
enum ux_code ux_crawl_client_open(struct ux_crawl_client *c,
				  const struct ux_crawl_client_options *options,
				  struct ux_error *err) ux_must;
void ux_crawl_client_close(struct ux_crawl_client *c);

/*
 * Sends a request; repeats it while the server is away or busy. body: JSON, may be NULL; stays the
 * caller's. *ret: the document of the answer, NULL for an empty one; ret may be NULL. Codes of
 * ux_server_answer(), UX_EUNAVAILABLE.
 */
enum ux_code ux_crawl_client_call(struct ux_crawl_client *c, enum ux_method method,
				  const char *path, const json_t *body, json_t **ret,
				  struct ux_error *err) ux_must;

#endif
