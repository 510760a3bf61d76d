/* SPDX-License-Identifier: Apache-2.0 */
/* What all handlers of all protocols share. */
#ifndef UX_SERVER_H
#define UX_SERVER_H

#include "access.h"
#include "exchange.h"
#include "extractor.h"
#include "fetcher.h"
#include "metrics.h"
#include "keys.h"
#include "module_cache.h"
#include "module_wanted.h"
#include "session.h"
#include "readings.h"
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
	/* Of what upstreams may have; NULL: nobody is asked. A reload exchanges it; the one before
	 * has ended then, and stays until the server closes, for who still looks at it. */
	_Atomic(struct ux_fetcher *) fetcher;
	atomic_uint waiting; /* threads that wait for it; a bound alone: no order needed */
	struct ux_extractor *extractor; /* of uploaded ELF files; NULL: they are not taken */
	/* The default namespace is read and symbolized without a key. Atomic since it may depend on
	 * where the server listens, which is known when requests may come already; no order needed.
	 */
	atomic_bool open_reading;
	bool local_only; /* open_reading is for this machine: see ux_server_gate() */
	/* NULL: ux_access_default. A new one may take its place while old ones are still looked at,
	 * which therefore live as long as the server; acquire goes with their owner's release. */
	_Atomic(const struct ux_access *) access;
	struct ux_rates *rates; /* NULL: nobody is counted */
	struct ux_readings readings;
	int64_t (*clock_ns)(void *ctx); /* for tests; NULL: the monotonic clock */
	void *clock_ctx;
	_Atomic uint64_t upload_most; /* bytes of one upload; may change, no order needed */
	struct ux_http_memory memory; /* of all requests */
	struct ux_metrics metrics;
	atomic_bool stopping;        /* a hint: nobody new is to be sent here; no order needed */
	struct ux_sessions sessions; /* of people at browsers */
};

/* To whom a namespace is open without a key. */
enum ux_openness {
	UX_OPEN_TO_NOBODY,
	UX_OPEN_TO_MACHINE, /* to this one, which the request is of */
	UX_OPEN_TO_ALL,
};

/* Who asks: the handlers' req->caller. */
struct ux_caller {
	const char *key_id; /* "" without a key */
	const char *ns;     /* that the request is about: no other's modules are there for it */
	unsigned scopes;
	enum ux_openness openness; /* of ns */
	const char *from;          /* address as text: of the peer, or whom trusted proxies name */
	struct ux_address address;
	bool proxied;
	bool https;       /* as a trusted proxy says */
	ux_time expires;  /* the key does; 0: never */
	uint64_t rate;    /* of the key; 0: as the server says */
	uint64_t uploads; /* of the key; 0: as the server says */
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
	return (struct ux_who){.key_id = ux_caller_of(req)->key_id,
			       .from = ux_caller_of(req)->from};
}

static inline const struct ux_access *ux_server_access(const struct ux_server *s)
{
	const struct ux_access *a = atomic_load_explicit(&s->access, memory_order_acquire);
	return a ? a : &ux_access_default;
}

/* Seconds since 1970. */
ux_time ux_server_now(void);

/* Nanoseconds of a clock that does not go back. */
int64_t ux_server_clock_ns(const struct ux_server *s);

#endif
