/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing D's types and values. */
#include "dlang.h"

/* Copies digits, with a leading '-' for an N. */
static bool dlang_copy_digits(struct dlang *d)
{
	const char *from = d->pos;
	while (ux_is_digit(dlang_peek(d)))
		d->pos++;
	ux_name_text_put(d->text, from, (size_t)(d->pos - from));
	return d->pos > from;
}

static bool dlang_character(struct dlang *d, char type)
{
	size_t v = 0;
	if (!dlang_number(d, &v))
		return false;
	dlang_put(d, "'");
	if (type == 'a' && v >= 0x20 && v < 0x7f) {
		ux_name_text_char(d->text, (char)v);
	} else {
		static const char digits[] = "0123456789abcdef";
		unsigned n = type == 'a' ? 2 : type == 'u' ? 4 : 8;
		dlang_put(d, type == 'a' ? "\\x" : type == 'u' ? "\\u" : "\\U");
		while (n-- > 0)
			ux_name_text_char(d->text, digits[v >> (4 * n) & 15]);
	}
	dlang_put(d, "'");
	return true;
}

static bool dlang_integer(struct dlang *d, char type)
{
	size_t v = 0;
	switch (type) {
	case 'a':
	case 'u':
	case 'w':
		return dlang_character(d, type);
	case 'b':
		if (!dlang_number(d, &v))
			return false;
		dlang_put(d, v ? "true" : "false");
		return true;
	default:
		break;
	}
	if (!dlang_copy_digits(d))
		return false;
	dlang_put(d, type == 'h' || type == 't' || type == 'k' ? "u"
		     : type == 'l'                             ? "L"
		     : type == 'm'                             ? "uL"
							       : "");
	return true;
}

/* Hexadecimal: the first digit before the point, then P and the exponent. */
static bool dlang_real(struct dlang *d)
{
	static const char *const words[][2] = {{"NAN", "NaN"}, {"INF", "Inf"}, {"NINF", "-Inf"}};
	for (size_t i = 0; i < ux_countof(words); i++) {
		if (!dlang_starts(d, words[i][0]))
			continue;
		d->pos += strlen(words[i][0]);
		dlang_put(d, words[i][1]);
		return true;
	}
	if (dlang_eat(d, 'N'))
		dlang_put(d, "-");
	if (ux_hex_digit(dlang_peek(d)) < 0)
		return false;
	dlang_put(d, "0x");
	ux_name_text_char(d->text, *d->pos++);
	dlang_put(d, ".");
	while (ux_hex_digit(dlang_peek(d)) >= 0)
		ux_name_text_char(d->text, *d->pos++);
	if (!dlang_eat(d, 'P'))
		return false;
	dlang_put(d, "p");
	if (dlang_eat(d, 'N'))
		dlang_put(d, "-");
	return dlang_copy_digits(d);
}

static void dlang_put_string_byte(struct dlang *d, int c, const char *digits)
{
	static const char escapes[] = "\tt\nn\rr\ff\vv";
	for (const char *e = escapes; *e; e += 2) {
		if (c != *e)
			continue;
		dlang_put(d, "\\");
		ux_name_text_char(d->text, e[1]);
		return;
	}
	if (c >= 0x20 && c < 0x7f) {
		ux_name_text_char(d->text, (char)c);
		return;
	}
	dlang_put(d, "\\x");
	ux_name_text_put(d->text, digits, 2);
}

/* "a3_616263": the width of its characters, their number, '_' and their bytes. */
static bool dlang_string(struct dlang *d)
{
	char width = *d->pos++;
	size_t n = 0;
	if (!dlang_number(d, &n) || !dlang_eat(d, '_') || n > dlang_left(d) / 2)
		return false;
	dlang_put(d, "\"");
	for (size_t i = 0; i < n; i++, d->pos += 2) {
		int high = ux_hex_digit(d->pos[0]), low = ux_hex_digit(d->pos[1]);
		if (high < 0 || low < 0)
			return false;
		dlang_put_string_byte(d, high << 4 | low, d->pos);
	}
	dlang_put(d, "\"");
	if (width != 'a')
		ux_name_text_char(d->text, width);
	return true;
}

