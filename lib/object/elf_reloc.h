/* SPDX-License-Identifier: Apache-2.0 */
/* Loading sections of a relocatable file with their relocations applied. */
#ifndef UX_ELF_RELOC_H
#define UX_ELF_RELOC_H

#include "base.h"
#include "elf_file.h"
#include "object.h"

enum ux_elf_reloc_op {
	UX_RELOC_NONE, /* no effect, or none on addresses of code: offsets of thread-locals */
	UX_RELOC_SET,  /* the field becomes symbol + addend */
	UX_RELOC_ADD,  /* symbol + addend is added to the field */
	UX_RELOC_SUB,  /* symbol + addend is subtracted from the field */
};

enum {
	UX_RELOC_ULEB128 = 0, /* the value of `bits` for a ULEB128 field, which keeps its length */
};

struct ux_elf_reloc_kind {
	uint16_t type;
	uint8_t op;   /* enum ux_elf_reloc_op */
	uint8_t bits; /* width of the field: 6 (the low bits of a byte), 8, 16, 24, 32, 64 */
};

/* Returns NULL when the type is unknown for that machine (EM_*). */
const struct ux_elf_reloc_kind *ux_elf_reloc_kind_find(uint16_t machine, uint32_t type);

/*
 * Returns true when elf is an ET_REL or a cubin, the kinds with relocations that are applied, and
 * has relocations for the section.
 */
bool ux_elf_section_has_relocs(const struct ux_elf *elf, const struct ux_elf_section *section);

/*
 * ux_elf_section_load(), and every relocation of an ET_REL or a cubin for that section (SHT_REL,
 * SHT_RELA, SHT_CREL) applied to a copy, which is spilled like an inflated one. Addresses of
 * symbols come from ux_elf_layout(). *loss is set. UX_ECORRUPT: a relocation table is malformed,
 * exceeds the file or has no symbol table.
 */
enum ux_code ux_elf_section_load_relocated(const struct ux_elf *elf,
					   const struct ux_elf_section *section, uint64_t max_size,
					   struct ux_spill *spill, struct ux_content *ret,
					   struct ux_reloc_loss *loss, struct ux_error *err)
	ux_must;

#endif
