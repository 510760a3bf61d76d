/* SPDX-License-Identifier: Apache-2.0 */
/* Reads DWARF units as units of code. */
#include "dwarf_units.h"

#include "code_reader.h"
#include "dwarf_code.h"
#include "dwarf_ranges.h"
#include "dwo_files.h"

enum {
	SPLIT_BYTES = 1u << 16, /* assumed size of a split unit before it is opened */
	TIMES_MAX = 16,         /* how often each line table may be decoded, on average */
};

/* The state of one thread. */
struct dwarf_worker {
	struct ux_dwarf_context ctx; /* context of the open unit */
	struct ux_dwarf_code code;
	struct ux_dwarf_lines lines;
	struct ux_dwarf_names names;
	struct ux_split_unit split;
	struct ux_dwarf_abbrev_buffers room;
	struct ux_range_vec cover;
	struct ux_dwarf_lines_source paid; /* the line table of this batch that was charged last */
};

struct dwarf_reader {
	const struct ux_dwarf_units_input *in;
	struct ux_info_feed feed; /* used for a stream */
	struct ux_dwarf_units whole, sup;
	struct dwarf_worker *workers;
	unsigned n_workers;
	bool *repeated; /* units whose split unit was already read for the allowed number of
			   skeletons; NULL: split units are not searched for */
};

static void dwarf_reader_deinit(struct dwarf_reader *r)
{
	for (unsigned i = 0; r->workers && i < r->n_workers; i++) {
		struct dwarf_worker *w = &r->workers[i];
		ux_dwarf_code_deinit(&w->code);
		ux_dwarf_lines_deinit(&w->lines);
		ux_dwarf_names_deinit(&w->names);
		ux_split_unit_close(&w->split);
		ux_dwarf_abbrev_buffers_deinit(&w->room);
		ux_range_vec_deinit(&w->cover);
	}
	free(r->workers);
	free(r->repeated);
	ux_info_feed_close(&r->feed);
	ux_dwarf_units_free(&r->whole);
	ux_dwarf_units_free(&r->sup);
}

static const struct ux_dwarf_unit *dwarf_reader_unit(const struct dwarf_reader *r, uint32_t wave,
						     uint32_t number)
{
	const struct ux_info_wave *from = &r->feed.waves[wave];
	return r->in->stream ? &from->units.list[number - from->first] : &r->whole.list[number];
}

/* Returns true when the filter has some of the unit's addresses, or when the unit's entry does not
 * list its addresses. */
static bool dwarf_unit_selected(const struct ux_address_filter *filter, struct dwarf_worker *w)
{
	if (!filter || !ux_dwarf_unit_ranges(&w->ctx, &w->cover))
		return true;
	for (size_t i = 0; i < w->cover.size; i++)
		if (ux_address_filter_overlaps(filter, w->cover.data[i].lo, w->cover.data[i].hi))
			return true;
	return false;
}

static enum ux_code dwarf_reader_open(void *ctx, const struct ux_code_request *request,
				      bool *ret_open, uint64_t *ret_cost, struct ux_error *err)
{
	struct dwarf_reader *r = ctx;
	struct dwarf_worker *w = &r->workers[request->worker];
	const struct ux_dwarf_unit *unit = dwarf_reader_unit(r, request->wave, request->unit);
	struct ux_error reason = UX_ERROR_INIT;
	if (r->in->progress) /* relaxed: it is only displayed */
		atomic_fetch_add_explicit(&r->in->progress->done, unit->end - unit->off,
					  memory_order_relaxed);
	if (request->first)
		w->paid = (struct ux_dwarf_lines_source){0};
	if (unit->type == DW_UT_type || unit->type == DW_UT_split_type)
		return UX_OK; /* the unit has no code */
	enum ux_code code =
		ux_dwarf_context_open(r->in->sections, unit, &w->room, &w->ctx, &reason);
	if (code != UX_OK)
		return ux_code_damage_tolerate(request->damage, code, &reason, err);
	if (!dwarf_unit_selected(r->in->filter, w))
		return UX_OK;
	*ret_open = true;
	*ret_cost = w->ctx.codeless ? 0 : ux_dwarf_lines_cost(&w->ctx, r->in->text, &w->paid);
	return UX_OK;
}

/* Opens the split unit of a skeleton. *ret_outcome is UX_SPLIT_NONE for a unit that is not a
 * skeleton. */
