/* SPDX-License-Identifier: Apache-2.0 */
/* The index: who changed what. */
#ifndef UX_INDEX_AUDIT_H
#define UX_INDEX_AUDIT_H

#include "index_base.h"

/* One change, written in the transaction that made it. */
struct ux_audit {
	int64_t number; /* ascending */
	ux_time time;
	const char *key_id;
	const char *from;
	const char *ns;
	const char *what;    /* "upload", "module-delete", "key-create", "pin", ... */
	const char *subject; /* ID of a module, a key, a namespace */
	const char *detail;
	int64_t module; /* that changed; 0: none */
};

struct ux_audit_list {
	struct ux_audit *lines;
	size_t n;
};

/* Part of struct ux_index, whose rules hold. */
struct ux_index_audit {
	/* For what changes outside of the index. */
	enum ux_code (*add)(struct ux_index *ix, const struct ux_audit *line, struct ux_error *err);
	/* Up to limit with a number above after, ascending; ns NULL: of all. */
	enum ux_code (*list)(struct ux_index *ix, const char *ns, int64_t after, size_t limit,
			     struct ux_arena *arena, struct ux_audit_list *ret,
			     struct ux_error *err);
	/* The last `limit` of a module, newest first, also of one that is gone. */
	enum ux_code (*history)(struct ux_index *ix, int64_t module, size_t limit,
				struct ux_arena *arena, struct ux_audit_list *ret,
				struct ux_error *err);
	enum ux_code (*expire)(struct ux_index *ix, ux_time before, uint64_t *ret,
			       struct ux_error *err);
};

#endif
