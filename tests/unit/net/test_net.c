/* SPDX-License-Identifier: Apache-2.0 */
/* net: routes, exchanges, JSON, a client and a server that talk over loopback. */
#include "sweep.h"

#include "exchange.h"
#include "http_client.h"
#include "http_server.h"
#include "json_out.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

#define STR ux_bytes_cstr

static void assert_text(struct ux_bytes got, const char *want)
{
	if (!ux_bytes_eq(got, STR(want)))
		fail_msg("got '%.*s', wanted '%s'", (int)got.size, (const char *)got.data, want);
}

static void patterns_match_segment_by_segment(void **state)
{
	(void)state;
	struct ux_bytes p[UX_ROUTE_PARAMS_MAX];
	size_t n = 9;
	assert_true(ux_route_match("/", STR("/"), p, &n));
	assert_int_equal(n, 0);
	assert_true(ux_route_match("/v1/m/{id}", STR("/v1/m/gnu:ab"), p, &n));
	assert_int_equal(n, 1);
	assert_text(p[0], "gnu:ab");
	assert_true(ux_route_match("/{a}/x/{b}", STR("/1/x/2%2F3"), p, &n));
	assert_text(p[1], "2%2F3");
	assert_false(ux_route_match("/v1/m/{id}", STR("/v1/m/"), p, &n));
	assert_false(ux_route_match("/v1/m/{id}", STR("/v1/m"), p, &n));
	assert_false(ux_route_match("/v1/m/{id}", STR("/v1/m/a/b"), p, &n));
	assert_false(ux_route_match("/v1/m", STR("/v1/m/"), p, &n));
	assert_false(ux_route_match("/v1", STR("/v12"), p, &n));
	assert_false(ux_route_match("/", STR(""), p, &n));
	assert_false(ux_route_match("/v1", STR("v1"), p, &n));
	assert_true(
		ux_route_match("/b/{id}/source/{path...}", STR("/b/1/source/usr//src/x.c"), p, &n));
	assert_int_equal(n, 2);
	assert_text(p[1], "usr//src/x.c");
	assert_true(ux_route_match("/b/{path...}", STR("/b//etc"), p, &n));
	assert_text(p[0], "/etc");
	assert_false(ux_route_match("/b/{path...}", STR("/b/"), p, &n));
	assert_false(ux_route_match("/b/{path...}", STR("/b"), p, &n));
}

static enum ux_code say(struct ux_request *req, struct ux_response *res)
{
	ux_out_fmt(&req->out, "%s|%zu|%.*s", ux_method_name(req->method), req->n_params,
		   (int)req->body.size, (const char *)req->body.data);
	if (req->n_params > 0) {
		ux_out_u8(&req->out, '|');
		ux_out_put(&req->out, req->params[0].data, req->params[0].size);
	}
	struct ux_bytes q;
	if (ux_request_query(req, "q", &q)) {
		ux_out_u8(&req->out, '|');
		ux_out_put(&req->out, q.data, q.size);
	}
	return ux_response_out(req, res, "text/plain");
}

static enum ux_code refuse(struct ux_request *req, struct ux_response *res)
{
	(void)res;
	return ux_error_set(&req->err, UX_ECONFLICT, "said \"no\"");
}

/* The error of ux_error_os() if one of the server's files is missing, or not readable. */
static enum ux_code fail_in_system(struct ux_request *req, struct ux_response *res)
{
	(void)res;
	int why = ux_bytes_eq(req->params[0], STR("gone"))   ? ENOENT
		  : ux_bytes_eq(req->params[0], STR("full")) ? ENOSPC
							     : EACCES;
	return ux_error_os(&req->err, why, "cannot open /secret/path");
}

struct sink {
	uint64_t bytes;
	unsigned closed;
};

static enum ux_code sink_write(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct sink *s = ctx;
	s->bytes += bytes.size;
	for (size_t i = 0; i < bytes.size; i++)
		if (bytes.data[i] == '!')
			return ux_error_set(err, UX_ECORRUPT, "met a '!'");
	return UX_OK;
}

static void sink_close(void *ctx)
{
	((struct sink *)ctx)->closed++;
}

static enum ux_code stream_begin(struct ux_request *req, struct ux_response *res)
{
	(void)res;
	req->sink = (struct ux_body_sink){sink_write, sink_close, req->app};
	return UX_OK;
}

static enum ux_code stream_end(struct ux_request *req, struct ux_response *res)
{
	ux_out_fmt(&req->out, "%" PRIu64, req->body_size);
	return ux_response_out(req, res, "text/plain");
}

static enum ux_code gate(struct ux_request *req, struct ux_response *res)
{
	struct ux_bytes token;
	if (req->route->scope == 0 ||
	    (ux_request_header(req, "authorization", &token) && token.size > 3))
		return UX_OK;
	res->status = 401;
	return ux_error_set(&req->err, UX_EDENIED, "no token");
}

