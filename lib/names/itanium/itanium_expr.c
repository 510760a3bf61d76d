/* SPDX-License-Identifier: Apache-2.0 */
/* The productions of expressions. */
#include "itanium_tree.h"

uint16_t itanium_phrase(struct itanium *p, enum itanium_phrase_of phrase, uint16_t b, uint16_t c)
{
	return itanium_node(p, ITANIUM_PHRASE, (uint16_t)phrase, b, c);
}

/* Makes a phrase with one operand; 0 when the operand is 0. */
static uint16_t itanium_phrase_over(struct itanium *p, enum itanium_phrase_of phrase, uint16_t b)
{
	return b ? itanium_phrase(p, phrase, b, 0) : 0;
}

/* Reads expressions up to E. */
static bool itanium_expressions(struct itanium *p, uint16_t *ret)
{
	struct itanium_list list = {0};
	while (!itanium_eat(p, 'E'))
		if (!itanium_append(p, &list, itanium_expression(p)))
			return false;
	*ret = list.first;
	return true;
}

static uint16_t itanium_call(struct itanium *p)
{
	uint16_t arguments = 0, function = itanium_expression(p);
	return function && itanium_expressions(p, &arguments)
		       ? itanium_node(p, ITANIUM_CALL, function, arguments, 0)
		       : 0;
}

static uint16_t itanium_list_cast(struct itanium *p, uint16_t type, enum itanium_kind kind)
{
	uint16_t items = 0;
	return itanium_expressions(p, &items) ? itanium_node(p, kind, type, items, 0) : 0;
}

static uint16_t itanium_braced(struct itanium *p)
{
	uint16_t type = itanium_type(p);
	return type ? itanium_list_cast(p, type, ITANIUM_BRACED) : 0;
}

static uint16_t itanium_cast(struct itanium *p)
{
	uint16_t type = itanium_type(p);
	if (type && itanium_eat(p, '_'))
		return itanium_list_cast(p, type, ITANIUM_LIST_CAST);
	if (!type)
		return 0;
	uint16_t expression = itanium_expression(p);
	return expression ? itanium_node(p, ITANIUM_CAST, type, expression, 0) : 0;
}

/* Reads a parameter of the enclosing function: fp_, fp0_, fpT, or fL0p_ for one further out. */
static uint16_t itanium_function_parameter(struct itanium *p)
{
	uint16_t number = 0;
	p->pos += 2;
	if (p->pos[-1] == 'L' && (!itanium_number(p, &number) || !itanium_eat(p, 'p')))
		return 0;
	if (itanium_eat(p, 'T'))
		return itanium_text_node(p, ITANIUM_T_THIS);
	(void)itanium_qualifiers(p);
	if (!itanium_sequence(p, 10, &number))
		return 0;
	return itanium_node(p, ITANIUM_FUNCTION_PARAMETER, 0, (uint16_t)(number + 1), 0);
}

/* Reads the class of a destructor, after dn. */
static uint16_t itanium_destructor_name(struct itanium *p)
{
	uint16_t name = ux_is_digit(itanium_peek(p)) ? itanium_simple_name(p) : itanium_type(p);
	return itanium_over(p, ITANIUM_DTOR, name);
}

/* <base-unresolved-name>: a name, an operator or a destructor, with template arguments. */
uint16_t itanium_simple_name(struct itanium *p)
{
	uint16_t name = 0;
	if (itanium_eat2(p, "dn"))
		return itanium_destructor_name(p);
	if (itanium_eat2(p, "on"))
		name = itanium_operator_name(p);
	else if (itanium_peek(p) == 'o')
		name = itanium_operator_name(p);
	else if (ux_is_digit(itanium_peek(p)))
		name = itanium_source_name(p);
	if (name && itanium_peek(p) == 'I')
		name = itanium_template_args(p, name, /* naming= */ false);
	return name;
}

/* Reads names up to E; none of them is a candidate for substitution. */
static uint16_t itanium_scope_levels(struct itanium *p)
{
	uint16_t scope = 0;
	do {
		uint16_t name = itanium_simple_name(p);
		if (!name)
			return 0;
		scope = scope ? itanium_node(p, ITANIUM_QUALIFIED, scope, name, 0) : name;
	} while (scope && !itanium_eat(p, 'E'));
	return scope;
}

