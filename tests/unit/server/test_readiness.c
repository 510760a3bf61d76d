/* SPDX-License-Identifier: Apache-2.0 */
/* Which faults take a server out of service: the table in docs/fleet.md is compared with the code.
 */
#include "readiness.h"

#include "make_server.h"
#include "sweep.h"

#include <stdio.h>

enum {
	CELLS = 5 /* cause, scope, meaning, with others, alone */
};

static char *document_of(const struct ux_ready_state *state)
{
	static char text[4096];
	struct ux_out out = {0};
	ux_ready_state_write(state, &out);
	assert_int_equal(ux_out_status(&out, NULL), UX_OK);
	snprintf(text, sizeof(text), "%.*s", (int)out.size, (const char *)ux_out_bytes(&out).data);
	ux_out_deinit(&out);
	return text;
}

static void assert_has(const char *document, const char *member, const char *begin)
{
	char part[128];
	snprintf(part, sizeof(part), "\"%s\":\"%s", member, begin);
	if (!strstr(document, part))
		fail_msg("%s lacks %s", document, part);
}

/* outcome: "503 `not_ready`". */
static void expect_outcome(unsigned faults, bool others, const char *outcome, const char *cause,
			   const char *scope)
{
	const struct ux_ready_state state = {
		.faults = faults, .others = others, .busy = "a thread", .busy_s = 4};
	char word[32] = "";
	unsigned status = 0;
	const char *document = document_of(&state);
	assert_int_equal(sscanf(outcome, "%u `%31[a-z_]`", &status, word), 2);
	assert_int_equal(ux_ready_state_refuses(&state) ? 503 : 200, status);
	assert_has(document, "status", word);
	assert_has(document, "cause", cause);
	assert_has(document, "scope", scope);
	assert_int_equal(strncmp(document, "{\"error\":{\"code\":\"not_ready\",", 28) == 0,
			 status == 503);
}

/* Splits a row of the table at its bars; false: not one with a cause. */
static bool row_cells(char *line, char *cells[CELLS])
{
	char *rest = NULL;
	size_t n = 0;
	if (strncmp(line, "| `", 3) != 0)
		return false;
	for (char *cell = strtok_r(line, "|", &rest); cell && n < CELLS;
	     cell = strtok_r(NULL, "|", &rest))
		cells[n++] = cell;
	return n == CELLS;
}

static void table_of_the_page_is_what_the_code_does(void **state)
{
	char line[1024], causes[256] = "", cause[32], scope[32], *cells[CELLS];
	bool inside = false;
	unsigned n = 0;
	(void)state;
	FILE *f = fopen(UX_SOURCE_ROOT "/docs/fleet.md", "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "## ", 3) == 0)
			inside = strncmp(line, "## Which node gets requests", 27) == 0;
		if (!inside || !row_cells(line, cells))
			continue;
		assert_int_equal(sscanf(cells[0], " `%31[a-z]`", cause), 1);
		assert_int_equal(sscanf(cells[1], " %31[a-z]", scope), 1);
		expect_outcome(1U << n, true, cells[3], cause, scope);
		expect_outcome(1U << n, false, cells[4], cause, scope);
		snprintf(causes + strlen(causes), sizeof(causes) - strlen(causes), "%s%s",
			 n == 0 ? "cause: {type: string, enum: [" : ", ", cause);
		n++;
	}
	fclose(f);
	assert_int_equal(n, UX_FAULTS);
	f = fopen(UX_SOURCE_ROOT "/docs/api/openapi.yaml", "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f) && !strstr(line, causes))
		continue;
	assert_false(feof(f)); /* the API's document has the same causes */
	fclose(f);
}

static void uploads_are_refused_for_the_fault_that_refuses_them(void **state)
{
	static const struct {
		unsigned faults;
		const char *word;
	} cases[] = {
		{0, "accepted"},
		{1U << UX_FAULT_CLOCK | 1U << UX_FAULT_DUPLICATE, "accepted"},
		{1U << UX_FAULT_DISK, "disk_full"},
		{1U << UX_FAULT_DATABASE, "unavailable"},
		{1U << UX_FAULT_BUCKET, "unavailable"},
		{1U << UX_FAULT_DISK | 1U << UX_FAULT_DATABASE, "disk_full"},
	};
	(void)state;
	for (size_t i = 0; i < ux_countof(cases); i++) {
		const struct ux_ready_state is = {.faults = cases[i].faults, .busy = ""};
		assert_has(document_of(&is), "uploads", cases[i].word);
	}
}

/* A fault that all share does not hide one of this node, and the reason is the latter. */
static void own_fault_refuses_beside_a_shared_one(void **state)
{
	const struct ux_ready_state both = {.faults = 1U << UX_FAULT_DISK | 1U << UX_FAULT_DATABASE,
					    .others = true,
					    .busy = ""};
	(void)state;
	assert_true(ux_ready_state_refuses(&both));
	assert_has(document_of(&both), "message", "the disk is full");
	assert_has(document_of(&both), "cause", "database");
}

static void server_without_faults_is_ready_until_it_stops(void **state)
{
	struct make_server s;
	struct make_ask ask = {.method = "GET", .target = "/readyz"};
	(void)state;
	make_server_open(&s, NULL, true);
	struct make_answer a = make_server_ask(&s, &ask);
	assert_int_equal(a.status, 200);
	assert_true(ux_bytes_eq(ux_out_bytes(&a.body),
				UX_STR("{\"status\":\"ready\",\"uploads\":\"accepted\"}\n")));
	ux_out_deinit(&a.body);
	s.server.stopping = true;
	a = make_server_ask(&s, &ask);
	assert_int_equal(a.status, 503);
	ux_out_deinit(&a.body);
	make_server_close(&s);
}

UX_SUITE(readiness)
{
	const struct CMUnitTest tests[] = {
		UX_TEST(table_of_the_page_is_what_the_code_does),
		UX_TEST(uploads_are_refused_for_the_fault_that_refuses_them),
		UX_TEST(own_fault_refuses_beside_a_shared_one),
		UX_TEST(server_without_faults_is_ready_until_it_stops),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
