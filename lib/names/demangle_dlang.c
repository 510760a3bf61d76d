/* SPDX-License-Identifier: Apache-2.0 */
/*
 * D's names. Source: dlang.org, "ABI", Name Mangling.
 *
 * A name is written while it is parsed. Two rules of the grammar need a second try at the same
 * bytes (parameters behind a name, and symbols as template arguments, whose length may run into the
 * digits behind it), and back references are parsed where they are used: names exist for which all
 * of that is exponential. Every try is charged to the budget of the text.
 */
#include "demangle_schemes.h"

#include "text.h"

enum {
	DLANG_DEPTH_MOST = 192, /* of types, symbols and values; a level takes about 300 bytes */
	DLANG_DIGITS_MOST = 9,  /* of a length or a count */
	DLANG_IDENTIFIER_STEPS = 4,
};

struct dlang {
	const char *start, *pos, *end;
	const char *last_reference; /* a type's back reference may only refer to what is before */
	char *symbol;               /* where the text of the symbol begins that is being read */
	struct ux_name_text *text;
};

static bool dlang_type(struct dlang *d);
static bool dlang_qualified(struct dlang *d, bool with_modifiers);
static bool dlang_symbol(struct dlang *d);
static bool dlang_identifier(struct dlang *d);

static void dlang_put(struct dlang *d, const char *s)
{
	ux_name_text_cstr(d->text, s);
}

static size_t dlang_left(const struct dlang *d)
{
	return (size_t)(d->end - d->pos);
}

static char dlang_peek(const struct dlang *d)
{
	return d->pos < d->end ? *d->pos : '\0';
}

static char dlang_peek2(const struct dlang *d)
{
	return dlang_left(d) > 1 ? d->pos[1] : '\0';
}

static bool dlang_eat(struct dlang *d, char c)
{
	if (d->pos == d->end || *d->pos != c)
		return false;
	d->pos++;
	return true;
}

static bool dlang_starts(const struct dlang *d, const char *with)
{
	size_t n = strlen(with);
	return dlang_left(d) >= n && memcmp(d->pos, with, n) == 0;
}

static bool dlang_number(struct dlang *d, size_t *ret)
{
	size_t v = 0, n = 0;
	for (; ux_is_digit(dlang_peek(d)); d->pos++, n++) {
		if (n == DLANG_DIGITS_MOST)
			return false;
		v = v * 10 + (size_t)(*d->pos - '0');
	}
	*ret = v;
	return n > 0;
}

/*
 * Where the back reference at d->pos points to; it is passed. Q and a number in base 26, whose last
 * digit is a lower-case letter: how far in front of the Q. NULL: malformed.
 */
static const char *dlang_reference(struct dlang *d)
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

static bool dlang_at_template(const struct dlang *d)
{
	return dlang_starts(d, "__T") || dlang_starts(d, "__U");
}

/* Whether the name of a symbol begins here: its length, a template instance, a reference to one. */
static bool dlang_at_symbol(const struct dlang *d)
{
	if (ux_is_digit(dlang_peek(d)) || dlang_at_template(d))
		return true;
	if (dlang_peek(d) != 'Q')
		return false;
	struct dlang ahead = *d;
	const char *target = dlang_reference(&ahead);
	return target && ux_is_digit(*target);
}

static bool dlang_at_convention(const struct dlang *d)
{
	char c = dlang_peek(d);
	return c && strchr("FUVWRY", c);
}

/* Puts "vtable for " and the like in front of the symbol that it is of. */
static void dlang_put_in_front(struct dlang *d, const char *s)
{
	if (ux_name_text_last(d->text) == '.' && d->text->pos > d->symbol)
		ux_name_text_cut(d->text, d->text->pos - 1);
	char *middle = d->text->pos;
	dlang_put(d, s);
	ux_name_text_rotate(d->text, d->symbol, middle);
}

