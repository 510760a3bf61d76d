/* SPDX-License-Identifier: Apache-2.0 */
/* Reads units in waves while .debug_info is inflated. */
#include "dwarf_units.h"

void ux_info_feed_open(struct ux_info_feed *feed, struct ux_section_window *stream,
		       const struct ux_dwarf_sections *sections, uint64_t each)
{
	assert(each > 0);
	*feed = (struct ux_info_feed){.stream = stream, .sections = sections, .each = each};
	ux_dwarf_headers_open(sections, &feed->headers);
}

void ux_info_feed_close(struct ux_info_feed *feed)
{
	for (size_t i = 0; i < feed->n_waves; i++)
		ux_dwarf_units_free(&feed->waves[i].units);
	feed->n_waves = feed->n_given = 0;
}

void ux_info_feed_rewind(struct ux_info_feed *feed)
{
	ux_info_feed_close(feed);
	ux_section_window_rewind(feed->stream);
	ux_info_feed_open(feed, feed->stream, feed->sections, feed->each);
}

bool ux_info_feed_ended(const struct ux_info_feed *feed)
{
	return feed->n_waves > 0 && feed->waves[feed->n_waves - 1].units.count == 0;
}

enum ux_code ux_info_feed_fill(struct ux_info_feed *feed, struct ux_error *err)
{
	ux_cleanup(ux_dwarf_units_free) struct ux_dwarf_units units = {0};
	if (ux_info_feed_ended(feed))
		return UX_OK;
	if (feed->n_waves == ux_countof(feed->waves))
		return ux_error_at(err, UX_ELIMIT, ".debug_info", feed->limit,
				   "has more than %zu waves", ux_countof(feed->waves));
	while (units.count == 0 && ux_cur_more(&feed->headers.cur)) {
		ux_dwarf_units_free(&units); /* the previous step has found no unit */
		feed->limit += feed->each;
		UX_TRY(ux_section_window_fill(feed->stream, feed->limit + UX_DWARF_HEADER_MAX,
					      err));
		UX_TRY(ux_dwarf_headers_read(feed->sections, &feed->headers, feed->limit, &units,
					     err));
	}
	/* After the last unit the rest is inflated, too, because that may reveal damage. */
	uint64_t end = units.count > 0 ? units.list[units.count - 1].end : UINT64_MAX;
	struct ux_info_wave *wave = &feed->waves[feed->n_waves++];
	*wave = (struct ux_info_wave){.units = units};
	units = (struct ux_dwarf_units){0};
	if (feed->n_waves > 1)
		wave->first = wave[-1].first + (uint32_t)wave[-1].units.count;
	return ux_section_window_fill(feed->stream, end, err);
}

/* Releases the memory of units below this number. */
static void info_feed_release(struct ux_info_feed *feed, uint32_t n_read)
{
	for (size_t i = 0; n_read > 0 && i < feed->n_waves; i++) {
		const struct ux_info_wave *wave = &feed->waves[i];
		uint32_t last =
			n_read - 1 - wave->first; /* a huge number if n_read is before the wave */
		if (last < wave->units.count)
			ux_section_window_release(feed->stream, wave->units.list[last].end);
	}
}

enum ux_code ux_info_feed_next(struct ux_info_feed *feed, uint32_t n_read, uint32_t *ret_n,
			       struct ux_error *err)
{
	assert(feed->n_given <= feed->n_waves);
	info_feed_release(feed, n_read);
	if (feed->n_given == feed->n_waves)
		UX_TRY(ux_info_feed_fill(feed, err));
	*ret_n = feed->n_given < feed->n_waves ? (uint32_t)feed->waves[feed->n_given].units.count
					       : 0;
	feed->n_given += *ret_n > 0;
	return UX_OK;
}
