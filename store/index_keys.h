/* SPDX-License-Identifier: Apache-2.0 */
/* The index: API keys. */
#ifndef UX_INDEX_KEYS_H
#define UX_INDEX_KEYS_H

#include "index_base.h"

enum {
	UX_KEY_ID_SIZE = 13 /* 12 hex digits and a NUL */
};

/* One secret of a key. A key has several while it is rotated. */
struct ux_token_row {
	char id[UX_KEY_ID_SIZE];  /* beginning of the hash, in hex; the first one's is its key's */
	struct ux_blob_hash hash; /* SHA-256 of the token */
	ux_time created;
	ux_time expires; /* 0: as the key */
};

struct ux_key {
	char id[UX_KEY_ID_SIZE];
	const char *ns;
	unsigned scopes; /* enum ux_scope */
	const char *description;
	ux_time created;
	ux_time expires;   /* 0: never */
	ux_time revoked;   /* 0: not */
	ux_time last_used; /* to within what keys.touch has been told; 0: never */
	uint64_t rate;     /* requests a second; 0: as the server says */
	uint64_t uploads;  /* open at a time; 0: as the server says */
	unsigned tokens;   /* that it has; of keys.list and keys.get */
};

struct ux_key_list {
	struct ux_key *keys;
	size_t n;
};

struct ux_key_touch {
	char id[UX_KEY_ID_SIZE];
	ux_time time;
};

/* Part of struct ux_index, whose rules hold. */
struct ux_index_keys {
	/* With its first token; makes the namespace when it is not there. UX_ECONFLICT: the ID is
	 * taken. */
	enum ux_code (*add)(struct ux_index *ix, const struct ux_key *key,
			    const struct ux_token_row *token, const struct ux_who *who,
			    struct ux_error *err);
	/* The key of a token's ID. UX_ENOTFOUND. */
	enum ux_code (*find)(struct ux_index *ix, const char *token_id, struct ux_arena *arena,
			     struct ux_key *ret, struct ux_token_row *ret_token,
			     struct ux_error *err);
	/* By its own ID. UX_ENOTFOUND. */
	enum ux_code (*get)(struct ux_index *ix, const char *id, struct ux_arena *arena,
			    struct ux_key *ret, struct ux_error *err);
	/* In order of creation, revoked ones too. */
	enum ux_code (*list)(struct ux_index *ix, struct ux_arena *arena, struct ux_key_list *ret,
			     struct ux_error *err);
	/* UX_ENOTFOUND; revoking twice keeps the first time. */
	enum ux_code (*revoke)(struct ux_index *ix, const char *id, const struct ux_who *who,
			       ux_time now, struct ux_error *err);
	/* Adds a token; those that were there end at old_until at the latest. UX_ENOTFOUND.
	 * UX_ECONFLICT: revoked. */
	enum ux_code (*rotate)(struct ux_index *ix, const char *id,
			       const struct ux_token_row *token, ux_time old_until,
			       const struct ux_who *who, ux_time now, struct ux_error *err);
	/* A batch in one transaction. */
	enum ux_code (*touch)(struct ux_index *ix, const struct ux_key_touch *touches, size_t n,
			      struct ux_error *err);
};

#endif
