/* SPDX-License-Identifier: Apache-2.0 */
/* Types, template arguments and substitutions, written while they are read. */
#include "itanium_direct.h"

/* --- substitutions, template parameters and arguments ----------------------------------------- */

/* The standard's abbreviations; before a constructor they are written in full. */
static bool direct_standard(struct direct *d, bool in_prefix, struct direct_named *named)
{
	static const struct {
		char code;
		uint8_t name, full, base;
	} standard[] = {
		{'a', ITANIUM_T_ALLOCATOR, ITANIUM_T_ALLOCATOR, ITANIUM_T_ALLOCATOR},
		{'b', ITANIUM_T_BASIC_STRING, ITANIUM_T_BASIC_STRING, ITANIUM_T_BASIC_STRING},
		{'d', ITANIUM_T_IOSTREAM, ITANIUM_T_LONG_IOSTREAM, ITANIUM_T_BASIC_IOSTREAM},
		{'i', ITANIUM_T_ISTREAM, ITANIUM_T_LONG_ISTREAM, ITANIUM_T_BASIC_ISTREAM},
		{'o', ITANIUM_T_OSTREAM, ITANIUM_T_LONG_OSTREAM, ITANIUM_T_BASIC_OSTREAM},
		{'s', ITANIUM_T_STRING, ITANIUM_T_LONG_STRING, ITANIUM_T_BASIC_STRING},
	};
	for (size_t i = 0; i < ux_countof(standard); i++) {
		if (standard[i].code != direct_peek(d))
			continue;
		d->pos++;
		char next = direct_peek(d);
		bool full = in_prefix && (next == 'C' || next == 'D');
		DIRECT_PUT(d, "std::");
		direct_put_word(d, full ? standard[i].full : standard[i].name);
		const struct itanium_word *base =
			&itanium_words[full ? standard[i].base : standard[i].name];
		named->base = base->text;
		named->base_size = base->size;
		return next != 'B';
	}
	return false;
}

unsigned direct_substitution(struct direct *d, bool in_prefix, struct direct_named *named)
{
	unsigned number = 0;
	d->pos++;
	*named = (struct direct_named){0};
	if (ux_is_lower(direct_peek(d)))
		return direct_standard(d, in_prefix, named) ? DIRECT_GOOD : 0;
	if (!direct_sequence(d, 36, &number) || number >= d->n_subs)
		return 0;
	const struct direct_text *sub = &d->subs[number];
	if (!(sub->flags & DIRECT_GOOD))
		return 0;
	if ((sub->flags & DIRECT_DEPENDS) && sub->here != direct_here(d))
		return 0;
	if ((sub->flags & DIRECT_VARIES) && (d->element < 0 || number < d->first_varying))
		return 0;
	if ((sub->flags & DIRECT_PACKED) && d->element >= 0)
		return 0;
	direct_put_again(d, sub);
	named->base = sub->base;
	named->base_size = sub->base_size;
	d->marks |= sub->flags & DIRECT_MARKS;
	return sub->flags & (unsigned)~DIRECT_MARKS;
}

/* Returns the element of a pack that is being expanded; an empty text if the pack has none. */
static const struct direct_text *direct_element(struct direct *d, const struct direct_text *pack)
{
	static const struct direct_text none = {.at = "", .flags = DIRECT_GOOD};
	if (pack->flags & DIRECT_GOOD) /* an expansion */
		return NULL;
	if (d->element < 0 || (d->n_elements != UINT32_MAX && d->n_elements != pack->items))
		return NULL;
	d->n_elements = pack->items;
	d->marks |= DIRECT_VARIES;
	return pack->items > 0 ? &d->items[pack->first + (unsigned)d->element] : &none;
}

bool direct_template_param(struct direct *d, struct direct_text *ret)
{
	unsigned number = 0;
	char *from = d->t.pos;
	d->pos++;
	if (!direct_sequence(d, 10, &number))
		return false;
	d->marks |= DIRECT_DEPENDS;
	if (d->in_lambda) {
		DIRECT_PUT(d, "auto:");
		ux_name_text_number(&d->t, number + 1);
		*ret = (struct direct_text){
			.at = from, .size = (uint32_t)(d->t.pos - from), .flags = DIRECT_GOOD};
		return true;
	}
	if (d->first_arg + number >= d->n_args)
		return false;
	const struct direct_text *arg = &d->args[d->first_arg + number];
	if (arg->flags & DIRECT_LISTED)
		arg = direct_element(d, arg);
	if (!arg)
		return false;
	*ret = *arg;
	direct_put_again(d, arg);
	return true;
}

