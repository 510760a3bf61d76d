/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses for the sections of files that have none: relocatable ones and cubins. */
#ifndef UX_ELF_LAYOUT_H
#define UX_ELF_LAYOUT_H

#include "elf_file.h"

/*
 * Where the code of an ET_REL begins while we work on it. People count its addresses from 0; inside
 * they begin up here, so that a place in the debug information which no relocation touched (0, a
 * tombstone, what `ld -r` left of a dropped group) is never mistaken for the first function. A
 * 32-bit address still has 3 GiB left.
 */
#define UX_ELF_LAYOUT_BASE (UINT64_C(1) << 30)

/*
 * Gives every section of an ET_REL its addr: executable ones lie one behind the other from
 * UX_ELF_LAYOUT_BASE on, each at a multiple of its alignment, `.text` first, then the others in the
 * order of the table but those named `.init...`, then these: as a kernel places the code of a
 * module. All others are at 0, so that what refers to a debug section is an offset in it. A section
 * that would leave the address space gets UINT64_MAX and holds no code.
 *
 * A cubin (EM_CUDA), linked or not, has all of its code sections at 0, and the driver puts each
 * where it likes: there a code section's addr is its place in the file, which every reader of the
 * file can tell without another one's help. One that leaves the file gets UINT64_MAX.
 */
void ux_elf_layout(struct ux_elf *elf);

#endif
