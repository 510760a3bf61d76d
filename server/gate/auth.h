/* SPDX-License-Identifier: Apache-2.0 */
/* Who may do what, and how often. */
#ifndef UX_AUTH_H
#define UX_AUTH_H

#include "cache.h"
#include "rate.h"
#include "server.h"
#include "session.h"

/* --- what the owner of a server decides ------------------------------------------------------ */

/* Immutable: see ux_server.access. */
struct ux_access {
	struct ux_networks proxies; /* whose word about the client's address counts */
	/* Sites whose pages may read: where reading is open, all may; with a key, and where it is
	 * open to this machine alone, those of this list, "https://profiler.firefox.com"; "*" is
	 * any. */
	const char *const *origins;
	size_t n_origins;
	struct ux_rate key_rate; /* of requests; a key may have its own */
	struct ux_rate address_rate;
	unsigned wait_most_ms; /* that a request over its rate is delayed rather than refused */
	uint64_t uploads_key;  /* announced in the last hour and not ended; 0: any number */
	uint64_t uploads_all;
	uint64_t upload_bytes_key; /* of those; 0: any number */
	uint64_t upload_bytes_all;
};

extern const struct ux_access ux_access_default;

enum {
	UX_UPLOAD_FRESH_S = 3600 /* then an upload that was not ended counts no more */
};

static inline const struct ux_access *ux_server_access(const struct ux_server *s)
{
	const struct ux_access *a = atomic_load_explicit(&s->access, memory_order_acquire);
	return a ? a : &ux_access_default;
}

/* --- what the gate remembers ----------------------------------------------------------------- */

enum {
	UX_READ_ACCESS_NS = 1000000000 /* changes by another process are seen after a second */
};

/* Who may read in which namespace, as the index said a second ago at most. Any thread. */
struct ux_read_access {
	pthread_mutex_t lock;       /* guards namespaces */
	struct ux_cache namespaces; /* enum ux_ns_reading by name */
};

/* Any thread. */
struct ux_gate {
	struct ux_rates *rates;
	struct ux_read_access read_access;
	struct ux_sessions sessions; /* of people at browsers */
};

enum ux_code ux_gate_create(struct ux_gate **ret, struct ux_error *err) ux_must;
/* NULL is fine. */
void ux_gate_destroy(struct ux_gate *g);

/* --- checks of a request --------------------------------------------------------------------- */

/*
 * Finds out who the caller is, and refuses what they may not or may not yet; struct ux_http_app
 * says when. With local_only, a caller without a key must have sent "localhost" or an address as
 * Host, and not through a proxy: a web page can make a name of its own point to this machine and
 * then read what is answered under it (DNS rebinding), but that name stays in the Host line.
 */
ux_handler_fn ux_gate_check;

/* To whom the namespace of this request is open; to no one when its caller is not known. */
enum ux_code ux_gate_openness(struct ux_request *req, enum ux_openness *ret) ux_must;

/*
 * Lets the page of another site that sent the request see the answer (the Fetch standard, "CORS
 * protocol"): any page where reading is open to all, those of the listed sites elsewhere; of routes
 * that only read. Never with the browser's own credentials. Once a request, when its caller is
 * known.
 */
void ux_cors_answer(struct ux_request *req, struct ux_response *res);

/* The same for the preflight request of a browser: see struct ux_http_app. */
ux_handler_fn ux_cors_preflight;

/* --- clocks ---------------------------------------------------------------------------------- */

/* Seconds since 1970. */
ux_time ux_server_now(void);

/* Nanoseconds of a clock that does not go back. */
int64_t ux_server_clock_ns(const struct ux_server *s);

/* --- routes ---------------------------------------------------------------------------------- */

/* GET /v1/audit, GET /v1/whoami. */
ux_handler_fn ux_handle_audit, ux_handle_whoami;

#endif
