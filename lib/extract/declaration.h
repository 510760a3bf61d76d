/* SPDX-License-Identifier: Apache-2.0 */
/* Where a module's variables are declared. */
#ifndef UX_DECLARATION_H
#define UX_DECLARATION_H

#include "code_unit.h"
#include "debug_sections.h"
#include "dwarf_line.h"

/* The DWARF of one ELF file, which stays mapped by who opened it. Zeroed = closed. One thread. */
struct ux_declarations {
	struct ux_object *object;
	struct ux_debug_sections sections;
	struct ux_dwarf_units units;
	struct ux_dwarf_lines lines; /* files of the unit that was read last */
	struct ux_arena texts;
};

/* UX_ENOTFOUND: not an ELF file, or one without units. Close also after a failure. */
enum ux_code ux_declarations_open(struct ux_declarations *d, struct ux_bytes file,
				  struct ux_error *err) ux_must;
void ux_declarations_close(struct ux_declarations *d);

/* A line of the source; its texts live until the next lookup. */
struct ux_declaration {
	struct ux_code_file file;
	uint64_t line;
};

/*
 * Where the variable that begins at pc is declared. Every unit's entries are read up to it. A
 * variable in a split unit's own file, or in the file that dwz made, is not found. UX_ENOTFOUND: no
 * unit that can be read has it, or it says nothing of where.
 */
enum ux_code ux_declarations_find(struct ux_declarations *d, uint64_t pc,
				  struct ux_declaration *ret, struct ux_error *err) ux_must;

#endif
