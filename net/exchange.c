/* SPDX-License-Identifier: Apache-2.0 */
/* Processing of one request. */
#include "exchange.h"

#include "clock.h"
#include "hash.h"
#include "text.h"

#include <ctype.h>
#include <stdatomic.h>
#include <strings.h>
#include <unistd.h>

/* Splits "a=1&b=2" and decodes names and values. */
static enum ux_code exchange_parse_query(struct ux_request *req, struct ux_bytes text)
{
	while (text.size > 0) {
		const uint8_t *amp = memchr(text.data, '&', text.size);
		size_t n = amp ? (size_t)(amp - text.data) : text.size;
		struct ux_bytes pair = ux_bytes(text.data, n);
		text = amp ? ux_bytes(amp + 1, text.size - n - 1) : UX_BYTES_NONE;
		if (n == 0)
			continue;
		if (req->n_query == UX_QUERY_FIELDS_MAX)
			return ux_error_set(&req->err, UX_ELIMIT,
					    "the query has more than %d parameters",
					    UX_QUERY_FIELDS_MAX);
		const uint8_t *eq = memchr(pair.data, '=', n);
		size_t key = eq ? (size_t)(eq - pair.data) : n;
		struct ux_http_field *f = &req->query[req->n_query];
		struct ux_bytes value = eq ? ux_bytes(eq + 1, n - key - 1) : UX_BYTES_NONE;
		UX_TRY(ux_percent_decode(ux_bytes(pair.data, key), /* plus= */ true, &req->arena,
					 "query", &f->name, &req->err));
		UX_TRY(ux_percent_decode(value, /* plus= */ true, &req->arena, "query", &f->value,
					 &req->err));
		req->n_query++;
	}
	return UX_OK;
}

/* Cuts "/LETTER/SEGMENT" off the front of the path; the decoded segment goes to *ret. */
static enum ux_code exchange_cut_segment(struct ux_request *req, char letter, struct ux_bytes *ret)
{
	const struct ux_bytes p = req->path;
	if (p.size < 4 || p.data[0] != '/' || p.data[1] != (uint8_t)letter || p.data[2] != '/')
		return UX_OK;
	struct ux_bytes s = ux_bytes(p.data + 3, p.size - 3);
	const uint8_t *end = memchr(s.data, '/', s.size);
	size_t n = end ? (size_t)(end - s.data) : s.size;
	req->path = end ? ux_bytes(end, s.size - n) : UX_STR("/");
	req->prefix.size += 3 + n;
	return ux_percent_decode(ux_bytes(s.data, n), /* plus= */ false, &req->arena, "path", ret,
				 &req->err);
}

/*
 * Cuts the prefix off the path. Clients that cannot send headers put a token and a namespace before
 * the path. They are removed before anything can fail, so that logs contain only the rest of the
 * path.
 */
static enum ux_code exchange_cut_prefix(struct ux_request *req)
{
	req->prefix = ux_bytes(req->path.data, 0);
	enum ux_code token = exchange_cut_segment(req, 'k', &req->path_token);
	enum ux_code space = exchange_cut_segment(req, 'n', &req->path_space);
	return token != UX_OK ? token : space;
}

static enum ux_code exchange_parse_target(struct ux_request *req, struct ux_bytes target)
{
	req->query = ux_arena_array(&req->arena, struct ux_http_field, UX_QUERY_FIELDS_MAX);
	req->headers = ux_arena_array(&req->arena, struct ux_http_field, UX_REQUEST_HEADERS_MAX);
	char *text = ux_arena_strndup(&req->arena, target.data, target.size);
	if (!req->query || !req->headers || !text)
		return ux_arena_fail(&req->arena, &req->err);
	(void)ux_target_authority(ux_bytes(text, target.size), &target);
	if (target.size == 0 || target.data[0] == '?') /* "http://host" means "/" */
		return ux_error_set(&req->err, UX_EINVAL, "the target has no path");
	const uint8_t *mark = target.size ? memchr(target.data, '?', target.size) : NULL;
	size_t n = mark ? (size_t)(mark - target.data) : target.size;
	req->path = ux_bytes(target.data, n);
	UX_TRY(exchange_cut_prefix(req));
	return exchange_parse_query(req,
				    mark ? ux_bytes(mark + 1, target.size - n - 1) : UX_BYTES_NONE);
}

