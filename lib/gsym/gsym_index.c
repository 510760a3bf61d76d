/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index, which makes single lookups in large functions fast by cutting up their trees and line
 * tables.
 */
/*
 * Cutting up large functions. Between two consecutive range boundaries of a tree the innermost call
 * is the same, so it is computed for each boundary and stored where it changes. Of a line table, a
 * row is stored every ROW_BYTES bytes.
 */
#include "gsym_reader.h"

#include "gsym_decode.h"
#include "gsym_record.h"
#include "gsym_tree.h"
#include "order.h"
#include "vec.h"

/* From `off` on, up to the next span, the innermost call is `node`. */
struct gsym_index_span {
	uint32_t off;
	uint32_t node;
};

/* An inlined call. Nodes 0 and 1 of each function are the function itself. */
struct gsym_index_node {
	uint32_t parent;
	uint32_t name;
	uint32_t file; /* of the call, in the parent */
	uint32_t line;
	uint32_t start; /* start of the first range */
};

/* A stored row, behind which reading of the line table can begin. */
struct gsym_index_row {
	uint32_t off;
	uint32_t file;
	uint32_t line;
	uint32_t left; /* bytes of the line table behind the row's opcode */
};

/*
 * The positions of one function's parts. All offsets in them are relative to the function's start.
 */
struct gsym_index_function {
	int64_t line_min; /* MinDelta */
	uint32_t line_range;
	uint64_t line_end; /* in the GSYM file */
	uint32_t rows, n_rows;
	uint32_t spans, n_spans;
	uint32_t nodes;
};

UX_VEC(gsym_index_spans, struct gsym_index_span);
UX_VEC(gsym_index_nodes, struct gsym_index_node);
UX_VEC(gsym_index_rows, struct gsym_index_row);
UX_VEC(gsym_index_functions, struct gsym_index_function);

/* Immutable once built. */
struct ux_gsym_index {
	uint32_t *of; /* malloc'ed: 1 + a function's index in `functions`, or 0 */
	struct gsym_index_functions functions;
	struct gsym_index_spans spans;
	struct gsym_index_nodes nodes;
	struct gsym_index_rows rows;
};

enum {
	SMALL = 192,    /* blocks of up to this many bytes are read as fast without the index */
	ROW_BYTES = 64, /* bytes of a line table between stored rows */
	ENDS_MOST = 1 << 20, /* most range boundaries in a function */
	STEPS_EACH =
		2 *
		UX_FRAMES_MOST, /* budget of steps for each boundary; a level of calls takes 1 */
	FUNCTION_BUDGET = 256 * 1024 * 1024, /* memory limit for one tree */
};

/* State of indexing one function. */
struct cut {
	struct ux_gsym_index *index;
	struct ux_arena arena; /* of this function alone */
	uint64_t *off;         /* boundaries of ranges, ascending */
	uint32_t *node;        /* the innermost node at each */
	size_t n;
	struct gsym_innermost innermost;
};

/* --- building: the tree ----------------------------------------------------------------------- */

static bool index_sort_ends(const struct ux_gsym_tree *tree, struct ux_order *order)
{
	if (!ux_order_init(order, 2 * tree->n_ranges + 1))
		return false;
	ux_order_add(order, 0, 0);
	for (size_t i = 0; i < tree->n_ranges; i++) {
		ux_order_add(order, tree->ranges[i].lo, 2 * i + 1);
		ux_order_add(order, tree->ranges[i].hi, 2 * i + 2);
	}
	return ux_order_sort(order);
}

/* Collects the distinct range boundaries. UX_ELIMIT: there are too many to be worth it. */
static enum ux_code index_find_ends(struct cut *cut, const struct ux_gsym_tree *tree)
{
	ux_cleanup(ux_order_deinit) struct ux_order order = {0};
	if (tree->n_ranges > ENDS_MOST)
		return UX_ELIMIT;
	cut->off = ux_arena_array(&cut->arena, uint64_t, 2 * tree->n_ranges + 1);
	cut->node = ux_arena_array(&cut->arena, uint32_t, 2 * tree->n_ranges + 1);
	if (!cut->off || !cut->node)
		return ux_arena_fail(&cut->arena, NULL);
	if (!index_sort_ends(tree, &order))
		return UX_ENOMEM;
	cut->n = 0;
	for (size_t i = 0; i < order.n; i++) {
		uint64_t off = ux_order_address(&order, i);
		if (cut->n == 0 || cut->off[cut->n - 1] != off)
			cut->off[cut->n++] = off;
	}
	return UX_OK;
}

