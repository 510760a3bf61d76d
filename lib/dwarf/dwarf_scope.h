/* SPDX-License-Identifier: Apache-2.0 */
/* Which entry of a unit stands in which: looked up on demand, for the few names that ask. */
#ifndef UX_DWARF_SCOPE_H
#define UX_DWARF_SCOPE_H

#include "dwarf_unit.h"
#include "vec.h"

/*
 * An entry with children. Those that stand directly in it are found by one pass over them, when
 * somebody first asks for a place inside; a producer that writes DW_AT_sibling makes that a jump
 * each. Nothing is known of what nobody asks for.
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

/* Those of one unit; [0] is the unit's own entry. Zeroed knows nothing. */
struct ux_dwarf_scopes {
	struct ux_dwarf_scope_vec list;
};

enum {
	UX_DWARF_SCOPES_DEEP = 64, /* entries around one that are looked at; real code has 20 */
};

/*
 * The innermost entry around off, other than the one at off, that names what is in it: a namespace,
 * type, module or function. 0 when that is the unit, or nothing that names (an inlined call). *work
 * is taken down by the entries passed; at 0 nothing more is learned. UX_ENOMEM.
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

#endif
