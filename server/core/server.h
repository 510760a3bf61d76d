/* SPDX-License-Identifier: Apache-2.0 */
/* The server and the caller of a request, as used by all handlers. */
#ifndef UX_SERVER_H
#define UX_SERVER_H

#include "address.h"
#include "exchange.h"
#include "keys.h"
#include "metrics.h"
#include "store.h"
#include "trends.h"

#include <stdatomic.h>

struct ux_access;
struct ux_extractor;
struct ux_fetcher;
struct ux_finisher;
struct ux_forwarder;
struct ux_gate;
struct ux_http_server;
struct ux_misses;
struct ux_module_cache;
struct ux_profile_keeper;
struct ux_readiness;
struct ux_watch;

/* Limits on one request, in addition to the limits on bytes in net/. */
enum {
	UX_SYMBOLIZE_ADDRESSES_MAX = 100000,
	UX_SYMBOLIZE_MODULES_MAX = 10000,
	/* functions read to find some by name; 16 bytes are cached for each */
	UX_SYMBOLIZE_NAMES_MAX = 4 << 20,
	UX_QUERY_MAX = 10000, /* IDs or modules */
	UX_LIST_MAX = 1000,   /* modules on one page of a list */
	/*
	 * sections or segments of an ELF file whose tables a handler reads; linked files have fewer
	 * than a hundred
	 */
	UX_ELF_TABLE_MAX = 1 << 16,
	UX_UPLOAD_CHUNK = 8 << 20, /* proposed body size of a PUT */
};

/* --- modules that the store lacks ------------------------------------------------------------- */

/* The message about a file that this server lacks while an upstream that may have it is away. */
#define UX_UPSTREAM_AWAY "an upstream that may have it does not answer; retry later"

enum ux_missing_status {
	UX_MISSING_NOWHERE, /* no upstream has it; the answer may be from the negative cache */
	UX_MISSING_AWAY,    /* an upstream that may have it does not answer */
	UX_MISSING_PENDING, /* it is being fetched or extracted */
	UX_MISSING_ARRIVED, /* the store has it now */
};

/* A module that the store does not have, or only with poor symbols. */
struct ux_missing_module {
	const char *ns;
	const char *id; /* canonical */
	bool poor;      /* fetch only symbols that are better than the store's */
	/* longest ms that fetch() may block; 0: it starts a fetch and returns immediately */
	uint32_t wait_ms;
	/*
	 * set for UX_MISSING_PENDING and UX_MISSING_AWAY: seconds after which the client should
	 * retry; 0: the caller's default
	 */
	uint32_t retry_after_s;
};

/*
 * The source of modules that the store lacks. Any number of request threads call fetch() at the
 * same time, without holding locks; many requests name the same module, and one request names up to
 * 10,000. fetch() works on threads of its own, commits received files like uploads, calls
 * ux_module_cache_evict_id(), and then returns UX_MISSING_ARRIVED. It remembers which modules need
 * not be fetched again yet. Set before the server answers requests. Zeroed: no source.
 */
struct ux_missing_modules {
	enum ux_missing_status (*fetch)(void *ctx, struct ux_missing_module *m);
	void *ctx;
};

/* --- the server ------------------------------------------------------------------------------- */

/*
 * Selects the files that clients get from the bucket, and send to it, without this server.
 * Immutable.
 */
struct ux_presigned {
	uint64_t downloads; /* least bytes of such a file; 0: none */
	uint64_t uploads;
	unsigned expires_s; /* seconds that a URL is valid */
};

