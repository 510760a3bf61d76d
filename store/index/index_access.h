/* SPDX-License-Identifier: Apache-2.0 */
/* The part of the index about access: namespaces, keys, and the audit log of changes. */
#ifndef UX_INDEX_ACCESS_H
#define UX_INDEX_ACCESS_H

#include "arena.h"
#include "blobs.h"
#include "error.h"

/* Seconds since 1970, by the caller's clock. The server's clock is in store.h. */
typedef int64_t ux_time;

struct ux_index;

/* The author of a change, for the audit log. Strings, never NULL. */
struct ux_who {
	const char *key_id; /* "" without a key */
	const char *from;   /* address of the client, or "cli", "server" */
};

/* Who may read and symbolize without a key. */
enum ux_ns_reading {
	/* the default namespace: by the server's configuration; other namespaces: no one */
	UX_NS_AS_SERVED,
	UX_NS_OPEN,
	UX_NS_KEYED,
};

struct ux_namespace {
	const char *name;
	enum ux_ns_reading reading;
	uint64_t quota_bytes;   /* limit on the size of originals; 0: no limit */
	uint64_t quota_modules; /* 0: no limit */
	int64_t retention_s;    /* modules not used for this long are removed; 0: never, -1: the
				   server's setting */
	const char *upstreams;  /* names in order, separated by spaces; "*": all; "": none */
	const char *description;
	ux_time created;
	ux_time updated;
	bool damaged; /* its row does not fit its sum: `reading` may be wrong */
};

struct ux_namespace_list {
	struct ux_namespace *items;
	size_t n;
};

/* Usage of a namespace. Triggers keep it current, so reading it reads one row. */
struct ux_usage {
	uint64_t modules;
	uint64_t bytes; /* bytes of originals */
	/* bytes of candidates that can be made again: extracted ones, and those from upstreams */
	uint64_t cache_bytes;
};

/* Differences between the stored usage and a new count. */
struct ux_usage_error {
	const char *ns;
	int64_t modules;
	int64_t bytes;
	int64_t cache_bytes;
};

struct ux_usage_errors {
	struct ux_usage_error *items;
	size_t n;
};

/* Part of struct ux_index; see there for general rules. */
struct ux_index_namespaces {
	/* Finds a namespace. UX_ENOTFOUND. */
	enum ux_code (*find)(struct ux_index *ix, const char *name, struct ux_arena *arena,
			     struct ux_namespace *ret, struct ux_error *err);
	enum ux_code (*list)(struct ux_index *ix, struct ux_arena *arena,
			     struct ux_namespace_list *ret, struct ux_error *err);
	/*
	 * Creates or changes a namespace; `created` is kept. UX_EINVAL: ux_namespace_valid() is
	 * false.
	 */
	enum ux_code (*put)(struct ux_index *ix, const struct ux_namespace *ns,
			    const struct ux_who *who, ux_time now, struct ux_error *err);
	/*
	 * UX_ENOTFOUND. UX_ECONFLICT: it has modules or valid keys, or it is the default namespace.
	 */
	enum ux_code (*remove)(struct ux_index *ix, const char *name, const struct ux_who *who,
			       ux_time now, struct ux_error *err);
	/* Gets the usage. ns NULL: the sum over all namespaces. */
	enum ux_code (*usage)(struct ux_index *ix, const char *ns, struct ux_usage *ret,
			      struct ux_error *err);
	/*
	 * Counts everything again and returns the namespaces whose stored usage is wrong; with
	 * repair, corrects it.
	 */
	enum ux_code (*recount)(struct ux_index *ix, bool repair, struct ux_arena *arena,
				struct ux_usage_errors *ret, struct ux_error *err);
};

/* Tests a name: 1 to 63 characters of a-z, 0-9, '-', '_', '.', beginning with a letter or digit. */
bool ux_namespace_valid(const char *name) ux_must;

enum {
	UX_KEY_ID_SIZE = 13 /* 12 hex digits and a NUL */
};

/* One token of a key. A key that is being rotated has several. */
struct ux_token_row {
	/* beginning of the hash, in hex; the ID of the first token is also the key's ID */
	char id[UX_KEY_ID_SIZE];
	struct ux_blob_hash hash; /* SHA-256 of the token */
	ux_time created;
	ux_time expires; /* 0: together with the key */
};

