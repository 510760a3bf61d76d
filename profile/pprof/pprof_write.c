/* SPDX-License-Identifier: Apache-2.0 */
/* Writes Profile messages of pprof: a profile of any origin, or the names that the locations of a
 * message have got since it was read. */
#include "pprof.h"

#include "function_table.h"
#include "pprof_fields.h"
#include "pprof_location.h"
#include "protobuf.h"

/* The state of writing. Strings and functions are appended to the message at the end. */
struct pprof_writer {
	const struct ux_profile *profile;
	struct ux_out *out;
	const uint8_t *end;    /* end of the message that is rewritten */
	struct ux_out message; /* the message that is being written */
	struct ux_out inner;   /* a message inside of it */
	struct ux_function_table table;
};

static void pprof_writer_deinit(struct pprof_writer *w)
{
	ux_out_deinit(&w->message);
	ux_out_deinit(&w->inner);
	ux_function_table_deinit(&w->table);
}

/* Parts that all names of a mapping's locations have: the flags of a Mapping. */
struct pprof_has {
	bool functions, filenames, lines, inlines;
};

static void pprof_has_add(struct pprof_has *has, const struct ux_profile *p,
			  const struct ux_profile_location *l)
{
	has->functions = true;
	has->inlines |= l->n > 1;
	if (has->filenames && has->lines) /* a location's frames lie far from the next location's */
		return;
	for (uint32_t i = 0; i < l->n; i++) {
		has->filenames |= p->frames.data[l->first + i].file != 0;
		has->lines |= p->frames.data[l->first + i].line != 0;
	}
}

static void pprof_write_has(struct ux_out *out, struct pprof_has has)
{
	ux_protobuf_put_nonzero(out, PPROF_MAPPING_HAS_FUNCTIONS, has.functions);
	ux_protobuf_put_nonzero(out, PPROF_MAPPING_HAS_FILENAMES, has.filenames);
	ux_protobuf_put_nonzero(out, PPROF_MAPPING_HAS_LINES, has.lines);
	ux_protobuf_put_nonzero(out, PPROF_MAPPING_HAS_INLINES, has.inlines);
}

/* --- adding names to a message ---------------------------------------------------------------- */

/* Writes a location that was named; fields in the message other than its lines are kept. */
static enum ux_code pprof_rewrite_location(struct pprof_writer *w, struct ux_cur c,
					   const struct ux_profile_location *l,
					   struct ux_error *err)
{
	enum {
		HEAD_MAX = 11 /* bytes of a tag and a size */
	};
	const struct ux_bytes lines = ux_function_table_lines_of(&w->table, l);
	struct ux_bytes content = ux_bytes(c.pos, ux_cur_left(&c));
	struct ux_pprof_small small;
	if (!ux_pprof_small_read(&c, w->end, &small)) {
		ux_out_reset(&w->message);
		for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);)
			if (f.number != PPROF_LOCATION_LINE && f.number != PPROF_LOCATION_FOLDED)
				ux_out_put(&w->message, f.whole.data, f.whole.size);
		UX_TRY(ux_cur_status(&c, err));
		UX_TRY(ux_out_status(&w->message, err));
		content = ux_out_bytes(&w->message);
	}
	const size_t max = HEAD_MAX + content.size + lines.size;
	uint8_t *start = ux_out_room(w->out, max), *p = start;
	if (!start)
		return ux_out_status(w->out, err);
	*p++ = PPROF_LOCATION << 3 | UX_PROTOBUF_BYTES;
	p = ux_uleb_put(p, content.size + lines.size);
	if (content.size > 0)
		memcpy(p, content.data, content.size);
	p += content.size;
	memcpy(p, lines.data, lines.size);
	p += lines.size;
	w->out->size -= max - (size_t)(p - start);
	return UX_OK;
}

/* Writes a mapping. Its flags tell which parts its locations now have. Flags that were set stay. */
static enum ux_code pprof_rewrite_mapping(struct pprof_writer *w, struct ux_cur c,
					  struct pprof_has has, struct ux_error *err)
{
	ux_out_reset(&w->message);
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);) {
		if (f.number == PPROF_MAPPING_HAS_FUNCTIONS)
			has.functions |= f.value != 0;
		else if (f.number == PPROF_MAPPING_HAS_FILENAMES)
			has.filenames |= f.value != 0;
		else if (f.number == PPROF_MAPPING_HAS_LINES)
			has.lines |= f.value != 0;
		else if (f.number == PPROF_MAPPING_HAS_INLINES)
			has.inlines |= f.value != 0;
		else
			ux_out_put(&w->message, f.whole.data, f.whole.size);
	}
	UX_TRY(ux_cur_status(&c, err));
	pprof_write_has(&w->message, has);
	ux_protobuf_put_message(w->out, PPROF_MAPPING, &w->message);
	return UX_OK;
}

/* Returns whether a location was named after it was read. */
static bool pprof_is_new(const struct ux_profile_location *l)
{
	return l->n > 0 && !l->named;
}

