/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the frames of a crash report. */
#include "crash_naming.h"

#include "crash_address.h"

#include <stdarg.h>

enum {
	NOTE_MAX = 1024, /* bytes of a note about a choice */
};

void ux_crash_naming_deinit(struct ux_crash_naming *n)
{
	for (size_t i = 0; i < n->builds.size; i++)
		n->source->close(n->source, n->builds.data[i].found.record);
	ux_crash_builds_deinit(&n->builds);
	ux_crash_build_numbers_deinit(&n->numbers);
	ux_crash_items_deinit(&n->items);
	ux_crash_report_deinit(&n->report);
	ux_arena_deinit(&n->reasons);
	ux_arena_deinit(&n->arena);
}

/* --- choices ---------------------------------------------------------------------------------- */

struct ux_crash_choice ux_crash_choice_parse(struct ux_bytes text)
{
	const uint8_t *mark = text.size > 0 ? memchr(text.data, '=', text.size) : NULL;
	size_t n = mark ? (size_t)(mark - text.data) : 0;
	if (!mark)
		return (struct ux_crash_choice){.what = text};
	return (struct ux_crash_choice){.name = ux_bytes(text.data, n),
					.what = ux_bytes(mark + 1, text.size - n - 1)};
}

/* Returns the choice for a module; empty: none. */
static struct ux_bytes crash_choice_find(const struct ux_crash_naming *n, struct ux_bytes name)
{
	struct ux_bytes base = ux_crash_base_name(name);
	for (size_t i = 0; i < n->n_choices; i++) {
		const struct ux_crash_choice *c = &n->choices[i];
		bool meant =
			ux_bytes_eq(c->name, name) || (name.size > 0 && ux_bytes_eq(c->name, base));
		if (meant && c->what.size > 0)
			return c->what;
	}
	return UX_BYTES_NONE;
}

/* --- builds ----------------------------------------------------------------------------------- */

__attribute__((format(printf, 4, 5))) static enum ux_code crash_build_note(
	struct ux_crash_naming *n, struct ux_crash_build *b, struct ux_error *err, const char *fmt,
	...)
{
	char text[NOTE_MAX];
	va_list args;
	va_start(args, fmt);
	int size = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	b->note = ux_arena_strndup(&n->arena, text, (size_t)ux_min(ux_max(size, 0), NOTE_MAX - 1));
	return b->note ? UX_OK : ux_arena_fail(&n->arena, err);
}

/*
 * Opens the chosen build of a module. If the text has the ID of another build, it is closed again,
 * unless the user insists.
 */
static enum ux_code crash_build_open_choice(struct ux_crash_naming *n, struct ux_crash_build *b,
					    const struct ux_crash_wanted *w, bool *ret_used,
					    struct ux_error *err)
{
	char id[UX_ID_TEXT];
	struct ux_crash_found *m = &b->found;
	UX_TRY(n->source->open(n->source, w, m, err));
	*ret_used = w->id.size == 0 || !m->differs || n->force;
	if (w->id.size == 0 || !m->differs)
		return UX_OK;
	ux_id_format(&w->id, id);
	struct ux_bytes what = *m->id ? ux_bytes_cstr(m->id) : w->choice;
	int size = (int)ux_min(what.size, (size_t)UX_ID_TEXT);
	enum ux_code code =
		*ret_used ? crash_build_note(n, b, err, "%.*s was chosen, but the text has %s",
					     size, (const char *)what.data, id)
			  : crash_build_note(n, b, err,
					     "%.*s was chosen and not used: the text has %s", size,
					     (const char *)what.data, id);
	if (*ret_used)
		return code;
	n->source->close(n->source, m->record);
	*m = (struct ux_crash_found){.id = "", .how = ""};
	return code;
}

static enum ux_code crash_build_open(struct ux_crash_naming *n, struct ux_crash_build *b,
				     const struct ux_crash_frame *f, struct ux_error *err)
{
	bool used = false;
	struct ux_crash_wanted w = {
		.choice = crash_choice_find(n, f->module),
		.name = b->name,
		.release = n->report.release,
		.is_kernel = f->form == UX_CRASH_KERNEL && *b->name,
		.arena = &n->arena,
	};
	b->found = (struct ux_crash_found){.id = "", .how = ""};
	if (f->id.size > 0 && ux_id_parse(f->id, &w.id, NULL) != UX_OK)
		w.id = (struct ux_id){0};
	if (w.choice.size > 0)
		UX_TRY(crash_build_open_choice(n, b, &w, &used, err));
	w.choice = UX_BYTES_NONE;
	return used ? UX_OK : n->source->open(n->source, &w, &b->found, err);
}

