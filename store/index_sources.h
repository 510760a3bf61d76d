/* SPDX-License-Identifier: Apache-2.0 */
/* The index: source files of modules, by the path that debug information names. */
#ifndef UX_INDEX_SOURCES_H
#define UX_INDEX_SOURCES_H

#include "index_base.h"

enum {
	UX_SOURCES_MOST = 1000000 /* of one candidate */
};

/* size bytes at off of a blob, which is the one file or a whole bundle. */
struct ux_source {
	const char *path; /* canonical: ux_path_canonical() */
	struct ux_blob_hash blob;
	uint64_t blob_size;
	uint64_t off;
	uint64_t size;
	const char *bundle; /* file name of the candidate that it came with; of sources.find */
	ux_time created;    /* of the candidate; of sources.find */
};

struct ux_source_list {
	struct ux_source *sources;
	size_t n;
	bool more;
};

/* Part of struct ux_index, whose rules hold. */
struct ux_index_sources {
	/* All files of a candidate, in place of what it had; they go when it goes. UX_ENOTFOUND:
	 * there is no such candidate. ux_store_commit_sources() alone calls it. */
	enum ux_code (*put)(struct ux_index *ix, int64_t candidate, const struct ux_source *sources,
			    size_t n, struct ux_error *err);
	/* Of the module that the ID names; of several candidates', the newest's. UX_ENOTFOUND. */
	enum ux_code (*find)(struct ux_index *ix, const char *ns, const char *id, const char *path,
			     struct ux_arena *arena, struct ux_source *ret, struct ux_error *err);
	/* Up to limit of a module by path, after `after` ("": from the beginning). */
	enum ux_code (*list)(struct ux_index *ix, int64_t module, const char *after, size_t limit,
			     struct ux_arena *arena, struct ux_source_list *ret,
			     struct ux_error *err);
};

#endif
