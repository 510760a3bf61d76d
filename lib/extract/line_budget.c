/* SPDX-License-Identifier: Apache-2.0 */
/* How often a module's line tables may be decoded. */
#include "line_budget.h"

enum {
	TIMES_MOST = 16, /* that the average line table may be decoded */
};

void ux_line_budget_init(struct ux_line_budget *b, const struct ux_dwarf_sections *sections)
{
	uint64_t bytes =
		(uint64_t)sections->data[UX_DWARF_LINE].size + sections->data[UX_DWARF_INFO].size;
	*b = (struct ux_line_budget){.most = TIMES_MOST * bytes};
}

bool ux_line_budget_spend(struct ux_line_budget *b, uint64_t price)
{
	uint64_t spent = atomic_fetch_add_explicit(&b->spent, price, memory_order_relaxed);
	return b->refusing || b->before + spent + price <= b->most;
}

bool ux_line_budget_over(const struct ux_line_budget *b)
{
	uint64_t spent = atomic_load_explicit(&b->spent, memory_order_relaxed);
	return !b->refusing && b->before + spent > b->most;
}

void ux_line_budget_again(struct ux_line_budget *b)
{
	b->refusing = true;
	b->until = UINT64_MAX;
	atomic_store_explicit(&b->spent, 0, memory_order_relaxed);
}

bool ux_line_budget_settle(struct ux_line_budget *b, uint64_t place, uint64_t price)
{
	b->before += price;
	if (b->before <= b->most)
		return true;
	b->until = place;
	return false;
}

bool ux_line_budget_refuses(const struct ux_line_budget *b, uint64_t place, struct ux_error *err)
{
	if (!b->refusing || place < b->until)
		return false;
	(void)ux_error_at(err, UX_ELIMIT, ux_dwarf_section_name(UX_DWARF_LINE), 0,
			  "units share their line tables over %d times", (int)TIMES_MOST);
	return true;
}

void ux_line_budget_next(struct ux_line_budget *b)
{
	b->before += atomic_exchange_explicit(&b->spent, 0, memory_order_relaxed);
	b->until = 0; /* only when they are refused at all */
}
