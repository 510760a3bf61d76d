/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and responses. */
#include "http.h"

#include "clock.h"
#include "json_out.h"
#include "pool.h"
#include "route.h"
#include "text.h"

#include <errno.h>
#include <strings.h>

static const char *const methods[UX_METHOD_COUNT] = {
	[UX_METHOD_GET] = "GET", [UX_METHOD_HEAD] = "HEAD",     [UX_METHOD_POST] = "POST",
	[UX_METHOD_PUT] = "PUT", [UX_METHOD_DELETE] = "DELETE", [UX_METHOD_OPTIONS] = "OPTIONS",
};

const char *ux_method_name(enum ux_method method)
{
	return method < UX_METHOD_COUNT ? methods[method] : "?";
}

bool ux_method_parse(struct ux_bytes text, enum ux_method *ret)
{
	for (int i = 0; i < UX_METHOD_COUNT; i++) {
		if (ux_bytes_eq(text, ux_bytes_cstr(methods[i]))) {
			*ret = (enum ux_method)i;
			return true;
		}
	}
	return false;
}

bool ux_request_header(const struct ux_request *req, const char *name, struct ux_bytes *ret)
{
	size_t n = strlen(name);
	for (size_t i = 0; i < req->n_headers; i++) {
		const struct ux_http_field *f = &req->headers[i];
		if (f->name.size == n && strncasecmp((const char *)f->name.data, name, n) == 0) {
			*ret = f->value;
			return true;
		}
	}
	return false;
}

bool ux_request_query(const struct ux_request *req, const char *name, struct ux_bytes *ret)
{
	for (size_t i = 0; i < req->n_query; i++) {
		if (ux_bytes_eq(req->query[i].name, ux_bytes_cstr(name))) {
			*ret = req->query[i].value;
			return true;
		}
	}
	return false;
}

static atomic_size_t *memory_of_client(struct ux_http_memory *m, const struct ux_request *req)
{
	return &m->by_client[req->client % UX_HTTP_CLIENTS];
}

/* Adds to a sum unless it would exceed `max`. */
static bool memory_add(atomic_size_t *sum, size_t more, size_t max)
{
	size_t used = atomic_fetch_add_explicit(sum, more, memory_order_relaxed);
	if (used < max && more <= max - used)
		return true;
	atomic_fetch_sub_explicit(sum, more, memory_order_relaxed);
	return false;
}

/* Holds memory for a request. `max` is the limit on all requests together. */
static enum ux_code memory_hold(struct ux_request *req, size_t bytes, size_t max)
{
	struct ux_http_memory *m = req->memory;
	if (bytes <= UX_HTTP_SMALL || (req->route && req->route->probe))
		bytes = 0;
	if (bytes <= req->held) {
		size_t less = req->held - bytes;
		atomic_fetch_sub_explicit(&m->used, less, memory_order_relaxed);
		atomic_fetch_sub_explicit(memory_of_client(m, req), less, memory_order_relaxed);
		req->held = bytes;
		return UX_OK;
	}
	size_t more = bytes - req->held;
	size_t share = atomic_load_explicit(&m->max, memory_order_relaxed) / 2;
	if (bytes > share)
		return ux_error_set(&req->err, UX_ELIMIT,
				    "the request needs more than %zu bytes of memory; request less",
				    share);
	if (!memory_add(memory_of_client(m, req), more, share))
		return ux_error_set(&req->err, UX_EUNAVAILABLE,
				    "this client's requests use too much memory; retry later");
	if (!memory_add(&m->used, more, max)) {
		atomic_fetch_sub_explicit(memory_of_client(m, req), more, memory_order_relaxed);
		return ux_error_set(&req->err, UX_EUNAVAILABLE,
				    "all requests together use too much memory; retry later");
	}
	req->held = bytes;
	return UX_OK;
}

enum ux_code ux_request_hold(struct ux_request *req, size_t bytes)
{
	struct ux_http_memory *m = req->memory;
	return m ? memory_hold(req, bytes, atomic_load_explicit(&m->max, memory_order_relaxed))
		 : UX_OK;
}

enum ux_code ux_request_hold_body(struct ux_request *req, size_t bytes)
{
	struct ux_http_memory *m = req->memory;
	return m ? memory_hold(req, bytes, atomic_load_explicit(&m->max, memory_order_relaxed) / 2)
		 : UX_OK;
}

/*
 * Takes room for the answer. An answer that exceeds a client's share alone can never be sent; one
 * that does not fit beside other requests may fit later.
 */
