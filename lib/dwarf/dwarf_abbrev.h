/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Abbreviation tables, translated once into programs that step over a DIE.
 *
 * A table of .debug_abbrev lists for each code the tag, whether children follow, and a list of
 * (attribute, form). A unit's DIEs use a few hundred codes millions of times, so each list becomes
 * a program of 32-bit words: runs of fixed-size forms are one SKIP, attributes that are not read
 * are stepped over by kind, and the few that are go to numbered slots. A DIE that is made of fixed
 * forms only is `fixed` bytes long and needs no program at all.
 */
#ifndef UX_DWARF_ABBREV_H
#define UX_DWARF_ABBREV_H

#include "dwarf_attribute.h"
#include "dwarf_defs.h"
#include "dwarf_sections.h"
#include "vec.h"

struct ux_dwarf_abbrev {
	uint64_t code;
	uint32_t program; /* index of its first word */
	uint32_t attrs;   /* where its attributes are listed, from the table's start on */
	uint32_t fixed;   /* bytes of the DIE's attributes; UINT32_MAX: run the program */
	uint16_t tag;     /* 0xffff when it needs more */
	uint8_t kind;     /* enum ux_dwarf_kind */
	bool has_children;
	bool has_pc;      /* low_pc or ranges is among the attributes */
	uint32_t sibling; /* of a fixed one: 1 + where among those bytes DW_AT_sibling is, of
			   * DW_FORM_ref4; 0 when it is not */
};

enum {
	UX_DWARF_STEPS_MOST = 128, /* codes of one byte, 0 with them */
	UX_DWARF_STEP_MOST = 250,  /* bytes of a DIE that a step passes, but for its block */
};

/* What is known of a DIE beside its size. */
enum {
	UX_STEP_LOOSE = 1 << 0,    /* its size is not known from the step */
	UX_STEP_CODE = 1 << 1,     /* a function with code, or an inlined call */
	UX_STEP_DECLARES = 1 << 2, /* a function without code */
	UX_STEP_CLASS = 1 << 3,    /* of UX_KIND_CLASS */
	UX_STEP_DEEP = 1 << 4,     /* may be passed with its children, but has no DW_AT_sibling */
	UX_STEP_BLOCK = 1 << 5,    /* it has a block */
	UX_STEP_SIBLING = 1 << 6,  /* it has children and DW_AT_sibling */
	UX_STEP_USELESS = 1 << 7,  /* the same, and neither it nor its children are code */
};

/*
 * How a DIE with a code of one byte is passed without looking at anything else: its size, and that
 * of the one block it may have. Few bytes, so that a unit's are in the first-level cache.
 */
struct ux_dwarf_step {
	uint8_t size; /* from the code on, without what is in the block */
	uint8_t flags;
	int8_t depth;    /* of what follows: 1 deeper where children do, -1 behind code 0 */
	uint8_t block;   /* where the block has its length, one byte that is below 0x80 */
	uint8_t sibling; /* where from the code on DW_AT_sibling is: 4 bytes */
	uint8_t unused[3];
};

static_assert(sizeof(struct ux_dwarf_step) == 8, "found by a shift");

/* Immutable once parsed; any thread. */
struct ux_dwarf_abbrevs {
	struct ux_dwarf_abbrev *list; /* ascending codes; malloc'ed, together with the others */
	uint32_t *words;
	struct ux_dwarf_step *steps; /* by code */
	size_t count;
	size_t n_steps; /* 0 when codes are not dense, or stand in another order */
	bool dense;     /* list[i].code == i + 1 throughout */
};

/* One table: where it is, and the layout that its forms have. */
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
UX_VEC(ux_dwarf_step_vec, struct ux_dwarf_step);

/* Memory that one table after the other is parsed into. Zeroed is ready. */
struct ux_dwarf_abbrev_buffers {
	struct ux_dwarf_abbrev_vec list;
	struct ux_dwarf_word_vec words;
	struct ux_dwarf_step_vec steps;
};

/* The same into buffers, which replaces the table parsed there before: nothing of *ret is to be
 * freed. */
enum ux_code ux_dwarf_abbrevs_parse_into(const struct ux_dwarf_sections *sections,
					 const struct ux_dwarf_table *table,
					 struct ux_dwarf_abbrev_buffers *buffers,
					 struct ux_dwarf_abbrevs *ret, struct ux_error *err)
	ux_must;
void ux_dwarf_abbrev_buffers_deinit(struct ux_dwarf_abbrev_buffers *buffers);

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

/* --- the tables of a module ------------------------------------------------------------------ */

/*
 * Thousands of units may name one table, so each is parsed once, by the first thread that needs it.
 * Tables do not overlap: one that runs into the next is corrupt, which bounds the work on all of
 * them by the size of .debug_abbrev.
 */
struct ux_dwarf_parsed_table;
struct ux_dwarf_cached_table {
	struct ux_dwarf_table bounds;
	uint32_t users; /* units that name it */
	/* NULL: not parsed yet. Written once; release and acquire publish what it points to. */
	_Atomic(struct ux_dwarf_parsed_table *) parsed;
};

/* Any thread may use it. */
struct ux_dwarf_abbrev_cache {
	struct ux_dwarf_cached_table *tables; /* malloc'ed; by offset, then layout */
	size_t n_tables;
};

/*
 * Prepares the given tables, which are in any order, may repeat, and lack their ends; ret_index[i]
 * gets the cache's number of tables[i]. UX_ENOMEM.
 */
enum ux_code ux_dwarf_abbrev_cache_create(const struct ux_dwarf_sections *sections,
					  const struct ux_dwarf_table *tables, size_t n,
					  uint32_t *ret_index, struct ux_dwarf_abbrev_cache **ret,
					  struct ux_error *err) ux_must;
struct ux_dwarf_abbrev_cache *ux_dwarf_abbrev_cache_destroy(struct ux_dwarf_abbrev_cache *cache);

/*
 * The abbreviations of table number `table`, parsed now or before; they live as long as the cache.
 * A damaged table fails in the same way each time. With buffers, which may be NULL, a table that
 * only one unit names is parsed into them and lives until the next one is: it is not worth caching.
 */
enum ux_code ux_dwarf_abbrev_cache_get(struct ux_dwarf_abbrev_cache *cache,
				       const struct ux_dwarf_sections *sections, uint32_t table,
				       struct ux_dwarf_abbrev_buffers *buffers,
				       struct ux_dwarf_abbrevs *ret, struct ux_error *err) ux_must;

/*
 * True when no entry can refer out of its unit: to another unit (DW_FORM_ref_addr), a type unit
 * (DW_FORM_ref_sig8), a split unit (DW_AT_dwo_name), or to anything by DW_FORM_indirect. That holds
 * for what compilers write, but not after link-time optimization or dwz. Only .debug_abbrev is
 * read, all of it; a damaged one is false. Any thread.
 */
bool ux_dwarf_units_are_independent(const struct ux_dwarf_sections *sections);

#endif
