/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a crash report as text with the names of its frames. */
#include "crash_symbolize.h"

#include "profile_text.h"
#include "text.h"

enum {
	INDENT = 4, /* blanks of names, in addition to the indentation of their frame */
};

/* The line that gdb prints for the code to which signal handlers return. */
#define SIGNAL_RETURN "<signal handler called>"

const struct ux_crash_limits ux_crash_symbolize_limits = {.frames = UX_CRASH_FRAMES_IN_PART_MAX,
							  .modules = UX_CRASH_FILES_MAX,
							  .names = UX_CRASH_NAMES_BUDGET};

/* Writes the indentation of the frame and a few more blanks. */
static void crash_write_indent(struct ux_bytes line, struct ux_out *out)
{
	size_t n = 0;
	while (n < line.size && ux_is_blank(line.data[n]))
		n++;
	ux_out_put(out, line.data, n);
	for (int i = 0; i < INDENT; i++)
		ux_out_u8(out, ' ');
}

/* Writes a name without line breaks and other control characters, so that it cannot pass for other
 * text of the report. */
static void crash_write_clean(struct ux_out *out, size_t from)
{
	for (size_t i = from; !out->failed && i < out->size; i++)
		if (out->data[i] < ' ' || out->data[i] == 0x7f)
			out->data[i] = '?';
}

static void crash_write_frames(const struct ux_crash_symbolizer *s, uint32_t location,
			       struct ux_bytes line, struct ux_out *out)
{
	const struct ux_profile *p = s->sources->profile_of_part;
	const struct ux_profile_location *l = &p->locations.data[location];
	for (uint32_t i = 0; i < l->n; i++) {
		const struct ux_profile_frame *f = &p->frames.data[l->first + i];
		struct ux_bytes file = ux_profile_text(p, f->file);
		crash_write_indent(line, out);
		size_t from = out->size;
		ux_profile_write_name(p, f, s->demangle, out);
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

static enum ux_code crash_write_item(const struct ux_crash_symbolizer *s,
				     const struct ux_crash_item *item, struct ux_bytes line,
				     struct ux_out *out, struct ux_error *err)
{
	uint32_t location = 0;
	if (item->named) {
		struct ux_crash_file *m = ux_crash_item_build(&s->naming, item)->found.record;
		UX_TRY(ux_crash_sources_find(s->sources, m, ux_crash_item_pc(item), &location,
					     err));
		crash_write_frames(s, location, line, out);
	} else if (item->signal_return && !item->has_symbol) {
		crash_write_indent(line, out);
		ux_out_cstr(out, SIGNAL_RETURN "\n");
	} else if (s->verbose && !item->located) {
		crash_write_indent(line, out);
		ux_out_fmt(out, "?? (%s)\n", ux_crash_item_why(&s->naming, item));
	}
	return UX_OK;
}

static enum ux_code crash_write(struct ux_crash_symbolizer *s, struct ux_bytes text,
				struct ux_out *out, struct ux_error *err)
{
	struct ux_crash_line line;
	struct ux_bytes whole;
	size_t next = 0;
	while (ux_crash_next(&s->written, &text, &whole, &line)) {
		ux_out_put(out, whole.data, whole.size);
		if (line.n == 0)
			continue;
		size_t before = out->size;
		if (whole.size > 0 && whole.data[whole.size - 1] != '\n')
			ux_out_u8(out, '\n'); /* the last line of the text */
		size_t start = out->size;
		for (size_t i = 0; i < line.n; i++)
			UX_TRY(crash_write_item(s, &s->naming.items.data[next++], whole, out, err));
		if (out->size == start && !out->failed)
			out->size = before;
	}
	return ux_out_status(out, err);
}

enum ux_code ux_crash_symbolize(struct ux_crash_symbolizer *s, struct ux_bytes text,
				struct ux_out *out, struct ux_error *err)
{
	ux_cleanup(ux_profile_deinit) struct ux_profile p = {0};
	UX_TRY(ux_profile_init(&p, err));
	ux_crash_sources_begin(s->sources, &p);
	UX_TRY(ux_crash_naming_read(&s->naming, text, err));
	return crash_write(s, text, out, err);
}
