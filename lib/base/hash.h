/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The hash function of all tables in memory. It is seeded at random once per process, so hashes
 * must not be stored or shown.
 */
#ifndef UX_HASH_H
#define UX_HASH_H

#include "bytes.h"

/* Multiplies to 128 bits and combines both halves: one multiplication mixes both operands fully. */
ux_inline uint64_t ux_hash_mix(uint64_t a, uint64_t b)
{
	__extension__ typedef unsigned __int128 u128;
	u128 product = (u128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/*
 * The random seed. It is set before main() and never changed. An attacker who chooses the keys of a
 * table (symbols of an upload, IDs in a request) therefore cannot choose keys that all collide.
 * Nothing that leaves the process may depend on it.
 */
extern __attribute__((visibility("hidden"))) uint64_t ux_hash_seed;

ux_inline uint64_t ux_hash_u64(uint64_t v)
{
	return ux_hash_mix(v ^ ux_hash_seed, 0xd6e8feb86659fd93u);
}

uint64_t ux_hash_bytes(struct ux_bytes bytes);

#endif
