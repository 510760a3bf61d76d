/* SPDX-License-Identifier: Apache-2.0 */
/* The first phase of an extraction. */
#include "collect.h"

#include "pool.h"
#include "unit_cutter.h"

enum {
	BATCH_BYTES = 1u << 18, /* bytes of units in one job; a job for each small unit would cost
				   too much */
	WAVE_LEAST = 1u << 21,  /* bytes in a wave, so that many threads are busy */
};

/* The pieces of hostile input are bounded by its size. This bounds what one thread may allocate for
 * them. */
#define ARENA_BUDGET (UINT64_C(1) << 36)

/* Consecutive units that one thread reads in one job. */
struct batch {
	uint32_t first;
	uint32_t count;
	uint64_t bytes;
	uint8_t wave; /* number of the wave, for claims */
};

UX_VEC(batch_vec, struct batch);

struct collector;

/* The state of one thread. */
struct collect_worker {
	const struct collector *collector;
	struct ux_unit_cutter cutter;
	uint32_t unit;     /* number of the unit that is being read */
	uint64_t position; /* its position in the order in which rows are charged to the budget */
};

struct collector {
	const struct ux_code_reader *reader;
	const struct ux_collect_options *options;
	uint32_t first, n_units; /* units that are available now: all of them, or those of a wave */
	const struct batch *batches;
	size_t n_batches;
	struct collect_worker *workers; /* one for each thread */
	unsigned threads;               /* no more threads than there are jobs */
	struct ux_claims claims;
	struct ux_order_budget rows;
	struct ux_unit_pieces *results;
};

static bool collect_skip(void *ctx, const struct ux_range *range)
{
	const struct collect_worker *w = ctx;
	const struct ux_collect_options *options = w->collector->options;
	if (options->skip && options->skip(options->skip_ctx, range))
		return true;
	return ux_claims_has(&w->collector->claims, w->unit, range->lo, range->hi - range->lo);
}

/* --- strings that are released with their wave ------------------------------------------------ */

/* Copies strings that lie in `passing`, which is released soon. The same string often comes twice
 * in a row. */
struct text_copier {
	struct ux_bytes passing;
	struct ux_arena *arena;
	const char *last;
	const char *copy;
};

static bool text_copier_copy(struct text_copier *k, const char **text)
{
	uintptr_t at = (uintptr_t)*text, start = (uintptr_t)k->passing.data;
	if (at < start || at - start >= k->passing.size)
		return true;
	if (*text != k->last) {
		k->last = *text;
		k->copy = ux_arena_strndup(k->arena, *text, strlen(*text));
	}
	*text = k->copy;
	return k->copy != NULL;
}

static bool text_copier_copy_pieces(struct text_copier *k, struct ux_piece *pieces, uint32_t n)
{
	bool ok = true;
	for (uint32_t i = 0; i < n; i++)
		ok &= text_copier_copy(k, &pieces[i].name);
	return ok;
}

static enum ux_code collect_copy_texts(struct ux_bytes passing, struct ux_unit_pieces *unit,
				       struct ux_arena *arena, struct ux_error *err)
{
	struct text_copier k = {.passing = passing, .arena = arena};
	bool ok = text_copier_copy_pieces(&k, unit->functions, unit->n_functions) &&
		  text_copier_copy_pieces(&k, unit->lines, unit->n_lines);
	for (uint32_t i = 0; i < unit->n_names; i++)
		ok &= text_copier_copy(&k, &unit->names[i]);
	for (uint32_t i = 0; i < unit->n_files; i++) {
		ok &= text_copier_copy(&k, &unit->files[i].dir);
		ok &= text_copier_copy(&k, &unit->files[i].base);
	}
	return ok ? UX_OK : ux_arena_fail(arena, err);
}

/* --- one batch -------------------------------------------------------------------------------- */

static struct ux_code_request collect_request(struct collector *c, struct collect_worker *w,
					      uint32_t number, bool first)
{
	w->unit = number;
	return (struct ux_code_request){
		.unit = number,
		.worker = (unsigned)(w - c->workers),
		.first = first,
		.no_rows = ux_order_budget_refuses(&c->rows, w->position),
		.arena = w->cutter.arena,
		.damage = &c->results[number].damage,
		.skip = collect_skip,
		.skip_ctx = w,
	};
}

static enum ux_code collect_unit(struct collector *c, struct collect_worker *w, uint32_t number,
				 bool first, struct ux_error *err)
{
	const struct ux_code_reader *reader = c->reader;
	struct ux_unit_pieces *result = &c->results[number];
	struct ux_code_request request = collect_request(c, w, number, first);
	struct ux_code_unit unit = {0};
	bool open = false;
	uint64_t cost = 0;
	UX_TRY(reader->open(reader->ctx, &request, &open, &cost, err));
	if (!open || !ux_order_budget_charge(&c->rows, cost))
		return UX_OK; /* the unit has nothing, or the wave will be read again */
	UX_TRY(reader->read(reader->ctx, &request, &unit, err));
	UX_TRY(ux_unit_cut(&w->cutter, number, &unit, result, err));
	return reader->passing.size > 0
		       ? collect_copy_texts(reader->passing, result, w->cutter.arena, err)
		       : UX_OK;
}

