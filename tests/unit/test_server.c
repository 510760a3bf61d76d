/* SPDX-License-Identifier: Apache-2.0 */
/* server: routes and handlers, without a socket. */
#include "event_log.h"
#include "sweep.h"

#include "routes.h"
#include "blobs_mem.h"
#include "request_values.h"
#include "make_gsym.h"
#include "make_server.h"
#include "row_cache.h"
#include "module_cache.h"

#include <jansson.h>
#include <pthread.h>
#include <stdatomic.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* The worked example: f at 0x401000 with sq inlined, _start at 0x401007. */
static const char example_id[] = "gnu:1b700ab56bff4136b7c92cfe7a92fa17ef09d874";

static struct ux_bytes example(void)
{
	return ux_bytes(make_gsym_example, MAKE_GSYM_EXAMPLE_SIZE);
}

/* Asks and gives the JSON of the answer (NULL when it has none), with the status checked. */
static json_t *ask(struct make_server *s, const struct make_ask *a, unsigned status)
{
	struct make_answer answer = make_server_ask(s, a);
	if (answer.status != status)
		fail_msg("%s %s: %u, wanted %u: %.*s", a->method, a->target, answer.status, status,
			 (int)answer.body.size, (const char *)answer.body.data);
	json_t *doc = answer.body.size ? json_loadb((const char *)answer.body.data,
						    answer.body.size, 0, NULL)
				       : NULL;
	ux_out_deinit(&answer.body);
	return doc;
}

