/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keys over HTTP: what an admin key may do to other keys. The JSON routes and the page use the same
 * functions, which write the audit log. Each is called by a handler of a route of scope admin.
 */
#ifndef UX_KEY_ADMIN_H
#define UX_KEY_ADMIN_H

#include "keys.h"
#include "server.h"

/*
 * Lists the keys that the caller may see: those of its namespace; with scope server those of all,
 * or of ns unless it is NULL. UX_EDENIED: ns is of others.
 */
enum ux_code ux_key_admin_list(struct ux_request *req, const char *ns, struct ux_key_list *ret)
	ux_must;

/*
 * Creates a key as ux_key_create() does. It is never more powerful than the caller's: its scopes,
 * its namespace, its limits and its end are within the caller's, or UX_EDENIED. ns NULL: the
 * caller's. Limits and an end that are not given are the caller's.
 */
enum ux_code ux_key_admin_create(struct ux_request *req, struct ux_key *spec,
				 char token[UX_TOKEN_SIZE]) ux_must;

/*
 * Adds a token to a key that is not more powerful than the caller's, as ux_key_rotate() does.
 * UX_ENOTFOUND: there is none that the caller may see. UX_EDENIED, UX_ECONFLICT (revoked).
 */
enum ux_code ux_key_admin_rotate(struct ux_request *req, const char *id, int64_t overlap_s,
				 struct ux_key *ret, char token[UX_TOKEN_SIZE]) ux_must;

/* Revokes a key whose scopes are within the caller's. UX_ENOTFOUND, UX_EDENIED. */
enum ux_code ux_key_admin_revoke(struct ux_request *req, const char *id) ux_must;

#endif
