/* SPDX-License-Identifier: Apache-2.0 */
/* Requests while one statement of the index fails: the answer is an error, and never half of one.
 */
#include "sweep.h"

#include "make_gsym.h"
#include "make_server.h"

#include <sqlite3.h>

/* The linker gives the store __wrap_, and __real_ is SQLite's. */
int __wrap_sqlite3_step(sqlite3_stmt *st);
int __real_sqlite3_step(sqlite3_stmt *st);

static unsigned n_steps, fails_at; /* the step that fails, counted from 1; 0: none */

int __wrap_sqlite3_step(sqlite3_stmt *st)
{
	const char *sql = sqlite3_sql(st);
	if (sql && strcmp(sql, "ROLLBACK") == 0) /* SQLite's own does not fail */
		return __real_sqlite3_step(st);
	return ++n_steps == fails_at ? SQLITE_IOERR : __real_sqlite3_step(st);
}

#define HEX "1b700ab56bff4136b7c92cfe7a92fa17ef09d874"
#define ID  "gnu:" HEX

static void send_example(struct make_server *s)
{
	char body[256], hash[65], target[96];
	const struct ux_bytes bytes = ux_bytes(make_gsym_example, MAKE_GSYM_EXAMPLE_SIZE);
	struct ux_blob_hash h = ux_blob_hash_of(bytes);
	ux_blob_hash_text(&h, hash);
	snprintf(body, sizeof(body), "{\"ids\":[\"%s\"],\"size\":%d,\"sha256\":\"%s\"}", ID,
		 MAKE_GSYM_EXAMPLE_SIZE, hash);
	struct make_ask ask = {.method = "POST",
			       .target = "/v1/uploads",
			       .token = s->admin,
			       .body = ux_bytes_cstr(body)};
	struct make_answer a = make_server_ask(s, &ask);
	assert_int_equal(a.status, 201);
	ux_out_deinit(&a.body);
	snprintf(target, sizeof(target), "%s", a.location);
	ask = (struct make_ask){
		.method = "PUT", .target = target, .token = s->admin, .body = bytes};
	a = make_server_ask(s, &ask);
	assert_int_equal(a.status, 200);
	ux_out_deinit(&a.body);
	snprintf(target + strlen(target), sizeof(target) - strlen(target), "/finish");
	ask = (struct make_ask){.method = "POST", .target = target, .token = s->admin};
	a = make_server_ask(s, &ask);
	assert_int_equal(a.status, 200);
	ux_out_deinit(&a.body);
}

static void send_profile(struct make_server *s)
{
	const struct make_ask ask = {.method = "POST",
				     .target = "/v1/profiles?service=svc",
				     .token = s->admin,
				     .body = UX_STR("main;work 5\nmain;idle 3\n")};
	struct make_answer a = make_server_ask(s, &ask);
	assert_int_equal(a.status, 201);
	ux_out_deinit(&a.body);
}

static int open_server(void **state)
{
	struct make_server *s = malloc(sizeof(*s));
	assert_non_null(s);
	fails_at = 0;
	make_server_open(s, NULL, /* open_reading= */ true);
	send_example(s);
	send_profile(s);
	*state = s;
	return 0;
}

static int close_server(void **state)
{
	fails_at = 0;
	make_server_close(*state);
	free(*state);
	return 0;
}

/* Addresses that are looked up together. */
#define EIGHT "0x401000+0x401001+0x401002+0x401003+0x401004+0x401005+0x401006+0x401007"
#define MANY  EIGHT "+" EIGHT "+" EIGHT "+" EIGHT "+" EIGHT "+" EIGHT "+" EIGHT "+" EIGHT

