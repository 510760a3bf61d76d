/* SPDX-License-Identifier: Apache-2.0 */
/* C++ names of the usual kinds, written while they are read. */
#include "itanium_direct.h"

/*
 * Nearly all parts of a name have their text in the order in which they are mangled, so they can be
 * written immediately, and the parts that S_ or T_ repeats are copied from the place where they
 * were first written. A tree is needed for text that is written around a declarator (pointers to
 * functions, arrays), for expressions, conversions, and rare constructs. This reader gives up
 * there, and the name is read again as a tree. It takes a third of a tree's instructions.
 *
 * A function's return type is mangled after the name but written before it. It is written to a
 * separate buffer first, and moved at the end, since earlier texts are referred to by their
 * address.
 */

static bool direct_number(struct direct *d, unsigned *ret)
{
	const char *from = d->pos;
	unsigned v = 0;
	for (; d->pos < d->end && ux_is_digit(*d->pos) && v <= DIRECT_NAME_MAX; d->pos++)
		v = v * 10 + (unsigned)(*d->pos - '0');
	*ret = v;
	return d->pos > from && v <= DIRECT_NAME_MAX;
}

/* --- parts of names --------------------------------------------------------------------------- */

static bool direct_source_name(struct direct *d, struct direct_named *named)
{
	unsigned size = 0;
	if (!direct_number(d, &size) || size == 0 || (size_t)(d->end - d->pos) < size)
		return false;
	const char *name = d->pos;
	d->pos += size;
	named->base = d->t.pos;
	if (size > 9 && memcmp(name, "_GLOBAL_", 8) == 0 && strchr("._$", name[8]) &&
	    name[9] == 'N')
		DIRECT_PUT(d, "(anonymous namespace)");
	else
		ux_name_text_put_short(&d->t, name, size);
	named->base_size = (uint16_t)(d->t.pos - named->base);
	return true;
}

/* Lambdas, which have their own T_, and types without a name. */
static bool direct_unnamed(struct direct *d, struct direct_named *named)
{
	unsigned number = 0, marks = d->marks;
	bool is_lambda = direct_peek2(d) == 'l', outer = d->in_lambda;
	if (d->element >= 0 || (!is_lambda && direct_peek2(d) != 't'))
		return false;
	named->base = d->t.pos;
	d->pos += 2;
	if (!is_lambda) {
		DIRECT_PUT(d, "{unnamed type#");
	} else {
		if (direct_peek(d) == 'T' && direct_peek2(d) && strchr("ykntp", direct_peek2(d)))
			return false;
		DIRECT_PUT(d, "{lambda(");
		d->in_lambda = true;
		bool read = direct_types(d) && direct_eat(d, 'E');
		d->in_lambda = outer;
		d->marks = marks | (d->marks & DIRECT_PACKED);
		if (!read)
			return false;
		DIRECT_PUT(d, ")#");
	}
	if (!direct_sequence(d, 10, &number))
		return false;
	ux_name_text_number(&d->t, number + 1);
	ux_name_text_char(&d->t, '}');
	named->base_size = (uint16_t)(d->t.pos - named->base);
	return true;
}

/* C1, D2, ... of the class `named`. */
static bool direct_structor(struct direct *d, struct direct_named *named)
{
	bool is_ctor = *d->pos == 'C';
	char variant = direct_peek2(d);
	if (!named->base || variant == '\0' || !strchr(is_ctor ? "12345" : "01245", variant))
		return false;
	d->pos += 2;
	if (!is_ctor)
		ux_name_text_char(&d->t, '~');
	struct direct_text base = {.at = named->base, .size = named->base_size};
	direct_put_again(d, &base);
	named->base = NULL;
	named->is_structor = true;
	return true;
}

static bool direct_operator(struct direct *d, struct direct_named *named)
{
	int number = itanium_operator_find(direct_peek(d), direct_peek2(d));
	if (number < 0)
		return false;
	const struct itanium_operator *op = &itanium_operators[number];
	d->pos += 2;
	named->base = NULL;
	DIRECT_PUT(d, "operator");
	ux_name_text_put_short(&d->t, op->text, op->size);
	return true;
}

/* named: on entry the scope, with base NULL if there is none; on return the name. */
static bool direct_unqualified_name(struct direct *d, struct direct_named *named)
{
	char c = direct_peek(d);
	named->is_template = named->is_structor = false;
	if (c == 'L') { /* internal linkage: no text */
		d->pos++;
		c = direct_peek(d);
	}
	bool read = false;
	if (ux_is_digit(c))
		read = direct_source_name(d, named);
	else if (c == 'C' || c == 'D')
		read = direct_structor(d, named);
	else if (c == 'U')
		read = direct_unnamed(d, named);
	else if (c >= 'a' && c <= 'z')
		read = direct_operator(d, named);
	while (read && direct_eat(d, 'B')) {
		struct direct_named tag;
		DIRECT_PUT(d, "[abi:");
		read = direct_source_name(d, &tag);
		ux_name_text_char(&d->t, ']');
	}
	return read;
}

