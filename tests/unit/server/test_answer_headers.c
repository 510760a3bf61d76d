/* SPDX-License-Identifier: Apache-2.0 */
/* server: the permissions of caches and other sites in answers, for every route. */
#include "sweep.h"

#include "make_gsym.h"
#include "make_server.h"

struct world {
	struct make_server s;
	char key[UX_TOKEN_SIZE]; /* all scopes in the namespace "team" */
};

static const char module_id[] = "gnu:1b700ab56bff4136b7c92cfe7a92fa17ef09d874";

static int open_world(void **state)
{
	struct world *w = calloc(1, sizeof(*w));
	assert_non_null(w);
	make_server_open(&w->s, NULL, /* open_reading= */ true);
	make_server_key(&w->s, UX_SCOPE_ADMIN, "team", w->key);
	*state = w;
	return 0;
}

static int close_world(void **state)
{
	struct world *w = *state;
	make_server_close(&w->s);
	free(w);
	return 0;
}

static unsigned send_with(struct world *w, const char *method, const char *target,
			  const char *token, const char *const *headers, struct ux_bytes body,
			  struct make_answer *ret)
{
	*ret = make_server_ask(&w->s, &(struct make_ask){.method = method,
							 .target = target,
							 .token = token,
							 .headers = headers,
							 .body = body});
	ux_out_deinit(&ret->body);
	return ret->status;
}

/* The value of the only header of that name; fails when it is absent or repeated. */
static const char *only_field(const struct make_answer *a, const char *name, char text[256])
{
	char start[64];
	snprintf(start, sizeof(start), "%s: ", name);
	const char *at = strstr(a->fields, start);
	if (!at || strstr(at + 1, start))
		fail_msg("%s is %s:\n%s", name, at ? "repeated" : "absent", a->fields);
	at += strlen(start);
	snprintf(text, 256, "%.*s", (int)strcspn(at, "\n"), at);
	return text;
}

static void must_have(const struct make_answer *a, const char *name, const char *value)
{
	char text[256];
	if (strcmp(only_field(a, name, text), value) != 0)
		fail_msg("%s is \"%s\", expected \"%s\"", name, text, value);
}

/* "/v1/modules/{id}" with a name in place of each placeholder. */
static void fill_pattern(const char *pattern, char *target, size_t size)
{
	size_t n = 0;
	for (const char *p = pattern; *p != '\0' && n + 2 < size; p++) {
		target[n++] = *p == '{' ? 'x' : *p;
		if (*p == '{')
			p = strchr(p, '}');
	}
	target[n] = '\0';
}

static void send_to_route(struct world *w, const struct ux_route *route, const char *prefix,
			  const char *token, const char *header, struct make_answer *ret)
{
	const char *const headers[] = {header ? header : "Accept: */*",
				       "Sec-Fetch-Site: same-origin", NULL};
	char target[256];
	size_t n = (size_t)snprintf(target, sizeof(target), "%s", prefix);
	fill_pattern(route->pattern, target + n, sizeof(target) - n);
	send_with(w, ux_method_name(route->method), target, token, headers, UX_STR(""), ret);
}

static bool is_asset(const struct ux_route *route)
{
	return strcmp(route->pattern, "/assets/{name}") == 0;
}

static void answer_chosen_by_a_key_or_a_header_is_never_public_on_any_route(void **state)
{
	struct world *w = *state;
	char by_path[UX_TOKEN_SIZE + 8], text[256];
	snprintf(by_path, sizeof(by_path), "/k/%s", w->key);
	const struct {
		const char *prefix, *token, *header;
	} ways[] = {
		{"", w->key, NULL},
		{by_path, NULL, NULL},
		{"", NULL, "Unhex-Namespace: team"},
		{"", NULL, "Authorization: Basic eDp5"},
		{"", NULL, NULL},
	};
	for (size_t i = 0; i < ux_server_route_count; i++) {
		for (size_t k = 0; k < ux_countof(ways); k++) {
			const struct ux_route *route = &ux_server_routes[i];
			struct make_answer a;
			send_to_route(w, route, ways[k].prefix, ways[k].token, ways[k].header, &a);
			if (strstr(only_field(&a, "Cache-Control", text), "public"))
				fail_msg("%s, way %zu: %s", route->pattern, k, text);
			only_field(&a, "Referrer-Policy", text);
			if (ways[k].prefix[0] != '\0')
				assert_string_equal(text, "no-referrer");
			must_have(&a, "X-Content-Type-Options", "nosniff");
			if (route->scope != 0 && !is_asset(route))
				assert_non_null(
					strstr(only_field(&a, "Vary", text), "Unhex-Namespace"));
		}
	}
}

