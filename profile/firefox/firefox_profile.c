/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the processed format of the Firefox Profiler. Source: docs-developer/CHANGELOG-formats.md
 * and src/types/profile.js of github.com/firefox-devtools/profiler. Version 49 is the last one with
 * tables in each thread, and samply 0.13 writes it; the Profiler upgrades it.
 */
#include "debug_id.h"
#include "json_out.h"
#include "profile_viewers.h"
#include "text.h"

enum {
	FIREFOX_GECKO_VERSION = 24,
	FIREFOX_VERSION = 49,
	FIREFOX_RESOURCE_LIBRARY = 1,
};

/* Kinds of code, as the index of a category. */
static const struct {
	const char *name;
	const char *color;
} firefox_categories[] = {
	[UX_PROFILE_FILE] = {"User", "yellow"},
	[UX_PROFILE_VDSO] = {"vDSO", "green"},
	[UX_PROFILE_KERNEL] = {"Kernel", "orange"},
	[UX_PROFILE_JIT] = {"Run-time code", "blue"},
};

/* Row numbers of a thread. For each element of the profile: its row plus one. */
UX_VEC(firefox_list, uint32_t);

struct firefox_rows {
	uint32_t *row;
	struct firefox_list used; /* the elements, in the order of their rows */
};

struct firefox_stack_row {
	uint32_t prefix; /* row plus one; 0: none */
	uint32_t frame;
};

struct firefox_frame_row {
	uint32_t location;
	uint32_t depth;  /* depth of inlining; 0: the function that has a symbol */
	uint32_t native; /* row of that symbol plus one; 0: the function's start is unknown */
};

/* A function that has a symbol: the Profiler requests the code of the whole function. */
struct firefox_native {
	uint32_t module;
	uint32_t function;
	uint64_t address; /* from the start of the file's image */
};

UX_VEC(firefox_stack_rows, struct firefox_stack_row);
UX_VEC(firefox_frame_rows, struct firefox_frame_row);
UX_VEC(firefox_natives, struct firefox_native);

struct firefox {
	const struct ux_profile *p;
	const struct ux_viewer_options *options;
	struct ux_functions functions;
	struct ux_frame_functions of;
	uint32_t *order;
	struct ux_json json;
	struct ux_stream *s;
	/* Tables of one thread: */
	struct firefox_rows stacks;    /* row of the stack's innermost frame */
	struct firefox_rows locations; /* row of the location's outermost frame */
	struct firefox_rows func;
	struct firefox_rows strings;
	struct firefox_rows modules;
	uint32_t *module_of; /* for each function, the module of its first location */
	uint32_t *name_of;   /* for each module, the string of its name */
	struct firefox_stack_rows stack_rows;
	struct firefox_frame_rows frame_rows;
	struct firefox_natives natives;
	struct ux_profile_places native_of; /* row of a native symbol, by module and address */
	struct firefox_list path;
};

static enum ux_code firefox_rows_init(struct firefox_rows *r, size_t n, struct ux_error *err)
{
	r->row = calloc(n + 1, sizeof(*r->row));
	return r->row ? UX_OK : ux_error_nomem(err);
}

static void firefox_rows_reset(struct firefox_rows *r)
{
	for (size_t i = 0; i < r->used.size; i++)
		r->row[r->used.data[i]] = 0;
	r->used.size = 0;
}

static void firefox_rows_deinit(struct firefox_rows *r)
{
	free(r->row);
	firefox_list_deinit(&r->used);
}

/* Returns the row of an element; adds one if it has none. */
static enum ux_code firefox_use(struct firefox_rows *r, uint32_t element, uint32_t *ret,
				struct ux_error *err)
{
	if (r->row[element] == 0) {
		if (!firefox_list_append(&r->used, element))
			return ux_error_nomem(err);
		r->row[element] = (uint32_t)r->used.size;
	}
	*ret = r->row[element] - 1;
	return UX_OK;
}

