/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the code of perf maps and jitdumps as GSYMs. */
#include "extract.h"

#include "jit.h"
#include "map.h"
#include "order.h"
#include "partition.h"

enum {
	PART_MIN_NS = 1000000, /* ns; shortest part: samples are further apart */
};

UX_MAP(ux_runtime_texts, struct ux_bytes, uint32_t, ux_hash_bytes, ux_bytes_eq);

static inline bool ux_runtime_file_eq(uint64_t a, uint64_t b)
{
	return a == b;
}

UX_MAP(ux_runtime_file_numbers, uint64_t, uint32_t, ux_hash_u64, ux_runtime_file_eq);
UX_VEC(ux_runtime_files, struct ux_gsym_file_entry);
UX_VEC(ux_runtime_rows, struct ux_gsym_row);
UX_VEC(ux_runtime_events, struct ux_code_event);
UX_VEC(ux_runtime_numbers, uint64_t);

/* The request, the content of the file, and the part being written. */
struct runtime_writer {
	const struct ux_runtime_request *what;
	struct ux_perf_map map;
	struct ux_jitdump dump;
	struct ux_runtime_events
		events; /* all events, in order: a later one replaces an earlier one */
	size_t fresh;   /* how many of them, at the end, are new */
	uint64_t used;
	ux_gsym_sink_fn *sink;
	void *ctx;
	/* the state of one part */
	struct ux_runtime_numbers starts, records;
	struct ux_runtime_files files;
	struct ux_runtime_texts texts;
	struct ux_runtime_file_numbers file_numbers;
	struct ux_runtime_rows rows;
	struct ux_out data, strings;
	bool lines;
};

static void runtime_end_part(struct runtime_writer *w)
{
	ux_runtime_numbers_deinit(&w->starts);
	ux_runtime_numbers_deinit(&w->records);
	ux_runtime_files_deinit(&w->files);
	ux_runtime_texts_deinit(&w->texts);
	ux_runtime_file_numbers_deinit(&w->file_numbers);
	ux_runtime_rows_deinit(&w->rows);
	ux_out_deinit(&w->data);
	ux_out_deinit(&w->strings);
	w->lines = false;
}

static void runtime_writer_deinit(struct runtime_writer *w)
{
	runtime_end_part(w);
	ux_runtime_events_deinit(&w->events);
	ux_perf_map_deinit(&w->map);
	ux_jitdump_deinit(&w->dump);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Reads bytes of the file from *at on. Damage ends the reading, as for a live process; events
 * before it are kept. */
static enum ux_code runtime_feed(struct runtime_writer *w, struct ux_bytes file, uint64_t end,
				 uint64_t *at, struct ux_error *err)
{
	struct ux_error why = UX_ERROR_INIT;
	size_t used = 0, need = 0;
	if (end == *at)
		return UX_OK;
	struct ux_bytes bytes = ux_bytes(file.data + *at, (size_t)(end - *at));
	enum ux_code code = w->what->format == UX_RUNTIME_JITDUMP
				    ? ux_jitdump_feed(&w->dump, bytes, &used, &need, &why)
				    : ux_perf_map_feed(&w->map, bytes, &used, &why);
	*at += used;
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code != UX_OK && *at == 0) {
		*err = why;
		return code;
	}
	return UX_OK;
}

static uint32_t runtime_count(const struct runtime_writer *w)
{
	return w->what->format == UX_RUNTIME_JITDUMP ? w->dump.history.n_events
						     : w->map.history.n_events;
}

static int runtime_compare_events(const void *a, const void *b)
{
	const struct ux_code_event *x = a, *y = b;
	UX_ORDER(x->time, y->time);
	UX_ORDER(x->seq, y->seq);
	return 0;
}

/* Reads the file. Its new events are after the known ones. */
static enum ux_code runtime_read(struct runtime_writer *w, struct ux_bytes file,
				 struct ux_error *err)
{
	uint64_t at = 0;
	const struct ux_code_history *history =
		w->what->format == UX_RUNTIME_JITDUMP ? &w->dump.history : &w->map.history;
	UX_TRY(runtime_feed(w, file, ux_min(w->what->known, (uint64_t)file.size), &at, err));
	uint32_t known = runtime_count(w);
	UX_TRY(runtime_feed(w, file, file.size, &at, err));
	w->used = at;
	if (!ux_runtime_events_reserve(&w->events, history->n_events))
		return ux_error_nomem(err);
	ux_code_history_list(history, w->events.data);
	w->events.size = history->n_events;
	w->fresh = history->n_events - known;
	if (w->dump.other_clock)
		for (size_t i = 0; i < w->events.size; i++)
			w->events.data[i].time = 0;
	if (w->fresh > 0)
		qsort(w->events.data + known, w->fresh, sizeof(*w->events.data),
		      runtime_compare_events);
	return UX_OK;
}

