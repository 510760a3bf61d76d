/* SPDX-License-Identifier: Apache-2.0 */
/* Who may do what. */
#include "server.h"

#include <strings.h>

/* RFC 6750, 2.1; the scheme's name has no case (RFC 9110, 11.1). */
static bool bearer(const struct ux_request *req, struct ux_bytes *ret)
{
	static const char scheme[] = "Bearer ";
	struct ux_bytes v;
	if (!ux_request_header(req, "Authorization", &v))
		return false;
	size_t n = sizeof(scheme) - 1;
	if (v.size < n || strncasecmp((const char *)v.data, scheme, n) != 0)
		n = v.size; /* another scheme is a token that nobody has */
	*ret = ux_bytes(v.data + n, v.size - n);
	return true;
}

static enum ux_code unauthorized(struct ux_response *res, enum ux_code code)
{
	if (code == UX_EDENIED) {
		res->status = 401;
		res->word = "unauthorized";
		ux_response_field(res, "WWW-Authenticate", UX_STR("Bearer"));
	}
	return code;
}

static enum ux_code identify(struct ux_request *req, struct ux_response *res,
			     struct ux_caller *caller)
{
	struct ux_key key;
	struct ux_bytes token;
	const struct ux_server *s = ux_server_of(req);
	*caller = (struct ux_caller){.key_id = "", .ns = UX_NAMESPACE_DEFAULT};
	if (s->open_reading)
		caller->scopes = UX_SCOPE_READ | UX_SCOPE_SYMBOLIZE;
	if (!bearer(req, &token))
		return UX_OK;
	enum ux_code code =
		ux_key_check(s->store->index, token, ux_server_now(), &req->arena, &key, &req->err);
	if (code != UX_OK)
		return unauthorized(res, code);
	caller->key_id = ux_arena_strndup(&req->arena, key.id, strlen(key.id));
	if (!caller->key_id)
		return ux_arena_fail(&req->arena, &req->err);
	caller->ns = key.ns;
	caller->scopes |= (key.scopes & UX_SCOPE_ADMIN) != 0 ? (unsigned)UX_SCOPES_ALL : key.scopes;
	return UX_OK;
}

enum ux_code ux_server_gate(struct ux_request *req, struct ux_response *res)
{
	char names[UX_SCOPES_TEXT];
	unsigned scope = req->route->scope;
	struct ux_caller *caller = ux_arena_new(&req->arena, struct ux_caller);
	if (!caller)
		return ux_arena_fail(&req->arena, &req->err);
	req->caller = caller;
	if (scope == 0) { /* open to all: a bad token does not matter */
		*caller = (struct ux_caller){.key_id = "", .ns = UX_NAMESPACE_DEFAULT};
		return UX_OK;
	}
	UX_TRY(identify(req, res, caller));
	if ((caller->scopes & scope) != 0)
		return UX_OK;
	ux_scopes_text(scope, names);
	if (caller->key_id[0] == '\0')
		return unauthorized(res, ux_error_set(&req->err, UX_EDENIED,
						      "this needs a key of scope %s: send "
						      "Authorization: Bearer TOKEN",
						      names));
	return ux_error_set(&req->err, UX_EDENIED, "key %s has no scope %s", caller->key_id, names);
}