static void firefox_deinit(struct firefox *w)
{
	ux_functions_deinit(&w->functions);
	ux_frame_functions_deinit(&w->of);
	free(w->order);
	firefox_rows_deinit(&w->stacks);
	firefox_rows_deinit(&w->locations);
	firefox_rows_deinit(&w->func);
	firefox_rows_deinit(&w->strings);
	firefox_rows_deinit(&w->modules);
	free(w->module_of);
	free(w->name_of);
	firefox_stack_rows_deinit(&w->stack_rows);
	firefox_frame_rows_deinit(&w->frame_rows);
	firefox_natives_deinit(&w->natives);
	ux_profile_places_deinit(&w->native_of);
	firefox_list_deinit(&w->path);
}

/* --- the tables of a thread ---------------------------------------------------------------------
 */

static enum ux_code firefox_use_function(struct firefox *w, uint32_t function, uint32_t module,
					 struct ux_error *err)
{
	const struct ux_function *f = &w->functions.list.data[function];
	uint32_t row = 0;
	if (w->func.row[function] != 0)
		return UX_OK;
	UX_TRY(firefox_use(&w->func, function, &row, err));
	UX_TRY(firefox_use(&w->strings, f->name, &row, err));
	if (f->file != 0)
		UX_TRY(firefox_use(&w->strings, f->file, &row, err));
	w->module_of[function] = module;
	w->name_of[module] = f->module;
	UX_TRY(firefox_use(&w->strings, f->module, &row, err));
	return module != 0 ? firefox_use(&w->modules, module, &row, err) : UX_OK;
}

/* Sets the row plus one of the function's symbol at a location; 0: the function's start is unknown.
 */
static enum ux_code firefox_add_native(struct firefox *w, uint32_t location, uint32_t function,
				       uint32_t *ret, struct ux_error *err)
{
	const struct ux_profile_location *l = &w->p->locations.data[location];
	const struct ux_profile_module *m = &w->p->modules.data[l->module];
	uint64_t start = ux_profile_start(w->p, location);
	bool fresh = false;
	*ret = 0;
	if (start == UX_PROFILE_NO_START || !m->has_base || start < m->base)
		return UX_OK;
	struct firefox_native native = {l->module, function, start - m->base};
	uint32_t *row = ux_profile_places_insert(
		&w->native_of,
		(struct ux_profile_place){.module = l->module, .address = native.address}, &fresh);
	if (!row)
		return ux_error_nomem(err);
	if (fresh) {
		if (!firefox_natives_append(&w->natives, native))
			return ux_error_nomem(err);
		*row = (uint32_t)w->natives.size;
	}
	*ret = *row;
	return UX_OK;
}

/* Adds the frames of a location, outermost first; sets the row of the first one and the count. */
static enum ux_code firefox_add_location(struct firefox *w, uint32_t location, uint32_t *ret_first,
					 uint32_t *ret_n, struct ux_error *err)
{
	size_t n = 0;
	const uint32_t *functions = ux_functions_at(w->p, &w->of, location, &n);
	*ret_n = (uint32_t)n;
	if (w->locations.row[location] == 0) {
		if (!firefox_list_append(&w->locations.used, location))
			return ux_error_nomem(err);
		w->locations.row[location] = (uint32_t)w->frame_rows.size + 1;
		uint32_t native = 0;
		if (n > 0)
			UX_TRY(firefox_add_native(w, location, functions[n - 1], &native, err));
		for (uint32_t depth = 0; depth < n; depth++) {
			struct firefox_frame_row row = {location, depth, native};
			UX_TRY(firefox_use_function(w, functions[n - 1 - depth],
						    w->p->locations.data[location].module, err));
			if (!firefox_frame_rows_append(&w->frame_rows, row))
				return ux_error_nomem(err);
		}
	}
	*ret_first = w->locations.row[location] - 1;
	return UX_OK;
}

/* Adds a stack and its callers. */
static enum ux_code firefox_add_stack(struct firefox *w, uint32_t stack, struct ux_error *err)
{
	w->path.size = 0;
	uint32_t s = stack;
	for (; s != 0 && w->stacks.row[s] == 0; s = w->p->stacks.data[s].caller)
		if (!firefox_list_append(&w->path, s))
			return ux_error_nomem(err);
	uint32_t prefix = s != 0 ? w->stacks.row[s] : 0;
	while (w->path.size > 0) {
		uint32_t first = 0, n = 0;
		s = w->path.data[--w->path.size];
		UX_TRY(firefox_add_location(w, w->p->stacks.data[s].location, &first, &n, err));
		for (uint32_t i = 0; i < n; i++) {
			struct firefox_stack_row row = {prefix, first + i};
			if (!firefox_stack_rows_append(&w->stack_rows, row))
				return ux_error_nomem(err);
			prefix = (uint32_t)w->stack_rows.size;
		}
		if (!firefox_list_append(&w->stacks.used, s))
			return ux_error_nomem(err);
		w->stacks.row[s] = prefix;
	}
	return UX_OK;
}

