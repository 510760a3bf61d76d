/* SPDX-License-Identifier: Apache-2.0 */
/* Productions of types, template arguments and substitutions. */
#include "itanium_tree.h"

/* By the letter: number of a text + 1, 0 for none. */
static const uint8_t builtins[26] = {
	['a' - 'a'] = ITANIUM_T_SCHAR + 1,    ['b' - 'a'] = ITANIUM_T_BOOL + 1,
	['c' - 'a'] = ITANIUM_T_CHAR + 1,     ['d' - 'a'] = ITANIUM_T_DOUBLE + 1,
	['e' - 'a'] = ITANIUM_T_LDOUBLE + 1,  ['f' - 'a'] = ITANIUM_T_FLOAT + 1,
	['g' - 'a'] = ITANIUM_T_FLOAT128 + 1, ['h' - 'a'] = ITANIUM_T_UCHAR + 1,
	['i' - 'a'] = ITANIUM_T_INT + 1,      ['j' - 'a'] = ITANIUM_T_UINT + 1,
	['l' - 'a'] = ITANIUM_T_LONG + 1,     ['m' - 'a'] = ITANIUM_T_ULONG + 1,
	['n' - 'a'] = ITANIUM_T_INT128 + 1,   ['o' - 'a'] = ITANIUM_T_UINT128 + 1,
	['s' - 'a'] = ITANIUM_T_SHORT + 1,    ['t' - 'a'] = ITANIUM_T_USHORT + 1,
	['v' - 'a'] = ITANIUM_T_VOID + 1,     ['w' - 'a'] = ITANIUM_T_WCHAR + 1,
	['x' - 'a'] = ITANIUM_T_LLONG + 1,    ['y' - 'a'] = ITANIUM_T_ULLONG + 1,
	['z' - 'a'] = ITANIUM_T_ELLIPSIS + 1,
};

uint8_t itanium_qualifiers(struct itanium *p)
{
	uint8_t flags = 0;
	if (itanium_take(p, 'r'))
		flags |= ITANIUM_RESTRICT;
	if (itanium_take(p, 'V'))
		flags |= ITANIUM_VOLATILE;
	if (itanium_take(p, 'K'))
		flags |= ITANIUM_CONST;
	return flags;
}

/* Types up to what can begin none; "v" alone is the empty list. */
uint16_t itanium_types_until(struct itanium *p, bool *ret_ok)
{
	struct itanium_list types = {0};
	*ret_ok = false;
	if (itanium_peek(p) == 'v') {
		p->pos++;
		*ret_ok = true;
		return 0;
	}
	do {
		if (!itanium_append(p, &types, itanium_type(p)))
			return 0;
	} while (p->pos < p->end && !strchr("E.", *p->pos) &&
		 !((*p->pos == 'R' || *p->pos == 'O') && itanium_peek2(p) == 'E'));
	*ret_ok = true;
	return types.first;
}

static uint16_t function_type(struct itanium *p, uint8_t flags, uint16_t exceptions)
{
	bool ok = false;
	p->pos++;
	(void)itanium_take(p, 'Y'); /* extern "C": no text */
	uint16_t returned = itanium_type(p);
	uint16_t parameters = returned ? itanium_types_until(p, &ok) : 0;
	if (!ok)
		return 0;
	if (itanium_take(p, 'R'))
		flags |= ITANIUM_FOR_LREF;
	else if (itanium_take(p, 'O'))
		flags |= ITANIUM_FOR_RREF;
	uint16_t node = itanium_take(p, 'E') ? itanium_node(p, ITANIUM_FUNCTION, returned,
							    parameters, exceptions)
					     : 0;
	p->nodes[node].flags = node ? flags : 0;
	return node;
}

/* noexcept and "transaction safe" in front of a function's type; false: no such type follows. */
static bool exceptions(struct itanium *p, uint16_t *ret)
{
	*ret = 0;
	if (itanium_take2(p, "Do"))
		*ret = itanium_node(p, ITANIUM_NOEXCEPT, 0, 0, 0);
	else if (itanium_take2(p, "DO"))
		*ret = itanium_over(p, ITANIUM_NOEXCEPT, itanium_expression(p));
	else
		return itanium_peek(p) == 'F';
	if (p->nodes[*ret].a && !itanium_take(p, 'E'))
		return false;
	return *ret && itanium_peek(p) == 'F';
}

static uint16_t qualified_type(struct itanium *p)
{
	uint8_t flags = itanium_qualifiers(p);
	const char *from = p->pos;
	uint16_t throws = 0;
	bool of_function =
		itanium_peek(p) == 'F' ||
		(itanium_peek(p) == 'D' && strchr("oO", itanium_peek2(p)) && itanium_peek2(p));
	if (of_function)
		return exceptions(p, &throws) ? function_type(p, flags, throws) : 0;
	p->pos = from;
	uint16_t type = itanium_over(p, ITANIUM_QUALIFIER, itanium_type(p));
	p->nodes[type].flags = type ? flags : 0;
	return type;
}

