/* SPDX-License-Identifier: Apache-2.0 */
/* Adding names to profiles of the Firefox Profiler. */
#include "firefox.h"

#include "demangle.h"
#include "function_key.h"
#include "json_out.h"

/* A function that is added. */
struct firefox_function {
	uint32_t name;     /* row of a string */
	uint32_t resource; /* UX_FIREFOX_NONE: none */
	uint32_t file;     /* row of a string; UX_FIREFOX_NONE: unknown */
	uint32_t source;   /* row of a source; UX_FIREFOX_NONE: unknown, or there are none */
};

/* A frame that is added: an inlined call. */
struct firefox_inlined {
	uint32_t origin; /* row of its caller's frame, which is not inlined */
	uint32_t depth;
	uint32_t func;
	uint32_t line; /* 0: unknown */
};

/* A native symbol that is added: where the code of a function begins. */
struct firefox_symbol {
	uint32_t library;
	uint32_t name;    /* row of a string */
	uint64_t address; /* from the start of the library's image */
};

UX_VEC(firefox_functions, struct firefox_function);
UX_VEC(firefox_symbols, struct firefox_symbol);
UX_VEC(firefox_inlined_frames, struct firefox_inlined);
UX_VEC(firefox_values, struct ux_bytes);

/* Additions to a set of tables. */
struct firefox_names {
	const struct ux_firefox_tables *tables;
	uint32_t *func;   /* malloc'ed: new function of each frame of the file */
	uint32_t *line;   /* malloc'ed: new line of each frame; UX_FIREFOX_NONE: unchanged */
	uint32_t *symbol; /* malloc'ed: row of each frame's native symbol; UX_FIREFOX_NONE:
			     unchanged */
	uint32_t *more;   /* malloc'ed: index in `frames` of each frame's first inlined call */
	uint32_t *row;    /* malloc'ed: new row of each stack of the file; NULL: unchanged */
	uint32_t n_stacks;
	struct firefox_functions functions;
	struct firefox_inlined_frames frames;
	struct firefox_symbols symbols;
	struct ux_function_places places;   /* places of added functions */
	struct ux_profile_places symbol_of; /* row of an added native symbol */
};

/* The state of writing. Input before `copied` is already in the output. */
struct firefox_writer {
	const struct ux_firefox *file;
	const struct ux_profile *profile;
	struct ux_cur c;
	const uint8_t *copied;
	struct ux_out *out;
	struct firefox_names *names; /* malloc'ed: one for each set of tables */
	struct ux_strings *strings; /* malloc'ed: strings added to each table; number 0 is unused */
	struct ux_firefox_numbers sources;   /* added sources: rows of their names */
	struct ux_profile_numbers source_of; /* row of the source with a name */
	struct firefox_values values;
	struct ux_out text;
	size_t next_strings; /* the next table of strings in the text */
	bool any;            /* something is added */
};

static void firefox_writer_deinit(struct firefox_writer *w)
{
	for (size_t i = 0; w->names && i < w->file->tables.size; i++) {
		struct firefox_names *n = &w->names[i];
		free(n->func);
		free(n->line);
		free(n->symbol);
		free(n->more);
		free(n->row);
		firefox_functions_deinit(&n->functions);
		firefox_inlined_frames_deinit(&n->frames);
		firefox_symbols_deinit(&n->symbols);
		ux_function_places_deinit(&n->places);
		ux_profile_places_deinit(&n->symbol_of);
	}
	for (size_t i = 0; w->strings && i < w->file->strings.size; i++)
		ux_strings_deinit(&w->strings[i]);
	free(w->names);
	free(w->strings);
	ux_firefox_numbers_deinit(&w->sources);
	ux_profile_numbers_deinit(&w->source_of);
	firefox_values_deinit(&w->values);
	ux_out_deinit(&w->text);
}

/* --- additions -------------------------------------------------------------------------------- */

/* Sets the row of a string; adds the string if it is new. */
static enum ux_code firefox_add_string(struct firefox_writer *w, size_t strings,
				       struct ux_bytes text, uint32_t *ret, struct ux_error *err)
{
	UX_TRY(ux_strings_add(&w->strings[strings], text, ret, err));
	*ret += (uint32_t)w->file->strings.data[strings].texts.size - 1;
	return UX_OK;
}