/* Values of types that are written as a suffix only, of bool, and values after any other type. */
static bool direct_literal(struct direct *d)
{
	static const struct {
		char code;
		const char *suffix;
	} suffixes[] = {{'i', ""}, {'j', "u"}, {'l', "l"}, {'m', "ul"}, {'x', "ll"}, {'y', "ull"}};
	const char *suffix = NULL;
	d->pos++;
	char c = direct_peek(d);
	if (c == 'Z' || c == '_' || c == '\0' || strchr("defgvz", c))
		return false;
	if (c == 'b') {
		char value = direct_peek2(d);
		if (value != '0' && value != '1')
			return false;
		ux_name_text_cstr(&d->t, value == '1' ? "true" : "false");
		d->pos += 2;
		return direct_eat(d, 'E');
	}
	for (size_t i = 0; i < ux_countof(suffixes) && !suffix; i++)
		suffix = suffixes[i].code == c ? suffixes[i].suffix : NULL;
	if (suffix) {
		d->pos++;
	} else {
		ux_name_text_char(&d->t, '(');
		unsigned flags = direct_type(d);
		if (!flags || flags & DIRECT_LISTED)
			return false;
		ux_name_text_char(&d->t, ')');
	}
	if (direct_eat(d, 'n'))
		ux_name_text_char(&d->t, '-');
	const char *from = d->pos;
	while (ux_is_digit(direct_peek(d)))
		d->pos++;
	ux_name_text_put_short(&d->t, from, (size_t)(d->pos - from));
	if (suffix)
		ux_name_text_cstr(&d->t, suffix);
	return d->pos > from && direct_eat(d, 'E');
}

/* The pattern is read once for each element; the records of the last element stay. */
static bool direct_expand(struct direct *d, bool in_expression)
{
	struct direct_list list = {0};
	struct direct_text param;
	const char *pattern = d->pos;
	const unsigned n_subs = d->n_subs;
	do {
		unsigned flags = 0;
		d->pos = pattern;
		d->n_subs = n_subs;
		direct_list_next(d, &list);
		if (!in_expression)
			flags = direct_type(d);
		else if (direct_peek(d) == 'T' && direct_template_param(d, &param))
			flags = param.flags;
		if (!flags || flags & DIRECT_LISTED || d->n_elements == UINT32_MAX)
			return false;
		if (d->n_elements == 0)
			d->t.pos = list.item;
		direct_list_end(d, &list);
		d->element++;
	} while ((unsigned)d->element < d->n_elements);
	return true;
}

/* Reads after Dp or sp: a pattern for each element of the packs in it. */
static bool direct_expansion(struct direct *d, bool in_expression)
{
	if (d->element >= 0)
		return false;
	d->pos += 2;
	d->element = 0;
	d->n_elements = UINT32_MAX;
	d->first_varying = d->n_subs;
	bool read = direct_expand(d, in_expression);
	d->element = -1;
	d->marks &= (unsigned)~DIRECT_VARIES;
	return read;
}

/* Reads the address of a function or an object after X. */
static unsigned direct_address(struct direct *d)
{
	static const char mark[] = "adL_Z";
	const size_t size = sizeof(mark) - 1;
	if (d->element >= 0 || (size_t)(d->end - d->pos) < size || memcmp(d->pos, mark, size) != 0)
		return 0;
	d->pos += size;
	ux_name_text_char(&d->t, '&');
	return direct_encoding(d, DIRECT_NAME) && direct_eat(d, 'E') ? DIRECT_GOOD : 0;
}

/* Expressions: a parameter of the template, all elements of one, or an address. */
static unsigned direct_expression(struct direct *d)
{
	struct direct_text param;
	unsigned flags = 0;
	d->pos++;
	if (direct_peek(d) == 'T')
		flags = direct_template_param(d, &param) ? param.flags : 0;
	else if (direct_peek(d) == 's' && direct_peek2(d) == 'p')
		flags = direct_expansion(d, /* in_expression= */ true) ? DIRECT_GOOD | DIRECT_LISTED
								       : 0;
	else
		flags = direct_address(d);
	return direct_eat(d, 'E') ? flags : 0;
}

