/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of one record. */
#include "gsym_check.h"

#include "gsym_decode.h"
#include "gsym_lines.h"

enum {
	NESTING_MOST = 4, /* merged functions in merged functions */
	BLOCKS_MOST = 64, /* what a lookup bears too */
	CALL_FLAGS = 3    /* internal and external call */
};

bool gsym_check_string(struct gsym_check *check, uint64_t off)
{
	const struct ux_bytes s = check->g->strings;
	if (off >= s.size)
		return false;
	check->used[off / 8] |= (uint8_t)(1u << off % 8);
	check->notes.count[UX_GSYM_NOTE_INSIDE_STRING] += off > 0 && s.data[off - 1] != 0;
	return true;
}

static enum ux_code check_lines(struct gsym_check *check, struct ux_cur block, uint32_t size,
				struct ux_error *err)
{
	struct gsym_lines l = gsym_lines_start(block);
	uint64_t before = 0, n = 0;
	for (; gsym_lines_next(&l); n++) {
		if ((l.off | l.line | l.file) > UINT32_MAX)
			ux_cur_bad(&l.c, "row does not fit 32 bits");
		else if (l.off < before)
			ux_cur_bad(&l.c, "row lies before the row before it");
		else if (size > 0 && l.off >= size)
			ux_cur_bad(&l.c, "row lies behind its function");
		else if (l.file >= check->g->n_files)
			ux_cur_bad(&l.c, "row's file is past the file table");
		check->notes.count[UX_GSYM_NOTE_SHADOWED_ROW] += n > 0 && l.off == before;
		before = l.off;
	}
	if (n == 0)
		ux_cur_bad(&l.c, "line table has no row");
	if (ux_cur_more(&l.c)) {
		ux_cur_u8(&l.c);
		ux_cur_bad(&l.c, "line table ends before its block");
	}
	return ux_cur_status(&l.c, err);
}

/* Does one of n ascending ranges hold r? */
static bool inside(const struct ux_gsym_range *ranges, uint32_t n, struct ux_gsym_range r)
{
	uint32_t at = 0;
	for (uint32_t left = n; left > 1;) {
		uint32_t half = left / 2;
		at = ranges[at + half].lo <= r.lo ? at + half : at;
		left -= half;
	}
	return ranges[at].lo <= r.lo && r.hi <= ranges[at].hi;
}

static const char *check_ranges(const struct ux_gsym_range *ranges, uint32_t n,
				const struct ux_gsym_range *parent, uint32_t n_parent)
{
	for (uint32_t i = 0; i < n; i++) {
		if (ranges[i].lo >= ranges[i].hi)
			return "inlined call has an empty range";
		if (i > 0 && ranges[i].lo < ranges[i - 1].hi)
			return "ranges of an inlined call do not ascend";
		if (!inside(parent, n_parent, ranges[i]))
			return "range of an inlined call lies outside of its caller's";
	}
	return NULL;
}

static const char *check_node(struct gsym_check *check, const struct ux_gsym_node *node)
{
	if (node->call_file >= check->g->n_files)
		return "inlined call's file is past the file table";
	return gsym_check_string(check, node->name)
		       ? NULL
		       : "inlined call's name is past the string table";
}

static const char *check_tree(struct gsym_check *check, const struct ux_gsym_tree *tree,
			      uint32_t size)
{
	const struct ux_gsym_node *path[UX_GSYM_DEPTH_MOST + 1];
	const struct ux_gsym_range whole = {0, size > 0 ? size : UINT32_MAX};
	for (size_t i = 0; i < tree->n_nodes; i++) {
		const struct ux_gsym_node *node = &tree->nodes[i];
		const struct ux_gsym_node *up = node->depth > 0 ? path[node->depth - 1] : NULL;
		const char *bad = check_node(check, node);
		if (!bad)
			bad = check_ranges(tree->ranges + node->range_first, node->range_count,
					   up ? tree->ranges + up->range_first : &whole,
					   up ? up->range_count : 1);
		if (bad)
			return bad;
		path[node->depth] = node;
	}
	return NULL;
}

static enum ux_code check_inlines(struct gsym_check *check, struct ux_cur block,
				  const struct ux_gsym_raw *raw, struct ux_error *err)
{
	struct ux_arena_mark mark = ux_arena_mark(check->arena);
	struct ux_gsym_tree tree = {0};
	UX_TRY(ux_gsym_decode_inlines(check->g, block, check->arena, &tree, err));
	const char *bad = check_tree(check, &tree, raw->size);
	check->notes.count[UX_GSYM_NOTE_ROOT] +=
		tree.nodes[0].name != raw->name || tree.nodes[0].range_count != 1 ||
		tree.ranges[0].lo != 0 || tree.ranges[0].hi != raw->size;
	ux_arena_rewind(check->arena, mark);
	if (bad)
		ux_cur_bad(&block, bad);
	return ux_cur_status(&block, err);
}

