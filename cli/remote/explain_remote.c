/* SPDX-License-Identifier: Apache-2.0 */
/* Requests an explanation from a server and prints it. */
#include "remote.h"

#include "http_client.h"
#include "output.h"
#include "remote_modules.h"
#include "server_answer.h"

enum {
	ARENA = 64 << 10
};

static void explain_client_guard(struct ux_http_client **c)
{
	if (*c)
		ux_http_client_destroy(*c);
}

/* Writes `before`, a member of a JSON object, and `after`. Writes nothing when the member is not
 * a string. */
static void explain_write_member(struct ux_out *out, const char *before, const json_t *o,
				 const char *key, const char *after)
{
	const char *text = json_string_value(json_object_get(o, key));
	if (!text)
		return;
	ux_out_cstr(out, before);
	ux_text(out, ux_bytes_cstr(text));
	ux_out_cstr(out, after);
}

static void explain_write_frames(struct ux_out *out, const json_t *frames)
{
	for (size_t i = 0; i < json_array_size(frames); i++) {
		const json_t *f = json_array_get(frames, i);
		json_int_t line = json_integer_value(json_object_get(f, "line"));
		explain_write_member(out, "      ", f, "function", "");
		explain_write_member(out, " ", f, "file", "");
		if (line > 0)
			ux_out_fmt(out, ":%" JSON_INTEGER_FORMAT, line);
		ux_out_cstr(out, "\n");
	}
}

static void explain_write_candidate(struct ux_out *out, const json_t *c)
{
	explain_write_member(out, "  ", c, "kind", "");
	explain_write_member(out, " ", c, "quality", "");
	explain_write_member(out, ", ", c, "state", "");
	explain_write_member(out, ", trust ", c, "trust", "");
	explain_write_member(out, ", by ", c, "origin", "");
	explain_write_member(out, " ", c, "file", "");
	explain_write_member(out, ": ", c, "says", "");
	explain_write_member(out, ": ", c, "reason", "");
	ux_out_cstr(out, "\n");
	explain_write_frames(out, json_object_get(c, "frames"));
}

static void explain_write_answer(struct ux_out *out, const json_t *a)
{
	json_int_t status = json_integer_value(json_object_get(a, "status"));
	explain_write_member(out, "    ", a, "artifact", "");
	explain_write_member(out, ": ", a, "outcome", "");
	if (status > 0)
		ux_out_fmt(out, " (status %" JSON_INTEGER_FORMAT ")", status);
	explain_write_member(out, ", ", a, "says", "");
	explain_write_member(out, ", queried ", a, "queried", "");
	explain_write_member(out, ", not again before ", a, "not_again_before", "");
	ux_out_cstr(out, "\n");
}

static void explain_write_upstream(struct ux_out *out, const json_t *u)
{
	const json_t *answers = json_object_get(u, "answers");
	explain_write_member(out, "  ", u, "name", "");
	explain_write_member(out, " (", u, "kind", ")");
	explain_write_member(out, ": ", u, "state", "");
	ux_out_cstr(out, json_array_size(answers) == 0 ? "; no request was sent\n" : "\n");
	for (size_t i = 0; i < json_array_size(answers); i++)
		explain_write_answer(out, json_array_get(answers, i));
}

static void explain_write_list(struct ux_out *out, const char *title, const json_t *array,
			       void (*put)(struct ux_out *out, const json_t *item))
{
	if (json_array_size(array) > 0)
		ux_out_fmt(out, "%s\n", title);
	for (size_t i = 0; i < json_array_size(array); i++)
		put(out, json_array_get(array, i));
}

static void explain_write_text(struct ux_out *out, const json_t *item)
{
	ux_out_cstr(out, "  ");
	const char *text = json_string_value(item);
	ux_text(out, ux_bytes_cstr(text ? text : ""));
	ux_out_cstr(out, "\n");
}

static void explain_write_document(struct ux_out *out, const json_t *doc, const char *address)
{
	explain_write_member(out, "", doc, "id", "");
	if (address[0] != '\0')
		ux_out_fmt(out, " %s", address);
	explain_write_member(out, ": ", doc, "status", "");
	explain_write_member(out, ": ", doc, "reason", "");
	explain_write_member(out, ", ", doc, "quality", "");
	ux_out_cstr(out, "\n");
	explain_write_list(out, "candidates:", json_object_get(doc, "candidates"),
			   explain_write_candidate);
	explain_write_list(out, "upstreams:", json_object_get(doc, "upstreams"),
			   explain_write_upstream);
	explain_write_list(out, "kept apart, with the same build ID:",
			   json_object_get(doc, "kept_apart"), explain_write_text);
	explain_write_list(out, "what would help:", json_object_get(doc, "advice"),
			   explain_write_text);
}

static bool explain_is_found(const json_t *doc, bool of_address)
{
	const json_t *candidates = json_object_get(doc, "candidates");
	const char *status = json_string_value(json_object_get(doc, "status"));
	if (!of_address)
		return status && strcmp(status, "found") == 0;
	for (size_t i = 0; i < json_array_size(candidates); i++)
		if (json_is_true(json_object_get(json_array_get(candidates, i), "chosen")))
			return true;
	return false;
}

/* Requests one explanation. address is "" for the module, or "0x...". */
static enum ux_code explain_remote_one(struct ux_http_client *client, const char *id,
				       const char *address, bool json, struct ux_out *out,
				       bool *found, struct ux_error *err)
{
	UX_ARENA(arena, ARENA);
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	ux_cleanup(ux_free_ptr) char *path = NULL;
	const char *coded = ux_percent_encode(&arena, ux_bytes_cstr(id));
	if (!coded || asprintf(&path, "/v1/explain/%s%s%s", coded,
			       address[0] != '\0' ? "?addr=" : "", address) < 0)
		return ux_error_nomem(err);
	const struct ux_http_call call = {.path = path};
	UX_TRY(ux_http_client_call(client, &call, &answer, err));
	UX_TRY(ux_server_answer(&answer, &doc, err));
	*found = *found && explain_is_found(doc, address[0] != '\0');
	if (!json) {
		explain_write_document(out, doc, address);
		return UX_OK;
	}
	return ux_server_answer_line(doc, out, err);
}

enum ux_code ux_explain_remote(const struct ux_server_selection *server, const char *name,
			       const uint64_t *pcs, size_t n, bool json, struct ux_out *out,
			       bool *ret_found, struct ux_error *err)
{
	const struct ux_http_client_options options = {
		.url = server->url, .token = server->token, .cafile = server->cacert};
	ux_cleanup(explain_client_guard) struct ux_http_client *client = NULL;
	bool found = true;
	char id[UX_ID_TEXT];
	UX_TRY(ux_http_client_create(&client, &options, err));
	UX_TRY(ux_remote_id_resolve(client, name, id, err));
	if (n == 0)
		UX_TRY(explain_remote_one(client, id, "", json, out, &found, err));
	for (size_t i = 0; i < n; i++) {
		char address[19];
		snprintf(address, sizeof(address), "0x%" PRIx64, pcs[i]);
		UX_TRY(explain_remote_one(client, id, address, json, out, &found, err));
	}
	*ret_found = found;
	return UX_OK;
}
