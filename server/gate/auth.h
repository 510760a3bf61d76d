/* SPDX-License-Identifier: Apache-2.0 */
/* Who may do what, and how often. */
#ifndef UX_AUTH_H
#define UX_AUTH_H

#include "base.h"
#include "cache.h"
#include "http.h"
#include "index.h"
#include "server.h"

/* --- request rates ---------------------------------------------------------------------------- */

/* A bucket that is full holds `burst` requests, and is filled with so many a second. */
struct ux_rate {
	uint64_t a_second; /* 0: any number */
	uint64_t burst;    /* at least 1 */
};

/* Whose bucket: an address, or the ID of a key. */
struct ux_rate_name {
	uint8_t bytes[16];
};

enum {
	UX_RATES_MOST = 8192 /* buckets; of more, those not used for longest start full again */
};

struct ux_rates;

/* most: of the buckets. NULL: no memory. */
struct ux_rates *ux_rates_create(size_t most) ux_must;
void ux_rates_destroy(struct ux_rates *r);

/*
 * One request of `name` at a time of any clock that does not go back. True: it may be, after
 * *ret_wait_ms; requests that wait do so in the order in which they came. False: it would have to
 * wait for more than wait_most_ms, and does not count; after *ret_wait_ms it may be at once. Any
 * thread.
 */
bool ux_rates_take(struct ux_rates *r, const struct ux_rate_name *name, const struct ux_rate *rate,
		   int64_t now_ns, unsigned wait_most_ms, unsigned *ret_wait_ms) ux_must;

/* --- sessions of browsers --------------------------------------------------------------------- */

/*
 * "KEYID.EXPIRES.MAC": made after a token was shown once, so that the browser keeps no token. It
 * stands for the key with all its scopes while the key is good, for half a day at most, and until
 * this process ends, whose secret it is made with.
 */
enum {
	UX_SESSION_SECONDS = 12 * 60 * 60,
	UX_SESSION_SECRET = 32, /* bytes */
	UX_SESSION_TEXT = 128   /* bytes of a cookie's value, with the NUL */
};

#define UX_SESSION_COOKIE "unhex-session"

/* Immutable after init. */
struct ux_sessions {
	uint8_t secret[UX_SESSION_SECRET];
	bool ready; /* there was randomness for the secret; else there are no sessions */
};

void ux_sessions_init(struct ux_sessions *s);

/* The value of a cookie for that key. UX_EUNAVAILABLE: there are no sessions. */
enum ux_code ux_session_make(const struct ux_sessions *s, const char *key_id, ux_time now,
			     char text[UX_SESSION_TEXT], struct ux_error *err) ux_must;

/* The ID of the key that a value stands for; false for one that we did not make, or that is over.
 */
bool ux_session_read(const struct ux_sessions *s, struct ux_bytes text, ux_time now,
		     char key_id[UX_KEY_ID_SIZE]) ux_must;

/* The value of our cookie in the request. */
bool ux_session_cookie(const struct ux_request *req, struct ux_bytes *ret);

/*
 * Whether a page of this very server sent the request. Requests that change something by a cookie,
 * which the browser adds for every page, need it; SameSite=Strict alone lets other ports of this
 * host in. Decided by Sec-Fetch-Site, else by Origin, which must be the Host; no page can set them.
 */
bool ux_session_same_origin(const struct ux_request *req);

/*
 * The key of a request that has a session: by its cookie, for reading methods, or when it is of the
 * same origin. UX_ENOTFOUND, with no message: there is no session, or it is over, or its key is.
 */
enum ux_code ux_session_key(const struct ux_sessions *s, struct ux_index *ix,
			    struct ux_request *req, ux_time now, struct ux_key *ret) ux_must;

/* --- what the owner of a server decides ------------------------------------------------------- */

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

/* --- what the gate remembers ------------------------------------------------------------------ */

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

/* --- checks of a request ---------------------------------------------------------------------- */

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

/* --- clocks ----------------------------------------------------------------------------------- */

/* Seconds since 1970. */
ux_time ux_server_now(void);

/* Nanoseconds of a clock that does not go back. */
int64_t ux_server_clock_ns(const struct ux_server *s);

/* --- routes ----------------------------------------------------------------------------------- */

/* GET /v1/audit, GET /v1/whoami. */
ux_handler_fn ux_handle_audit, ux_handle_whoami;

#endif
