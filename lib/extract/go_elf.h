/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a Go program in an ELF file, and what the file says of its tables. */
#ifndef UX_GO_ELF_H
#define UX_GO_ELF_H

#include "elf_file.h"
#include "go_source.h"

/*
 * Loads segments, relative relocations with addends (DT_RELA: the others have theirs in place) and
 * hints of sections and symbols. What does not look like Go's, and what is not linked, has no
 * memory. UX_ENOMEM alone fails: what is damaged is not there.
 */
enum ux_code ux_go_elf_open(const struct ux_elf *elf, struct ux_go_memory *ret,
			    struct ux_error *err) ux_must;

#endif
