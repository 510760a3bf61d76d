/* SPDX-License-Identifier: Apache-2.0 */
/* Symbolizes addresses on a server. */
#include "remote.h"

#include "http_client.h"
#include "json_out.h"
#include "server_answer.h"
#include "wire.h"

#include <jansson.h>

enum ux_code ux_remote_open(struct ux_remote *r, const struct ux_server_selection *server,
			    const char *id, enum ux_demangle_mode demangle, struct ux_error *err)
{
	struct ux_http_client_options options = {
		.url = server->url, .token = server->token, .cafile = server->cacert};
	*r = (struct ux_remote){.id = id, .demangle = demangle};
	return ux_http_client_create(&r->client, &options, err);
}

/* Frees the last answer. */
static void remote_reset(struct ux_remote *r)
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
	remote_reset(r);
	*r = (struct ux_remote){0};
}

static enum ux_code remote_bad_answer(const char *what, struct ux_error *err)
{
	return ux_error_set(err, UX_EUNSUPPORTED, "not an unhex server: %s", what);
}

/* --- JSON ------------------------------------------------------------------------------------ */

static void remote_write_json(const struct ux_remote *r, const struct ux_remote_address *addresses,
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
		snprintf(text, sizeof(text), "0x%" PRIx64, addresses[i].address);
		ux_json_str(&j,
			    addresses[i].name.size > 0 ? addresses[i].name : ux_bytes_cstr(text));
	}
	ux_json_array_end(&j);
	ux_json_object_end(&j);
	ux_json_array_end(&j);
	ux_json_key_cstr(&j, "demangle", modes[r->demangle]);
	ux_json_object_end(&j);
}

static json_t *remote_json_module(const struct ux_remote *r)
{
	return json_array_get(json_object_get((json_t *)r->answer, "modules"), 0);
}

/* Converts the status of the only module in the answer to a code. A missing module is a failure
 * here. */
static enum ux_code remote_check_status(enum ux_module_status status, const char *reason,
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
				    "the server is still working: %s; retry in %" PRIu64 " s",
				    reason, retry_after_s);
	}
	return UX_EUNSUPPORTED;
}

/* Checks that the first module of the answer was found and has n lists of frames. */
static enum ux_code remote_check_json(const struct ux_remote *r, size_t n, struct ux_error *err)
{
	static const char *const words[] = {"found", "missing", "failed", "pending"};
	json_t *module = remote_json_module(r);
	const char *status = json_string_value(json_object_get(module, "status"));
	const char *reason = json_string_value(json_object_get(module, "reason"));
	json_int_t after = json_integer_value(json_object_get(module, "retry_after"));
	unsigned i = 0;
	while (status && i < ux_countof(words) && strcmp(status, words[i]) != 0)
		i++;
	if (!status || i == ux_countof(words))
		return remote_bad_answer("the response has no status", err);
	UX_TRY(remote_check_status((enum ux_module_status)i, reason ? reason : "",
				   (uint64_t)ux_max(after, (json_int_t)0), err));
	if (json_array_size(json_object_get(module, "frames")) != n)
		return remote_bad_answer("the response has a wrong number of frames", err);
	return UX_OK;
}

/* Sends a request with the given body. */
static enum ux_code remote_call(struct ux_remote *r, const char *type, const struct ux_out *request,
				struct ux_http_answer *ret, struct ux_error *err)
{
	UX_TRY(ux_out_status(request, err));
	const struct ux_http_call call = {
		.method = UX_METHOD_POST,
		.path = "/v1/symbolize",
		.type = type,
		.body = ux_out_bytes(request),
		.timeout_ms = 120000,
		.answer_max = 256 << 20,
	};
	UX_TRY(ux_http_client_call(r->client, &call, ret, err));
	if (ret->status == 404) /* a module that is not there is a status in the answer */
		return remote_bad_answer("it answered HTTP 404", err);
	return UX_OK;
}

static enum ux_code remote_send_json(struct ux_remote *r, const struct ux_remote_address *addresses,
				     size_t n, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out request = {0};
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	remote_write_json(r, addresses, n, &request);
	UX_TRY(remote_call(r, "application/json", &request, &answer, err));
	UX_TRY(ux_server_answer(&answer, (json_t **)&r->answer, err));
	return remote_check_json(r, n, err);
}

