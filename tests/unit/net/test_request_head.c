/* SPDX-License-Identifier: Apache-2.0 */
/* Strict reading of the head of a request. */
#include "sweep.h"

#include "exchange.h"

#define F(name, value)                      \
	{                                   \
		UX_STR(name), UX_STR(value) \
	}

enum {
	FIELDS_MAX = 4
};

static bool head_is_fine(const char *method, const char *target, const char *version,
			 const struct ux_http_field fields[FIELDS_MAX], bool *ret_chunked)
{
	struct ux_request_head head = {.method = ux_bytes_cstr(method),
				       .target = ux_bytes_cstr(target),
				       .version = ux_bytes_cstr(version),
				       .fields = fields};
	struct ux_error err = UX_ERROR_INIT;
	while (head.n_fields < FIELDS_MAX && fields[head.n_fields].name.data)
		head.n_fields++;
	enum ux_code code = ux_request_head_check(&head, ret_chunked, &err);
	assert_true(code == UX_OK || code == UX_EINVAL);
	assert_int_equal(code, err.code);
	return code == UX_OK;
}

static void plain_heads_are_fine(void **state)
{
	(void)state;
	const struct {
		const char *method, *target, *version;
		struct ux_http_field fields[FIELDS_MAX];
		bool chunked;
	} fine[] = {
		{"GET", "/", "HTTP/1.0", {{{0}}}, false},
		{"GET", "/a?b", "HTTP/1.1", {F("host", " x:1 "), F("X-A", "\xc3\xa4\tb")}, false},
		{"PUT", "/", "HTTP/1.1", {F("Host", "[::1]"), F("Content-Length", "0")}, false},
		{"PUT", "/", "HTTP/1.1", {F("Host", "a"), F("transfer-encoding", "Chunked")}, true},
		{"GET", "HTTP://A:1/b", "HTTP/1.1", {F("Host", "a:1")}, false},
		{"OPTIONS", "*", "HTTP/1.1", {F("Host", "a")}, false},
		{"PUT",
		 "/",
		 "HTTP/1.1",
		 {F("Host", "a"), F("Content-Length", "999999999999999999")},
		 false},
	};
	for (size_t i = 0; i < ux_countof(fine); i++) {
		bool chunked = !fine[i].chunked;
		assert_true(head_is_fine(fine[i].method, fine[i].target, fine[i].version,
					 fine[i].fields, &chunked));
		assert_int_equal(chunked, fine[i].chunked);
	}
}

static void ambiguous_heads_are_refused(void **state)
{
	(void)state;
	const struct {
		const char *method, *target, *version;
		struct ux_http_field fields[FIELDS_MAX];
	} bad[] = {
		{"G T", "/", "HTTP/1.0", {{{0}}}},
		{"", "/", "HTTP/1.0", {{{0}}}},
		{"GET", "", "HTTP/1.0", {{{0}}}},
		{"GET", "*", "HTTP/1.0", {{{0}}}},
		{"GET", "/a b", "HTTP/1.0", {{{0}}}},
		{"GET", "/\x7f", "HTTP/1.0", {{{0}}}},
		{"GET", "/#a", "HTTP/1.0", {{{0}}}},
		{"GET", "http://a/", "HTTP/1.0", {{{0}}}},
		{"GET", "https://b/", "HTTP/1.0", {F("Host", "a")}},
		{"GET", "/", "HTTP/1.2", {F("Host", "a")}},
		{"GET", "/", "HTTP/1.1", {{{0}}}},
		{"GET", "/", "HTTP/1.1", {F("Host", "a"), F("HOST", "a")}},
		{"GET", "/", "HTTP/1.1", {F("Host", "")}},
		{"GET", "/", "HTTP/1.1", {F("Host", "a/b")}},
		{"GET", "/", "HTTP/1.0", {F("A ", "b")}},
		{"GET", "/", "HTTP/1.0", {F("", "b")}},
		{"GET", "/", "HTTP/1.0", {F("A", "b\r")}},
		{"GET", "/", "HTTP/1.0", {F("Content-Length", "1"), F("Content-Length", "1")}},
		{"GET", "/", "HTTP/1.0", {F("Content-Length", "1000000000000000000")}},
		{"GET", "/", "HTTP/1.0", {F("Content-Length", "1a")}},
		{"GET", "/", "HTTP/1.0", {F("Content-Length", "")}},
		{"GET", "/", "HTTP/1.0", {F("Transfer-Encoding", "chunked")}},
		{"GET", "/", "HTTP/1.1", {F("Host", "a"), F("Transfer-Encoding", "gzip")}},
		{"GET",
		 "/",
		 "HTTP/1.1",
		 {F("Host", "a"), F("Transfer-Encoding", "chunked"),
		  F("Transfer-Encoding", "chunked")}},
		{"GET",
		 "/",
		 "HTTP/1.1",
		 {F("Host", "a"), F("Transfer-Encoding", "chunked"), F("Content-Length", "1")}},
	};
	bool chunked = false;
	for (size_t i = 0; i < ux_countof(bad); i++)
		if (head_is_fine(bad[i].method, bad[i].target, bad[i].version, bad[i].fields,
				 &chunked))
			fail_msg("head %zu is accepted", i);
}

