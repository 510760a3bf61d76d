/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of functions: found through abstract origins and specifications, also of other units, and
 * qualified by the scopes that contain the function.
 */
#ifndef UX_DWARF_NAME_H
#define UX_DWARF_NAME_H

#include "arena.h"
#include "dwarf_line.h"
#include "dwarf_unit.h"
#include "map.h"
#include "vec.h"

/*
 * A scope: a DIE with children. Its direct children are listed by one pass over them when an offset
 * inside of the scope is first looked up; if the producer writes DW_AT_sibling, each child is
 * skipped with one jump. Scopes that no lookup needs are never read.
 */
struct ux_dwarf_scope {
	uint64_t off; /* offset of the DIE */
	uint64_t inside;
	uint64_t end;
	uint32_t parent;
	uint32_t first; /* index of its first child scope; they are in ascending order of offsets */
	uint32_t count;
	uint16_t tag;
	bool known; /* first and count are set */
};

UX_VEC(ux_dwarf_scope_vec, struct ux_dwarf_scope);

/* The scopes of one unit that were read. [0] is the unit's own DIE. Zeroed is empty. */
struct ux_dwarf_scopes {
	struct ux_dwarf_scope_vec list;
};

enum {
	UX_DWARF_SCOPES_DEEP = 64, /* most enclosing DIEs that are examined; real code has 20 */
};

/*
 * Finds the innermost scope that contains off and qualifies names: a namespace, type, module or
 * function, but not the DIE at off itself. 0 when the innermost scope is the unit, or does not
 * qualify names (an inlined call). *work is charged for the DIEs that are visited; at 0 no more
 * scopes are read. UX_ENOMEM.
 */
enum ux_code ux_dwarf_scopes_find(struct ux_dwarf_scopes *scopes,
				  const struct ux_dwarf_context *ctx, uint64_t off, uint64_t *work,
				  uint32_t *ret, struct ux_error *err) ux_must;

/* Returns the scope that contains the DIE of a scope, 0 for none. */
uint32_t ux_dwarf_scopes_around(const struct ux_dwarf_scopes *scopes, uint32_t scope);

static inline void ux_dwarf_scopes_deinit(struct ux_dwarf_scopes *scopes)
{
	ux_dwarf_scope_vec_deinit(&scopes->list);
}

enum {
	UX_DWARF_ORIGINS_MAX = 16
}; /* longest chain of origins; real chains have up to 4 */

/* Another unit that was opened because a name refers to it. */
struct ux_dwarf_open_unit {
	struct ux_dwarf_context ctx;
	struct ux_dwarf_scopes scopes;
};

#define UX_DWARF_SAME_(a, b) ((a) == (b))
UX_MAP(ux_dwarf_open_unit_map, uint64_t, struct ux_dwarf_open_unit *, ux_hash_u64, UX_DWARF_SAME_);

/* A cached name; an entry of another generation is empty. */
struct ux_dwarf_name_slot {
	uint64_t off; /* offset of the DIE in .debug_info; bit 63: in the supplementary file */
	uint32_t generation;
	uint32_t name;
};

/* A DIE: its unit and its offset. */
struct ux_dwarf_die_location {
	const struct ux_dwarf_context *ctx;
	uint64_t off;
};

/* A name that is still to be qualified by the scopes of its DIE. */
struct ux_dwarf_unqualified {
	uint32_t name;
	struct ux_dwarf_die_location at;
};

/* A name that is still to be found: the name of the DIE at `from`, which refers to another DIE. */
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
 * The resolver of names of one thread. Names of one unit are numbered from 0 in the order of first
 * use. The name of each origin is looked up once, since the same inlined function is referred to
 * thousands of times.
 *
 * Names that are attributes of another DIE are looked up at the end of the unit, many at a time, so
 * that the memory of one can be prefetched while another is read.
 *
 * Names that are not linkage names are then qualified: "a::f" for f of the namespace a. Only for
 * these few names the enclosing scopes have to be read.
 */
struct ux_dwarf_names {
	const struct ux_dwarf_sections *sections;
	const struct ux_dwarf_units *units;
	struct ux_dwarf_text_vec list; /* the current unit's names by number; they point into the
					  sections or were allocated */
	struct ux_dwarf_own_vec
		own; /* for each name, the offset at which the function's own name begins */
	struct ux_dwarf_pending_name_vec pending;
	struct ux_dwarf_unqualified_vec unqualified;
	struct ux_dwarf_off_vec
		outermost; /* DIEs that are known to be direct children of the unit's DIE */
	struct ux_dwarf_name_slot *slots;
	size_t cap; /* number of slots, a power of two */
	size_t used;
	uint32_t generation;
	struct ux_arena *texts; /* where qualified names are allocated: `arena`, or one that the
				   caller sets */
	struct ux_arena arena;  /* memory for other units that names refer to */
	struct ux_dwarf_open_unit_map
		others; /* by the unit's offset and file; NULL: the unit cannot be opened */
	const struct ux_dwarf_context *ctx; /* the current unit */
	bool joined;                        /* the unit's language qualifies names */
	struct ux_dwarf_scopes scopes;      /* the unit's own scopes */
	size_t far_scopes;                  /* number of scopes of other units */
	uint64_t scope_work;                /* budget of DIEs that may be visited to read scopes */
	uint64_t text_left;                 /* budget in bytes of the unit's qualified names */
};

