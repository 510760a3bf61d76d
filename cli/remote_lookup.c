/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/symbolize, one module at a time. Source: docs/api/openapi.yaml, and of the compact form
 * docs/formats/symbolize-binary.md. */
#include "remote_lookup.h"

#include "http_client.h"
#include "json_out.h"
#include "server_answer.h"
#include "wire.h"

#include <jansson.h>

enum ux_code ux_remote_open(struct ux_remote *r, const struct ux_server_choice *server,
			    const char *id, enum ux_demangle_mode demangle, struct ux_error *err)
{
	struct ux_http_client_options options = {
		.url = server->url, .token = server->token, .cafile = server->cacert};
	*r = (struct ux_remote){.id = id, .demangle = demangle};
	return ux_http_client_create(&r->client, &options, err);
}

/* The last answer. */
static void forget(struct ux_remote *r)
{
	json_decref((json_t *)r->answer);
	r->answer = NULL;
	ux_wire_read_deinit(&r->reply);
	ux_out_deinit(&r->bytes);
}

void ux_remote_close(struct ux_remote *r)
{
	if (r->client)
		ux_http_client_destroy(r->client);
	forget(r);
	*r = (struct ux_remote){0};
}

/* --- JSON ------------------------------------------------------------------------------------ */

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

/* What is not found is a failure here, where one module is asked for. */
static enum ux_code check_status(enum ux_module_status status, const char *reason,
				 uint64_t retry_after_s, struct ux_error *err)
{
	switch (status) {
	case UX_MODULE_FOUND:
		return UX_OK;
	case UX_MODULE_MISSING:
		return ux_error_set(err, UX_ENOTFOUND, "the server has no symbols for it");
	case UX_MODULE_FAILED:
		return ux_error_set(err, UX_ECORRUPT, "the server failed: %s",
				    reason[0] != '\0' ? reason : "no reason given");
	case UX_MODULE_PENDING:
		return ux_error_set(err, UX_EUNAVAILABLE,
				    "the server is on it: %s; ask again in %" PRIu64 " s", reason,
				    retry_after_s);
	}
	return UX_EUNSUPPORTED;
}

static enum ux_code not_ours(const char *what, struct ux_error *err)
{
	return ux_error_set(err, UX_EUNSUPPORTED, "the answer is not an unhex server's: %s", what);
}

/* The answer's first module, found and with n lists of frames. */
static enum ux_code check_answer(const struct ux_remote *r, size_t n, struct ux_error *err)
{
	static const char *const words[] = {"found", "missing", "failed", "pending"};
	json_t *module = module_of(r);
	const char *status = json_string_value(json_object_get(module, "status"));
	const char *reason = json_string_value(json_object_get(module, "reason"));
	json_int_t after = json_integer_value(json_object_get(module, "retry_after"));
	unsigned i = 0;
	while (status && i < ux_countof(words) && strcmp(status, words[i]) != 0)
		i++;
	if (!status || i == ux_countof(words))
		return not_ours("no status", err);
	UX_TRY(check_status((enum ux_module_status)i, reason ? reason : "",
			    (uint64_t)ux_max(after, (json_int_t)0), err));
	if (json_array_size(json_object_get(module, "frames")) != n)
		return not_ours("no list of frames", err);
	return UX_OK;
}

/* Asks with that body. */
static enum ux_code call_server(struct ux_remote *r, const char *type,
				const struct ux_out *question, struct ux_http_answer *ret,
				struct ux_error *err)
{
	UX_TRY(ux_out_status(question, err));
	const struct ux_http_call call = {
		.method = UX_METHOD_POST,
		.path = "/v1/symbolize",
		.type = type,
		.body = ux_out_bytes(question),
		.timeout_ms = 120000,
		.answer_most = 256 << 20,
	};
	return ux_http_client_call(r->client, &call, ret, err);
}

static enum ux_code ask_json(struct ux_remote *r, const struct ux_remote_place *places, size_t n,
			     struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out question = {0};
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	write_question(r, places, n, &question);
	UX_TRY(call_server(r, "application/json", &question, &answer, err));
	UX_TRY(ux_server_answer(&answer, (json_t **)&r->answer, err));
	return check_answer(r, n, err);
}

/* --- the compact form --------------------------------------------------------------------------
 */

static enum ux_code write_compact(const struct ux_remote *r, const struct ux_remote_place *places,
				  size_t n, struct ux_out *out, struct ux_error *err)
{
	const struct ux_wire_options options = {.demangle = r->demangle};
	struct ux_id id;
	UX_TRY(ux_id_parse(ux_bytes_cstr(r->id), &id, err));
	ux_cleanup(ux_free_ptr) uint64_t *pcs = calloc(n + 1, sizeof(*pcs));
	if (!pcs)
		return ux_error_nomem(err);
	for (size_t i = 0; i < n; i++)
		pcs[i] = places[i].address;
	ux_wire_question_begin(out, &options);
	ux_wire_question_add(out, &id, pcs, n);
	ux_wire_question_end(out);
	return UX_OK;
}

enum ux_code ux_remote_read(struct ux_remote *r, size_t n, struct ux_error *err)
{
	if (ux_wire_read_open(&r->reply, ux_out_bytes(&r->bytes), err) != UX_OK)
		return err ? err->code : UX_ECORRUPT;
	if (r->reply.n_modules != 1)
		return not_ours("not one module", err);
	const struct ux_wire_module *m = &r->reply.modules[0];
	UX_TRY(check_status((enum ux_module_status)m->status,
			    ux_wire_read_string(&r->reply, m->reason), m->retry_after_s, err));
	return m->n == n ? UX_OK : not_ours("another number of addresses", err);
}

static enum ux_code ask_compact(struct ux_remote *r, const struct ux_remote_place *places, size_t n,
				struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out question = {0};
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	json_t *doc = NULL;
	UX_TRY(write_compact(r, places, n, &question, err));
	UX_TRY(call_server(r, UX_WIRE_TYPE, &question, &answer, err));
	if (answer.status != 200) {
		enum ux_code code = ux_server_answer(&answer, &doc, err);
		json_decref(doc);
		return code == UX_OK ? not_ours("another status", err) : code;
	}
	r->bytes = answer.body;
	answer.body = (struct ux_out){0};
	return ux_remote_read(r, n, err);
}

static bool any_name(const struct ux_remote_place *places, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (places[i].name.size > 0)
			return true;
	return false;
}

enum ux_code ux_remote_ask(struct ux_remote *r, const struct ux_remote_place *places, size_t n,
			   struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	forget(r);
	if (r->json_only || any_name(places, n))
		return ask_json(r, places, n, err);
	enum ux_code code = ask_compact(r, places, n, &why);
	/* Another server's age: JSON it has known for ever. */
	if (code == UX_EINVAL || code == UX_EUNSUPPORTED) {
		r->json_only = true;
		forget(r);
		return ask_json(r, places, n, err);
	}
	if (code != UX_OK && err && err->code == UX_OK)
		*err = why;
	return code;
}

/* --- answers -----------------------------------------------------------------------------------
 */

static const char *text_of(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

size_t ux_remote_frames(const struct ux_remote *r, size_t i, struct ux_frame *frames, size_t max)
{
	if (r->reply.n_modules > 0)
		return i < r->reply.n_addresses ? ux_wire_read_frames(&r->reply, i, frames, max)
						: 0;
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