static enum ux_code index_store_tree(struct cut *cut, struct gsym_index_function *f)
{
	struct ux_gsym_index *index = cut->index;
	f->spans = (uint32_t)index->spans.size;
	f->nodes = (uint32_t)index->nodes.size;
	for (size_t i = 0; i < cut->innermost.n_nodes; i++) {
		const struct gsym_innermost_node *n = &cut->innermost.nodes[i];
		struct gsym_index_node kept = {n->parent, n->name, n->file, n->line,
					       (uint32_t)n->start};
		if (!gsym_index_nodes_append(&index->nodes, kept))
			return UX_ENOMEM;
	}
	for (size_t i = 0; i < cut->n; i++) {
		struct gsym_index_span span = {(uint32_t)cut->off[i], cut->node[i]};
		if (i > 0 && cut->node[i] == cut->node[i - 1])
			continue;
		if (!gsym_index_spans_append(&index->spans, span))
			return UX_ENOMEM;
	}
	f->n_spans = (uint32_t)index->spans.size - f->spans;
	return UX_OK;
}

/* Returns UX_OK, UX_ENOMEM, or any other code when the tree cannot be indexed. */
static enum ux_code index_cut_tree(struct cut *cut, const struct ux_gsym *g, struct ux_cur block,
				   struct gsym_index_function *f)
{
	struct ux_gsym_tree tree = {0};
	if (ux_cur_more(&block))
		UX_TRY(ux_gsym_decode_inlines(g, block, &cut->arena, &tree, NULL));
	UX_TRY(index_find_ends(cut, &tree));
	cut->innermost = (struct gsym_innermost){.off = cut->off,
						 .node = cut->node,
						 .n = cut->n,
						 .most = tree.n_nodes + 3,
						 .offset_size = g->offset_size,
						 .steps = (uint64_t)cut->n * STEPS_EACH + 1};
	cut->innermost.nodes =
		ux_arena_array(&cut->arena, struct gsym_innermost_node, cut->innermost.most);
	if (!cut->innermost.nodes)
		return ux_arena_fail(&cut->arena, NULL);
	return gsym_innermost_find(&cut->innermost, block) ? index_store_tree(cut, f) : UX_ECORRUPT;
}

/* --- building: the line table ------------------------------------------------------------------
 */

/* Codes as of index_cut_tree(). A table whose addresses descend cannot be indexed. */
static enum ux_code index_cut_lines(struct ux_gsym_index *index, const struct ux_gsym *g,
				    struct ux_cur block, struct gsym_index_function *f)
{
	f->rows = (uint32_t)index->rows.size;
	if (!ux_cur_more(&block))
		return UX_OK;
	struct gsym_lines l = gsym_lines_start(block);
	const uint8_t *last = l.c.pos;
	uint64_t before = 0;
	f->line_min = l.min;
	f->line_range = l.range;
	f->line_end = (uint64_t)(block.end - g->file.data);
	for (size_t n = 0; gsym_lines_next(&l); n++) {
		if (l.off < before || l.off > UINT32_MAX)
			return UX_ECORRUPT;
		before = l.off;
		if (n > 0 && l.c.pos - last < ROW_BYTES)
			continue;
		struct gsym_index_row row = {(uint32_t)l.off, (uint32_t)l.file, (uint32_t)l.line,
					     (uint32_t)ux_cur_left(&l.c)};
		if (l.line > UINT32_MAX || l.file > UINT32_MAX)
			return UX_ECORRUPT;
		if (!gsym_index_rows_append(&index->rows, row))
			return UX_ENOMEM;
		last = l.c.pos;
	}
	f->n_rows = (uint32_t)index->rows.size - f->rows;
	return l.c.failed ? UX_ECORRUPT : UX_OK;
}

/* --- building: the file ------------------------------------------------------------------------
 */

static enum ux_code index_cut_record(struct cut *cut, const struct ux_gsym *g,
				     const struct gsym_record *r, uint32_t i)
{
	struct ux_gsym_index *index = cut->index;
	struct gsym_index_function f = {0};
	size_t nodes = index->nodes.size, spans = index->spans.size, rows = index->rows.size;
	if ((nodes | spans | rows) > UINT32_MAX / 2) /* so that indexes fit 32 bits */
		return UX_OK;
	enum ux_code code = index_cut_lines(index, g, r->lines, &f);
	if (code == UX_OK)
		code = index_cut_tree(cut, g, r->inlines, &f);
	if (code == UX_OK) {
		index->of[i] = (uint32_t)index->functions.size + 1;
		return gsym_index_functions_append(&index->functions, f) ? UX_OK : UX_ENOMEM;
	}
	index->nodes.size = nodes;
	index->spans.size = spans;
	index->rows.size = rows;
	return code == UX_ENOMEM ? code : UX_OK;
}

/*
 * Indexing ends at records that cannot be read or that overlap; what was indexed before is valid.
 */
static enum ux_code index_cut_all(struct cut *cut, const struct ux_gsym *g)
{
	struct ux_gsym_walk walk = {.g = g};
	bool more = false;
	while (ux_gsym_walk_next(&walk, &more, NULL) == UX_OK && more) {
		struct ux_cur c = walk.raw.rest;
		struct gsym_record r;
		if (walk.raw.name == 0 || gsym_record_read(g, &c, &r, NULL) != UX_OK ||
		    ux_cur_left(&r.lines) + ux_cur_left(&r.inlines) < SMALL)
			continue;
		ux_arena_init(&cut->arena, FUNCTION_BUDGET);
		enum ux_code code = index_cut_record(cut, g, &r, walk.next - 1);
		ux_arena_deinit(&cut->arena);
		UX_TRY(code);
	}
	return UX_OK;
}

