/* SPDX-License-Identifier: Apache-2.0 */
/* Keys over HTTP: the rules. */
#include "key_admin.h"

#include "auth.h"

static struct ux_index *key_admin_index(const struct ux_request *req)
{
	return ux_server_of(req)->store->index;
}

/*
 * Finds the caller's own key. Its scopes count, not the caller's: rights that are open to everyone,
 * or to this machine, cannot be given away as a key.
 */
static enum ux_code key_admin_self(struct ux_request *req, struct ux_key *ret)
{
	struct ux_index *ix = key_admin_index(req);
	UX_TRY(ix->keys.get(ix, ux_caller_of(req)->key_id, &req->arena, ret, &req->err));
	ret->scopes = ux_scopes_included(ret->scopes);
	return UX_OK;
}

static bool key_admin_sees(const struct ux_key *self, const char *ns)
{
	return (self->scopes & UX_SCOPE_SERVER) != 0 || strcmp(self->ns, ns) == 0;
}

static enum ux_code key_admin_check_scopes(struct ux_request *req, const struct ux_key *self,
					   unsigned scopes)
{
	char names[UX_SCOPES_TEXT];
	unsigned more = ux_scopes_included(scopes) & ~self->scopes;
	if (more == 0)
		return UX_OK;
	return ux_error_set(&req->err, UX_EDENIED, "your key %s lacks scope %s", self->id,
			    ux_scopes_text(more, names));
}

static enum ux_code key_admin_check_end(struct ux_request *req, const struct ux_key *self,
					ux_time expires)
{
	if (self->expires == 0 || (expires != 0 && expires <= self->expires))
		return UX_OK;
	return ux_error_set(&req->err, UX_EDENIED, "your key %s expires before that", self->id);
}

/* Checks a limit. 0 means the server's limit, which may be unlimited. */
static enum ux_code key_admin_check_limit(struct ux_request *req, const char *what, uint64_t limit,
					  uint64_t own, uint64_t server)
{
	uint64_t max = own != 0 ? own : server;
	uint64_t given = limit != 0 ? limit : server;
	if (max == 0 || (given != 0 && given <= max))
		return UX_OK;
	return ux_error_set(&req->err, UX_EDENIED, "%s exceeds %" PRIu64 ", the limit of your key",
			    what, max);
}

static enum ux_code key_admin_check_power(struct ux_request *req, const struct ux_key *self,
					  const struct ux_key *key)
{
	const struct ux_access *a = ux_server_access(ux_server_of(req));
	UX_TRY(key_admin_check_scopes(req, self, key->scopes));
	UX_TRY(key_admin_check_end(req, self, key->expires));
	if ((self->scopes & UX_SCOPE_SERVER) != 0) /* may exceed the server's limits */
		return UX_OK;
	UX_TRY(key_admin_check_limit(req, "rate", key->rate, self->rate, a->key_rate.a_second));
	return key_admin_check_limit(req, "uploads", key->uploads, self->uploads, a->uploads_key);
}

enum ux_code ux_key_admin_list(struct ux_request *req, const char *ns, struct ux_key_list *ret)
{
	struct ux_index *ix = key_admin_index(req);
	struct ux_key self;
	size_t n = 0;
	UX_TRY(key_admin_self(req, &self));
	if (ns && !key_admin_sees(&self, ns))
		return ux_error_set(&req->err, UX_EDENIED,
				    "key %s does not belong to namespace %.64s", self.id, ns);
	UX_TRY(ix->keys.list(ix, &req->arena, ret, &req->err));
	for (size_t i = 0; i < ret->n; i++)
		if (key_admin_sees(&self, ret->keys[i].ns) &&
		    (!ns || strcmp(ns, ret->keys[i].ns) == 0))
			ret->keys[n++] = ret->keys[i];
	ret->n = n;
	return UX_OK;
}

enum ux_code ux_key_admin_create(struct ux_request *req, struct ux_key *spec,
				 char token[UX_TOKEN_SIZE])
{
	struct ux_key self;
	const struct ux_who who = ux_who_of(req);
	UX_TRY(key_admin_self(req, &self));
	if (!spec->ns)
		spec->ns = self.ns;
	if (!key_admin_sees(&self, spec->ns))
		return ux_error_set(&req->err, UX_EDENIED,
				    "key %s does not belong to namespace %.64s", self.id, spec->ns);
	if (spec->expires == 0)
		spec->expires = self.expires;
	if (spec->rate == 0)
		spec->rate = self.rate;
	if (spec->uploads == 0)
		spec->uploads = self.uploads;
	UX_TRY(key_admin_check_power(req, &self, spec));
	return ux_key_create(key_admin_index(req), spec, &who,
			     ux_store_key_now(ux_server_of(req)->store), token, &req->err);
}

/* Finds a key. Keys of other namespaces do not exist for the caller. */
static enum ux_code key_admin_find(struct ux_request *req, const struct ux_key *self,
				   const char *id, struct ux_key *ret)
{
	struct ux_index *ix = key_admin_index(req);
	UX_TRY(ix->keys.get(ix, id, &req->arena, ret, &req->err));
	if (key_admin_sees(self, ret->ns))
		return UX_OK;
	return ux_error_set(&req->err, UX_ENOTFOUND, "key %.20s does not exist", id);
}

/* A new token is as powerful as a new key, so the caller must be allowed to create such a key. */
enum ux_code ux_key_admin_rotate(struct ux_request *req, const char *id, int64_t overlap_s,
				 struct ux_key *ret, char token[UX_TOKEN_SIZE])
{
	struct ux_index *ix = key_admin_index(req);
	struct ux_key self, key;
	const struct ux_who who = ux_who_of(req);
	UX_TRY(key_admin_self(req, &self));
	UX_TRY(key_admin_find(req, &self, id, &key));
	if (strcmp(key.id, self.id) != 0)
		UX_TRY(key_admin_check_power(req, &self, &key));
	UX_TRY(ux_key_rotate(ix, key.id, overlap_s, &who,
			     ux_store_key_now(ux_server_of(req)->store), token, &req->err));
	ux_known_keys_forget(&ux_server_of(req)->gate->keys);
	return ix->keys.get(ix, key.id, &req->arena, ret, &req->err);
}

enum ux_code ux_key_admin_revoke(struct ux_request *req, const char *id)
{
	struct ux_index *ix = key_admin_index(req);
	struct ux_key self, key;
	const struct ux_who who = ux_who_of(req);
	UX_TRY(key_admin_self(req, &self));
	UX_TRY(key_admin_find(req, &self, id, &key));
	UX_TRY(key_admin_check_scopes(req, &self, key.scopes));
	enum ux_code code = ix->keys.revoke(ix, key.id, &who,
					    ux_store_key_now(ux_server_of(req)->store), &req->err);
	ux_known_keys_forget(&ux_server_of(req)->gate->keys);
	return code;
}
