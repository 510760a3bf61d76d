/* SPDX-License-Identifier: Apache-2.0 */
/* Line number programs: a unit's files, and its rows by address. */
#ifndef UX_DWARF_LINE_H
#define UX_DWARF_LINE_H

#include "code_unit.h"
#include "dwarf_ranges.h"
#include "map.h"

struct ux_dwarf_line_file {
	const char *name;
	uint64_t dir; /* index of its directory in the header */
};

UX_VEC(ux_dwarf_line_file_vec, struct ux_dwarf_line_file);

/* A file and a column in it. */
struct ux_dwarf_place {
	uint32_t file;
	uint32_t column; /* 0: unknown */
};

UX_VEC(ux_dwarf_place_vec, struct ux_dwarf_place);

ux_inline uint64_t ux_dwarf_place_hash(struct ux_dwarf_place p)
{
	return ux_hash_u64((uint64_t)p.column << 32 | p.file);
}

ux_inline bool ux_dwarf_place_eq(struct ux_dwarf_place a, struct ux_dwarf_place b)
{
	return a.file == b.file && a.column == b.column;
}

UX_MAP(ux_dwarf_place_map, struct ux_dwarf_place, uint32_t, ux_dwarf_place_hash, ux_dwarf_place_eq);
UX_VEC(ux_dwarf_text_vec, const char *);

/* Identifies the table that was decoded. */
struct ux_dwarf_lines_source {
	const struct ux_dwarf_sections *sections; /* NULL: nothing is decoded */
	const struct ux_range_set *text;
	uint64_t off; /* offset in .debug_line */
	uint64_t str_offsets_base;
	uint8_t addr_size, offset_size; /* sizes of the unit that uses the table */
};

/*
 * A decoded table. The buffers are reused from table to table, but only within one module. Zeroed
 * is empty.
 */
struct ux_dwarf_lines {
	struct ux_code_row_vec rows;
	struct ux_code_sequence_vec
		sequences; /* sorted, disjoint, each inside of one section of text */
	struct ux_code_sequence_vec whole; /* sequences that overlap others, uncut, sorted by off */
	struct ux_dwarf_line_file_vec files; /* [0] is file 0 in DWARF 5, file 1 before */
	struct ux_dwarf_text_vec dirs;       /* [0] is directory 0 in DWARF 5, 1 before */
	/*
	 * With columns (ux_dwarf_sections): the `file` of a row is the index of a place. The caller
	 * may append other places after the rows' places, until the rows of the next unit are
	 * parsed.
	 */
	struct ux_dwarf_place_vec places;
	size_t row_places; /* how many of the places belong to rows */
	struct ux_dwarf_place_map place_of;
	const char *comp_dir; /* NULL when the unit has none */
	uint16_t version;
	struct ux_dwarf_lines_source
		source;          /* a following unit with the same table reuses the rows */
	struct ux_error outcome; /* result of decoding it */
};

/*
 * Decodes the unit's table and replaces the content of lines. Only sequences that begin in text are
 * kept, cut at the end of their section; where two overlap, the first one gets the addresses. If
 * several rows have one address, the last is kept; rows that repeat file and line of the previous
 * one are dropped. UX_ECORRUPT: the table exceeds its section or its header is malformed; sequences
 * completed before the damage are kept. UX_ELIMIT: the table is larger than 256 MiB. A unit without
 * a table has no rows. Several units may use one table, so the caller limits the total cost with
 * ux_dwarf_lines_cost().
 */
enum ux_code ux_dwarf_lines_parse(const struct ux_dwarf_context *ctx,
				  const struct ux_range_set *text, struct ux_dwarf_lines *lines,
				  struct ux_error *err) ux_must;
void ux_dwarf_lines_deinit(struct ux_dwarf_lines *lines);

/* Empties lines, as for a unit without a table. */
void ux_dwarf_lines_clear(struct ux_dwarf_lines *lines);

/*
 * Returns the cost of decoding the unit's table: its size in bytes. 0 for a unit without a table,
 * for one whose table is not decoded, and when the table is the same as *last, and thus still
 * decoded when units are read in order. *last becomes the unit's table.
 */
uint64_t ux_dwarf_lines_cost(const struct ux_dwarf_context *ctx, const struct ux_range_set *text,
			     struct ux_dwarf_lines_source *last);

/*
 * Sets *ret to the path of a file. False when the table has no such number; 0 means "none" before
 * DWARF 5.
 */
bool ux_dwarf_lines_file(const struct ux_dwarf_lines *lines, uint64_t file,
			 struct ux_code_path *ret);

/*
 * Returns the rows of a table, by address; valid until the next table is decoded. A sequence's
 * `off` is the start of its line program in .debug_line (DW_AT_LLVM_stmt_sequence).
 */
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

/* --- MD5 sums of source files, dwarf_line_md5.c ----------------------------------------------- */

/* A file of a line table. The texts point into the sections; each directory may be NULL. */
struct ux_dwarf_source {
	const char *comp_dir; /* directory 0 */
	const char *dir;
	const char *name;
	const uint8_t *md5; /* 16 bytes */
};

typedef void ux_dwarf_source_fn(void *ctx, const struct ux_dwarf_source *source);

/*
 * Calls `each` for the files that have an MD5, in all line tables of version 5. Only .debug_line
 * and the string sections are read. A damaged header costs the rest of its table. UX_ECORRUPT: the
 * length of a table exceeds the section.
 */
enum ux_code ux_dwarf_sources_walk(const struct ux_dwarf_sections *sections,
				   ux_dwarf_source_fn *each, void *ctx, struct ux_error *err)
	ux_must;

/* --- the program after a header, dwarf_line_program.c ----------------------------------------- */

/* The fields of the header that the line program needs. */
struct ux_dwarf_line_header {
	struct ux_dwarf_layout layout; /* the unit's, but with the table's own offset size */
	uint8_t min_inst_length;
	uint8_t max_ops;
	int8_t line_base;
	uint8_t line_range;
	uint8_t opcode_base;
	struct ux_bytes lengths; /* number of operands of each standard opcode */
};

/*
 * Runs the program, which is all bytes of c, and appends its sequences and their rows in the
 * program's order. Damage is latched in the cursor; the sequences before it are kept. False when
 * memory is short.
 */
bool ux_dwarf_line_program_run(const struct ux_dwarf_line_header *header,
			       const struct ux_range_set *text, struct ux_cur *c,
			       struct ux_dwarf_lines *lines) ux_must;

#endif
