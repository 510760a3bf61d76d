/* SPDX-License-Identifier: Apache-2.0 */
/*
 * D's names. Source: dlang.org, "ABI", Name Mangling.
 *
 * A name is written while it is parsed. Two rules of the grammar need backtracking (parameters
 * after a name, and symbols as template arguments, whose length may run into the digits after it),
 * and back references are parsed where they are used: for some names this takes exponential time.
 * Every attempt is charged to the budget of the text.
 */
#include "dlang.h"

static bool dlang_identifier(struct dlang *d);

/* Puts "vtable for " and the like before the symbol that it belongs to. */
static void dlang_put_in_front(struct dlang *d, const char *s)
{
	if (ux_name_text_last(d->text) == '.' && d->text->pos > d->symbol)
		ux_name_text_cut(d->text, d->text->pos - 1);
	char *middle = d->text->pos;
	dlang_put(d, s);
	ux_name_text_rotate(d->text, d->symbol, middle);
}

/* Writes a plain identifier of n bytes, or the text for one that the compiler generated. */
static bool dlang_name(struct dlang *d, size_t n)
{
	static const struct {
		const char *name; /* including the characters after it */
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

/* Writes a name (with its length) that a back reference points to. */
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

/* Reads a template's argument that is a value, with its type before it. */
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
	if (dlang_peek(d) != 'S') /* only a struct's type is shown */
		ux_name_text_cut(d->text, from);
	return dlang_value(d, type);
}

/*
 * Writes a symbol that begins at `from`; false, and nothing is written, when it is not a valid
 * symbol.
 */
static bool dlang_symbol_argument_at(struct dlang *d, const char *from)
{
	d->pos = from;
	if (dlang_at_symbol(d))
		return dlang_qualified(d, /* with_modifiers= */ false);
	return dlang_starts(d, "_D") && dlang_symbol(d);
}

/*
 * Reads a template's argument that is a symbol. Compilers up to 2.076 write its length before it,
 * and the digits of the length run into the symbol's: "S213foo" may be 21 bytes or 2 that begin
 * with "13foo". The longest length that fits is meant; if none fits, the digits are the symbol's
 * own.
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

/* Writes an argument unchanged that is mangled by the rules of another language. */
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

/* Reads an instance, "__T", its name and arguments up to Z. */
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

/* Returns true for "__S12", a generated scope around identical functions, which is not shown. */
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
	    !ux_name_text_enter(d->text, DLANG_DEPTH_MAX))
		return false;
	bool ok = dlang_identifier_of(d);
	d->text->depth--;
	return ok;
}

/*
 * Reads parameters after a function's name. Only the last function of a name has its return type in
 * the name. If nothing follows, the characters that looked like parameters are the type of a
 * variable, and are not consumed.
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

bool dlang_qualified(struct dlang *d, bool with_modifiers)
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
 * Reads modifiers and a back reference that takes the place of a function's type: its parameters
 * are written here.
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

/* Skips the type or return type of the symbol, which has no text. */
static bool dlang_symbol_type(struct dlang *d)
{
	char *text = d->text->pos;
	bool ok = dlang_type(d);
	ux_name_text_cut(d->text, text);
	return ok;
}

/* "_D", a name, and Z or the type, which is not shown. */
bool dlang_symbol(struct dlang *d)
{
	char *outer = d->symbol;
	if (!ux_name_text_enter(d->text, DLANG_DEPTH_MAX))
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

/*
 * Returns the size of the prefix of a thunk, up to the rest of the name after its "_D": "_DThn16_",
 * and "_DTi16_D" of gdc; 0 when the name is not a thunk's.
 */
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
