/* SPDX-License-Identifier: Apache-2.0 */
/* The HTTP client against a server that sends the test's bytes. */
#include "sweep.h"

#include "clock.h"
#include "http_client.h"
#include "scripted_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <unistd.h>

/* The server, and the client that is tested against it. */
static struct ux_http_client *client;

static size_t end(struct script *s)
{
	ux_http_client_destroy(client);
	client = NULL;
	return script_close(s);
}

static void client_make(struct script *s, struct ux_http_client_options o)
{
	if (!o.url)
		o.url = s->url;
	assert_int_equal(ux_http_client_create(&client, &o, NULL), UX_OK);
}

#define OK(body) "HTTP/1.1 200 OK\r\nContent-Length: " body

static enum ux_code call(struct ux_http_call c, struct ux_http_answer *ret, struct ux_error *err)
{
	*ret = (struct ux_http_answer){0};
	*err = (struct ux_error)UX_ERROR_INIT;
	c.path = c.path ? c.path : "/";
	return ux_http_client_call(client, &c, ret, err);
}

static void assert_body(struct ux_http_answer *a, const char *expected)
{
	assert_int_equal(a->body.size, strlen(expected));
	if (a->body.size > 0)
		assert_memory_equal(a->body.data, expected, a->body.size);
	ux_http_answer_deinit(a);
}

static void assert_has(const char *request, const char *text)
{
	if (!strstr(request, text))
		fail_msg("'%s' is not in '%s'", text, request);
}

static void a_request_has_what_the_call_says(void **state)
{
	(void)state;
	struct ux_http_answer a;
	struct ux_error err;
	SCRIPT(s, {.answer = OK("2\r\n\r\nhi")}, {.answer = OK("0\r\n\r\n")},
	       {.answer = OK("0\r\n\r\n")}, {.answer = OK("0\r\n\r\n")},
	       {.answer = OK("0\r\n\r\n")}, {.answer = OK("0\r\n\r\n")});
	char url[80];
	snprintf(url, sizeof(url), "%s/base//", s.url);
	client_make(&s, (struct ux_http_client_options){.url = url, .token = "secret"});
	const char *const lines[] = {"X-One: 1", "X-Two: 2", NULL};
	assert_int_equal(
		call((struct ux_http_call){.path = "/a/../b?c", .headers = lines}, &a, &err),
		UX_OK);
	assert_int_equal(a.status, 200);
	assert_body(&a, "hi");
	assert_has(s.requests[0], "GET /base/a/../b?c HTTP/1.1\r\n");
	assert_has(s.requests[0], "\r\nAuthorization: Bearer secret\r\n");
	assert_has(s.requests[0], "\r\nUser-Agent: unhex/" UX_VERSION "\r\n");
	assert_has(s.requests[0], "\r\nX-One: 1\r\nX-Two: 2\r\n");
	static const struct {
		enum ux_method method;
		const char *line, *length;
	} cases[] = {
		{UX_METHOD_POST, "POST /base/ HTTP/1.1\r\n", "\r\nContent-Length: 4\r\n"},
		{UX_METHOD_PUT, "PUT /base/ HTTP/1.1\r\n", "\r\nContent-Length: 4\r\n"},
		{UX_METHOD_DELETE, "DELETE /base/ HTTP/1.1\r\n", ""},
		{UX_METHOD_OPTIONS, "OPTIONS /base/ HTTP/1.1\r\n", ""},
		{UX_METHOD_HEAD, "HEAD /base/ HTTP/1.1\r\n", ""},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_http_call c = {.method = cases[i].method, .type = "text/x"};
		c.body = cases[i].length[0] != '\0' ? UX_STR("body") : UX_BYTES_NONE;
		assert_int_equal(call(c, &a, &err), UX_OK);
		assert_has(s.requests[1 + i], cases[i].line);
		assert_has(s.requests[1 + i], cases[i].length);
		if (c.body.size > 0) {
			assert_has(s.requests[1 + i], "\r\nContent-Type: text/x\r\n");
			assert_has(s.requests[1 + i], "\r\n\r\nbody");
		}
		ux_http_answer_deinit(&a);
	}
	end(&s);
}

