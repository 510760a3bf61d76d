/* SPDX-License-Identifier: Apache-2.0 */
/* A Go program's memory as an ELF file. */
#ifndef UX_MAKE_GO_ELF_H
#define UX_MAKE_GO_ELF_H

#include "make_elf.h"
#include "make_gosym.h"

/*
 * Adds sections and segments for what make_go_finish() made: .text, .gopclntab (or, merged,
 * .data.rel.ro), .go.buildinfo, and for the loader's words of a 64-bit program .rela.dyn and
 * .dynamic. Returns the index of .text.
 */
uint32_t make_go_elf(const struct make_go *go, bool merged, struct make_elf *elf);

#endif