static enum ux_code slow(struct ux_request *req, struct ux_response *res)
{
	usleep(300000);
	return say(req, res);
}

enum {
	WAITERS = 6 /* three times the threads of the server */
};

/* Requests that wait for a shared door to open. */
static struct door {
	atomic_bool open;
	atomic_uint calls, n;
	_Atomic(struct ux_request *) waiting[WAITERS];
} door;

static void leave(void *ctx)
{
	(void)ctx;
}

static enum ux_code wait_at_door(struct ux_request *req, struct ux_response *res)
{
	bool soon = ux_bytes_eq(req->params[0], UX_STR("soon"));
	unsigned calls = atomic_fetch_add(&door.calls, 1);
	if (soon ? calls >= 2 : atomic_load(&door.open))
		return say(req, res);
	if (!soon && !req->end) {
		ux_request_on_end(req, leave, NULL);
		door.waiting[atomic_fetch_add(&door.n, 1)] = req;
	}
	ux_out_cstr(&req->out, "forgotten");
	if (!ux_request_park(req, soon ? 10 : 600000))
		return refuse(req, res);
	assert_non_null(ux_arena_strndup(&req->arena, "given back", 10));
	return UX_OK;
}

static const struct ux_route routes[] = {
	{UX_METHOD_GET, "/wait/{how}", wait_at_door, NULL, 0, ""},
	{UX_METHOD_GET, "/say/{what}", say, NULL, 0, ""},
	{UX_METHOD_GET, "/say/exactly", refuse, NULL, 0, ""},
	{UX_METHOD_POST, "/say", say, NULL, 0, "", .body = UX_BODY_SMALL},
	{UX_METHOD_POST, "/large", say, NULL, 0, "", .body = UX_BODY_LARGE},
	{UX_METHOD_PUT, "/stream", stream_end, stream_begin, 0, ""},
	{UX_METHOD_GET, "/secret", say, NULL, 1, ""},
	{UX_METHOD_GET, "/slow", slow, NULL, 0, ""},
	{UX_METHOD_GET, "/system/{how}", fail_in_system, NULL, 0, ""},
};

static struct ux_http_app app_make(struct sink *sink)
{
	struct ux_http_limits l = {.body_bytes = 100,
				   .upload_bytes = 1 << 20,
				   .drain_bytes = 1 << 16,
				   .arena_bytes = 1 << 20,
				   .threads = 2,
				   .idle_seconds = 5};
	return (struct ux_http_app){
		.routes = routes,
		.n_routes = ux_countof(routes),
		.ctx = sink,
		.gate = gate,
		.limits = ux_http_limits_default(l),
	};
}

/* Runs one exchange without a socket and compares its status and body. */
static void ask(const char *method, const char *target, const char *header, const char *body,
		unsigned status, const char *want)
{
	struct sink sink = {0};
	struct ux_http_app app = app_make(&sink);
	struct ux_exchange x;
	ux_exchange_init(&x, &app, STR(method), STR(target));
	if (header)
		ux_exchange_header(&x, STR("Authorization"), STR(header));
	ux_exchange_begin(&x);
	for (const char *p = body; *p; p++)
		ux_exchange_data(&x, ux_bytes(p, 1));
	ux_exchange_finish(&x);
	assert_int_equal(x.res.status, status);
	assert_text(x.res.body, want);
	ux_exchange_deinit(&x, true);
	assert_true(sink.closed <= 1);
}

#define ERROR(code, message) "{\"error\":{\"code\":\"" code "\",\"message\":\"" message "\"}}\n"

static void exchanges_find_their_handler(void **state)
{
	(void)state;
	ask("GET", "/say/a%20b?q=1%2B1+2", NULL, "", 200, "GET|1||a b|1+1 2");
	ask("HEAD", "/say/a", NULL, "", 200, "HEAD|1||a");
	ask("POST", "/say", NULL, "hello", 200, "POST|0|hello");
	ask("POST", "/say?", NULL, "", 200, "POST|0|");
	ask("POST", "/say?&&q&q=2", NULL, "", 200, "POST|0||");
	ask("GET", "/say/exactly", NULL, "", 409, ERROR("conflict", "said \\\"no\\\""));
	ask("PUT", "/stream", NULL, "12345", 200, "5");
}

