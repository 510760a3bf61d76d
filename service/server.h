/* SPDX-License-Identifier: Apache-2.0 */
/* What all handlers of all protocols share. */
#ifndef UX_SERVER_H
#define UX_SERVER_H

#include "exchange.h"
#include "extractor.h"
#include "metrics.h"
#include "keys.h"
#include "module_cache.h"
#include "module_wanted.h"
#include "session.h"
#include "store.h"

#include <stdatomic.h>

/* What one request may ask for, besides the bytes that net/ counts. */
enum {
	UX_SYMBOLIZE_ADDRESSES_MOST = 100000,
	UX_SYMBOLIZE_MODULES_MOST = 10000,
	UX_SYMBOLIZE_ANSWER_MOST = 256 << 20, /* bytes of JSON */
	UX_SYMBOLIZE_NAMES_MOST = 8 << 20,    /* functions read to find some by name: a second */
	UX_QUERY_MOST = 10000,                /* IDs or modules */
	UX_LIST_MOST = 1000,                  /* modules a page */
	UX_UPLOAD_CHUNK = 8 << 20,            /* bytes a PUT should carry */
};

/* One server: the handlers' req->app. The store and cache do their own locking. */
struct ux_server {
	struct ux_store *store;
	struct ux_module_cache *cache;
	struct ux_module_wanted wanted; /* who is asked for what the store has not */
	struct ux_extractor *extractor; /* of uploaded ELF files; NULL: they are not taken */
	/* The default namespace is read and symbolized without a key. Atomic since it may depend on
	 * where the server listens, which is known when requests may come already; no order needed.
	 */
	atomic_bool open_reading;
	bool local_only;              /* open_reading is for this machine: see ux_server_gate() */
	_Atomic uint64_t upload_most; /* bytes of one upload; may change, no order needed */
	struct ux_http_memory memory; /* of all requests */
	struct ux_metrics metrics;
	atomic_bool stopping;        /* a hint: nobody new is to be sent here; no order needed */
	struct ux_sessions sessions; /* of people at browsers */
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

/* The same for the audit. */
static inline struct ux_who ux_who_of(const struct ux_request *req)
{
	return (struct ux_who){.key_id = ux_caller_of(req)->key_id, .from = "http"};
}

/* Seconds since 1970. */
ux_time ux_server_now(void);

/*
 * Finds out who asks and refuses what they may not. With local_only, who has no key must have asked
 * for "localhost" or an address: a web page can make a name of its own point to this machine and
 * then read what is answered under it (DNS rebinding), but that name stays in the Host line.
 */
ux_handler_fn ux_server_gate;

#endif