/* --- writing ------------------------------------------------------------------------------------
 */

/* Writes a column of n rows; `write` is an expression in the row's index i. */
#define FIREFOX_COLUMN(w, key, n, write)                     \
	do {                                                 \
		ux_json_key(&(w)->json, key);                \
		ux_json_array_begin(&(w)->json);             \
		for (size_t i = 0; i < (n); i++) {           \
			write;                               \
			UX_TRY(ux_stream_pass((w)->s, err)); \
		}                                            \
		ux_json_array_end(&(w)->json);               \
	} while (0)

static void firefox_put_row(struct ux_json *j, uint32_t row_plus_one)
{
	if (row_plus_one == 0)
		ux_json_null(j);
	else
		ux_json_u64(j, row_plus_one - 1);
}

static void firefox_put_line(struct ux_json *j, uint32_t line)
{
	if (line == 0)
		ux_json_null(j);
	else
		ux_json_u64(j, line);
}

static const struct ux_profile_location *firefox_location(const struct firefox *w, size_t frame)
{
	return &w->p->locations.data[w->frame_rows.data[frame].location];
}

static uint32_t firefox_category(const struct firefox *w, size_t frame)
{
	return w->p->modules.data[firefox_location(w, frame)->module].kind;
}

/* Returns the frame of a row; NULL: its location has no name. */
static const struct ux_profile_frame *firefox_frame(const struct firefox *w, size_t frame)
{
	const struct ux_profile_location *l = firefox_location(w, frame);
	return l->n ? &w->p->frames.data[l->first + l->n - 1 - w->frame_rows.data[frame].depth]
		    : NULL;
}

static uint32_t firefox_function(const struct firefox *w, size_t frame)
{
	const struct firefox_frame_row *row = &w->frame_rows.data[frame];
	size_t n = 0;
	const uint32_t *functions = ux_functions_at(w->p, &w->of, row->location, &n);
	return functions[n - 1 - row->depth];
}

/* Returns a frame's address from the start of the file's image; if that start is unknown, the
 * virtual address, which is the same for a library. -1: it is not an address of a file. */
static int64_t firefox_address(const struct firefox *w, size_t frame)
{
	const struct ux_profile_location *l = firefox_location(w, frame);
	const struct ux_profile_module *m = &w->p->modules.data[l->module];
	if (l->kind != UX_PROFILE_PC)
		return l->kind == UX_PROFILE_RELATIVE ? (int64_t)l->address : -1;
	bool inside = m->has_base && l->address >= m->base;
	return (int64_t)(l->address - (inside ? m->base : 0));
}

static enum ux_code firefox_put_frames(struct firefox *w, struct ux_error *err)
{
	struct ux_json *j = &w->json;
	size_t n = w->frame_rows.size;
	ux_json_key(j, "frameTable");
	ux_json_object_begin(j);
	ux_json_key_u64(j, "length", n);
	FIREFOX_COLUMN(w, "address", n, ux_json_i64(j, firefox_address(w, i)));
	FIREFOX_COLUMN(w, "inlineDepth", n, ux_json_u64(j, w->frame_rows.data[i].depth));
	FIREFOX_COLUMN(w, "category", n, ux_json_u64(j, firefox_category(w, i)));
	FIREFOX_COLUMN(w, "subcategory", n, ux_json_u64(j, 0));
	FIREFOX_COLUMN(w, "func", n, firefox_put_row(j, w->func.row[firefox_function(w, i)]));
	FIREFOX_COLUMN(w, "nativeSymbol", n, firefox_put_row(j, w->frame_rows.data[i].native));
	FIREFOX_COLUMN(w, "innerWindowID", n, ux_json_null(j));
	FIREFOX_COLUMN(w, "implementation", n, ux_json_null(j));
	FIREFOX_COLUMN(w, "line", n, {
		const struct ux_profile_frame *f = firefox_frame(w, i);
		firefox_put_line(j, f ? f->line : 0);
	});
	FIREFOX_COLUMN(w, "column", n, {
		const struct ux_profile_frame *f = firefox_frame(w, i);
		firefox_put_line(j, f ? f->column : 0);
	});
	ux_json_object_end(j);
	return UX_OK;
}

