/* SPDX-License-Identifier: Apache-2.0 */
/* server/upload: the routes of queries and uploads. */
#include "finish_queue.h"
#include "test_server.h"

#include <semaphore.h>

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
	refused(post(s, "/v1/query", "{\"ids\":[],\"ids\":[]}", 400), "invalid", "duplicate");
	refused(post(s, "/v1/query", "{\"modules\":null,\"modules\":[]}", 400), "invalid",
		"duplicate");
	refused(post(s, "/v1/query", "{\"ids\":[1]}", 400), "invalid", "strings");
	refused(post(s, "/v1/query", "{\"ids\":[],\"force\":\"yes\"}", 400), "invalid", "force");
}

static void query_answers_a_module_of_too_many_ids_under_its_first_one(void **state)
{
	char body[512];
	int n = snprintf(body, sizeof(body), "{\"modules\":[{\"ids\":[\"gnu:10\"");
	for (int i = 1; i <= UX_INDEX_IDS_MAX; i++)
		n += snprintf(body + n, sizeof(body) - (size_t)n, ",\"gnu:%d\"", 10 + i);
	(void)snprintf(body + n, sizeof(body) - (size_t)n, "]}]}");
	json_t *doc = post(*state, "/v1/query", body, 200);
	json_t *first = json_array_get(json_object_get(doc, "answers"), 0);
	assert_string_equal(text_of(first, "id"), "gnu:10");
	assert_string_equal(text_of(first, "status"), "invalid");
	assert_non_null(strstr(text_of(first, "reason"), "17 elements"));
	json_decref(doc);
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
				       .trust = UX_TRUST_CI,
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

/* Begins a PUT; only its headers have come. */
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
	put_begin(s, &x, target); /* at 0, but 10 is expected */
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

/* --- too many to finish ----------------------------------------------------------------------- */

/* A ux_finish_fn that takes until `ctx` is posted. */
static void finish_later(void *ctx, const struct ux_finish_request *what,
			 struct ux_finish_outcome *ret)
{
	(void)what;
	(void)ret;
	sem_wait(ctx);
	sem_post(ctx);
}

static void wake_none(void *ctx)
{
	(void)ctx;
}

static bool may_wait(void *ctx)
{
	(void)ctx;
	return true;
}

static bool has_left(void *ctx)
{
	(void)ctx;
	return false;
}

/* Fills the queue with others' uploads. */
static void fill_finisher(struct ux_finisher *f, struct ux_finish_waiter *w)
{
	enum ux_finish_state state = UX_FINISH_WAITING;
	char uid[24];
	for (size_t i = 0; i <= UX_FINISH_QUEUE_MAX && state != UX_FINISH_FULL; i++) {
		snprintf(uid, sizeof(uid), "u%zu", i);
		w[i] = (struct ux_finish_waiter){.wake = wake_none};
		const struct ux_finish_request what = {
			.ns = "n", .uid = uid, .size = 1, .who = {.key_id = "", .from = "test"}};
		state = ux_finisher_join(f, &what, &w[i]);
	}
}

/* Returns the status of `finish` for a client that can wait; *retry: Retry-After. */
static unsigned finish_waiting(struct make_server *s, const char *uid, char *retry, size_t size)
{
	static struct ux_http_waits waits = {may_wait, wake_none, has_left};
	struct ux_exchange x;
	char line[UX_TOKEN_SIZE + 16], target[128];
	snprintf(target, sizeof(target), "/v1/uploads/%s/finish", uid);
	snprintf(line, sizeof(line), "Bearer %s", s->admin);
	ux_exchange_init(&x, &s->app, UX_STR("POST"), ux_bytes_cstr(target));
	ux_exchange_header(&x, UX_STR("Authorization"), ux_bytes_cstr(line));
	x.req.waits = &waits;
	ux_exchange_begin(&x);
	ux_exchange_finish(&x);
	assert_false(x.parked);
	for (size_t i = 0; i < x.res.n_fields; i++)
		if (ux_bytes_eq(x.res.fields[i].name, UX_STR("Retry-After")))
			snprintf(retry, size, "%s", (const char *)x.res.fields[i].value.data);
	unsigned status = x.res.status;
	ux_exchange_deinit(&x, true);
	return status;
}

/* A full queue is not a fault of the upload: 503, and when to repeat it. */
static void upload_that_has_no_place_in_the_queue_is_repeated_later(void **state)
{
	struct make_server *s = *state;
	struct ux_finish_waiter *w = calloc(UX_FINISH_QUEUE_MAX + 1, sizeof(*w));
	char retry[8] = "";
	sem_t done;
	assert_non_null(w);
	assert_int_equal(sem_init(&done, 0, 0), 0);
	struct ux_http_limits limits = s->app.limits;
	s->app.limits.upload_bytes = 8 << 20;
	uint64_t max = atomic_exchange(&s->server.upload_max, UINT64_C(8) << 20);
	json_t *doc = post(s, "/v1/uploads",
			   "{\"ids\":[\"gnu:77\"],\"size\":2097152,\"sha256\":"
			   "\"0011223344556677889900112233445566778899001122334455667788990011\"}",
			   201);
	assert_int_equal(ux_finisher_open(&s->server.finisher, 1, 0, finish_later, &done, NULL),
			 UX_OK);
	fill_finisher(s->server.finisher, w);
	assert_int_equal(finish_waiting(s, text_of(doc, "uid"), retry, sizeof(retry)), 503);
	assert_string_equal(retry, "1");
	sem_post(&done);
	ux_finisher_close(s->server.finisher);
	s->server.finisher = NULL;
	s->app.limits = limits;
	atomic_store(&s->server.upload_max, max);
	json_decref(doc);
	sem_destroy(&done);
	free(w);
}

UX_SUITE(upload_routes)
{
	const struct CMUnitTest tests[] = {
		SERVER_TEST(query_says_what_to_upload),
		SERVER_TEST(query_answers_a_module_of_too_many_ids_under_its_first_one),
		SERVER_TEST(what_is_being_extracted_is_not_sent_by_everybody),
		SERVER_TEST(announcements_are_checked),
		SERVER_TEST(upload_goes_on_where_it_was_broken_off),
		SERVER_TEST(
			upload_that_is_being_written_is_busy_and_a_refused_writer_holds_nothing),
		SERVER_TEST(upload_that_has_no_place_in_the_queue_is_repeated_later),
		SERVER_TEST(finish_is_idempotent),
		SERVER_TEST(bytes_that_are_not_the_announced_ones_can_be_sent_again),
		SERVER_TEST(gsym_that_is_bad_or_of_another_module_is_refused_for_good),
		SERVER_TEST(poorer_is_refused_and_forced_it_fills_the_gaps),
		SERVER_TEST(better_upload_replaces_a_poorer_answer_at_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
