/* SPDX-License-Identifier: Apache-2.0 */
/* Productions of types, template arguments and substitutions. */
#include "itanium_tree.h"

const uint8_t itanium_builtins[26] = {
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
	if (itanium_eat(p, 'r'))
		flags |= ITANIUM_RESTRICT;
	if (itanium_eat(p, 'V'))
		flags |= ITANIUM_VOLATILE;
	if (itanium_eat(p, 'K'))
		flags |= ITANIUM_CONST;
	return flags;
}

/* Reads types up to a character that begins no type; "v" alone is the empty list. */
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
	} while (p->pos < p->end && !strchr("E._Q", *p->pos) &&
		 !((*p->pos == 'R' || *p->pos == 'O') && itanium_peek2(p) == 'E'));
	*ret_ok = true;
	return types.first;
}

static uint16_t itanium_function_type(struct itanium *p, uint8_t flags, uint16_t exceptions)
{
	bool ok = false;
	p->pos++;
	(void)itanium_eat(p, 'Y'); /* extern "C": no text */
	uint16_t returned = itanium_type(p);
	uint16_t parameters = returned ? itanium_types_until(p, &ok) : 0;
	if (!ok)
		return 0;
	if (itanium_eat(p, 'R'))
		flags |= ITANIUM_FOR_LREF;
	else if (itanium_eat(p, 'O'))
		flags |= ITANIUM_FOR_RREF;
	uint16_t node = itanium_eat(p, 'E') ? itanium_node(p, ITANIUM_FUNCTION, returned,
							   parameters, exceptions)
					    : 0;
	p->nodes[node].flags = node ? flags : 0;
	return node;
}

static uint16_t itanium_thrown_types(struct itanium *p)
{
	struct itanium_list types = {0};
	while (!itanium_eat(p, 'E'))
		if (!itanium_append(p, &types, itanium_type(p)))
			return 0;
	return itanium_node(p, ITANIUM_THROWS, types.first, 0, 0);
}

/*
 * Reads the exception specification before a function type; *ret is 0 without one. False when no
 * function type follows.
 */
static bool itanium_exceptions(struct itanium *p, uint16_t *ret)
{
	*ret = 0;
	for (bool any = true; any;) {
		if (itanium_eat2(p, "Do")) {
			*ret = itanium_node(p, ITANIUM_NOEXCEPT, 0, 0, 0);
		} else if (itanium_eat2(p, "DO")) {
			*ret = itanium_over(p, ITANIUM_NOEXCEPT, itanium_expression(p));
			if (!itanium_eat(p, 'E'))
				return false;
		} else if (itanium_eat2(p, "Dw")) {
			*ret = itanium_thrown_types(p);
		} else if (itanium_eat2(p, "Dx")) {
			*ret = itanium_text_node(p, ITANIUM_T_TRANSACTION_SAFE);
		} else {
			any = false;
		}
		if (any && !*ret)
			return false;
	}
	return itanium_peek(p) == 'F';
}

static uint16_t itanium_qualified_type(struct itanium *p)
{
	uint8_t flags = itanium_qualifiers(p);
	const char *from = p->pos;
	uint16_t throws = 0;
	bool of_function =
		itanium_peek(p) == 'F' ||
		(itanium_peek(p) == 'D' && strchr("oOwx", itanium_peek2(p)) && itanium_peek2(p));
	if (of_function)
		return itanium_exceptions(p, &throws) ? itanium_function_type(p, flags, throws) : 0;
	p->pos = from;
	uint16_t type = itanium_over(p, ITANIUM_QUALIFIER, itanium_type(p));
	p->nodes[type].flags = type ? flags : 0;
	return type;
}

static uint16_t itanium_vendor_qualified(struct itanium *p)
{
	p->pos++;
	uint16_t word = itanium_source_name(p);
	if (word && itanium_peek(p) == 'I')
		word = itanium_template_args(p, word, /* naming= */ false);
	uint16_t type = word ? itanium_type(p) : 0;
	return type ? itanium_node(p, ITANIUM_VENDOR, type, word, 0) : 0;
}

static uint16_t itanium_array_type(struct itanium *p)
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
	uint16_t type = itanium_eat(p, '_') ? itanium_type(p) : 0;
	return type ? itanium_node(p, ITANIUM_ARRAY, type, dimension, 0) : 0;
}