static enum ux_code crash_build_add(struct ux_crash_naming *n, const struct ux_crash_frame *f,
				    struct ux_bytes key, uint32_t *ret, struct ux_error *err)
{
	bool fresh = false;
	struct ux_crash_build made = {.name = (const char *)key.data,
				      .text_id =
					      ux_bytes(key.data + f->module.size + 1, f->id.size)};
	enum ux_code code = crash_build_open(n, &made, f, err);
	if (code != UX_OK || !ux_crash_builds_append(&n->builds, made)) {
		n->source->close(n->source, made.found.record);
		return code != UX_OK ? code : ux_error_nomem(err);
	}
	uint32_t *number = ux_crash_build_numbers_insert(&n->numbers, key, &fresh);
	if (!number)
		return ux_error_nomem(err);
	*ret = *number = (uint32_t)(n->builds.size - 1);
	return UX_OK;
}

/* Finds or opens the module of a frame. Its key is "NAME\0ID\0", whose first part is a string. */
static enum ux_code crash_build_find(struct ux_crash_naming *n, const struct ux_crash_frame *f,
				     uint32_t *ret, struct ux_error *err)
{
	size_t size = f->module.size + f->id.size + 2;
	struct ux_arena_mark mark = ux_arena_mark(&n->arena);
	char *key = ux_arena_array(&n->arena, char, size);
	if (!key)
		return ux_arena_fail(&n->arena, err);
	memset(key, 0, size);
	if (f->module.size > 0)
		memcpy(key, f->module.data, f->module.size);
	if (f->id.size > 0)
		memcpy(key + f->module.size + 1, f->id.data, f->id.size);
	const uint32_t *known = ux_crash_build_numbers_find(&n->numbers, ux_bytes(key, size));
	*ret = known ? *known : UX_CRASH_NO_BUILD;
	if (!known && n->builds.size < n->limits.modules)
		return crash_build_add(n, f, ux_bytes(key, size), ret, err);
	ux_arena_rewind(&n->arena, mark);
	return UX_OK;
}

/* --- reading ---------------------------------------------------------------------------------- */

static enum ux_code crash_item_locate(struct ux_crash_naming *n, const struct ux_crash_frame *f,
				      struct ux_crash_item *item, struct ux_error *err)
{
	struct ux_crash_pc at;
	struct ux_crash_source *s = n->source;
	const struct ux_crash_build *b = ux_crash_item_build(n, item);
	if (!b) {
		item->why = "the text has too many modules";
		return UX_OK;
	}
	UX_TRY(ux_crash_locate(s, &b->found, f, &n->reasons, &at, err));
	item->has_pc = at.known;
	item->pc = at.pc;
	item->why = at.why;
	if (!at.known || !b->found.open)
		return UX_OK;
	item->signal_return =
		item->signal_return ||
		(s->is_signal_return && s->is_signal_return(s, b->found.record, at.pc));
	/* Both addresses: which one is looked up may depend on the name of the frame before. */
	UX_TRY(s->add(s, b->found.record, at.pc, err));
	return item->returns && at.pc > 0 ? s->add(s, b->found.record, at.pc - 1, err) : UX_OK;
}

