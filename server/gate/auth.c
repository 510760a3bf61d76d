/* SPDX-License-Identifier: Apache-2.0 */
/* Authentication, authorization and rate limits. */
#include "auth.h"

#include "clock.h"
#include "hash.h"
#include "http.h"
#include "recent.h"

#include <arpa/inet.h>
#include <strings.h>

enum {
	READS = UX_SCOPE_READ | UX_SCOPE_SYMBOLIZE,
	MS_IN_S = 1000,
	QUEUE_MAX_MS = 30000,  /* debuginfod clients give up after 90 s */
	NS_ROW_MAX = 64 << 10, /* memory for a namespace's row */
	READ_ACCESS_MAX = 64   /* namespaces */
};

/* A read setting, and its age. */
struct read_access {
	struct ux_recent recent;
	enum ux_ns_reading reading;
};

const struct ux_access ux_access_default = {
	.wait_max_ms = QUEUE_MAX_MS,
	.uploads_key = 1000,
	.uploads_all = 10000,
};

int64_t ux_server_clock_ns(const struct ux_server *s)
{
	if (s->clock_ns)
		return s->clock_ns(s->clock_ctx);
	return ux_clock_ns();
}

/* --- the gate --------------------------------------------------------------------------------- */

enum ux_code ux_gate_create(struct ux_gate **ret, const char *session_key, struct ux_error *err)
{
	const struct ux_cache_opts opts = {.value_size = sizeof(struct read_access),
					   .entries_max = READ_ACCESS_MAX};
	struct ux_gate *g = calloc(1, sizeof(*g));
	if (!g)
		return ux_error_nomem(err);
	pthread_mutex_init(&g->read_access.lock, NULL);
	ux_sessions_init(&g->sessions);
	g->rates = ux_rates_create(UX_RATES_MAX);
	bool keys = ux_known_keys_init(&g->keys);
	if (!keys || !g->rates || !ux_cache_init(&g->read_access.namespaces, &opts)) {
		ux_gate_destroy(g);
		return ux_error_nomem(err);
	}
	enum ux_code code = session_key ? ux_sessions_share(&g->sessions, session_key, err) : UX_OK;
	if (code != UX_OK) {
		ux_gate_destroy(g);
		return code;
	}
	*ret = g;
	return UX_OK;
}

void ux_gate_destroy(struct ux_gate *g)
{
	if (!g)
		return;
	ux_rates_destroy(g->rates);
	ux_known_keys_deinit(&g->keys);
	ux_cache_deinit(&g->read_access.namespaces);
	pthread_mutex_destroy(&g->read_access.lock);
	free(g);
}

/* --- cache of read settings ------------------------------------------------------------------- */

/*
 * Looks up a cached setting. *ret_used: it may be used without reading it again. False: not cached.
 */
static bool read_access_cached(struct ux_read_access *r, struct ux_bytes ns, int64_t now,
			       enum ux_ns_reading *ret, bool *ret_used)
{
	pthread_mutex_lock(&r->lock);
	struct read_access *found = ux_cache_find(&r->namespaces, ns, now);
	if (found) {
		*ret = found->reading;
		*ret_used = ux_recent_is_used(&found->recent, now);
	}
	pthread_mutex_unlock(&r->lock);
	return found != NULL;
}

/* Caches a setting. A failure is not an error: the next request reads it again. */
static void read_access_add(struct ux_read_access *r, struct ux_bytes ns, int64_t now,
			    enum ux_ns_reading reading)
{
	pthread_mutex_lock(&r->lock);
	struct read_access *at =
		ux_cache_insert(&r->namespaces, ns, now, now + UX_RECENT_AWAY_NS, NULL);
	if (at)
		*at = (struct read_access){.recent = ux_recent_read(now), .reading = reading};
	pthread_mutex_unlock(&r->lock);
}

static void read_access_keep(struct ux_read_access *r, struct ux_bytes ns, int64_t now)
{
	pthread_mutex_lock(&r->lock);
	struct read_access *found = ux_cache_find(&r->namespaces, ns, now);
	if (found)
		ux_recent_keep(&found->recent, now);
	pthread_mutex_unlock(&r->lock);
}

/*
 * Gets the read setting of a namespace; UX_NS_AS_SERVED if it does not exist. now: by any monotonic
 * clock.
 */
