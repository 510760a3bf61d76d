/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the frames of a crash report, which is written with them. */
#include "crash_symbolize.h"

#include "profile_text.h"
#include "text.h"

enum {
	NAMES_BUDGET = 64 << 20, /* bytes of names of modules and of reasons */
	INDENT = 4,              /* of names, behind the indentation of their frame */
};

/* The line that stands for the code to which signal handlers return, as gdb prints it. */
#define SIGNAL_RETURN "<signal handler called>"

/* A frame of the part that is read. */
struct crash_item {
	uint32_t file;     /* index in `files` */
	uint32_t location; /* 0: its pc is not known */
	uint32_t why;      /* a string of the profile: why its pc is not known; 0: it is */
	bool returns;
	bool located;    /* it is left alone */
	bool has_symbol; /* in the text */
	bool is_signal;  /* signal handlers return to it */
};

UX_VEC(crash_items, struct crash_item);

/* One part of a text. */
struct crash_part {
	struct ux_crash_symbolizer *s;
	struct ux_profile profile;
	struct crash_items items;
	uint32_t *modules; /* malloc'ed: the profile's module of each file; 0: none yet */
	size_t n_modules;
	struct ux_error *err;
};

static void crash_part_deinit(struct crash_part *p)
{
	ux_profile_deinit(&p->profile);
	crash_items_deinit(&p->items);
	free(p->modules);
}

void ux_crash_symbolizer_deinit(struct ux_crash_symbolizer *s)
{
	for (size_t i = 0; i < s->files.size; i++)
		ux_crash_file_close(&s->files.data[i]);
	ux_crash_files_deinit(&s->files);
	ux_crash_tallies_deinit(&s->tallies);
	ux_crash_file_numbers_deinit(&s->numbers);
	ux_crash_report_deinit(&s->report);
	ux_arena_deinit(&s->arena);
}

/* --- modules ---------------------------------------------------------------------------------- */

/* Finds or opens the module of a frame. */
static enum ux_code crash_symbolizer_file(struct ux_crash_symbolizer *s,
					  const struct ux_crash_frame *f, uint32_t *ret,
					  struct ux_error *err)
{
	char *key = ux_arena_array(&s->arena, char, f->module.size + f->id.size + 1);
	bool fresh = false;
	if (!key)
		return ux_arena_fail(&s->arena, err);
	if (f->module.size > 0)
		memcpy(key, f->module.data, f->module.size);
	key[f->module.size] = '\n';
	if (f->id.size > 0)
		memcpy(key + f->module.size + 1, f->id.data, f->id.size);
	struct ux_bytes name = ux_bytes(key, f->module.size + f->id.size + 1);
	uint32_t *number = ux_crash_file_numbers_find(&s->numbers, name);
	if (number) {
		*ret = *number;
		return UX_OK;
	}
	if (s->files.size >= UX_CRASH_FILES_MAX)
		return ux_error_set(err, UX_ELIMIT, "the text has more than %d modules",
				    UX_CRASH_FILES_MAX);
	struct ux_crash_file file;
	enum ux_code code = ux_crash_file_open(&file, f, s->report.release, s->sources, err);
	if (code != UX_OK || !ux_crash_files_append(&s->files, file)) {
		ux_crash_file_close(&file);
		return code != UX_OK ? code : ux_error_nomem(err);
	}
	number = ux_crash_file_numbers_insert(&s->numbers, name, &fresh);
	if (!number || !ux_crash_tallies_append(&s->tallies, (struct ux_crash_tally){0}))
		return ux_error_nomem(err);
	*ret = *number = (uint32_t)(s->files.size - 1);
	return UX_OK;
}

/* The module of the profile for a file. */
static enum ux_code crash_part_module(struct crash_part *p, uint32_t file, uint32_t *ret)
{
	const struct ux_crash_file *m = &p->s->files.data[file];
	if (p->n_modules < p->s->files.size) {
		uint32_t *more = reallocarray(p->modules, p->s->files.size, sizeof(*p->modules));
		if (!more)
			return ux_error_nomem(p->err);
		memset(more + p->n_modules, 0, (p->s->files.size - p->n_modules) * sizeof(*more));
		p->modules = more;
		p->n_modules = p->s->files.size;
	}
	if (p->modules[file] == 0) {
		struct ux_profile_module made = {.kind = UX_PROFILE_FILE, .id = m->id};
		struct ux_bytes path = m->path ? ux_bytes_cstr(m->path) : m->name;
		UX_TRY(ux_profile_string(&p->profile, path, &made.path, p->err));
		UX_TRY(ux_profile_add_module(&p->profile, made, &p->modules[file], p->err));
	}
	*ret = p->modules[file];
	return UX_OK;
}

/* --- frames ----------------------------------------------------------------------------------- */