/* Digits as a node; 0 without any. */
static uint16_t itanium_digits(struct itanium *p)
{
	const char *from = p->pos;
	while (ux_is_digit(itanium_peek(p)))
		p->pos++;
	return p->pos > from ? itanium_node(p, ITANIUM_NAME, (uint16_t)(from - p->start),
					    (uint16_t)(p->pos - from), 0)
			     : 0;
}

/* Dv4_f, Dv4_p of pixels, Dv_ and an expression. */
static uint16_t itanium_vector_type(struct itanium *p)
{
	uint16_t dimension = itanium_eat(p, '_') ? itanium_expression(p) : itanium_digits(p);
	if (!dimension || !itanium_eat(p, '_'))
		return 0;
	if (itanium_eat(p, 'p'))
		return itanium_phrase(p, ITANIUM_P_PIXEL_VECTOR, dimension, 0);
	uint16_t type = itanium_type(p);
	return type ? itanium_node(p, ITANIUM_VECTOR, type, dimension, 0) : 0;
}

/* DF16_, DF32x, DF16b */
static uint16_t itanium_float_type(struct itanium *p)
{
	const char *from = p->pos;
	if (!itanium_digits(p))
		return 0;
	if (itanium_eat(p, 'b'))
		return itanium_text_node(p, ITANIUM_T_BFLOAT16);
	size_t n = (size_t)(p->pos - from) + (itanium_peek(p) == 'x');
	uint16_t size = itanium_node(p, ITANIUM_NAME, (uint16_t)(from - p->start), (uint16_t)n, 0);
	if (!size || (!itanium_eat(p, '_') && !itanium_eat(p, 'x')))
		return 0;
	return itanium_phrase(p, ITANIUM_P_FLOAT_N, size, 0);
}

/* DB8_, DU and an expression */
static uint16_t itanium_bitint_type(struct itanium *p, enum itanium_phrase_of phrase)
{
	uint16_t size = ux_is_digit(itanium_peek(p)) ? itanium_digits(p) : itanium_expression(p);
	return size && itanium_eat(p, '_') ? itanium_phrase(p, phrase, size, 0) : 0;
}

static uint16_t itanium_constrained_type(struct itanium *p, enum itanium_phrase_of phrase)
{
	uint16_t concept = itanium_name(p, /* naming= */ false);
	return concept ? itanium_phrase(p, phrase, concept, 0) : 0;
}

static uint16_t itanium_member_type(struct itanium *p)
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
	return expression && itanium_eat(p, 'E')
		       ? itanium_node(p, ITANIUM_DECLTYPE, expression, 0, 0)
		       : 0;
}

/* Reads types that begin with D; the builtin ones are not candidates for substitution. */
static uint16_t itanium_d_type(struct itanium *p)
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
		return itanium_add_substitution(p, itanium_decltype(p));
	case 'p':
		p->pos += 2;
		return itanium_add_substitution(
			p, itanium_over(p, ITANIUM_EXPANSION, itanium_type(p)));
	case 'v':
		p->pos += 2;
		return itanium_add_substitution(p, itanium_vector_type(p));
	case 'F':
		p->pos += 2;
		return itanium_float_type(p);
	case 'B':
	case 'U':
		p->pos += 2;
		return itanium_bitint_type(p,
					   c == 'B' ? ITANIUM_P_BITINT : ITANIUM_P_UNSIGNED_BITINT);
	case 'k':
	case 'K':
		p->pos += 2;
		return itanium_add_substitution(
			p, itanium_constrained_type(p, c == 'k' ? ITANIUM_P_CONSTRAINED_AUTO
								: ITANIUM_P_CONSTRAINED_DECLTYPE));
	case 'o':
	case 'O':
	case 'w':
	case 'x':
		return itanium_exceptions(p, &throws)
			       ? itanium_add_substitution(p, itanium_function_type(p, 0, throws))
			       : 0;
	default:
		return 0;
	}
}

uint16_t itanium_template_param(struct itanium *p)
{
	uint16_t number = 0;
	const char *from = p->pos++;
	/* The level of the template: the outermost one, or a generic lambda's. */
	if (itanium_eat(p, 'L') && (!itanium_number(p, &number) || !itanium_eat(p, '_')))
		return 0;
	if (!itanium_sequence(p, 10, &number))
		return 0;
	if (p->in_lambda && number < p->n_heads)
		return p->heads[number];
	if (p->in_lambda)
		return itanium_node(p, ITANIUM_AUTO, 0, number, 0);
	if (p->first_arg + number < p->n_args)
		return itanium_node(p, ITANIUM_PARAMETER,
				    itanium_share(p, p->args[p->first_arg + number]), number, 0);
	if (p->in_constraint) /* T1, as LLVM writes it: the template is Ss, or a class around it */
		return itanium_node(p, ITANIUM_NAME, (uint16_t)(from - p->start),
				    (uint16_t)(p->pos - 1 - from), 0);
	if (!p->in_conversion || p->n_forward == ITANIUM_ARGS_MAX)
		return 0;
	uint16_t node = itanium_node(p, ITANIUM_PARAMETER, 0, number, 0);
	if (node)
		p->forward[p->n_forward++] = node;
	return node;
}

