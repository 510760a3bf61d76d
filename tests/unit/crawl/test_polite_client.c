/* SPDX-License-Identifier: Apache-2.0 */
/* The client of mirrors against a server that sends the test's bytes. */
#include "sweep.h"

#include "clock.h"
#include "mirrors.h"
#include "polite_client.h"
#include "scripted_server.h"

#include <unistd.h>

static struct ux_polite *client_open(unsigned tries, unsigned pause_ms)
{
	struct ux_polite *p = NULL;
	const struct ux_polite_options options = {.contact = "mail@example.com",
						  .tries = tries,
						  .pause_ms = pause_ms,
						  .wait_max_ms = 20000};
	assert_int_equal(ux_polite_open(&p, &options, NULL), UX_OK);
	return p;
}

static const struct ux_expected any = {.size = UINT64_MAX, .max = 1 << 20};

static enum ux_code fetch(struct ux_polite *p, const struct script *s,
			  const struct ux_expected *what, const struct ux_validators *known,
			  struct ux_fetched *ret, struct ux_error *err)
{
	char url[128];
	*ret = (struct ux_fetched){0};
	*err = (struct ux_error)UX_ERROR_INIT;
	snprintf(url, sizeof(url), "%s/a/file", s->url);
	return ux_polite_fetch(p, url, what, known, ret, err);
}

#define OK(more, body) "HTTP/1.1 200 OK\r\n" more "Content-Length: " body

static void a_file_comes_with_its_hash_and_validators(void **state)
{
	(void)state;
	SCRIPT(s,
	       {.answer = OK("ETag: \"x1\"\r\nLast-Modified: Sat, 11 Jul 2026 10:16:37 GMT\r\n",
			     "5\r\n\r\nhello")},
	       {.answer = "HTTP/1.1 304 Not Modified\r\nContent-Length: 0\r\n\r\n"});
	struct ux_polite *p = client_open(1, 1);
	struct ux_fetched f;
	struct ux_error err;
	static const uint8_t sha256[] = {0x2c, 0xf2, 0x4d, 0xba};
	assert_int_equal(fetch(p, &s, &any, NULL, &f, &err), UX_OK);
	assert_int_equal(f.file.bytes.size, 5);
	assert_memory_equal(f.file.bytes.data, "hello", 5);
	assert_memory_equal(f.sha256, sha256, sizeof(sha256));
	assert_string_equal(f.answer.validators.etag, "\"x1\"");
	ux_file_unmap(&f.file);
	struct ux_validators known = f.answer.validators;
	assert_int_equal(fetch(p, &s, &any, &known, &f, &err), UX_OK);
	assert_true(f.answer.unchanged);
	assert_string_equal(f.answer.validators.etag, "\"x1\"");
	struct ux_polite_counts counts = ux_polite_counts(p);
	assert_int_equal(counts.requests, 2);
	assert_int_equal(counts.bytes, 5);
	assert_int_equal(counts.unchanged, 1);
	ux_polite_close(p);
	assert_int_equal(script_close(&s), 2);
	assert_non_null(strstr(s.requests[0], "User-Agent: unhex-crawl/"));
	assert_non_null(strstr(s.requests[0], "(+mail@example.com)"));
	assert_null(strstr(s.requests[0], "If-None-Match"));
	assert_non_null(strstr(s.requests[1], "If-None-Match: \"x1\"\r\n"));
	assert_non_null(
		strstr(s.requests[1], "If-Modified-Since: Sat, 11 Jul 2026 10:16:37 GMT\r\n"));
}

/* Opens a client of one mirror, the folder /a of the script. */
static struct ux_polite *client_of_mirror(const struct script *s, struct ux_mirror *mirror,
					  struct ux_mirrors *mirrors, char *url, size_t size)
{
	struct ux_polite *p = NULL;
	snprintf(url, size, "%s/a", s->url);
	mirror->url = url;
	*mirrors = (struct ux_mirrors){mirror, 1};
	const struct ux_polite_options options = {
		.tries = 1, .pause_ms = 1, .wait_max_ms = 20000, .mirrors = mirrors};
	assert_int_equal(ux_polite_open(&p, &options, NULL), UX_OK);
	return p;
}

