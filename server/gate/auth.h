/* SPDX-License-Identifier: Apache-2.0 */
/* The gate: authentication, authorization, sessions and rate limits. */
#ifndef UX_AUTH_H
#define UX_AUTH_H

#include "base.h"
#include "cache.h"
#include "http.h"
#include "index.h"
#include "server.h"

/* --- request rates ---------------------------------------------------------------------------- */

/* Parameters of a token bucket: its size, and the rate at which it is refilled. */
struct ux_rate {
	uint64_t a_second; /* requests a second; 0: unlimited */
	uint64_t burst;    /* size of the bucket, at least 1 */
};

/* Key of a bucket: an address, or the ID of an API key. */
struct ux_rate_name {
	uint8_t bytes[16];
};

enum {
	/*
	 * number of buckets; beyond it the least recently used ones are evicted, and start full
	 * again
	 */
	UX_RATES_MAX = 8192
};

struct ux_rates;

/* max: number of buckets. NULL: memory is short. */
struct ux_rates *ux_rates_create(size_t max) ux_must;
void ux_rates_destroy(struct ux_rates *r);

/*
 * Takes one request from the bucket of `name`, at a time of any monotonic clock. True: the request
 * is allowed after *ret_wait_ms; delayed requests are allowed in the order of their arrival. False:
 * the delay would exceed wait_max_ms, and the request is not counted; after *ret_wait_ms it would
 * be allowed without delay. Any thread.
 */
bool ux_rates_take(struct ux_rates *r, const struct ux_rate_name *name, const struct ux_rate *rate,
		   int64_t now_ns, unsigned wait_max_ms, unsigned *ret_wait_ms) ux_must;

/* --- sessions of browsers --------------------------------------------------------------------- */

/*
 * A session is a cookie "TOKENID.EXPIRES.MAC", made after a token was entered, so that the browser
 * does not store the token. It gives all scopes of the key while that very token is valid, for at
 * most half a day, and until this process ends, because the MAC uses a secret of the process.
 */
enum {
	UX_SESSION_SECONDS = 12 * 60 * 60,
	UX_SESSION_SECRET = 32, /* bytes */
	UX_SESSION_TEXT = 128   /* bytes of a cookie's value, with the NUL */
};

#define UX_SESSION_COOKIE "unhex-session"

/* Immutable after ux_sessions_init() and ux_sessions_share(). */
struct ux_sessions {
	uint8_t secret[UX_SESSION_SECRET];
	bool ready; /* the secret was generated; false: sessions are not possible */
};

void ux_sessions_init(struct ux_sessions *s);

/*
 * Takes the secret from a file, so that sessions are valid at every server with the same file.
 * UX_EINVAL: the file has fewer than UX_SESSION_SECRET bytes, or others may read it.
 */
enum ux_code ux_sessions_share(struct ux_sessions *s, const char *path, struct ux_error *err)
	ux_must;

/* Makes the cookie value for a token. UX_EUNAVAILABLE: sessions are not possible. */
enum ux_code ux_session_make(const struct ux_sessions *s, const char *token_id, ux_time now,
			     char text[UX_SESSION_TEXT], struct ux_error *err) ux_must;

/* Verifies a cookie value and returns its token's ID; false if it is forged or expired. */
bool ux_session_read(const struct ux_sessions *s, struct ux_bytes text, ux_time now,
		     char token_id[UX_KEY_ID_SIZE]) ux_must;

/* Finds the value of the session cookie in the request. */
bool ux_session_cookie(const struct ux_request *req, struct ux_bytes *ret);

/*
 * Tests whether the request was sent by a page of this server. Requests that change something and
 * use a session need this, since the browser sends the cookie for requests from any page;
 * SameSite=Strict alone would allow other ports of this host. Decided by Sec-Fetch-Site, otherwise
 * by Origin, which must equal Host; pages cannot set these headers.
 */
bool ux_session_same_origin(const struct ux_request *req);

/*
 * Finds the key of a request with a session. The cookie is accepted for methods that only read, and
 * for same-origin requests. UX_ENOTFOUND, with no message: no valid session, or its token or key is
 * no longer valid.
 */
enum ux_code ux_session_key(const struct ux_sessions *s, struct ux_index *ix,
			    struct ux_request *req, ux_time now, struct ux_key *ret) ux_must;

/* --- access settings -------------------------------------------------------------------------- */

/* Access settings. Immutable: see ux_server.access. */
struct ux_access {
	struct ux_networks proxies; /* proxies whose reports of the client's address are trusted */
	/*
	 * Origins of pages that may read by CORS. If reading is open to everyone, every page may.
	 * Otherwise only the origins in this list may, and https://profiler.firefox.com if reading
	 * is open to this machine. "*" allows any.
	 */
	const char *const *origins;
	size_t n_origins;
	/*
	 * Who reads the counters of the server without a key. UX_OPEN_TO_MACHINE: this machine, if
	 * reading is open only to it.
	 */
	enum ux_openness metrics;
	struct ux_rate key_rate; /* rate for each key; a key may have its own */
	struct ux_rate address_rate;
	/* longest ms by which a request over its rate is delayed before it is refused */
	unsigned wait_max_ms;
	uint64_t uploads_key; /* open uploads of a key, announced in the last hour; 0: unlimited */
	uint64_t uploads_all;
	uint64_t upload_bytes_key; /* their announced sizes; 0: unlimited */
	uint64_t upload_bytes_all;
};

