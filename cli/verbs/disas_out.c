/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions beside source lines, as text or JSON. */
#include "disas_out.h"

#include "json_out.h"
#include "output.h"

#include <unistd.h>

enum {
	TAB = 4 /* columns of source text */
};

enum ux_code ux_disas_out_init(struct ux_disas_out *d, const struct ux_option_each *maps,
			       struct ux_error *err)
{
	d->frames = calloc(UX_FRAMES_MAX, sizeof(*d->frames));
	d->last = calloc(UX_FRAMES_MAX, sizeof(*d->last));
	d->sources = ux_source_lines_create(maps);
	d->colors = ux_colors_of(STDOUT_FILENO);
	d->marked = UINT64_MAX;
	return d->frames && d->last && d->sources ? UX_OK : ux_error_nomem(err);
}

void ux_disas_out_deinit(struct ux_disas_out *d)
{
	ux_source_lines_destroy(d->sources);
	free(d->frames);
	free(d->last);
	ux_out_deinit(&d->name);
	ux_out_deinit(&d->out);
}

struct ux_bytes ux_disas_name(struct ux_disas_out *d, const char *name, enum ux_demangle_mode mode)
{
	ux_out_reset(&d->name);
	ux_demangle(ux_bytes_cstr(name), mode, &d->name);
	return ux_out_bytes(&d->name);
}

static void disas_put_name(struct ux_disas_out *d, const char *name)
{
	ux_out_cstr(&d->out, d->colors.name);
	ux_text(&d->out, ux_disas_name(d, name, d->mode));
	ux_out_cstr(&d->out, d->colors.none);
}

static void disas_put_place(struct ux_disas_out *d, const struct ux_frame *f)
{
	ux_out_cstr(&d->out, d->colors.source);
	if (*f->dir) {
		ux_text(&d->out, ux_bytes_cstr(f->dir));
		if (f->dir[strlen(f->dir) - 1] != '/')
			ux_out_u8(&d->out, '/');
	}
	ux_text(&d->out, ux_bytes_cstr(f->base));
	if (f->line > 0)
		ux_out_fmt(&d->out, ":%" PRIu32, f->line);
	ux_out_cstr(&d->out, d->colors.none);
}

/* Each inlined call that encloses a line indents it. */
static void disas_put_depth(struct ux_disas_out *d, size_t depth)
{
	for (size_t i = 0; i < depth; i++)
		ux_out_cstr(&d->out, "| ");
}

static bool disas_is_same_call(const struct ux_frame *a, const struct ux_frame *b)
{
	return strcmp(a->function, b->function) == 0;
}

static bool disas_is_same_line(const struct ux_frame *a, const struct ux_frame *b)
{
	return a->line == b->line && strcmp(a->base, b->base) == 0 && strcmp(a->dir, b->dir) == 0;
}

/* Returns how many frames, from the outermost on, equal the previous instruction's. */
static size_t disas_common(const struct ux_disas_out *d, size_t n)
{
	size_t common = 0;
	while (common < n && common < d->n_last) {
		const struct ux_frame *a = &d->frames[n - 1 - common];
		const struct ux_frame *b = &d->last[d->n_last - 1 - common];
		/* The line of a frame other than the innermost is the line of its call. */
		bool inner = common + 1 == n || common + 1 == d->n_last;
		if (!disas_is_same_call(a, b) || (!inner && !disas_is_same_line(a, b)))
			break;
		common++;
	}
	return common;
}

/* Writes text of a source file. Tabs become spaces, because the prefix of the line would move them.
 */
static void disas_put_source(struct ux_disas_out *d, struct ux_bytes text)
{
	size_t from = 0, column = 0;
	for (size_t i = 0; i <= text.size; i++, column++) {
		if (i < text.size && text.data[i] != '\t')
			continue;
		ux_text(&d->out, ux_bytes(text.data + from, i - from));
		from = i + 1;
		if (i < text.size) {
			size_t to = (column / TAB + 1) * TAB;
			ux_out_fmt(&d->out, "%*s", (int)(to - column), "");
			column = to - 1;
		}
	}
}

/* Writes the source line of a frame; only its number if the file is not here. */
static void disas_put_line(struct ux_disas_out *d, const struct ux_frame *f, size_t depth)
{
	struct ux_bytes text = UX_BYTES_NONE;
	bool here = ux_source_lines_get(d->sources, f->dir, f->base, f->line, &text);
	if (f->line == 0)
		return;
	disas_put_depth(d, depth);
	ux_out_fmt(&d->out, "%s%5" PRIu32 "%s  ", d->colors.source, f->line, d->colors.none);
	if (here) {
		disas_put_source(d, text);
	} else {
		disas_put_place(d, f);
	}
	ux_out_u8(&d->out, '\n');
}

/* Prints calls that begin here, and the source line if it has changed. */
static void disas_put_frames(struct ux_disas_out *d, size_t n)
{
	size_t common = disas_common(d, n);
	for (size_t depth = ux_max(common, (size_t)1); depth < n; depth++) {
		const struct ux_frame *call = &d->frames[n - depth];
		disas_put_line(d, call, depth - 1);
		disas_put_depth(d, depth);
		disas_put_name(d, d->frames[n - 1 - depth].function);
		ux_out_cstr(&d->out, ", inlined at ");
		disas_put_place(d, call);
		ux_out_u8(&d->out, '\n');
	}
	if (common < n || n != d->n_last || !disas_is_same_line(&d->frames[0], &d->last[0]))
		disas_put_line(d, &d->frames[0], n - 1);
}

