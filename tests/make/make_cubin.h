/* SPDX-License-Identifier: Apache-2.0 */
/* An assembler for cubins, so that tests need no toolkit. */
#ifndef UX_MAKE_CUBIN_H
#define UX_MAKE_CUBIN_H

#include "make_elf.h"

/* A cubin in progress. It aborts if out of memory. */
struct make_cubin {
	struct make_elf elf;
	struct ux_out lines;   /* .debug_line */
	struct ux_out strings; /* .debug_str */
	struct ux_out relocs;  /* of .debug_line */
	struct ux_out ptx;     /* .nv_debug_line_sass */
	struct ux_out ptx_relocs;
	uint32_t n_symbols;
	uint32_t sm;
	bool cuda12;          /* header of CUDA 12 and before; else of CUDA 13 */
	size_t table;         /* where the current table begins */
	size_t header_length; /* where that stands */
	uint32_t names;       /* where the table's names begin in .debug_str */
	uint64_t pc;          /* registers of the program */
	uint32_t file, line;
};

void make_cubin_init(struct make_cubin *m, uint32_t sm, bool cuda12);
void make_cubin_deinit(struct make_cubin *m);

/* A code section, named `section` (".text.NAME"), and nothing that names it; its index. */
uint32_t make_cubin_section(struct make_cubin *m, const char *section, size_t size);

/* Adds a function in it; returns its number in the symbol table. */
uint32_t make_cubin_function(struct make_cubin *m, const char *name, uint32_t section,
			     uint64_t value, uint64_t size);

/* Begins a line table of DWARF 2: the names of directories 1, 2, ..., and of files 1, 2, ... with
 * the numbers of their directories. Lists end with NULL. */
void make_cubin_lines_begin(struct make_cubin *m, const char *const *dirs, const char *const *files,
			    const uint8_t *dir_of);
void make_cubin_lines_end(struct make_cubin *m);

/* Rows for the section of that function. Offsets count from it. */
void make_cubin_sequence(struct make_cubin *m, uint32_t function);
void make_cubin_row(struct make_cubin *m, uint64_t off, uint32_t file, uint32_t line);
/* The following rows belong to `name`, which row `context` calls; 0: no longer inlined. */
void make_cubin_inlined(struct make_cubin *m, uint32_t context, const char *name);
void make_cubin_sequence_end(struct make_cubin *m, uint64_t off);

/* Marks all lines since make_cubin_init() or the last call as lines of PTX, file 0. */
void make_cubin_lines_are_ptx(struct make_cubin *m);

/* Returns the file; it belongs to m. Call it once for each m. */
struct ux_bytes make_cubin_finish(struct make_cubin *m);

#endif
