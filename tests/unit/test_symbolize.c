/* SPDX-License-Identifier: Apache-2.0 */
/* server: what POST /v1/symbolize answers, without a socket. */
#include "sweep.h"

#include "make_gsym.h"
#include "make_server.h"

#include <jansson.h>

/* The worked example: f at 0x401000 with sq inlined, _start at 0x401007. */
static const char example_id[] = "gnu:1b700ab56bff4136b7c92cfe7a92fa17ef09d874";

/* Asks and gives the JSON of the answer, with the status checked. */
static json_t *ask(struct make_server *s, const struct make_ask *a, unsigned status)
{
	struct make_answer answer = make_server_ask(s, a);
	if (answer.status != status)
		fail_msg("%s %s: %u, wanted %u: %.*s", a->method, a->target, answer.status, status,
			 (int)answer.body.size, (const char *)answer.body.data);
	json_t *doc = json_loadb((const char *)answer.body.data, answer.body.size, 0, NULL);
	assert_non_null(doc);
	ux_out_deinit(&answer.body);
	return doc;
}

static json_t *post(struct make_server *s, const char *target, const char *body, unsigned status)
{
	return ask(s,
		   &(struct make_ask){.method = "POST",
				      .target = target,
				      .token = s->admin,
				      .body = ux_bytes_cstr(body)},
		   status);
}

static const char *text_of(const json_t *o, const char *key)
{
	const char *t = json_string_value(json_object_get(o, key));
	return t ? t : "";
}

/* Makes the bytes a candidate of the module with that ID. */
static void upload(struct make_server *s, const char *id, struct ux_bytes bytes, const char *more)
{
	char body[512], hash[65], target[96];
	struct ux_blob_hash h = ux_blob_hash_of(bytes);
	ux_blob_hash_text(&h, hash);
	snprintf(body, sizeof(body), "{\"ids\":[\"%s\"],\"size\":%zu,\"sha256\":\"%s\"%s}", id,
		 bytes.size, hash, more);
	json_t *doc = post(s, "/v1/uploads", body, 201);
	snprintf(target, sizeof(target), "/v1/uploads/%s", text_of(doc, "uid"));
	json_decref(doc);
	json_decref(
		ask(s,
		    &(struct make_ask){
			    .method = "PUT", .target = target, .token = s->admin, .body = bytes},
		    200));
	snprintf(target + strlen(target), sizeof(target) - strlen(target), "/finish");
	json_decref(post(s, target, "", 200));
}

static void upload_example(struct make_server *s)
{
	upload(s, example_id, ux_bytes(make_gsym_example, MAKE_GSYM_EXAMPLE_SIZE), "");
}

static int open_server(void **state)
{
	struct make_server *s = malloc(sizeof(*s));
	make_server_open(s, NULL, /* open_reading= */ true);
	*state = s;
	return 0;
}

static int close_server(void **state)
{
	make_server_close(*state);
	free(*state);
	return 0;
}

/* --- who is asked for what is not here ------------------------------------------------------ */

/* Somebody who has symbols, or not. */
struct other {
	struct make_server *s;
	enum ux_wanted says;
	uint32_t retry_after_s;
	unsigned asked;
	uint32_t wait_ms;
};

static enum ux_wanted ask_other(void *ctx, struct ux_wanted_ask *ask)
{
	struct other *o = ctx;
	o->asked++;
	o->wait_ms = ask->wait_ms;
	assert_string_equal(ask->ns, UX_NAMESPACE_DEFAULT);
	assert_string_equal(ask->id, example_id);
	ask->retry_after_s = o->retry_after_s;
	if (o->says == UX_WANTED_FOUND)
		upload_example(o->s);
	return o->says;
}

static const char one_address[] =
	"{\"modules\":[{\"id\":\"1b700ab56bff4136b7c92cfe7a92fa17ef09d874\","
	"\"addresses\":[4198407]}]}";

/* The first module of the answer to `body`; the caller releases *ret_doc. */
static const json_t *first_module(struct make_server *s, const char *body, json_t **ret_doc)
{
	*ret_doc = post(s, "/v1/symbolize", body, 200);
	return json_array_get(json_object_get(*ret_doc, "modules"), 0);
}

static void module_that_is_not_here_is_asked_for_elsewhere(void **state)
{
	struct make_server *s = *state;
	struct other other = {.s = s, .says = UX_WANTED_MISSING};
	json_t *doc = NULL;
	s->server.wanted = (struct ux_module_wanted){ask_other, &other};
	assert_string_equal(text_of(first_module(s, one_address, &doc), "status"), "missing");
	json_decref(doc);
	assert_int_equal(other.asked, 1);

	other.says = UX_WANTED_PENDING;
	other.retry_after_s = 7;
	const json_t *m = first_module(s, one_address, &doc);
	assert_string_equal(text_of(m, "status"), "pending");
	assert_int_equal(json_integer_value(json_object_get(m, "retry_after")), 7);
	json_decref(doc);
	other.retry_after_s = 0; /* who does not know leaves it to the server */
	m = first_module(s, one_address, &doc);
	assert_true(json_integer_value(json_object_get(m, "retry_after")) > 0);
	json_decref(doc);
	assert_int_equal(other.asked, 3);

	other.says = UX_WANTED_FOUND;
	m = first_module(s, one_address, &doc);
	assert_string_equal(text_of(m, "status"), "found");
	json_decref(doc);
	m = first_module(s, one_address, &doc);
	assert_string_equal(text_of(m, "status"), "found");
	json_decref(doc);
	assert_int_equal(other.asked, 4); /* what is here is not asked for */
}

#define SERVER_TEST(fn) cmocka_unit_test_setup_teardown(fn, open_server, close_server)

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVER_TEST(module_that_is_not_here_is_asked_for_elsewhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
