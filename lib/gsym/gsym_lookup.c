/* SPDX-License-Identifier: Apache-2.0 */
/* From an address to its frames: the hot path, which allocates and remembers nothing. */
#include "gsym_reader.h"

#include "cursor.h"
#include "gsym_format.h"
#include "gsym_lines.h"

enum {
	BLOCKS_MOST = 64 /* in a record; five types exist */
};

/* --- the address table ------------------------------------------------------------------- */

ux_inline uint64_t table_at(const uint8_t *table, size_t i, unsigned width, bool swap)
{
	uint16_t v16;
	uint32_t v32;
	uint64_t v64;
	switch (width) {
	case 1:
		return table[i];
	case 2:
		memcpy(&v16, table + i * 2, sizeof(v16));
		return swap ? __builtin_bswap16(v16) : v16;
	case 4:
		memcpy(&v32, table + i * 4, sizeof(v32));
		return swap ? __builtin_bswap32(v32) : v32;
	default:
		memcpy(&v64, table + i * 8, sizeof(v64));
		return swap ? __builtin_bswap64(v64) : v64;
	}
}

/* Which entries start where. */
struct span {
	size_t first; /* of the entries with the greatest value that is not above what was sought */
	size_t end;   /* behind the last one that a lookup tries */
	uint64_t value;
};

/*
 * Without a branch on the values, which no predictor can guess. An unsorted table gives some entry;
 * its record then decides. Needs n > 0.
 */
ux_inline struct span table_search(const uint8_t *table, size_t n, uint64_t off, unsigned width,
				   bool swap)
{
	size_t at = 0;
	for (size_t left = n; left > 1;) {
		size_t half = left / 2;
		at += half & -(size_t)(table_at(table, at + half, width, swap) <= off);
		left -= half;
	}
	struct span s = {at, at + 1, table_at(table, at, width, swap)};
	if (ux_likely(at == 0 || table_at(table, at - 1, width, swap) != s.value))
		return s;
	for (size_t left = at; left > 0;) { /* the first of equal ones is at or before `first` */
		size_t half = left / 2;
		if (table_at(table, s.first - left + half, width, swap) == s.value) {
			s.first -= left - half;
			left = half;
		} else {
			left -= half + 1;
		}
	}
	s.end = ux_min(s.end, s.first + UX_GSYM_SAME_START_MOST);
	return s;
}

static struct span find_start(const struct ux_gsym *g, uint64_t off)
{
	switch (g->addr_size * 2 + g->swap) {
	case 2:
	case 3:
		return table_search(g->addrs, g->n_functions, off, 1, false);
	case 4:
		return table_search(g->addrs, g->n_functions, off, 2, false);
	case 5:
		return table_search(g->addrs, g->n_functions, off, 2, true);
	case 8:
		return table_search(g->addrs, g->n_functions, off, 4, false);
	case 9:
		return table_search(g->addrs, g->n_functions, off, 4, true);
	case 16:
		return table_search(g->addrs, g->n_functions, off, 8, false);
	default:
		return table_search(g->addrs, g->n_functions, off, 8, true);
	}
}

/* --- one record -------------------------------------------------------------------------- */

/* What a record says about pc, before names are looked up. */
struct call {
	uint32_t name;
	uint32_t file; /* of the call, in the caller */
	uint32_t line;
	uint64_t start; /* of the first range, from the function's start */
};

struct record {
	uint32_t size;
	uint32_t name;
	struct ux_cur lines; /* empty without a line table */
	struct ux_cur inlines;
};

static enum ux_code record_read(const struct ux_gsym *g, struct ux_cur *c, struct record *r,
				struct ux_error *err)
{
	r->lines = r->inlines = ux_cur_make(UX_BYTES_NONE, NULL, g->swap);
	for (unsigned i = 0;; i++) {
		uint32_t type = ux_cur_u32(c);
		struct ux_cur block = ux_cur_sub(c, ux_cur_u32(c));
		if (type == GSYM_INFO_LINES)
			r->lines = block;
		else if (type == GSYM_INFO_INLINES)
			r->inlines = block;
		else if (type == GSYM_INFO_END)
			return ux_cur_status(c, err);
		if (ux_unlikely(i == BLOCKS_MOST))
			ux_cur_bad(c, "record has more than 64 blocks");
	}
}

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