/* Reads a count and that many values; for an associative array, that many pairs. */
static bool dlang_values(struct dlang *d, bool pairs)
{
	size_t n = 0;
	if (!dlang_number(d, &n))
		return false;
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			dlang_put(d, ", ");
		if (!dlang_value(d, '\0'))
			return false;
		if (!pairs)
			continue;
		dlang_put(d, ":");
		if (!dlang_value(d, '\0'))
			return false;
	}
	return true;
}

static bool dlang_value_of(struct dlang *d, char c, char type)
{
	if (ux_is_digit(c))
		return dlang_integer(d, type);
	if (c == 'a' || c == 'w' || c == 'd')
		return dlang_string(d);
	d->pos++;
	switch (c) {
	case 'n':
		dlang_put(d, "null");
		return true;
	case 'N':
		dlang_put(d, "-");
		return dlang_integer(d, type);
	case 'i':
		return ux_is_digit(dlang_peek(d)) && dlang_integer(d, type);
	case 'e':
		return dlang_real(d);
	case 'c': /* complex */
		if (!dlang_real(d) || !dlang_eat(d, 'c'))
			return false;
		dlang_put(d, "+");
		if (!dlang_real(d))
			return false;
		dlang_put(d, "i");
		return true;
	case 'A':
	case 'S':
		dlang_put(d, c == 'A' ? "[" : "(");
		if (!dlang_values(d, c == 'A' && type == 'H'))
			return false;
		dlang_put(d, c == 'A' ? "]" : ")");
		return true;
	case 'f': /* a function */
		return dlang_starts(d, "_D") && dlang_symbol(d);
	default:
		return false;
	}
}

/* type: the first letter of the value's type, which tells how a number is written. */
bool dlang_value(struct dlang *d, char type)
{
	if (d->pos == d->end || !ux_name_text_enter(d->text, DLANG_DEPTH_MAX))
		return false;
	bool ok = dlang_value_of(d, *d->pos, type);
	d->text->depth--;
	return ok;
}

/* " const", " shared", ... after the item that they qualify. */
void dlang_modifiers(struct dlang *d, bool write)
{
	const char *s = NULL;
	do {
		s = NULL;
		if (dlang_eat(d, 'x')) {
			s = " const";
		} else if (dlang_eat(d, 'y')) {
			s = " immutable";
		} else if (dlang_eat(d, 'O')) {
			s = " shared";
		} else if (dlang_starts(d, "Ng")) {
			d->pos += 2;
			s = " inout";
		}
		if (s && write)
			dlang_put(d, s);
	} while (s &&
		 (d->pos[-1] == 'O' || d->pos[-1] == 'g')); /* const and immutable are the last */
}

/*
 * Reads attributes: "pure nothrow ", ... Attributes that can also begin a parameter are left for
 * it.
 */
static bool dlang_attributes(struct dlang *d, bool write)
{
	static const char *const words[] = {
		['a' - 'a'] = "pure ",      ['b' - 'a'] = "nothrow ",  ['c' - 'a'] = "ref ",
		['d' - 'a'] = "@property ", ['e' - 'a'] = "@trusted ", ['f' - 'a'] = "@safe ",
		['i' - 'a'] = "@nogc ",     ['j' - 'a'] = "return ",   ['l' - 'a'] = "scope ",
		['m' - 'a'] = "@live ",
	};
	while (dlang_peek(d) == 'N') {
		char c = dlang_peek2(d);
		if (c && strchr("ghkn", c))
			return true;
		if (c < 'a' || c > 'm' || !words[c - 'a'])
			return false;
		if (write)
			dlang_put(d, words[c - 'a']);
		d->pos += 2;
	}
	return true;
}

