/* SPDX-License-Identifier: Apache-2.0 */
/* Parses values in requests. */
#include "request_values.h"
#include "id.h"
#include "id_prefix.h"
#include "index.h"
#include "text.h"

enum ux_code ux_json_in_status(const struct ux_cur *c, struct ux_error *err)
{
	if (ux_likely(!c->failed))
		return UX_OK;
	return ux_error_set(err, UX_EINVAL, "JSON, offset %" PRIu64 ": %s", ux_cur_off(c),
			    c->what ? c->what : "the text ends early");
}

enum ux_code ux_json_in_expect(struct ux_cur *c, const char *key, enum ux_json_kind expected,
			       struct ux_error *err)
{
	enum ux_json_kind kind = ux_json_peek(c);
	UX_TRY(ux_json_in_status(c, err));
	if (kind == expected)
		return UX_OK;
	return ux_error_set(err, UX_EINVAL, "%s%s%s is %s; expected %s", key ? "\"" : "the JSON",
			    key ? key : "", key ? "\"" : "", ux_json_kind_name(kind),
			    ux_json_kind_name(expected));
}

bool ux_json_in_given(struct ux_cur *c)
{
	if (ux_json_peek(c) != UX_JSON_NULL)
		return true;
	(void)ux_json_skip(c);
	return false;
}

enum ux_code ux_json_in_once(bool *seen, const char *key, struct ux_error *err)
{
	if (*seen)
		return ux_error_set(err, UX_EINVAL, "the JSON has a duplicate member \"%s\"", key);
	*seen = true;
	return UX_OK;
}

enum ux_code ux_json_in_string(struct ux_cur *c, struct ux_arena *arena, struct ux_bytes *ret,
			       struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out out = {0};
	struct ux_json_text text = ux_json_read_text(c);
	*ret = text.raw;
	if (ux_likely(!text.escaped))
		return ux_json_in_status(c, err);
	ux_json_unescape(text, &out);
	UX_TRY(ux_out_status(&out, err));
	const char *copy = ux_arena_strndup(arena, (const char *)out.data, out.size);
	*ret = ux_bytes(copy, out.size);
	return copy ? UX_OK : ux_arena_fail(arena, err);
}

const char *ux_json_in_type(const json_t *v)
{
	static const enum ux_json_kind kinds[] = {
		[JSON_OBJECT] = UX_JSON_OBJECT, [JSON_ARRAY] = UX_JSON_ARRAY,
		[JSON_STRING] = UX_JSON_STRING, [JSON_INTEGER] = UX_JSON_NUMBER,
		[JSON_REAL] = UX_JSON_NUMBER,   [JSON_TRUE] = UX_JSON_BOOL,
		[JSON_FALSE] = UX_JSON_BOOL,    [JSON_NULL] = UX_JSON_NULL,
	};
	/* "a number; expected an integer" would not say why it is wrong */
	if (json_is_number(v))
		return json_is_integer(v) ? "an integer" : "a fraction";
	return ux_json_kind_name(v ? kinds[json_typeof(v)] : UX_JSON_NONE);
}

/*
 * Counts commas and brackets outside strings: each value but the first of its container follows a
 * comma.
 */
static enum ux_code json_in_weigh(struct ux_bytes text, struct ux_error *err)
{
	size_t values = 0, containers = 0;
	bool in_string = false;
	for (size_t i = 0; i < text.size; i++) {
		uint8_t c = text.data[i];
		if (in_string && c == '\\')
			i++;
		else if (c == '"')
			in_string = !in_string;
		else if (!in_string && (c == '{' || c == '['))
			containers++;
		else if (!in_string && c == ',')
			values++;
	}
	if (values + containers > UX_JSON_VALUES_MAX)
		return ux_error_set(err, UX_ELIMIT, "the JSON has more than %d values",
				    UX_JSON_VALUES_MAX);
	if (containers > UX_JSON_CONTAINERS_MAX)
		return ux_error_set(err, UX_ELIMIT, "the JSON has more than %d objects and arrays",
				    UX_JSON_CONTAINERS_MAX);
	return UX_OK;
}

enum ux_code ux_json_in_parse(struct ux_bytes text, json_t **ret, struct ux_error *err)
{
	json_error_t why;
	UX_TRY(json_in_weigh(text, err));
	json_t *doc = json_loadb(text.size ? (const char *)text.data : "", text.size,
				 JSON_REJECT_DUPLICATES, &why);
	if (!doc && json_error_code(&why) == json_error_out_of_memory)
		return ux_error_nomem(err);
	if (!doc)
		return ux_error_set(err, UX_EINVAL, "JSON, line %d column %d: %.100s", why.line,
				    why.column, why.text);
	if (!json_is_object(doc)) {
		json_decref(doc);
		return ux_error_set(err, UX_EINVAL, "the JSON is an array; expected an object");
	}
	*ret = doc;
	return UX_OK;
}

static enum ux_code json_in_wrong(const char *key, const json_t *v, const char *want,
				  struct ux_error *err)
{
	return ux_error_set(err, UX_EINVAL, "\"%s\" is %s; expected %s", key, ux_json_in_type(v),
			    want);
}

static const json_t *json_in_member(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	return json_is_null(v) ? NULL : v;
}

