/* SPDX-License-Identifier: Apache-2.0 */
/* push/push_client.c against a server that sends the test's answers. */
#include "sweep.h"

#include "clock.h"
#include "http_client.h"
#include "push_work.h"
#include "scripted_server.h"

enum {
	TIMEOUT_MS = 60000,
	CHUNK = 64 << 10, /* the smallest size that a server may request */
};

/* The end of the connection ends the body. */
#define ANSWER(status, body) "HTTP/1.1 " status " x\r\nConnection: close\r\n\r\n" body
#define ERROR(word)          "{\"error\":{\"code\":\"" word "\",\"message\":\"why\"}}"
#define UID                  "00112233445566778899aabbccddeeff"
#define STATE(offset)        "{\"uid\":\"" UID "\",\"offset\":" offset ",\"chunk_size\":65536,\"more\":1}"
#define UPLOADED             "{\"status\":\"uploaded\",\"quality\":\"lines\",\"reason\":\"r\"}"

#define SAYS(status, body)                                    \
	{                                                     \
		.answer = ANSWER(status, body), .close = true \
	}
#define BREAKS                 \
	{                      \
		.answer = NULL \
	}

struct push {
	struct ux_push_options options;
	struct ux_push_client c;
	struct ux_id_set ids;
	struct ux_push_answer answer;
	struct ux_error err;
	uint64_t sent;
};

static void on_sent(void *ctx, uint64_t bytes)
{
	*(uint64_t *)ctx += bytes;
}

static void push_begin(struct push *p, const struct script *s, int64_t timeout_ms)
{
	struct ux_id id;
	*p = (struct push){.err = UX_ERROR_INIT};
	p->options = (struct ux_push_options){
		.url = s->url, .token = "key", .timeout_ms = timeout_ms, .retries = 3};
	assert_int_equal(ux_push_client_open(&p->c, &p->options, NULL), UX_OK);
	p->c.sent = on_sent;
	p->c.sent_ctx = &p->sent;
	assert_int_equal(
		ux_id_parse(UX_STR("gnu:00112233445566778899aabbccddeeff00112233"), &id, NULL),
		UX_OK);
	assert_int_equal(ux_id_set_add(&p->ids, &id, NULL), UX_OK);
}

static size_t push_end(struct push *p, struct script *s)
{
	ux_push_client_close(&p->c);
	assert_null(p->c.http);
	ux_push_client_close(&p->c); /* does nothing */
	return script_close(s);
}

static void assert_has(const char *request, const char *text)
{
	if (!strstr(request, text))
		fail_msg("'%s' is not in '%.2000s'", text, request);
}

/* --- queries ---------------------------------------------------------------------------------- */

static enum ux_code query(struct push *p, size_t n, struct ux_push_answer *answers)
{
	struct ux_push_query_entry entries[8];
	p->err = (struct ux_error)UX_ERROR_INIT;
	for (size_t i = 0; i < n; i++)
		entries[i] =
			(struct ux_push_query_entry){.ids = &p->ids, .quality = UX_QUALITY_LINES};
	return ux_push_query(&p->c, entries, n, /* force= */ true, answers, &p->err);
}