static void put_namespace(struct world *w, const char *name, enum ux_ns_reading reading)
{
	static const struct ux_who who = {.key_id = "", .from = "test"};
	struct ux_index *ix = w->s.store.index;
	const struct ux_namespace ns = {.name = name,
					.reading = reading,
					.retention_s = -1,
					.upstreams = "*",
					.description = ""};
	assert_int_equal(ix->namespaces.put(ix, &ns, &who, 1000, NULL), UX_OK);
}

static void put_gsym(struct world *w, const char *ns)
{
	static const struct ux_who who = {.key_id = "", .from = "test"};
	struct ux_bytes file = ux_bytes(make_gsym_example, MAKE_GSYM_EXAMPLE_SIZE);
	struct ux_blobs *b = w->s.store.blobs;
	struct ux_index *ix = w->s.store.index;
	struct ux_blob_part *part = NULL;
	uint64_t size = 0;
	const char *ids[] = {module_id};
	const struct ux_arrival what = {ns, ids, 1, false};
	const struct ux_candidate c = {.kind = UX_KIND_GSYM,
				       .blob = ux_blob_hash_of(file),
				       .size = file.size,
				       .quality = UX_QUALITY_LINES,
				       .reason = "",
				       .origin_name = "",
				       .description = "",
				       .file_name = "m",
				       .key_id = ""};
	struct ux_add_result r;
	assert_int_equal(b->part_open(b, "00000000000000000000000000000abc", &part, &size, NULL),
			 UX_OK);
	assert_int_equal(b->part_write(part, file, NULL), UX_OK);
	assert_int_equal(b->part_commit(part, &c.blob, NULL), UX_OK);
	b->part_close(part);
	assert_int_equal(ix->modules.add(ix, &what, &c, &who, 1000, &r, NULL), UX_OK);
}

static void file_is_public_only_where_everyone_gets_it(void **state)
{
	struct world *w = *state;
	struct make_answer a;
	char target[256], text[256];
	static const char *const none[] = {NULL}, *const named[] = {"Unhex-Namespace: team", NULL},
				 *const proxied[] = {"Via: 1.1 x", NULL};
	put_namespace(w, "team", UX_NS_OPEN);
	put_gsym(w, "default");
	put_gsym(w, "team");
	snprintf(target, sizeof(target), "/v1/gsym/%s", module_id);
	assert_int_equal(send_with(w, "GET", target, NULL, none, UX_STR(""), &a), 200);
	must_have(&a, "Cache-Control", "public, max-age=300");
	must_have(&a, "Vary", "Authorization, Cookie, Origin, Unhex-Namespace");
	/* 304 updates a cache's stored answer, so it has the same header */
	const char *tag = strstr(a.fields, "ETag: ");
	assert_non_null(tag);
	char if_none_match[128];
	snprintf(if_none_match, sizeof(if_none_match), "If-None-Match: %.*s",
		 (int)strcspn(tag + 6, "\n"), tag + 6);
	const char *const same[] = {if_none_match, NULL};
	assert_int_equal(send_with(w, "GET", target, NULL, same, UX_STR(""), &a), 304);
	must_have(&a, "Cache-Control", "public, max-age=300");
	assert_int_equal(send_with(w, "GET", target, w->key, same, UX_STR(""), &a), 304);
	must_have(&a, "Cache-Control", "private, no-cache");
	/* chosen by a key or a header, although the namespace is open */
	assert_int_equal(send_with(w, "GET", target, w->key, none, UX_STR(""), &a), 200);
	must_have(&a, "Cache-Control", "private, no-cache");
	assert_int_equal(send_with(w, "GET", target, NULL, named, UX_STR(""), &a), 200);
	must_have(&a, "Cache-Control", "private, no-cache");
	snprintf(target, sizeof(target), "/k/%s/v1/gsym/%s", w->key, module_id);
	assert_int_equal(send_with(w, "GET", target, NULL, none, UX_STR(""), &a), 200);
	must_have(&a, "Cache-Control", "private, no-cache");
	/* the URL names it, and everyone gets it */
	snprintf(target, sizeof(target), "/n/team/v1/gsym/%s", module_id);
	assert_int_equal(send_with(w, "GET", target, NULL, none, UX_STR(""), &a), 200);
	must_have(&a, "Cache-Control", "public, max-age=300");
	/* open only to this machine */
	w->s.server.local_only = true;
	snprintf(target, sizeof(target), "/v1/gsym/%s", module_id);
	assert_int_equal(send_with(w, "GET", target, NULL, none, UX_STR(""), &a), 200);
	must_have(&a, "Cache-Control", "private, no-cache");
	assert_int_equal(send_with(w, "GET", target, NULL, proxied, UX_STR(""), &a), 401);
	must_have(&a, "Cache-Control", "no-store");
	only_field(&a, "Vary", text);
}

