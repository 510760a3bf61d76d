/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the names that run-time compilers write: makes them printable and splits them into
 * function, file and line. */
#include "jit.h"

#include "text.h"

/* Writes the printable form of s and a NUL to `to`, unless that is NULL. Returns the size
 * without the NUL. */
static size_t jit_text_clean(struct ux_bytes s, char *to)
{
	size_t size = 0;
	while (s.size > 0) {
		size_t n = ux_utf8_printable_size(s);
		struct ux_bytes c = n > 0 ? ux_bytes(s.data, n) : UX_STR(UX_UTF8_REPLACEMENT);
		if (to)
			memcpy(to + size, c.data, c.size);
		size += c.size;
		n = ux_max(n, (size_t)1);
		s = ux_bytes(s.data + n, s.size - n);
	}
	if (to)
		to[size] = 0;
	return size;
}

/* The parts of a name. */
struct jit_name_parts {
	struct ux_bytes function;
	struct ux_bytes dir;
	struct ux_bytes base;
	uint32_t line;
};

static void jit_path_split(struct ux_bytes path, struct jit_name_parts *p)
{
	size_t at = path.size;
	while (at > 0 && path.data[at - 1] != '/')
		at--;
	p->base = ux_bytes(path.data + at, path.size - at);
	p->dir = ux_bytes(path.data, at > 1 ? at - 1 : at);
}

/* Removes ":NUMBER" from the end of a name. */
static bool jit_name_chop_number(struct ux_bytes *s, uint32_t *ret)
{
	size_t at = s->size;
	uint64_t v = 0, unit = 1;
	while (at > 0 && s->data[at - 1] >= '0' && s->data[at - 1] <= '9' && s->size - at < 9) {
		v += unit * (uint64_t)(s->data[--at] - '0');
		unit *= 10;
	}
	if (at == s->size || at < 2 || s->data[at - 1] != ':')
		return false;
	*ret = (uint32_t)v;
	s->size = at - 1;
	return true;
}

static size_t jit_text_find(struct ux_bytes s, const char *what)
{
	const uint8_t *at = s.size > 0 ? memmem(s.data, s.size, what, strlen(what)) : NULL;
	return at ? (size_t)(at - s.data) : s.size;
}

/* Finds the blank before the file in a name of V8. File names may contain blanks, so it is the
 * first blank before an absolute path or a URL, else the last blank. */
static size_t jit_name_blank_before_file(struct ux_bytes s)
{
	static const char *const begins[] = {" /", " file:", " node:", " http:", " https:"};
	size_t best = s.size;
	for (size_t i = 0; i < ux_countof(begins); i++)
		best = ux_min(best, jit_text_find(s, begins[i]));
	if (best < s.size)
		return best;
	for (best = s.size; best > 0 && s.data[best - 1] != ' ';)
		best--;
	return best > 0 ? best - 1 : s.size;
}

static bool jit_name_split_v8(struct ux_bytes name, struct jit_name_parts *p)
{
	static const char *const kinds[] = {
		"JS:", "Function:", "LazyCompile:", "Script:", "Eval:", "RegExp:"};
	uint32_t last = 0;
	bool is_v8 = false;
	for (size_t i = 0; i < ux_countof(kinds); i++)
		is_v8 = is_v8 || ux_bytes_starts(name, ux_bytes_cstr(kinds[i]));
	struct ux_bytes rest = name;
	if (!is_v8 || !jit_name_chop_number(&rest, &last))
		return false;
	if (!jit_name_chop_number(&rest, &p->line))
		p->line = last; /* Node 18 writes no column */
	size_t at = jit_name_blank_before_file(rest);
	if (at + 1 >= rest.size)
		return false;
	p->function = ux_bytes(rest.data, at);
	jit_path_split(ux_bytes(rest.data + at + 1, rest.size - at - 1), p);
	return true;
}

static bool jit_name_split_python(struct ux_bytes name, struct jit_name_parts *p)
{
	if (!ux_bytes_starts(name, UX_STR("py::")))
		return false;
	size_t at = 4 + jit_text_find(ux_bytes(name.data + 4, name.size - 4), ":");
	if (at + 1 >= name.size)
		return false;
	p->function = ux_bytes(name.data, at);
	jit_path_split(ux_bytes(name.data + at + 1, name.size - at - 1), p);
	return true;
}

static bool jit_name_split_lua(struct ux_bytes name, struct jit_name_parts *p)
{
	struct ux_bytes rest = name;
	size_t at = jit_text_find(name, "::");
	if (!ux_bytes_starts(name, UX_STR("TRACE_")) || !jit_name_chop_number(&rest, &p->line) ||
	    at + 2 >= rest.size)
		return false;
	p->function = ux_bytes(rest.data, at);
	jit_path_split(ux_bytes(rest.data + at + 2, rest.size - at - 2), p);
	return true;
}

/* Joins the parts in the arena and adds a NUL to each. */
static const char *jit_text_join(struct ux_arena *a, const struct ux_bytes *parts, size_t n)
{
	size_t size = 0;
	for (size_t i = 0; i < n; i++)
		size += jit_text_clean(parts[i], NULL) + 1;
	char *text = ux_arena_array(a, char, size);
	size_t at = 0;
	for (size_t i = 0; text && i < n; i++)
		at += jit_text_clean(parts[i], text + at) + 1;
	return text;
}

struct ux_jit_name ux_jit_name_parse(struct ux_arena *a, struct ux_bytes name)
{
	struct jit_name_parts p = {0};
	name.size = ux_min(name.size, (size_t)UX_JIT_NAME_MAX);
	if (!jit_name_split_v8(name, &p) && !jit_name_split_python(name, &p) &&
	    !jit_name_split_lua(name, &p))
		p = (struct jit_name_parts){.function = name};
	struct ux_bytes parts[] = {p.function, p.dir, p.base};
	return (struct ux_jit_name){jit_text_join(a, parts, ux_countof(parts)), p.line};
}

const char *ux_jit_path_parse(struct ux_arena *a, struct ux_bytes path)
{
	struct jit_name_parts p = {0};
	path.size = ux_min(path.size, (size_t)UX_JIT_NAME_MAX);
	jit_path_split(path, &p);
	struct ux_bytes parts[] = {p.dir, p.base};
	return jit_text_join(a, parts, ux_countof(parts));
}

void ux_jit_path_frame(const char *path, struct ux_frame *frame)
{
	frame->dir = path;
	frame->base = path + strlen(path) + 1;
}

struct ux_frame ux_jit_name_frame(struct ux_jit_name name, uint64_t offset)
{
	struct ux_frame frame = {.function = name.text, .line = name.line, .offset = offset};
	ux_jit_path_frame(name.text + strlen(name.text) + 1, &frame);
	return frame;
}