static void each_word_of_an_answer_has_its_meaning(void **state)
{
	(void)state;
	struct push p;
	struct ux_push_answer a[6];
	static const enum ux_push_verdict verdicts[] = {UX_PUSH_WANTED,        UX_PUSH_UPLOADED,
							UX_PUSH_ALREADY_THERE, UX_PUSH_BETTER_THERE,
							UX_PUSH_PENDING,       UX_PUSH_REFUSED};
	SCRIPT(s,
	       SAYS("200", "{\"answers\":[{\"status\":\"wanted\"},"
			   "{\"status\":\"uploaded\",\"quality\":\"lines\",\"reason\":\"because\"},"
			   "{\"status\":\"already-there\",\"quality\":\"none\"},"
			   "{\"status\":\"better-there\",\"quality\":\"unheard-of\"},"
			   "{\"status\":\"pending\"},{\"status\":\"invalid\"}]}"));
	push_begin(&p, &s, TIMEOUT_MS);
	assert_int_equal(query(&p, 6, a), UX_OK);
	for (size_t i = 0; i < ux_countof(verdicts); i++) {
		assert_int_equal(a[i].verdict, verdicts[i]);
		assert_int_equal(a[i].has_quality, i == 1 || i == 2);
		assert_string_equal(a[i].reason, i == 1 ? "because" : "");
	}
	assert_int_equal(a[1].quality, UX_QUALITY_LINES);
	assert_int_equal(a[2].quality, UX_QUALITY_NONE);
	assert_has(s.requests[0], "POST /v1/query HTTP/1.1\r\n");
	assert_has(s.requests[0], "\r\nAuthorization: Bearer key\r\n");
	assert_has(s.requests[0], "\r\nContent-Type: application/json\r\n");
	assert_has(s.requests[0],
		   "\r\n\r\n{\"modules\":[{\"ids\":"
		   "[\"gnu:00112233445566778899aabbccddeeff00112233\"],\"quality\":\"lines\"},");
	assert_has(s.requests[0], "],\"force\":true}");
	assert_int_equal(push_end(&p, &s), 1);
}

/* The server would wait for the end of a connection that it may keep. */
static void closing_ends_the_connection(void **state)
{
	(void)state;
	struct push p;
	struct ux_push_answer a[1];
	SCRIPT(s,
	       {.answer = "HTTP/1.1 200 OK\r\nContent-Length: 33\r\n\r\n"
			  "{\"answers\":[{\"status\":\"wanted\"}]}"},
	       {.answer = NULL});
	push_begin(&p, &s, TIMEOUT_MS);
	assert_int_equal(query(&p, 1, a), UX_OK);
	assert_int_equal(push_end(&p, &s), 1);
}

static void an_answer_that_makes_no_sense_is_of_another_server(void **state)
{
	(void)state;
	struct push p;
	struct ux_push_answer a[2];
	SCRIPT(s, SAYS("200", "{\"answers\":[{\"status\":\"wanted\"}]}"),
	       SAYS("200", "{\"answers\":[{\"status\":\"wanted\"},{\"status\":\"odd\"}]}"),
	       SAYS("200", "{}"), SAYS("200", "<html>"), SAYS("400", ERROR("bad")),
	       SAYS("401", ERROR("denied")), SAYS("404", ""), SAYS("507", ""));
	static const struct {
		enum ux_code code;
		const char *says;
	} cases[] = {
		{UX_EUNSUPPORTED, "1 answers to a query for 2 modules"},
		{UX_EUNSUPPORTED, "the unknown status \"odd\""},
		{UX_EUNSUPPORTED, "0 answers to a query for 2 modules"},
		{UX_EUNSUPPORTED, "without JSON"},
		{UX_EUNSUPPORTED, "why (HTTP 400)"},
		{UX_EDENIED, "why (HTTP 401)"},
		{UX_ENOTFOUND, "HTTP 404"},
		{UX_EIO, "HTTP 507"},
	};
	push_begin(&p, &s, TIMEOUT_MS);
	for (size_t i = 0; i < ux_countof(cases); i++) {
		assert_int_equal(query(&p, 2, a), cases[i].code);
		assert_has(p.err.text, cases[i].says);
	}
	assert_int_equal(push_end(&p, &s), ux_countof(cases));
}

static void a_query_is_repeated_while_the_server_is_busy_or_away(void **state)
{
	(void)state;
	struct push p;
	struct ux_push_answer a[1];
	SCRIPT(s, SAYS("502", ""), SAYS("409", ERROR("busy")), SAYS("429", ""), BREAKS,
	       SAYS("200", "{\"answers\":[{\"status\":\"pending\"}]}"));
	push_begin(&p, &s, TIMEOUT_MS);
	int64_t begin = ux_clock_ms();
	assert_int_equal(query(&p, 1, a), UX_OK);
	assert_int_equal(a[0].verdict, UX_PUSH_PENDING);
	/* 250 ms, twice that, and so on. */
	assert_in_range(ux_clock_ms() - begin, 3700, 20000);
	assert_int_equal(push_end(&p, &s), 5);
	/* A server that is away is tried four times; one that is busy, until the deadline. */
	SCRIPT(away, SAYS("500", ""), SAYS("504", ""), SAYS("502", ""), SAYS("503", ERROR("away")),
	       SAYS("200", "{\"answers\":[{\"status\":\"pending\"}]}"));
	push_begin(&p, &away, TIMEOUT_MS);
	assert_int_equal(query(&p, 1, a), UX_EUNAVAILABLE);
	assert_has(p.err.text, "why (HTTP 503)");
	assert_int_equal(push_end(&p, &away), 4);
}

