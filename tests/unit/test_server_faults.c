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
	if (sql && strcmp(sql, "ROLLBACK") == 0) /* SQLite's does not fail */
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

static int open_server(void **state)
{
	struct make_server *s = malloc(sizeof(*s));
	assert_non_null(s);
	fails_at = 0;
	make_server_open(s, NULL, /* open_reading= */ true);
	send_example(s);
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

static const struct {
	const char *method, *target, *body;
	const char *accept;
	const char *instead; /* what an answer without an error has that is not the same */
} requests[] = {
	{"GET", "/readyz", "", NULL},
	{"GET", "/v1/whoami", "", NULL},
	{"POST", "/v1/query", "{\"ids\":[\"" ID "\"]}", NULL},
	{"POST", "/v1/symbolize",
	 "{\"modules\":[{\"id\":\"" ID "\",\"addresses\":[\"0x401007\"]}]}", NULL,
	 "\"status\":\"failed\""},
	{"GET", "/v1/symbolize/" ID "?addr=0x401007", "", NULL, "\"status\":\"failed\""},
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

/* Asks as if nothing of the module were in memory. */
static struct make_answer send_request(struct make_server *s, size_t i)
{
	const struct make_ask ask = {.method = requests[i].method,
				     .target = requests[i].target,
				     .accept = requests[i].accept,
				     .token = s->admin,
				     .body = ux_bytes_cstr(requests[i].body)};
	ux_module_cache_evict_id(s->server.cache, UX_NAMESPACE_DEFAULT, ID);
	ux_gate_destroy(s->server.gate);
	assert_int_equal(ux_gate_create(&s->server.gate, NULL), UX_OK);
	n_steps = 0;
	return make_server_ask(s, &ask);
}

static void a_statement_that_fails_gives_an_error_or_the_same_answer(void **state)
{
	struct make_server *s = *state;
	for (size_t i = 0; i < ux_countof(requests); i++) {
		struct make_answer whole = send_request(s, i);
		const unsigned n = n_steps;
		for (unsigned k = 1; k <= n; k++) {
			fails_at = k;
			struct make_answer a = send_request(s, i);
			fails_at = 0;
			ux_out_u8(&a.body, 0);
			const char *text = (const char *)a.body.data,
				   *instead = requests[i].instead;
			bool same = a.status == whole.status &&
				    a.body.size - 1 == whole.body.size &&
				    memcmp(text, whole.body.data, whole.body.size) == 0;
			if (!same && a.status < 500 && !(instead && strstr(text, instead)))
				fail_msg("%s %s: statement %u of %u fails: %u %s",
					 requests[i].method, requests[i].target, k, n, a.status,
					 text);
			ux_out_deinit(&a.body);
		}
		ux_out_deinit(&whole.body);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_statement_that_fails_gives_an_error_or_the_same_answer, open_server,
			close_server),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