static void an_agent_is_named_and_a_header_is_one_line(void **state)
{
	(void)state;
	struct ux_http_answer a;
	struct ux_error err;
	SCRIPT(s, {.answer = OK("0\r\n\r\n")});
	client_make(&s, (struct ux_http_client_options){.agent = "crawler/2"});
	static const char *const bad[][2] = {{"X: a\r\nY: b", NULL}, {"X: \x7f", NULL}};
	for (size_t i = 0; i < ux_countof(bad); i++)
		assert_true(call((struct ux_http_call){.headers = bad[i]}, &a, &err) != UX_OK);
	assert_int_equal(call((struct ux_http_call){.path = "/"}, &a, &err), UX_OK);
	assert_has(s.requests[0], "\r\nUser-Agent: crawler/2\r\n");
	assert_null(strstr(s.requests[0], "Authorization"));
	ux_http_answer_deinit(&a);
	assert_int_equal(end(&s), 1);
	static const char *const urls[] = {"http:/x",    "https:/x",    "http://a?b",
					   "http://a#b", "http://\x01", "HTTPX://a"};
	for (size_t i = 0; i < ux_countof(urls); i++)
		assert_int_equal(
			ux_http_client_create(
				&client, &(struct ux_http_client_options){.url = urls[i]}, &err),
			UX_EINVAL);
	static const char *const good[] = {"HTTP://a", "HttpS://a"};
	for (size_t i = 0; i < ux_countof(good); i++) {
		client_make(&s, (struct ux_http_client_options){.url = good[i]});
		ux_http_client_destroy(client);
	}
}

static void an_answer_tells_when_to_come_again_and_where(void **state)
{
	(void)state;
	struct ux_http_answer a;
	struct ux_error err;
	SCRIPT(s, {.answer = "HTTP/1.1 503 no\r\nRetry-After: 7\r\nContent-Length: 4\r\n\r\nbusy"},
	       {.answer = "HTTP/1.1 429 no\r\nContent-Length: 0\r\n\r\n"},
	       {.answer = "HTTP/1.1 302 there\r\nLocation: http://other.test/x\r\n"
			  "Content-Length: 0\r\n\r\n"});
	client_make(&s, (struct ux_http_client_options){0});
	assert_int_equal(call((struct ux_http_call){0}, &a, &err), UX_OK);
	assert_int_equal(a.status, 503);
	assert_int_equal(a.retry_after_s, 7);
	assert_string_equal(a.location, "");
	assert_body(&a, "busy");
	assert_int_equal(call((struct ux_http_call){0}, &a, &err), UX_OK);
	assert_int_equal(a.retry_after_s, 0);
	ux_http_answer_deinit(&a);
	assert_int_equal(call((struct ux_http_call){0}, &a, &err), UX_OK);
	assert_int_equal(a.status, 302);
	assert_string_equal(a.location, "http://other.test/x");
	ux_http_answer_deinit(&a);
	end(&s);
}

static void redirects_are_followed_as_often_as_allowed(void **state)
{
	(void)state;
#define THERE "HTTP/1.1 302 x\r\nLocation: /next\r\nContent-Length: 0\r\n\r\n"
	struct ux_http_answer a;
	struct ux_error err;
	SCRIPT(s, {.answer = THERE}, {.answer = OK("1\r\n\r\nx")}, {.answer = THERE},
	       {.answer = THERE});
	client_make(&s, (struct ux_http_client_options){0});
	assert_int_equal(call((struct ux_http_call){.redirects = 1}, &a, &err), UX_OK);
	assert_int_equal(a.status, 200);
	assert_body(&a, "x");
	assert_has(s.requests[1], "GET /next HTTP/1.1\r\n");
	assert_int_equal(call((struct ux_http_call){.redirects = 1}, &a, &err), UX_EUNAVAILABLE);
	end(&s);
}

