/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes and forms: which attributes of a DIE are read, and how many bytes a value takes. */
#ifndef UX_DWARF_ATTRIBUTE_H
#define UX_DWARF_ATTRIBUTE_H

#include "base.h"
#include "dwarf_defs.h"

/* The sizes that the size of a form depends on, besides the form itself. */
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
	UX_OP_ULEB_4, /* one LEB128 and four bytes */
	UX_OP_STRING, /* text up to a NUL */
	UX_OP_BLOCK1, /* a block: a length of 1, 2, 4 bytes or a ULEB128, then that many bytes */
	UX_OP_BLOCK2,
	UX_OP_BLOCK4,
	UX_OP_BLOCK,
	UX_OP_INDIRECT, /* arg: slot, or UX_SLOT_COUNT; the form is stored in the DIE */
	UX_OP_LOAD,     /* arg: slot | bytes << 5 | form << 9; next word: bytes to skip first */
	UX_OP_READ,     /* arg: slot | form << 8; a form of variable size */
	UX_OP_CONST,    /* arg: slot; the value is the next two words */
	UX_OP_UNKNOWN,  /* an unknown form: only a DIE that uses it fails */
};

enum {
	UX_DWARF_FORMS = 0x2d, /* number of forms from 0 on, without vendors' forms */
	UX_DWARF_FORM_CLASSES = 21,
};

/* The class of a form. All forms of a class have the same size. 0: the size is variable. */
extern const uint8_t ux_dwarf_form_class[UX_DWARF_FORMS];

/* The size of each class under one layout, in bytes; -1 for class 0. */
struct ux_dwarf_form_sizes {
	int8_t of[UX_DWARF_FORM_CLASSES];
};

struct ux_dwarf_form_sizes ux_dwarf_form_sizes(struct ux_dwarf_layout layout);

/* Returns the size of a form when it is fixed under this layout, else -1. */
int ux_dwarf_form_size(uint64_t form, struct ux_dwarf_layout layout);

/* Returns the opcode that skips a form of variable size; UX_OP_END when the form is unknown. */
enum ux_dwarf_op ux_dwarf_form_op(uint64_t form);

/*
 * The attributes that are read, by slot. All entries have the same slots, whatever they are read
 * for: a selection for each purpose made readers that knew different attributes.
 */
enum ux_dwarf_slot {
	UX_SLOT_NAME,
	UX_SLOT_LINKAGE_NAME,
	UX_SLOT_LOW_PC,
	UX_SLOT_HIGH_PC,
	UX_SLOT_RANGES,
	UX_SLOT_ORIGIN,
	UX_SLOT_SPECIFICATION,
	UX_SLOT_CALL_FILE,
	UX_SLOT_CALL_LINE,
	UX_SLOT_CALL_COLUMN,
	UX_SLOT_SIBLING,
	UX_SLOT_STMT_LIST, /* for a function: DW_AT_LLVM_stmt_sequence */
	UX_SLOT_COMP_DIR,
	UX_SLOT_LANGUAGE,
	UX_SLOT_LANGUAGE_NAME,
	UX_SLOT_PRODUCER,
	UX_SLOT_STR_OFFSETS_BASE,
	UX_SLOT_ADDR_BASE,
	UX_SLOT_RNGLISTS_BASE,
	UX_SLOT_DWO_NAME,
	UX_SLOT_DWO_ID,
	UX_SLOT_RANGES_BASE,
	UX_SLOT_SIGNATURE, /* signature of a type in a type unit */
	UX_SLOT_LOCATION,
	UX_SLOT_DECL_FILE,
	UX_SLOT_DECL_LINE,
	UX_SLOT_COUNT
};

/* How the walk treats a DIE of this tag. */
enum ux_dwarf_kind {
	UX_KIND_PLAIN,    /* functions may be inside: step over it, go on with its children */
	UX_KIND_CLASS,    /* functions may be inside in some languages */
	UX_KIND_LEAF,     /* contains no code: skip it with its children */
	UX_KIND_FUNCTION, /* subprogram */
	UX_KIND_INLINE,   /* inlined_subroutine */
	UX_KIND_ROOT,     /* the unit's own DIE */
};

enum ux_dwarf_kind ux_dwarf_kind_of_tag(uint64_t tag);

enum {
	UX_DWARF_ATTRS = 0x80, /* size of the table below: the standard's own attributes */
};

/* The slot of an attribute plus 1; 0 when it is not read. */
extern const uint8_t ux_dwarf_slots[UX_DWARF_ATTRS];

/* Returns the slot of any other attribute; UX_SLOT_COUNT when it is not read. */
enum ux_dwarf_slot ux_dwarf_slot_of_vendor(uint64_t attr);

/* Returns the slot of an attribute; UX_SLOT_COUNT when it is not read. */
ux_inline enum ux_dwarf_slot ux_dwarf_slot_of(uint64_t attr)
{
	if (ux_unlikely(attr >= UX_DWARF_ATTRS))
		return ux_dwarf_slot_of_vendor(attr);
	unsigned slot = ux_dwarf_slots[attr];
	return slot > 0 ? slot - 1 : UX_SLOT_COUNT;
}

#endif