static enum ux_code answer_take_room(struct ux_request *req, size_t bytes)
{
	size_t all = req->body.size + bytes, max = req->answer_max;
	if (req->memory) {
		size_t share = atomic_load_explicit(&req->memory->max, memory_order_relaxed) / 2;
		max = ux_min(max, ux_max(share, (size_t)UX_HTTP_SMALL));
	}
	if (all > max)
		return ux_error_set(&req->err, UX_ELIMIT,
				    "the response exceeds the limit of %zu bytes; request less",
				    max);
	return all > req->held ? ux_request_hold(req, all) : UX_OK;
}

static enum ux_code answer_may_have(struct ux_out_quota *q, size_t bytes, bool try)
{
	struct ux_request *req = ux_container_of(q, struct ux_request, answer);
	struct ux_error before = req->err;
	if (req->quick && bytes > UX_QUICK_ANSWER)
		return try ? UX_ELIMIT : ux_request_too_long(req);
	enum ux_code code = answer_take_room(req, bytes);
	if (code != UX_OK && try)
		req->err = before;
	return code;
}

void ux_request_answer_begin(struct ux_request *req)
{
	req->answer = (struct ux_out_quota){.may = answer_may_have};
	req->answer_max = UX_ANSWER_MAX;
	req->out.quota = &req->answer;
}

void ux_request_answer_max(struct ux_request *req, size_t bytes)
{
	req->answer_max = bytes;
}

/* A resource kept for the request; allocated in the request's arena. */
struct ux_kept {
	struct ux_kept *older;
	void (*drop)(void *ctx);
	void *ctx;
};

enum ux_code ux_request_keep(struct ux_request *req, void (*drop)(void *ctx), void *ctx)
{
	assert(drop);
	struct ux_kept *kept = ux_arena_new(&req->arena, struct ux_kept);
	if (!kept) {
		drop(ctx);
		return ux_arena_fail(&req->arena, &req->err);
	}
	*kept = (struct ux_kept){req->kept, drop, ctx};
	req->kept = kept;
	return UX_OK;
}

void ux_request_drop_kept(struct ux_request *req, const struct ux_kept *until)
{
	for (; req->kept != until; req->kept = req->kept->older)
		req->kept->drop(req->kept->ctx);
}

void ux_response_field(struct ux_response *res, const char *name, struct ux_bytes value)
{
	assert(res->n_fields < UX_RESPONSE_FIELDS_MAX);
	if (res->n_fields < UX_RESPONSE_FIELDS_MAX)
		res->fields[res->n_fields++] = (struct ux_http_field){ux_bytes_cstr(name), value};
}

enum ux_code ux_response_out(struct ux_request *req, struct ux_response *res, const char *type)
{
	UX_TRY(ux_out_status(&req->out, &req->err));
	res->type = type;
	res->body = ux_out_bytes(&req->out);
	return UX_OK;
}

/* The one place that makes statuses of errors, whichever layer reports them. */
static const struct {
	unsigned status;
	const char *word;
} answers[UX_CODE_COUNT] = {
	[UX_OK] = {200, "ok"},
	[UX_ENOMEM] = {503, "out_of_memory"},
	[UX_ELIMIT] = {413, "too_large"},
	[UX_ECORRUPT] = {422, "corrupt"},
	[UX_EUNSUPPORTED] = {422, "unsupported"},
	[UX_ENOTFOUND] = {404, "not_found"},
	[UX_EINVAL] = {400, "invalid"},
	[UX_EIO] = {500, "input_output"},
	[UX_ECONFLICT] = {409, "conflict"},
	[UX_EDENIED] = {403, "denied"},
	[UX_EUNAVAILABLE] = {503, "unavailable"},
};

enum {
	RETRY_S = 1 /* seconds in the Retry-After of a 503 that has no better number */
};

unsigned ux_http_status(enum ux_code code)
{
	return code < UX_CODE_COUNT ? answers[code].status : 500;
}

const char *ux_http_code_word(enum ux_code code)
{
	return code < UX_CODE_COUNT ? answers[code].word : "unknown";
}

/*
 * Hides messages of the operating system, which are only logged, because they may contain paths of
 * the server. Reports a full disk, so that an uploader can inform the operator.
 */
static void response_hide_system(struct ux_error *err, struct ux_response *res)
{
	bool full = err->os_errno == ENOSPC || err->os_errno == EDQUOT;
	if (full) {
		res->status = 507;
		res->word = "disk_full";
	}
	snprintf(err->text, sizeof(err->text), "%s",
		 full ? "the server's disk is full" : "the server had an I/O error; see its log");
	err->os_errno = 0;
}