/* Reads T_, or an instance of a template template parameter. */
static uint16_t itanium_parameter_type(struct itanium *p)
{
	if (strchr("sue", itanium_peek2(p)) && itanium_peek2(p)) { /* struct, union, enum */
		p->pos += 2;
		return itanium_add_substitution(p, itanium_name(p, false));
	}
	uint16_t node = itanium_add_substitution(p, itanium_template_param(p));
	if (node && itanium_peek(p) == 'I' && !p->in_conversion)
		node = itanium_add_substitution(p, itanium_template_args(p, node, false));
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

static uint16_t itanium_rebind(struct itanium *p, uint16_t node);

/* Calls itanium_rebind() for a child; false when it fails. */
static bool itanium_rebind_child(struct itanium *p, uint16_t *child, bool *changed)
{
	uint16_t made = *child ? itanium_rebind(p, *child) : 0;
	if (*child && !made)
		return false;
	*changed |= made != *child;
	*child = made;
	return true;
}

/*
 * Converts a node that was read inside of another encoding or of a lambda. A substitution repeats
 * the characters of the name, so a T_ in it has the meaning of the place where the substitution is
 * used. A tree without T_ is returned unchanged.
 */
static uint16_t itanium_rebind(struct itanium *p, uint16_t node)
{
	struct itanium_node n = p->nodes[node];
	bool is_head = n.kind == ITANIUM_HEAD_NAME;
	bool is_parameter = n.kind == ITANIUM_PARAMETER || n.kind == ITANIUM_AUTO || is_head;
	unsigned number = is_head ? n.c : n.b;
	if (is_head && p->in_lambda)
		return node;
	if (is_parameter && p->in_lambda)
		return itanium_node(p, ITANIUM_AUTO, 0, n.b, 0);
	if (is_parameter && p->first_arg + number < p->n_args)
		return itanium_node(p, ITANIUM_PARAMETER,
				    itanium_share(p, p->args[p->first_arg + number]),
				    (uint16_t)number, 0);
	if (is_parameter || n.kind == ITANIUM_ENCODING || n.kind == ITANIUM_LAMBDA)
		return node;
	uint8_t children = itanium_children[n.kind];
	bool changed = false, ok = itanium_enter(p);
	if (ok && children & ITANIUM_A)
		ok = itanium_rebind_child(p, &n.a, &changed);
	if (ok && children & ITANIUM_B)
		ok = itanium_rebind_child(p, &n.b, &changed);
	if (ok && children & ITANIUM_C)
		ok = itanium_rebind_child(p, &n.c, &changed);
	uint16_t made = ok ? node : 0;
	if (ok && changed) {
		made = itanium_node(p, (enum itanium_kind)n.kind, n.a, n.b, n.c);
		p->nodes[made].flags = made ? n.flags & (uint8_t)~ITANIUM_SHARED : 0;
	}
	return itanium_leave(p, made);
}

/*
 * in_prefix: before a constructor or destructor, the standard's abbreviations are written in full.
 */
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
		while (node && itanium_eat(p, 'B')) {
			uint16_t tag = itanium_source_name(p);
			node = tag ? itanium_add_substitution(
					     p, itanium_node(p, ITANIUM_TAGGED, node, tag, 0))
				   : 0;
		}
		return node;
	}
	if (!itanium_sequence(p, 36, &number) || number >= p->n_subs)
		return 0;
	if (p->sub_contexts[number] == itanium_here(p))
		return itanium_share(p, p->subs[number]);
	return itanium_rebind(p, p->subs[number]);
}

static uint16_t itanium_substituted_type(struct itanium *p)
{
	if (itanium_peek2(p) == 't')
		return itanium_add_substitution(p, itanium_name(p, false));
	uint16_t node = itanium_substitution(p, false);
	if (p->nodes[node].kind == ITANIUM_MODULE) {
		p->module = node;
		node = itanium_unqualified_name(p, 0);
		node = node ? itanium_add_substitution(p, node) : 0;
	}
	if (node && itanium_peek(p) == 'I')
		node = itanium_add_substitution(p, itanium_template_args(p, node, false));
	return node;
}

