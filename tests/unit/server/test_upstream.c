/* SPDX-License-Identifier: Apache-2.0 */
/* upstream: the breaker, hops, holds, places, text; and the addresses that may be queried. */
#include "sweep.h"

#include "address.h"
#include "fetcher.h"
#include "fetcher_internal.h"
#include "upstream.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#define STR ux_bytes_cstr

static void breaker_opens_after_failures_in_a_row_and_lets_one_probe_through(void **state)
{
	(void)state;
	struct ux_breaker b = {0};
	ux_breaker_failed(&b, 0, 0);
	ux_breaker_failed(&b, 0, 0);
	ux_breaker_succeeded(&b); /* in a row */
	for (int i = 0; i < UX_BREAKER_FAILURES; i++) {
		assert_true(ux_breaker_allows(&b, 10));
		ux_breaker_failed(&b, 10, 0);
	}
	assert_false(ux_breaker_allows(&b, 10 + UX_BREAKER_OPEN_MS - 1));
	assert_int_equal(ux_breaker_next_time(&b, 20), 10 + UX_BREAKER_OPEN_MS);
	assert_true(ux_breaker_allows(&b, 10 + UX_BREAKER_OPEN_MS));
	assert_false(ux_breaker_allows(&b, 10 + UX_BREAKER_OPEN_MS)); /* one */
	assert_true(ux_breaker_next_time(&b, 0) == INT64_MAX);
	ux_breaker_succeeded(&b);
	assert_true(ux_breaker_allows(&b, 10 + UX_BREAKER_OPEN_MS));
	assert_string_equal(ux_breaker_state_name(b.state), "closed");
}

static void breaker_waits_twice_as_long_after_each_failed_probe(void **state)
{
	(void)state;
	struct ux_breaker b = {0};
	int64_t now = 0, wait = UX_BREAKER_OPEN_MS;
	for (int i = 0; i < UX_BREAKER_FAILURES; i++)
		ux_breaker_failed(&b, now, 0);
	for (int i = 0; i < 10; i++) {
		assert_false(ux_breaker_allows(&b, now + wait - 1));
		now += wait;
		assert_true(ux_breaker_allows(&b, now));
		ux_breaker_failed(&b, now, 0);
		wait = ux_min(wait * 2, (int64_t)UX_BREAKER_OPEN_MAX);
	}
	assert_int_equal(wait, UX_BREAKER_OPEN_MAX);
}

static void breaker_keeps_to_retry_after_within_bounds(void **state)
{
	(void)state;
	struct ux_breaker b = {0};
	ux_breaker_failed(&b, 0, 60000); /* Retry-After: immediately */
	assert_false(ux_breaker_allows(&b, 59999));
	assert_true(ux_breaker_allows(&b, 60000));
	ux_breaker_unknown(&b, 60001); /* the probe was withdrawn: another one may start */
	assert_true(ux_breaker_allows(&b, 60001));
	ux_breaker_failed(&b, 60001, INT64_MAX / 2);
	assert_true(ux_breaker_allows(&b, 60001 + UX_BREAKER_OPEN_MAX));
	/* A request from before it was opened changes nothing. */
	b = (struct ux_breaker){0};
	ux_breaker_failed(&b, 0, 5000);
	ux_breaker_failed(&b, 4000, 0);
	assert_true(ux_breaker_allows(&b, 5000));
}

static bool read_hops(const char *via, const char *forwarded, const char *agent,
		      struct ux_hops *ret)
{
	const struct ux_hops_lines lines = {
		.via = STR(via), .forwarded = STR(forwarded), .agent = STR(agent)};
	return ux_hops_read(&lines, "00112233445566ff", ret);
}

static void question_comes_to_no_server_twice_and_not_from_far(void **state)
{
	(void)state;
	struct ux_hops h;
	assert_true(read_hops("", "", "", &h));
	assert_int_equal(h.n + h.forwarded, 0);
	assert_true(read_hops("aaaaaaaaaaaaaaaa,\t bbbbbbbbbbbbbbbb", "1.2.3.4, ::1", "x", &h));
	assert_int_equal(h.n, 2);
	assert_string_equal(h.via[1], "bbbbbbbbbbbbbbbb");
	assert_int_equal(h.forwarded, 2);
	assert_false(read_hops("aaaaaaaaaaaaaaaa, 00112233445566ff", "", "", &h));
	assert_false(read_hops("", "", "unhex/1 (via 00112233445566ff)", &h));
	assert_false(read_hops("short", "", "", &h));
	assert_false(read_hops("aaaaaaaaaaaaaaa\n", "", "", &h));
	assert_false(read_hops("", "1,2,3,4,5,6,7,8", "", &h));
	assert_true(read_hops("", "1,2,3,4,5,6,7", "", &h));
	assert_false(
		read_hops("aaaaaaaaaaaaaaaa,aaaaaaaaaaaaaaaa,aaaaaaaaaaaaaaaa,aaaaaaaaaaaaaaaa,"
			  "aaaaaaaaaaaaaaaa,aaaaaaaaaaaaaaaa,aaaaaaaaaaaaaaaa,aaaaaaaaaaaaaaaa",
			  "", "", &h));
}

