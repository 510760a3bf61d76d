/* SPDX-License-Identifier: Apache-2.0 */
/* Line tables of cubins: DWARF 2, with inlined calls between the rows. */
#ifndef UX_CUBIN_LINE_H
#define UX_CUBIN_LINE_H

#include "cursor.h"
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

#endif
