/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Budgets: limits of the work that an input may cause.
 *
 * Normal input causes work in proportion to its size. Hostile input can make a reader do the same
 * work thousands of times: functions that share one range, units that share one line table, calls
 * that all claim one address. So work is charged to budgets. Work that a budget refuses is left out
 * of the result and reported as damage.
 *
 * The choice of omitted work depends on the input alone, at any number of threads. A budget
 * therefore belongs to a batch of units. A batch is cut by the units' sizes and read by one thread
 * in order, and its allowance grows with each unit that is read. (The first batch also has a fixed
 * allowance, so that small modules are never limited.) Only work that units of all batches can
 * cause together has one budget for the whole module: struct ux_order_budget counts it on all
 * threads, and when the budget is exceeded it decides in the order of the units.
 */
#ifndef UX_CODE_BUDGET_H
#define UX_CODE_BUDGET_H

#include "base.h"

#include <stdatomic.h>

/* A budget for one kind of work. Not thread-safe. */
struct ux_budget {
	uint64_t left;
	bool exceeded; /* some work was refused or cut short */
};

ux_inline void ux_budget_allow(struct ux_budget *budget, uint64_t n)
{
	budget->left += n;
}

/*
 * Charges work before it is done. When it does not fit, returns false and uses up the budget, so
 * that everything from there on is left out.
 */
ux_inline bool ux_budget_charge(struct ux_budget *budget, uint64_t n)
{
	bool fits = n <= budget->left;
	budget->left -= fits ? n : budget->left;
	budget->exceeded |= !fits;
	return fits;
}

/*
 * As ux_budget_charge(), but when the work does not fit, the rest of the budget stays available for
 * smaller work.
 */
ux_inline bool ux_budget_try(struct ux_budget *budget, uint64_t n)
{
	bool fits = n <= budget->left;
	budget->left -= fits ? n : 0;
	budget->exceeded |= !fits;
	return fits;
}

/* Charges work that is done whether it fits or not. The caller's loop ends when nothing is left. */
ux_inline void ux_budget_consume(struct ux_budget *budget, uint64_t n)
{
	budget->left -= ux_min(budget->left, n);
}

enum {
	/* Work between two checks: some milliseconds if a unit of work is a byte that is read. */
	UX_WORK_CHECK = 4 << 20
};

/*
 * The work of one caller who may end it early: a budget, and a check that is called each time that
 * UX_WORK_CHECK units were charged. Refused work is not left out of the result: the whole call
 * fails. Not thread-safe.
 */
struct ux_work {
	struct ux_budget budget;
	uint64_t unchecked;       /* charged since the last check */
	bool (*go_on)(void *ctx); /* NULL: no check */
	void *ctx;
	bool stopped; /* go_on() has returned false, and everything is refused */
};

/* Charges work before it is done; work may be NULL. False: the work is refused. */
ux_inline bool ux_work_charge(struct ux_work *work, uint64_t n)
{
	if (!work)
		return true;
	work->unchecked += n;
	if (work->unchecked >= UX_WORK_CHECK) {
		work->unchecked = 0;
		work->stopped |= work->go_on && !work->go_on(work->ctx);
	}
	return ux_budget_charge(&work->budget, n) && !work->stopped;
}

/*
 * A budget for work that units of all batches cause together. Costs are added up while units are
 * read, in any order. Only if they exceed the budget, the costs are replayed in order to find the
 * first unit that is refused, and all units are read again without the refused work of that unit
 * and all later ones.
 */
struct ux_order_budget {
	uint64_t max;
	/* work charged so far; only a counter, so relaxed order is enough */
	_Atomic uint64_t charged;
	bool refusing;  /* units from position `until` on are refused */
	uint64_t until; /* position in the order of all units */
};

void ux_order_budget_init(struct ux_order_budget *budget, uint64_t max);

/*
 * Adds a unit's cost. False when the budget is exceeded: the units will be read again, so this one
 * need not be read. Any thread.
 */
bool ux_order_budget_charge(struct ux_order_budget *budget, uint64_t cost);

/* Returns true when all costs together exceed the budget. */
bool ux_order_budget_exceeded(const struct ux_order_budget *budget);

/* Begins to replay the costs in order. */
void ux_order_budget_replay(struct ux_order_budget *budget);
/*
 * Charges the cost of the next unit in order, at `position`. False when it is the first unit that
 * is refused; all units after it are refused too.
 */
bool ux_order_budget_replay_charge(struct ux_order_budget *budget, uint64_t position,
				   uint64_t cost);

/* Returns true when the unit at this position is refused. */
bool ux_order_budget_refuses(const struct ux_order_budget *budget, uint64_t position);

#endif