static void exchanges_refuse_with_a_reason(void **state)
{
	(void)state;
	ask("GET", "/nope", NULL, "", 404, ERROR("not_found", "no such route"));
	ask("DELETE", "/say", NULL, "", 405,
	    ERROR("method_not_allowed", "this route does not accept DELETE"));
	ask("BREW", "/say", NULL, "", 405, ERROR("method_not_allowed", "unknown method"));
	ask("GET", "/say/%zz", NULL, "", 400, ERROR("invalid", "the path has a bad %XX escape"));
	ask("GET", "/say/%00", NULL, "", 400, ERROR("invalid", "the path has a bad %XX escape"));
	ask("GET", "/say/x?q=%2", NULL, "", 400,
	    ERROR("invalid", "the query has a bad %XX escape"));
	ask("GET", "/secret", NULL, "", 401, ERROR("denied", "no token"));
	ask("GET", "/secret", "Bearer x", "", 200, "GET|0|");
	ask("PUT", "/stream", NULL, "12!45", 422, ERROR("corrupt", "met a '!'"));
	char big[102];
	memset(big, 'x', sizeof(big));
	big[101] = '\0';
	ask("POST", "/say", NULL, big, 413,
	    ERROR("too_large", "the body exceeds the limit of 100 bytes"));
}

static void errors_of_the_system_are_the_servers_and_tell_no_paths(void **state)
{
	(void)state;
	const char want[] = ERROR("input_output", "the server had an I/O error; see its log");
	ask("GET", "/system/gone", NULL, "", 500, want);
	ask("GET", "/system/closed", NULL, "", 500, want);
	ask("GET", "/system/full", NULL, "", 507, ERROR("disk_full", "the server's disk is full"));
}

static void announced_body_over_the_limit_is_refused_before_it_comes(void **state)
{
	(void)state;
	struct ux_http_app app = app_make(NULL);
	struct ux_exchange x;
	const char *const lengths[] = {"101", "18446744073709551615", "99999999999999999999999",
				       "-1", "1x"};
	for (size_t i = 0; i < ux_countof(lengths); i++) {
		ux_exchange_init(&x, &app, STR("POST"), STR("/say"));
		ux_exchange_header(&x, STR("content-length"), STR(lengths[i]));
		ux_exchange_begin(&x);
		assert_true(x.refused);
		ux_exchange_finish(&x);
		assert_true(x.res.status == 413 || x.res.status == 400);
		ux_exchange_deinit(&x, true);
	}
}

/* Sends a request of this client with a body of `size` bytes. */
static void body_of(struct ux_exchange *x, const struct ux_http_app *app, uint64_t client,
		    size_t size)
{
	ux_cleanup(ux_free_ptr) char *body = calloc(1, size);
	assert_non_null(body);
	ux_exchange_init(x, app, STR("POST"), STR("/large"));
	x->req.client = client;
	ux_exchange_begin(x);
	memset(body, 'a', size);
	ux_exchange_data(x, ux_bytes(body, size));
}

static void requests_together_have_a_bound_on_memory(void **state)
{
	(void)state;
	struct ux_http_memory memory = {.max = 1 << 20};
	struct ux_http_app app = app_make(NULL);
	struct ux_exchange x[5];
	app.memory = &memory;
	app.limits.body_bytes = 1 << 20;
	body_of(&x[0], &app, 1, 200 << 10); /* its buffer has 256 KiB */
	body_of(&x[1], &app, 2, 200 << 10);
	assert_false(x[0].answered || x[1].answered);
	body_of(&x[2], &app, 3, 100 << 10); /* bodies have half of the memory */
	ux_exchange_finish(&x[2]);
	assert_int_equal(x[2].res.status, 503);
	assert_text(x[2].res.body,
		    ERROR("unavailable", "all requests together use too much memory; retry later"));
	const struct ux_http_field *again = &x[2].res.fields[x[2].res.n_fields - 1];
	assert_text(again->name, "Retry-After"); /* as of every 503 */
	assert_text(again->value, "2");
	body_of(&x[3], &app, 3, 50 << 10); /* a small one is not counted */
	ux_exchange_finish(&x[3]);
	assert_int_equal(x[3].res.status, 200);
	for (size_t i = 0; i < 4; i++)
		ux_exchange_deinit(&x[i], true);
	assert_int_equal(memory.used, 0);
	for (size_t i = 0; i < UX_HTTP_CLIENTS; i++)
		assert_int_equal(memory.by_client[i], 0);
}

static void one_client_holds_at_most_half_of_the_memory(void **state)
{
	(void)state;
	struct ux_http_memory memory = {.max = 1 << 20};
	struct ux_route plain = {.body = UX_BODY_LARGE}, probe = {.probe = true};
	struct ux_request one = {.memory = &memory, .client = 1, .route = &plain};
	struct ux_request another = {.memory = &memory, .client = 1, .route = &plain};
	struct ux_request other = {.memory = &memory, .client = 2, .route = &plain};
	struct ux_request watcher = {.memory = &memory, .client = 1, .route = &probe};
	one.err = another.err = other.err = watcher.err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(ux_request_hold(&one, 500 << 10), UX_OK);
	assert_int_equal(ux_request_hold(&one, 600 << 10), UX_ELIMIT); /* at any time */
	assert_int_equal(one.held, 500 << 10);
	assert_int_equal(ux_request_hold(&another, 100 << 10), UX_EUNAVAILABLE);
	assert_int_equal(ux_request_hold(&other, 512 << 10), UX_OK);
	assert_int_equal(memory.used, 1012 << 10);
	assert_int_equal(ux_request_hold(&watcher, 1 << 30), UX_OK);
	assert_int_equal(ux_request_hold(&one, UX_HTTP_SMALL), UX_OK);
	assert_int_equal(ux_request_hold(&other, 0), UX_OK);
	assert_int_equal(memory.used, 0);
}

