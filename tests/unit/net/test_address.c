/* SPDX-License-Identifier: Apache-2.0 */
/* net: addresses, networks, and clients of proxies. */
#include "sweep.h"

#include "exchange.h"
#include "http.h"

#include <netinet/in.h>
#include <sys/socket.h>

static struct ux_address address(const char *text)
{
	struct ux_address a = {0};
	if (!ux_address_parse(ux_bytes_cstr(text), &a))
		fail_msg("%s is no address", text);
	return a;
}

static void expect_text(const char *text, const char *want)
{
	char got[UX_ADDRESS_TEXT];
	struct ux_address a = address(text);
	assert_string_equal(ux_address_text(&a, got), want);
}

static void addresses_of_sockets_are_known_by_their_family(void **state)
{
	(void)state;
	char text[UX_ADDRESS_TEXT];
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0xc0000201)};
	struct sockaddr_in6 six = {.sin6_family = AF_INET6,
				   .sin6_addr.s6_addr = {0x20, 1, 0xd, 0xb8, [15] = 7}};
	struct sockaddr path = {.sa_family = AF_UNIX};
	struct ux_address a = ux_address_of((struct sockaddr *)&four);
	assert_true(a.known);
	assert_string_equal(ux_address_text(&a, text), "192.0.2.1");
	a = ux_address_of((struct sockaddr *)&six);
	assert_true(a.known);
	assert_string_equal(ux_address_text(&a, text), "2001:db8::7");
	assert_false(ux_address_of(&path).known);
	assert_false(ux_address_of(NULL).known);
}

static void addresses_are_read_with_and_without_ports(void **state)
{
	(void)state;
	expect_text("192.0.2.1", "192.0.2.1");
	expect_text("192.0.2.1:8420", "192.0.2.1");
	expect_text("2001:DB8::1", "2001:db8::1");
	expect_text("[2001:db8::1]", "2001:db8::1");
	expect_text("[2001:db8::1]:65535", "2001:db8::1");
	expect_text("::ffff:192.0.2.1", "192.0.2.1");
	static const char *const none[] = {"",
					   "unknown",
					   "_hidden",
					   "192.0.2",
					   "192.0.2.1:",
					   "192.0.2.1:x",
					   "192.0.2.256",
					   "[::1",
					   "::1]",
					   "[::1]x",
					   "[::1]:65536",
					   "[192.0.2.1",
					   "192.0.2.1:65536",
					   "[]",
					   "1:2:3:4:5:6:7:8:9"};
	for (size_t i = 0; i < ux_countof(none); i++) {
		struct ux_address a = {0};
		if (ux_address_parse(ux_bytes_cstr(none[i]), &a) || a.known)
			fail_msg("'%s' is an address", none[i]);
	}
	struct ux_address local = {0};
	char text[UX_ADDRESS_TEXT];
	assert_string_equal(ux_address_text(&local, text), "local");
}

static void loopback_is_all_of_127_and_one_of_ipv6(void **state)
{
	(void)state;
	static const char *const yes[] = {"127.0.0.1", "127.255.0.9", "::1", "::ffff:127.0.0.1"};
	static const char *const no[] = {"128.0.0.1", "126.255.255.255", "::2", "::", "0.0.0.0"};
	for (size_t i = 0; i < ux_countof(yes); i++) {
		struct ux_address a = address(yes[i]);
		assert_true(ux_address_is_loopback(&a));
	}
	for (size_t i = 0; i < ux_countof(no); i++) {
		struct ux_address a = address(no[i]);
		assert_false(ux_address_is_loopback(&a));
	}
}

static void add(struct ux_networks *list, const char *text)
{
	struct ux_error err = UX_ERROR_INIT;
	if (ux_networks_add(list, text, &err) != UX_OK)
		fail_msg("%s: %s", text, err.text);
}

static bool have(const struct ux_networks *list, const char *text)
{
	struct ux_address a = address(text);
	return ux_networks_have(list, &a);
}

