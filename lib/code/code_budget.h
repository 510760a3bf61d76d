/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much work an input may cause.
 *
 * Honest input costs about as much as it has bytes. Hostile input can make a reader do the same
 * work thousands of times: functions on one range, units on one line table, calls that all claim
 * one address. So work is charged to budgets, and what a budget refuses is left out of the result
 * and reported as damage.
 *
 * The rule, which holds at any number of threads: what is left out depends on the input alone. A
 * budget therefore belongs to a batch of units, which is cut by the units' sizes, is read by one
 * thread and in order, and gets an allowance that grows with each unit that is read (the first
 * batch has a free allowance beside it, so that small modules are never limited). Only work that
 * units of all batches may cause together has one budget for the whole module: struct
 * ux_order_budget counts it on all threads, and when it comes to too much decides in the order of
 * the units.
 */
#ifndef UX_CODE_BUDGET_H
#define UX_CODE_BUDGET_H

#include "base.h"

#include <stdatomic.h>

/* One kind of work; for one thread. */
struct ux_budget {
	uint64_t left;
	bool exceeded; /* something was refused, or cut short */
};

ux_inline void ux_budget_allow(struct ux_budget *budget, uint64_t n)
{
	budget->left += n;
}

/* Charges work before it is done. False, and nothing is left, when it does not fit: what is over
 * the budget is left out from there on. */
ux_inline bool ux_budget_charge(struct ux_budget *budget, uint64_t n)
{
	bool fits = n <= budget->left;
	budget->left -= fits ? n : budget->left;
	budget->exceeded |= !fits;
	return fits;
}

/* As ux_budget_charge(), but what is refused leaves the rest for smaller work. */
ux_inline bool ux_budget_try(struct ux_budget *budget, uint64_t n)
{
	bool fits = n <= budget->left;
	budget->left -= fits ? n : 0;
	budget->exceeded |= !fits;
	return fits;
}

/* Charges work that is done whether it fits or not; its loop ends when nothing is left. */
ux_inline void ux_budget_consume(struct ux_budget *budget, uint64_t n)
{
	budget->left -= ux_min(budget->left, n);
}

/*
 * Work that units of all batches cause together. Units are read in waves. A wave is read while its
 * costs are added up; only when they come to too much it is replayed in order, to find the first
 * unit that is refused, and read again without what is refused from there on.
 */
struct ux_order_budget {
	uint64_t most;
	uint64_t before;          /* charged by the waves before */
	_Atomic uint64_t charged; /* by this one so far; only counts, so relaxed order is enough */
	bool refusing;            /* from position `until` on */
	uint64_t until;           /* in the wave's order */
};

void ux_order_budget_init(struct ux_order_budget *budget, uint64_t most);

/* Adds a unit's cost; false when the wave has to be read again, so that nothing more need be. Any
 * thread. */
bool ux_order_budget_charge(struct ux_order_budget *budget, uint64_t cost);

/* True when the wave's costs come to too much. */
bool ux_order_budget_exceeded(const struct ux_order_budget *budget);

/* Begins to replay an exceeded wave in order. */
void ux_order_budget_replay(struct ux_order_budget *budget);
/* The next unit's cost in that order, and its position; false when it is the first that is refused:
 * so are all behind it. */
bool ux_order_budget_replay_charge(struct ux_order_budget *budget, uint64_t position,
				   uint64_t cost);

/* True when the unit at this position is refused. */
bool ux_order_budget_refuses(const struct ux_order_budget *budget, uint64_t position);

/* The wave is read, the next one begins. */
void ux_order_budget_next(struct ux_order_budget *budget);

#endif
