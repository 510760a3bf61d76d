/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: the JSON of POST /v1/symbolize. The reader works in one pass; a model here builds a tree
 * and reads that. Both accept the same documents and read the same from them.
 */
#include "fuzz.h"

#include "gsym_names.h"
#include "server.h"
#include "symbolize.h"
#include "text.h"

/* --- the model -------------------------------------------------------------------------------- */

static enum ux_code model_too_many(size_t n, struct ux_error *err)
{
	return ux_error_set(err, UX_ELIMIT, "%zu addresses; at most %d are taken", n,
			    UX_SYMBOLIZE_ADDRESSES_MAX);
}

static enum ux_code model_add(struct ux_symbolize_request *a, uint64_t pc, struct ux_bytes name,
			      struct ux_error *err)
{
	const struct ux_requested_name named = {.at = a->pcs.size, .name = name};
	if ((name.size > 0 && !ux_requested_names_append(&a->names, named)) ||
	    !ux_requested_pcs_append(&a->pcs, pc))
		return ux_error_nomem(err);
	return UX_OK;
}

static enum ux_code model_add_text(struct ux_symbolize_request *a, struct ux_bytes text,
				   struct ux_error *err)
{
	struct ux_bytes name = UX_BYTES_NONE;
	uint64_t pc = 0;
	if (ux_hex_parse_u64(text, /* hex= */ false, &pc) ||
	    ux_gsym_symbol_parse(text, '+', &name, &pc))
		return model_add(a, pc, name, err);
	return ux_error_set(err, UX_EINVAL,
			    "'%.*s' is not an address; expected 0x..., decimal or NAME+OFFSET",
			    (int)ux_min(text.size, (size_t)40), (const char *)text.data);
}

static enum ux_code model_add_value(struct ux_symbolize_request *a, const json_t *v,
				    struct ux_error *err)
{
	if (json_is_string(v))
		return model_add_text(a, ux_bytes(json_string_value(v), json_string_length(v)),
				      err);
	if (json_is_integer(v) && json_integer_value(v) < 0)
		return ux_error_set(err, UX_EINVAL,
				    "an address is %" JSON_INTEGER_FORMAT
				    "; expected a string or a non-negative integer",
				    json_integer_value(v));
	if (!json_is_integer(v))
		return ux_error_set(err, UX_EINVAL,
				    "an address is %s; expected a string or a non-negative integer",
				    ux_json_in_type(v));
	return model_add(a, (uint64_t)json_integer_value(v), UX_BYTES_NONE, err);
}

