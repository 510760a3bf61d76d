/* SPDX-License-Identifier: Apache-2.0 */
/* Units, as .debug_info is inflated. */
#include "info_feed.h"

void ux_info_feed_open(struct ux_info_feed *feed, struct ux_section_window *stream,
		       const struct ux_dwarf_sections *sections, uint64_t each)
{
	*feed = (struct ux_info_feed){.stream = stream, .sections = sections, .each = each};
	ux_dwarf_headers_open(sections, &feed->headers);
}

void ux_info_feed_close(struct ux_info_feed *feed)
{
	ux_dwarf_units_free(&feed->units);
	ux_dwarf_units_free(&feed->coming);
}

enum ux_code ux_info_feed_next(struct ux_info_feed *feed, struct ux_error *err)
{
	struct ux_dwarf_units *coming = &feed->coming;
	while (coming->count == 0 && ux_cur_more(&feed->headers.cur)) {
		ux_dwarf_units_free(coming);
		feed->limit += feed->each;
		UX_TRY(ux_section_window_fill(feed->stream, feed->limit + UX_DWARF_HEADER_MOST,
					      err));
		UX_TRY(ux_dwarf_headers_read(feed->sections, &feed->headers, feed->limit, coming,
					     err));
	}
	/* Also what is behind the last unit: it may be damaged. */
	uint64_t end = coming->count > 0 ? coming->list[coming->count - 1].end : UINT64_MAX;
	return ux_section_window_fill(feed->stream, end, err);
}

bool ux_info_feed_advance(struct ux_info_feed *feed)
{
	struct ux_dwarf_units read = feed->units;
	feed->units = feed->coming;
	feed->coming = (struct ux_dwarf_units){0};
	if (feed->units.count > 0)
		ux_section_window_release(feed->stream, feed->units.list[0].off);
	ux_dwarf_units_free(&read);
	return feed->units.count > 0;
}

/* A text's copy, when it is in the section. Neighbours often are the same one. */
struct keeper {
	struct ux_bytes info;
	struct ux_arena *arena;
	const char *last;
	const char *copy;
};

static bool text_keeper_copy(struct keeper *k, const char **text)
{
	uintptr_t at = (uintptr_t)*text, start = (uintptr_t)k->info.data;
	if (at < start || at - start >= k->info.size)
		return true;
	if (*text != k->last) {
		k->last = *text;
		k->copy = ux_arena_strndup(k->arena, *text, strlen(*text));
	}
	*text = k->copy;
	return k->copy != NULL;
}

static bool text_keeper_copy_pieces(struct keeper *k, struct ux_piece *pieces, uint32_t n)
{
	bool ok = true;
	for (uint32_t i = 0; i < n; i++)
		ok &= text_keeper_copy(k, &pieces[i].name);
	return ok;
}

enum ux_code ux_info_feed_copy_texts(const struct ux_info_feed *feed, struct ux_unit_pieces *unit,
				     struct ux_arena *arena, struct ux_error *err)
{
	struct keeper k = {.info = feed->sections->data[UX_DWARF_INFO], .arena = arena};
	bool ok = text_keeper_copy_pieces(&k, unit->functions, unit->n_functions) &&
		  text_keeper_copy_pieces(&k, unit->lines, unit->n_lines);
	for (uint32_t i = 0; i < unit->n_names; i++)
		ok &= text_keeper_copy(&k, &unit->names[i]);
	for (uint32_t i = 0; i < unit->n_files; i++) {
		ok &= text_keeper_copy(&k, &unit->files[i].dir);
		ok &= text_keeper_copy(&k, &unit->files[i].base);
	}
	return ok ? UX_OK : ux_arena_fail(arena, err);
}