/* Sets the row of a source file; adds the file if it is new. */
static enum ux_code firefox_add_source(struct firefox_writer *w, uint32_t name, uint32_t *ret,
				       struct ux_error *err)
{
	bool fresh = false;
	uint32_t *row = ux_profile_numbers_insert(&w->source_of, name, &fresh);
	if (!row)
		return ux_error_nomem(err);
	if (fresh) {
		*row = (uint32_t)(w->file->n_sources + w->sources.size);
		if (!ux_firefox_numbers_append(&w->sources, name))
			return ux_error_nomem(err);
	}
	*ret = *row;
	return UX_OK;
}

static enum ux_code firefox_add_function(struct firefox_writer *w, struct firefox_names *names,
					 const struct ux_profile_frame *frame, uint32_t resource,
					 uint32_t *ret, struct ux_error *err)
{
	const struct ux_profile *p = w->profile;
	size_t strings = names->tables->strings;
	struct firefox_function f = {
		.resource = resource, .file = UX_FIREFOX_NONE, .source = UX_FIREFOX_NONE};
	bool fresh = false;
	ux_out_reset(&w->text);
	if (frame->name != 0)
		ux_out_put(&w->text, ux_profile_text(p, frame->name).data,
			   ux_profile_text(p, frame->name).size);
	else
		ux_demangle(ux_profile_text(p, frame->linkage), UX_DEMANGLE_FULL, &w->text);
	UX_TRY(ux_out_status(&w->text, err));
	UX_TRY(firefox_add_string(w, strings, ux_out_bytes(&w->text), &f.name, err));
	if (frame->file != 0)
		UX_TRY(firefox_add_string(w, strings, ux_profile_text(p, frame->file), &f.file,
					  err));
	if (frame->file != 0 && w->file->sources && strings == w->file->source_strings)
		UX_TRY(firefox_add_source(w, f.file, &f.source, err));
	struct ux_function_key key = {f.name, f.resource, f.file, 0};
	uint32_t *place = ux_function_places_insert(&names->places, key, &fresh);
	if (!place)
		return ux_error_nomem(err);
	if (fresh) {
		*place = (uint32_t)(names->tables->name.size + names->functions.size);
		if (!firefox_functions_append(&names->functions, f))
			return ux_error_nomem(err);
	}
	*ret = *place;
	return UX_OK;
}

/* Adds the native symbol of a frame if the start of its function is known: from there the Profiler
 * requests instructions. Libraries are the first modules of the profile. */
static enum ux_code firefox_add_symbol(struct firefox_writer *w, struct firefox_names *names,
				       uint32_t row, struct ux_error *err)
{
	const struct ux_firefox_tables *t = names->tables;
	uint32_t location = t->first_location + row;
	const struct ux_profile_location *l = &w->profile->locations.data[location];
	const struct ux_profile_module *m = &w->profile->modules.data[l->module];
	uint64_t start = ux_profile_start(w->profile, location);
	bool fresh = false;
	if (!t->natives || l->module == 0 || start == UX_PROFILE_NO_START || !m->has_base ||
	    start < m->base)
		return UX_OK;
	struct ux_profile_place key = {.module = l->module, .address = start - m->base};
	uint32_t *place = ux_profile_places_insert(&names->symbol_of, key, &fresh);
	if (!place)
		return ux_error_nomem(err);
	if (fresh) {
		const struct firefox_function *f =
			&names->functions.data[names->func[row] - t->name.size];
		struct firefox_symbol symbol = {l->module - 1, f->name, key.address};
		*place = (uint32_t)(t->n_natives + names->symbols.size);
		if (!firefox_symbols_append(&names->symbols, symbol))
			return ux_error_nomem(err);
	}
	names->symbol[row] = *place;
	return UX_OK;
}

/* Adds the frames of a location that was named: the function and the calls inlined in it. */
static enum ux_code firefox_add_frames(struct firefox_writer *w, struct firefox_names *names,
				       uint32_t row, const struct ux_profile_location *l,
				       struct ux_error *err)
{
	const struct ux_profile_frame *frames = &w->profile->frames.data[l->first];
	uint32_t resource = names->tables->resource.data[names->func[row]];
	w->any = true;
	names->line[row] = frames[l->n - 1].line;
	UX_TRY(firefox_add_function(w, names, &frames[l->n - 1], resource, &names->func[row], err));
	UX_TRY(firefox_add_symbol(w, names, row, err));
	for (uint32_t depth = 1; depth < l->n; depth++) {
		struct firefox_inlined f = {.origin = row, .depth = depth};
		const struct ux_profile_frame *frame = &frames[l->n - 1 - depth];
		f.line = frame->line;
		UX_TRY(firefox_add_function(w, names, frame, resource, &f.func, err));
		if (!firefox_inlined_frames_append(&names->frames, f))
			return ux_error_nomem(err);
	}
	return UX_OK;
}