struct ux_key {
	char id[UX_KEY_ID_SIZE];
	const char *ns;
	unsigned scopes; /* bits of enum ux_scope */
	const char *description;
	ux_time created;
	ux_time expires;   /* 0: never */
	ux_time revoked;   /* 0: not revoked */
	ux_time last_used; /* as of the last keys.touch */
	uint64_t rate;     /* requests a second; 0: the server's setting */
	uint64_t uploads;  /* open uploads at the same time; 0: the server's setting */
	unsigned tokens;   /* number of tokens; set by keys.list and keys.get */
	/* set by ux_key_check(): expiry of that token; 0: together with the key */
	ux_time token_expires;
};

struct ux_key_list {
	struct ux_key *keys;
	size_t n;
};

struct ux_key_touch {
	char id[UX_KEY_ID_SIZE];
	ux_time time;
};

/* Part of struct ux_index; see there for general rules. */
struct ux_index_keys {
	/*
	 * Adds a key with its first token, and creates its namespace if it does not exist.
	 * UX_ECONFLICT: the ID exists.
	 */
	enum ux_code (*add)(struct ux_index *ix, const struct ux_key *key,
			    const struct ux_token_row *token, const struct ux_who *who,
			    struct ux_error *err);
	/* Finds the key that has the token. UX_ENOTFOUND. */
	enum ux_code (*find)(struct ux_index *ix, const char *token_id, struct ux_arena *arena,
			     struct ux_key *ret, struct ux_token_row *ret_token,
			     struct ux_error *err);
	/* Finds a key by its own ID. UX_ENOTFOUND. */
	enum ux_code (*get)(struct ux_index *ix, const char *id, struct ux_arena *arena,
			    struct ux_key *ret, struct ux_error *err);
	/* Lists keys in order of creation, including revoked ones. */
	enum ux_code (*list)(struct ux_index *ix, struct ux_arena *arena, struct ux_key_list *ret,
			     struct ux_error *err);
	/* Revokes a key. UX_ENOTFOUND. Revoking twice keeps the first time. */
	enum ux_code (*revoke)(struct ux_index *ix, const char *id, const struct ux_who *who,
			       ux_time now, struct ux_error *err);
	/*
	 * Adds a token; the earlier tokens expire at old_until at the latest. UX_ENOTFOUND.
	 * UX_ECONFLICT: the key is revoked.
	 */
	enum ux_code (*rotate)(struct ux_index *ix, const char *id,
			       const struct ux_token_row *token, ux_time old_until,
			       const struct ux_who *who, ux_time now, struct ux_error *err);
	/* Records a batch of uses in one transaction. */
	enum ux_code (*touch)(struct ux_index *ix, const struct ux_key_touch *touches, size_t n,
			      struct ux_error *err);
};

/* One entry of the audit log, written in the transaction that made the change. */
struct ux_audit {
	int64_t number; /* ascending */
	ux_time time;
	const char *key_id;
	const char *from;
	const char *ns;
	const char *what;    /* "upload", "module-delete", "key-create", "pin", ... */
	const char *subject; /* the ID of a module or key, or the name of a namespace */
	const char *detail;
	int64_t module; /* the module that changed; 0: none */
};

struct ux_audit_list {
	struct ux_audit *lines;
	size_t n;
};

/* Part of struct ux_index; see there for general rules. */
struct ux_index_audit {
	/* Adds an entry for a change that was made outside the index. */
	enum ux_code (*add)(struct ux_index *ix, const struct ux_audit *line, struct ux_error *err);
	/*
	 * Lists up to limit entries whose numbers are above after, ascending; ns NULL: of all
	 * namespaces.
	 */
	enum ux_code (*list)(struct ux_index *ix, const char *ns, int64_t after, size_t limit,
			     struct ux_arena *arena, struct ux_audit_list *ret,
			     struct ux_error *err);
	/*
	 * Lists the last `limit` entries about a module, newest first. The module may have been
	 * removed.
	 */
	enum ux_code (*history)(struct ux_index *ix, int64_t module, size_t limit,
				struct ux_arena *arena, struct ux_audit_list *ret,
				struct ux_error *err);
	enum ux_code (*expire)(struct ux_index *ix, ux_time before, uint64_t *ret,
			       struct ux_error *err);
};

#endif