static json_t *get(struct make_server *s, const char *target, unsigned status)
{
	return ask(s, &(struct make_ask){.method = "GET", .target = target, .token = s->admin},
		   status);
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

static const char *error_word(const json_t *doc)
{
	return text_of(json_object_get(doc, "error"), "code");
}

/* An error with this word, and with words in its message. */
static void refused(json_t *doc, const char *word, const char *message)
{
	assert_string_equal(error_word(doc), word);
	const char *text = text_of(json_object_get(doc, "error"), "message");
	if (!strstr(text, message))
		fail_msg("'%s' does not say '%s'", text, message);
	json_decref(doc);
}

/* Announces; uid is filled in. */
static void announce(struct make_server *s, const char *ids, struct ux_bytes bytes,
		     const char *more, char uid[UX_UPLOAD_UID_SIZE])
{
	char body[1024], hash[65];
	struct ux_blob_hash h = ux_blob_hash_of(bytes);
	ux_blob_hash_text(&h, hash);
	snprintf(body, sizeof(body), "{\"ids\":[%s],\"size\":%zu,\"sha256\":\"%s\"%s}", ids,
		 bytes.size, hash, more);
	json_t *doc = post(s, "/v1/uploads", body, 201);
	snprintf(uid, UX_UPLOAD_UID_SIZE, "%s", text_of(doc, "uid"));
	json_decref(doc);
}

static json_t *send(struct make_server *s, const char *uid, const char *query, struct ux_bytes b,
		    unsigned status)
{
	char target[128];
	snprintf(target, sizeof(target), "/v1/uploads/%s%s", uid, query);
	return ask(
		s,
		&(struct make_ask){.method = "PUT", .target = target, .token = s->admin, .body = b},
		status);
}

static json_t *finish(struct make_server *s, const char *uid, unsigned status)
{
	char target[128];
	snprintf(target, sizeof(target), "/v1/uploads/%s/finish", uid);
	return post(s, target, "", status);
}

static json_t *upload(struct make_server *s, const char *ids, struct ux_bytes bytes,
		      const char *more, unsigned status)
{
	char uid[UX_UPLOAD_UID_SIZE];
	announce(s, ids, bytes, more, uid);
	json_decref(send(s, uid, "", bytes, 200));
	return finish(s, uid, status);
}

static void upload_example(struct make_server *s)
{
	char ids[128];
	snprintf(ids, sizeof(ids), "\"%s\",\"file:00112233445566778899aabbccddeeff\"", example_id);
	json_t *doc = upload(s, ids, example(), ",\"description\":\"d\",\"file\":\"m\"", 200);
	assert_string_equal(text_of(doc, "status"), "uploaded");
	assert_string_equal(text_of(doc, "quality"), "inlines");
	assert_string_equal(text_of(doc, "id"), example_id);
	json_decref(doc);
}

static size_t count_modules(struct make_server *s)
{
	json_t *doc = get(s, "/v1/modules", 200);
	size_t n = json_array_size(json_object_get(doc, "modules"));
	json_decref(doc);
	return n;
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

static void upload_becomes_names(void **state)
{
	struct make_server *s = *state;
	upload_example(s);
	json_t *doc =
		get(s, "/v1/symbolize/file:00112233445566778899AABBCCDDEEFF?addr=0x401000,1", 200);
	assert_string_equal(text_of(doc, "status"), "found");
	json_t *frames = json_object_get(doc, "frames");
	assert_int_equal(json_array_size(frames), 2);
	assert_int_equal(json_array_size(json_array_get(frames, 1)), 0);
	json_t *first = json_array_get(json_array_get(frames, 0), 0);
	assert_string_equal(text_of(first, "function"), "sq");
	assert_true(json_is_true(json_object_get(first, "inlined")));
	json_t *last = json_array_get(json_array_get(frames, 0), 1);
	assert_string_equal(text_of(last, "function"), "f");
	assert_null(json_object_get(last, "inlined"));
	json_decref(doc);
}

static void batch_answers_each_module_in_order(void **state)
{
	struct make_server *s = *state;
	upload_example(s);
	json_t *doc = post(s, "/v1/symbolize",
			   "{\"modules\":[{\"id\":\"1b700ab56bff4136b7c92cfe7a92fa17ef09d874\","
			   "\"addresses\":[4198407,\"4198407\",\"0x401007\",0]},"
			   "{\"id\":\"gnu:00\",\"addresses\":[1]},{\"id\":\"?\",\"addresses\":[]}],"
			   "\"demangle\":\"none\"}",
			   200);
	json_t *m = json_object_get(doc, "modules");
	assert_int_equal(json_array_size(m), 3);
	json_t *frames = json_object_get(json_array_get(m, 0), "frames");
	for (size_t i = 0; i < 3; i++)
		assert_string_equal(
			text_of(json_array_get(json_array_get(frames, i), 0), "function"),
			"_start");
	assert_int_equal(json_array_size(json_array_get(frames, 3)), 0);
	assert_string_equal(text_of(json_array_get(m, 1), "status"), "missing");
	assert_string_equal(text_of(json_array_get(m, 2), "status"), "failed");
	assert_string_not_equal(text_of(json_array_get(m, 2), "reason"), "");
	json_decref(doc);
}

/* "sq < f" of the innermost frame's list number i. */
static void expect_functions(const json_t *doc, size_t i, const char *expected)
{
	const json_t *list = json_array_get(json_object_get(doc, "frames"), i);
	char text[64] = "";
	for (size_t k = 0; k < json_array_size(list); k++) {
		size_t used = strlen(text);
		snprintf(text + used, sizeof(text) - used, "%s%s", k > 0 ? " < " : "",
			 text_of(json_array_get(list, k), "function"));
	}
	assert_string_equal(text, expected);
}

static void names_of_functions_that_were_read_count_as_memory(void **state)
{
	struct make_server *s = *state;
	char target[160];
	upload_example(s);
	snprintf(target, sizeof(target), "/v1/symbolize/%s?addr=0x401000", example_id);
	json_decref(get(s, target, 200));
	size_t before = ux_module_cache_bytes(s->server.cache);
	snprintf(target, sizeof(target), "/v1/symbolize/%s?addr=f%%2B0x0", example_id);
	json_decref(get(s, target, 200));
	assert_true(ux_module_cache_bytes(s->server.cache) >= before + 2 * 16);
}

static void places_are_named_by_a_function_and_an_offset(void **state)
{
	struct make_server *s = *state;
	char target[160];
	upload_example(s);
	snprintf(target, sizeof(target),
		 "/v1/symbolize/%s?addr=f+0,f%%2B0x0,_start%%2b1,0x401000,g+0,f+0x1000000",
		 example_id);
	json_t *doc = get(s, target, 200);
	for (size_t i = 0; i < 6; i++)
		expect_functions(
			doc, i,
			(const char *const[]){"sq < f", "sq < f", "_start", "sq < f", "", ""}[i]);
	json_decref(doc);
	doc = post(s, "/v1/symbolize",
		   "{\"modules\":[{\"id\":\"gnu:1b700ab56bff4136b7c92cfe7a92fa17ef09d874\","
		   "\"addresses\":[\"_start+0x0\",4198407,\"sq+0\"]}]}",
		   200);
	const json_t *module = json_array_get(json_object_get(doc, "modules"), 0);
	expect_functions(module, 0, "_start");
	expect_functions(module, 1, "_start");
	expect_functions(module, 2, ""); /* an inlined function begins nowhere */
	json_decref(doc);
}

static void return_address_belongs_to_the_call_before_it(void **state)
{
	struct make_server *s = *state;
	char target[160];
	upload_example(s);
	snprintf(target, sizeof(target),
		 "/v1/symbolize/%s?addr=0x401007,0x401000&return_addresses=true", example_id);
	json_t *doc = get(s, target, 200);
	json_t *frames = json_object_get(doc, "frames");
	json_t *list = json_array_get(frames, 0);
	assert_string_equal(text_of(json_array_get(list, json_array_size(list) - 1), "function"),
			    "f");
	assert_int_equal(json_array_size(json_array_get(frames, 1)), 0);
	json_decref(doc);
}

static void symbolize_refuses_what_makes_no_sense(void **state)
{
	struct make_server *s = *state;
	static const struct {
		const char *body, *word, *message;
		unsigned status;
	} cases[] = {
		{"", "invalid", "JSON, line 1", 400},
		{"{", "invalid", "JSON, line 1", 400},
		{"[]", "invalid", "expected an object", 400},
		{"nonsense", "invalid", "JSON", 400},
		{"{\"modules\":[],\"modules\":[]}", "invalid", "JSON", 400},
		{"{}", "invalid", "\"modules\" is missing", 400},
		{"{\"modules\":{}}", "invalid", "an object; expected an array", 400},
		{"{\"modules\":[1]}", "invalid", "modules[0]", 400},
		{"{\"modules\":[{\"id\":\"gnu:00\"}]}", "invalid", "addresses", 400},
		{"{\"modules\":[{\"id\":\"gnu:00\",\"addresses\":[-1]}]}", "invalid",
		 "an address is -1", 400},
		{"{\"modules\":[{\"id\":\"gnu:00\",\"addresses\":[1.5]}]}", "invalid", "address",
		 400},
		{"{\"modules\":[{\"id\":\"gnu:00\",\"addresses\":[\"0x\"]}]}", "invalid",
		 "no address", 400},
		{"{\"modules\":[{\"id\":\"gnu:00\",\"addresses\":[\"0x10000000000000000\"]}]}",
		 "invalid", "no address", 400},
		{"{\"modules\":[],\"demangle\":\"loud\"}", "invalid", "demangle", 400},
		{"{\"modules\":[],\"return_addresses\":1}", "invalid", "return_addresses", 400},
	};
	for (size_t i = 0; i < ux_countof(cases); i++)
		refused(post(s, "/v1/symbolize", cases[i].body, cases[i].status), cases[i].word,
			cases[i].message);
	char target[128];
	const char *const queries[] = {"",
				       "?addr=",
				       "?addr=x",
				       "?addr=1,",
				       "?addr=1,,2",
				       "?addr=f+",
				       "?addr=+1",
				       "?addr=f+0x10000000000000000",
				       "?addr=1&demangle=x",
				       "?addr=1&return_addresses=2"};
	upload_example(s);
	for (size_t i = 0; i < ux_countof(queries); i++) {
		snprintf(target, sizeof(target), "/v1/symbolize/%s%s", example_id, queries[i]);
		refused(get(s, target, 400), "invalid", "");
	}
	refused(get(s, "/v1/symbolize/gnu:00?addr=1", 404), "not_found", "gnu:00");
	refused(get(s, "/v1/symbolize/zz?addr=1", 400), "invalid", "");
}

/* A text of n times `piece` between head and tail; freed by the caller. */
static char *repeat(const char *head, const char *piece, size_t n, const char *tail)
{
	struct ux_out out = {0};
	ux_out_cstr(&out, head);
	for (size_t i = 0; i < n; i++) {
		ux_out_cstr(&out, i ? "," : "");
		ux_out_cstr(&out, piece);
	}
	ux_out_cstr(&out, tail);
	ux_out_u8(&out, 0);
	return (char *)out.data;
}

static void batches_over_their_limit_are_refused(void **state)
{
	struct make_server *s = *state;
	char *body =
		repeat("{\"modules\":[{\"id\":\"gnu:00\",\"addresses\":[", "1", 100001, "]}]}");
	refused(post(s, "/v1/symbolize", body, 413), "too_large", "100000");
	free(body);
	body = repeat("{\"modules\":[", "{\"id\":\"gnu:00\",\"addresses\":[]}", 10001, "]}");
	refused(post(s, "/v1/symbolize", body, 413), "too_large", "10000");
	free(body);
	body = repeat("{\"ids\":[", "\"gnu:00\"", 10001, "]}");
	refused(post(s, "/v1/query", body, 413), "too_large", "10000");
	free(body);
	body = repeat("{\"ids\":[", "[]", 120001, "]}");
	refused(post(s, "/v1/query", body, 413), "too_large", "120000");
	free(body);
	body = repeat("{\"ids\":[", "1", 400001, "]}");
	refused(post(s, "/v1/query", body, 413), "too_large", "400000");
	free(body);
	body = repeat("{\"modules\":[{\"id\":\"gnu:00\",\"addresses\":[", "1", 100000, "]}]}");
	json_decref(post(s, "/v1/symbolize", body, 200));
	free(body);
}

static const char *query_status(struct make_server *s, const char *body, char *status)
{
	json_t *doc = post(s, "/v1/query", body, 200);
	json_t *first = json_array_get(json_object_get(doc, "answers"), 0);
	assert_string_not_equal(text_of(first, "reason"), "");
	snprintf(status, 32, "%s", text_of(first, "status"));
	json_decref(doc);
	return status;
}

static void query_says_what_to_upload(void **state)
{
	struct make_server *s = *state;
	char status[32], body[256];
	upload_example(s);
	static const struct {
		const char *form, *status;
	} cases[] = {
		{"{\"ids\":[\"%s\"]}", "already-there"},
		{"{\"modules\":[{\"ids\":[\"%s\"],\"quality\":\"inlines\"}]}", "already-there"},
		{"{\"modules\":[{\"ids\":[\"%s\"],\"quality\":\"symtab\"}]}", "better-there"},
		{"{\"modules\":[{\"ids\":[\"go:x\",\"%s\"]}]}", "already-there"},
		{"{\"force\":true,\"ids\":[\"%s\"]}", "wanted"},
		{"{\"ids\":[\"gnu:00\",\"%s\"]}", "wanted"},
		{"{\"ids\":[\"uuid:0\",\"%s\"]}", "invalid"},
		{"{\"modules\":[{\"ids\":[\"%s\"],\"quality\":\"great\"}]}", "invalid"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		const char *at = strstr(cases[i].form, "%s");
		snprintf(body, sizeof(body), "%.*s%s%s", (int)(at - cases[i].form), cases[i].form,
			 example_id, at + 2);
		assert_string_equal(query_status(s, body, status), cases[i].status);
	}
	/* who asks uses it */
	struct ux_index *ix = s->store.index;
	UX_ARENA(arena, 1 << 20);
	struct ux_module m;
	bool marked = false;
	assert_int_equal(ix->modules.find(ix, "default", example_id, &arena, &m, NULL), UX_OK);
	assert_int_equal(ix->modules.mark(ix, m.number, INT64_MAX, 1, &marked, NULL), UX_OK);
	assert_true(marked);
	snprintf(body, sizeof(body), "{\"ids\":[\"%s\"]}", example_id);
	assert_string_equal(query_status(s, body, status), "already-there");
	assert_int_equal(ix->modules.find(ix, "default", example_id, &arena, &m, NULL), UX_OK);
	assert_int_equal(m.marked, 0);
	refused(post(s, "/v1/query", "{}", 400), "invalid", "either");
	refused(post(s, "/v1/query", "{\"ids\":[],\"modules\":[]}", 400), "invalid", "either");
	refused(post(s, "/v1/query", "{\"ids\":[1]}", 400), "invalid", "strings");
	refused(post(s, "/v1/query", "{\"ids\":[],\"force\":\"yes\"}", 400), "invalid", "force");
}

static void what_is_being_extracted_is_not_sent_by_everybody(void **state)
{
	struct make_server *s = *state;
	struct ux_index *ix = s->store.index;
	struct ux_add_result r;
	char status[32];
	const char *ids[] = {"gnu:ee"};
	const struct ux_who who = {.key_id = "", .from = "test"};
	const struct ux_arrival what = {"default", ids, 1, false};
	const struct ux_candidate c = {.kind = UX_KIND_EXECUTABLE,
				       .state = UX_CANDIDATE_PENDING,
				       .claim = UX_QUALITY_LINES,
				       .size = 1,
				       .reason = "",
				       .origin_name = "",
				       .description = "",
				       .file_name = "",
				       .key_id = ""};
	assert_int_equal(ix->modules.add(ix, &what, &c, &who, 1, &r, NULL), UX_OK);
	static const char *const asks[][2] = {
		{"{\"ids\":[\"gnu:ee\"]}", "already-there"},
		{"{\"modules\":[{\"ids\":[\"gnu:ee\"],\"quality\":\"lines\"}]}", "already-there"},
		{"{\"modules\":[{\"ids\":[\"gnu:ee\"],\"quality\":\"inlines\"}]}", "wanted"},
	};
	for (size_t i = 0; i < ux_countof(asks); i++)
		assert_string_equal(query_status(s, asks[i][0], status), asks[i][1]);
	const struct ux_settled failed = {
		.state = UX_CANDIDATE_FAILED, .reason = "no ELF", .kind = UX_KIND_EXECUTABLE};
	assert_int_equal(ix->modules.settle(ix, r.candidate, &failed, 2, &r, NULL), UX_OK);
	assert_string_equal(query_status(s, asks[0][0], status), "wanted");
}

static void announcements_are_checked(void **state)
{
	struct make_server *s = *state;
#define HASH64 "\"sha256\":\"0011223344556677889900112233445566778899001122334455667788990011\""
	static const struct {
		const char *body, *message;
		unsigned status;
	} cases[] = {
		{"{\"size\":1," HASH64 "}", "ids", 400},
		{"{\"ids\":[],\"size\":1," HASH64 "}", "ids", 400},
		{"{\"ids\":[\"x\"],\"size\":1," HASH64 "}", "", 400},
		{"{\"ids\":[7],\"size\":1," HASH64 "}", "strings", 400},
		{"{\"ids\":[\"gnu:00\"]," HASH64 "}", "size", 400},
		{"{\"ids\":[\"gnu:00\"],\"size\":0," HASH64 "}", "size", 400},
		{"{\"ids\":[\"gnu:00\"],\"size\":-5," HASH64 "}", "negative", 400},
		{"{\"ids\":[\"gnu:00\"],\"size\":1048577," HASH64 "}", "1048576", 413},
		{"{\"ids\":[\"gnu:00\"],\"size\":1}", "sha256", 400},
		{"{\"ids\":[\"gnu:00\"],\"size\":1,\"sha256\":\"00\"}", "sha256", 400},
		{"{\"ids\":[\"gnu:00\"],\"size\":1," HASH64 ",\"kind\":\"elf\"}", "gsym", 422},
		{"{\"ids\":[\"gnu:00\"],\"size\":1," HASH64 ",\"quality\":\"x\"}", "quality", 400},
		{"{\"ids\":[\"gnu:00\"],\"size\":1," HASH64 ",\"description\":1}", "description",
		 400},
	};
	for (size_t i = 0; i < ux_countof(cases); i++)
		refused(post(s, "/v1/uploads", cases[i].body, cases[i].status),
			cases[i].status == 413   ? "too_large"
			: cases[i].status == 422 ? "unsupported"
						 : "invalid",
			cases[i].message);
	char *many = repeat("{\"ids\":[", "\"gnu:00\"", 17, "],\"size\":1," HASH64 "}");
	refused(post(s, "/v1/uploads", many, 413), "too_large", "16");
	free(many);
}

static void upload_goes_on_where_it_was_broken_off(void **state)
{
	struct make_server *s = *state;
	char uid[UX_UPLOAD_UID_SIZE], target[128], ids[64];
	snprintf(ids, sizeof(ids), "\"%s\"", example_id);
	announce(s, ids, example(), "", uid);
	snprintf(target, sizeof(target), "/v1/uploads/%s", uid);
	struct ux_bytes a = ux_bytes(make_gsym_example, 100),
			b = ux_bytes(make_gsym_example + 100, MAKE_GSYM_EXAMPLE_SIZE - 100);
	json_decref(send(s, uid, "", a, 200));
	refused(finish(s, uid, 409), "incomplete", "100 of 214");
	refused(send(s, uid, "", b, 409), "conflict", "expected 100");
	refused(send(s, uid, "?offset=101", b, 409), "conflict", "expected 100");
	refused(send(s, uid, "?offset=x", b, 400), "invalid", "offset");
	uint8_t more[MAKE_GSYM_EXAMPLE_SIZE - 100 + 1] = {0};
	memcpy(more, b.data, b.size);
	refused(send(s, uid, "?offset=100", ux_bytes(more, sizeof(more)), 413), "too_large", "214");
	json_t *doc = get(s, target, 200);
	assert_string_equal(text_of(doc, "state"), "open");
	json_int_t offset = json_integer_value(json_object_get(doc, "offset"));
	assert_true(offset >= 100);
	json_decref(doc);
	struct make_ask put = {.method = "PUT", .target = target, .token = s->admin, .body = b};
	const char *const bad[] = {"bytes 100-213",     "100-213/214",     "bytes 213-100/214",
				   "bytes 100-213/215", "bytes x-213/214", "bytes 100-213/214x",
				   "bytes 100--1/214",  "bytes 100-213/",  "bytes  100-213/214"};
	for (size_t i = 0; i < ux_countof(bad); i++) {
		put.range = bad[i];
		refused(ask(s, &put, 400), "invalid", "Content-Range");
	}
	char range[64];
	snprintf(range, sizeof(range), "bytes %" PRId64 "-213/214", (int64_t)offset);
	put.range = range;
	put.body = ux_bytes(make_gsym_example + offset, MAKE_GSYM_EXAMPLE_SIZE - (size_t)offset);
	if (put.body.size > 0)
		json_decref(ask(s, &put, 200));
	doc = finish(s, uid, 200);
	assert_string_equal(text_of(doc, "status"), "uploaded");
	json_decref(doc);
}

/* A PUT of which only the headers have come. */
static void put_begin(struct make_server *s, struct ux_exchange *x, const char *target)
{
	char line[UX_TOKEN_SIZE + 16];
	snprintf(line, sizeof(line), "Bearer %s", s->admin);
	ux_exchange_init(x, &s->app, UX_STR("PUT"), ux_bytes_cstr(target));
	ux_exchange_header(x, UX_STR("Authorization"), ux_bytes_cstr(line));
	ux_exchange_begin(x);
}

static void upload_that_is_being_written_is_busy_and_a_refused_writer_holds_nothing(void **state)
{
	struct make_server *s = *state;
	char uid[UX_UPLOAD_UID_SIZE], target[128], ids[64];
	struct ux_exchange x;
	snprintf(ids, sizeof(ids), "\"%s\"", example_id);
	announce(s, ids, example(), "", uid);
	snprintf(target, sizeof(target), "/v1/uploads/%s", uid);
	put_begin(s, &x, target);
	ux_exchange_data(&x, ux_bytes(make_gsym_example, 10));
	refused(send(s, uid, "?offset=10", example(), 409), "busy", "working");
	refused(finish(s, uid, 409), "busy", "working");
	ux_exchange_deinit(&x, false);
	put_begin(s, &x, target); /* at 0, where 10 is expected */
	assert_true(x.refused);
	json_decref(send(s, uid, "?offset=10", ux_bytes(make_gsym_example + 10, 10), 200));
	ux_exchange_deinit(&x, false);
	snprintf(target, sizeof(target), "/v1/uploads/%s?offset=20", uid);
	put_begin(s, &x, target);
	ux_exchange_data(&x, example()); /* more than is missing */
	assert_true(x.answered);
	json_decref(send(s, uid, "?offset=20", ux_bytes(make_gsym_example + 20, 194), 200));
	ux_exchange_deinit(&x, false);
	json_decref(finish(s, uid, 200));
}

static void finish_is_idempotent(void **state)
{
	struct make_server *s = *state;
	char uid[UX_UPLOAD_UID_SIZE], ids[64];
	snprintf(ids, sizeof(ids), "\"%s\"", example_id);
	announce(s, ids, example(), "", uid);
	json_decref(send(s, uid, "", example(), 200));
	json_t *first = finish(s, uid, 200), *second = finish(s, uid, 200);
	assert_true(json_equal(first, second));
	json_decref(first);
	json_decref(second);
	refused(send(s, uid, "", example(), 409), "conflict", "ended");
	json_t *again = upload(s, ids, example(), "", 200);
	assert_string_equal(text_of(again, "status"), "already-there");
	json_decref(again);
	assert_int_equal(count_modules(s), 1);
}

static void bytes_that_are_not_the_announced_ones_can_be_sent_again(void **state)
{
	struct make_server *s = *state;
	char uid[UX_UPLOAD_UID_SIZE], ids[64];
	uint8_t wrong[MAKE_GSYM_EXAMPLE_SIZE];
	memcpy(wrong, make_gsym_example, sizeof(wrong));
	wrong[200] ^= 1;
	snprintf(ids, sizeof(ids), "\"%s\"", example_id);
	announce(s, ids, example(), "", uid);
	json_decref(send(s, uid, "", ux_bytes(wrong, sizeof(wrong)), 200));
	refused(finish(s, uid, 422), "hash_mismatch", "SHA-256");
	assert_int_equal(count_modules(s), 0);
	json_decref(send(s, uid, "", example(), 200));
	json_decref(finish(s, uid, 200));
	assert_int_equal(count_modules(s), 1);
}

static void gsym_that_is_bad_or_of_another_module_is_refused_for_good(void **state)
{
	struct make_server *s = *state;
	char ids[64], uid[UX_UPLOAD_UID_SIZE];
	uint8_t bad[MAKE_GSYM_EXAMPLE_SIZE];
	snprintf(ids, sizeof(ids), "\"%s\"", example_id);
	memcpy(bad, make_gsym_example, sizeof(bad));
	bad[4] = 9;
	refused(upload(s, ids, ux_bytes(bad, sizeof(bad)), "", 422), "unsupported", "version");
	memcpy(bad, make_gsym_example, sizeof(bad));
	bad[0x7e] = 0x77; /* f's name leaves the string table */
	refused(upload(s, ids, ux_bytes(bad, sizeof(bad)), "", 422), "corrupt", "");
	refused(upload(s, ids, UX_STR("hello"), "", 422), "unsupported", "");
	refused(upload(s, "\"gnu:00112233\"", example(), "", 409), "conflict", "gnu:00112233");
	assert_int_equal(count_modules(s), 0);
	announce(s, "\"gnu:00112233\"", example(), "", uid);
	json_decref(send(s, uid, "", example(), 200));
	for (int i = 0; i < 3; i++) /* and stays so */
		refused(finish(s, uid, 409), "conflict", "gnu:00112233");
	json_t *doc = upload(s, "\"go:anything\"", example(), "", 200); /* nothing to compare */
	json_decref(doc);
}

/* A GSYM of one function without lines, so poorer than the example. */
static struct ux_out names_only(struct ux_arena *arena)
{
	struct ux_out out = {0};
	struct ux_gsym_function f = {.start = 0x402000, .size = 16, .name = 1};
	struct ux_gsym_file_entry none = {0, 0};
	struct make_gsym m = {.arena = arena,
			      .base = 0x400000,
			      .functions = &f,
			      .n_functions = 1,
			      .files = &none,
			      .n_files = 1,
			      .strings = ux_bytes("\0only_here", 11)};
	assert_int_equal(make_gsym_write(&m, &out), UX_OK);
	return out;
}

static void poorer_is_refused_and_forced_it_fills_the_gaps(void **state)
{
	struct make_server *s = *state;
	UX_ARENA(arena, 1 << 20);
	char ids[64], target[128];
	struct ux_out poor = names_only(&arena);
	snprintf(ids, sizeof(ids), "\"%s\"", example_id);
	upload_example(s);
	snprintf(target, sizeof(target), "/v1/symbolize/%s?addr=0x402001,0x401000", example_id);
	json_decref(get(s, target, 200)); /* cached now */
	refused(upload(s, ids, ux_out_bytes(&poor), "", 409), "better_there", "inlines");
	json_t *doc =
		upload(s, ids, ux_out_bytes(&poor), ",\"force\":true,\"quality\":\"dynsym\"", 200);
	assert_string_equal(text_of(doc, "quality"), "dynsym");
	json_decref(doc);
	doc = get(s, target, 200);
	assert_string_equal(text_of(doc, "quality"), "inlines");
	json_t *frames = json_object_get(doc, "frames");
	json_t *gap = json_array_get(json_array_get(frames, 0), 0);
	assert_string_equal(text_of(gap, "function"), "only_here");
	assert_null(json_object_get(gap, "file"));
	assert_int_equal(json_array_size(json_array_get(frames, 1)), 2);
	json_decref(doc);
	ux_out_deinit(&poor);
}

static void better_upload_replaces_a_poorer_answer_at_once(void **state)
{
	struct make_server *s = *state;
	UX_ARENA(arena, 1 << 20);
	char ids[64], target[128];
	struct ux_out poor = names_only(&arena);
	snprintf(ids, sizeof(ids), "\"%s\"", example_id);
	snprintf(target, sizeof(target), "/v1/symbolize/%s?addr=0x401000", example_id);
	json_decref(upload(s, ids, ux_out_bytes(&poor), "", 200));
	json_t *doc = get(s, target, 200);
	assert_string_equal(text_of(doc, "quality"), "symtab");
	json_decref(doc);
	upload_example(s);
	doc = get(s, target, 200);
	assert_string_equal(text_of(doc, "quality"), "inlines");
	json_decref(doc);
	ux_out_deinit(&poor);
}

static void module_can_be_seen_fetched_and_forgotten(void **state)
{
	struct make_server *s = *state;
	char target[128];
	upload_example(s);
	json_t *doc = get(s, "/v1/modules/file:00112233445566778899aabbccddeeff", 200);
	assert_string_equal(text_of(doc, "id"), example_id);
	assert_int_equal(json_array_size(json_object_get(doc, "ids")), 2);
	json_t *c = json_array_get(json_object_get(doc, "candidates"), 0);
	assert_string_equal(text_of(c, "description"), "d");
	assert_string_equal(text_of(c, "file"), "m");
	assert_int_equal(json_integer_value(json_object_get(c, "size")), MAKE_GSYM_EXAMPLE_SIZE);
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(c, "counts"), "functions")), 2);
	json_decref(doc);
	snprintf(target, sizeof(target), "/v1/gsym/%s", example_id);
	struct make_ask a = {.method = "GET", .target = target};
	struct make_answer got = make_server_ask(s, &a);
	assert_int_equal(got.status, 200);
	assert_true(ux_bytes_eq(ux_out_bytes(&got.body), example()));
	ux_out_deinit(&got.body);
	snprintf(target, sizeof(target), "/v1/modules/%s", example_id);
	a = (struct make_ask){.method = "DELETE", .target = target, .token = s->admin};
	assert_null(ask(s, &a, 204));
	refused(ask(s, &a, 404), "not_found", example_id);
	assert_int_equal(count_modules(s), 0);
	snprintf(target, sizeof(target), "/v1/symbolize/%s?addr=1", example_id);
	refused(get(s, target, 404), "not_found", "");
	snprintf(target, sizeof(target), "/v1/gsym/%s", example_id);
	refused(get(s, target, 404), "not_found", "");
	refused(get(s, "/v1/modules?limit=0", 400), "invalid", "limit");
	refused(get(s, "/v1/modules?limit=1001", 400), "invalid", "limit");
	refused(get(s, "/v1/modules?after=-1", 400), "invalid", "after");
}

