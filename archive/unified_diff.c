/* SPDX-License-Identifier: Apache-2.0 */
/* Unified diffs: the files in them, and their application. */
#include "unified_diff.h"

#include "text.h"
#include "vec.h"

/* --- the files of a diff ---------------------------------------------------------------------- */

/* Returns the line at an offset, with its end; empty at the end of the text. */
static struct ux_bytes diff_line_at(struct ux_bytes text, size_t at)
{
	if (at >= text.size)
		return UX_BYTES_NONE;
	const uint8_t *end = memchr(text.data + at, '\n', text.size - at);
	size_t n = end ? (size_t)(end + 1 - (text.data + at)) : text.size - at;
	return ux_bytes(text.data + at, n);
}

/*
 * Returns the name in a line that begins with "--- " or "+++ ". A tab ends it; without one, a blank
 * does, since a date may follow.
 */
static struct ux_bytes diff_name(struct ux_bytes line)
{
	struct ux_bytes name = ux_bytes(line.data + 4, line.size - 4);
	size_t n = 0, tab = 0;
	while (tab < name.size && name.data[tab] != '\t' && name.data[tab] != '\n')
		tab++;
	if (tab < name.size && name.data[tab] == '\t')
		n = tab;
	else
		while (n < tab && !ux_is_space(name.data[n]))
			n++;
	name.size = n;
	return ux_bytes_eq(name, UX_STR("/dev/null")) ? UX_BYTES_NONE : name;
}

/* The numbers of a hunk: "@@ -1,3 +1,4 @@". */
struct diff_hunk {
	uint64_t old_first, old_count, new_first, new_count;
};

static bool diff_take(struct ux_bytes *line, const char *text)
{
	struct ux_bytes want = ux_bytes_cstr(text);
	if (!ux_bytes_starts(*line, want))
		return false;
	*line = ux_bytes(line->data + want.size, line->size - want.size);
	return true;
}

static bool diff_take_number(struct ux_bytes *line, uint64_t *ret)
{
	uint64_t v = 0;
	size_t n = 0;
	for (; n < line->size && ux_is_digit(line->data[n]); n++) {
		v = v * 10 + (uint64_t)(line->data[n] - '0');
		if (v > UX_DIFF_LINES_MAX)
			return false;
	}
	*ret = v;
	*line = ux_bytes(line->data + n, line->size - n);
	return n > 0;
}

static bool diff_take_range(struct ux_bytes *line, uint64_t *ret_first, uint64_t *ret_count)
{
	*ret_count = 1;
	return diff_take_number(line, ret_first) &&
	       (!diff_take(line, ",") || diff_take_number(line, ret_count));
}

static bool diff_hunk_read(struct ux_bytes line, struct diff_hunk *ret)
{
	return diff_take(&line, "@@ -") &&
	       diff_take_range(&line, &ret->old_first, &ret->old_count) && diff_take(&line, " +") &&
	       diff_take_range(&line, &ret->new_first, &ret->new_count) && diff_take(&line, " @@");
}

/* Returns the position after the lines of a hunk, as far as the text has them. */
static size_t diff_hunk_end(struct ux_bytes text, size_t at, const struct diff_hunk *h)
{
	uint64_t old = h->old_count, new = h->new_count;
	while (old > 0 || new > 0) {
		struct ux_bytes line = diff_line_at(text, at);
		uint8_t kind = line.size > 0 ? line.data[0] : 0;
		bool both = kind == ' ' || kind == '\n' || kind == '\t';
		if ((both && (old == 0 || new == 0)) || (kind == '-' && old == 0) ||
		    (kind == '+' && new == 0) ||
		    !(both || kind == '-' || kind == '+' || kind == '\\'))
			return at;
		old -= both || kind == '-';
		new -= both || kind == '+';
		at += line.size;
	}
	struct ux_bytes after = diff_line_at(text, at);
	return after.size > 0 && after.data[0] == '\\' ? at + after.size : at;
}