static enum ux_code dwarf_open_split(struct dwarf_reader *r, struct dwarf_worker *w,
				     const struct ux_code_request *request,
				     struct ux_dwarf_context *ret,
				     enum ux_split_outcome *ret_outcome, struct ux_error *err)
{
	struct ux_error reason = UX_ERROR_INIT;
	*ret_outcome = UX_SPLIT_NONE;
	if (!r->in->split || !ux_dwarf_is_skeleton(&w->ctx))
		return UX_OK;
	if (r->repeated[request->unit]) {
		*ret_outcome = UX_SPLIT_DAMAGED;
		(void)ux_error_at(&reason, UX_ELIMIT, ".debug_info", w->ctx.unit->off,
				  "more than %d units have the ID of its split unit",
				  (int)UX_SPLIT_DUPLICATES_MAX);
	} else {
		UX_TRY(ux_split_unit_open(&w->split, r->in->split, &w->ctx, ret, ret_outcome,
					  &reason, err));
	}
	if (*ret_outcome == UX_SPLIT_DAMAGED)
		ux_code_damage_add(request->damage, &reason);
	return UX_OK;
}

/* Reads the unit's functions; a skeleton's functions are in its split unit, if that is found. */
static enum ux_code dwarf_read_code(struct dwarf_reader *r, struct dwarf_worker *w,
				    const struct ux_code_request *request, struct ux_code_unit *ret,
				    struct ux_error *err)
{
	struct ux_error reason = UX_ERROR_INIT;
	struct ux_dwarf_context split, *ctx = &w->ctx;
	struct ux_dwarf_names *names = &w->names;
	enum ux_split_outcome outcome;
	UX_TRY(dwarf_open_split(r, w, request, &split, &outcome, err));
	ret->note = (uint8_t)outcome;
	if (outcome == UX_SPLIT_READ) {
		names = &w->split.names;
		ctx = &split;
	}
	names->texts = request->arena; /* the names outlive the unit's file */
	w->code.columns = r->in->sections->columns;
	w->code.skip = request->skip;
	w->code.skip_ctx = request->skip_ctx;
	enum ux_code code = ux_dwarf_code_read(ctx, r->in->text, names, &w->code, &reason);
	UX_TRY(ux_code_damage_tolerate(request->damage, code, &reason, err));
	if (outcome == UX_SPLIT_READ)
		UX_TRY(ux_split_unit_copy_names(&w->split, request->arena, err));
	ret->functions = w->code.functions.data;
	ret->n_functions = w->code.functions.size;
	ret->inlines = w->code.inlines.data;
	ret->n_inlines = w->code.inlines.size;
	ret->ranges = w->code.ranges.data;
	ret->n_ranges = w->code.ranges.size;
	ret->names = names->list.data;
	ret->own = names->own.data;
	ret->n_names = names->list.size;
	ret->size = w->code.bytes;
	return UX_OK;
}

static bool dwarf_path(const void *ctx, uint32_t file, struct ux_code_path *ret,
		       uint16_t *ret_column)
{
	(void)ret_column;
	return ux_dwarf_lines_file(ctx, file, ret);
}

/* With columns: files are places. */
static bool dwarf_place_path(const void *ctx, uint32_t place, struct ux_code_path *ret,
			     uint16_t *ret_column)
{
	const struct ux_dwarf_lines *lines = ctx;
	if (place >= lines->places.size)
		return false;
	const struct ux_dwarf_place *p = &lines->places.data[place];
	*ret_column = p->column <= UINT16_MAX ? (uint16_t)p->column : 0;
	return ux_dwarf_lines_file(lines, p->file, ret);
}

/* With columns: appends the places of the unit's calls to the places of its rows. */
static enum ux_code dwarf_join_places(struct dwarf_worker *w, struct ux_code_unit *ret,
				      struct ux_error *err)
{
	struct ux_dwarf_place_vec *places = &w->lines.places;
	places->size = w->lines.row_places; /* the table may be the previous unit's */
	uint32_t first = (uint32_t)places->size;
	if (!ux_dwarf_place_vec_reserve(places, places->size + w->code.places.size))
		return ux_error_nomem(err);
	for (size_t i = 0; i < w->code.places.size; i++)
		places->data[places->size++] = w->code.places.data[i];
	for (size_t i = 0; i < w->code.inlines.size; i++)
		w->code.inlines.data[i].call_file += first;
	ret->path = dwarf_place_path;
	ret->n_files = places->size;
	return UX_OK;
}