static enum ux_code collect_batch(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	struct collector *c = ctx;
	struct collect_worker *w = &c->workers[worker];
	const struct batch *b = &c->batches[job];
	ux_unit_cutter_begin(&w->cutter, b->first == 0);
	w->position = (uint64_t)job << 32;
	for (uint32_t i = 0; i < b->count; i++, w->position++)
		UX_TRY(collect_unit(c, w, b->first + i, i == 0, err));
	return UX_OK;
}

/* --- waves ------------------------------------------------------------------------------------ */

/* Reads the units of the wave in order, until the budget for rows is used up. */
static enum ux_code collect_replay(struct collector *c, struct ux_error *err)
{
	struct collect_worker *w = &c->workers[0];
	struct ux_code_damage ignored = {0};
	ux_order_budget_replay(&c->rows);
	for (size_t job = 0; job < c->n_batches; job++) {
		const struct batch *b = &c->batches[job];
		w->position = (uint64_t)job << 32;
		for (uint32_t i = 0; i < b->count; i++, w->position++) {
			struct ux_code_request request =
				collect_request(c, w, b->first + i, i == 0);
			bool open = false;
			uint64_t cost = 0;
			request.damage = &ignored;
			UX_TRY(c->reader->open(c->reader->ctx, &request, &open, &cost, err));
			if (open && !ux_order_budget_replay_charge(&c->rows, w->position, cost))
				return UX_OK;
		}
	}
	return UX_OK;
}

/* Called after a wave was read. Reads it again when its rows exceeded the budget. */
static enum ux_code collect_end_wave(struct collector *c, struct ux_error *err)
{
	if (ux_order_budget_exceeded(&c->rows)) {
		UX_TRY(collect_replay(c, err));
		ux_claims_forget(&c->claims, c->claims.wave_of[c->batches[0].first]);
		for (size_t i = 0; i < c->n_batches; i++)
			memset(c->results + c->batches[i].first, 0,
			       c->batches[i].count * sizeof(*c->results));
		UX_TRY(ux_pool_run(c->threads, c->n_batches, collect_batch, c, err));
	}
	ux_order_budget_next(&c->rows);
	return UX_OK;
}

