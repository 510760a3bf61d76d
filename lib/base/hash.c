/* SPDX-License-Identifier: Apache-2.0 */
/* The hash of all tables in memory. */
#include "hash.h"

#include "clock.h"

#include <sys/random.h>

uint64_t ux_hash_seed = 0x9e3779b97f4a7c15u;

/* When the system returns no random bytes, the time and the address space layout are used. */
__attribute__((constructor)) static void hash_seed_init(void)
{
	uint64_t seed = 0;
	if (getrandom(&seed, sizeof(seed), GRND_NONBLOCK) != (ssize_t)sizeof(seed))
		seed = ux_hash_mix((uint64_t)ux_clock_ns() ^ 0x9e3779b97f4a7c15u,
				   (uint64_t)(uintptr_t)&seed ^ 0xd6e8feb86659fd93u);
	ux_hash_seed ^= seed;
}

static uint64_t hash_load64(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

static uint32_t hash_load32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return v;
}

/*
 * Each multiplication takes 16 bytes. The tail is read with overlap, so that no loop over bytes is
 * needed.
 */
uint64_t ux_hash_bytes(struct ux_bytes bytes)
{
	/*
	 * Half of the seed is mixed into both factors of each product: with a known factor an
	 * attacker could make the product 0.
	 */
	const uint64_t k0 = 0xa0761d6478bd642fu ^ ux_hash_seed;
	const uint64_t k1 = 0xe7037ed1a0b428dbu ^ (ux_hash_seed << 32 | ux_hash_seed >> 32);
	const uint8_t *p = bytes.data;
	size_t n = bytes.size;
	uint64_t h = k0;
	uint64_t a = 0, b = 0;
	if (n > 16) {
		const uint8_t *last = p + n - 16;
		for (; p < last; p += 16)
			h = ux_hash_mix(hash_load64(p) ^ k1, hash_load64(p + 8) ^ h);
		a = hash_load64(last);
		b = hash_load64(last + 8);
	} else if (n >= 8) {
		a = hash_load64(p);
		b = hash_load64(p + n - 8);
	} else if (n >= 4) {
		a = hash_load32(p);
		b = hash_load32(p + n - 4);
	} else if (n > 0) {
		a = (uint64_t)p[0] << 16 | (uint64_t)p[n >> 1] << 8 | p[n - 1];
	}
	return ux_hash_mix(k0 ^ n, ux_hash_mix(a ^ k1, b ^ h));
}
