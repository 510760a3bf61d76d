/* SPDX-License-Identifier: Apache-2.0 */
/* The first phase of an extraction: cuts every unit of a reader into pieces, on several threads. */
#ifndef UX_COLLECT_H
#define UX_COLLECT_H

#include "arena.h"
#include "code_reader.h"
#include "code_symbols.h"
#include "dwarf_code.h"
#include "dwarf_line.h"
#include "gsym_draft.h"
#include "spill_vec.h"
#include "vec.h"

#define UX_PIECE_NO_UNIT UINT32_MAX

/* The number of the nameless file, which rows without a line refer to. LLVM's reader does not
 * accept rows of file 0. */
#define UX_FILE_NAMELESS 1

/*
 * A piece: one address range of one function with its rows and inlined calls, before it becomes a
 * record. The draft has the unit's own numbers of names and files until the pieces are packed.
 * Everything pointed to is in the arenas of the collection.
 */
struct ux_piece {
	uint64_t start; /* pc */
	uint32_t size;  /* bytes, at least 1 */
	uint32_t unit;  /* the unit that defines the numbers in the draft; UX_PIECE_NO_UNIT: none */
	const char *name; /* linkage name, or a qualified name; NULL when the unit has none */
	uint32_t own;     /* offset in `name` of the function's own name, after its qualifiers */
	uint32_t before;  /* bytes from the function's start to `start`; not 0 if another function
			     lies between them */
	bool part;        /* the function that the unit describes starts in another piece */
	struct ux_gsym_draft draft;
};

UX_SPILL_VEC(ux_piece_vec, struct ux_piece);

ux_inline uint64_t ux_piece_end(const struct ux_piece *p)
{
	return p->start + p->size;
}

/* A decoded piece, from which parts are cut. Thousands of other pieces may lie inside of it; it is
 * decoded once for all of them. A zeroed struct is empty. */
struct ux_piece_reader {
	const struct ux_piece *whole;
	struct ux_arena arena;
	struct ux_gsym_content content;
	uint32_t n_ranges; /* ranges of all its inlined calls */
};

/* Decodes `whole`, unless it was the last one that was decoded. `whole` must stay unchanged while
 * the reader is used. */
enum ux_code ux_piece_read(struct ux_piece_reader *reader, const struct ux_piece *whole,
			   struct ux_error *err) ux_must;
void ux_piece_reader_deinit(struct ux_piece_reader *reader);

/* Sets *ret to the part [lo, hi) of the decoded piece, which must contain that range. Rows and, if
 * `calls` is set, inlined calls are cut to it. The draft is in the arena. */
enum ux_code ux_piece_cut(const struct ux_piece_reader *reader, uint64_t lo, uint64_t hi,
			  bool calls, struct ux_gsym_drafter *drafter, struct ux_arena *arena,
			  struct ux_piece *ret, struct ux_error *err) ux_must;

/* Drafts the rows of `from`, which lies in [lo, hi), for the whole of [lo, hi): before and after
 * `from` the line is unknown. The draft is in the arena. */
enum ux_code ux_piece_widen(const struct ux_piece *from, uint64_t lo, uint64_t hi,
			    struct ux_gsym_drafter *drafter, struct ux_arena *arena,
			    struct ux_gsym_draft *ret, struct ux_error *err) ux_must;

/* The pieces of one unit. */
struct ux_unit_pieces {
	struct ux_piece *functions; /* in the reader's order */
	struct ux_piece *lines; /* rows outside of the unit's functions, for symbols without debug
				   information: assembly, thunks */
	uint32_t n_functions;
	uint32_t n_lines;
	const char **names; /* indexed by the numbers in inlined calls */
	uint32_t n_names;
	uint32_t n_files;
	/* indexed by the numbers in rows and call sites; 0 is none, 1 is nameless */
	struct ux_code_file *files;
	struct ux_code_damage damage; /* units, tables and lists that could not be read */
	uint8_t note;                 /* note of the reader (ux_code_unit.note) */
};

/* The pieces of all units. The arenas own everything, except for strings in sections. */
struct ux_collection {
	struct ux_unit_pieces *units; /* malloc'ed */
	size_t n_units;
	struct ux_arena *arenas; /* malloc'ed, one for each thread */
	unsigned n_arenas;
	uint64_t bad_headers; /* damaged headers of units, so that the units after them are not
				 found */
	struct ux_error reason;
};

/* Options of the first phase. */
struct ux_collect_options {
	/* sorted; rows outside of functions are kept for these symbols */
	const struct ux_code_symbol_vec *symbols;
	unsigned threads;
	struct ux_spill *spill; /* holds the pieces; NULL: they are in memory */
	/* Returns true for a range that needs only the function's name. NULL: everything is
	 * needed. */
	bool (*skip)(void *ctx, const struct ux_range *range);
	void *skip_ctx;
};

/* Returns how many bytes of units are read in one wave, of `total`: a fraction, but enough to keep
 * many threads busy. */
uint64_t ux_collect_wave_bytes(uint64_t total);

/*
 * Reads all units of the reader. The result does not depend on the number of threads. Damage costs
 * the unit it is in and is counted. Fails only when memory is short, or when the reader fails to
 * provide the next wave.
 */
enum ux_code ux_collect_units(const struct ux_code_reader *reader,
			      const struct ux_collect_options *options, struct ux_collection *ret,
			      struct ux_error *err) ux_must;
void ux_collection_free(struct ux_collection *collection);

#endif