/* Returns how many inlined calls a frame has got. */
static uint32_t firefox_inlined_calls(const struct firefox_writer *w,
				      const struct firefox_names *names, uint32_t frame)
{
	const struct ux_profile_location *l =
		&w->profile->locations.data[names->tables->first_location + frame];
	return l->named || l->n == 0 ? 0 : l->n - 1;
}

/* Renumbers the stacks of a set: each is followed by the inlined calls of its frame. */
static enum ux_code firefox_number_stacks(struct firefox_writer *w, struct firefox_names *names,
					  struct ux_error *err)
{
	const struct ux_firefox_tables *t = names->tables;
	uint64_t n = 0;
	names->row = calloc(t->prefix.size + 1, sizeof(*names->row));
	if (!names->row)
		return ux_error_nomem(err);
	for (size_t i = 0; i < t->prefix.size; i++) {
		n += 1 + firefox_inlined_calls(w, names, t->frame.data[i]);
		if (n >= UX_FIREFOX_NONE)
			return ux_error_set(err, UX_ELIMIT, "more than 2^32 stacks");
		names->row[i] = (uint32_t)(n - 1);
	}
	names->n_stacks = (uint32_t)n;
	return UX_OK;
}

static enum ux_code firefox_prepare_tables(struct firefox_writer *w, struct firefox_names *names,
					   struct ux_error *err)
{
	const struct ux_firefox_tables *t = names->tables;
	size_t n = t->func.size;
	names->func = calloc(n + 1, sizeof(*names->func));
	names->line = calloc(n + 1, sizeof(*names->line));
	names->symbol = calloc(n + 1, sizeof(*names->symbol));
	names->more = calloc(n + 1, sizeof(*names->more));
	if (!names->func || !names->line || !names->symbol || !names->more)
		return ux_error_nomem(err);
	for (uint32_t i = 0; i < n; i++) {
		const struct ux_profile_location *l =
			&w->profile->locations.data[t->first_location + i];
		names->func[i] = t->func.data[i];
		names->line[i] = names->symbol[i] = UX_FIREFOX_NONE;
		names->more[i] = (uint32_t)names->frames.size;
		if (l->n > 0 && !l->named)
			UX_TRY(firefox_add_frames(w, names, i, l, err));
	}
	return names->frames.size > 0 ? firefox_number_stacks(w, names, err) : UX_OK;
}

static enum ux_code firefox_prepare(struct firefox_writer *w, struct ux_error *err)
{
	const struct ux_firefox *f = w->file;
	w->names = calloc(f->tables.size + 1, sizeof(*w->names));
	w->strings = calloc(f->strings.size + 1, sizeof(*w->strings));
	if (!w->names || !w->strings)
		return ux_error_nomem(err);
	for (size_t i = 0; i < f->strings.size; i++)
		UX_TRY(ux_strings_init(&w->strings[i], err));
	for (size_t i = 0; i < f->tables.size; i++) {
		w->names[i].tables = &f->tables.data[i];
		UX_TRY(firefox_prepare_tables(w, &w->names[i], err));
	}
	return UX_OK;
}

/* --- tables ----------------------------------------------------------------------------------- */

static void firefox_copy(struct firefox_writer *w, const uint8_t *end)
{
	ux_out_put(w->out, w->copied, (size_t)(end - w->copied));
	w->copied = end;
}

/* Starts to write a replacement of the value at the cursor. */
static void firefox_replace(struct firefox_writer *w)
{
	(void)ux_json_peek(&w->c);
	firefox_copy(w, w->c.pos);
	(void)ux_json_skip(&w->c);
	w->copied = w->c.pos;
}

static void firefox_put_number(struct firefox_writer *w, uint32_t row)
{
	if (row == UX_FIREFOX_NONE)
		ux_out_cstr(w->out, "null");
	else
		ux_out_fmt(w->out, "%" PRIu32, row);
}

