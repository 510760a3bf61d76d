/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batch lookups: the addresses are sorted and cut into runs. The addresses of a run are in one
 * function, and its record is read once for all of them, or looked up in the index for each.
 */
#include "gsym_reader.h"

#include "gsym_index.h"
#include "order.h"

enum {
	GSYM_RUN_MAX = 256,    /* most addresses of a run; more make another run */
	GSYM_RUN_NODES = 4096, /* room for nodes that contain one of them; rarely more */
	GSYM_RUN_NODES_MAX = GSYM_RUN_MAX * (UX_GSYM_DEPTH_MAX + 1) + 3,
	GSYM_CUT_COST = 64, /* bytes of a record that are read in the time of one indexed lookup */
};

/* A run of addresses in one function. */
struct gsym_run {
	struct gsym_record record;
	const struct gsym_cut *cut; /* NULL, or the record in the index */
	size_t n;
	uint64_t off[GSYM_RUN_MAX]; /* from the record's start; strictly ascending */
	uint32_t file[GSYM_RUN_MAX];
	uint32_t line[GSYM_RUN_MAX];
	uint32_t node[GSYM_RUN_MAX];       /* the innermost node of each */
	struct gsym_innermost_node *nodes; /* malloc'ed, room for max_nodes */
	size_t max_nodes;
};

static bool gsym_run_init(struct gsym_run *run)
{
	run->max_nodes = GSYM_RUN_NODES;
	run->nodes = malloc(run->max_nodes * sizeof(*run->nodes));
	return run->nodes != NULL;
}

/* Returns the number of frames of address i. */
ux_inline size_t gsym_run_depth(const struct gsym_run *run, size_t i)
{
	return run->nodes[run->node[i]].depth;
}

static bool gsym_run_read_rows(struct gsym_run *run)
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

/*
 * Returns the number of comparisons with addresses that a tree with nested ranges needs when each
 * address is in some range of each level. More are needed only when a node has the same range many
 * times; then the addresses are looked up, and charged, one by one.
 */
static uint64_t gsym_run_steps(const struct gsym_run *run)
{
	return (uint64_t)run->n * 2 * UX_FRAMES_MAX + ux_cur_left(&run->record.inlines);
}

/* Makes room for the deepest nesting of all addresses. */
static bool gsym_run_grow(struct gsym_run *run)
{
	assert(run->max_nodes < GSYM_RUN_NODES_MAX);
	void *more = realloc(run->nodes, GSYM_RUN_NODES_MAX * sizeof(*run->nodes));
	if (!more)
		return false;
	run->nodes = more;
	run->max_nodes = GSYM_RUN_NODES_MAX;
	return true;
}

static bool gsym_run_read_tree(struct gsym_run *run, const struct ux_gsym *g)
{
	struct gsym_innermost innermost = {.off = run->off,
					   .node = run->node,
					   .n = run->n,
					   .nodes = run->nodes,
					   .max = run->max_nodes,
					   .offset_size = g->offset_size,
					   .steps = gsym_run_steps(run)};
	if (gsym_innermost_find(&innermost, run->record.inlines))
		return true;
	return innermost.n_nodes == GSYM_RUN_NODES && gsym_run_grow(run) &&
	       gsym_run_read_tree(run, g);
}

/*
 * Finds row and node for each address; record, n and off must be set. False when the record is
 * damaged or memory is short. The addresses are then looked up one by one, which also reports
 * damage.
 */
static bool gsym_run_read(struct gsym_run *run, const struct ux_gsym *g)
{
	assert(run->n > 0 && run->n <= GSYM_RUN_MAX);
	return gsym_run_read_rows(run) && gsym_run_read_tree(run, g);
}

/*
 * Writes the frames of address i, innermost first; false when one of its names is past the string
 * table.
 */