enum ux_code ux_json_in_bool(const json_t *o, const char *key, bool *ret, struct ux_error *err)
{
	const json_t *v = json_in_member(o, key);
	if (v && !json_is_boolean(v))
		return json_in_wrong(key, v, "true or false", err);
	if (v)
		*ret = json_is_true(v);
	return UX_OK;
}

enum ux_code ux_json_in_u64(const json_t *o, const char *key, uint64_t *ret, struct ux_error *err)
{
	const json_t *v = json_in_member(o, key);
	if (v && !json_is_integer(v))
		return json_in_wrong(key, v, "an integer", err);
	if (v && json_integer_value(v) < 0)
		return ux_error_set(err, UX_EINVAL, "\"%s\" is negative", key);
	if (v)
		*ret = (uint64_t)json_integer_value(v);
	return UX_OK;
}

enum ux_code ux_json_in_str(const json_t *o, const char *key, size_t max, const char **ret,
			    struct ux_error *err)
{
	const json_t *v = json_in_member(o, key);
	if (v && !json_is_string(v))
		return json_in_wrong(key, v, "a string", err);
	if (v && json_string_length(v) > max)
		return ux_error_set(err, UX_EINVAL, "\"%s\" has %zu bytes; the limit is %zu", key,
				    json_string_length(v), max);
	if (v)
		*ret = json_string_value(v);
	return UX_OK;
}

enum ux_code ux_json_in_array(const json_t *o, const char *key, size_t max, const json_t **ret,
			      struct ux_error *err)
{
	const json_t *v = json_in_member(o, key);
	if (v && !json_is_array(v))
		return json_in_wrong(key, v, "an array", err);
	if (json_array_size(v) > max)
		return ux_error_set(err, UX_ELIMIT, "\"%s\" has %zu elements; the limit is %zu",
				    key, json_array_size(v), max);
	*ret = v;
	return UX_OK;
}

enum ux_code ux_module_prefix_parse(struct ux_bytes text, struct ux_arena *arena, const char **ret,
				    struct ux_error *err)
{
	char prefix[UX_ID_TEXT];
	UX_TRY(ux_id_prefix_parse(text, prefix, err));
	*ret = ux_arena_strndup(arena, prefix, strlen(prefix));
	return *ret ? UX_OK : ux_arena_fail(arena, err);
}

enum ux_code ux_module_id_parse(struct ux_bytes text, struct ux_arena *arena, const char **ret,
				struct ux_error *err)
{
	struct ux_id id;
	char canonical[UX_ID_TEXT];
	static_assert((int)UX_ID_TEXT <= (int)UX_INDEX_ID_BYTES, "the index holds every ID");
	UX_TRY(ux_id_parse(text, &id, err));
	ux_id_format(&id, canonical);
	*ret = ux_arena_strndup(arena, canonical, strlen(canonical));
	return *ret ? UX_OK : ux_arena_fail(arena, err);
}

enum ux_code ux_module_ids_parse(const json_t *o, struct ux_arena *arena, const char ***ret,
				 size_t *ret_n, struct ux_error *err)
{
	const json_t *list = NULL;
	UX_TRY(ux_json_in_array(o, "ids", UX_INDEX_IDS_MAX, &list, err));
	size_t n = json_array_size(list);
	if (n == 0)
		return ux_error_set(err, UX_EINVAL, "\"ids\" is missing or empty");
	const char **ids = ux_arena_array(arena, const char *, n);
	if (!ids)
		return ux_arena_fail(arena, err);
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(list, i);
		if (!json_is_string(v))
			return ux_error_set(err, UX_EINVAL, "\"ids\" holds %s; expected strings",
					    ux_json_in_type(v));
		UX_TRY(ux_module_id_parse(ux_bytes(json_string_value(v), json_string_length(v)),
					  arena, &ids[i], err));
	}
	*ret = ids;
	*ret_n = n;
	return UX_OK;
}

enum ux_code ux_query_number(struct ux_request *req, const char *name, uint64_t lo, uint64_t hi,
			     uint64_t *ret)
{
	struct ux_bytes text;
	uint64_t v = 0;
	if (!ux_request_query(req, name, &text))
		return UX_OK;
	if (!ux_decimal_parse(text, &v) || v < lo || v > hi)
		return ux_error_set(
			&req->err, UX_EINVAL, "%s is '%.*s'; expected %" PRIu64 " to %" PRIu64,
			name, (int)ux_min(text.size, (size_t)32), (const char *)text.data, lo, hi);
	*ret = v;
	return UX_OK;
}

enum ux_code ux_quality_parse(struct ux_bytes word, enum ux_quality *ret, struct ux_error *err)
{
	for (int q = UX_QUALITY_NONE; q < UX_QUALITY_COUNT; q++) {
		if (!ux_bytes_eq(word, ux_bytes_cstr(ux_quality_name((enum ux_quality)q))))
			continue;
		*ret = (enum ux_quality)q;
		return UX_OK;
	}
	return ux_error_set(err, UX_EINVAL, "unknown quality \"%.*s\"",
			    (int)ux_min(word.size, (size_t)32), (const char *)word.data);
}

enum ux_code ux_json_in_quality(const json_t *o, enum ux_quality *ret, bool *ret_said,
				struct ux_error *err)
{
	const char *word = NULL;
	*ret_said = false;
	UX_TRY(ux_json_in_str(o, "quality", 32, &word, err));
	if (!word)
		return UX_OK;
	*ret_said = true;
	return ux_quality_parse(ux_bytes_cstr(word), ret, err);
}