static uint16_t vendor_qualified(struct itanium *p)
{
	p->pos++;
	uint16_t word = itanium_source_name(p);
	if (word && itanium_peek(p) == 'I')
		word = itanium_template_args(p, word, /* naming= */ false);
	uint16_t type = word ? itanium_type(p) : 0;
	return type ? itanium_node(p, ITANIUM_VENDOR, type, word, 0) : 0;
}

static uint16_t array_type(struct itanium *p)
{
	uint16_t dimension = 0, size = 0;
	const char *from = ++p->pos;
	if (itanium_peek(p) >= '0' && itanium_peek(p) <= '9') {
		while (itanium_peek(p) >= '0' && itanium_peek(p) <= '9')
			p->pos++;
		size = (uint16_t)(p->pos - from);
		dimension = itanium_node(p, ITANIUM_NAME, (uint16_t)(from - p->start), size, 0);
	} else if (itanium_peek(p) != '_' && !(dimension = itanium_expression(p))) {
		return 0;
	}
	uint16_t type = itanium_take(p, '_') ? itanium_type(p) : 0;
	return type ? itanium_node(p, ITANIUM_ARRAY, type, dimension, 0) : 0;
}

static uint16_t vector_type(struct itanium *p)
{
	const char *from = p->pos;
	while (itanium_peek(p) >= '0' && itanium_peek(p) <= '9')
		p->pos++;
	uint16_t dimension = p->pos > from
				     ? itanium_node(p, ITANIUM_NAME, (uint16_t)(from - p->start),
						    (uint16_t)(p->pos - from), 0)
				     : 0;
	uint16_t type = dimension && itanium_take(p, '_') ? itanium_type(p) : 0;
	return type ? itanium_node(p, ITANIUM_VECTOR, type, dimension, 0) : 0;
}

static uint16_t member_type(struct itanium *p)
{
	p->pos++;
	uint16_t class = itanium_type(p);
	uint16_t type = class ? itanium_type(p) : 0;
	return type ? itanium_node(p, ITANIUM_MEMBER, class, type, 0) : 0;
}

uint16_t itanium_decltype(struct itanium *p)
{
	p->pos += 2;
	uint16_t expression = itanium_expression(p);
	return expression && itanium_take(p, 'E')
		       ? itanium_node(p, ITANIUM_DECLTYPE, expression, 0, 0)
		       : 0;
}

/* Types of two letters that begin with D; those that have no text of their own are remembered. */
static uint16_t other_type(struct itanium *p)
{
	static const struct {
		char code;
		uint8_t text;
	} words[] = {
		{'a', ITANIUM_T_AUTO},      {'c', ITANIUM_T_DECLTYPE_AUTO},
		{'d', ITANIUM_T_DECIMAL64}, {'e', ITANIUM_T_DECIMAL128},
		{'f', ITANIUM_T_DECIMAL32}, {'h', ITANIUM_T_HALF},
		{'i', ITANIUM_T_CHAR32},    {'n', ITANIUM_T_NULLPTR},
		{'s', ITANIUM_T_CHAR16},    {'u', ITANIUM_T_CHAR8},
	};
	char c = itanium_peek2(p);
	uint16_t throws = 0;
	for (size_t i = 0; i < ux_countof(words); i++) {
		if (words[i].code != c)
			continue;
		p->pos += 2;
		return itanium_text_node(p, (enum itanium_text)words[i].text);
	}
	switch (c) {
	case 't':
	case 'T':
		return itanium_remember(p, itanium_decltype(p));
	case 'p':
		p->pos += 2;
		return itanium_remember(p, itanium_over(p, ITANIUM_EXPANSION, itanium_type(p)));
	case 'v':
		p->pos += 2;
		return itanium_remember(p, vector_type(p));
	case 'o':
	case 'O':
		return exceptions(p, &throws) ? itanium_remember(p, function_type(p, 0, throws))
					      : 0;
	default:
		return 0;
	}
}

uint16_t itanium_template_param(struct itanium *p)
{
	uint16_t number = 0;
	p->pos++;
	if (!itanium_sequence(p, 10, &number))
		return 0;
	if (p->in_lambda)
		return itanium_node(p, ITANIUM_AUTO, 0, number, 0);
	if (p->first_arg + number < p->n_args)
		return itanium_node(p, ITANIUM_PARAMETER, p->args[p->first_arg + number], number,
				    0);
	if (!p->in_conversion || p->n_forward == ITANIUM_ARGS_MOST)
		return 0;
	uint16_t node = itanium_node(p, ITANIUM_PARAMETER, 0, number, 0);
	if (node)
		p->forward[p->n_forward++] = node;
	return node;
}

