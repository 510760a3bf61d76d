/* SPDX-License-Identifier: Apache-2.0 */
/* Writing expressions. */
#include "itanium_printer.h"

/* Returns the suffix of literals of an integer type; NULL: the type is written before them. */
static const char *itanium_literal_suffix(const struct itanium_node *type)
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
	const struct itanium_node *type = itanium_at(w, n->a);
	const char *value = w->tree->start + n->b;
	size_t size = n->c;
	if (type->kind == ITANIUM_TEXT && type->a == ITANIUM_T_BOOL && size == 1 &&
	    (*value == '0' || *value == '1')) {
		itanium_put_bytes(w, *value == '1' ? "true" : "false", *value == '1' ? 4 : 5);
		return;
	}
	bool is_null = type->kind == ITANIUM_TEXT && type->a == ITANIUM_T_NULLPTR;
	if (is_null && w->style.llvm) {
		ITANIUM_PUT(w, "nullptr");
		return;
	}
	if (size == 0) { /* a type with a single value */
		itanium_put(w, n->a);
		return;
	}
	const char *suffix = itanium_literal_suffix(type);
	if (!suffix) {
		itanium_put_char(w, '(');
		itanium_put(w, n->a);
		itanium_put_char(w, ')');
	}
	if (*value == 'n') {
		itanium_put_char(w, '-');
		value++;
		size--;
	}
	bool is_float = type->kind == ITANIUM_TEXT &&
			(type->a == ITANIUM_T_FLOAT || type->a == ITANIUM_T_DOUBLE ||
			 type->a == ITANIUM_T_LDOUBLE || type->a == ITANIUM_T_FLOAT128);
	if (is_float)
		itanium_put_char(w, '[');
	itanium_put_bytes(w, value, size);
	if (is_float)
		itanium_put_char(w, ']');
	if (suffix)
		itanium_put_bytes(w, suffix, strlen(suffix));
}

void itanium_put_operand(struct itanium_printer *w, uint16_t node)
{
	const struct itanium_node *n = itanium_at(w, node);
	bool is_primary = n->kind == ITANIUM_ENCODING || n->kind == ITANIUM_CALL ||
			  n->kind == ITANIUM_PARAMETER || n->kind == ITANIUM_TEMPLATE;
	bool plain = (w->style.llvm && is_primary) || n->kind == ITANIUM_NAME ||
		     n->kind == ITANIUM_QUALIFIED || n->kind == ITANIUM_FUNCTION_PARAMETER ||
		     n->kind == ITANIUM_FOLD || n->kind == ITANIUM_DTOR ||
		     (n->kind == ITANIUM_SCOPED &&
		      (w->style.llvm || itanium_at(w, n->b)->kind != ITANIUM_TEMPLATE));
	if (!plain)
		itanium_put_char(w, '(');
	itanium_put(w, node);
	if (!plain)
		itanium_put_char(w, ')');
}

static void itanium_print_unary(struct itanium_printer *w, const struct itanium_node *n)
{
	const struct itanium_operator *op = &itanium_operators[n->a];
	uint16_t operand = n->b;
	itanium_put_bytes(w, op->text, op->size);
	/* The address of a function is written without its parameters. */
	if (!w->style.llvm && op->text[0] == '&' &&
	    itanium_at(w, operand)->kind == ITANIUM_ENCODING &&
	    (itanium_at(w, operand)->flags & (uint8_t)~ITANIUM_SHARED) == 0 &&
	    itanium_at(w, itanium_at(w, operand)->a)->kind == ITANIUM_QUALIFIED)
		operand = itanium_at(w, operand)->a;
	itanium_put_operand(w, operand);
}

static void itanium_print_binary(struct itanium_printer *w, const struct itanium_node *n)
{
	const struct itanium_operator *op = &itanium_operators[n->a];
	bool greater =
		op->size == 1 &&
		op->text[0] ==
			'>'; /* would end the template arguments, so it is put in parentheses */
	if (greater)
		itanium_put_char(w, '(');
	itanium_put_operand(w, n->b);
	itanium_put_bytes(w, op->text, op->size);
	itanium_put_operand(w, n->c);
	if (greater)
		itanium_put_char(w, ')');
}

static void itanium_print_call(struct itanium_printer *w, const struct itanium_node *n)
{
	itanium_put_operand(w, n->a);
	itanium_put_char(w, '(');
	itanium_put_list(w, n->b);
	itanium_put_char(w, ')');
}

