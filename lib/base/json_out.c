/* SPDX-License-Identifier: Apache-2.0 */
/* Writing JSON. */
#include "json_out.h"

#include "text.h"

static void json_before_value(struct ux_json *j)
{
	uint32_t bit = (uint32_t)1 << j->depth;
	if (j->after_key)
		j->after_key = false;
	else if ((j->filled & bit) != 0)
		ux_out_u8(j->out, ',');
	j->filled |= bit;
}

static void json_begin_level(struct ux_json *j, uint8_t c)
{
	json_before_value(j);
	ux_out_u8(j->out, c);
	assert(j->depth + 1 < UX_JSON_DEPTH_MAX);
	j->depth++;
	j->filled &= ~((uint32_t)1 << j->depth);
}

static void json_end_level(struct ux_json *j, uint8_t c)
{
	assert(j->depth > 0 && !j->after_key);
	j->depth--;
	ux_out_u8(j->out, c);
}

struct ux_out *ux_json_value(struct ux_json *j)
{
	json_before_value(j);
	return j->out;
}

void ux_json_object_begin(struct ux_json *j)
{
	json_begin_level(j, '{');
}

void ux_json_object_end(struct ux_json *j)
{
	json_end_level(j, '}');
}

void ux_json_array_begin(struct ux_json *j)
{
	json_begin_level(j, '[');
}

void ux_json_array_end(struct ux_json *j)
{
	json_end_level(j, ']');
}

void ux_json_key(struct ux_json *j, const char *key)
{
	assert(j->depth > 0 && !j->after_key);
	json_before_value(j);
	ux_out_u8(j->out, '"');
	ux_out_cstr(j->out, key);
	ux_out_put(j->out, "\":", 2);
	j->after_key = true;
}

static void json_escape(struct ux_out *out, uint8_t c)
{
	switch (c) {
	case '"':
	case '\\':
		ux_out_u8(out, '\\');
		ux_out_u8(out, c);
		return;
	case '\n':
		ux_out_put(out, "\\n", 2);
		return;
	case '\t':
		ux_out_put(out, "\\t", 2);
		return;
	default:
		ux_out_fmt(out, "\\u%04x", c);
	}
}

/*
 * Escapes a control character or bidirectional mark of two or three bytes: answers are also read on
 * terminals.
 */
static void json_escape_wide(struct ux_out *out, struct ux_bytes c)
{
	unsigned code = c.size == 2 ? c.data[0] & 0x1fu : c.data[0] & 0xfu;
	for (size_t i = 1; i < c.size; i++)
		code = code << 6 | (c.data[i] & 0x3fu);
	ux_out_fmt(out, "\\u%04x", code);
}

static bool json_is_plain(const struct ux_json *j, uint8_t c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\' &&
	       !(j->in_html && (c == '<' || c == '>'));
}

/*
 * Returns whether all eight bytes are plain in JSON: ASCII from space to '~' without quote and
 * backslash. Subtracting borrows from the next byte only where one is not plain.
 */
static bool json_eight_are_plain(const uint8_t *p)
{
	const uint64_t ones = UINT64_C(0x0101010101010101), high = ones << 7;
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	uint64_t quote = v ^ ones * '"', escape = v ^ ones * '\\', rubout = v ^ ones * 0x7f;
	uint64_t below = (v - ones * 0x20) | (quote - ones) | (escape - ones) | (rubout - ones);
	return ((v | below) & high) == 0;
}

/* Runs of plain ASCII, which are most of the text, are copied as a whole. */
static void json_put_text(const struct ux_json *j, struct ux_bytes s)
{
	struct ux_out *out = j->out;
	while (s.size > 0) {
		size_t run = 0;
		while (!j->in_html && s.size - run >= 8 && json_eight_are_plain(s.data + run))
			run += 8;
		while (run < s.size && json_is_plain(j, s.data[run]))
			run++;
		ux_out_put(out, s.data, run);
		s = ux_bytes(s.data + run, s.size - run);
		if (s.size == 0)
			return;
		struct ux_bytes c = ux_utf8_take(&s);
		if (c.size == 1)
			json_escape(out, c.data[0]);
		else if (ux_utf8_harmless_size(c) == 0)
			json_escape_wide(out, c);
		else
			ux_out_put(out, c.data, c.size);
	}
}

