/* SPDX-License-Identifier: Apache-2.0 */
/* How often a module's line tables may be decoded: its units may all name one another's. */
#ifndef UX_LINE_BUDGET_H
#define UX_LINE_BUDGET_H

#include "dwarf_sections.h"

#include <stdatomic.h>

/*
 * Which units are too late is decided by their order, never by which thread came first: a wave of
 * units is read while its prices are added up, and only when they come to too much it is looked at
 * in order, and read again without the tables behind that place. Honest modules come to one reading
 * of each table.
 */
struct ux_line_budget {
	uint64_t most;          /* bytes of tables */
	uint64_t before;        /* spent by the waves before */
	_Atomic uint64_t spent; /* by this one so far; only counts, so relaxed order is enough */
	bool refusing;          /* tables of units from `until` on are not decoded */
	uint64_t until;         /* place in the wave's order */
};

void ux_line_budget_init(struct ux_line_budget *budget, const struct ux_dwarf_sections *sections);

/* Adds a unit's price (ux_dwarf_lines_cost()); false when the wave has to be read again, so that
 * nothing more need be. Any thread. */
bool ux_line_budget_spend(struct ux_line_budget *budget, uint64_t price);

/* The wave's tables come to too much. */
bool ux_line_budget_over(const struct ux_line_budget *budget);

/* Begins to go through an overspent wave in order. */
void ux_line_budget_again(struct ux_line_budget *budget);
/* The next unit's price in that order, and its place; false when it is the first that is refused:
 * so are all behind it. */
bool ux_line_budget_settle(struct ux_line_budget *budget, uint64_t place, uint64_t price);

/* True when the table of the unit at `place` is not to be decoded; ret says why in err. */
bool ux_line_budget_refuses(const struct ux_line_budget *budget, uint64_t place,
			    struct ux_error *err);

/* The wave is read, the next one begins. */
void ux_line_budget_next(struct ux_line_budget *budget);

#endif
