/* SPDX-License-Identifier: Apache-2.0 */
/* Fills a frame cache with all functions of the best candidate of its module. */
#include "frame_cache_internal.h"

#include "clock.h"
#include "gsym_pieces.h"
#include "order.h"
#include "table_memory.h"

enum {
	FILL_WORK_SHARE = 2,  /* one function may take 1/2 of the cache's limit as work memory */
	FILL_KEPT = 64 << 10, /* bytes of that memory that are kept for the next function */
	FILL_SLOTS_MIN = 64,  /* smallest table of frames */
	/*
	 * ns of processor time for each byte of the file, after which filling is abandoned: real
	 * files take 10 to 20. Crafted names and calls can take much more.
	 */
	FILL_NS_EACH = 200,
	FILL_NS_MIN = 200 * UX_CLOCK_NS_IN_MS,
	FILL_NAMES_EACH = 64, /* names between two reads of the clock */
};

/*
 * Functions are filled name by name: equal frames have the same outermost function, so only frames
 * of functions with the same name have to be compared.
 */
struct frame_fill {
	struct ux_frame_cache *m;
	const struct ux_gsym *g;
	struct ux_arena work; /* memory for one function */
	struct ux_arena_mark work_start;
	struct ux_order order; /* functions by the offset of their name */
	uint32_t *files;       /* by index in g's table of files: numbers plus 1; 0: not yet */
	struct ux_frame_map_draft draft;
	/* hash table of the frames of the functions with the current name, by content */
	struct frame_slot *slots;
	size_t slots_cap; /* slots in use, a power of two */
	size_t slots_room;
	uint32_t first; /* number of the first frame of these functions */
	const atomic_bool *stop;
	int64_t end; /* deadline, by the thread's clock of processor time */
	size_t n_names;
};

static void frame_fill_deinit(struct frame_fill *f)
{
	ux_arena_deinit(&f->work);
	ux_order_deinit(&f->order);
	free(f->files);
	ux_frame_map_draft_deinit(&f->draft);
	ux_table_free(f->slots, f->slots_room * sizeof(*f->slots));
}

/* --- frames of functions with one name -------------------------------------------------------- */

static uint32_t frame_fill_last_frame(const struct frame_fill *f)
{
	return (uint32_t)f->m->lists.frames.n;
}

/* Clears the first `cap` slots and makes them the table. */
static bool frame_fill_use_slots(struct frame_fill *f, size_t cap)
{
	if (cap > f->slots_room) {
		ux_table_free(f->slots, f->slots_room * sizeof(*f->slots));
		f->slots = ux_table_alloc(cap * sizeof(*f->slots));
		f->slots_room = f->slots ? cap : 0;
	} else {
		memset(f->slots, 0, cap * sizeof(*f->slots));
	}
	f->slots_cap = f->slots ? cap : 0;
	return f->slots != NULL;
}

/* Makes room for `more` frames besides the existing frames of the functions with this name. */
static bool frame_fill_reserve(struct frame_fill *f, size_t more)
{
	const uint32_t last = frame_fill_last_frame(f);
	size_t cap = FILL_SLOTS_MIN;
	while (cap / 2 < last - f->first + 1 + more)
		cap *= 2;
	if (cap <= f->slots_cap)
		return true;
	if (!frame_fill_use_slots(f, cap))
		return false;
	for (uint32_t i = f->first; i <= last; i++) {
		const struct ux_cached_frame *frame = ux_cached_frame(f->m, i);
		const uint32_t tag = cached_frame_tag(frame);
		*frame_cache_frame_slot(f->m, f->slots, f->slots_cap, frame, tag) =
			(struct frame_slot){i, tag};
	}
	return true;
}

/* Returns the number of a frame, and adds it if it is new; 0: no room. */
static uint32_t frame_fill_frame(struct frame_fill *f, const struct ux_cached_frame *frame)
{
	return frame_cache_frame_among(f->m, f->slots, f->slots_cap, frame);
}

/* --- one function ----------------------------------------------------------------------------- */

/* Gets the number of a file. UX_ENOTFOUND: g has no such file. */
static enum ux_code frame_fill_file(struct frame_fill *f, uint32_t file, uint32_t *ret)
{
	struct ux_frame frame = {.dir = "", .base = ""};
	*ret = 0;
	if (file == 0)
		return UX_OK;
	if (file < f->g->n_files && f->files[file] != 0) {
		*ret = f->files[file] - 1;
		return UX_OK;
	}
	if (!ux_gsym_file(f->g, file, &frame.dir, &frame.base))
		return UX_ENOTFOUND;
	if (!frame_cache_file_number(f->m, &frame, ret))
		return UX_ELIMIT;
	f->files[file] = *ret + 1;
	return UX_OK;
}