static void answers_that_are_not_read_count(void **state)
{
	(void)state;
	struct ux_http_memory memory = {.max = 1 << 20};
	struct ux_http_app app = app_make(NULL);
	struct ux_exchange x;
	app.memory = &memory;
	app.limits.body_bytes = 1 << 20;
	body_of(&x, &app, 1, 100 << 10);
	ux_exchange_finish(&x); /* reports its received bytes */
	assert_int_equal(x.res.status, 200);
	assert_true(memory.used >= x.res.body.size && x.res.body.size > 100 << 10);
	ux_exchange_deinit(&x, true);
	assert_int_equal(memory.used, 0);
}

static void packed_bodies_are_refused_before_they_come(void **state)
{
	(void)state;
	static const struct {
		const char *coding;
		bool refused;
	} cases[] = {{"gzip", true}, {"br", true}, {"gzip, identity", true}, {"Identity", false}};
	struct ux_http_app app = app_make(NULL);
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_exchange x;
		ux_exchange_init(&x, &app, STR("POST"), STR("/say"));
		ux_exchange_header(&x, STR("Content-Encoding"), STR(cases[i].coding));
		ux_exchange_begin(&x);
		assert_int_equal(x.refused, cases[i].refused);
		assert_int_equal(x.res.status, cases[i].refused ? 400 : 0);
		ux_exchange_deinit(&x, true);
	}
}

static void bodies_have_the_limit_of_their_route(void **state)
{
	(void)state;
	struct ux_http_app app = app_make(NULL);
	struct ux_exchange x;
	app.limits.body_bytes = 1 << 20;
	const struct {
		const char *method, *target;
		size_t max;
	} cases[] = {
		{"POST", "/say", UX_BODY_SMALL},
		{"POST", "/large", 1 << 20},
		{"GET", "/say/a", UX_BODY_UNUSED},
	};
	for (size_t i = 0; i < ux_countof(cases); i++)
		for (size_t over = 0; over < 2; over++) {
			char length[24];
			snprintf(length, sizeof(length), "%zu", cases[i].max + over);
			ux_exchange_init(&x, &app, STR(cases[i].method), STR(cases[i].target));
			ux_exchange_header(&x, STR("Content-Length"), STR(length));
			ux_exchange_begin(&x);
			assert_int_equal(x.refused, over == 1);
			assert_int_equal(x.res.status, over == 1 ? 413 : 0);
			ux_exchange_deinit(&x, true);
		}
}

static void client_that_vanishes_closes_the_sink_once(void **state)
{
	(void)state;
	struct sink sink = {0};
	struct ux_http_app app = app_make(&sink);
	struct ux_exchange x;
	ux_exchange_init(&x, &app, STR("PUT"), STR("/stream"));
	ux_exchange_begin(&x);
	ux_exchange_data(&x, STR("abc"));
	ux_exchange_deinit(&x, false);
	assert_int_equal(sink.bytes, 3);
	assert_int_equal(sink.closed, 1);
}

static void json_of(const void *text, size_t n, const char *want)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_json j = ux_json_make(&out);
	struct ux_bytes b = guard(ux_bytes(text, n));
	ux_json_str(&j, b);
	guard_free(b);
	assert_text(ux_out_bytes(&out), want);
}

static void json_puts_commas_where_they_belong(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_json j = ux_json_make(&out);
	ux_json_object_begin(&j);
	ux_json_key(&j, "a");
	ux_json_array_begin(&j);
	ux_json_array_begin(&j);
	ux_json_array_end(&j);
	ux_json_u64(&j, UINT64_MAX);
	ux_json_i64(&j, INT64_MIN);
	ux_json_null(&j);
	ux_json_array_end(&j);
	ux_json_key_bool(&j, "b", false);
	ux_json_key(&j, "p");
	ux_json_path(&j, STR("/src"), STR("a.c"));
	ux_json_key(&j, "q");
	ux_json_path(&j, STR("/"), STR("a.c"));
	ux_json_key(&j, "r");
	ux_json_path(&j, STR(""), STR("a.c"));
	ux_json_object_end(&j);
	assert_text(ux_out_bytes(&out),
		    "{\"a\":[[],18446744073709551615,-9223372036854775808,null],\"b\":false,"
		    "\"p\":\"/src/a.c\",\"q\":\"/a.c\",\"r\":\"a.c\"}");
}

