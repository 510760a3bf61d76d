/* SPDX-License-Identifier: Apache-2.0 */
/* web: pages, without a socket. */
#include "sweep.h"

#include "make_gsym.h"
#include "make_server.h"
#include "page.h"
#include "pages.h"

#include <ctype.h>

static struct make_answer ask(struct make_server *s, const char *method, const char *target,
			      const char *token, const char *body)
{
	const struct make_ask a = {.method = method,
				   .target = target,
				   .token = token,
				   .accept = "text/html",
				   .body = ux_bytes_cstr(body)};
	return make_server_ask(s, &a);
}

static bool has(const struct make_answer *a, const char *text)
{
	return a->body.size > 0 && memmem(a->body.data, a->body.size, text, strlen(text));
}

/* Whether the element has no end tag. */
static bool is_void(struct ux_bytes name)
{
	static const char *const names[] = {"meta", "link", "input", "br", "hr", "img"};
	for (size_t i = 0; i < ux_countof(names); i++)
		if (ux_bytes_eq(name, ux_bytes_cstr(names[i])))
			return true;
	return false;
}

/* Each element that begins also ends, in the right order. */
static void assert_elements_end(const char *target, struct ux_bytes page)
{
	struct ux_bytes open[64];
	size_t n = 0;
	const char *p = (const char *)page.data, *end = p + page.size;
	while ((p = memchr(p, '<', (size_t)(end - p)))) {
		bool ends = ++p < end && *p == '/';
		const char *name = p + ends;
		size_t size = 0;
		while (name + size < end && isalnum((unsigned char)name[size]))
			size++;
		/* A text in quotes may have a '>'. */
		for (char quote = '\0'; p < end && (quote || *p != '>'); p++)
			quote = quote ? (*p == quote ? '\0' : quote) : *p == '"' ? *p : '\0';
		struct ux_bytes element = ux_bytes(name, size);
		if (size == 0 || is_void(element) || p[-1] == '/') /* <!DOCTYPE, or no content */
			continue;
		if (!ends && n == ux_countof(open))
			fail_msg("%s: elements are too deep", target);
		if (!ends)
			open[n++] = element;
		else if (n == 0 || !ux_bytes_eq(open[--n], element))
			fail_msg("%s: </%.*s> ends '%.*s'", target, (int)size, name,
				 n > 0 ? (int)open[n].size : 0, (const char *)open[n].data);
	}
	if (n > 0)
		fail_msg("%s: <%.*s> does not end", target, (int)open[n - 1].size,
			 (const char *)open[n - 1].data);
}

/* Checks the page's status, and that the page is complete. */
static void shows(struct make_server *s, const char *method, const char *target, const char *token,
		  const char *body, unsigned status, const char *text)
{
	struct make_answer a = ask(s, method, target, token, body);
	if (a.status != status || !has(&a, text) || !has(&a, "</html>"))
		fail_msg("%s: %u, %.*s", target, a.status, (int)a.body.size, (char *)a.body.data);
	assert_elements_end(target, ux_out_bytes(&a.body));
	ux_out_deinit(&a.body);
}

static const struct {
	const char *method, *target, *body;
} pages[] = {
	{"GET", "/", ""},
	{"GET", "/modules", ""},
	{"GET", "/modules/go:x", ""},
	{"GET", "/modules/go:x/functions", ""},
	{"GET", "/modules/go:x/functions?q=f", ""},
	{"GET", "/modules/go:x/sources", ""},
	{"GET", "/modules/go:x/sources?dir=/no/such", ""},
	{"GET", "/search?q=x", ""},
	{"GET", "/search?q=x&what=functions&in=x&quality=lines&days=7", ""},
	{"GET", "/search?q=00", ""},
	{"GET", "/symbolize", ""},
	{"POST", "/symbolize", "id=go%3Ax&text=0x401000%0A%2Fa.so%2B0x1&ra=1"},
	{"POST", "/symbolize",
	 "text=%230%200x401000%20n%2Fa%20%28a.so%20%2B%200x1%29&use=a.so%20go:x"},
	{"GET", "/symbolize?stack=go:x@401000,401001;go:y@1", ""},
	{"GET", "/frame?id=go:x&addr=0x401000", ""},
	{"GET", "/explain", ""},
	{"GET", "/explain?id=go:x&addr=0x401000", ""},
	{"GET", "/uploads", ""},
	{"GET", "/status", ""},
	{"GET", "/sign-in?next=%2Fstatus", ""},
	{"GET", "/keys", ""},
	{"POST", "/keys", "namespace=default&read=on&expires=90d"},
	{"GET", "/nowhere", ""},
};