enum {
	UX_DWARF_QUALIFIED_MAX = 1 << 14, /* longest qualified name in bytes */
	UX_DWARF_FAR_SCOPES = 1 << 18,    /* most cached scopes of other units; some 12 MB */
	UX_DWARF_SCOPE_WORK =
		16, /* budget of DIEs to visit: this many for each byte of .debug_info, plus .. */
	UX_DWARF_SCOPE_WORK_FREE = 1 << 16,
	UX_DWARF_QUALIFIED_EACH =
		8, /* budget of allocated names in bytes, for each byte of the unit */
};

void ux_dwarf_names_init(struct ux_dwarf_names *names, const struct ux_dwarf_sections *sections,
			 const struct ux_dwarf_units *units);
void ux_dwarf_names_deinit(struct ux_dwarf_names *names);

/* Drops the names of the previous unit and begins the unit of ctx. */
void ux_dwarf_names_begin(struct ux_dwarf_names *names, const struct ux_dwarf_context *ctx);

/*
 * Returns the number of the DIE's name, which is its linkage name, else its short name. It may be
 * an attribute of a DIE that abstract_origin or specification refers to; ux_dwarf_names_end() then
 * finds it. When it finds none, also because a reference is invalid, the list holds NULL.
 * UX_CODE_NO_NAME: the DIE has neither a name nor such a reference. nested: the scopes that contain
 * the DIE qualify its name; false for an inlined call, and for direct children of the unit's DIE.
 * UX_ENOMEM.
 */
enum ux_code ux_dwarf_names_of(struct ux_dwarf_names *names, const struct ux_dwarf_context *ctx,
			       const struct ux_dwarf_die *die, bool nested, uint32_t *ret,
			       struct ux_error *err) ux_must;

/*
 * Returns whether a DIE has its name only from the DIE that it refers to, *ret. ux_dwarf_names_of()
 * does for it the same as ux_dwarf_names_of_origin().
 */
bool ux_dwarf_name_is_origins(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *die,
			      struct ux_dwarf_ref *ret);

/* Prefetches the memory that ux_dwarf_names_of_origin() will read first. */
void ux_dwarf_names_prefetch(const struct ux_dwarf_names *names, struct ux_dwarf_ref to);

/*
 * Does the same for a DIE at offset `from` that has no name, but refers to `to` by abstract_origin
 * or specification.
 */
enum ux_code ux_dwarf_names_of_origin(struct ux_dwarf_names *names, uint64_t from,
				      struct ux_dwarf_ref to, bool nested, uint32_t *ret,
				      struct ux_error *err) ux_must;

/*
 * Records that a DIE is a direct child of the unit's DIE, so that its name needs no search of
 * scopes. DIEs must be recorded in ascending order; any may be left out. False when memory is
 * short.
 */
ux_inline bool ux_dwarf_names_outermost(struct ux_dwarf_names *names, uint64_t off)
{
	return !names->joined || ux_dwarf_off_vec_append(&names->outermost, off);
}

/* The first half of ux_dwarf_names_end(): finds the pending names. UX_ENOMEM. */
enum ux_code ux_dwarf_names_find(struct ux_dwarf_names *names, struct ux_error *err) ux_must;

/*
 * Finds the pending names of the unit, and qualifies short names in the style of its language:
 * "a::f", "(anonymous namespace)::f", "m.f". Before this call names are unqualified. UX_ENOMEM,
 * UX_ELIMIT of names->texts.
 */
enum ux_code ux_dwarf_names_end(struct ux_dwarf_names *names, struct ux_error *err) ux_must;

/*
 * Follows one reference of a DIE, to the same unit or another one. *at becomes the DIE it refers
 * to, which is not read yet. UX_ENOTFOUND: the reference is invalid. UX_ENOMEM.
 */
enum ux_code ux_dwarf_names_follow(struct ux_dwarf_names *names, struct ux_dwarf_die_location *at,
				   struct ux_dwarf_ref to, struct ux_error *err) ux_must;

/* Returns the scopes of the unit of ctx that were read so far. */
struct ux_dwarf_scopes *ux_dwarf_names_scopes(struct ux_dwarf_names *names,
					      const struct ux_dwarf_context *ctx);

#endif