static void hops_are_written_as_they_are_read_with_one_more(void **state)
{
	(void)state;
	struct ux_hops h, again;
	struct ux_hops_sent sent;
	assert_true(read_hops("aaaaaaaaaaaaaaaa", "1.2.3.4", "", &h));
	ux_hops_write(&h, "cccccccccccccccc", &sent);
	assert_string_equal(sent.via, "X-Unhex-Via: aaaaaaaaaaaaaaaa, cccccccccccccccc");
	assert_string_equal(sent.forwarded, "X-Forwarded-For: unknown, unknown");
	assert_true(read_hops(strchr(sent.via, ' '), "", sent.agent, &again));
	assert_int_equal(again.n, 2);
	memset(&h, 0, sizeof(h)); /* the longest list fits */
	for (h.n = 0; h.n < UX_HOPS_MAX - 1; h.n++)
		memcpy(h.via[h.n], "dddddddddddddddd", UX_SERVER_ID);
	ux_hops_write(&h, "cccccccccccccccc", &sent);
	assert_non_null(strstr(sent.via, ", cccccccccccccccc"));
}

static void answers_hold_until_they_expire_and_no_clock_makes_them_eternal(void **state)
{
	(void)state;
	const struct ux_fetch_times times = {.absent = 100, .failed = 10, .found = 1000};
	struct ux_fetched rows[] = {
		{.artifact = "gsym", .upstream = "a", .outcome = UX_FETCH_ABSENT, .expires = 600},
		{.artifact = "debuginfo",
		 .upstream = "a",
		 .outcome = UX_FETCH_FAILED,
		 .expires = 510},
	};
	const struct ux_fetched_list list = {rows, 2};
	assert_int_equal(ux_fetch_expires(&times, UX_FETCH_ABSENT, 500), 600);
	assert_int_equal(ux_fetch_expires(&times, UX_FETCH_FAILED, 500), 510);
	assert_int_equal(ux_fetch_expires(&times, UX_FETCH_FOUND, 500), 1500);
	assert_ptr_equal(ux_fetch_answer_valid(&list, "gsym", "a", &times, 599), &rows[0]);
	assert_null(ux_fetch_answer_valid(&list, "gsym", "a", &times, 600));
	assert_null(ux_fetch_answer_valid(&list, "gsym", "b", &times, 599));
	assert_null(ux_fetch_answer_valid(&list, "executable", "a", &times, 599));
	assert_ptr_equal(ux_fetch_answer_valid(&list, "debuginfo", "a", &times, 509), &rows[1]);
	rows[0].expires = 1000000; /* written by a wrong clock */
	assert_null(ux_fetch_answer_valid(&list, "gsym", "a", &times, 500));
	rows[1].expires = 600; /* a broken file: as long as an absent one */
	assert_ptr_equal(ux_fetch_answer_valid(&list, "debuginfo", "a", &times, 505), &rows[1]);
}