static enum ux_code ask_all(void *ctx)
{
	struct make_server *s = ctx;
	unsigned failed = 0;
	for (size_t i = 0; i < ux_countof(pages); i++) {
		/* The form that makes a key would make each run show one key more than the previous
		 * one. */
		bool makes = strcmp(pages[i].target, "/keys") == 0 && *pages[i].body;
		struct make_answer a = ask(s, pages[i].method, pages[i].target, s->admin,
					   makes ? "namespace=default" : pages[i].body);
		assert_true(a.status == (makes ? 400 : 200) || a.status == 404 || a.status == 500 ||
			    a.status == 503);
		failed += a.status >= 500;
		ux_out_deinit(&a.body);
	}
	return failed > 0 ? UX_ENOMEM : UX_OK;
}

static void page_without_memory_is_an_error_and_no_half_of_one(void **state)
{
	struct make_server *s = *state;
	assert_true(each_failed_alloc(ask_all, s, /* may_recover= */ true) > 20);
}

static void each_page_is_shown_and_keyed_where_reading_is(void **state)
{
	struct make_server *s = *state;
	for (size_t i = 0; i < ux_countof(pages); i++) {
		bool gone = strcmp(pages[i].target, "/nowhere") == 0;
		if (strcmp(pages[i].target, "/keys") == 0) { /* only for administrators */
			shows(s, pages[i].method, "/keys", NULL, pages[i].body, 401,
			      "name=\"token\"");
			shows(s, pages[i].method, "/keys", s->admin, pages[i].body, 200, "<h1");
			continue;
		}
		shows(s, pages[i].method, pages[i].target, NULL, pages[i].body, gone ? 404 : 200,
		      "<h1");
	}
	s->server.open_reading = false;
	shows(s, "GET", "/modules", NULL, "", 401, "name=\"token\"");
	shows(s, "GET", "/uploads?x=%3C%22", NULL, "", 401, "value=\"/uploads?x=%3C%22\"");
	shows(s, "GET", "/modules", s->admin, "", 200, "<h1");
	struct make_answer a = ask(s, "GET", "/", NULL, "");
	assert_int_equal(a.status, 303);
	assert_string_equal(a.location, "/sign-in");
	ux_out_deinit(&a.body);
}

static void forms_that_are_no_forms_are_refused(void **state)
{
	struct make_server *s = *state;
	char *big = malloc(UX_FORM_BODY_MAX + 2);
	memset(big, 'x', UX_FORM_BODY_MAX + 1);
	big[UX_FORM_BODY_MAX + 1] = '\0';
	shows(s, "POST", "/symbolize", NULL, big, 413, "exceeds");
	free(big);
	shows(s, "POST", "/symbolize", NULL, "text=%zz", 400, "escape");
	char many[2 * UX_FORM_FIELDS_MAX + 2];
	for (size_t i = 0; i <= UX_FORM_FIELDS_MAX; i++)
		memcpy(&many[2 * i], "a&", 2);
	many[sizeof(many) - 1] = '\0';
	shows(s, "POST", "/symbolize", NULL, many, 413, "fields");
	shows(s, "GET", "/symbolize?stack=0x12", NULL, "", 400, "stack");
	shows(s, "GET", "/symbolize?stack=go:x@xyz", NULL, "", 400, "stack");
	shows(s, "GET", "/frame?id=go:x", NULL, "", 400, "addr");
	shows(s, "GET", "/frame?id=go:none&addr=0x1", NULL, "", 404, "<h1");
	shows(s, "POST", "/symbolize", NULL, "id=!&text=0x1", 400, "<h1");
	shows(s, "POST", "/symbolize", NULL, "", 200, "No frame was found");
	shows(s, "POST", "/sign-in", NULL, "token=x", 403, "page of this server");
	shows(s, "POST", "/sign-out", NULL, "", 403, "page of this server");
}

