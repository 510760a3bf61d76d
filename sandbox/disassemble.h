/* SPDX-License-Identifier: Apache-2.0 */
/* Machine code to text, in the child alone. */
#ifndef UX_DISASSEMBLE_H
#define UX_DISASSEMBLE_H

#include "capstone_calls.h"
#include "elf_file.h"
#include "out.h"
#include "sandbox.h"

/*
 * Appends the instructions that begin in the range, as of ux_sandbox_disassemble(). What is no code
 * becomes ".byte". UX_EUNSUPPORTED: code for another machine; UX_ENOTFOUND: the file has no bytes
 * there.
 */
enum ux_code ux_disassemble(const struct ux_capstone_calls *calls, const struct ux_elf *elf,
			    const struct ux_code_range *range, struct ux_out *ret,
			    struct ux_error *err) ux_must;

#endif
