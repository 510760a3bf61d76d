/* SPDX-License-Identifier: Apache-2.0 */
/* Code shared by the GSYM targets: pcs to look up, and the comparison of two answers. */
#ifndef UX_FUZZ_GSYM_H
#define UX_FUZZ_GSYM_H

#include "fuzz.h"
#include "gsym_reader.h"

enum {
	FUZZ_FRAMES = UX_FRAMES_MAX,
	FUZZ_PCS_MAX = 512,
};

/*
 * Fills pcs: starts of functions, addresses before and after them, and numbers derived from seed.
 */
static inline size_t fuzz_pcs(const struct ux_gsym *g, uint64_t seed, uint64_t *pcs)
{
	size_t n = 0;
	for (uint32_t i = 0; i < g->n_functions && n + 8 <= FUZZ_PCS_MAX; i++) {
		uint64_t start = ux_gsym_start(g, i);
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		pcs[n++] = start;
		pcs[n++] = start + (seed >> 33 & 0x3f);
		pcs[n++] = start + (seed >> 40 & 0xfff);
		if ((seed >> 60) == 0) {
			pcs[n++] = start - 1;
			pcs[n++] = start; /* added twice */
			pcs[n++] = seed;
		}
	}
	pcs[n++] = g->base;
	pcs[n++] = UINT64_MAX;
	return n;
}

static inline bool fuzz_same_frame(const struct ux_frame *a, const struct ux_frame *b)
{
	return a->function == b->function && a->line == b->line && a->inlined == b->inlined &&
	       a->offset == b->offset && strcmp(a->dir, b->dir) == 0 &&
	       strcmp(a->base, b->base) == 0;
}

static inline bool fuzz_same_frames(const struct ux_frame *a, size_t n_a, const struct ux_frame *b,
				    size_t n_b)
{
	bool same = n_a == n_b;
	for (size_t i = 0; same && i < n_a; i++)
		same = fuzz_same_frame(&a[i], &b[i]);
	return same;
}

#endif