static void fetches_of_the_negative_cache_differ_and_expire(void **state)
{
	(void)state;
	const struct ux_cache_opts opts = {.entries_max = UX_FETCH_NEGATIVE_MAX,
					   .key_size = UX_FETCH_KEY_SIZE};
	struct ux_cache negative;
	uint8_t key[UX_FETCH_KEY_SIZE], other[UX_FETCH_KEY_SIZE];
	assert_true(ux_cache_init(&negative, &opts));
	ux_fetch_key("ns", "gnu:ab", 1, NULL, key);
	struct ux_bytes k = ux_bytes(key, sizeof(key));
	assert_non_null(ux_cache_insert(&negative, k, 0, 1000, NULL));
	assert_non_null(ux_cache_find(&negative, k, 999));
	assert_null(ux_cache_find(&negative, k, 1000));
	static const struct {
		const char *ns, *id, *path;
		unsigned want;
	} others[] = {{"ns", "gnu:ab", "", 2},
		      {"ns", "gnu:a", "b", 1},
		      {"nsg", "nu:ab", NULL, 1},
		      {"n", "sgnu:ab", NULL, 1},
		      {"ns", "gnu:ab", "/x", 1}};
	for (size_t i = 0; i < ux_countof(others); i++) {
		ux_fetch_key(others[i].ns, others[i].id, others[i].want, others[i].path, other);
		assert_memory_not_equal(key, other, sizeof(key));
	}
	ux_fetch_key("ns", "gnu:ab", 1, "", other);
	assert_memory_equal(key, other, sizeof(key));
	/* A path of any length is cut to the available room. */
	size_t size = 16 << 20;
	char *path = malloc(size);
	assert_non_null(path);
	memset(path, 'p', size - 1);
	path[size - 1] = '\0';
	ux_fetch_key("ns", "gnu:ab", 1, path, key);
	path[size - 2] = '\0';
	ux_fetch_key("ns", "gnu:ab", 1, path, other);
	assert_memory_equal(key, other, sizeof(key));
	free(path);
	assert_non_null(ux_cache_insert(&negative, k, 0, 1000, NULL));
	ux_cache_clear(&negative);
	assert_null(ux_cache_find(&negative, k, 0));
	ux_cache_deinit(&negative);
}

static void namespace_chooses_by_name_and_in_its_order(void **state)
{
	(void)state;
	size_t rank = 9;
	assert_true(ux_upstream_is_selected("*", "x", 2, &rank));
	assert_int_equal(rank, 2);
	assert_true(ux_upstream_is_selected("b a", "a", 0, &rank));
	assert_int_equal(rank, 1);
	assert_true(ux_upstream_is_selected("  b  ab ", "ab", 5, &rank));
	assert_false(ux_upstream_is_selected("b ab", "a", 0, &rank));
	assert_false(ux_upstream_is_selected("", "a", 0, &rank));
}

static enum ux_address_kind kind(const char *text)
{
	struct sockaddr_in in4 = {.sin_family = AF_INET};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6};
	if (inet_pton(AF_INET, text, &in4.sin_addr) == 1)
		return ux_address_kind((struct sockaddr *)&in4, sizeof(in4));
	assert_int_equal(inet_pton(AF_INET6, text, &in6.sin6_addr), 1);
	return ux_address_kind((struct sockaddr *)&in6, sizeof(in6));
}

static void addresses_that_are_not_everybodys_are_known_in_every_disguise(void **state)
{
	(void)state;
	static const char *const public[] = {
		"1.1.1.1",         "9.255.255.255",   "11.0.0.0",         "172.15.0.1",
		"172.32.0.1",      "100.63.255.255",  "100.128.0.0",      "192.167.255.255",
		"223.255.255.255", "2606:4700::1111", "64:ff9b::101:101", "::ffff:8.8.8.8",
		"2002:808:808::1"};
	static const char *const private[] = {
		"10.0.0.1",
		"127.0.0.1",
		"127.255.255.254",
		"172.16.0.1",
		"172.31.255.255",
		"192.168.1.1",
		"100.64.0.1",
		"198.18.0.1",
		"192.0.2.1",
		"::1",
		"fc00::1",
		"fdff::1",
		"::ffff:127.0.0.1",
		"::ffff:10.1.2.3",
		"64:ff9b::a00:1",
		"2002:a00:1::",
		"2001:db8::1",
		"64:ff9b:1::1",
		"2001:0:4136:e378:8000:63bf:3f57:fefe" /* Teredo of 192.168.1.1, inverted */};
	static const char *const never[] = {"0.0.0.0",
					    "0.1.2.3",
					    "169.254.169.254",
					    "224.0.0.1",
					    "255.255.255.255",
					    "240.0.0.1",
					    "::",
					    "fe80::1",
					    "febf::1",
					    "ff02::1",
					    "::ffff:169.254.169.254",
					    "64:ff9b::a9fe:a9fe",
					    "2002:a9fe:a9fe::",
					    "::169.254.169.254",
					    "100::1"};
	for (size_t i = 0; i < ux_countof(public); i++)
		if (kind(public[i]) != UX_ADDRESS_PUBLIC)
			fail_msg("%s is public", public[i]);
	for (size_t i = 0; i < ux_countof(private); i++)
		if (kind(private[i]) != UX_ADDRESS_PRIVATE)
			fail_msg("%s is private", private[i]);
	for (size_t i = 0; i < ux_countof(never); i++)
		if (kind(never[i]) != UX_ADDRESS_NEVER)
			fail_msg("%s is never to be queried", never[i]);
	const struct sockaddr local = {.sa_family = AF_UNIX};
	assert_int_equal(ux_address_kind(&local, sizeof(local)), UX_ADDRESS_NEVER);
	const struct sockaddr_in cut = {.sin_family = AF_INET, .sin_addr.s_addr = 0x01010101};
	assert_int_equal(ux_address_kind((const struct sockaddr *)&cut, 4), UX_ADDRESS_NEVER);
}

