/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Abbreviations that were translated before. A compiler writes the same few thousand declarations
 * into the tables of all units, and only their codes differ, so that most of them are recognized by
 * their bytes instead of being translated again.
 */
#ifndef UX_DWARF_ABBREV_KNOWN_H
#define UX_DWARF_ABBREV_KNOWN_H

#include "arena.h"
#include "cursor.h"
#include "dwarf_abbrev.h"
#include "leb.h"
#include "map.h"

enum {
	UX_DWARF_KNOWN_MOST = 1 << 13,       /* declarations that are kept */
	UX_DWARF_KNOWN_BYTES = 96,           /* longest declaration that is kept */
	UX_DWARF_KNOWN_WORDS_MOST = 1 << 20, /* words of programs, before all are dropped */
};

/* A declaration behind its code, of which a step needs the size. */
struct ux_dwarf_known_key {
	struct ux_bytes bytes;
	bool wide; /* the code has two bytes */
};

/* What a declaration was translated to. Code and `attrs` of the entry differ from table to table,
 * and so does the number of the layout. */
struct ux_dwarf_known_abbrev {
	struct ux_dwarf_abbrev entry;
	struct ux_dwarf_step step; /* has a layout: step.call is not 0 */
	struct ux_dwarf_call_layout call;
	uint8_t bytes[]; /* of the key */
};

ux_inline uint64_t ux_dwarf_known_hash(struct ux_dwarf_known_key key)
{
	return ux_hash_bytes(key.bytes) ^ (uint64_t)key.wide << 32;
}

ux_inline bool ux_dwarf_known_eq(struct ux_dwarf_known_key a, struct ux_dwarf_known_key b)
{
	return a.wide == b.wide && a.bytes.size == b.bytes.size &&
	       memcmp(a.bytes.data, b.bytes.data, a.bytes.size) == 0;
}

UX_MAP(ux_dwarf_known_map, struct ux_dwarf_known_key, const struct ux_dwarf_known_abbrev *,
       ux_dwarf_known_hash, ux_dwarf_known_eq);

/* The declarations that one thread has translated. The words of their programs are in the buffers
 * that these belong to. */
struct ux_dwarf_known {
	struct ux_dwarf_known_map map;
	struct ux_arena arena;         /* has the abbreviations */
	struct ux_dwarf_layout layout; /* they were translated for it, */
	bool columns;                  /* and for this selection of attributes */
};

/*
 * Begins a table: drops what was translated for another layout or selection, and everything once
 * the programs have more than UX_DWARF_KNOWN_WORDS_MOST words. True when it did.
 */
bool ux_dwarf_known_begin(struct ux_dwarf_known *known, struct ux_dwarf_layout layout, bool columns,
			  size_t words);

/* Keeps a translation, if there is room for it. False when memory is short. */
bool ux_dwarf_known_add(struct ux_dwarf_known *known, struct ux_dwarf_known_key key,
			const struct ux_dwarf_known_abbrev *abbrev) ux_must;

void ux_dwarf_known_deinit(struct ux_dwarf_known *known);

/*
 * Returns how many bytes the declaration at c seems to have: up to the first two zero bytes behind
 * its tag and its flag of children; 0 when it is long, or near the end of the table. In rare lists
 * two zero bytes stand in front of the end. What is in front of them is no whole declaration, so
 * that no kept one has the same bytes.
 */
ux_inline size_t ux_dwarf_known_size(const struct ux_cur *c)
{
	const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
	enum {
		FIRST = 2, /* least bytes of tag and flag */
		WINDOW = sizeof(uint64_t),
	};
	if (ux_cur_left(c) < UX_DWARF_KNOWN_BYTES + WINDOW)
		return 0;
	for (size_t at = FIRST; at <= UX_DWARF_KNOWN_BYTES - WINDOW; at += WINDOW - 1) {
		uint64_t v = ux_leb_window(c->pos + at);
		uint64_t zeros = ~(((v & low) + low) | v | low); /* bit 7 of each zero byte */
		uint64_t pairs = zeros & zeros >> 8;
		if (pairs != 0)
			return at + (size_t)__builtin_ctzll(pairs) / 8 + 2;
	}
	return 0;
}

#endif