/* A file that is sent from the disk and not from memory. */
static void range_behind_the_end_of_a_large_file_is_refused(void **state)
{
	struct make_server *s = *state;
	enum {
		SIZE = UX_SMALL_FILE_MOST + 1
	};
	struct ux_blobs *b = s->store.blobs;
	struct ux_blob_part *part = NULL;
	uint64_t size = 0;
	char uid[UX_UPLOAD_UID_SIZE];
	uint8_t *bytes = calloc(1, SIZE);
	assert_non_null(bytes);
	const char *ids[] = {"gnu:00112233"};
	const struct ux_arrival what = {.ns = UX_NAMESPACE_DEFAULT, .ids = ids, .n_ids = 1};
	const struct ux_who who = {.key_id = "", .from = "test"};
	const struct ux_candidate c = {.kind = UX_KIND_EXECUTABLE,
				       .blob = ux_blob_hash_of(ux_bytes(bytes, SIZE)),
				       .size = SIZE,
				       .holds = UX_HOLDS_CODE,
				       .reason = "",
				       .origin_name = "",
				       .description = "",
				       .file_name = "",
				       .key_id = ""};
	struct ux_add_result r;
	assert_int_equal(ux_upload_uid_make(uid, NULL), UX_OK);
	assert_int_equal(b->part_open(b, uid, &part, &size, NULL), UX_OK);
	assert_int_equal(b->part_write(part, ux_bytes(bytes, SIZE), NULL), UX_OK);
	assert_int_equal(ux_store_commit_candidate(&s->store, part, &what, &c, &who, &r, NULL),
			 UX_OK);
	b->part_close(part);
	free(bytes);
	static const struct {
		const char *range;
		unsigned status;
		size_t size; /* of the answer; 0: any */
	} cases[] = {{"Range: bytes=0-", 206, SIZE},
		     {"Range: bytes=262144-", 206, 1},
		     {"Range: bytes=262145-", 416, 0}};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		const char *headers[] = {cases[i].range, NULL};
		struct make_answer a = make_server_ask(
			s, &(struct make_ask){.method = "GET",
					      .target = "/buildid/00112233/executable",
					      .headers = headers});
		assert_int_equal(a.status, cases[i].status);
		if (cases[i].size > 0)
			assert_int_equal(a.body.size, cases[i].size);
		else
			assert_non_null(memmem(a.body.data, a.body.size, "\"error\"", 7));
		ux_out_deinit(&a.body);
	}
}

