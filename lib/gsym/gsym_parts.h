/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookups in a GSYM of which only parts are here: which bytes a lookup reads, so that they can be
 * brought before it does.
 */
#ifndef UX_GSYM_PARTS_H
#define UX_GSYM_PARTS_H

#include "gsym_reader.h"

/*
 * Where missing bytes come from. The file's bytes are all mapped; those that were not brought yet
 * read as 0.
 */
struct ux_gsym_parts {
	/* Notes that n bytes from off on are needed. They may leave the file. */
	void (*need)(void *ctx, uint64_t off, uint64_t n);
	/* Brings all that was noted since the last call. */
	enum ux_code (*bring)(void *ctx, struct ux_error *err);
	void *ctx;
};

/*
 * As ux_gsym_open(), for a file of which nothing is here yet. Brings the header and whatever else
 * ux_gsym_open() reads. Codes also as of `bring`.
 */
enum ux_code ux_gsym_open_parts(struct ux_gsym *g, struct ux_bytes file,
				const struct ux_gsym_parts *parts, struct ux_error *err) ux_must;

/*
 * Brings all that ux_gsym_lookup() reads for n addresses, and the strings of their frames; g has no
 * index. Afterwards it has the same results as with the whole file, and so has ux_gsym_extent().
 * What is missing for several addresses is brought at once. Damage is no failure: it is reported by
 * the lookup. Codes: UX_ENOMEM, and those of `bring`.
 */
enum ux_code ux_gsym_bring(const struct ux_gsym *g, const struct ux_gsym_parts *parts,
			   const uint64_t *pcs, size_t n, struct ux_error *err) ux_must;

#endif
