/* SPDX-License-Identifier: Apache-2.0 */
/* Several addresses in one function: the line table is merged with them in one pass. */
#include "gsym_run.h"

#include "gsym_lines.h"

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

bool gsym_run_read(struct gsym_run *run, const struct ux_gsym *g)
{
	struct gsym_spread spread = {.off = run->off,
				     .node = run->node,
				     .n = run->n,
				     .nodes = run->nodes,
				     .most = GSYM_RUN_NODES_MOST,
				     .offset_size = g->offset_size,
				     .steps = UINT64_MAX};
	return read_rows(run) && gsym_spread_read(&spread, run->record.inlines);
}

bool gsym_run_frames(const struct gsym_run *run, const struct ux_gsym *g, size_t i,
		     struct ux_frame *frames)
{
	uint32_t file = run->file[i], line = run->line[i];
	for (uint32_t at = run->node[i]; at > GSYM_SPREAD_ROOT; at = run->nodes[at].parent) {
		const struct gsym_spread_node *node = &run->nodes[at];
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