/* Completes the answer, which does not change from now on. */
static void exchange_complete(struct ux_exchange *x)
{
	x->answered = true;
	if (x->res.status == 0)
		x->res.status = 200;
	if (x->app->complete)
		x->app->complete(&x->req, &x->res);
}

/*
 * Answers with an error. Frees the body and the handler's output so far, which are no longer
 * needed.
 */
static void exchange_answer_error(struct ux_exchange *x, enum ux_code code)
{
	ux_out_deinit(&x->body);
	ux_out_deinit(&x->req.out);
	x->req.body = UX_BYTES_NONE;
	(void)!ux_request_hold(&x->req, 0); /* decreasing always succeeds */
	ux_response_error(&x->req, &x->res, code);
	if (x->req.route && x->req.route->error)
		x->req.route->error(&x->req, &x->res);
	else if (x->app->error_page)
		x->app->error_page(&x->req, &x->res);
	exchange_complete(x);
}

void ux_exchange_init(struct ux_exchange *x, const struct ux_http_app *app, struct ux_bytes method,
		      struct ux_bytes target)
{
	/* Only used in logs, so no memory order is needed. */
	static atomic_uint_fast64_t next_id = 1;
	*x = (struct ux_exchange){
		.app = app,
		.start_us = (uint64_t)ux_clock_ns() / 1000,
		.res = {.fd = -1},
		.req = {.id = atomic_fetch_add_explicit(&next_id, 1, memory_order_relaxed),
			.content_length = UINT64_MAX,
			.err = UX_ERROR_INIT,
			.memory = app->memory,
			.app = app->ctx},
	};
	ux_arena_init(&x->req.arena, ux_http_limit(&app->limits, arena_bytes));
	ux_request_answer_begin(&x->req);
	enum ux_code code = exchange_parse_target(&x->req, target);
	if (code != UX_OK) {
		exchange_answer_error(x, code);
		return;
	}
	if (!ux_method_parse(method, &x->req.method)) {
		x->res.status = 405;
		x->res.word = "method_not_allowed";
		exchange_answer_error(x, ux_error_set(&x->req.err, UX_EINVAL, "unknown method"));
	}
}

void ux_exchange_peer(struct ux_exchange *x, struct ux_address peer)
{
	x->req.peer = peer;
	x->req.client = ux_hash_bytes(ux_bytes(peer.bytes, sizeof(peer.bytes)));
}

void ux_exchange_header(struct ux_exchange *x, struct ux_bytes name, struct ux_bytes value)
{
	struct ux_request *req = &x->req;
	/* Keep headers after an error in the request line: the head is judged as a whole. */
	if (x->answered && (!req->headers || req->n_headers == UX_REQUEST_HEADERS_MAX))
		return;
	if (req->n_headers == UX_REQUEST_HEADERS_MAX) {
		x->res.status = 431;
		exchange_answer_error(x, ux_error_set(&req->err, UX_ELIMIT,
						      "the request has more than %d header lines",
						      UX_REQUEST_HEADERS_MAX));
		return;
	}
	req->headers[req->n_headers++] = (struct ux_http_field){name, value};
}

/* Reads Content-Length. RFC 9110, 8.6: digits only. */
static enum ux_code exchange_read_content_length(struct ux_request *req)
{
	struct ux_bytes text;
	if (!ux_request_header(req, "Content-Length", &text))
		return UX_OK;
	uint64_t n = 0;
	for (size_t i = 0; i < text.size; i++) {
		uint8_t digit = (uint8_t)(text.data[i] - '0');
		if (digit > 9 || n > (UINT64_MAX - 10) / 10)
			return ux_error_set(&req->err, UX_EINVAL, "Content-Length is not a number");
		n = n * 10 + digit;
	}
	req->content_length = n;
	return UX_OK;
}

