/* SPDX-License-Identifier: Apache-2.0 */
/* Contents of sections of a relocatable file with their relocations applied. */
#ifndef UX_ELF_RELOC_H
#define UX_ELF_RELOC_H

#include "base.h"
#include "elf_file.h"
#include "object.h"

enum ux_elf_reloc_op {
	UX_RELOC_NONE, /* nothing, or nothing that says where code is: offsets of thread-locals */
	UX_RELOC_SET,  /* the field becomes symbol + addend */
	UX_RELOC_ADD,  /* symbol + addend is added to the field */
	UX_RELOC_SUB,  /* it is subtracted from the field */
};

enum {
	UX_RELOC_ULEB128 = 0, /* "bits" of a field that is an ULEB128, whose length stays */
};

struct ux_elf_reloc_kind {
	uint16_t type;
	uint8_t op;   /* enum ux_elf_reloc_op */
	uint8_t bits; /* of the field: 6 (the low ones of a byte), 8, 16, 24, 32, 64 */
};

/* NULL: not known for that machine (EM_*). */
const struct ux_elf_reloc_kind *ux_elf_reloc_kind_find(uint16_t machine, uint32_t type);

/* True when elf is one whose relocations we apply, an ET_REL or a cubin, and has some for the
 * section. */
bool ux_elf_section_has_relocs(const struct ux_elf *elf, const struct ux_elf_section *section);

/*
 * ux_elf_section_load(), and every relocation of an ET_REL or a cubin for that section (SHT_REL,
 * SHT_RELA, SHT_CREL) applied to a copy, which is spilled like an inflated one. Symbols count as
 * elf_file.h lays out their sections. *loss is set. UX_ECORRUPT: a table of relocations that is
 * none, leaves the file or has no symbol table.
 */
enum ux_code ux_elf_section_load_relocated(const struct ux_elf *elf,
					   const struct ux_elf_section *section, uint64_t max_size,
					   const char *spill, struct ux_content *ret,
					   struct ux_reloc_loss *loss, struct ux_error *err)
	ux_must;

#endif