static bool gsym_run_frames(const struct gsym_run *run, const struct ux_gsym *g, size_t i,
			    struct ux_frame *frames)
{
	uint32_t file = run->file[i], line = run->line[i];
	for (uint32_t at = run->node[i]; at > GSYM_INNERMOST_ROOT; at = run->nodes[at].parent) {
		const struct gsym_innermost_node *node = &run->nodes[at];
		if (gsym_frame_make(g, node->name, file, line, frames, NULL) != UX_OK)
			return false;
		frames->inlined = true;
		frames->offset = run->off[i] - node->start;
		frames++;
		file = node->file;
		line = node->line;
	}
	frames->inlined = false;
	frames->offset = run->off[i] + run->record.before;
	return gsym_frame_make(g, run->record.name, file, line, frames, NULL) == UX_OK;
}

/* State of one batch. Keys of `order` are relative to g->base. */
struct batch {
	const struct ux_gsym *g;
	struct ux_gsym_batch *b;
	struct ux_order order;
	struct gsym_run *run; /* malloc'ed */
	bool stopped;         /* fn returned false, or work was refused */
	bool refused;         /* work was refused */
	struct ux_error first_bad;
	struct ux_frame frames[UX_FRAMES_MAX]; /* frames of one address, to be passed to fn */
};

static void batch_deinit(struct batch *w)
{
	ux_order_deinit(&w->order);
	if (w->run)
		free(w->run->nodes);
	free(w->run);
}

/* --- answers ------------------------------------------------------------------------------ */

/* Returns the room for the n frames of the next answer; NULL when they do not fit. */
static struct ux_frame *batch_frame_room(struct batch *w, size_t n)
{
	struct ux_gsym_batch *b = w->b;
	if (b->fn)
		return w->frames;
	return b->n_frames <= b->max && b->max - b->n_frames >= n ? b->frames + b->n_frames : NULL;
}

static void batch_answer(struct batch *w, size_t index, const struct ux_frame *frames, size_t n)
{
	struct ux_gsym_batch *b = w->b;
	if (!b->fn)
		b->spans[index] =
			(struct ux_frame_span){n > 0 ? (uint32_t)b->n_frames : 0, (uint32_t)n};
	else if (!w->stopped)
		w->stopped = !b->fn(b->ctx, index, frames, n);
}

/* Stores n frames as the answer for all keys from i to end, which have the same address. */
static void batch_answer_equal(struct batch *w, size_t i, size_t end, const struct ux_frame *frames,
			       size_t n)
{
	for (; i < end; i++)
		batch_answer(w, ux_order_place(&w->order, i), frames, n);
	w->b->n_frames += n;
}

/*
 * Looks up a single pc, from which `back` is already subtracted, and returns the number of frames
 * in w->frames.
 */
static size_t batch_lookup(struct batch *w, uint64_t pc)
{
	size_t n = 0;
	enum ux_code code =
		ux_gsym_lookup_within(w->g, pc, w->b->work, w->frames, UX_FRAMES_MAX, &n, NULL);
	if (code == UX_OK)
		return n;
	if (code == UX_EUNAVAILABLE) {
		w->refused = w->stopped = true;
		return 0;
	}
	if (code != UX_ENOTFOUND && w->first_bad.code == UX_OK)
		(void)!ux_gsym_lookup(w->g, pc, w->frames, UX_FRAMES_MAX, &n, &w->first_bad);
	return 0;
}

/* Looks up a single pc and writes its frames to the room of the answer. */
static const struct ux_frame *batch_lookup_into(struct batch *w, uint64_t pc, size_t *ret_n)
{
	*ret_n = batch_lookup(w, pc);
	struct ux_frame *to = batch_frame_room(w, *ret_n);
	if (to && to != w->frames && *ret_n > 0)
		memcpy(to, w->frames, *ret_n * sizeof(*to));
	return w->frames;
}

static void batch_answer_one(struct batch *w, size_t i, size_t end)
{
	size_t n = 0;
	uint64_t pc = w->g->base + ux_order_address(&w->order, i);
	const struct ux_frame *frames = batch_lookup_into(w, pc, &n);
	batch_answer_equal(w, i, end, frames, n);
}

/* Looks up and answers an address that does not fit into a key. */
static void batch_answer_far(struct batch *w, uint64_t pc, size_t index)
{
	size_t n = 0;
	const struct ux_frame *frames = batch_lookup_into(w, pc, &n);
	batch_answer(w, index, frames, n);
	w->b->n_frames += n;
}