static enum ux_code check_calls(struct gsym_check *check, struct ux_cur block, uint32_t size,
				struct ux_error *err)
{
	uint32_t n = ux_cur_u32(&block);
	for (uint32_t i = 0; i < n && !block.failed; i++) {
		if (ux_cur_u64(&block) > size)
			ux_cur_bad(&block, "call site returns behind its function");
		if (ux_cur_u8(&block) > CALL_FLAGS)
			ux_cur_bad(&block, "call site has unknown flags");
		uint32_t patterns = ux_cur_u32(&block);
		for (uint32_t k = 0; k < patterns && !block.failed; k++)
			if (!gsym_check_string(check, ux_gsym_name(check->g, &block)))
				ux_cur_bad(&block, "call site's pattern is past the string table");
	}
	check->notes.count[UX_GSYM_NOTE_CALL_SITE] += n;
	if (ux_cur_more(&block))
		ux_cur_bad(&block, "call sites end before their block");
	return ux_cur_status(&block, err);
}

static enum ux_code check_nested(struct gsym_check *check, struct ux_cur *c, unsigned nesting,
				 uint32_t *ret_size, struct ux_error *err);

static enum ux_code check_merged(struct gsym_check *check, struct ux_cur block, unsigned nesting,
				 struct ux_error *err)
{
	uint32_t n = ux_cur_u32(&block), size;
	for (uint32_t i = 0; i < n && !block.failed; i++) {
		struct ux_cur one = ux_cur_sub(&block, ux_cur_u32(&block));
		UX_TRY(check_nested(check, &one, nesting, &size, err));
		if (ux_cur_more(&one))
			ux_cur_bad(&one, "merged function ends before its size");
		UX_TRY(ux_cur_status(&one, err));
	}
	check->notes.count[UX_GSYM_NOTE_MERGED] += n;
	if (ux_cur_more(&block))
		ux_cur_bad(&block, "merged functions end before their block");
	return ux_cur_status(&block, err);
}

static enum ux_code check_block(struct gsym_check *check, const struct ux_gsym_raw *raw,
				struct ux_gsym_block block, unsigned nesting, struct ux_error *err)
{
	switch (block.type) {
	case GSYM_INFO_LINES:
		return check_lines(check, block.content, raw->size, err);
	case GSYM_INFO_INLINES:
		return check_inlines(check, block.content, raw, err);
	case GSYM_INFO_MERGED:
		return check_merged(check, block.content, nesting + 1, err);
	case GSYM_INFO_CALLS:
		return check_calls(check, block.content, raw->size, err);
	default:
		check->notes.count[UX_GSYM_NOTE_UNKNOWN_BLOCK]++;
		return UX_OK;
	}
}

static enum ux_code check_nested(struct gsym_check *check, struct ux_cur *c, unsigned nesting,
				 uint32_t *ret_size, struct ux_error *err)
{
	struct ux_gsym_raw raw = ux_gsym_raw_open(check->g, c);
	struct ux_gsym_block block;
	unsigned n = 0;
	if (raw.name == 0)
		ux_cur_bad(&raw.rest, "function has no name");
	else if (!gsym_check_string(check, raw.name))
		ux_cur_bad(&raw.rest, "function's name is past the string table");
	else if (nesting > NESTING_MOST)
		ux_cur_bad(&raw.rest, "merged functions are nested more than 4 deep");
	while (ux_gsym_raw_next(&raw, &block)) {
		if (++n > BLOCKS_MOST)
			ux_cur_bad(&block.content, "record has more than 64 blocks");
		UX_TRY(ux_cur_status(&block.content, err));
		UX_TRY(check_block(check, &raw, block, nesting, err));
	}
	UX_TRY(ux_cur_status(&raw.rest, err));
	ux_cur_skip(c, ux_cur_left(c) - ux_cur_left(&raw.rest));
	*ret_size = raw.size;
	return UX_OK;
}

enum ux_code gsym_check_record(struct gsym_check *check, struct ux_cur *c, uint32_t *ret_size,
			       struct ux_error *err)
{
	return check_nested(check, c, 0, ret_size, err);
}