static void exchange_add_allow(struct ux_exchange *x, unsigned allow)
{
	char text[64];
	size_t n = 0;
	for (int i = 0; i < UX_METHOD_COUNT; i++)
		if ((allow & 1U << i) != 0)
			n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%s", n ? ", " : "",
					      ux_method_name((enum ux_method)i));
	char *kept = ux_arena_strndup(&x->req.arena, text, n);
	if (kept)
		ux_response_field(&x->res, "Allow", ux_bytes(kept, n));
}

static enum ux_code exchange_find_route(struct ux_exchange *x)
{
	struct ux_request *req = &x->req;
	unsigned allow = 0;
	enum ux_code code = ux_route_find(x->app->routes, x->app->n_routes, req->method, req->path,
					  &req->route, req->params, &req->n_params, &allow);
	if (code == UX_ENOTFOUND)
		return ux_error_set(&req->err, code, "no such route");
	if (code != UX_OK) {
		x->res.status = 405;
		x->res.word = "method_not_allowed";
		exchange_add_allow(x, allow);
		return ux_error_set(&req->err, code, "this route does not accept %s",
				    ux_method_name(req->method));
	}
	for (size_t i = 0; i < req->n_params; i++)
		UX_TRY(ux_percent_decode(req->params[i], /* plus= */ false, &req->arena, "path",
					 &req->params[i], &req->err));
	return UX_OK;
}

/*
 * Answers OPTIONS (RFC 9110, 9.3.7). The Fetch standard defines the headers in which a page
 * announces its request.
 */
static enum ux_code exchange_answer_options(struct ux_exchange *x)
{
	struct ux_request *req = &x->req;
	const struct ux_http_app *app = x->app;
	struct ux_bytes word;
	enum ux_method requested = UX_METHOD_OPTIONS;
	unsigned allow = 0, unused = 0;
	if (ux_route_find(app->routes, app->n_routes, req->method, req->path, &req->route,
			  req->params, &req->n_params, &allow) == UX_ENOTFOUND)
		return ux_error_set(&req->err, UX_ENOTFOUND, "no such route");
	if (ux_request_header(req, "Access-Control-Request-Method", &word) &&
	    ux_method_parse(word, &requested))
		(void)!ux_route_find(app->routes, app->n_routes, requested, req->path, &req->route,
				     req->params, &req->n_params, &unused);
	exchange_add_allow(x, allow);
	if (app->options)
		UX_TRY(app->options(req, &x->res));
	x->res.status = 204;
	exchange_complete(x);
	return UX_OK;
}

static uint64_t exchange_body_limit(const struct ux_exchange *x)
{
	const struct ux_http_limits *l = &x->app->limits;
	const struct ux_route *route = x->req.route;
	if (route->coded)
		return ux_min(ux_http_limit(l, coded_bytes), route->body);
	return route->begin  ? ux_http_limit(l, upload_bytes)
	       : route->body ? ux_min(ux_http_limit(l, body_bytes), route->body)
			     : UX_BODY_UNUSED;
}

static enum ux_code exchange_refuse_large(struct ux_exchange *x)
{
	return ux_error_set(&x->req.err, UX_ELIMIT,
			    "the body exceeds the limit of %" PRIu64 " bytes", x->body_max);
}

/*
 * Checks Content-Encoding. Bodies are read without decoding: compressed ones could be endless, and
 * few handlers decode them.
 */
static enum ux_code exchange_check_coding(struct ux_request *req)
{
	struct ux_bytes v;
	if ((req->route && req->route->coded) || !ux_request_header(req, "Content-Encoding", &v) ||
	    (v.size == 8 && strncasecmp((const char *)v.data, "identity", 8) == 0))
		return UX_OK;
	return ux_error_set(&req->err, UX_EINVAL,
			    "the body has a Content-Encoding; send it without one");
}

static enum ux_code exchange_begin_routed(struct ux_exchange *x)
{
	struct ux_request *req = &x->req;
	UX_TRY(exchange_read_content_length(req));
	if (req->method == UX_METHOD_OPTIONS) {
		UX_TRY(exchange_check_coding(req));
		return exchange_answer_options(x);
	}
	UX_TRY(exchange_find_route(x));
	UX_TRY(exchange_check_coding(req));
	x->body_max = req->body_max = exchange_body_limit(x);
	if (x->app->gate)
		UX_TRY(x->app->gate(req, &x->res));
	if (req->content_length != UINT64_MAX && req->content_length > x->body_max)
		return exchange_refuse_large(x);
	return req->route->begin ? req->route->begin(req, &x->res) : UX_OK;
}

