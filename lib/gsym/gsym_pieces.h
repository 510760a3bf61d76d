/* SPDX-License-Identifier: Apache-2.0 */
/* A function divided into pieces. All addresses of a piece have the same frames. */
#ifndef UX_GSYM_PIECES_H
#define UX_GSYM_PIECES_H

#include "arena.h"
#include "gsym_reader.h"

/*
 * From this offset on, up to the next piece or the end of the function, the frames are the same:
 * the frames of an innermost call, with this file and line in the innermost one.
 */
struct ux_gsym_piece {
	uint32_t off;  /* offset from the function's start; strictly ascending, the first is 0 */
	uint32_t node; /* the innermost call */
	uint32_t file; /* index in the file table; 0: unknown */
	uint32_t line;
};

/* A node: an inlined call of a record, or the function itself. */
struct ux_gsym_call {
	const char *function; /* points into the file */
	bool inlined;
	/* for an inlined node: its caller's node, and the file and line of the call there */
	uint32_t caller;
	uint32_t file, line;
};

struct gsym_index_node;

struct ux_gsym_pieces {
	uint32_t size; /* size of the function in bytes, as far as lookups use it */
	struct ux_gsym_piece *list;
	size_t n;
	/* Inlined calls; callers precede the calls inlined into them. Nodes below
	 * UX_GSYM_PIECES_CALLS are the function itself. */
	size_t n_nodes;
	/* private */
	const struct gsym_index_node *nodes;
	const uint8_t *tree;
	size_t tree_size;
	uint64_t name;
};

enum {
	UX_GSYM_PIECES_CALLS = 2 /* the first node that is an inlined call */
};

/*
 * Divides function i < g->n_functions, in the arena's memory. The frames at its addresses are the
 * same as from ux_gsym_lookup(). UX_ENOTFOUND: lookups find the frames at its addresses by other
 * rules, since other functions have the same start, or its size is unknown. UX_ECORRUPT: the record
 * is damaged, or too large to be worth it. UX_ENOMEM, UX_ELIMIT: as the arena says.
 */
enum ux_code ux_gsym_pieces_find(const struct ux_gsym *g, uint32_t i, struct ux_arena *arena,
				 struct ux_gsym_pieces *ret) ux_must;

/* Reads the offset in the string table of the name of function i < g->n_functions. UX_ECORRUPT. */
enum ux_code ux_gsym_pieces_name(const struct ux_gsym *g, uint32_t i, uint64_t *ret) ux_must;

/*
 * Reads a node: an inlined call, or the function itself. False when its name is past the string
 * table.
 */
bool ux_gsym_pieces_call(const struct ux_gsym *g, const struct ux_gsym_pieces *pieces,
			 uint32_t node, struct ux_gsym_call *ret) ux_must;

#endif
