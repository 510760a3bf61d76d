/* SPDX-License-Identifier: Apache-2.0 */
/* Records which unit has read a function. */
#include "unit_cutter.h"

bool ux_claims_init(struct ux_claims *claims, const struct ux_code_symbol_index *symbols)
{
	*claims = (struct ux_claims){
		.symbols = symbols,
		.slots = calloc(symbols->symbols->size + 1, sizeof(*claims->slots)),
	};
	return claims->slots != NULL;
}

void ux_claims_clear(struct ux_claims *claims)
{
	if (claims->slots)
		memset(claims->slots, 0, claims->symbols->symbols->size * sizeof(*claims->slots));
}

void ux_claims_deinit(struct ux_claims *claims)
{
	free(claims->slots);
	*claims = (struct ux_claims){0};
}

/* Returns the slot of the first symbol that begins at start; NULL if none begins there. */
static _Atomic uint64_t *slot_of(const struct ux_claims *claims, uint64_t start)
{
	const struct ux_code_symbol *s = ux_code_symbol_index_from(claims->symbols, start);
	return s && s->start == start ? &claims->slots[s - claims->symbols->symbols->data] : NULL;
}

/* Encodes a claim. It is never 0, since no piece is empty, and lower units have lower values. */
static uint64_t claim_word(uint32_t unit, uint32_t size)
{
	assert(size > 0);
	return (uint64_t)unit << 32 | size;
}

void ux_claims_add(struct ux_claims *claims, uint32_t unit, uint64_t start, uint32_t size)
{
	_Atomic uint64_t *slot = slot_of(claims, start);
	if (!slot)
		return;
	/* Relaxed order is enough: the number itself is the only shared data, and a unit reads only
	 * claims of units that, as it learned under the lock of the queue, have ended. */
	uint64_t now = atomic_load_explicit(slot, memory_order_relaxed);
	uint64_t mine = claim_word(unit, size);
	do {
		if (now != 0 && now <= mine)
			return;
	} while (!atomic_compare_exchange_weak_explicit(slot, &now, mine, memory_order_relaxed,
							memory_order_relaxed));
}

bool ux_claims_has(const struct ux_claims *claims, uint32_t claimants, uint64_t start,
		   uint64_t size)
{
	const _Atomic uint64_t *slot = claimants > 0 ? slot_of(claims, start) : NULL;
	uint64_t now = slot ? atomic_load_explicit(slot, memory_order_relaxed) : 0;
	return now != 0 && (uint32_t)now == size && now >> 32 < claimants;
}