static void blob_that_was_cut_is_no_answer_and_is_repaired_by_its_bytes(void **state)
{
	struct make_server *s = *state;
	char path[256], hash[65], target[128];
	upload_example(s);
	struct ux_blob_hash h = ux_blob_hash_of(example());
	ux_blob_hash_text(&h, hash);
	snprintf(path, sizeof(path), "%s/blobs/%.2s/%.2s/%s", s->dir, hash, hash + 2, hash);
	assert_int_equal(truncate(path, MAKE_GSYM_EXAMPLE_SIZE - 1), 0);
	snprintf(target, sizeof(target), "/v1/gsym/%s", example_id);
	refused(get(s, target, 500), "input_output", "could not read");
	snprintf(target, sizeof(target), "/v1/symbolize/%s?addr=0x401000", example_id);
	json_t *doc = get(s, target, 200);
	assert_string_equal(text_of(doc, "status"), "failed");
	assert_non_null(strstr(text_of(doc, "reason"), "expected 214"));
	json_decref(doc);
	char ids[64];
	snprintf(ids, sizeof(ids), "\"%s\"", example_id);
	doc = upload(s, ids, example(), "", 200);
	assert_string_equal(text_of(doc, "status"), "already-there");
	json_decref(doc);
	doc = get(s, target, 200);
	assert_string_equal(text_of(doc, "status"), "found");
	json_decref(doc);
}

