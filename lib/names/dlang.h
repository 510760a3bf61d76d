/* SPDX-License-Identifier: Apache-2.0 */
/* The demangler of D names: its state, and the functions shared by symbols, types and values. */
#ifndef UX_DLANG_H
#define UX_DLANG_H

#include "demangle_schemes.h"
#include "text.h"

enum {
	DLANG_DEPTH_MAX = 192, /* recursion limit of types, symbols and values; a level takes about
				   300 bytes */
	DLANG_DIGITS_MAX = 9,  /* most digits of a length or a count */
	DLANG_IDENTIFIER_STEPS = 4,
};

/* State of reading a name, which is written while it is read. */
struct dlang {
	const char *start, *pos, *end;
	const char *last_reference; /* a back reference to a type may only refer to positions before
				       this one */
	char *symbol;               /* start of the text of the current symbol */
	struct ux_name_text *text;
};

ux_inline void dlang_put(struct dlang *d, const char *s)
{
	ux_name_text_cstr(d->text, s);
}

ux_inline size_t dlang_left(const struct dlang *d)
{
	return (size_t)(d->end - d->pos);
}

ux_inline char dlang_peek(const struct dlang *d)
{
	return d->pos < d->end ? *d->pos : '\0';
}

ux_inline char dlang_peek2(const struct dlang *d)
{
	return dlang_left(d) > 1 ? d->pos[1] : '\0';
}

ux_inline bool dlang_eat(struct dlang *d, char c)
{
	if (d->pos == d->end || *d->pos != c)
		return false;
	d->pos++;
	return true;
}

ux_inline bool dlang_starts(const struct dlang *d, const char *with)
{
	size_t n = strlen(with);
	return dlang_left(d) >= n && memcmp(d->pos, with, n) == 0;
}

ux_inline bool dlang_number(struct dlang *d, size_t *ret)
{
	size_t v = 0, n = 0;
	for (; ux_is_digit(dlang_peek(d)); d->pos++, n++) {
		if (n == DLANG_DIGITS_MAX)
			return false;
		v = v * 10 + (size_t)(*d->pos - '0');
	}
	*ret = v;
	return n > 0;
}

/*
 * Reads the back reference at d->pos and returns its target. The reference is Q and the distance
 * back from the Q: a number in base 26 whose last digit is a lower-case letter. NULL: malformed.
 */
ux_inline const char *dlang_reference(struct dlang *d)
{
	const char *from = d->pos++;
	size_t v = 0;
	while (d->pos < d->end && v <= (size_t)(from - d->start)) {
		char c = *d->pos++;
		bool last = c >= 'a' && c <= 'z';
		if (!last && !(c >= 'A' && c <= 'Z'))
			return NULL;
		v = v * 26 + (size_t)(c - (last ? 'a' : 'A'));
		if (last)
			return v > 0 && v <= (size_t)(from - d->start) ? from - v : NULL;
	}
	return NULL;
}

ux_inline bool dlang_at_template(const struct dlang *d)
{
	return dlang_starts(d, "__T") || dlang_starts(d, "__U");
}

/*
 * Returns true when the name of a symbol begins here: its length, a template instance, or a back
 * reference.
 */
ux_inline bool dlang_at_symbol(const struct dlang *d)
{
	if (ux_is_digit(dlang_peek(d)) || dlang_at_template(d))
		return true;
	if (dlang_peek(d) != 'Q')
		return false;
	struct dlang ahead = *d;
	const char *target = dlang_reference(&ahead);
	return target && ux_is_digit(*target);
}

ux_inline bool dlang_at_convention(const struct dlang *d)
{
	char c = dlang_peek(d);
	return c && strchr("FUVWRY", c);
}

/*
 * Each function reads an item at d->pos and writes its text. False when it is malformed or the
 * budget of the text is used up; d->pos is then undefined.
 */

/* "_D", a name, and Z or a type. */
bool dlang_symbol(struct dlang *d);

/*
 * Reads names with their parameters. with_modifiers: methods are followed by " const" and the like.
 */
bool dlang_qualified(struct dlang *d, bool with_modifiers);

bool dlang_type(struct dlang *d);

/* Reads modifiers: " const", " shared", ... after the item that they qualify. */
void dlang_modifiers(struct dlang *d, bool write);

/*
 * Reads a function's calling convention, attributes and parameters; only the parameters are
 * written.
 */
bool dlang_signature(struct dlang *d, const char **ret_attributes);

/* type: the first letter of the value's type, which decides how a number is written. */
bool dlang_value(struct dlang *d, char type);

#endif