/* Reads an argument that is not a pack. Returns its flags. */
static unsigned direct_argument(struct direct *d)
{
	switch (direct_peek(d)) {
	case 'L':
		return direct_literal(d) ? DIRECT_GOOD : 0;
	case 'X':
		return direct_expression(d);
	case 'I':
	case 'J':
	case 'Q':
		return 0;
	default:
		return direct_type(d);
	}
}

/* J and arguments; naming: they are recorded. */
static bool direct_argument_pack(struct direct *d, bool naming)
{
	struct direct_list list = {0};
	if (d->element >= 0)
		return false;
	d->marks |= DIRECT_PACKED;
	d->pos++;
	while (!direct_eat(d, 'E')) {
		direct_list_next(d, &list);
		unsigned flags = direct_argument(d);
		if (!flags || (naming && d->n_items == DIRECT_ITEMS_MAX))
			return false;
		if (naming)
			d->items[d->n_items++] = (struct direct_text){
				.at = list.item,
				.size = (uint32_t)(d->t.pos - list.item),
				.flags = (uint16_t)flags,
			};
		direct_list_end(d, &list);
	}
	return true;
}

bool direct_template_args(struct direct *d, bool naming)
{
	struct direct_list list = {0};
	d->pos++;
	if (ux_name_text_last(&d->t) == '<')
		ux_name_text_char(&d->t, ' ');
	ux_name_text_char(&d->t, '<');
	if (naming)
		d->n_args = d->first_arg;
	while (!direct_eat(d, 'E')) {
		struct direct_text arg = {.first = (uint16_t)d->n_items, .flags = DIRECT_LISTED};
		direct_list_next(d, &list);
		if (direct_peek(d) != 'J')
			arg.flags = (uint16_t)direct_argument(d);
		else if (!direct_argument_pack(d, naming))
			return false;
		if (!arg.flags || (naming && d->n_args == DIRECT_ARGS_MAX))
			return false;
		arg.at = list.item;
		arg.size = (uint32_t)(d->t.pos - list.item);
		arg.items = (uint16_t)(d->n_items - arg.first);
		if (naming)
			d->args[d->n_args++] = arg;
		direct_list_end(d, &list);
	}
	if (ux_name_text_last(&d->t) == '>')
		ux_name_text_char(&d->t, ' ');
	ux_name_text_char(&d->t, '>');
	return !d->t.failed;
}

/* --- types ------------------------------------------------------------------------------------ */

bool direct_types(struct direct *d)
{
	struct direct_list list = {0};
	if (direct_eat(d, 'v'))
		return true;
	do {
		direct_list_next(d, &list);
		if (!direct_type(d))
			return false;
		direct_list_end(d, &list);
	} while (d->pos < d->end && !strchr("E._Q", *d->pos) &&
		 !((*d->pos == 'R' || *d->pos == 'O') && direct_peek2(d) == 'E'));
	return true;
}

/* Reads after a function's return type: its parameters, up to E. */
static bool direct_put_parameters(struct direct *d)
{
	ux_name_text_char(&d->t, '(');
	if (!direct_types(d))
		return false;
	ux_name_text_char(&d->t, ')');
	if (direct_eat(d, 'R'))
		DIRECT_PUT(d, " &");
	else if (direct_eat(d, 'O'))
		DIRECT_PUT(d, " &&");
	return direct_eat(d, 'E');
}

/* Reads the size of an array, up to _; "" without a number. */
static bool direct_dimension(struct direct *d, struct ux_bytes *ret)
{
	const char *from = ++d->pos;
	while (ux_is_digit(direct_peek(d)))
		d->pos++;
	*ret = ux_bytes(from, (size_t)(d->pos - from));
	return direct_eat(d, '_');
}

static void direct_put_dimension(struct direct *d, struct ux_bytes dimension)
{
	DIRECT_PUT(d, " [");
	ux_name_text_put_short(&d->t, (const char *)dimension.data, dimension.size);
	ux_name_text_char(&d->t, ']');
}