/*
 * Reads <unresolved-name> after sr: a scope and a name in it. A scope that begins with N is parsed
 * as a type, because GCC writes one, although the ABI has a similar production of its own. A scope
 * that begins with a digit is a list of names up to E, or with older GCC a type without that E.
 */
static uint16_t itanium_scoped_name(struct itanium *p)
{
	const char *from = p->pos;
	unsigned n_nodes = p->n_nodes, n_subs = p->n_subs, n_forward = p->n_forward;
	bool levels = ux_is_digit(itanium_peek(p));
	uint16_t scope = levels ? itanium_scope_levels(p) : itanium_type(p);
	uint16_t name = scope ? itanium_simple_name(p) : 0;
	if (levels && !name && !p->text->failed) {
		p->pos = from;
		p->n_nodes = n_nodes;
		p->n_subs = n_subs;
		p->n_forward = n_forward;
		scope = itanium_type(p);
		name = scope ? itanium_simple_name(p) : 0;
	}
	return name ? itanium_node(p, ITANIUM_SCOPED, scope, name, 0) : 0;
}

static uint16_t itanium_sizeof(struct itanium *p, enum itanium_text text, uint16_t operand)
{
	return operand ? itanium_node(p, ITANIUM_SIZEOF, (uint16_t)text, operand, 0) : 0;
}

static uint16_t itanium_pack_size(struct itanium *p)
{
	if (itanium_peek(p) == 'T')
		return itanium_sizeof(p, ITANIUM_T_SIZEOF_PACK, itanium_template_param(p));
	if (itanium_peek(p) == 'f' && (itanium_peek2(p) == 'p' || itanium_peek2(p) == 'L'))
		return itanium_phrase_over(p, ITANIUM_P_SIZEOF_PACK, itanium_function_parameter(p));
	return 0;
}

static uint16_t itanium_operation(struct itanium *p)
{
	int number = itanium_operator_read(p);
	if (number < 0 || itanium_operators[number].arity == 0)
		return 0;
	uint16_t left = itanium_expression(p);
	if (!left || itanium_operators[number].arity == 1)
		return left ? itanium_node(p, ITANIUM_UNARY, (uint16_t)number, left, 0) : 0;
	bool member = itanium_operators[number].text[0] == '.' ||
		      strcmp(itanium_operators[number].text, "->") == 0;
	bool named =
		ux_is_digit(itanium_peek(p)) || (itanium_peek(p) == 'd' && itanium_peek2(p) == 'n');
	uint16_t right = member && named ? itanium_simple_name(p) : itanium_expression(p);
	return right ? itanium_node(p, ITANIUM_BINARY, (uint16_t)number, left, right) : 0;
}

/* Reads a new-expression after nw or na: placement arguments, '_', the type, the initializer. */
static uint16_t itanium_new(struct itanium *p)
{
	struct itanium_list at = {0};
	uint16_t items = 0;
	while (!itanium_eat(p, '_'))
		if (!itanium_append(p, &at, itanium_expression(p)))
			return 0;
	uint16_t made = itanium_type(p);
	if (made && itanium_eat2(p, "pi")) {
		if (!itanium_expressions(p, &items))
			return 0;
		made = itanium_phrase(p, ITANIUM_P_NEW_WITH, made, items);
	} else if (made && itanium_eat2(p, "il")) {
		made = itanium_list_cast(p, made, ITANIUM_BRACED);
	} else if (made && !itanium_eat(p, 'E')) {
		return 0;
	}
	if (!made)
		return 0;
	return at.first ? itanium_phrase(p, ITANIUM_P_NEW_AT, at.first, made)
			: itanium_phrase(p, ITANIUM_P_NEW, made, 0);
}

/* Reads a fold expression after f: l and r are unary, L and R binary. */
static uint16_t itanium_fold(struct itanium *p, char form)
{
	int number = itanium_operator_read(p);
	uint16_t left = 0, right = 0;
	if (number < 0)
		return 0;
	if (form != 'l' && !(left = itanium_expression(p)))
		return 0;
	if (form != 'r' && !(right = itanium_expression(p)))
		return 0;
	return itanium_node(p, ITANIUM_FOLD, (uint16_t)number, left, right);
}