/* --- where a part ends ------------------------------------------------------------------------ */

static int runtime_compare_starts(const void *a, const void *b)
{
	const struct ux_code_event *x = a, *y = b;
	UX_ORDER(x->start, y->start);
	return runtime_compare_events(a, b);
}

/* All known ranges of code, sorted, to find ranges that overlap another one. */
struct runtime_ranges {
	struct ux_code_event *events; /* malloc'ed */
	uint64_t *reach;              /* malloc'ed: the largest end up to each */
	size_t n;
};

static void runtime_ranges_deinit(struct runtime_ranges *r)
{
	free(r->events);
	free(r->reach);
}

static enum ux_code runtime_ranges_init(struct runtime_ranges *r, const struct runtime_writer *w,
					struct ux_error *err)
{
	r->events = calloc(w->events.size + 1, sizeof(*r->events));
	r->reach = calloc(w->events.size + 1, sizeof(*r->reach));
	if (!r->events || !r->reach)
		return ux_error_nomem(err);
	for (size_t i = 0; i < w->events.size; i++)
		if (w->events.data[i].code != UX_CODE_NONE)
			r->events[r->n++] = w->events.data[i];
	if (r->n > 1)
		qsort(r->events, r->n, sizeof(*r->events), runtime_compare_starts);
	for (size_t i = 0; i < r->n; i++)
		r->reach[i] = ux_max(i > 0 ? r->reach[i - 1] : 0, r->events[i].end);
	return UX_OK;
}

/* Returns whether an address of the event had other code before it. */
static bool runtime_replaces(const struct runtime_ranges *r, const struct ux_code_event *e)
{
	size_t low = ux_partition_point(i, 0, r->n, r->events[i].start < e->end);
	for (size_t i = low; i > 0 && r->reach[i - 1] > e->start; i--) {
		const struct ux_code_event *other = &r->events[i - 1];
		if (other->end > e->start && other->code != e->code &&
		    runtime_compare_events(other, e) < 0)
			return true;
	}
	return false;
}

/* --- a part ----------------------------------------------------------------------------------- */

static enum ux_code runtime_text(struct runtime_writer *w, const char *text, uint32_t *ret,
				 struct ux_error *err)
{
	bool fresh = false;
	*ret = 0;
	if (!*text)
		return UX_OK;
	if (w->strings.size > UINT32_MAX / 2)
		return ux_error_set(err, UX_ELIMIT, "names of run-time code exceed 2 GiB");
	uint32_t *slot = ux_runtime_texts_insert(&w->texts, ux_bytes_cstr(text), &fresh);
	if (!slot)
		return ux_error_nomem(err);
	if (fresh) {
		*slot = (uint32_t)w->strings.size;
		ux_out_cstr(&w->strings, text);
		ux_out_u8(&w->strings, '\0');
	}
	*ret = *slot;
	return ux_out_status(&w->strings, err);
}

static enum ux_code runtime_file(struct runtime_writer *w, const struct ux_frame *frame,
				 uint32_t *ret, struct ux_error *err)
{
	struct ux_gsym_file_entry entry;
	bool fresh = false;
	UX_TRY(runtime_text(w, frame->dir, &entry.dir, err));
	UX_TRY(runtime_text(w, frame->base, &entry.base, err));
	uint32_t *slot = ux_runtime_file_numbers_insert(
		&w->file_numbers, (uint64_t)entry.dir << 32 | entry.base, &fresh);
	if (!slot)
		return ux_error_nomem(err);
	if (fresh) {
		*slot = (uint32_t)w->files.size;
		if (!ux_runtime_files_append(&w->files, entry))
			return ux_error_nomem(err);
	}
	*ret = *slot;
	return UX_OK;
}

/* Appends a row; one at the same offset is replaced. */
static enum ux_code runtime_add_row(struct runtime_writer *w, uint64_t off,
				    const struct ux_frame *frame, struct ux_error *err)
{
	struct ux_gsym_row row = {.off = (uint32_t)off, .line = frame->line};
	if (frame->line == 0 || !*frame->base)
		return UX_OK;
	UX_TRY(runtime_file(w, frame, &row.file, err));
	if (w->rows.size > 0 && w->rows.data[w->rows.size - 1].off == row.off)
		w->rows.size--;
	w->lines = true;
	return ux_runtime_rows_append(&w->rows, row) ? UX_OK : ux_error_nomem(err);
}