static enum ux_code firefox_put_functions(struct firefox *w, struct ux_error *err)
{
	struct ux_json *j = &w->json;
	const uint32_t *used = w->func.used.data;
	const struct ux_function *list = w->functions.list.data;
	size_t n = w->func.used.size;
	ux_json_key(j, "funcTable");
	ux_json_object_begin(j);
	ux_json_key_u64(j, "length", n);
	FIREFOX_COLUMN(w, "name", n, firefox_put_row(j, w->strings.row[list[used[i]].name]));
	FIREFOX_COLUMN(w, "isJS", n, ux_json_bool(j, false));
	FIREFOX_COLUMN(w, "relevantForJS", n, ux_json_bool(j, false));
	FIREFOX_COLUMN(w, "resource", n,
		       ux_json_i64(j, (int64_t)w->modules.row[w->module_of[used[i]]] - 1));
	FIREFOX_COLUMN(w, "fileName", n, {
		uint32_t file = list[used[i]].file;
		firefox_put_row(j, file ? w->strings.row[file] : 0);
	});
	FIREFOX_COLUMN(w, "lineNumber", n, firefox_put_line(j, list[used[i]].line));
	FIREFOX_COLUMN(w, "columnNumber", n, ux_json_null(j));
	ux_json_object_end(j);
	return UX_OK;
}

static enum ux_code firefox_put_stacks(struct firefox *w, struct ux_error *err)
{
	struct ux_json *j = &w->json;
	size_t n = w->stack_rows.size;
	const struct firefox_stack_row *rows = w->stack_rows.data;
	ux_json_key(j, "stackTable");
	ux_json_object_begin(j);
	ux_json_key_u64(j, "length", n);
	FIREFOX_COLUMN(w, "prefix", n, firefox_put_row(j, rows[i].prefix));
	FIREFOX_COLUMN(w, "frame", n, ux_json_u64(j, rows[i].frame));
	FIREFOX_COLUMN(w, "category", n, ux_json_u64(j, firefox_category(w, rows[i].frame)));
	FIREFOX_COLUMN(w, "subcategory", n, ux_json_u64(j, 0));
	ux_json_object_end(j);
	return UX_OK;
}

/* Library i of the profile is module i + 1. */
static enum ux_code firefox_put_resources(struct firefox *w, struct ux_error *err)
{
	struct ux_json *j = &w->json;
	const uint32_t *used = w->modules.used.data;
	size_t n = w->modules.used.size;
	ux_json_key(j, "resourceTable");
	ux_json_object_begin(j);
	ux_json_key_u64(j, "length", n);
	FIREFOX_COLUMN(w, "lib", n, ux_json_u64(j, used[i] - 1));
	FIREFOX_COLUMN(w, "name", n, firefox_put_row(j, w->strings.row[w->name_of[used[i]]]));
	FIREFOX_COLUMN(w, "host", n, ux_json_null(j));
	FIREFOX_COLUMN(w, "type", n, ux_json_u64(j, FIREFOX_RESOURCE_LIBRARY));
	ux_json_object_end(j);
	return UX_OK;
}

/* Appends nanoseconds as milliseconds. */
static void firefox_put_ms(struct ux_json *j, uint64_t ns)
{
	struct ux_out *out = ux_json_value(j);
	ux_out_fmt(out, "%" PRIu64 ".%06u", ns / 1000000, (unsigned)(ns % 1000000));
}

static bool firefox_has_unit(const struct firefox *w, const char *unit)
{
	const struct ux_profile *p = w->p;
	return w->options->type < p->n_types &&
	       ux_bytes_eq(ux_profile_text(p, p->types[w->options->type].unit),
			   ux_bytes_cstr(unit));
}

