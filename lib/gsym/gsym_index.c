/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index, which makes lookups in large functions fast by cutting up their trees and line tables.
 * It is built for all functions in one call, or for each function at its third request.
 */
#include "gsym_index.h"

#include "gsym_decode.h"

#include <pthread.h>
#include <stdatomic.h>

enum {
	SMALL = 192,    /* blocks of up to this many bytes are read as fast without the index */
	ROW_BYTES = 32, /* bytes of a line table between stored rows */
	ROW_MAX = 128,  /* most bytes of one row; writers need at most 40 */
	FUNCTION_BUDGET = 256 * 1024 * 1024, /* memory limit while one record is cut up */
	/* An entry below this is not an address but counts how often a record has been requested */
	ENTRY_REQUESTS = 2, /* this many requests read the record as it is in the file; the next one
			       cuts it up */
	ENTRY_NEVER = 3,    /* the record cannot be cut up */
	ENTRY_CUT,
	SPANS_EACH = 4,        /* spans for each bucket; each stored row gets a bucket, too */
	WORK_KEPT = 16 * 1024, /* memory for cutting up a record that is kept for the next one */
};

/* Entries only ever grow, until one is the address of a cut-up record. */
struct ux_gsym_index {
	size_t max; /* limit of `bytes` */
	bool grows; /* lookups add to it */
	/* no memory order is needed: a sum */
	atomic_size_t bytes;
	pthread_mutex_t lock; /* held while a record is cut up, so that the memory for that is
				 needed once */
	struct ux_arena cuts; /* holds the cut-up records; guarded by lock while it grows */
	struct ux_arena work; /* memory while one is made; guarded in the same way */
	struct ux_arena_mark work_start;
	size_t n;
	/* release when a record is published, acquire before it is read */
	_Atomic(uintptr_t) entries[];
};

/* State of cutting up one record. */
struct cut {
	struct ux_arena *arena; /* memory for this function alone */
	struct gsym_spans spans;
	struct gsym_index_row *rows;
	size_t n_rows;
	struct gsym_cut head;
};

/* --- the line table --------------------------------------------------------------------------- */

/*
 * Codes of gsym_spans_find(). Cuts up no table with descending addresses, nor one in which a lookup
 * would read many bytes between two rows: lookups in the index are not charged for them.
 */
static enum ux_code index_cut_lines(struct cut *cut, struct ux_cur block)
{
	cut->rows = ux_arena_array(cut->arena, struct gsym_index_row,
				   ux_cur_left(&block) / ROW_BYTES + 1);
	if (!cut->rows)
		return ux_arena_fail(cut->arena, NULL);
	if (!ux_cur_more(&block))
		return UX_OK;
	struct gsym_lines l = gsym_lines_start(block);
	const uint8_t *row = l.c.pos, *next = l.c.pos; /* where a row that ends there is stored */
	uint64_t before = 0, all = 0;
	ptrdiff_t longest = 0;
	if (l.min != (int32_t)l.min)
		return UX_ECORRUPT;
	cut->head.line_min = (int32_t)l.min;
	static_assert(GSYM_LINE_SPECIAL_MAX + 1 <= UINT8_MAX, "line_range");
	cut->head.line_range = (uint8_t)l.range;
	while (gsym_lines_next(&l)) {
		/* all numbers fit 32 bits, and so do the differences of addresses unless they
		 * descend */
		all |= l.off | (l.off - before) | l.line | l.file;
		before = l.off;
		longest = ux_max(longest, l.c.pos - row);
		row = l.c.pos;
		if (row < next)
			continue;
		cut->rows[cut->n_rows++] =
			(struct gsym_index_row){(uint32_t)l.off, (uint32_t)l.file, (uint32_t)l.line,
						(uint32_t)ux_cur_left(&l.c)};
		next = row + ROW_BYTES;
	}
	longest = ux_max(longest, l.c.pos - row);
	return l.c.failed || all > UINT32_MAX || longest > ROW_MAX ? UX_ECORRUPT : UX_OK;
}

/* --- one record ------------------------------------------------------------------------------- */

/* Divides the function into buckets. */
static void index_set_buckets(struct cut *cut)
{
	struct gsym_cut *head = &cut->head;
	const struct gsym_spans *spans = &cut->spans;
	uint64_t last = spans->list[spans->n - 1].a;
	size_t max = cut->n_rows + spans->n / SPANS_EACH + 1;
	if (cut->n_rows > 0)
		last = ux_max(last, (uint64_t)cut->rows[cut->n_rows - 1].off);
	while (last >> head->shift >= max)
		head->shift++;
	head->n_buckets = (uint32_t)(last >> head->shift) + 1;
}

/* Writes pair i; `narrow` is a constant. */
ux_inline void index_put_pair(uint8_t *to, size_t i, bool narrow, uint64_t a, uint64_t b)
{
	const struct gsym_index_pair wide = {(uint32_t)a, (uint32_t)b};
	const uint16_t half[] = {(uint16_t)a, (uint16_t)b};
	if (narrow)
		memcpy(to + i * sizeof(half), half, sizeof(half));
	else
		memcpy(to + i * sizeof(wide), &wide, sizeof(wide));
}

