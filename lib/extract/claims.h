/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which function is told already: C++ has the same inline function in hundreds of units, and the
 * merge keeps the first unit's copy alone. To read the others' lines and inlined calls would be in
 * vain.
 *
 * Units are read in waves, one after the other; a wave sees what earlier ones claimed and nothing
 * of its own. So what is left unread does not depend on threads.
 */
#ifndef UX_CLAIMS_H
#define UX_CLAIMS_H

#include "code_symbols.h"

#include <stdatomic.h>

enum {
	UX_WAVES_MOST = 16
};

/* One place a symbol: only what begins where a symbol does is claimed. */
struct ux_claims {
	const struct ux_code_symbol_vec *symbols;
	_Atomic uint64_t *places; /* the claiming unit and the size; 0: nobody */
	uint8_t *wave_of;         /* of each unit */
	size_t n_units;
};

/* False when memory is short. There are no units at first. */
bool ux_claims_init(struct ux_claims *claims, const struct ux_code_symbol_vec *symbols);
/* Makes wave_of that of n_units, more than before; the new ones are in wave 0. False when memory is
 * short. Nobody claims meanwhile. */
bool ux_claims_grow(struct ux_claims *claims, size_t n_units);
void ux_claims_deinit(struct ux_claims *claims);

/* Unit `unit` has rows for all of [start, start + size). Any thread. */
void ux_claims_add(struct ux_claims *claims, uint32_t unit, uint64_t start, uint32_t size);

/* Takes back what units of the wave have claimed. Nobody claims meanwhile. */
void ux_claims_forget(struct ux_claims *claims, uint8_t wave);

/* True when a unit of an earlier wave, and with a lower number, has claimed just that range. */
bool ux_claims_has(const struct ux_claims *claims, uint32_t unit, uint64_t start, uint64_t size);

#endif
