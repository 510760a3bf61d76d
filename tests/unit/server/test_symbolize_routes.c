/* SPDX-License-Identifier: Apache-2.0 */
/* server/symbolize: the routes of addresses. */
#include "test_server.h"

#include "module_cache.h"

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
		{"", "invalid", "JSON, offset", 400},
		{"{", "invalid", "JSON, offset", 400},
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
		 "not an address", 400},
		{"{\"modules\":[{\"id\":\"gnu:00\",\"addresses\":[\"0x10000000000000000\"]}]}",
		 "invalid", "not an address", 400},
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
	body = repeat("{\"stacks\":[", "[]", 120001, "]}");
	refused(post(s, "/symbolicate/v5", body, 413), "too_large", "120000");
	free(body);
	body = repeat("{\"stacks\":[", "1", 400001, "]}");
	refused(post(s, "/symbolicate/v5", body, 413), "too_large", "400000");
	free(body);
	body = repeat("{\"ids\":[", "[]", 120001, "]}");
	refused(post(s, "/v1/query", body, 400), "invalid", "an array");
	free(body);
	body = repeat("{\"ids\":[", "1", 400001, "]}");
	refused(post(s, "/v1/query", body, 400), "invalid", "a number");
	free(body);
	body = repeat("{\"modules\":[{\"id\":\"gnu:00\",\"addresses\":[", "1", 100000, "]}]}");
	json_decref(post(s, "/v1/symbolize", body, 200));
	free(body);
}

/* Returns which of the addresses below is at place i of an answer. */
static size_t choice_of(size_t i)
{
	return i * 0x9e3779b1u >> 7 & 3;
}

static void a_large_answer_has_the_frames_of_small_ones(void **state)
{
	enum {
		N = 60000,
	};
	struct make_server *s = *state;
	static const char *const pcs[] = {"0x401007", "0x401000", "0", "0x401010"};
	json_t *small[ux_countof(pcs)];
	char target[96];
	ux_cleanup(ux_out_deinit) struct ux_out body = {0};
	upload_example(s);
	for (size_t i = 0; i < ux_countof(pcs); i++) {
		snprintf(target, sizeof(target), "/v1/symbolize/%s?addr=%s", example_id, pcs[i]);
		small[i] = get(s, target, 200);
	}
	ux_out_fmt(&body, "{\"modules\":[{\"id\":\"%s\",\"addresses\":[", example_id);
	for (size_t i = 0; i < N; i++)
		ux_out_fmt(&body, "%s\"%s\"", i > 0 ? "," : "", pcs[choice_of(i)]);
	ux_out_cstr(&body, "]}]}");
	ux_out_u8(&body, 0);
	json_t *doc = post(s, "/v1/symbolize", (const char *)body.data, 200);
	json_t *module = json_array_get(json_object_get(doc, "modules"), 0);
	json_t *frames = json_object_get(module, "frames");
	assert_int_equal(json_array_size(frames), N);
	for (size_t i = 0; i < N; i++) {
		json_t *one = json_array_get(json_object_get(small[choice_of(i)], "frames"), 0);
		assert_true(json_equal(json_array_get(frames, i), one));
	}
	char *text = json_dumps(doc, JSON_COMPACT);
	assert_true(strlen(text) > 2 << 20); /* otherwise it proves nothing about large ones */
	free(text);
	json_decref(doc);
	for (size_t i = 0; i < ux_countof(pcs); i++)
		json_decref(small[i]);
}

static void cache_keeps_a_bounded_number_and_stays_right(void **state)
{
	struct make_server *s = *state; /* its cache keeps 4 */
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

UX_SUITE(symbolize_routes)
{
	const struct CMUnitTest tests[] = {
		SERVER_TEST(batch_answers_each_module_in_order),
		SERVER_TEST(return_address_belongs_to_the_call_before_it),
		SERVER_TEST(places_are_named_by_a_function_and_an_offset),
		SERVER_TEST(names_of_functions_that_were_read_count_as_memory),
		SERVER_TEST(symbolize_refuses_what_makes_no_sense),
		SERVER_TEST(batches_over_their_limit_are_refused),
		SERVER_TEST(a_large_answer_has_the_frames_of_small_ones),
		SERVER_TEST(cache_keeps_a_bounded_number_and_stays_right),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
