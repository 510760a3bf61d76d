/* SPDX-License-Identifier: Apache-2.0 */
/* The text of expressions. */
#include "itanium_printer.h"

/* How literals of the integer types end; NULL: their type stands in front. */
static const char *literal_suffix(const struct itanium_node *type)
{
	if (type->kind != ITANIUM_TEXT)
		return NULL;
	switch (type->a) {
	case ITANIUM_T_INT:
		return "";
	case ITANIUM_T_UINT:
		return "u";
	case ITANIUM_T_LONG:
		return "l";
	case ITANIUM_T_ULONG:
		return "ul";
	case ITANIUM_T_LLONG:
		return "ll";
	case ITANIUM_T_ULLONG:
		return "ull";
	default:
		return NULL;
	}
}

void itanium_put_literal(struct itanium_printer *w, const struct itanium_node *n)
{
	const struct itanium_node *type = at(w, n->a);
	const char *value = w->tree->start + n->b;
	size_t size = n->c;
	if (type->kind == ITANIUM_TEXT && type->a == ITANIUM_T_BOOL && size == 1 &&
	    (*value == '0' || *value == '1')) {
		put(w, *value == '1' ? "true" : "false", *value == '1' ? 4 : 5);
		return;
	}
	const char *suffix = literal_suffix(type);
	if (!suffix) {
		put_char(w, '(');
		itanium_put(w, n->a);
		put_char(w, ')');
	}
	if (*value == 'n') {
		put_char(w, '-');
		value++;
		size--;
	}
	bool is_float = type->kind == ITANIUM_TEXT &&
			(type->a == ITANIUM_T_FLOAT || type->a == ITANIUM_T_DOUBLE ||
			 type->a == ITANIUM_T_LDOUBLE || type->a == ITANIUM_T_FLOAT128);
	if (is_float)
		put_char(w, '[');
	put(w, value, size);
	if (is_float)
		put_char(w, ']');
	if (suffix)
		put(w, suffix, strlen(suffix));
}

void itanium_put_operand(struct itanium_printer *w, uint16_t node)
{
	const struct itanium_node *n = at(w, node);
	bool is_primary = n->kind == ITANIUM_ENCODING || n->kind == ITANIUM_CALL ||
			  n->kind == ITANIUM_PARAMETER || n->kind == ITANIUM_TEMPLATE;
	bool plain = (w->style.llvm && is_primary) || n->kind == ITANIUM_NAME ||
		     n->kind == ITANIUM_QUALIFIED || n->kind == ITANIUM_FUNCTION_PARAMETER ||
		     (n->kind == ITANIUM_SCOPED &&
		      (w->style.llvm || at(w, n->b)->kind != ITANIUM_TEMPLATE));
	if (!plain)
		put_char(w, '(');
	itanium_put(w, node);
	if (!plain)
		put_char(w, ')');
}

static void print_unary(struct itanium_printer *w, const struct itanium_node *n)
{
	const struct itanium_operator *op = &itanium_operators[n->a];
	uint16_t operand = n->b;
	put(w, op->text, op->size);
	/* The address of a function: without its parameters. */
	if (!w->style.llvm && op->text[0] == '&' && at(w, operand)->kind == ITANIUM_ENCODING &&
	    at(w, operand)->flags == 0 && at(w, at(w, operand)->a)->kind == ITANIUM_QUALIFIED)
		operand = at(w, operand)->a;
	itanium_put_operand(w, operand);
}

static void print_binary(struct itanium_printer *w, const struct itanium_node *n)
{
	const struct itanium_operator *op = &itanium_operators[n->a];
	bool greater = op->size == 1 && op->text[0] == '>'; /* which would end the arguments */
	if (greater)
		put_char(w, '(');
	itanium_put_operand(w, n->b);
	put(w, op->text, op->size);
	itanium_put_operand(w, n->c);
	if (greater)
		put_char(w, ')');
}

static void print_call(struct itanium_printer *w, const struct itanium_node *n)
{
	itanium_put_operand(w, n->a);
	put_char(w, '(');
	itanium_put_list(w, n->b);
	put_char(w, ')');
}

static void print_cast(struct itanium_printer *w, const struct itanium_node *n)
{
	if (n->kind == ITANIUM_BRACED) {
		if (n->a)
			itanium_put(w, n->a);
		put_char(w, '{');
		itanium_put_list(w, n->b);
		put_char(w, '}');
		return;
	}
	put_char(w, '(');
	itanium_put(w, n->a);
	put_char(w, ')');
	if (n->kind == ITANIUM_CAST) {
		itanium_put_operand(w, n->b);
		return;
	}
	put_char(w, '(');
	itanium_put_list(w, n->b);
	put_char(w, ')');
}

static unsigned pack_length(const struct itanium_printer *w, uint16_t pack)
{
	unsigned n = 0;
	for (uint16_t item = at(w, pack)->a; item; item = at(w, item)->b)
		n++;
	return n;
}

static void print_sizeof(struct itanium_printer *w, const struct itanium_node *n)
{
	if (n->a == ITANIUM_T_SIZEOF_PACK) {
		uint16_t pack = itanium_pack_in(w, n->b);
		if (pack)
			itanium_put_number(w, pack_length(w, pack));
		else
			itanium_give_up(w);
		return;
	}
	put_word(w, n->a);
	put_char(w, '(');
	itanium_put(w, n->b);
	put_char(w, ')');
}

void itanium_put_expression(struct itanium_printer *w, const struct itanium_node *n)
{
	switch (n->kind) {
	case ITANIUM_UNARY:
		print_unary(w, n);
		return;
	case ITANIUM_BINARY:
		print_binary(w, n);
		return;
	case ITANIUM_CALL:
		print_call(w, n);
		return;
	case ITANIUM_CAST:
	case ITANIUM_LIST_CAST:
	case ITANIUM_BRACED:
		print_cast(w, n);
		return;
	case ITANIUM_SIZEOF:
		print_sizeof(w, n);
		return;
	case ITANIUM_FUNCTION_PARAMETER:
		PUT(w, "{parm#");
		itanium_put_number(w, n->b);
		put_char(w, '}');
		return;
	default:
		itanium_give_up(w); /* no node that a name can have */
	}
}

void itanium_put_operator(struct itanium_printer *w, const struct itanium_node *n)
{
	const struct itanium_operator *op = &itanium_operators[n->a];
	PUT(w, "operator");
	put(w, op->text, op->size);
}