static void upstream_is_read_from_text(void **state)
{
	(void)state;
	struct ux_upstream up;
	struct ux_error err = UX_ERROR_INIT;
	assert_int_equal(ux_upstream_parse(&up, "unhex+https://Sym.Example.com:8/a//", &err),
			 UX_OK);
	assert_int_equal(up.kind, UX_UPSTREAM_UNHEX);
	assert_string_equal(up.url, "https://Sym.Example.com:8/a");
	assert_string_equal(up.name, "sym.example.com-8");
	assert_false(up.own_network);
	assert_int_equal(ux_upstream_parse(&up, "dir:/srv/Debug,private,name=x-1", &err), UX_OK);
	assert_int_equal(up.kind, UX_UPSTREAM_FOLDER);
	assert_string_equal(up.url, "/srv/Debug");
	assert_string_equal(up.name, "x-1");
	assert_true(up.own_network);
	assert_int_equal(ux_upstream_parse(&up, "packages:/srv/Mirror/", &err), UX_OK);
	assert_int_equal(up.kind, UX_UPSTREAM_PACKAGES);
	assert_true(ux_upstream_is_local(&up));
	assert_string_equal(up.url, "/srv/Mirror");
	assert_int_equal(ux_upstream_parse(&up, "packages+http://m/debian,name=d", &err), UX_OK);
	assert_int_equal(up.kind, UX_UPSTREAM_PACKAGES);
	assert_false(ux_upstream_is_local(&up));
	assert_string_equal(up.url, "http://m/debian");
	static const char *const bad[] = {"",
					  "packages:x",
					  "packages+ftp://x",
					  ",",
					  "http://x",
					  "unhex+http://",
					  "unhex+x",
					  "unhex+http:///x",
					  "unhex+http:/xhost",
					  "unhex+https:/xhost",
					  "unhex+http://:80",
					  "unhex+http://x\ny",
					  "dir:/",
					  "dir:x",
					  "bucket+https://x?y",
					  "bucket+https://u@x",
					  "unhex+http://x,name=",
					  "unhex+http://x,name=.x",
					  "unhex+http://x,token-file=/nonexistent/x",
					  "unhex+http://x,what"};
	for (size_t i = 0; i < ux_countof(bad); i++) {
		struct ux_error why = UX_ERROR_INIT;
		if (ux_upstream_parse(&up, bad[i], &why) == UX_OK)
			fail_msg("'%s' was read", bad[i]);
		assert_true(why.text[0] != '\0');
	}
}

static void a_long_host_gives_a_name_that_is_cut(void **state)
{
	(void)state;
	struct ux_upstream up;
	struct ux_error err = UX_ERROR_INIT;
	char text[2000] = "unhex+http://", says[32];
	memset(text + 13, 'h', 300);
	assert_int_equal(ux_upstream_parse(&up, text, &err), UX_OK);
	assert_int_equal(strlen(up.name), UX_UPSTREAM_NAME - 1);
	memset(text + 13, 'h', sizeof(text) - 14);
	assert_int_equal(ux_upstream_parse(&up, text, &err), UX_EINVAL);
	snprintf(says, sizeof(says), "exceeds %zu bytes", sizeof(up.url) - 1);
	assert_non_null(strstr(err.text, says));
}

/* A path that does not fit into the memory of a request is an error, not a path without its end. */
static void a_path_is_whole_or_an_error(void **state)
{
	(void)state;
	const struct ux_upstream up = {.kind = UX_UPSTREAM_DEBUGINFOD};
	struct ux_upstream_paths p;
	struct ux_id id;
	enum ux_code code = UX_ENOMEM;
	assert_int_equal(ux_id_parse(STR("abcdef"), &id, NULL), UX_OK);
	for (size_t max = 1; max < (1 << 16) && code != UX_OK; max++) {
		UX_ARENA(arena, max);
		code = ux_upstream_paths_get(&up, &id, UX_ARTIFACT_SOURCE, "/a/b.c", &arena, &p,
					     NULL);
		if (code == UX_OK)
			assert_string_equal(p.paths[0], "/buildid/abcdef/source/a/b.c");
	}
	assert_int_equal(code, UX_OK);
	/* The coded form of a long path needs more memory than the path without it. */
	char source[100] = "/";
	memset(source + 1, 'a', sizeof(source) - 2);
	for (size_t max = 1; max < 600; max++) {
		UX_ARENA(arena, max);
		code = ux_upstream_paths_get(&up, &id, UX_ARTIFACT_SOURCE, source, &arena, &p,
					     NULL);
		if (code == UX_OK)
			assert_true(strlen(p.paths[0]) > strlen(source));
	}
	assert_int_equal(code, UX_OK);
}

