/* SPDX-License-Identifier: Apache-2.0 */
/* The names of functions: through abstract origins and specifications, also of other units, and
 * qualified by what they stand in. */
#ifndef UX_DWARF_NAME_H
#define UX_DWARF_NAME_H

#include "arena.h"
#include "dwarf_line.h"
#include "dwarf_unit.h"
#include "map.h"
#include "vec.h"

/*
 * An entry with children. Those that stand directly in it are found by one pass over them, when an
 * offset inside is first looked up; where the producer writes DW_AT_sibling that is a jump each.
 * Entries that no lookup needs are never read.
 */
struct ux_dwarf_scope {
	uint64_t off; /* of the entry */
	uint64_t inside;
	uint64_t end;
	uint32_t parent;
	uint32_t first; /* of those that stand in it, in ascending order */
	uint32_t count;
	uint16_t tag;
	bool known; /* first and count are set */
};

UX_VEC(ux_dwarf_scope_vec, struct ux_dwarf_scope);

/* The scopes of one unit that were read; [0] is the unit's own entry. Zeroed is empty. */
struct ux_dwarf_scopes {
	struct ux_dwarf_scope_vec list;
};

enum {
	UX_DWARF_SCOPES_DEEP = 64, /* entries around one that are looked at; real code has 20 */
};

/*
 * The innermost entry around off, other than the one at off, that names what is in it: a namespace,
 * type, module or function. 0 when that is the unit, or nothing that names (an inlined call). *work
 * is charged for the entries passed; at 0 no more scopes are read. UX_ENOMEM.
 */
enum ux_code ux_dwarf_scopes_find(struct ux_dwarf_scopes *scopes,
				  const struct ux_dwarf_context *ctx, uint64_t off, uint64_t *work,
				  uint32_t *ret, struct ux_error *err) ux_must;

/* The same for the entry of a scope: the one around it, 0 for none. */
uint32_t ux_dwarf_scopes_around(const struct ux_dwarf_scopes *scopes, uint32_t scope);

static inline void ux_dwarf_scopes_deinit(struct ux_dwarf_scopes *scopes)
{
	ux_dwarf_scope_vec_deinit(&scopes->list);
}

enum {
	UX_DWARF_ORIGINS_MOST = 16
}; /* of an origin chain; real ones have up to 4 */

/* Another unit that names led to. */
struct ux_dwarf_open_unit {
	struct ux_dwarf_context ctx;
	struct ux_dwarf_scopes scopes;
};

#define UX_DWARF_SAME_(a, b) ((a) == (b))
UX_MAP(ux_dwarf_open_unit_map, uint64_t, struct ux_dwarf_open_unit *, ux_hash_u64, UX_DWARF_SAME_);

/* A cached name; an entry of another generation is empty. */
struct ux_dwarf_name_slot {
	uint64_t off; /* of the DIE in .debug_info; bit 63: of the supplementary file */
	uint32_t generation;
	uint32_t name;
};

/* A DIE, and the unit it is in. */
struct ux_dwarf_die_location {
	const struct ux_dwarf_context *ctx;
	uint64_t off;
};

/* A name that is to be qualified by what its DIE stands in. */
struct ux_dwarf_unqualified {
	uint32_t name;
	struct ux_dwarf_die_location at;
};

/* A name that is to be found: that of the DIE at `from`, which leads to another one. */
struct ux_dwarf_pending_name {
	uint64_t from;
	struct ux_dwarf_ref to;
	uint32_t name;
	bool nested;
};

UX_VEC(ux_dwarf_pending_name_vec, struct ux_dwarf_pending_name);
UX_VEC(ux_dwarf_unqualified_vec, struct ux_dwarf_unqualified);
UX_VEC(ux_dwarf_own_vec, uint32_t);
UX_VEC(ux_dwarf_off_vec, uint64_t);

/*
 * One thread's resolver. Names of one unit are numbered from 0 in the order of first use, and
 * looked up once per origin: the same inlined function is named thousands of times.
 *
 * Names that another DIE has are looked up at the end of the unit, many at a time: the memory of
 * one is prefetched while another is read.
 *
 * Names that are not linkage names are then qualified: "a::f" for f of the namespace a. Only these
 * few cost reading what they stand in.
 */
