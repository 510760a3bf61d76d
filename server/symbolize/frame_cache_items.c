/* SPDX-License-Identifier: Apache-2.0 */
/* Frames, texts and files of a frame cache, each stored once. */
#include "frame_cache_internal.h"

#include "demangle.h"
#include "table_memory.h"
#include "text.h"

/* --- frames ----------------------------------------------------------------------------------- */

static bool frame_cache_grow_frames(struct ux_frame_cache *m)
{
	struct frame_slot *old = m->frame_slots;
	size_t n = m->frame_slots_cap, cap = 0;
	struct frame_slot *slots = frame_cache_table_grow(m, n, sizeof(*slots), &cap);
	if (!slots)
		return false;
	m->frame_slots = slots;
	m->frame_slots_cap = cap;
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
	if (m->lists.frames.n >= m->frame_slots_cap / 2 && !frame_cache_grow_frames(m))
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