static void a_pause_is_as_long_as_the_server_says_and_ends_with_the_push(void **state)
{
	(void)state;
	struct push p;
	struct ux_push_answer a[1];
	SCRIPT(s,
	       {.answer = "HTTP/1.1 503 x\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n",
		.close = true},
	       SAYS("200", "{\"answers\":[{\"status\":\"wanted\"}]}"));
	push_begin(&p, &s, TIMEOUT_MS);
	int64_t begin = ux_clock_ms();
	assert_int_equal(query(&p, 1, a), UX_OK);
	assert_in_range(ux_clock_ms() - begin, 1000, 20000);
	assert_int_equal(push_end(&p, &s), 2);
	SCRIPT(late,
	       {.answer = "HTTP/1.1 503 x\r\nRetry-After: 90\r\nContent-Length: 0\r\n\r\n",
		.close = true},
	       SAYS("200", "{\"answers\":[{\"status\":\"wanted\"}]}"));
	push_begin(&p, &late, TIMEOUT_MS);
	begin = ux_clock_ms();
	assert_int_equal(query(&p, 1, a), UX_EUNAVAILABLE);
	assert_in_range(ux_clock_ms() - begin, 0, 20000);
	p.c.deadline_ms = ux_clock_ms();
	assert_int_equal(query(&p, 1, a), UX_EUNAVAILABLE);
	assert_has(p.err.text, "push exceeded its timeout of 60 s");
	assert_int_equal(push_end(&p, &late), 1);
}

/* --- uploads ---------------------------------------------------------------------------------- */

static uint8_t content[2 * CHUNK + 1000];

static enum ux_code upload(struct push *p, struct ux_push_upload u)
{
	for (size_t i = 0; i < sizeof(content); i++)
		content[i] = (uint8_t)('a' + i / 1000 % 26);
	p->err = (struct ux_error)UX_ERROR_INIT;
	p->answer = (struct ux_push_answer){.verdict = UX_PUSH_WANTED};
	u.ids = &p->ids;
	u.quality = UX_QUALITY_LINES;
	u.kind = "gsym";
	u.description = u.description ? u.description : "a build";
	u.file = u.file ? u.file : "libx.so";
	if (u.bytes.size == 0)
		u.bytes = ux_bytes(content, sizeof(content));
	return ux_push_upload(&p->c, &u, &p->answer, &p->err);
}

static void assert_piece(const char *request, const char *line, size_t from, size_t n)
{
	char length[64];
	assert_has(request, line);
	snprintf(length, sizeof(length), "\r\nContent-Length: %zu\r\n", n);
	assert_has(request, length);
	const char *body = strstr(request, "\r\n\r\n") + 4;
	assert_int_equal(strlen(body), n);
	assert_memory_equal(body, content + from, n);
}

