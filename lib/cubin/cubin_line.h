/* SPDX-License-Identifier: Apache-2.0 */
/* Line tables of cubins, which are DWARF 2 with inlined calls between the rows, and the trees of
 * these calls. */
#ifndef UX_CUBIN_LINE_H
#define UX_CUBIN_LINE_H

#include "code_budget.h"
#include "cursor.h"
#include "map.h"
#include "vec.h"

/* From pc on, the code comes from this file and line. All rows are kept in the order in which the
 * line program emits them, because `context` is a row number. */
struct ux_cubin_row {
	uint64_t pc;
	uint32_t file; /* number in the table's list of files, from 1 on; 0: none */
	uint32_t line;
	uint32_t context; /* for code of an inlined function: number, from 1 on in the sequence, of
			     the row that is the call site; 0: the code is not inlined */
	uint32_t name;    /* for code of an inlined function: offset of its name in .debug_str */
};

/* The rows of one code section, which cover [lo, hi). */
struct ux_cubin_sequence {
	uint64_t lo, hi; /* lowest pc; pc at which the sequence ends */
	uint32_t first;  /* index of the first row */
	uint32_t count;
};

struct ux_cubin_file {
	const char *name; /* points into the section */
	uint64_t dir;     /* number of its directory, from 1 on; 0: the directory of compilation */
};

UX_VEC(ux_cubin_row_vec, struct ux_cubin_row);
UX_VEC(ux_cubin_sequence_vec, struct ux_cubin_sequence);
UX_VEC(ux_cubin_file_vec, struct ux_cubin_file);
UX_VEC(ux_cubin_text_vec, const char *);

#define UX_CUBIN_NO_NAME UINT32_MAX

/* One line table. The buffers are reused for the next table. A zeroed struct is empty. */
struct ux_cubin_lines {
	struct ux_cubin_row_vec rows;
	struct ux_cubin_sequence_vec sequences;
	struct ux_cubin_file_vec files; /* [0] is file 1 */
	struct ux_cubin_text_vec dirs;  /* [0] is directory 1 */
	uint64_t size;                  /* bytes of the table */
	uint16_t version;               /* DWARF version; 0: the table could not be read */
};

/*
 * Reads the line table at c, a cursor over .debug_line with its relocations applied. It replaces
 * the content of `lines`, and moves c after the table. UX_ECORRUPT, UX_EUNSUPPORTED (a DWARF
 * version other than 2 to 4): the sequences that were complete before the damage are kept, and c is
 * after the table, or at the end of the section when the table's length is damaged. UX_ELIMIT: the
 * table is larger than 256 MiB.
 */
enum ux_code ux_cubin_lines_read(struct ux_cur *c, struct ux_cubin_lines *lines,
				 struct ux_error *err) ux_must;
/* Moves c after the table that begins there, or to the end of the section when its length is
 * damaged. */
void ux_cubin_lines_skip(struct ux_cur *c);
void ux_cubin_lines_deinit(struct ux_cubin_lines *lines);

/* The inlined calls of each function as a tree. A row of inlined code refers to the row that is its
 * call site. */

enum {
	UX_CUBIN_DEPTH_MAX = 256, /* nesting of inlined calls; a GSYM has the same limit */
};

/* Two rows of a function with the same key belong to the same inlined call. */
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

/* An inlined call, or a function itself, which is the root of its tree. Index 0 means "none". */
struct ux_cubin_call {
	struct ux_cubin_call_key key; /* a root has zeros */
	uint32_t depth;               /* 0 for a root */
	uint32_t child, last_child;   /* 0: none */
	uint32_t sibling;             /* next call with the same parent; 0: none */
	uint32_t range, last_range;   /* 0: none */
};

/* An address range of the code of a call. Index 0 means "none". */
struct ux_cubin_call_range {
	uint64_t lo, hi;
	uint32_t next; /* 0: none */
};

/* The call that a row belongs to, cached. The entry is valid while `root` is the root of the
 * current tree. */
struct ux_cubin_known {
	uint32_t root;
	uint32_t call;
};

UX_VEC(ux_cubin_call_vec, struct ux_cubin_call);
UX_VEC(ux_cubin_call_range_vec, struct ux_cubin_call_range);
UX_VEC(ux_cubin_known_vec, struct ux_cubin_known);

/* The trees of the functions of one line table. Zeroed is ready for use. */
struct ux_cubin_calls {
	struct ux_cubin_call_vec calls;
	struct ux_cubin_call_range_vec ranges;
	struct ux_cubin_call_map map;
	struct ux_cubin_known_vec known; /* indexed by the row's number in the table */
	uint32_t root;                   /* root of the current function's tree */
	struct ux_budget steps;          /* budget of ancestors that are visited to add ranges */
	struct ux_budget room;           /* budget of ranges that are allocated */
};

/*
 * Drops all trees and prepares for a line table of n_rows rows. Returns false when memory is short.
 */
bool ux_cubin_calls_begin(struct ux_cubin_calls *calls, size_t n_rows) ux_must;
void ux_cubin_calls_deinit(struct ux_cubin_calls *calls);

/* Begins the tree of the next function; its root is calls->root. Returns false when memory is
 * short. */
bool ux_cubin_calls_root(struct ux_cubin_calls *calls) ux_must;

/*
 * Adds [lo, hi), the code of row `row` of the sequence, to the call that the row belongs to and to
 * all of its ancestors. Ranges must be added in ascending order. A chain of calls that does not end
 * is cut at UX_CUBIN_DEPTH_MAX. Returns false when memory is short.
 */
bool ux_cubin_calls_add(struct ux_cubin_calls *calls, const struct ux_cubin_lines *lines,
			const struct ux_cubin_sequence *sequence, uint32_t row, uint64_t lo,
			uint64_t hi) ux_must;

/* Returns the call that follows `at` in pre-order, where calls->root is the start; 0 at the end.
 * Calls without code are skipped. */
uint32_t ux_cubin_calls_next(const struct ux_cubin_calls *calls, uint32_t at);

#endif
