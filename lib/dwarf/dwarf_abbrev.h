/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Abbreviation tables, each translated once into programs that read or skip a DIE.
 *
 * A table of .debug_abbrev lists for each code the tag, whether children follow, and a list of
 * (attribute, form). A unit's DIEs use a few hundred codes millions of times, so each list is
 * translated into a program of 32-bit words: consecutive forms of fixed size become one SKIP,
 * attributes that are not needed are skipped by the kind of their form, and the few that are needed
 * are stored in numbered slots. A DIE that has only forms of fixed size is `fixed` bytes long and
 * can be skipped without running its program.
 */
#ifndef UX_DWARF_ABBREV_H
#define UX_DWARF_ABBREV_H

#include "arena.h"
#include "cursor.h"
#include "dwarf_attribute.h"
#include "dwarf_defs.h"
#include "dwarf_sections.h"
#include "leb.h"
#include "map.h"
#include "vec.h"

struct ux_dwarf_abbrev {
	uint64_t code;
	uint32_t program; /* index of its first word */
	uint16_t tag;     /* 0xffff when it does not fit 16 bits */
	uint8_t kind;     /* enum ux_dwarf_kind */
	bool has_children;
	bool has_pc; /* low_pc or ranges is among the attributes */
};

enum {
	UX_DWARF_STEPS_MAX = 1 << 14, /* all codes of one and two bytes, including 0 */
	UX_DWARF_STEPS_MIN = 0x80,    /* all codes of one byte; codes without an entry are loose */
	UX_DWARF_STEP_MAX = 250,      /* most bytes of a DIE that a step skips, without its text
					  and its block */
	UX_DWARF_STEP_TEXT = 8,       /* bytes that are searched for the end of a step's text */
};

/* Flags of a step: facts about the DIE besides its size. */
enum {
	UX_STEP_LOOSE = 1 << 0,    /* its size cannot be computed from the step */
	UX_STEP_CODE = 1 << 1,     /* a function with code */
	UX_STEP_DECLARES = 1 << 2, /* a function without code */
	UX_STEP_CLASS = 1 << 3,    /* its kind is UX_KIND_CLASS */
	UX_STEP_DEEP = 1 << 4,     /* may be skipped with its children, but has no DW_AT_sibling */
	UX_STEP_BLOCK = 1 << 5,    /* it has one block */
	UX_STEP_SIBLING = 1 << 6,  /* it has children and DW_AT_sibling */
	UX_STEP_USELESS = 1 << 7, /* as UX_STEP_SIBLING, and neither it nor its children are code */
	UX_STEP_TEXT = 1 << 8,    /* it has one text, before its block and DW_AT_sibling */
	UX_STEP_CALL = 1 << 9,    /* an inlined call */
	UX_STEP_SECOND = 1 << 10, /* it has a second block, and no DW_AT_sibling */
};

/*
 * How to skip a DIE with a code of one or two bytes: its size, and the positions of the one text
 * and of the blocks that it may have. All offsets count from the code on, without the content
 * of the text. The struct is small so that all steps of a unit fit into the first-level cache.
 */
struct ux_dwarf_step {
	uint16_t flags;
	uint8_t size;  /* bytes from the code on, without the content of the text and the blocks */
	int8_t depth;  /* change of depth: 1 when the DIE has children, -1 for code 0 */
	uint8_t text;  /* offset of the text */
	uint8_t block; /* offset of the block's length, one byte that is below 0x80 */
	uint8_t sibling; /* offset of DW_AT_sibling, 4 bytes; or of the second block's length, as
			    above */
	uint8_t zero;    /* 0, so that equal steps have equal bytes */
};

static_assert(sizeof(struct ux_dwarf_step) == 8, "found by a shift");

/* A parsed table. Immutable: any thread. */
struct ux_dwarf_abbrevs {
	struct ux_dwarf_abbrev
		*list; /* sorted by code; malloc'ed in one block with the arrays below */
	uint32_t *words;
	struct ux_dwarf_step *steps; /* indexed by code */
	size_t count;
	size_t n_steps; /* at least UX_DWARF_STEPS_MIN; 0 when codes are not consecutive, or in
			   another order */
	bool dense;     /* list[i].code == i + 1 for all i */
};

/* The position of a table, and the layout that determines the sizes of its forms. */
struct ux_dwarf_table {
	uint64_t off; /* in .debug_abbrev */
	uint64_t end; /* start of the next table, or end of the section */
	struct ux_dwarf_layout layout;
};

/*
 * Parses a table of up to 16 MiB. UX_ECORRUPT when it exceeds its bounds. An unknown form is only
 * an error for DIEs that use it. UX_ENOMEM.
 */
enum ux_code ux_dwarf_abbrevs_parse(const struct ux_dwarf_sections *sections,
				    const struct ux_dwarf_table *table,
				    struct ux_dwarf_abbrevs *ret, struct ux_error *err) ux_must;
void ux_dwarf_abbrevs_free(struct ux_dwarf_abbrevs *table);