/* Returns the end of the keys with the same address as key i. */
static size_t batch_equal_end(const struct batch *w, size_t i)
{
	uint64_t address = ux_order_address(&w->order, i);
	for (i++; i < w->order.n && ux_order_address(&w->order, i) == address;)
		i++;
	return i;
}

/* --- runs --------------------------------------------------------------------------------- */

/*
 * Adds the keys from i on that are below `limit` to the run, as offsets from `start`; returns the
 * first key after them.
 */
static size_t gsym_run_fill(struct batch *w, size_t i, uint64_t start, uint64_t limit)
{
	struct gsym_run *run = w->run;
	uint64_t last = UINT64_MAX;
	run->n = 0;
	for (; i < w->order.n; i++) {
		uint64_t off = ux_order_address(&w->order, i);
		if (off == last)
			continue;
		if (off >= limit || run->n == GSYM_RUN_MAX)
			break;
		run->off[run->n++] = off - start;
		last = off;
	}
	return i;
}

/* False: the work is refused, and the batch ends. */
static bool batch_charge(struct batch *w, uint64_t n)
{
	if (!ux_work_charge(w->b->work, n))
		w->refused = w->stopped = true;
	return !w->refused;
}

/*
 * Returns whether single lookups in the index are faster than reading the record for all addresses.
 */
static bool gsym_run_cut_pays(const struct gsym_run *run)
{
	return run->cut && run->n < gsym_cut_size(run->cut) / GSYM_CUT_COST;
}

/* Answers the keys from i to end with the index. */
static void batch_answer_cut(struct batch *w, size_t i, size_t end)
{
	const struct gsym_run *run = w->run;
	if (!batch_charge(w, GSYM_LOOKUP_COST * (uint64_t)run->n))
		return;
	for (size_t k = 0; i < end && !w->stopped; k++) {
		size_t next = batch_equal_end(w, i), n = 0;
		struct ux_frame *room = batch_frame_room(w, UX_FRAMES_MAX);
		struct ux_frame *frames = room ? room : w->frames;
		if (!gsym_cut_frames(run->cut, w->g, run->record.name, run->off[k], frames,
				     UX_FRAMES_MAX, &n)) {
			batch_answer_one(w, i, next);
		} else {
			room = room ? NULL : batch_frame_room(w, n);
			if (room)
				memcpy(room, frames, n * sizeof(*room));
			batch_answer_equal(w, i, next, frames, n);
		}
		i = next;
	}
}

/* Answers the keys from i to end by reading the record. */
static void batch_answer_run(struct batch *w, size_t i, size_t end)
{
	if (!batch_charge(w, GSYM_LOOKUP_COST * (uint64_t)w->run->n +
				     gsym_record_cost(&w->run->record)))
		return;
	bool good = gsym_run_read(w->run, w->g);
	for (size_t k = 0; i < end && !w->stopped; k++) {
		size_t next = batch_equal_end(w, i);
		size_t n = good ? gsym_run_depth(w->run, k) : 0;
		struct ux_frame *to = good ? batch_frame_room(w, n) : NULL;
		/*
		 * Frames are resolved even without room, so that addresses without frames are not
		 * counted.
		 */
		if (good && gsym_run_frames(w->run, w->g, k, to ? to : w->frames))
			batch_answer_equal(w, i, next, to, n);
		else
			batch_answer_one(w, i, next);
		i = next;
	}
}

/* Answers the keys from i to end, which are in a damaged function, or in none (UX_ENOTFOUND). */
static void batch_answer_rest(struct batch *w, size_t i, size_t end, enum ux_code code)
{
	while (i < end && !w->stopped) {
		size_t next = batch_equal_end(w, i);
		if (code == UX_ENOTFOUND)
			batch_answer_equal(w, i, next, NULL, 0);
		else
			batch_answer_one(w, i, next);
		i = next;
	}
}