/* A client that retries needs to know when; one that does not must not remember the answer. */
static void response_put_retry(struct ux_request *req, struct ux_response *res)
{
	char text[16];
	unsigned seconds = res->retry_s == 0 && res->status == 503 ? RETRY_S : res->retry_s;
	int n = snprintf(text, sizeof(text), "%u", seconds);
	const char *kept = seconds ? ux_arena_strndup(&req->arena, text, (size_t)n) : NULL;
	if (kept)
		ux_response_field(res, "Retry-After", ux_bytes_cstr(kept));
}

void ux_response_error(struct ux_request *req, struct ux_response *res, enum ux_code code)
{
	char text[512];
	struct ux_error err = req->err;
	/* A missing or unreadable file of the server is not a 404 or 403 to the client. */
	if (err.os_errno != 0 && code != UX_ENOMEM)
		code = UX_EIO;
	if (err.code == UX_OK)
		err.code = code;
	if (code == UX_EIO)
		response_hide_system(&err, res);
	ux_out_reset(&req->out);
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	ux_json_key(&j, "error");
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "code", res->word ? res->word : ux_http_code_word(code));
	ux_json_key_cstr(&j, "message", ux_error_format(&err, text, sizeof(text)));
	res->message = ux_arena_strndup(&req->arena, text, strlen(text));
	ux_json_object_end(&j);
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	res->caching = UX_CACHING_NONE;
	if (res->status < 400)
		res->status = ux_http_status(code);
	response_put_retry(req, res);
	res->type = "application/json";
	res->body = req->out.failed ? UX_STR("{\"error\":{\"code\":\"out_of_memory\","
					     "\"message\":\"out of memory\"}}\n")
				    : ux_out_bytes(&req->out);
}

#define CHANGE(field) __atomic_store_n(&l->field, next->field, __ATOMIC_RELAXED)

void ux_http_limits_change(struct ux_http_limits *l, const struct ux_http_limits *next)
{
	CHANGE(body_bytes);
	CHANGE(coded_bytes);
	CHANGE(upload_bytes);
	CHANGE(drain_bytes);
	CHANGE(arena_bytes);
	CHANGE(request_ms);
}

struct ux_http_limits ux_http_limits_default(struct ux_http_limits l)
{
	l.header_bytes = l.header_bytes ? l.header_bytes : (size_t)32 << 10;
	l.body_bytes = l.body_bytes ? l.body_bytes : (size_t)16 << 20;
	l.coded_bytes = l.coded_bytes ? l.coded_bytes : (size_t)64 << 20;
	l.upload_bytes = l.upload_bytes ? l.upload_bytes : (uint64_t)4 << 30;
	l.drain_bytes = l.drain_bytes ? l.drain_bytes : (size_t)32 << 20;
	l.arena_bytes = l.arena_bytes ? l.arena_bytes : (size_t)64 << 20;
	l.memory_bytes = l.memory_bytes ? l.memory_bytes : (size_t)1 << 30;
	l.idle_seconds = l.idle_seconds ? l.idle_seconds : 30;
	l.rate_bytes = l.rate_bytes ? l.rate_bytes : 512;
	l.connections = l.connections ? l.connections : 1024;
	l.address_connections = l.address_connections ? l.address_connections : 256;
	l.threads = l.threads ? l.threads : ux_max(2 * ux_pool_cpus(), 4U);
	l.client_queue = l.client_queue ? l.client_queue : 256;
	l.request_ms = l.request_ms ? l.request_ms : 30000;
	l.stop_seconds = l.stop_seconds ? l.stop_seconds : 20;
	return l;
}

bool ux_request_park(struct ux_request *req, unsigned wait_ms)
{
	req->parked = req->waits && req->waits->may(req->waits_ctx);
	req->park_ms = wait_ms;
	return req->parked;
}

void ux_request_wake(struct ux_request *req)
{
	if (req->waits)
		req->waits->wake(req->waits_ctx);
}

enum ux_code ux_request_check(struct ux_request *req)
{
	if (req->end_ms != 0 && ux_clock_ms() >= req->end_ms) {
		req->over = UX_REQUEST_LATE;
		return ux_error_set(&req->err, UX_EUNAVAILABLE,
				    "deadline exceeded; request less at a time");
	}
	if (req->waits && req->waits->left(req->waits_ctx)) {
		req->over = UX_REQUEST_LEFT;
		return ux_error_set(&req->err, UX_EUNAVAILABLE, "the client has disconnected");
	}
	return UX_OK;
}

enum ux_code ux_request_too_long(struct ux_request *req)
{
	assert(req->quick);
	req->over = UX_REQUEST_LONG;
	return UX_EUNAVAILABLE;
}

void ux_request_on_end(struct ux_request *req, void (*fn)(void *ctx), void *ctx)
{
	assert(!req->end || req->end == fn);
	req->end = fn;
	req->end_ctx = ctx;
}