/* A plain identifier of n bytes, or one by which compilers name what they make. */
static bool dlang_name(struct dlang *d, size_t n)
{
	static const struct {
		const char *name; /* with what follows it */
		size_t size;
		const char *text;
		bool in_front;
	} made[] = {
		{"__ctor", 6, "this", false},
		{"__dtor", 6, "~this", false},
		{"__initZ", 6, "initializer for ", true},
		{"__vtblZ", 6, "vtable for ", true},
		{"__ClassZ", 7, "ClassInfo for ", true},
		{"__postblitMFZ", 10, "this(this)", false},
		{"__InterfaceZ", 11, "Interface for ", true},
		{"__ModuleInfoZ", 12, "ModuleInfo for ", true},
	};
	for (size_t i = 0; i < ux_countof(made) && d->pos[0] == '_'; i++) {
		if (made[i].size != n || !dlang_starts(d, made[i].name))
			continue;
		d->pos += made[i].in_front ? n : strlen(made[i].name);
		if (made[i].in_front)
			dlang_put_in_front(d, made[i].text);
		else
			dlang_put(d, made[i].text);
		return true;
	}
	ux_name_text_put(d->text, d->pos, n);
	d->pos += n;
	return true;
}

/* A length and a name elsewhere. */
static bool dlang_referred_name(struct dlang *d)
{
	size_t n = 0;
	const char *target = dlang_reference(d), *resume = d->pos;
	if (!target)
		return false;
	d->pos = target;
	bool ok = dlang_number(d, &n) && n > 0 && n <= dlang_left(d) && dlang_name(d, n);
	d->pos = resume;
	return ok;
}

/* Digits as they are, with a leading '-' where there is an N. */
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

/* Hexadecimal: the first digit in front of the point, then P and the exponent. */
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

static bool dlang_value(struct dlang *d, char type);

/* A count and as many values; of an associative array pairs of them. */
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
static bool dlang_value(struct dlang *d, char type)
{
	if (d->pos == d->end || !ux_name_text_enter(d->text, DLANG_DEPTH_MOST))
		return false;
	bool ok = dlang_value_of(d, *d->pos, type);
	d->text->depth--;
	return ok;
}

/* A template's argument that is a value, with its type before it. */
static bool dlang_value_argument(struct dlang *d)
{
	char type = dlang_peek(d), *from = d->text->pos;
	if (type == 'Q') {
		struct dlang ahead = *d;
		const char *target = dlang_reference(&ahead);
		if (!target)
			return false;
		type = *target;
	}
	if (!dlang_type(d))
		return false;
	if (dlang_peek(d) != 'S') /* only that of a struct is shown */
		ux_name_text_cut(d->text, from);
	return dlang_value(d, type);
}

/* A symbol whose bytes begin at `from`; false and nothing written when they are none. */
static bool dlang_symbol_argument_at(struct dlang *d, const char *from)
{
	d->pos = from;
	if (dlang_at_symbol(d))
		return dlang_qualified(d, /* with_modifiers= */ false);
	return dlang_starts(d, "_D") && dlang_symbol(d);
}

/*
 * A template's argument that is a symbol. Compilers up to 2.076 write its length in front, whose
 * digits run into those of the symbol: "S213foo" may be 21 bytes or 2 that begin with "13foo". The
 * longest length that fits is meant; without one the digits are the symbol's own.
 */
static bool dlang_symbol_argument(struct dlang *d)
{
	size_t size = 0;
	if (dlang_starts(d, "_D"))
		return dlang_symbol(d);
	if (dlang_peek(d) == 'Q')
		return dlang_qualified(d, /* with_modifiers= */ false);
	const char *digits = d->pos;
	if (!dlang_number(d, &size) || size == 0)
		return false;
	char *text = d->text->pos;
	for (const char *from = d->pos; from > digits; from--, size /= 10) {
		bool ok = dlang_symbol_argument_at(d, from);
		if (ok && d->pos == from + size)
			return true;
		ux_name_text_cut(d->text, text);
		if (d->text->failed)
			return false;
	}
	return dlang_symbol_argument_at(d, digits);
}

