/* SPDX-License-Identifier: Apache-2.0 */
/* API keys: who may do what in which namespace. */
#ifndef UX_KEYS_H
#define UX_KEYS_H

#include "index.h"

enum ux_scope {
	UX_SCOPE_READ = 1 << 0,
	UX_SCOPE_SYMBOLIZE = 1 << 1,
	UX_SCOPE_UPLOAD = 1 << 2,
	UX_SCOPE_DELETE = 1 << 3,
	UX_SCOPE_ADMIN = 1 << 4, /* everything */
};

enum {
	UX_SCOPES_ALL = (1 << 5) - 1,
	UX_TOKEN_SIZE = 3 + 52 + 1, /* "ux_", 32 random bytes in base32, NUL */
	UX_SCOPES_TEXT = 48         /* room for all names, commas and the NUL */
};

/* "read,upload" to bits; false for an unknown name or an empty list. */
bool ux_scopes_parse(struct ux_bytes text, unsigned *ret) ux_must;

/* Bits to "read,upload"; text has room for UX_SCOPES_TEXT. Returns text. */
const char *ux_scopes_text(unsigned scopes, char *text);

/*
 * Makes a key and writes its token, which is kept nowhere, to token (UX_TOKEN_SIZE bytes). Of spec,
 * ns (NULL: the default), scopes, description (NULL: ""), expires, rate and uploads count; the rest
 * is set. The namespace is made when it is not there. UX_EINVAL: no scope, no name of a namespace.
 */
enum ux_code ux_key_create(struct ux_index *ix, struct ux_key *spec, const struct ux_who *who,
			   ux_time now, char *token, struct ux_error *err) ux_must;

/*
 * Adds a token to a key, whose ID stays; its earlier tokens end in overlap_s seconds at the
 * latest. UX_ENOTFOUND, UX_ECONFLICT (revoked).
 */
enum ux_code ux_key_rotate(struct ux_index *ix, const char *id, int64_t overlap_s,
			   const struct ux_who *who, ux_time now, char *token, struct ux_error *err)
	ux_must;

/*
 * The key of a token, its strings in arena. UX_EDENIED: unknown, malformed, revoked, expired or
 * rotated away; the message names which of the last three, and never contains the token.
 */
enum ux_code ux_key_check(struct ux_index *ix, struct ux_bytes token, ux_time now,
			  struct ux_arena *arena, struct ux_key *ret, struct ux_error *err) ux_must;

#endif
