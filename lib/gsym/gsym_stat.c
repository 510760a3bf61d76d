/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics of a GSYM: its bytes by part, and counts of its content. */
#include "gsym_inspect.h"

#include "gsym_decode.h"
#include "gsym_format.h"
#include "gsym_record.h"
#include "unhex/frame.h"

enum {
	HEAD = 2 * sizeof(uint32_t) /* size of the head of a block */
};

const char *ux_gsym_part_name(enum ux_gsym_part part)
{
	static const char *const names[] = {
		[UX_GSYM_PART_HEADER] = "header",
		[UX_GSYM_PART_DIRECTORY] = "directory",
		[UX_GSYM_PART_UUID] = "build ID section",
		[UX_GSYM_PART_STARTS] = "address table",
		[UX_GSYM_PART_RECORDS] = "record offsets",
		[UX_GSYM_PART_FILES] = "file table",
		[UX_GSYM_PART_STRINGS] = "strings",
		[UX_GSYM_PART_HEADS] = "sizes and names",
		[UX_GSYM_PART_LINES] = "line tables",
		[UX_GSYM_PART_INLINES] = "inlined calls",
		[UX_GSYM_PART_MERGED] = "merged functions",
		[UX_GSYM_PART_CALLS] = "call sites",
		[UX_GSYM_PART_UNKNOWN] = "unknown blocks",
		[UX_GSYM_PART_ENDS] = "ends of records",
		[UX_GSYM_PART_FOREIGN] = "unknown sections",
		[UX_GSYM_PART_PADDING] = "padding",
	};
	_Static_assert(ux_countof(names) == UX_GSYM_PART_COUNT, "a name for each part");
	return (unsigned)part < UX_GSYM_PART_COUNT ? names[part] : "unknown";
}

static enum ux_gsym_part stat_part(uint32_t type)
{
	switch (type) {
	case GSYM_INFO_LINES:
		return UX_GSYM_PART_LINES;
	case GSYM_INFO_INLINES:
		return UX_GSYM_PART_INLINES;
	case GSYM_INFO_MERGED:
		return UX_GSYM_PART_MERGED;
	case GSYM_INFO_CALLS:
		return UX_GSYM_PART_CALLS;
	default:
		return UX_GSYM_PART_UNKNOWN;
	}
}

/* Adds the sections that only version 2 has. */
static void stat_add_sections(const struct ux_gsym *g, uint64_t *bytes)
{
	struct gsym_directory d = gsym_directory_open(g->file, g->swap);
	struct gsym_section s;
	while (gsym_directory_next(&d, &s))
		if (s.type >= GSYM_SECTION_COUNT)
			bytes[UX_GSYM_PART_FOREIGN] += s.content.size;
	bytes[UX_GSYM_PART_HEADER] = GSYM2_HEADER_SIZE;
	bytes[UX_GSYM_PART_DIRECTORY] = ux_cur_off(&d.c) - GSYM2_HEADER_SIZE;
	bytes[UX_GSYM_PART_UUID] = g->uuid.size;
}

static void stat_add_tables(const struct ux_gsym *g, uint64_t *bytes)
{
	uint64_t n = g->n_functions;
	if (g->version == 1)
		bytes[UX_GSYM_PART_HEADER] = GSYM1_HEADER_SIZE;
	else
		stat_add_sections(g, bytes);
	bytes[UX_GSYM_PART_STARTS] = n * g->addr_size;
	bytes[UX_GSYM_PART_RECORDS] = n * g->offset_size;
	bytes[UX_GSYM_PART_FILES] = sizeof(uint32_t) + (uint64_t)g->n_files * 2 * g->offset_size;
	bytes[UX_GSYM_PART_STRINGS] = g->strings.size;
	bytes[UX_GSYM_PART_HEADS] = n * (sizeof(uint32_t) + g->offset_size);
	bytes[UX_GSYM_PART_ENDS] = n * HEAD;
}