/* Bytes as they are, mangled by the rules of another language. */
static bool dlang_foreign_argument(struct dlang *d)
{
	size_t n = 0;
	if (!dlang_number(d, &n) || n > dlang_left(d))
		return false;
	ux_name_text_put(d->text, d->pos, n);
	d->pos += n;
	return true;
}

static bool dlang_template_argument(struct dlang *d)
{
	(void)dlang_eat(d, 'H'); /* a specialized parameter */
	if (dlang_eat(d, 'S'))
		return dlang_symbol_argument(d);
	if (dlang_eat(d, 'T'))
		return dlang_type(d);
	if (dlang_eat(d, 'V'))
		return dlang_value_argument(d);
	return dlang_eat(d, 'X') && dlang_foreign_argument(d);
}

/* An instance, "__T", its name and arguments up to Z. */
static bool dlang_template(struct dlang *d)
{
	d->pos += 3;
	if (!dlang_at_symbol(d) || dlang_peek(d) == '0' || !dlang_identifier(d))
		return false;
	dlang_put(d, "!(");
	for (size_t n = 0; !dlang_eat(d, 'Z'); n++) {
		if (n > 0)
			dlang_put(d, ", ");
		if (!dlang_template_argument(d))
			return false;
	}
	dlang_put(d, ")");
	return true;
}

/* "__S12": it stands around functions that are alike, and is not shown. */
static bool dlang_is_fake_parent(const char *s, size_t n)
{
	if (n < 4 || memcmp(s, "__S", 3) != 0)
		return false;
	for (size_t i = 3; i < n; i++)
		if (!ux_is_digit(s[i]))
			return false;
	return true;
}

static bool dlang_identifier_of(struct dlang *d)
{
	size_t n = 0;
	if (dlang_peek(d) == 'Q')
		return dlang_referred_name(d);
	if (dlang_at_template(d))
		return dlang_template(d);
	for (;;) {
		if (!dlang_number(d, &n) || n == 0 || n > dlang_left(d))
			return false;
		if (!dlang_is_fake_parent(d->pos, n))
			break;
		d->pos += n;
	}
	if (n < 5 || !dlang_at_template(d))
		return dlang_name(d, n);
	const char *from = d->pos;
	return dlang_template(d) && d->pos == from + n;
}

static bool dlang_identifier(struct dlang *d)
{
	if (!ux_name_text_charge(d->text, DLANG_IDENTIFIER_STEPS) ||
	    !ux_name_text_enter(d->text, DLANG_DEPTH_MOST))
		return false;
	bool ok = dlang_identifier_of(d);
	d->text->depth--;
	return ok;
}

/* " const", " shared", ... behind what they qualify. */
static void dlang_modifiers(struct dlang *d, bool write)
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

/* "pure nothrow ", ...; those of them that begin a parameter are left to it. */
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
	/* "return scope" is NkM today and was MNk. */
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

/* How a function is called, its attributes and parameters; only the latter are written. */
static bool dlang_signature(struct dlang *d, const char **ret_attributes)
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

/* "extern(C) int(char) pure "; a word for what kind of function it is follows. */
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

/* A type elsewhere; is_function: that of a delegate. */
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

/* Behind N: inout, vectors, the type of *null. */
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

static bool dlang_type(struct dlang *d)
{
	const char *basic = dlang_basic_type(dlang_peek(d));
	if (!ux_name_text_enter(d->text, DLANG_DEPTH_MOST))
		return false;
	if (basic) {
		d->pos++;
		dlang_put(d, basic);
	}
	bool ok = basic || (d->pos < d->end && dlang_type_of(d, *d->pos));
	d->text->depth--;
	return ok;
}

/*
 * Parameters behind a function's name. What they return is told by none but the last function of a
 * name; where nothing follows, what looked like parameters is the type of a variable, and is left.
 */