void ux_json_copy(struct ux_out *out, struct ux_bytes document)
{
	while (document.size > 0) {
		struct ux_bytes c = ux_utf8_take(&document);
		if (c.size == 1 && c.data[0] == 0x7f)
			json_escape(out, c.data[0]);
		else if (c.size > 1 && ux_utf8_harmless_size(c) == 0)
			json_escape_wide(out, c);
		else
			ux_out_put(out, c.data, c.size);
	}
}

void ux_json_str(struct ux_json *j, struct ux_bytes s)
{
	json_before_value(j);
	ux_out_u8(j->out, '"');
	json_put_text(j, s);
	ux_out_u8(j->out, '"');
}

static void json_put_path(struct ux_json *j, struct ux_bytes dir, struct ux_bytes base)
{
	json_before_value(j);
	ux_out_u8(j->out, '"');
	json_put_text(j, dir);
	if (dir.size > 0 && dir.data[dir.size - 1] != '/')
		ux_out_u8(j->out, '/');
	json_put_text(j, base);
	ux_out_u8(j->out, '"');
}

void ux_json_key_path(struct ux_json *j, struct ux_bytes dir, struct ux_bytes base)
{
	assert(j->depth > 0 && !j->after_key);
	json_put_path(j, dir, base);
	ux_out_u8(j->out, ':');
	j->after_key = true;
}

void ux_json_path(struct ux_json *j, struct ux_bytes dir, struct ux_bytes base)
{
	json_put_path(j, dir, base);
}

void ux_json_cstr(struct ux_json *j, const char *s)
{
	ux_json_str(j, ux_bytes_cstr(s));
}

void ux_json_u64(struct ux_json *j, uint64_t v)
{
	char digits[20];
	size_t at = sizeof(digits);
	json_before_value(j);
	do {
		digits[--at] = (char)('0' + v % 10);
		v /= 10;
	} while (v != 0);
	ux_out_put(j->out, digits + at, sizeof(digits) - at);
}

void ux_json_i64(struct ux_json *j, int64_t v)
{
	json_before_value(j);
	ux_out_fmt(j->out, "%" PRId64, v);
}

void ux_json_bool(struct ux_json *j, bool v)
{
	json_before_value(j);
	ux_out_cstr(j->out, v ? "true" : "false");
}

void ux_json_null(struct ux_json *j)
{
	json_before_value(j);
	ux_out_cstr(j->out, "null");
}

void ux_json_key_str(struct ux_json *j, const char *key, struct ux_bytes s)
{
	ux_json_key(j, key);
	ux_json_str(j, s);
}

void ux_json_key_cstr(struct ux_json *j, const char *key, const char *s)
{
	ux_json_key(j, key);
	ux_json_cstr(j, s);
}

void ux_json_key_u64(struct ux_json *j, const char *key, uint64_t v)
{
	ux_json_key(j, key);
	ux_json_u64(j, v);
}

void ux_json_key_bool(struct ux_json *j, const char *key, bool v)
{
	ux_json_key(j, key);
	ux_json_bool(j, v);
}

void ux_json_counts(struct ux_json *j, const struct ux_counts *counts)
{
	ux_json_key(j, "counts");
	ux_json_object_begin(j);
	ux_json_key_u64(j, "functions", counts->functions);
	ux_json_key_u64(j, "inlines", counts->inlines);
	ux_json_key_u64(j, "rows", counts->rows);
	ux_json_key_u64(j, "code_bytes", counts->code_bytes);
	ux_json_key_u64(j, "line_bytes", counts->line_bytes);
	if (counts->unnamed > 0) {
		ux_json_key_u64(j, "unnamed", counts->unnamed);
		ux_json_key_u64(j, "unnamed_bytes", counts->unnamed_bytes);
	}
	ux_json_object_end(j);
}

void ux_json_symbols(struct ux_json *j, enum ux_quality quality, const struct ux_counts *counts)
{
	ux_json_key_cstr(j, "quality", ux_quality_name(quality));
	ux_json_counts(j, counts);
}
