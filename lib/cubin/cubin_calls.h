/* SPDX-License-Identifier: Apache-2.0 */
/* The inlined calls of a cubin's functions, as a tree, out of rows that name the row they are
 * called from. */
#ifndef UX_CUBIN_CALLS_H
#define UX_CUBIN_CALLS_H

#include "code_budget.h"
#include "cubin_line.h"
#include "map.h"

enum {
	UX_CUBIN_DEPTH_MOST = 256, /* of calls in each other, as in a GSYM */
};

/* What tells two calls in one function apart. */
struct ux_cubin_call_key {
	uint32_t parent;
	uint32_t name;
	uint32_t file;
	uint32_t line;
};

ux_inline uint64_t ux_cubin_call_hash(struct ux_cubin_call_key k)
{
	return ux_hash_u64(ux_hash_u64((uint64_t)k.parent << 32 | k.name) ^
			   ((uint64_t)k.file << 32 | k.line));
}

ux_inline bool ux_cubin_call_eq(struct ux_cubin_call_key a, struct ux_cubin_call_key b)
{
	return a.parent == b.parent && a.name == b.name && a.file == b.file && a.line == b.line;
}

UX_MAP(ux_cubin_call_map, struct ux_cubin_call_key, uint32_t, ux_cubin_call_hash, ux_cubin_call_eq);

/* An inlined call; or a function itself, the root of its tree. Index 0 stands for "none". */
struct ux_cubin_call {
	struct ux_cubin_call_key key; /* of a root: zeros */
	uint32_t depth;               /* 0: a root */
	uint32_t child, last_child;   /* first and last one; 0: none */
	uint32_t sibling;             /* the next one; 0: none */
	uint32_t range, last_range;   /* first and last one; 0: none */
};

/* Code of a call; index 0 stands for "none". */
struct ux_cubin_call_range {
	uint64_t lo, hi;
	uint32_t next; /* 0: none */
};

/* What is known of a row in the tree at hand. */
struct ux_cubin_known {
	uint32_t root; /* of which this is said */
	uint32_t call;
};

UX_VEC(ux_cubin_call_vec, struct ux_cubin_call);
UX_VEC(ux_cubin_call_range_vec, struct ux_cubin_call_range);
UX_VEC(ux_cubin_known_vec, struct ux_cubin_known);

/* The trees of one table's functions. Zeroed is ready. */
struct ux_cubin_calls {
	struct ux_cubin_call_vec calls;
	struct ux_cubin_call_range_vec ranges;
	struct ux_cubin_call_map map;
	struct ux_cubin_known_vec known; /* by row of the table */
	uint32_t root;                   /* of the function at hand */
	struct ux_budget steps;          /* calls that a row is looked up through */
	struct ux_budget room;           /* ranges that are made */
};

/* Forgets all trees; n_rows is the size of the table that comes. False when memory is short. */
bool ux_cubin_calls_begin(struct ux_cubin_calls *calls, size_t n_rows) ux_must;
void ux_cubin_calls_deinit(struct ux_cubin_calls *calls);

/* Begins the tree of another function, whose root is calls->root. False when memory is short. */
bool ux_cubin_calls_root(struct ux_cubin_calls *calls) ux_must;

/*
 * [lo, hi), behind all that was added to the tree before, is the code of row `row` of the sequence:
 * every call that leads to it gets that range. A chain of calls without end is cut at
 * UX_CUBIN_DEPTH_MOST. False when memory is short.
 */
bool ux_cubin_calls_add(struct ux_cubin_calls *calls, const struct ux_cubin_lines *lines,
			const struct ux_cubin_sequence *sequence, uint32_t row, uint64_t lo,
			uint64_t hi) ux_must;

/* The call behind `at` in pre-order, starting from calls->root; 0: there is none. Those without
 * code are passed over. */
uint32_t ux_cubin_calls_next(const struct ux_cubin_calls *calls, uint32_t at);

#endif