static void dlang_function_part(struct dlang *d, bool with_modifiers)
{
	const char *from = d->pos, *modifiers = NULL, *attributes = NULL;
	char *text = d->text->pos;
	if (dlang_peek(d) != 'M' && !dlang_at_convention(d))
		return;
	if (dlang_eat(d, 'M')) {
		modifiers = d->pos;
		dlang_modifiers(d, /* write= */ false);
	}
	bool ok = dlang_signature(d, &attributes);
	if (ok && modifiers && with_modifiers) {
		struct dlang behind = *d;
		behind.pos = modifiers;
		dlang_modifiers(&behind, /* write= */ true);
	}
	if (ok && d->pos < d->end)
		return;
	d->pos = from;
	ux_name_text_cut(d->text, text);
}

static bool dlang_qualified(struct dlang *d, bool with_modifiers)
{
	size_t n = 0;
	do {
		if (dlang_peek(d) == '0') { /* it has no name */
			while (dlang_eat(d, '0'))
				;
			continue;
		}
		if (n++ > 0)
			dlang_put(d, ".");
		if (!dlang_identifier(d))
			return false;
		dlang_function_part(d, with_modifiers);
	} while (dlang_at_symbol(d));
	return !d->text->failed;
}

/*
 * Modifiers and a back reference to a type of a function instead of that: its parameters are
 * written, as if they stood here.
 */
static bool dlang_referred_function(struct dlang *d)
{
	struct dlang ahead = *d;
	const char *attributes = NULL;
	if (!dlang_eat(&ahead, 'M'))
		return false;
	const char *modifiers = ahead.pos;
	dlang_modifiers(&ahead, /* write= */ false);
	if (dlang_peek(&ahead) != 'Q')
		return false;
	const char *target = dlang_reference(&ahead);
	if (!target)
		return false;
	d->pos = target;
	bool ok = dlang_signature(d, &attributes);
	d->pos = modifiers;
	dlang_modifiers(d, /* write= */ true);
	d->pos = ahead.pos;
	return ok;
}

/* The type of what the symbol is, or what it returns: no text. */
static bool dlang_symbol_type(struct dlang *d)
{
	char *text = d->text->pos;
	bool ok = dlang_type(d);
	ux_name_text_cut(d->text, text);
	return ok;
}

/* "_D", a name, and Z or the type, which is not shown. */
static bool dlang_symbol(struct dlang *d)
{
	char *outer = d->symbol;
	if (!ux_name_text_enter(d->text, DLANG_DEPTH_MOST))
		return false;
	d->symbol = d->text->pos;
	d->pos += 2;
	bool ok = dlang_at_symbol(d) && dlang_qualified(d, /* with_modifiers= */ true);
	d->symbol = outer;
	if (ok && !dlang_eat(d, 'Z'))
		ok = dlang_referred_function(d) || dlang_symbol_type(d);
	d->text->depth--;
	return ok;
}

/* Bytes of what marks a thunk, up to where a name continues behind its "_D": "_DThn16_", and
 * "_DTi16_D" of gdc; 0: it is none. */
static size_t dlang_thunk_size(struct ux_bytes name)
{
	bool gdc = ux_bytes_starts(name, UX_STR("_DTi"));
	if (!gdc && !ux_bytes_starts(name, UX_STR("_DThn")))
		return 0;
	const char *start = (const char *)name.data + (gdc ? 4 : 5), *p = start;
	const char *end = (const char *)name.data + name.size;
	while (p < end && ux_is_digit(*p))
		p++;
	if (p == start || p == end || *p++ != '_')
		return 0;
	if (gdc && (p == end || *p++ != 'D'))
		return 0;
	return (size_t)(p - (const char *)name.data);
}

bool ux_dlang_demangle(struct ux_bytes name, struct ux_name_text *text)
{
	if (ux_bytes_eq(name, UX_STR("_Dmain"))) {
		UX_NAME_TEXT_PUT(text, "D main");
		return true;
	}
	size_t thunk = dlang_thunk_size(name);
	const char *s = (const char *)name.data + (thunk ? thunk - 2 : 0);
	const char *end = (const char *)name.data + name.size;
	struct dlang d = {.start = s, .pos = s, .end = end, .last_reference = end, .text = text};
	if (thunk)
		UX_NAME_TEXT_PUT(text, "non-virtual thunk to ");
	return dlang_symbol(&d) && d.pos == end && !text->failed;
}
