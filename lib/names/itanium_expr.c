/* SPDX-License-Identifier: Apache-2.0 */
/* Productions of expressions: those that template arguments of real programs have. */
#include "itanium_tree.h"

static uint16_t call(struct itanium *p)
{
	struct itanium_list arguments = {0};
	uint16_t function = itanium_expression(p);
	while (function && !itanium_take(p, 'E'))
		if (!itanium_append(p, &arguments, itanium_expression(p)))
			return 0;
	return function ? itanium_node(p, ITANIUM_CALL, function, arguments.first, 0) : 0;
}

static uint16_t list_cast(struct itanium *p, uint16_t type, enum itanium_kind kind)
{
	struct itanium_list items = {0};
	while (!itanium_take(p, 'E'))
		if (!itanium_append(p, &items, itanium_expression(p)))
			return 0;
	return itanium_node(p, kind, type, items.first, 0);
}

static uint16_t braced(struct itanium *p)
{
	uint16_t type = itanium_type(p);
	return type ? list_cast(p, type, ITANIUM_BRACED) : 0;
}

static uint16_t cast(struct itanium *p)
{
	uint16_t type = itanium_type(p);
	if (type && itanium_take(p, '_'))
		return list_cast(p, type, ITANIUM_LIST_CAST);
	if (!type)
		return 0;
	uint16_t expression = itanium_expression(p);
	return expression ? itanium_node(p, ITANIUM_CAST, type, expression, 0) : 0;
}

/* fp_, fp0_, fpT: a parameter of the function around. */
static uint16_t function_parameter(struct itanium *p)
{
	uint16_t number = 0;
	p->pos += 2;
	if (itanium_take(p, 'T'))
		return itanium_text_node(p, ITANIUM_T_THIS);
	(void)itanium_qualifiers(p);
	if (!itanium_sequence(p, 10, &number))
		return 0;
	return itanium_node(p, ITANIUM_FUNCTION_PARAMETER, 0, (uint16_t)(number + 1), 0);
}

static uint16_t simple_name(struct itanium *p)
{
	char c = itanium_peek(p);
	if (itanium_take2(p, "on"))
		c = 'o';
	uint16_t name = 0;
	if (c == 'o') {
		int number = itanium_operator_take(p);
		name = number < 0 ? 0 : itanium_node(p, ITANIUM_OPERATOR, (uint16_t)number, 0, 0);
	} else if (c >= '0' && c <= '9') {
		name = itanium_source_name(p);
	}
	if (name && itanium_peek(p) == 'I')
		name = itanium_template_args(p, name, false);
	return name;
}

/* Names up to E; none of them is remembered. */
static uint16_t levels(struct itanium *p)
{
	uint16_t scope = 0;
	do {
		uint16_t name = simple_name(p);
		if (!name)
			return 0;
		scope = scope ? itanium_node(p, ITANIUM_QUALIFIED, scope, name, 0) : name;
	} while (scope && !itanium_take(p, 'E'));
	return scope;
}

/*
 * Behind sr: a type or some names, and a name in there. What begins with N is read as a type, as
 * GCC means it, though the ABI has a production of its own that looks alike.
 */
static uint16_t scoped_name(struct itanium *p)
{
	char c = itanium_peek(p);
	uint16_t scope = c >= '0' && c <= '9' ? levels(p) : itanium_type(p);
	uint16_t name = scope ? simple_name(p) : 0;
	return name ? itanium_node(p, ITANIUM_SCOPED, scope, name, 0) : 0;
}

static uint16_t size_of(struct itanium *p, enum itanium_text text, uint16_t operand)
{
	return operand ? itanium_node(p, ITANIUM_SIZEOF, (uint16_t)text, operand, 0) : 0;
}

static uint16_t pack_size(struct itanium *p)
{
	return size_of(p, ITANIUM_T_SIZEOF_PACK,
		       itanium_peek(p) == 'T' ? itanium_template_param(p) : 0);
}

static uint16_t operation(struct itanium *p)
{
	int number = itanium_operator_take(p);
	if (number < 0 || itanium_operators[number].arity == 0)
		return 0;
	uint16_t left = itanium_expression(p);
	if (!left || itanium_operators[number].arity == 1)
		return left ? itanium_node(p, ITANIUM_UNARY, (uint16_t)number, left, 0) : 0;
	bool member = itanium_operators[number].text[0] == '.' ||
		      strcmp(itanium_operators[number].text, "->") == 0;
	char c = itanium_peek(p);
	uint16_t right = member && c >= '0' && c <= '9' ? simple_name(p) : itanium_expression(p);
	return right ? itanium_node(p, ITANIUM_BINARY, (uint16_t)number, left, right) : 0;
}

static uint16_t expression(struct itanium *p)
{
	char c = itanium_peek(p), d = itanium_peek2(p);
	if (c == 'L')
		return itanium_literal(p);
	if (c == 'T')
		return itanium_template_param(p);
	if (c == 'f' && (d == 'p'))
		return function_parameter(p);
	if ((c >= '0' && c <= '9') || (c == 'o' && d == 'n'))
		return simple_name(p);
	if (itanium_take2(p, "cl"))
		return call(p);
	if (itanium_take2(p, "cv"))
		return cast(p);
	if (itanium_take2(p, "il"))
		return list_cast(p, 0, ITANIUM_BRACED);
	if (itanium_take2(p, "tl"))
		return braced(p);
	if (itanium_take2(p, "sr"))
		return scoped_name(p);
	if (itanium_take2(p, "st"))
		return size_of(p, ITANIUM_T_SIZEOF, itanium_type(p));
	if (itanium_take2(p, "sz"))
		return size_of(p, ITANIUM_T_SIZEOF, itanium_expression(p));
	if (itanium_take2(p, "at"))
		return size_of(p, ITANIUM_T_ALIGNOF, itanium_type(p));
	if (itanium_take2(p, "sZ"))
		return pack_size(p);
	if (itanium_take2(p, "sp"))
		return itanium_over(p, ITANIUM_EXPANSION, itanium_expression(p));
	return operation(p);
}

uint16_t itanium_expression(struct itanium *p)
{
	if (!itanium_enter(p))
		return itanium_leave(p, 0);
	return itanium_leave(p, expression(p));
}

/* L_Z...E and LZ...E: something that has a linkage name of its own. */
static uint16_t external(struct itanium *p)
{
	uint16_t node = itanium_encoding(p);
	return node && itanium_take(p, 'E') ? node : 0;
}

uint16_t itanium_literal(struct itanium *p)
{
	p->pos++;
	if (!itanium_enter(p))
		return itanium_leave(p, 0);
	if (itanium_take2(p, "_Z") || itanium_take(p, 'Z'))
		return itanium_leave(p, external(p));
	uint16_t type = itanium_type(p);
	const char *from = p->pos;
	while (type && p->pos < p->end && *p->pos != 'E')
		p->pos++;
	size_t size = (size_t)(p->pos - from);
	if (!type || size == 0 || !itanium_take(p, 'E'))
		return itanium_leave(p, 0);
	return itanium_leave(p, itanium_node(p, ITANIUM_LITERAL, type, (uint16_t)(from - p->start),
					     (uint16_t)size));
}