static enum ux_code crash_item_add(struct ux_crash_naming *n, struct ux_crash_frame *f, bool first,
				   struct ux_error *err)
{
	struct ux_crash_item item = {.located = f->located, .first = first};
	if (n->items.size >= n->limits.frames)
		return ux_error_set(err, UX_ELIMIT, "the text has more than %zu frames",
				    n->limits.frames);
	ux_crash_report_settle(&n->report, f);
	item.returns = f->form == UX_CRASH_PLAIN ? n->returns : f->returns;
	item.has_symbol = f->symbol.size > 0;
	item.signal_return = ux_crash_is_signal_return(f->symbol);
	UX_TRY(crash_build_find(n, f, &item.build, err));
	UX_TRY(crash_item_locate(n, f, &item, err));
	return ux_crash_items_append(&n->items, item) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code crash_naming_charge(struct ux_crash_naming *n, size_t bytes,
					struct ux_error *err)
{
	if (n->limits.lines > 0 && ++n->lines > n->limits.lines)
		return ux_error_set(err, UX_ELIMIT, "the text has more than %zu lines",
				    n->limits.lines);
	return n->source->charge ? n->source->charge(n->source, bytes, err) : UX_OK;
}

static enum ux_code crash_naming_read_lines(struct ux_crash_naming *n, struct ux_bytes part,
					    struct ux_error *err)
{
	struct ux_crash_line line;
	struct ux_bytes whole, current = UX_BYTES_NONE;
	bool first = true;
	while (ux_crash_next(&n->reader, &part, &whole, &line)) {
		UX_TRY(crash_naming_charge(n, whole.size, err));
		if (line.fact == UX_CRASH_CURRENT)
			current = line.id;
		if (line.n == 0 && line.fact == UX_CRASH_NO_FACT)
			first = true;
		for (size_t i = 0; i < line.n; i++) {
			struct ux_crash_frame *f = &line.frames[i];
			if (f->form == UX_CRASH_PLAIN && f->module.size == 0 && f->id.size == 0)
				f->id = current;
			UX_TRY(crash_item_add(n, f, first, err));
			first = false;
		}
	}
	return UX_OK;
}

/* --- names ------------------------------------------------------------------------------------ */

static enum ux_code crash_item_look(struct ux_crash_naming *n, const struct ux_crash_item *item,
				    uint64_t pc, struct ux_crash_look *ret, struct ux_error *err)
{
	const struct ux_crash_build *b = ux_crash_item_build(n, item);
	*ret = (struct ux_crash_look){0};
	if (!b || !b->found.open || !item->has_pc)
		return UX_OK;
	return n->source->look(n->source, b->found.record, pc, ret, err);
}

/* Neither the code to which signal handlers return was called, nor the frame after it. */
static enum ux_code crash_naming_correct(struct ux_crash_naming *n, struct ux_error *err)
{
	bool after_signal = false;
	for (size_t i = 0; i < n->items.size; i++) {
		struct ux_crash_item *item = &n->items.data[i];
		struct ux_crash_look look;
		UX_TRY(crash_item_look(n, item, item->pc, &look, err));
		item->signal_return = item->signal_return || look.signal_return;
		if (item->signal_return || (after_signal && !item->first))
			item->returns = false;
		after_signal = item->signal_return;
		if (ux_crash_item_pc(item) != item->pc)
			UX_TRY(crash_item_look(n, item, ux_crash_item_pc(item), &look, err));
		item->named = look.named;
	}
	return UX_OK;
}

/* Keeps the first reason why a frame of a build has no name. */
static enum ux_code crash_naming_keep_why(struct ux_crash_naming *n,
					  const struct ux_crash_item *item,
					  struct ux_crash_build *b, struct ux_error *err)
{
	if (!b || b->why)
		return UX_OK;
	const char *why = ux_crash_item_why(n, item);
	b->why = ux_arena_strndup(&n->arena, why, strlen(why));
	return b->why ? UX_OK : ux_arena_fail(&n->arena, err);
}

static enum ux_code crash_naming_count(struct ux_crash_naming *n, struct ux_error *err)
{
	for (size_t i = 0; i < n->items.size; i++) {
		const struct ux_crash_item *item = &n->items.data[i];
		struct ux_crash_build *b = ux_crash_item_build(n, item);
		bool named = item->named || (item->signal_return && !item->has_symbol);
		n->frames++;
		n->named += named;
		n->in_text += !named && (item->located || item->has_symbol);
		if (b)
			b->frames++;
		if (b)
			b->named += named || item->located;
		if (!named && !item->located)
			UX_TRY(crash_naming_keep_why(n, item, b, err));
	}
	return UX_OK;
}

const char *ux_crash_item_why(const struct ux_crash_naming *n, const struct ux_crash_item *item)
{
	const struct ux_crash_build *b = ux_crash_item_build(n, item);
	if (item->why)
		return item->why;
	if (b && !b->found.open)
		return b->found.why ? b->found.why : "no symbols";
	return b ? n->source->why(n->source, b->found.record) : "no symbols";
}

enum ux_code ux_crash_naming_read(struct ux_crash_naming *n, struct ux_bytes part,
				  struct ux_error *err)
{
	if (n->arena.budget == 0)
		ux_arena_init(&n->arena, n->limits.names);
	ux_arena_deinit(&n->reasons);
	ux_arena_init(&n->reasons, n->limits.names);
	n->items.size = 0;
	UX_TRY(ux_crash_report_read(&n->report, part, err));
	UX_TRY(crash_naming_read_lines(n, part, err));
	UX_TRY(n->source->resolve(n->source, n->builds.data, n->builds.size, err));
	UX_TRY(crash_naming_correct(n, err));
	return crash_naming_count(n, err);
}
