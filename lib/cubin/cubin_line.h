/* SPDX-License-Identifier: Apache-2.0 */
/* Line tables of cubins, which are DWARF 2 with inlined calls between the rows, and the trees of
 * these calls. */
#ifndef UX_CUBIN_LINE_H
#define UX_CUBIN_LINE_H

#include "code_budget.h"
#include "cursor.h"
#include "map.h"
#include "vec.h"

/*
 * From pc on, this file and line. Rows are kept in the order of the program, every one of them:
 * `context` counts them.
 */
struct ux_cubin_row {
	uint64_t pc;
	uint32_t file; /* as the table numbers files, from 1 on; 0: none */
	uint32_t line;
	uint32_t context; /* of an inlined function: the row of its sequence, from 1 on, that calls
			     it; 0: not inlined */
	uint32_t name;    /* of an inlined function: where it begins in .debug_str */
};

/* A run of rows for [lo, hi): one for each code section. */
struct ux_cubin_sequence {
	uint64_t lo, hi; /* lowest pc; the pc it ends at */
	uint32_t first;  /* row */
	uint32_t count;
};

struct ux_cubin_file {
	const char *name; /* in the section */
	uint64_t dir;     /* number of its directory, from 1 on; 0: where it was compiled */
};

UX_VEC(ux_cubin_row_vec, struct ux_cubin_row);
UX_VEC(ux_cubin_sequence_vec, struct ux_cubin_sequence);
UX_VEC(ux_cubin_file_vec, struct ux_cubin_file);
UX_VEC(ux_cubin_text_vec, const char *);

#define UX_CUBIN_NO_NAME UINT32_MAX

/* One table; its memory serves for the next one. Zeroed is empty. */
struct ux_cubin_lines {
	struct ux_cubin_row_vec rows;
	struct ux_cubin_sequence_vec sequences;
	struct ux_cubin_file_vec files; /* [0] is file 1 */
	struct ux_cubin_text_vec dirs;  /* [0] is directory 1 */
	uint64_t size;                  /* bytes of the table */
	uint16_t version;               /* of DWARF; 0: it could not be read */
};

/*
 * Reads the table at c, a cursor over .debug_line with its relocations applied, replacing what is
 * in lines, and moves c behind it. UX_ECORRUPT, UX_EUNSUPPORTED (another version than 2 to 4):
 * sequences that were complete before the damage are kept, and c is behind the table, or at its end
 * when the length itself is damaged. UX_ELIMIT: a table of over 256 MiB.
 */
enum ux_code ux_cubin_lines_read(struct ux_cur *c, struct ux_cubin_lines *lines,
				 struct ux_error *err) ux_must;
/* Moves c behind the table there, or to its end when the length is damaged. */
void ux_cubin_lines_skip(struct ux_cur *c);
void ux_cubin_lines_deinit(struct ux_cubin_lines *lines);

/* The inlined calls of a cubin's functions, as a tree, out of rows that name the row they are
 * called from. */

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
