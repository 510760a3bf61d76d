/* SPDX-License-Identifier: Apache-2.0 */
/* server: the table of routes, and promises of all routes. */
#include "test_server.h"

#include "blobs_mem.h"
#include "event_log.h"
#include "module_cache.h"
#include "request_values.h"
#include "routes.h"
#include "row_cache.h"

#include <pthread.h>
#include <stdatomic.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

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
		SIZE = UX_SMALL_FILE_MAX + 1
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
	assert_int_equal(chmod(path, 0600), 0); /* only root may write without it */
	assert_int_equal(truncate(path, MAKE_GSYM_EXAMPLE_SIZE - 1), 0);
	snprintf(target, sizeof(target), "/v1/gsym/%s", example_id);
	refused(get(s, target, 500), "input_output", "I/O error");
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

/* In a name: the file is still a GSYM, with other names. */
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
	/* another candidate answers, if it has an answer */
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
	refused(ask(s, &a, 401), "unauthorized", "not a token");
	char unknown[UX_TOKEN_SIZE];
	memcpy(unknown, s->admin, sizeof(unknown));
	unknown[10] = unknown[10] == 'a' ? 'b' : 'a';
	a.token = unknown;
	refused(ask(s, &a, 401), "unauthorized", "unknown token");
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
	char body[16384];
	upload_example(s);
	int n = snprintf(body, sizeof(body), "{\"modules\":[{\"id\":\"%s\",\"addresses\":[1",
			 example_id);
	for (unsigned i = 0; i < 1500; i++)
		n += snprintf(body + n, sizeof(body) - (size_t)n, ",4198400");
	snprintf(body + n, sizeof(body) - (size_t)n, "]}]}");
	json_decref(post(s, "/v1/symbolize", body, 200));
	/* A request over a client's share is too large by itself; a smaller one may wait for other
	 * requests. */
	const size_t max = s->server.memory.max;
	s->server.memory.max = 16384;
	refused(post(s, "/v1/symbolize", body, 413), "too_large", "request less");
	assert_int_equal(s->server.memory.used, 0);
	s->server.memory.max = max;
	s->server.memory.used = max;
	refused(post(s, "/v1/symbolize", body, 503), "unavailable", "too much memory");
	assert_int_equal(s->server.memory.used, max);
	s->server.memory.used = 0;
}

/* Whatever fails at whatever step: acknowledged uploads are answered, nothing else is visible. */
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
		pthread_join(threads[i],
			     NULL); /* all threads end, before a failure leaves the test */
	for (size_t i = 0; i < ux_countof(threads); i++) {
		if (readers[i].wrong > 0)
			fail_msg("status %u: %s", readers[i].status, readers[i].text);
		assert_true(readers[i].found > 0);
	}
}

/* Returns "METHOD /path" of each operation in the file, found by its indentation. */
static size_t described(char lines[][96], size_t max)
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
				assert_true(n < max);
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
 * decides: handlers that answer from a table in memory, read few rows, or hand a file to the
 * network. Every other route works on the queue, where clients take turns.
 */
static void routes_whose_cost_others_decide_run_on_the_work_queue(void **state)
{
	static const char *const cheap[] = {
		"GET /healthz",
		"GET /readyz",
		"POST /v1/uploads",
		"GET /v1/uploads/{uid}",
		"PUT /v1/uploads/{uid}",
		"GET /v1/whoami",
		"GET /buildid/{id}/debuginfo",
		"GET /buildid/{id}/executable",
		"GET /buildid/{id}/source/{path...}",
		"GET /v1/gsym/{id}",
		"GET /sign-in",
		"POST /sign-in",
		"POST /sign-out",
		"GET /assets/{name}",
		"GET /viewers/speedscope/{name}",
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

static void target_without_a_path_is_refused(void **state)
{
	struct make_server *s = *state;
	static const char *const targets[] = {"http://h", "http://h?q=1", "?q=1", ""};
	for (size_t i = 0; i < ux_countof(targets); i++)
		refused(ask(s, &(struct make_ask){.method = "GET", .target = targets[i]}, 400),
			"invalid", "the target has no path");
}

UX_SUITE(server)
{
	const struct CMUnitTest tests[] = {
		SERVER_TEST(upload_becomes_names),
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
		SERVER_TEST(target_without_a_path_is_refused),
		SERVER_TEST(each_failed_allocation_is_an_answer),
		SERVER_TEST(each_damaged_body_gets_an_answer),
		SERVER_TEST(lookups_during_uploads_and_deletions_are_right_or_missing),
		UX_TEST(routes_that_read_a_body_say_how_large_it_may_be),
		UX_TEST(quoted_text_keeps_its_quotes_however_little_fits),
		UX_TEST(routes_whose_cost_others_decide_run_on_the_work_queue),
		UX_TEST(openapi_file_and_route_table_agree),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
