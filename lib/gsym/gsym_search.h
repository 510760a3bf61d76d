/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions start at or before an address. */
#ifndef UX_GSYM_SEARCH_H
#define UX_GSYM_SEARCH_H

#include "gsym_format.h"
#include "gsym_reader.h"

ux_inline uint64_t gsym_table_at(const uint8_t *table, size_t i, unsigned width, bool swap)
{
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;
	switch (width) {
	case 1:
		return table[i];
	case 2:
		memcpy(&v16, table + i * 2, sizeof(v16));
		return swap ? __builtin_bswap16(v16) : v16;
	case 4:
		memcpy(&v32, table + i * 4, sizeof(v32));
		return swap ? __builtin_bswap32(v32) : v32;
	default:
		memcpy(&v64, table + i * 8, sizeof(v64));
		return swap ? __builtin_bswap64(v64) : v64;
	}
}

/* The same for a table of offsets of strings or records: of two widths one is common. */
ux_inline uint64_t gsym_offset_at(const struct ux_gsym *g, const uint8_t *table, size_t i)
{
	return ux_likely(g->offset_size == GSYM1_OFFSET)
		       ? gsym_table_at(table, i, GSYM1_OFFSET, g->swap)
		       : gsym_table_at(table, i, GSYM2_OFFSET, g->swap);
}

/* Which entries start where. */
struct gsym_starts {
	size_t first; /* of the entries with the greatest value that is not above what was sought */
	size_t end;   /* behind the last one that a lookup tries */
	uint64_t value;
};

/*
 * Without a branch on the values, which no predictor can guess. An unsorted table gives some entry;
 * its record then decides. Needs n > 0.
 */
ux_inline struct gsym_starts gsym_table_search(const uint8_t *table, size_t n, uint64_t off,
					       unsigned width, bool swap)
{
	size_t at = 0;
	for (size_t left = n; left > 1;) {
		size_t half = left / 2;
		at += half & -(size_t)(gsym_table_at(table, at + half, width, swap) <= off);
		left -= half;
	}
	struct gsym_starts s = {at, at + 1, gsym_table_at(table, at, width, swap)};
	if (ux_likely(at == 0 || gsym_table_at(table, at - 1, width, swap) != s.value))
		return s;
	for (size_t left = at; left > 0;) { /* the first of equal ones is at or before `first` */
		size_t half = left / 2;
		if (gsym_table_at(table, s.first - left + half, width, swap) == s.value) {
			s.first -= left - half;
			left = half;
		} else {
			left -= half + 1;
		}
	}
	s.end = ux_min(s.end, s.first + UX_GSYM_SAME_START_MOST);
	return s;
}

/* For off bytes from g->base, in a file with functions. */
ux_inline struct gsym_starts gsym_starts_find(const struct ux_gsym *g, uint64_t off)
{
	switch (g->addr_size * 2 + g->swap) {
	case 2:
	case 3:
		return gsym_table_search(g->addrs, g->n_functions, off, 1, false);
	case 4:
		return gsym_table_search(g->addrs, g->n_functions, off, 2, false);
	case 5:
		return gsym_table_search(g->addrs, g->n_functions, off, 2, true);
	case 8:
		return gsym_table_search(g->addrs, g->n_functions, off, 4, false);
	case 9:
		return gsym_table_search(g->addrs, g->n_functions, off, 4, true);
	case 16:
		return gsym_table_search(g->addrs, g->n_functions, off, 8, false);
	default:
		return gsym_table_search(g->addrs, g->n_functions, off, 8, true);
	}
}

#endif
