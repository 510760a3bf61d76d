/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers shared by the tests of routes: a server without a socket, requests, and uploads. */
#ifndef UX_TEST_SERVER_H
#define UX_TEST_SERVER_H

#include "sweep.h"

#include "make_gsym.h"
#include "make_server.h"

#include <jansson.h>

/* The worked example: f at 0x401000 with sq inlined, _start at 0x401007. */
static const char example_id[] = "gnu:1b700ab56bff4136b7c92cfe7a92fa17ef09d874";

static inline struct ux_bytes example(void)
{
	return ux_bytes(make_gsym_example, MAKE_GSYM_EXAMPLE_SIZE);
}

/* Sends a request and returns the JSON of the answer (NULL: none); checks the status. */
static inline json_t *ask(struct make_server *s, const struct make_ask *a, unsigned status)
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

static inline json_t *get(struct make_server *s, const char *target, unsigned status)
{
	return ask(s, &(struct make_ask){.method = "GET", .target = target, .token = s->admin},
		   status);
}

static inline json_t *post(struct make_server *s, const char *target, const char *body,
			   unsigned status)
{
	return ask(s,
		   &(struct make_ask){.method = "POST",
				      .target = target,
				      .token = s->admin,
				      .body = ux_bytes_cstr(body)},
		   status);
}

static inline const char *text_of(const json_t *o, const char *key)
{
	const char *t = json_string_value(json_object_get(o, key));
	return t ? t : "";
}

/* A text of n times `piece` between head and tail; freed by the caller. */
static inline char *repeat(const char *head, const char *piece, size_t n, const char *tail)
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

static inline const char *error_word(const json_t *doc)
{
	return text_of(json_object_get(doc, "error"), "code");
}

/* Checks for an error with this word, and with words in its message. */
static inline void refused(json_t *doc, const char *word, const char *message)
{
	assert_string_equal(error_word(doc), word);
	const char *text = text_of(json_object_get(doc, "error"), "message");
	if (!strstr(text, message))
		fail_msg("'%s' does not say '%s'", text, message);
	json_decref(doc);
}

/* Announces an upload; fills in uid. */
static inline void announce(struct make_server *s, const char *ids, struct ux_bytes bytes,
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

static inline json_t *send(struct make_server *s, const char *uid, const char *query,
			   struct ux_bytes b, unsigned status)
{
	char target[128];
	snprintf(target, sizeof(target), "/v1/uploads/%s%s", uid, query);
	return ask(
		s,
		&(struct make_ask){.method = "PUT", .target = target, .token = s->admin, .body = b},
		status);
}

static inline json_t *finish(struct make_server *s, const char *uid, unsigned status)
{
	char target[128];
	snprintf(target, sizeof(target), "/v1/uploads/%s/finish", uid);
	return post(s, target, "", status);
}

static inline json_t *upload(struct make_server *s, const char *ids, struct ux_bytes bytes,
			     const char *more, unsigned status)
{
	char uid[UX_UPLOAD_UID_SIZE];
	announce(s, ids, bytes, more, uid);
	json_decref(send(s, uid, "", bytes, 200));
	return finish(s, uid, status);
}

static inline void upload_example(struct make_server *s)
{
	char ids[128];
	snprintf(ids, sizeof(ids), "\"%s\",\"file:00112233445566778899aabbccddeeff\"", example_id);
	json_t *doc = upload(s, ids, example(), ",\"description\":\"d\",\"file\":\"m\"", 200);
	assert_string_equal(text_of(doc, "status"), "uploaded");
	assert_string_equal(text_of(doc, "quality"), "inlines");
	assert_string_equal(text_of(doc, "id"), example_id);
	json_decref(doc);
}

/* A GSYM of one function without lines, so poorer than the example. */
static inline struct ux_out names_only(struct ux_arena *arena)
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

static inline size_t count_modules(struct make_server *s)
{
	json_t *doc = get(s, "/v1/modules", 200);
	size_t n = json_array_size(json_object_get(doc, "modules"));
	json_decref(doc);
	return n;
}

static inline int open_server(void **state)
{
	struct make_server *s = malloc(sizeof(*s));
	make_server_open(s, NULL, /* open_reading= */ true);
	*state = s;
	return 0;
}

static inline int close_server(void **state)
{
	make_server_close(*state);
	free(*state);
	return 0;
}

#define SERVER_TEST(fn) cmocka_unit_test_setup_teardown(fn, open_server, close_server)

#endif