static enum ux_code model_add_module(struct ux_symbolize_request *a, size_t i, const json_t *m,
				     struct ux_error *err)
{
	const json_t *id = json_object_get(m, "id"), *list = NULL;
	if (!json_is_string(id))
		return ux_error_set(err, UX_EINVAL, "modules[%zu] has no string \"id\"", i);
	UX_TRY(ux_json_in_array(m, "addresses", UX_SYMBOLIZE_ADDRESSES_MAX, &list, err));
	if (!list)
		return ux_error_set(err, UX_EINVAL, "modules[%zu] has no \"addresses\"", i);
	const struct ux_requested_module module = {
		.id = ux_bytes(json_string_value(id), json_string_length(id)),
		.first = a->pcs.size,
		.n = json_array_size(list)};
	for (size_t k = 0; k < module.n; k++)
		UX_TRY(model_add_value(a, json_array_get(list, k), err));
	return ux_requested_modules_append(&a->modules, module) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code model_read_options(struct ux_symbolize_request *a, const json_t *doc,
				       struct ux_error *err)
{
	const char *word = NULL;
	uint64_t timeout = 0;
	UX_TRY(ux_json_in_bool(doc, "return_addresses", &a->return_addresses, err));
	UX_TRY(ux_json_in_str(doc, "demangle", 32, &word, err));
	UX_TRY(ux_json_in_u64(doc, "timeout_ms", &timeout, err));
	if (timeout > UINT32_MAX)
		return ux_error_set(err, UX_EINVAL, "\"timeout_ms\" exceeds 32 bits");
	a->timeout_ms = (uint32_t)timeout;
	return word ? ux_symbolize_request_parse_demangle(a, ux_bytes_cstr(word), err) : UX_OK;
}

static enum ux_code model_read(struct ux_symbolize_request *a, const json_t *doc,
			       struct ux_error *err)
{
	const json_t *modules = NULL;
	UX_TRY(model_read_options(a, doc, err));
	UX_TRY(ux_json_in_array(doc, "modules", UX_SYMBOLIZE_MODULES_MAX, &modules, err));
	if (!modules)
		return ux_error_set(err, UX_EINVAL, "\"modules\" is missing");
	for (size_t i = 0; i < json_array_size(modules); i++)
		UX_TRY(model_add_module(a, i, json_array_get(modules, i), err));
	return a->pcs.size > UX_SYMBOLIZE_ADDRESSES_MAX ? model_too_many(a->pcs.size, err) : UX_OK;
}

/* --- truths ----------------------------------------------------------------------------------- */

static void same_requests(const struct ux_symbolize_request *a,
			  const struct ux_symbolize_request *b)
{
	fuzz_truth(a->modules.size == b->modules.size && a->pcs.size == b->pcs.size);
	fuzz_truth(a->names.size == b->names.size);
	fuzz_truth(a->demangle == b->demangle && a->return_addresses == b->return_addresses);
	fuzz_truth(a->timeout_ms == b->timeout_ms);
	for (size_t i = 0; i < a->modules.size; i++) {
		const struct ux_requested_module *m = &a->modules.data[i], *n = &b->modules.data[i];
		fuzz_truth(ux_bytes_eq(m->id, n->id) && m->first == n->first && m->n == n->n);
	}
	for (size_t i = 0; i < a->names.size; i++)
		fuzz_truth(a->names.data[i].at == b->names.data[i].at &&
			   ux_bytes_eq(a->names.data[i].name, b->names.data[i].name));
	fuzz_truth(a->pcs.size == 0 ||
		   memcmp(a->pcs.data, b->pcs.data, a->pcs.size * sizeof(*a->pcs.data)) == 0);
}

/* Whether the text is refused by the tree for what JSON allows: duplicate keys of unknown members,
 * NUL in a string, large numbers, halves of surrogates, many values. */
static bool tree_refuses_json(struct ux_bytes body)
{
	json_error_t why;
	json_t *doc = json_loadb((const char *)body.data, body.size, 0, &why);
	bool is_json = doc || json_error_code(&why) == json_error_null_character ||
		       json_error_code(&why) == json_error_numeric_overflow ||
		       memmem(body.data, body.size, "\\u", 2);
	json_decref(doc);
	return is_json;
}

FUZZ_TARGET(symbolize_json)(const uint8_t *data, size_t size)
{
	UX_ARENA(arena, 64 << 20);
	ux_cleanup(ux_symbolize_request_deinit) struct ux_symbolize_request a =
		UX_SYMBOLIZE_REQUEST_INIT;
	ux_cleanup(ux_symbolize_request_deinit) struct ux_symbolize_request b =
		UX_SYMBOLIZE_REQUEST_INIT;
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	struct ux_error err = UX_ERROR_INIT;
	struct ux_bytes body = ux_bytes(data, size);
	enum ux_code code = ux_symbolize_request_parse_json(&a, body, &arena, &err);
	fuzz_truths_of_error(code, &err, size);
	if (ux_json_in_parse(body, &doc, NULL) != UX_OK) {
		fuzz_truth(code != UX_OK || tree_refuses_json(body));
		return 0;
	}
	/* jansson skips a NUL after a number, and takes -0 for an integer that is not negative. */
	if (memchr(data, 0, size) || memmem(data, size, "-0", 2))
		return 0;
	enum ux_code model = model_read(&b, doc, NULL);
	fuzz_truth((code == UX_OK) == (model == UX_OK));
	if (code == UX_OK)
		same_requests(&a, &b);
	return 0;
}
