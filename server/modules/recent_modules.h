/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of modules and small files that were asked for a moment ago. */
#ifndef UX_RECENT_MODULES_H
#define UX_RECENT_MODULES_H

#include "recent.h"
#include "store.h"

enum {
	UX_RECENT_FILE_MOST = 256 << 10 /* bytes of a file that stays mapped */
};

/* A module as the index has it, or had it a second ago at most. */
struct ux_recent_module {
	struct ux_recent_item item; /* dropped by whoever got it */
	struct ux_arena arena;
	struct ux_module row;
};

/* A whole blob. */
struct ux_recent_file {
	struct ux_recent_item item; /* dropped by whoever got it */
	uint8_t key[1 + UX_BLOB_HASH_SIZE];
	struct ux_mapping mapping;
};

/*
 * The module that an ID (canonical) names; its use is noted. UX_ENOTFOUND: none does; it is not
 * remembered that there was none.
 */
enum ux_code ux_recent_module_find(struct ux_recent *r, struct ux_store *s, const char *ns,
				   const char *id, struct ux_recent_module **ret,
				   struct ux_error *err) ux_must;

/* The bytes of a blob of that size, UX_RECENT_FILE_MOST at most. Codes as of ux_blobs_map(). */
enum ux_code ux_recent_file_map(struct ux_recent *r, struct ux_store *s,
				const struct ux_blob_hash *hash, uint64_t size,
				struct ux_recent_file **ret, struct ux_error *err) ux_must;

#endif
