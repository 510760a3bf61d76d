/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize: requests for names of all protocols, without a socket. */
#include "sweep.h"

#include "frame_filler.h"
#include "make_gsym.h"
#include "make_server.h"
#include "resolve.h"
#include "symbolize.h"
#include "wire.h"

#include <jansson.h>
#include <time.h>

/* The linker gives the server __wrap_, and __real_ is the C library's. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __real_clock_gettime(clockid_t clock, struct timespec *ret);

static time_t seconds_later; /* by how much all clocks are ahead */

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int code = __real_clock_gettime(clock, ret);
	ret->tv_sec += seconds_later;
	return code;
}

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
	seconds_later = 0;
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

/* --- modules that are not here ------------------------------------------------------------- */

/* A source of missing symbols, which may have them or not. */
struct other {
	struct make_server *s;
	enum ux_missing_status says;
	uint32_t retry_after_s;
	unsigned requested;
	uint32_t wait_ms;
};

static enum ux_missing_status ask_other(void *ctx, struct ux_missing_module *ask)
{
	struct other *o = ctx;
	o->requested++;
	o->wait_ms = ask->wait_ms;
	assert_string_equal(ask->ns, UX_NAMESPACE_DEFAULT);
	assert_string_equal(ask->id, example_id);
	ask->retry_after_s = o->retry_after_s;
	if (o->says == UX_MISSING_ARRIVED)
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

static void module_that_is_not_here_is_requested_elsewhere(void **state)
{
	struct make_server *s = *state;
	struct other other = {.s = s, .says = UX_MISSING_NOWHERE};
	json_t *doc = NULL;
	s->server.missing = (struct ux_missing_modules){ask_other, &other};
	assert_string_equal(text_of(first_module(s, one_address, &doc), "status"), "missing");
	json_decref(doc);
	assert_int_equal(other.requested, 1);

	other.says = UX_MISSING_PENDING;
	other.retry_after_s = 7;
	const json_t *m = first_module(s, one_address, &doc);
	assert_string_equal(text_of(m, "status"), "pending");
	assert_int_equal(json_integer_value(json_object_get(m, "retry_after")), 7);
	json_decref(doc);
	other.retry_after_s = 0; /* a source that does not know leaves the time to the server */
	m = first_module(s, one_address, &doc);
	assert_true(json_integer_value(json_object_get(m, "retry_after")) > 0);
	json_decref(doc);
	assert_int_equal(other.requested, 3);

	other.says = UX_MISSING_AWAY; /* not missing: nobody knows */
	other.retry_after_s = 50;
	m = first_module(s, one_address, &doc);
	assert_string_equal(text_of(m, "status"), "pending");
	assert_non_null(strstr(text_of(m, "reason"), "does not answer"));
	assert_int_equal(json_integer_value(json_object_get(m, "retry_after")), 50);
	json_decref(doc);
	assert_int_equal(other.requested, 4);

	other.says = UX_MISSING_ARRIVED;
	m = first_module(s, one_address, &doc);
	assert_string_equal(text_of(m, "status"), "found");
	json_decref(doc);
	m = first_module(s, one_address, &doc);
	assert_string_equal(text_of(m, "status"), "found");
	json_decref(doc);
	assert_int_equal(other.requested, 5); /* modules that are here are not requested */
}

/* A second passes with each request. */
static enum ux_missing_status fetch_slowly(void *ctx, struct ux_missing_module *m)
{
	struct other *o = ctx;
	o->requested++;
	assert_true(m->wait_ms <= UX_WORK_WAIT_MS);
	seconds_later++;
	return UX_MISSING_PENDING;
}

static void pprof_waits_for_a_module_for_some_seconds(void **state)
{
	struct make_server *s = *state;
	struct other other = {.s = s};
	char target[96];
	s->server.missing = (struct ux_missing_modules){fetch_slowly, &other};
	snprintf(target, sizeof(target), "/pprof/%s/symbol", example_id);
	json_decref(ask(s, &(struct make_ask){.method = "GET", .target = target, .token = s->admin},
			503));
	assert_in_range(other.requested, 5, 7);
}

/* --- the compact form -------------------------------------------------------------------------
 */

/* Asks in the compact form; released by the caller. */
static struct make_answer ask_compact(struct make_server *s, struct ux_bytes body, unsigned status)
{
	struct make_answer a = make_server_ask(s, &(struct make_ask){.method = "POST",
								     .target = "/v1/symbolize",
								     .token = s->admin,
								     .type = UX_WIRE_TYPE,
								     .body = body});
	if (a.status != status)
		fail_msg("%u, wanted %u: %.*s", a.status, status, (int)a.body.size,
			 (const char *)a.body.data);
	return a;
}

static void put_module(struct ux_out *out, const char *id, const uint64_t *pcs, size_t n)
{
	struct ux_id typed;
	assert_int_equal(ux_id_parse(ux_bytes_cstr(id), &typed, NULL), UX_OK);
	ux_wire_question_add(out, &typed, pcs, n);
}

/* Frames of an address in both forms. */
static void expect_same(const json_t *list, const struct ux_frame *frames, size_t n)
{
	assert_int_equal(json_array_size(list), n);
	for (size_t i = 0; i < n; i++) {
		const json_t *f = json_array_get(list, i);
		char path[256];
		snprintf(path, sizeof(path), "%s%s%s", frames[i].dir,
			 frames[i].dir[0] != '\0' ? "/" : "", frames[i].base);
		assert_string_equal(text_of(f, "function"), frames[i].function);
		assert_string_equal(text_of(f, "file"), path);
		assert_int_equal(json_integer_value(json_object_get(f, "line")), frames[i].line);
		assert_int_equal(json_is_true(json_object_get(f, "inlined")), frames[i].inlined);
	}
}

static void compact_form_and_json_answer_the_same(void **state)
{
	struct make_server *s = *state;
	static const uint64_t pcs[] = {0x401000, 0x401002, 0x401007, 0x401006, 1, 0x401000};
	static const char json[] =
		"{\"modules\":[{\"id\":\"gnu:00\",\"addresses\":[1]},"
		"{\"id\":\"1b700ab56bff4136b7c92cfe7a92fa17ef09d874\",\"addresses\":"
		"[\"0x401000\",\"0x401002\",\"0x401007\",\"0x401006\",1,\"0x401000\"]}],"
		"\"return_addresses\":%s,\"demangle\":\"none\"}";
	upload_example(s);
	for (unsigned back = 0; back <= 1; back++) {
		ux_cleanup(ux_out_deinit) struct ux_out question = {0};
		const struct ux_wire_options options = {.return_addresses = back == 1};
		struct ux_frame frames[UX_FRAMES_MAX];
		struct ux_wire_read r;
		char body[512];
		snprintf(body, sizeof(body), json, back ? "true" : "false");
		json_t *doc = post(s, "/v1/symbolize", body, 200);
		const json_t *m = json_array_get(json_object_get(doc, "modules"), 1);
		ux_wire_question_begin(&question, &options);
		put_module(&question, "gnu:00", pcs, 1);
		put_module(&question, example_id, pcs, ux_countof(pcs));
		ux_wire_question_end(&question);
		struct make_answer a = ask_compact(s, ux_out_bytes(&question), 200);
		assert_int_equal(ux_wire_read_open(&r, ux_out_bytes(&a.body), NULL), UX_OK);
		assert_int_equal(r.n_modules, 2);
		assert_int_equal(r.modules[0].status, UX_MODULE_MISSING);
		assert_int_equal(r.modules[1].status, UX_MODULE_FOUND);
		assert_int_equal(r.modules[1].quality, UX_QUALITY_INLINES);
		assert_int_equal(r.modules[1].n, ux_countof(pcs));
		for (size_t i = 0; i < ux_countof(pcs); i++) {
			size_t n = ux_wire_read_frames(&r, i, frames, ux_countof(frames));
			expect_same(json_array_get(json_object_get(m, "frames"), i), frames, n);
		}
		ux_wire_read_deinit(&r);
		ux_out_deinit(&a.body);
		json_decref(doc);
	}
}

static void compact_form_of_another_version_is_refused_with_words(void **state)
{
	struct make_server *s = *state;
	static const struct {
		struct ux_bytes body;
		unsigned status;
		const char *says;
	} cases[] = {
		{{(const uint8_t *)"UXQ\x02\0\0\0\0", 8}, 422, "version 2; expected version 1"},
		{{(const uint8_t *)"UXQ\x01\x40\0\0\0", 8}, 422, "flags"},
		{{(const uint8_t *)"{\"modules\":[]}", 14}, 422, "UXQ"},
		{{(const uint8_t *)"UXQ\x01\0\0\0\x02\0", 9}, 400, "empty"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		struct make_answer a = ask_compact(s, cases[i].body, cases[i].status);
		ux_out_u8(&a.body, 0);
		if (!strstr((const char *)a.body.data, cases[i].says))
			fail_msg("'%s' does not say '%s'", (const char *)a.body.data,
				 cases[i].says);
		ux_out_deinit(&a.body);
	}
}

static void compact_questions_over_their_limit_are_refused(void **state)
{
	struct make_server *s = *state;
	const struct ux_wire_options options = {0};
	uint64_t *pcs = calloc(UX_SYMBOLIZE_ADDRESSES_MAX, sizeof(*pcs));
	for (unsigned over = 0; over <= 1; over++) {
		ux_cleanup(ux_out_deinit) struct ux_out q = {0};
		ux_wire_question_begin(&q, &options);
		put_module(&q, "gnu:00", pcs, UX_SYMBOLIZE_ADDRESSES_MAX);
		if (over)
			put_module(&q, "gnu:00", pcs, 1);
		ux_wire_question_end(&q);
		struct make_answer a = ask_compact(s, ux_out_bytes(&q), over ? 413 : 200);
		ux_out_deinit(&a.body);
	}
	for (unsigned over = 0; over <= 1; over++) {
		ux_cleanup(ux_out_deinit) struct ux_out q = {0};
		ux_wire_question_begin(&q, &options);
		for (unsigned i = 0; i < UX_SYMBOLIZE_MODULES_MAX + over; i++)
			put_module(&q, "gnu:00", NULL, 0);
		ux_wire_question_end(&q);
		struct make_answer a = ask_compact(s, ux_out_bytes(&q), over ? 413 : 200);
		ux_out_deinit(&a.body);
	}
	free(pcs);
}

/* --- candidates ------------------------------------------------------------------------------- */

/* A GSYM of functions without lines. */
static struct ux_out names_only(struct ux_arena *arena, struct ux_gsym_function *functions,
				size_t n, struct ux_bytes strings)
{
	struct ux_out out = {0};
	struct ux_gsym_file_entry none = {0, 0};
	struct make_gsym m = {.arena = arena,
			      .base = 0x400000,
			      .functions = functions,
			      .n_functions = n,
			      .files = &none,
			      .n_files = 1,
			      .strings = strings};
	assert_int_equal(make_gsym_write(&m, &out), UX_OK);
	return out;
}

/* Checks the outermost function at an address of the example's module. */
static void expect_function(struct make_server *s, const char *address, const char *expected)
{
	char body[256];
	json_t *doc = NULL;
	snprintf(body, sizeof(body), "{\"modules\":[{\"id\":\"%s\",\"addresses\":[\"%s\"]}]}",
		 example_id, address);
	const json_t *frames =
		json_array_get(json_object_get(first_module(s, body, &doc), "frames"), 0);
	size_t n = json_array_size(frames);
	const char *function = n > 0 ? text_of(json_array_get(frames, n - 1), "function") : "";
	assert_string_equal(function, expected);
	json_decref(doc);
}

static void what_was_remembered_yields_to_what_is_better(void **state)
{
	struct make_server *s = *state;
	UX_ARENA(arena, 1 << 20);
	struct ux_gsym_function bounds[] = {{.start = 0x402000, .size = 16, .name = 1},
					    {.start = 0x403000, .size = 4096, .name = 11}};
	struct ux_gsym_function name = {.start = 0x402000, .size = 16, .name = 1};
	struct ux_out more = names_only(&arena, bounds, 2, UX_STR("\0" UX_NO_NAME "\0big\0"));
	struct ux_out less = names_only(&arena, &name, 1, UX_STR("\0only_here\0"));
	upload(s, example_id, ux_out_bytes(&more), "");
	expect_function(s, "0x402001", UX_NO_NAME);
	expect_function(s, "0x403001", "big");
	expect_function(s, "0x401000", "");
	/* poorer, but it has a name where the better one lacks it */
	upload(s, example_id, ux_out_bytes(&less), ",\"force\":true");
	expect_function(s, "0x402001", "only_here");
	expect_function(s, "0x403001", "big");
	expect_function(s, "0x401000", "");
	/* better, but with a gap where the others have functions */
	upload_example(s);
	expect_function(s, "0x401000", "f");
	expect_function(s, "0x402001", "only_here");
	expect_function(s, "0x403001", "big");
	ux_out_deinit(&more);
	ux_out_deinit(&less);
}

static ux_time last_used(struct make_server *s)
{
	UX_ARENA(arena, 1 << 20);
	struct ux_module m;
	struct ux_index *ix = s->store.index;
	assert_int_equal(ux_store_tick(&s->store, NULL), UX_OK); /* writes the uses */
	assert_int_equal(ix->modules.find(ix, UX_NAMESPACE_DEFAULT, example_id, &arena, &m, NULL),
			 UX_OK);
	return m.last_used;
}

static void use_of_an_open_module_is_noted_from_time_to_time(void **state)
{
	struct make_server *s = *state;
	upload_example(s);
	expect_function(s, "0x401000", "f");
	const ux_time first = last_used(s);
	assert_true(first > 0);
	seconds_later = UX_STORE_USE_S / 2;
	expect_function(s, "0x401000", "f");
	assert_int_equal(last_used(s), first);
	seconds_later = UX_STORE_USE_S + 1;
	expect_function(s, "0x401000", "f");
	assert_true(last_used(s) >= first + UX_STORE_USE_S / 2);
}

/* --- large functions -------------------------------------------------------------------------- */

enum {
	CALLS = 2000, /* inlined calls of the large function, 8 bytes each */
};

static void upload_large(struct make_server *s)
{
	static struct ux_code_inline calls[CALLS];
	static struct ux_gsym_range ranges[CALLS];
	static struct ux_gsym_row rows[CALLS];
	UX_ARENA(arena, 1 << 20);
	for (uint32_t i = 0; i < CALLS; i++) {
		ranges[i] = (struct ux_gsym_range){8 * i, 8 * i + 4};
		rows[i] = (struct ux_gsym_row){8 * i, 10 + i, 0};
		calls[i] = (struct ux_code_inline){
			.name = 7, .call_line = i, .depth = 1, .range_first = i, .range_count = 1};
	}
	struct ux_gsym_function large = {.start = 0x401000,
					 .size = 8 * CALLS,
					 .name = 1,
					 .rows = rows,
					 .n_rows = CALLS,
					 .inlines = calls,
					 .n_inlines = CALLS,
					 .ranges = ranges};
	struct ux_out out = names_only(&arena, &large, 1, UX_STR("\0large\0call\0"));
	upload(s, example_id, ux_out_bytes(&out), "");
	ux_out_deinit(&out);
}

/* Requests n addresses; *ret_doc has the frames. */
static const json_t *ask_large(struct make_server *s, size_t first, size_t n, const char *mode,
			       json_t **ret_doc)
{
	ux_cleanup(ux_out_deinit) struct ux_out body = {0};
	ux_out_fmt(&body, "{\"demangle\":\"%s\",\"modules\":[{\"id\":\"%s\",\"addresses\":[", mode,
		   example_id);
	for (size_t i = 0; i < n; i++)
		ux_out_fmt(&body, "%s%zu", i ? "," : "", first + i);
	ux_out_cstr(&body, "]}]}");
	ux_out_u8(&body, 0);
	const json_t *frames =
		json_object_get(first_module(s, (const char *)body.data, ret_doc), "frames");
	assert_int_equal(json_array_size(frames), n);
	return frames;
}

/* Requests n addresses after the large function. */
static void expect_nothing(struct make_server *s, size_t off, size_t n, const char *mode)
{
	json_t *doc = NULL;
	const json_t *frames = ask_large(s, 0x801000 + off, n, mode, &doc);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(json_array_size(json_array_get(frames, i)), 0);
	json_decref(doc);
}

/* Requests n addresses from the large function's byte `off` on, and checks the frames. */
static void expect_large(struct make_server *s, size_t off, size_t n, const char *mode)
{
	json_t *doc = NULL;
	const json_t *frames = ask_large(s, 0x401000 + off, n, mode, &doc);
	for (size_t i = 0; i < n; i++) {
		const json_t *of = json_array_get(frames, i);
		bool inlined = (off + i) % 8 < 4;
		assert_int_equal(json_array_size(of), 1 + inlined);
		assert_string_equal(text_of(json_array_get(of, 0), "function"),
				    inlined ? "call" : "large");
	}
	json_decref(doc);
}

/* New addresses of a large function come from an index, whose memory is counted. */
static void new_addresses_of_a_large_function_use_an_index(void **state)
{
	struct make_server *s = *state;
	upload_large(s);
	expect_large(s, 0, 1, "none");
	size_t before = ux_module_cache_bytes(s->server.cache);
	for (size_t i = 1; i < 10; i++) {
		expect_large(s, i * 16, 4, "none");    /* a few: one by one */
		expect_large(s, i * 1000, 20, "none"); /* a batch */
	}
	size_t after = ux_module_cache_bytes(s->server.cache);
	assert_true(after > before + CALLS * 16);
	assert_true(after < before + CALLS * 64);
}

static struct ux_frame_filler_counts wait_for_filler(struct make_server *s)
{
	struct ux_frame_filler *filler = ux_module_cache_filler(s->server.cache);
	ux_frame_filler_wait(filler);
	return ux_frame_filler_count(filler);
}

/* After some thousand new addresses all others are cached, too; the answers are the same. */
static void many_new_addresses_fill_the_frame_cache(void **state)
{
	enum {
		SOME = 2500
	};
	struct make_server *s = *state;
	upload_large(s);
	expect_large(s, 0, SOME / 2, "none");
	assert_int_equal(wait_for_filler(s).filled, 0);
	expect_large(s, SOME / 2, SOME - SOME / 2, "none");
	assert_int_equal(wait_for_filler(s).filled, 1);
	expect_large(s, 0, 8 * CALLS, "none");
	assert_int_equal(wait_for_filler(s).filled, 1);
	expect_large(s, 0, SOME, "full"); /* has a frame cache of its own */
	const struct ux_frame_filler_counts counts = wait_for_filler(s);
	assert_int_equal(counts.filled, 2);
	assert_int_equal(counts.refused, 0);
	assert_true(counts.cpu_ns > 0);
	expect_large(s, 0, 8 * CALLS, "full");
}

/* All caches and indexes together stay within their part of the memory setting. */
static void caches_stay_within_their_memory(void **state)
{
	static const char *const modes[] = {"none", "short", "full", "templates-elided"};
	struct make_server *s = *state;
	const size_t max = 8 << 20;
	ux_module_cache_limit(s->server.cache, 16 << 20);
	upload_large(s);
	size_t highest = 0;
	for (size_t i = 0; i < 4 * ux_countof(modes); i++) {
		for (size_t off = 0; off < 8 * CALLS; off += 8 * CALLS / 4) {
			expect_large(s, off, 8 * CALLS / 4, modes[i % ux_countof(modes)]);
			/* which no filled cache has */
			expect_nothing(s, (i / 4 * 8 * CALLS + off) * 4, 8 * CALLS,
				       modes[i % ux_countof(modes)]);
		}
		highest = ux_max(highest, ux_module_cache_bytes(s->server.cache));
	}
	assert_true(highest > 1 << 20);
	assert_true(highest < max + max / 2);
}

/* --- time ------------------------------------------------------------------------------------- */

/* Takes longer than any client waits. */
static enum ux_missing_status ask_slowly(void *ctx, struct ux_missing_module *ask)
{
	unsigned *requested = ctx;
	const struct timespec long_enough = {.tv_nsec = 60 * 1000 * 1000};
	(void)ask;
	++*requested;
	nanosleep(&long_enough, NULL);
	return UX_MISSING_NOWHERE;
}

static void modules_that_time_was_not_enough_for_are_pending(void **state)
{
	struct make_server *s = *state;
	unsigned requested = 0;
	static const char body[] =
		"{\"modules\":[{\"id\":\"gnu:00\",\"addresses\":[1]},"
		"{\"id\":\"1b700ab56bff4136b7c92cfe7a92fa17ef09d874\",\"addresses\":[4198407]}],"
		"\"timeout_ms\":50}";
	upload_example(s);
	s->server.missing = (struct ux_missing_modules){ask_slowly, &requested};
	json_t *doc = post(s, "/v1/symbolize", body, 200);
	for (size_t i = 0; i < 2; i++) {
		const json_t *m = json_array_get(json_object_get(doc, "modules"), i);
		assert_string_equal(text_of(m, "status"), "pending");
		assert_true(json_integer_value(json_object_get(m, "retry_after")) > 0);
		assert_string_equal(text_of(m, "reason"), "deadline exceeded");
		assert_null(json_object_get(m, "frames"));
	}
	json_decref(doc);
	assert_int_equal(requested, 1);
}

/* Returns how many of a hundred thousand addresses were answered in a millisecond; SIZE_MAX: the
 * module was not reached. */
static size_t cut_after(struct make_server *s, const char *body)
{
	json_t *doc = NULL;
	const json_t *m = first_module(s, body, &doc);
	const json_t *frames = json_object_get(m, "frames");
	assert_string_equal(text_of(m, "status"), "pending");
	assert_true(json_integer_value(json_object_get(m, "retry_after")) > 0);
	assert_string_equal(text_of(m, "reason"), "deadline exceeded");
	size_t n = frames ? json_array_size(frames) : SIZE_MAX;
	if (frames)
		assert_string_equal(text_of(m, "quality"), "inlines");
	for (size_t i = 0; frames && i < n; i++)
		assert_true(json_array_size(json_array_get(frames, i)) > 0);
	json_decref(doc);
	return n;
}

static void module_that_is_cut_has_the_frames_of_its_first_addresses(void **state)
{
	struct make_server *s = *state;
	ux_cleanup(ux_out_deinit) struct ux_out body = {0};
	size_t n = SIZE_MAX;
	upload_example(s);
	ux_out_fmt(&body, "{\"timeout_ms\":1,\"modules\":[{\"id\":\"%s\",\"addresses\":[",
		   example_id);
	for (unsigned i = 0; i < 100000; i++)
		ux_out_fmt(&body, "%s%u", i ? "," : "", 4198400 + i % 9);
	ux_out_cstr(&body, "]}]}");
	ux_out_u8(&body, 0);
	/* On a busy machine the time may have passed before the module's turn comes. */
	for (unsigned tries = 0; tries < 1000 && (n == 0 || n == SIZE_MAX); tries++)
		n = cut_after(s, (const char *)body.data);
	assert_true(n > 0 && n < 100000);
	assert_int_equal(n % UX_RESOLVE_MAX, 0);
}

/* --- other protocols ----------------------------------------------------------------------------
 */

/* The stacks of a job about the example: n frames, from number `first` on, in stacks of `each`. */
static json_t *symbolicate(struct make_server *s, size_t first, size_t n, size_t each)
{
	ux_cleanup(ux_out_deinit) struct ux_out body = {0};
	ux_out_fmt(&body, "{\"memoryMap\":[[\"a\",\"%s\"],[\"b\",\"00\"]],\"stacks\":[[],[",
		   strchr(example_id, ':') + 1);
	for (size_t i = 0; i < n; i++)
		ux_out_fmt(&body, "%s[%d,%zu]",
			   i == 0          ? ""
			   : i % each == 0 ? "],["
					   : ",",
			   (int)((first + i) % 5 == 4 ? -1 : (first + i) % 7 == 6),
			   0x1000 + (first + i) % 300);
	ux_out_cstr(&body, "]]}");
	ux_out_u8(&body, 0);
	return post(s, "/symbolicate/v5", (const char *)body.data, 200);
}

static json_t *stack_at(json_t *doc, size_t stack)
{
	json_t *result = json_array_get(json_object_get(doc, "results"), 0);
	return json_array_get(json_object_get(result, "stacks"), stack);
}

static void frames_of_many_stacks_are_as_of_each_alone(void **state)
{
	enum {
		N = 2 * UX_RESOLVE_MAX + 77,
		EACH = 30
	};
	struct make_server *s = *state;
	size_t named = 0;
	upload_example(s);
	json_t *all = symbolicate(s, 0, N, EACH);
	assert_int_equal(json_array_size(stack_at(all, 0)), 0);
	for (size_t i = 0; i < N; i += 13) {
		json_t *frame = json_array_get(stack_at(all, 1 + i / EACH), i % EACH);
		json_t *alone = symbolicate(s, i, 1, 1);
		json_t *expected = json_array_get(stack_at(alone, 1), 0);
		assert_int_equal(json_integer_value(json_object_get(frame, "frame")), i % EACH);
		json_object_del(frame, "frame");
		json_object_del(expected, "frame");
		assert_true(json_equal(frame, expected));
		named += json_object_get(frame, "function") != NULL;
		json_decref(alone);
	}
	assert_true(named > 0);
	json_decref(all);
}

/* --- JSON as programs write it ------------------------------------------------------------------
 */

/* Appends "ID:ADDRESS,...;" for each module, then the options that were set. */
static void describe(const struct ux_symbolize_request *a, struct ux_out *out)
{
	size_t name = 0;
	for (size_t i = 0; i < a->modules.size; i++) {
		const struct ux_requested_module *m = &a->modules.data[i];
		ux_out_put(out, m->id.data, m->id.size);
		for (size_t k = 0; k < m->n; k++) {
			ux_out_cstr(out, k ? "," : ":");
			if (name < a->names.size && a->names.data[name].at == m->first + k) {
				struct ux_bytes text = a->names.data[name++].name;
				ux_out_put(out, text.data, text.size);
				ux_out_u8(out, '+');
			}
			ux_out_fmt(out, "%" PRIu64, a->pcs.data[m->first + k]);
		}
		ux_out_u8(out, ';');
	}
	if (a->demangle != UX_DEMANGLE_FULL)
		ux_out_fmt(out, " mode %d", (int)a->demangle);
	if (a->return_addresses)
		ux_out_cstr(out, " return");
	if (a->timeout_ms)
		ux_out_fmt(out, " %u ms", (unsigned)a->timeout_ms);
}

/* Checks the request in a document, or the reason why it is malformed. */
static void expect_read(const char *text, const char *expected)
{
	UX_ARENA(arena, 1 << 20);
	ux_cleanup(ux_symbolize_request_deinit) struct ux_symbolize_request a =
		UX_SYMBOLIZE_REQUEST_INIT;
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_error err = UX_ERROR_INIT;
	struct ux_bytes body = guard(ux_bytes_cstr(text));
	if (ux_symbolize_request_parse_json(&a, body, &arena, &err) == UX_OK)
		describe(&a, &out);
	else
		ux_out_fmt(&out, "! %s", err.text);
	ux_out_u8(&out, 0);
	if (strcmp((const char *)out.data, expected) != 0)
		fail_msg("%s\n is \"%s\",\n expected \"%s\"", text, (const char *)out.data,
			 expected);
	guard_free(body);
}

static void json_is_read_in_any_form(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{"{\"modules\":[]}", ""},
		{" { \"modules\" : [ ] , \"timeout_ms\" : 7 }\n", " 7 ms"},
		{"{\"modules\":[{\"id\":\"x\",\"addresses\":[]}]}", "x;"},
		{"{\"modules\":[{\"addresses\":[1, "
		 "\"0x2\",\"3\"],\"id\":\"gnu:00\"},{\"id\":\"\",\"addresses\":[0]}],\"demangle\":\"short\",\"return_addresses\":true}",
		 "gnu:00:1,2,3;:0; mode 1 return"},
		{"{\"modules\":[{\"id\":\"x\",\"addresses\":[999999999999999999]}]}",
		 "x:999999999999999999;"},
		{"{\"modules\":[{\"id\":\"x\",\"addresses\":[9223372036854775807]}]}",
		 "x:9223372036854775807;"},
		{"{\"modules\":[{\"id\":\"x\",\"addresses\":[18446744073709551615]}]}",
		 "x:18446744073709551615;"},
		{"{\"modules\":[],\"a\":1,\"a\":2,\"x\":\"\\u0000\"}", ""},
		{"{\"modules\":[],\"return_addresses\":null}", ""},
		{"{\"modules\":[],\"demangle\":null,\"timeout_ms\":null}", ""},
		{"{\"modules\":[{\"id\":\"\\u0067\",\"addresses\":[]}]}", "g;"},
		{"{\"modules\":[{\"id\":\"x\",\"addresses\":[\"f+1\"],\"more\":{}}]}", "x:f+1;"},
		{"{\"modules\":[{\"id\":\"x\",\"addresses\":[\"0xfedcba9876543210\",\"0xAbCdEf\",\"0XaB\",\"0x00000000000000000001f\",\"0xffffffffffffffff\"]}]}",
		 "x:18364758544493064720,11259375,171,31,18446744073709551615;"},
		{"{\"timeout_ms\":4294967295,\"return_addresses\":false,\"modules\":[{\"id\":\"a\",\"addresses\":[\"0x1\",\"g+0x10\",7]},{\"id\":\"b\",\"addresses\":[\"h+2\"]}]}",
		 "a:1,g+16,7;b:h+2; 4294967295 ms"},
		{"{\"modules\":[{\"id\":\"\\u00e9\",\"addresses\":[\"\\u0030x1f\"]}],\"demangl\\u0065\":\"\\u006eone\"}",
		 "\xc3\xa9:31; mode 0"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++) {
		/* The same with an unknown member before the others. */
		char more[512];
		const char *rest = strchr(cases[i][0], '{') + 1;
		snprintf(more, sizeof(more), "{\"\\u0078\":[{}],%s", rest);
		expect_read(cases[i][0], cases[i][1]);
		expect_read(more, cases[i][1]);
	}
}

static void what_is_wrong_with_json_is_said(void **state)
{
	(void)state;
	static const char *const cases[][2] = {
		{"", "! JSON, offset 0: the text ends early"},
		{"{", "! JSON, offset 1: the text ends early"},
		{"{}", "! \"modules\" is missing; expected an array"},
		{"[]", "! the JSON is an array; expected an object"},
		{"{\"modules\":[]", "! JSON, offset 13: the text ends early"},
		{"{\"modules\":[]}}", "! JSON, offset 14: unexpected text after the document"},
		{"{\"modules\":[]}x", "! JSON, offset 14: unexpected text after the document"},
		{"{\"modules\":[],}", "! JSON, offset 14: expected a string"},
		{"{\"modules\":[,]}", "! JSON, offset 12: expected a JSON value"},
		{"{\"modules\":[],\"modules\":[]}",
		 "! the JSON has a duplicate member \"modules\""},
		{"{\"modules\":[{}]}", "! modules[0] has no string \"id\""},
		{"{\"modules\":[7]}", "! modules[0] is a number; expected an object"},
		{"{\"modules\":7}", "! \"modules\" is a number; expected an array"},
		{"{\"modules\":null}", "! \"modules\" is missing; expected an array"},
		{"{\"modules\":[{\"id\":\"x\"}]}", "! modules[0] has no \"addresses\""},
		{"{\"modules\":[{\"id\":\"x\",\"addresses\":null}]}",
		 "! modules[0] has no \"addresses\""},
		{"{\"modules\":[{\"id\":\"x\",\"addresses\":\"1\"}]}",
		 "! \"addresses\" is a string; expected an array"},
		{"{\"modules\":[{\"addresses\":[1]}]}", "! modules[0] has no string \"id\""},
		{"{\"modules\":[{\"addresses\":[{}],\"id\":7}]}",
		 "! an address is an object; expected a string or a non-negative integer"},
		{"{\"modules\":[{\"id\":\"x\",\"addresses\":[01]}]}",
		 "! JSON, offset 35: expected a number"},
		{"{\"modules\":[{\"id\":\"x\",\"addresses\":[-1]}]}",
		 "! an address is -1; expected a string or a non-negative integer of 64 bits"},
		{"{\"modules\":[{\"id\":\"x\",\"addresses\":[1.0]}]}",
		 "! an address is 1.0; expected a string or a non-negative integer of 64 bits"},
		{"{\"modules\":[{\"id\":\"x\",\"addresses\":[1e2]}]}",
		 "! an address is 1e2; expected a string or a non-negative integer of 64 bits"},
		{"{\"modules\":[{\"id\":\"x\",\"addresses\":[18446744073709551616]}]}",
		 "! an address is 18446744073709551616; expected a string or a non-negative integer of 64 bits"},
		{"{\"modules\":[{\"id\":\"x\",\"addresses\":[1 2]}]}",
		 "! JSON, offset 37: expected ',' or ']' after an element"},
		{"{\"modules\":[{\"id\":\"x\",\"addresses\":[\"\"]}]}",
		 "! '' is not an address; expected 0x..., decimal or NAME+OFFSET"},
		{"{\"modules\":[{\"id\":\"x\",\"addresses\":[\"0x/\"]}]}",
		 "! '0x/' is not an address; expected 0x..., decimal or NAME+OFFSET"},
		{"{\"modules\":[{\"id\":\"x\",\"addresses\":[\"0xg1\"]}]}",
		 "! '0xg1' is not an address; expected 0x..., decimal or NAME+OFFSET"},
		{"{\"modules\":[{\"id\":\"x\",\"addresses\":[\"0x10000000000000000\"]}]}",
		 "! '0x10000000000000000' is not an address; expected 0x..., decimal or "
		 "NAME+OFFSET"},
		{"{\"modules\":[{\"id\":\"x\",\"addresses\":[null,true]}]}",
		 "! an address is null; expected a string or a non-negative integer"},
		{"{\"modules\":[{\"id\":\"x\",\"id\":\"x\",\"addresses\":[]}]}",
		 "! the JSON has a duplicate member \"id\""},
		{"{\"modules\":[],\"timeout_ms\":4294967296}",
		 "! \"timeout_ms\" is 4294967296; expected a non-negative integer of 32 bits"},
		{"{\"modules\":[],\"timeout_ms\":-1}",
		 "! \"timeout_ms\" is -1; expected a non-negative integer of 32 bits"},
		{"{\"modules\":[],\"demangle\":\"loud\"}",
		 "! demangle is 'loud'; expected full, short, templates-elided or none"},
		{"{\"modules\":[],\"return_addresses\":tru}",
		 "! JSON, offset 33: expected true or false"},
		{"{\"modules\":[],\"return_addresses\":\"true\"}",
		 "! \"return_addresses\" is a string; expected a boolean"},
		{"{\"modules\":[{\"id\":7,\"addresses\":[]}],\"timeout_ms\":\"x\",\"demangle\":\"loud\"}",
		 "! modules[0] has no string \"id\""},
		{"{\"modules\":[{\"id\":\"a\",\"addresses\":[\"?\"]},{\"id\":7}]}",
		 "! '?' is not an address; expected 0x..., decimal or NAME+OFFSET"},
		{"{\"modules\":[],\"x\":\"\xff\"}", "! JSON, offset 19: a string is not UTF-8"},
	};
	for (size_t i = 0; i < ux_countof(cases); i++)
		expect_read(cases[i][0], cases[i][1]);
}

/* --- requests that are quick ------------------------------------------------------------------ */

/* Tries the request as the server does; true, with the answer: it was quick. Then sends it in full.
 */
static bool is_quick(struct make_server *s, const char *method, const char *target,
		     const char *body)
{
	struct ux_exchange x;
	struct ux_out quick = {0};
	bool answered = false;
	for (int again = 0; again < 2; again++) {
		ux_exchange_init(&x, &s->app, ux_bytes_cstr(method), ux_bytes_cstr(target));
		ux_exchange_begin(&x);
		if (body)
			ux_exchange_data(&x, ux_bytes_cstr(body));
		if (again == 0 && ux_exchange_try(&x)) {
			answered = true;
			ux_out_put(&quick, x.res.body.data, x.res.body.size);
		}
		ux_exchange_finish(&x);
		assert_int_equal(x.res.status, 200);
		if (answered)
			assert_true(ux_bytes_eq(ux_out_bytes(&quick), x.res.body));
		ux_exchange_deinit(&x, true);
	}
	ux_out_deinit(&quick);
	return answered;
}

static void only_what_is_cached_and_small_is_quick(void **state)
{
	struct make_server *s = *state;
	char many[4096];
	size_t n = 0;
	const char *one = "/v1/symbolize/1b700ab56bff4136b7c92cfe7a92fa17ef09d874?addr=0x401000";
	const char *post_one = "{\"modules\":[{\"id\":\"1b700ab56bff4136b7c92cfe7a92fa17ef09d874\","
			       "\"addresses\":[4198400]}]}";
	const char *post_timeout =
		"{\"timeout_ms\":1000,\"modules\":[{\"id\":"
		"\"1b700ab56bff4136b7c92cfe7a92fa17ef09d874\",\"addresses\":[4198400]}]}";
	const char *post_missing = "{\"modules\":[{\"id\":\"aabb\",\"addresses\":[4198400]}]}";
	upload_example(s);
	assert_false(is_quick(s, "GET", one, NULL)); /* the module is not open */
	assert_true(is_quick(s, "GET", one, NULL));
	assert_true(is_quick(s, "POST", "/v1/symbolize", post_one));
	assert_false(is_quick(s, "POST", "/v1/symbolize", post_timeout));
	assert_false(is_quick(s, "POST", "/v1/symbolize", post_missing));
	assert_false(is_quick(s, "GET",
			      "/v1/symbolize/1b700ab56bff4136b7c92cfe7a92fa17ef09d874"
			      "?addr=_start%2B1",
			      NULL));
	/* the address is new: it is cached by the second request in full */
	const char *other = "/v1/symbolize/1b700ab56bff4136b7c92cfe7a92fa17ef09d874?addr=0x401001";
	assert_false(is_quick(s, "GET", other, NULL));
	assert_true(is_quick(s, "GET", other, NULL));
	n = (size_t)snprintf(many, sizeof(many), "%s", one);
	for (int i = 1; i < 128; i++)
		n += (size_t)snprintf(many + n, sizeof(many) - n, ",0x401000");
	assert_true(is_quick(s, "GET", many, NULL));
	snprintf(many + n, sizeof(many) - n, ",0x401000");
	assert_false(is_quick(s, "GET", many, NULL));
}

#define SERVER_TEST(fn) cmocka_unit_test_setup_teardown(fn, open_server, close_server)

UX_SUITE(symbolize)
{
	const struct CMUnitTest tests[] = {
		SERVER_TEST(module_that_is_not_here_is_requested_elsewhere),
		SERVER_TEST(pprof_waits_for_a_module_for_some_seconds),
		SERVER_TEST(compact_form_and_json_answer_the_same),
		SERVER_TEST(compact_form_of_another_version_is_refused_with_words),
		SERVER_TEST(compact_questions_over_their_limit_are_refused),
		SERVER_TEST(what_was_remembered_yields_to_what_is_better),
		SERVER_TEST(use_of_an_open_module_is_noted_from_time_to_time),
		SERVER_TEST(new_addresses_of_a_large_function_use_an_index),
		SERVER_TEST(many_new_addresses_fill_the_frame_cache),
		SERVER_TEST(caches_stay_within_their_memory),
		SERVER_TEST(modules_that_time_was_not_enough_for_are_pending),
		SERVER_TEST(module_that_is_cut_has_the_frames_of_its_first_addresses),
		SERVER_TEST(frames_of_many_stacks_are_as_of_each_alone),
		SERVER_TEST(only_what_is_cached_and_small_is_quick),
		UX_TEST(json_is_read_in_any_form),
		UX_TEST(what_is_wrong_with_json_is_said),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