/* In a name: the file is still a GSYM, of other names. */
static void blob_with_a_flipped_bit_gives_no_wrong_name(void **state)
{
	struct make_server *s = *state;
	UX_ARENA(arena, 1 << 20);
	char path[256], hash[65], target[128], ids[64];
	struct ux_out poor = names_only(&arena);
	snprintf(ids, sizeof(ids), "\"%s\"", example_id);
	upload_example(s);
	struct ux_blob_hash h = ux_blob_hash_of(example());
	ux_blob_hash_text(&h, hash);
	snprintf(path, sizeof(path), "%s/blobs/%.2s/%.2s/%s", s->dir, hash, hash + 2, hash);
	assert_int_equal(chmod(path, 0600), 0);
	const uint8_t *a_name = memmem(make_gsym_example, MAKE_GSYM_EXAMPLE_SIZE, "dead", 4);
	assert_non_null(a_name);
	FILE *f = fopen(path, "r+");
	assert_non_null(f);
	assert_int_equal(fseek(f, a_name - make_gsym_example, SEEK_SET), 0);
	assert_int_equal(fputc('l', f), 'l'); /* "lead" */
	assert_int_equal(fclose(f), 0);
	snprintf(target, sizeof(target), "/v1/symbolize/%s?addr=0x401000", example_id);
	json_t *doc = get(s, target, 200);
	assert_string_equal(text_of(doc, "status"), "failed");
	assert_non_null(strstr(text_of(doc, "reason"), "damaged"));
	json_decref(doc);
	/* another candidate answers, where it knows something */
	json_decref(upload(s, ids, ux_out_bytes(&poor), ",\"force\":true", 200));
	doc = get(s, target, 200);
	assert_string_equal(text_of(doc, "quality"), "symtab");
	json_decref(doc);
	json_decref(upload(s, ids, example(), "", 200)); /* the same bytes repair it */
	doc = get(s, target, 200);
	assert_string_equal(text_of(doc, "quality"), "inlines");
	json_decref(doc);
	ux_out_deinit(&poor);
}