/* Reads the unit's rows; none when the budget for decoding line tables is used up. */
static enum ux_code dwarf_read_lines(struct dwarf_reader *r, struct dwarf_worker *w,
				     const struct ux_code_request *request,
				     struct ux_code_unit *ret, struct ux_error *err)
{
	struct ux_error reason = UX_ERROR_INIT;
	enum ux_code code = UX_ELIMIT;
	if (w->ctx.has_lines && request->no_rows) {
		ux_dwarf_lines_clear(&w->lines);
		(void)ux_error_at(&reason, UX_ELIMIT, ux_dwarf_section_name(UX_DWARF_LINE), 0,
				  "units share line tables more than %d times", (int)TIMES_MAX);
	} else {
		code = ux_dwarf_lines_parse(&w->ctx, r->in->text, &w->lines, &reason);
	}
	UX_TRY(ux_code_damage_tolerate(request->damage, code, &reason, err));
	ret->lines = ux_dwarf_lines_view(&w->lines);
	ret->table = w->lines.source.sections ? w->lines.source.off : UX_CODE_NO_TABLE;
	ret->path = dwarf_path;
	ret->path_ctx = &w->lines;
	ret->n_files = w->lines.files.size;
	return w->code.columns ? dwarf_join_places(w, ret, err) : UX_OK;
}

static enum ux_code dwarf_reader_read(void *ctx, const struct ux_code_request *request,
				      struct ux_code_unit *ret, struct ux_error *err)
{
	struct dwarf_reader *r = ctx;
	struct dwarf_worker *w = &r->workers[request->worker];
	ret->section = ".debug_info";
	ret->off = w->ctx.unit->off;
	ret->table = UX_CODE_NO_TABLE;
	UX_TRY(dwarf_read_code(r, w, request, ret, err));
	if (!w->ctx.codeless)
		UX_TRY(dwarf_read_lines(r, w, request, ret, err));
	if (w->code.bad_ranges > 0) {
		struct ux_error reason = UX_ERROR_INIT;
		(void)ux_error_at(&reason, UX_ECORRUPT, ".debug_info", ret->off,
				  "%" PRIu64 " range lists of the unit are damaged",
				  w->code.bad_ranges);
		ux_code_damage_add(request->damage, &reason);
	}
	return UX_OK;
}

static uint64_t dwarf_reader_weigh(void *ctx, uint32_t wave, uint32_t number)
{
	const struct dwarf_reader *r = ctx;
	const struct ux_dwarf_unit *unit = dwarf_reader_unit(r, wave, number);
	uint64_t bytes = unit->end - unit->off;
	return bytes + (r->in->split && bytes <= UX_SKELETON_MAX ? SPLIT_BYTES : 0);
}

static enum ux_code dwarf_reader_next(void *ctx, uint32_t n_read, uint32_t *ret_n,
				      struct ux_error *err)
{
	struct dwarf_reader *r = ctx;
	return ux_info_feed_next(&r->feed, n_read, ret_n, err);
}

static void dwarf_reader_rewind(void *ctx)
{
	struct dwarf_reader *r = ctx;
	if (r->in->stream)
		ux_info_feed_rewind(&r->feed);
	if (r->in->progress)
		atomic_store_explicit(&r->in->progress->done, 0, memory_order_relaxed);
}

/* Makes the state of each thread. Names that refer to other units are resolved in `units`. */
static enum ux_code dwarf_make_workers(struct dwarf_reader *r, const struct ux_dwarf_units *units,
				       unsigned n, struct ux_error *err)
{
	r->workers = calloc(n, sizeof(*r->workers));
	if (!r->workers)
		return ux_error_nomem(err);
	r->n_workers = n;
	for (unsigned i = 0; i < n; i++)
		ux_dwarf_names_init(&r->workers[i].names, r->in->sections, units);
	return UX_OK;
}

enum ux_code ux_dwarf_units_read_ahead(const struct ux_dwarf_sections *sections,
				       struct ux_section_window *stream,
				       bool (*go_on)(const void *ctx), const void *ctx,
				       struct ux_dwarf_units_ahead *ret, struct ux_error *err)
{
	*ret = (struct ux_dwarf_units_ahead){0};
	if (!stream) {
		UX_TRY(ux_dwarf_units_parse(sections, &ret->whole, err));
	} else {
		ux_info_feed_open(&ret->feed, stream, sections,
				  ux_collect_wave_bytes(sections->data[UX_DWARF_INFO].size));
		do {
			UX_TRY(ux_info_feed_fill(&ret->feed, err));
		} while (ret->feed.limit < UX_WAVES_AHEAD && !ux_info_feed_ended(&ret->feed) &&
			 go_on(ctx));
	}
	ret->made = true;
	return UX_OK;
}