static void json_of_counts_has_each_under_its_name(void **state)
{
	(void)state;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_json j = ux_json_make(&out);
	struct ux_counts counts = {.functions = 1,
				   .inlines = 2,
				   .rows = 3,
				   .code_bytes = 4,
				   .line_bytes = 5,
				   .unnamed_bytes = 7};
	ux_json_object_begin(&j);
	ux_json_symbols(&j, UX_QUALITY_LINES, &counts);
	ux_json_object_end(&j);
	assert_text(ux_out_bytes(&out),
		    "{\"quality\":\"lines\",\"counts\":{\"functions\":1,\"inlines\":2,\"rows\":3,"
		    "\"code_bytes\":4,\"line_bytes\":5}}");
	ux_out_reset(&out);
	counts.unnamed = 6;
	j = ux_json_make(&out);
	ux_json_object_begin(&j);
	ux_json_counts(&j, &counts);
	ux_json_object_end(&j);
	assert_text(ux_out_bytes(&out),
		    "{\"counts\":{\"functions\":1,\"inlines\":2,\"rows\":3,\"code_bytes\":4,"
		    "\"line_bytes\":5,\"unnamed\":6,\"unnamed_bytes\":7}}");
}

static void json_text_is_valid_whatever_the_bytes(void **state)
{
	(void)state;
#define FFFD "\xef\xbf\xbd"
	json_of("a\"\\\n\t\x01\x7f", 7, "\"a\\\"\\\\\\n\\t\\u0001\\u007f\"");
	json_of("\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", 9,
		"\"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80\"");
	json_of("\xff\x41", 2, "\"" FFFD "A\"");
	json_of("\xc0\x80", 2, "\"" FFFD FFFD "\"");                   /* too long a form */
	json_of("\xed\xa0\x80", 3, "\"" FFFD FFFD FFFD "\"");          /* a surrogate */
	json_of("\xf4\x90\x80\x80", 4, "\"" FFFD FFFD FFFD FFFD "\""); /* over U+10FFFF */
	json_of("\xe2\x82", 2, "\"" FFFD "\"");                        /* cut: one replacement
									  character for the piece */
	json_of("\xf0\x9f\x98"
		"A",
		4, "\"" FFFD "A\"");
	json_of("\xe2\x82\xe2\x82\xac", 5, "\"" FFFD "\xe2\x82\xac\"");
	json_of("", 0, "\"\"");
}

static void percent_encoding_round_trips(void **state)
{
	(void)state;
	UX_ARENA(arena, 1 << 16);
	uint8_t all[255];
	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (uint8_t)(i + 1);
	char *text = ux_percent_encode(&arena, ux_bytes(all, sizeof(all)));
	struct ux_bytes back;
	assert_int_equal(ux_percent_decode(STR(text), false, &arena, "text", &back, NULL), UX_OK);
	assert_true(ux_bytes_eq(back, ux_bytes(all, sizeof(all))));
	assert_null(strpbrk(text, "/?#+ &"));
	/* A cut escape, with any bytes after the text. */
	for (size_t n = 1; n <= 2; n++)
		assert_int_equal(
			ux_percent_decode(ux_bytes("%41", n), false, &arena, "text", &back, NULL),
			UX_EINVAL);
	assert_int_equal(ux_percent_decode(STR("%41"), false, &arena, "text", &back, NULL), UX_OK);
	assert_text(back, "A");
	assert_int_equal(ux_percent_decode(STR("a+b"), false, &arena, "text", &back, NULL), UX_OK);
	assert_text(back, "a+b");
	assert_int_equal(ux_percent_decode(STR("a+b"), true, &arena, "text", &back, NULL), UX_OK);
	assert_text(back, "a b");
}

struct pair {
	struct ux_http_server *server;
	struct ux_http_client *client;
	struct sink sink;
	struct ux_http_app app;
};

static void pair_open(struct pair *p)
{
	p->app = app_make(&p->sink);
	assert_int_equal(ux_http_server_open(&p->server, "127.0.0.1:0", &p->app, NULL), UX_OK);
	char url[128];
	snprintf(url, sizeof(url), "http://%s/", ux_http_server_address(p->server));
	struct ux_http_client_options o = {.url = url, .token = "secret"};
	assert_int_equal(ux_http_client_create(&p->client, &o, NULL), UX_OK);
}

static void pair_close(struct pair *p)
{
	ux_http_client_destroy(p->client);
	ux_http_server_close(p->server);
}

static void talk(struct pair *p, const struct ux_http_call *call, unsigned status, const char *want)
{
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer a = {0};
	struct ux_error err = UX_ERROR_INIT;
	enum ux_code code = ux_http_client_call(p->client, call, &a, &err);
	if (code != UX_OK)
		fail_msg("call failed: %s", err.text);
	assert_int_equal(a.status, status);
	if (want)
		assert_text(ux_out_bytes(&a.body), want);
}