/* One server: the handlers' req->app. Its parts are individually thread-safe. */
struct ux_server {
	const struct ux_route *routes; /* the route table that it serves */
	size_t n_routes;
	struct ux_store *store;
	struct ux_module_cache *cache;
	struct ux_missing_modules missing;
	/*
	 * Fetches from upstreams; NULL: no upstreams. A reload stops it and replaces it. The
	 * previous fetcher is freed when the server closes, because threads may still read it.
	 */
	_Atomic(struct ux_fetcher *) fetcher;
	/*
	 * limit on bytes received from upstreams; 0: no limit; may change; no memory order needed
	 */
	_Atomic uint64_t upstream_kept;
	/* threads blocked on fetches; used only as a bound, so no memory order is needed */
	atomic_uint waiting;
	/* finishes large uploads; NULL: the handler does it in its thread */
	struct ux_finisher *finisher;
	/* extracts uploaded ELF files; NULL: they are not accepted */
	struct ux_extractor *extractor;
	/* forwards profiles of OpenTelemetry; NULL: they are not forwarded */
	struct ux_forwarder *forwarder;
	/*
	 * The default namespace can be read and symbolized without a key. Atomic, because it may
	 * depend on the listening address, which may become known after the first request. No
	 * memory order is needed.
	 */
	atomic_bool open_reading;
	bool tls;        /* it serves TLS itself */
	bool local_only; /* open_reading applies to this machine only: see ux_gate_check() */
	/*
	 * NULL: ux_access_default. A reload may replace it while other threads read the previous
	 * one, which therefore lives as long as the server. Loads acquire, the replacement
	 * releases.
	 */
	_Atomic(const struct ux_access *) access;
	struct ux_presigned presigned;
	struct ux_gate *gate;           /* state of rate limits and sessions */
	int64_t (*clock_ns)(void *ctx); /* for tests; NULL: the monotonic clock */
	void *clock_ctx;
	/* size limit of one upload; may change; no memory order needed */
	_Atomic uint64_t upload_max;
	/*
	 * leases of packages of one host, for all workers together; may change; no memory order
	 * needed
	 */
	_Atomic unsigned crawl_of_host;
	struct ux_http_memory memory; /* shared by all requests */
	/* the HTTP server that serves this server; NULL before it starts; set with release */
	_Atomic(struct ux_http_server *) http;
	struct ux_profile_keeper *profiles; /* NULL: profiles are neither kept nor shown */
	struct ux_viewer *viewer;           /* speedscope; NULL: not installed */
	struct ux_metrics metrics;
	struct ux_trends trends;  /* updated by the thread that does periodic work */
	struct ux_misses *misses; /* NULL: IDs that are not found are not counted */
	struct ux_watch *watch;   /* NULL: the threads are not watched */
	/* looks for faults once a second; NULL: /readyz looks itself */
	struct ux_readiness *readiness;
	atomic_bool stopping; /* a hint that makes /readyz fail; no memory order needed */
};

/* Who can read a namespace without a key. */
enum ux_openness {
	UX_OPEN_TO_NONE,
	UX_OPEN_TO_MACHINE, /* only clients on this machine */
	UX_OPEN_TO_ALL,
};

/* The client of a request: the handlers' req->caller. */
struct ux_caller {
	const char *key_id; /* "" without a key */
	const char *key_ns; /* namespace of the key; "" without a key */
	const char *ns;     /* namespace of the request; other namespaces are invisible to it */
	unsigned scopes;
	enum ux_openness openness; /* openness of ns */
	/* address as text: the peer's, or the one reported by trusted proxies */
	const char *from;
	struct ux_address address;
	bool proxied;
	bool https;       /* as reported by a trusted proxy */
	ux_time expires;  /* expiry of the key; 0: never */
	uint64_t rate;    /* rate limit of the key; 0: the server's */
	uint64_t uploads; /* upload limit of the key; 0: the server's */
};

/*
 * Returns the highest level of trust that the symbols of a caller can have, whatever it claims.
 * UX_TRUST_NONE: it may not upload.
 */
static inline enum ux_trust ux_caller_trust(const struct ux_caller *caller)
{
	if ((caller->scopes & UX_SCOPE_UPLOAD) != 0)
		return (caller->scopes & UX_SCOPE_CRAWL) != 0 ? UX_TRUST_PACKAGE : UX_TRUST_CI;
	return (caller->scopes & UX_SCOPE_AGENT) != 0 ? UX_TRUST_HOST : UX_TRUST_NONE;
}

static inline struct ux_server *ux_server_of(const struct ux_request *req)
{
	return req->app;
}

static inline const struct ux_caller *ux_caller_of(const struct ux_request *req)
{
	return req->caller;
}

/*
 * Tests whether the caller may see facts about the whole server, such as the addresses of
 * upstreams: with a key of the whole server, or on the server's machine if the server is open only
 * to it.
 */
static inline bool ux_caller_sees_server(const struct ux_request *req)
{
	const struct ux_caller *caller = ux_caller_of(req);
	return (caller->scopes & UX_SCOPE_SERVER) != 0 || caller->openness == UX_OPEN_TO_MACHINE;
}

/*
 * Tests whether the caller may see the hosts on which agents found files: with a key, or on the
 * server's machine. An open namespace shows them to nobody else.
 */
static inline bool ux_caller_sees_hosts(const struct ux_request *req)
{
	return ux_caller_of(req)->key_id[0] != '\0' || ux_caller_sees_server(req);
}

/*
 * Tests whether the caller may see the name of a candidate's origin, which for an upstream may be
 * its host.
 */
static inline bool ux_caller_sees_origin(const struct ux_request *req, const struct ux_candidate *c)
{
	return c->origin != UX_ORIGIN_UPSTREAM || ux_caller_sees_server(req);
}

/* The caller as recorded in the audit log. */
static inline struct ux_who ux_who_of(const struct ux_request *req)
{
	return (struct ux_who){.key_id = ux_caller_of(req)->key_id,
			       .from = ux_caller_of(req)->from};
}

#endif
