/* SPDX-License-Identifier: Apache-2.0 */
/* Keys as JSON. */
#include "key_json.h"

#include "index.h"

void ux_json_scopes(struct ux_json *j, unsigned scopes)
{
	char text[UX_SCOPES_TEXT];
	ux_json_key(j, "scopes");
	ux_json_array_begin(j);
	for (unsigned bit = 1; bit <= UX_SCOPES_ALL; bit <<= 1)
		if ((scopes & bit) != 0)
			ux_json_cstr(j, ux_scopes_text(bit, text));
	ux_json_array_end(j);
}

static void key_json_time(struct ux_json *j, const char *name, ux_time t)
{
	char when[UX_TIME_TEXT];
	if (t != 0)
		ux_json_key_cstr(j, name, ux_time_text(t, when));
}

static void key_json_count(struct ux_json *j, const char *name, uint64_t n, uint64_t min)
{
	if (n >= min)
		ux_json_key_u64(j, name, n);
}

void ux_json_api_key(struct ux_json *j, const struct ux_key *key, const char *token)
{
	ux_json_object_begin(j);
	ux_json_key_cstr(j, "id", key->id);
	if (token)
		ux_json_key_cstr(j, "token", token);
	ux_json_scopes(j, key->scopes);
	ux_json_key_cstr(j, "namespace", key->ns ? key->ns : UX_NAMESPACE_DEFAULT);
	ux_json_key_cstr(j, "description", key->description ? key->description : "");
	key_json_time(j, "created", key->created);
	key_json_count(j, "tokens", key->tokens, 2); /* 1 is usual, and omitted */
	key_json_count(j, "rate", key->rate, 1);
	key_json_count(j, "uploads", key->uploads, 1);
	key_json_time(j, "last_used", key->last_used);
	key_json_time(j, "expires", key->expires);
	key_json_time(j, "revoked", key->revoked);
	ux_json_object_end(j);
}