static void key_opens_its_scopes_and_namespace_only(void **state)
{
	struct make_server *s = *state;
	char reader[UX_TOKEN_SIZE], other[UX_TOKEN_SIZE];
	make_server_key(s, UX_SCOPE_READ, NULL, reader);
	make_server_key(s, UX_SCOPE_ADMIN, "other", other);
	upload_example(s);
	struct make_ask a = {.method = "POST", .target = "/v1/query", .body = UX_STR("{}")};
	refused(ask(s, &a, 401), "unauthorized", "scope upload");
	a.token = reader;
	refused(ask(s, &a, 403), "denied", "no scope upload");
	a.token = "ux_wrong";
	refused(ask(s, &a, 401), "unauthorized", "no token");
	char unknown[UX_TOKEN_SIZE];
	memcpy(unknown, s->admin, sizeof(unknown));
	unknown[10] = unknown[10] == 'a' ? 'b' : 'a';
	a.token = unknown;
	refused(ask(s, &a, 401), "unauthorized", "not known");
	a = (struct make_ask){.method = "GET", .target = "/v1/modules", .token = other};
	json_t *doc = ask(s, &a, 200);
	assert_int_equal(json_array_size(json_object_get(doc, "modules")), 0);
	json_decref(doc);
	a.token = unknown; /* reading is open, but a wrong token is not silently ignored */
	refused(ask(s, &a, 401), "unauthorized", "");
	char uid[UX_UPLOAD_UID_SIZE], target[128];
	announce(s, "\"gnu:00\"", example(), "", uid);
	snprintf(target, sizeof(target), "/v1/uploads/%s", uid);
	a = (struct make_ask){.method = "GET", .target = target, .token = other};
	refused(ask(s, &a, 404), "not_found", "upload");
}

static void keyed_reading_asks_everybody_for_a_key(void **state)
{
	struct make_server *s = *state;
	s->server.open_reading = false;
	static const char *const closed[] = {"/v1/modules", "/v1/modules/gnu:00", "/v1/gsym/gnu:00",
					     "/v1/symbolize/gnu:00?addr=1"};
	static const char *const open[] = {"/", "/healthz"};
	struct make_ask a = {.method = "GET"};
	for (size_t i = 0; i < ux_countof(closed); i++) {
		a.target = closed[i];
		refused(ask(s, &a, 401), "unauthorized", "key");
	}
	for (size_t i = 0; i < ux_countof(open); i++) {
		a.target = open[i];
		json_decref(ask(s, &a, 200));
	}
}

static void open_reading_of_this_machine_is_not_for_pages_of_other_names(void **state)
{
	struct make_server *s = *state;
	static const char *const local[] = {"localhost",    "LocalHost:8420", "127.0.0.1",
					    "127.0.0.1:80", "[::1]:8420",     "[::1]"};
	static const char *const names[] = {"evil.example",
					    "evil.example:8420",
					    "localhost.evil.example",
					    "127.0.0.1.nip.io",
					    "",
					    "[evil]:1",
					    "::1"};
	struct make_ask a = {.method = "GET", .target = "/v1/modules"};
	s->server.local_only = true;
	json_decref(ask(s, &a, 200));
	for (size_t i = 0; i < ux_countof(local); i++) {
		a.host = local[i];
		json_decref(ask(s, &a, 200));
	}
	for (size_t i = 0; i < ux_countof(names); i++) {
		a.host = names[i];
		a.token = NULL;
		refused(ask(s, &a, 401), "unauthorized", "scope read");
		a.token = s->admin;
		json_decref(ask(s, &a, 200));
	}
	s->server.local_only = false;
	a.token = NULL;
	json_decref(ask(s, &a, 200));
}

static void open_reading_is_of_the_default_namespace(void **state)
{
	struct make_server *s = *state;
	char uploader[UX_TOKEN_SIZE], other[UX_TOKEN_SIZE];
	make_server_key(s, UX_SCOPE_UPLOAD, NULL, uploader);
	make_server_key(s, UX_SCOPE_UPLOAD, "other", other);
	struct make_ask a = {.method = "GET", .target = "/v1/modules", .token = uploader};
	json_decref(ask(s, &a, 200));
	a.token = other;
	refused(ask(s, &a, 403), "denied", "no scope read");
}

static void answer_that_all_requests_have_no_memory_for_is_put_off(void **state)
{
	struct make_server *s = *state;
	char body[4096];
	upload_example(s);
	int n = snprintf(body, sizeof(body), "{\"modules\":[{\"id\":\"%s\",\"addresses\":[1",
			 example_id);
	for (unsigned i = 0; i < 300; i++)
		n += snprintf(body + n, sizeof(body) - (size_t)n, ",4198400");
	snprintf(body + n, sizeof(body) - (size_t)n, "]}]}");
	json_decref(post(s, "/v1/symbolize", body, 200));
	/* What alone is more than a client's share is too large; beside other requests it may wait.
	 */
	const size_t most = s->server.memory.most;
	s->server.memory.most = 16384;
	refused(post(s, "/v1/symbolize", body, 413), "too_large", "ask for less");
	assert_int_equal(s->server.memory.used, 0);
	s->server.memory.most = most;
	s->server.memory.used = most;
	refused(post(s, "/v1/symbolize", body, 503), "unavailable", "at once");
	assert_int_equal(s->server.memory.used, most);
	s->server.memory.used = 0;
}

