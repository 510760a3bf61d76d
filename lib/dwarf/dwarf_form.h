/* SPDX-License-Identifier: Apache-2.0 */
/* Forms: how many bytes a value takes, and how one of variable size is passed. */
#ifndef UX_DWARF_FORM_H
#define UX_DWARF_FORM_H

#include "base.h"

/* What the size of a form depends on, beside the form. */
struct ux_dwarf_layout {
	uint8_t addr_size;     /* 1 to 8 */
	uint8_t offset_size;   /* 4, or 8 in the 64-bit format */
	uint8_t ref_addr_size; /* the address size in DWARF 2, the offset size since */
};

/* Words of the programs that abbreviations are translated to; see dwarf_abbrev.h. */
enum ux_dwarf_op {
	UX_OP_END,
	UX_OP_SKIP,   /* arg: bytes */
	UX_OP_ULEB,   /* one LEB128 */
	UX_OP_STRING, /* text up to a NUL */
	UX_OP_BLOCK1, /* a length of 1, 2, 4 bytes or a ULEB128, and as many bytes */
	UX_OP_BLOCK2,
	UX_OP_BLOCK4,
	UX_OP_BLOCK,
	UX_OP_INDIRECT, /* arg: slot, or UX_SLOT_COUNT; the form stands in the DIE */
	UX_OP_LOAD,     /* arg: slot | bytes << 5 | form << 9; next word: bytes to skip first */
	UX_OP_READ,     /* arg: slot | form << 8; a form of variable size */
	UX_OP_CONST,    /* arg: slot; the value is the next two words */
	UX_OP_UNKNOWN,  /* a form that does not exist: only a DIE that comes here fails */
};

enum {
	UX_DWARF_FORMS = 0x2d, /* from 0 on, vendors' own excepted */
	UX_DWARF_FORM_CLASSES = 21,
};

/* The class of a form, all forms of which take as many bytes; 0 for one of variable size. */
extern const uint8_t ux_dwarf_form_class[UX_DWARF_FORMS];

/* Bytes by class under one layout; -1 for class 0. */
struct ux_dwarf_form_sizes {
	int8_t of[UX_DWARF_FORM_CLASSES];
};

struct ux_dwarf_form_sizes ux_dwarf_form_sizes(struct ux_dwarf_layout layout);

/* Bytes of a form whose size is fixed under this layout, else -1. */
int ux_dwarf_form_size(uint64_t form, struct ux_dwarf_layout layout);

/* The opcode that steps over a form of variable size; UX_OP_END when there is no such form. */
enum ux_dwarf_op ux_dwarf_form_op(uint64_t form);

#endif