static enum ux_code stat_add_padding(uint64_t file, uint64_t *bytes, struct ux_error *err)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < UX_GSYM_PART_PADDING; i++)
		sum += bytes[i];
	if (sum > file)
		return ux_error_set(err, UX_ECORRUPT,
				    "parts overlap: %" PRIu64 " bytes in a file of %" PRIu64, sum,
				    file);
	bytes[UX_GSYM_PART_PADDING] = file - sum;
	return UX_OK;
}

enum ux_code ux_gsym_stat(const struct ux_gsym *g, struct ux_gsym_stat *ret, struct ux_error *err)
{
	struct ux_gsym_stat stat = {{0}};
	struct ux_gsym_walk walk = {.g = g};
	stat_add_tables(g, stat.bytes);
	for (;;) {
		bool more = false;
		UX_TRY(ux_gsym_walk_next(&walk, &more, err));
		if (!more)
			break;
		struct ux_gsym_block block;
		while (ux_gsym_raw_next(&walk.raw, &block))
			stat.bytes[stat_part(block.type)] += HEAD + ux_cur_left(&block.content);
	}
	UX_TRY(stat_add_padding(g->file.size, stat.bytes, err));
	*ret = stat;
	return UX_OK;
}

/* Counts rows and the bytes from `from` to the function's end that have a line. */
static enum ux_code measure_lines(struct ux_cur block, uint64_t from, uint64_t size,
				  struct ux_counts *ret, struct ux_error *err)
{
	struct gsym_lines l = gsym_lines_start(block);
	uint64_t at = 0, line = 0;
	for (bool more = true; more;) {
		more = gsym_lines_next(&l);
		uint64_t end = more ? ux_min(l.off, size) : size;
		uint64_t lo = ux_max(at, from);
		if (line != 0 && end > lo)
			ret->line_bytes += end - lo;
		at = ux_max(at, end);
		line = (uint32_t)l.line;
		ret->rows += more;
	}
	return ux_cur_status(&l.c, err);
}

static enum ux_code measure_blocks(const struct ux_gsym *g, struct ux_gsym_raw *raw, uint64_t from,
				   struct ux_counts *ret, struct ux_error *err)
{
	struct ux_gsym_block block;
	while (ux_gsym_raw_next(raw, &block)) {
		size_t n = 0;
		if (block.type == GSYM_INFO_LINES)
			UX_TRY(measure_lines(block.content, from, raw->size, ret, err));
		if (block.type == GSYM_INFO_INLINES)
			UX_TRY(ux_gsym_count_inlines(g, block.content, &n, err));
		ret->inlines += n;
	}
	return UX_OK;
}

static bool measure_is_named(const struct ux_gsym *g, uint64_t name)
{
	const char *text = ux_gsym_string(g, name);
	return !text || strcmp(text, UX_NO_NAME) != 0;
}

enum ux_code ux_gsym_measure(const struct ux_gsym *g, struct ux_counts *ret, struct ux_error *err)
{
	struct ux_counts counts = {0};
	struct ux_gsym_walk walk = {.g = g};
	uint64_t reach = 0; /* end of the bytes that were counted */
	for (;;) {
		bool more = false;
		UX_TRY(ux_gsym_walk_next(&walk, &more, err));
		if (!more)
			break;
		uint64_t start = ux_gsym_start(g, walk.next - 1), size = walk.raw.size;
		uint64_t from = reach > start ? ux_min(reach - start, size) : 0;
		bool named = measure_is_named(g, walk.raw.name);
		counts.functions += named;
		counts.unnamed += !named;
		*(named ? &counts.code_bytes : &counts.unnamed_bytes) += size - from;
		UX_TRY(measure_blocks(g, &walk.raw, from, &counts, err));
		if (size <= UINT64_MAX - start)
			reach = ux_max(reach, start + size);
	}
	*ret = counts;
	return UX_OK;
}