static void a_file_is_announced_sent_in_pieces_and_finished(void **state)
{
	(void)state;
	struct push p;
	SCRIPT(s, SAYS("201", STATE("0")), SAYS("200", STATE("65536")),
	       SAYS("200", STATE("131072")), SAYS("200", STATE("132072")),
	       SAYS("200", "{\"status\":\"pending\"}"), SAYS("200", UPLOADED));
	push_begin(&p, &s, TIMEOUT_MS);
	assert_int_equal(upload(&p, (struct ux_push_upload){.force = true}), UX_OK);
	assert_int_equal(p.answer.verdict, UX_PUSH_UPLOADED);
	assert_string_equal(p.answer.reason, "r");
	assert_true(p.answer.has_quality);
	assert_int_equal(p.answer.quality, UX_QUALITY_LINES);
	assert_int_equal(p.sent, sizeof(content));
	assert_has(s.requests[0], "POST /v1/uploads HTTP/1.1\r\n");
	assert_has(s.requests[0], "{\"ids\":[\"gnu:00112233445566778899aabbccddeeff00112233\"],"
				  "\"size\":132072,\"sha256\":\"");
	assert_has(s.requests[0], "\",\"kind\":\"gsym\",\"quality\":\"lines\",\"description\":"
				  "\"a build\",\"file\":\"libx.so\",\"force\":true,"
				  "\"skip_known\":true,\"resume\":true,\"direct\":true}");
	assert_piece(s.requests[1], "PUT /v1/uploads/" UID "?offset=0 HTTP/1.1\r\n", 0, CHUNK);
	assert_piece(s.requests[2], "PUT /v1/uploads/" UID "?offset=65536 HTTP/1.1\r\n", CHUNK,
		     CHUNK);
	assert_piece(s.requests[3], "PUT /v1/uploads/" UID "?offset=131072 HTTP/1.1\r\n", 2 * CHUNK,
		     1000);
	assert_has(s.requests[4], "POST /v1/uploads/" UID "/finish HTTP/1.1\r\n");
	assert_int_equal(push_end(&p, &s), 6);
}

static void sending_goes_on_where_the_server_is(void **state)
{
	(void)state;
	struct push p;
	/* The connection breaks; the server is busy; at the end it has lost a piece. */
	SCRIPT(s, SAYS("201", STATE("65536")), BREAKS, SAYS("200", STATE("131072")),
	       SAYS("409", ERROR("busy")), SAYS("200", STATE("131072")),
	       SAYS("200", STATE("132072")), SAYS("409", ERROR("incomplete")),
	       SAYS("200", STATE("131072")), SAYS("200", STATE("132072")), SAYS("200", UPLOADED));
	push_begin(&p, &s, TIMEOUT_MS);
	assert_int_equal(upload(&p, (struct ux_push_upload){0}), UX_OK);
	assert_int_equal(p.answer.verdict, UX_PUSH_UPLOADED);
	assert_has(s.requests[1], "?offset=65536 ");
	assert_has(s.requests[2], "GET /v1/uploads/" UID " HTTP/1.1\r\n");
	assert_has(s.requests[3], "?offset=131072 ");
	assert_has(s.requests[4], "GET /v1/uploads/" UID " HTTP/1.1\r\n");
	assert_has(s.requests[6], "/finish ");
	assert_has(s.requests[7], "GET /v1/uploads/" UID " HTTP/1.1\r\n");
	assert_piece(s.requests[8], "?offset=131072 ", 2 * CHUNK, 1000);
	assert_int_equal(p.sent, 2000);
	assert_int_equal(push_end(&p, &s), 10);
}

static void damaged_bytes_are_sent_once_more(void **state)
{
	(void)state;
	struct push p;
	static const struct ux_push_upload small = {.bytes = {.data = content, .size = 5}};
	SCRIPT(s, SAYS("201", STATE("0")), SAYS("200", STATE("5")),
	       SAYS("400", ERROR("hash_mismatch")), SAYS("201", STATE("0")),
	       SAYS("200", STATE("5")), SAYS("200", UPLOADED));
	push_begin(&p, &s, TIMEOUT_MS);
	assert_int_equal(upload(&p, small), UX_OK);
	assert_int_equal(p.answer.verdict, UX_PUSH_UPLOADED);
	assert_int_equal(push_end(&p, &s), 6);
	SCRIPT(t, SAYS("201", STATE("5")), SAYS("400", ERROR("hash_mismatch")),
	       SAYS("201", STATE("5")), SAYS("400", ERROR("hash_mismatch")),
	       SAYS("201", STATE("5")));
	push_begin(&p, &t, TIMEOUT_MS);
	assert_int_equal(upload(&p, small), UX_OK);
	assert_int_equal(p.answer.verdict, UX_PUSH_REFUSED);
	assert_int_equal(push_end(&p, &t), 4);
}

