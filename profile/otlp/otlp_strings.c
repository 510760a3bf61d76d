/* SPDX-License-Identifier: Apache-2.0 */
/* The strings that are added to an OTLP message. */
#include "otlp_strings.h"

#include "hash.h"
#include "otlp_fields.h"
#include "protobuf.h"

enum {
	FIRST_SLOTS = 256,
};

void ux_otlp_strings_deinit(struct ux_otlp_strings *s)
{
	ux_out_deinit(&s->fields);
	ux_otlp_string_list_deinit(&s->list);
	ux_otlp_string_slots_deinit(&s->slots);
	ux_otlp_borrowed_list_deinit(&s->borrowed);
	ux_otlp_string_hashes_deinit(&s->hashes);
}

/* Returns the free slot for a tag; skips slots of other strings with the same tag. */
static struct ux_otlp_string_slot *otlp_free_slot(const struct ux_otlp_strings *s, uint32_t tag)
{
	const size_t mask = s->slots.size - 1;
	size_t i = tag & mask;
	while (s->slots.data[i].number != 0)
		i = (i + 1) & mask;
	return &s->slots.data[i];
}

static bool otlp_strings_grow(struct ux_otlp_strings *s)
{
	struct ux_otlp_string_slots old = s->slots;
	const size_t n = old.size ? 4 * old.size : FIRST_SLOTS;
	struct ux_otlp_string_slot *data = calloc(n, sizeof(*data));
	if (!data)
		return false;
	s->slots = (struct ux_otlp_string_slots){.data = data, .size = n, .cap = n};
	for (size_t i = 0; i < old.size; i++)
		if (old.data[i].number != 0)
			*otlp_free_slot(s, old.data[i].tag) = old.data[i];
	ux_otlp_string_slots_deinit(&old);
	return true;
}

/* Returns the slot of a string, or a free slot. */
static struct ux_otlp_string_slot *otlp_string_slot(const struct ux_otlp_strings *s,
						    struct ux_bytes text, uint32_t tag)
{
	const size_t mask = s->slots.size - 1;
	size_t i = tag & mask;
	for (; s->slots.data[i].number != 0; i = (i + 1) & mask) {
		if (s->slots.data[i].tag != tag)
			continue;
		const struct ux_otlp_string *one = &s->list.data[s->slots.data[i].number - 1];
		if (one->size == text.size &&
		    memcmp(s->fields.data + one->at, text.data, text.size) == 0)
			break;
	}
	return &s->slots.data[i];
}

/* Writes the field of a string, and adds it to the list. */
static bool otlp_strings_append(struct ux_otlp_strings *s, struct ux_bytes text)
{
	enum {
		HEAD_MAX = 11, /* bytes of a tag and a size */
	};
	const size_t max = HEAD_MAX + text.size;
	uint8_t *start = ux_out_room(&s->fields, max);
	if (ux_unlikely(!start))
		return false;
	*start = OTLP_STRING_TABLE << 3 | UX_PROTOBUF_BYTES;
	uint8_t *to = ux_uleb_put(start + 1, text.size);
	memcpy(to, text.data, text.size);
	s->fields.size -= max - (size_t)(to + text.size - start);
	const struct ux_otlp_string one = {(uint32_t)(to - s->fields.data), (uint32_t)text.size};
	return s->fields.size <= UINT32_MAX && ux_otlp_string_list_append(&s->list, one);
}

/* String 0 is "" in every message. */
static void otlp_strings_first(struct ux_otlp_strings *s)
{
	if (s->first != 0)
		return;
	ux_protobuf_put_bytes(&s->fields, OTLP_STRING_TABLE, UX_BYTES_NONE);
	s->first = 1;
}

/* --- borrowed ones ---------------------------------------------------------------------------- */

uint32_t ux_otlp_strings_begin(struct ux_otlp_strings *s, size_t n)
{
	otlp_strings_first(s);
	if (s->fields.failed)
		return 0;
	if (!ux_otlp_borrowed_list_reserve(&s->borrowed, s->borrowed.size + n) ||
	    !ux_otlp_string_hashes_reserve(&s->hashes, s->hashes.size + n) ||
	    s->fields.size + s->borrowed_bytes > UINT32_MAX) {
		s->fields.failed = true;
		return 0;
	}
	return s->first + (uint32_t)(s->list.size + s->hashes.size);
}

uint32_t ux_otlp_strings_find(const struct ux_otlp_strings *s, struct ux_bytes text, uint32_t hash)
{
	if (s->list.size == 0)
		return 0;
	const uint32_t number = otlp_string_slot(s, text, hash)->number;
	return number == 0 ? 0 : s->first + number - 1;
}

/* Adds the copied fields of a piece to the list and to the hash table. */
static bool otlp_strings_list(struct ux_otlp_strings *s, const uint8_t *p, const uint8_t *end,
			      const uint32_t **hash)
{
	while (p < end) {
		unsigned shift = 0;
		uint32_t size = 0;
		do /* the sizes are known to be valid: the caches wrote them */
			size |= (uint32_t)(*++p & 0x7f) << shift;
		while (shift += 7, *p & 0x80);
		const struct ux_otlp_string one = {(uint32_t)(++p - s->fields.data), size};
		if ((s->list.size >= s->slots.size / 2 && !otlp_strings_grow(s)) ||
		    !ux_otlp_string_list_append(&s->list, one))
			return false;
		*otlp_free_slot(s, **hash) =
			(struct ux_otlp_string_slot){(uint32_t)s->list.size, **hash};
		++*hash;
		p += size;
	}
	return true;
}

void ux_otlp_strings_settle(struct ux_otlp_strings *s)
{
	const uint32_t *hash = s->hashes.data;
	if (s->hashes.size == 0 || s->fields.failed)
		return;
	if (s->fields.size + s->borrowed_bytes > UINT32_MAX)
		s->fields.failed = true;
	for (size_t i = 0; i < s->borrowed.size && !s->fields.failed; i++) {
		const struct ux_otlp_borrowed *b = &s->borrowed.data[i];
		uint8_t *p = ux_out_room(&s->fields, b->size);
		if (!p)
			break;
		memcpy(p, b->data, b->size);
		s->fields.failed = !otlp_strings_list(s, p, p + b->size, &hash);
	}
	s->borrowed.size = s->hashes.size = s->borrowed_bytes = 0;
}

/* --- copied ones ------------------------------------------------------------------------------ */

uint32_t ux_otlp_strings_put(struct ux_otlp_strings *s, struct ux_bytes text, uint32_t hash)
{
	if (text.size == 0 || s->fields.failed)
		return 0;
	otlp_strings_first(s);
	ux_otlp_strings_settle(s);
	if (s->fields.failed)
		return 0;
	if (s->list.size >= s->slots.size / 2 && !otlp_strings_grow(s)) {
		s->fields.failed = true;
		return 0;
	}
	struct ux_otlp_string_slot *slot = otlp_string_slot(s, text, hash);
	if (slot->number == 0) {
		if (!otlp_strings_append(s, text)) {
			s->fields.failed = true;
			return 0;
		}
		*slot = (struct ux_otlp_string_slot){(uint32_t)s->list.size, hash};
	}
	return s->first + slot->number - 1;
}

uint32_t ux_otlp_strings_add(struct ux_otlp_strings *s, struct ux_bytes text)
{
	return text.size == 0 ? 0 : ux_otlp_strings_put(s, text, (uint32_t)ux_hash_bytes(text));
}
