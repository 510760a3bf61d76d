/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP server: handlers that work in the queue, deadlines, answers before the body ends. */
#include "sweep.h"

#include "clock.h"
#include "exchange.h"
#include "http_server.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <unistd.h>

static atomic_uint calls;

static enum ux_code work(struct ux_request *req, struct ux_response *res)
{
	struct ux_bytes what = req->params[0];
	unsigned call = atomic_fetch_add(&calls, 1);
	if (ux_bytes_eq(what, UX_STR("wait")) && call < 3)
		return ux_request_park(req, 20)
			       ? UX_OK
			       : ux_error_set(&req->err, UX_ECONFLICT, "it may not wait");
	ux_out_fmt(&req->out, "%u after %s", call, req->end_ms != 0 ? "a deadline" : "no deadline");
	return ux_response_out(req, res, "text/plain");
}

static enum ux_code quick_or_long(struct ux_request *req, struct ux_response *res)
{
	struct ux_bytes what = req->params[0];
	ux_out_fmt(&req->out, "call %u is %s, ", atomic_fetch_add(&calls, 1),
		   req->quick ? "quick" : "long");
	if (req->quick && ux_bytes_eq(what, UX_STR("long")))
		return ux_request_too_long(req);
	if (ux_bytes_eq(what, UX_STR("bad")))
		return ux_error_set(&req->err, UX_EINVAL, "it is bad, quick: %d", req->quick);
	size_t more = ux_bytes_eq(what, UX_STR("large")) ? UX_QUICK_ANSWER : 1;
	uint8_t *room = ux_out_room(&req->out, more);
	if (room)
		memset(room, ' ', more);
	ux_out_fmt(&req->out, "after %s", req->end_ms != 0 ? "a deadline" : "no deadline");
	return ux_response_out(req, res, "text/plain");
}

static enum ux_code refuse(struct ux_request *req, struct ux_response *res)
{
	res->status = (unsigned)(400 + req->params[0].data[0] - 'a');
	return ux_error_set(&req->err, UX_ENOTFOUND, "no such thing");
}

static const struct ux_route routes[] = {
	{UX_METHOD_GET, "/work/{what}", work, NULL, 0, "", .works = true},
	{UX_METHOD_GET, "/plain/{what}", work, NULL, 0, ""},
	{UX_METHOD_POST, "/work/{what}", work, NULL, 0, "", .works = true},
	{UX_METHOD_GET, "/quick/{what}", quick_or_long, NULL, 0, "", .works = true, .quick = true},
	{UX_METHOD_POST, "/quick/{what}", quick_or_long, NULL, 0, "", .works = true, .quick = true,
	 .body = UX_BODY_LARGE},
	{UX_METHOD_GET, "/fail/{how}", refuse, NULL, 0, ""},
};

static struct ux_http_app app_of(void)
{
	struct ux_http_limits l = {.body_bytes = 1000,
				   .upload_bytes = 1 << 20,
				   .drain_bytes = 1 << 20,
				   .arena_bytes = 1 << 20,
				   .threads = 2,
				   .idle_seconds = 5};
	return (struct ux_http_app){.routes = routes,
				    .n_routes = ux_countof(routes),
				    .limits = ux_http_limits_default(l)};
}

static int connect_to(struct ux_http_server *server)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	in.sin_port = htons(
		(uint16_t)strtoul(strrchr(ux_http_server_address(server), ':') + 1, NULL, 10));
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const struct timeval max = {.tv_sec = 20};
	assert_int_equal(connect(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &max, sizeof(max)), 0);
	return fd;
}

/* Sends the text, and returns the received bytes once a text is in them, or the connection ended.
 */
static const char *talk(int fd, const char *text, const char *until)
{
	static char got[8192];
	size_t n = 0;
	got[0] = '\0';
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	while (!strstr(got, until)) {
		ssize_t more = recv(fd, got + n, sizeof(got) - 1 - n, 0);
		if (more <= 0)
			break;
		n += (size_t)more;
		got[n] = '\0';
	}
	return got;
}

static void assert_says(const char *answer, const char *text)
{
	assert_non_null(answer);
	assert_non_null(text);
	if (!strstr(answer, text))
		fail_msg("'%.200s' is not in '%.4000s'", text, answer);
}