/* --- the compact form --------------------------------------------------------------------------
 */

static enum ux_code remote_write_compact(const struct ux_remote *r,
					 const struct ux_remote_address *addresses, size_t n,
					 struct ux_out *out, struct ux_error *err)
{
	const struct ux_wire_options options = {.demangle = r->demangle};
	struct ux_id id;
	UX_TRY(ux_id_parse(ux_bytes_cstr(r->id), &id, err));
	ux_cleanup(ux_free_ptr) uint64_t *pcs = calloc(n + 1, sizeof(*pcs));
	if (!pcs)
		return ux_error_nomem(err);
	for (size_t i = 0; i < n; i++)
		pcs[i] = addresses[i].address;
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
		return remote_bad_answer("the response has more or fewer than one module", err);
	const struct ux_wire_module *m = &r->reply.modules[0];
	UX_TRY(remote_check_status((enum ux_module_status)m->status,
				   ux_wire_read_string(&r->reply, m->reason), m->retry_after_s,
				   err));
	return m->n == n ? UX_OK
			 : remote_bad_answer("the response has a wrong number of addresses", err);
}

static enum ux_code remote_send_compact(struct ux_remote *r,
					const struct ux_remote_address *addresses, size_t n,
					struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out request = {0};
	ux_cleanup(ux_http_answer_deinit) struct ux_http_answer answer = {0};
	json_t *doc = NULL;
	UX_TRY(remote_write_compact(r, addresses, n, &request, err));
	UX_TRY(remote_call(r, UX_WIRE_TYPE, &request, &answer, err));
	if (answer.status != 200) {
		enum ux_code code = ux_server_answer(&answer, &doc, err);
		json_decref(doc);
		return code == UX_OK ? remote_bad_answer("unexpected status", err) : code;
	}
	r->bytes = answer.body;
	answer.body = (struct ux_out){0};
	return ux_remote_read(r, n, err);
}

static bool remote_any_symbol(const struct ux_remote_address *addresses, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (addresses[i].name.size > 0)
			return true;
	return false;
}

enum ux_code ux_remote_send(struct ux_remote *r, const struct ux_remote_address *addresses,
			    size_t n, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	remote_reset(r);
	if (r->json_only || remote_any_symbol(addresses, n))
		return remote_send_json(r, addresses, n, err);
	enum ux_code code = remote_send_compact(r, addresses, n, &why);
	/* Older servers support only JSON. */
	if (code == UX_EINVAL || code == UX_EUNSUPPORTED) {
		r->json_only = true;
		remote_reset(r);
		return remote_send_json(r, addresses, n, err);
	}
	if (code != UX_OK && err && err->code == UX_OK)
		*err = why;
	return code;
}

/* --- answers -----------------------------------------------------------------------------------
 */

static const char *remote_json_text(json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));
	return text ? text : "";
}

size_t ux_remote_frames(const struct ux_remote *r, size_t i, struct ux_frame *frames, size_t max)
{
	if (r->reply.n_modules > 0)
		return i < r->reply.n_addresses ? ux_wire_read_frames(&r->reply, i, frames, max)
						: 0;
	json_t *list = json_array_get(json_object_get(remote_json_module(r), "frames"), i);
	size_t n = ux_min(json_array_size(list), max);
	for (size_t k = 0; k < n; k++) {
		json_t *f = json_array_get(list, k);
		json_int_t line = json_integer_value(json_object_get(f, "line"));
		frames[k] = (struct ux_frame){
			.function = remote_json_text(f, "function"),
			.dir = "",
			.base = remote_json_text(f, "file"),
			.line = line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0,
			.inlined = json_is_true(json_object_get(f, "inlined")),
		};
	}
	return n;
}

enum ux_quality ux_remote_quality(const struct ux_remote *r)
{
	if (r->reply.n_modules > 0)
		return (enum ux_quality)r->reply.modules[0].quality;
	const char *word = remote_json_text(remote_json_module(r), "quality");
	enum ux_quality q = UX_QUALITY_INLINES;
	while (q > UX_QUALITY_NONE && strcmp(word, ux_quality_name(q)) != 0)
		q--;
	return q;
}
