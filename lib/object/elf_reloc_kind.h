/* SPDX-License-Identifier: Apache-2.0 */
/* What the relocation types of each machine do, as far as debug sections use them. */
#ifndef UX_ELF_RELOC_KIND_H
#define UX_ELF_RELOC_KIND_H

#include "base.h"

enum ux_elf_reloc_op {
	UX_RELOC_NONE, /* nothing, or nothing that says where code is: offsets of thread-locals */
	UX_RELOC_SET,  /* the place becomes symbol + addend */
	UX_RELOC_ADD,  /* symbol + addend is added to the place */
	UX_RELOC_SUB,  /* it is taken off the place */
};

enum {
	UX_RELOC_ULEB128 = 0, /* "bits" of a place that is an ULEB128, whose length stays */
};

struct ux_elf_reloc_kind {
	uint16_t type;
	uint8_t op;   /* enum ux_elf_reloc_op */
	uint8_t bits; /* of the place: 6 (the low ones of a byte), 8, 16, 24, 32, 64 */
};

/* NULL: not known for that machine (EM_*). */
const struct ux_elf_reloc_kind *ux_elf_reloc_kind_find(uint16_t machine, uint32_t type);

#endif