static enum ux_code read_access_find(struct ux_read_access *r, struct ux_index *ix, const char *ns,
				     int64_t now, enum ux_ns_reading *ret, struct ux_error *err)
{
	UX_ARENA(arena, NS_ROW_MAX);
	struct ux_error why = UX_ERROR_INIT;
	struct ux_namespace row = {.reading = UX_NS_AS_SERVED};
	bool used = false, there = read_access_cached(r, ux_bytes_cstr(ns), now, ret, &used);
	if (used)
		return UX_OK;
	enum ux_code code = ix->namespaces.find(ix, ns, &arena, &row, &why);
	if (code == UX_EUNAVAILABLE && there) {
		read_access_keep(r, ux_bytes_cstr(ns), now);
		return UX_OK;
	}
	if (code != UX_OK && code != UX_ENOTFOUND) {
		if (err && err->code == UX_OK)
			*err = why;
		return code;
	}
	if (row.damaged)
		return ux_error_set(err, UX_EIO,
				    "the index is damaged: row %.64s of table namespaces does not "
				    "fit its checksum",
				    ns);
	*ret = code == UX_OK ? row.reading : UX_NS_AS_SERVED;
	read_access_add(r, ux_bytes_cstr(ns), now, *ret);
	return UX_OK;
}

/* --- callers ---------------------------------------------------------------------------------- */

/* RFC 6750, 2.1; the scheme's name is case-insensitive (RFC 9110, 11.1). */
static bool auth_bearer_token(const struct ux_request *req, struct ux_bytes *ret)
{
	static const char scheme[] = "Bearer ";
	struct ux_bytes v;
	if (!ux_request_header(req, "Authorization", &v))
		return false;
	size_t n = sizeof(scheme) - 1;
	if (v.size < n || strncasecmp((const char *)v.data, scheme, n) != 0)
		n = v.size; /* other schemes keep the whole value, which no key matches */
	*ret = ux_bytes(v.data + n, v.size - n);
	return true;
}

static enum ux_code auth_unauthorized(struct ux_response *res, enum ux_code code)
{
	if (code == UX_EDENIED) {
		res->status = 401;
		res->word = "unauthorized";
		ux_response_field(res, "WWW-Authenticate", UX_STR("Bearer"));
	}
	return code;
}

/* "localhost" or a numeric address, with or without a port. Browsers always send Host. */
static bool auth_host_is_local(const struct ux_request *req)
{
	struct ux_bytes v;
	char host[64];
	uint8_t address[16];
	if (!ux_request_header(req, "Host", &v))
		return true;
	bool six = v.size > 0 && v.data[0] == '[';
	const uint8_t *end = v.size ? memchr(v.data, six ? ']' : ':', v.size) : NULL;
	size_t n = (end ? (size_t)(end - v.data) : v.size) - six;
	if (n >= sizeof(host))
		return false;
	memcpy(host, v.data + six, n);
	host[n] = '\0';
	return strcasecmp(host, "localhost") == 0 ||
	       inet_pton(six ? AF_INET6 : AF_INET, host, address) == 1;
}

/*
 * Tests whether the request comes from this machine. The client of a proxied request may be
 * anywhere.
 */
static bool auth_is_of_this_machine(const struct ux_request *req)
{
	const struct ux_networks none = {.n = 0};
	return (!req->peer.known || ux_address_is_loopback(&req->peer)) &&
	       !ux_forwarded_of(req, &none).proxied && auth_host_is_local(req);
}

static enum ux_openness auth_as_served(const struct ux_request *req, const char *ns)
{
	const struct ux_server *s = ux_server_of(req);
	if (strcmp(ns, UX_NAMESPACE_DEFAULT) != 0 || /* other namespaces are not open */
	    !atomic_load_explicit(&s->open_reading, memory_order_relaxed))
		return UX_OPEN_TO_NONE;
	if (!s->local_only)
		return UX_OPEN_TO_ALL;
	return auth_is_of_this_machine(req) ? UX_OPEN_TO_MACHINE : UX_OPEN_TO_NONE;
}

static enum ux_code auth_openness_of(struct ux_request *req, const char *ns, enum ux_openness *ret)
{
	struct ux_server *s = ux_server_of(req);
	enum ux_ns_reading reading = UX_NS_AS_SERVED;
	UX_TRY(read_access_find(&s->gate->read_access, s->store->index, ns, ux_server_clock_ns(s),
				&reading, &req->err));
	switch (reading) {
	case UX_NS_OPEN:
		*ret = UX_OPEN_TO_ALL;
		return UX_OK;
	case UX_NS_KEYED:
		*ret = UX_OPEN_TO_NONE;
		return UX_OK;
	case UX_NS_AS_SERVED:
		break;
	}
	*ret = auth_as_served(req, ns);
	return UX_OK;
}

