/* SPDX-License-Identifier: Apache-2.0 */
/* A server without sockets, for tests and the fuzzer: a store in a folder that dies with it. */
#ifndef MAKE_SERVER_H
#define MAKE_SERVER_H

#include "auth.h"
#include "module_cache.h"
#include "routes.h"

struct make_server {
	char dir[64];
	struct ux_store store;
	struct ux_server server;
	struct ux_http_app app;
	char admin[UX_TOKEN_SIZE]; /* a token for everything */
};

/* parent: where the folder is made; NULL: /tmp. Aborts when that fails. */
void make_server_open(struct make_server *s, const char *parent, bool open_reading);
void make_server_close(struct make_server *s);

/* A token of these scopes in a namespace (NULL: the default). */
void make_server_key(struct make_server *s, unsigned scopes, const char *ns,
		     char token[UX_TOKEN_SIZE]);

/* A request; all but method and target may be NULL. */
struct make_ask {
	const char *method;
	const char *target;
	const char *token;
	const char *host;
	const char *range; /* Content-Range */
	const char *accept;
	const char *type;                   /* Content-Type */
	const struct ux_http_field *fields; /* more header lines */
	size_t n_fields;
	struct ux_bytes body;
	struct ux_address peer;
	const char *const *headers; /* "Name: value", NULL-terminated; NULL: no others */
};

struct make_answer {
	unsigned status;
	struct ux_out body; /* released by the caller */
	char type[96];      /* Content-Type, "" when absent */
	char location[64];  /* header lines, "" when absent */
	char offset[32];
	char allow[64];
	char retry[16];
	char origin[64];   /* Access-Control-Allow-Origin */
	char fields[1024]; /* "Name: value" of all others, a line each */
	unsigned wait_ms;
	bool reset;
	uint64_t group, client; /* whose work it was, for the work queue */
};

/* Sends a request, and checks facts that hold for every answer: a known status, a type with a body.
 */
struct make_answer make_server_ask(struct make_server *s, const struct make_ask *ask);

#endif