static enum ux_code pprof_rewrite_fields(struct pprof_writer *w, const struct ux_pprof *f,
					 const struct pprof_has *has, struct ux_stream *s,
					 struct ux_error *err)
{
	enum {
		/* Locations to prefetch ahead. Each costs one cache miss; first the position of its
		 * lines is prefetched, then the lines. */
		AHEAD = 8
	};
	struct ux_cur c = ux_cur_make(f->bytes, NULL, false);
	uint32_t location = f->first_location, module = 1;
	for (struct ux_protobuf_field field; ux_protobuf_next(&c, &field);) {
		const struct ux_profile_location *l = NULL;
		if (field.number == PPROF_LOCATION) {
			const size_t left = w->profile->locations.size - location;
			l = &w->profile->locations.data[location];
			if (left > 2 * AHEAD)
				ux_function_table_prefetch_place(&w->table, l + 2 * AHEAD);
			if (left > AHEAD)
				ux_function_table_prefetch(&w->table, l + AHEAD);
			location++;
		}
		if (l && pprof_is_new(l))
			UX_TRY(pprof_rewrite_location(w, field.bytes, l, err));
		else if (field.number == PPROF_MAPPING && has[module].functions)
			UX_TRY(pprof_rewrite_mapping(w, field.bytes, has[module], err));
		else
			ux_out_put(w->out, field.whole.data, field.whole.size);
		module += field.number == PPROF_MAPPING;
		UX_TRY(ux_stream_pass(s, err));
	}
	return ux_cur_status(&c, err);
}

enum ux_code ux_pprof_rewrite(const struct ux_pprof *f, const struct ux_profile *p,
			      struct ux_stream *s, struct ux_error *err)
{
	ux_cleanup(pprof_writer_deinit) struct pprof_writer w = {
		.profile = p, .out = &s->out, .end = f->bytes.data + f->bytes.size};
	UX_TRY(ux_function_table_init(&w.table, p, f->n_strings, f->function_max + 1, err));
	UX_TRY(ux_function_table_prepare(&w.table, f->n_frames, err));
	ux_cleanup(ux_free_ptr) struct pprof_has *has = calloc(p->modules.size, sizeof(*has));
	if (!has)
		return ux_error_nomem(err);
	for (uint32_t i = 0; i < f->n_locations; i++) {
		const struct ux_profile_location *l = &p->locations.data[f->first_location + i];
		if (pprof_is_new(l))
			pprof_has_add(&has[l->module], p, l);
	}
	UX_TRY(pprof_rewrite_fields(&w, f, has, s, err));
	ux_function_table_release_lines(&w.table);
	return ux_function_table_write(&w.table, &s->out, err);
}

/* --- a new message ---------------------------------------------------------------------------- */

static void pprof_write_type(struct pprof_writer *w, uint32_t number, struct ux_profile_type type)
{
	ux_out_reset(&w->message);
	ux_protobuf_put_nonzero(&w->message, PPROF_TYPE,
				ux_function_table_string(&w->table, type.name));
	ux_protobuf_put_nonzero(&w->message, PPROF_UNIT,
				ux_function_table_string(&w->table, type.unit));
	ux_protobuf_put_message(w->out, number, &w->message);
}

static void pprof_write_head(struct pprof_writer *w)
{
	const struct ux_profile *p = w->profile;
	for (size_t i = 0; i < p->n_types; i++)
		pprof_write_type(w, PPROF_SAMPLE_TYPE, p->types[i]);
	ux_protobuf_put_nonzero(w->out, PPROF_TIME_NANOS, p->start_ns);
	ux_protobuf_put_nonzero(w->out, PPROF_DURATION_NANOS, p->duration_ns);
	if (p->period == 0)
		return;
	pprof_write_type(w, PPROF_PERIOD_TYPE, p->period_type);
	ux_protobuf_put_uint(w->out, PPROF_PERIOD, (uint64_t)p->period);
}

/* Returns a build ID as text for a mapping: hexadecimal digits, or Go's text. A File ID keeps its
 * type, since all readers take bare digits for a build ID. */
static struct ux_bytes pprof_build_id(const struct ux_id *id, char text[UX_ID_TEXT])
{
	const char *form = ux_id_format(id, text);
	const char *colon = id->type == UX_ID_FILE ? NULL : strchr(form, ':');
	return ux_bytes_cstr(colon ? colon + 1 : form);
}

/* Writes a module as a mapping without bounds; addresses are the file's. */
static void pprof_write_mapping(struct pprof_writer *w, const struct pprof_has *has, size_t i)
{
	char text[UX_ID_TEXT];
	const struct ux_profile_module *m = &w->profile->modules.data[i];
	struct ux_bytes id = pprof_build_id(&m->id, text);
	ux_out_reset(&w->message);
	ux_protobuf_put_uint(&w->message, PPROF_MAPPING_ID, i);
	ux_protobuf_put_nonzero(&w->message, PPROF_MAPPING_FILENAME,
				ux_function_table_string(&w->table, m->path));
	if (id.size > 0)
		ux_protobuf_put_uint(&w->message, PPROF_MAPPING_BUILD_ID,
				     ux_function_table_put(&w->table, id));
	pprof_write_has(&w->message, has[i]);
	ux_protobuf_put_message(w->out, PPROF_MAPPING, &w->message);
}