static void firefox_put(struct firefox_writer *w, struct ux_bytes value)
{
	ux_out_put(w->out, value.data, value.size);
}

/* Writes a column's value for a row; called for each row of the longer table. */
typedef void firefox_row_fn(struct firefox_writer *w, const struct firefox_names *names,
			    struct ux_json_text column, size_t row);

/*
 * Replaces the table at the cursor, of n_old rows, by one of n rows. Columns that do not have n_old
 * rows stay unchanged.
 */
static enum ux_code firefox_write_table(struct firefox_writer *w, const struct firefox_names *names,
					size_t n_old, size_t n, firefox_row_fn *put,
					struct ux_error *err)
{
	struct ux_json_text key;
	size_t members = 0;
	while (ux_json_read_member(&w->c, &members, &key)) {
		struct ux_cur at = w->c;
		enum ux_json_kind kind = ux_json_peek(&w->c);
		size_t rows = 0;
		w->values.size = 0;
		if (kind == UX_JSON_NUMBER && ux_json_text_eq(key, "length")) {
			firefox_replace(w);
			ux_out_fmt(w->out, "%zu", n);
			continue;
		}
		if (kind != UX_JSON_ARRAY) {
			(void)ux_json_skip(&w->c);
			continue;
		}
		while (ux_json_read_element(&at, &rows))
			if (!firefox_values_append(&w->values, ux_json_skip(&at)))
				return ux_error_nomem(err);
		if (rows != n_old) {
			(void)ux_json_skip(&w->c);
			continue;
		}
		firefox_replace(w);
		for (size_t i = 0; i < n; i++) {
			ux_out_u8(w->out, i == 0 ? '[' : ',');
			put(w, names, key, i);
		}
		ux_out_cstr(w->out, n == 0 ? "[]" : "]");
	}
	return UX_OK;
}

static void firefox_put_frame(struct firefox_writer *w, const struct firefox_names *names,
			      struct ux_json_text column, size_t row)
{
	size_t n = names->tables->func.size;
	const struct firefox_inlined *f = row < n ? NULL : &names->frames.data[row - n];
	bool changed = f || names->line[row] != UX_FIREFOX_NONE;
	uint32_t line = f ? f->line : names->line[row];
	size_t origin = f ? f->origin : row;
	if (ux_json_text_eq(column, "func"))
		firefox_put_number(w, f ? f->func : names->func[row]);
	else if (changed && ux_json_text_eq(column, "line"))
		firefox_put_number(w, line != 0 ? line : UX_FIREFOX_NONE);
	else if (changed && ux_json_text_eq(column, "column"))
		firefox_put_number(w, UX_FIREFOX_NONE);
	else if (names->symbol[origin] != UX_FIREFOX_NONE &&
		 ux_json_text_eq(column, "nativeSymbol") &&
		 ux_bytes_eq(w->values.data[origin], UX_STR("null")))
		firefox_put_number(w, names->symbol[origin]);
	else if (f && ux_json_text_eq(column, "inlineDepth"))
		firefox_put_number(w, f->depth);
	else
		firefox_put(w, w->values.data[origin]);
}

static void firefox_put_function(struct firefox_writer *w, const struct firefox_names *names,
				 struct ux_json_text column, size_t row)
{
	size_t n = names->tables->name.size;
	if (row < n) {
		firefox_put(w, w->values.data[row]);
		return;
	}
	const struct firefox_function *f = &names->functions.data[row - n];
	if (ux_json_text_eq(column, "name"))
		firefox_put_number(w, f->name);
	else if (ux_json_text_eq(column, "resource") && f->resource == UX_FIREFOX_NONE)
		ux_out_cstr(w->out, "-1");
	else if (ux_json_text_eq(column, "resource"))
		firefox_put_number(w, f->resource);
	else if (ux_json_text_eq(column, "fileName"))
		firefox_put_number(w, f->file);
	else if (ux_json_text_eq(column, "source"))
		firefox_put_number(w, f->source);
	else if (ux_json_text_eq(column, "isJS") || ux_json_text_eq(column, "relevantForJS"))
		ux_out_cstr(w->out, "false");
	else
		ux_out_cstr(w->out, "null");
}