static const struct {
	const char *method, *target, *body;
	const char *accept;
	const char *instead; /* a text that differs in an answer without an error */
} requests[] = {
	{"GET", "/readyz", "", NULL},
	{"GET", "/v1/whoami", "", NULL},
	{"POST", "/v1/query", "{\"ids\":[\"" ID "\"]}", NULL},
	{"POST", "/v1/symbolize",
	 "{\"modules\":[{\"id\":\"" ID "\",\"addresses\":[\"0x401007\"]}]}", NULL,
	 "\"status\":\"failed\""},
	{"GET", "/v1/symbolize/" ID "?addr=0x401007", "", NULL, "\"status\":\"failed\""},
	{"POST", "/pprof/" ID "/symbol", MANY, NULL},
	{"GET", "/v1/modules", "", NULL},
	{"GET", "/v1/modules/" ID, "", NULL},
	{"GET", "/v1/audit", "", NULL},
	{"GET", "/v1/keys", "", NULL},
	{"GET", "/buildid/" HEX "/debuginfo", "", NULL},
	{"GET", "/buildid/" HEX "/source/a.c", "", NULL},
	{"GET", "/metadata?key=glob&value=*", "", NULL},
	{"POST", "/symbolicate/v5",
	 "{\"memoryMap\":[[\"m\",\"B50A701BFF6B3641B7C92CFE7A92FA170\"]],\"stacks\":[[[0,4103]]]}",
	 NULL, "\"m/B50A701BFF6B3641B7C92CFE7A92FA170\":false"},
	{"POST", "/pprof/" ID "/symbol", "0x401007", NULL},
	{"GET", "/v1/explain/" ID "?addr=0x401007", "", NULL},
	{"GET", "/v1/gsym/" ID, "", NULL},
	{"POST", "/v1/crawl/packages",
	 "{\"repository\":\"r\",\"complete\":true,\"state\":{\"etag\":\"x\"},\"packages\":[{"
	 "\"key\":\"k\",\"url\":\"http://a/k\",\"kind\":\"deb\",\"role\":\"debug\","
	 "\"build_ids\":[\"" ID "\"]}]}",
	 NULL},
	{"POST", "/v1/crawl/jobs/take", "{\"worker\":\"w\",\"lease_s\":5}", NULL},
	{"GET", "/v1/crawl/repositories", "", NULL},
	{"GET", "/v1/crawl/status", "", NULL},
	{"GET", "/crawl", "", "text/html"},
	{"GET", "/v1/profiles", "", NULL},
	{"GET", "/v1/profiles/services", "", NULL},
	{"GET", "/v1/profiles/merged?service=svc&format=folded", "", NULL},
	{"GET", "/p/1/pprof/profile", "", NULL},
	{"POST", "/p/1/pprof/symbol", "0x1+0x2", NULL},
	{"GET", "/profiles/svc", "", "text/html"},
	{"GET", "/profiles/svc/picture", "", NULL},
	{"GET", "/", "", "text/html", ""}, /* the way to sign in */
	{"GET", "/modules", "", "text/html"},
	{"GET", "/modules/" ID, "", "text/html"},
	{"GET", "/search?q=*", "", "text/html"},
	{"POST", "/symbolize", "id=" HEX "&text=0x401007", "text/html", "<p class=\"why\">"},
	{"GET", "/explain?id=" ID "&addr=0x401007", "", "text/html"},
	{"GET", "/uploads", "", "text/html"},
	{"GET", "/status", "", "text/html"},
	{"GET", "/keys", "", "text/html"},
};

/* The server no longer remembers any caller. */
static void forget_callers(struct make_server *s)
{
	ux_gate_destroy(s->server.gate);
	assert_int_equal(ux_gate_create(&s->server.gate, NULL, NULL), UX_OK);
}

/* Sends a request as if nothing of the module were in memory. */
static struct make_answer send_request(struct make_server *s, size_t i)
{
	const struct make_ask ask = {.method = requests[i].method,
				     .target = requests[i].target,
				     .accept = requests[i].accept,
				     .token = s->admin,
				     .body = ux_bytes_cstr(requests[i].body)};
	ux_module_cache_evict_id(s->server.cache, UX_NAMESPACE_DEFAULT, ID);
	n_steps = 0;
	return make_server_ask(s, &ask);
}

/* Fails unless the answer is an error, equals the one without a fault, or names the failure. */
static void assert_no_half(size_t i, const struct make_answer *whole, struct make_answer *a,
			   const char *what)
{
	const char *instead = requests[i].instead;
	bool same =
		a->status == whole->status && a->body.size == whole->body.size &&
		(a->body.size == 0 || memcmp(a->body.data, whole->body.data, a->body.size) == 0);
	if (same || a->status >= 500 || (a->status >= 400 && a->status == whole->status))
		return;
	if (instead &&
	    (instead[0] == '\0' || memmem(a->body.data, a->body.size, instead, strlen(instead))))
		return;
	fail_msg("%s %s: %s: %u %.*s", requests[i].method, requests[i].target, what, a->status,
		 (int)a->body.size, (const char *)a->body.data);
}

static void a_statement_that_fails_gives_an_error_or_the_same_answer(void **state)
{
	struct make_server *s = *state;
	for (size_t i = 0; i < ux_countof(requests); i++) {
		forget_callers(s);
		struct make_answer whole = send_request(s, i);
		const unsigned n = n_steps;
		for (unsigned k = 1; k <= n; k++) {
			char what[64];
			snprintf(what, sizeof(what), "statement %u of %u fails", k, n);
			forget_callers(s);
			fails_at = k;
			struct make_answer a = send_request(s, i);
			fails_at = 0;
			assert_no_half(i, &whole, &a, what);
			ux_out_deinit(&a.body);
		}
		ux_out_deinit(&whole.body);
	}
}

struct request {
	struct make_server *s;
	size_t i;
	struct make_answer whole;
};

static enum ux_code send_and_compare(void *ctx)
{
	struct request *r = ctx;
	struct make_answer a = send_request(r->s, r->i);
	enum ux_code code = a.status < 500 ? UX_OK : UX_ENOMEM;
	if (ux_out_status(&a.body, NULL) == UX_OK) /* the test had memory for it */
		assert_no_half(r->i, &r->whole, &a, "there is no memory");
	ux_out_deinit(&a.body);
	return code;
}

static void an_allocation_that_fails_gives_an_error_or_the_same_answer(void **state)
{
	for (size_t i = 0; i < ux_countof(requests); i++) {
		struct request r = {.s = *state, .i = i, .whole = send_request(*state, i)};
		(void)each_failed_alloc(send_and_compare, &r, /* may_recover= */ true);
		ux_out_deinit(&r.whole.body);
	}
}

UX_SUITE(server_faults)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_statement_that_fails_gives_an_error_or_the_same_answer, open_server,
			close_server),
		cmocka_unit_test_setup_teardown(
			an_allocation_that_fails_gives_an_error_or_the_same_answer, open_server,
			close_server),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
