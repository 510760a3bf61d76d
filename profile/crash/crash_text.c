/* SPDX-License-Identifier: Apache-2.0 */
/* The pieces that lines of crash reports are made of, for the readers of their forms. */
#include "crash_internal.h"

#include "id.h"

enum {
	BARE_ID_DIGITS = 32, /* minimum hex digits of an ID without a type: 16 bytes */
};

struct ux_bytes ux_crash_word(struct ux_bytes s)
{
	size_t n = 0;
	while (n < s.size && !ux_is_blank(s.data[n]))
		n++;
	return ux_bytes(s.data, n);
}

size_t ux_crash_hex(struct ux_bytes s, uint64_t *ret)
{
	if (s.size < 3 || s.data[0] != '0' || (s.data[1] | 0x20) != 'x')
		return 0;
	size_t n = ux_digits_parse(ux_crash_after(s, 2), 16, ret);
	return n > 0 ? n + 2 : 0;
}

size_t ux_crash_decimal(struct ux_bytes s, uint64_t *ret)
{
	return ux_digits_parse(s, 10, ret);
}

bool ux_crash_skip(struct ux_bytes *s, struct ux_bytes word)
{
	if (!ux_bytes_starts(*s, word))
		return false;
	*s = ux_crash_after(*s, word.size);
	return true;
}

bool ux_crash_split_offset(struct ux_bytes s, struct ux_bytes *ret_name, uint64_t *ret_offset)
{
	const uint8_t *plus = ux_bytes_find_last(s, '+');
	if (!plus)
		return false;
	size_t n = (size_t)(plus - s.data);
	struct ux_bytes number = ux_crash_after(s, n + 1);
	if (ux_crash_hex(number, ret_offset) != number.size || number.size == 0)
		return false;
	*ret_name = ux_bytes(s.data, n);
	return true;
}

void ux_crash_set_symbol(struct ux_crash_frame *f, struct ux_bytes symbol)
{
	static const char *const unknown[] = {"??",        "n/a",    "<unknown>",     "<null>",
					      "[unknown]", "(null)", "<null> <null>", "???",
					      "?"};
	symbol = ux_trim(symbol);
	for (size_t i = 0; i < ux_countof(unknown); i++)
		if (ux_bytes_eq(symbol, ux_bytes_cstr(unknown[i])))
			return;
	f->symbol = symbol;
}

void ux_crash_set_place(struct ux_crash_frame *f, struct ux_bytes place)
{
	uint64_t offset = 0;
	bool split = ux_crash_split_offset(place, &place, &offset);
	ux_crash_set_symbol(f, place);
	if (!split)
		return;
	f->symbol_offset = offset;
	f->has_symbol_offset = f->symbol.size > 0;
}

bool ux_crash_has_line(struct ux_bytes s)
{
	size_t n = s.size, digits = 0, colons = 0;
	while (n > 0 && colons < 2) {
		digits = 0;
		while (n > 0 && ux_is_digit(s.data[n - 1])) {
			n--;
			digits++;
		}
		if (digits == 0 || n == 0 || s.data[n - 1] != ':')
			break;
		colons++;
		n--;
	}
	return colons > 0 && n > 0 && !ux_is_blank(s.data[n - 1]) && s.data[n - 1] != ':';
}

bool ux_crash_is_bare_id(struct ux_bytes s)
{
	if (s.size < BARE_ID_DIGITS || s.size % 2 != 0 || s.size > 2 * UX_ID_GNU_MAX)
		return false;
	for (size_t i = 0; i < s.size; i++)
		if (ux_hex_digit((char)s.data[i]) < 0)
			return false;
	return true;
}

struct ux_crash_frame *ux_crash_add(struct ux_crash_reader *r, struct ux_crash_line *line,
				    enum ux_crash_form form)
{
	if (line->n == UX_CRASH_FRAMES_MAX) {
		line->more = true;
		return NULL;
	}
	if (!r->in_stack || r->form != form) {
		r->depth = 0;
		r->after_signal = false;
		r->marks_calls = false;
	}
	r->in_stack = true;
	r->form = form;
	r->depth++;
	struct ux_crash_frame *f = &line->frames[line->n++];
	*f = (struct ux_crash_frame){.form = form};
	return f;
}
