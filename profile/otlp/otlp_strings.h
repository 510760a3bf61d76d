/* SPDX-License-Identifier: Apache-2.0 */
/* The strings that are added to an OTLP message: each once, as fields of its string table. */
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

/* Consecutive fields of strings in the caller's memory. */
struct ux_otlp_borrowed {
	const uint8_t *data;
	size_t size;
};

UX_VEC(ux_otlp_borrowed_list, struct ux_otlp_borrowed);
UX_VEC(ux_otlp_string_hashes, uint32_t);

/*
 * Only the fields hold the bytes of strings. A hash table of numbers takes an eighth of the memory
 * of one with its keys, and this table is built for each message. Zeroed = empty except for
 * fields.quota. Of one thread.
 */
struct ux_otlp_strings {
	struct ux_out fields;              /* a latched failure stands for the whole structure */
	struct ux_otlp_string_list list;   /* added strings */
	struct ux_otlp_string_slots slots; /* size: a power of two */
	uint32_t first;                    /* number in the message of the first added string */
	/* strings after the list's: fields that are not copied yet, and their hashes */
	struct ux_otlp_borrowed_list borrowed;
	struct ux_otlp_string_hashes hashes;
	size_t borrowed_bytes;
};

void ux_otlp_strings_deinit(struct ux_otlp_strings *s);

/* Returns the index of a string in the message; copies and appends it if it is new. 0: "", or a
 * failure, which is latched. */
uint32_t ux_otlp_strings_add(struct ux_otlp_strings *s, struct ux_bytes text);

/* The same with the lower half of the text's hash (ux_hash_bytes()), for callers that already know
 * it. */
uint32_t ux_otlp_strings_put(struct ux_otlp_strings *s, struct ux_bytes text, uint32_t hash);

/*
 * Appends fields of strings that are in the caller's memory and that the message lacks, without
 * copying them: they must stay until ux_otlp_strings_settle(), or until the message is written, and
 * UX_OTLP_BORROWED_BEHIND bytes after them must be readable. begin: reserves room for n strings and
 * returns the number of the first; 0 after a failure, which is latched. borrow: adds one, with the
 * lower half of the hash of its bytes. find: returns the number of a settled string; 0: unknown.
 */
enum {
	UX_OTLP_BORROWED_BEHIND = 192
};
uint32_t ux_otlp_strings_begin(struct ux_otlp_strings *s, size_t n);
uint32_t ux_otlp_strings_find(const struct ux_otlp_strings *s, struct ux_bytes text, uint32_t hash);

ux_inline void ux_otlp_strings_borrow(struct ux_otlp_strings *s, const uint8_t *field, size_t size,
				      uint32_t hash)
{
	struct ux_otlp_borrowed *last = s->borrowed.data + s->borrowed.size;
	s->hashes.data[s->hashes.size++] = hash;
	s->borrowed_bytes += size;
	if (s->borrowed.size > 0 && last[-1].data + last[-1].size == field) {
		last[-1].size += size;
		return;
	}
	*last = (struct ux_otlp_borrowed){field, size};
	s->borrowed.size++;
}

/* Copies the borrowed fields, so that the caller may release them. A failure is latched. */
void ux_otlp_strings_settle(struct ux_otlp_strings *s);

/* Prefetches the slot where a string with this hash is looked for. */
ux_inline void ux_otlp_strings_prefetch(const struct ux_otlp_strings *s, uint32_t hash)
{
	if (s->slots.size > 0)
		__builtin_prefetch(&s->slots.data[hash & (s->slots.size - 1)]);
}

#endif