/* The first mapping must be the program's (profile.proto), and the kernel may come first in the
 * profile. */
static void pprof_write_mappings(struct pprof_writer *w, const struct pprof_has *has)
{
	const struct ux_profile *p = w->profile;
	size_t program = 1;
	while (program < p->modules.size && p->modules.data[program].kind != UX_PROFILE_FILE)
		program++;
	if (program < p->modules.size)
		pprof_write_mapping(w, has, program);
	for (size_t i = 1; i < p->modules.size; i++)
		if (i != program)
			pprof_write_mapping(w, has, i);
}

static enum ux_code pprof_write_locations(struct pprof_writer *w, struct ux_stream *s,
					  struct ux_error *err)
{
	const struct ux_profile *p = w->profile;
	for (size_t i = 1; i < p->locations.size; i++) {
		const struct ux_profile_location *l = &p->locations.data[i];
		ux_out_reset(&w->message);
		ux_protobuf_put_uint(&w->message, PPROF_LOCATION_ID, i);
		ux_protobuf_put_nonzero(&w->message, PPROF_LOCATION_MAPPING, l->module);
		/* Inside the call, as readers of pprof profiles expect. */
		ux_protobuf_put_nonzero(&w->message, PPROF_LOCATION_ADDRESS,
					l->address - (l->returns && l->address > 0));
		UX_TRY(ux_function_table_lines(&w->table, l, &w->message, err));
		ux_protobuf_put_message(w->out, PPROF_LOCATION, &w->message);
		UX_TRY(ux_stream_pass(s, err));
	}
	return UX_OK;
}

/* The keys of labels, as numbers of strings of the message. */
struct pprof_label_keys {
	uint64_t comm, pid, tid;
};

static void pprof_write_label(struct pprof_writer *w, uint64_t key, uint64_t string,
			      uint64_t number)
{
	if (string == 0 && number == 0)
		return;
	ux_out_reset(&w->inner);
	ux_protobuf_put_uint(&w->inner, PPROF_LABEL_KEY, key);
	ux_protobuf_put_nonzero(&w->inner, PPROF_LABEL_STR, string);
	ux_protobuf_put_nonzero(&w->inner, PPROF_LABEL_NUM, number);
	ux_protobuf_put_message(&w->message, PPROF_SAMPLE_LABEL, &w->inner);
}

static void pprof_write_sample(struct pprof_writer *w, const struct ux_profile_sample *sample,
			       const struct pprof_label_keys *keys)
{
	const struct ux_profile *p = w->profile;
	const struct ux_profile_thread *thread = &p->threads.data[sample->thread];
	ux_out_reset(&w->message);
	ux_out_reset(&w->inner);
	for (uint32_t s = sample->stack; s != 0; s = p->stacks.data[s].caller)
		ux_out_uleb(&w->inner, p->stacks.data[s].location);
	ux_protobuf_put_message(&w->message, PPROF_SAMPLE_LOCATION, &w->inner);
	ux_out_reset(&w->inner);
	for (size_t i = 0; i < p->n_types; i++)
		ux_out_uleb(&w->inner, (uint64_t)p->values.data[sample->first + i]);
	ux_protobuf_put_message(&w->message, PPROF_SAMPLE_VALUE, &w->inner);
	pprof_write_label(w, keys->comm, ux_function_table_string(&w->table, thread->comm), 0);
	pprof_write_label(w, keys->pid, 0, thread->pid);
	pprof_write_label(w, keys->tid, 0, thread->tid);
	ux_protobuf_put_message(w->out, PPROF_SAMPLE, &w->message);
}

enum ux_code ux_pprof_write(const struct ux_profile *p, struct ux_stream *s, struct ux_error *err)
{
	ux_cleanup(pprof_writer_deinit) struct pprof_writer w = {.profile = p, .out = &s->out};
	UX_TRY(ux_function_table_init(&w.table, p, 0, 1, err));
	ux_cleanup(ux_free_ptr) struct pprof_has *has = calloc(p->modules.size, sizeof(*has));
	if (!has)
		return ux_error_nomem(err);
	for (size_t i = 1; i < p->locations.size; i++)
		if (p->locations.data[i].n > 0)
			pprof_has_add(&has[p->locations.data[i].module], p, &p->locations.data[i]);
	pprof_write_head(&w);
	pprof_write_mappings(&w, has);
	UX_TRY(pprof_write_locations(&w, s, err));
	struct pprof_label_keys keys = {
		.comm = ux_function_table_put(&w.table, UX_STR("comm")),
		.pid = ux_function_table_put(&w.table, UX_STR("pid")),
		.tid = ux_function_table_put(&w.table, UX_STR("tid")),
	};
	for (size_t i = 0; i < p->samples.size; i++) {
		pprof_write_sample(&w, &p->samples.data[i], &keys);
		UX_TRY(ux_stream_pass(s, err));
	}
	return ux_function_table_write(&w.table, &s->out, err);
}
