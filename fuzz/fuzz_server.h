/* SPDX-License-Identifier: Apache-2.0 */
/* Code shared by the targets that send requests to a server without sockets. */
#ifndef UX_FUZZ_SERVER_H
#define UX_FUZZ_SERVER_H

#include "fuzz.h"

#include "make_gsym.h"
#include "make_server.h"
#include "request_values.h"
#include "text.h"

#include <unistd.h>

enum {
	TEXT_MAX = 2048,    /* most bytes of target and range that are used */
	SERVER_LIFE = 20000 /* requests before the store is replaced */
};

static struct make_server server;
static char uid[UX_UPLOAD_UID_SIZE];
static unsigned served;

static void close_server(void)
{
	if (served > 0)
		make_server_close(&server);
}

/* Sends a request and returns the answer's JSON; the caller releases it. */
static json_t *ask(const struct make_ask *a)
{
	struct make_answer answer = make_server_ask(&server, a);
	json_t *doc = json_loadb(answer.body.data ? (const char *)answer.body.data : "",
				 answer.body.size, 0, NULL);
	ux_out_deinit(&answer.body);
	return doc;
}

static void open_upload(void)
{
	char body[512], hash[65];
	struct ux_blob_hash h =
		ux_blob_hash_of(ux_bytes(make_gsym_example, MAKE_GSYM_EXAMPLE_SIZE));
	ux_blob_hash_text(&h, hash);
	snprintf(body, sizeof(body), "{\"ids\":[\"go:x\"],\"size\":%d,\"sha256\":\"%s\"}",
		 MAKE_GSYM_EXAMPLE_SIZE, hash);
	json_t *doc = ask(&(struct make_ask){.method = "POST",
					     .target = "/v1/uploads",
					     .token = server.admin,
					     .body = ux_bytes_cstr(body)});
	const char *text = json_string_value(json_object_get(doc, "uid"));
	fuzz_truth(text != NULL);
	snprintf(uid, sizeof(uid), "%s", text);
	json_decref(doc);
}

/* Opens a store with one module in it and one started upload. */
static void open_server(void)
{
	static bool registered;
	char target[96];
	if (!registered && atexit(close_server) != 0)
		abort();
	registered = true;
	make_server_open(&server, access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NULL, true);
	open_upload();
	snprintf(target, sizeof(target), "/v1/uploads/%s", uid);
	json_decref(ask(
		&(struct make_ask){.method = "PUT",
				   .target = target,
				   .token = server.admin,
				   .body = ux_bytes(make_gsym_example, MAKE_GSYM_EXAMPLE_SIZE)}));
	snprintf(target, sizeof(target), "/v1/uploads/%s/finish", uid);
	json_decref(
		ask(&(struct make_ask){.method = "POST", .target = target, .token = server.admin}));
	open_upload();
}

/* Takes a line of the input as a string, with "@" replaced. */
static inline void take_line(struct ux_bytes *in, char text[TEXT_MAX])
{
	struct ux_bytes line = UX_BYTES_NONE;
	size_t at = 0;
	(void)ux_text_take_line(in, &line);
	for (size_t i = 0; i < line.size && at + sizeof(uid) < TEXT_MAX; i++) {
		if (line.data[i] == '@')
			at += (size_t)snprintf(text + at, TEXT_MAX - at, "%s", uid);
		else if (line.data[i] != 0) /* a NUL would end a line in any HTTP parser */
			text[at++] = (char)line.data[i];
	}
	text[at] = '\0';
}

/*
 * Returns whether it is a whole page with only our tags: none of ours contains the text of a
 * script.
 */
static bool is_page(struct ux_bytes s)
{
	static const char end[] = "</html>\n";
	static const char *const scripts[] = {"<script type=\"module\" src=\"/assets/",
					      "<script src=\"/assets/"};
	size_t n = sizeof(end) - 1;
	if (!ux_bytes_starts(s, UX_STR("<!DOCTYPE html>")))
		return false;
	fuzz_truth(s.size > n && memcmp(s.data + s.size - n, end, n) == 0);
	for (const uint8_t *p = s.data;
	     (p = memmem(p, s.size - (size_t)(p - s.data), "<script", 7)); p++) {
		struct ux_bytes rest = ux_bytes(p, s.size - (size_t)(p - s.data));
		fuzz_truth(ux_bytes_starts(rest, ux_bytes_cstr(scripts[0])) ||
			   ux_bytes_starts(rest, ux_bytes_cstr(scripts[1])));
	}
	return true;
}

static bool is_json(const struct make_answer *answer)
{
	return strncmp(answer->type, "application/json", 16) == 0 && answer->body.size > 0;
}

/* Checks every answer to every request. */
static void truths(const struct make_answer *answer)
{
	json_error_t why;
	fuzz_truth(answer->status >= 200 && answer->status < 600);
	fuzz_truth(answer->status != 500 && answer->status != 503);
	if (strncmp(answer->type, "text/html", 9) == 0 && answer->body.size > 0)
		fuzz_truth(is_page(ux_out_bytes(&answer->body)));
	if (!is_json(answer))
		return;
	json_t *doc = json_loadb((const char *)answer->body.data, answer->body.size, 0, &why);
	fuzz_truth(doc != NULL);
	const json_t *error = json_object_get(doc, "error");
	/* Errors of OpenTelemetry's routes are a google.rpc.Status. */
	bool is_status = json_is_integer(json_object_get(doc, "code")) &&
			 json_string_length(json_object_get(doc, "message")) > 0;
	fuzz_truth((answer->status >= 400) == (error || is_status));
	fuzz_truth(!error || (json_is_string(json_object_get(error, "code")) &&
			      json_string_length(json_object_get(error, "message")) > 0));
	json_decref(doc);
}

/* Before each request. */
static void serve(void)
{
	if (served == SERVER_LIFE) {
		make_server_close(&server);
		served = 0;
	}
	if (served++ == 0)
		open_server();
}

/* Sends a request, and checks its answer; returns the status. */
static unsigned ask_and_check(const struct make_ask *a)
{
	struct make_answer answer = make_server_ask(&server, a);
	truths(&answer);
	ux_out_deinit(&answer.body);
	return answer.status;
}

#endif
