/* SPDX-License-Identifier: Apache-2.0 */
/* One good hash for tables; not for security, and not stable across versions. */
#ifndef UX_HASH_H
#define UX_HASH_H

#include "bytes.h"

/* Multiplies to 128 bits and folds: one multiplication mixes both operands fully. */
ux_inline uint64_t ux_hash_mix(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 u128;
	u128 product = (u128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

ux_inline uint64_t ux_hash_u64(uint64_t v)
{
	return ux_hash_mix(v ^ 0x9e3779b97f4a7c15u, 0xd6e8feb86659fd93u);
}

uint64_t ux_hash_bytes(struct ux_bytes bytes);

#endif
