/* SPDX-License-Identifier: Apache-2.0 */
/* An assembler for DWARF sections, so that a test shows the intended bytes. */
#ifndef UX_MAKE_DWARF_H
#define UX_MAKE_DWARF_H

#include "dwarf_defs.h"
#include "dwarf_sections.h"
#include "out.h"

enum {
	MAKE_ATTRS_MAX = 32,    /* attributes of one abbreviation */
	MAKE_ABBREVS_MAX = 160, /* abbreviations of one table */
};

struct make_attr {
	uint32_t name;
	uint32_t form;
	int64_t constant; /* of DW_FORM_implicit_const */
};

struct make_abbrev {
	uint64_t code;
	struct make_attr attrs[MAKE_ATTRS_MAX];
	size_t n_attrs;
};

/* A unit's header; zero fields get a usual value. */
struct make_unit {
	uint16_t version;    /* 0: 5 */
	uint8_t type;        /* 0: DW_UT_compile */
	uint8_t addr_size;   /* 0: 8 */
	uint8_t offset_size; /* 0: 4 */
	uint64_t abbrev_off;
	uint64_t id; /* of a skeleton or split unit, or a type's signature; 0: some number */
};

/* A line table's header; zero fields get a usual value. */
struct make_lines {
	uint16_t version;        /* 0: 5 */
	uint8_t offset_size;     /* 0: 4 */
	uint8_t min_inst_length; /* 0: 1 */
	uint8_t max_ops;         /* 0: 1 */
	int8_t line_base;        /* 0: -5 */
	uint8_t line_range;      /* 0: 14 */
	uint8_t opcode_base;     /* 0: 13 */
};

/*
 * Sections grow as pieces are added, in the order of the calls; out[] is public for tests that
 * write bytes of their own. It aborts if out of memory. Zeroed is not ready: call
 * make_dwarf_init().
 */
struct make_dwarf {
	struct ux_out out[UX_DWARF_SECTION_COUNT];
	bool big; /* byte order */
	/* the abbreviation table being used */
	struct make_abbrev abbrevs[MAKE_ABBREVS_MAX];
	size_t n_abbrevs;
	bool table_ended; /* the next abbreviation begins another table */
	/* the unit being made */
	struct make_unit unit;
	size_t unit_off;                 /* of its header */
	size_t unit_length_at;           /* where its length goes */
	size_t value_at[MAKE_ATTRS_MAX]; /* of the last DIE: the position of each value */
	/* the tables being made */
	struct make_lines lines;
	size_t lines_length_at;
	size_t lines_header_at;
	uint8_t table_offset_size;
	size_t table_length_at;
};

void make_dwarf_init(struct make_dwarf *m, bool big);
void make_dwarf_deinit(struct make_dwarf *m);

/* Returns everything made so far; valid until the next call. */
struct ux_dwarf_sections make_dwarf_sections(const struct make_dwarf *m);

/* Offset of the next byte of a section. */
size_t make_off(const struct make_dwarf *m, enum ux_dwarf_section section);

/* Overwrites size bytes (1, 2, 4, 8) at off. */
void make_patch(struct make_dwarf *m, enum ux_dwarf_section section, size_t off, uint64_t value,
		unsigned size);

/*
 * An abbreviation: MAKE_ABBREV(m, 1, DW_TAG_subprogram, true, {DW_AT_name, DW_FORM_string}, ...).
 * make_table_end ends a table and returns the offset of the next one; DIEs use the last one made.
 */
#define MAKE_ABBREV(m, code, tag, children, ...)                                                 \
	make_abbrev_add((m), (code), (tag), (children), (const struct make_attr[]){__VA_ARGS__}, \
			sizeof((const struct make_attr[]){__VA_ARGS__}) /                        \
				sizeof(struct make_attr))
void make_abbrev_add(struct make_dwarf *m, uint64_t code, uint64_t tag, bool children,
		     const struct make_attr *attrs, size_t n);
size_t make_table_end(struct make_dwarf *m);

/* Begins a unit; returns the offset of its header. make_unit_end writes its length. */
size_t make_unit_begin(struct make_dwarf *m, struct make_unit unit);
void make_unit_end(struct make_dwarf *m);

/* A value for the form that its abbreviation names. */
struct make_value {
	uint64_t number; /* references within the unit: offset in .debug_info, made relative */
	const char *text;
	struct ux_bytes bytes;
	uint32_t form; /* the form after DW_FORM_indirect */
};
#define N(n)           ((struct make_value){.number = (uint64_t)(n)})
#define T(s)           ((struct make_value){.text = (s)})
#define B(literal)     ((struct make_value){.bytes = UX_STR(literal)})
#define INDIRECT(f, v) ((struct make_value){.number = (uint64_t)(v), .form = (f)})

/*
 * A DIE: MAKE_DIE(m, 1, T("main"), N(0x1000)); a value for each attribute of its abbreviation
 * except DW_FORM_implicit_const and DW_FORM_flag_present. Text goes to the section of its form.
 * Returns its offset.
 */
#define MAKE_DIE(m, code, ...)                                              \
	make_die_add((m), (code), (const struct make_value[]){__VA_ARGS__}, \
		     sizeof((const struct make_value[]){__VA_ARGS__}) / sizeof(struct make_value))
size_t make_die_add(struct make_dwarf *m, uint64_t code, const struct make_value *values, size_t n);

/* The end of a list of children. */
void make_null(struct make_dwarf *m);

/* Text with its NUL into a string section; returns its offset. */
size_t make_text(struct make_dwarf *m, enum ux_dwarf_section section, const char *text);

/* A pair of .debug_ranges in the unit's address size; returns its offset. */
size_t make_pair(struct make_dwarf *m, uint64_t lo, uint64_t hi);

/*
 * A table with a DWARF 5 header: .debug_rnglists (offset_count counts entries that the caller
 * writes with make_offset), .debug_addr or .debug_str_offsets. Returns the offset after the header,
 * which is the base that units name.
 */
size_t make_table_begin(struct make_dwarf *m, enum ux_dwarf_section section, uint8_t offset_size,
			uint32_t offset_count);
void make_table_length(struct make_dwarf *m, enum ux_dwarf_section section);
void make_offset(struct make_dwarf *m, enum ux_dwarf_section section, uint64_t value);
void make_addr(struct make_dwarf *m, enum ux_dwarf_section section, uint64_t pc);

/* An entry of .debug_rnglists with its operands, as many as its kind has; returns its offset. */
size_t make_rle(struct make_dwarf *m, uint8_t kind, uint64_t a, uint64_t b);

/*
 * A line table: begin, the directories and files of its version, program, opcodes, end. Returns the
 * table's offset. Files of DWARF 5 have an inline name and a udata directory.
 */
size_t make_lines_begin(struct make_dwarf *m, struct make_lines lines);
void make_lines_files(struct make_dwarf *m, const char *const *dirs, const char *const *files,
		      const uint8_t *file_dirs);
void make_lines_program(struct make_dwarf *m);
void make_lines_end(struct make_dwarf *m);

/* Opcodes. */
void make_set_address(struct make_dwarf *m, uint64_t pc);
void make_set_file(struct make_dwarf *m, uint64_t file);
void make_row(struct make_dwarf *m, uint64_t advance, int64_t line_advance);
void make_end_sequence(struct make_dwarf *m, uint64_t advance);
void make_op(struct make_dwarf *m, uint8_t op);
void make_extended(struct make_dwarf *m, uint8_t op, struct ux_bytes operands);

#endif
