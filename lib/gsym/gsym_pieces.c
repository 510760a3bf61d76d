/* SPDX-License-Identifier: Apache-2.0 */
/* A function divided into pieces: its spans of inlined calls and the rows of its line table,
 * merged. */
#include "gsym_pieces.h"

#include "gsym_tree.h"

static_assert(UX_GSYM_PIECES_CALLS == GSYM_INNERMOST_ROOT + 1, "");

/* Returns whether lookups choose among several functions at the start of function i. */
static bool gsym_pieces_start_is_shared(const struct ux_gsym *g, uint32_t i)
{
	const uint64_t start = ux_gsym_start(g, i);
	return (i > 0 && ux_gsym_start(g, i - 1) == start) ||
	       (i + 1 < g->n_functions && ux_gsym_start(g, i + 1) == start);
}

/* Reads size and name of function i; *ret_c is at its blocks. */
static enum ux_code gsym_pieces_read_head(const struct ux_gsym *g, uint32_t i, struct ux_cur *ret_c,
					  struct gsym_record *ret)
{
	*ret_c = gsym_body_at(g, ux_gsym_record(g, i));
	ret->size = ux_cur_u32(ret_c);
	ret->name = gsym_name_read(ret_c, g->offset_size);
	return ret_c->failed || ret->name == 0 ? UX_ECORRUPT : UX_OK;
}

enum ux_code ux_gsym_pieces_name(const struct ux_gsym *g, uint32_t i, uint64_t *ret)
{
	assert(i < g->n_functions);
	struct ux_cur c;
	struct gsym_record r;
	UX_TRY(gsym_pieces_read_head(g, i, &c, &r));
	*ret = r.name;
	return UX_OK;
}

/* Returns for how many bytes of function i lookups find it: the bytes before the next function. */
static uint32_t gsym_pieces_size(const struct ux_gsym *g, uint32_t i, uint32_t size)
{
	if (i + 1 == g->n_functions)
		return size;
	const uint64_t next = ux_gsym_start(g, i + 1), start = ux_gsym_start(g, i);
	return next > start ? (uint32_t)ux_min((uint64_t)size, next - start) : 0;
}

/* The spans and rows of a function while they are merged. */
struct pieces_merge {
	const struct gsym_spans *spans;
	size_t span; /* the next span */
	struct gsym_lines lines;
	bool more;    /* `lines` is at a row */
	uint32_t off; /* the state below is valid from this offset on */
	uint32_t node, file, line;
};

/* Starts with the state at offset 0. UX_ECORRUPT: as lookups see it. */
static enum ux_code gsym_pieces_merge_start(struct pieces_merge *m, struct ux_cur block)
{
	m->span = 0;
	m->off = m->node = m->file = m->line = 0;
	m->more = false;
	if (!ux_cur_more(&block))
		return UX_OK;
	m->lines = gsym_lines_start(block);
	m->more = gsym_lines_next(&m->lines);
	return m->lines.c.failed ? UX_ECORRUPT : UX_OK;
}

/* Moves past the row. UX_ECORRUPT: the next one has a lower address, or numbers over 32 bits. */
static enum ux_code gsym_pieces_next_row(struct pieces_merge *m)
{
	const uint64_t off = m->lines.off;
	if ((off | m->lines.line | m->lines.file) > UINT32_MAX)
		return UX_ECORRUPT;
	m->file = (uint32_t)m->lines.file;
	m->line = (uint32_t)m->lines.line;
	m->more = gsym_lines_next(&m->lines);
	return m->lines.c.failed || (m->more && m->lines.off < off) ? UX_ECORRUPT : UX_OK;
}