struct kept {
	char text[64];
	size_t n;
	enum ux_code code;
};

static enum ux_code keep(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct kept *k = ctx;
	if (k->code != UX_OK)
		return ux_error_set(err, k->code, "the disk is full");
	memcpy(k->text + k->n, bytes.data, ux_min(bytes.size, sizeof(k->text) - k->n));
	k->n += bytes.size;
	return UX_OK;
}

static void a_sink_gets_the_body_of_a_success_alone(void **state)
{
	(void)state;
	struct ux_http_answer a;
	struct ux_error err;
	static char large[80000];
	struct script_step steps[] = {{.answer = OK("5\r\n\r\nhello")},
				      {.answer = "HTTP/1.1 404 x\r\nContent-Length: 4\r\n\r\ngone"},
				      {.answer = OK("5\r\n\r\nhello"), .close = true},
				      {.answer = large, .close = true}};
	static struct script s;
	struct kept k = {.code = UX_OK};
	int n = snprintf(large, sizeof(large), "HTTP/1.1 404 x\r\nContent-Length: 70000\r\n\r\n");
	memset(large + n, 'x', 70000);
	script_open(&s, steps, ux_countof(steps));
	client_make(&s, (struct ux_http_client_options){0});
	const struct ux_http_call c = {.sink = keep, .sink_ctx = &k};
	assert_int_equal(call(c, &a, &err), UX_OK);
	assert_int_equal(k.n, 5);
	assert_memory_equal(k.text, "hello", 5);
	assert_body(&a, "");
	assert_int_equal(call(c, &a, &err), UX_OK);
	assert_int_equal(k.n, 5);
	assert_int_equal(a.status, 404);
	assert_body(&a, "gone");
	k.code = UX_ELIMIT;
	assert_int_equal(call(c, &a, &err), UX_ELIMIT);
	assert_string_equal(err.text, "the disk is full");
	/* A body in place of the file is only looked at. */
	k.code = UX_OK;
	assert_int_equal(call(c, &a, &err), UX_OK);
	assert_int_equal(a.status, 404);
	assert_in_range(a.body.size, 1, 64 << 10);
	ux_http_answer_deinit(&a);
	end(&s);
}

static void an_answer_may_be_as_long_as_its_limit(void **state)
{
	(void)state;
	struct ux_http_answer a;
	struct ux_error err;
	SCRIPT(s, {.answer = OK("8\r\n\r\n12345678")}, {.answer = OK("9\r\n\r\n123456789")});
	client_make(&s, (struct ux_http_client_options){0});
	assert_int_equal(call((struct ux_http_call){.answer_max = 8}, &a, &err), UX_OK);
	assert_body(&a, "12345678");
	assert_int_equal(call((struct ux_http_call){.answer_max = 8}, &a, &err), UX_ELIMIT);
	assert_non_null(strstr(err.text, "exceeds 8 bytes"));
	end(&s);
}

static void a_body_comes_from_its_part_of_a_file(void **state)
{
	(void)state;
	enum {
		OFF = 1000,
		SIZE = 150000, /* more than one buffer of the library */
	};
	static char content[OFF + SIZE + 100];
	struct ux_http_answer a;
	struct ux_error err;
	SCRIPT(s, {.answer = OK("0\r\n\r\n")}, {.answer = OK("0\r\n\r\n")});
	FILE *f = tmpfile();
	assert_non_null(f);
	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (char)('a' + i * i % 23);
	assert_int_equal(fwrite(content, 1, sizeof(content), f), sizeof(content));
	assert_int_equal(fflush(f), 0);
	client_make(&s, (struct ux_http_client_options){0});
	struct ux_http_call c = {.method = UX_METHOD_POST,
				 .from_file = true,
				 .body_fd = fileno(f),
				 .body_off = OFF,
				 .body_size = SIZE};
	assert_int_equal(call(c, &a, &err), UX_OK);
	assert_has(s.requests[0], "\r\nContent-Length: 150000\r\n");
	const char *body = strstr(s.requests[0], "\r\n\r\n") + 4;
	assert_int_equal(strlen(body), SIZE);
	assert_memory_equal(body, content + OFF, SIZE);
	c.body_off = sizeof(content) - 10;
	assert_int_equal(call(c, &a, &err), UX_EIO);
	end(&s);
	fclose(f);
}

