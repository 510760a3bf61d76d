/* SPDX-License-Identifier: Apache-2.0 */
/* "Did you mean": the known word that is nearest to a misspelt one. */
#include "suggest.h"

enum {
	WORD_MAX = 32
};

static unsigned suggest_min(unsigned a, unsigned b, unsigned c)
{
	return ux_min(ux_min(a, b), c);
}

/* The optimal string alignment distance of two words of at most WORD_MAX letters. */
static unsigned suggest_distance(struct ux_bytes a, struct ux_bytes b)
{
	unsigned rows[3][WORD_MAX + 1] = {{0}};
	unsigned *before = rows[0], *last = rows[1], *row = rows[2];
	for (unsigned j = 0; j <= b.size; j++)
		last[j] = j;
	for (unsigned i = 1; i <= a.size; i++) {
		row[0] = i;
		for (unsigned j = 1; j <= b.size; j++) {
			bool same = a.data[i - 1] == b.data[j - 1];
			row[j] = suggest_min(last[j] + 1, row[j - 1] + 1, last[j - 1] + !same);
			if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] &&
			    a.data[i - 2] == b.data[j - 1])
				row[j] = ux_min(row[j], before[j - 2] + 1);
		}
		unsigned *oldest = before;
		before = last;
		last = row;
		row = oldest;
	}
	return last[b.size];
}

void ux_suggestion_offer(struct ux_suggestion *s, const char *known)
{
	struct ux_bytes word = ux_bytes_cstr(known);
	if (word.size > WORD_MAX || s->word.size > WORD_MAX)
		return;
	unsigned distance = suggest_distance(s->word, word);
	if (distance > ux_max(word.size, s->word.size) / 3 || (s->best && distance >= s->distance))
		return;
	s->best = known;
	s->distance = distance;
}
