/* SPDX-License-Identifier: Apache-2.0 */
/* The server and its callers, as all handlers of all protocols see them. */
#ifndef UX_SERVER_H
#define UX_SERVER_H

#include "address.h"
#include "exchange.h"
#include "keys.h"
#include "metrics.h"
#include "store.h"

#include <stdatomic.h>

struct ux_access;
struct ux_extractor;
struct ux_fetcher;
struct ux_gate;
struct ux_module_cache;

/* What one request may contain, besides the bytes that net/ counts. */
enum {
	UX_SYMBOLIZE_ADDRESSES_MOST = 100000,
	UX_SYMBOLIZE_MODULES_MOST = 10000,
	UX_SYMBOLIZE_ANSWER_MOST = 256 << 20, /* bytes of JSON */
	UX_SYMBOLIZE_NAMES_MOST = 8 << 20,    /* functions read to find some by name: a second */
	UX_QUERY_MOST = 10000,                /* IDs or modules */
	UX_LIST_MOST = 1000,                  /* modules a page */
	UX_UPLOAD_CHUNK = 8 << 20,            /* bytes a PUT should carry */
};

/* --- modules that the store lacks ------------------------------------------------------------- */

enum ux_missing_status {
	UX_MISSING_NOWHERE, /* no upstream has it, or that was found out a while ago */
	UX_MISSING_PENDING, /* it is being fetched, or extracted */
	UX_MISSING_ARRIVED, /* the store has it now */
};

/* One module that the store has nothing of. */
struct ux_missing_module {
	const char *ns;
	const char *id;         /* canonical */
	uint32_t wait_ms;       /* how long fetch() may block; 0: it begins, and returns at once */
	uint32_t retry_after_s; /* set for UX_MISSING_PENDING: when another request makes sense;
				   0: the caller's default */
};

/*
 * The source of modules that the store lacks. fetch() is called by threads that serve requests, any
 * number at once, with no lock of ours held: many requests name the same module, and one request up
 * to 10,000. It works on threads of its own, commits what it got as an upload is, calls
 * ux_module_cache_evict_id(), and then returns UX_MISSING_ARRIVED; it remembers by itself what is
 * not to be fetched again so soon. Set before the server answers. Zeroed: there is no source.
 */
struct ux_missing_modules {
	enum ux_missing_status (*fetch)(void *ctx, struct ux_missing_module *m);
	void *ctx;
};

/* --- the server ------------------------------------------------------------------------------- */

/* One server: the handlers' req->app. Its parts lock themselves. */
struct ux_server {
	const struct ux_route *routes; /* the table that it serves */
	size_t n_routes;
	struct ux_store *store;
	struct ux_module_cache *cache;
	struct ux_missing_modules missing;
	/* Of upstreams; NULL: there are none. A reload exchanges it; the one before has ended then,
	 * and stays until the server closes, for threads that still read it. */
	_Atomic(struct ux_fetcher *) fetcher;
	atomic_uint waiting; /* threads that wait for it; a bound alone: no order needed */
	struct ux_extractor *extractor; /* of uploaded ELF files; NULL: they are not accepted */
	/* The default namespace is read and symbolized without a key. Atomic since it may depend on
	 * where the server listens, which is known when requests may come already; no order needed.
	 */
	atomic_bool open_reading;
	bool local_only; /* open_reading is for this machine: see ux_gate_check() */
	/* NULL: ux_access_default. A reload may exchange it while others read the one before, which
	 * therefore lives as long as the server; acquire pairs with the release of the exchange. */
	_Atomic(const struct ux_access *) access;
	struct ux_gate *gate;           /* what the checks of callers remember */
	int64_t (*clock_ns)(void *ctx); /* for tests; NULL: the monotonic clock */
	void *clock_ctx;
	_Atomic uint64_t upload_most; /* bytes of one upload; may change, no order needed */
	struct ux_http_memory memory; /* of all requests */
	struct ux_metrics metrics;
	atomic_bool stopping; /* a hint: /readyz fails; no order needed */
};

/* To whom a namespace is open without a key. */
enum ux_openness {
	UX_OPEN_TO_NONE,
	UX_OPEN_TO_MACHINE, /* to this one, which the request is of */
	UX_OPEN_TO_ALL,
};

/* Who sent the request: the handlers' req->caller. */
struct ux_caller {
	const char *key_id; /* "" without a key */
	const char *ns;     /* that the request is about: other namespaces do not exist for it */
	unsigned scopes;
	enum ux_openness openness; /* of ns */
	const char *from;          /* address as text: of the peer, or as trusted proxies say */
	struct ux_address address;
	bool proxied;
	bool https;       /* as a trusted proxy says */
	ux_time expires;  /* the key does; 0: never */
	uint64_t rate;    /* of the key; 0: the server's */
	uint64_t uploads; /* of the key; 0: the server's */
};

static inline struct ux_server *ux_server_of(const struct ux_request *req)
{
	return req->app;
}

static inline const struct ux_caller *ux_caller_of(const struct ux_request *req)
{
	return req->caller;
}

/* The caller as the audit log names it. */
static inline struct ux_who ux_who_of(const struct ux_request *req)
{
	return (struct ux_who){.key_id = ux_caller_of(req)->key_id,
			       .from = ux_caller_of(req)->from};
}

#endif