/* Moves past a list of siblings and everything below them. */
static void skip_list(struct ux_cur *c)
{
	for (uint64_t open = 1; open > 0 && ux_cur_more(c);) {
		uint64_t n = ux_cur_uleb(c);
		if (n == 0) {
			open--;
			continue;
		}
		for (uint64_t i = 0; i < n && ux_cur_more(c); i++) {
			ux_cur_uleb(c);
			ux_cur_uleb(c);
		}
		open += ux_cur_u8(c) != 0;
		ux_cur_skip(c, sizeof(uint32_t));
		ux_cur_uleb(c);
		ux_cur_uleb(c);
	}
}

/*
 * Fills calls[0..] with the nodes that hold off, outermost (the function) first. The first child
 * that holds it wins, and nothing behind it is read.
 */
static enum ux_code find_calls(struct ux_cur c, uint64_t off, struct call *calls, size_t *ret_n,
			       struct ux_error *err)
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
		call->name = ux_cur_u32(&c);
		call->file = (uint32_t)ux_cur_uleb(&c);
		call->line = (uint32_t)ux_cur_uleb(&c);
		if (!holds && n == 0)
			break; /* the function's own node has no sibling */
		if (!holds) {
			if (has_children)
				skip_list(&c);
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

/* --- frames ------------------------------------------------------------------------------- */

static enum ux_code bad_index(struct ux_error *err, const char *what, uint32_t index)
{
	return ux_error_set(err, UX_ECORRUPT, "%s %" PRIu32 " is past its table", what, index);
}

static enum ux_code frame_make(const struct ux_gsym *g, const struct call *call,
			       const struct call *place, struct ux_frame *ret, struct ux_error *err)
{
	ret->function = ux_gsym_string(g, call->name);
	if (ux_unlikely(!ret->function))
		return bad_index(err, "name", call->name);
	ret->line = place->line;
	ret->dir = ret->base = "";
	if (place->file != 0 && !ux_gsym_file(g, place->file, &ret->dir, &ret->base))
		return bad_index(err, "file", place->file);
	return UX_OK;
}

static enum ux_code record_frames(const struct ux_gsym *g, const struct record *r, uint64_t off,
				  struct ux_frame *frames, size_t max, size_t *ret_n,
				  struct ux_error *err)
{
	struct call calls[UX_GSYM_DEPTH_MOST + 2]; /* the function, its inlined calls, the row */
	size_t n = 1;
	if (ux_cur_more(&r->inlines))
		UX_TRY(find_calls(r->inlines, off, calls, &n, err));
	calls[0] = (struct call){.name = r->name};
	UX_TRY(find_row(r->lines, off, &calls[n], err));
	size_t kept = ux_min(n, max);
	for (size_t depth = 0; depth < kept; depth++) {
		struct ux_frame *frame = &frames[kept - 1 - depth];
		UX_TRY(frame_make(g, &calls[depth], &calls[depth + 1], frame, err));
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
	struct span s = find_start(g, off);
	if (s.value > off)
		return not_found(pc, err);
	off -= s.value;
	struct ux_cur file = ux_cur_make(g->file, NULL, g->swap);
	for (size_t i = s.first; i < s.end; i++) {
		struct ux_cur c = file;
		struct record r;
		ux_cur_seek(&c, table_at(g->records, i, sizeof(uint32_t), g->swap));
		r.size = ux_cur_u32(&c);
		r.name = ux_cur_u32(&c);
		if (r.size != 0 && off >= r.size)
			continue;
		UX_TRY(record_read(g, &c, &r, err));
		if (r.name == 0)
			return ux_error_set(err, UX_ECORRUPT,
					    "function at 0x%" PRIx64 " has no name", pc - off);
		return record_frames(g, &r, off, frames, max, ret_n, err);
	}
	return not_found(pc, err);
}