/* --- clients behind proxies ------------------------------------------------------------------- */

static const char x_for[] = "X-Forwarded-For", x_proto[] = "X-Forwarded-Proto",
		  standard[] = "Forwarded";

static bool forwarded_is_proxied(const struct ux_request *req)
{
	static const char *const signs[] = {x_for,    x_proto,     "X-Forwarded-Host",
					    standard, "X-Real-IP", "Via"};
	struct ux_bytes v;
	for (size_t i = 0; i < ux_countof(signs); i++)
		if (ux_request_header(req, signs[i], &v))
			return true;
	return false;
}

static bool http_names_equal(struct ux_bytes a, const char *b)
{
	return a.size == strlen(b) && strncasecmp((const char *)a.data, b, a.size) == 0;
}

/* Cuts the last element of a comma-separated list off the end of *list. */
static struct ux_bytes forwarded_cut_last(struct ux_bytes *list)
{
	const uint8_t *comma = ux_bytes_find_last(*list, ',');
	size_t at = comma ? (size_t)(comma + 1 - list->data) : 0;
	struct ux_bytes last = ux_bytes(list->data ? list->data + at : NULL, list->size - at);
	list->size = comma ? at - 1 : 0;
	return ux_trim(last);
}

/*
 * Finds the value of a parameter of one element such as "for=192.0.2.60;proto=http", without
 * quotes.
 */
static bool forwarded_parameter(struct ux_bytes element, const char *name, struct ux_bytes *ret)
{
	while (element.size > 0) {
		const uint8_t *semi = memchr(element.data, ';', element.size);
		size_t n = semi ? (size_t)(semi - element.data) : element.size;
		struct ux_bytes pair = ux_trim(ux_bytes(element.data, n));
		n += semi != NULL;
		element = ux_bytes(element.data + n, element.size - n);
		const uint8_t *eq = pair.size ? memchr(pair.data, '=', pair.size) : NULL;
		size_t key = eq ? (size_t)(eq - pair.data) : 0;
		if (!eq || !http_names_equal(ux_bytes(pair.data, key), name))
			continue;
		struct ux_bytes v = ux_bytes(eq + 1, pair.size - key - 1);
		if (v.size >= 2 && v.data[0] == '"' && v.data[v.size - 1] == '"')
			v = ux_bytes(v.data + 1, v.size - 2);
		*ret = v;
		return true;
	}
	return false;
}

/* Reads one header from the last hop on. False: the header is absent. */
static bool forwarded_client(const struct ux_request *req, const char *header,
			     const struct ux_networks *trusted, struct ux_address *client)
{
	bool any = false, go_on = true;
	for (size_t i = req->n_headers; i-- > 0 && go_on;) {
		const struct ux_http_field *f = &req->headers[i];
		if (!http_names_equal(f->name, header))
			continue;
		struct ux_bytes list = f->value;
		any = true;
		while (list.size > 0 && go_on) {
			struct ux_bytes hop = forwarded_cut_last(&list);
			if (header == standard && !forwarded_parameter(hop, "for", &hop))
				hop = UX_BYTES_NONE;
			/*
			 * An obfuscated name ("_x", "unknown") ends the search: the proxy that
			 * wrote it counts as the client.
			 */
			go_on = ux_address_parse(hop, client) && ux_networks_have(trusted, client);
		}
	}
	return any;
}

static bool forwarded_is_https(const struct ux_request *req)
{
	struct ux_bytes v, proto;
	for (size_t i = req->n_headers; i-- > 0;) {
		v = req->headers[i].value;
		if (http_names_equal(req->headers[i].name, x_proto))
			return http_names_equal(forwarded_cut_last(&v), "https");
		if (http_names_equal(req->headers[i].name, standard) &&
		    forwarded_parameter(forwarded_cut_last(&v), "proto", &proto))
			return http_names_equal(proto, "https");
	}
	return false;
}

struct ux_forwarded ux_forwarded_of(const struct ux_request *req, const struct ux_networks *trusted)
{
	struct ux_forwarded f = {.client = req->peer, .proxied = forwarded_is_proxied(req)};
	struct ux_address by_x = req->peer, by_standard = req->peer;
	if (!f.proxied || !ux_networks_have(trusted, &req->peer))
		return f;
	f.https = forwarded_is_https(req);
	bool x = forwarded_client(req, x_for, trusted, &by_x);
	bool s = forwarded_client(req, standard, trusted, &by_standard);
	if (!x || !s || memcmp(by_x.bytes, by_standard.bytes, sizeof(by_x.bytes)) == 0)
		f.client = x ? by_x : by_standard;
	return f;
}