#define TO(place) "HTTP/1.1 302 Found\r\nLocation: " place "\r\nContent-Length: 0\r\n\r\n"

static void redirects_lead_only_below_the_mirrors(void **state)
{
	(void)state;
	enum {
		OUTSIDE = 7
	};
	char url[128];
	struct ux_mirror mirror = {.own_network = true};
	struct ux_mirrors mirrors;
	struct ux_fetched f;
	struct ux_error err;
	SCRIPT(s, {.answer = TO("other?x=1")}, {.answer = OK("", "5\r\n\r\nhello")},
	       {.answer = TO("/b")}, {.answer = TO("/a/../b")}, {.answer = TO("/a/%2e%2e/b")},
	       {.answer = TO("http://127.0.0.1:1/a/b")}, {.answer = TO("https://127.0.0.1/a")},
	       {.answer = TO("file:///etc/passwd")}, {.answer = TO("//h/a")});
	struct ux_polite *p = client_of_mirror(&s, &mirror, &mirrors, url, sizeof(url));
	assert_int_equal(fetch(p, &s, &any, NULL, &f, &err), UX_OK);
	assert_int_equal(f.file.bytes.size, 5);
	ux_file_unmap(&f.file);
	for (size_t i = 0; i < OUTSIDE; i++) {
		assert_int_equal(fetch(p, &s, &any, NULL, &f, &err), UX_EDENIED);
		assert_non_null(strstr(err.text, "is not below this worker's mirrors"));
	}
	ux_polite_close(p);
	assert_int_equal(script_close(&s), 2 + OUTSIDE);
	assert_non_null(strstr(s.requests[1], "GET /a/other?x=1 HTTP/1.1\r\n"));
}

static void redirects_end_after_some(void **state)
{
	(void)state;
	char url[128];
	struct ux_mirror mirror = {.own_network = true};
	struct ux_mirrors mirrors;
	struct ux_fetched f;
	struct ux_error err;
	SCRIPT(s, {.answer = TO("file")}, {.answer = TO("file")}, {.answer = TO("file")},
	       {.answer = TO("file")}, {.answer = TO("file")}, {.answer = TO("file")},
	       {.answer = TO("file")});
	struct ux_polite *p = client_of_mirror(&s, &mirror, &mirrors, url, sizeof(url));
	assert_int_equal(fetch(p, &s, &any, NULL, &f, &err), UX_EUNSUPPORTED);
	assert_non_null(strstr(err.text, "more than 5 redirects"));
	ux_polite_close(p);
	assert_int_equal(script_close(&s), 6);
}

static void a_mirror_that_was_not_named_has_no_private_address(void **state)
{
	(void)state;
	char url[128];
	struct ux_mirror mirror = {.own_network = false};
	struct ux_mirrors mirrors;
	struct ux_fetched f;
	struct ux_error err;
	SCRIPT(s, {.answer = OK("", "5\r\n\r\nhello")});
	struct ux_polite *p = client_of_mirror(&s, &mirror, &mirrors, url, sizeof(url));
	assert_int_equal(fetch(p, &s, &any, NULL, &f, &err), UX_EDENIED);
	assert_non_null(strstr(err.text, "an address that is not public; --from allows it"));
	ux_polite_close(p);
	assert_int_equal(script_close(&s), 0);
}

static void a_304_that_was_not_requested_is_no_file(void **state)
{
	(void)state;
	SCRIPT(s, {.answer = "HTTP/1.1 304 Not Modified\r\nContent-Length: 0\r\n\r\n"});
	struct ux_polite *p = client_open(1, 1);
	struct ux_fetched f;
	struct ux_error err;
	assert_int_equal(fetch(p, &s, &any, NULL, &f, &err), UX_EUNSUPPORTED);
	ux_polite_close(p);
	script_close(&s);
}

static void a_broken_answer_is_fetched_again_from_its_start(void **state)
{
	(void)state;
	SCRIPT(s, {.answer = OK("", "5\r\n\r\nhel"), .close = true},
	       {.answer = "HTTP/1.1 503 Busy\r\nRetry-After: 1\r\nContent-Length: 0\r\n\r\n"},
	       {.answer = OK("", "5\r\n\r\nhello")});
	struct ux_polite *p = client_open(3, 1);
	struct ux_fetched f;
	struct ux_error err;
	int64_t begun = ux_clock_ms();
	assert_int_equal(fetch(p, &s, &any, NULL, &f, &err), UX_OK);
	assert_memory_equal(f.file.bytes.data, "hello", 5);
	assert_int_equal(f.file.bytes.size, 5);
	assert_true(ux_clock_ms() - begun >= 1000);
	ux_file_unmap(&f.file);
	assert_int_equal(ux_polite_counts(p).retries, 2);
	ux_polite_close(p);
	assert_int_equal(script_close(&s), 3);
}