static uint16_t itanium_conditional(struct itanium *p)
{
	uint16_t condition = itanium_expression(p);
	uint16_t yes = condition ? itanium_expression(p) : 0;
	uint16_t no = yes ? itanium_expression(p) : 0;
	uint16_t both = no ? itanium_phrase(p, ITANIUM_P_ALTERNATIVES, yes, no) : 0;
	return both ? itanium_phrase(p, ITANIUM_P_CONDITIONAL, condition, both) : 0;
}

/* Reads a designated range after dX: its bounds and the initializer. */
static uint16_t itanium_range_designator(struct itanium *p)
{
	uint16_t first = itanium_expression(p);
	uint16_t last = first ? itanium_expression(p) : 0;
	uint16_t range = last ? itanium_phrase(p, ITANIUM_P_RANGE, first, last) : 0;
	uint16_t value = range ? itanium_expression(p) : 0;
	return value ? itanium_phrase(p, ITANIUM_P_AT_INDEX, range, value) : 0;
}

/* Reads a subobject after so: its type, the object, the offset in it. */
static uint16_t itanium_subobject(struct itanium *p)
{
	uint16_t type = itanium_type(p);
	uint16_t object = type ? itanium_expression(p) : 0;
	const char *from = p->pos;
	(void)itanium_eat(p, 'n');
	while (ux_is_digit(itanium_peek(p)))
		p->pos++;
	uint16_t offset = itanium_node(p, ITANIUM_NAME, (uint16_t)(from - p->start),
				       (uint16_t)(p->pos - from), 0);
	if (p->pos == from)
		offset = itanium_text_node(p, ITANIUM_T_ZERO);
	while (itanium_eat(p, '_')) /* which member of a union */
		while (ux_is_digit(itanium_peek(p)))
			p->pos++;
	(void)itanium_eat(p, 'p'); /* one past its end */
	if (!object || !offset || !itanium_eat(p, 'E'))
		return 0;
	uint16_t where = itanium_phrase(p, ITANIUM_P_AT_OFFSET, type, offset);
	return where ? itanium_phrase(p, ITANIUM_P_SUBOBJECT, object, where) : 0;
}

/* Template arguments up to E. */
static bool itanium_arguments(struct itanium *p, uint16_t *ret)
{
	struct itanium_list list = {0};
	while (!itanium_eat(p, 'E'))
		if (!itanium_append(p, &list, itanium_template_arg(p)))
			return false;
	*ret = list.first;
	return true;
}

static uint16_t itanium_captured_size(struct itanium *p)
{
	uint16_t arguments = 0;
	return itanium_arguments(p, &arguments)
		       ? itanium_phrase(p, ITANIUM_P_SIZEOF_ALL, arguments, 0)
		       : 0;
}

/* Reads a vendor's extension, written like a call. */
static uint16_t itanium_vendor_expression(struct itanium *p)
{
	uint16_t arguments = 0, name = itanium_source_name(p);
	return name && itanium_arguments(p, &arguments)
		       ? itanium_phrase(p, ITANIUM_P_CALL, name, arguments)
		       : 0;
}

/*
 * Reads a requirement of a requires expression: an expression (which may be noexcept and have a
 * type constraint), a type, or a nested clause.
 */
static uint16_t itanium_requirement(struct itanium *p)
{
	if (itanium_eat(p, 'T'))
		return itanium_phrase_over(p, ITANIUM_P_REQUIRE_TYPE, itanium_type(p));
	if (itanium_eat(p, 'Q'))
		return itanium_phrase_over(p, ITANIUM_P_REQUIRE_NESTED, itanium_expression(p));
	uint16_t expression = itanium_eat(p, 'X') ? itanium_expression(p) : 0;
	if (!expression)
		return 0;
	bool no_throw = itanium_eat(p, 'N');
	if (!itanium_eat(p, 'R'))
		return itanium_phrase(p, no_throw ? ITANIUM_P_REQUIRE_NOEXCEPT : ITANIUM_P_REQUIRE,
				      expression, 0);
	uint16_t concept = itanium_name(p, /* naming= */ false);
	return concept ? itanium_phrase(
				 p, no_throw ? ITANIUM_P_REQUIRE_NOEXCEPT_OF : ITANIUM_P_REQUIRE_OF,
				 expression, concept)
		       : 0;
}

