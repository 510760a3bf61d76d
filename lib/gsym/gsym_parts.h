/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lookups in a GSYM that is only partly present: which bytes a lookup reads, so that they can be
 * fetched before it.
 */
#ifndef UX_GSYM_PARTS_H
#define UX_GSYM_PARTS_H

#include "gsym_reader.h"

/*
 * Where missing bytes come from. The file's bytes are all mapped; bytes that are not fetched yet
 * read as 0.
 */
struct ux_gsym_parts {
	/* Notes that n bytes from off on are needed. They may exceed the file. */
	void (*need)(void *ctx, uint64_t off, uint64_t n);
	/* Fetches all bytes that were noted since the last call. */
	enum ux_code (*bring)(void *ctx, struct ux_error *err);
	void *ctx;
};

/*
 * Opens like ux_gsym_open(), for a file without any bytes yet. Fetches the header and whatever else
 * ux_gsym_open() reads. Codes also as of `bring`.
 */
enum ux_code ux_gsym_open_parts(struct ux_gsym *g, struct ux_bytes file,
				const struct ux_gsym_parts *parts, struct ux_error *err) ux_must;

/*
 * Fetches all that ux_gsym_lookup() reads for n addresses, and the strings of their frames; g has
 * no index. Afterwards ux_gsym_lookup() and ux_gsym_extent() have the same results as with the
 * whole file. Bytes that are missing for several addresses are fetched in one call. Damage is not a
 * failure: the lookup reports it. Codes: UX_ENOMEM, and the codes of `bring`.
 */
enum ux_code ux_gsym_bring(const struct ux_gsym *g, const struct ux_gsym_parts *parts,
			   const uint64_t *pcs, size_t n, struct ux_error *err) ux_must;

#endif