static bool dlang_parameter(struct dlang *d)
{
	/* "return scope" is now NkM, and was MNk before. */
	for (;;) {
		if (dlang_eat(d, 'M')) {
			dlang_put(d, "scope ");
		} else if (dlang_starts(d, "Nk")) {
			d->pos += 2;
			dlang_put(d, "return ");
		} else {
			break;
		}
	}
	if (dlang_eat(d, 'I')) {
		dlang_put(d, "in ");
		if (dlang_eat(d, 'K'))
			dlang_put(d, "ref ");
	} else if (dlang_eat(d, 'J')) {
		dlang_put(d, "out ");
	} else if (dlang_eat(d, 'K')) {
		dlang_put(d, "ref ");
	} else if (dlang_eat(d, 'L')) {
		dlang_put(d, "lazy ");
	}
	return dlang_type(d);
}

static bool dlang_parameters(struct dlang *d)
{
	for (size_t n = 0;; n++) {
		if (dlang_eat(d, 'Z'))
			return true;
		if (dlang_eat(d, 'X')) { /* (T t...) */
			dlang_put(d, "...");
			return true;
		}
		if (n > 0)
			dlang_put(d, ", ");
		if (dlang_eat(d, 'Y')) { /* (T t, ...) */
			dlang_put(d, "...");
			return true;
		}
		if (!dlang_parameter(d))
			return false;
	}
}

/*
 * Reads a function's calling convention, attributes and parameters; only the parameters are
 * written.
 */
bool dlang_signature(struct dlang *d, const char **ret_attributes)
{
	if (!dlang_at_convention(d))
		return false;
	*ret_attributes = ++d->pos;
	if (!dlang_attributes(d, /* write= */ false))
		return false;
	dlang_put(d, "(");
	if (!dlang_parameters(d))
		return false;
	dlang_put(d, ")");
	return true;
}

/* Writes "extern(C) int(char) pure "; a word for the kind of function follows. */
static bool dlang_function_type(struct dlang *d)
{
	static const char *const conventions[][2] = {
		{"U", "extern(C) "},   {"W", "extern(Windows) "},     {"V", "extern(Pascal) "},
		{"R", "extern(C++) "}, {"Y", "extern(Objective-C) "},
	};
	const char *attributes = NULL;
	for (size_t i = 0; i < ux_countof(conventions); i++)
		if (dlang_peek(d) == *conventions[i][0])
			dlang_put(d, conventions[i][1]);
	char *from = d->text->pos;
	if (!dlang_signature(d, &attributes))
		return false;
	char *middle = d->text->pos;
	if (!dlang_type(d))
		return false;
	ux_name_text_rotate(d->text, from, middle);
	dlang_put(d, " ");
	struct dlang behind = *d;
	behind.pos = attributes;
	return dlang_attributes(&behind, /* write= */ true);
}

/* Reads a type that a back reference points to. is_function: the function type of a delegate. */
static bool dlang_referred_type(struct dlang *d, bool is_function)
{
	const char *from = d->pos, *last = d->last_reference;
	const char *target = from < last ? dlang_reference(d) : NULL;
	const char *resume = d->pos;
	if (!target)
		return false;
	d->last_reference = from;
	d->pos = target;
	bool ok = is_function ? dlang_function_type(d) : dlang_type(d);
	d->last_reference = last;
	d->pos = resume;
	return ok;
}

static bool dlang_delegate(struct dlang *d)
{
	const char *modifiers = d->pos;
	dlang_modifiers(d, /* write= */ false);
	bool ok = dlang_peek(d) == 'Q' ? dlang_referred_type(d, /* is_function= */ true)
				       : dlang_function_type(d);
	if (!ok)
		return false;
	dlang_put(d, "delegate");
	struct dlang behind = *d;
	behind.pos = modifiers;
	dlang_modifiers(&behind, /* write= */ true);
	return true;
}

static bool dlang_tuple(struct dlang *d)
{
	size_t n = 0;
	if (!dlang_number(d, &n))
		return false;
	dlang_put(d, "Tuple!(");
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			dlang_put(d, ", ");
		if (!dlang_type(d))
			return false;
	}
	dlang_put(d, ")");
	return true;
}