static void prefix_of_a_request_is_in_all_links_of_its_page(void **state)
{
	struct make_server *s = *state;
	struct make_answer a = ask(s, "GET", "/n/default/modules/go:x", NULL, "");
	assert_int_equal(a.status, 200);
	for (const char *p = (char *)a.body.data, *end = p + a.body.size;
	     (p = memmem(p, (size_t)(end - p), "=\"/", 3)); p++)
		if (memcmp(p - 4, "href", 4) == 0 || memcmp(p - 6, "action", 6) == 0)
			assert_memory_equal(p + 2, "/n/default/", 11);
	ux_out_deinit(&a.body);
	a = ask(s, "GET", "/n/default/search?q=go:x", NULL, "");
	assert_int_equal(a.status, 303);
	assert_string_equal(a.location, "/n/default/modules/go:x");
	ux_out_deinit(&a.body);
}

static size_t count(const struct make_answer *a, const char *text)
{
	size_t n = 0;
	const char *p = (const char *)a->body.data, *end = p + a->body.size;
	for (; (p = memmem(p, (size_t)(end - p), text, strlen(text))); p++)
		n++;
	return n;
}

static void page_of_a_module_says_where_it_came_from(void **state)
{
	struct make_server *s = *state;
	struct ux_index *ix = s->store.index;
	char from[64], other[UX_TOKEN_SIZE];
	int64_t module = 0;
	bool marked = false;
	make_server_key(s, UX_SCOPE_READ, NULL, other);
	assert_int_equal(ix->modules.number(ix, UX_NAMESPACE_DEFAULT, "go:x", &module, NULL),
			 UX_OK);
	struct make_answer a = ask(s, "GET", "/modules/go:x", s->admin, "");
	char id[UX_KEY_ID_SIZE];
	ux_token_id(ux_bytes_cstr(s->admin), id);
	snprintf(from, sizeof(from), "<span>key <code>%s</code></span>", id);
	/* of the candidate, and of the line of the history */
	assert_int_equal(count(&a, from), 2);
	assert_true(has(&a, "<h2 id=\"history\">") && has(&a, "<b>upload</b>"));
	assert_true(has(&a, ">last used<") && !has(&a, "unused since"));
	assert_true(has(&a, "<span>from "));
	ux_out_deinit(&a.body);
	/* Addresses are only for administrators. */
	a = ask(s, "GET", "/modules/go:x", other, "");
	assert_true(has(&a, "<b>upload</b>") && !has(&a, "<span>from "));
	ux_out_deinit(&a.body);
	const ux_time later = ux_store_now(&s->store) + 1000;
	assert_int_equal(ix->modules.mark(ix, module, later, later, &marked, NULL), UX_OK);
	assert_true(marked);
	a = ask(s, "GET", "/modules/go:x", NULL, "");
	assert_true(has(&a, ">unused since<"));
	ux_out_deinit(&a.body);
}

/* They reveal the programs that the hosts of a namespace run. */
static void missing_modules_are_shown_to_keys_of_their_namespace_alone(void **state)
{
	struct make_server *s = *state;
	char theirs[UX_TOKEN_SIZE];
	make_server_key(s, UX_SCOPE_READ, "theirs", theirs);
	struct make_answer a = ask(s, "GET", "/v1/symbolize/gnu:00aa?addr=0x1", s->admin, "");
	ux_out_deinit(&a.body);
	a = ask(s, "GET", "/status", s->admin, "");
	assert_true(has(&a, "gnu:00aa") && has(&a, "1 request,"));
	ux_out_deinit(&a.body);
	a = ask(s, "GET", "/status", theirs, "");
	assert_true(a.status == 200 && !has(&a, "gnu:00aa"));
	ux_out_deinit(&a.body);
	a = ask(s, "GET", "/status", NULL, "");
	assert_true(a.status == 200 && !has(&a, "gnu:00aa") && !has(&a, "id=\"misses\""));
	ux_out_deinit(&a.body);
}

static void jobs_of_a_namespace_are_shown_to_it_alone(void **state)
{
	struct make_server *s = *state;
	struct ux_index *ix = s->store.index;
	int64_t number = 0;
	static const struct ux_job specs[] = {
		{.kind = "fetch", .subject = "of-ours", .ns = UX_NAMESPACE_DEFAULT, .payload = ""},
		{.kind = "fetch", .subject = "of-theirs", .ns = "theirs", .payload = ""},
	};
	struct make_answer a = ask(s, "GET", "/uploads", NULL, "");
	assert_false(has(&a, "<h2>Jobs</h2>"));
	ux_out_deinit(&a.body);
	for (size_t i = 0; i < ux_countof(specs); i++)
		assert_int_equal(ix->jobs.add(ix, &specs[i], 1, &number, NULL), UX_OK);
	a = ask(s, "GET", "/uploads", NULL, "");
	assert_true(has(&a, "<h2>Jobs</h2>") && has(&a, "of-ours") && !has(&a, "of-theirs"));
	ux_out_deinit(&a.body);
}