ux_inline void index_put_pairs(const struct cut *cut, uint8_t *to, bool narrow)
{
	const struct gsym_index_pair *spans = cut->spans.list;
	const struct gsym_index_row *rows = cut->rows;
	size_t span = 0, row = 0, n = cut->head.n_buckets, n_spans = cut->spans.n;
	for (size_t i = 0; i < n; i++) {
		uint64_t start = (uint64_t)i << cut->head.shift;
		while (span + 1 < n_spans && spans[span + 1].a <= start)
			span++;
		while (row < cut->n_rows && rows[row].off <= start)
			row++;
		index_put_pair(to, i, narrow, span, row);
	}
	index_put_pair(to, n, narrow, n_spans - 1, cut->n_rows);
	for (size_t i = 0; i < n_spans; i++)
		index_put_pair(to, n + 1 + i, narrow, spans[i].a, spans[i].b);
}

/*
 * Moves the parts of the cut-up record to one piece of memory. NULL: memory is short, or the index
 * is full.
 */
static struct gsym_cut *index_pack(struct cut *cut, struct ux_arena *arena)
{
	const struct gsym_spans *spans = &cut->spans;
	struct gsym_cut *head = &cut->head;
	head->narrow = ux_max(spans->n_nodes, ux_max(spans->n, cut->n_rows)) <= UINT16_MAX &&
		       spans->list[spans->n - 1].a <= UINT16_MAX;
	head->n_rows = (uint32_t)cut->n_rows;
	head->n_nodes = (uint32_t)spans->n_nodes;
	head->n_spans = (uint32_t)spans->n;
	index_set_buckets(cut);
	size_t bytes = sizeof(*head) +
		       (head->n_buckets + 1 + spans->n) * gsym_cut_pair_bytes(head) +
		       cut->n_rows * sizeof(*cut->rows) + spans->n_nodes * sizeof(*spans->nodes);
	struct gsym_cut *made = ux_arena_alloc(arena, bytes, GSYM_CUT_LINE);
	if (!made)
		return NULL;
	*made = *head;
	if (head->narrow)
		index_put_pairs(cut, (uint8_t *)(made + 1), true);
	else
		index_put_pairs(cut, (uint8_t *)(made + 1), false);
	memcpy((void *)gsym_cut_rows(made), cut->rows, cut->n_rows * sizeof(*cut->rows));
	memcpy((void *)gsym_cut_nodes(made), spans->nodes, spans->n_nodes * sizeof(*spans->nodes));
	return made;
}

/*
 * Returns the memory for cutting up a record. Its first block is kept for the next record. NULL:
 * memory is short.
 */
static struct ux_arena *index_work(struct ux_gsym_index *index)
{
	struct ux_arena *work = &index->work;
	if (work->last)
		return work;
	ux_arena_init(work, WORK_KEPT + ux_min(index->max, (size_t)FUNCTION_BUDGET));
	uint8_t *first = ux_arena_alloc(work, WORK_KEPT, _Alignof(max_align_t));
	if (!first)
		return NULL;
	index->work_start = (struct ux_arena_mark){work->last, first};
	ux_arena_rewind(work, index->work_start);
	return work;
}

/*
 * *ret is NULL for a record that cannot be cut up.
 * UX_ENOMEM.
 */
static enum ux_code index_cut_record(const struct ux_gsym *g, const struct gsym_record *r,
				     struct gsym_cut **ret)
{
	assert(g->index);
	struct cut cut = {
		.arena = index_work(g->index),
		.head = {.tree = r->inlines.pos,
			 .tree_size = (uint32_t)ux_cur_left(&r->inlines),
			 .lines = r->lines.pos,
			 .lines_size = (uint32_t)ux_cur_left(&r->lines)},
	};
	*ret = NULL;
	if (!cut.arena)
		return UX_ENOMEM;
	enum ux_code code = index_cut_lines(&cut, r->lines);
	if (code == UX_OK)
		code = gsym_spans_find(g, r->inlines, cut.arena, &cut.spans);
	if (code == UX_OK) {
		*ret = index_pack(&cut, &g->index->cuts);
		code = *ret || g->index->cuts.over ? UX_OK : UX_ENOMEM;
	}
	ux_arena_rewind(cut.arena, g->index->work_start);
	return code == UX_ENOMEM ? code : UX_OK;
}

/* Cut-up records have no room for `before`, which few records have. */
static bool index_omits(const struct gsym_record *r)
{
	return r->before > 0 || ux_cur_left(&r->lines) + ux_cur_left(&r->inlines) < SMALL;
}

/* Returns the memory of an index of n functions without cut-up records. */
static size_t index_size(size_t n)
{
	return sizeof(struct ux_gsym_index) + n * sizeof(_Atomic(uintptr_t));
}