/* Adds the lines of the addresses [start, start + size) of an event's code. */
static enum ux_code runtime_add_rows(struct runtime_writer *w, const struct ux_code_event *e,
				     uint64_t start, uint64_t size, struct ux_error *err)
{
	struct ux_frame frame;
	int64_t first = (int64_t)(start - e->start);
	w->rows.size = 0;
	if (w->what->format == UX_RUNTIME_PERF_MAP) {
		frame = ux_jit_name_frame(w->map.entries.data[e->code].name, 0);
		return runtime_add_row(w, 0, &frame, err);
	}
	const struct ux_jit_code *code = &w->dump.codes.data[e->code];
	frame = ux_jit_name_frame(code->name, 0);
	UX_TRY(runtime_add_row(w, 0, &frame, err));
	for (size_t i = 0; i < code->rows.n; i++) {
		const struct ux_jit_row *row = &w->dump.rows.data[code->rows.first + i];
		if (row->path == UINT32_MAX || row->offset >= first + (int64_t)size)
			continue;
		frame.line = row->line;
		ux_jit_path_frame(w->dump.paths.data[row->path], &frame);
		UX_TRY(runtime_add_row(w, (uint64_t)ux_max(row->offset - first, INT64_C(0)), &frame,
				       err));
	}
	return UX_OK;
}

static enum ux_code runtime_add_function(struct runtime_writer *w, const struct ux_code_event *e,
					 uint64_t start, uint64_t end, struct ux_error *err)
{
	const uint64_t size = ux_min(end - start, (uint64_t)INT32_MAX);
	const struct ux_jit_name name = w->what->format == UX_RUNTIME_JITDUMP
						? w->dump.codes.data[e->code].name
						: w->map.entries.data[e->code].name;
	struct ux_gsym_function f = {.start = start, .size = (uint32_t)size};
	UX_TRY(runtime_text(w, name.text, &f.name, err));
	if (f.name == 0)
		return UX_OK;
	UX_TRY(runtime_add_rows(w, e, start, size, err));
	f.rows = w->rows.data;
	f.n_rows = w->rows.size;
	if (!ux_runtime_numbers_append(&w->starts, start) ||
	    !ux_runtime_numbers_append(&w->records, w->data.size))
		return ux_error_nomem(err);
	ux_gsym_encode_function(&w->data, &f);
	return ux_out_status(&w->data, err);
}

static int runtime_compare_edges(const void *a, const void *b)
{
	UX_ORDER(*(const uint64_t *)a, *(const uint64_t *)b);
	return 0;
}

/* Adds the code of events: each address belongs to its last event. */
static enum ux_code runtime_add_functions(struct runtime_writer *w, const struct ux_code_history *h,
					  uint64_t *edges, size_t n, struct ux_error *err)
{
	const struct ux_code_event *open = NULL;
	uint64_t start = 0;
	qsort(edges, n, sizeof(*edges), runtime_compare_edges);
	for (size_t i = 0; i < n; i++) {
		const struct ux_code_event *e = ux_code_history_find(h, edges[i], UINT64_MAX);
		if (e == open)
			continue;
		if (open)
			UX_TRY(runtime_add_function(w, open, start, edges[i], err));
		open = e;
		start = edges[i];
	}
	return UX_OK;
}

static void runtime_history_deinit(struct ux_code_history *h)
{
	ux_code_history_deinit(h);
}

static enum ux_code runtime_collect(struct runtime_writer *w, const struct ux_code_event *events,
				    size_t n, struct ux_error *err)
{
	ux_cleanup(runtime_history_deinit) struct ux_code_history h = {0};
	ux_cleanup(ux_free_ptr) uint64_t *edges = calloc(2 * n + 1, sizeof(*edges));
	ux_cleanup(ux_free_ptr) struct ux_code_event *own = calloc(n + 1, sizeof(*own));
	size_t kept = 0;
	if (!edges || !own || !ux_runtime_files_append(&w->files, (struct ux_gsym_file_entry){0}))
		return ux_error_nomem(err);
	ux_out_u8(&w->strings, '\0');
	for (size_t i = 0; i < n; i++) {
		if (events[i].code == UX_CODE_NONE)
			continue;
		edges[2 * kept] = events[i].start;
		edges[2 * kept + 1] = events[i].end;
		own[kept++] = events[i];
	}
	if (kept == 0)
		return UX_OK;
	if (!ux_code_history_add(&h, own, kept))
		return ux_error_nomem(err);
	return runtime_add_functions(w, &h, edges, 2 * kept, err);
}