/* The server closed the connection that was kept: the body is sent again from its start. */
static void a_body_is_sent_again_on_a_new_connection(void **state)
{
	(void)state;
	struct ux_http_answer a;
	struct ux_error err;
	SCRIPT(s, {.answer = OK("0\r\n\r\n")}, {.answer = NULL}, {.answer = OK("2\r\n\r\nok")});
	client_make(&s, (struct ux_http_client_options){0});
	assert_int_equal(call((struct ux_http_call){0}, &a, &err), UX_OK);
	ux_http_answer_deinit(&a);
	const struct ux_http_call post = {.method = UX_METHOD_POST, .body = UX_STR("the body")};
	assert_int_equal(call(post, &a, &err), UX_OK);
	assert_body(&a, "ok");
	assert_has(s.requests[1], "\r\n\r\nthe body");
	assert_has(s.requests[2], "\r\n\r\nthe body");
	end(&s);
}

static bool is_cancelled(void *ctx)
{
	++*(unsigned *)ctx;
	return true;
}

static void a_call_ends_when_nothing_comes_or_it_is_cancelled(void **state)
{
	(void)state;
	struct ux_http_answer a;
	struct ux_error err;
	SCRIPT(s, {.answer = OK("6\r\n\r\n"), .more = "slowly", .close = true},
	       {.answer = OK("6\r\n\r\n"), .stall = true});
	client_make(&s, (struct ux_http_client_options){0});
	/* Over two seconds in total, but never silent for that long. */
	assert_int_equal(call((struct ux_http_call){.silence_ms = 2000}, &a, &err), UX_OK);
	assert_body(&a, "slowly");
	int64_t begin = ux_clock_ms();
	assert_int_equal(call((struct ux_http_call){.silence_ms = 1000}, &a, &err),
			 UX_EUNAVAILABLE);
	assert_non_null(strstr(err.text, "deadline exceeded"));
	assert_in_range(ux_clock_ms() - begin, 1000, 20000);
	end(&s);
	SCRIPT(t, {.answer = OK("6\r\n\r\n"), .stall = true},
	       {.answer = OK("3000\r\n\r\n"), .more = "so much slower than that"});
	client_make(&t, (struct ux_http_client_options){0});
	unsigned polled = 0;
	const struct ux_http_call c = {.cancelled = is_cancelled, .cancelled_ctx = &polled};
	begin = ux_clock_ms();
	assert_int_equal(call(c, &a, &err), UX_EUNAVAILABLE);
	assert_non_null(strstr(err.text, "was cancelled"));
	assert_true(polled > 0);
	assert_in_range(ux_clock_ms() - begin, 0, 20000);
	end(&t);
}

static void a_call_ends_below_its_rate(void **state)
{
	(void)state;
	struct ux_http_answer a;
	struct ux_error err;
	SCRIPT(s, {.answer = OK("3000\r\n\r\n"), .more = "so slow!", .stall = true});
	client_make(&s, (struct ux_http_client_options){0});
	int64_t begin = ux_clock_ms();
	assert_int_equal(call((struct ux_http_call){.slow_bytes_s = 1000, .slow_s = 1}, &a, &err),
			 UX_EUNAVAILABLE);
	assert_in_range(ux_clock_ms() - begin, 500, 20000);
	end(&s);
}

