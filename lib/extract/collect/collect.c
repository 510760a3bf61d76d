/* SPDX-License-Identifier: Apache-2.0 */
/* The first phase of an extraction. */
#include "collect.h"

#include "pool.h"
#include "unit_cutter.h"
#include "wave_queue.h"

enum {
	BATCH_BYTES = 1u << 18, /* bytes of units in one job; a job for each small unit would cost
				   too much */
	WAVE_MIN = 1u << 21,    /* bytes in a wave, so that many threads are busy */
};

/* The pieces of hostile input are bounded by its size. This bounds a thread's allocations for
 * them. */
#define ARENA_BUDGET (UINT64_C(1) << 36)

struct collector;

/* The state of one thread. */
struct collect_worker {
	const struct collector *collector;
	struct ux_unit_cutter cutter;
	uint32_t claimants; /* units below this number are done, and their claims are respected */
	uint64_t position; /* position of the current unit in the order in which rows are charged */
};

/* The results of the units of a wave, from number `first` on. */
struct wave_result {
	uint32_t first, n;
	struct ux_unit_pieces *units; /* malloc'ed */
	uint64_t *costs;              /* cost of decoding the rows of each unit; malloc'ed */
};

struct collector {
	const struct ux_code_reader *reader;
	const struct ux_collect_options *options;
	struct collect_worker *workers; /* one for each thread */
	unsigned threads;
	struct ux_code_symbol_index symbols;
	struct ux_claims claims;
	struct ux_order_budget rows;
	struct ux_wave_queue queue;
	/* written before the wave is added to the queue, and then only by threads that read it */
	struct wave_result results[UX_WAVES_MAX];
	uint32_t n_waves; /* waves that have been added */
	uint32_t n_units; /* units of these waves */
};

