/* SPDX-License-Identifier: Apache-2.0 */
/* Reading profiles of the Firefox Profiler. */
#include "firefox.h"

#include "text.h"

#define SECTION "Firefox profile"

enum {
	FIREFOX_LIBRARY = 1, /* type of a resource */
	FIREFOX_SETS_MAX = 1 << 20,
};

/* Keys that are read of a thread, or of the shared object. */
enum firefox_key {
	FIREFOX_STRINGS,
	FIREFOX_FRAMES,
	FIREFOX_FUNCTIONS,
	FIREFOX_RESOURCES,
	FIREFOX_STACKS,
	FIREFOX_NATIVES,
	FIREFOX_SAMPLES,
	FIREFOX_NAME,
	FIREFOX_PID,
	FIREFOX_TID,
	FIREFOX_KEYS,
};

static const char *const firefox_keys[FIREFOX_KEYS] = {
	[FIREFOX_STRINGS] = "stringArray",
	[FIREFOX_FRAMES] = "frameTable",
	[FIREFOX_FUNCTIONS] = "funcTable",
	[FIREFOX_RESOURCES] = "resourceTable",
	[FIREFOX_STACKS] = "stackTable",
	[FIREFOX_NATIVES] = "nativeSymbols",
	[FIREFOX_SAMPLES] = "samples",
	[FIREFOX_NAME] = "name",
	[FIREFOX_PID] = "pid",
	[FIREFOX_TID] = "tid",
};

/* The state of reading. */
struct firefox_reader {
	struct ux_firefox *file;
	struct ux_profile *profile;
	struct ux_cur libs; /* each at its value */
	struct ux_cur threads;
	struct ux_firefox_numbers modules; /* the profile's module for each library */
	size_t shared_tables;              /* number plus 1; 0: there are no shared tables */
	size_t shared_strings;
	double start_ms; /* wall clock */
	struct ux_out text;
};

static void firefox_reader_deinit(struct firefox_reader *r)
{
	ux_firefox_numbers_deinit(&r->modules);
	ux_out_deinit(&r->text);
}

void ux_firefox_close(struct ux_firefox *f)
{
	for (size_t i = 0; i < f->strings.size; i++) {
		ux_firefox_texts_deinit(&f->strings.data[i].texts);
		ux_firefox_numbers_deinit(&f->strings.data[i].numbers);
	}
	for (size_t i = 0; i < f->tables.size; i++) {
		struct ux_firefox_tables *t = &f->tables.data[i];
		ux_firefox_numbers_deinit(&t->func);
		ux_firefox_numbers_deinit(&t->depth);
		ux_firefox_numbers_deinit(&t->name);
		ux_firefox_numbers_deinit(&t->resource);
		ux_firefox_numbers_deinit(&t->prefix);
		ux_firefox_numbers_deinit(&t->frame);
		free(t->stacks);
	}
	ux_firefox_string_tables_deinit(&f->strings);
	ux_firefox_table_sets_deinit(&f->tables);
}

/* --- JSON ------------------------------------------------------------------------------------- */

bool ux_firefox_is(struct ux_bytes json)
{
	static const char *const keys[] = {"meta", "libs", "threads"};
	struct ux_cur c = ux_cur_make(json, SECTION, false);
	struct ux_json_text key;
	size_t n = 0, found = 0;
	while (ux_json_read_member(&c, &n, &key)) {
		for (size_t i = 0; i < ux_countof(keys); i++)
			found += ux_json_text_eq(key, keys[i]);
		if (found >= 2) /* the reader reports a damaged end */
			return true;
		(void)ux_json_skip(&c);
	}
	return false;
}

/* Sets the values of n keys of the object at a cursor; zeroed for a key that is absent or null. */
static void firefox_index(struct ux_cur object, const char *const *names, size_t n,
			  struct ux_cur *ret)
{
	struct ux_json_text key;
	size_t passed = 0;
	memset(ret, 0, n * sizeof(*ret));
	if (ux_json_peek(&object) != UX_JSON_OBJECT)
		return;
	while (ux_json_read_member(&object, &passed, &key)) {
		enum ux_json_kind kind = ux_json_peek(&object);
		for (size_t i = 0; kind != UX_JSON_NULL && i < n; i++)
			if (ux_json_text_eq(key, names[i]))
				ret[i] = object;
		(void)ux_json_skip(&object);
	}
}