static void index_destroy(struct ux_gsym_index **p)
{
	struct ux_gsym_index *index = *p;
	if (!index)
		return;
	free(index->of);
	gsym_index_functions_deinit(&index->functions);
	gsym_index_spans_deinit(&index->spans);
	gsym_index_nodes_deinit(&index->nodes);
	gsym_index_rows_deinit(&index->rows);
	free(index);
}

enum ux_code ux_gsym_index_build(struct ux_gsym *g, struct ux_error *err)
{
	ux_cleanup(index_destroy) struct ux_gsym_index *index = calloc(1, sizeof(*index));
	struct cut cut = {.index = index};
	if (g->n_functions == 0)
		return UX_OK;
	if (index)
		index->of = calloc(g->n_functions, sizeof(*index->of));
	if (!index || !index->of || index_cut_all(&cut, g) != UX_OK)
		return ux_error_nomem(err);
	g->index = ux_take(&index);
	return UX_OK;
}

struct ux_gsym_index_counts ux_gsym_index_count(const struct ux_gsym *g)
{
	return (struct ux_gsym_index_counts){.functions = g->index->functions.size,
					     .nodes = g->index->nodes.size,
					     .rows = g->index->rows.size};
}

void ux_gsym_index_free(struct ux_gsym *g)
{
	struct ux_gsym_index *index = (struct ux_gsym_index *)(uintptr_t)g->index;
	index_destroy(&index);
	g->index = NULL;
}

/* --- looking up ---------------------------------------------------------------------------------
 */

/* Finds the last row at or before off, beginning at the stored row before it. */
static void index_find_row(const struct ux_gsym *g, const struct gsym_index_function *f,
			   uint64_t off, uint32_t *file, uint32_t *line)
{
	size_t at = 0;
	*file = *line = 0;
	if (f->n_rows == 0)
		return;
	const struct gsym_index_row *rows = g->index->rows.data + f->rows;
	if (rows[0].off > off)
		return;
	for (size_t left = f->n_rows; left > 1; left -= left / 2)
		at += left / 2 & -(size_t)(rows[at + left / 2].off <= off);
	const struct gsym_index_row *row = &rows[at];
	struct ux_bytes rest = ux_bytes(g->file.data + f->line_end - row->left, row->left);
	struct gsym_lines l = {.c = ux_cur_make(rest, NULL, g->swap),
			       .min = f->line_min,
			       .range = f->line_range,
			       .inverse = gsym_lines_inverse(f->line_range),
			       .off = row->off,
			       .line = row->line,
			       .file = row->file};
	do {
		*file = (uint32_t)l.file;
		*line = (uint32_t)l.line;
	} while (gsym_lines_next(&l) && l.off <= off);
}

static const struct gsym_index_span *index_find_span(const struct gsym_index_span *spans, size_t n,
						     uint64_t off)
{
	size_t at = 0;
	for (size_t left = n; left > 1; left -= left / 2)
		at += left / 2 & -(size_t)(spans[at + left / 2].off <= off);
	return &spans[at];
}

bool gsym_index_lookup(const struct ux_gsym *g, size_t i, uint64_t name, uint64_t off,
		       struct ux_frame *frames, size_t max, size_t *ret_n)
{
	const struct ux_gsym_index *index = g->index;
	if (index->of[i] == 0)
		return false;
	const struct gsym_index_function *f = &index->functions.data[index->of[i] - 1];
	const struct gsym_index_node *nodes = index->nodes.data + f->nodes;
	uint32_t file, line,
		innermost = index_find_span(index->spans.data + f->spans, f->n_spans, off)->node;
	size_t depth = 1, skip = 0;
	for (uint32_t at = innermost; at > GSYM_INNERMOST_ROOT; at = nodes[at].parent)
		depth++;
	index_find_row(g, f, off, &file, &line);
	skip = depth > max ? depth - max : 0; /* the outermost are kept */
	for (uint32_t at = innermost;; at = nodes[at].parent) {
		bool inlined = at > GSYM_INNERMOST_ROOT;
		if (skip > 0) {
			skip--;
		} else if (max > 0) {
			if (gsym_frame_make(g, inlined ? (uint64_t)nodes[at].name : name, file,
					    line, frames, NULL) != UX_OK)
				return false;
			frames->inlined = inlined;
			frames->offset = off - (inlined ? nodes[at].start : 0);
			frames++;
		}
		if (!inlined)
			break;
		file = nodes[at].file;
		line = nodes[at].line;
	}
	*ret_n = ux_min(depth, max);
	return true;
}
