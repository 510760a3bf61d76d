/* SPDX-License-Identifier: Apache-2.0 */
/* Records which unit has read a function. */
#include "unit_cutter.h"

bool ux_claims_init(struct ux_claims *claims, const struct ux_code_symbol_vec *symbols)
{
	*claims = (struct ux_claims){
		.symbols = symbols,
		.slots = calloc(symbols->size + 1, sizeof(*claims->slots)),
	};
	return claims->slots != NULL;
}

bool ux_claims_grow(struct ux_claims *claims, size_t n_units)
{
	uint8_t *grown = realloc(claims->wave_of, n_units + 1);
	if (!grown)
		return false;
	memset(grown + claims->n_units, 0, n_units - claims->n_units);
	claims->wave_of = grown;
	claims->n_units = n_units;
	return true;
}

void ux_claims_deinit(struct ux_claims *claims)
{
	free(claims->slots);
	free(claims->wave_of);
	*claims = (struct ux_claims){0};
}

/* Returns the slot of the first symbol that begins at start; NULL when there is none. */
static _Atomic uint64_t *slot_of(const struct ux_claims *claims, uint64_t start)
{
	const struct ux_code_symbol *s = ux_code_symbols_from(claims->symbols, start);
	return s && s->start == start ? &claims->slots[s - claims->symbols->data] : NULL;
}

/* Encodes a claim. It is never 0, since no piece is empty, and lower units have lower values. */
static uint64_t claim_word(uint32_t unit, uint32_t size)
{
	return (uint64_t)unit << 32 | size;
}

void ux_claims_add(struct ux_claims *claims, uint32_t unit, uint64_t start, uint32_t size)
{
	_Atomic uint64_t *slot = slot_of(claims, start);
	if (!slot)
		return;
	/* Relaxed order is enough: the number itself is the only shared data, and waves are ordered
	 * by joins of their threads. */
	uint64_t now = atomic_load_explicit(slot, memory_order_relaxed);
	uint64_t mine = claim_word(unit, size);
	do {
		/* A claim of an earlier wave stays, because this wave reads it. */
		if (now != 0 && (claims->wave_of[now >> 32] < claims->wave_of[unit] || now <= mine))
			return;
	} while (!atomic_compare_exchange_weak_explicit(slot, &now, mine, memory_order_relaxed,
							memory_order_relaxed));
}

void ux_claims_forget(struct ux_claims *claims, uint8_t wave)
{
	for (size_t i = 0; i < claims->symbols->size; i++) {
		uint64_t now = atomic_load_explicit(&claims->slots[i], memory_order_relaxed);
		if (now != 0 && claims->wave_of[now >> 32] == wave)
			atomic_store_explicit(&claims->slots[i], 0, memory_order_relaxed);
	}
}

bool ux_claims_has(const struct ux_claims *claims, uint32_t unit, uint64_t start, uint64_t size)
{
	const _Atomic uint64_t *slot = slot_of(claims, start);
	uint64_t now = slot ? atomic_load_explicit(slot, memory_order_relaxed) : 0;
	return now != 0 && (uint32_t)now == size && now >> 32 < unit &&
	       claims->wave_of[now >> 32] < claims->wave_of[unit];
}