/* A server that sends two bytes a second is never silent, and could hold its client for hours. */
static void a_dripping_answer_ends_by_itself(void **state)
{
	(void)state;
	struct ux_http_answer a;
	struct ux_error err;
	SCRIPT(s, {.answer = OK("3000\r\n\r\n"), .more = "drop by drop"},
	       {.answer = OK("6\r\n\r\n"), .delay_ms = 2500, .more = "slowly", .close = true},
	       {.answer = OK("3000\r\n\r\n"), .more = "drop by drop"});
	client_make(&s, (struct ux_http_client_options){0});
	int64_t begin = ux_clock_ms();
	assert_int_equal(
		call((struct ux_http_call){.slow_s = 2, .silence_ms = 9000, .timeout_ms = 60000},
		     &a, &err),
		UX_EUNAVAILABLE);
	assert_non_null(strstr(err.text, "is too slow: less than 512 bytes a second for 2 s"));
	assert_in_range(ux_clock_ms() - begin, 2000, 9000);
	/* the time in which a server computes is not slow, nor is a period that did not end */
	assert_int_equal(call((struct ux_http_call){.slow_s = 4}, &a, &err), UX_OK);
	assert_body(&a, "slowly");
	ux_http_client_destroy(client);
	/* who asks for less gets it */
	client_make(&s, (struct ux_http_client_options){.receive_rate = 100});
	assert_int_equal(call((struct ux_http_call){.slow_s = 1}, &a, &err), UX_EUNAVAILABLE);
	assert_non_null(strstr(err.text, "less than 50 bytes a second for 1 s"));
	end(&s);
}

/* Accepts a connection and reads nothing. */
static int silent_listener(char *url, size_t size)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t n = sizeof(in);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&in, sizeof(in)), 0);
	assert_int_equal(listen(fd, 1), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&in, &n), 0);
	snprintf(url, size, "http://127.0.0.1:%u", ntohs(in.sin_port));
	return fd;
}

static void a_body_that_nobody_reads_ends_by_itself(void **state)
{
	(void)state;
	enum {
		SIZE = 64 << 20
	};
	struct ux_http_answer a;
	struct ux_error err;
	struct script s = {0};
	char url[64];
	int fd = silent_listener(url, sizeof(url));
	void *body = calloc(1, SIZE);
	static const char *const headers[] = {"Expect:", NULL};
	assert_non_null(body);
	client_make(&s, (struct ux_http_client_options){.url = url});
	const struct ux_http_call put = {.method = UX_METHOD_PUT,
					 .body = ux_bytes(body, SIZE),
					 .headers = headers,
					 .slow_s = 2,
					 .timeout_ms = 60000};
	int64_t begin = ux_clock_ms();
	assert_int_equal(call(put, &a, &err), UX_EUNAVAILABLE);
	assert_non_null(strstr(err.text, "is too slow"));
	/* libcurl 8 counts what it takes into its own buffer: 64 KiB a second, until that is full.
	 */
	assert_in_range(ux_clock_ms() - begin, 2000, 45000);
	ux_http_client_destroy(client);
	client = NULL;
	free(body);
	close(fd);
}

/* Not after its last byte. */
static void an_announced_size_over_the_limit_is_refused_at_once(void **state)
{
	(void)state;
	struct ux_http_answer a;
	struct ux_error err;
	SCRIPT(s, {.answer = OK("1073741825\r\n\r\nx"), .stall = true});
	client_make(&s, (struct ux_http_client_options){0});
	int64_t begin = ux_clock_ms();
	assert_int_equal(call((struct ux_http_call){.answer_max = 1 << 30}, &a, &err), UX_ELIMIT);
	assert_non_null(strstr(err.text, "exceeds 1073741824 bytes"));
	assert_in_range(ux_clock_ms() - begin, 0, 9000);
	end(&s);
}

