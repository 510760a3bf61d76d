/* SPDX-License-Identifier: Apache-2.0 */
/* The first phase of an extraction. */
#include "collect.h"

#include "info_feed.h"
#include "line_budget.h"
#include "pool.h"
#include "split_files.h"
#include "unit_cutter.h"
#include "wanted.h"

enum {
	BATCH_BYTES = 1u << 18, /* of .debug_info in one job: small units are not worth one each */
	WAVE_LEAST = 1u << 21,  /* of .debug_info in a wave: enough to keep many threads busy */
	SPLIT_BYTES = 1u << 16, /* what a split unit is taken for before it is opened */
};

/* Pieces of hostile input are bounded by its size; this bounds what a thread may hold of them. */
#define ARENA_BUDGET (UINT64_C(1) << 36)

/* Neighbouring units that one thread reads in one go. */
struct batch {
	uint32_t first;
	uint32_t count;
	uint64_t bytes;
	uint8_t wave; /* see claims.h */
};

UX_VEC(batch_vec, struct batch);

/* One thread's tools. */
struct worker {
	struct ux_unit_cutter cutter;
	struct ux_dwarf_names names;
	struct ux_split_unit split;
	struct ux_dwarf_abbrev_buffers room;
	struct ux_range_vec cover;
	const struct ux_claims *claims;
	const struct ux_wanted *wanted;
	uint32_t unit;  /* the one that is being read */
	uint64_t place; /* its place in the order that line tables are paid for */
	struct ux_dwarf_lines_source paid; /* the table paid for last, in this batch */
};

struct collector {
	const struct ux_collect_input *in;
	const struct ux_dwarf_units *units; /* those that are there: all, or a wave's */
	uint32_t first;                     /* number of the first of them */
	struct ux_info_feed *feed;          /* NULL: all are there */
	const struct batch *batches;
	size_t n_batches;
	struct worker *workers; /* one a thread */
	unsigned threads;       /* not more than can have work */
	struct ux_claims claims;
	struct ux_line_budget lines;
	struct ux_unit_pieces *results;
	bool *twins; /* units whose split unit enough others have read; NULL: no search */
};

static bool is_told(void *ctx, const struct ux_range *range)
{
	const struct worker *w = ctx;
	if (w->wanted && !ux_wanted_meets(w->wanted, range->lo, range->hi))
		return true;
	return ux_claims_told(w->claims, w->unit, range->lo, range->hi - range->lo);
}

static void note_bad(struct ux_unit_pieces *unit, const struct ux_error *reason)
{
	if (unit->bad++ == 0)
		unit->reason = *reason;
}

static bool holds_code(const struct ux_dwarf_unit *unit)
{
	return unit->type != DW_UT_type && unit->type != DW_UT_split_type;
}

/* Damage is noted and costs only what it hits; the one failure is memory. */
static enum ux_code tolerate(enum ux_code code, struct ux_unit_pieces *unit,
			     struct ux_error *reason, struct ux_error *err)
{
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK)
		note_bad(unit, reason);
	*reason = (struct ux_error)UX_ERROR_INIT;
	return UX_OK;
}

/* The unit's functions: a skeleton's are its split unit's, when that can be had. *ret_names is who
 * named them. */