static void itanium_print_cast(struct itanium_printer *w, const struct itanium_node *n)
{
	if (n->kind == ITANIUM_BRACED) {
		if (n->a)
			itanium_put(w, n->a);
		itanium_put_char(w, '{');
		itanium_put_list(w, n->b);
		itanium_put_char(w, '}');
		return;
	}
	itanium_put_char(w, '(');
	itanium_put(w, n->a);
	itanium_put_char(w, ')');
	if (n->kind == ITANIUM_CAST) {
		itanium_put_operand(w, n->b);
		return;
	}
	itanium_put_char(w, '(');
	itanium_put_list(w, n->b);
	itanium_put_char(w, ')');
}

static unsigned itanium_pack_length(const struct itanium_printer *w, uint16_t pack)
{
	unsigned n = 0;
	for (uint16_t item = itanium_at(w, pack)->a; item; item = itanium_at(w, item)->b)
		n++;
	return n;
}

static void itanium_print_sizeof(struct itanium_printer *w, const struct itanium_node *n)
{
	if (n->a == ITANIUM_T_SIZEOF_PACK) {
		uint16_t pack = itanium_pack_in(w, n->b);
		if (pack)
			itanium_put_number(w, itanium_pack_length(w, pack));
		else
			ux_name_text_fail(&w->text);
		return;
	}
	itanium_put_word(w, n->a);
	itanium_put_char(w, '(');
	itanium_put(w, n->b);
	itanium_put_char(w, ')');
}

static void itanium_print_fold(struct itanium_printer *w, const struct itanium_node *n)
{
	const struct itanium_operator *op = &itanium_operators[n->a];
	itanium_put_char(w, '(');
	if (n->b) {
		itanium_put_operand(w, n->b);
		itanium_put_bytes(w, op->text, op->size);
	}
	ITANIUM_PUT(w, "...");
	if (n->c) {
		itanium_put_bytes(w, op->text, op->size);
		itanium_put_operand(w, n->c);
	}
	itanium_put_char(w, ')');
}

static void itanium_put_all(struct itanium_printer *w, uint16_t list)
{
	for (; list && !w->text.failed; list = itanium_at(w, list)->b)
		itanium_put(w, itanium_at(w, list)->a);
}

/* Writes the text of a phrase: see ITANIUM_PHRASES. */
static void itanium_print_phrase(struct itanium_printer *w, const struct itanium_node *n)
{
	if (!w->style.parameters &&
	    (n->a == ITANIUM_P_REQUIRES_CLAUSE || n->a == ITANIUM_P_ENABLE_IF)) {
		itanium_put(w, n->b);
		return;
	}
	for (const char *s = itanium_phrases[n->a]; *s && !w->text.failed; s++) {
		if ((unsigned char)*s > 8) {
			itanium_put_char(w, *s);
			continue;
		}
		uint16_t node = *s % 2 ? n->b : n->c;
		if (*s <= 2)
			itanium_put(w, node);
		else if (*s <= 4)
			itanium_put_operand(w, node);
		else if (*s <= 6)
			itanium_put_list(w, node);
		else
			itanium_put_all(w, node);
	}
}

void itanium_put_expression(struct itanium_printer *w, const struct itanium_node *n)
{
	switch (n->kind) {
	case ITANIUM_UNARY:
		itanium_print_unary(w, n);
		return;
	case ITANIUM_BINARY:
		itanium_print_binary(w, n);
		return;
	case ITANIUM_CALL:
		itanium_print_call(w, n);
		return;
	case ITANIUM_CAST:
	case ITANIUM_LIST_CAST:
	case ITANIUM_BRACED:
		itanium_print_cast(w, n);
		return;
	case ITANIUM_SIZEOF:
		itanium_print_sizeof(w, n);
		return;
	case ITANIUM_FOLD:
		itanium_print_fold(w, n);
		return;
	case ITANIUM_PHRASE:
		itanium_print_phrase(w, n);
		return;
	case ITANIUM_FUNCTION_PARAMETER:
		ITANIUM_PUT(w, "{parm#");
		itanium_put_number(w, n->b);
		itanium_put_char(w, '}');
		return;
	default:
		ux_name_text_fail(&w->text); /* unreachable: no other kind is an expression */
	}
}

void itanium_put_operator(struct itanium_printer *w, const struct itanium_node *n)
{
	const struct itanium_operator *op = &itanium_operators[n->a];
	ITANIUM_PUT(w, "operator");
	itanium_put_bytes(w, op->text, op->size);
}