/* Tests for letters, digits and characters that join IDs, and that it cannot be an unhex token. */
static bool request_name_is_sane(struct ux_bytes s)
{
	if (!s.data || s.size == 0 || s.size > UX_REQUEST_NAME_MAX)
		return false;
	for (size_t i = 0; i < s.size; i++)
		if (!isalnum(s.data[i]) && !memchr("-_.:/+=", s.data[i], 7))
			return false;
	return !memmem(s.data, s.size, "ux_", 3);
}

/* A bijection, so that different numbers get different names (splitmix64). */
static uint64_t request_name_mix(uint64_t v)
{
	v = (v ^ v >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	v = (v ^ v >> 27) * UINT64_C(0x94d049bb133111eb);
	return v ^ v >> 31;
}

static void exchange_set_name(struct ux_exchange *x)
{
	struct ux_request *req = &x->req;
	struct ux_bytes said = UX_BYTES_NONE;
	if (ux_request_header(req, "X-Request-Id", &said) && request_name_is_sane(said)) {
		memcpy(req->name, said.data, said.size);
		req->name[said.size] = '\0';
		return;
	}
	uint64_t v = request_name_mix(x->app->seed + req->id);
	uint8_t bytes[sizeof(v)];
	for (size_t i = 0; i < sizeof(v); i++)
		bytes[i] = (uint8_t)(v >> (56 - 8 * i));
	ux_hex_encode(ux_bytes(bytes, sizeof(bytes)), req->name);
}

void ux_exchange_refuse(struct ux_exchange *x, const struct ux_error *err)
{
	exchange_set_name(x);
	x->res = (struct ux_response){
		.fd = -1, .status = 400, .close = true}; /* replaces an earlier answer */
	x->req.err = *err;
	exchange_answer_error(x, UX_EINVAL);
	x->refused = true;
}

void ux_exchange_begin(struct ux_exchange *x)
{
	assert(!x->parked && !x->refused);
	exchange_set_name(x);
	if (!x->answered) {
		enum ux_code code = exchange_begin_routed(x);
		if (code != UX_OK)
			exchange_answer_error(x, code);
	}
	x->refused = x->answered;
}

static enum ux_code exchange_append_body(struct ux_exchange *x, struct ux_bytes bytes)
{
	struct ux_request *req = &x->req;
	if (bytes.size > x->body_max - (req->body_size - bytes.size))
		return exchange_refuse_large(x);
	if (req->sink.write)
		return req->sink.write(req->sink.ctx, bytes, &req->err);
	ux_out_put(&x->body, bytes.data, bytes.size);
	UX_TRY(ux_out_status(&x->body, &req->err));
	enum ux_code code = ux_request_hold_body(req, x->body.cap);
	if (code != UX_OK)
		x->res.retry_s = 2;
	return code;
}

static void exchange_close_sink(struct ux_exchange *x)
{
	struct ux_body_sink sink = x->req.sink;
	x->req.sink = (struct ux_body_sink){0};
	if (sink.close)
		sink.close(sink.ctx);
}

void ux_exchange_data(struct ux_exchange *x, struct ux_bytes bytes)
{
	x->req.body_size += bytes.size;
	if (x->answered)
		return;
	enum ux_code code = exchange_append_body(x, bytes);
	if (code == UX_OK)
		return;
	exchange_answer_error(x, code);
	/* the rest is dropped, and others may be waiting for something that the sink holds */
	exchange_close_sink(x);
}

bool ux_exchange_works(const struct ux_exchange *x)
{
	return !x->answered && !x->worked && x->req.route->works;
}

void ux_exchange_start_clock(struct ux_exchange *x)
{
	if (x->req.end_ms == 0)
		x->req.end_ms = ux_clock_ms() + (int64_t)ux_http_limit(&x->app->limits, request_ms);
}

void ux_exchange_refuse_work(struct ux_exchange *x, bool by_client)
{
	assert(!x->answered && x->req.route);
	x->res.retry_s = 1;
	x->res.status = by_client ? 429 : 503;
	x->res.word = by_client ? "too_many_requests" : NULL;
	x->res.reset = x->req.route->waits;
	exchange_answer_error(
		x,
		ux_error_set(
			&x->req.err, UX_EUNAVAILABLE,
			by_client
				? "too many requests of this client or its namespace are waiting; retry later"
				: "too many requests are waiting; retry later"));
}

/*
 * Answers a failure. If the handler had to stop its work, that is the reason, whatever it reports.
 */
static void exchange_answer_failure(struct ux_exchange *x, enum ux_code code)
{
	static const unsigned status[] = {[UX_REQUEST_LATE] = 503, [UX_REQUEST_LEFT] = 499};
	static const char *const words[] = {
		[UX_REQUEST_LATE] = "deadline", [UX_REQUEST_LEFT] = "client_closed"};
	if (x->req.over != UX_REQUEST_GOES_ON) {
		x->res.status = status[x->req.over];
		x->res.word = words[x->req.over];
	}
	exchange_answer_error(x, code);
}

/* Runs the handler, unless the request has waited too long, or its client has left. */
static enum ux_code exchange_handle(struct ux_exchange *x)
{
	UX_TRY(x->req.route->works && !x->req.quick ? ux_request_check(&x->req) : UX_OK);
	return x->req.route->handler(&x->req, &x->res);
}

/*
 * Prepares to run the handler from the start again: drops everything that it made since `mark` and
 * `kept`.
 */
static void exchange_rewind(struct ux_exchange *x, struct ux_arena_mark mark,
			    const struct ux_kept *kept)
{
	struct ux_request *req = &x->req;
	ux_request_drop_kept(req, kept);
	ux_arena_rewind(&req->arena, mark);
	ux_out_reset(&req->out);
	req->answer.code = UX_OK;
	req->err = (struct ux_error)UX_ERROR_INIT;
	req->over = UX_REQUEST_GOES_ON;
	req->end_ms = 0; /* the wait does not count */
}

void ux_exchange_finish(struct ux_exchange *x)
{
	assert(x->answered || x->req.route);
	x->parked = false;
	if (!x->answered) {
		x->req.body = ux_out_bytes(&x->body);
		x->req.parked = false;
		struct ux_arena_mark mark = ux_arena_mark(&x->req.arena);
		const struct ux_kept *kept = x->req.kept;
		enum ux_code code = exchange_handle(x);
		x->parked = x->req.parked && code == UX_OK;
		if (x->parked || x->req.over == UX_REQUEST_LONG) {
			exchange_rewind(x, mark, kept);
			return;
		}
		/* the body is no longer needed: while a slow client reads, hold only the answer */
		ux_out_deinit(&x->body);
		x->req.body = UX_BYTES_NONE;
		if (code == UX_OK)
			code = ux_request_hold(&x->req, x->req.out.cap + x->req.arena.used);
		if (code != UX_OK)
			exchange_answer_failure(x, code);
		else
			exchange_complete(x);
	}
	/*
	 * before the answer is sent, because the client's next request may need something that the
	 * sink holds
	 */
	exchange_close_sink(x);
}

bool ux_exchange_try(struct ux_exchange *x)
{
	const struct ux_route *route = x->req.route;
	if (x->answered || !route->quick || x->body.size > UX_QUICK_BODY)
		return false;
	x->req.quick = true;
	ux_exchange_finish(x);
	x->req.quick = false;
	assert(!x->parked);
	return x->answered;
}

void ux_exchange_deinit(struct ux_exchange *x, bool sent)
{
	exchange_close_sink(x);
	if (x->req.end)
		x->req.end(x->req.end_ctx);
	if (x->app && x->app->log)
		x->app->log(x->app->ctx, &x->req, &x->res, sent,
			    (uint64_t)ux_clock_ns() / 1000 - x->start_us);
	if (x->res.fd >= 0)
		close(x->res.fd);
	ux_request_drop_kept(&x->req, NULL);
	(void)!ux_request_hold(&x->req, 0);
	ux_out_deinit(&x->req.out);
	ux_out_deinit(&x->body);
	ux_arena_deinit(&x->req.arena);
}
