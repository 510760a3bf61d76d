/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several addresses in one function. The line table is merged with them in one pass. The tree is
 * walked in one pass, too: each node takes, of the addresses its parent holds, those in its ranges
 * that no earlier sibling took; where none is, what is below it is passed over.
 */
#include "gsym_run.h"

#include "gsym_lines.h"

enum {
	OUTSIDE, /* in the function, as far as the tree knows */
	ROOT,    /* the function's own node, which is no frame of its own */
};

static bool read_rows(struct gsym_run *run)
{
	if (!ux_cur_more(&run->record.lines)) {
		memset(run->file, 0, run->n * sizeof(run->file[0]));
		memset(run->line, 0, run->n * sizeof(run->line[0]));
		return true;
	}
	struct gsym_lines l = gsym_lines_start(run->record.lines);
	uint32_t file = 0, line = 0;
	bool more = gsym_lines_next(&l);
	for (size_t i = 0; i < run->n; i++) {
		for (; more && l.off <= run->off[i]; more = gsym_lines_next(&l)) {
			file = (uint32_t)l.file;
			line = (uint32_t)l.line;
		}
		run->file[i] = file;
		run->line[i] = line;
	}
	return !l.c.failed;
}

/* The first address of node `in` that is at or behind start, or hi. */
static size_t lower_bound(const struct gsym_run *run, const struct gsym_run_node *in,
			  uint64_t start)
{
	size_t at = in->lo;
	for (size_t left = in->hi - in->lo; left > 0;) {
		size_t half = left / 2;
		bool before = run->off[at + half] < start;
		at = before ? at + half + 1 : at;
		left = before ? left - half - 1 : half;
	}
	return at;
}

/* Gives one range's addresses to node `self`, which is new. */
static void take_range(struct gsym_run *run, uint32_t self, uint64_t start, uint64_t size)
{
	struct gsym_run_node *node = &run->nodes[self];
	const struct gsym_run_node *from = &run->nodes[node->parent];
	if (from->lo == from->hi || run->off[from->hi - 1] < start)
		return;
	for (size_t i = lower_bound(run, from, start); i < from->hi && run->off[i] - start < size;
	     i++) {
		if (run->node[i] != node->parent)
			continue;
		run->node[i] = self;
		node->lo = ux_min(node->lo, (uint32_t)i);
		node->hi = ux_max(node->hi, (uint32_t)i + 1);
		node->left++;
	}
}

/* Reads one node of n > 0 ranges; true when it has children. */
static bool read_node(struct gsym_run *run, struct ux_cur *c, uint64_t n, uint32_t self,
		      uint32_t parent)
{
	struct gsym_run_node *node = &run->nodes[self];
	uint64_t base = run->nodes[parent].start;
	*node = (struct gsym_run_node){.parent = parent, .lo = UINT32_MAX};
	for (uint64_t i = 0; i < n && ux_cur_more(c); i++) {
		uint64_t start = base + ux_cur_uleb(c);
		uint64_t size = ux_cur_uleb(c);
		if (i == 0)
			node->start = start;
		take_range(run, self, start, size);
	}
	bool has_children = ux_cur_u8(c) != 0;
	node->name = ux_cur_u32(c);
	node->file = (uint32_t)ux_cur_uleb(c);
	node->line = (uint32_t)ux_cur_uleb(c);
	node->depth = run->nodes[parent].depth + (parent != OUTSIDE);
	return has_children;
}

static bool read_tree(struct gsym_run *run)
{
	struct ux_cur c = run->record.inlines;
	uint32_t n = (uint32_t)run->n, at = OUTSIDE, next = ROOT;
	size_t unsettled = run->n; /* addresses that a node not yet read may take */
	run->nodes[OUTSIDE] = (struct gsym_run_node){.depth = 1, .hi = n, .left = n};
	while (ux_cur_more(&c) && unsettled > 0) {
		uint64_t ranges = ux_cur_uleb(&c);
		if (ranges == 0) { /* no more children of `at` */
			unsettled -= run->nodes[at].left;
			at = run->nodes[at].parent;
		} else {
			bool has_children = read_node(run, &c, ranges, next, at);
			uint32_t taken = run->nodes[next].left;
			run->nodes[at].left -= taken;
			if (taken > 0 && has_children)
				at = next;
			else if (has_children && at != OUTSIDE)
				gsym_list_skip(&c);
			else
				unsettled -= taken;
			next += taken > 0;
		}
		if (at == OUTSIDE) /* the function's own node has no sibling */
			break;
		if (next == GSYM_RUN_NODES_MOST || run->nodes[at].depth > UX_GSYM_DEPTH_MOST)
			return false;
	}
	return !c.failed;
}

bool gsym_run_read(struct gsym_run *run)
{
	memset(run->node, 0, run->n * sizeof(run->node[0]));
	return read_rows(run) && read_tree(run);
}

bool gsym_run_frames(const struct gsym_run *run, const struct ux_gsym *g, size_t i,
		     struct ux_frame *frames)
{
	uint32_t file = run->file[i], line = run->line[i];
	for (uint32_t at = run->node[i]; at > ROOT; at = run->nodes[at].parent) {
		const struct gsym_run_node *node = &run->nodes[at];
		if (gsym_frame_make(g, node->name, file, line, frames, NULL) != UX_OK)
			return false;
		frames->inlined = true;
		frames->offset = run->off[i] - node->start;
		frames++;
		file = node->file;
		line = node->line;
	}
	frames->inlined = false;
	frames->offset = run->off[i];
	return gsym_frame_make(g, run->record.name, file, line, frames, NULL) == UX_OK;
}