UX_VEC(ux_dwarf_abbrev_vec, struct ux_dwarf_abbrev);
UX_VEC(ux_dwarf_word_vec, uint32_t);
UX_VEC(ux_dwarf_step_vec, struct ux_dwarf_step);

struct ux_dwarf_known;

/* Buffers for parsing one table after the other. Zeroed is ready. */
struct ux_dwarf_abbrev_buffers {
	struct ux_dwarf_abbrev_vec list;
	struct ux_dwarf_word_vec words;
	struct ux_dwarf_step_vec steps;
	struct ux_dwarf_known *known; /* declarations of earlier tables; malloc'ed, or NULL */
};

/*
 * As ux_dwarf_abbrevs_parse(), into buffers, which replaces the table that was parsed there before.
 * *ret must not be freed.
 */
enum ux_code ux_dwarf_abbrevs_parse_into(const struct ux_dwarf_sections *sections,
					 const struct ux_dwarf_table *table,
					 struct ux_dwarf_abbrev_buffers *buffers,
					 struct ux_dwarf_abbrevs *ret, struct ux_error *err)
	ux_must;
void ux_dwarf_abbrev_buffers_deinit(struct ux_dwarf_abbrev_buffers *buffers);

const struct ux_dwarf_abbrev *ux_dwarf_abbrevs_search(const struct ux_dwarf_abbrevs *table,
						      uint64_t code);

/* Returns the entry of a code, or NULL. */
ux_inline const struct ux_dwarf_abbrev *ux_dwarf_abbrevs_find(const struct ux_dwarf_abbrevs *table,
							      uint64_t code)
{
	if (ux_likely(table->dense))
		return code - 1 < table->count ? &table->list[code - 1] : NULL;
	return ux_dwarf_abbrevs_search(table, code);
}

/*
 * Returns true for namespaces, modules and types: their names qualify the names of the functions in
 * them.
 */
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
 * An abbreviation table in the cache. Thousands of units may use one table, so each is parsed once,
 * by the first thread that needs it. Tables must not overlap: one that extends into the next is
 * corrupt. This bounds the work on all tables by the size of .debug_abbrev.
 */
struct ux_dwarf_parsed_table;
struct ux_dwarf_cached_table {
	struct ux_dwarf_table bounds;
	uint32_t users; /* number of units that use it */
	/* NULL: not parsed yet. Written once; release and acquire publish the table that it points
	 * to. */
	_Atomic(struct ux_dwarf_parsed_table *) parsed;
};

/* All abbreviation tables of a module. Thread-safe. */
struct ux_dwarf_abbrev_cache {
	struct ux_dwarf_cached_table *tables; /* malloc'ed; sorted by offset, then layout */
	size_t n_tables;
};

/*
 * Creates a cache for the given tables, which are in any order and may repeat; their `end` is not
 * set yet. ret_index[i] is the number of tables[i] in the cache. UX_ENOMEM.
 */
enum ux_code ux_dwarf_abbrev_cache_create(const struct ux_dwarf_sections *sections,
					  const struct ux_dwarf_table *tables, size_t n,
					  uint32_t *ret_index, struct ux_dwarf_abbrev_cache **ret,
					  struct ux_error *err) ux_must;
struct ux_dwarf_abbrev_cache *ux_dwarf_abbrev_cache_destroy(struct ux_dwarf_abbrev_cache *cache);

/*
 * Returns the abbreviations of table number `table`, which is parsed if necessary; they are valid
 * as long as the cache. A damaged table fails in the same way each time. buffers may be NULL. With
 * them, a table that only one unit uses is not cached, but parsed into the buffers, and is valid
 * until they are used again.
 */
enum ux_code ux_dwarf_abbrev_cache_get(struct ux_dwarf_abbrev_cache *cache,
				       const struct ux_dwarf_sections *sections, uint32_t table,
				       struct ux_dwarf_abbrev_buffers *buffers,
				       struct ux_dwarf_abbrevs *ret, struct ux_error *err) ux_must;

/*
 * Returns true when no DIE can refer to another unit: directly (DW_FORM_ref_addr), a type unit
 * (DW_FORM_ref_sig8), a split unit (DW_AT_dwo_name), or to anything by DW_FORM_indirect. This is
 * true for compilers' output, but not after link-time optimization or dwz. Only .debug_abbrev is
 * read, all of it; a damaged one is false. Any thread.
 */
bool ux_dwarf_units_are_independent(const struct ux_dwarf_sections *sections);

/*
 * Returns false when no unit can have an inlined call: no abbreviation is one
 * (DW_TAG_inlined_subroutine), and none names a split unit, which has abbreviations of its own. As
 * above only .debug_abbrev is read; a damaged one is true. Any thread.
 */
bool ux_dwarf_units_may_inline(const struct ux_dwarf_sections *sections);

/* --- abbreviations that were translated before ------------------------------------------------ */