static void client_and_server_understand_each_other(void **state)
{
	(void)state;
	struct pair p = {0};
	pair_open(&p);
	talk(&p, &(struct ux_http_call){.path = "/say/x?q=y"}, 200, "GET|1||x|y");
	talk(&p, &(struct ux_http_call){.method = UX_METHOD_HEAD, .path = "/say/x"}, 200, "");
	talk(&p,
	     &(struct ux_http_call){.method = UX_METHOD_POST, .path = "/say", .body = STR("hi")},
	     200, "POST|0|hi");
	talk(&p, &(struct ux_http_call){.path = "/secret"}, 200, "GET|0|");
	talk(&p, &(struct ux_http_call){.method = UX_METHOD_DELETE, .path = "/say"}, 405, NULL);
	static char big[3 << 20];
	memset(big, 'x', sizeof(big));
	struct ux_http_call put = {.method = UX_METHOD_PUT, .path = "/stream"};
	put.body = ux_bytes(big, 1 << 20);
	talk(&p, &put, 200, "1048576");
	put.body = ux_bytes(big, sizeof(big));
	talk(&p, &put, 413, NULL);
	struct ux_http_call post = {.method = UX_METHOD_POST, .path = "/say"};
	post.body = ux_bytes(big, 60000);
	talk(&p, &post, 413, ERROR("too_large", "the body exceeds the limit of 100 bytes"));
	pair_close(&p);
}

static void body_can_come_from_a_range_of_a_file(void **state)
{
	(void)state;
	struct pair p = {0};
	pair_open(&p);
	FILE *f = tmpfile();
	fputs("0123456789", f);
	fflush(f);
	struct ux_http_call post = {.method = UX_METHOD_POST,
				    .path = "/say",
				    .from_file = true,
				    .body_fd = fileno(f),
				    .body_off = 3,
				    .body_size = 4};
	talk(&p, &post, 200, "POST|0|3456");
	post.body_size = 100; /* more than there is */
	struct ux_http_answer a = {0};
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_http_client_call(p.client, &post, &a, &err), UX_EIO);
	fclose(f);
	pair_close(&p);
}

static void answer_over_the_limit_is_refused(void **state)
{
	(void)state;
	struct pair p = {0};
	pair_open(&p);
	struct ux_http_answer a = {0};
	struct ux_http_call get = {.path = "/say/0123456789", .answer_max = 8};
	assert_int_equal(ux_http_client_call(p.client, &get, &a, NULL), UX_ELIMIT);
	pair_close(&p);
}

static void unreachable_and_slow_servers_are_unavailable(void **state)
{
	(void)state;
	struct ux_http_client *c = NULL;
	struct ux_http_client_options o = {.url = "http://127.0.0.1:1", .token = "hush"};
	assert_int_equal(ux_http_client_create(&c, &o, NULL), UX_OK);
	struct ux_http_answer a = {0};
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_http_client_call(c, &(struct ux_http_call){.path = "/"}, &a, &err),
			 UX_EUNAVAILABLE);
	assert_non_null(strstr(err.text, "127.0.0.1:1"));
	assert_null(strstr(err.text, "hush"));
	ux_http_client_destroy(c);

	struct pair p = {0};
	pair_open(&p);
	struct ux_http_call get = {.path = "/slow", .timeout_ms = 50};
	err = (struct ux_error)UX_ERROR_INIT;
	assert_int_equal(ux_http_client_call(p.client, &get, &a, &err), UX_EUNAVAILABLE);
	assert_non_null(strstr(err.text, "deadline exceeded"));
	pair_close(&p);
}

static void client_refuses_what_is_no_url_or_no_header(void **state)
{
	(void)state;
	struct ux_http_client *c = NULL;
	const char *const urls[] = {"", "ftp://x", "localhost:80", "http://a b", "http://x/?q"};
	for (size_t i = 0; i < ux_countof(urls); i++)
		assert_int_equal(
			ux_http_client_create(&c, &(struct ux_http_client_options){.url = urls[i]},
					      NULL),
			UX_EINVAL);
	struct ux_http_client_options o = {.url = "http://x", .token = "a\r\nX: y"};
	assert_int_equal(ux_http_client_create(&c, &o, NULL), UX_EINVAL);
}

static void *ask_slowly(void *ctx)
{
	struct pair *p = ctx;
	talk(p, &(struct ux_http_call){.path = "/slow"}, 200, "GET|0|");
	return NULL;
}

static void stopping_lets_a_request_in_flight_end(void **state)
{
	(void)state;
	struct pair p = {0};
	pair_open(&p);
	pthread_t t;
	assert_int_equal(pthread_create(&t, NULL, ask_slowly, &p), 0);
	usleep(100000);
	ux_http_server_close(p.server);
	pthread_join(t, NULL);
	ux_http_client_destroy(p.client);
}