bool ux_diff_next(struct ux_diff *d, struct ux_diff_file *ret)
{
	struct diff_hunk h;
	for (struct ux_bytes line; (line = diff_line_at(d->text, d->at)).size > 0;
	     d->at += line.size) {
		size_t second = d->at + line.size;
		struct ux_bytes next = diff_line_at(d->text, second);
		if (!ux_bytes_starts(line, UX_STR("--- ")) ||
		    !ux_bytes_starts(next, UX_STR("+++ ")))
			continue;
		size_t start = second + next.size, at = start;
		for (struct ux_bytes head;
		     (head = diff_line_at(d->text, at)).size > 0 && diff_hunk_read(head, &h);)
			at = diff_hunk_end(d->text, at + head.size, &h);
		if (at == start)
			continue;
		*ret = (struct ux_diff_file){
			.old_name = diff_name(line),
			.new_name = diff_name(next),
			.hunks = ux_bytes(d->text.data + start, at - start),
			.off = start,
		};
		d->at = at;
		return true;
	}
	return false;
}

struct ux_bytes ux_diff_strip(struct ux_bytes name)
{
	const uint8_t *slash = name.size > 0 ? memchr(name.data, '/', name.size) : NULL;
	if (!slash)
		return UX_BYTES_NONE;
	while (slash + 1 < name.data + name.size && slash[1] == '/')
		slash++;
	return ux_bytes(slash + 1, (size_t)(name.data + name.size - (slash + 1)));
}

/* --- the lines of a hunk and of a text -------------------------------------------------------- */

UX_VEC(diff_lines, struct ux_bytes);