/*
 * A compiler writes the same few thousand declarations into the tables of all units, and only their
 * codes differ, so that most of them are recognized by their bytes instead of being translated
 * again.
 */

enum {
	UX_DWARF_KNOWN_MAX = 1 << 13,       /* declarations that are kept */
	UX_DWARF_KNOWN_BYTES = 96,          /* longest declaration that is kept */
	UX_DWARF_KNOWN_WORDS_MAX = 1 << 20, /* words of programs, before all are dropped */
};

/* A declaration after its code. Its step depends on the code's size. */
struct ux_dwarf_known_key {
	struct ux_bytes bytes; /* empty: do not search for it */
	uint64_t hash;         /* hash of `bytes` and `wide` */
	bool wide;             /* the code has two bytes */
};

/*
 * The translation of a declaration. Code and `attrs` of the entry differ from table to table, and
 * so does the number of the layout. The struct is small, since thousands of them are read in an
 * order that defeats caches.
 */
struct ux_dwarf_known_abbrev {
	struct ux_dwarf_abbrev entry;
	struct ux_dwarf_step step;
	uint8_t size; /* size of the key's bytes */
	bool wide;    /* the key's `wide` */
	uint8_t bytes[];
};

static_assert(UX_DWARF_KNOWN_BYTES <= UINT8_MAX, "`size` is a byte");

ux_inline struct ux_dwarf_known_key ux_dwarf_known_key_of(struct ux_bytes bytes, bool wide)
{
	uint64_t hash = bytes.size > 0 ? ux_hash_bytes(bytes) ^ (uint64_t)wide << 32 : 0;
	return (struct ux_dwarf_known_key){bytes, hash, wide};
}

ux_inline bool ux_dwarf_known_is(const struct ux_dwarf_known_abbrev *known,
				 struct ux_dwarf_known_key key)
{
	return known->wide == key.wide && known->size == key.bytes.size &&
	       memcmp(known->bytes, key.bytes.data, key.bytes.size) == 0;
}

#define UX_DWARF_KNOWN_HASH_(hash) (hash)
#define UX_DWARF_KNOWN_SAME_(a, b) ((a) == (b))

/* Found by the hash of the key alone. Of declarations with one hash the first is kept. */
UX_MAP(ux_dwarf_known_map, uint64_t, const struct ux_dwarf_known_abbrev *, UX_DWARF_KNOWN_HASH_,
       UX_DWARF_KNOWN_SAME_);

/* The declarations that one thread has translated. The words of their programs are in the buffers
 * that these belong to. */
struct ux_dwarf_known {
	struct ux_dwarf_known_map map;
	struct ux_arena arena;         /* holds the translations */
	struct ux_dwarf_layout layout; /* layout for which they were translated */
};

/*
 * Begins a table: drops the translations for another layout, and all translations once
 * the programs have more than UX_DWARF_KNOWN_WORDS_MAX words. True when it dropped them.
 */
bool ux_dwarf_known_begin(struct ux_dwarf_known *known, struct ux_dwarf_layout layout,
			  size_t words);

/* Returns the translation of a declaration with this hash, or NULL. */
ux_inline const struct ux_dwarf_known_abbrev *ux_dwarf_known_find(
	const struct ux_dwarf_known *known, uint64_t hash)
{
	const struct ux_dwarf_known_abbrev *const *found =
		ux_dwarf_known_map_find(&known->map, hash);
	return found ? *found : NULL;
}

/* Keeps a translation, if there is room for it. False when memory is short. */
bool ux_dwarf_known_add(struct ux_dwarf_known *known, struct ux_dwarf_known_key key,
			const struct ux_dwarf_abbrev *entry, const struct ux_dwarf_step *step)
	ux_must;

void ux_dwarf_known_deinit(struct ux_dwarf_known *known);

/*
 * Returns how many bytes the declaration at c seems to have: up to the first two zero bytes after
 * its tag and its flag of children; 0 when it is long, or near the end of the table. In rare lists
 * two zero bytes precede the end. The bytes before them are not a whole declaration, so no kept
 * declaration equals them.
 */
ux_inline size_t ux_dwarf_known_size(const struct ux_cur *c)
{
	const uint64_t low = UINT64_C(0x7f7f7f7f7f7f7f7f);
	enum {
		FIRST = 2, /* least bytes of tag and flag */
		WINDOW = sizeof(uint64_t),
	};
	if (ux_cur_left(c) < UX_DWARF_KNOWN_BYTES + WINDOW)
		return 0;
	for (size_t at = FIRST; at <= UX_DWARF_KNOWN_BYTES - WINDOW; at += WINDOW - 1) {
		uint64_t v = ux_leb_window(c->pos + at);
		uint64_t zeros = ~(((v & low) + low) | v | low); /* bit 7 of each zero byte */
		uint64_t pairs = zeros & zeros >> 8;
		if (pairs != 0)
			return at + (size_t)__builtin_ctzll(pairs) / 8 + 2;
	}
	return 0;
}

#endif