/*
 * Tests whether the caller may read the metrics. The counters of the server belong to no namespace,
 * so they have a setting of their own.
 */
static bool auth_metrics_are_open(const struct ux_request *req)
{
	const struct ux_server *s = ux_server_of(req);
	switch (ux_server_access(s)->metrics) {
	case UX_OPEN_TO_ALL:
		return true;
	case UX_OPEN_TO_NONE:
		return false;
	case UX_OPEN_TO_MACHINE:
		break;
	}
	return s->local_only && atomic_load_explicit(&s->open_reading, memory_order_relaxed) &&
	       auth_is_of_this_machine(req);
}

/* Reads the namespace named in the request's path or header; NULL: none. */
static enum ux_code auth_namespace_requested(struct ux_request *req, const char **ret)
{
	struct ux_bytes name = req->path_space;
	*ret = NULL;
	if (name.size == 0 && !ux_request_header(req, "Unhex-Namespace", &name))
		return UX_OK;
	const char *text = ux_arena_strndup(&req->arena, name.data, name.size);
	if (!text)
		return ux_arena_fail(&req->arena, &req->err);
	if (strlen(text) != name.size || !ux_namespace_valid(text))
		return ux_error_set(
			&req->err, UX_EINVAL,
			"invalid namespace: expected 1 to 63 characters of a-z, 0-9, '_', '.', "
			"'-'");
	*ret = text;
	return UX_OK;
}

static enum ux_code auth_open_caller(struct ux_request *req, struct ux_caller *caller,
				     const char *ns)
{
	caller->ns = ns;
	UX_TRY(auth_openness_of(req, ns, &caller->openness));
	caller->scopes = (caller->openness != UX_OPEN_TO_NONE ? READS : 0) |
			 (auth_metrics_are_open(req) ? UX_SCOPE_METRICS : 0);
	return UX_OK;
}

static unsigned auth_scopes_of(const struct ux_key *key, bool by_path)
{
	unsigned all = ux_scopes_included(key->scopes);
	/* proxies and servers log the path, so a token in it gets fewer scopes */
	return by_path ? all & READS : all;
}

/*
 * Sets up the caller of a key. A key belongs to one namespace, and can also read namespaces that
 * are open to everyone.
 */
static enum ux_code auth_keyed_caller(struct ux_request *req, struct ux_caller *caller,
				      const struct ux_key *key, const char *requested, bool by_path)
{
	const char *ns = ux_arena_strndup(&req->arena, key->ns, strlen(key->ns));
	const char *id = ux_arena_strndup(&req->arena, key->id, strlen(key->id));
	if (!ns || !id)
		return ux_arena_fail(&req->arena, &req->err);
	caller->key_id = id;
	caller->key_ns = ns;
	caller->expires = key->expires;
	caller->rate = key->rate;
	caller->uploads = key->uploads;
	UX_TRY(auth_open_caller(req, caller, requested ? requested : ns));
	if (!requested || strcmp(requested, ns) == 0)
		caller->scopes |= auth_scopes_of(key, by_path);
	else if (caller->openness != UX_OPEN_TO_ALL)
		return ux_error_set(&req->err, UX_EDENIED, "key %s does not belong to namespace %s",
				    key->id, requested);
	return UX_OK;
}

/*
 * Finds the key of a token. A lookup in a database is a round trip, so its results are cached; a
 * lookup in a file is not.
 */
static enum ux_code auth_find_key(struct ux_request *req, struct ux_bytes token, struct ux_key *ret)
{
	const struct ux_server *s = ux_server_of(req);
	struct ux_index *ix = s->store->index;
	ux_time now = ux_store_key_now(s->store);
	return s->store->fleet
		       ? ux_known_keys_check(&s->gate->keys, ix, token, ux_server_clock_ns(s), now,
					     &req->arena, ret, &req->err)
		       : ux_key_check(ix, token, now, &req->arena, ret, &req->err);
}

