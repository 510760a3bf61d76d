/* SPDX-License-Identifier: Apache-2.0 */
/* The first phase of an extraction: every unit that a reader gives into pieces, on several threads.
 */
#ifndef UX_COLLECT_H
#define UX_COLLECT_H

#include "code_reader.h"
#include "code_symbols.h"
#include "piece.h"

/* What one unit gave. */
struct ux_unit_pieces {
	struct ux_piece *functions; /* in the reader's order */
	struct ux_piece *
		lines; /* rows that no function of the unit covers, for symbols: assembly, thunks */
	uint32_t n_functions;
	uint32_t n_lines;
	const char **names; /* by the numbers in inlines */
	uint32_t n_names;
	uint32_t n_files;
	struct ux_code_file *files;   /* by number in rows and call_file; 0 none, 1 nameless */
	struct ux_code_damage damage; /* units, tables and lists that were given up */
	uint8_t note;                 /* the reader's (ux_code_unit.note) */
};

/* All of them. The arenas own everything, the strings of the sections excepted. */
struct ux_collection {
	struct ux_unit_pieces *units; /* malloc'ed */
	size_t n_units;
	struct ux_arena *arenas; /* malloc'ed, one a thread */
	unsigned n_arenas;
	uint64_t bad_headers; /* units that cannot be found */
	struct ux_error reason;
};

/* Where the text of an extraction goes, and on how many threads it is made. */
struct ux_collect_options {
	const struct ux_code_symbol_vec
		*symbols; /* settled; lines outside of functions are kept for them */
	unsigned threads;
	const char *spill; /* NULL: pieces go into memory; else onto the disk of that folder */
	/* True for a range of which nothing but a function's name is needed; NULL: all is. */
	bool (*skip)(void *ctx, const struct ux_range *range);
	void *skip_ctx;
};

/* Bytes of units that are read in one wave, of `total`: a part of the whole, but not less than
 * keeps many threads busy. */
uint64_t ux_collect_wave_bytes(uint64_t total);

/*
 * Reads all units of the reader. The result does not depend on the number of threads. Damage costs
 * the unit it is in and is counted; fails for want of memory only, or when a wave does not come.
 */
enum ux_code ux_collect_units(const struct ux_code_reader *reader,
			      const struct ux_collect_options *options, struct ux_collection *ret,
			      struct ux_error *err) ux_must;
void ux_collection_free(struct ux_collection *collection);

#endif