static uint16_t itanium_wrapped_type(struct itanium *p, enum itanium_kind kind,
				     enum itanium_text text)
{
	p->pos++;
	uint16_t type = itanium_type(p);
	return type ? itanium_add_substitution(p, itanium_node(p, kind, type, (uint16_t)text, 0))
		    : 0;
}

static uint16_t itanium_vendor_type(struct itanium *p)
{
	p->pos++;
	uint16_t name = itanium_source_name(p);
	if (name && itanium_peek(p) == 'I')
		name = itanium_template_args(p, name, false);
	return itanium_add_substitution(p, name);
}

static uint16_t itanium_type_of(struct itanium *p, char c)
{
	switch (c) {
	case 'r':
	case 'V':
	case 'K':
		return itanium_add_substitution(p, itanium_qualified_type(p));
	case 'U':
		return itanium_peek2(p) == 'l' || itanium_peek2(p) == 't'
			       ? itanium_add_substitution(p, itanium_name(p, false))
			       : itanium_add_substitution(p, itanium_vendor_qualified(p));
	case 'P':
		return itanium_wrapped_type(p, ITANIUM_POINTER, ITANIUM_T_STD);
	case 'R':
		return itanium_wrapped_type(p, ITANIUM_LREF, ITANIUM_T_STD);
	case 'O':
		return itanium_wrapped_type(p, ITANIUM_RREF, ITANIUM_T_STD);
	case 'C':
		return itanium_wrapped_type(p, ITANIUM_POSTFIX, ITANIUM_T_COMPLEX);
	case 'G':
		return itanium_wrapped_type(p, ITANIUM_POSTFIX, ITANIUM_T_IMAGINARY);
	case 'F':
		return itanium_add_substitution(p, itanium_function_type(p, 0, 0));
	case 'A':
		return itanium_add_substitution(p, itanium_array_type(p));
	case 'M':
		return itanium_add_substitution(p, itanium_member_type(p));
	case 'T':
		return itanium_parameter_type(p);
	case 'D':
		return itanium_d_type(p);
	case 'S':
		return itanium_substituted_type(p);
	case 'u':
		return itanium_vendor_type(p);
	default:
		return itanium_add_substitution(p, itanium_name(p, false));
	}
}

uint16_t itanium_type(struct itanium *p)
{
	char c = itanium_peek(p);
	if (c >= 'a' && c <= 'z' && itanium_builtins[c - 'a']) {
		p->pos++;
		return itanium_text_node(p, (enum itanium_text)(itanium_builtins[c - 'a'] - 1));
	}
	if (!itanium_enter(p))
		return itanium_leave(p, 0);
	return itanium_leave(p, itanium_type_of(p, c));
}

static uint16_t itanium_argument_pack(struct itanium *p)
{
	struct itanium_list items = {0};
	p->pos++;
	while (!itanium_eat(p, 'E'))
		if (!itanium_append(p, &items, itanium_template_arg(p)))
			return 0;
	return itanium_node(p, ITANIUM_PACK, items.first, 0, 0);
}

bool itanium_constraint(struct itanium *p, uint16_t *ret)
{
	bool outer = p->in_constraint;
	if (!itanium_eat(p, 'Q'))
		return true;
	p->in_constraint = true;
	*ret = itanium_expression(p);
	p->in_constraint = outer;
	return *ret != 0;
}

/* Makes a new name for a template parameter of a lambda; 0: too many. */
static uint16_t itanium_head_name(struct itanium *p, enum itanium_head kind)
{
	uint16_t number = 0;
	for (unsigned i = 0; i < p->n_heads; i++)
		number = (uint16_t)(number + (p->nodes[p->heads[i]].a == (uint16_t)kind));
	if (p->n_heads == ITANIUM_HEADS_MAX)
		return 0;
	uint16_t node =
		itanium_node(p, ITANIUM_HEAD_NAME, (uint16_t)kind, number, (uint16_t)p->n_heads);
	p->heads[p->n_heads++] = node;
	return node;
}