static enum ux_code auth_identify(struct ux_request *req, struct ux_response *res,
				  struct ux_caller *caller)
{
	struct ux_key key;
	struct ux_bytes token = UX_BYTES_NONE;
	const char *requested = NULL;
	const struct ux_server *s = ux_server_of(req);
	UX_TRY(auth_namespace_requested(req, &requested));
	bool by_header = auth_bearer_token(req, &token),
	     by_path = !by_header && req->path_token.size > 0;
	if (by_header || by_path) {
		enum ux_code code = auth_find_key(req, by_path ? req->path_token : token, &key);
		if (code != UX_OK)
			return auth_unauthorized(res, code);
	} else if (ux_session_key(&s->gate->sessions, s->store->index, req,
				  ux_store_key_now(s->store), &key) != UX_OK) {
		return auth_open_caller(req, caller, requested ? requested : UX_NAMESPACE_DEFAULT);
	}
	ux_store_key_used(s->store, key.id);
	return auth_keyed_caller(req, caller, &key, requested, by_path);
}

enum ux_code ux_gate_openness(struct ux_request *req, enum ux_openness *ret)
{
	struct ux_response unused = {.fd = -1};
	struct ux_caller caller = {.ns = UX_NAMESPACE_DEFAULT};
	enum ux_code code = auth_identify(req, &unused, &caller);
	*ret = code == UX_OK ? caller.openness : UX_OPEN_TO_NONE;
	if (code == UX_ENOMEM)
		return code;
	req->err = (struct ux_error)UX_ERROR_INIT;
	return UX_OK;
}

/* An IPv6 client owns a whole network, so only the first half of the address is used. */
static struct ux_rate_name auth_name_of_address(const struct ux_address *a)
{
	static const uint8_t v4[12] = {[10] = 0xff, [11] = 0xff};
	struct ux_rate_name name = {0};
	bool four = memcmp(a->bytes, v4, sizeof(v4)) == 0;
	memcpy(name.bytes, a->bytes, four ? sizeof(a->bytes) : sizeof(a->bytes) / 2);
	return name;
}

/* No address begins with these bytes, so keys and addresses cannot collide. */
static struct ux_rate_name auth_name_of_key(const char *id)
{
	struct ux_rate_name name = {.bytes = "key:"};
	memcpy(name.bytes + 4, id, ux_min(strlen(id), sizeof(name.bytes) - 4));
	return name;
}

/*
 * Returns a number for the client. Requests with the same key count as one client, and so do
 * requests without a key from the same address.
 */
static uint64_t auth_client_number(const struct ux_caller *caller)
{
	const struct ux_rate_name name = caller->key_id[0] != '\0'
						 ? auth_name_of_key(caller->key_id)
						 : auth_name_of_address(&caller->address);
	return ux_hash_bytes(ux_bytes(name.bytes, sizeof(name.bytes)));
}

/*
 * Sets whose work the request is, for the fairness of the work queue: between the namespaces that
 * keys belong to, whatever they read, and all callers without a key as one more.
 */
static void auth_set_client(struct ux_request *req, const struct ux_caller *caller)
{
	req->client = auth_client_number(caller);
	req->group = ux_hash_bytes(ux_bytes_cstr(caller->key_ns));
}

static enum ux_code auth_too_many(struct ux_request *req, struct ux_response *res, unsigned wait_ms)
{
	unsigned seconds = ux_max((wait_ms + MS_IN_S - 1) / MS_IN_S, 1U);
	res->retry_s = seconds;
	res->status = 429;
	res->word = "too_many_requests";
	res->reset = req->route->waits;
	return ux_error_set(&req->err, UX_EUNAVAILABLE, "too many requests; retry after %u s",
			    seconds);
}

/* Takes a request from the bucket. On routes that may wait, delays the request until its turn. */
static enum ux_code auth_limit(struct ux_request *req, struct ux_response *res,
			       struct ux_rate_name name, const struct ux_rate *rate)
{
	struct ux_server *s = ux_server_of(req);
	unsigned wait_ms = 0;
	if (rate->a_second == 0)
		return UX_OK;
	bool may =
		ux_rates_take(s->gate->rates, &name, rate, ux_server_clock_ns(s),
			      req->route->waits ? ux_server_access(s)->wait_max_ms : 0, &wait_ms);
	if (!may)
		return auth_too_many(req, res, wait_ms);
	res->wait_ms = ux_max(res->wait_ms, wait_ms);
	return UX_OK;
}

/* Limits an address. This machine has no rate limit; its users are limited by their keys. */
static enum ux_code auth_limit_address(struct ux_request *req, struct ux_response *res,
				       const struct ux_caller *caller)
{
	const struct ux_access *a = ux_server_access(ux_server_of(req));
	const struct ux_address *who = &caller->address;
	if (!who->known || (ux_address_is_loopback(who) && !caller->proxied))
		return UX_OK;
	return auth_limit(req, res, auth_name_of_address(who), &a->address_rate);
}

