/* SPDX-License-Identifier: Apache-2.0 */
/* JSON that strangers send. */
#include "json_in.h"

void ux_json_in_drop(json_t **doc)
{
	json_decref(*doc);
}

const char *ux_json_in_type(const json_t *v)
{
	if (!v)
		return "nothing";
	switch (json_typeof(v)) {
	case JSON_OBJECT:
		return "an object";
	case JSON_ARRAY:
		return "an array";
	case JSON_STRING:
		return "a string";
	case JSON_INTEGER:
		return "an integer";
	case JSON_REAL:
		return "a fraction";
	case JSON_TRUE:
	case JSON_FALSE:
		return "a boolean";
	case JSON_NULL:
		return "null";
	}
	return "something else";
}

/* Each value but the first of its container has a comma before it; strings are skipped over. */
static enum ux_code weigh(struct ux_bytes text, struct ux_error *err)
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
	if (values + containers > UX_JSON_VALUES_MOST)
		return ux_error_set(err, UX_ELIMIT, "the JSON has over %d values",
				    UX_JSON_VALUES_MOST);
	if (containers > UX_JSON_CONTAINERS_MOST)
		return ux_error_set(err, UX_ELIMIT, "the JSON has over %d objects and arrays",
				    UX_JSON_CONTAINERS_MOST);
	return UX_OK;
}

enum ux_code ux_json_in_parse(struct ux_bytes text, json_t **ret, struct ux_error *err)
{
	json_error_t why;
	UX_TRY(weigh(text, err));
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

static enum ux_code wrong(const char *key, const json_t *v, const char *want, struct ux_error *err)
{
	return ux_error_set(err, UX_EINVAL, "\"%s\" is %s; expected %s", key, ux_json_in_type(v),
			    want);
}

static const json_t *member(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	return json_is_null(v) ? NULL : v;
}

enum ux_code ux_json_in_bool(const json_t *o, const char *key, bool *ret, struct ux_error *err)
{
	const json_t *v = member(o, key);
	if (v && !json_is_boolean(v))
		return wrong(key, v, "true or false", err);
	if (v)
		*ret = json_is_true(v);
	return UX_OK;
}

enum ux_code ux_json_in_u64(const json_t *o, const char *key, uint64_t *ret, struct ux_error *err)
{
	const json_t *v = member(o, key);
	if (v && !json_is_integer(v))
		return wrong(key, v, "an integer", err);
	if (v && json_integer_value(v) < 0)
		return ux_error_set(err, UX_EINVAL, "\"%s\" is negative", key);
	if (v)
		*ret = (uint64_t)json_integer_value(v);
	return UX_OK;
}

enum ux_code ux_json_in_str(const json_t *o, const char *key, size_t most, const char **ret,
			    struct ux_error *err)
{
	const json_t *v = member(o, key);
	if (v && !json_is_string(v))
		return wrong(key, v, "a string", err);
	if (v && json_string_length(v) > most)
		return ux_error_set(err, UX_EINVAL, "\"%s\" has %zu bytes; at most %zu are kept",
				    key, json_string_length(v), most);
	if (v)
		*ret = json_string_value(v);
	return UX_OK;
}

enum ux_code ux_json_in_array(const json_t *o, const char *key, size_t most, const json_t **ret,
			      struct ux_error *err)
{
	const json_t *v = member(o, key);
	if (v && !json_is_array(v))
		return wrong(key, v, "an array", err);
	if (v && json_array_size(v) > most)
		return ux_error_set(err, UX_ELIMIT,
				    "\"%s\" has %zu elements; at most %zu are taken", key,
				    json_array_size(v), most);
	*ret = v;
	return UX_OK;
}