/* Sets the value of one key. False: it is absent or null. */
static bool firefox_find(struct ux_cur object, const char *name, struct ux_cur *ret)
{
	firefox_index(object, &name, 1, ret);
	return ret->pos != NULL;
}

static enum ux_code firefox_bad(struct ux_cur at, const char *what, struct ux_error *err)
{
	ux_json_expected(&at, what);
	return ux_cur_status(&at, err);
}

static enum ux_code firefox_lacks(struct ux_cur object, const char *name, struct ux_error *err)
{
	return ux_error_at(err, UX_ECORRUPT, SECTION, ux_cur_off(&object),
			   "expected an object with the key \"%s\"", name);
}

/* Sets the value of a key that an object must have. */
static enum ux_code firefox_get(struct ux_cur object, const char *name, struct ux_cur *ret,
				struct ux_error *err)
{
	return firefox_find(object, name, ret) ? UX_OK : firefox_lacks(object, name, err);
}

/* Reads a column of row numbers below `max`; null and -1 become UX_FIREFOX_NONE. */
static enum ux_code firefox_read_column(struct ux_cur table, const char *name, uint64_t max,
					struct ux_firefox_numbers *ret, struct ux_error *err)
{
	struct ux_cur c;
	size_t n = 0;
	UX_TRY(firefox_get(table, name, &c, err));
	while (ux_json_read_element(&c, &n)) {
		uint64_t value = 0;
		bool negative = false, null = ux_json_peek(&c) == UX_JSON_NULL;
		struct ux_cur at = c;
		if (null)
			(void)ux_json_skip(&c);
		else if (!ux_json_integer(ux_json_read_number(&c), &value, &negative) && !c.failed)
			return firefox_bad(at, "expected an integer", err);
		if (null || (negative && value == UINT64_MAX))
			value = UX_FIREFOX_NONE;
		else if (negative || value >= max)
			return ux_error_at(err, UX_ECORRUPT, SECTION, ux_cur_off(&at),
					   "\"%s\" has row %" PRId64 " of %" PRIu64, name,
					   (int64_t)value, max);
		if (!ux_firefox_numbers_append(ret, (uint32_t)value))
			return ux_error_nomem(err);
	}
	return ux_cur_status(&c, err);
}

/* Columns of one table have the same length. */
static enum ux_code firefox_check_length(struct ux_cur table, size_t n, size_t m,
					 struct ux_error *err)
{
	if (n == m)
		return UX_OK;
	return ux_error_at(err, UX_ECORRUPT, SECTION, ux_cur_off(&table),
			   "columns of one table have %zu and %zu rows", n, m);
}

/* --- strings ---------------------------------------------------------------------------------- */

static enum ux_code firefox_read_strings(struct firefox_reader *r, struct ux_cur c, size_t *ret,
					 struct ux_error *err)
{
	struct ux_firefox_strings strings = {.at = c.pos};
	size_t n = 0;
	*ret = r->file->strings.size;
	if (!ux_firefox_string_tables_append(&r->file->strings, strings))
		return ux_error_nomem(err);
	struct ux_firefox_strings *s = &r->file->strings.data[*ret];
	while (ux_json_read_element(&c, &n))
		if (!ux_firefox_texts_append(&s->texts, ux_json_read_text(&c)) ||
		    !ux_firefox_numbers_append(&s->numbers, 0))
			return ux_error_nomem(err);
	return ux_cur_status(&c, err);
}

/* Sets the index that a JSON string has in the profile. */
static enum ux_code firefox_text(struct firefox_reader *r, struct ux_json_text text, uint32_t *ret,
				 struct ux_error *err)
{
	ux_out_reset(&r->text);
	ux_json_unescape(text, &r->text);
	UX_TRY(ux_out_status(&r->text, err));
	return ux_profile_string(r->profile, ux_out_bytes(&r->text), ret, err);
}