#define GET(path) "GET " path " HTTP/1.1\r\nHost: x\r\n\r\n"

static void handlers_that_work_answer_have_deadlines_and_may_wait(void **state)
{
	(void)state;
	struct ux_http_server *s = NULL;
	const struct ux_http_app app = app_of();
	assert_int_equal(ux_http_server_open(&s, "127.0.0.1:0", &app, NULL), UX_OK);
	int fd = connect_to(s);
	atomic_store(&calls, 0);
	assert_says(talk(fd, GET("/work/now"), "after"), "0 after a deadline");
	/* Three times it waits 20 ms, and the connection is still in order. */
	atomic_store(&calls, 0);
	int64_t begin = ux_clock_ms();
	assert_says(talk(fd, GET("/work/wait"), "after"), "3 after a deadline");
	assert_true(ux_clock_ms() - begin >= 60);
	atomic_store(&calls, 0);
	assert_says(talk(fd, GET("/plain/wait"), "after"), "3 after no deadline");
	assert_says(talk(fd, "POST /work/now HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc",
			 "after"),
		    "4 after a deadline");
	close(fd);
	ux_http_server_close(s);
}

/* Many at the same time: each is answered, in its order on its own connection. */
static void many_that_work_are_all_answered(void **state)
{
	(void)state;
	enum {
		CLIENTS = 12
	};
	struct ux_http_server *s = NULL;
	const struct ux_http_app app = app_of();
	int fds[CLIENTS];
	assert_int_equal(ux_http_server_open(&s, "127.0.0.1:0", &app, NULL), UX_OK);
	atomic_store(&calls, 10);
	for (size_t i = 0; i < CLIENTS; i++) {
		fds[i] = connect_to(s);
		assert_int_equal(send(fds[i], GET("/work/x"), strlen(GET("/work/x")), 0),
				 strlen(GET("/work/x")));
	}
	for (size_t i = 0; i < CLIENTS; i++) {
		assert_says(talk(fds[i], "", "after"), "200 OK");
		assert_says(talk(fds[i], GET("/work/y"), "after"), "after a deadline");
		close(fds[i]);
	}
	assert_int_equal(atomic_load(&calls), 10 + 2 * CLIENTS);
	ux_http_server_close(s);
}

/* A handler that is not quick runs again from its beginning, and nothing of the first run is in the
 * answer. */
static void quick_handlers_answer_at_once_and_others_work(void **state)
{
	(void)state;
	static const struct {
		const char *request, *until, *says;
	} cases[] = {
		{GET("/quick/x"), "after", "\r\n\r\ncall 0 is quick,  after no deadline"},
		{GET("/quick/long"), "after", "\r\n\r\ncall 1 is long,  after a deadline"},
		{GET("/quick/bad"), "}}", "it is bad, quick: 1"},
		{"POST /quick/x HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc", "after",
		 "\r\n\r\ncall 0 is quick,  after no deadline"},
	};
	struct ux_http_server *s = NULL;
	const struct ux_http_app app = app_of();
	assert_int_equal(ux_http_server_open(&s, "127.0.0.1:0", &app, NULL), UX_OK);
	int fd = connect_to(s);
	for (size_t i = 0; i < ux_countof(cases); i++) {
		atomic_store(&calls, 0);
		assert_says(talk(fd, cases[i].request, cases[i].until), cases[i].says);
	}
	close(fd);
	ux_http_server_close(s);
}

