/* SPDX-License-Identifier: Apache-2.0 */
/* Frames, texts, files and strings of a frame cache, each stored once. */
#include "frame_cache_internal.h"

#include "demangle.h"
#include "table_memory.h"
#include "text.h"

enum {
	/*
	 * Memory of strings comes in pieces, so that the strings of one stack are close together.
	 */
	STRING_PIECE = 16 << 10,
};

/* --- frames ----------------------------------------------------------------------------------- */

/* Doubles a hash table of items. False: no room. */
static bool frame_cache_grow_slots(struct ux_frame_cache *m, struct frame_slot **table,
				   size_t *table_cap)
{
	struct frame_slot *old = *table;
	size_t n = *table_cap, cap = 0;
	struct frame_slot *slots = frame_cache_table_grow(m, n, sizeof(*slots), &cap);
	if (!slots)
		return false;
	*table = slots;
	*table_cap = cap;
	for (size_t i = 0; i < n; i++) {
		if (old[i].number == 0)
			continue;
		/* they all differ, so each takes the first free slot */
		size_t at = old[i].tag & (cap - 1);
		while (slots[at].number != 0)
			at = (at + 1) & (cap - 1);
		slots[at] = old[i];
	}
	ux_table_free(old, n * sizeof(*old));
	return true;
}

bool frame_cache_frame_number(struct ux_frame_cache *m, const struct ux_cached_frame *f,
			      uint32_t *ret)
{
	if (m->lists.frames.n >= m->frame_slots_cap / 2 &&
	    !frame_cache_grow_slots(m, &m->frame_slots, &m->frame_slots_cap))
		return false;
	*ret = frame_cache_frame_among(m, m->frame_slots, m->frame_slots_cap, f);
	return *ret != 0;
}

/* --- texts and files -------------------------------------------------------------------------- */

/* Sixteen bytes, compared in one instruction. */
typedef uint8_t cached_text_lane __attribute__((vector_size(16)));

/* Sets all bits of an element if its byte is not plain. */
ux_inline cached_text_lane cached_text_unplain(cached_text_lane c)
{
	return (cached_text_lane)(c - 0x20 > 0x7e - 0x20) | (cached_text_lane)(c == '"') |
	       (cached_text_lane)(c == '\\');
}

static bool cached_text_is_plain(struct ux_bytes text)
{
	cached_text_lane lane, bad = {0};
	const uint8_t *p = text.data;
	size_t left = text.size;
	uint64_t half[2];
	for (; left >= sizeof(lane); p += sizeof(lane), left -= sizeof(lane)) {
		memcpy(&lane, p, sizeof(lane));
		bad |= cached_text_unplain(lane);
	}
	memset(&lane, ' ', sizeof(lane));
	if (left > 0)
		memcpy(&lane, p, left);
	bad |= cached_text_unplain(lane);
	memcpy(half, &bad, sizeof(half));
	return (half[0] | half[1]) == 0;
}

/*
 * Makes a text with the linkage name that it was demangled from; both are the same bytes if it was
 * not demangled.
 */
static struct ux_cached_text cached_text_of(struct ux_bytes text, struct ux_bytes linkage)
{
	const uint32_t hash = (uint32_t)ux_hash_bytes(text);
	return (struct ux_cached_text){
		.data = (const char *)text.data,
		.linkage = (const char *)linkage.data,
		.hash = hash,
		.linkage_hash = linkage.data == text.data ? hash : (uint32_t)ux_hash_bytes(linkage),
		.size = (uint16_t)text.size,
		.linkage_size = (uint16_t)linkage.size,
		.plain = cached_text_is_plain(text),
	};
}

/* Replaces a text by a copy in the cache's memory, with `mark` appended. */
static bool frame_cache_copy(struct ux_frame_cache *m, struct ux_bytes *text, struct ux_bytes mark)
{
	size_t size = text->size + mark.size;
	char *copy = frame_cache_memory(m, size + 1, 1);
	if (!copy)
		return false;
	memcpy(copy, text->data, text->size);
	memcpy(copy + text->size, mark.data, mark.size);
	copy[size] = '\0';
	*text = ux_bytes(copy, size);
	return true;
}

/* Replaces a linkage name by a copy of its demangled form, if they differ. */
static bool frame_cache_demangle(struct ux_frame_cache *m, struct ux_bytes *text)
{
	size_t cap = m->name.cap;
	ux_out_reset(&m->name);
	ux_demangle(*text, m->mode, &m->name);
	frame_cache_charge(m, m->name.cap - cap);
	struct ux_bytes made = ux_out_bytes(&m->name);
	if (m->name.failed || ux_bytes_eq(made, *text)) /* keep the linkage name */
		return true;
	*text = made;
	return made.size > UX_FRAME_TEXT_MAX || frame_cache_copy(m, text, UX_STR(""));
}

