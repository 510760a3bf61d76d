/* SPDX-License-Identifier: Apache-2.0 */
/* Line number programs: a unit's files, and its rows by address. */
#ifndef UX_DWARF_LINE_H
#define UX_DWARF_LINE_H

#include "code_unit.h"
#include "dwarf_ranges.h"

struct ux_dwarf_line_file {
	const char *name;
	uint64_t dir; /* index of its directory, as the header numbers them */
};

UX_VEC(ux_dwarf_line_file_vec, struct ux_dwarf_line_file);
UX_VEC(ux_dwarf_text_vec, const char *);

/* What a decoded table was made from. */
struct ux_dwarf_lines_source {
	const struct ux_dwarf_sections *sections; /* NULL: nothing is decoded */
	const struct ux_range_set *text;
	uint64_t off; /* in .debug_line */
	uint64_t str_offsets_base;
	uint8_t addr_size, offset_size; /* of the unit */
};

/* One decoded table, with the memory of those before. For one module only. Zeroed is empty. */
struct ux_dwarf_lines {
	struct ux_code_row_vec rows;
	struct ux_code_sequence_vec
		sequences;                 /* ascending, disjoint, each inside a section of text */
	struct ux_code_sequence_vec whole; /* those that overlap others, uncut, by ascending off */
	struct ux_dwarf_line_file_vec files; /* [0] is file 0 in DWARF 5, file 1 before */
	struct ux_dwarf_text_vec dirs;       /* [0] is directory 0 in DWARF 5, 1 before */
	const char *comp_dir;                /* NULL when the unit has none */
	uint16_t version;
	struct ux_dwarf_lines_source source; /* the next unit with this table reuses it */
	struct ux_error outcome;             /* of decoding it */
};

/*
 * Decodes the unit's table, replacing what is in lines. Only sequences that begin in text are kept,
 * cut at the end of their section; where two overlap, the first has the addresses. Of several rows
 * at one address the last stays; rows that repeat file and line of the one before are dropped.
 * UX_ECORRUPT: the table leaves its section or its header makes no sense; the sequences that were
 * complete before are kept. UX_ELIMIT: a table over 256 MiB. A unit without a table gives none.
 * Units may name one another's tables, so the caller bounds what they cost: ux_dwarf_lines_cost().
 */
enum ux_code ux_dwarf_lines_parse(const struct ux_dwarf_context *ctx,
				  const struct ux_range_set *text, struct ux_dwarf_lines *lines,
				  struct ux_error *err) ux_must;
void ux_dwarf_lines_deinit(struct ux_dwarf_lines *lines);

/* Empties lines, as for a unit without a table. */
void ux_dwarf_lines_clear(struct ux_dwarf_lines *lines);

/*
 * Bytes of the unit's table: the cost of decoding it. 0 for a unit without one, for one that is not
 * decoded, and for the table that *last names, which lines that read them in turn still hold; *last
 * becomes the unit's.
 */
uint64_t ux_dwarf_lines_cost(const struct ux_dwarf_context *ctx, const struct ux_range_set *text,
			     struct ux_dwarf_lines_source *last);

/* False for a number that the table does not have; 0 means "none" before DWARF 5. */
bool ux_dwarf_lines_file(const struct ux_dwarf_lines *lines, uint64_t file,
			 struct ux_code_path *ret);

/* The rows of a table, by address; good until it decodes another one. A sequence's `off` is where
 * its program begins in .debug_line (DW_AT_LLVM_stmt_sequence). */
ux_inline struct ux_code_lines ux_dwarf_lines_view(const struct ux_dwarf_lines *lines)
{
	return (struct ux_code_lines){
		.rows = lines->rows.data,
		.n_rows = lines->rows.size,
		.sequences = lines->sequences.data,
		.n_sequences = lines->sequences.size,
		.whole = lines->whole.data,
		.n_whole = lines->whole.size,
	};
}

/* --- the program behind a header, dwarf_line_program.c ---------------------------------------- */

/* What the header fixes for the program. */
struct ux_dwarf_line_header {
	struct ux_dwarf_layout layout; /* of the unit; the table's own offset size */
	uint8_t min_inst_length;
	uint8_t max_ops;
	int8_t line_base;
	uint8_t line_range;
	uint8_t opcode_base;
	struct ux_bytes lengths; /* operands of each standard opcode */
};

/*
 * Runs the program, of which c is exactly the bytes, and appends its sequences and their rows in
 * the order they stand. Damage is the cursor's: the sequences before it are there. False when
 * memory is short.
 */
bool ux_dwarf_line_program_run(const struct ux_dwarf_line_header *header,
			       const struct ux_range_set *text, struct ux_cur *c,
			       struct ux_dwarf_lines *lines) ux_must;

#endif