/* The same without a socket. */
static void what_is_large_is_not_tried_or_not_finished(void **state)
{
	(void)state;
	static const struct {
		const char *target;
		size_t body;
		unsigned tried; /* calls of the handler by the attempt */
		bool answered;  /* by it */
	} cases[] = {{"/quick/x", 100, 1, true},
		     {"/quick/x", UX_QUICK_BODY, 1, true},
		     {"/quick/x", UX_QUICK_BODY + 1, 0, false},
		     {"/quick/large", 0, 1, false},
		     {"/quick/long", 0, 1, false},
		     {"/work/x", 0, 0, false}};
	static uint8_t body[UX_QUICK_BODY + 1];
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_http_app app = app_of();
		app.limits.body_bytes = sizeof(body);
		struct ux_exchange x;
		atomic_store(&calls, 0);
		ux_exchange_init(&x, &app, UX_STR("POST"), ux_bytes_cstr(cases[i].target));
		ux_exchange_begin(&x);
		if (cases[i].body > 0)
			ux_exchange_data(&x, ux_bytes(body, cases[i].body));
		assert_true(ux_exchange_works(&x));
		assert_int_equal(ux_exchange_try(&x), cases[i].answered);
		assert_int_equal(atomic_load(&calls), cases[i].tried);
		ux_exchange_finish(&x);
		assert_int_equal(x.res.status, 200);
		assert_int_equal(atomic_load(&calls), cases[i].tried + !cases[i].answered);
		if (strcmp(cases[i].target, "/quick/large") == 0)
			assert_int_equal(x.res.body.size,
					 UX_QUICK_ANSWER + strlen("call 1 is long, "
								  "after no deadline"));
		ux_exchange_deinit(&x, true);
	}
}

/* One exchange, whose deadline passes before its handler begins. */
static void a_request_that_is_late_is_not_begun(void **state)
{
	(void)state;
	static const char *const targets[] = {"/work/x", "/plain/x"};
	for (size_t i = 0; i < ux_countof(targets); i++) {
		struct ux_http_app app = app_of();
		struct ux_exchange x;
		atomic_store(&calls, 0);
		ux_exchange_init(&x, &app, UX_STR("GET"), ux_bytes_cstr(targets[i]));
		ux_exchange_begin(&x);
		x.req.end_ms = 1;
		ux_exchange_finish(&x);
		assert_int_equal(atomic_load(&calls), i);
		assert_int_equal(x.res.status, i == 0 ? 503 : 200);
		if (i == 0)
			assert_non_null(
				memmem(x.res.body.data, x.res.body.size, "\"deadline\"", 10));
		ux_exchange_deinit(&x, true);
	}
}

static void a_status_of_a_handlers_error_is_kept(void **state)
{
	(void)state;
	static const struct {
		const char *target;
		unsigned status;
	} cases[] = {{"/fail/a", 400}, {"/fail/b", 401}, {"/fail/A", 404}};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_http_app app = app_of();
		struct ux_exchange x;
		ux_exchange_init(&x, &app, UX_STR("GET"), ux_bytes_cstr(cases[i].target));
		ux_exchange_begin(&x);
		ux_exchange_finish(&x);
		assert_int_equal(x.res.status, cases[i].status);
		ux_exchange_deinit(&x, true);
	}
}

/* The client sends a body without a length, and has not ended it. */
static void client_that_still_sends_gets_the_reason(void **state)
{
	(void)state;
	struct ux_http_server *s = NULL;
	const struct ux_http_app app = app_of();
	assert_int_equal(ux_http_server_open(&s, "127.0.0.1:0", &app, NULL), UX_OK);
	int fd = connect_to(s);
	static char request[320000];
	int n = snprintf(request, sizeof(request),
			 "POST /nowhere HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
			 "4b000\r\n"); /* 300 KiB: after 256 the answer does not wait for the end */
	memset(request + n, 'x', 300 << 10);
	const char *answer = talk(fd, request, "}}");
	assert_says(answer, "HTTP/1.1 404 ");
	assert_says(answer, "\r\nConnection: close\r\n");
	assert_says(answer, "\r\nContent-Type: application/json\r\n");
	assert_says(answer, "\r\n\r\n{\"error\"");
	close(fd);
	ux_http_server_close(s);
}

UX_SUITE(http_server)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(handlers_that_work_answer_have_deadlines_and_may_wait),
		UX_TEST(many_that_work_are_all_answered),
		UX_TEST(quick_handlers_answer_at_once_and_others_work),
		UX_TEST(what_is_large_is_not_tried_or_not_finished),
		UX_TEST(a_request_that_is_late_is_not_begun),
		UX_TEST(a_status_of_a_handlers_error_is_kept),
		UX_TEST(client_that_still_sends_gets_the_reason),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
