/* SPDX-License-Identifier: Apache-2.0 */
/* Decoding whole records. */
#include "gsym_decode.h"

#include "gsym_record.h"

uint64_t ux_gsym_name(const struct ux_gsym *g, struct ux_cur *c)
{
	return gsym_name_read(c, g->offset_size);
}

struct ux_gsym_raw ux_gsym_raw_open(const struct ux_gsym *g, struct ux_cur *c)
{
	struct ux_gsym_raw raw = {0};
	raw.size = ux_cur_u32(c);
	raw.name = ux_gsym_name(g, c);
	raw.rest = *c;
	return raw;
}

enum ux_code ux_gsym_raw_find(const struct ux_gsym *g, uint32_t i, struct ux_gsym_raw *ret,
			      struct ux_error *err)
{
	struct ux_cur c = gsym_body_at(g, ux_gsym_record(g, i));
	*ret = ux_gsym_raw_open(g, &c);
	return ux_cur_status(&c, err);
}

bool ux_gsym_raw_next(struct ux_gsym_raw *raw, struct ux_gsym_block *ret)
{
	ret->type = ux_cur_u32(&raw->rest);
	uint32_t bit = ret->type < GSYM_INFO_COUNT ? 1u << ret->type : 0;
	if ((raw->seen & bit) != 0)
		ux_cur_bad(&raw->rest, "record has two blocks of a type");
	raw->seen |= bit;
	uint32_t length = ux_cur_u32(&raw->rest);
	ret->content = ux_cur_sub(&raw->rest, length);
	if (ret->type == GSYM_INFO_END && length != 0 && length != GSYM_END_BEFORE)
		ux_cur_bad(&raw->rest, "end of the record has a length other than 0 and 4");
	if (ret->type == GSYM_INFO_END && length != 0)
		raw->before = ux_cur_u32(&ret->content);
	return ret->type != GSYM_INFO_END && !raw->rest.failed;
}

enum ux_code ux_gsym_walk_next(struct ux_gsym_walk *walk, bool *ret_more, struct ux_error *err)
{
	*ret_more = walk->next < walk->g->n_functions;
	if (!*ret_more)
		return UX_OK;
	UX_TRY(ux_gsym_raw_find(walk->g, walk->next, &walk->raw, err));
	struct ux_gsym_raw all = walk->raw;
	struct ux_gsym_block block;
	while (ux_gsym_raw_next(&all, &block))
		;
	UX_TRY(ux_cur_status(&all.rest, err));
	struct ux_cur start = gsym_body_at(walk->g, ux_gsym_record(walk->g, walk->next));
	walk->walked += ux_cur_off(&all.rest) - ux_cur_off(&start);
	if (walk->walked > walk->g->file.size)
		return ux_error_at(err, UX_ECORRUPT, NULL, ux_cur_off(&start), "records overlap");
	walk->next++;
	return UX_OK;
}

static size_t line_block_count(struct ux_cur block)
{
	struct gsym_lines l = gsym_lines_start(block);
	size_t n = 0;
	while (gsym_lines_next(&l))
		n++;
	return n;
}

/* Makes a row; false unless all of its values fit 32 bits. */
static bool line_row_make(const struct gsym_lines *l, struct ux_gsym_row *ret)
{
	*ret = (struct ux_gsym_row){(uint32_t)l->off, (uint32_t)l->line, (uint32_t)l->file};
	return (l->off | l->line | l->file) <= UINT32_MAX;
}

enum ux_code ux_gsym_decode_lines(struct ux_cur block, struct ux_arena *arena,
				  const struct ux_gsym_row **ret, size_t *ret_n,
				  struct ux_error *err)
{
	size_t max = line_block_count(block), n = 0; /* each row takes at least one byte */
	struct ux_gsym_row *rows = ux_arena_array(arena, struct ux_gsym_row, max);
	if (!rows && max > 0)
		return ux_arena_fail(arena, err);
	struct gsym_lines l = gsym_lines_start(block);
	while (gsym_lines_next(&l))
		if (!line_row_make(&l, &rows[n++]))
			ux_cur_bad(&l.c, "row does not fit 32 bits");
	if (ux_cur_more(&l.c))
		ux_cur_bad(&l.c, "line table ends before its block");
	UX_TRY(ux_cur_status(&l.c, err));
	*ret = rows;
	*ret_n = n;
	return UX_OK;
}

struct ux_gsym_merged ux_gsym_merged_open(const struct ux_gsym *g, struct ux_cur block)
{
	struct ux_gsym_merged m = {.g = g, .c = block};
	m.left = ux_cur_u32(&m.c);
	return m;
}

bool ux_gsym_merged_next(struct ux_gsym_merged *m, struct ux_gsym_raw *ret)
{
	if (m->left == 0 || m->c.failed)
		return false;
	m->left--;
	struct ux_cur one = ux_cur_sub(&m->c, ux_cur_u32(&m->c));
	*ret = ux_gsym_raw_open(m->g, &one);
	if (one.failed)
		ux_cur_bad(&m->c, "merged function has no room for its name");
	return !m->c.failed;
}

static enum ux_code merged_decode(const struct ux_gsym *g, struct ux_cur block,
				  struct ux_arena *arena, struct ux_gsym_decoded *f,
				  struct ux_error *err)
{
	struct ux_gsym_merged m = ux_gsym_merged_open(g, block);
	struct ux_gsym_raw raw;
	/* Each merged function takes at least the bytes of its size field. */
	size_t max = ux_min((size_t)m.left, ux_cur_left(&m.c) / sizeof(uint32_t)), n = 0;
	uint64_t *names = max > 0 ? ux_arena_array(arena, uint64_t, max) : NULL;
	if (!names && max > 0)
		return ux_arena_fail(arena, err);
	while (ux_gsym_merged_next(&m, &raw))
		names[n++] = raw.name;
	UX_TRY(ux_cur_status(&m.c, err));
	f->merged = names;
	f->n_merged = n;
	return UX_OK;
}

static enum ux_code block_decode(const struct ux_gsym *g, struct ux_gsym_block block,
				 struct ux_arena *arena, struct ux_gsym_decoded *f,
				 struct ux_error *err)
{
	struct ux_gsym_tree tree = {0};
	switch (block.type) {
	case GSYM_INFO_LINES:
		return ux_gsym_decode_lines(block.content, arena, &f->rows, &f->n_rows, err);
	case GSYM_INFO_INLINES:
		UX_TRY(ux_gsym_decode_inlines(g, block.content, arena, &tree, err));
		f->inlines = tree.nodes + 1;
		f->n_inlines = tree.n_nodes - 1;
		f->ranges = tree.ranges;
		return UX_OK;
	case GSYM_INFO_MERGED:
		return merged_decode(g, block.content, arena, f, err);
	default:
		return UX_OK;
	}
}

enum ux_code ux_gsym_decode(const struct ux_gsym *g, uint32_t i, struct ux_arena *arena,
			    struct ux_gsym_decoded *ret, struct ux_error *err)
{
	assert(i < g->n_functions);
	struct ux_gsym_raw raw;
	struct ux_gsym_block block;
	UX_TRY(ux_gsym_raw_find(g, i, &raw, err));
	struct ux_gsym_decoded f = {
		.start = ux_gsym_start(g, i), .size = raw.size, .name = raw.name};
	while (ux_gsym_raw_next(&raw, &block))
		UX_TRY(block_decode(g, block, arena, &f, err));
	UX_TRY(ux_cur_status(&raw.rest, err));
	f.before = raw.before;
	*ret = f;
	return UX_OK;
}
