/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Abbreviation tables, translated once into programs that step over a DIE.
 *
 * A table of .debug_abbrev says for each code the tag, whether children follow, and a list of
 * (attribute, form). A unit's DIEs use a few hundred codes millions of times, so each list becomes
 * a program of 32-bit words: runs of fixed-size forms are one SKIP, attributes that nobody here
 * wants are stepped over by kind, and the few that matter are read into numbered slots. A DIE that
 * is made of fixed forms only is `fixed` bytes long and needs no program at all.
 */
#ifndef UX_DWARF_ABBREV_H
#define UX_DWARF_ABBREV_H

#include "dwarf_defs.h"
#include "dwarf_sections.h"
#include "vec.h"

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
	UX_SLOT_PRODUCER,
	UX_SLOT_STR_OFFSETS_BASE,
	UX_SLOT_ADDR_BASE,
	UX_SLOT_RNGLISTS_BASE,
	UX_SLOT_DWO_NAME,
	UX_SLOT_DWO_ID,
	UX_SLOT_RANGES_BASE,
	UX_SLOT_SIGNATURE, /* of a type that stands in a type unit */
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

struct ux_dwarf_abbrev {
	uint64_t code;
	uint32_t program; /* index of its first word */
	uint32_t fixed;   /* bytes of the DIE's attributes; UINT32_MAX: run the program */
	uint16_t tag;     /* 0xffff when it needs more */
	uint8_t kind;     /* enum ux_dwarf_kind */
	bool has_children;
	bool has_pc; /* low_pc or ranges is among the attributes */
};

/* What the size of a form depends on, beside the form. */
struct ux_dwarf_layout {
	uint8_t addr_size;     /* 1 to 8 */
	uint8_t offset_size;   /* 4, or 8 in the 64-bit format */
	uint8_t ref_addr_size; /* the address size in DWARF 2, the offset size since */
};

/* Immutable once parsed; any thread. */
struct ux_dwarf_abbrevs {
	struct ux_dwarf_abbrev *list; /* ascending codes; malloc'ed, together with words */
	uint32_t *words;
	size_t count;
	bool dense; /* list[i].code == i + 1 throughout */
};

/* One table: where it is, and how its forms are to be measured. */
struct ux_dwarf_table {
	uint64_t off; /* in .debug_abbrev */
	uint64_t end; /* where the next table begins, or the section ends */
	struct ux_dwarf_layout layout;
};

/*
 * Parses a table of up to 16 MiB. UX_ECORRUPT when it leaves its bounds; a form that does not exist
 * costs only the entries of .debug_info that use it. UX_ENOMEM.
 */
enum ux_code ux_dwarf_abbrevs_parse(const struct ux_dwarf_sections *sections,
				    const struct ux_dwarf_table *table,
				    struct ux_dwarf_abbrevs *ret, struct ux_error *err) ux_must;
void ux_dwarf_abbrevs_free(struct ux_dwarf_abbrevs *table);

UX_VEC(ux_dwarf_abbrev_vec, struct ux_dwarf_abbrev);
UX_VEC(ux_dwarf_word_vec, uint32_t);

/* Where one table after the other is parsed. Zeroed is ready. */
struct ux_dwarf_abbrev_room {
	struct ux_dwarf_abbrev_vec list;
	struct ux_dwarf_word_vec words;
};

/* The same into the room, whose table before is gone: nothing of *ret is to be freed. */
enum ux_code ux_dwarf_abbrevs_parse_in(const struct ux_dwarf_sections *sections,
				       const struct ux_dwarf_table *table,
				       struct ux_dwarf_abbrev_room *room,
				       struct ux_dwarf_abbrevs *ret, struct ux_error *err) ux_must;
void ux_dwarf_abbrev_room_deinit(struct ux_dwarf_abbrev_room *room);

const struct ux_dwarf_abbrev *ux_dwarf_abbrevs_search(const struct ux_dwarf_abbrevs *table,
						      uint64_t code);

/* The entry of a code, or NULL. */
ux_inline const struct ux_dwarf_abbrev *ux_dwarf_abbrevs_find(const struct ux_dwarf_abbrevs *table,
							      uint64_t code)
{
	if (ux_likely(table->dense))
		return code - 1 < table->count ? &table->list[code - 1] : NULL;
	return ux_dwarf_abbrevs_search(table, code);
}

/*
 * The program that reads what an entry others stand in is called: name, specification, signature.
 * It is there beside the walk's own for the tags that ux_dwarf_tag_names() tells, of which the walk
 * wants to know nothing.
 */
const uint32_t *ux_dwarf_abbrevs_naming(const struct ux_dwarf_abbrevs *table,
					const struct ux_dwarf_abbrev *abbrev);

/* True for namespaces, modules and types: their names qualify those of the functions in them. */
ux_inline bool ux_dwarf_tag_names(uint64_t tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:
		return true;
	default:
		return false;
	}
}

/* Bytes of a form whose size is fixed under this layout, else -1. */
int ux_dwarf_form_size(uint64_t form, struct ux_dwarf_layout layout);

/* The opcode that steps over a form of variable size; UX_OP_END when there is no such form. */
enum ux_dwarf_op ux_dwarf_form_op(uint64_t form);

#endif
