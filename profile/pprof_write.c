/* SPDX-License-Identifier: Apache-2.0 */
/* Writing Profile messages of pprof: a profile of any origin, or the names that the locations of
 * a message have got since it was read. */
#include "pprof.h"

#include "demangle.h"
#include "pprof_fields.h"
#include "protobuf.h"

/* A function of the message. Equal ones have one ID. */
struct pprof_function_key {
	uint32_t name, linkage, file, start_line;
};

ux_inline uint64_t pprof_function_hash(struct pprof_function_key k)
{
	return ux_hash_mix(ux_hash_u64((uint64_t)k.name << 32 | k.linkage),
			   (uint64_t)k.file << 32 | k.start_line | UINT64_C(1) << 63);
}

ux_inline bool pprof_function_eq(struct pprof_function_key a, struct pprof_function_key b)
{
	return a.name == b.name && a.linkage == b.linkage && a.file == b.file &&
	       a.start_line == b.start_line;
}

UX_MAP(pprof_function_ids, struct pprof_function_key, uint32_t, pprof_function_hash,
       pprof_function_eq);

/* The state of writing. Strings and functions are appended to the message in the end. */
struct pprof_writer {
	const struct ux_profile *profile;
	struct ux_out *out;
	struct ux_out message; /* one that is being written */
	struct ux_out inner;   /* one inside of that */
	struct ux_out name;    /* a demangled one */
	struct ux_out strings;
	struct ux_out functions;
	uint64_t n_strings;    /* in the message */
	uint64_t function_max; /* the largest ID of a function */
	uint32_t *string_of;   /* number in the message plus 1, by string of the profile */
	struct ux_string_numbers demangled; /* number in the message, by linkage name */
	struct pprof_function_ids ids;      /* ID minus first_function, by function */
	uint64_t first_function;
};

static void pprof_writer_deinit(struct pprof_writer *w)
{
	ux_out_deinit(&w->message);
	ux_out_deinit(&w->inner);
	ux_out_deinit(&w->name);
	ux_out_deinit(&w->strings);
	ux_out_deinit(&w->functions);
	free(w->string_of);
	ux_string_numbers_deinit(&w->demangled);
	pprof_function_ids_deinit(&w->ids);
}

/* Appends a field with a message that was written on the side. When that has failed, so has `out`.
 */
static void pprof_put_message(struct ux_out *out, uint32_t number, const struct ux_out *message)
{
	out->failed |= message->failed;
	ux_protobuf_put_bytes(out, number, ux_out_bytes(message));
}

/* Adds a string to the message and returns its number. */
static uint64_t pprof_put_string(struct pprof_writer *w, struct ux_bytes text)
{
	if (w->n_strings == 0 && text.size > 0) /* string 0 is "" in every profile */
		(void)pprof_put_string(w, UX_STR(""));
	ux_protobuf_put_bytes(&w->strings, PPROF_STRING_TABLE, text);
	return w->n_strings++;
}

static enum ux_code pprof_writer_init(struct pprof_writer *w, struct ux_error *err)
{
	w->string_of = calloc(w->profile->strings.list.size, sizeof(*w->string_of));
	w->first_function = w->function_max + 1;
	return w->string_of ? UX_OK : ux_error_nomem(err);
}

/* The number in the message of a string of the profile. */
static uint64_t pprof_write_string(struct pprof_writer *w, uint32_t string)
{
	if (string == 0)
		return 0;
	if (w->string_of[string] == 0)
		w->string_of[string] =
			(uint32_t)pprof_put_string(w, ux_profile_text(w->profile, string)) + 1;
	return w->string_of[string] - 1;
}

