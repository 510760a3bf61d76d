/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a Go program in a Mach-O file, and what the file says of its tables. */
#ifndef UX_GO_MACHO_H
#define UX_GO_MACHO_H

#include "go_source.h"
#include "macho_file.h"

/* As ux_go_elf_open(), for one machine's Mach-O file. Its sections stay when it is stripped. */
enum ux_code ux_go_macho_open(const struct ux_macho *macho, struct ux_go_memory *ret,
			      struct ux_error *err) ux_must;

#endif
