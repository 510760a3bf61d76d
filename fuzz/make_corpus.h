/* SPDX-License-Identifier: Apache-2.0 */
/* Code shared by the programs that make seeds. */
#ifndef UX_MAKE_CORPUS_H
#define UX_MAKE_CORPUS_H

#include "bytes.h"

/* Writes a seed into its corpus; replaces a seed of the same name. */
void save_seed(const char *corpus, const char *name, struct ux_bytes bytes);

/* Saves a GSYM file as a seed of gsym_batch and gsym_index; the number varies the lookup. */
void save_gsym_seed(const char *name, unsigned number, struct ux_bytes file);

/*
 * Saves the sections of dwarf, in an ELF file, as a seed of extract; the number varies file and
 * options.
 */
struct make_dwarf;
void save_module_seed(const char *name, const struct make_dwarf *dwarf, unsigned number);

/* The same in a Mach-O file. */
void save_macho_seed(const char *name, const struct make_dwarf *dwarf, unsigned number);

void make_cuda_corpus(void);
void make_dwarf_corpus(void);
void make_gosym_corpus(void);
void make_macho_corpus(void);
void make_module_corpus(void);
void make_pack_corpus(void);
void make_perf_corpus(void);
void make_process_corpus(void);
void make_interp_corpus(void);
void make_reloc_corpus(void);
void make_server_corpus(void);
void make_stripped_corpus(void);
void make_wire_corpus(void);

#endif
