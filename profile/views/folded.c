/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks. */
#include "folded.h"

#include "profile_text.h"
#include "text.h"

enum {
	FOLDED_LOOK = 1 << 16, /* bytes of a first line, at most */
};

/* --- reading ---------------------------------------------------------------------------------- */

/* Splits "stack COUNT". The count may have a fraction, which is dropped. */
static bool folded_count(struct ux_bytes line, struct ux_bytes *ret_stack, uint64_t *ret_count)
{
	const uint8_t *blank = ux_bytes_find_last(line, ' ');
	if (!blank || blank == line.data)
		return false;
	struct ux_bytes number = ux_bytes(blank + 1, (size_t)(line.data + line.size - blank - 1));
	size_t n = ux_digits_parse(number, 10, ret_count);
	if (n == 0 || *ret_count > INT64_MAX || (n < number.size && number.data[n] != '.'))
		return false;
	for (size_t i = n + 1; i < number.size; i++)
		if (!ux_is_digit(number.data[i]))
			return false;
	*ret_stack = ux_bytes(line.data, (size_t)(blank - line.data));
	return true;
}

bool ux_folded_is(struct ux_bytes text)
{
	struct ux_bytes whole, line = UX_BYTES_NONE, stack;
	uint64_t count = 0;
	if (memchr(text.data, 0, ux_min(text.size, (size_t)FOLDED_LOOK)))
		return false;
	text.size = ux_min(text.size, (size_t)UX_PROFILE_LOOK);
	while (ux_profile_line(&text, &whole, &line) && line.size == 0) {
	}
	return line.size < FOLDED_LOOK && folded_count(line, &stack, &count);
}

/* The state of reading. */
struct folded_reader {
	struct ux_profile *profile;
	struct ux_profile_numbers names;   /* location by string index of its name */
	struct ux_profile_numbers modules; /* module by string index of its path */
};

static void folded_reader_deinit(struct folded_reader *r)
{
	ux_profile_numbers_deinit(&r->names);
	ux_profile_numbers_deinit(&r->modules);
}

/* Splits "[MODULE+0xPC]" or "/PATH+0xPC". */
static bool folded_address(struct ux_bytes frame, struct ux_bytes *ret_module, uint64_t *ret_pc)
{
	if (frame.size > 2 && frame.data[0] == '[' && frame.data[frame.size - 1] == ']')
		frame = ux_bytes(frame.data + 1, frame.size - 2);
	else if (frame.size == 0 || frame.data[0] != '/')
		return false; /* "main+0x1d" is a function and an offset in it */
	const uint8_t *plus = ux_bytes_find_last(frame, '+');
	if (!plus || plus == frame.data)
		return false;
	*ret_module = ux_bytes(frame.data, (size_t)(plus - frame.data));
	struct ux_bytes number = ux_bytes(plus + 1, (size_t)(frame.data + frame.size - plus - 1));
	return ux_bytes_starts(number, UX_STR("0x")) && ux_hex_parse_u64(number, true, ret_pc);
}

static enum ux_code folded_module(struct folded_reader *r, struct ux_bytes path, uint32_t *ret,
				  struct ux_error *err)
{
	uint32_t text = 0;
	bool fresh = false;
	UX_TRY(ux_profile_string(r->profile, path, &text, err));
	uint32_t *module = ux_profile_numbers_insert(&r->modules, text, &fresh);
	if (!module)
		return ux_error_nomem(err);
	if (fresh)
		UX_TRY(ux_profile_add_module(r->profile, (struct ux_profile_module){.path = text},
					     module, err));
	*ret = *module;
	return UX_OK;
}