/* Applies the changes at m->off, and sets *ret_next to the next offset with a change. */
static enum ux_code gsym_pieces_step(struct pieces_merge *m, uint32_t size, uint32_t *ret_next)
{
	const struct gsym_spans *spans = m->spans;
	uint64_t next = size;
	while (m->span < spans->n && spans->list[m->span].a <= m->off)
		m->node = spans->list[m->span++].b;
	while (m->more && m->lines.off <= m->off)
		UX_TRY(gsym_pieces_next_row(m));
	if (m->span < spans->n)
		next = ux_min(next, (uint64_t)spans->list[m->span].a);
	if (m->more)
		next = ux_min(next, m->lines.off);
	*ret_next = (uint32_t)next;
	return UX_OK;
}

/* Adds the state that is valid at m->off, unless it equals the last piece. */
ux_inline void gsym_pieces_add(struct ux_gsym_pieces *p, const struct pieces_merge *m)
{
	const struct ux_gsym_piece *last = &p->list[p->n - (p->n > 0)];
	p->list[p->n] = (struct ux_gsym_piece){m->off, m->node, m->file, m->line};
	p->n += p->n == 0 || last->node != m->node || last->file != m->file ||
		last->line != m->line;
}

enum ux_code ux_gsym_pieces_find(const struct ux_gsym *g, uint32_t i, struct ux_arena *arena,
				 struct ux_gsym_pieces *ret)
{
	assert(i < g->n_functions);
	struct ux_cur c;
	struct gsym_record r;
	struct gsym_spans spans;
	struct pieces_merge merge = {.spans = &spans};
	if (gsym_pieces_start_is_shared(g, i))
		return UX_ENOTFOUND;
	UX_TRY(gsym_pieces_read_head(g, i, &c, &r));
	if (r.size == 0)
		return UX_ENOTFOUND;
	if (gsym_record_read(g, &c, &r, NULL) != UX_OK)
		return UX_ECORRUPT;
	if (r.before > 0)
		return UX_ENOTFOUND; /* offsets do not count from its start */
	*ret = (struct ux_gsym_pieces){.size = gsym_pieces_size(g, i, r.size),
				       .name = r.name,
				       .tree = r.inlines.pos,
				       .tree_size = ux_cur_left(&r.inlines)};
	/* A limit of gsym_spans_find() is not one of the arena. */
	enum ux_code code = gsym_spans_find(g, r.inlines, arena, &spans);
	if (code != UX_OK)
		return code == UX_ENOMEM ? code : UX_ECORRUPT;
	ret->nodes = spans.nodes;
	ret->n_nodes = spans.n_nodes;
	/* an opcode has at least one byte, and makes at most one row */
	ret->list =
		ux_arena_array(arena, struct ux_gsym_piece, ux_cur_left(&r.lines) + spans.n + 1);
	if (!ret->list)
		return ux_arena_fail(arena, NULL);
	UX_TRY(gsym_pieces_merge_start(&merge, r.lines));
	for (uint32_t next = 0; merge.off < ret->size; merge.off = next) {
		UX_TRY(gsym_pieces_step(&merge, ret->size, &next));
		gsym_pieces_add(ret, &merge);
	}
	return ret->n > 0 ? UX_OK : UX_ENOTFOUND;
}

bool ux_gsym_pieces_call(const struct ux_gsym *g, const struct ux_gsym_pieces *pieces,
			 uint32_t node, struct ux_gsym_call *ret)
{
	struct ux_cur tree = ux_cur_make(ux_bytes(pieces->tree, pieces->tree_size), NULL, g->swap);
	uint64_t name = pieces->name;
	*ret = (struct ux_gsym_call){.inlined = node >= UX_GSYM_PIECES_CALLS};
	if (ret->inlined) {
		ux_cur_skip(&tree, pieces->nodes[node].pos);
		name = gsym_name_read(&tree, g->offset_size);
		ret->file = (uint32_t)ux_cur_uleb(&tree);
		ret->line = (uint32_t)ux_cur_uleb(&tree);
		ret->caller = pieces->nodes[node].parent;
	}
	ret->function = ux_gsym_string(g, name);
	return ret->function != NULL;
}