/* Whatever fails at whatever step: what was acknowledged answers, nothing else is visible. */
static void failing_disk_never_makes_a_lie(void **state)
{
	struct make_server *s = *state;
	char ids[64], uid[UX_UPLOAD_UID_SIZE], target[160], where[128];
	snprintf(ids, sizeof(ids), "\"%s\"", example_id);
	snprintf(target, sizeof(target), "/v1/symbolize/%s?addr=0x401000", example_id);
	struct ux_blobs *files = s->store.blobs;
	unsigned failed = 0;
	for (unsigned nth = 1; nth < 30; nth++) {
		s->store.blobs = blobs_mem_create();
		announce(s, ids, example(), "", uid);
		blobs_mem_fail(s->store.blobs, nth);
		snprintf(where, sizeof(where), "/v1/uploads/%s", uid);
		struct make_ask put = {
			.method = "PUT", .target = where, .token = s->admin, .body = example()};
		struct make_answer sent = make_server_ask(s, &put), done = {0};
		strncat(where, "/finish", sizeof(where) - strlen(where) - 1);
		put = (struct make_ask){.method = "POST", .target = where, .token = s->admin};
		done = make_server_ask(s, &put);
		failed += sent.status != 200 || done.status != 200;
		blobs_mem_fail(s->store.blobs, 0);
		struct make_answer names =
			make_server_ask(s, &(struct make_ask){.method = "GET", .target = target});
		assert_int_equal(names.status, done.status == 200 ? 200 : 404);
		if (done.status == 200) {
			struct make_ask drop = {.method = "DELETE", .token = s->admin};
			snprintf(where, sizeof(where), "/v1/modules/%s", example_id);
			drop.target = where;
			assert_null(ask(s, &drop, 204));
		}
		ux_out_deinit(&sent.body);
		ux_out_deinit(&done.body);
		ux_out_deinit(&names.body);
		s->store.blobs->close(s->store.blobs);
	}
	s->store.blobs = files;
	assert_true(failed >= 5 && failed < 29);
}

static enum ux_code ask_everything(void *ctx)
{
	struct make_server *s = ctx;
	static const struct make_ask asks[] = {
		{.method = "GET",
		 .target =
			 "/v1/symbolize/gnu:1b700ab56bff4136b7c92cfe7a92fa17ef09d874?addr=0x401000"},
		{.method = "GET", .target = "/v1/modules"},
		{.method = "GET", .target = "/nowhere"},
	};
	bool bad = false;
	for (size_t i = 0; i < ux_countof(asks); i++) {
		struct make_answer a = make_server_ask(s, &asks[i]);
		bad = bad || a.status == 503 || a.status == 413;
		ux_out_deinit(&a.body);
	}
	return bad ? UX_ENOMEM : UX_OK;
}

static void each_failed_allocation_is_an_answer(void **state)
{
	struct make_server *s = *state;
	upload_example(s);
	assert_true(each_failed_alloc(ask_everything, s, /* may_recover= */ true) > 10);
}

static void sweep_body(struct ux_bytes input, void *ctx)
{
	struct make_server *s = ctx;
	static const char *const targets[] = {"/v1/symbolize", "/v1/query", "/v1/uploads"};
	for (size_t i = 0; i < ux_countof(targets); i++) {
		struct make_ask a = {
			.method = "POST", .target = targets[i], .token = s->admin, .body = input};
		struct make_answer got = make_server_ask(s, &a);
		assert_true(got.status == 200 || got.status == 201 ||
			    (got.status >= 400 && got.status < 500));
		json_t *doc = json_loadb((const char *)got.body.data, got.body.size, 0, NULL);
		assert_non_null(doc);
		json_decref(doc);
		ux_out_deinit(&got.body);
	}
}

static void each_damaged_body_gets_an_answer(void **state)
{
	static const char body[] =
		"{\"modules\":[{\"id\":\"gnu:1b70\",\"addresses\":[\"0x40\",7]}],\"force\":true}";
	each_prefix(ux_bytes_cstr(body), sweep_body, *state);
	each_byte_extreme(ux_bytes_cstr(body), sweep_body, *state);
}

static void cache_keeps_a_bounded_number_and_stays_right(void **state)
{
	struct make_server *s = *state; /* whose cache keeps 4 */
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 9; i++) {
			char ids[64], target[96];
			snprintf(ids, sizeof(ids), "\"go:m%u\"", i);
			if (round == 0)
				json_decref(upload(s, ids, example(), "", 200));
			snprintf(target, sizeof(target), "/v1/symbolize/go:m%u?addr=0x401007", i);
			json_t *doc = get(s, target, 200);
			json_t *frames = json_array_get(json_object_get(doc, "frames"), 0);
			assert_string_equal(text_of(json_array_get(frames, 0), "function"),
					    "_start");
			json_decref(doc);
		}
	}
}

struct reader {
	struct make_server *server;
	atomic_bool *stop;
	unsigned found, missing, wrong;
	unsigned status; /* of a wrong answer */
	char text[256];
};

static void *read_on(void *ctx)
{
	struct reader *r = ctx;
	char target[96];
	snprintf(target, sizeof(target), "/v1/symbolize/%s?addr=0x401007", example_id);
	while (!atomic_load(r->stop)) {
		struct make_answer a = make_server_ask(
			r->server, &(struct make_ask){.method = "GET", .target = target});
		const char *text = a.body.data ? (const char *)a.body.data : "";
		bool right = a.status == 200 &&
			     memmem(text, a.body.size, "_start", strlen("_start")) != NULL;
		r->found += right;
		r->missing += a.status == 404;
		if (!right && a.status != 404) {
			r->wrong++;
			r->status = a.status;
			snprintf(r->text, sizeof(r->text), "%.*s", (int)a.body.size, text);
		}
		ux_out_deinit(&a.body);
	}
	return NULL;
}

static void lookups_during_uploads_and_deletions_are_right_or_missing(void **state)
{
	struct make_server *s = *state;
	atomic_bool stop = false;
	pthread_t threads[3];
	struct reader readers[ux_countof(threads)];
	char ids[64], target[96];
	snprintf(ids, sizeof(ids), "\"%s\"", example_id);
	snprintf(target, sizeof(target), "/v1/modules/%s", example_id);
	for (size_t i = 0; i < ux_countof(threads); i++) {
		readers[i] = (struct reader){.server = s, .stop = &stop};
		assert_int_equal(pthread_create(&threads[i], NULL, read_on, &readers[i]), 0);
	}
	for (unsigned i = 0; i < 30; i++) {
		json_decref(upload(s, ids, example(), "", 200));
		json_decref(get(s, target, 200));
		json_decref(ask(
			s,
			&(struct make_ask){.method = "DELETE", .target = target, .token = s->admin},
			204));
	}
	json_decref(upload(s, ids, example(), "", 200));
	usleep(20000);
	atomic_store(&stop, true);
	for (size_t i = 0; i < ux_countof(threads); i++)
		pthread_join(threads[i], NULL); /* all, before a failure leaves */
	for (size_t i = 0; i < ux_countof(threads); i++) {
		if (readers[i].wrong > 0)
			fail_msg("status %u: %s", readers[i].status, readers[i].text);
		assert_true(readers[i].found > 0);
	}
}