static enum ux_code diff_lines_add(struct diff_lines *v, struct ux_bytes line, struct ux_error *err)
{
	if (v->size == UX_DIFF_LINES_MAX)
		return ux_error_set(err, UX_ELIMIT, "more than %d lines", UX_DIFF_LINES_MAX);
	return diff_lines_append(v, line) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code diff_lines_split(struct diff_lines *v, struct ux_bytes text,
				     struct ux_error *err)
{
	for (size_t at = 0; at < text.size;) {
		struct ux_bytes line = diff_line_at(text, at);
		UX_TRY(diff_lines_add(v, line, err));
		at += line.size;
	}
	return UX_OK;
}

/* A hunk: the lines that it expects, and their replacement. */
struct diff_change {
	struct diff_hunk h;
	struct diff_lines old, new;
	size_t before, after; /* unchanged lines at its beginning and at its end */
};

static void diff_change_deinit(struct diff_change *c)
{
	diff_lines_deinit(&c->old);
	diff_lines_deinit(&c->new);
}

/* Removes the line break of a list's last line. */
static void diff_lines_cut(struct diff_lines *v)
{
	struct ux_bytes *last = v->size > 0 ? &v->data[v->size - 1] : NULL;
	if (last && last->size > 0 && last->data[last->size - 1] == '\n')
		last->size--;
}

/* Reads the lines of a hunk; *at is after its first line. */
static enum ux_code diff_change_read(struct diff_change *c, const struct ux_diff_file *f,
				     size_t *at, struct ux_error *err)
{
	bool changed = false;
	uint8_t last = 0;
	c->old.size = c->new.size = c->before = c->after = 0;
	for (;;) {
		struct ux_bytes line = diff_line_at(f->hunks, *at);
		uint8_t kind = line.size > 0 ? line.data[0] : 0;
		if (kind == '\\') {
			if (last != '+')
				diff_lines_cut(&c->old);
			if (last != '-')
				diff_lines_cut(&c->new);
			*at += line.size;
			continue;
		}
		if (c->old.size == c->h.old_count && c->new.size == c->h.new_count)
			return UX_OK;
		/* some mailers remove the blank of an empty line */
		bool blank = kind == '\n' || kind == '\t';
		if (kind != ' ' && kind != '-' && kind != '+' && !blank)
			return ux_error_at(
				err, UX_ECORRUPT, "diff", f->off + *at,
				"a hunk has %zu and %zu lines; expected %" PRIu64 " and %" PRIu64,
				c->old.size, c->new.size, c->h.old_count, c->h.new_count);
		struct ux_bytes text = blank ? line : ux_bytes(line.data + 1, line.size - 1);
		if (kind != '+')
			UX_TRY(diff_lines_add(&c->old, text, err));
		if (kind != '-')
			UX_TRY(diff_lines_add(&c->new, text, err));
		bool same = kind == ' ' || blank;
		c->before += same && !changed;
		c->after = same ? c->after + 1 : 0;
		changed = changed || !same;
		last = same ? ' ' : kind;
		*at += line.size;
	}
}

/* --- application ------------------------------------------------------------------------------ */

/* The state of applying a diff to a text. */
struct diff_applying {
	struct diff_lines lines;
	size_t done;   /* lines of the text that are in the output */
	int64_t moved; /* position of the last hunk, relative to its stated one */
	uint64_t *work;
	struct ux_out *out;
	struct ux_error *err;
};

static bool diff_matches_at(struct diff_applying *a, const struct diff_change *c, size_t at)
{
	for (size_t i = 0; i < c->old.size; i++) {
		++*a->work;
		if (!ux_bytes_eq(a->lines.data[at + i], c->old.data[i]))
			return false;
	}
	return true;
}

/*
 * Finds the lines of a hunk: at its stated place, else at the nearest place after or before it that
 * follows the applied hunks. A hunk with less context at one end than at the other must be at that
 * end of the file. False: nowhere, or the search took too long.
 */
static bool diff_locate(struct diff_applying *a, const struct diff_change *c, size_t *ret)
{
	if (c->old.size > a->lines.size - a->done)
		return false;
	int64_t min = (int64_t)a->done, max = (int64_t)(a->lines.size - c->old.size);
	int64_t guess = (int64_t)c->h.old_first - (c->old.size > 0) + a->moved;
	if (c->before < c->after && c->h.old_first <= 1)
		max = ux_min(max, INT64_C(0));
	if (c->after < c->before)
		min = ux_max(min, (int64_t)(a->lines.size - c->old.size));
	if (c->old.size == 0) {
		*ret = (size_t)ux_min(ux_max(guess, min), max);
		return max >= min;
	}
	for (int64_t off = 0; guess + off <= max || guess - off >= min; off++) {
		const int64_t places[] = {guess + off, guess - off};
		for (size_t i = 0; i < ux_countof(places); i++) {
			++*a->work;
			if (places[i] >= min && places[i] <= max &&
			    diff_matches_at(a, c, (size_t)places[i])) {
				*ret = (size_t)places[i];
				return true;
			}
		}
		if (*a->work > UX_DIFF_WORK_MAX)
			return false;
	}
	return false;
}

static void diff_put_lines(const struct diff_applying *a, const struct diff_lines *v, size_t from,
			   size_t end)
{
	for (size_t i = from; i < end; i++)
		ux_out_put(a->out, v->data[i].data, v->data[i].size);
}

static enum ux_code diff_apply_one(struct diff_applying *a, const struct diff_change *c,
				   uint64_t off)
{
	size_t at = 0;
	bool found = diff_locate(a, c, &at);
	if (*a->work > UX_DIFF_WORK_MAX)
		return ux_error_set(a->err, UX_ELIMIT, "more than %" PRIu64 " lines were compared",
				    UX_DIFF_WORK_MAX);
	if (!found)
		return ux_error_at(a->err, UX_ECONFLICT, "diff", off,
				   "line %" PRIu64 " of the file does not match the hunk",
				   c->h.old_first);
	a->moved = (int64_t)at - ((int64_t)c->h.old_first - (c->old.size > 0));
	diff_put_lines(a, &a->lines, a->done, at);
	diff_put_lines(a, &c->new, 0, c->new.size);
	a->done = at + c->old.size;
	return ux_out_status(a->out, a->err);
}

static enum ux_code diff_apply_all(struct diff_applying *a, const struct ux_diff_file *f,
				   struct diff_change *c)
{
	for (size_t at = 0; at < f->hunks.size;) {
		struct ux_bytes head = diff_line_at(f->hunks, at);
		uint64_t off = f->off + at;
		if (!diff_hunk_read(head, &c->h))
			return ux_error_at(a->err, UX_ECORRUPT, "diff", off, "expected a hunk");
		at += head.size;
		UX_TRY(diff_change_read(c, f, &at, a->err));
		UX_TRY(diff_apply_one(a, c, off));
	}
	diff_put_lines(a, &a->lines, a->done, a->lines.size);
	return ux_out_status(a->out, a->err);
}

enum ux_code ux_diff_apply(const struct ux_diff_file *f, struct ux_bytes text, uint64_t *work,
			   struct ux_out *out, struct ux_error *err)
{
	struct diff_applying a = {.work = work, .out = out, .err = err};
	ux_cleanup(diff_change_deinit) struct diff_change c = {0};
	enum ux_code code = diff_lines_split(&a.lines, text, err);
	if (code == UX_OK)
		code = diff_apply_all(&a, f, &c);
	diff_lines_deinit(&a.lines);
	return code;
}