static int batch_compare(const void *a, const void *b)
{
	const struct batch *x = a, *y = b;
	if (x->wave != y->wave)
		return x->wave < y->wave ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

/* Combines consecutive units into jobs. */
static bool make_batches(const struct collector *c, struct batch_vec *batches)
{
	const struct ux_code_reader *reader = c->reader;
	struct batch open = {0};
	for (uint32_t i = 0; i < c->n_units; i++) {
		if (open.count == 0)
			open.first = c->first + i;
		open.count++;
		open.bytes += reader->weigh(reader->ctx, c->first + i);
		if ((open.bytes < BATCH_BYTES || reader->ordered) && i + 1 < c->n_units)
			continue;
		if (!batch_vec_append(batches, open))
			return false;
		open = (struct batch){0};
	}
	return true;
}

uint64_t ux_collect_wave_bytes(uint64_t total)
{
	return ux_max(total / UX_WAVES_MOST + 1, (uint64_t)WAVE_LEAST);
}

static void sort_batches(const struct batch_vec *batches)
{
	if (batches->size > 1)
		qsort(batches->data, batches->size, sizeof(*batches->data), batch_compare);
}

/*
 * Divides the jobs into waves of equal work. This depends only on the units. A job as large as a
 * wave is put into the first wave, and within a wave the largest job is first, so that no thread is
 * left with it at the end.
 */
static void make_waves(const struct batch_vec *batches, uint8_t *wave_of)
{
	uint64_t total = 0, before = 0;
	for (size_t i = 0; i < batches->size; i++)
		total += batches->data[i].bytes;
	uint64_t each = ux_collect_wave_bytes(total);
	for (size_t i = 0; i < batches->size; i++) {
		struct batch *b = &batches->data[i];
		b->wave = b->bytes >= each ? 0 : (uint8_t)(before / each);
		before += b->bytes;
		memset(wave_of + b->first, b->wave, b->count);
	}
}

/* Reads the units when all of them are available. */
static enum ux_code collect_waves(struct collector *c, struct ux_error *err)
{
	ux_cleanup(batch_vec_deinit) struct batch_vec batches = {0};
	if (!make_batches(c, &batches) || !ux_claims_grow(&c->claims, c->n_units))
		return ux_error_nomem(err);
	if (c->reader->duplicates)
		make_waves(&batches, c->claims.wave_of);
	sort_batches(&batches);
	for (size_t first = 0, end; first < batches.size; first = end) {
		for (end = first; end < batches.size; end++)
			if (batches.data[end].wave != batches.data[first].wave)
				break;
		c->batches = batches.data + first;
		c->n_batches = end - first;
		UX_TRY(ux_pool_run(c->threads, c->n_batches, collect_batch, c, err));
		UX_TRY(collect_end_wave(c, err));
	}
	return UX_OK;
}

/*
 * Reads a batch, or provides the next wave's units. The latter is the first job when other threads
 * can read meanwhile. It is the last job when there is only this thread, because the data that was
 * inflated last is in the CPU's cache.
 */
static enum ux_code collect_batch_or_next(void *ctx, size_t job, unsigned worker,
					  struct ux_error *err)
{
	struct collector *c = ctx;
	size_t feeder = c->threads > 1 ? 0 : c->n_batches;
	if (job == feeder)
		return c->reader->next(c->reader->ctx, err);
	return collect_batch(c, job > feeder ? job - 1 : job, worker, err);
}

/* Makes room for the results of the available units, at their numbers. */
static enum ux_code grow_results(struct collector *c, struct ux_collection *out,
				 struct ux_error *err)
{
	size_t n = (size_t)c->first + c->n_units;
	struct ux_unit_pieces *grown = realloc(out->units, (n + 1) * sizeof(*grown));
	if (!grown)
		return ux_error_nomem(err);
	memset(grown + c->first, 0, ((size_t)c->n_units + 1) * sizeof(*grown));
	out->units = c->results = grown;
	out->n_units = n;
	return UX_OK;
}

/* Reads the units when they become available in waves. */
static enum ux_code collect_stream(struct collector *c, struct ux_collection *out,
				   struct ux_error *err)
{
	const struct ux_code_reader *reader = c->reader;
	UX_TRY(reader->next(reader->ctx, err));
	for (unsigned wave = 0; (c->n_units = reader->take(reader->ctx)) > 0; wave++) {
		ux_cleanup(batch_vec_deinit) struct batch_vec batches = {0};
		c->first = (uint32_t)out->n_units;
		if (!make_batches(c, &batches) ||
		    !ux_claims_grow(&c->claims, (size_t)c->first + c->n_units))
			return ux_error_nomem(err);
		memset(c->claims.wave_of + c->first, (int)wave, c->n_units);
		UX_TRY(grow_results(c, out, err));
		sort_batches(&batches);
		c->batches = batches.data;
		c->n_batches = batches.size;
		UX_TRY(ux_pool_run(c->threads, batches.size + 1, collect_batch_or_next, c, err));
		UX_TRY(collect_end_wave(c, err));
	}
	return UX_OK;
}

static void collector_deinit(struct collector *c)
{
	for (unsigned i = 0; c->workers && i < c->threads; i++)
		ux_unit_cutter_deinit(&c->workers[i].cutter);
	free(c->workers);
	ux_claims_deinit(&c->claims);
}

/* Makes the state of each thread. It is always released in the end. */
static enum ux_code make_workers(struct collector *c, struct ux_collection *out,
				 struct ux_error *err)
{
	out->arenas = calloc(c->threads, sizeof(*out->arenas));
	c->workers = calloc(c->threads, sizeof(*c->workers));
	if (!out->arenas || !c->workers)
		return ux_error_nomem(err);
	out->n_arenas = c->threads;
	for (unsigned i = 0; i < c->threads; i++) {
		struct collect_worker *w = &c->workers[i];
		ux_arena_init(&out->arenas[i], ARENA_BUDGET);
		out->arenas[i].spill = c->options->spill;
		w->collector = c;
		w->cutter.arena = &out->arenas[i];
		w->cutter.symbols = c->options->symbols;
		w->cutter.claims = c->reader->duplicates ? &c->claims : NULL;
	}
	return UX_OK;
}

enum ux_code ux_collect_units(const struct ux_code_reader *reader,
			      const struct ux_collect_options *options, struct ux_collection *ret,
			      struct ux_error *err)
{
	ux_cleanup(ux_collection_free) struct ux_collection out = {0};
	ux_cleanup(collector_deinit) struct collector c = {
		.reader = reader,
		.options = options,
		.n_units = reader->n_units,
		.threads = ux_max(1u, ux_min(options->threads, reader->workers)),
	};
	if (!ux_claims_init(&c.claims, options->symbols))
		return ux_error_nomem(err);
	ux_order_budget_init(&c.rows, reader->rows_most);
	UX_TRY(make_workers(&c, &out, err));
	if (reader->next) {
		UX_TRY(collect_stream(&c, &out, err));
	} else {
		UX_TRY(grow_results(&c, &out, err));
		UX_TRY(collect_waves(&c, err));
	}
	*ret = out;
	out = (struct ux_collection){0};
	return UX_OK;
}

void ux_collection_free(struct ux_collection *collection)
{
	for (unsigned i = 0; i < collection->n_arenas; i++)
		ux_arena_deinit(&collection->arenas[i]);
	free(collection->arenas);
	free(collection->units);
	*collection = (struct ux_collection){0};
}