static enum ux_code read_code(struct collector *c, struct worker *w,
			      const struct ux_dwarf_context *ctx, struct ux_unit_pieces *result,
			      struct ux_dwarf_names **ret_names, struct ux_error *err)
{
	struct ux_error reason = UX_ERROR_INIT;
	struct ux_dwarf_context split;
	enum ux_split_outcome outcome = UX_SPLIT_NONE;
	*ret_names = &w->names;
	bool skeleton = c->in->split && ux_dwarf_is_skeleton(ctx);
	if (skeleton && c->twins[w->unit]) {
		outcome = UX_SPLIT_DAMAGED;
		(void)ux_error_at(&reason, UX_ELIMIT, ".debug_info", ctx->unit->off,
				  "over %d units have its split unit's ID",
				  (int)UX_SPLIT_DUPLICATES_MOST);
	} else if (skeleton) {
		UX_TRY(ux_split_unit_open(&w->split, c->in->split, ctx, &split, &outcome, &reason,
					  err));
	}
	result->split = (uint8_t)outcome;
	if (outcome == UX_SPLIT_DAMAGED)
		note_bad(result, &reason);
	reason = (struct ux_error)UX_ERROR_INIT;
	if (outcome == UX_SPLIT_READ) {
		*ret_names = &w->split.names;
		w->split.names.texts = w->cutter.arena; /* they outlive the unit's file */
		ctx = &split;
	}
	enum ux_code code =
		ux_dwarf_code_read(ctx, c->in->text, *ret_names, &w->cutter.code, &reason);
	UX_TRY(tolerate(code, result, &reason, err));
	return outcome == UX_SPLIT_READ ? ux_split_unit_copy_names(&w->split, w->cutter.arena, err)
					: UX_OK;
}

/* The unit's rows; none when others have had too many tables read. */
static enum ux_code read_lines(const struct collector *c, struct worker *w,
			       const struct ux_dwarf_context *ctx, struct ux_unit_pieces *result,
			       struct ux_error *err)
{
	struct ux_error reason = UX_ERROR_INIT;
	if (ctx->has_lines && ux_line_budget_refuses(&c->lines, w->place, &reason)) {
		ux_dwarf_lines_clear(&w->cutter.lines);
		return tolerate(UX_ELIMIT, result, &reason, err);
	}
	enum ux_code code = ux_dwarf_lines_parse(ctx, c->in->text, &w->cutter.lines, &reason);
	return tolerate(code, result, &reason, err);
}

static enum ux_code read_unit(struct collector *c, struct worker *w, uint32_t number,
			      struct ux_error *err)
{
	const struct ux_dwarf_unit *unit = &c->units->list[number - c->first];
	struct ux_unit_pieces *result = &c->results[number];
	struct ux_error reason = UX_ERROR_INIT;
	struct ux_dwarf_context ctx;
	w->unit = number;
	if (!holds_code(unit))
		return UX_OK;
	enum ux_code code = ux_dwarf_context_open(c->in->sections, unit, &w->room, &ctx, &reason);
	if (code != UX_OK)
		return tolerate(code, result, &reason, err);
	if (w->wanted && !ux_wanted_unit(w->wanted, &ctx, &w->cover))
		return UX_OK;
	if (!ux_line_budget_spend(&c->lines, ux_dwarf_lines_cost(&ctx, c->in->text, &w->paid)))
		return UX_OK; /* the wave will be read again */
	struct ux_dwarf_names *names = NULL;
	UX_TRY(read_code(c, w, &ctx, result, &names, err));
	UX_TRY(read_lines(c, w, &ctx, result, err));
	if (w->cutter.code.bad_ranges > 0) {
		(void)ux_error_at(&reason, UX_ECORRUPT, ".debug_info", unit->off,
				  "%" PRIu64 " range lists of the unit are damaged",
				  w->cutter.code.bad_ranges);
		note_bad(result, &reason);
		reason = (struct ux_error)UX_ERROR_INIT;
	}
	UX_TRY(ux_unit_cut(&w->cutter, number, names, result, err));
	if (c->feed)
		UX_TRY(ux_info_feed_copy_texts(c->feed, result, w->cutter.arena, err));
	if (w->cutter.starved) {
		(void)ux_error_at(
			&reason, UX_ELIMIT, ".debug_info", unit->off,
			"functions of the unit overlap too often, or its paths are too long; "
			"some is left out");
		note_bad(result, &reason);
	}
	return UX_OK;
}

/* A batch's units pay for their line tables in order: it begins with none. */
static void begin_paying(struct worker *w, size_t job)
{
	w->place = (uint64_t)job << 32;
	w->paid = (struct ux_dwarf_lines_source){0};
}