static void errors_are_stored_by_no_cache_and_tell_no_site_their_url(void **state)
{
	struct world *w = *state;
	char target[256];
	static const char *const targets[] = {"/nosuch",
					      "//k/ux_x/nosuch",
					      "/v1/modules?%zz",
					      "/v1/modules/not%20an%20id",
					      "/v1/uploads",
					      "/k/%zz/nosuch",
					      "/k/ux_wrong/nosuch",
					      "/assets/nosuch",
					      "/n/UP/status",
					      "/v1/gsym/gnu:00"};
	static const char *const none[] = {NULL};
	struct make_answer a;
	for (size_t i = 0; i <= ux_countof(targets); i++) {
		if (i < ux_countof(targets))
			snprintf(target, sizeof(target), "%s", targets[i]);
		else
			snprintf(target, sizeof(target), "/k/%s/nosuch", w->key);
		unsigned status = send_with(w, "GET", target, NULL, none, UX_STR(""), &a);
		assert_true(status >= 400);
		must_have(&a, "Cache-Control", "no-store");
		must_have(&a, "Referrer-Policy", "no-referrer");
	}
	assert_true(send_with(w, "BREW", "/v1/modules", NULL, none, UX_STR(""), &a) >= 400);
	must_have(&a, "Cache-Control", "no-store");
}

/* A form on an error page must have an Origin, which browsers take from the referrer policy. */
static void page_keeps_its_referrer_within_the_server(void **state)
{
	struct world *w = *state;
	struct make_answer a;
	char target[128];
	static const char *const browser[] = {"Accept: text/html", NULL};
	assert_int_equal(send_with(w, "GET", "/modules", NULL, browser, UX_STR(""), &a), 200);
	must_have(&a, "Referrer-Policy", "same-origin");
	must_have(&a, "Cache-Control", "no-store");
	must_have(&a, "Vary", "Accept, Authorization, Cookie, Unhex-Namespace");
	w->s.server.open_reading = false;
	assert_int_equal(send_with(w, "GET", "/modules", NULL, browser, UX_STR(""), &a), 401);
	must_have(&a, "Referrer-Policy", "same-origin");
	snprintf(target, sizeof(target), "/k/%s/nosuch", w->key);
	assert_int_equal(send_with(w, "GET", target, NULL, browser, UX_STR(""), &a), 404);
	must_have(&a, "Referrer-Policy", "no-referrer");
}

static void parts_of_the_program_are_the_same_for_all(void **state)
{
	struct world *w = *state;
	struct make_answer a;
	char target[160];
	static const char *const none[] = {NULL};
	assert_int_equal(send_with(w, "GET", "/assets/style.css", w->key, none, UX_STR(""), &a),
			 200);
	must_have(&a, "Cache-Control", "no-cache");
	assert_null(strstr(a.fields, "Vary: "));
	snprintf(target, sizeof(target), "/k/%s/assets/style.css", w->key);
	assert_int_equal(send_with(w, "GET", target, NULL, none, UX_STR(""), &a), 200);
	must_have(&a, "Cache-Control", "private, no-cache");
}

#define HEADER_TEST(fn) cmocka_unit_test_setup_teardown(fn, open_world, close_world)

UX_SUITE(answer_headers)
{
	const struct CMUnitTest tests[] = {
		HEADER_TEST(answer_chosen_by_a_key_or_a_header_is_never_public_on_any_route),
		HEADER_TEST(file_is_public_only_where_everyone_gets_it),
		HEADER_TEST(errors_are_stored_by_no_cache_and_tell_no_site_their_url),
		HEADER_TEST(page_keeps_its_referrer_within_the_server),
		HEADER_TEST(parts_of_the_program_are_the_same_for_all),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
