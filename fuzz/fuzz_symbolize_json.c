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

static bool model_add(struct ux_symbolize_request *a, uint64_t pc, struct ux_bytes name)
{
	const struct ux_requested_name named = {.at = a->pcs.size, .name = name};
	return (name.size == 0 || ux_requested_names_append(&a->names, named)) &&
	       ux_requested_pcs_append(&a->pcs, pc);
}

static bool model_add_text(struct ux_symbolize_request *a, struct ux_bytes text)
{
	struct ux_bytes name = UX_BYTES_NONE;
	uint64_t pc = 0;
	return (ux_hex_parse_u64(text, /* hex= */ false, &pc) ||
		ux_gsym_symbol_parse(text, '+', &name, &pc)) &&
	       model_add(a, pc, name);
}

static bool model_add_value(struct ux_symbolize_request *a, const json_t *v)
{
	if (json_is_string(v))
		return model_add_text(a, ux_bytes(json_string_value(v), json_string_length(v)));
	return json_is_integer(v) && json_integer_value(v) >= 0 &&
	       model_add(a, (uint64_t)json_integer_value(v), UX_BYTES_NONE);
}

static bool model_add_module(struct ux_symbolize_request *a, const json_t *m)
{
	const json_t *id = json_object_get(m, "id"), *list = NULL;
	if (!json_is_string(id) ||
	    ux_json_in_array(m, "addresses", UX_SYMBOLIZE_ADDRESSES_MAX, &list, NULL) != UX_OK ||
	    !list)
		return false;
	const struct ux_requested_module module = {
		.id = ux_bytes(json_string_value(id), json_string_length(id)),
		.first = a->pcs.size,
		.n = json_array_size(list)};
	for (size_t k = 0; k < module.n; k++)
		if (!model_add_value(a, json_array_get(list, k)))
			return false;
	return ux_requested_modules_append(&a->modules, module);
}

static bool model_read_options(struct ux_symbolize_request *a, const json_t *doc)
{
	const char *word = NULL;
	uint64_t timeout = 0;
	if (ux_json_in_bool(doc, "return_addresses", &a->return_addresses, NULL) != UX_OK ||
	    ux_json_in_str(doc, "demangle", 32, &word, NULL) != UX_OK ||
	    ux_json_in_u64(doc, "timeout_ms", &timeout, NULL) != UX_OK || timeout > UINT32_MAX)
		return false;
	a->timeout_ms = (uint32_t)timeout;
	return !word || ux_symbolize_request_parse_demangle(a, ux_bytes_cstr(word), NULL) == UX_OK;
}

static bool model_read(struct ux_symbolize_request *a, const json_t *doc)
{
	const json_t *modules = NULL;
	if (!model_read_options(a, doc) ||
	    ux_json_in_array(doc, "modules", UX_SYMBOLIZE_MODULES_MAX, &modules, NULL) != UX_OK ||
	    !modules)
		return false;
	for (size_t i = 0; i < json_array_size(modules); i++)
		if (!model_add_module(a, json_array_get(modules, i)))
			return false;
	return a->pcs.size <= UX_SYMBOLIZE_ADDRESSES_MAX;
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
	fuzz_truth((code == UX_OK) == model_read(&b, doc));
	if (code == UX_OK)
		same_requests(&a, &b);
	return 0;
}