static enum ux_code read_batch(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	struct collector *c = ctx;
	struct worker *w = &c->workers[worker];
	const struct batch *b = &c->batches[job];
	ux_unit_cutter_begin(&w->cutter, b->first == 0);
	begin_paying(w, job);
	for (uint32_t i = 0; i < b->count; i++, w->place++)
		UX_TRY(read_unit(c, w, b->first + i, err));
	return UX_OK;
}

/* Goes through the wave in order, until units are refused their line tables. */
static enum ux_code settle_lines(struct collector *c, struct ux_error *err)
{
	struct worker *w = &c->workers[0];
	ux_line_budget_again(&c->lines);
	for (size_t job = 0; job < c->n_batches; job++) {
		const struct batch *b = &c->batches[job];
		begin_paying(w, job);
		for (uint32_t i = 0; i < b->count; i++, w->place++) {
			struct ux_dwarf_context ctx;
			const struct ux_dwarf_unit *unit = &c->units->list[b->first + i - c->first];
			if (!holds_code(unit))
				continue;
			enum ux_code code =
				ux_dwarf_context_open(c->in->sections, unit, &w->room, &ctx, NULL);
			if (code == UX_ENOMEM)
				return ux_error_nomem(err);
			bool read = code == UX_OK &&
				    (!w->wanted || ux_wanted_unit(w->wanted, &ctx, &w->cover));
			if (read && !ux_line_budget_settle(
					    &c->lines, w->place,
					    ux_dwarf_lines_cost(&ctx, c->in->text, &w->paid)))
				return UX_OK;
		}
	}
	return UX_OK;
}

/* Behind the reading of a wave: reads it again when its line tables come to too much. */
static enum ux_code end_wave(struct collector *c, struct ux_error *err)
{
	if (ux_line_budget_over(&c->lines)) {
		UX_TRY(settle_lines(c, err));
		ux_claims_forget(&c->claims, c->claims.wave_of[c->batches[0].first]);
		for (size_t i = 0; i < c->n_batches; i++)
			memset(c->results + c->batches[i].first, 0,
			       c->batches[i].count * sizeof(*c->results));
		UX_TRY(ux_pool_run(c->threads, c->n_batches, read_batch, c, err));
	}
	ux_line_budget_next(&c->lines);
	return UX_OK;
}

static int by_bytes(const void *a, const void *b)
{
	const struct batch *x = a, *y = b;
	if (x->wave != y->wave)
		return x->wave < y->wave ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes > y->bytes ? -1 : 1;
	return (x->first > y->first) - (x->first < y->first);
}

/* How much work a unit is likely to be. */
static uint64_t weigh(const struct ux_dwarf_unit *unit, bool split)
{
	uint64_t bytes = unit->end - unit->off;
	return bytes + (split && bytes <= UX_SKELETON_MOST ? SPLIT_BYTES : 0);
}

/* Neighbours into jobs; units->list[0] has the number `first`. */
static bool make_batches(const struct ux_dwarf_units *units, uint32_t first, bool split,
			 struct batch_vec *batches)
{
	struct batch open = {0};
	for (size_t i = 0; i < units->count; i++) {
		if (open.count == 0)
			open.first = first + (uint32_t)i;
		open.count++;
		open.bytes += weigh(&units->list[i], split);
		if (open.bytes < BATCH_BYTES && i + 1 < units->count)
			continue;
		if (!batch_vec_append(batches, open))
			return false;
		open = (struct batch){0};
	}
	return true;
}

/* What is in one wave: a part of the whole, but not less than keeps many threads busy. */
static uint64_t wave_bytes(uint64_t total)
{
	return ux_max(total / UX_WAVES_MOST + 1, (uint64_t)WAVE_LEAST);
}

static void sort_batches(const struct batch_vec *batches)
{
	if (batches->size > 1)
		qsort(batches->data, batches->size, sizeof(*batches->data), by_bytes);
}

/*
 * Cuts the jobs into waves of equal work, by nothing but the units. A job as large as a wave goes
 * into the first one, and within a wave the largest is first, so that no thread is left with it at
 * the end.
 */