/* T_, or what a template template parameter makes. */
static uint16_t parameter_type(struct itanium *p)
{
	if (strchr("sue", itanium_peek2(p)) && itanium_peek2(p)) { /* struct, union, enum */
		p->pos += 2;
		return itanium_remember(p, itanium_name(p, false));
	}
	uint16_t node = itanium_remember(p, itanium_template_param(p));
	if (node && itanium_peek(p) == 'I' && !p->in_conversion)
		node = itanium_remember(p, itanium_template_args(p, node, false));
	return node;
}

static const struct {
	char code;
	uint8_t name;
	uint8_t full;
} standard[] = {
	{'a', ITANIUM_T_ALLOCATOR, ITANIUM_T_ALLOCATOR},
	{'b', ITANIUM_T_BASIC_STRING, ITANIUM_T_BASIC_STRING},
	{'d', ITANIUM_T_IOSTREAM, ITANIUM_T_LONG_IOSTREAM},
	{'i', ITANIUM_T_ISTREAM, ITANIUM_T_LONG_ISTREAM},
	{'o', ITANIUM_T_OSTREAM, ITANIUM_T_LONG_OSTREAM},
	{'s', ITANIUM_T_STRING, ITANIUM_T_LONG_STRING},
};

static uint16_t meant_here(struct itanium *p, uint16_t node);

/* The same for child; false when it fails. */
static bool child_meant_here(struct itanium *p, uint16_t *child, bool *changed)
{
	uint16_t made = *child ? meant_here(p, *child) : 0;
	if (*child && !made)
		return false;
	*changed |= made != *child;
	*child = made;
	return true;
}

/*
 * What node, read inside of another encoding or of a lambda, is here: a substitution stands for the
 * words, and T_ in them for what it means where they are used. A tree without T_ stays itself.
 */
static uint16_t meant_here(struct itanium *p, uint16_t node)
{
	struct itanium_node n = p->nodes[node];
	bool is_parameter = n.kind == ITANIUM_PARAMETER || n.kind == ITANIUM_AUTO;
	if (is_parameter && p->in_lambda)
		return itanium_node(p, ITANIUM_AUTO, 0, n.b, 0);
	if (is_parameter && p->first_arg + n.b < p->n_args)
		return itanium_node(p, ITANIUM_PARAMETER, p->args[p->first_arg + n.b], n.b, 0);
	if (is_parameter || n.kind == ITANIUM_ENCODING || n.kind == ITANIUM_LAMBDA)
		return node;
	uint8_t children = itanium_children[n.kind];
	bool changed = false, ok = itanium_enter(p) && p->steps++ < ITANIUM_STEPS_MOST;
	if (ok && children & ITANIUM_A)
		ok = child_meant_here(p, &n.a, &changed);
	if (ok && children & ITANIUM_B)
		ok = child_meant_here(p, &n.b, &changed);
	if (ok && children & ITANIUM_C)
		ok = child_meant_here(p, &n.c, &changed);
	uint16_t made = ok ? node : 0;
	if (ok && changed) {
		made = itanium_node(p, (enum itanium_kind)n.kind, n.a, n.b, n.c);
		p->nodes[made].flags = made ? n.flags : 0;
	}
	return itanium_leave(p, made);
}

/* in_prefix: before a constructor or destructor the standard's short names are spelled out. */
uint16_t itanium_substitution(struct itanium *p, bool in_prefix)
{
	uint16_t number = 0;
	p->pos++;
	char c = itanium_peek(p);
	for (size_t i = 0; i < ux_countof(standard); i++) {
		if (standard[i].code != c)
			continue;
		p->pos++;
		bool full = in_prefix && (itanium_peek(p) == 'C' || itanium_peek(p) == 'D');
		uint16_t std = itanium_text_node(p, ITANIUM_T_STD);
		uint16_t name = itanium_text_node(
			p, (enum itanium_text)(full ? standard[i].full : standard[i].name));
		uint16_t node = std && name ? itanium_node(p, ITANIUM_QUALIFIED, std, name, 0) : 0;
		while (node && itanium_take(p, 'B')) {
			uint16_t tag = itanium_source_name(p);
			node = tag ? itanium_remember(p,
						      itanium_node(p, ITANIUM_TAGGED, node, tag, 0))
				   : 0;
		}
		return node;
	}
	if (!itanium_sequence(p, 36, &number) || number >= p->n_subs)
		return 0;
	if (p->sub_contexts[number] == itanium_here(p))
		return p->subs[number];
	return meant_here(p, p->subs[number]);
}