static bool collect_skip(void *ctx, const struct ux_range *range)
{
	const struct collect_worker *w = ctx;
	const struct ux_collect_options *options = w->collector->options;
	if (options->skip && options->skip(options->skip_ctx, range))
		return true;
	return ux_claims_has(&w->collector->claims, w->claimants, range->lo, range->hi - range->lo);
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

static enum ux_code collect_unit(struct collector *c, struct collect_worker *w,
				 const struct ux_wave_batch *batch, uint32_t number,
				 struct ux_error *err)
{
	const struct ux_code_reader *reader = c->reader;
	const struct wave_result *wave = &c->results[batch->wave];
	assert(number - wave->first < wave->n);
	struct ux_unit_pieces *result = &wave->units[number - wave->first];
	uint64_t *cost = &wave->costs[number - wave->first];
	struct ux_code_request request = {
		.unit = number,
		.wave = batch->wave,
		.worker = (unsigned)(w - c->workers),
		.first = number == batch->first,
		.no_rows = ux_order_budget_refuses(&c->rows, w->position),
		.arena = w->cutter.arena,
		.damage = &result->damage,
		.skip = collect_skip,
		.skip_ctx = w,
	};
	struct ux_code_unit unit = {0};
	bool open = false;
	UX_TRY(reader->open(reader->ctx, &request, &open, cost, err));
	if (!open || !ux_order_budget_charge(&c->rows, *cost))
		return UX_OK; /* the unit is empty, or all units will be read again */
	UX_TRY(reader->read(reader->ctx, &request, &unit, err));
	UX_TRY(ux_unit_cut(&w->cutter, number, &unit, result, err));
	return reader->passing.size > 0
		       ? collect_copy_texts(reader->passing, result, w->cutter.arena, err)
		       : UX_OK;
}

static enum ux_code collect_batch(struct collector *c, struct collect_worker *w,
				  const struct ux_wave_job *job, struct ux_error *err)
{
	const struct ux_wave_batch *b = &job->batch;
	ux_unit_cutter_begin(&w->cutter, b->first == 0);
	w->claimants = job->claimants;
	w->position = job->position;
	for (uint32_t i = 0; i < b->count; i++, w->position++)
		UX_TRY(collect_unit(c, w, b, b->first + i, err));
	return UX_OK;
}

/* --- waves ------------------------------------------------------------------------------------ */

uint64_t ux_collect_wave_bytes(uint64_t total)
{
	return ux_max(total / UX_WAVES_MAX + 1, (uint64_t)WAVE_MIN);
}

/* Combines the next n consecutive units, which came with a wave, into jobs. */
static bool make_batches(const struct collector *c, uint32_t n, struct ux_wave_batch_vec *batches)
{
	const struct ux_code_reader *reader = c->reader;
	struct ux_wave_batch open = {0};
	for (uint32_t i = 0; i < n; i++) {
		if (open.count == 0)
			open.first = c->n_units + i;
		open.count++;
		open.bytes += reader->weigh(reader->ctx, c->n_waves, c->n_units + i);
		if ((open.bytes < BATCH_BYTES || reader->ordered) && i + 1 < n)
			continue;
		if (!ux_wave_batch_vec_append(batches, open))
			return false;
		open = (struct ux_wave_batch){0};
	}
	return true;
}

/* Adds a wave with room for its results. */
static enum ux_code collector_add_wave(struct collector *c, struct ux_wave_batch *batches, size_t n,
				       struct ux_error *err)
{
	uint32_t n_units = 0;
	for (size_t i = 0; i < n; i++)
		n_units += batches[i].count;
	if (n == 0)
		return UX_OK;
	if (c->n_waves == UX_WAVES_MAX)
		return ux_error_set(err, UX_ELIMIT, "units come in more than %d waves",
				    (int)UX_WAVES_MAX);
	struct wave_result *wave = &c->results[c->n_waves];
	*wave = (struct wave_result){
		.first = c->n_units,
		.n = n_units,
		.units = calloc(n_units, sizeof(*wave->units)),
		.costs = calloc(n_units, sizeof(*wave->costs)),
	};
	c->n_waves++;
	c->n_units += n_units;
	if (!wave->units || !wave->costs)
		return ux_error_nomem(err);
	return ux_wave_queue_add(&c->queue, batches, n, err);
}

/*
 * Divides all units into waves of equal work. This depends only on the units. A job as large as a
 * wave starts before all others, so that no thread is left with it at the end.
 */
static enum ux_code collector_add_all(struct collector *c, struct ux_error *err)
{
	ux_cleanup(ux_wave_batch_vec_deinit) struct ux_wave_batch_vec batches = {0};
	uint64_t total = 0, before = 0, each = UINT64_MAX;
	if (!make_batches(c, c->reader->n_units, &batches))
		return ux_error_nomem(err);
	for (size_t i = 0; i < batches.size; i++)
		total += batches.data[i].bytes;
	if (c->reader->duplicates)
		each = ux_collect_wave_bytes(total);
	for (size_t first = 0, end = 0; first < batches.size; first = end) {
		uint64_t wave = before / each;
		for (; end < batches.size && before / each == wave; end++) {
			batches.data[end].early = batches.data[end].bytes >= each;
			before += batches.data[end].bytes;
		}
		UX_TRY(collector_add_wave(c, batches.data + first, end - first, err));
	}
	ux_wave_queue_order(&c->queue);
	ux_wave_queue_complete(&c->queue);
	return UX_OK;
}

/* Gets the next wave of the reader. */
static enum ux_code collector_feed(struct collector *c, uint32_t n_read, struct ux_error *err)
{
	ux_cleanup(ux_wave_batch_vec_deinit) struct ux_wave_batch_vec batches = {0};
	uint32_t n = 0;
	UX_TRY(c->reader->next(c->reader->ctx, n_read, &n, err));
	if (n == 0)
		ux_wave_queue_complete(&c->queue);
	if (!make_batches(c, n, &batches))
		return ux_error_nomem(err);
	return collector_add_wave(c, batches.data, batches.size, err);
}

/* Runs jobs on one thread until no more are left. */
static enum ux_code collect_work(void *ctx, size_t number, unsigned worker, struct ux_error *err)
{
	struct collector *c = ctx;
	struct ux_wave_job job;
	(void)number;
	(void)err; /* the queue has the error */
	for (;;) {
		struct ux_error why = UX_ERROR_INIT;
		ux_wave_queue_take(&c->queue, &job);
		if (job.kind == UX_WAVE_JOB_NONE)
			return UX_OK;
		enum ux_code code = job.kind == UX_WAVE_JOB_FEED
					    ? collector_feed(c, job.n_read, &why)
					    : collect_batch(c, &c->workers[worker], &job, &why);
		ux_wave_queue_done(&c->queue, &job, code, &why);
	}
}

/* Reads all units once. */
static enum ux_code collector_run(struct collector *c, struct ux_error *err)
{
	if (!c->reader->next)
		UX_TRY(collector_add_all(c, err));
	UX_TRY(ux_pool_run(c->threads, c->threads, collect_work, c, err));
	return ux_wave_queue_status(&c->queue, err);
}

/* Finds the first unit with rows that exceed the budget, in the order of reading. */
static void collector_replay(struct collector *c)
{
	const struct ux_wave_batch_vec *batches = &c->queue.batches;
	ux_order_budget_replay(&c->rows);
	for (size_t k = 0; k < batches->size; k++) {
		const struct ux_wave_batch *b = &batches->data[k];
		const struct wave_result *wave = &c->results[b->wave];
		for (uint32_t i = 0; i < b->count; i++)
			if (!ux_order_budget_replay_charge(&c->rows, ((uint64_t)k << 32) + i,
							   wave->costs[b->first - wave->first + i]))
				return;
	}
}

/* Drops all results. */
static void collector_clear(struct collector *c)
{
	for (uint32_t i = 0; i < c->n_waves; i++) {
		free(c->results[i].units);
		free(c->results[i].costs);
	}
	c->n_waves = c->n_units = 0;
	ux_wave_queue_clear(&c->queue);
	ux_claims_clear(&c->claims);
}

/*
 * Reads all units. When their rows exceed the budget, which happens only for hostile units, they
 * are read again, without the rows of the first unit over the budget and of all later ones.
 */
static enum ux_code collector_read(struct collector *c, struct ux_error *err)
{
	UX_TRY(collector_run(c, err));
	if (!ux_order_budget_exceeded(&c->rows))
		return UX_OK;
	collector_replay(c);
	collector_clear(c);
	for (unsigned i = 0; i < c->threads; i++)
		ux_arena_rewind(c->workers[i].cutter.arena, (struct ux_arena_mark){0});
	if (c->reader->rewind)
		c->reader->rewind(c->reader->ctx);
	return collector_run(c, err);
}

/* Joins the results of all waves. */
static enum ux_code collector_join(const struct collector *c, struct ux_collection *out,
				   struct ux_error *err)
{
	out->units = calloc((size_t)c->n_units + 1, sizeof(*out->units));
	if (!out->units)
		return ux_error_nomem(err);
	for (uint32_t i = 0; i < c->n_waves; i++) {
		const struct wave_result *wave = &c->results[i];
		memcpy(out->units + wave->first, wave->units, wave->n * sizeof(*wave->units));
	}
	out->n_units = c->n_units;
	return UX_OK;
}

static void collector_deinit(struct collector *c)
{
	for (unsigned i = 0; c->workers && i < c->threads; i++)
		ux_unit_cutter_deinit(&c->workers[i].cutter);
	free(c->workers);
	collector_clear(c);
	ux_claims_deinit(&c->claims);
	ux_code_symbol_index_deinit(&c->symbols);
	ux_wave_queue_deinit(&c->queue);
}

/* Makes the state of each thread. It must be released also after a failure. */
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
		w->cutter.symbols = &c->symbols;
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
		.threads = ux_max(1u, ux_min(options->threads, reader->workers)),
	};
	ux_wave_queue_init(&c.queue, c.threads);
	if (!ux_code_symbol_index_init(&c.symbols, options->symbols) ||
	    !ux_claims_init(&c.claims, &c.symbols))
		return ux_error_nomem(err);
	ux_order_budget_init(&c.rows, reader->rows_max);
	UX_TRY(make_workers(&c, &out, err));
	UX_TRY(collector_read(&c, err));
	UX_TRY(collector_join(&c, &out, err));
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