/* T[12] */
static bool dlang_static_array(struct dlang *d)
{
	const char *from = d->pos;
	while (ux_is_digit(dlang_peek(d)))
		d->pos++;
	const char *to = d->pos;
	if (!dlang_type(d))
		return false;
	dlang_put(d, "[");
	ux_name_text_put(d->text, from, (size_t)(to - from));
	dlang_put(d, "]");
	return true;
}

/* V[K]; the key's type comes first. */
static bool dlang_associative_array(struct dlang *d)
{
	char *from = d->text->pos;
	dlang_put(d, "[");
	if (!dlang_type(d))
		return false;
	dlang_put(d, "]");
	char *middle = d->text->pos;
	if (!dlang_type(d))
		return false;
	ux_name_text_rotate(d->text, from, middle);
	return true;
}

static bool dlang_wrapped_type(struct dlang *d, const char *before, const char *behind)
{
	dlang_put(d, before);
	if (!dlang_type(d))
		return false;
	dlang_put(d, behind);
	return true;
}

static const char *dlang_basic_type(char c)
{
	static const char *const names[26] = {
		"char",   "bool",    "creal",  "double",  "real",  "float",  "byte",
		"ubyte",  "int",     "ireal",  "uint",    "long",  "ulong",  "typeof(null)",
		"ifloat", "idouble", "cfloat", "cdouble", "short", "ushort", "wchar",
		"void",   "dchar",   NULL,     NULL,      NULL,
	};
	return c >= 'a' && c <= 'z' ? names[c - 'a'] : NULL;
}

/* Reads after N: inout, vectors, the type of *null. */
static bool dlang_other_type(struct dlang *d)
{
	if (dlang_eat(d, 'g'))
		return dlang_wrapped_type(d, "inout(", ")");
	if (dlang_eat(d, 'h'))
		return dlang_wrapped_type(d, "__vector(", ")");
	if (!dlang_eat(d, 'n'))
		return false;
	dlang_put(d, "typeof(*null)");
	return true;
}

static bool dlang_type_of(struct dlang *d, char c)
{
	if (c == 'Q')
		return dlang_referred_type(d, /* is_function= */ false);
	if (dlang_at_convention(d)) {
		bool ok = dlang_function_type(d);
		dlang_put(d, "function");
		return ok;
	}
	d->pos++;
	switch (c) {
	case 'O':
		return dlang_wrapped_type(d, "shared(", ")");
	case 'x':
		return dlang_wrapped_type(d, "const(", ")");
	case 'y':
		return dlang_wrapped_type(d, "immutable(", ")");
	case 'N':
		return dlang_other_type(d);
	case 'A':
		return dlang_wrapped_type(d, "", "[]");
	case 'G':
		return dlang_static_array(d);
	case 'H':
		return dlang_associative_array(d);
	case 'P':
		return dlang_at_convention(d) ? dlang_type(d) : dlang_wrapped_type(d, "", "*");
	case 'C':
	case 'S':
	case 'E':
	case 'T':
		return dlang_qualified(d, /* with_modifiers= */ false);
	case 'D':
		return dlang_delegate(d);
	case 'B':
		return dlang_tuple(d);
	case 'z':
		if (dlang_peek(d) != 'i' && dlang_peek(d) != 'k')
			return false;
		dlang_put(d, *d->pos++ == 'i' ? "cent" : "ucent");
		return true;
	default:
		return false;
	}
}

bool dlang_type(struct dlang *d)
{
	const char *basic = dlang_basic_type(dlang_peek(d));
	if (!ux_name_text_enter(d->text, DLANG_DEPTH_MAX))
		return false;
	if (basic) {
		d->pos++;
		dlang_put(d, basic);
	}
	bool ok = basic || (d->pos < d->end && dlang_type_of(d, *d->pos));
	d->text->depth--;
	return ok;
}
