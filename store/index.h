/* SPDX-License-Identifier: Apache-2.0 */
/* What is known: modules, their IDs and candidates, uploads, keys. */
#ifndef UX_INDEX_H
#define UX_INDEX_H

#include "arena.h"
#include "blobs.h"
#include "bytes.h"
#include "error.h"
#include "unhex/quality.h"

enum {
	UX_INDEX_VERSION = 1,
	UX_KEY_ID_SIZE = 13,       /* 12 hex digits and a NUL */
	UX_INDEX_IDS_MOST = 16,    /* IDs of one upload */
	UX_INDEX_ID_BYTES = 256,   /* text of one ID */
	UX_INDEX_TEXT_BYTES = 1024 /* description, file name */
};

#define UX_NAMESPACE_DEFAULT "default"

/* Seconds since 1970, by the caller's clock. */
typedef int64_t ux_time;

/* One source of symbols for a module. */
struct ux_candidate {
	int64_t number;
	struct ux_blob_hash blob;
	uint64_t size;    /* bytes of the blob */
	const char *kind; /* "gsym" */
	enum ux_quality quality;
	struct ux_counts counts;
	const char *description;
	const char *file_name;
	const char *key_id; /* who uploaded it */
	ux_time created;
};

struct ux_module {
	int64_t number;   /* ascending in order of creation */
	const char **ids; /* canonical text; gnu before go before uuid before file */
	size_t n_ids;
	struct ux_candidate *candidates; /* best first */
	size_t n_candidates;
	ux_time created;
	ux_time updated;
};

struct ux_module_list {
	struct ux_module *modules;
	size_t n;
	bool more; /* there are modules after the last one */
};

enum ux_upload_state {
	UX_UPLOAD_OPEN,
	UX_UPLOAD_DONE,
	UX_UPLOAD_FAILED,
};

/* An announced upload. Strings as long-lived as what they were read into. */
struct ux_upload {
	char uid[UX_UPLOAD_UID_SIZE];
	const char *ns;
	const char *key_id;
	const char **ids;
	size_t n_ids;
	uint64_t size;
	struct ux_blob_hash hash;
	const char *kind;
	enum ux_quality claim;
	const char *description;
	const char *file_name;
	bool force;
	enum ux_upload_state state;
	const char *status; /* "uploaded", "already-there", ...; once done */
	const char *reason;
	ux_time created;
	ux_time updated;
};

/* What finishing an upload came to. */
enum ux_add {
	UX_ADD_NEW,    /* the candidate is in */
	UX_ADD_SAME,   /* this blob was a candidate already */
	UX_ADD_POORER, /* refused: what is there is better */
};

struct ux_add_result {
	enum ux_add add;
	enum ux_quality best; /* of what was there before; UX_QUALITY_NONE when nothing was */
	bool had_any;
};

struct ux_key {
	char id[UX_KEY_ID_SIZE];
	struct ux_blob_hash hash; /* SHA-256 of the token */
	const char *ns;
	unsigned scopes; /* enum ux_scope */
	const char *description;
	ux_time created;
	ux_time expires; /* 0: never */
	ux_time revoked; /* 0: not */
};

struct ux_key_list {
	struct ux_key *keys;
	size_t n;
};

/*
 * A backend: embedded first in the backend's own struct. Any thread. What is read goes into the
 * caller's arena. A write that returned UX_OK survives a crash of the machine. IDs are canonical
 * text and go through no other parser here.
 */
struct ux_index {
	unsigned version; /* UX_INDEX_VERSION */

	/* The module that any of its IDs names. UX_ENOTFOUND. */
	enum ux_code (*module_find)(struct ux_index *ix, const char *ns, const char *id,
				    struct ux_arena *arena, struct ux_module *ret,
				    struct ux_error *err);
	/* Up to limit modules with a number above after, ascending. */
	enum ux_code (*module_list)(struct ux_index *ix, const char *ns, int64_t after,
				    size_t limit, struct ux_arena *arena,
				    struct ux_module_list *ret, struct ux_error *err);
	/* With all its IDs and candidates. UX_ENOTFOUND. */
	enum ux_code (*module_remove)(struct ux_index *ix, const char *ns, const char *id,
				      struct ux_error *err);
	/*
	 * In one transaction: adds the candidate to the module that up->ids name (made when there
	 * is none, IDs that are new become aliases), unless it is poorer and not up->force; marks
	 * the upload done with the outcome. cand's number is ignored. UX_ECONFLICT: the IDs belong
	 * to different modules, or would give a module a second GNU build ID. A cubin-crc: beside
	 * another ID names no module, and becomes this one's even where it was another's.
	 */
	enum ux_code (*upload_finish)(struct ux_index *ix, const struct ux_upload *up,
				      const struct ux_candidate *cand, ux_time now,
				      struct ux_add_result *ret, struct ux_error *err);

	enum ux_code (*upload_add)(struct ux_index *ix, const struct ux_upload *up,
				   struct ux_error *err);
	/* UX_ENOTFOUND. */
	enum ux_code (*upload_find)(struct ux_index *ix, const char *uid, struct ux_arena *arena,
				    struct ux_upload *ret, struct ux_error *err);
	/* Ends an open upload for good. */
	enum ux_code (*upload_fail)(struct ux_index *ix, const char *uid, const char *reason,
				    ux_time now, struct ux_error *err);
	/* Forgets uploads whose last change was before `before`; *ret: how many. */
	enum ux_code (*upload_expire)(struct ux_index *ix, ux_time before, uint64_t *ret,
				      struct ux_error *err);
	/* Is it any candidate's? */
	enum ux_code (*blob_used)(struct ux_index *ix, const struct ux_blob_hash *hash, bool *ret,
				  struct ux_error *err);

	/* UX_ECONFLICT: the ID is taken. */
	enum ux_code (*key_add)(struct ux_index *ix, const struct ux_key *key,
				struct ux_error *err);
	/* UX_ENOTFOUND. */
	enum ux_code (*key_find)(struct ux_index *ix, const char *id, struct ux_arena *arena,
				 struct ux_key *ret, struct ux_error *err);
	/* In order of creation, revoked ones too. */
	enum ux_code (*key_list)(struct ux_index *ix, struct ux_arena *arena,
				 struct ux_key_list *ret, struct ux_error *err);
	/* UX_ENOTFOUND; revoking twice keeps the first time. */
	enum ux_code (*key_revoke)(struct ux_index *ix, const char *id, ux_time now,
				   struct ux_error *err);

	void (*close)(struct ux_index *ix);
};

/*
 * Which of two candidates is better, as memcmp tells: by quality, then bytes of code with a line,
 * bytes covered by functions, functions.
 */
int ux_candidate_cmp(enum ux_quality a, const struct ux_counts *a_counts, enum ux_quality b,
		     const struct ux_counts *b_counts);

/* SQLite in one file, write-ahead log, synchronous = FULL. Made, and its schema brought up to date,
 * when needed. UX_EUNSUPPORTED: the file is of a newer unhex. */
enum ux_code ux_index_sqlite_open(struct ux_index **ret, const char *path, struct ux_error *err)
	ux_must;

#endif