static void a_refusal_is_a_verdict_and_other_failures_are_errors(void **state)
{
	(void)state;
	struct push p;
	static const struct ux_push_upload small = {.bytes = {.data = content, .size = 5}};
	SCRIPT(s, SAYS("409", ERROR("better_there")), SAYS("409", ERROR("conflict")),
	       SAYS("400", ERROR("bad")), SAYS("413", ERROR("large")), SAYS("401", ERROR("denied")),
	       SAYS("201", "{\"uid\":\"" UID "\",\"offset\":6}"),
	       SAYS("201", "{\"uid\":\"" UID "\",\"offset\":-1}"),
	       SAYS("201", "{\"uid\":\"0011\",\"offset\":0}"),
	       SAYS("201", "{\"uid\":\"0011223344556677/899aabbccddeeff\",\"offset\":0}"),
	       SAYS("201", STATE("0")), SAYS("200", STATE("0")));
	static const struct {
		enum ux_code code;
		enum ux_push_verdict verdict;
		const char *says;
	} cases[] = {
		{UX_OK, UX_PUSH_BETTER_THERE, "why (HTTP 409)"},
		{UX_OK, UX_PUSH_REFUSED, "why (HTTP 409)"},
		{UX_OK, UX_PUSH_REFUSED, "why (HTTP 400)"},
		{UX_OK, UX_PUSH_REFUSED, "why (HTTP 413)"},
		{UX_EDENIED, UX_PUSH_WANTED, "why (HTTP 401)"},
		{UX_EUNSUPPORTED, UX_PUSH_WANTED, "inconsistent"},
		{UX_EUNSUPPORTED, UX_PUSH_WANTED, "inconsistent"},
		{UX_EUNSUPPORTED, UX_PUSH_WANTED, "inconsistent"},
		{UX_EUNSUPPORTED, UX_PUSH_WANTED, "inconsistent"},
		{UX_EUNSUPPORTED, UX_PUSH_WANTED, "did not grow"},
	};
	push_begin(&p, &s, TIMEOUT_MS);
	for (size_t i = 0; i < ux_countof(cases); i++) {
		assert_int_equal(upload(&p, small), cases[i].code);
		assert_int_equal(p.answer.verdict, cases[i].verdict);
		assert_has(cases[i].code == UX_OK ? p.answer.reason : p.err.text, cases[i].says);
	}
	assert_int_equal(push_end(&p, &s), 11);
}

static void names_are_cut_between_characters(void **state)
{
	(void)state;
	struct push p;
	char name[1100], cut[1200];
	static const struct ux_push_upload small = {.bytes = {.data = content, .size = 5}};
	struct ux_push_upload u = small;
	SCRIPT(s, SAYS("401", ""), SAYS("401", ""));
	memset(name, 'n', sizeof(name));
	name[1000] = '\0';
	u.file = name;
	push_begin(&p, &s, TIMEOUT_MS);
	assert_int_equal(upload(&p, u), UX_EDENIED); /* 1000 bytes are whole */
	snprintf(cut, sizeof(cut), "\"file\":\"%s\"", name);
	assert_has(s.requests[0], cut);
	memcpy(name + 998, "\xe2\x82\xac\xe2\x82\xac", 7); /* three bytes each */
	assert_int_equal(upload(&p, u), UX_EDENIED);
	snprintf(cut, sizeof(cut), "\"file\":\"%.998s\"", name);
	assert_has(s.requests[1], cut);
	assert_int_equal(push_end(&p, &s), 2);
}

UX_SUITE(push_client)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(each_word_of_an_answer_has_its_meaning),
		UX_TEST(closing_ends_the_connection),
		UX_TEST(an_answer_that_makes_no_sense_is_of_another_server),
		UX_TEST(a_query_is_repeated_while_the_server_is_busy_or_away),
		UX_TEST(a_pause_is_as_long_as_the_server_says_and_ends_with_the_push),
		UX_TEST(a_file_is_announced_sent_in_pieces_and_finished),
		UX_TEST(sending_goes_on_where_the_server_is),
		UX_TEST(damaged_bytes_are_sent_once_more),
		UX_TEST(a_refusal_is_a_verdict_and_other_failures_are_errors),
		UX_TEST(names_are_cut_between_characters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
