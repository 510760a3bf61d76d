/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From an address to its frames, and to the alternative names of its function. This is the hot
 * path, which allocates nothing and has no state.
 */
#include "gsym_reader.h"

#include "gsym_decode.h"
#include "gsym_index.h"

/* An inlined call or a row at an address, before its strings are looked up. */
struct call {
	uint64_t name;
	uint32_t file; /* file of the call, in the caller */
	uint32_t line;
	uint64_t start; /* start of the first range, from the record's start */
};

/* Finds the last row at or before off, if there is one. */
static enum ux_code lookup_row(struct ux_cur block, uint64_t off, struct call *row,
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

/*
 * Fills calls[0..] with the nodes that contain off, outermost (the function) first. The first child
 * that contains it is used, and nothing after it is read. It is compiled separately for each
 * offset_size.
 */
ux_inline enum ux_code lookup_calls_of(struct ux_cur block, uint64_t off, unsigned offset_size,
				       struct call *calls, size_t *ret_n, struct ux_error *err)
{
	size_t n = 0;
	struct gsym_inlines it;
	gsym_inlines_start(&it);
	while (gsym_inlines_next(&it, &block, GSYM_INLINES_LOOSE)) {
		struct call *call = &calls[n];
		struct gsym_inlines_range range;
		struct gsym_inlines_node node;
		bool holds = false;
		if (it.n_ranges == 0)
			break; /* no sibling contains off */
		while (gsym_inlines_range(&it, &block, &range, GSYM_INLINES_LOOSE))
			holds |= off - range.lo < range.size;
		gsym_inlines_node(&it, &block, offset_size, &node, GSYM_INLINES_LOOSE);
		*call = (struct call){node.name, node.file, node.line, it.start};
		if (!holds && n == 0)
			break; /* the function's own node has no sibling */
		if (!holds) {
			if (node.has_children)
				gsym_inlines_skip(&it, &block, offset_size);
			continue;
		}
		n++;
		if (!node.has_children)
			break;
	}
	*ret_n = n > 0 ? n : 1;
	return ux_cur_status(&block, err);
}

static enum ux_code lookup_calls(const struct ux_gsym *g, struct ux_cur c, uint64_t off,
				 struct call *calls, size_t *ret_n, struct ux_error *err)
{
	return ux_likely(g->offset_size == GSYM1_OFFSET)
		       ? lookup_calls_of(c, off, GSYM1_OFFSET, calls, ret_n, err)
		       : lookup_calls_of(c, off, GSYM2_OFFSET, calls, ret_n, err);
}

/* --- frames ------------------------------------------------------------------------------- */

static enum ux_code lookup_frames(const struct ux_gsym *g, const struct gsym_record *r,
				  uint64_t off, struct ux_frame *frames, size_t max, size_t *ret_n,
				  struct ux_error *err)
{
	struct call calls[UX_GSYM_DEPTH_MAX + 2]; /* the function, its inlined calls, the row */
	size_t n = 1;
	if (ux_cur_more(&r->inlines))
		UX_TRY(lookup_calls(g, r->inlines, off, calls, &n, err));
	calls[0] = (struct call){.name = r->name};
	UX_TRY(lookup_row(r->lines, off, &calls[n], err));
	size_t kept = ux_min(n, max);
	for (size_t depth = 0; depth < kept; depth++) {
		struct ux_frame *frame = &frames[kept - 1 - depth];
		const struct call *at = &calls[depth + 1];
		UX_TRY(gsym_frame_make(g, calls[depth].name, at->file, at->line, frame, err));
		frame->inlined = depth > 0;
		frame->offset = off - calls[depth].start;
	}
	if (kept > 0)
		frames[kept - 1].offset += r->before;
	*ret_n = kept;
	return UX_OK;
}

static enum ux_code lookup_not_found(uint64_t pc, struct ux_error *err)
{
	return ux_error_set(err, UX_ENOTFOUND, "no function at 0x%" PRIx64, pc);
}

enum ux_code ux_gsym_lookup(const struct ux_gsym *g, uint64_t pc, struct ux_frame *frames,
			    size_t max, size_t *ret_n, struct ux_error *err)
{
	return ux_gsym_lookup_within(g, pc, /* work= */ NULL, frames, max, ret_n, err);
}

enum ux_code ux_gsym_lookup_within(const struct ux_gsym *g, uint64_t pc, struct ux_work *work,
				   struct ux_frame *frames, size_t max, size_t *ret_n,
				   struct ux_error *err)
{
	if (pc < g->base || g->n_functions == 0)
		return lookup_not_found(pc, err);
	uint64_t off = pc - g->base;
	struct gsym_starts s = gsym_starts_find(g, off);
	if (s.value > off)
		return lookup_not_found(pc, err);
	off -= s.value;
	struct gsym_record r;
	struct ux_cur c;
	size_t i = gsym_record_choose(g, &s, off, &c, &r);
	if (i == s.end)
		return lookup_not_found(pc, err);
	if (!ux_work_charge(work, GSYM_LOOKUP_COST))
		return UX_EUNAVAILABLE;
	const struct gsym_cut *cut = g->index ? gsym_index_find(g, i) : NULL;
	if (cut && gsym_cut_frames(cut, g, r.name, off, frames, max, ret_n))
		return UX_OK;
	UX_TRY(gsym_record_finish(g, &s, &c, &r, err));
	if (!ux_work_charge(work, gsym_record_cost(&r)))
		return UX_EUNAVAILABLE;
	if (g->index && !cut)
		(void)gsym_index_cut(g, i, &r);
	return lookup_frames(g, &r, off, frames, max, ret_n, err);
}

enum ux_code ux_gsym_extent(const struct ux_gsym *g, uint64_t pc, uint64_t *ret_start,
			    uint64_t *ret_size, struct ux_error *err)
{
	if (pc < g->base || g->n_functions == 0)
		return lookup_not_found(pc, err);
	uint64_t off = pc - g->base;
	struct gsym_starts s = gsym_starts_find(g, off);
	struct gsym_record r = {0};
	struct ux_cur c;
	if (s.value > off || gsym_record_choose(g, &s, off - s.value, &c, &r) == s.end)
		return lookup_not_found(pc, err);
	UX_TRY(gsym_record_read(g, &c, &r, err));
	*ret_start = g->base + s.value - r.before;
	*ret_size = r.size > 0 ? (uint64_t)r.size + r.before : 0;
	return UX_OK;
}

/* Finds the function that a lookup of pc uses. */
static enum ux_code lookup_find_function(const struct ux_gsym *g, uint64_t pc, uint32_t *ret,
					 struct ux_error *err)
{
	struct gsym_record r;
	struct ux_cur c;
	if (pc < g->base || g->n_functions == 0)
		return UX_ENOTFOUND;
	struct gsym_starts s = gsym_starts_find(g, pc - g->base);
	if (s.value > pc - g->base)
		return UX_ENOTFOUND;
	size_t i = gsym_record_choose(g, &s, pc - g->base - s.value, &c, &r);
	if (i == s.end)
		return UX_ENOTFOUND;
	*ret = (uint32_t)i;
	return ux_cur_status(&c, err);
}

static enum ux_code merged_read_names(const struct ux_gsym *g, struct ux_cur block,
				      const char **names, size_t max, size_t *ret_n,
				      struct ux_error *err)
{
	struct ux_gsym_merged m = ux_gsym_merged_open(g, block);
	struct ux_gsym_raw raw;
	for (*ret_n = 0; ux_gsym_merged_next(&m, &raw); ++*ret_n) {
		const char *name = ux_gsym_string(g, raw.name);
		if (!name)
			return ux_error_set(err, UX_ECORRUPT, "name %" PRIu64 " is past its table",
					    raw.name);
		if (*ret_n < max)
			names[*ret_n] = name;
	}
	return ux_cur_status(&m.c, err);
}

enum ux_code ux_gsym_alternatives(const struct ux_gsym *g, uint64_t pc, const char **names,
				  size_t max, size_t *ret_n, struct ux_error *err)
{
	struct ux_gsym_raw raw;
	struct ux_gsym_block block;
	uint32_t i = 0;
	size_t n = 0;
	enum ux_code code = lookup_find_function(g, pc, &i, err);
	if (code == UX_ENOTFOUND)
		return ux_error_set(err, code, "no function at 0x%" PRIx64, pc);
	UX_TRY(code);
	UX_TRY(ux_gsym_raw_find(g, i, &raw, err));
	while (ux_gsym_raw_next(&raw, &block))
		if (block.type == GSYM_INFO_MERGED)
			UX_TRY(merged_read_names(g, block.content, names, max, &n, err));
	UX_TRY(ux_cur_status(&raw.rest, err));
	*ret_n = n;
	return UX_OK;
}
