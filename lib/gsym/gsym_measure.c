/* SPDX-License-Identifier: Apache-2.0 */
/* How much a GSYM knows. */
#include "gsym_inspect.h"

#include "gsym_decode.h"
#include "gsym_lines.h"
#include "unhex/frame.h"

/* Counts rows and the bytes from `from` to the function's end that have a line. */
static enum ux_code count_lines(struct ux_cur block, uint64_t from, uint64_t size,
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

static enum ux_code count_blocks(const struct ux_gsym *g, struct ux_gsym_raw *raw, uint64_t from,
				 struct ux_counts *ret, struct ux_error *err)
{
	struct ux_gsym_block block;
	while (ux_gsym_raw_next(raw, &block)) {
		size_t n = 0;
		if (block.type == GSYM_INFO_LINES)
			UX_TRY(count_lines(block.content, from, raw->size, ret, err));
		if (block.type == GSYM_INFO_INLINES)
			UX_TRY(ux_gsym_count_inlines(g, block.content, &n, err));
		ret->inlines += n;
	}
	return UX_OK;
}

static bool is_named(const struct ux_gsym *g, uint64_t name)
{
	const char *text = ux_gsym_string(g, name);
	return !text || strcmp(text, UX_NO_NAME) != 0;
}

enum ux_code ux_gsym_measure(const struct ux_gsym *g, struct ux_counts *ret, struct ux_error *err)
{
	struct ux_counts counts = {0};
	struct ux_gsym_walk walk = {.g = g};
	uint64_t reach = 0; /* end of the bytes that are counted */
	for (;;) {
		bool more = false;
		UX_TRY(ux_gsym_walk_next(&walk, &more, err));
		if (!more)
			break;
		uint64_t start = ux_gsym_start(g, walk.next - 1), size = walk.raw.size;
		uint64_t from = reach > start ? ux_min(reach - start, size) : 0;
		bool named = is_named(g, walk.raw.name);
		counts.functions += named;
		counts.unnamed += !named;
		*(named ? &counts.code_bytes : &counts.unnamed_bytes) += size - from;
		UX_TRY(count_blocks(g, &walk.raw, from, &counts, err));
		if (size <= UINT64_MAX - start)
			reach = ux_max(reach, start + size);
	}
	*ret = counts;
	return UX_OK;
}