static const struct gsym_cut *index_publish(struct ux_gsym_index *index, size_t i,
					    struct gsym_cut *cut)
{
	uintptr_t entry = cut ? (uintptr_t)cut : (uintptr_t)ENTRY_NEVER;
	if (cut) {
		atomic_store_explicit(&index->bytes,
				      index_size(index->n) + index->cuts.used + index->work.used,
				      memory_order_relaxed);
	}
	atomic_store_explicit(&index->entries[i], entry, memory_order_release);
	return cut;
}

/* --- the file --------------------------------------------------------------------------------- */

static void index_destroy(struct ux_gsym_index *index)
{
	if (!index)
		return;
	ux_arena_deinit(&index->cuts);
	ux_arena_deinit(&index->work);
	pthread_mutex_destroy(&index->lock);
	free(index);
}

enum ux_code ux_gsym_index_open(struct ux_gsym *g, size_t max, struct ux_error *err)
{
	size_t n = g->n_functions;
	if (n == 0)
		return UX_OK;
	struct ux_gsym_index *index = calloc(1, index_size(n));
	if (!index)
		return ux_error_nomem(err);
	index->n = n;
	index->max = max;
	index->grows = true;
	atomic_init(&index->bytes, index_size(n));
	ux_arena_init(&index->cuts, max > index_size(n) ? max - index_size(n) : 0);
	pthread_mutex_init(&index->lock, NULL);
	g->index = index;
	return UX_OK;
}

/*
 * Indexing ends at records that cannot be read or that overlap; the part indexed before is valid.
 */
static enum ux_code index_cut_all(const struct ux_gsym *g)
{
	struct ux_gsym_walk walk = {.g = g};
	bool more = false;
	while (ux_gsym_walk_next(&walk, &more, NULL) == UX_OK && more) {
		struct ux_cur c = walk.raw.rest;
		struct gsym_record r;
		struct gsym_cut *cut = NULL;
		if (walk.raw.name == 0 || gsym_record_read(g, &c, &r, NULL) != UX_OK ||
		    index_omits(&r))
			continue;
		UX_TRY(index_cut_record(g, &r, &cut));
		(void)index_publish(g->index, walk.next - 1, cut);
	}
	return UX_OK;
}

enum ux_code ux_gsym_index_build(struct ux_gsym *g, struct ux_error *err)
{
	UX_TRY(ux_gsym_index_open(g, SIZE_MAX, err));
	if (!g->index)
		return UX_OK;
	g->index->grows = false;
	if (index_cut_all(g) == UX_OK)
		return UX_OK;
	ux_gsym_index_free(g);
	return ux_error_nomem(err);
}

void ux_gsym_index_free(struct ux_gsym *g)
{
	index_destroy(g->index);
	g->index = NULL;
}

size_t ux_gsym_index_bytes(const struct ux_gsym *g)
{
	return g->index ? atomic_load_explicit(&g->index->bytes, memory_order_relaxed) : 0;
}

struct ux_gsym_index_counts ux_gsym_index_count(const struct ux_gsym *g)
{
	struct ux_gsym_index_counts counts = {0};
	for (size_t i = 0; i < g->index->n; i++) {
		const struct gsym_cut *cut = gsym_index_find(g, i);
		counts.functions += cut != NULL;
		counts.nodes += cut ? cut->n_nodes : 0;
		counts.rows += cut ? cut->n_rows : 0;
	}
	return counts;
}

/* --- looking up ------------------------------------------------------------------------------- */

const struct gsym_cut *gsym_index_find(const struct ux_gsym *g, size_t i)
{
	uintptr_t entry = atomic_load_explicit(&g->index->entries[i], memory_order_acquire);
	return entry >= ENTRY_CUT ? (const struct gsym_cut *)entry : NULL;
}

/* Cuts up a record, unless another thread is doing that with some record of this file. */
static const struct gsym_cut *index_grow(const struct ux_gsym *g, size_t i,
					 const struct gsym_record *r)
{
	struct ux_gsym_index *index = g->index;
	const struct gsym_cut *found = NULL;
	struct gsym_cut *cut = NULL;
	if (ux_gsym_index_bytes(g) >= index->max || pthread_mutex_trylock(&index->lock) != 0)
		return NULL;
	found = gsym_index_find(g, i);
	if (!found && index_cut_record(g, r, &cut) == UX_OK)
		found = index_publish(index, i, cut);
	pthread_mutex_unlock(&index->lock);
	return found;
}

const struct gsym_cut *gsym_index_cut(const struct ux_gsym *g, size_t i,
				      const struct gsym_record *r)
{
	const struct gsym_cut *cut = gsym_index_find(g, i);
	if (cut || !g->index->grows || index_omits(r))
		return cut;
	_Atomic(uintptr_t) *entry = &g->index->entries[i];
	uintptr_t requests = atomic_load_explicit(entry, memory_order_relaxed);
	if (requests >= ENTRY_REQUESTS)
		return requests == ENTRY_REQUESTS ? index_grow(g, i, r) : NULL;
	/* another thread may have counted, or even published, in between; then that counts */
	(void)atomic_compare_exchange_strong_explicit(entry, &requests, requests + 1,
						      memory_order_relaxed, memory_order_relaxed);
	return NULL;
}
