/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding whole records, for tools. Lookups do not use this. */
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

/*
 * A record in the file with only its head decoded. Offsets of all cursors count from the file's
 * start.
 */
struct ux_gsym_raw {
	uint32_t size;
	uint32_t before; /* as in struct gsym_record; known when all blocks were read */
	uint64_t name;
	struct ux_cur rest; /* blocks not yet read */
	uint32_t seen;      /* types of the blocks that were read, one bit each */
};

/* Reads the offset of a string at c; its width depends on the file's version. */
uint64_t ux_gsym_name(const struct ux_gsym *g, struct ux_cur *c);

/* Reads the head of the record at c, which moves past it. A failure is latched in c. */
struct ux_gsym_raw ux_gsym_raw_open(const struct ux_gsym *g, struct ux_cur *c);

/* Reads the head of the record of function i < n_functions. */
enum ux_code ux_gsym_raw_find(const struct ux_gsym *g, uint32_t i, struct ux_gsym_raw *ret,
			      struct ux_error *err) ux_must;

/*
 * Reads the next block. False at the end of the record (rest is then after the end tuple) or when
 * rest failed. A second block of a known type is such a failure.
 */
bool ux_gsym_raw_next(struct ux_gsym_raw *raw, struct ux_gsym_block *ret);

/*
 * An iterator over all records, in the order of their functions. Initialize it with zeros and g.
 * Records that share bytes would let a small file cause endless work, so the sum of their sizes is
 * limited by the file's size.
 */
struct ux_gsym_walk {
	const struct ux_gsym *g;
	uint32_t next;   /* function */
	uint64_t walked; /* bytes of records so far */
	struct ux_gsym_raw raw;
};

/* Reads the record of the next function into walk->raw. *ret_more is false after the last one. */
enum ux_code ux_gsym_walk_next(struct ux_gsym_walk *walk, bool *ret_more, struct ux_error *err)
	ux_must;

/* Decodes the rows of a line table block into the arena. */
enum ux_code ux_gsym_decode_lines(struct ux_cur block, struct ux_arena *arena,
				  const struct ux_gsym_row **ret, size_t *ret_n,
				  struct ux_error *err) ux_must;

/* An iterator over a block of merged functions. */
struct ux_gsym_merged {
	const struct ux_gsym *g;
	struct ux_cur c;
	uint32_t left;
};

/* Reads the block's head. A failure is latched in the cursor. */
struct ux_gsym_merged ux_gsym_merged_open(const struct ux_gsym *g, struct ux_cur block);

/* Reads the next function. False after the last one, or when m->c failed. */
bool ux_gsym_merged_next(struct ux_gsym_merged *m, struct ux_gsym_raw *ret);

/* A decoded function; the counterpart of struct ux_gsym_function. */
struct ux_gsym_decoded {
	uint64_t start; /* pc */
	uint64_t name;
	uint32_t size;
	uint32_t before; /* bytes from the function's start to `start` */
	const struct ux_gsym_row *rows;
	size_t n_rows;
	const struct ux_gsym_node *inlines; /* without the function itself */
	size_t n_inlines;
	const struct ux_gsym_range *ranges;
	const uint64_t *merged; /* names */
	size_t n_merged;
};

/*
 * Decodes function i < n_functions into the arguments that ux_gsym_encode_function() had. Its
 * arrays are in the arena. Ignores call sites, blocks of unknown types, and everything but the
 * names of merged functions.
 */
enum ux_code ux_gsym_decode(const struct ux_gsym *g, uint32_t i, struct ux_arena *arena,
			    struct ux_gsym_decoded *ret, struct ux_error *err) ux_must;

#endif