/* --- names ------------------------------------------------------------------------------------ */

static bool direct_std_name(struct direct *d, struct direct_named *named)
{
	d->pos += 2;
	DIRECT_PUT(d, "std::");
	*named = (struct direct_named){0};
	return direct_unqualified_name(d, named);
}

/* Reads the next part of a nested name. */
static bool direct_nested_part(struct direct *d, bool naming, bool scoped,
			       struct direct_named *named)
{
	char c = direct_peek(d);
	struct direct_text param;
	if (c == 'I') {
		named->is_template = scoped && direct_template_args(d, naming);
		return named->is_template;
	}
	if (c == 'T') {
		*named = (struct direct_named){0};
		return !scoped && direct_template_param(d, &param) && direct_is_scope(param.flags);
	}
	if (c == 'S')
		return !scoped && direct_std_name(d, named);
	if (scoped)
		DIRECT_PUT(d, "::");
	return direct_unqualified_name(d, named);
}

static bool direct_nested_name(struct direct *d, bool naming, struct direct_named *named)
{
	const char *from = d->t.pos;
	bool scoped = false;
	d->pos++;
	uint8_t qualifiers = direct_qualifiers(d);
	if (direct_eat(d, 'R'))
		qualifiers |= ITANIUM_FOR_LREF;
	else if (direct_eat(d, 'O'))
		qualifiers |= ITANIUM_FOR_RREF;
	while (!direct_eat(d, 'E')) {
		if (direct_peek(d) == 'S' && direct_peek2(d) != 't') {
			if (scoped || !direct_is_scope(direct_substitution(d, true, named)) ||
			    direct_peek(d) == 'E')
				return false;
			scoped = true;
			continue;
		}
		if (scoped && direct_eat(d, 'M')) /* a member's initializer: no text */
			continue;
		if (!direct_nested_part(d, naming, scoped, named))
			return false;
		named->is_nested = scoped;
		scoped = true;
		if (direct_peek(d) != 'E' && !direct_add(d, from, DIRECT_GOOD, named))
			return false;
	}
	d->qualifiers = qualifiers;
	return scoped;
}

/* "_3", "__12_": numbers entities of the same name; no text. */
static void direct_discriminator(struct direct *d)
{
	if (direct_peek(d) != '_')
		return;
	if (direct_peek2(d) == '_') {
		d->pos += 2;
		while (ux_is_digit(direct_peek(d)))
			d->pos++;
		(void)direct_eat(d, '_');
	} else if (ux_is_digit(direct_peek2(d))) {
		d->pos += 2;
	}
}

static bool direct_local_name(struct direct *d, bool naming, struct direct_named *named)
{
	d->pos++;
	if (d->element >= 0 || !direct_encoding(d, DIRECT_ENCLOSING) || !direct_eat(d, 'E') ||
	    direct_peek(d) == 's' || direct_peek(d) == 'd')
		return false;
	DIRECT_PUT(d, "::");
	d->qualifiers = 0;
	if (!direct_name(d, naming, named))
		return false;
	named->is_nested = false;
	direct_discriminator(d);
	return true;
}

static bool direct_unscoped_name(struct direct *d, bool naming, struct direct_named *named)
{
	const char *from = d->t.pos;
	char c = direct_peek(d);
	bool is_sub = c == 'S' && direct_peek2(d) != 't';
	*named = (struct direct_named){0};
	if (is_sub) {
		if (!direct_is_scope(direct_substitution(d, false, named)) || direct_peek(d) != 'I')
			return false;
	} else if (!(c == 'S' ? direct_std_name(d, named) : direct_unqualified_name(d, named))) {
		return false;
	}
	if (direct_peek(d) == 'I') {
		if (!is_sub && !direct_add(d, from, DIRECT_GOOD, named))
			return false;
		named->is_template = direct_template_args(d, naming);
		if (!named->is_template)
			return false;
	}
	d->qualifiers = 0;
	return true;
}

bool direct_name(struct direct *d, bool naming, struct direct_named *named)
{
	bool read = false;
	*named = (struct direct_named){0};
	if (!ux_name_text_enter(&d->t, DIRECT_DEPTH_MAX))
		return false;
	if (direct_peek(d) == 'N')
		read = direct_nested_name(d, naming, named);
	else if (direct_peek(d) == 'Z')
		read = direct_local_name(d, naming, named);
	else
		read = direct_unscoped_name(d, naming, named);
	d->t.depth--;
	return read;
}

/* --- functions -------------------------------------------------------------------------------- */

/* Begins to write to the separate buffer, and returns the previous state of the text. */
static struct ux_name_text direct_aside_begin(struct direct *d)
{
	struct ux_name_text before = d->t;
	d->t.start = d->t.pos = d->aside;
	d->t.end = d->asides + sizeof(d->asides);
	return before;
}

static void direct_aside_end(struct direct *d, struct ux_name_text before)
{
	d->aside = d->t.pos;
	d->t.start = before.start;
	d->t.pos = before.pos;
	d->t.end = before.end;
}

