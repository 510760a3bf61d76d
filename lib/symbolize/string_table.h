/* SPDX-License-Identifier: Apache-2.0 */
/* The strings of a GSYM: each once, in the order they are first asked for. */
#ifndef UX_STRING_TABLE_H
#define UX_STRING_TABLE_H

#include "map.h"
#include "out.h"

/* Text with its hash, so that growing the map and comparing rarely touch the text. */
struct ux_string_key {
	const char *text;
	uint64_t hash;
	size_t size;
};

ux_inline uint64_t ux_string_key_hash(struct ux_string_key key)
{
	return key.hash;
}

ux_inline bool ux_string_key_eq(struct ux_string_key a, struct ux_string_key b)
{
	return a.hash == b.hash && a.size == b.size && memcmp(a.text, b.text, a.size) == 0;
}

#define UX_SAME_NUMBER_(a, b) ((a) == (b))
UX_MAP(ux_string_by_text, struct ux_string_key, uint32_t, ux_string_key_hash, ux_string_key_eq);
UX_MAP(ux_string_by_pointer, uint64_t, uint32_t, ux_hash_u64, UX_SAME_NUMBER_);

/*
 * Keeps pointers to the texts it was given: they must outlive it. The same place in memory is the
 * same text, which spares nearly all hashing, since linkers merge .debug_str.
 */
struct ux_string_table {
	struct ux_out bytes; /* begins with a NUL: offset 0 is "" */
	struct ux_string_by_text texts;
	struct ux_string_by_pointer pointers;
	uint64_t limit; /* bytes that it may grow to */
	unsigned shift; /* offsets are counted in steps of 2^shift bytes */
	bool no_memory;
	bool too_large; /* over the limit */
};

/*
 * limit: bytes of all texts with their NULs; at most as many count as 32 bits reach, which is 4 GiB
 * in steps of 1. Texts may be ends of one another in the input, and then add up to far more than
 * they take there. Each text begins at a multiple of 2^shift: shift 0 wastes nothing.
 */
void ux_string_table_init(struct ux_string_table *table, uint64_t limit, unsigned shift);
void ux_string_table_deinit(struct ux_string_table *table);

/* The offset of text, in steps (NULL and "" are 0). After a failure: 0, and status says it. */
uint32_t ux_string_table_add(struct ux_string_table *table, const char *text);
enum ux_code ux_string_table_status(const struct ux_string_table *table, struct ux_error *err)
	ux_must;

#endif