static void addresses_decide_where_a_client_may_go(void **state)
{
	(void)state;
	struct ux_http_answer a;
	struct ux_error err;
	char there[160];
	SCRIPT(target, {.answer = OK("1\r\n\r\nt")});
	snprintf(
		there, sizeof(there),
		"HTTP/1.1 302 x\r\nLocation: %s/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
		target.url);
	const struct script_step steps[] = {{.answer = OK("1\r\n\r\nx")},
					    {.answer = there, .close = true},
					    {.answer = there, .close = true}};
	static struct script s;
	script_open(&s, steps, ux_countof(steps));
	/* A client for public addresses does not use a private one. */
	client_make(&s, (struct ux_http_client_options){.reach = UX_HTTP_PUBLIC});
	assert_int_equal(call((struct ux_http_call){0}, &a, &err), UX_EDENIED);
	assert_non_null(strstr(err.text, "not public"));
	ux_http_client_destroy(client);
	client_make(&s, (struct ux_http_client_options){.reach = UX_HTTP_PUBLIC,
							.private_advice = "allow it"});
	assert_int_equal(call((struct ux_http_call){0}, &a, &err), UX_EDENIED);
	assert_non_null(strstr(err.text, "not public; allow it"));
	ux_http_client_destroy(client);
	/* The URL's own server may be private, but not one that it redirects to; and no proxy is
	 * used. */
	char proxy[64];
	snprintf(proxy, sizeof(proxy), "%s", target.url);
	setenv("http_proxy", proxy, 1);
	client_make(&s, (struct ux_http_client_options){.reach = UX_HTTP_OWN});
	assert_int_equal(call((struct ux_http_call){0}, &a, &err), UX_OK);
	assert_body(&a, "x");
	assert_int_equal(call((struct ux_http_call){.redirects = 3}, &a, &err), UX_EDENIED);
	ux_http_client_destroy(client);
	unsetenv("http_proxy");
	assert_int_equal(target.n_done, 0);
	client_make(&s, (struct ux_http_client_options){.reach = UX_HTTP_ANYWHERE});
	assert_int_equal(call((struct ux_http_call){.redirects = 3}, &a, &err), UX_OK);
	assert_body(&a, "t");
	end(&s);
	script_close(&target);
}

/* A port that begins with another port's digits is not the same server. */
static void a_server_is_its_whole_port(void **state)
{
	(void)state;
	struct ux_http_answer a;
	struct ux_error err;
	static struct script s;
	static char there[160];
	static const struct script_step steps[] = {{.answer = there, .close = true}};
	script_open_at(&s, steps, 1, 2000, 6000);
	snprintf(there, sizeof(there),
		 "HTTP/1.1 302 x\r\nLocation: http://127.0.0.1:%u1/\r\nContent-Length: 0\r\n"
		 "Connection: close\r\n\r\n",
		 s.port);
	client_make(&s, (struct ux_http_client_options){.reach = UX_HTTP_OWN});
	assert_int_equal(call((struct ux_http_call){.redirects = 3}, &a, &err), UX_EDENIED);
	assert_int_equal(end(&s), 1);
}

UX_SUITE(http_client)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(a_request_has_what_the_call_says),
		UX_TEST(an_agent_is_named_and_a_header_is_one_line),
		UX_TEST(an_answer_tells_when_to_come_again_and_where),
		UX_TEST(redirects_are_followed_as_often_as_allowed),
		UX_TEST(a_sink_gets_the_body_of_a_success_alone),
		UX_TEST(an_answer_may_be_as_long_as_its_limit),
		UX_TEST(a_body_comes_from_its_part_of_a_file),
		UX_TEST(a_body_is_sent_again_on_a_new_connection),
		UX_TEST(a_call_ends_when_nothing_comes_or_it_is_cancelled),
		UX_TEST(a_call_ends_below_its_rate),
		UX_TEST(a_dripping_answer_ends_by_itself),
		UX_TEST(a_body_that_nobody_reads_ends_by_itself),
		UX_TEST(an_announced_size_over_the_limit_is_refused_at_once),
		UX_TEST(addresses_decide_where_a_client_may_go),
		UX_TEST(a_server_is_its_whole_port),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
