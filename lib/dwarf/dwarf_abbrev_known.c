/* SPDX-License-Identifier: Apache-2.0 */
/* Abbreviations that were translated before. */
#include "dwarf_abbrev.h"

static bool known_layout_is(const struct ux_dwarf_known *known, struct ux_dwarf_layout layout)
{
	return known->layout.addr_size == layout.addr_size &&
	       known->layout.offset_size == layout.offset_size &&
	       known->layout.ref_addr_size == layout.ref_addr_size;
}

bool ux_dwarf_known_begin(struct ux_dwarf_known *known, struct ux_dwarf_layout layout, size_t words)
{
	if (words <= UX_DWARF_KNOWN_WORDS_MAX && known_layout_is(known, layout))
		return false;
	ux_dwarf_known_deinit(known);
	ux_arena_init(&known->arena, SIZE_MAX); /* bounded by UX_DWARF_KNOWN_MAX */
	known->layout = layout;
	return true;
}

bool ux_dwarf_known_add(struct ux_dwarf_known *known, struct ux_dwarf_known_key key,
			const struct ux_dwarf_abbrev *entry, const struct ux_dwarf_step *step)
{
	bool fresh = false;
	if (known->map.size >= UX_DWARF_KNOWN_MAX)
		return true;
	struct ux_dwarf_known_abbrev *made =
		ux_arena_alloc(&known->arena, sizeof(*made) + key.bytes.size, _Alignof(uint64_t));
	if (!made)
		return false;
	*made = (struct ux_dwarf_known_abbrev){
		.entry = *entry,
		.step = *step,
		.size = (uint8_t)key.bytes.size,
		.wide = key.wide,
	};
	memcpy(made->bytes, key.bytes.data, key.bytes.size);
	const struct ux_dwarf_known_abbrev **slot =
		ux_dwarf_known_map_insert(&known->map, key.hash, &fresh);
	if (!slot)
		return false;
	if (fresh)
		*slot = made;
	return true;
}

void ux_dwarf_known_deinit(struct ux_dwarf_known *known)
{
	ux_dwarf_known_map_deinit(&known->map);
	ux_arena_deinit(&known->arena);
	*known = (struct ux_dwarf_known){0};
}