/* Symbols have no size: the Profiler requests the code up to the end of the function. */
static void firefox_put_symbol(struct firefox_writer *w, const struct firefox_names *names,
			       struct ux_json_text column, size_t row)
{
	size_t n = names->tables->n_natives;
	if (row < n) {
		firefox_put(w, w->values.data[row]);
		return;
	}
	const struct firefox_symbol *s = &names->symbols.data[row - n];
	if (ux_json_text_eq(column, "libIndex"))
		firefox_put_number(w, s->library);
	else if (ux_json_text_eq(column, "address"))
		ux_out_fmt(w->out, "%" PRIu64, s->address);
	else if (ux_json_text_eq(column, "name"))
		firefox_put_number(w, s->name);
	else
		ux_out_cstr(w->out, "null");
}

static void firefox_put_source(struct firefox_writer *w, const struct firefox_names *names,
			       struct ux_json_text column, size_t row)
{
	(void)names;
	if (row < w->file->n_sources)
		firefox_put(w, w->values.data[row]);
	else if (ux_json_text_eq(column, "filename"))
		firefox_put_number(w, w->sources.data[row - w->file->n_sources]);
	else if (ux_json_text_eq(column, "startLine") || ux_json_text_eq(column, "startColumn"))
		ux_out_cstr(w->out, "1");
	else
		ux_out_cstr(w->out, "null");
}

/* Writes the stacks: a row of the file becomes the row of the function, followed by a row for each
 * call inlined in it; others refer to the last of these rows. */
static enum ux_code firefox_write_stacks(struct firefox_writer *w,
					 const struct firefox_names *names, struct ux_error *err)
{
	const struct ux_firefox_tables *t = names->tables;
	struct ux_json_text key;
	size_t members = 0;
	while (ux_json_read_member(&w->c, &members, &key)) {
		struct ux_cur at = w->c;
		size_t rows = 0;
		bool is_prefix = ux_json_text_eq(key, "prefix");
		bool is_frame = ux_json_text_eq(key, "frame");
		enum ux_json_kind kind = ux_json_peek(&w->c);
		w->values.size = 0;
		while (kind == UX_JSON_ARRAY && ux_json_read_element(&at, &rows))
			if (!firefox_values_append(&w->values, ux_json_skip(&at)))
				return ux_error_nomem(err);
		if (kind == UX_JSON_NUMBER && ux_json_text_eq(key, "length")) {
			firefox_replace(w);
			ux_out_fmt(w->out, "%" PRIu32, names->n_stacks);
			continue;
		}
		if (kind != UX_JSON_ARRAY || rows != t->prefix.size) {
			(void)ux_json_skip(&w->c);
			continue;
		}
		firefox_replace(w);
		ux_out_u8(w->out, '[');
		for (size_t i = 0; i < rows; i++) {
			uint32_t frame = t->frame.data[i], prefix = t->prefix.data[i];
			uint32_t n = firefox_inlined_calls(w, names, frame);
			prefix = prefix == UX_FIREFOX_NONE ? prefix : names->row[prefix];
			for (uint32_t k = 0; k <= n; k++) {
				if (i + k > 0)
					ux_out_u8(w->out, ',');
				if (is_prefix)
					firefox_put_number(w, k == 0 ? prefix
								     : names->row[i] - n + k - 1);
				else if (is_frame)
					firefox_put_number(w, k == 0 ? frame
								     : (uint32_t)t->func.size +
									       names->more[frame] +
									       k - 1);
				else
					firefox_put(w, w->values.data[i]);
			}
		}
		ux_out_u8(w->out, ']');
	}
	return UX_OK;
}

static void firefox_write_strings(struct firefox_writer *w, const struct ux_strings *added)
{
	const uint8_t *end = NULL;
	size_t n = 0;
	while (ux_json_read_element(&w->c, &n)) {
		(void)ux_json_skip(&w->c);
		end = w->c.pos;
	}
	if (added->list.size < 2 || w->c.failed)
		return;
	firefox_copy(w, n > 0 ? end : w->c.pos - 1);
	for (uint32_t i = 1; i < added->list.size; i++) {
		struct ux_json j = ux_json_make(w->out);
		if (n + i > 1)
			ux_out_u8(w->out, ',');
		ux_json_str(&j, ux_strings_get(added, i));
	}
}

/* --- where stacks are used -------------------------------------------------------------------- */