static size_t places(enum ux_upstream_kind of, const char *id, enum ux_artifact artifact,
		     const char *source, struct ux_arena *arena, struct ux_upstream_paths *ret)
{
	const struct ux_upstream up = {.kind = of};
	struct ux_id parsed;
	assert_int_equal(ux_id_parse(STR(id), &parsed, NULL), UX_OK);
	assert_int_equal(ux_upstream_paths_get(&up, &parsed, artifact, source, arena, ret, NULL),
			 UX_OK);
	return ret->n;
}

static void each_kind_is_queried_where_it_keeps_things(void **state)
{
	(void)state;
	UX_ARENA(arena, 1 << 20);
	struct ux_upstream_paths p;
	assert_int_equal(places(UX_UPSTREAM_UNHEX, "go:a/b", UX_ARTIFACT_GSYM, NULL, &arena, &p),
			 1);
	assert_string_equal(p.paths[0], "/v1/gsym/go:a%2Fb");
	assert_int_equal(
		places(UX_UPSTREAM_DEBUGINFOD, "abcdef", UX_ARTIFACT_DEBUGINFO, NULL, &arena, &p),
		1);
	assert_string_equal(p.paths[0], "/buildid/abcdef/debuginfo");
	assert_int_equal(
		places(UX_UPSTREAM_DEBUGINFOD, "abcdef", UX_ARTIFACT_GSYM, NULL, &arena, &p), 0);
	assert_int_equal(places(UX_UPSTREAM_DEBUGINFOD, "abcdef", UX_ARTIFACT_SOURCE,
				"/usr/src/a+b c.h", &arena, &p),
			 1);
	assert_string_equal(p.paths[0], "/buildid/abcdef/source/usr/src/a%2Bb%20c.h");
	assert_int_equal(
		places(UX_UPSTREAM_FOLDER, "abcdef", UX_ARTIFACT_DEBUGINFO, NULL, &arena, &p), 3);
	assert_string_equal(p.paths[0], "/.build-id/ab/cdef.debug");
	assert_string_equal(p.paths[1], "/ab/cdef/debuginfo");
	assert_string_equal(p.paths[2], "/buildid/abcdef/debuginfo");
	assert_int_equal(places(UX_UPSTREAM_BUCKET, "abcdef", UX_ARTIFACT_SOURCE, "/x", &arena, &p),
			 0);
	static const char *const foreign[] = {"go:text", "uuid:00112233445566778899aabbccddeeff",
					      "file:00112233445566778899aabbccddeeff"};
	for (size_t i = 0; i < ux_countof(foreign); i++)
		for (int a = 0; a < UX_ARTIFACT_COUNT; a++)
			for (int k = UX_UPSTREAM_DEBUGINFOD; k < UX_UPSTREAM_KIND_COUNT; k++)
				assert_int_equal(places((enum ux_upstream_kind)k, foreign[i],
							(enum ux_artifact)a, "/x", &arena, &p),
						 0);
}

UX_SUITE(upstream)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(breaker_opens_after_failures_in_a_row_and_lets_one_probe_through),
		cmocka_unit_test(breaker_waits_twice_as_long_after_each_failed_probe),
		cmocka_unit_test(breaker_keeps_to_retry_after_within_bounds),
		cmocka_unit_test(question_comes_to_no_server_twice_and_not_from_far),
		cmocka_unit_test(hops_are_written_as_they_are_read_with_one_more),
		cmocka_unit_test(answers_hold_until_they_expire_and_no_clock_makes_them_eternal),
		cmocka_unit_test(fetches_of_the_negative_cache_differ_and_expire),
		cmocka_unit_test(namespace_chooses_by_name_and_in_its_order),
		cmocka_unit_test(addresses_that_are_not_everybodys_are_known_in_every_disguise),
		cmocka_unit_test(upstream_is_read_from_text),
		cmocka_unit_test(a_long_host_gives_a_name_that_is_cut),
		cmocka_unit_test(a_path_is_whole_or_an_error),
		cmocka_unit_test(each_kind_is_queried_where_it_keeps_things),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