static int64_t firefox_weight_at(const struct firefox *w, size_t at)
{
	const struct ux_profile_sample *sample = &w->p->samples.data[w->order[at]];
	if (w->options->type >= w->p->n_types)
		return 1;
	return ux_profile_sample_values(w->p, sample)[w->options->type];
}

/*
 * Writes the samples order[first] to order[last - 1]. Without times, a sample begins where the
 * previous one ended if its value is a time; otherwise samples are a millisecond apart.
 */
static enum ux_code firefox_put_samples(struct firefox *w, size_t first, size_t last,
					struct ux_error *err)
{
	struct ux_json *j = &w->json;
	size_t n = last - first;
	const uint32_t *order = w->order + first;
	const struct ux_profile_sample *samples = w->p->samples.data;
	bool is_time = firefox_has_unit(w, "nanoseconds");
	uint64_t start = w->p->keep_times ? samples[w->order[0]].time_ns : 0, clock = 0;
	for (size_t i = 1; w->p->keep_times && i < w->p->samples.size; i++)
		start = ux_min(start, samples[i].time_ns);
	ux_json_key(j, "samples");
	ux_json_object_begin(j);
	ux_json_key_u64(j, "length", n);
	FIREFOX_COLUMN(w, "stack", n, firefox_put_row(j, w->stacks.row[samples[order[i]].stack]));
	FIREFOX_COLUMN(w, "time", n, {
		int64_t weight = is_time ? firefox_weight_at(w, first + i) : 1000000;
		firefox_put_ms(j, w->p->keep_times ? samples[order[i]].time_ns - start : clock);
		clock += weight > 0 ? (uint64_t)weight : 0;
	});
	FIREFOX_COLUMN(w, "weight", n, {
		int64_t weight = firefox_weight_at(w, first + i);
		if (is_time && weight >= 0)
			firefox_put_ms(j, (uint64_t)weight);
		else
			ux_json_i64(j, is_time ? weight / 1000000 : weight);
	});
	ux_json_key_cstr(j, "weightType",
			 is_time                        ? "tracing-ms"
			 : firefox_has_unit(w, "bytes") ? "bytes"
							: "samples");
	ux_json_object_end(j);
	return UX_OK;
}

/* Symbols have no size: the Profiler requests the code up to the end of the function. */
static enum ux_code firefox_put_natives(struct firefox *w, struct ux_error *err)
{
	struct ux_json *j = &w->json;
	const struct firefox_native *natives = w->natives.data;
	size_t n = w->natives.size;
	ux_json_key(j, "nativeSymbols");
	ux_json_object_begin(j);
	ux_json_key_u64(j, "length", n);
	FIREFOX_COLUMN(w, "libIndex", n, ux_json_u64(j, natives[i].module - 1));
	FIREFOX_COLUMN(w, "address", n, ux_json_u64(j, natives[i].address));
	FIREFOX_COLUMN(w, "name", n, {
		uint32_t name = w->functions.list.data[natives[i].function].name;
		firefox_put_row(j, w->strings.row[name]);
	});
	FIREFOX_COLUMN(w, "functionSize", n, ux_json_null(j));
	ux_json_object_end(j);
	return UX_OK;
}

static void firefox_put_markers(struct ux_json *j)
{
	static const char *const columns[] = {"data",    "name",  "startTime",
					      "endTime", "phase", "category"};
	ux_json_key(j, "markers");
	ux_json_object_begin(j);
	ux_json_key_u64(j, "length", 0);
	for (size_t i = 0; i < ux_countof(columns); i++) {
		ux_json_key(j, columns[i]);
		ux_json_array_begin(j);
		ux_json_array_end(j);
	}
	ux_json_object_end(j);
}