static void *ask_at_door(void *ctx)
{
	struct pair p = {0};
	char url[128];
	snprintf(url, sizeof(url), "http://%s/", (const char *)ctx);
	struct ux_http_client_options o = {.url = url};
	assert_int_equal(ux_http_client_create(&p.client, &o, NULL), UX_OK);
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer a = {0};
	const struct ux_http_call call = {.path = "/wait/long", .timeout_ms = 120000};
	assert_int_equal(ux_http_client_call(p.client, &call, &a, NULL), UX_OK);
	ux_http_client_destroy(p.client);
	return (void *)(uintptr_t)a.status;
}

/* Sends requests, and returns when all of them wait. */
static void all_wait(const struct pair *p, pthread_t threads[WAITERS])
{
	static char address[96];
	snprintf(address, sizeof(address), "%s", ux_http_server_address(p->server));
	memset(&door, 0, sizeof(door));
	for (int i = 0; i < WAITERS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, ask_at_door, address), 0);
	for (int i = 0; i < WAITERS; i++)
		while (!atomic_load(&door.waiting[i]))
			usleep(1000);
}

static void all_get(pthread_t threads[WAITERS], unsigned status)
{
	for (int i = 0; i < WAITERS; i++) {
		void *got = NULL;
		pthread_join(threads[i], &got);
		assert_int_equal((uintptr_t)got, status);
	}
}

static void requests_wait_without_a_thread_until_they_are_woken(void **state)
{
	(void)state;
	struct pair p = {0};
	pthread_t threads[WAITERS];
	pair_open(&p);
	all_wait(&p, threads);
	talk(&p, &(struct ux_http_call){.path = "/say/x"}, 200, "GET|1||x");
	atomic_store(&door.open, true);
	for (int i = 0; i < WAITERS; i++)
		ux_request_wake(door.waiting[i]);
	all_get(threads, 200);
	pair_close(&p);
}

static void requests_wait_for_their_time_and_no_longer(void **state)
{
	(void)state;
	struct pair p = {0};
	pair_open(&p);
	memset(&door, 0, sizeof(door));
	talk(&p, &(struct ux_http_call){.path = "/wait/soon"}, 200, "GET|1||soon");
	assert_true(atomic_load(&door.calls) >= 3);
	pair_close(&p);
}

static void requests_that_wait_are_answered_when_the_server_stops(void **state)
{
	(void)state;
	struct pair p = {0};
	pthread_t threads[WAITERS];
	pair_open(&p);
	all_wait(&p, threads);
	pair_close(&p);
	all_get(threads, 409);
}

static void addresses_that_make_no_sense_are_refused(void **state)
{
	(void)state;
	struct ux_http_app app = app_make(NULL);
	struct ux_http_server *s = NULL;
	const char *const bad[] = {
		"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:x", "127.0.0.1:65536", "256.0.0.1.1:80"};
	for (size_t i = 0; i < ux_countof(bad); i++)
		assert_int_equal(ux_http_server_open(&s, bad[i], &app, NULL), UX_EINVAL);
	assert_int_equal(ux_http_listen_check("127.0.0.1:0", NULL), UX_OK);
	assert_int_equal(ux_http_listen_check("127.0.0.1:65536", NULL), UX_EINVAL);
	assert_int_equal(ux_http_listen_check("127.0.0.1", NULL), UX_EINVAL);
	assert_true(ux_http_is_loopback("127.0.0.1:1"));
	assert_true(ux_http_is_loopback("127.8.9.1:1"));
	assert_true(ux_http_is_loopback("[::1]:1"));
	assert_false(ux_http_is_loopback("0.0.0.0:1"));
	assert_false(ux_http_is_loopback(":1"));
	assert_false(ux_http_is_loopback("192.0.2.1:1"));
}

static void taken_address_is_unavailable(void **state)
{
	(void)state;
	struct pair p = {0};
	pair_open(&p);
	struct ux_http_server *s = NULL;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_http_server_open(&s, ux_http_server_address(p.server), &p.app, &err),
			 UX_EUNAVAILABLE);
	pair_close(&p);
}