/* The number in the message of the readable form of a linkage name. */
static enum ux_code pprof_write_demangled(struct pprof_writer *w, uint32_t linkage, uint64_t *ret,
					  struct ux_error *err)
{
	struct ux_bytes text = ux_profile_text(w->profile, linkage);
	bool fresh = false;
	uint32_t *number = ux_string_numbers_insert(&w->demangled, text, &fresh);
	if (!number)
		return ux_error_nomem(err);
	if (fresh) {
		ux_out_reset(&w->name);
		ux_demangle(text, UX_DEMANGLE_FULL, &w->name);
		UX_TRY(ux_out_status(&w->name, err));
		*number = (uint32_t)(ux_bytes_eq(ux_out_bytes(&w->name), text)
					     ? pprof_write_string(w, linkage)
					     : pprof_put_string(w, ux_out_bytes(&w->name)));
	}
	*ret = *number;
	return UX_OK;
}

/* Adds a function to the message, or finds it. */
static enum ux_code pprof_write_function(struct pprof_writer *w,
					 const struct ux_profile_frame *frame, uint64_t *ret_id,
					 struct ux_error *err)
{
	struct pprof_function_key key = {frame->name, frame->linkage, frame->file,
					 frame->start_line};
	bool fresh = false;
	uint32_t *id = pprof_function_ids_insert(&w->ids, key, &fresh);
	if (!id)
		return ux_error_nomem(err);
	if (!fresh) {
		*ret_id = w->first_function + *id;
		return UX_OK;
	}
	*id = (uint32_t)(++w->function_max - w->first_function);
	*ret_id = w->function_max;
	uint64_t name = pprof_write_string(w, frame->name);
	if (frame->name == 0)
		UX_TRY(pprof_write_demangled(w, frame->linkage, &name, err));
	uint32_t linkage = frame->linkage ? frame->linkage : frame->name;
	ux_out_reset(&w->inner);
	ux_protobuf_put_uint(&w->inner, PPROF_FUNCTION_ID, w->function_max);
	ux_protobuf_put_nonzero(&w->inner, PPROF_FUNCTION_NAME, name);
	ux_protobuf_put_nonzero(&w->inner, PPROF_FUNCTION_SYSTEM_NAME,
				pprof_write_string(w, linkage));
	ux_protobuf_put_nonzero(&w->inner, PPROF_FUNCTION_FILENAME,
				pprof_write_string(w, frame->file));
	ux_protobuf_put_nonzero(&w->inner, PPROF_FUNCTION_START_LINE, frame->start_line);
	pprof_put_message(&w->functions, PPROF_FUNCTION, &w->inner);
	return UX_OK;
}

/* Appends the lines of a location to w->message. */
static enum ux_code pprof_write_lines(struct pprof_writer *w, const struct ux_profile_location *l,
				      struct ux_error *err)
{
	for (uint32_t i = 0; i < l->n; i++) {
		const struct ux_profile_frame *frame = &w->profile->frames.data[l->first + i];
		uint64_t id = 0;
		UX_TRY(pprof_write_function(w, frame, &id, err));
		ux_out_reset(&w->inner);
		ux_protobuf_put_uint(&w->inner, PPROF_LINE_FUNCTION, id);
		ux_protobuf_put_nonzero(&w->inner, PPROF_LINE_LINE, frame->line);
		ux_protobuf_put_nonzero(&w->inner, PPROF_LINE_COLUMN, frame->column);
		pprof_put_message(&w->message, PPROF_LOCATION_LINE, &w->inner);
	}
	return UX_OK;
}

/* What the names of a mapping's locations have, as the flags of a Mapping say. */
struct pprof_has {
	bool functions, filenames, lines, inlines;
};

