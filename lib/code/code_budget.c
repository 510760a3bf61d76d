/* SPDX-License-Identifier: Apache-2.0 */
/* The budget of work that all units cause together. */
#include "code_budget.h"

void ux_order_budget_init(struct ux_order_budget *b, uint64_t max)
{
	*b = (struct ux_order_budget){.max = max};
}

bool ux_order_budget_charge(struct ux_order_budget *b, uint64_t cost)
{
	uint64_t before = atomic_fetch_add_explicit(&b->charged, cost, memory_order_relaxed);
	return b->refusing || before + cost <= b->max;
}

bool ux_order_budget_exceeded(const struct ux_order_budget *b)
{
	return !b->refusing && atomic_load_explicit(&b->charged, memory_order_relaxed) > b->max;
}

void ux_order_budget_replay(struct ux_order_budget *b)
{
	b->refusing = true;
	b->until = UINT64_MAX;
	atomic_store_explicit(&b->charged, 0, memory_order_relaxed);
}

bool ux_order_budget_replay_charge(struct ux_order_budget *b, uint64_t position, uint64_t cost)
{
	uint64_t before = atomic_fetch_add_explicit(&b->charged, cost, memory_order_relaxed);
	if (before + cost <= b->max)
		return true;
	b->until = position;
	return false;
}

bool ux_order_budget_refuses(const struct ux_order_budget *b, uint64_t position)
{
	return b->refusing && position >= b->until;
}
