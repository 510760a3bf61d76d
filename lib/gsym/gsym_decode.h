/* SPDX-License-Identifier: Apache-2.0 */
/* Whole records, for tools; a lookup needs none of this. */
#ifndef UX_GSYM_DECODE_H
#define UX_GSYM_DECODE_H

#include "arena.h"
#include "cursor.h"
#include "gsym_tree.h"

/* A block of a record. */
struct ux_gsym_block {
	uint32_t type;
	struct ux_cur content;
};

/* A record as it lies in the file. Offsets of all cursors count from the file's start. */
struct ux_gsym_raw {
	uint32_t size;
	uint64_t name;
	struct ux_cur rest; /* blocks not yet read */
	uint32_t seen;      /* types of those that were, a bit each */
};

/* A string's offset at c, as wide as the file's version has it. */
uint64_t ux_gsym_name(const struct ux_gsym *g, struct ux_cur *c);

/* Head of the record at c, which moves past it; a failure is the cursor's. */
struct ux_gsym_raw ux_gsym_raw_open(const struct ux_gsym *g, struct ux_cur *c);

/* Head of the record of function i < n_functions. */
enum ux_code ux_gsym_raw_find(const struct ux_gsym *g, uint32_t i, struct ux_gsym_raw *ret,
			      struct ux_error *err) ux_must;

/* The next block; false at the end of the record (rest then lies behind the end tuple) or when rest
 * failed, which a second block of a known type does too. */
bool ux_gsym_raw_next(struct ux_gsym_raw *raw, struct ux_gsym_block *ret);

/*
 * All records, in the order of their functions. Zeroed but for g is the start. Records that share
 * bytes would let a small file take endless time, so their sum is held to the file's size.
 */
struct ux_gsym_walk {
	const struct ux_gsym *g;
	uint32_t next;   /* function */
	uint64_t walked; /* bytes of records so far */
	struct ux_gsym_raw raw;
};

/* The record of the next function, in walk->raw; *ret_more is false behind the last. */
enum ux_code ux_gsym_walk_next(struct ux_gsym_walk *walk, bool *ret_more, struct ux_error *err)
	ux_must;

/* Rows of a line table block, in the arena. */
enum ux_code ux_gsym_decode_lines(struct ux_cur block, struct ux_arena *arena,
				  const struct ux_gsym_row **ret, size_t *ret_n,
				  struct ux_error *err) ux_must;

/* A block of merged functions, one after the other. */
struct ux_gsym_merged {
	const struct ux_gsym *g;
	struct ux_cur c;
	uint32_t left;
};

/* Reads the block's head. A failure is the cursor's. */
struct ux_gsym_merged ux_gsym_merged_open(const struct ux_gsym *g, struct ux_cur block);

/* The next function; false behind the last or when m->c failed. */
bool ux_gsym_merged_next(struct ux_gsym_merged *m, struct ux_gsym_raw *ret);

/* struct ux_gsym_function as a file holds it. */
struct ux_gsym_decoded {
	uint64_t start; /* pc */
	uint64_t name;
	uint32_t size;
	const struct ux_gsym_row *rows;
	size_t n_rows;
	const struct ux_gsym_node *inlines; /* without the function itself */
	size_t n_inlines;
	const struct ux_gsym_range *ranges;
	const uint64_t *merged; /* names */
	size_t n_merged;
};

/*
 * Function i < n_functions as it was given to ux_gsym_encode_function(); its arrays are in the
 * arena. Call sites and blocks of unknown types are passed over, and so is all of a merged function
 * but its name.
 */
enum ux_code ux_gsym_decode(const struct ux_gsym *g, uint32_t i, struct ux_arena *arena,
			    struct ux_gsym_decoded *ret, struct ux_error *err) ux_must;

#endif
