/* SPDX-License-Identifier: Apache-2.0 */
/* Which attributes of which DIEs are wanted. */
#ifndef UX_DWARF_SLOT_H
#define UX_DWARF_SLOT_H

#include "base.h"
#include "dwarf_defs.h"

/* The attributes that are read, by slot. */
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
	UX_SLOT_SIBLING,
	UX_SLOT_STMT_LIST, /* of a function: DW_AT_LLVM_stmt_sequence */
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
	UX_SLOT_SIGNATURE, /* of a type that stands in a type unit */
	UX_SLOT_LOCATION,
	UX_SLOT_DECL_FILE,
	UX_SLOT_DECL_LINE,
	UX_SLOT_COUNT
};

/* What the walk does with a DIE of this tag. */
enum ux_dwarf_kind {
	UX_KIND_PLAIN,    /* functions may be inside: step over it, go on with its children */
	UX_KIND_CLASS,    /* functions may be inside in some languages */
	UX_KIND_LEAF,     /* no code inside: jump over all of it */
	UX_KIND_FUNCTION, /* subprogram */
	UX_KIND_INLINE,   /* inlined_subroutine */
	UX_KIND_ROOT,     /* the unit's own DIE */
};

enum ux_dwarf_kind ux_dwarf_kind_of_tag(uint64_t tag);

/* Sets of wanted attributes. */
enum ux_dwarf_want {
	UX_WANT_SIBLING, /* nothing but how to get behind the children */
	UX_WANT_CODE,    /* of a function or an inlined call */
	UX_WANT_ROOT,    /* of a unit's own DIE */
	UX_WANT_NAME, /* of what others stand in: what it is called, and where its declaration is */
	UX_WANT_VARIABLE, /* where it is, and where it is declared */
	UX_WANT_COUNT
};

enum {
	UX_DWARF_ATTRS =
		0x80, /* attributes that the table below knows: the standard's first ones */
};

/* The slot of an attribute plus 1; 0 when it is not wanted. */
extern const uint8_t ux_dwarf_slots[UX_WANT_COUNT][UX_DWARF_ATTRS];

/* The slot of any other attribute; UX_SLOT_COUNT when it is not wanted. */
enum ux_dwarf_slot ux_dwarf_slot_of_vendor(enum ux_dwarf_want want, uint64_t attr);

/* Where an attribute goes; UX_SLOT_COUNT: nowhere. */
ux_inline enum ux_dwarf_slot ux_dwarf_slot_of(enum ux_dwarf_want want, uint64_t attr)
{
	if (ux_unlikely(attr >= UX_DWARF_ATTRS))
		return ux_dwarf_slot_of_vendor(want, attr);
	unsigned slot = ux_dwarf_slots[want][attr];
	return slot > 0 ? slot - 1 : UX_SLOT_COUNT;
}

#endif
