/* SPDX-License-Identifier: Apache-2.0 */
/* The mirrors of a worker: what lies below them, and which addresses their hosts may have. */
#include "sweep.h"

#include "mirrors.h"

static const struct ux_mirror items[] = {{.url = "http://h/debian"},
					 {.url = "https://own:8443/", .own_network = true},
					 {.url = "/srv/image.tar", .own_network = true}};
static const struct ux_mirrors mirrors = {items, ux_countof(items)};

static void only_what_lies_below_a_mirror_is_allowed(void **state)
{
	(void)state;
	static const char *const below[] = {"http://h/debian/a", "https://own:8443/x/y",
					    "/srv/image.tar", "/srv/image.tar#part=512+100",
					    "file:///srv/image.tar#part=512+100"};
	static const char *const outside[] = {"http://h/a",
					      "https://own/x",
					      "http://own:8443/x",
					      "/srv/image.tar2",
					      "/srv/x#part=512+1",
					      "/srv/image.tar#part=x",
					      "/etc/passwd",
					      "",
					      "http://h/debian#part=1+1"};
	for (size_t i = 0; i < ux_countof(below); i++)
		assert_int_equal(ux_mirrors_check(&mirrors, below[i], NULL), UX_OK);
	for (size_t i = 0; i < ux_countof(outside); i++) {
		struct ux_error err = UX_ERROR_INIT;
		assert_int_equal(ux_mirrors_check(&mirrors, outside[i], &err), UX_EDENIED);
		assert_non_null(strstr(err.text, "is not below this worker's mirrors"));
		assert_int_equal(ux_mirrors_check(NULL, outside[i], NULL), UX_OK);
	}
	char text[UX_HTTP_LOCATION_MAX + 32];
	memset(text, 'a', sizeof(text));
	memcpy(text, "http://h/debian/", 16);
	text[sizeof(text) - 1] = '\0';
	assert_int_equal(ux_mirrors_check(&mirrors, text, NULL), UX_EDENIED);
	assert_int_equal(ux_mirrors_check(&(struct ux_mirrors){0}, "/", NULL), UX_EDENIED);
}

static void only_a_named_mirror_may_have_a_private_address(void **state)
{
	(void)state;
	static const char *const names[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
					    "ALL_PROXY"};
	for (size_t i = 0; i < ux_countof(names); i++)
		unsetenv(names[i]);
	assert_int_equal(ux_mirrors_reach(&mirrors, "http://h", false), UX_HTTP_PUBLIC);
	assert_int_equal(ux_mirrors_reach(&mirrors, "https://own:8443", false), UX_HTTP_OWN);
	assert_int_equal(ux_mirrors_reach(&mirrors, "https://OWN:8443", false), UX_HTTP_OWN);
	assert_int_equal(ux_mirrors_reach(&mirrors, "https://own", false), UX_HTTP_PUBLIC);
	assert_int_equal(ux_mirrors_reach(NULL, "http://h", false), UX_HTTP_ANYWHERE);
	/* the address to connect to is the proxy's */
	assert_int_equal(ux_mirrors_reach(&mirrors, "http://h", true), UX_HTTP_ANYWHERE);
	setenv("http_proxy", "http://proxy:3128", 1);
	assert_int_equal(ux_mirrors_reach(&mirrors, "http://h", false), UX_HTTP_ANYWHERE);
	assert_int_equal(ux_mirrors_reach(&mirrors, "https://h", false), UX_HTTP_PUBLIC);
	setenv("http_proxy", "", 1);
	assert_int_equal(ux_mirrors_reach(&mirrors, "http://h", false), UX_HTTP_PUBLIC);
	setenv("ALL_PROXY", "http://proxy:3128", 1);
	assert_int_equal(ux_mirrors_reach(&mirrors, "https://h", false), UX_HTTP_ANYWHERE);
	unsetenv("ALL_PROXY");
	unsetenv("http_proxy");
}

UX_SUITE(mirrors)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_lies_below_a_mirror_is_allowed),
		cmocka_unit_test(only_a_named_mirror_may_have_a_private_address),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
