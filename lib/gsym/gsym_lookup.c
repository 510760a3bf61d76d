/* SPDX-License-Identifier: Apache-2.0 */
/* From an address to its frames: the hot path, which allocates and remembers nothing. */
#include "gsym_reader.h"

#include "gsym_reader.h"
#include "gsym_lines.h"
#include "gsym_record.h"

/* What a record says about pc, before names are looked up. */
struct call {
	uint64_t name;
	uint32_t file; /* of the call, in the caller */
	uint32_t line;
	uint64_t start; /* of the first range, from the function's start */
};

/* The last row at or before off, and there may be none. */
static enum ux_code find_row(struct ux_cur block, uint64_t off, struct call *row,
			     struct ux_error *err)
{
	*row = (struct call){0};
	if (!ux_cur_more(&block))
		return UX_OK;
	struct gsym_lines l = gsym_lines_start(block);
	while (gsym_lines_next(&l) && l.off <= off) {
		row->file = (uint32_t)l.file;
		row->line = (uint32_t)l.line;
	}
	return ux_cur_status(&l.c, err);
}

/* --- inlined calls ------------------------------------------------------------------------ */

/* Ranges of a node: do they hold off, and where does the first one start? */
ux_inline bool read_ranges(struct ux_cur *c, uint64_t n, uint64_t base, uint64_t off,
			   uint64_t *ret_start)
{
	bool holds = false;
	for (uint64_t i = 0; i < n && ux_cur_more(c); i++) {
		uint64_t start = base + ux_cur_uleb(c);
		uint64_t size = ux_cur_uleb(c);
		holds |= off - start < size;
		if (i == 0)
			*ret_start = start;
	}
	return holds;
}

/*
 * Fills calls[0..] with the nodes that hold off, outermost (the function) first. The first child
 * that holds it wins, and nothing behind it is read. Compiled for each offset_size by itself.
 */
ux_inline enum ux_code find_calls_of(struct ux_cur c, uint64_t off, unsigned offset_size,
				     struct call *calls, size_t *ret_n, struct ux_error *err)
{
	size_t n = 0;
	uint64_t base = 0;
	while (ux_cur_more(&c)) {
		struct call *call = &calls[n];
		uint64_t count = ux_cur_uleb(&c);
		if (count == 0)
			break; /* no sibling holds it */
		bool holds = read_ranges(&c, count, base, off, &call->start);
		bool has_children = ux_cur_u8(&c) != 0;
		call->name = gsym_name_read(&c, offset_size);
		call->file = (uint32_t)ux_cur_uleb(&c);
		call->line = (uint32_t)ux_cur_uleb(&c);
		if (!holds && n == 0)
			break; /* the function's own node has no sibling */
		if (!holds) {
			if (has_children)
				gsym_list_skip(&c, offset_size);
			continue;
		}
		if (n++ == UX_GSYM_DEPTH_MOST && has_children)
			ux_cur_bad(&c, "inlined calls are more than 256 deep");
		if (!has_children)
			break;
		base = call->start;
	}
	*ret_n = n > 0 ? n : 1;
	return ux_cur_status(&c, err);
}

static enum ux_code find_calls(const struct ux_gsym *g, struct ux_cur c, uint64_t off,
			       struct call *calls, size_t *ret_n, struct ux_error *err)
{
	return ux_likely(g->offset_size == GSYM1_OFFSET)
		       ? find_calls_of(c, off, GSYM1_OFFSET, calls, ret_n, err)
		       : find_calls_of(c, off, GSYM2_OFFSET, calls, ret_n, err);
}

/* --- frames ------------------------------------------------------------------------------- */

static enum ux_code record_frames(const struct ux_gsym *g, const struct gsym_record *r,
				  uint64_t off, struct ux_frame *frames, size_t max, size_t *ret_n,
				  struct ux_error *err)
{
	struct call calls[UX_GSYM_DEPTH_MOST + 2]; /* the function, its inlined calls, the row */
	size_t n = 1;
	if (ux_cur_more(&r->inlines))
		UX_TRY(find_calls(g, r->inlines, off, calls, &n, err));
	calls[0] = (struct call){.name = r->name};
	UX_TRY(find_row(r->lines, off, &calls[n], err));
	size_t kept = ux_min(n, max);
	for (size_t depth = 0; depth < kept; depth++) {
		struct ux_frame *frame = &frames[kept - 1 - depth];
		const struct call *place = &calls[depth + 1];
		UX_TRY(gsym_frame_make(g, calls[depth].name, place->file, place->line, frame, err));
		frame->inlined = depth > 0;
		frame->offset = off - calls[depth].start;
	}
	*ret_n = kept;
	return UX_OK;
}

static enum ux_code not_found(uint64_t pc, struct ux_error *err)
{
	return ux_error_set(err, UX_ENOTFOUND, "no function at 0x%" PRIx64, pc);
}

enum ux_code ux_gsym_lookup(const struct ux_gsym *g, uint64_t pc, struct ux_frame *frames,
			    size_t max, size_t *ret_n, struct ux_error *err)
{
	if (pc < g->base || g->n_functions == 0)
		return not_found(pc, err);
	uint64_t off = pc - g->base;
	struct gsym_starts s = gsym_starts_find(g, off);
	if (s.value > off)
		return not_found(pc, err);
	off -= s.value;
	struct gsym_record r;
	struct ux_cur c;
	size_t i = gsym_record_choose(g, &s, off, &c, &r);
	if (i == s.end)
		return not_found(pc, err);
	if (g->index && gsym_index_lookup(g, i, r.name, off, frames, max, ret_n))
		return UX_OK;
	UX_TRY(gsym_record_finish(g, &s, &c, &r, err));
	return record_frames(g, &r, off, frames, max, ret_n, err);
}

enum ux_code ux_gsym_extent(const struct ux_gsym *g, uint64_t pc, uint64_t *ret_start,
			    uint64_t *ret_size, struct ux_error *err)
{
	if (pc < g->base || g->n_functions == 0)
		return not_found(pc, err);
	uint64_t off = pc - g->base;
	struct gsym_starts s = gsym_starts_find(g, off);
	struct gsym_record r = {0};
	struct ux_cur c;
	if (s.value > off || gsym_record_choose(g, &s, off - s.value, &c, &r) == s.end)
		return not_found(pc, err);
	UX_TRY(ux_cur_status(&c, err));
	*ret_start = g->base + s.value;
	*ret_size = r.size;
	return UX_OK;
}
