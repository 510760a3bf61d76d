/* SPDX-License-Identifier: Apache-2.0 */
/* Computes the pc of a frame in the file of its module. */
#include "crash_address.h"

#include <stdarg.h>

enum {
	LOW_MAX = 0x10000, /* files that begin below it are position-independent */
	/* Bytes between functions, which the kernel counts as the first one's: for its alignment,
	 * and for patches and checks before a function. */
	SIZE_ALIGNMENT = 16,
	SIZE_PADDING = 64,
	REASON_MAX = 256, /* bytes */
};

/* A conversion. */
struct crash_locate {
	struct ux_crash_source *s;
	void *record;
	const struct ux_crash_frame *f;
	struct ux_arena *reasons;
	struct ux_crash_pc *ret;
	struct ux_error *err;
};

static void crash_pc_set(struct crash_locate *c, uint64_t pc)
{
	*c->ret = (struct ux_crash_pc){.known = true, .pc = pc};
}

/* Sets a reason; `general` is used if there is no more memory for reasons. */
__attribute__((format(printf, 3, 4))) static void crash_pc_refuse(struct crash_locate *c,
								  const char *general,
								  const char *fmt, ...)
{
	char text[REASON_MAX];
	va_list args;
	va_start(args, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	const char *made =
		ux_arena_strndup(c->reasons, text, (size_t)ux_min(ux_max(n, 0), REASON_MAX - 1));
	c->ret->why = made ? made : general;
}

/* --- functions -------------------------------------------------------------------------------- */

/* Returns whether the function may be at the address of the process: modules move by whole
 * pages. */
static bool crash_start_in_page(const struct crash_locate *c, const struct ux_crash_start *start)
{
	return !c->f->has_address ||
	       (start->pc + c->f->symbol_offset) % UX_CRASH_PAGE == c->f->address % UX_CRASH_PAGE;
}

/* Returns the only start whose size fits with that padding; NULL: none or several. *ret_n is the
 * number of such starts. */
static const struct ux_crash_start *crash_start_only(const struct crash_locate *c,
						     const struct ux_crash_starts *s,
						     uint64_t padding, size_t *ret_n)
{
	const struct ux_crash_start *found = NULL;
	*ret_n = 0;
	for (size_t i = 0; i < s->n; i++)
		if (ux_crash_start_fits(&s->list[i], s->printed, padding) &&
		    crash_start_in_page(c, &s->list[i])) {
			found = &s->list[i];
			++*ret_n;
		}
	return *ret_n == 1 && !s->more ? found : NULL;
}

/* Returns the start that the report means; NULL: several are possible. */
static const struct ux_crash_start *crash_start_choose(const struct crash_locate *c,
						       const struct ux_crash_starts *s)
{
	size_t n = 0;
	if (s->n == 1 && s->total == 1 && !s->more)
		return &s->list[0];
	for (size_t i = 0; c->f->has_address && i < s->n; i++)
		if (s->list[i].pc + c->f->symbol_offset == c->f->address)
			return &s->list[i];
	const struct ux_crash_start *found = crash_start_only(c, s, SIZE_ALIGNMENT, &n);
	return found || n > 0 ? found : crash_start_only(c, s, SIZE_PADDING, &n);
}

static void crash_start_refuse(struct crash_locate *c, const struct ux_crash_starts *s)
{
	static const char several[] = "several functions have that name";
	static const char none[] = "its symbols have no function of that name";
	if (s->total == 0)
		c->ret->why = s->why ? s->why : none;
	else if (s->n == 0)
		crash_pc_refuse(c, "the function has another size: it is another build",
				"\"%.*s\" has 0x%" PRIx64 " bytes here, not 0x%" PRIx64
				": it is another build",
				(int)ux_min(c->f->symbol.size, (size_t)UX_CRASH_SYMBOL_TEXT_MAX),
				(const char *)c->f->symbol.data, s->other_size, s->printed);
	else if (s->n == 1)
		crash_pc_refuse(c, several, "%zu functions have that name, and none that size",
				s->total);
	else
		crash_pc_refuse(c, several,
				"%zu%s functions have that name, at 0x%" PRIx64 " and 0x%" PRIx64
				"%s",
				s->n, s->more ? " or more" : "", s->list[0].pc, s->list[1].pc,
				s->n > 2 || s->more ? " and elsewhere" : "");
}

static enum ux_code crash_locate_symbol(struct crash_locate *c)
{
	struct ux_crash_starts starts = {.printed = c->f->symbol_size};
	UX_TRY(c->s->functions(c->s, c->record, c->f->symbol, &starts, c->err));
	const struct ux_crash_start *start = crash_start_choose(c, &starts);
	if (start)
		crash_pc_set(c, start->pc + c->f->symbol_offset);
	else
		crash_start_refuse(c, &starts);
	return UX_OK;
}

/* --- addresses -------------------------------------------------------------------------------- */

static enum ux_code crash_locate_position(struct crash_locate *c)
{
	uint64_t pc = 0;
	if (!c->f->has_position)
		return UX_OK;
	enum ux_code code = c->s->file_pc(c->s, c->record, c->f->position, &pc, c->err);
	if (code == UX_OK)
		crash_pc_set(c, pc);
	return code == UX_ENOTFOUND ? UX_OK : code;
}

/* Converts an address of a program that is loaded at its linked address. */
static enum ux_code crash_locate_unmoved(struct crash_locate *c, uint64_t low)
{
	const struct ux_crash_frame *f = c->f;
	bool is_code = false;
	if (!f->has_address || low < LOW_MAX || f->address < low ||
	    (f->origin == UX_CRASH_START && f->form != UX_CRASH_VALGRIND))
		return UX_OK;
	UX_TRY(c->s->has_code(c->s, c->record, f->address, &is_code, c->err));
	if (is_code)
		crash_pc_set(c, f->address);
	return UX_OK;
}

/* By where the image of the file begins. */
static enum ux_code crash_locate_image(struct crash_locate *c, bool *ret_known)
{
	uint64_t low = 0;
	enum ux_code code = c->s->image_start(c->s, c->record, &low, c->err);
	*ret_known = code == UX_OK;
	if (code != UX_OK)
		return code == UX_ENOTFOUND ? UX_OK : code;
	low &= ~(uint64_t)(UX_CRASH_PAGE - 1);
	UX_TRY(crash_locate_unmoved(c, low));
	if (!c->ret->known && c->f->origin == UX_CRASH_START)
		crash_pc_set(c, low + c->f->offset);
	return UX_OK;
}

static const char *crash_locate_why(const struct ux_crash_frame *f, bool image_known)
{
	if (f->origin == UX_CRASH_START && !image_known)
		return "its symbols do not record where the file's image begins";
	if (f->has_position)
		return "file offset, but its symbols have no segments: push it again, or run "
		       "unhex symbolize where the file is";
	return "the text lacks the module's load address: paste /proc/PID/maps below it";
}

/* Locates a frame of an open module if the text has no address of the file. */
static enum ux_code crash_locate_open(struct crash_locate *c)
{
	bool image_known = false, has_symbol = c->f->has_symbol_offset && c->f->symbol.size > 0;
	UX_TRY(crash_locate_position(c));
	if (c->ret->known)
		return UX_OK;
	if (c->f->form == UX_CRASH_KERNEL && has_symbol)
		return crash_locate_symbol(c);
	UX_TRY(crash_locate_image(c, &image_known));
	if (c->ret->known)
		return UX_OK;
	if (has_symbol)
		return crash_locate_symbol(c);
	c->ret->why = crash_locate_why(c->f, image_known);
	return UX_OK;
}

enum ux_code ux_crash_locate(struct ux_crash_source *s, const struct ux_crash_found *m,
			     const struct ux_crash_frame *f, struct ux_arena *reasons,
			     struct ux_crash_pc *ret, struct ux_error *err)
{
	struct crash_locate c = {s, m->record, f, reasons, ret, err};
	*ret = (struct ux_crash_pc){0};
	if (f->origin == UX_CRASH_PC || f->origin == UX_CRASH_UNSAID)
		crash_pc_set(&c, f->offset);
	else if (m->open)
		return crash_locate_open(&c);
	return UX_OK;
}