#define PART(range, body) \
	"HTTP/1.1 206 Partial Content\r\nContent-Range: bytes " range "\r\nContent-Length: " body

/* Fetches "hello" in this many requests, and returns the last one's text. */
static const char *hello_in(struct script *s, size_t requests)
{
	struct ux_polite *p = client_open(4, 1);
	struct ux_fetched f;
	struct ux_error err;
	if (fetch(p, s, &any, NULL, &f, &err) != UX_OK)
		fail_msg("%s", err.text);
	assert_int_equal(f.file.bytes.size, 5);
	assert_memory_equal(f.file.bytes.data, "hello", 5);
	ux_file_unmap(&f.file);
	ux_polite_close(p);
	assert_int_equal(script_close(s), requests);
	return s->requests[requests - 1];
}

static void an_answer_that_broke_off_is_resumed_behind_what_was_received(void **state)
{
	(void)state;
	SCRIPT(s, {.answer = OK("ETag: \"x1\"\r\n", "5\r\n\r\nhel"), .close = true},
	       {.answer = PART("3-4/5", "2\r\n\r\nl"), .close = true},
	       {.answer = PART("4-4/5", "1\r\n\r\no")});
	const char *last = hello_in(&s, 3);
	assert_null(strstr(s.requests[0], "Range: "));
	assert_non_null(strstr(s.requests[1], "Range: bytes=3-\r\n"));
	assert_non_null(strstr(s.requests[1], "If-Range: \"x1\"\r\n"));
	assert_non_null(strstr(last, "Range: bytes=4-\r\n"));
}

static void a_date_proves_that_a_file_is_the_same_where_there_is_no_tag(void **state)
{
	(void)state;
	SCRIPT(s,
	       {.answer = OK("Last-Modified: Sat, 11 Jul 2026 10:16:37 GMT\r\n", "5\r\n\r\nhel"),
		.close = true},
	       {.answer = PART("3-4/5", "2\r\n\r\nlo")});
	assert_non_null(strstr(hello_in(&s, 2), "If-Range: Sat, 11 Jul 2026 10:16:37 GMT\r\n"));
}

static void a_file_that_has_changed_begins_anew(void **state)
{
	(void)state;
	SCRIPT(s, {.answer = OK("ETag: \"x1\"\r\n", "5\r\n\r\nHEL"), .close = true},
	       {.answer = OK("ETag: \"x2\"\r\n", "5\r\n\r\nhell"), .close = true},
	       {.answer = PART("4-4/5", "1\r\n\r\no")});
	assert_non_null(strstr(hello_in(&s, 3), "If-Range: \"x2\"\r\n"));
}

static void a_weak_tag_and_a_wrong_part_resume_nothing(void **state)
{
	(void)state;
	SCRIPT(weak, {.answer = OK("ETag: W/\"x\"\r\n", "5\r\n\r\nhel"), .close = true},
	       {.answer = OK("", "5\r\n\r\nhello")});
	assert_null(strstr(hello_in(&weak, 2), "Range: "));
	SCRIPT(wrong, {.answer = OK("ETag: \"x\"\r\n", "5\r\n\r\nhel"), .close = true},
	       {.answer = PART("2-4/5", "3\r\n\r\nllo")}, {.answer = OK("", "5\r\n\r\nhello")});
	assert_null(strstr(hello_in(&wrong, 3), "Range: "));
	SCRIPT(shorter, {.answer = OK("ETag: \"x\"\r\n", "9\r\n\r\nhello wo"), .close = true},
	       {.answer = "HTTP/1.1 416 No\r\nContent-Length: 0\r\n\r\n"},
	       {.answer = OK("", "5\r\n\r\nhello")});
	assert_null(strstr(hello_in(&shorter, 3), "Range: "));
}