/* Adds the location of a frame: an address, or only a name. */
static enum ux_code folded_location(struct folded_reader *r, struct ux_bytes frame, bool leaf,
				    uint32_t *ret, struct ux_error *err)
{
	struct ux_profile_place place = {.kind = UX_PROFILE_PC, .returns = !leaf};
	struct ux_bytes path;
	if (folded_address(frame, &path, &place.address)) {
		UX_TRY(folded_module(r, path, &place.module, err));
		return ux_profile_locate(r->profile, place, ret, err);
	}
	struct ux_profile_frame named = {0};
	bool fresh = false;
	UX_TRY(ux_profile_string(r->profile, frame, &named.name, err));
	uint32_t *location = ux_profile_numbers_insert(&r->names, named.name, &fresh);
	if (!location)
		return ux_error_nomem(err);
	if (fresh) {
		UX_TRY(ux_profile_add_location(
			r->profile, (struct ux_profile_location){.named = true}, location, err));
		UX_TRY(ux_profile_name(r->profile, *location, &named, 1, err));
	}
	*ret = *location;
	return UX_OK;
}

static enum ux_code folded_stack(struct folded_reader *r, struct ux_bytes stack, int64_t count,
				 uint64_t line, struct ux_error *err)
{
	uint32_t number = 0, location = 0;
	bool last = false;
	for (size_t depth = 0; !last; depth++) {
		const uint8_t *end = stack.size > 0 ? memchr(stack.data, ';', stack.size) : NULL;
		size_t n = end ? (size_t)(end - stack.data) : stack.size;
		last = !end;
		if (depth == UX_PROFILE_DEPTH_MAX)
			return ux_error_set(err, UX_ELIMIT,
					    "line %" PRIu64 ": stack has more than %d frames", line,
					    UX_PROFILE_DEPTH_MAX);
		UX_TRY(folded_location(r, ux_bytes(stack.data, n), last, &location, err));
		UX_TRY(ux_profile_push(r->profile, number, location, &number, err));
		if (end)
			stack = ux_bytes(end + 1, stack.size - n - 1);
	}
	return ux_profile_add_sample(r->profile, 0, number, 0, &count, err);
}

enum ux_code ux_folded_read(struct ux_bytes text, struct ux_profile *p, struct ux_error *err)
{
	ux_cleanup(folded_reader_deinit) struct folded_reader r = {.profile = p};
	UX_TRY(ux_profile_string(p, UX_STR("samples"), &p->types[0].name, err));
	UX_TRY(ux_profile_string(p, UX_STR("count"), &p->types[0].unit, err));
	p->n_types = 1;
	struct ux_bytes whole, line, stack;
	uint64_t count = 0;
	for (uint64_t number = 1; ux_profile_line(&text, &whole, &line); number++) {
		if (line.size == 0)
			continue;
		UX_TRY(ux_profile_line_check(line, number, err));
		if (!folded_count(line, &stack, &count))
			return ux_error_set(err, UX_ECORRUPT,
					    "line %" PRIu64 ": expected \"frame;frame COUNT\"",
					    number);
		UX_TRY(folded_stack(&r, stack, (int64_t)count, number, err));
	}
	return UX_OK;
}

/* --- writing ---------------------------------------------------------------------------------- */

enum {
	FOLDED_QUOTA_MAX = 128 << 20 /* bytes of all lines, if the output is limited */
};

/* A line and its count. */
struct folded_entry {
	struct ux_bytes text;
	int64_t count;
};

UX_VEC(folded_entries, struct folded_entry);
UX_VEC(folded_texts, struct ux_bytes);

/* The state of writing. */
struct folded_writer {
	const struct ux_profile *profile;
	enum ux_demangle_mode mode;
	struct ux_out line;        /* the line of a sample */
	struct ux_out text;        /* the text of a location or a name that is being written */
	struct ux_bytes *texts;    /* for each location, its frames; empty: not written yet */
	struct folded_texts names; /* names as lines have them */
	struct ux_profile_numbers names_of; /* index in `names` by folded_name_key() */
	struct ux_profile_values stack;     /* a sample's locations, the innermost first */
	struct ux_arena arena;              /* texts of locations, names and entries */
	struct folded_entries entries;
	struct ux_string_numbers entry_of; /* entry by its text */
};

