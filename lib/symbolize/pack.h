/* SPDX-License-Identifier: Apache-2.0 */
/* The third phase of an extraction: pieces into a GSYM, encoded on several threads. */
#ifndef UX_PACK_H
#define UX_PACK_H

#include "collect.h"
#include "unhex/quality.h"

struct ux_pack_target {
	bool swap;
	uint64_t base;
	struct ux_bytes uuid;
	unsigned threads;
	uint64_t strings_most; /* bytes that names and paths may add up to */
	const char *
		spill; /* NULL, or the folder whose disk holds the records until they are written */
};

/*
 * Numbers names and files, encodes every piece and hands the file to sink. Rows and inlined calls
 * of the pieces are renumbered in place: they are spent afterwards. Only what a piece uses gets
 * into the string and file tables, in address order.
 */
enum ux_code ux_pack(const struct ux_collection *collection, const struct ux_piece_vec *pieces,
		     const struct ux_pack_target *target, ux_gsym_sink_fn *sink, void *ctx,
		     struct ux_error *err) ux_must;

/* Adds up what the pieces hold. */
void ux_pack_count(const struct ux_piece_vec *pieces, struct ux_counts *ret);

#endif
