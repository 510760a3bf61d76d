/* SPDX-License-Identifier: Apache-2.0 */
/* One function's record. */
#include "gsym_encode.h"

#include "gsym_format.h"
#include "gsym_line_encode.h"
#include "gsym_pen.h"
#include "gsym_reader.h"

/* Opens a block of a record; its length is known when it is closed. */
static size_t block_open(struct ux_out *out, uint32_t type)
{
	ux_out_u32(out, type);
	ux_out_u32(out, 0);
	return out->size;
}

static void block_close(struct ux_out *out, size_t start)
{
	ux_out_patch_u32(out, start - sizeof(uint32_t), (uint32_t)(out->size - start));
}

static void put_node(struct pen *pen, const struct ux_gsym_inline *node,
		     const struct ux_gsym_range *ranges, uint32_t base, bool has_children)
{
	pen_uleb(pen, node->range_count);
	for (uint32_t i = 0; i < node->range_count; i++) {
		pen_flow(pen);
		pen_uleb(pen, ranges[i].lo - base);
		pen_uleb(pen, ranges[i].hi - ranges[i].lo);
	}
	pen_flow(pen);
	pen_u8(pen, has_children);
	pen_u32(pen, node->name);
	pen_uleb(pen, node->call_file);
	pen_uleb(pen, node->call_line);
}

/* Ends lists of siblings until the one at `depth` is open. */
static void put_ends(struct pen *pen, uint32_t from, uint32_t depth)
{
	for (; from > depth; from--) {
		pen_flow(pen);
		pen_u8(pen, 0);
	}
}

/* Index of the first node from i on that a reader will reach. */
static size_t next_node(const struct ux_gsym_function *f, size_t i)
{
	while (i < f->n_inlines && f->inlines[i].depth > UX_GSYM_DEPTH_MOST)
		i++;
	return i;
}

static void put_inlines(struct ux_out *out, const struct ux_gsym_function *f)
{
	/* Children's ranges count from the start of the parent's first; by depth of the parent. */
	uint32_t base[UX_GSYM_DEPTH_MOST + 1];
	struct pen pen;
	pen_start(&pen, out);
	const struct ux_gsym_inline root = {.name = f->name, .range_count = 1};
	const struct ux_gsym_range whole = {0, f->size};
	put_node(&pen, &root, &whole, 0, true);
	base[0] = 0;
	uint32_t depth = 1; /* of the list of siblings that is open */
	for (size_t i = next_node(f, 0), next; i < f->n_inlines; i = next) {
		const struct ux_gsym_inline *node = &f->inlines[i];
		const struct ux_gsym_range *ranges = f->ranges + node->range_first;
		next = next_node(f, i + 1);
		bool has_children = next < f->n_inlines && f->inlines[next].depth > node->depth;
		put_ends(&pen, depth, node->depth);
		pen_flow(&pen);
		depth = node->depth;
		put_node(&pen, node, ranges, base[depth - 1], has_children);
		base[depth] = ranges[0].lo;
	}
	put_ends(&pen, depth, 0);
	pen_lift(&pen);
}

/* Functions of which the name is all that is said: where they are, their owner says. */
static void put_merged(struct ux_out *out, const struct ux_gsym_function *f)
{
	ux_out_u32(out, (uint32_t)f->n_merged);
	for (size_t i = 0; i < f->n_merged; i++) {
		ux_out_u32(out, GSYM_RECORD_LEAST);
		ux_out_u32(out, f->size);
		ux_out_u32(out, f->merged[i]);
		ux_out_u32(out, GSYM_INFO_END);
		ux_out_u32(out, 0);
	}
}

void ux_gsym_encode_function(struct ux_out *out, const struct ux_gsym_function *f)
{
	ux_out_align(out, GSYM_RECORD_ALIGN);
	ux_out_u32(out, f->size);
	ux_out_u32(out, f->name);
	if (f->n_rows > 0) {
		size_t start = block_open(out, GSYM_INFO_LINES);
		ux_gsym_encode_lines(out, f->rows, f->n_rows);
		block_close(out, start);
	}
	if (f->n_inlines > 0) {
		size_t start = block_open(out, GSYM_INFO_INLINES);
		put_inlines(out, f);
		block_close(out, start);
	}
	if (f->n_merged > 0) {
		size_t start = block_open(out, GSYM_INFO_MERGED);
		put_merged(out, f);
		block_close(out, start);
	}
	ux_out_u32(out, GSYM_INFO_END);
	ux_out_u32(out, 0);
	ux_out_align(out, GSYM_RECORD_ALIGN);
}
