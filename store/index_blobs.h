/* SPDX-License-Identifier: Apache-2.0 */
/* The index: which blobs somebody refers to. */
#ifndef UX_INDEX_BLOBS_H
#define UX_INDEX_BLOBS_H

#include "index_modules.h"

struct ux_blob_row {
	struct ux_blob_hash hash;
	uint64_t size;
};

struct ux_blob_rows {
	struct ux_blob_row *rows;
	size_t n;
	bool more;
};

/* What is left when a blob is lost. */
struct ux_blob_loss {
	uint64_t candidates; /* that are gone; what was extracted from them stays */
	uint64_t sources;    /* files that are no more known */
	uint64_t fetched;    /* answers of upstreams that are forgotten */
};

/* Part of struct ux_index, whose rules hold. */
struct ux_index_blobs {
	/* Is it any candidate's, source's or upstream answer's? */
	enum ux_code (*used)(struct ux_index *ix, const struct ux_blob_hash *hash, bool *ret,
			     struct ux_error *err);
	/* Up to limit of those used, in order of their hashes, after *after (NULL: from the
	 * beginning). */
	enum ux_code (*list)(struct ux_index *ix, const struct ux_blob_hash *after, size_t limit,
			     struct ux_arena *arena, struct ux_blob_rows *ret,
			     struct ux_error *err);
	/* The candidates that have it, of any state and namespace: up to limit. */
	enum ux_code (*users)(struct ux_index *ix, const struct ux_blob_hash *hash, size_t limit,
			      struct ux_arena *arena, struct ux_hits *ret, struct ux_error *err);
	/* Its bytes are gone or wrong, for the reason, which the audit keeps: whoever refers to it
	 * goes, so that nothing is answered from it and the same bytes are wanted again. */
	enum ux_code (*lose)(struct ux_index *ix, const struct ux_blob_hash *hash,
			     const char *reason, ux_time now, struct ux_blob_loss *ret,
			     struct ux_error *err);
	/* The integrity that the backend can check by itself. UX_EIO with what is wrong. */
	enum ux_code (*verify)(struct ux_index *ix, struct ux_error *err);
};

#endif