/* Reads the return type of a function. The return type of an enclosing function is not written. */
static bool direct_returned(struct direct *d, enum direct_part part)
{
	struct ux_name_text before = direct_aside_begin(d);
	if (!direct_plain_type(d) || d->t.failed || d->t.pos == d->t.start)
		return false;
	if (part == DIRECT_ALL) {
		d->returned = d->t.start;
		d->n_returned = (size_t)(d->t.pos - d->t.start);
	}
	direct_aside_end(d, before);
	return true;
}

static bool direct_unwritten_types(struct direct *d)
{
	struct ux_name_text before = direct_aside_begin(d);
	if (!direct_types(d) || d->t.failed)
		return false;
	direct_aside_end(d, before);
	return true;
}

static bool direct_at_end(const struct direct *d)
{
	return d->pos == d->end || *d->pos == 'E' || *d->pos == '.' || *d->pos == '_';
}

static bool direct_function_or_data(struct direct *d, enum direct_part part)
{
	struct direct_named named;
	if (!direct_name(d, /* naming= */ true, &named))
		return false;
	if (part == DIRECT_NAME && (!named.is_nested || named.is_template))
		return false;
	if (direct_at_end(d))
		return !(d->marks & DIRECT_DEPENDS);
	uint8_t qualifiers = d->qualifiers;
	if (direct_peek(d) == 'U' && direct_peek2(d) == 'a')
		return false;
	if (part == DIRECT_NAME)
		return qualifiers == 0 && direct_unwritten_types(d) && direct_at_end(d);
	if (named.is_template && !named.is_structor && !direct_returned(d, part))
		return false;
	ux_name_text_char(&d->t, '(');
	if (!direct_types(d) || !direct_at_end(d))
		return false;
	ux_name_text_char(&d->t, ')');
	direct_put_qualifiers(d, qualifiers);
	return true;
}

/* "Thn8_": a thunk, which adjusts `this`. */
static bool direct_thunk(struct direct *d)
{
	if (direct_peek2(d) != 'h')
		return false;
	d->pos += 2;
	(void)direct_eat(d, 'n');
	while (ux_is_digit(direct_peek(d)))
		d->pos++;
	DIRECT_PUT(d, "non-virtual thunk to ");
	d->n_special = (size_t)(d->t.pos - d->t.start);
	return direct_eat(d, '_');
}

bool direct_encoding(struct direct *d, enum direct_part part)
{
	if (direct_peek(d) == 'T' || direct_peek(d) == 'G' ||
	    !ux_name_text_enter(&d->t, DIRECT_DEPTH_MAX))
		return false;
	unsigned first_arg = d->first_arg, n_args = d->n_args, n_items = d->n_items,
		 context = d->context, marks = d->marks;
	bool in_lambda = d->in_lambda;
	d->first_arg = n_args;
	d->context = ++d->n_contexts;
	d->in_lambda = false;
	d->marks = 0;
	bool read = direct_function_or_data(d, part);
	d->marks = marks | (d->marks & DIRECT_PACKED);
	d->in_lambda = in_lambda;
	d->context = context;
	d->first_arg = first_arg;
	d->n_args = n_args;
	d->n_items = n_items;
	d->t.depth--;
	return read;
}

/* Moves the return type before the name. */
static bool direct_put_returned(struct direct *d)
{
	struct ux_name_text *t = &d->t;
	char *name = t->start + d->n_special;
	size_t size = (size_t)(t->pos - name), more = d->n_returned + 1;
	if (d->n_returned == 0)
		return true;
	if ((size_t)(t->end - t->pos) < more)
		return false;
	memmove(name + more, name, size);
	memcpy(name, d->returned, d->n_returned);
	name[d->n_returned] = ' ';
	t->pos += more;
	return true;
}

bool itanium_direct(struct ux_bytes name, struct ux_name_text *text, const char **ret_end)
{
	struct direct d;
	if (name.size > DIRECT_NAME_MAX)
		return false;
	d.pos = (const char *)name.data + 2;
	d.end = (const char *)name.data + name.size;
	d.t = *text;
	d.t.steps = ux_min(text->steps, (unsigned)DIRECT_STEPS_MAX);
	d.n_subs = d.n_args = d.first_arg = d.n_items = d.context = d.n_contexts = 0;
	d.marks = d.n_elements = d.first_varying = 0;
	d.element = -1;
	d.in_lambda = false;
	d.qualifiers = 0;
	d.aside = d.asides;
	d.returned = NULL;
	d.n_returned = d.n_special = 0;
	unsigned steps = d.t.steps;
	if (direct_peek(&d) == 'T' && !direct_thunk(&d))
		return false;
	if (!direct_encoding(&d, DIRECT_ALL) || d.t.failed || (d.pos != d.end && *d.pos != '.') ||
	    d.t.pos == d.t.start || !direct_put_returned(&d))
		return false;
	text->steps -= steps - d.t.steps;
	text->pos = d.t.pos;
	*ret_end = d.pos;
	return true;
}
