/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": the known word that is nearest to a misspelt one. */
#ifndef UX_SUGGEST_H
#define UX_SUGGEST_H

#include "bytes.h"

/* A search for the nearest word. Zeroed with `word` set = nothing offered yet. */
struct ux_suggestion {
	struct ux_bytes word; /* as it was typed */
	const char *best;     /* NULL: no known word is near */
	unsigned distance;    /* distance of best */
};

/*
 * Offers a known word, which must outlive s. It becomes the best if it is nearer than earlier ones:
 * the distance counts inserted, missing, other and swapped letters (optimal string alignment), and
 * at most a third of the letters may differ. Words of more than 32 letters are never near.
 */
void ux_suggestion_offer(struct ux_suggestion *s, const char *known);

#endif
