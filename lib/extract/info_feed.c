/* SPDX-License-Identifier: Apache-2.0 */
/* Reads units in waves while .debug_info is inflated. */
#include "dwarf_units.h"

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
	/* Behind the last unit the rest is inflated, too, because that may reveal damage. */
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