static void make_waves(const struct batch_vec *batches, uint8_t *wave_of)
{
	uint64_t total = 0, before = 0;
	for (size_t i = 0; i < batches->size; i++)
		total += batches->data[i].bytes;
	uint64_t each = wave_bytes(total);
	for (size_t i = 0; i < batches->size; i++) {
		struct batch *b = &batches->data[i];
		b->wave = b->bytes >= each ? 0 : (uint8_t)(before / each);
		before += b->bytes;
		memset(wave_of + b->first, b->wave, b->count);
	}
	sort_batches(batches);
}

static void free_workers(struct worker *workers, unsigned n)
{
	for (unsigned i = 0; workers && i < n; i++) {
		ux_unit_cutter_deinit(&workers[i].cutter);
		ux_dwarf_names_deinit(&workers[i].names);
		ux_split_unit_close(&workers[i].split);
		ux_dwarf_abbrev_buffers_deinit(&workers[i].room);
		ux_range_vec_deinit(&workers[i].cover);
	}
	free(workers);
}

/* All units are there. */
static enum ux_code run_waves(struct collector *c, struct ux_error *err)
{
	ux_cleanup(batch_vec_deinit) struct batch_vec batches = {0};
	if (!make_batches(c->units, 0, c->in->split != NULL, &batches) ||
	    !ux_claims_grow(&c->claims, c->units->count))
		return ux_error_nomem(err);
	make_waves(&batches, c->claims.wave_of);
	for (size_t first = 0, end; first < batches.size; first = end) {
		for (end = first; end < batches.size; end++)
			if (batches.data[end].wave != batches.data[first].wave)
				break;
		c->batches = batches.data + first;
		c->n_batches = end - first;
		UX_TRY(ux_pool_run(c->threads, c->n_batches, read_batch, c, err));
		UX_TRY(end_wave(c, err));
	}
	return UX_OK;
}

/*
 * Reads a batch, or makes the next wave's units be there: first of all when another thread reads
 * meanwhile, and last when this one is alone, for what was inflated last is in the cache.
 */
static enum ux_code read_or_feed(void *ctx, size_t job, unsigned worker, struct ux_error *err)
{
	struct collector *c = ctx;
	size_t feeder = c->threads > 1 ? 0 : c->n_batches;
	if (job == feeder)
		return ux_info_feed_next(c->feed, err);
	return read_batch(c, job > feeder ? job - 1 : job, worker, err);
}

/* Room for the results of the units that are there, at their numbers. */
static enum ux_code grow_results(struct collector *c, struct ux_collection *out,
				 struct ux_error *err)
{
	size_t n = c->first + c->units->count;
	struct ux_unit_pieces *grown = realloc(out->units, (n + 1) * sizeof(*grown));
	if (!grown)
		return ux_error_nomem(err);
	memset(grown + c->first, 0, (c->units->count + 1) * sizeof(*grown));
	out->units = c->results = grown;
	out->n_units = n;
	return UX_OK;
}

/* The units come as .debug_info is inflated, a wave at a time. */
static enum ux_code run_feed(struct collector *c, struct ux_collection *out, struct ux_error *err)
{
	UX_TRY(ux_info_feed_next(c->feed, err));
	for (unsigned wave = 0; ux_info_feed_advance(c->feed); wave++) {
		ux_cleanup(batch_vec_deinit) struct batch_vec batches = {0};
		c->first = (uint32_t)out->n_units;
		c->units = &c->feed->units;
		if (!make_batches(c->units, c->first, /* split= */ false, &batches) ||
		    !ux_claims_grow(&c->claims, c->first + c->units->count))
			return ux_error_nomem(err);
		memset(c->claims.wave_of + c->first, (int)wave, c->units->count);
		UX_TRY(grow_results(c, out, err));
		sort_batches(&batches);
		c->batches = batches.data;
		c->n_batches = batches.size;
		UX_TRY(ux_pool_run(c->threads, batches.size + 1, read_or_feed, c, err));
		UX_TRY(end_wave(c, err));
	}
	return UX_OK;
}