/* Replaces the number at the cursor by that stack's new row. */
static void firefox_write_stack(struct firefox_writer *w, const struct firefox_names *names)
{
	struct ux_cur at = w->c;
	uint64_t row = 0;
	bool negative = false;
	if (ux_json_peek(&at) == UX_JSON_NUMBER &&
	    ux_json_integer(ux_json_read_number(&at), &row, &negative) && !negative &&
	    row < names->tables->prefix.size) {
		firefox_replace(w);
		firefox_put_number(w, names->row[row]);
		return;
	}
	(void)ux_json_skip(&w->c);
}

/* Writes the column "stack" of a table of samples or allocations. */
static void firefox_write_samples(struct firefox_writer *w, const struct firefox_names *names)
{
	struct ux_json_text key;
	size_t members = 0, n = 0;
	while (ux_json_read_member(&w->c, &members, &key)) {
		if (!ux_json_text_eq(key, "stack") || ux_json_peek(&w->c) != UX_JSON_ARRAY)
			(void)ux_json_skip(&w->c);
		else
			for (n = 0; ux_json_read_element(&w->c, &n);)
				firefox_write_stack(w, names);
	}
}

/* Writes "cause": {"stack": ROW} in the object at the cursor, which is the data of a marker. */
static void firefox_write_cause(struct firefox_writer *w, const struct firefox_names *names)
{
	struct ux_json_text key;
	size_t members = 0, inner = 0;
	while (ux_json_read_member(&w->c, &members, &key)) {
		if (!ux_json_text_eq(key, "cause") || ux_json_peek(&w->c) != UX_JSON_OBJECT) {
			(void)ux_json_skip(&w->c);
			continue;
		}
		for (inner = 0; ux_json_read_member(&w->c, &inner, &key);)
			if (ux_json_text_eq(key, "stack"))
				firefox_write_stack(w, names);
			else
				(void)ux_json_skip(&w->c);
	}
}

static void firefox_write_markers(struct firefox_writer *w, const struct firefox_names *names)
{
	struct ux_json_text key;
	size_t members = 0, n = 0;
	while (ux_json_read_member(&w->c, &members, &key)) {
		if (!ux_json_text_eq(key, "data") || ux_json_peek(&w->c) != UX_JSON_ARRAY) {
			(void)ux_json_skip(&w->c);
			continue;
		}
		for (n = 0; ux_json_read_element(&w->c, &n);)
			if (ux_json_peek(&w->c) == UX_JSON_OBJECT)
				firefox_write_cause(w, names);
			else
				(void)ux_json_skip(&w->c);
	}
}

/* --- the whole profile ------------------------------------------------------------------------ */

/* Returns the tables of the object that begins at a place; NULL: it has none. */
static const struct firefox_names *firefox_names_at(const struct firefox_writer *w,
						    const uint8_t *at, size_t *next)
{
	if (*next < w->file->tables.size && w->file->tables.data[*next].at == at)
		return &w->names[(*next)++];
	return NULL;
}

/* Returns the additions to the table of strings at a place; NULL: there is no such table. */
static const struct ux_strings *firefox_strings_at(struct firefox_writer *w, const uint8_t *at)
{
	const struct ux_firefox_string_tables *tables = &w->file->strings;
	if (tables->size > 0 && tables->data[0].at == at) /* the shared tables of all threads may
							     follow */
		return &w->strings[0];
	while (w->next_strings < tables->size && tables->data[w->next_strings].at < at)
		w->next_strings++;
	return w->next_strings < tables->size && tables->data[w->next_strings].at == at
		       ? &w->strings[w->next_strings]
		       : NULL;
}

/*
 * Writes an object with tables, or one whose samples refer to the shared tables. `own`: its tables;
 * `stacks`: the tables of its samples; each may be NULL.
 */