static void firefox_put_thread_head(struct firefox *w, uint32_t thread)
{
	struct ux_json *j = &w->json;
	const struct ux_profile_thread *t = &w->p->threads.data[thread];
	struct ux_bytes comm = ux_profile_text(w->p, t->comm);
	char number[16];
	ux_json_key_str(j, "name", comm.size ? comm : UX_STR("thread"));
	ux_json_key_str(j, "processName", comm);
	ux_json_key_cstr(j, "processType", "default");
	ux_json_key_bool(j, "isMainThread", t->pid == t->tid);
	snprintf(number, sizeof(number), "%" PRIu32, t->pid);
	ux_json_key_cstr(j, "pid", number);
	snprintf(number, sizeof(number), "%" PRIu32, t->tid);
	ux_json_key_cstr(j, "tid", number);
	ux_json_key_u64(j, "processStartupTime", 0);
	ux_json_key_u64(j, "registerTime", 0);
	ux_json_key(j, "processShutdownTime");
	ux_json_null(j);
	ux_json_key(j, "unregisterTime");
	ux_json_null(j);
	ux_json_key_bool(j, "showMarkersInTimeline", false);
	ux_json_key(j, "pausedRanges");
	ux_json_array_begin(j);
	ux_json_array_end(j);
}

static enum ux_code firefox_put_thread(struct firefox *w, size_t first, size_t last,
				       struct ux_error *err)
{
	struct ux_json *j = &w->json;
	firefox_rows_reset(&w->stacks);
	firefox_rows_reset(&w->locations);
	firefox_rows_reset(&w->func);
	firefox_rows_reset(&w->strings);
	firefox_rows_reset(&w->modules);
	w->stack_rows.size = w->frame_rows.size = w->natives.size = 0;
	ux_profile_places_deinit(&w->native_of);
	for (size_t i = first; i < last; i++)
		UX_TRY(firefox_add_stack(w, w->p->samples.data[w->order[i]].stack, err));
	ux_json_object_begin(j);
	firefox_put_thread_head(w, w->p->samples.data[w->order[first]].thread);
	UX_TRY(firefox_put_samples(w, first, last, err));
	UX_TRY(firefox_put_stacks(w, err));
	UX_TRY(firefox_put_frames(w, err));
	UX_TRY(firefox_put_functions(w, err));
	UX_TRY(firefox_put_resources(w, err));
	UX_TRY(firefox_put_natives(w, err));
	firefox_put_markers(j);
	FIREFOX_COLUMN(
		w, "stringArray", w->strings.used.size,
		ux_json_str(j, ux_strings_get(&w->functions.strings, w->strings.used.data[i])));
	ux_json_object_end(j);
	return UX_OK;
}

static void firefox_put_library(struct firefox *w, const struct ux_profile_module *m)
{
	struct ux_json *j = &w->json;
	struct ux_bytes path = ux_profile_text(w->p, m->path);
	const uint8_t *slash = ux_bytes_find_last(path, '/');
	struct ux_bytes name = path;
	char breakpad[UX_DEBUG_ID_TEXT] = "", code[2 * UX_ID_GNU_MAX + 1] = "";
	if (slash && slash + 1 < path.data + path.size)
		name = ux_bytes(slash + 1, (size_t)(path.data + path.size - slash - 1));
	if (m->id.size == 0 || !ux_debug_id_format(&m->id, breakpad))
		*breakpad = 0;
	if (m->id.type == UX_ID_GNU)
		ux_hex_encode(ux_bytes(m->id.bytes, ux_min(m->id.size, UX_ID_GNU_MAX)), code);
	ux_json_object_begin(j);
	ux_json_key_str(j, "name", name);
	ux_json_key_str(j, "path", path);
	ux_json_key_str(j, "debugName", name);
	ux_json_key_str(j, "debugPath", path);
	ux_json_key_cstr(j, "breakpadId", breakpad);
	ux_json_key(j, "codeId");
	if (*code)
		ux_json_cstr(j, code);
	else
		ux_json_null(j);
	ux_json_key(j, "arch");
	ux_json_null(j);
	ux_json_object_end(j);
}