/* The part of a frame that a call determines: its function, and the frame it is inlined into. */
struct fill_node {
	uint32_t function;
	uint32_t up;
};

/* Reads the calls of a function. NULL: one of them is damaged, or memory is short. */
static const struct ux_gsym_call *frame_fill_read_calls(struct frame_fill *f,
							const struct ux_gsym_pieces *p)
{
	struct ux_gsym_call *calls = ux_arena_array(&f->work, struct ux_gsym_call, p->n_nodes);
	for (uint32_t i = 0; calls && i < p->n_nodes; i++) {
		if (!ux_gsym_pieces_call(f->g, p, i, &calls[i]) ||
		    (calls[i].inlined && calls[i].caller >= i))
			return NULL;
		cached_numbers_prefetch(&f->m->text_numbers,
					cached_text_key(calls[i].function, true));
		__builtin_prefetch(calls[i].function);
	}
	return calls;
}

/* Computes the part of a frame that comes from each of the function's calls. */
static enum ux_code frame_fill_nodes(struct frame_fill *f, const struct ux_gsym_call *calls,
				     size_t n, struct fill_node *nodes)
{
	if (strcmp(calls[0].function, UX_NO_NAME) == 0)
		return UX_ENOTFOUND; /* another candidate may know the name */
	for (size_t i = 0; i < n; i++) {
		nodes[i].up = 0;
		if (!frame_cache_text_number(f->m, calls[i].function, true, &nodes[i].function))
			return UX_ELIMIT;
		if (!calls[i].inlined)
			continue;
		const struct fill_node *caller = &nodes[calls[i].caller];
		struct ux_cached_frame frame = {
			.function = caller->function, .line = calls[i].line, .up = caller->up};
		UX_TRY(frame_fill_file(f, calls[i].file, &frame.file));
		nodes[i].up = frame_fill_frame(f, &frame);
		if (nodes[i].up == 0)
			return UX_ELIMIT;
	}
	return UX_OK;
}

/* Adds the frames of the function's pieces to the draft. */
static enum ux_code frame_fill_pieces(struct frame_fill *f, uint32_t start,
				      const struct ux_gsym_pieces *p, const struct fill_node *nodes)
{
	uint32_t last = 0;
	for (size_t i = 0; i < p->n; i++) {
		const struct ux_gsym_piece *piece = &p->list[i];
		const struct fill_node *node = &nodes[piece->node];
		struct ux_cached_frame frame = {
			.function = node->function, .line = piece->line, .up = node->up};
		UX_TRY(frame_fill_file(f, piece->file, &frame.file));
		const uint32_t number = frame_fill_frame(f, &frame);
		if (number == 0)
			return UX_ELIMIT;
		const struct ux_frame_map_entry entry = {start + piece->off, number};
		if (number != last && !ux_frame_map_entries_append(&f->draft.entries, entry))
			return UX_ENOMEM;
		last = number;
	}
	return UX_OK;
}

/*
 * Fills function i. UX_ENOTFOUND, UX_ECORRUPT: leave its addresses to lookups. UX_ELIMIT: the cache
 * is full.
 */
static enum ux_code frame_fill_function(struct frame_fill *f, uint32_t i)
{
	struct ux_gsym_pieces p;
	const uint64_t off = ux_gsym_start(f->g, i) - f->draft.base;
	UX_TRY(ux_gsym_pieces_find(f->g, i, &f->work, &p));
	if (off > UINT32_MAX - p.size)
		return UX_ENOTFOUND;
	const struct ux_frame_map_function function = {(uint32_t)off, (uint32_t)off + p.size};
	const struct ux_gsym_call *calls = frame_fill_read_calls(f, &p);
	struct fill_node *nodes = ux_arena_array(&f->work, struct fill_node, p.n_nodes);
	if (!calls || !nodes)
		return UX_ECORRUPT;
	if (!frame_fill_reserve(f, p.n + p.n_nodes))
		return UX_ENOMEM;
	UX_TRY(frame_fill_nodes(f, calls, p.n_nodes, nodes));
	UX_TRY(frame_fill_pieces(f, function.off, &p, nodes));
	return ux_frame_map_functions_append(&f->draft.functions, function) ? UX_OK : UX_ENOMEM;
}

/* --- all functions ---------------------------------------------------------------------------- */