uint32_t *frame_cache_number_slot(struct ux_frame_cache *m, struct cached_numbers *map,
				  uint64_t key)
{
	bool fresh = false;
	size_t cap = map->cap;
	if (m->bytes + cap * sizeof(*map->entries) > m->max && map->size >= cap - cap / 4)
		return NULL;
	uint32_t *at = cached_numbers_insert(map, key, &fresh);
	frame_cache_charge(m, (map->cap - cap) * sizeof(*map->entries));
	return at;
}

bool frame_cache_text_number(struct ux_frame_cache *m, const char *s, bool function, uint32_t *ret)
{
	*ret = 0;
	if (s[0] == '\0')
		return true;
	uint32_t *number =
		frame_cache_number_slot(m, &m->text_numbers, cached_text_key(s, function));
	if (!number)
		return false;
	if (*number == 0) {
		struct ux_bytes text = ux_bytes(s, strnlen(s, UX_FRAME_TEXT_MAX + 1));
		const struct ux_bytes linkage =
			ux_bytes(s, ux_min(text.size, (size_t)UX_FRAME_TEXT_MAX));
		if (function && m->mode != UX_DEMANGLE_NONE && !frame_cache_demangle(m, &text))
			return false;
		if (ux_text_cut(&text, UX_FRAME_TEXT_MAX) &&
		    !frame_cache_copy(m, &text, UX_STR(UX_TEXT_CUT)))
			return false;
		struct ux_cached_text *t =
			frame_cache_append(m, &m->lists.texts, sizeof(*t), number);
		if (!t)
			return false;
		*t = cached_text_of(text, text.data == (const uint8_t *)s ? text : linkage);
	}
	*ret = *number;
	return true;
}

/* Joins both parts of a path as a text of its own. */
static bool frame_cache_join_path(struct ux_frame_cache *m, struct ux_cached_file *file)
{
	struct ux_bytes dir = file->dir ? ux_cached_text_bytes(m, file->dir) : UX_STR("");
	struct ux_bytes base = ux_cached_text_bytes(m, file->base);
	size_t cap = m->name.cap;
	ux_out_reset(&m->name);
	ux_out_put(&m->name, dir.data, dir.size);
	if (dir.size > 0 && dir.data[dir.size - 1] != '/')
		ux_out_u8(&m->name, '/');
	ux_out_put(&m->name, base.data, base.size);
	frame_cache_charge(m, m->name.cap - cap);
	struct ux_bytes text = ux_out_bytes(&m->name);
	if (m->name.failed || !frame_cache_copy(m, &text, UX_STR("")))
		return false;
	struct ux_cached_text *t = frame_cache_append(m, &m->lists.texts, sizeof(*t), &file->path);
	if (t)
		*t = cached_text_of(text, text);
	return t != NULL;
}

bool frame_cache_file_number(struct ux_frame_cache *m, const struct ux_frame *f, uint32_t *ret)
{
	struct ux_cached_file file;
	*ret = 0;
	if (f->base[0] == '\0')
		return true;
	if (!frame_cache_text_number(m, f->dir, false, &file.dir) ||
	    !frame_cache_text_number(m, f->base, false, &file.base))
		return false;
	uint32_t *number =
		frame_cache_number_slot(m, &m->file_numbers, (uint64_t)file.dir << 32 | file.base);
	if (!number)
		return false;
	if (*number == 0) {
		if (!frame_cache_join_path(m, &file))
			return false;
		struct ux_cached_file *item =
			frame_cache_append(m, &m->lists.files, sizeof(*item), number);
		if (!item)
			return false;
		*item = file;
	}
	*ret = *number;
	return true;
}

/* --- strings: names and paths, encoded as fields of a message's string table ------------------ */

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

/* Texts are keyed by address, so equal texts may appear twice; strings are keyed by content. */
bool frame_cache_string_number(struct ux_frame_cache *m, struct ux_bytes text, uint32_t hash,
			       uint32_t *ret)
{
	*ret = 0;
	if (text.size == 0)
		return true;
	if (m->lists.strings.n >= m->string_slots_cap - m->string_slots_cap / 4 &&
	    !frame_cache_grow_slots(m, &m->string_slots, &m->string_slots_cap))
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