static uint16_t substituted_type(struct itanium *p)
{
	if (itanium_peek2(p) == 't')
		return itanium_remember(p, itanium_name(p, false));
	uint16_t node = itanium_substitution(p, false);
	if (node && itanium_peek(p) == 'I')
		node = itanium_remember(p, itanium_template_args(p, node, false));
	return node;
}

static uint16_t wrapped_type(struct itanium *p, enum itanium_kind kind, enum itanium_text text)
{
	p->pos++;
	uint16_t type = itanium_type(p);
	return type ? itanium_remember(p, itanium_node(p, kind, type, (uint16_t)text, 0)) : 0;
}

static uint16_t vendor_type(struct itanium *p)
{
	p->pos++;
	uint16_t name = itanium_source_name(p);
	if (name && itanium_peek(p) == 'I')
		name = itanium_template_args(p, name, false);
	return itanium_remember(p, name);
}

static uint16_t type_of(struct itanium *p, char c)
{
	switch (c) {
	case 'r':
	case 'V':
	case 'K':
		return itanium_remember(p, qualified_type(p));
	case 'U':
		return itanium_peek2(p) == 'l' || itanium_peek2(p) == 't'
			       ? itanium_remember(p, itanium_name(p, false))
			       : itanium_remember(p, vendor_qualified(p));
	case 'P':
		return wrapped_type(p, ITANIUM_POINTER, ITANIUM_T_STD);
	case 'R':
		return wrapped_type(p, ITANIUM_LREF, ITANIUM_T_STD);
	case 'O':
		return wrapped_type(p, ITANIUM_RREF, ITANIUM_T_STD);
	case 'C':
		return wrapped_type(p, ITANIUM_POSTFIX, ITANIUM_T_COMPLEX);
	case 'G':
		return wrapped_type(p, ITANIUM_POSTFIX, ITANIUM_T_IMAGINARY);
	case 'F':
		return itanium_remember(p, function_type(p, 0, 0));
	case 'A':
		return itanium_remember(p, array_type(p));
	case 'M':
		return itanium_remember(p, member_type(p));
	case 'T':
		return parameter_type(p);
	case 'D':
		return other_type(p);
	case 'S':
		return substituted_type(p);
	case 'u':
		return vendor_type(p);
	default:
		return itanium_remember(p, itanium_name(p, false));
	}
}

uint16_t itanium_type(struct itanium *p)
{
	char c = itanium_peek(p);
	if (c >= 'a' && c <= 'z' && builtins[c - 'a']) {
		p->pos++;
		return itanium_text_node(p, (enum itanium_text)(builtins[c - 'a'] - 1));
	}
	if (!itanium_enter(p))
		return itanium_leave(p, 0);
	return itanium_leave(p, type_of(p, c));
}

static uint16_t template_arg(struct itanium *p);

static uint16_t argument_pack(struct itanium *p)
{
	struct itanium_list items = {0};
	p->pos++;
	while (!itanium_take(p, 'E'))
		if (!itanium_append(p, &items, template_arg(p)))
			return 0;
	return itanium_node(p, ITANIUM_PACK, items.first, 0, 0);
}

static uint16_t template_arg(struct itanium *p)
{
	uint16_t node = 0;
	/* What the parameter was declared as, where that is not evident: no text. */
	if (itanium_take2(p, "Tn") && !itanium_type(p))
		return 0;
	(void)itanium_take2(p, "Ty");
	switch (itanium_peek(p)) {
	case 'X':
		p->pos++;
		node = itanium_expression(p);
		return node && itanium_take(p, 'E') ? node : 0;
	case 'L':
		return itanium_literal(p);
	case 'J':
		if (!itanium_enter(p))
			return itanium_leave(p, 0);
		return itanium_leave(p, argument_pack(p));
	default:
		return itanium_type(p);
	}
}

uint16_t itanium_template_args(struct itanium *p, uint16_t name, bool naming)
{
	struct itanium_list items = {0};
	bool in_conversion = p->in_conversion, in_lambda = p->in_lambda;
	p->in_conversion = p->in_conversion && !naming;
	p->pos++;
	if (naming)
		p->n_args = p->first_arg;
	while (!itanium_take(p, 'E')) {
		uint16_t item = template_arg(p);
		if (!itanium_append(p, &items, item))
			return 0;
		if (naming && p->n_args == ITANIUM_ARGS_MOST)
			return 0;
		if (naming)
			p->args[p->n_args++] = item;
	}
	p->in_conversion = in_conversion;
	p->in_lambda = in_lambda;
	return itanium_node(p, ITANIUM_TEMPLATE, name, items.first, 0);
}
