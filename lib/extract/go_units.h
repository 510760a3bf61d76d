/* SPDX-License-Identifier: Apache-2.0 */
/* Go's functions as units of pieces, and which of the text they leave to DWARF. */
#ifndef UX_GO_UNITS_H
#define UX_GO_UNITS_H

#include "gosym.h"
#include "module_build.h"

/* Until they are added to a module, piece.unit counts from 0. Zeroed is empty. */
struct ux_go_units {
	struct ux_unit_pieces *units; /* malloc'ed */
	size_t n_units;
	struct ux_arena *arenas; /* malloc'ed, one a thread */
	unsigned n_arenas;
};

/*
 * Reads all functions, on several threads; the result does not depend on how many. Damage costs the
 * function it is in and is counted with its unit. Fails for want of memory only.
 */
enum ux_code ux_go_units_read(const struct ux_gosym *g, unsigned threads, const char *spill,
			      struct ux_go_units *ret, struct ux_error *err) ux_must;
void ux_go_units_free(struct ux_go_units *go);

/* The text without the functions that have lines here: what DWARF is to tell. */
enum ux_code ux_go_units_leave(const struct ux_go_units *go, const struct ux_range_vec *text,
			       struct ux_range_vec *ret, struct ux_error *err) ux_must;

/* Moves all to the module, behind the units it has, and counts the functions there. */
enum ux_code ux_go_units_add(struct ux_go_units *go, struct ux_module_build *build,
			     struct ux_error *err) ux_must;

#endif