static void folded_writer_deinit(struct folded_writer *w)
{
	free(w->texts);
	ux_out_deinit(&w->line);
	ux_out_deinit(&w->text);
	folded_texts_deinit(&w->names);
	ux_profile_numbers_deinit(&w->names_of);
	ux_profile_values_deinit(&w->stack);
	ux_arena_deinit(&w->arena);
	folded_entries_deinit(&w->entries);
	ux_string_numbers_deinit(&w->entry_of);
}

/* Replaces the separators of frames and lines. */
static void folded_clean(struct ux_out *out, size_t from)
{
	for (size_t i = from; i < out->size && !out->failed; i++)
		if (out->data[i] == ';' || out->data[i] == '\n' || out->data[i] == '\r')
			out->data[i] = ':';
}

/* Copies the written text to the arena. */
static enum ux_code folded_keep(struct folded_writer *w, struct ux_bytes *ret, struct ux_error *err)
{
	UX_TRY(ux_out_status(&w->text, err));
	const char *copy = ux_arena_strndup(&w->arena, w->text.data, w->text.size);
	if (!copy)
		return ux_arena_fail(&w->arena, err);
	*ret = ux_bytes(copy, w->text.size);
	return UX_OK;
}

static uint64_t folded_name_key(const struct ux_profile_frame *frame)
{
	return (uint64_t)frame->name << 32 | frame->linkage;
}

/* Returns the text of a function's name, which many locations share. */
static enum ux_code folded_name(struct folded_writer *w, const struct ux_profile_frame *frame,
				struct ux_bytes *ret, struct ux_error *err)
{
	bool fresh = false;
	uint32_t *index = ux_profile_numbers_insert(&w->names_of, folded_name_key(frame), &fresh);
	if (!index)
		return ux_error_nomem(err);
	if (fresh) {
		*index = (uint32_t)w->names.size;
		ux_out_reset(&w->text);
		ux_profile_write_name(w->profile, frame, w->mode, &w->text);
		folded_clean(&w->text, 0);
		struct ux_bytes name = UX_BYTES_NONE;
		UX_TRY(folded_keep(w, &name, err));
		if (!folded_texts_append(&w->names, name))
			return ux_error_nomem(err);
	}
	*ret = w->names.data[*index];
	return UX_OK;
}

/* Writes the frames of a location as lines have them, with ";" before each. */
static enum ux_code folded_location_text(struct folded_writer *w, uint32_t location,
					 struct ux_error *err)
{
	const struct ux_profile *p = w->profile;
	const struct ux_profile_location *l = &p->locations.data[location];
	struct ux_bytes name = UX_BYTES_NONE;
	if (l->n == 0) {
		ux_out_reset(&w->text);
		ux_out_cstr(&w->text, ";[");
		ux_profile_write_place(p, l, &w->text);
		folded_clean(&w->text, 1);
		ux_out_u8(&w->text, ']');
		return folded_keep(w, &w->texts[location], err);
	}
	size_t size = 0;
	for (uint32_t i = 0; i < l->n; i++) {
		UX_TRY(folded_name(w, &p->frames.data[l->first + i], &name, err));
		size += 1 + name.size;
	}
	uint8_t *text = ux_arena_array(&w->arena, uint8_t, size);
	if (!text)
		return ux_arena_fail(&w->arena, err);
	w->texts[location] = ux_bytes(text, size);
	for (uint32_t i = l->n; i > 0; i--) {
		UX_TRY(folded_name(w, &p->frames.data[l->first + i - 1], &name, err));
		*text++ = ';';
		if (name.size > 0)
			memcpy(text, name.data, name.size);
		text += name.size;
	}
	return UX_OK;
}