static void networks_have_what_begins_like_them(void **state)
{
	(void)state;
	struct ux_networks list = {.n = 0};
	struct ux_address local = {0};
	assert_false(have(&list, "10.0.0.1"));
	add(&list, "10.32.0.0/11");
	add(&list, "192.0.2.7");
	add(&list, "2001:db8:8000::/33");
	assert_true(have(&list, "10.32.0.0") && have(&list, "10.63.255.255"));
	assert_false(have(&list, "10.31.255.255") || have(&list, "10.64.0.0"));
	assert_true(have(&list, "192.0.2.7") && have(&list, "::ffff:192.0.2.7"));
	assert_false(have(&list, "192.0.2.6"));
	assert_true(have(&list, "2001:db8:ffff::1"));
	assert_false(have(&list, "2001:db8:7fff::1"));
	assert_false(ux_networks_have(&list, &local));
	add(&list, "unix");
	assert_true(ux_networks_have(&list, &local));
	add(&list, "0.0.0.0/0"); /* of IPv4 alone */
	assert_true(have(&list, "8.8.8.8"));
	assert_false(have(&list, "2001::1"));
	static const char *const none[] = {
		"",   "/",           "10.0.0.0/33", "::/129",       "10.0.0.0/",
		"/8", "10.0.0.0/-1", "localhost",   "10.0.0.0/8/8", "10.1/16"};
	for (size_t i = 0; i < ux_countof(none); i++) {
		struct ux_error err = UX_ERROR_INIT;
		assert_int_equal(ux_networks_add(&list, none[i], &err), UX_EINVAL);
		assert_non_null(strstr(err.text, "expected"));
	}
	while (list.n < UX_NETWORKS_MAX)
		add(&list, "192.0.2.8");
	assert_int_equal(ux_networks_add(&list, "192.0.2.9", NULL), UX_ELIMIT);
}

/* Returns the client's address for these lines ("Name: value") from 10.0.0.1; 10/8 is trusted. */
static struct ux_forwarded asks(const char *const *lines, const char *peer)
{
	struct ux_http_field fields[8];
	struct ux_networks trusted = {.n = 0};
	struct ux_request req = {.headers = fields, .peer = address(peer)};
	add(&trusted, "10.0.0.0/8");
	for (; *lines; lines++) {
		const char *colon = strchr(*lines, ':');
		fields[req.n_headers++] = (struct ux_http_field){
			ux_bytes(*lines, (size_t)(colon - *lines)), ux_bytes_cstr(colon + 2)};
	}
	return ux_forwarded_of(&req, &trusted);
}

static void expect_client(const char *const *lines, const char *want)
{
	char text[UX_ADDRESS_TEXT];
	struct ux_forwarded f = asks(lines, "10.0.0.1");
	assert_string_equal(ux_address_text(&f.client, text), want);
	assert_true(f.proxied);
}

#define LINES(...) ((const char *const[]){__VA_ARGS__, NULL})

static void client_is_the_first_from_the_right_that_is_not_trusted(void **state)
{
	(void)state;
	expect_client(LINES("X-Forwarded-For: 192.0.2.1"), "192.0.2.1");
	expect_client(LINES("x-forwarded-for: 198.51.100.9, 192.0.2.1, 10.1.1.1"), "192.0.2.1");
	expect_client(LINES("X-Forwarded-For: 198.51.100.9,192.0.2.1", "Via: 1.1 x",
			    "X-Forwarded-For: 10.2.2.2"),
		      "192.0.2.1");
	expect_client(LINES("X-Forwarded-For: 10.9.9.9"), "10.9.9.9");
	expect_client(LINES("X-Forwarded-For: 192.0.2.1:4711"), "192.0.2.1");
	expect_client(LINES("Forwarded: for=198.51.100.9;by=x, for=192.0.2.60;proto=http"),
		      "192.0.2.60");
	expect_client(LINES("Forwarded: proto=https; For=\"[2001:db8::7]:4711\""), "2001:db8::7");
	expect_client(LINES("Forwarded: for=192.0.2.1", "X-Forwarded-For: 192.0.2.1"), "192.0.2.1");
}