static void what_will_not_change_is_not_tried_again(void **state)
{
	(void)state;
	static const struct {
		unsigned status;
		enum ux_code code;
	} cases[] = {{404, UX_ENOTFOUND},
		     {410, UX_ENOTFOUND},
		     {403, UX_EDENIED},
		     {400, UX_EUNSUPPORTED}};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		char answer[96];
		snprintf(answer, sizeof(answer), "HTTP/1.1 %u No\r\nContent-Length: 0\r\n\r\n",
			 cases[i].status);
		const struct script_step steps[] = {{.answer = answer}};
		static struct script s;
		script_open(&s, steps, 1);
		struct ux_polite *p = client_open(3, 1);
		struct ux_fetched f;
		struct ux_error err;
		assert_int_equal(fetch(p, &s, &any, NULL, &f, &err), cases[i].code);
		ux_polite_close(p);
		assert_int_equal(script_close(&s), 1);
	}
}

static void a_file_is_held_to_its_size_and_hash(void **state)
{
	(void)state;
	static const uint8_t wrong[32] = {1};
	static const struct {
		struct ux_expected what;
		enum ux_code code;
		const char *word;
	} cases[] = {
		{{.size = 6, .max = 100}, UX_ECORRUPT, "truncated: 5 bytes, expected 6"},
		{{.size = 4, .max = 100}, UX_ECORRUPT, "too long: 5 bytes, expected 4"},
		{{.size = 5, .max = 100, .sha256 = wrong},
		 UX_ECORRUPT,
		 "wrong hash: SHA-256 2cf24dba"},
		{{.size = UINT64_MAX, .max = 4}, UX_ELIMIT, "exceeds 4 bytes"},
		{{.size = 3, .max = 100}, UX_ELIMIT, "exceeds 4 bytes"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		SCRIPT(s, {.answer = OK("", "5\r\n\r\nhello")});
		struct ux_polite *p = client_open(1, 1);
		struct ux_fetched f;
		struct ux_error err;
		assert_int_equal(fetch(p, &s, &cases[i].what, NULL, &f, &err), cases[i].code);
		if (!strstr(err.text, cases[i].word))
			fail_msg("%s: %s", cases[i].word, err.text);
		ux_polite_close(p);
		script_close(&s);
	}
}

static void requests_of_a_host_begin_with_a_pause_between_them(void **state)
{
	(void)state;
	SCRIPT(s, {.answer = OK("", "1\r\n\r\na")}, {.answer = OK("", "1\r\n\r\nb")},
	       {.answer = OK("", "1\r\n\r\nc")});
	struct ux_polite *p = client_open(1, 300);
	struct ux_fetched f;
	struct ux_error err;
	int64_t begun = ux_clock_ms();
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(fetch(p, &s, &any, NULL, &f, &err), UX_OK);
		ux_file_unmap(&f.file);
	}
	assert_true(ux_clock_ms() - begun >= 600);
	ux_polite_close(p);
	script_close(&s);
}

static bool always(void *ctx)
{
	(void)ctx;
	return true;
}

static void a_crawl_that_was_ended_requests_nothing(void **state)
{
	(void)state;
	SCRIPT(s, {.answer = OK("", "1\r\n\r\na")});
	struct ux_polite *p = NULL;
	struct ux_fetched f;
	struct ux_error err;
	const struct ux_polite_options options = {.tries = 5, .cancelled = always};
	assert_int_equal(ux_polite_open(&p, &options, NULL), UX_OK);
	assert_int_equal(fetch(p, &s, &any, NULL, &f, &err), UX_EUNAVAILABLE);
	ux_polite_close(p);
	assert_int_equal(script_close(&s), 0);
}