static enum ux_code firefox_write_object(struct firefox_writer *w, const struct firefox_names *own,
					 const struct firefox_names *stacks, struct ux_error *err)
{
	struct ux_json_text key;
	size_t n = 0;
	while (ux_json_read_member(&w->c, &n, &key)) {
		enum ux_json_kind kind = ux_json_peek(&w->c);
		const struct ux_strings *strings =
			kind == UX_JSON_ARRAY ? firefox_strings_at(w, w->c.pos) : NULL;
		bool object = kind == UX_JSON_OBJECT, moved = object && stacks && stacks->row;
		if (strings)
			firefox_write_strings(w, strings);
		else if (object && own && ux_json_text_eq(key, "frameTable"))
			UX_TRY(firefox_write_table(w, own, own->tables->func.size,
						   own->tables->func.size + own->frames.size,
						   firefox_put_frame, err));
		else if (object && own && ux_json_text_eq(key, "funcTable"))
			UX_TRY(firefox_write_table(w, own, own->tables->name.size,
						   own->tables->name.size + own->functions.size,
						   firefox_put_function, err));
		else if (object && own && own->symbols.size > 0 &&
			 ux_json_text_eq(key, "nativeSymbols"))
			UX_TRY(firefox_write_table(w, own, own->tables->n_natives,
						   own->tables->n_natives + own->symbols.size,
						   firefox_put_symbol, err));
		else if (object && w->sources.size > 0 && ux_json_text_eq(key, "sources"))
			UX_TRY(firefox_write_table(w, own, w->file->n_sources,
						   w->file->n_sources + w->sources.size,
						   firefox_put_source, err));
		else if (object && own && own->row && ux_json_text_eq(key, "stackTable"))
			UX_TRY(firefox_write_stacks(w, own, err));
		else if (moved && (ux_json_text_eq(key, "samples") ||
				   ux_json_text_eq(key, "jsAllocations") ||
				   ux_json_text_eq(key, "nativeAllocations")))
			firefox_write_samples(w, stacks);
		else if (moved && ux_json_text_eq(key, "markers"))
			firefox_write_markers(w, stacks);
		else
			(void)ux_json_skip(&w->c);
	}
	return UX_OK;
}

static enum ux_code firefox_write_threads(struct firefox_writer *w,
					  const struct firefox_names *shared, size_t next,
					  struct ux_error *err)
{
	size_t n = 0;
	while (ux_json_read_element(&w->c, &n)) {
		(void)ux_json_peek(&w->c);
		const struct firefox_names *own = firefox_names_at(w, w->c.pos, &next);
		if (own && own->functions.size == 0)
			own = NULL; /* no additions: unchanged */
		UX_TRY(firefox_write_object(w, own, own ? own : shared, err));
	}
	return UX_OK;
}

static void firefox_write_meta(struct firefox_writer *w)
{
	struct ux_json_text key;
	size_t n = 0;
	while (ux_json_read_member(&w->c, &n, &key)) {
		if (!ux_json_text_eq(key, "symbolicated")) {
			(void)ux_json_skip(&w->c);
			continue;
		}
		firefox_replace(w);
		ux_out_cstr(w->out, "true");
	}
}

static enum ux_code firefox_write(struct firefox_writer *w, struct ux_error *err)
{
	const struct ux_firefox *f = w->file;
	const struct firefox_names *shared = NULL;
	struct ux_json_text key;
	size_t n = 0, first = 0;
	UX_TRY(firefox_prepare(w, err));
	if (f->tables.size > 0 && f->tables.data[0].at == f->shared)
		shared = &w->names[first++];
	while (w->any && ux_json_read_member(&w->c, &n, &key)) {
		enum ux_json_kind kind = ux_json_peek(&w->c);
		if (kind == UX_JSON_OBJECT && w->c.pos == f->shared)
			UX_TRY(firefox_write_object(
				w, shared && shared->functions.size > 0 ? shared : NULL, NULL,
				err));
		else if (kind == UX_JSON_ARRAY && ux_json_text_eq(key, "threads"))
			UX_TRY(firefox_write_threads(w, shared, first, err));
		else if (kind == UX_JSON_OBJECT && ux_json_text_eq(key, "meta"))
			firefox_write_meta(w);
		else
			(void)ux_json_skip(&w->c);
	}
	UX_TRY(ux_cur_status(&w->c, err));
	firefox_copy(w, w->c.end);
	return ux_out_status(w->out, err);
}

enum ux_code ux_firefox_rewrite(const struct ux_firefox *f, const struct ux_profile *p,
				struct ux_out *out, struct ux_error *err)
{
	struct firefox_writer w = {
		.file = f,
		.profile = p,
		.c = ux_cur_make(f->bytes, "Firefox profile", false),
		.copied = f->bytes.data,
		.out = out,
	};
	enum ux_code code = firefox_write(&w, err);
	firefox_writer_deinit(&w);
	return code;
}