/* A head of two headers as a library that parses in place leaves it; '|' stands for a NUL. */
static bool head_in_place_is_whole(const char *text, size_t change_size)
{
	static const char *const parts[] = {"GET", "/ab", "HTTP/1.1", "Host", "x", "A", "b"};
	struct ux_bytes at[ux_countof(parts)];
	char buffer[64];
	size_t size = strlen(text);
	assert_true(size < sizeof(buffer));
	const char *from = buffer;
	for (size_t i = 0; i <= size; i++)
		buffer[i] = text[i] == '|' ? '\0' : text[i];
	for (size_t i = 0; i < ux_countof(parts); i++) {
		from = memmem(from, size - (size_t)(from - buffer), parts[i], strlen(parts[i]));
		assert_non_null(from);
		at[i] = ux_bytes(from, strlen(parts[i]));
		from += at[i].size;
	}
	const struct ux_http_field fields[] = {{at[3], at[4]}, {at[5], at[6]}};
	const struct ux_request_head head = {at[0], at[1], at[2], fields, ux_countof(fields)};
	return ux_request_head_is_whole(&head, size + change_size);
}

static void bytes_that_a_parser_hides_are_noticed(void **state)
{
	(void)state;
	static const char *const hiding[] = {
		"GET|/ab|HTTP/1.1|Host|x||A|b||||",       /* one byte ends the request line */
		"GET|/ab|HTTP/1.1||Host|x|A|b||||",       /* ... the first header */
		"GET|/ab|HTTP/1.1||Host|x||A|b|||",       /* ... the last one or the head */
		"GET|/ab|HTTP/1.1||Host|x||C|d||A|b||||", /* a header that was not reported */
		"GET|/ab|HTTP/1.1||Host|x|y||A|b||||",    /* a value that continues after a NUL */
		"GET|/ab|c|HTTP/1.1||Host|x||A|b||||",    /* a target that does */
		"GET  /ab|HTTP/1.1||Host|x||A|b||||",     "GET|/ab|HTTP/1.1||Host||x||A|b||||",
		"GET|/ab|HTTP/1.1||Host|x||A|b||||c",
	};
	assert_true(head_in_place_is_whole("GET|/ab|HTTP/1.1||Host|x||A|b||||", 0));
	assert_true(head_in_place_is_whole("GET|/ab|HTTP/1.1||Host| \tx||A|b||||", 0));
	assert_false(head_in_place_is_whole("GET|/ab|HTTP/1.1||Host|x||A|b||||", (size_t)-1));
	for (size_t i = 0; i < ux_countof(hiding); i++)
		if (head_in_place_is_whole(hiding[i], 0))
			fail_msg("nothing is noticed in %s", hiding[i]);
	/* Any end except the last byte's, and any byte in place of a NUL. */
	char text[] = "GET|/ab|HTTP/1.1||Host|x||A|b||||";
	for (size_t cut = 1; cut < sizeof(text); cut++)
		assert_false(head_in_place_is_whole(text, (size_t)0 - cut));
	for (size_t i = 0; i < sizeof(text) - 1; i++) {
		if (text[i] != '|' || i == strlen("GET|/ab"))
			continue; /* after a target that was decoded in place, any bytes may follow
				   */
		text[i] = '?';
		if (head_in_place_is_whole(text, 0))
			fail_msg("nothing is noticed in %s", text);
		text[i] = '|';
	}
}

static void an_absolute_target_has_an_authority(void **state)
{
	(void)state;
	static const struct {
		const char *target, *authority, *path;
	} cases[] = {
		{"http://h/p?q", "h", "/p?q"},  {"HTTPS://h:1?q", "h:1", "?q"},
		{"http://h", "h", ""},          {"http://", "", ""},
		{"http://h?a/b", "h", "?a/b"},  {"/p", "", "/p"},
		{"http:/h/p", "", "http:/h/p"}, {"", "", ""},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_bytes path, target = guard(ux_bytes_cstr(cases[i].target));
		struct ux_bytes authority = ux_target_authority(target, &path);
		if (!ux_bytes_eq(authority, ux_bytes_cstr(cases[i].authority)) ||
		    !ux_bytes_eq(path, ux_bytes_cstr(cases[i].path)))
			fail_msg("%s", cases[i].target);
		guard_free(target);
	}
}

UX_SUITE(request_head)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_absolute_target_has_an_authority),
		UX_TEST(plain_heads_are_fine),
		UX_TEST(ambiguous_heads_are_refused),
		UX_TEST(bytes_that_a_parser_hides_are_noticed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
