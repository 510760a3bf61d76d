/* SPDX-License-Identifier: Apache-2.0 */
/* What all handlers share. */
#ifndef UX_SERVER_H
#define UX_SERVER_H

#include "exchange.h"
#include "keys.h"
#include "module_cache.h"
#include "store.h"

#include <stdatomic.h>

/* What one request may ask for, besides the bytes that net/ counts. */
enum {
	UX_SYMBOLIZE_ADDRESSES_MOST = 100000,
	UX_SYMBOLIZE_MODULES_MOST = 10000,
	UX_SYMBOLIZE_ANSWER_MOST = 256 << 20, /* bytes of JSON */
	UX_QUERY_MOST = 10000,                /* IDs or modules */
	UX_LIST_MOST = 1000,                  /* modules a page */
	UX_UPLOAD_CHUNK = 8 << 20,            /* bytes a PUT should carry */
};

/* One server: the handlers' req->app. The store and cache do their own locking. */
struct ux_server {
	struct ux_store *store;
	struct ux_module_cache *cache;
	/* The default namespace is read and symbolized without a key. Atomic since it may depend on
	 * where the server listens, which is known when requests may come already; no order needed.
	 */
	atomic_bool open_reading;
	bool local_only;              /* open_reading is for this machine: see ux_server_gate() */
	uint64_t upload_most;         /* bytes of one upload */
	struct ux_http_memory memory; /* of all requests */
};

/* Who asks: the handlers' req->caller. */
struct ux_caller {
	const char *key_id; /* "" without a key */
	const char *ns;
	unsigned scopes;
};

static inline struct ux_server *ux_server_of(const struct ux_request *req)
{
	return req->app;
}

static inline const struct ux_caller *ux_caller_of(const struct ux_request *req)
{
	return req->caller;
}

/* The routes, for tests too. */
extern const struct ux_route ux_server_routes[];
extern const size_t ux_server_route_count;

/* The app of a server; limits with the defaults filled in. */
struct ux_http_app ux_server_app(struct ux_server *s, struct ux_http_limits limits);

/* Seconds since 1970. */
ux_time ux_server_now(void);

/*
 * Finds out who asks and refuses what they may not. With local_only, who has no key must have asked
 * for "localhost" or an address: a web page can make a name of its own point to this machine and
 * then read what is answered under it (DNS rebinding), but that name stays in the Host line.
 */
ux_handler_fn ux_server_gate;

ux_handler_fn ux_handle_root, ux_handle_health;
ux_handler_fn ux_handle_query;
ux_handler_fn ux_handle_upload_announce, ux_handle_upload_state, ux_handle_upload_begin,
	ux_handle_upload_data, ux_handle_upload_finish;
ux_handler_fn ux_handle_symbolize, ux_handle_symbolize_one;
ux_handler_fn ux_handle_modules, ux_handle_module, ux_handle_module_delete, ux_handle_gsym;

#endif