/* A registry, whose blobs need a token: the third request gets it, the fourth reuses it. */
static void the_key_of_a_registry_is_fetched_once(void **state)
{
	(void)state;
	static const char digest[] =
		"sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
	static char challenge[256];
	static struct script_step steps[4];
	static struct script s;
	char url[256];
	struct ux_error err = UX_ERROR_INIT;
	steps[0] = (struct script_step){.answer = challenge, .close = true};
	steps[1].answer = OK("", "13\r\n\r\n{\"token\":\"k\"}");
	steps[2].answer = OK("", "5\r\n\r\nhello");
	steps[3].answer = OK("", "5\r\n\r\nhello");
	script_open(&s, steps, 4);
	snprintf(challenge, sizeof(challenge),
		 "HTTP/1.1 401 No\r\nWWW-Authenticate: Bearer realm=\"%s/token\",service=\"me\"\r\n"
		 "Content-Length: 0\r\n\r\n",
		 s.url);
	struct ux_polite *p = client_open(1, 1);
	snprintf(url, sizeof(url), "%s/v2/team/app/blobs/%s", s.url, digest);
	for (size_t i = 0; i < 2; i++) {
		struct ux_fetched f = {0};
		enum ux_code code = ux_polite_fetch(p, url, &any, NULL, &f, &err);
		if (code != UX_OK)
			fail_msg("%s / %s", err.text, s.requests[1]);
		assert_memory_equal(f.file.bytes.data, "hello", 5);
		ux_file_unmap(&f.file);
	}
	ux_polite_close(p);
	assert_int_equal(script_close(&s), 4);
	assert_null(strstr(s.requests[0], "Authorization"));
	assert_non_null(strstr(s.requests[1], "GET /token?service=me&scope=repository"));
	assert_non_null(strstr(s.requests[2], "Authorization: Bearer k\r\n"));
	assert_non_null(strstr(s.requests[3], "Authorization: Bearer k\r\n"));
}

static void a_part_of_a_file_is_fetched_and_a_file_that_became_shorter_fails(void **state)
{
	(void)state;
	char path[] = "/tmp/test_polite.XXXXXX", url[128];
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "0123hello9", 10), 10);
	close(fd);
	static const struct {
		const char *part;
		enum ux_code code;
		const char *content;
	} cases[] = {{"#part=4+5", UX_OK, "hello"},
		     {"#part=0+10", UX_OK, "0123hello9"},
		     {"#part=4+7", UX_ECORRUPT, NULL},
		     {"#part=18446744073709551615+2", UX_ECORRUPT, NULL},
		     {"#part=4", UX_ENOTFOUND, NULL},
		     {"#part=4+x", UX_ENOTFOUND, NULL},
		     {"", UX_OK, "0123hello9"}};
	struct ux_polite *p = client_open(1, 1);
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_fetched f = {0};
		struct ux_error err = UX_ERROR_INIT;
		snprintf(url, sizeof(url), "%s%s", path, cases[i].part);
		enum ux_code code = ux_polite_fetch(p, url, &any, NULL, &f, &err);
		if (code != cases[i].code)
			fail_msg("%s: %d: %s", cases[i].part, code, err.text);
		if (cases[i].content) {
			assert_int_equal(f.file.bytes.size, strlen(cases[i].content));
			assert_memory_equal(f.file.bytes.data, cases[i].content, f.file.bytes.size);
		}
		ux_file_unmap(&f.file);
	}
	ux_polite_close(p);
	unlink(path);
}

UX_SUITE(polite_client)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_comes_with_its_hash_and_validators),
		cmocka_unit_test(redirects_lead_only_below_the_mirrors),
		cmocka_unit_test(redirects_end_after_some),
		cmocka_unit_test(a_mirror_that_was_not_named_has_no_private_address),
		cmocka_unit_test(a_304_that_was_not_requested_is_no_file),
		cmocka_unit_test(a_broken_answer_is_fetched_again_from_its_start),
		cmocka_unit_test(an_answer_that_broke_off_is_resumed_behind_what_was_received),
		cmocka_unit_test(a_date_proves_that_a_file_is_the_same_where_there_is_no_tag),
		cmocka_unit_test(a_file_that_has_changed_begins_anew),
		cmocka_unit_test(a_weak_tag_and_a_wrong_part_resume_nothing),
		cmocka_unit_test(what_will_not_change_is_not_tried_again),
		cmocka_unit_test(a_file_is_held_to_its_size_and_hash),
		cmocka_unit_test(requests_of_a_host_begin_with_a_pause_between_them),
		cmocka_unit_test(a_crawl_that_was_ended_requests_nothing),
		cmocka_unit_test(the_key_of_a_registry_is_fetched_once),
		cmocka_unit_test(a_part_of_a_file_is_fetched_and_a_file_that_became_shorter_fails),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