static void raw_nonsense_on_the_socket_harms_nothing(void **state)
{
	(void)state;
	struct pair p = {0};
	pair_open(&p);
#define HEAD_OF(line) line " HTTP/1.1\r\nHost: x\r\n"
	static const char bad_length[] = HEAD_OF("POST /say") "Content-Length: zz\r\n\r\n";
	static const char cut[] = HEAD_OF("PUT /stream") "Content-Length: 9\r\n\r\nab";
	static const char bad_chunk[] =
		HEAD_OF("POST /say") "Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n";
	const char *const junk[] = {"\x16\x03\x01\x02", "GET\r\n\r\n", "\r\n\r\n\r\n",
				    bad_length,         cut,           bad_chunk};
	for (size_t i = 0; i < ux_countof(junk); i++) {
		struct sockaddr_in in = {.sin_family = AF_INET,
					 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		in.sin_port = htons((uint16_t)strtoul(
			strrchr(ux_http_server_address(p.server), ':') + 1, NULL, 10));
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(connect(fd, (struct sockaddr *)&in, sizeof(in)), 0);
		assert_true(write(fd, junk[i], strlen(junk[i])) > 0);
		usleep(20000);
		close(fd);
	}
	talk(&p, &(struct ux_http_call){.path = "/say/x"}, 200, "GET|1||x");
	pair_close(&p);
}

static void limits_have_defaults_and_keep_what_is_set(void **state)
{
	(void)state;
	struct ux_http_limits l = ux_http_limits_default((struct ux_http_limits){0});
	assert_int_equal(l.header_bytes, 32 << 10);
	assert_int_equal(l.body_bytes, 16 << 20);
	assert_int_equal(l.upload_bytes, UINT64_C(4) << 30);
	assert_int_equal(l.drain_bytes, 32 << 20);
	assert_int_equal(l.arena_bytes, 64 << 20);
	assert_int_equal(l.memory_bytes, 1 << 30);
	assert_int_equal(l.idle_seconds, 30);
	assert_int_equal(l.rate_bytes, 512);
	assert_int_equal(l.connections, 1024);
	assert_int_equal(l.address_connections, 256);
	assert_true(l.threads >= 4);
	assert_int_equal(l.client_queue, 256);
	assert_int_equal(l.request_ms, 30000);
	assert_int_equal(l.stop_seconds, 20);
	const struct ux_http_limits set = {.header_bytes = 7,
					   .body_bytes = 7,
					   .upload_bytes = 7,
					   .drain_bytes = 7,
					   .arena_bytes = 7,
					   .memory_bytes = 7,
					   .idle_seconds = 7,
					   .rate_bytes = 7,
					   .connections = 7,
					   .address_connections = 7,
					   .threads = 7,
					   .client_queue = 7,
					   .request_ms = 7,
					   .stop_seconds = 7};
	l = ux_http_limits_default(set);
	assert_int_equal(l.header_bytes, 7);
	assert_int_equal(l.body_bytes, 7);
	assert_int_equal(l.upload_bytes, 7);
	assert_int_equal(l.drain_bytes, 7);
	assert_int_equal(l.arena_bytes, 7);
	assert_int_equal(l.memory_bytes, 7);
	assert_int_equal(l.idle_seconds, 7);
	assert_int_equal(l.rate_bytes, 7);
	assert_int_equal(l.connections, 7);
	assert_int_equal(l.address_connections, 7);
	assert_int_equal(l.threads, 7);
	assert_int_equal(l.client_queue, 7);
	assert_int_equal(l.request_ms, 7);
	assert_int_equal(l.stop_seconds, 7);
}

UX_SUITE(net)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(limits_have_defaults_and_keep_what_is_set),
		UX_TEST(patterns_match_segment_by_segment),
		UX_TEST(exchanges_find_their_handler),
		UX_TEST(exchanges_refuse_with_a_reason),
		UX_TEST(errors_of_the_system_are_the_servers_and_tell_no_paths),
		UX_TEST(announced_body_over_the_limit_is_refused_before_it_comes),
		UX_TEST(requests_together_have_a_bound_on_memory),
		UX_TEST(one_client_holds_at_most_half_of_the_memory),
		UX_TEST(answers_that_are_not_read_count),
		UX_TEST(packed_bodies_are_refused_before_they_come),
		UX_TEST(bodies_have_the_limit_of_their_route),
		UX_TEST(client_that_vanishes_closes_the_sink_once),
		UX_TEST(json_puts_commas_where_they_belong),
		UX_TEST(json_of_counts_has_each_under_its_name),
		UX_TEST(json_text_is_valid_whatever_the_bytes),
		UX_TEST(percent_encoding_round_trips),
		UX_TEST(client_and_server_understand_each_other),
		UX_TEST(body_can_come_from_a_range_of_a_file),
		UX_TEST(answer_over_the_limit_is_refused),
		UX_TEST(unreachable_and_slow_servers_are_unavailable),
		UX_TEST(client_refuses_what_is_no_url_or_no_header),
		UX_TEST(stopping_lets_a_request_in_flight_end),
		UX_TEST(requests_wait_without_a_thread_until_they_are_woken),
		UX_TEST(requests_wait_for_their_time_and_no_longer),
		UX_TEST(requests_that_wait_are_answered_when_the_server_stops),
		UX_TEST(addresses_that_make_no_sense_are_refused),
		UX_TEST(taken_address_is_unavailable),
		UX_TEST(raw_nonsense_on_the_socket_harms_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