static enum ux_code auth_limit_key(struct ux_request *req, struct ux_response *res,
				   const struct ux_caller *caller)
{
	struct ux_rate rate = ux_server_access(ux_server_of(req))->key_rate;
	if (caller->key_id[0] == '\0')
		return UX_OK;
	if (caller->rate != 0)
		rate = (struct ux_rate){.a_second = caller->rate,
					.burst = ux_max(rate.burst, caller->rate)};
	return auth_limit(req, res, auth_name_of_key(caller->key_id), &rate);
}

static enum ux_code auth_check_scope(struct ux_request *req, struct ux_response *res,
				     const struct ux_caller *caller)
{
	char names[UX_SCOPES_TEXT];
	unsigned scope = req->route->scope;
	if ((caller->scopes & scope) != 0)
		return UX_OK;
	ux_scopes_text(scope, names);
	if (caller->key_id[0] == '\0')
		return auth_unauthorized(res, ux_error_set(&req->err, UX_EDENIED,
							   "this needs a key of scope %s: send "
							   "Authorization: Bearer TOKEN",
							   names));
	return ux_error_set(&req->err, UX_EDENIED, "key %s has no scope %s%s", caller->key_id,
			    names, req->path_token.size > 0 ? " in a path" : "");
}

/*
 * Refuses a page of another site on a route that stores or passes on what it receives. A browser
 * sends simple requests without asking first, and without CORS the page only misses the answer: on
 * a server that takes messages from its own machine without a key, any page that is open there
 * could write. Programs send neither of the two headers.
 */
static enum ux_code auth_check_page(struct ux_request *req, const struct ux_caller *caller)
{
	struct ux_bytes v;
	bool page = ux_request_header(req, "Origin", &v) ||
		    ux_request_header(req, "Sec-Fetch-Site", &v);
	if (!req->route->keeps || caller->key_id[0] != '\0' || !page || ux_session_same_origin(req))
		return UX_OK;
	return ux_error_set(
		&req->err, UX_EDENIED,
		"a page of another site needs a key here: this server stores or forwards "
		"what it receives");
}

static enum ux_code auth_make_caller(struct ux_request *req, struct ux_caller **ret)
{
	struct ux_caller *caller = ux_arena_new(&req->arena, struct ux_caller);
	char *from = ux_arena_array(&req->arena, char, UX_ADDRESS_TEXT);
	if (!caller || !from)
		return ux_arena_fail(&req->arena, &req->err);
	struct ux_forwarded f = ux_forwarded_of(req, &ux_server_access(ux_server_of(req))->proxies);
	*caller = (struct ux_caller){.key_id = "",
				     .key_ns = "",
				     .ns = UX_NAMESPACE_DEFAULT,
				     .from = ux_address_text(&f.client, from),
				     .address = f.client,
				     .proxied = f.proxied,
				     .https = f.https};
	req->caller = *ret = caller;
	return UX_OK;
}

/*
 * Identifies the caller of an open page, if possible, because the page shows only the data that the
 * caller may see.
 */
static enum ux_code auth_check_open_route(struct ux_request *req, struct ux_caller *caller)
{
	struct ux_response none = {.fd = -1};
	const struct ux_caller anonymous = *caller;
	enum ux_code code = req->route->page ? auth_identify(req, &none, caller) : UX_EDENIED;
	if (code == UX_OK)
		return UX_OK;
	*caller = anonymous;
	if (code == UX_ENOMEM) /* the caller stays anonymous */
		return code;
	req->err = (struct ux_error)UX_ERROR_INIT;
	return UX_OK;
}

enum ux_code ux_gate_check(struct ux_request *req, struct ux_response *res)
{
	struct ux_caller *caller = NULL;
	UX_TRY(auth_make_caller(req, &caller));
	auth_set_client(req, caller);
	if (req->route->scope == 0) { /* open to everyone, so an invalid token is ignored */
		enum ux_code open = auth_check_open_route(req, caller);
		auth_set_client(req, caller);
		return open;
	}
	UX_TRY(auth_limit_address(req, res, caller));
	enum ux_code code = auth_identify(req, res, caller);
	auth_set_client(req, caller);
	ux_cors_answer(req, res);
	UX_TRY(code);
	UX_TRY(auth_limit_key(req, res, caller));
	UX_TRY(auth_check_scope(req, res, caller));
	return auth_check_page(req, caller);
}