static void firefox_put_meta(struct firefox *w)
{
	struct ux_json *j = &w->json;
	ux_json_key(j, "meta");
	ux_json_object_begin(j);
	ux_json_key_u64(j, "version", FIREFOX_GECKO_VERSION);
	ux_json_key_u64(j, "preprocessedProfileVersion", FIREFOX_VERSION);
	ux_json_key_str(j, "product", w->options->title);
	ux_json_key_cstr(j, "importedFrom", "unhex " UX_VERSION);
	ux_json_key_u64(j, "processType", 0);
	ux_json_key(j, "interval");
	firefox_put_ms(j, w->p->period > 0 && firefox_has_unit(w, "nanoseconds")
				  ? (uint64_t)w->p->period
				  : 1000000);
	ux_json_key(j, "startTime");
	firefox_put_ms(j, w->p->start_ns);
	ux_json_key_bool(j, "symbolicated", true);
	ux_json_key_bool(j, "debug", false);
	ux_json_key_bool(j, "usesOnlyOneStackType", true);
	ux_json_key_bool(j, "doesNotUseFrameImplementation", true);
	ux_json_key_bool(j, "sourceCodeIsNotOnSearchfox", true);
	ux_json_key(j, "categories");
	ux_json_array_begin(j);
	for (size_t i = 0; i < ux_countof(firefox_categories); i++) {
		ux_json_object_begin(j);
		ux_json_key_cstr(j, "name", firefox_categories[i].name);
		ux_json_key_cstr(j, "color", firefox_categories[i].color);
		ux_json_key(j, "subcategories");
		ux_json_array_begin(j);
		ux_json_cstr(j, "Other");
		ux_json_array_end(j);
		ux_json_object_end(j);
	}
	ux_json_array_end(j);
	ux_json_key(j, "markerSchema");
	ux_json_array_begin(j);
	ux_json_array_end(j);
	ux_json_key(j, "extensions");
	ux_json_object_begin(j);
	ux_json_key_u64(j, "length", 0);
	static const char *const columns[] = {"baseURL", "id", "name"};
	for (size_t i = 0; i < ux_countof(columns); i++) {
		ux_json_key(j, columns[i]);
		ux_json_array_begin(j);
		ux_json_array_end(j);
	}
	ux_json_object_end(j);
	ux_json_object_end(j);
}

static enum ux_code firefox_prepare_rows(struct firefox *w, struct ux_error *err)
{
	const struct ux_profile *p = w->p;
	UX_TRY(ux_functions_init(&w->functions, w->options->demangle, err));
	UX_TRY(ux_functions_of_profile(&w->functions, p, &w->of, err));
	UX_TRY(ux_profile_order(p, &w->order, err));
	UX_TRY(firefox_rows_init(&w->stacks, p->stacks.size, err));
	UX_TRY(firefox_rows_init(&w->locations, p->locations.size, err));
	UX_TRY(firefox_rows_init(&w->func, w->functions.list.size, err));
	UX_TRY(firefox_rows_init(&w->strings, w->functions.strings.list.size, err));
	UX_TRY(firefox_rows_init(&w->modules, p->modules.size, err));
	w->module_of = calloc(w->functions.list.size + 1, sizeof(*w->module_of));
	w->name_of = calloc(p->modules.size, sizeof(*w->name_of));
	return w->module_of && w->name_of ? UX_OK : ux_error_nomem(err);
}

static enum ux_code firefox_put_profile(struct firefox *w, struct ux_error *err)
{
	struct ux_json *j = &w->json;
	const struct ux_profile *p = w->p;
	UX_TRY(firefox_prepare_rows(w, err));
	ux_json_object_begin(j);
	firefox_put_meta(w);
	ux_json_key(j, "libs");
	ux_json_array_begin(j);
	for (size_t i = 1; i < p->modules.size; i++) {
		firefox_put_library(w, &p->modules.data[i]);
		UX_TRY(ux_stream_pass(w->s, err));
	}
	ux_json_array_end(j);
	ux_json_key(j, "threads");
	ux_json_array_begin(j);
	for (size_t i = 0, end = 0; i < p->samples.size; i = end) {
		uint32_t thread = p->samples.data[w->order[i]].thread;
		while (end < p->samples.size && p->samples.data[w->order[end]].thread == thread)
			end++;
		UX_TRY(firefox_put_thread(w, i, end, err));
	}
	ux_json_array_end(j);
	ux_json_object_end(j);
	ux_out_u8(&w->s->out, '\n');
	return ux_stream_flush(w->s, err);
}

enum ux_code ux_firefox_write(const struct ux_profile *p, const struct ux_viewer_options *options,
			      struct ux_stream *s, struct ux_error *err)
{
	struct firefox w = {.p = p, .options = options, .s = s, .json = ux_json_make(&s->out)};
	enum ux_code code = firefox_put_profile(&w, err);
	firefox_deinit(&w);
	return code;
}