/* Reads Tt: a template template parameter. Its own parameters get new names, up to E. */
static uint16_t itanium_template_head(struct itanium *p)
{
	uint16_t outer[ITANIUM_HEADS_MAX], heads = 0, constraint = 0;
	unsigned n_heads = p->n_heads;
	memcpy(outer, p->heads, n_heads * sizeof(*outer));
	p->n_heads = 0;
	bool ok = itanium_heads(p, &heads) && itanium_constraint(p, &constraint) &&
		  itanium_eat(p, 'E');
	memcpy(p->heads, outer, n_heads * sizeof(*outer));
	p->n_heads = n_heads;
	uint16_t name = ok ? itanium_head_name(p, ITANIUM_HEAD_TEMPLATE) : 0;
	return name ? itanium_node(p, ITANIUM_HEAD, name, heads, 0) : 0;
}

/* Reads the declaration of a template parameter after its T. */
static uint16_t itanium_head(struct itanium *p)
{
	uint16_t of = 0, name = 0;
	switch (p->pos < p->end ? *p->pos++ : '\0') {
	case 'y':
		name = itanium_head_name(p, ITANIUM_HEAD_TYPE);
		break;
	case 'k':
		of = itanium_name(p, /* naming= */ false);
		name = of ? itanium_head_name(p, ITANIUM_HEAD_TYPE) : 0;
		break;
	case 'n':
		of = itanium_type(p);
		name = of ? itanium_head_name(p, ITANIUM_HEAD_VALUE) : 0;
		break;
	case 't':
		return itanium_template_head(p);
	case 'p': /* a pack of template parameters */
		name = itanium_peek(p) == 'T' && p->pos++ ? itanium_head(p) : 0;
		p->nodes[name].c = name != 0;
		return name;
	default:
		return 0;
	}
	return name ? itanium_node(p, ITANIUM_HEAD, name, of, 0) : 0;
}

static bool itanium_at_head(const struct itanium *p)
{
	return itanium_peek(p) == 'T' && itanium_peek2(p) && strchr("ykntp", itanium_peek2(p));
}

bool itanium_heads(struct itanium *p, uint16_t *ret)
{
	struct itanium_list heads = {0};
	bool ok = itanium_enter(p);
	while (ok && itanium_at_head(p)) {
		p->pos++;
		ok = itanium_append(p, &heads, itanium_head(p));
	}
	*ret = heads.first;
	return itanium_leave(p, ok);
}

/* Reads the declaration of a template parameter before an ambiguous argument; no text. */
static bool itanium_skip_head(struct itanium *p)
{
	bool in_lambda = p->in_lambda;
	unsigned n_heads = p->n_heads;
	if (!itanium_at_head(p))
		return true;
	p->in_lambda = true;
	p->n_heads = 0;
	p->pos++;
	bool ok = itanium_head(p) != 0;
	p->in_lambda = in_lambda;
	p->n_heads = n_heads;
	return ok;
}

static uint16_t itanium_template_arg_of(struct itanium *p)
{
	uint16_t node = 0;
	if (!itanium_skip_head(p))
		return 0;
	switch (itanium_peek(p)) {
	case 'X':
		p->pos++;
		node = itanium_expression(p);
		return node && itanium_eat(p, 'E') ? node : 0;
	case 'L':
		return itanium_literal(p);
	case 'J':
	case 'I': /* a pack as old GCC wrote it */
		return itanium_argument_pack(p);
	default:
		return itanium_type(p);
	}
}

uint16_t itanium_template_arg(struct itanium *p)
{
	if (!itanium_enter(p))
		return itanium_leave(p, 0);
	return itanium_leave(p, itanium_template_arg_of(p));
}

uint16_t itanium_template_args(struct itanium *p, uint16_t name, bool naming)
{
	struct itanium_list items = {0};
	uint16_t constraint = 0;
	bool in_conversion = p->in_conversion, in_lambda = p->in_lambda;
	p->in_conversion = p->in_conversion && !naming;
	p->pos++;
	if (naming)
		p->n_args = p->first_arg;
	while (!itanium_eat(p, 'E')) {
		if (itanium_peek(p) == 'Q') { /* the constraint, which is last and has no text */
			if (!itanium_constraint(p, &constraint))
				return 0;
			continue;
		}
		uint16_t item = itanium_template_arg(p);
		if (!itanium_append(p, &items, item))
			return 0;
		if (naming && p->n_args == ITANIUM_ARGS_MAX)
			return 0;
		if (naming)
			p->args[p->n_args++] = item;
	}
	p->in_conversion = in_conversion;
	p->in_lambda = in_lambda;
	return itanium_node(p, ITANIUM_TEMPLATE, name, items.first, 0);
}
