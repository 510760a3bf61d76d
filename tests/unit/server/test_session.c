/* SPDX-License-Identifier: Apache-2.0 */
/* service: sessions of people with browsers. */
#include "sweep.h"

#include "auth.h"
#include "file.h"

#include <sys/stat.h>
#include <unistd.h>

static const char id[] = "0123456789ab";

static bool reads(const struct ux_sessions *s, const char *text, ux_time now)
{
	char got[UX_KEY_ID_SIZE];
	if (!ux_session_read(s, ux_bytes_cstr(text), now, got))
		return false;
	assert_string_equal(got, id);
	return true;
}

static void session_names_its_key_until_it_ends(void **state)
{
	(void)state;
	struct ux_sessions s;
	char text[UX_SESSION_TEXT];
	ux_sessions_init(&s);
	assert_int_equal(ux_session_make(&s, id, 1000, text, NULL), UX_OK);
	assert_true(reads(&s, text, 1000));
	assert_true(reads(&s, text, 1000 + UX_SESSION_SECONDS - 1));
	assert_false(reads(&s, text, 1000 + UX_SESSION_SECONDS));
}

static void session_of_another_process_or_of_none_is_nothing(void **state)
{
	(void)state;
	struct ux_sessions s, other, none = {0};
	char text[UX_SESSION_TEXT];
	ux_sessions_init(&s);
	ux_sessions_init(&other);
	assert_int_equal(ux_session_make(&s, id, 1000, text, NULL), UX_OK);
	assert_false(reads(&other, text, 1000));
	assert_false(reads(&none, text, 1000));
	assert_int_equal(ux_session_make(&none, id, 1000, text, NULL), UX_EUNAVAILABLE);
}

static void session_is_valid_where_the_same_file_has_the_secret(void **state)
{
	(void)state;
	struct ux_sessions s, other;
	struct ux_error err = UX_ERROR_INIT;
	char text[UX_SESSION_TEXT], path[] = "/tmp/unhex-session-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	ux_sessions_init(&s);
	ux_sessions_init(&other);
	assert_int_equal(ux_file_write(fd, UX_STR("0123456789abcdef0123456789abcde"), NULL), UX_OK);
	assert_int_equal(ux_sessions_share(&s, path, &err), UX_EINVAL); /* 31 bytes */
	assert_non_null(strstr(err.text, "at least 32"));
	assert_int_equal(ux_file_write(fd, UX_STR("f"), NULL), UX_OK);
	assert_int_equal(ux_sessions_share(&s, path, NULL), UX_OK);
	assert_int_equal(ux_sessions_share(&other, path, NULL), UX_OK);
	assert_int_equal(ux_session_make(&s, id, 1000, text, NULL), UX_OK);
	assert_true(reads(&other, text, 1000));
	assert_int_equal(fchmod(fd, 0640), 0);
	assert_int_equal(ux_sessions_share(&other, path, NULL), UX_EINVAL);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(ux_sessions_share(&other, path, NULL), UX_ENOTFOUND);
	close(fd);
}

static void session_with_any_byte_changed_cut_or_added_is_nothing(void **state)
{
	(void)state;
	struct ux_sessions s;
	char text[UX_SESSION_TEXT], bad[UX_SESSION_TEXT + 1], got[UX_KEY_ID_SIZE];
	ux_sessions_init(&s);
	assert_int_equal(ux_session_make(&s, id, 1000, text, NULL), UX_OK);
	size_t n = strlen(text);
	for (size_t i = 0; i < n; i++) {
		assert_false(ux_session_read(&s, ux_bytes(text, i), 1000, got));
		memcpy(bad, text, n + 1);
		bad[i] ^= 1;
		assert_false(ux_session_read(&s, ux_bytes(bad, n), 1000, got));
		memmove(bad + i + 1, text + i, n - i);
		memcpy(bad, text, i);
		bad[i] = '0';
		assert_false(ux_session_read(&s, ux_bytes(bad, n + 1), 1000, got));
	}
	assert_false(ux_session_read(&s, UX_BYTES_NONE, 1000, got));
}

static struct ux_request request(struct ux_http_field *fields, const char *name, const char *value)
{
	fields[0] = (struct ux_http_field){ux_bytes_cstr(name), ux_bytes_cstr(value)};
	return (struct ux_request){.headers = fields, .n_headers = 1};
}

static void cookie_is_found_among_others(void **state)
{
	(void)state;
	static const struct {
		const char *line, *want;
	} cases[] = {
		{"unhex-session=abc", "abc"},
		{"a=b; unhex-session=abc", "abc"},
		{"a=b;unhex-session=abc; c=d", "abc"},
		{"unhex-session=", ""},
		{"unhex-session=1; unhex-session=2", "1"},
		{"xunhex-session=abc", NULL},
		{"unhex-sessions=abc", NULL},
		{"unhex-session", NULL},
		{";;; ;", NULL},
		{"", NULL},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_http_field f[1];
		struct ux_request req = request(f, "cookie", cases[i].line);
		struct ux_bytes got;
		assert_int_equal(ux_session_cookie(&req, &got), cases[i].want != NULL);
		if (cases[i].want)
			assert_true(ux_bytes_eq(got, ux_bytes_cstr(cases[i].want)));
	}
}

static void only_our_own_pages_are_of_the_same_origin(void **state)
{
	(void)state;
	static const struct {
		const char *site, *origin, *host;
		bool want;
	} cases[] = {
		{"same-origin", NULL, "h", true},
		{"same-origin", "http://x", "h", true}, /* a proxy set another Host */
		{"same-site", "http://h", "h", false},
		{"cross-site", "http://h", "h", false},
		{"none", "http://h", "h", false},
		{NULL, "http://h:8420", "h:8420", true},
		{NULL, "HTTPS://H", "h", true},
		{NULL, "http://h:8421", "h:8420", false},
		{NULL, "http://h.evil", "h", false},
		{NULL, "http://evilh", "h", false},
		{NULL, "null", "null", false},
		{NULL, "ftp://h", "h", false},
		{NULL, "http://", "", false},
		{NULL, NULL, "h", false},
		{NULL, "http://h", NULL, false},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_http_field f[3];
		struct ux_request req = {.headers = f};
		const char *const lines[][2] = {{"Sec-Fetch-Site", cases[i].site},
						{"Origin", cases[i].origin},
						{"Host", cases[i].host}};
		for (size_t k = 0; k < ux_countof(lines); k++)
			if (lines[k][1])
				f[req.n_headers++] = (struct ux_http_field){
					ux_bytes_cstr(lines[k][0]), ux_bytes_cstr(lines[k][1])};
		assert_int_equal(ux_session_same_origin(&req), cases[i].want);
	}
}

UX_SUITE(session)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(session_names_its_key_until_it_ends),
		UX_TEST(session_of_another_process_or_of_none_is_nothing),
		UX_TEST(session_is_valid_where_the_same_file_has_the_secret),
		UX_TEST(session_with_any_byte_changed_cut_or_added_is_nothing),
		UX_TEST(cookie_is_found_among_others),
		UX_TEST(only_our_own_pages_are_of_the_same_origin),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