/* "METHOD /path" of each operation in the file, found by its indentation. */
static size_t described(char lines[][96], size_t most)
{
	char line[512], path[64] = "";
	size_t n = 0;
	bool paths = false;
	FILE *f = fopen(UX_SOURCE_ROOT "/docs/api/openapi.yaml", "r");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (line[0] != ' ' && line[0] != '\n')
			paths = strncmp(line, "paths:", 6) == 0;
		if (!paths)
			continue;
		if (strncmp(line, "  /", 3) == 0)
			snprintf(path, sizeof(path), "%.*s", (int)strcspn(line + 2, ":"), line + 2);
		for (int m = 0; m < UX_METHOD_COUNT && line[4] != ' '; m++) {
			const char *name = ux_method_name((enum ux_method)m);
			if (strncmp(line, "    ", 4) == 0 &&
			    strncasecmp(line + 4, name, strlen(name)) == 0 &&
			    line[4 + strlen(name)] == ':') {
				assert_true(n < most);
				snprintf(lines[n++], 96, "%s %s", name, path);
			}
		}
	}
	fclose(f);
	return n;
}

static void quoted_text_keeps_its_quotes_however_little_fits(void **state)
{
	(void)state;
	char buf[40];
	assert_string_equal(ux_log_quote(UX_STR("/a\"b"), buf, sizeof(buf)), "\"/a\\\"b\"");
	assert_string_equal(ux_log_quote(UX_BYTES_NONE, buf, sizeof(buf)), "\"\"");
	char hostile[64];
	memset(hostile, 1, sizeof(hostile));
	for (size_t size = 8; size <= sizeof(buf); size++) {
		const char *got = ux_log_quote(ux_bytes(hostile, sizeof(hostile)), buf, size);
		size_t n = strlen(got);
		assert_true(n < size && n >= 5 && got[0] == '"');
		assert_string_equal(got + n - 4, "\"...");
		assert_int_equal((n - 5) % 6, 0); /* whole \u0001 */
	}
}

/*
 * The threads that own connections run only handlers whose cost no client and no uploaded file
 * decides: those that answer from a table in memory, read few rows, or hand a file to the network.
 * Every other route works on the queue, where clients take turns.
 */
static void routes_whose_cost_others_decide_run_on_the_work_queue(void **state)
{
	static const char *const cheap[] = {
		"GET /healthz",
		"GET /readyz",
		"GET /metrics",
		"POST /v1/uploads",
		"GET /v1/uploads/{uid}",
		"PUT /v1/uploads/{uid}",
		"GET /v1/whoami",
		"GET /buildid/{id}/debuginfo",
		"GET /buildid/{id}/executable",
		"GET /buildid/{id}/source/{path...}",
		"GET /v1/gsym/{id}",
		"GET /symbolize",
		"GET /sign-in",
		"POST /sign-in",
		"POST /sign-out",
		"GET /assets/{name}",
	};
	(void)state;
	for (size_t i = 0; i < ux_server_route_count; i++) {
		const struct ux_route *r = &ux_server_routes[i];
		char name[96];
		bool listed = false;
		snprintf(name, sizeof(name), "%s %s", ux_method_name(r->method), r->pattern);
		for (size_t k = 0; k < ux_countof(cheap); k++)
			listed |= strcmp(name, cheap[k]) == 0;
		if (listed == r->works)
			fail_msg("%s: %s", name, listed ? "works, and is listed" : "must work");
	}
}

static void openapi_file_and_route_table_agree(void **state)
{
	(void)state;
	static char lines[128][96];
	size_t n = described(lines, ux_countof(lines));
	assert_int_equal(n, ux_server_route_count);
	for (size_t i = 0; i < ux_server_route_count; i++) {
		char want[96];
		bool found = false;
		const char *pattern = ux_server_routes[i].pattern;
		size_t cut = strcspn(pattern, "."); /* OpenAPI has no "{path...}" */
		snprintf(want, sizeof(want), "%s %.*s%s",
			 ux_method_name(ux_server_routes[i].method), (int)cut, pattern,
			 pattern[cut] == '.' ? "}" : "");
		for (size_t k = 0; k < n; k++)
			found = found || strcmp(want, lines[k]) == 0;
		if (!found)
			fail_msg("openapi.yaml lacks %s", want);
	}
}

#define SERVER_TEST(fn) cmocka_unit_test_setup_teardown(fn, open_server, close_server)

static void routes_that_read_a_body_say_how_large_it_may_be(void **state)
{
	(void)state;
	for (size_t i = 0; i < ux_server_route_count; i++) {
		const struct ux_route *r = &ux_server_routes[i];
		if ((r->method == UX_METHOD_POST) != (r->body > 0))
			fail_msg("%s %s", ux_method_name(r->method), r->pattern);
		if (r->scope == 0 && r->body > UX_BODY_FORM)
			fail_msg("%s takes a large body without a key", r->pattern);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SERVER_TEST(upload_becomes_names),
		SERVER_TEST(batch_answers_each_module_in_order),
		SERVER_TEST(return_address_belongs_to_the_call_before_it),
		SERVER_TEST(places_are_named_by_a_function_and_an_offset),
		SERVER_TEST(names_of_functions_that_were_read_count_as_memory),
		SERVER_TEST(symbolize_refuses_what_makes_no_sense),
		SERVER_TEST(batches_over_their_limit_are_refused),
		SERVER_TEST(query_says_what_to_upload),
		SERVER_TEST(what_is_being_extracted_is_not_sent_by_everybody),
		SERVER_TEST(announcements_are_checked),
		SERVER_TEST(upload_goes_on_where_it_was_broken_off),
		SERVER_TEST(
			upload_that_is_being_written_is_busy_and_a_refused_writer_holds_nothing),
		SERVER_TEST(finish_is_idempotent),
		SERVER_TEST(bytes_that_are_not_the_announced_ones_can_be_sent_again),
		SERVER_TEST(gsym_that_is_bad_or_of_another_module_is_refused_for_good),
		SERVER_TEST(poorer_is_refused_and_forced_it_fills_the_gaps),
		SERVER_TEST(better_upload_replaces_a_poorer_answer_at_once),
		SERVER_TEST(module_can_be_seen_fetched_and_forgotten),
		SERVER_TEST(blob_that_was_cut_is_no_answer_and_is_repaired_by_its_bytes),
		SERVER_TEST(blob_with_a_flipped_bit_gives_no_wrong_name),
		SERVER_TEST(key_opens_its_scopes_and_namespace_only),
		SERVER_TEST(keyed_reading_asks_everybody_for_a_key),
		SERVER_TEST(open_reading_of_this_machine_is_not_for_pages_of_other_names),
		SERVER_TEST(open_reading_is_of_the_default_namespace),
		SERVER_TEST(answer_that_all_requests_have_no_memory_for_is_put_off),
		SERVER_TEST(failing_disk_never_makes_a_lie),
		SERVER_TEST(range_behind_the_end_of_a_large_file_is_refused),
		SERVER_TEST(each_failed_allocation_is_an_answer),
		SERVER_TEST(each_damaged_body_gets_an_answer),
		SERVER_TEST(lookups_during_uploads_and_deletions_are_right_or_missing),
		SERVER_TEST(cache_keeps_a_bounded_number_and_stays_right),
		UX_TEST(routes_that_read_a_body_say_how_large_it_may_be),
		UX_TEST(quoted_text_keeps_its_quotes_however_little_fits),
		UX_TEST(routes_whose_cost_others_decide_run_on_the_work_queue),
		UX_TEST(openapi_file_and_route_table_agree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
