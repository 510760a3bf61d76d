/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of a profile as keys of a map, for writers of formats. */
#ifndef UX_FUNCTION_KEY_H
#define UX_FUNCTION_KEY_H

#include "map.h"

/* A function of a profile, by the numbers of its strings. Writers add equal ones once. */
struct ux_function_key {
	uint32_t name, linkage, file, start_line;
};

ux_inline uint64_t ux_function_key_hash(struct ux_function_key k)
{
	return ux_hash_mix(ux_hash_u64((uint64_t)k.name << 32 | k.linkage),
			   (uint64_t)k.file << 32 | k.start_line | UINT64_C(1) << 63);
}

ux_inline bool ux_function_key_eq(struct ux_function_key a, struct ux_function_key b)
{
	return a.name == b.name && a.linkage == b.linkage && a.file == b.file &&
	       a.start_line == b.start_line;
}

UX_MAP(ux_function_places, struct ux_function_key, uint32_t, ux_function_key_hash,
       ux_function_key_eq);

#endif
