/* SPDX-License-Identifier: Apache-2.0 */
/* registry: references to images, and a registry's challenges. */
#include "sweep.h"

#include "registry.h"

#define DIGEST "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static void a_reference_has_a_host_a_name_and_a_tag(void **state)
{
	(void)state;
	static const struct {
		const char *text, *host, *name, *tag;
	} cases[] = {
		{"alpine", "registry-1.docker.io", "library/alpine", "latest"},
		{"alpine:3.19", "registry-1.docker.io", "library/alpine", "3.19"},
		{"team/app", "registry-1.docker.io", "team/app", "latest"},
		{"docker.io/team/app:1", "registry-1.docker.io", "team/app", "1"},
		{"docker.io/alpine", "registry-1.docker.io", "library/alpine", "latest"},
		{"localhost/app", "localhost", "app", "latest"},
		{"127.0.0.1:5000/a/b/c:x_1", "127.0.0.1:5000", "a/b/c", "x_1"},
		{"ghcr.io/a/b@" DIGEST, "ghcr.io", "a/b", DIGEST},
		{"ghcr.io/a/b:tag@" DIGEST, "ghcr.io", "a/b", DIGEST},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct ux_image_reference r;
		assert_int_equal(ux_image_reference_parse(cases[i].text, &r, NULL), UX_OK);
		assert_string_equal(r.host, cases[i].host);
		assert_string_equal(r.name, cases[i].name);
		assert_string_equal(r.tag, cases[i].tag);
	}
}

static void what_could_leave_the_path_of_a_request_is_no_reference(void **state)
{
	(void)state;
	static const char *const bad[] = {
		"",       "/a",    "a b",   "A",       "a/../b",      "../a",
		"a?b",    "a%2fb", "a:",    "a:b/c:",  "a@sha256:12", "a@" DIGEST "0",
		".com/a", "h.x/",  "u@h/a", "u@h.x/a", "a:t#x",       "a\nb"};
	for (size_t i = 0; i < ux_countof(bad); i++) {
		struct ux_image_reference r;
		assert_int_equal(ux_image_reference_parse(bad[i], &r, NULL), UX_EINVAL);
	}
}

static void parameters_of_a_challenge_are_found_by_name(void **state)
{
	(void)state;
	static const char text[] =
		"Bearer realm=\"https://a.example/token\", service=\"one, two\",scope=plain , x=\"\"";
	char value[64];
	assert_true(ux_challenge_parameter(text, "realm", value, sizeof(value)));
	assert_string_equal(value, "https://a.example/token");
	assert_true(ux_challenge_parameter(text, "SERVICE", value, sizeof(value)));
	assert_string_equal(value, "one, two");
	assert_true(ux_challenge_parameter(text, "scope", value, sizeof(value)));
	assert_string_equal(value, "plain");
	assert_false(ux_challenge_parameter(text, "x", value, sizeof(value)));
	assert_false(ux_challenge_parameter(text, "two", value, sizeof(value)));
	assert_false(ux_challenge_parameter("Bearer", "realm", value, sizeof(value)));
}

static void a_value_that_is_too_long_is_none(void **state)
{
	(void)state;
	char value[4];
	assert_false(
		ux_challenge_parameter("Bearer realm=\"1234\"", "realm", value, sizeof(value)));
	assert_string_equal(value, "");
}

static void bytes_are_held_to_their_digest(void **state)
{
	(void)state;
	static const char empty[] =
		"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
	assert_int_equal(ux_digest_check(UX_BYTES_NONE, empty, NULL), UX_OK);
	assert_int_equal(ux_digest_check(UX_STR("x"), empty, NULL), UX_ECORRUPT);
	assert_false(ux_digest_is("sha256:"));
	assert_true(ux_digest_is(empty));
}

static void the_url_of_a_blob_names_host_image_and_digest(void **state)
{
	(void)state;
	struct ux_image_reference r;
	char url[256];
	assert_true(
		ux_registry_is_blob_url("https://h.example:5000/v2/team/app/blobs/" DIGEST, &r));
	assert_string_equal(r.host, "h.example:5000");
	assert_string_equal(r.name, "team/app");
	assert_string_equal(r.tag, DIGEST);
	assert_int_equal(ux_registry_blob_url(&r, DIGEST, url, sizeof(url), NULL), UX_OK);
	assert_string_equal(url, "https://h.example:5000/v2/team/app/blobs/" DIGEST);
	assert_int_equal(ux_registry_blob_url(&r, DIGEST, url, 40, NULL), UX_ELIMIT);
	static const char *const others[] = {"/v2/a/blobs/" DIGEST,
					     "https://h/v2/a/blobs/sha256:12",
					     "https://h/v1/a/blobs/" DIGEST,
					     "https://h/v2/a/manifests/" DIGEST,
					     "https://h/v2//blobs/" DIGEST,
					     "https://h/v2/A/blobs/" DIGEST,
					     "https://h/v2/a/blobs/" DIGEST "0",
					     "https://h/v2/a?b/blobs/" DIGEST,
					     "https://h"};
	for (size_t i = 0; i < ux_countof(others); i++)
		assert_false(ux_registry_is_blob_url(others[i], &r));
}

UX_SUITE(registry)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_url_of_a_blob_names_host_image_and_digest),
		cmocka_unit_test(a_reference_has_a_host_a_name_and_a_tag),
		cmocka_unit_test(what_could_leave_the_path_of_a_request_is_no_reference),
		cmocka_unit_test(parameters_of_a_challenge_are_found_by_name),
		cmocka_unit_test(a_value_that_is_too_long_is_none),
		cmocka_unit_test(bytes_are_held_to_their_digest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