/* Writes a target such as "main+0x66". */
static void disas_write_target(struct ux_disas_out *d, const struct ux_disas_target *t,
			       struct ux_out *out)
{
	ux_text(out, ux_disas_name(d, t->name, d->mode));
	if (t->offset > 0)
		ux_out_fmt(out, "+0x%" PRIx64, t->offset);
}

/* Writes " <main+0x66>", after the address if the text does not show it, as in "[rip + 0x10]". */
static void disas_put_target(struct ux_disas_out *d, const struct ux_disas_target *t,
			     struct ux_bytes text)
{
	char number[19];
	int n = snprintf(number, sizeof(number), "0x%" PRIx64, t->pc);
	bool shown = memmem(text.data, text.size, number, (size_t)n);
	if (t->pc == 0 || (shown && !t->name))
		return;
	ux_out_cstr(&d->out, shown ? "" : "  # ");
	ux_out_put(&d->out, number, shown ? 0 : (size_t)n);
	if (!t->name)
		return;
	ux_out_fmt(&d->out, " %s<", d->colors.name);
	disas_write_target(d, t, &d->out);
	ux_out_fmt(&d->out, ">%s", d->colors.none);
}

static void disas_put_text(struct ux_disas_out *d, uint64_t pc, struct ux_bytes text, uint64_t next,
			   const struct ux_disas_target *target, size_t n)
{
	bool marked = d->marked >= pc && d->marked < next;
	if (n > 0)
		disas_put_frames(d, n);
	disas_put_depth(d, n > 0 ? n - 1 : 0);
	ux_out_fmt(&d->out, "    %s %s0x%" PRIx64 "%s  ", marked ? "=>" : "  ", d->colors.dim, pc,
		   d->colors.none);
	ux_text(&d->out, text);
	disas_put_target(d, target, text);
	ux_out_u8(&d->out, '\n');
}

static void disas_put_target_json(struct ux_disas_out *d, struct ux_json *j,
				  const struct ux_disas_target *t)
{
	char address[19];
	ux_cleanup(ux_out_deinit) struct ux_out name = {0};
	if (t->pc == 0)
		return;
	snprintf(address, sizeof(address), "0x%" PRIx64, t->pc);
	ux_json_key_cstr(j, "target", address);
	if (!t->name)
		return;
	disas_write_target(d, t, &name);
	d->out.failed |= name.failed;
	ux_json_key_str(j, "target_name", ux_out_bytes(&name));
}

static void disas_put_frame_json(struct ux_disas_out *d, struct ux_json *j,
				 const struct ux_frame *f)
{
	struct ux_bytes source = UX_BYTES_NONE;
	ux_json_object_begin(j);
	ux_json_key_str(j, "function", ux_disas_name(d, f->function, d->mode));
	if (*f->base) {
		ux_json_key(j, "file");
		ux_json_path(j, ux_bytes_cstr(f->dir), ux_bytes_cstr(f->base));
	}
	ux_json_key_u64(j, "line", f->line);
	if (f->inlined)
		ux_json_key_bool(j, "inlined", true);
	if (ux_source_lines_get(d->sources, f->dir, f->base, f->line, &source))
		ux_json_key_str(j, "source", source);
	ux_json_object_end(j);
}

static void disas_put_json(struct ux_disas_out *d, uint64_t pc, struct ux_bytes text,
			   const struct ux_disas_target *target, size_t n)
{
	struct ux_json j = ux_json_make(&d->out);
	char address[19];
	snprintf(address, sizeof(address), "0x%" PRIx64, pc);
	ux_json_object_begin(&j);
	ux_json_key_cstr(&j, "address", address);
	ux_json_key_str(&j, "instruction", text);
	disas_put_target_json(d, &j, target);
	ux_json_key(&j, "frames");
	ux_json_array_begin(&j);
	for (size_t i = 0; i < n; i++)
		disas_put_frame_json(d, &j, &d->frames[i]);
	ux_json_array_end(&j);
	ux_json_object_end(&j);
	ux_out_u8(&d->out, '\n');
}

void ux_disas_out_head(struct ux_disas_out *d, uint64_t pc, uint64_t size, size_t n)
{
	if (d->json || n == 0)
		return;
	struct ux_frame place = d->frames[n - 1];
	disas_put_name(d, place.function);
	ux_out_fmt(&d->out, ", 0x%" PRIx64 ", %" PRIu64 " bytes", pc, size);
	if (*place.base) {
		ux_out_cstr(&d->out, ", ");
		place.line = 0;
		disas_put_place(d, &place);
	}
	ux_out_u8(&d->out, '\n');
}

void ux_disas_out_instruction(struct ux_disas_out *d, uint64_t pc, uint64_t end,
			      struct ux_bytes text, const struct ux_disas_target *target, size_t n)
{
	if (d->json)
		disas_put_json(d, pc, text, target, n);
	else
		disas_put_text(d, pc, text, end, target, n);
	struct ux_frame *swap = d->last;
	d->last = d->frames;
	d->frames = swap;
	d->n_last = n;
}
