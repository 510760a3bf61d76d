/* SPDX-License-Identifier: Apache-2.0 */
/* Many addresses at once: each record is read once, for all the addresses in it. */
#ifndef UX_GSYM_BATCH_H
#define UX_GSYM_BATCH_H

#include "gsym_reader.h"

/*
 * What is asked, in any order and as often as it comes, and where the answers go: either to fn, in
 * an order of ours, or into frames and spans. All arrays are the caller's.
 */
struct ux_gsym_batch {
	const uint64_t *pcs;
	size_t n;
	uint64_t back; /* subtracted from each pc first: 1 for return addresses */

	ux_frames_fn *fn; /* NULL: into the arrays */
	void *ctx;

	struct ux_frame *frames;
	size_t max;                  /* how many fit there */
	struct ux_frame_span *spans; /* n of them; equal pcs share their frames */
	size_t n_frames;             /* set: how many were written, or would have to be */
};

/*
 * The frames are those of ux_gsym_lookup() for each pc by itself, all of them; none where that
 * fails. (A damaged file whose functions are not in ascending order, or pass 2^64, gives some of
 * its functions.) UX_ELIMIT: frames is too small, n_frames says how many it takes, and frames and
 * spans have no meaning. UX_ECORRUPT: a record was bad, err describes the first such failure; the
 * other answers are all there. UX_ENOMEM: answers are missing. Takes 16 bytes a pc for sorting (8
 * when they come sorted) and a fixed 170 KB. Any thread.
 */
enum ux_code ux_gsym_batch(const struct ux_gsym *g, struct ux_gsym_batch *b, struct ux_error *err)
	ux_must;

#endif