static uint16_t itanium_requires(struct itanium *p, bool with_parameters)
{
	struct itanium_list requirements = {0};
	uint16_t parameters = 0;
	bool ok = true;
	if (with_parameters && !itanium_eat(p, '_')) {
		parameters = itanium_types_until(p, &ok);
		ok = ok && itanium_eat(p, '_');
	}
	while (ok && !itanium_eat(p, 'E'))
		ok = itanium_append(p, &requirements, itanium_requirement(p));
	if (!ok)
		return 0;
	return parameters ? itanium_phrase(p, ITANIUM_P_REQUIRES_OF, parameters, requirements.first)
			  : itanium_phrase(p, ITANIUM_P_REQUIRES, requirements.first, 0);
}

/* Expressions with a fixed text; operands: e is an expression, t a type, n a name. */
static const struct {
	char code[2];
	char operands[2];
	uint8_t phrase;
} itanium_phrase_codes[] = {
	{"aw", "e", ITANIUM_P_AWAIT},        {"cc", "te", ITANIUM_P_CONST_CAST},
	{"da", "e", ITANIUM_P_DELETE_ARRAY}, {"dc", "te", ITANIUM_P_DYNAMIC_CAST},
	{"di", "ne", ITANIUM_P_AT_MEMBER},   {"dl", "e", ITANIUM_P_DELETE},
	{"dx", "ee", ITANIUM_P_AT_INDEX},    {"ix", "ee", ITANIUM_P_SUBSCRIPT},
	{"nx", "e", ITANIUM_P_NOEXCEPT},     {"rc", "te", ITANIUM_P_REINTERPRET_CAST},
	{"sc", "te", ITANIUM_P_STATIC_CAST}, {"te", "e", ITANIUM_P_TYPEID},
	{"ti", "t", ITANIUM_P_TYPEID},       {"tw", "e", ITANIUM_P_THROW},
};

static uint16_t itanium_phrase_operand(struct itanium *p, char form)
{
	return form == 't'   ? itanium_type(p)
	       : form == 'n' ? itanium_source_name(p)
			     : itanium_expression(p);
}

/* Reads an expression of the table; *ret_matched is false when the table does not contain it. */
static uint16_t itanium_coded_phrase(struct itanium *p, bool *ret_matched)
{
	for (size_t i = 0; i < ux_countof(itanium_phrase_codes); i++) {
		if (!itanium_eat2(p, itanium_phrase_codes[i].code))
			continue;
		*ret_matched = true;
		char second = itanium_phrase_codes[i].operands[1];
		uint16_t b = itanium_phrase_operand(p, itanium_phrase_codes[i].operands[0]);
		uint16_t c = b && second ? itanium_phrase_operand(p, second) : 0;
		return b && (c || !second)
			       ? itanium_phrase(
					 p, (enum itanium_phrase_of)itanium_phrase_codes[i].phrase,
					 b, c)
			       : 0;
	}
	*ret_matched = false;
	return 0;
}

/* Reads ++ and -- after pp and mm: '_' marks the prefix form. */
static uint16_t itanium_step(struct itanium *p, enum itanium_phrase_of before,
			     enum itanium_phrase_of behind)
{
	bool is_before = itanium_eat(p, '_');
	return itanium_phrase_over(p, is_before ? before : behind, itanium_expression(p));
}

/* Reads expressions that are rare in linkage names. */
static uint16_t itanium_rare_expression(struct itanium *p)
{
	bool matched = false;
	uint16_t node = itanium_coded_phrase(p, &matched);
	if (matched)
		return node;
	if (itanium_eat2(p, "gs"))
		return itanium_phrase_over(p, ITANIUM_P_GLOBAL, itanium_expression(p));
	if (itanium_eat2(p, "nw") || itanium_eat2(p, "na"))
		return itanium_new(p);
	if (itanium_eat2(p, "pp"))
		return itanium_step(p, ITANIUM_P_PRE_PLUS, ITANIUM_P_POST_PLUS);
	if (itanium_eat2(p, "mm"))
		return itanium_step(p, ITANIUM_P_PRE_MINUS, ITANIUM_P_POST_MINUS);
	if (itanium_eat2(p, "qu"))
		return itanium_conditional(p);
	if (itanium_eat2(p, "dX"))
		return itanium_range_designator(p);
	if (itanium_eat2(p, "so"))
		return itanium_subobject(p);
	if (itanium_eat2(p, "sP"))
		return itanium_captured_size(p);
	if (itanium_eat2(p, "tr"))
		return itanium_text_node(p, ITANIUM_T_THROW);
	if (itanium_eat2(p, "rq"))
		return itanium_requires(p, /* with_parameters= */ false);
	if (itanium_eat2(p, "rQ"))
		return itanium_requires(p, /* with_parameters= */ true);
	if (itanium_peek(p) == 'f' && itanium_peek2(p) && strchr("lrLR", itanium_peek2(p))) {
		p->pos += 2;
		return itanium_fold(p, p->pos[-1]);
	}
	return itanium_eat(p, 'u') ? itanium_vendor_expression(p) : itanium_operation(p);
}

