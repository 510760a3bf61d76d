/* SPDX-License-Identifier: Apache-2.0 */
/* Strings of a frame cache: names and paths, encoded as fields of a message's string table. */
#include "frame_cache_internal.h"

enum {
	/*
	 * Memory of strings comes in pieces, so that the strings of one stack are close together.
	 */
	STRING_PIECE = 16 << 10,
};

/*
 * Returns memory for a field, followed by the bytes that readers may copy too much. NULL: no room.
 */
static uint8_t *frame_cache_string_room(struct ux_frame_cache *m, size_t max)
{
	if ((size_t)(m->strings_end - m->strings_at) < max) {
		const size_t size = ux_max((size_t)STRING_PIECE, max);
		uint8_t *piece = frame_cache_memory(m, size + UX_CACHED_STRING_BEHIND, 1);
		if (!piece)
			return NULL;
		memset(piece + size, 0, UX_CACHED_STRING_BEHIND);
		m->strings_at = piece;
		m->strings_end = piece + size;
	}
	return m->strings_at;
}

/* Encodes a text as a field. */
static bool frame_cache_make_string(struct ux_frame_cache *m, struct ux_bytes text, uint32_t hash,
				    struct ux_cached_string *ret)
{
	uint8_t *start = frame_cache_string_room(m, 1 + UX_ULEB_MAX + text.size);
	if (!start)
		return false;
	*start = UX_CACHED_STRING_TAG;
	uint8_t *p = ux_uleb_put(start + 1, text.size);
	const size_t head = (size_t)(p - start);
	memcpy(p, text.data, text.size);
	m->strings_at = p + text.size;
	*ret = (struct ux_cached_string){.field = start,
					 .hash = hash,
					 .size = (uint16_t)(head + text.size),
					 .head = (uint16_t)head};
	return true;
}

/* Returns the slot of an equal string, or the free slot where it belongs. */
static struct frame_slot *frame_cache_string_slot(const struct ux_frame_cache *m,
						  struct ux_bytes text, uint32_t hash)
{
	const size_t mask = m->string_slots_cap - 1;
	size_t i = hash & mask;
	for (; m->string_slots[i].number != 0; i = (i + 1) & mask) {
		if (m->string_slots[i].tag != hash)
			continue;
		const struct ux_cached_string *s = ux_cached_string(m, m->string_slots[i].number);
		if (ux_bytes_eq(ux_bytes(s->field + s->head, s->size - s->head), text))
			break;
	}
	return &m->string_slots[i];
}

static bool frame_cache_grow_strings(struct ux_frame_cache *m)
{
	struct frame_slot *old = m->string_slots;
	size_t n = m->string_slots_cap, cap = 0;
	struct frame_slot *slots = frame_cache_table_grow(m, n, sizeof(*slots), &cap);
	if (!slots)
		return false;
	m->string_slots = slots;
	m->string_slots_cap = cap;
	for (size_t i = 0; i < n; i++) {
		size_t at = old[i].tag & (cap - 1);
		if (old[i].number == 0)
			continue;
		while (slots[at].number != 0)
			at = (at + 1) & (cap - 1);
		slots[at] = old[i];
	}
	ux_table_free(old, n * sizeof(*old));
	return true;
}

/* Texts are keyed by address, so equal texts may appear twice; strings are keyed by content. */
bool frame_cache_string_number(struct ux_frame_cache *m, struct ux_bytes text, uint32_t hash,
			       uint32_t *ret)
{
	*ret = 0;
	if (text.size == 0)
		return true;
	if (m->lists.strings.n >= m->string_slots_cap - m->string_slots_cap / 4 &&
	    !frame_cache_grow_strings(m))
		return false;
	struct frame_slot *slot = frame_cache_string_slot(m, text, hash);
	if (slot->number == 0) {
		struct ux_cached_string made;
		if (!frame_cache_make_string(m, text, hash, &made))
			return false;
		struct ux_cached_string *item =
			frame_cache_append(m, &m->lists.strings, sizeof(*item), &slot->number);
		if (!item)
			return false;
		slot->tag = hash;
		*item = made;
	}
	*ret = slot->number;
	return true;
}
