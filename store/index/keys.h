/* SPDX-License-Identifier: Apache-2.0 */
/* API keys: which operations a client may perform in which namespace. */
#ifndef UX_KEYS_H
#define UX_KEYS_H

#include "index_access.h"

enum ux_scope {
	UX_SCOPE_READ = 1 << 0,
	UX_SCOPE_SYMBOLIZE = 1 << 1,
	UX_SCOPE_UPLOAD = 1 << 2,
	UX_SCOPE_DELETE = 1 << 3,
	UX_SCOPE_ADMIN = 1 << 4,   /* all operations in its namespace; includes the ones above */
	UX_SCOPE_METRICS = 1 << 5, /* the counters of the whole server */
	/* all operations, also on keys of other namespaces; includes the ones above */
	UX_SCOPE_SERVER = 1 << 6,
	/*
	 * packages of crawls in its namespace: announcing them, leasing them, and reporting how
	 * they ended. Not part of UX_SCOPE_UPLOAD: a worker opens the URLs that were announced.
	 */
	UX_SCOPE_CRAWL = 1 << 7,
	/* the same as UPLOAD for symbols of files that were found on a host: UX_TRUST_HOST at most
	 */
	UX_SCOPE_AGENT = 1 << 8,
};

enum {
	/* included in UX_SCOPE_ADMIN */
	UX_SCOPES_NAMESPACE = ((1 << 5) - 1) | UX_SCOPE_CRAWL | UX_SCOPE_AGENT,
	UX_SCOPES_ALL = (1 << 9) - 1,
	UX_TOKEN_SIZE = 3 + 52 + 1, /* "ux_", 32 random bytes in base32, NUL */
	UX_SCOPES_TEXT = 64         /* room for all names, commas and the NUL */
};

/* Adds the scopes that the given ones include. */
static inline unsigned ux_scopes_included(unsigned scopes)
{
	if ((scopes & UX_SCOPE_SERVER) != 0)
		return UX_SCOPES_ALL;
	return (scopes & UX_SCOPE_ADMIN) != 0 ? scopes | UX_SCOPES_NAMESPACE : scopes;
}

/* Parses "read,upload" to bits. False for an unknown name or an empty list. */
bool ux_scopes_parse(struct ux_bytes text, unsigned *ret) ux_must;

/* Formats bits as "read,upload". text has room for UX_SCOPES_TEXT. Returns text. */
const char *ux_scopes_text(unsigned scopes, char *text);

/*
 * Creates a key and writes its token, which is not stored, to token (UX_TOKEN_SIZE bytes). The
 * inputs in spec are ns (NULL: the default), scopes, description (NULL: ""), expires, rate and
 * uploads; the other fields are set. The namespace is created if it does not exist. UX_EINVAL: no
 * scope, or ns is not a valid name.
 */
enum ux_code ux_key_create(struct ux_index *ix, struct ux_key *spec, const struct ux_who *who,
			   ux_time now, char *token, struct ux_error *err) ux_must;

/*
 * The two steps of ux_key_create(), for a caller that has to store the token before the key is
 * valid: makes the token and its row; then ix->keys.add() with both adds the key.
 */
enum ux_code ux_key_prepare(struct ux_key *spec, ux_time now, char *token,
			    struct ux_token_row *ret_row, struct ux_error *err) ux_must;

/*
 * Prepares a key for a token that was made elsewhere. UX_EINVAL also: it is not "ux_" and 52
 * characters of a-z and 2-7.
 */
enum ux_code ux_key_prepare_given(struct ux_key *spec, ux_time now, struct ux_bytes token,
				  struct ux_token_row *ret_row, struct ux_error *err) ux_must;

/*
 * Adds a token to a key, which keeps its ID. Its earlier tokens expire in overlap_s seconds at the
 * latest. UX_ENOTFOUND, UX_ECONFLICT (revoked).
 */
enum ux_code ux_key_rotate(struct ux_index *ix, const char *id, int64_t overlap_s,
			   const struct ux_who *who, ux_time now, char *token, struct ux_error *err)
	ux_must;

/* Gets the ID of a token: the beginning of its hash, which reveals nothing about the token. */
void ux_token_id(struct ux_bytes token, char ret[UX_KEY_ID_SIZE]);

/*
 * Finds the key of a token that was checked before, by the token's ID: as long as the token and its
 * key are valid. UX_EDENIED as for ux_key_check(), which also checks the token itself.
 */
enum ux_code ux_key_of_token(struct ux_index *ix, const char *token_id, ux_time now,
			     struct ux_arena *arena, struct ux_key *ret, struct ux_error *err)
	ux_must;

/*
 * Finds the key of a token; its strings are in arena. UX_EDENIED: the token is unknown, malformed,
 * revoked, expired or replaced by rotation. The message distinguishes the last three cases, and
 * never contains the token.
 */
enum ux_code ux_key_check(struct ux_index *ix, struct ux_bytes token, ux_time now,
			  struct ux_arena *arena, struct ux_key *ret, struct ux_error *err) ux_must;

#endif