static enum ux_code folded_add(struct folded_writer *w, struct ux_bytes text, int64_t count,
			       struct ux_error *err)
{
	bool fresh = false;
	const uint32_t *known = ux_string_numbers_find(&w->entry_of, text);
	if (known) {
		int64_t *sum = &w->entries.data[*known].count;
		*sum = (int64_t)((uint64_t)*sum + (uint64_t)count);
		return UX_OK;
	}
	char *copy = ux_arena_strndup(&w->arena, text.data, text.size);
	if (!copy)
		return ux_arena_fail(&w->arena, err);
	struct folded_entry entry = {.text = ux_bytes(copy, text.size), .count = count};
	uint32_t *number = ux_string_numbers_insert(&w->entry_of, entry.text, &fresh);
	if (!number)
		return ux_error_nomem(err);
	*number = (uint32_t)w->entries.size;
	return folded_entries_append(&w->entries, entry) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code folded_sample(struct folded_writer *w, const struct ux_profile_sample *sample,
				  int64_t count, struct ux_error *err)
{
	const struct ux_profile *p = w->profile;
	const struct ux_profile_thread *thread = &p->threads.data[sample->thread];
	size_t size = 0;
	w->stack.size = 0;
	for (uint32_t s = sample->stack; s != 0; s = p->stacks.data[s].caller) {
		uint32_t location = p->stacks.data[s].location;
		if (!ux_profile_values_append(&w->stack, location))
			return ux_error_nomem(err);
		if (w->texts[location].size == 0)
			UX_TRY(folded_location_text(w, location, err));
		size += w->texts[location].size;
	}
	ux_out_reset(&w->line);
	if (thread->comm != 0) {
		struct ux_bytes comm = ux_profile_text(p, thread->comm);
		ux_out_u8(&w->line, ';');
		ux_out_put(&w->line, comm.data, comm.size);
		folded_clean(&w->line, 1);
	}
	uint8_t *to = size > 0 ? ux_out_room(&w->line, size) : NULL;
	for (size_t i = to ? w->stack.size : 0; i > 0; i--) {
		struct ux_bytes text = w->texts[w->stack.data[i - 1]];
		memcpy(to, text.data, text.size);
		to += text.size;
	}
	if (w->line.size == 0)
		ux_out_cstr(&w->line, ";[no stack]");
	UX_TRY(ux_out_status(&w->line, err));
	return folded_add(w, ux_bytes(w->line.data + 1, w->line.size - 1), count, err);
}

static int folded_compare(const void *a, const void *b)
{
	const struct folded_entry *x = a, *y = b;
	return ux_bytes_cmp(x->text, y->text);
}

/* Writes " COUNT" and the end of the line. */
static void folded_put_count(struct ux_out *out, int64_t count)
{
	char text[24];
	size_t at = sizeof(text);
	uint64_t v = count < 0 ? -(uint64_t)count : (uint64_t)count;
	text[--at] = '\n';
	do
		text[--at] = (char)('0' + v % 10);
	while ((v /= 10) > 0);
	if (count < 0)
		text[--at] = '-';
	text[--at] = ' ';
	ux_out_put(out, text + at, sizeof(text) - at);
}

enum ux_code ux_folded_write(const struct ux_profile *p, size_t type, enum ux_demangle_mode mode,
			     struct ux_stream *s, struct ux_error *err)
{
	struct ux_out_quota *quota = s->out.quota;
	ux_cleanup(folded_writer_deinit) struct folded_writer w = {.profile = p, .mode = mode};
	w.line.quota = w.text.quota = quota;
	ux_arena_init(&w.arena, quota ? FOLDED_QUOTA_MAX : UX_PROFILE_BYTES_MAX);
	w.texts = calloc(p->locations.size, sizeof(*w.texts));
	if (!w.texts)
		return ux_error_nomem(err);
	for (size_t i = 0; i < p->samples.size; i++) {
		const struct ux_profile_sample *sample = &p->samples.data[i];
		int64_t count = type < p->n_types ? ux_profile_sample_values(p, sample)[type] : 1;
		UX_TRY(folded_sample(&w, sample, count, err));
	}
	if (w.entries.size > 0)
		qsort(w.entries.data, w.entries.size, sizeof(*w.entries.data), folded_compare);
	for (size_t i = 0; i < w.entries.size; i++) {
		const struct folded_entry *e = &w.entries.data[i];
		ux_out_put(&s->out, e->text.data, e->text.size);
		folded_put_count(&s->out, e->count);
		UX_TRY(ux_stream_pass(s, err));
	}
	return ux_out_status(&s->out, err);
}
