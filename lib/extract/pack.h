/* SPDX-License-Identifier: Apache-2.0 */
/* The third phase of an extraction: pieces into a GSYM, encoded on several threads. */
#ifndef UX_PACK_H
#define UX_PACK_H

#include "collect.h"
#include "unhex/quality.h"

/* Another name of a piece's range. */
struct ux_alternative {
	uint32_t piece; /* index */
	const char *name;
};

UX_VEC(ux_alternative_vec, struct ux_alternative);

struct ux_pack_target {
	unsigned version; /* of the GSYM; 0: the first that holds it */
	uint64_t v1_most; /* bytes that version 1 is taken to hold; 0: what it does hold */
	bool swap;
	uint64_t base;
	struct ux_bytes uuid;
	unsigned threads;
	uint64_t strings_most; /* bytes that names and paths may add up to */
	const struct ux_alternative_vec *alternatives; /* ascending by piece; NULL: none */
	const char *
		spill; /* NULL, or the folder whose disk holds the records until they are written */
	ux_gsym_write_at_fn
		*place; /* NULL: all goes through the sink, whose context this has, too */
};

/*
 * Numbers names and files, encodes every piece and hands the file to sink. Version 2 is chosen by
 * the sizes of what was encoded, so not by the number of threads. UX_ELIMIT: the version asked for
 * does not hold it. Only what a piece uses gets into the string and file tables.
 */
enum ux_code ux_pack(const struct ux_collection *collection, const struct ux_piece_vec *pieces,
		     const struct ux_pack_target *target, ux_gsym_sink_fn *sink, void *ctx,
		     struct ux_error *err) ux_must;

/* Adds up what the pieces hold. */
void ux_pack_count(const struct ux_piece_vec *pieces, struct ux_counts *ret);

#endif
