/* SPDX-License-Identifier: Apache-2.0 */
/* /v1/keys: keys as JSON, in the same form as `unhex key --json`. */
#include "auth.h"
#include "key_admin.h"
#include "key_text.h"
#include "request_values.h"

enum {
	SCOPES_MAX = 16, /* entries of "scopes" */
};

static enum ux_code key_routes_answer(struct ux_request *req, struct ux_response *res,
				      const struct ux_key *key, char token[UX_TOKEN_SIZE])
{
	struct ux_json j = ux_json_make(&req->out);
	ux_json_api_key(&j, key, token);
	explicit_bzero(token, UX_TOKEN_SIZE);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}

enum ux_code ux_handle_keys(struct ux_request *req, struct ux_response *res)
{
	struct ux_key_list list;
	struct ux_bytes ns;
	bool named = ux_request_query(req, "namespace", &ns); /* decoded, so NUL-terminated */
	UX_TRY(ux_key_admin_list(req, named ? (const char *)ns.data : NULL, &list));
	struct ux_json j = ux_json_make(&req->out);
	ux_json_object_begin(&j);
	ux_json_key(&j, "keys");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < list.n; i++)
		ux_json_api_key(&j, &list.keys[i], NULL);
	ux_json_array_end(&j);
	ux_json_object_end(&j);
	ux_out_u8(&req->out, '\n');
	return ux_response_out(req, res, "application/json");
}

static enum ux_code key_routes_read_scopes(const json_t *doc, unsigned *ret, struct ux_error *err)
{
	const json_t *list = NULL;
	UX_TRY(ux_json_in_array(doc, "scopes", SCOPES_MAX, &list, err));
	if (json_array_size(list) == 0)
		return ux_error_set(err, UX_EINVAL, "\"scopes\" is empty; a key needs a scope");
	*ret = 0;
	for (size_t i = 0; i < json_array_size(list); i++) {
		const char *word = json_string_value(json_array_get(list, i));
		unsigned bit = 0;
		if (!word || strchr(word, ',') || !ux_scopes_parse(ux_bytes_cstr(word), &bit))
			return ux_error_set(err, UX_EINVAL,
					    "\"scopes\" holds %.40s; expected names of scopes",
					    word ? word : ux_json_in_type(json_array_get(list, i)));
		*ret |= bit;
	}
	return UX_OK;
}

/* Reads a key from JSON. Its strings live as long as the document. */
static enum ux_code key_routes_read_key(const json_t *doc, ux_time now, struct ux_key *ret,
					struct ux_error *err)
{
	const char *expires = NULL;
	*ret = (struct ux_key){.description = ""};
	UX_TRY(key_routes_read_scopes(doc, &ret->scopes, err));
	UX_TRY(ux_json_in_str(doc, "namespace", UX_INDEX_NS_BYTES, &ret->ns, err));
	UX_TRY(ux_json_in_str(doc, "description", UX_INDEX_TEXT_BYTES, &ret->description, err));
	UX_TRY(ux_json_in_u64(doc, "rate", &ret->rate, err));
	UX_TRY(ux_json_in_u64(doc, "uploads", &ret->uploads, err));
	UX_TRY(ux_json_in_str(doc, "expires", UX_TIME_TEXT, &expires, err));
	if (!expires)
		return UX_OK;
	return ux_key_expiry_parse(expires, "\"expires\"", now, &ret->expires, err);
}

enum ux_code ux_handle_key_create(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	struct ux_key key;
	char token[UX_TOKEN_SIZE];
	UX_TRY(ux_json_in_parse(req->body, &doc, &req->err));
	UX_TRY(key_routes_read_key(doc, ux_store_key_now(ux_server_of(req)->store), &key,
				   &req->err));
	UX_TRY(ux_key_admin_create(req, &key, token));
	res->status = 201;
	return key_routes_answer(req, res, &key, token);
}

enum ux_code ux_handle_key_rotate(struct ux_request *req, struct ux_response *res)
{
	ux_cleanup(json_decrefp) json_t *doc = NULL;
	const char *overlap = UX_KEY_OVERLAP_DEFAULT;
	struct ux_key key;
	char token[UX_TOKEN_SIZE];
	int64_t seconds = 0;
	if (req->body.size > 0)
		UX_TRY(ux_json_in_parse(req->body, &doc, &req->err));
	UX_TRY(ux_json_in_str(doc, "overlap", UX_TIME_TEXT, &overlap, &req->err));
	UX_TRY(ux_key_overlap_parse(overlap, "\"overlap\"", &seconds, &req->err));
	UX_TRY(ux_key_admin_rotate(req, (const char *)req->params[0].data, seconds, &key, token));
	return key_routes_answer(req, res, &key, token);
}

enum ux_code ux_handle_key_revoke(struct ux_request *req, struct ux_response *res)
{
	UX_TRY(ux_key_admin_revoke(req, (const char *)req->params[0].data));
	res->status = 204;
	return UX_OK;
}