static void pprof_has_add(struct pprof_has *has, const struct ux_profile *p,
			  const struct ux_profile_location *l)
{
	has->functions = true;
	has->inlines |= l->n > 1;
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

/* Appends what was collected on the side. */
static enum ux_code pprof_write_tables(struct pprof_writer *w, struct ux_error *err)
{
	struct ux_out *const parts[] = {&w->functions, &w->strings};
	for (size_t i = 0; i < ux_countof(parts); i++) {
		UX_TRY(ux_out_status(parts[i], err));
		ux_out_put(w->out, parts[i]->data, parts[i]->size);
	}
	return ux_out_status(w->out, err);
}

/* --- adding names to a message ---------------------------------------------------------------- */

/* A location that has got names; what is in the message beside its lines is kept. */
static enum ux_code pprof_rewrite_location(struct pprof_writer *w, struct ux_cur c,
					   const struct ux_profile_location *l,
					   struct ux_error *err)
{
	ux_out_reset(&w->message);
	for (struct ux_protobuf_field f; ux_protobuf_next(&c, &f);)
		if (f.number != PPROF_LOCATION_LINE && f.number != PPROF_LOCATION_FOLDED)
			ux_out_put(&w->message, f.whole.data, f.whole.size);
	UX_TRY(ux_cur_status(&c, err));
	UX_TRY(pprof_write_lines(w, l, err));
	pprof_put_message(w->out, PPROF_LOCATION, &w->message);
	return UX_OK;
}

/* A mapping, whose flags say what its locations now have. Flags that were set stay. */
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
	pprof_put_message(w->out, PPROF_MAPPING, &w->message);
	return UX_OK;
}

/* Whether a location was named after it was read. */
static bool pprof_is_new(const struct ux_profile_location *l)
{
	return l->n > 0 && !l->named;
}

static enum ux_code pprof_rewrite_fields(struct pprof_writer *w, const struct ux_pprof *f,
					 const struct pprof_has *has, struct ux_error *err)
{
	struct ux_cur c = ux_cur_make(f->bytes, NULL, false);
	uint32_t location = f->first_location, module = 1;
	for (struct ux_protobuf_field field; ux_protobuf_next(&c, &field);) {
		const struct ux_profile_location *l = NULL;
		if (field.number == PPROF_LOCATION)
			l = &w->profile->locations.data[location++];
		if (l && pprof_is_new(l))
			UX_TRY(pprof_rewrite_location(w, field.bytes, l, err));
		else if (field.number == PPROF_MAPPING && has[module].functions)
			UX_TRY(pprof_rewrite_mapping(w, field.bytes, has[module], err));
		else
			ux_out_put(w->out, field.whole.data, field.whole.size);
		module += field.number == PPROF_MAPPING;
	}
	return ux_cur_status(&c, err);
}

enum ux_code ux_pprof_rewrite(const struct ux_pprof *f, const struct ux_profile *p,
			      struct ux_out *out, struct ux_error *err)
{
	ux_cleanup(pprof_writer_deinit) struct pprof_writer w = {
		.profile = p,
		.out = out,
		.n_strings = f->n_strings,
		.function_max = f->function_max,
	};
	UX_TRY(pprof_writer_init(&w, err));
	ux_cleanup(ux_free_ptr) struct pprof_has *has = calloc(p->modules.size, sizeof(*has));
	if (!has)
		return ux_error_nomem(err);
	for (uint32_t i = 0; i < f->n_locations; i++) {
		const struct ux_profile_location *l = &p->locations.data[f->first_location + i];
		if (pprof_is_new(l))
			pprof_has_add(&has[l->module], p, l);
	}
	UX_TRY(pprof_rewrite_fields(&w, f, has, err));
	return pprof_write_tables(&w, err);
}

/* --- a new message ---------------------------------------------------------------------------- */