static enum ux_code runtime_sink_out(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	ux_out_put(ctx, bytes.data, bytes.size);
	return ux_out_status(ctx, err);
}

/* Writes the collected part. */
static enum ux_code runtime_put(struct runtime_writer *w, unsigned number,
				struct ux_runtime_part *part, struct ux_error *err)
{
	ux_cleanup(ux_out_deinit) struct ux_out gsym = {0};
	uint8_t uuid[UX_ID_FILE_SIZE];
	const struct ux_bytes data = ux_out_bytes(&w->data);
	memcpy(uuid, w->what->seed, sizeof(uuid));
	uuid[sizeof(uuid) - 1] = (uint8_t)number;
	const struct ux_gsym_image image = {
		.base = w->starts.data[0],
		.uuid = ux_bytes(uuid, sizeof(uuid)),
		.n_functions = w->starts.size,
		.starts = w->starts.data,
		.records = w->records.data,
		.n_files = w->files.size,
		.files = w->files.data,
		.strings = ux_out_bytes(&w->strings),
		.data = &data,
		.n_data = 1,
	};
	UX_TRY(ux_gsym_image_write(&image, runtime_sink_out, &gsym, err));
	part->size = gsym.size;
	part->functions = w->starts.size;
	part->lines = w->lines;
	UX_TRY(w->sink(w->ctx, ux_bytes(part, sizeof(*part)), err));
	return w->sink(w->ctx, ux_out_bytes(&gsym), err);
}

static enum ux_code runtime_write_part(struct runtime_writer *w, unsigned *number,
				       const struct ux_code_event *events, size_t n, int64_t from,
				       int64_t until, struct ux_error *err)
{
	struct ux_runtime_part part;
	memset(&part, 0, sizeof(part)); /* the struct is written with its padding */
	part.from_ns = from;
	part.until_ns = until;
	part.used = w->used;
	enum ux_code code = runtime_collect(w, events, n, err);
	if (code == UX_OK && w->starts.size > 0)
		code = runtime_put(w, (*number)++, &part, err);
	runtime_end_part(w);
	return code;
}

/* Returns the wall-clock time of an event, limited to the time of the request. */
static int64_t runtime_wall(const struct runtime_writer *w, const struct ux_code_event *e)
{
	const struct ux_runtime_request *r = w->what;
	if (e->time == 0 || e->time > INT64_MAX / 2)
		return r->from_ns;
	int64_t wall = (int64_t)e->time + r->wall_ns;
	return ux_min(ux_max(wall, r->from_ns), r->until_ns);
}

static enum ux_code runtime_write_parts(struct runtime_writer *w, struct ux_error *err)
{
	ux_cleanup(runtime_ranges_deinit) struct runtime_ranges ranges = {0};
	const struct ux_runtime_request *r = w->what;
	int64_t from = r->from_ns;
	unsigned number = 0;
	size_t begin = 0;
	if (w->fresh == 0)
		return UX_OK;
	const struct ux_code_event *fresh = w->events.data + w->events.size - w->fresh;
	int64_t min = PART_MIN_NS; /* shortest duration of all but the first parts, so that there is
				      room for all */
	if (r->format == UX_RUNTIME_JITDUMP && !w->dump.other_clock) {
		UX_TRY(runtime_ranges_init(&ranges, w, err));
		int64_t span = runtime_wall(w, &fresh[w->fresh - 1]) - runtime_wall(w, &fresh[0]);
		min = ux_max(span / (UX_RUNTIME_PARTS_MAX - 4), min);
	}
	for (size_t i = 0; i < w->fresh && ranges.n > 0; i++) {
		int64_t wall = runtime_wall(w, &fresh[i]);
		if (fresh[i].code == UX_CODE_NONE || wall <= from ||
		    (begin > 0 && wall - from < min) || !runtime_replaces(&ranges, &fresh[i]))
			continue;
		UX_TRY(runtime_write_part(w, &number, fresh + begin, i - begin, from, wall, err));
		from = wall;
		begin = i;
	}
	return runtime_write_part(w, &number, fresh + begin, w->fresh - begin, from, r->until_ns,
				  err);
}

enum ux_code ux_runtime_gsym_write(struct ux_bytes file, const struct ux_runtime_request *what,
				   ux_gsym_sink_fn *sink, void *ctx, struct ux_error *err)
{
	ux_cleanup(runtime_writer_deinit) struct runtime_writer w = {
		.what = what, .sink = sink, .ctx = ctx};
	ux_perf_map_init(&w.map);
	ux_jitdump_init(&w.dump);
	UX_TRY(runtime_read(&w, file, err));
	return runtime_write_parts(&w, err);
}