static uint16_t itanium_expression_of(struct itanium *p)
{
	char c = itanium_peek(p), d = itanium_peek2(p);
	if (c == 'L')
		return itanium_literal(p);
	if (c == 'T')
		return itanium_template_param(p);
	if (c == 'f' && (d == 'p' || (d == 'L' && p->end - p->pos > 2 && ux_is_digit(p->pos[2]))))
		return itanium_function_parameter(p);
	if (ux_is_digit(c) || (c == 'o' && d == 'n') || (c == 'd' && d == 'n'))
		return itanium_simple_name(p);
	if (itanium_eat2(p, "cl") || itanium_eat2(p, "cp"))
		return itanium_call(p);
	if (itanium_eat2(p, "cv"))
		return itanium_cast(p);
	if (itanium_eat2(p, "il"))
		return itanium_list_cast(p, 0, ITANIUM_BRACED);
	if (itanium_eat2(p, "tl"))
		return itanium_braced(p);
	if (itanium_eat2(p, "sr"))
		return itanium_scoped_name(p);
	if (itanium_eat2(p, "st"))
		return itanium_sizeof(p, ITANIUM_T_SIZEOF, itanium_type(p));
	if (itanium_eat2(p, "sz"))
		return itanium_sizeof(p, ITANIUM_T_SIZEOF, itanium_expression(p));
	if (itanium_eat2(p, "at"))
		return itanium_sizeof(p, ITANIUM_T_ALIGNOF, itanium_type(p));
	if (itanium_eat2(p, "az"))
		return itanium_sizeof(p, ITANIUM_T_ALIGNOF, itanium_expression(p));
	if (itanium_eat2(p, "sZ"))
		return itanium_pack_size(p);
	if (itanium_eat2(p, "sp"))
		return itanium_over(p, ITANIUM_EXPANSION, itanium_expression(p));
	return itanium_rare_expression(p);
}

uint16_t itanium_expression(struct itanium *p)
{
	if (!itanium_enter(p))
		return itanium_leave(p, 0);
	return itanium_leave(p, itanium_expression_of(p));
}

/* L_Z...E and LZ...E: an entity by its own linkage name. */
static uint16_t itanium_external_name(struct itanium *p)
{
	uint16_t node = itanium_encoding(p);
	return node && itanium_eat(p, 'E') ? node : 0;
}

uint16_t itanium_literal(struct itanium *p)
{
	p->pos++;
	if (!itanium_enter(p))
		return itanium_leave(p, 0);
	if (itanium_eat2(p, "_Z") || itanium_eat(p, 'Z'))
		return itanium_leave(p, itanium_external_name(p));
	uint16_t type = itanium_type(p);
	const char *from = p->pos;
	while (type && p->pos < p->end && *p->pos != 'E')
		p->pos++;
	size_t size = (size_t)(p->pos - from);
	if (!type || !itanium_eat(p, 'E'))
		return itanium_leave(p, 0);
	/* Strings, lambdas and nullptr have no value in the name. */
	uint8_t kind = p->nodes[type].kind;
	if (size == 0 && kind == ITANIUM_ARRAY)
		return itanium_leave(p, itanium_phrase(p, ITANIUM_P_STRING, type, 0));
	bool no_value = kind == ITANIUM_LAMBDA || kind == ITANIUM_LOCAL ||
			(kind == ITANIUM_TEXT && p->nodes[type].a == ITANIUM_T_NULLPTR);
	if (size == 0 && !no_value)
		return itanium_leave(p, 0);
	return itanium_leave(p, itanium_node(p, ITANIUM_LITERAL, type, (uint16_t)(from - p->start),
					     (uint16_t)size));
}