static struct make_answer sign_in(struct make_server *s, const char *body)
{
	static const char *const headers[] = {"Sec-Fetch-Site: same-origin", NULL};
	return make_server_ask(s, &(struct make_ask){.method = "POST",
						     .target = "/sign-in",
						     .accept = "text/html",
						     .headers = headers,
						     .body = ux_bytes_cstr(body)});
}

static void a_token_begins_a_session_and_another_text_does_not(void **state)
{
	struct make_server *s = *state;
	char body[128], cookie[256];
	s->server.open_reading = false;
	struct make_answer a = sign_in(s, "token=ux_no-token&next=%2Fstatus");
	assert_int_equal(a.status, 401);
	assert_true(has(&a, "role=\"alert\"") && has(&a, "value=\"/status\""));
	assert_null(strstr(a.fields, "Set-Cookie"));
	ux_out_deinit(&a.body);
	snprintf(body, sizeof(body), "token=%s&next=%%2Fstatus", s->admin);
	a = sign_in(s, body);
	assert_int_equal(a.status, 303);
	assert_string_equal(a.location, "/status");
	const char *set = strstr(a.fields, "Set-Cookie: ");
	assert_non_null(set);
	snprintf(cookie, sizeof(cookie), "Cookie: %.*s",
		 (int)strcspn(set + strlen("Set-Cookie: "), ";"), set + strlen("Set-Cookie: "));
	ux_out_deinit(&a.body);
	const char *headers[] = {cookie, NULL};
	struct make_ask status = {
		.method = "GET", .target = "/status", .accept = "text/html", .headers = headers};
	a = make_server_ask(s, &status);
	assert_int_equal(a.status, 200);
	ux_out_deinit(&a.body);
	cookie[strlen(cookie) - 1] ^= 1;
	a = make_server_ask(s, &status);
	assert_int_equal(a.status, 401);
	ux_out_deinit(&a.body);
}

static size_t count_keys(struct make_server *s)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_key_list list;
	struct ux_index *ix = s->store.index;
	assert_int_equal(ix->keys.list(ix, &arena, &list, NULL), UX_OK);
	return list.n;
}

static void a_form_that_is_wrong_makes_no_key(void **state)
{
	struct make_server *s = *state;
	const size_t before = count_keys(s);
	shows(s, "POST", "/keys", s->admin, "read=on&expires=soon", 400, "the end");
	shows(s, "POST", "/keys", s->admin, "namespace=default", 400, "scope");
	shows(s, "POST", "/keys", s->admin, "read=on&namespace=No%20name", 400, "<h1");
	assert_int_equal(count_keys(s), before);
	shows(s, "POST", "/keys", s->admin, "read=on&description=for+tests&expires=2d", 200,
	      "it is not shown again");
	shows(s, "GET", "/keys", s->admin, "", 200, "for tests");
	assert_int_equal(count_keys(s), before + 1);
	struct make_answer a = ask(s, "GET", "/keys", s->admin, "");
	assert_false(has(&a, "it is not shown again"));
	ux_out_deinit(&a.body);
}

static void a_key_has_the_scopes_that_were_asked_for(void **state)
{
	struct make_server *s = *state;
	static const struct {
		const char *body, *word;
		unsigned status;
	} cases[] = {
		{"{\"scopes\":[]}", "needs a scope", 400},
		{"{}", "scopes", 400},
		{"{\"scopes\":[\"read,upload\"]}", "expected names of scopes", 400},
		{"{\"scopes\":[7]}", "expected names of scopes", 400},
		{"{\"scopes\":[\"fly\"]}", "expected names of scopes", 400},
		{"{\"scopes\":[\"read\"],\"expires\":\"soon\"}", "expires", 400},
		{"{\"scopes\":[\"read\",\"upload\"],\"description\":\"d\",\"rate\":7}",
		 "[\"read\",\"upload\"]", 201},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		const size_t before = count_keys(s);
		struct make_answer a = ask(s, "POST", "/v1/keys", s->admin, cases[i].body);
		if (a.status != cases[i].status || !has(&a, cases[i].word))
			fail_msg("%s: %u %.*s", cases[i].body, a.status, (int)a.body.size,
				 (const char *)a.body.data);
		assert_int_equal(count_keys(s), before + (a.status == 201));
		ux_out_deinit(&a.body);
	}
}

