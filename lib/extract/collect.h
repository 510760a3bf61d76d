/* SPDX-License-Identifier: Apache-2.0 */
/* The first phase of an extraction: every unit's code and lines into pieces, on several threads. */
#ifndef UX_COLLECT_H
#define UX_COLLECT_H

#include "code_symbols.h"
#include "section_content.h"
#include "piece.h"
#include "split_files.h"

/* What one unit gave. */
struct ux_unit_pieces {
	struct ux_piece *functions; /* in DIE order */
	struct ux_piece *
		lines; /* rows that no function of the unit covers, for symbols: assembly, thunks */
	uint32_t n_functions;
	uint32_t n_lines;
	const char **names; /* by the numbers in inlines */
	uint32_t n_names;
	uint32_t n_files;
	struct ux_code_file *files; /* by number in rows and call_file; 0 none, 1 nameless */
	uint64_t bad;               /* units, tables and lists that were given up */
	struct ux_error reason;     /* the first one's */
	uint8_t split;              /* enum ux_split_outcome */
};

/* All of them. The arenas own everything, the strings of the sections excepted. */
struct ux_collection {
	struct ux_unit_pieces *units; /* malloc'ed */
	size_t n_units;
	struct ux_arena *arenas; /* malloc'ed, one a thread */
	unsigned n_arenas;
	uint64_t bad_headers;
	struct ux_error reason;
};

struct ux_wanted;

/* What is collected from, and how. */
struct ux_collect_input {
	const struct ux_dwarf_sections *sections;
	struct ux_section_window *stream; /* fills .debug_info as it is read; NULL: it is there.
					  There is no split file then */
	const struct ux_range_set *text;  /* what lies outside is dropped */
	const struct ux_code_symbol_vec
		*symbols; /* settled; lines outside of functions are kept for them */
	const struct ux_split_files *split; /* finds what skeletons stand for; NULL: they are read
					       as they stand, which is for their lines */
	unsigned threads;
	const struct ux_wanted
		*wanted;   /* units that tell nothing of it give nothing; NULL: all do */
	const char *spill; /* NULL: pieces go into memory; else onto the disk of that folder */
};

/*
 * Reads all units. The result does not depend on the number of threads. Damage costs the unit it is
 * in and is counted; fails for want of memory only.
 */
enum ux_code ux_collect(const struct ux_collect_input *input, struct ux_collection *ret,
			struct ux_error *err) ux_must;
void ux_collection_free(struct ux_collection *collection);

#endif