/* Reads the record for `off` bytes from the start of the functions at s. Codes of lookups. */
static enum ux_code batch_find_record(struct batch *w, const struct gsym_starts *s, uint64_t off)
{
	const struct ux_gsym *g = w->g;
	struct gsym_record *r = &w->run->record;
	struct ux_cur c;
	size_t i = gsym_record_choose(g, s, off, &c, r);
	w->run->cut = NULL;
	if (i == s->end)
		return UX_ENOTFOUND;
	UX_TRY(gsym_record_finish(g, s, &c, r, NULL));
	if (g->index)
		w->run->cut = gsym_index_cut(g, i, r);
	return UX_OK;
}

/*
 * Answers key i and the following ones that are in the same function; returns the first key that is
 * left.
 */
static size_t batch_answer_from(struct batch *w, size_t i)
{
	const struct ux_gsym *g = w->g;
	struct gsym_record *r = &w->run->record;
	uint64_t off = ux_order_address(&w->order, i);
	struct gsym_starts s = gsym_starts_find(g, off);
	uint64_t limit = s.end < g->n_functions
				 ? gsym_table_at(g->addrs, s.end, g->addr_size, g->swap)
				 : UINT64_MAX;
	enum ux_code code = UX_ENOTFOUND;
	if (s.value > off)
		limit = s.value;
	else
		code = batch_find_record(w, &s, off - s.value);
	if (code == UX_OK && r->size > 0 && limit > s.value)
		limit = s.value + ux_min(limit - s.value, (uint64_t)r->size);
	limit = ux_max(limit, off + 1); /* in an unsorted table the limit may be lower */
	size_t end = gsym_run_fill(w, i, s.value, limit);
	if (code == UX_OK && gsym_run_cut_pays(w->run))
		batch_answer_cut(w, i, end);
	else if (code == UX_OK)
		batch_answer_run(w, i, end);
	else
		batch_answer_rest(w, i, end, code);
	return end;
}

/* Adds a key for each pc, or answers it immediately. */
static void batch_add_pcs(struct batch *w)
{
	const struct ux_gsym_batch *b = w->b;
	uint64_t limit = ux_order_limit(&w->order);
	for (size_t i = 0; i < b->n && !w->stopped; i++) {
		uint64_t pc = b->pcs[i] - b->back;
		if (b->pcs[i] < b->back || pc < w->g->base)
			batch_answer(w, i, NULL, 0);
		else if (pc - w->g->base > limit)
			batch_answer_far(w, pc, i);
		else
			ux_order_add(&w->order, pc - w->g->base, i);
	}
}

static void batch_answer_empty(struct batch *w)
{
	for (size_t i = 0; i < w->b->n && !w->stopped; i++)
		batch_answer(w, i, NULL, 0);
}

static enum ux_code batch_run(struct batch *w, struct ux_error *err)
{
	w->run = calloc(1, sizeof(*w->run));
	if (!w->run || !gsym_run_init(w->run) || !ux_order_init(&w->order, w->b->n))
		return ux_error_nomem(err);
	batch_add_pcs(w);
	if (!ux_order_sort(&w->order))
		return ux_error_nomem(err);
	for (size_t i = 0; i < w->order.n && !w->stopped;)
		i = batch_answer_from(w, i);
	return UX_OK;
}

enum ux_code ux_gsym_batch(const struct ux_gsym *g, struct ux_gsym_batch *b, struct ux_error *err)
{
	ux_cleanup(batch_deinit) struct batch w = {.g = g, .b = b, .first_bad = UX_ERROR_INIT};
	size_t max = ux_min(b->max, (size_t)UINT32_MAX);
	b->n_frames = 0;
	if (g->n_functions == 0 || b->n == 0)
		batch_answer_empty(&w);
	else
		UX_TRY(batch_run(&w, err));
	if (w.refused)
		return UX_EUNAVAILABLE;
	if (!b->fn && b->n_frames > max)
		return ux_error_set(err, UX_ELIMIT, "%zu frames found, room for %zu", b->n_frames,
				    max);
	if (w.first_bad.code != UX_OK && err && err->code == UX_OK)
		*err = w.first_bad;
	return w.first_bad.code;
}
