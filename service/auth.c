/* SPDX-License-Identifier: Apache-2.0 */
/* Who may do what. */
#include "server.h"

#include <arpa/inet.h>
#include <strings.h>
#include <time.h>

ux_time ux_server_now(void)
{
	return time(NULL);
}

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

/* "localhost" or a numeric address, with or without a port; who sends no Host is no browser. */
static bool host_is_local(const struct ux_request *req)
{
	struct ux_bytes v;
	char host[64];
	uint8_t address[16];
	if (!ux_request_header(req, "Host", &v))
		return true;
	bool six = v.size > 0 && v.data[0] == '[';
	const uint8_t *end = v.size ? memchr(v.data, six ? ']' : ':', v.size) : NULL;
	size_t n = (end ? (size_t)(end - v.data) : v.size) - six;
	if (n >= sizeof(host))
		return false;
	memcpy(host, v.data + six, n);
	host[n] = '\0';
	return strcasecmp(host, "localhost") == 0 ||
	       inet_pton(six ? AF_INET6 : AF_INET, host, address) == 1;
}

static bool is_open(const struct ux_request *req)
{
	const struct ux_server *s = ux_server_of(req);
	return atomic_load_explicit(&s->open_reading, memory_order_relaxed) &&
	       (!s->local_only || host_is_local(req));
}

static enum ux_code identify(struct ux_request *req, struct ux_response *res,
			     struct ux_caller *caller)
{
	struct ux_key key;
	struct ux_bytes token;
	const struct ux_server *s = ux_server_of(req);
	const unsigned reading = is_open(req) ? UX_SCOPE_READ | UX_SCOPE_SYMBOLIZE : 0;
	*caller = (struct ux_caller){.key_id = "", .ns = UX_NAMESPACE_DEFAULT, .scopes = reading};
	if (bearer(req, &token)) {
		enum ux_code code = ux_key_check(s->store->index, token, ux_server_now(),
						 &req->arena, &key, &req->err);
		if (code != UX_OK)
			return unauthorized(res, code);
	} else if (ux_session_key(&s->sessions, s->store->index, req, ux_server_now(), &key) !=
		   UX_OK) {
		return UX_OK;
	}
	caller->key_id = ux_arena_strndup(&req->arena, key.id, strlen(key.id));
	if (!caller->key_id)
		return ux_arena_fail(&req->arena, &req->err);
	ux_store_key_used(s->store, key.id);
	caller->ns = key.ns;
	caller->scopes = (key.scopes & UX_SCOPE_ADMIN) != 0 ? (unsigned)UX_SCOPES_ALL : key.scopes;
	if (strcmp(key.ns, UX_NAMESPACE_DEFAULT) == 0) /* other namespaces are open to nobody */
		caller->scopes |= reading;
	return UX_OK;
}

/* Who a page that is open to all is for: it may show them what they may see. */
static enum ux_code anybody(struct ux_request *req, struct ux_caller *caller)
{
	struct ux_response none = {.fd = -1};
	if (!req->route->page || identify(req, &none, caller) != UX_OK) {
		*caller = (struct ux_caller){.key_id = "", .ns = UX_NAMESPACE_DEFAULT};
		req->err = (struct ux_error)UX_ERROR_INIT;
	}
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
	if (scope == 0) /* open to all: a bad token does not matter */
		return anybody(req, caller);
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