/* Sets the index that a row of a table of strings has in the profile. */
static enum ux_code firefox_string(struct firefox_reader *r, size_t strings, uint32_t row,
				   uint32_t *ret, struct ux_error *err)
{
	struct ux_firefox_strings *s = &r->file->strings.data[strings];
	if (s->numbers.data[row] == 0) {
		UX_TRY(firefox_text(r, s->texts.data[row], &s->numbers.data[row], err));
		s->numbers.data[row]++;
	}
	*ret = s->numbers.data[row] - 1;
	return UX_OK;
}

/* --- libraries -------------------------------------------------------------------------------- */

static enum ux_code firefox_read_library(struct firefox_reader *r, struct ux_cur lib,
					 struct ux_error *err)
{
	struct ux_profile_module m = {0};
	struct ux_cur c;
	uint32_t text = 0, number = 0;
	if (firefox_find(lib, "path", &c) || firefox_find(lib, "name", &c)) {
		struct ux_cur at = c;
		UX_TRY(firefox_text(r, ux_json_read_text(&c), &m.path, err));
		if (c.failed)
			return firefox_bad(at, "expected a string", err);
	}
	if (firefox_find(lib, "codeId", &c)) {
		UX_TRY(firefox_text(r, ux_json_read_text(&c), &text, err));
		if (ux_id_parse(ux_profile_text(r->profile, text), &m.id, NULL) != UX_OK)
			m.id = (struct ux_id){0}; /* an ID of another system */
	}
	if (m.id.size == 0 && firefox_find(lib, "breakpadId", &c))
		UX_TRY(firefox_text(r, ux_json_read_text(&c), &m.debug_id, err));
	if (ux_bytes_eq(ux_profile_text(r->profile, m.path), UX_STR("[vdso]")))
		m.kind = UX_PROFILE_VDSO;
	UX_TRY(ux_profile_add_module(r->profile, m, &number, err));
	return ux_firefox_numbers_append(&r->modules, number) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code firefox_read_libraries(struct firefox_reader *r, struct ux_error *err)
{
	struct ux_cur c = r->libs;
	size_t n = 0;
	while (ux_json_read_element(&c, &n)) {
		struct ux_cur lib = c;
		(void)ux_json_skip(&c);
		if (!c.failed)
			UX_TRY(firefox_read_library(r, lib, err));
	}
	return ux_cur_status(&c, err);
}

/* --- frames and stacks ------------------------------------------------------------------------ */

/* Columns that only reading the frames needs. */
struct firefox_frames {
	struct ux_firefox_numbers module; /* for each resource: its module; 0: none */
	struct ux_firefox_numbers file;   /* for each function: string of its file */
};

static void firefox_frames_deinit(struct firefox_frames *f)
{
	ux_firefox_numbers_deinit(&f->module);
	ux_firefox_numbers_deinit(&f->file);
}

static enum ux_code firefox_read_resources(struct firefox_reader *r, struct ux_cur table,
					   struct firefox_frames *ret, struct ux_error *err)
{
	ux_cleanup(ux_firefox_numbers_deinit) struct ux_firefox_numbers type = {0};
	UX_TRY(firefox_read_column(table, "lib", r->modules.size, &ret->module, err));
	UX_TRY(firefox_read_column(table, "type", UX_FIREFOX_NONE, &type, err));
	UX_TRY(firefox_check_length(table, ret->module.size, type.size, err));
	for (size_t i = 0; i < type.size; i++) {
		uint32_t *module = &ret->module.data[i];
		bool is = *module != UX_FIREFOX_NONE && type.data[i] == FIREFOX_LIBRARY;
		*module = is ? r->modules.data[*module] : 0;
	}
	return UX_OK;
}

/* Adds the location of a frame. */
static enum ux_code firefox_add_frame(struct firefox_reader *r, const struct ux_firefox_tables *t,
				      const struct firefox_frames *frames, size_t row,
				      uint64_t address, uint32_t line, struct ux_error *err)
{
	struct ux_profile_location location = {.kind = UX_PROFILE_NO_ADDRESS};
	struct ux_profile_frame frame = {.line = line};
	uint32_t func = t->func.data[row], number = 0;
	uint32_t resource = t->resource.data[func], name = t->name.data[func];
	const struct ux_firefox_strings *strings = &r->file->strings.data[t->strings];
	if (resource != UX_FIREFOX_NONE)
		location.module = frames->module.data[resource];
	if (location.module != 0 && address != UINT64_MAX) {
		location.kind = UX_PROFILE_RELATIVE;
		location.address = address;
	}
	location.named = location.kind == UX_PROFILE_NO_ADDRESS ||
			 ux_profile_is_name(strings->texts.data[name].raw);
	UX_TRY(ux_profile_add_location(r->profile, location, &number, err));
	if (!location.named)
		return UX_OK;
	UX_TRY(firefox_string(r, t->strings, name, &frame.name, err));
	if (func < frames->file.size && frames->file.data[func] != UX_FIREFOX_NONE)
		UX_TRY(firefox_string(r, t->strings, frames->file.data[func], &frame.file, err));
	frame.inlined = row < t->depth.size && t->depth.data[row] != UX_FIREFOX_NONE &&
			t->depth.data[row] > 0;
	return ux_profile_name(r->profile, number, &frame, 1, err);
}

static enum ux_code firefox_read_frames(struct firefox_reader *r, const struct ux_cur *values,
					struct ux_firefox_tables *t, struct ux_error *err)
{
	ux_cleanup(firefox_frames_deinit) struct firefox_frames frames = {0};
	ux_cleanup(ux_firefox_numbers_deinit) struct ux_firefox_numbers lines = {0};
	struct ux_cur table = values[FIREFOX_FUNCTIONS], c, unused;
	size_t n_strings = r->file->strings.data[t->strings].texts.size, n = 0;
	UX_TRY(firefox_read_resources(r, values[FIREFOX_RESOURCES], &frames, err));
	UX_TRY(firefox_read_column(table, "name", n_strings, &t->name, err));
	UX_TRY(firefox_read_column(table, "resource", frames.module.size, &t->resource, err));
	UX_TRY(firefox_check_length(table, t->name.size, t->resource.size, err));
	if (firefox_find(table, "fileName", &unused))
		UX_TRY(firefox_read_column(table, "fileName", n_strings, &frames.file, err));
	for (size_t i = 0; i < t->name.size; i++)
		if (t->name.data[i] == UX_FIREFOX_NONE)
			return firefox_bad(table, "a function has no name", err);
	table = values[FIREFOX_FRAMES];
	UX_TRY(firefox_read_column(table, "func", t->name.size, &t->func, err));
	if (firefox_find(table, "inlineDepth", &unused))
		UX_TRY(firefox_read_column(table, "inlineDepth", UX_FIREFOX_NONE, &t->depth, err));
	if (firefox_find(table, "line", &unused))
		UX_TRY(firefox_read_column(table, "line", UX_FIREFOX_NONE, &lines, err));
	t->first_location = (uint32_t)r->profile->locations.size;
	UX_TRY(firefox_get(table, "address", &c, err));
	while (ux_json_read_element(&c, &n)) {
		uint64_t address = 0;
		bool negative = false;
		struct ux_cur at = c;
		if (n > t->func.size || t->func.data[n - 1] == UX_FIREFOX_NONE)
			return firefox_bad(at, "a frame has no function", err);
		if (!ux_json_integer(ux_json_read_number(&c), &address, &negative) && !c.failed)
			return firefox_bad(at, "expected an integer", err);
		uint32_t line = n <= lines.size && lines.data[n - 1] != UX_FIREFOX_NONE
					? lines.data[n - 1]
					: 0;
		UX_TRY(firefox_add_frame(r, t, &frames, n - 1, negative ? UINT64_MAX : address,
					 line, err));
	}
	UX_TRY(ux_cur_status(&c, err));
	return firefox_check_length(table, n, t->func.size, err);
}

static enum ux_code firefox_read_stacks(struct firefox_reader *r, struct ux_cur table,
					struct ux_firefox_tables *t, struct ux_error *err)
{
	UX_TRY(firefox_read_column(table, "prefix", UX_FIREFOX_NONE, &t->prefix, err));
	UX_TRY(firefox_read_column(table, "frame", t->func.size, &t->frame, err));
	UX_TRY(firefox_check_length(table, t->prefix.size, t->frame.size, err));
	t->stacks = calloc(t->prefix.size + 1, sizeof(*t->stacks));
	if (!t->stacks)
		return ux_error_nomem(err);
	for (size_t i = 0; i < t->prefix.size; i++) {
		uint32_t prefix = t->prefix.data[i], frame = t->frame.data[i];
		if (prefix != UX_FIREFOX_NONE && prefix >= i)
			return ux_error_at(err, UX_ECORRUPT, SECTION, ux_cur_off(&table),
					   "stack %zu precedes its prefix %" PRIu32, i, prefix);
		if (frame == UX_FIREFOX_NONE)
			return firefox_bad(table, "a stack has no frame", err);
		UX_TRY(ux_profile_push(r->profile,
				       prefix == UX_FIREFOX_NONE ? 0 : t->stacks[prefix],
				       t->first_location + frame, &t->stacks[i], err));
	}
	return UX_OK;
}

/* Counts the native symbols, if there is such a table. */
static enum ux_code firefox_read_natives(struct ux_cur table, struct ux_firefox_tables *t,
					 struct ux_error *err)
{
	struct ux_cur c;
	if (!table.pos || !firefox_find(table, "address", &c))
		return UX_OK;
	while (ux_json_read_element(&c, &t->n_natives))
		(void)ux_json_skip(&c);
	t->natives = true;
	return ux_cur_status(&c, err);
}

/* Reads the tables of an object; *ret is their number plus 1; 0: it has none. */
static enum ux_code firefox_read_tables(struct firefox_reader *r, struct ux_cur object,
					const struct ux_cur *values, size_t *ret,
					struct ux_error *err)
{
	struct ux_firefox_tables tables = {.at = object.pos};
	*ret = 0;
	if (values[FIREFOX_STRINGS].pos) {
		UX_TRY(firefox_read_strings(r, values[FIREFOX_STRINGS], &tables.strings, err));
		r->shared_strings = tables.strings + 1;
	}
	if (!values[FIREFOX_FRAMES].pos)
		return UX_OK;
	for (size_t i = FIREFOX_FUNCTIONS; i <= FIREFOX_STACKS; i++)
		if (!values[i].pos)
			return firefox_lacks(object, firefox_keys[i], err);
	if (r->shared_strings == 0)
		return firefox_lacks(object, firefox_keys[FIREFOX_STRINGS], err);
	tables.strings = r->shared_strings - 1;
	if (r->file->tables.size >= FIREFOX_SETS_MAX)
		return ux_error_at(err, UX_ELIMIT, SECTION, ux_cur_off(&object),
				   "the profile has more than %d threads", FIREFOX_SETS_MAX);
	if (!ux_firefox_table_sets_append(&r->file->tables, tables))
		return ux_error_nomem(err);
	*ret = r->file->tables.size;
	UX_TRY(firefox_read_natives(values[FIREFOX_NATIVES], &r->file->tables.data[*ret - 1], err));
	UX_TRY(firefox_read_frames(r, values, &r->file->tables.data[*ret - 1], err));
	return firefox_read_stacks(r, values[FIREFOX_STACKS], &r->file->tables.data[*ret - 1], err);
}

/* --- samples ---------------------------------------------------------------------------------- */

static const struct {
	const char *weight;
	const char *name;
	const char *unit;
	double factor;
} firefox_weights[] = {
	{"samples", "samples", "count", 1},
	{"tracing-ms", "time", "nanoseconds", 1e6},
	{"bytes", "space", "bytes", 1},
};

/* Returns the index of the weights of a table of samples. */
static size_t firefox_weight(struct ux_cur samples)
{
	struct ux_cur c;
	size_t i = 0;
	if (!firefox_find(samples, "weightType", &c))
		return 0;
	struct ux_json_text text = ux_json_read_text(&c);
	while (i < ux_countof(firefox_weights) && !ux_json_text_eq(text, firefox_weights[i].weight))
		i++;
	return i < ux_countof(firefox_weights) ? i : 0;
}

/* Sets the index of the value type of a weight; adds the type if it is new. */
static enum ux_code firefox_type(struct firefox_reader *r, size_t weight, size_t *ret,
				 struct ux_error *err)
{
	struct ux_profile *p = r->profile;
	struct ux_profile_type type = {0};
	UX_TRY(ux_profile_string(p, ux_bytes_cstr(firefox_weights[weight].name), &type.name, err));
	UX_TRY(ux_profile_string(p, ux_bytes_cstr(firefox_weights[weight].unit), &type.unit, err));
	for (*ret = 0; *ret < p->n_types; ++*ret)
		if (p->types[*ret].name == type.name)
			return UX_OK;
	p->types[p->n_types++] = type;
	return UX_OK;
}

/* Reads the next number of a column that may be absent or shorter. */
static double firefox_next_number(struct ux_cur *c, size_t *n, double missing)
{
	double value = missing;
	if (!c->pos || !ux_json_read_element(c, n))
		return missing;
	if (ux_json_peek(c) == UX_JSON_NUMBER)
		(void)ux_json_double(ux_json_read_number(c), &value);
	else
		(void)ux_json_skip(c);
	return value;
}

static int64_t firefox_integer(double value)
{
	static const double max = 9.2e18;
	return value >= -max && value <= max ? (int64_t)value : 0;
}

static enum ux_code firefox_read_samples(struct firefox_reader *r, struct ux_cur samples,
					 const struct ux_firefox_tables *t, uint32_t thread,
					 struct ux_error *err)
{
	ux_cleanup(ux_firefox_numbers_deinit) struct ux_firefox_numbers stacks = {0};
	struct ux_cur weights = {0}, times = {0};
	size_t weight = firefox_weight(samples), type = 0, n_weights = 0, n_times = 0;
	double clock = 0;
	UX_TRY(firefox_type(r, weight, &type, err));
	UX_TRY(firefox_read_column(samples, "stack", t->prefix.size, &stacks, err));
	if (!firefox_find(samples, "weight", &weights))
		weights = (struct ux_cur){0};
	bool deltas = firefox_find(samples, "timeDeltas", &times);
	if (!deltas && !firefox_find(samples, "time", &times))
		times = (struct ux_cur){0};
	for (size_t i = 0; i < stacks.size; i++) {
		int64_t values[UX_PROFILE_VALUES_MAX] = {0};
		double value = firefox_next_number(&weights, &n_weights, 1);
		double time = firefox_next_number(&times, &n_times, 0);
		clock = deltas ? clock + time : time;
		values[type] = firefox_integer(value * firefox_weights[weight].factor);
		if (stacks.data[i] == UX_FIREFOX_NONE)
			continue;
		int64_t ns = firefox_integer((r->start_ms + clock) * 1e6);
		UX_TRY(ux_profile_add_sample(r->profile, thread, t->stacks[stacks.data[i]],
					     (uint64_t)ux_max(ns, (int64_t)0), values, err));
	}
	UX_TRY(ux_cur_status(&weights, err));
	return ux_cur_status(&times, err);
}

/* Returns the number that a text begins with, or a number itself; 0: absent. */
static uint32_t firefox_number(struct ux_cur c)
{
	uint64_t value = 0;
	if (!c.pos)
		return 0;
	struct ux_bytes text =
		ux_json_peek(&c) == UX_JSON_STRING ? ux_json_read_text(&c).raw : ux_json_skip(&c);
	return ux_digits_parse(text, 10, &value) > 0 && value <= UINT32_MAX ? (uint32_t)value : 0;
}

static enum ux_code firefox_read_thread(struct firefox_reader *r, struct ux_cur object,
					struct ux_error *err)
{
	struct ux_cur values[FIREFOX_KEYS];
	size_t tables = 0;
	uint32_t number = 0;
	firefox_index(object, firefox_keys, FIREFOX_KEYS, values);
	struct ux_profile_thread thread = {.pid = firefox_number(values[FIREFOX_PID]),
					   .tid = firefox_number(values[FIREFOX_TID])};
	struct ux_cur *name = &values[FIREFOX_NAME];
	UX_TRY(firefox_read_tables(r, object, values, &tables, err));
	if (tables == 0)
		tables = r->shared_tables;
	if (tables == 0)
		return firefox_lacks(object, firefox_keys[FIREFOX_FRAMES], err);
	if (name->pos && ux_json_peek(name) == UX_JSON_STRING)
		UX_TRY(firefox_text(r, ux_json_read_text(name), &thread.comm, err));
	UX_TRY(ux_profile_add_thread(r->profile, thread, &number, err));
	if (!values[FIREFOX_SAMPLES].pos)
		return UX_OK;
	return firefox_read_samples(r, values[FIREFOX_SAMPLES], &r->file->tables.data[tables - 1],
				    number, err);
}

/* All types must be known before the first sample. */
static enum ux_code firefox_read_types(struct firefox_reader *r, struct ux_error *err)
{
	struct ux_cur c = r->threads, samples;
	size_t n = 0, type = 0;
	while (ux_json_read_element(&c, &n)) {
		if (firefox_find(c, "samples", &samples))
			UX_TRY(firefox_type(r, firefox_weight(samples), &type, err));
		(void)ux_json_skip(&c);
	}
	return ux_cur_status(&c, err);
}

static enum ux_code firefox_read_threads(struct firefox_reader *r, struct ux_error *err)
{
	struct ux_cur c = r->threads;
	size_t n = 0, shared_strings = r->shared_strings;
	while (ux_json_read_element(&c, &n)) {
		(void)ux_json_peek(&c);
		struct ux_cur thread = c;
		(void)ux_json_skip(&c);
		r->shared_strings = shared_strings;
		if (!c.failed)
			UX_TRY(firefox_read_thread(r, thread, err));
	}
	return ux_cur_status(&c, err);
}

/* --- the whole profile ------------------------------------------------------------------------ */

static void firefox_read_meta(struct firefox_reader *r, struct ux_cur meta)
{
	struct ux_cur c;
	if (firefox_find(meta, "startTime", &c) && ux_json_peek(&c) == UX_JSON_NUMBER)
		(void)ux_json_double(ux_json_read_number(&c), &r->start_ms);
	int64_t start = firefox_integer(r->start_ms * 1e6);
	r->profile->start_ns = (uint64_t)ux_max(start, (int64_t)0);
}

/* Counts the source files of the shared object. */
static enum ux_code firefox_read_sources(struct firefox_reader *r, struct ux_cur shared,
					 struct ux_error *err)
{
	struct ux_firefox *f = r->file;
	struct ux_cur c;
	if (!firefox_find(shared, "sources", &c) || r->shared_strings == 0)
		return UX_OK;
	UX_TRY(firefox_get(c, "filename", &c, err));
	f->sources = true;
	f->source_strings = r->shared_strings - 1;
	while (ux_json_read_element(&c, &f->n_sources))
		(void)ux_json_skip(&c);
	return ux_cur_status(&c, err);
}

enum ux_code ux_firefox_read(struct ux_firefox *f, struct ux_bytes json, struct ux_profile *p,
			     struct ux_error *err)
{
	ux_cleanup(firefox_reader_deinit) struct firefox_reader r = {.file = f, .profile = p};
	struct ux_cur whole = ux_cur_make(json, SECTION, false), c = whole;
	*f = (struct ux_firefox){.bytes = json};
	(void)ux_json_skip(&c); /* from here on it is valid JSON */
	ux_json_read_end(&c);
	UX_TRY(ux_cur_status(&c, err));
	UX_TRY(firefox_get(whole, "libs", &r.libs, err));
	UX_TRY(firefox_get(whole, "threads", &r.threads, err));
	if (firefox_find(whole, "meta", &c))
		firefox_read_meta(&r, c);
	UX_TRY(firefox_read_libraries(&r, err));
	if (firefox_find(whole, "shared", &c)) {
		struct ux_cur values[FIREFOX_KEYS];
		firefox_index(c, firefox_keys, FIREFOX_KEYS, values);
		f->shared = c.pos;
		UX_TRY(firefox_read_tables(&r, c, values, &r.shared_tables, err));
		UX_TRY(firefox_read_sources(&r, c, err));
	}
	UX_TRY(firefox_read_types(&r, err));
	return firefox_read_threads(&r, err);
}