static void pprof_write_type(struct pprof_writer *w, uint32_t number, struct ux_profile_type type)
{
	ux_out_reset(&w->message);
	ux_protobuf_put_nonzero(&w->message, PPROF_TYPE, pprof_write_string(w, type.name));
	ux_protobuf_put_nonzero(&w->message, PPROF_UNIT, pprof_write_string(w, type.unit));
	pprof_put_message(w->out, number, &w->message);
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

/* A build ID as a mapping has it: hexadecimal digits, or the text of Go. */
static struct ux_bytes pprof_build_id(const struct ux_id *id, char text[UX_ID_TEXT])
{
	const char *form = ux_id_format(id, text);
	const char *colon = strchr(form, ':');
	return ux_bytes_cstr(colon ? colon + 1 : form);
}

/* Each module is a mapping without bounds, in which addresses are those of its file. */
static void pprof_write_mappings(struct pprof_writer *w, const struct pprof_has *has)
{
	const struct ux_profile *p = w->profile;
	for (size_t i = 1; i < p->modules.size; i++) {
		char text[UX_ID_TEXT];
		const struct ux_profile_module *m = &p->modules.data[i];
		struct ux_bytes id = pprof_build_id(&m->id, text);
		ux_out_reset(&w->message);
		ux_protobuf_put_uint(&w->message, PPROF_MAPPING_ID, i);
		ux_protobuf_put_nonzero(&w->message, PPROF_MAPPING_FILENAME,
					pprof_write_string(w, m->path));
		if (id.size > 0)
			ux_protobuf_put_uint(&w->message, PPROF_MAPPING_BUILD_ID,
					     pprof_put_string(w, id));
		pprof_write_has(&w->message, has[i]);
		pprof_put_message(w->out, PPROF_MAPPING, &w->message);
	}
}

static enum ux_code pprof_write_locations(struct pprof_writer *w, struct ux_error *err)
{
	const struct ux_profile *p = w->profile;
	for (size_t i = 1; i < p->locations.size; i++) {
		const struct ux_profile_location *l = &p->locations.data[i];
		ux_out_reset(&w->message);
		ux_protobuf_put_uint(&w->message, PPROF_LOCATION_ID, i);
		ux_protobuf_put_nonzero(&w->message, PPROF_LOCATION_MAPPING, l->module);
		/* Inside of the call, as readers of pprof profiles expect. */
		ux_protobuf_put_nonzero(&w->message, PPROF_LOCATION_ADDRESS,
					l->address - (l->returns && l->address > 0));
		UX_TRY(pprof_write_lines(w, l, err));
		pprof_put_message(w->out, PPROF_LOCATION, &w->message);
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
	pprof_put_message(&w->message, PPROF_SAMPLE_LABEL, &w->inner);
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
	pprof_put_message(&w->message, PPROF_SAMPLE_LOCATION, &w->inner);
	ux_out_reset(&w->inner);
	for (size_t i = 0; i < p->n_types; i++)
		ux_out_uleb(&w->inner, (uint64_t)p->values.data[sample->first + i]);
	pprof_put_message(&w->message, PPROF_SAMPLE_VALUE, &w->inner);
	pprof_write_label(w, keys->comm, pprof_write_string(w, thread->comm), 0);
	pprof_write_label(w, keys->pid, 0, thread->pid);
	pprof_write_label(w, keys->tid, 0, thread->tid);
	pprof_put_message(w->out, PPROF_SAMPLE, &w->message);
}

enum ux_code ux_pprof_write(const struct ux_profile *p, struct ux_out *out, struct ux_error *err)
{
	ux_cleanup(pprof_writer_deinit) struct pprof_writer w = {.profile = p, .out = out};
	UX_TRY(pprof_writer_init(&w, err));
	ux_cleanup(ux_free_ptr) struct pprof_has *has = calloc(p->modules.size, sizeof(*has));
	if (!has)
		return ux_error_nomem(err);
	for (size_t i = 1; i < p->locations.size; i++)
		if (p->locations.data[i].n > 0)
			pprof_has_add(&has[p->locations.data[i].module], p, &p->locations.data[i]);
	pprof_write_head(&w);
	pprof_write_mappings(&w, has);
	UX_TRY(pprof_write_locations(&w, err));
	struct pprof_label_keys keys = {
		.comm = pprof_put_string(&w, UX_STR("comm")),
		.pid = pprof_put_string(&w, UX_STR("pid")),
		.tid = pprof_put_string(&w, UX_STR("tid")),
	};
	for (size_t i = 0; i < p->samples.size; i++)
		pprof_write_sample(&w, &p->samples.data[i], &keys);
	return pprof_write_tables(&w, err);
}
