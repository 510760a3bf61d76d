/* SPDX-License-Identifier: Apache-2.0 */
/* URLs and paths below a base, and the many ways to pretend. */
#include "sweep.h"

#include "url.h"

static void expect_below(const char *url, const char *base, const char *rest)
{
	const char *found = ux_url_below(url, base);
	if (!rest) {
		if (found)
			fail_msg("%s is below %s", url, base);
		return;
	}
	if (!found)
		fail_msg("%s is not below %s", url, base);
	assert_string_equal(found, rest);
}

static void what_lies_below_a_base_is_found(void **state)
{
	(void)state;
	expect_below("http://h/debian/pool/a.deb", "http://h/debian", "/pool/a.deb");
	expect_below("http://h/debian/pool/a.deb", "http://h/debian//", "/pool/a.deb");
	expect_below("http://h/debian", "http://h/debian/", "");
	expect_below("http://h", "http://h/", "");
	expect_below("http://h/x", "http://h", "/x");
	expect_below("https://h/a%2Bb/..c/...?x=../y", "https://h", "/a%2Bb/..c/...?x=../y");
	expect_below("HTTP://MIRROR.example:80/x", "http://mirror.EXAMPLE", "/x");
	expect_below("https://h:443/x", "https://h", "/x");
	expect_below("https://h/x", "https://h:0443", "/x");
	expect_below("http://[::1]:80/x", "http://[::1]", "/x");
	expect_below("http://h:/x", "http://h", "/x");
	expect_below("/srv/mirror/a b/%2e%2e/c", "/srv/mirror", "/a b/%2e%2e/c");
	expect_below("file:///srv/mirror/a", "/srv/mirror", "/a");
	expect_below("/srv/mirror/a", "FILE:///srv/mirror", "/a");
	expect_below("/etc/passwd", "/", "/etc/passwd");
}

static void what_lies_elsewhere_is_not(void **state)
{
	(void)state;
	static const char *const elsewhere[] = {"https://h/debian/x",
						"http://h2/debian/x",
						"http://h:81/debian/x",
						"http://h.h/debian/x",
						"http://h/debian-secret/x",
						"http://h/debia/x",
						"http://h/",
						"http://h/Debian/x",
						"http://h",
						"http://",
						"http:///debian/x",
						"ftp://h/debian/x",
						"/debian/x",
						"//h/debian/x",
						"file://h/debian/x",
						"debian/x",
						"",
						"http:/h/debian/x",
						"http://h?/debian/x",
						"http://h:65616/debian/x",
						"http://h:x/debian/x",
						"http://[h/debian/x"};
	for (size_t i = 0; i < ux_countof(elsewhere); i++)
		expect_below(elsewhere[i], "http://h/debian", NULL);
	expect_below("/srv/mirrors/x", "/srv/mirror", NULL);
	expect_below("/etc/passwd", "/srv/mirror", NULL);
	expect_below("http://h/srv/mirror/x", "/srv/mirror", NULL);
}

static void url_that_leads_elsewhere_than_it_says_is_not_below(void **state)
{
	(void)state;
	static const char *const hidden[] = {
		"/..",    "/../x",  "/a/../../x", "/.",     "/./x",    "/%2e%2e/x", "/%2E./x",
		"/.%2e",  "/a/%2e", "/..?x",      "/a%2fb", "/..%2Fx", "/..%5cx",   "/a\\b",
		"/..\\x", "/%00",   "/a b",       "/a\nb",  "/a#b",    "/a\x7f"};
	for (size_t i = 0; i < ux_countof(hidden); i++) {
		char url[64];
		snprintf(url, sizeof(url), "http://h/debian%s", hidden[i]);
		expect_below(url, "http://h/debian", NULL);
		expect_below(url, "http://h", NULL);
	}
	expect_below("http://h@evil/debian/x", "http://h", NULL);
	expect_below("http://h@evil/debian/x", "http://evil", NULL);
	expect_below("http://evil\\@h/debian/x", "http://h", NULL);
	expect_below("http://h%2eevil/x", "http://h.evil", NULL);
	expect_below("http://evil#@h/x", "http://h", NULL);
	expect_below("/srv/mirror/../../etc/passwd", "/srv/mirror", NULL);
	expect_below("/srv/mirror/..", "/srv/mirror", NULL);
	expect_below("file:///srv/mirror/./x", "/srv/mirror", NULL);
}

UX_SUITE(url)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_lies_below_a_base_is_found),
		cmocka_unit_test(what_lies_elsewhere_is_not),
		cmocka_unit_test(url_that_leads_elsewhere_than_it_says_is_not_below),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