extern const struct ux_access ux_access_default;

enum {
	UX_UPLOAD_FRESH_S = 3600 /* age after which an open upload no longer counts */
};

static inline const struct ux_access *ux_server_access(const struct ux_server *s)
{
	const struct ux_access *a = atomic_load_explicit(&s->access, memory_order_acquire);
	return a ? a : &ux_access_default;
}

/* --- state of the gate ------------------------------------------------------------------------ */

/* Cache of the namespaces' read settings, at most as old as recent.h says. Any thread. */
struct ux_read_access {
	pthread_mutex_t lock;       /* guards namespaces */
	struct ux_cache namespaces; /* by name */
};

/*
 * Keys that were read from an index in a database at most a second ago, or ten minutes ago while
 * the database is unavailable (recent.h). A lookup in an index in a file costs microseconds, so it
 * is not cached, and changes of its keys take effect immediately. Any thread. Zeroed is closed.
 */
struct ux_known_keys {
	pthread_mutex_t lock; /* guards the rest */
	struct ux_cache keys; /* by the SHA-256 of a token */
	uint64_t forgotten;   /* counts calls of ux_known_keys_forget() */
};

bool ux_known_keys_init(struct ux_known_keys *k) ux_must;
void ux_known_keys_deinit(struct ux_known_keys *k);

/*
 * Like ux_key_check(), but the key may be as old as the cache allows; its description and namespace
 * live in the arena. clock_ns: by any monotonic clock.
 */
enum ux_code ux_known_keys_check(struct ux_known_keys *k, struct ux_index *ix,
				 struct ux_bytes token, int64_t clock_ns, ux_time now,
				 struct ux_arena *arena, struct ux_key *ret, struct ux_error *err)
	ux_must;

/* Forgets all cached keys, because keys were changed here. */
void ux_known_keys_forget(struct ux_known_keys *k);

/* State of the gate. Any thread. */
struct ux_gate {
	struct ux_rates *rates;
	struct ux_read_access read_access;
	struct ux_known_keys keys;   /* cache of keys from an index in a database */
	struct ux_sessions sessions; /* sessions of users of the web pages */
};

/* session_key: the file of ux_sessions_share(); NULL: sessions are valid only at this server. */
enum ux_code ux_gate_create(struct ux_gate **ret, const char *session_key, struct ux_error *err)
	ux_must;
/* NULL is allowed. */
void ux_gate_destroy(struct ux_gate *g);

/* --- checks of a request ---------------------------------------------------------------------- */

/*
 * Identifies the caller, and refuses requests that it may not make, or that exceed its rate; see
 * struct ux_http_app for when it is called. With local_only, a request without a key must have
 * "localhost" or a numeric address as Host, and must not have come through a proxy. This prevents
 * DNS rebinding: a web page could make its own host name resolve to this machine and read the
 * answers, but then Host contains that name.
 */
ux_handler_fn ux_gate_check;

/*
 * Finds out who may read the namespace of this request without a key; UX_OPEN_TO_NONE if the caller
 * is not known.
 */
enum ux_code ux_gate_openness(struct ux_request *req, enum ux_openness *ret) ux_must;

/*
 * Adds the CORS headers (Fetch standard, "CORS protocol") that let pages of other sites read the
 * answer: any page if reading is open to everyone, otherwise pages of listed origins; only on
 * routes that only read. Never allows credentials of the browser. Called once for each request,
 * when its caller is known.
 */
void ux_cors_answer(struct ux_request *req, struct ux_response *res);

/* Answers a browser's preflight request: see struct ux_http_app. */
ux_handler_fn ux_cors_preflight;

/* Tests whether pages of other sites may read answers of this route. NULL is allowed. */
bool ux_cors_may_read(const struct ux_route *route);

/*
 * The callback complete of struct ux_http_app: adds the headers that tell caches and browsers who
 * else may see the answer (Cache-Control, Vary, Referrer-Policy), for every route and every error.
 */
void ux_answer_complete(struct ux_request *req, struct ux_response *res);

/* --- clocks ----------------------------------------------------------------------------------- */

/* Returns nanoseconds of a monotonic clock. */
int64_t ux_server_clock_ns(const struct ux_server *s);

/* --- routes ----------------------------------------------------------------------------------- */

/* GET /v1/audit, GET /v1/whoami. */
ux_handler_fn ux_handle_audit, ux_handle_whoami;

/* GET and POST /v1/keys, POST /v1/keys/{id}/rotate, DELETE /v1/keys/{id}. */
ux_handler_fn ux_handle_keys, ux_handle_key_create, ux_handle_key_rotate, ux_handle_key_revoke;

#endif
