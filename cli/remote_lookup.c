/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/symbolize, one module at a time. Source: docs/api/openapi.yaml. */
#include "remote_lookup.h"

#include "http_client.h"
#include "json_out.h"
#include "server_answer.h"

#include <jansson.h>

enum ux_code ux_remote_open(struct ux_remote *r, const struct ux_server_choice *server,
			    const char *id, enum ux_demangle_mode demangle, struct ux_error *err)
{
	struct ux_http_client_options options = {.url = server->url, .token = server->token};
	*r = (struct ux_remote){.id = id, .demangle = demangle};
	return ux_http_client_create(&r->client, &options, err);
}

void ux_remote_close(struct ux_remote *r)
{
	if (r->client)
		ux_http_client_destroy(r->client);
	json_decref((json_t *)r->answer);
	*r = (struct ux_remote){0};
}

static void write_question(const struct ux_remote *r, const struct ux_remote_place *places,
			   size_t n, struct ux_out *out)
{
	static const char *const modes[] = {"none", "short", "full", "templates-elided"};
	struct ux_json j = ux_json_make(out);
	ux_json_object_begin(&j);
	ux_json_key(&j, "modules");
	ux_json_array_begin(&j);
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "id", r->id);
	ux_json_key(&j, "addresses");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < n; i++) {
		char text[19];
		snprintf(text, sizeof(text), "0x%" PRIx64, places[i].address);
		ux_json_str(&j, places[i].name.size > 0 ? places[i].name : ux_bytes_cstr(text));
	}
	ux_json_array_end(&j);
	ux_json_object_end(&j);
	ux_json_array_end(&j);
	ux_json_key_cstr(&j, "demangle", modes[r->demangle]);
	ux_json_object_end(&j);
}

static json_t *module_of(const struct ux_remote *r)
{
	return json_array_get(json_object_get((json_t *)r->answer, "modules"), 0);
}

/* The answer's first module, found and with n lists of frames. */
static enum ux_code check_answer(const struct ux_remote *r, size_t n, struct ux_error *err)
{
	json_t *module = module_of(r);
	const char *status = json_string_value(json_object_get(module, "status"));
	const char *reason = json_string_value(json_object_get(module, "reason"));
	if (status && strcmp(status, "missing") == 0)
		return ux_error_set(err, UX_ENOTFOUND, "the server has no symbols for it");
	if (status && strcmp(status, "failed") == 0)
		return ux_error_set(err, UX_ECORRUPT, "the server failed: %s",
				    reason ? reason : "no reason given");
	if (!status || strcmp(status, "found") != 0 ||
	    json_array_size(json_object_get(module, "frames")) != n)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "the answer is not an unhex server's: no list of frames");
	return UX_OK;
}

enum ux_code ux_remote_ask(struct ux_remote *r, const struct ux_remote_place *places, size_t n,
			   struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out question = {0};
	write_question(r, places, n, &question);
	UX_TRY(ux_out_status(&question, err));
	struct ux_http_call call = {
		.method = UX_METHOD_POST,
		.path = "/v1/symbolize",
		.type = "application/json",
		.body = ux_out_bytes(&question),
		.timeout_ms = 120000,
		.answer_most = 256 << 20,
	};
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	UX_TRY(ux_http_client_call(r->client, &call, &answer, err));
	json_decref((json_t *)r->answer);
	r->answer = NULL;
	UX_TRY(ux_server_answer(&answer, (json_t **)&r->answer, err));
	return check_answer(r, n, err);
}

static const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

size_t ux_remote_frames(const struct ux_remote *r, size_t i, struct ux_frame *frames, size_t max)
{
	json_t *list = json_array_get(json_object_get(module_of(r), "frames"), i);
	size_t n = ux_min(json_array_size(list), max);
	for (size_t k = 0; k < n; k++) {
		json_t *f = json_array_get(list, k);
		json_int_t line = json_integer_value(json_object_get(f, "line"));
		frames[k] = (struct ux_frame){
			.function = text_of(f, "function"),
			.dir = "",
			.base = text_of(f, "file"),
			.line = line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0,
			.inlined = json_is_true(json_object_get(f, "inlined")),
		};
	}
	return n;
}