static enum ux_code crash_part_locate(struct crash_part *p, const struct ux_crash_frame *f,
				      struct crash_item *item)
{
	struct ux_crash_file *m = &p->s->files.data[item->file];
	struct ux_profile_place place = {.kind = UX_PROFILE_PC, .returns = f->returns};
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_crash_file_pc(m, f, p->s->sources, &place.address, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(p->err);
	if (code != UX_OK)
		return ux_profile_string(&p->profile, ux_bytes_cstr(why.text), &item->why, p->err);
	item->is_signal = f->returns && ux_crash_file_is_signal_return(m, place.address);
	if (item->is_signal)
		place.returns = false;
	UX_TRY(crash_part_module(p, item->file, &place.module));
	return ux_profile_locate(&p->profile, place, &item->location, p->err);
}

static enum ux_code crash_part_add(struct crash_part *p, struct ux_crash_frame *f,
				   bool *behind_signal)
{
	struct crash_item item = {.located = f->located};
	if (p->items.size >= UX_CRASH_FRAMES_IN_PART_MAX)
		return ux_error_set(p->err, UX_ELIMIT,
				    "one part of the text has more than %d frames",
				    UX_CRASH_FRAMES_IN_PART_MAX);
	ux_crash_report_settle(&p->s->report, f);
	if (*behind_signal)
		f->returns = false;
	item.returns = f->returns;
	item.has_symbol = f->symbol.size > 0;
	UX_TRY(crash_symbolizer_file(p->s, f, &item.file, p->err));
	if (!f->located)
		UX_TRY(crash_part_locate(p, f, &item));
	*behind_signal = item.is_signal || ux_crash_is_signal_return(f->symbol);
	return crash_items_append(&p->items, item) ? UX_OK : ux_error_nomem(p->err);
}

static enum ux_code crash_part_read(struct crash_part *p, struct ux_bytes text)
{
	struct ux_crash_line line;
	struct ux_bytes whole, current = UX_BYTES_NONE;
	bool behind_signal = false;
	while (ux_crash_next(&p->s->reader, &text, &whole, &line)) {
		if (line.fact == UX_CRASH_CURRENT)
			current = line.id;
		if (line.n == 0 && line.fact == UX_CRASH_NO_FACT)
			behind_signal = false;
		for (size_t i = 0; i < line.n; i++) {
			struct ux_crash_frame *f = &line.frames[i];
			if (f->form == UX_CRASH_PLAIN && f->module.size == 0 && f->id.size == 0)
				f->id = current;
			UX_TRY(crash_part_add(p, f, &behind_signal));
		}
	}
	return UX_OK;
}

/* The function of a location, which is its outermost frame; "" without a name. */
static struct ux_bytes crash_part_function(const struct crash_part *p, uint32_t location)
{
	const struct ux_profile_location *l = &p->profile.locations.data[location];
	if (location == 0 || l->n == 0)
		return UX_STR("");
	const struct ux_profile_frame *f = &p->profile.frames.data[l->first + l->n - 1];
	return ux_profile_text(&p->profile, f->linkage);
}

/*
 * A frame whose name turned out to be the code to which signal handlers return was not called, and
 * neither was the one behind it: their addresses are looked up as they are.
 */
static enum ux_code crash_part_correct(struct crash_part *p, bool *ret_changed)
{
	struct crash_item *items = p->items.data;
	*ret_changed = false;
	for (size_t i = 0; i + 1 < p->items.size; i++) {
		struct crash_item *next = &items[i + 1];
		if (next->location == 0 || !next->returns ||
		    !ux_crash_is_signal_return(crash_part_function(p, items[i].location)))
			continue;
		const struct ux_profile_location *l = &p->profile.locations.data[next->location];
		struct ux_profile_place place = {
			.module = l->module, .kind = l->kind, .address = l->address};
		UX_TRY(ux_profile_locate(&p->profile, place, &next->location, p->err));
		next->returns = false;
		*ret_changed = true;
	}
	return UX_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

/* The blanks in front of the names: those in front of the frame, and some more. */
static void crash_write_indent(struct ux_bytes line, struct ux_out *out)
{
	size_t n = 0;
	while (n < line.size && ux_is_blank(line.data[n]))
		n++;
	ux_out_put(out, line.data, n);
	for (int i = 0; i < INDENT; i++)
		ux_out_u8(out, ' ');
}

/* A name has no line breaks or other control characters that could pass for text of the report. */
static void crash_write_clean(struct ux_out *out, size_t from)
{
	for (size_t i = from; !out->failed && i < out->size; i++)
		if (out->data[i] < ' ' || out->data[i] == 0x7f)
			out->data[i] = '?';
}

static void crash_write_frames(const struct crash_part *p, const struct ux_profile_location *l,
			       struct ux_bytes line, struct ux_out *out)
{
	for (uint32_t i = 0; i < l->n; i++) {
		const struct ux_profile_frame *f = &p->profile.frames.data[l->first + i];
		struct ux_bytes file = ux_profile_text(&p->profile, f->file);
		crash_write_indent(line, out);
		size_t from = out->size;
		ux_profile_write_name(&p->profile, f, p->s->demangle, out);
		if (file.size > 0) {
			ux_out_cstr(out, " at ");
			ux_out_put(out, file.data, file.size);
			if (f->line > 0)
				ux_out_fmt(out, ":%" PRIu32, f->line);
		}
		crash_write_clean(out, from);
		ux_out_cstr(out, f->inlined ? " (inlined)\n" : "\n");
	}
}

/* The reason why a frame has no name. */
static struct ux_bytes crash_part_reason(const struct crash_part *p, const struct crash_item *item)
{
	const struct ux_crash_file *m = &p->s->files.data[item->file];
	if (item->why != 0 && m->list.size == 0)
		return ux_profile_text(&p->profile, item->why);
	if (item->location != 0 && (m->symbols || m->id.size > 0)) {
		const struct ux_profile_location *l = &p->profile.locations.data[item->location];
		uint32_t why = p->profile.modules.data[l->module].why;
		if (why != 0)
			return ux_profile_text(&p->profile, why);
		if (m->symbols)
			return UX_STR("no function at this address");
	}
	struct ux_bytes why = ux_crash_file_why(m);
	return why.size > 0 ? why : UX_STR("no symbols");
}

/* Keeps a text for the report about all parts. */
static enum ux_code crash_symbolizer_keep(struct ux_crash_symbolizer *s, struct ux_bytes text,
					  const char **ret, struct ux_error *err)
{
	if (*ret || text.size == 0)
		return UX_OK;
	*ret = ux_arena_strndup(&s->arena, text.data, text.size);
	return *ret ? UX_OK : ux_arena_fail(&s->arena, err);
}

static enum ux_code crash_part_write_item(struct crash_part *p, const struct crash_item *item,
					  struct ux_bytes line, struct ux_out *out)
{
	struct ux_crash_symbolizer *s = p->s;
	const struct ux_profile_location *l = &p->profile.locations.data[item->location];
	struct ux_crash_tally *t = &s->tallies.data[item->file];
	bool named = item->location != 0 && l->n > 0;
	s->frames++;
	t->frames++;
	if (item->location != 0)
		UX_TRY(crash_symbolizer_keep(
			s, ux_profile_text(&p->profile, p->profile.modules.data[l->module].source),
			&t->source, p->err));
	if (named) {
		s->named++;
		t->named++;
		crash_write_frames(p, l, line, out);
	} else if (item->is_signal) {
		s->named++;
		t->named++;
		crash_write_indent(line, out);
		ux_out_cstr(out, SIGNAL_RETURN "\n");
	} else if (item->located || item->has_symbol) {
		s->in_text++;
		t->named += item->located;
	}
	if (named || item->is_signal || item->located)
		return UX_OK;
	struct ux_bytes why = crash_part_reason(p, item);
	if (s->verbose) {
		crash_write_indent(line, out);
		ux_out_cstr(out, "?? (");
		ux_out_put(out, why.data, why.size);
		ux_out_cstr(out, ")\n");
	}
	return crash_symbolizer_keep(s, why, &t->why, p->err);
}

static enum ux_code crash_part_write(struct crash_part *p, struct ux_bytes text, struct ux_out *out)
{
	struct ux_crash_line line;
	struct ux_bytes whole;
	size_t next = 0;
	while (ux_crash_next(&p->s->written, &text, &whole, &line)) {
		ux_out_put(out, whole.data, whole.size);
		if (line.n == 0)
			continue;
		size_t before = out->size;
		if (whole.size > 0 && whole.data[whole.size - 1] != '\n')
			ux_out_u8(out, '\n'); /* the last line of the text */
		size_t start = out->size;
		for (size_t i = 0; i < line.n; i++)
			UX_TRY(crash_part_write_item(p, &p->items.data[next++], whole, out));
		if (out->size == start && !out->failed)
			out->size = before;
	}
	return ux_out_status(out, p->err);
}

enum ux_code ux_crash_symbolize(struct ux_crash_symbolizer *s, struct ux_bytes text,
				struct ux_out *out, struct ux_error *err)
{
	struct crash_part p = {.s = s, .err = err};
	bool changed = false;
	if (s->arena.budget == 0)
		ux_arena_init(&s->arena, NAMES_BUDGET);
	UX_TRY(ux_crash_report_read(&s->report, text, err));
	enum ux_code code = ux_profile_init(&p.profile, err);
	if (code == UX_OK)
		code = crash_part_read(&p, text);
	if (code == UX_OK)
		code = ux_profile_symbolize(&p.profile, s->sources->profile, err);
	if (code == UX_OK)
		code = crash_part_correct(&p, &changed);
	if (code == UX_OK && changed)
		code = ux_profile_symbolize(&p.profile, s->sources->profile, err);
	if (code == UX_OK)
		code = crash_part_write(&p, text, out);
	crash_part_deinit(&p);
	return code;
}
