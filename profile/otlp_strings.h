/* SPDX-License-Identifier: Apache-2.0 */
/* The strings that an OTLP message gets: each once, as fields of its string table. */
#ifndef UX_OTLP_STRINGS_H
#define UX_OTLP_STRINGS_H

#include "bytes.h"
#include "out.h"
#include "vec.h"

/* Where a string is in the fields. */
struct ux_otlp_string {
	uint32_t at;
	uint32_t size;
};

UX_VEC(ux_otlp_string_list, struct ux_otlp_string);

/* A string by the lower half of its hash. */
struct ux_otlp_string_slot {
	uint32_t number; /* in the list plus 1; 0: the slot is free */
	uint32_t tag;
};

UX_VEC(ux_otlp_string_slots, struct ux_otlp_string_slot);

/*
 * The bytes of a string are in the fields alone. A hash table of numbers takes an eighth of the
 * memory that one with its keys takes, and this table is made anew for each message. Zeroed = empty
 * except for fields.quota. Of one thread.
 */
struct ux_otlp_strings {
	struct ux_out fields;              /* its failure is that of all */
	struct ux_otlp_string_list list;   /* those that were added */
	struct ux_otlp_string_slots slots; /* its size is a power of two */
	uint32_t first;                    /* number in the message of the first one */
};

void ux_otlp_strings_deinit(struct ux_otlp_strings *s);

/* The number in the message of a string, which is copied and appended when it is new; 0: "", and
 * after a failure, which is latched. */
uint32_t ux_otlp_strings_add(struct ux_otlp_strings *s, struct ux_bytes text);

/* The same with the lower half of the text's hash (ux_hash_bytes()), for callers that have it. */
uint32_t ux_otlp_strings_put(struct ux_otlp_strings *s, struct ux_bytes text, uint32_t hash);

/* Prefetches where a string with this hash is looked for. */
ux_inline void ux_otlp_strings_expect(const struct ux_otlp_strings *s, uint32_t hash)
{
	if (s->slots.size > 0)
		__builtin_prefetch(&s->slots.data[hash & (s->slots.size - 1)]);
}

#endif