static void unreadable_entry_hides_what_is_left_of_it(void **state)
{
	(void)state;
	expect_client(LINES("X-Forwarded-For: 192.0.2.1, unknown, 10.1.1.1"), "10.1.1.1");
	expect_client(LINES("X-Forwarded-For: "), "10.0.0.1");
	expect_client(LINES("X-Forwarded-For: ,,,"), "10.0.0.1");
	expect_client(LINES("Forwarded: for=_hidden"), "10.0.0.1");
	expect_client(LINES("Forwarded: by=1.2.3.4"), "10.0.0.1");
	expect_client(LINES("Forwarded: for=\"192.0.2.1"), "10.0.0.1");
	expect_client(LINES("Forwarded: for"), "10.0.0.1");
	/* a proxy that writes one of the headers passes the other one on unchanged */
	expect_client(LINES("Forwarded: for=192.0.2.1", "X-Forwarded-For: 192.0.2.2"), "10.0.0.1");
}

static void strangers_words_about_themselves_do_not_count(void **state)
{
	(void)state;
	char text[UX_ADDRESS_TEXT];
	struct ux_forwarded f =
		asks(LINES("X-Forwarded-For: 127.0.0.1", "X-Forwarded-Proto: https"), "192.0.2.9");
	assert_string_equal(ux_address_text(&f.client, text), "192.0.2.9");
	assert_true(f.proxied);
	assert_false(f.https);
	f = asks(LINES("Host: x"), "10.0.0.1");
	assert_false(f.proxied || f.https);
	assert_true(asks(LINES("X-Forwarded-Proto: http, HTTPS"), "10.0.0.1").https);
	assert_false(asks(LINES("X-Forwarded-Proto: https, http"), "10.0.0.1").https);
	assert_true(asks(LINES("Forwarded: for=1.1.1.1;proto=https"), "10.0.0.1").https);
}

/* Prefixes of paths. */
static void expect_prefix(const char *target, const char *token, const char *space,
			  const char *path)
{
	const struct ux_http_app app = {.limits = {.arena_bytes = 1 << 20}};
	struct ux_exchange x;
	ux_exchange_init(&x, &app, UX_STR("GET"), ux_bytes_cstr(target));
	assert_true(ux_bytes_eq(x.req.path_token, ux_bytes_cstr(token)));
	assert_true(ux_bytes_eq(x.req.path_space, ux_bytes_cstr(space)));
	if (!ux_bytes_eq(x.req.path, ux_bytes_cstr(path)))
		fail_msg("%s leaves %.*s, wanted %s", target, (int)x.req.path.size,
			 (const char *)x.req.path.data, path);
	assert_int_equal(x.req.prefix.size + x.req.path.size,
			 strcspn(target, "?") + (x.req.prefix.size == strcspn(target, "?")));
	ux_exchange_deinit(&x, false);
}

static void token_and_namespace_come_in_front_of_a_path(void **state)
{
	(void)state;
	expect_prefix("/v1/modules?k=/k/a/", "", "", "/v1/modules");
	expect_prefix("/k/ux_a/buildid/00/debuginfo", "ux_a", "", "/buildid/00/debuginfo");
	expect_prefix("/k/ux%5Fa/x", "ux_a", "", "/x");
	expect_prefix("/k/ux_a/n/team/x?n=1", "ux_a", "team", "/x");
	expect_prefix("/n/team/k/ux_a/x", "", "team", "/k/ux_a/x");
	expect_prefix("/n/team", "", "team", "/");
	expect_prefix("/k/ux_a", "ux_a", "", "/");
	expect_prefix("/k/ux_a/", "ux_a", "", "/");
	expect_prefix("/k", "", "", "/k");
	expect_prefix("/k/", "", "", "/k/");
	expect_prefix("/K/ux_a/x", "", "", "/K/ux_a/x");
	expect_prefix("/k//x", "", "", "/x");
	/* also for a refused target, nothing remains for a log */
	expect_prefix("/k/ux%_a/x", "", "", "/x");
	expect_prefix("/k/ux_a/x?%", "ux_a", "", "/x");
}

UX_SUITE(address)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(addresses_of_sockets_are_known_by_their_family),
		UX_TEST(addresses_are_read_with_and_without_ports),
		UX_TEST(loopback_is_all_of_127_and_one_of_ipv6),
		UX_TEST(networks_have_what_begins_like_them),
		UX_TEST(client_is_the_first_from_the_right_that_is_not_trusted),
		UX_TEST(unreadable_entry_hides_what_is_left_of_it),
		UX_TEST(strangers_words_about_themselves_do_not_count),
		UX_TEST(token_and_namespace_come_in_front_of_a_path),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