void ux_dwarf_units_ahead_free(struct ux_dwarf_units_ahead *ahead)
{
	ux_dwarf_units_free(&ahead->whole);
	ux_info_feed_close(&ahead->feed);
}

/* Takes over the units that were read ahead; false when there are none. */
static bool dwarf_take_ahead(struct dwarf_reader *r)
{
	struct ux_dwarf_units_ahead *ahead = r->in->ahead;
	if (!ahead || !ahead->made)
		return false;
	r->whole = ahead->whole;
	r->feed = ahead->feed;
	*ahead = (struct ux_dwarf_units_ahead){0};
	return true;
}

/* Opens the reader with all units available. */
static enum ux_code dwarf_open_whole(struct dwarf_reader *r, struct ux_code_reader *reader,
				     struct ux_error *err)
{
	if (!dwarf_take_ahead(r))
		UX_TRY(ux_dwarf_units_parse(r->in->sections, &r->whole, err));
	r->whole.sup = r->in->sections->sup ? &r->sup : NULL;
	reader->n_units = (uint32_t)r->whole.count;
	if (r->in->split)
		UX_TRY(ux_split_duplicates_find(r->in->sections, &r->whole, &r->repeated, err));
	size_t max = ux_max(r->whole.count, (size_t)1);
	return dwarf_make_workers(r, &r->whole, (unsigned)ux_min((size_t)r->in->threads, max), err);
}

/* Opens the reader for a stream. Its units do not refer to each other, so that no other unit is
 * needed to read one. */
static enum ux_code dwarf_open_stream(struct dwarf_reader *r, struct ux_code_reader *reader,
				      struct ux_error *err)
{
	struct ux_bytes info = r->in->sections->data[UX_DWARF_INFO];
	r->whole.sup = r->in->sections->sup ? &r->sup : NULL;
	if (!dwarf_take_ahead(r))
		ux_info_feed_open(&r->feed, r->in->stream, r->in->sections,
				  ux_collect_wave_bytes(info.size));
	reader->next = dwarf_reader_next;
	reader->passing = info;
	return dwarf_make_workers(r, &r->whole, r->in->threads, err);
}

static bool dwarf_skip(void *ctx, const struct ux_range *range)
{
	return !ux_address_filter_overlaps(ctx, range->lo, range->hi);
}

enum ux_code ux_dwarf_units_collect(const struct ux_dwarf_units_input *input,
				    struct ux_collection *ret, struct ux_error *err)
{
	const struct ux_dwarf_sections *sections = input->sections;
	ux_cleanup(dwarf_reader_deinit) struct dwarf_reader r = {.in = input};
	struct ux_code_reader reader = {
		.ctx = &r,
		.duplicates = true,
		.rows_max = TIMES_MAX * ((uint64_t)sections->data[UX_DWARF_LINE].size +
					 sections->data[UX_DWARF_INFO].size),
		.weigh = dwarf_reader_weigh,
		.open = dwarf_reader_open,
		.read = dwarf_reader_read,
		.rewind = dwarf_reader_rewind,
	};
	struct ux_collect_options options = {
		.symbols = input->symbols,
		.threads = input->threads,
		.spill = input->spill,
		.skip = input->filter ? dwarf_skip : NULL,
		.skip_ctx = (void *)input->filter,
	};
	if (input->progress)
		atomic_store_explicit(&input->progress->total, sections->data[UX_DWARF_INFO].size,
				      memory_order_relaxed);
	if (sections->sup)
		UX_TRY(ux_dwarf_units_parse(sections->sup, &r.sup, err));
	UX_TRY(input->stream ? dwarf_open_stream(&r, &reader, err)
			     : dwarf_open_whole(&r, &reader, err));
	reader.workers = r.n_workers;
	UX_TRY(ux_collect_units(&reader, &options, ret, err));
	ret->bad_headers = input->stream ? r.feed.headers.bad : r.whole.bad;
	ret->reason = input->stream ? r.feed.headers.reason : r.whole.reason;
	return UX_OK;
}
