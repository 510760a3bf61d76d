/* SPDX-License-Identifier: Apache-2.0 */
/* The symbol sources of a file, as text and JSON. */
#include "sources_out.h"

#include "output.h"

/* Returns whether there is DWARF, but in a version that cannot be read. */
static bool sources_unread(const struct ux_extract_stats *stats)
{
	return stats->units > 0 && stats->bad_units == stats->units;
}

void ux_sources_json(struct ux_json *j, const struct ux_extract_stats *stats)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	ux_json_key(j, "sources");
	ux_json_array_begin(j);
	for (unsigned i = 0; i < UX_SOURCE_COUNT; i++) {
		if (stats->found[i] == 0)
			continue;
		ux_json_object_begin(j);
		ux_json_key_cstr(j, "source", ux_source_name(i));
		if (i == UX_SOURCE_DWARF)
			ux_json_key_u64(j, "version", stats->dwarf_version);
		ux_json_key_u64(j, "found", stats->found[i]);
		ux_json_object_end(j);
	}
	ux_json_array_end(j);
	if (stats->bad_sources > 0)
		ux_json_key_cstr(j, "damaged",
				 ux_error_format(&stats->first_bad_source, text, sizeof(text)));
	if (sources_unread(stats))
		ux_json_key_cstr(j, "unread", stats->first_bad.text);
}

void ux_sources_text(struct ux_out *out, const struct ux_extract_stats *stats)
{
	bool any = false;
	for (unsigned i = 0; i < UX_SOURCE_COUNT; i++) {
		if (stats->found[i] == 0)
			continue;
		ux_out_fmt(out, "%s%s", any ? ", " : "", ux_source_name(i));
		if (i == UX_SOURCE_DWARF && stats->dwarf_version > 0)
			ux_out_fmt(out, " %u", stats->dwarf_version);
		ux_out_fmt(out, " (%" PRIu64 ")", stats->found[i]);
		any = true;
	}
	if (!any)
		ux_out_cstr(out, "none");
	if (sources_unread(stats)) {
		ux_out_fmt(out,
			   "; cannot read its %" PRIu64 " DWARF units, the first: ", stats->units);
		ux_text(out, ux_bytes_cstr(stats->first_bad.text));
	}
}

/* Writes tenths of a percent, rounded down, so that 100.0 always means all. */
static void coverage_percent(struct ux_out *out, uint64_t part, uint64_t whole, const char *what)
{
	uint64_t tenths = whole ? (uint64_t)((double)part * 1000 / (double)whole) : 0;
	ux_out_fmt(out, ", %" PRIu64 ".%" PRIu64 " %% %s", tenths / 10, tenths % 10, what);
}

void ux_coverage_text(struct ux_out *out, const struct ux_extract_stats *stats)
{
	const struct ux_counts *c = &stats->counts;
	ux_out_fmt(out, "%" PRIu64 " bytes", stats->text_bytes);
	coverage_percent(out, c->code_bytes, stats->text_bytes, "in functions");
	coverage_percent(out, c->line_bytes, stats->text_bytes, "with lines");
	if (c->unnamed > 0)
		coverage_percent(out, c->unnamed_bytes, stats->text_bytes,
				 "in functions without a name");
}

void ux_damage_warn(const char *path, const struct ux_extract_stats *s)
{
	char text[UX_ERROR_TEXT + UX_ERROR_SECTION + 128];
	if (sources_unread(s))
		ux_print_message("%s: cannot read its %" PRIu64 " DWARF units, the first: %s", path,
				 s->units, ux_error_format(&s->first_bad, text, sizeof(text)));
	else if (s->bad_units > 0)
		ux_print_message("%s: %" PRIu64 " of %" PRIu64
				 " DWARF units cannot be read in full; some of their symbols are "
				 "missing; the first: %s",
				 path, s->bad_units, s->units,
				 ux_error_format(&s->first_bad, text, sizeof(text)));
	if (s->bad_go > 0)
		ux_print_message(
			"%s: %" PRIu64
			" Go functions are damaged; some of their symbols are missing; the "
			"first: %s",
			path, s->bad_go, ux_error_format(&s->first_bad_go, text, sizeof(text)));
	if (s->bad_relocs > 0)
		ux_print_message("%s: %" PRIu64 " relocations skipped, the first because: %s", path,
				 s->bad_relocs,
				 ux_error_format(&s->first_bad_reloc, text, sizeof(text)));
}