/* Sorts the functions by their names. UX_ECORRUPT: their addresses do not ascend. */
static enum ux_code frame_fill_sort(struct frame_fill *f)
{
	const struct ux_gsym *g = f->g;
	if (!ux_order_init(&f->order, (size_t)g->n_functions + 1))
		return UX_ENOMEM;
	for (uint32_t i = 0; i < g->n_functions; i++) {
		uint64_t name = 0;
		if (i > 0 && ux_gsym_start(g, i) < ux_gsym_start(g, i - 1))
			return UX_ECORRUPT;
		if (ux_gsym_pieces_name(g, i, &name) == UX_OK && name <= ux_order_limit(&f->order))
			ux_order_add(&f->order, name, i);
	}
	return ux_order_sort(&f->order) ? UX_OK : UX_ENOMEM;
}

/*
 * Fills the functions with one name, from the at-th of the order up to `end`. If one of them has to
 * be left to lookups, all are: otherwise equal frames would get two numbers.
 */
static enum ux_code frame_fill_name(struct frame_fill *f, size_t at, size_t end)
{
	const size_t entries = f->draft.entries.size, functions = f->draft.functions.size;
	enum ux_code code = UX_OK;
	f->first = frame_fill_last_frame(f) + 1;
	f->slots_cap = 0;
	for (; at < end && code == UX_OK; at++) {
		ux_arena_rewind(&f->work, f->work_start);
		code = frame_fill_function(f, (uint32_t)ux_order_place(&f->order, at));
	}
	if (code != UX_ENOTFOUND && code != UX_ECORRUPT)
		return code;
	f->draft.entries.size = entries;
	f->draft.functions.size = functions;
	return UX_OK;
}

/* Tests whether filling must stop: it was told to, or has taken too long. */
static bool frame_fill_is_over(struct frame_fill *f)
{
	if (atomic_load_explicit(f->stop, memory_order_relaxed))
		return true;
	return f->n_names++ % FILL_NAMES_EACH == 0 &&
	       ux_clock_read(CLOCK_THREAD_CPUTIME_ID) > f->end;
}

/*
 * Tests whether the cache and the draft of its map exceed the cache's limit. A function may have
 * very many pieces and few frames.
 */
static bool frame_fill_is_full(const struct frame_fill *f)
{
	const size_t entry = sizeof(struct ux_frame_map_entry) + sizeof(uint32_t);
	return f->draft.entries.size > (f->m->max - ux_min(f->m->bytes, f->m->max)) / entry;
}

/* Makes the map of everything that was filled. */
static enum ux_code frame_fill_map(struct frame_fill *f)
{
	struct ux_frame_cache *m = f->m;
	const size_t bytes = ux_frame_map_bytes(&f->draft);
	if (f->draft.functions.size == 0)
		return UX_ENOTFOUND;
	if (m->bytes + bytes > m->max)
		return UX_ELIMIT;
	m->map = ux_frame_map_create(&f->draft);
	if (!m->map)
		return UX_ENOMEM;
	frame_cache_charge(m, bytes);
	return UX_OK;
}

enum ux_code ux_frame_cache_fill(struct ux_frame_cache *m, const struct ux_gsym *g,
				 const atomic_bool *stop)
{
	ux_cleanup(frame_fill_deinit) struct frame_fill f = {
		.m = m,
		.g = g,
		.stop = stop,
		.end = ux_clock_read(CLOCK_THREAD_CPUTIME_ID) + FILL_NS_MIN +
		       (int64_t)g->file.size * FILL_NS_EACH};
	if (g->n_functions == 0)
		return UX_ENOTFOUND;
	ux_arena_init(&f.work, FILL_KEPT + m->max / FILL_WORK_SHARE);
	uint8_t *kept = ux_arena_alloc(&f.work, FILL_KEPT, _Alignof(max_align_t));
	if (!kept)
		return UX_ENOMEM;
	f.work_start = (struct ux_arena_mark){f.work.last, kept};
	f.draft.base = ux_gsym_start(g, 0);
	f.files = calloc((size_t)g->n_files + 1, sizeof(*f.files));
	if (!f.files)
		return UX_ENOMEM;
	UX_TRY(frame_fill_sort(&f));
	for (size_t at = 0, end; at < f.order.n; at = end) {
		for (end = at + 1; end < f.order.n; end++)
			if (ux_order_address(&f.order, end) != ux_order_address(&f.order, at))
				break;
		if (frame_fill_is_over(&f))
			return UX_EUNAVAILABLE;
		UX_TRY(frame_fill_name(&f, at, end));
		if (frame_fill_is_full(&f))
			return UX_ELIMIT;
	}
	return frame_fill_map(&f);
}

bool ux_frame_cache_is_filled(const struct ux_frame_cache *m)
{
	return m->map != NULL;
}