struct ux_dwarf_names {
	const struct ux_dwarf_sections *sections;
	const struct ux_dwarf_units *units;
	struct ux_dwarf_text_vec
		list; /* the current unit's names by number; text of the sections, or made */
	struct ux_dwarf_own_vec own; /* where in the text the function's own name begins */
	struct ux_dwarf_pending_name_vec pending;
	struct ux_dwarf_unqualified_vec unqualified;
	struct ux_dwarf_off_vec outermost; /* DIEs that are known to stand directly in the unit */
	struct ux_dwarf_name_slot *slots;
	size_t cap; /* of slots, a power of two */
	size_t used;
	uint32_t generation;
	struct ux_arena *texts; /* where qualified names are made: arena, or what the user sets */
	struct ux_arena arena;  /* other units that names led to */
	struct ux_dwarf_open_unit_map
		others; /* by unit's offset and file; NULL: it cannot be opened */
	const struct ux_dwarf_context *ctx; /* the current unit */
	bool joined;                        /* its language qualifies names */
	struct ux_dwarf_scopes scopes;      /* its own */
	size_t far_scopes;                  /* that others know */
	uint64_t scope_work;                /* entries that may still be passed to read scopes */
	uint64_t text_left;                 /* bytes the unit's qualified names may still take */
};

enum {
	UX_DWARF_QUALIFIED_MOST = 1 << 14, /* bytes of a name with what it is qualified by */
	UX_DWARF_FAR_SCOPES = 1 << 18,     /* of other units, kept; some 12 MB */
	UX_DWARF_SCOPE_WORK = 16, /* entries passed for each byte of .debug_info, beside .. */
	UX_DWARF_SCOPE_WORK_FREE = 1 << 16,
	UX_DWARF_QUALIFIED_EACH = 8, /* bytes of made names for each byte of the unit */
};

void ux_dwarf_names_init(struct ux_dwarf_names *names, const struct ux_dwarf_sections *sections,
			 const struct ux_dwarf_units *units);
void ux_dwarf_names_deinit(struct ux_dwarf_names *names);

/* Drops the names of the unit before and starts with the unit of ctx. */
void ux_dwarf_names_begin(struct ux_dwarf_names *names, const struct ux_dwarf_context *ctx);

/*
 * The number of the DIE's name: its linkage name, else its short one, found along abstract_origin
 * and specification by ux_dwarf_names_end(), which may find none: then the list holds NULL (also
 * when a reference leads nowhere). UX_CODE_NO_NAME: it has none and leads to none. nested: the DIE
 * itself stands in what qualifies its name; false for an inlined call, and for what stands directly
 * in the unit. UX_ENOMEM.
 */
enum ux_code ux_dwarf_names_of(struct ux_dwarf_names *names, const struct ux_dwarf_context *ctx,
			       const struct ux_dwarf_die *die, bool nested, uint32_t *ret,
			       struct ux_error *err) ux_must;

/*
 * Notes a DIE that stands directly in the unit, in ascending order: a name that is found there
 * needs no search of scopes. It may be left out. False when memory is short.
 */
ux_inline bool ux_dwarf_names_outermost(struct ux_dwarf_names *names, uint64_t off)
{
	return !names->joined || ux_dwarf_off_vec_append(&names->outermost, off);
}

/* The first half of ux_dwarf_names_end(): finds the pending names. UX_ENOMEM. */
enum ux_code ux_dwarf_names_find(struct ux_dwarf_names *names, struct ux_error *err) ux_must;

/*
 * Finds the names of the unit that are still to be found, and qualifies the short ones in the
 * manner of its language: "a::f", "(anonymous namespace)::f", "m.f". Until then they are as they
 * stand. UX_ENOMEM, UX_ELIMIT of names->texts.
 */
enum ux_code ux_dwarf_names_end(struct ux_dwarf_names *names, struct ux_error *err) ux_must;

/*
 * Follows one reference of a DIE, to the same unit or another one: *at becomes the DIE it leads
 * to, which is not read yet. UX_ENOTFOUND: it leads nowhere. UX_ENOMEM.
 */
enum ux_code ux_dwarf_names_follow(struct ux_dwarf_names *names, struct ux_dwarf_die_location *at,
				   struct ux_dwarf_ref to, struct ux_error *err) ux_must;

/* The scopes of the unit of ctx that were read so far. */
struct ux_dwarf_scopes *ux_dwarf_names_scopes(struct ux_dwarf_names *names,
					      const struct ux_dwarf_context *ctx);

#endif