bool direct_plain_type(struct direct *d)
{
	unsigned flags = direct_type(d);
	return flags && !(flags & (DIRECT_AROUND | DIRECT_LISTED));
}

/*
 * Reads a pointer or reference to a function or an array, which is written around it: "int
 * (*)(char)", "int (&) [4]". The pointed-to type is nowhere written on its own, so no S_ can repeat
 * it.
 */
static unsigned direct_pointer_around(struct direct *d, const char *from, struct ux_bytes mark)
{
	struct ux_bytes dimension = UX_STR("");
	bool is_array = direct_peek(d) == 'A';
	if (is_array && !direct_dimension(d, &dimension))
		return 0;
	if (!is_array && *++d->pos == 'Y')
		return 0;
	if (!direct_plain_type(d))
		return 0;
	DIRECT_PUT(d, " (");
	ux_name_text_put_short(&d->t, (const char *)mark.data, mark.size);
	ux_name_text_char(&d->t, ')');
	if (is_array)
		direct_put_dimension(d, dimension);
	else if (!direct_put_parameters(d))
		return 0;
	if (!direct_add_text(d, NULL, 0, 0, NULL) ||
	    !direct_add(d, from, DIRECT_GOOD | DIRECT_AROUND, NULL))
		return 0;
	return DIRECT_GOOD | DIRECT_AROUND;
}

static bool direct_at_around(const struct direct *d)
{
	return d->end - d->pos > 1 && (*d->pos == 'F' || *d->pos == 'A');
}

static unsigned direct_array(struct direct *d, const char *from)
{
	struct ux_bytes dimension;
	if (!direct_dimension(d, &dimension) || !direct_plain_type(d))
		return 0;
	direct_put_dimension(d, dimension);
	return direct_add(d, from, DIRECT_GOOD | DIRECT_AROUND, NULL) ? DIRECT_GOOD | DIRECT_AROUND
								      : 0;
}

static unsigned direct_pointer(struct direct *d, const char *from)
{
	d->pos++;
	if (direct_at_around(d))
		return direct_pointer_around(d, from, UX_STR("*"));
	unsigned inner = direct_type(d);
	if (!inner || inner & (DIRECT_AROUND | DIRECT_LISTED))
		return 0;
	ux_name_text_char(&d->t, '*');
	return direct_add(d, from, DIRECT_GOOD, NULL) ? DIRECT_GOOD : 0;
}

/* References to references collapse, unless the inner one was recorded itself. */
static unsigned direct_reference(struct direct *d, const char *from, bool is_rvalue)
{
	d->pos++;
	if (direct_at_around(d))
		return direct_pointer_around(d, from, is_rvalue ? UX_STR("&&") : UX_STR("&"));
	char c = direct_peek(d);
	unsigned inner = direct_type(d);
	if (!inner || inner & (DIRECT_AROUND | DIRECT_LISTED))
		return 0;
	unsigned flags = DIRECT_GOOD | (is_rvalue ? DIRECT_RREF : DIRECT_LREF);
	if (!(inner & (DIRECT_LREF | DIRECT_RREF))) {
		ux_name_text_put_short(&d->t, "&&", is_rvalue ? 2 : 1);
	} else if (c != 'S' && c != 'T') {
		return 0;
	} else if (inner & DIRECT_LREF) {
		flags = DIRECT_GOOD | DIRECT_LREF;
	} else if (!is_rvalue) {
		d->t.pos--;
	}
	return direct_add(d, from, flags, NULL) ? flags : 0;
}

static unsigned direct_qualified(struct direct *d, const char *from)
{
	unsigned flags = direct_qualifiers(d);
	char c = direct_peek(d), next = direct_peek2(d);
	if (c == 'F' || (c == 'D' && next && strchr("oOwx", next)))
		return 0;
	unsigned inner = direct_type(d);
	if (!inner || inner & (DIRECT_AROUND | DIRECT_LISTED))
		return 0;
	direct_put_qualifiers(d, flags & ~inner);
	return direct_add(d, from, DIRECT_GOOD | flags, NULL) ? DIRECT_GOOD | flags : 0;
}