static void explanation_shows_what_upstreams_said(void **state)
{
	struct make_server *s = *state;
	static const char text[] =
		"{\"id\":\"gnu:00\",\"status\":\"missing\",\"ids\":[],\"candidates\":[],"
		"\"advice\":[],\"upstreams\":[{\"name\":\"<debian>\",\"kind\":\"debuginfod\","
		"\"state\":\"in use\",\"suspended_for_s\":7,\"answers\":[{\"artifact\":"
		"\"debuginfo\",\"outcome\":\"absent\",\"status\":404,\"says\":\"not & found\","
		"\"queried\":\"2026-08-21T10:00:00Z\",\"took_ms\":12}]}]}";
	static const char *const words[] = {"&lt;debian&gt;", "suspended for 7 s", "status 404",
					    "not &amp; found", "in 12 ms"};
	struct ux_caller caller = {.key_id = "", .ns = UX_NAMESPACE_DEFAULT};
	struct ux_request req = {.app = &s->server, .caller = &caller, .err = UX_ERROR_INIT};
	struct ux_response res = {.fd = -1};
	struct make_answer a = {0};
	ux_arena_init(&req.arena, 1 << 20);
	json_t *doc = json_loads(text, 0, NULL);
	assert_non_null(doc);
	assert_int_equal(ux_web_explain(&req, &res, doc), UX_OK);
	a.body = req.out;
	for (size_t i = 0; i < ux_countof(words); i++)
		assert_true(has(&a, words[i]));
	json_decref(doc);
	ux_out_deinit(&req.out);
	ux_arena_deinit(&req.arena);
}

static void send_example(struct make_server *s)
{
	char body[256], hash[65], target[96];
	const struct ux_bytes bytes = ux_bytes(make_gsym_example, MAKE_GSYM_EXAMPLE_SIZE);
	struct ux_blob_hash h = ux_blob_hash_of(bytes);
	ux_blob_hash_text(&h, hash);
	snprintf(body, sizeof(body),
		 "{\"ids\":[\"go:x\"],\"size\":%d,\"sha256\":\"%s\",\"file\":\"/usr/bin/<x>\"}",
		 MAKE_GSYM_EXAMPLE_SIZE, hash);
	struct make_answer a = ask(s, "POST", "/v1/uploads", s->admin, body);
	assert_int_equal(a.status, 201);
	ux_out_deinit(&a.body);
	snprintf(target, sizeof(target), "%s", a.location);
	a = make_server_ask(
		s, &(struct make_ask){
			   .method = "PUT", .target = target, .token = s->admin, .body = bytes});
	assert_int_equal(a.status, 200);
	ux_out_deinit(&a.body);
	snprintf(target + strlen(target), sizeof(target) - strlen(target), "/finish");
	a = ask(s, "POST", target, s->admin, "");
	assert_int_equal(a.status, 200);
	ux_out_deinit(&a.body);
}

static int open_server(void **state)
{
	struct make_server *s = malloc(sizeof(*s));
	make_server_open(s, NULL, /* open_reading= */ true);
	send_example(s);
	*state = s;
	return 0;
}

static int close_server(void **state)
{
	make_server_close(*state);
	free(*state);
	return 0;
}

#define SERVER_TEST(fn) cmocka_unit_test_setup_teardown(fn, open_server, close_server)

UX_SUITE(pages)
{
	const struct CMUnitTest tests[] = {
		SERVER_TEST(page_of_a_module_says_where_it_came_from),
		SERVER_TEST(jobs_of_a_namespace_are_shown_to_it_alone),
		SERVER_TEST(missing_modules_are_shown_to_keys_of_their_namespace_alone),
		SERVER_TEST(a_token_begins_a_session_and_another_text_does_not),
		SERVER_TEST(a_form_that_is_wrong_makes_no_key),
		SERVER_TEST(a_key_has_the_scopes_that_were_asked_for),
		SERVER_TEST(each_page_is_shown_and_keyed_where_reading_is),
		SERVER_TEST(forms_that_are_no_forms_are_refused),
		SERVER_TEST(prefix_of_a_request_is_in_all_links_of_its_page),
		SERVER_TEST(explanation_shows_what_upstreams_said),
		SERVER_TEST(page_without_memory_is_an_error_and_no_half_of_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
