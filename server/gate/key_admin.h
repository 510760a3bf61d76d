/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys over HTTP: the operations of an admin key on other keys. The JSON routes and the page use
 * the same functions, which write the audit log. Each is called by a handler of a route of scope
 * admin.
 */
#ifndef UX_KEY_ADMIN_H
#define UX_KEY_ADMIN_H

#include "keys.h"
#include "server.h"

/*
 * Lists the keys that the caller may see: the keys of its namespace; with scope server the keys of
 * all namespaces, or of ns unless it is NULL. UX_EDENIED: ns is not the caller's namespace.
 */
enum ux_code ux_key_admin_list(struct ux_request *req, const char *ns, struct ux_key_list *ret)
	ux_must;

/*
 * Creates a key, like ux_key_create(). The key is never more powerful than the caller's: its
 * scopes, namespace, limits and expiry must be within the caller's, otherwise UX_EDENIED. ns NULL:
 * the caller's. Limits and an expiry that are not given are the caller's.
 */
enum ux_code ux_key_admin_create(struct ux_request *req, struct ux_key *spec,
				 char token[UX_TOKEN_SIZE]) ux_must;

/*
 * Adds a token to a key that is not more powerful than the caller's, like ux_key_rotate().
 * UX_ENOTFOUND: no such key that the caller may see. UX_EDENIED, UX_ECONFLICT (revoked).
 */
enum ux_code ux_key_admin_rotate(struct ux_request *req, const char *id, int64_t overlap_s,
				 struct ux_key *ret, char token[UX_TOKEN_SIZE]) ux_must;

/* Revokes a key whose scopes are within the caller's. UX_ENOTFOUND, UX_EDENIED. */
enum ux_code ux_key_admin_revoke(struct ux_request *req, const char *id) ux_must;

#endif