static unsigned direct_function(struct direct *d, const char *from)
{
	d->pos++;
	if (direct_peek(d) == 'Y' || !direct_plain_type(d))
		return 0;
	ux_name_text_char(&d->t, ' ');
	if (!direct_put_parameters(d) || !direct_add(d, from, DIRECT_GOOD | DIRECT_AROUND, NULL))
		return 0;
	return DIRECT_GOOD | DIRECT_AROUND;
}

/* T_, or an instance of a template template parameter. */
static unsigned direct_parameter(struct direct *d, const char *from)
{
	struct direct_text param;
	char next = direct_peek2(d);
	if ((next != '_' && !ux_is_digit(next)) || !direct_template_param(d, &param) ||
	    !direct_add_text(d, param.at, param.size, param.flags, NULL))
		return 0;
	if (direct_peek(d) != 'I')
		return param.flags;
	if (!direct_is_scope(param.flags) || !direct_template_args(d, false) ||
	    !direct_add(d, from, DIRECT_GOOD, NULL))
		return 0;
	return DIRECT_GOOD;
}

static unsigned direct_named_type(struct direct *d, const char *from)
{
	struct direct_named named;
	return direct_name(d, false, &named) && direct_add(d, from, DIRECT_GOOD, &named)
		       ? DIRECT_GOOD
		       : 0;
}

static unsigned direct_substituted(struct direct *d, const char *from)
{
	struct direct_named named;
	if (direct_peek2(d) == 't')
		return direct_named_type(d, from);
	unsigned flags = direct_substitution(d, false, &named);
	if (!flags || direct_peek(d) != 'I')
		return flags;
	if (!direct_is_scope(flags) || !direct_template_args(d, false) ||
	    !direct_add(d, from, DIRECT_GOOD, &named))
		return 0;
	return DIRECT_GOOD;
}

static unsigned direct_d_type(struct direct *d, const char *from)
{
	static const struct {
		char code;
		uint8_t text;
	} words[] = {
		{'a', ITANIUM_T_AUTO},   {'i', ITANIUM_T_CHAR32}, {'n', ITANIUM_T_NULLPTR},
		{'s', ITANIUM_T_CHAR16}, {'u', ITANIUM_T_CHAR8},
	};
	char c = direct_peek2(d);
	if (c == 'p')
		return direct_expansion(d, /* in_expression= */ false) &&
				       direct_add(d, from, DIRECT_GOOD | DIRECT_LISTED, NULL)
			       ? DIRECT_GOOD | DIRECT_LISTED
			       : 0;
	for (size_t i = 0; i < ux_countof(words); i++) {
		if (words[i].code != c)
			continue;
		d->pos += 2;
		direct_put_word(d, words[i].text);
		return DIRECT_GOOD;
	}
	return 0;
}

static unsigned direct_type_of(struct direct *d, char c)
{
	const char *from = d->t.pos;
	switch (c) {
	case 'r':
	case 'V':
	case 'K':
		return direct_qualified(d, from);
	case 'P':
		return direct_pointer(d, from);
	case 'R':
	case 'O':
		return direct_reference(d, from, /* is_rvalue= */ c == 'O');
	case 'F':
		return direct_function(d, from);
	case 'A':
		return direct_array(d, from);
	case 'T':
		return direct_parameter(d, from);
	case 'S':
		return direct_substituted(d, from);
	case 'D':
		return direct_d_type(d, from);
	case 'U':
		return direct_peek2(d) == 'l' || direct_peek2(d) == 't' ? direct_named_type(d, from)
									: 0;
	case 'N':
	case 'Z':
		return direct_named_type(d, from);
	default:
		return ux_is_digit(c) ? direct_named_type(d, from) : 0;
	}
}

unsigned direct_type(struct direct *d)
{
	char c = direct_peek(d);
	if (ux_is_lower(c) && itanium_builtins[c - 'a']) {
		d->pos++;
		direct_put_word(d, itanium_builtins[c - 'a'] - 1U);
		return DIRECT_GOOD;
	}
	if (!ux_name_text_enter(&d->t, DIRECT_DEPTH_MAX))
		return 0;
	unsigned marks = d->marks;
	d->marks = 0;
	unsigned flags = direct_type_of(d, c);
	d->marks |= marks;
	d->t.depth--;
	return flags;
}