static void collector_deinit(struct collector *c)
{
	free_workers(c->workers, c->threads);
	ux_claims_deinit(&c->claims);
	free(c->twins);
}

/* One for each thread; they are released in the end whatever happens. */
static enum ux_code make_workers(struct collector *c, const struct ux_dwarf_units *units,
				 struct ux_collection *out, struct ux_error *err)
{
	unsigned threads = c->threads;
	out->arenas = calloc(threads, sizeof(*out->arenas));
	c->workers = calloc(threads, sizeof(*c->workers));
	if (!out->arenas || !c->workers)
		return ux_error_nomem(err);
	out->n_arenas = threads;
	for (unsigned i = 0; i < threads; i++) {
		struct worker *w = &c->workers[i];
		ux_arena_init(&out->arenas[i], ARENA_BUDGET);
		out->arenas[i].spill = c->in->spill;
		ux_dwarf_names_init(&w->names, c->in->sections, units);
		w->names.texts = &out->arenas[i];
		w->cutter.arena = &out->arenas[i];
		w->cutter.symbols = c->in->symbols;
		w->cutter.claims = &c->claims;
		w->claims = &c->claims;
		w->wanted = c->in->wanted;
		w->cutter.code.is_told = is_told;
		w->cutter.code.is_told_ctx = w;
	}
	return UX_OK;
}

/* Reads everything at once. */
static enum ux_code collect_whole(struct collector *c, const struct ux_dwarf_units *sup,
				  struct ux_collection *out, struct ux_error *err)
{
	ux_cleanup(ux_dwarf_units_free) struct ux_dwarf_units units = {0};
	UX_TRY(ux_dwarf_units_parse(c->in->sections, &units, err));
	units.sup = sup;
	c->units = &units;
	c->threads = (unsigned)ux_min((size_t)c->threads, ux_max(units.count, (size_t)1));
	out->bad_headers = units.bad;
	out->reason = units.reason;
	if (c->in->split)
		UX_TRY(ux_split_duplicates_find(c->in->sections, &units, &c->twins, err));
	UX_TRY(grow_results(c, out, err));
	UX_TRY(make_workers(c, &units, out, err));
	return run_waves(c, err);
}

/* Reads units that stand alone: of the others nothing is known. */
static enum ux_code collect_stream(struct collector *c, const struct ux_dwarf_units *sup,
				   struct ux_collection *out, struct ux_error *err)
{
	const struct ux_dwarf_units others = {.sup = sup};
	ux_cleanup(ux_info_feed_close) struct ux_info_feed feed = {0};
	uint64_t size = c->in->sections->data[UX_DWARF_INFO].size;
	ux_info_feed_open(&feed, c->in->stream, c->in->sections, wave_bytes(size));
	c->feed = &feed;
	UX_TRY(make_workers(c, &others, out, err));
	UX_TRY(run_feed(c, out, err));
	out->bad_headers = feed.headers.bad;
	out->reason = feed.headers.reason;
	return UX_OK;
}

enum ux_code ux_collect(const struct ux_collect_input *input, struct ux_collection *ret,
			struct ux_error *err)
{
	const struct ux_dwarf_sections *sections = input->sections;
	ux_cleanup(ux_dwarf_units_free) struct ux_dwarf_units sup = {0};
	ux_cleanup(ux_collection_free) struct ux_collection out = {0};
	ux_cleanup(collector_deinit) struct collector c = {.in = input, .threads = input->threads};
	if (sections->sup)
		UX_TRY(ux_dwarf_units_parse(sections->sup, &sup, err));
	const struct ux_dwarf_units *with = sections->sup ? &sup : NULL;
	if (!ux_claims_init(&c.claims, input->symbols))
		return ux_error_nomem(err);
	ux_line_budget_init(&c.lines, sections);
	UX_TRY(input->stream ? collect_stream(&c, with, &out, err)
			     : collect_whole(&c, with, &out, err));
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
