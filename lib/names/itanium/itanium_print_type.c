/* SPDX-License-Identifier: Apache-2.0 */
/* Writing types, in two parts: before a declared name and after it. */
#include "itanium_printer.h"

uint16_t itanium_argument_of(struct itanium_printer *w, uint16_t node)
{
	while (itanium_at(w, node)->kind == ITANIUM_PARAMETER)
		node = itanium_at(w, node)->a;
	if (itanium_at(w, node)->kind != ITANIUM_PACK)
		return node;
	w->varies = true;
	if (w->element < 0)
		return node;
	uint16_t item = itanium_at(w, node)->a;
	if (!ux_name_text_charge(&w->text, (size_t)w->element / 8))
		return 0;
	for (int i = 0; i < w->element && item; i++)
		item = itanium_at(w, item)->b;
	return item ? itanium_at(w, item)->a : 0;
}

/*
 * Returns the argument of a template parameter if it is a pack; packs inside of it are not expanded
 * here.
 */
static uint16_t itanium_pack_of_argument(const struct itanium_printer *w, uint16_t node)
{
	while (itanium_at(w, node)->kind == ITANIUM_PARAMETER)
		node = itanium_at(w, node)->a;
	return itanium_at(w, node)->kind == ITANIUM_PACK ? node : 0;
}

static uint16_t itanium_pack_below(struct itanium_printer *w, const struct itanium_node *n)
{
	uint8_t children = itanium_children[n->kind];
	uint16_t found = children & ITANIUM_A ? itanium_pack_in(w, n->a) : 0;
	if (!found && children & ITANIUM_B)
		found = itanium_pack_in(w, n->b);
	if (!found && children & ITANIUM_C)
		found = itanium_pack_in(w, n->c);
	return found;
}

uint16_t itanium_pack_in(struct itanium_printer *w, uint16_t node)
{
	if (node == 0)
		return 0;
	const struct itanium_node *n = itanium_at(w, node);
	if (n->kind == ITANIUM_PACK)
		return node;
	if (n->kind == ITANIUM_PARAMETER)
		return itanium_pack_of_argument(w, node);
	if (n->kind == ITANIUM_EXPANSION) /* an expansion is expanded separately */
		return 0;
	if (!itanium_print_enter(w))
		return 0;
	uint16_t found = itanium_pack_below(w, n);
	w->text.depth--;
	return found;
}

void itanium_put_qualifiers(struct itanium_printer *w, uint8_t flags)
{
	if (flags & ITANIUM_CONST)
		ITANIUM_PUT(w, " const");
	if (flags & ITANIUM_VOLATILE)
		ITANIUM_PUT(w, " volatile");
	if (flags & ITANIUM_RESTRICT)
		ITANIUM_PUT(w, " restrict");
	if (flags & ITANIUM_FOR_LREF)
		ITANIUM_PUT(w, " &");
	if (flags & ITANIUM_FOR_RREF)
		ITANIUM_PUT(w, " &&");
}

/* Resolves a template parameter to its argument; other types are returned unchanged. */
static uint16_t itanium_see_through(struct itanium_printer *w, uint16_t node)
{
	while (node && itanium_at(w, node)->kind == ITANIUM_PARAMETER) {
		uint16_t argument = itanium_argument_of(w, node);
		if (argument == node)
			break;
		node = argument;
	}
	return node;
}

/* Returns the kind of a type without its qualifiers. */
static uint8_t itanium_plain_kind(struct itanium_printer *w, uint16_t node)
{
	uint16_t seen = itanium_see_through(w, node);
	uint8_t kind = itanium_at(w, seen)->kind;
	if (kind == ITANIUM_QUALIFIER || kind == ITANIUM_VENDOR)
		kind = itanium_at(w, itanium_see_through(w, itanium_at(w, seen)->a))->kind;
	return kind;
}

static bool itanium_needs_parentheses(struct itanium_printer *w, uint16_t node)
{
	uint8_t kind = itanium_plain_kind(w, node);
	return kind == ITANIUM_FUNCTION || kind == ITANIUM_ARRAY;
}

/*
 * Collapses references to references: returns the referenced type, and whether the result is &&
 * instead of &.
 */
static uint16_t itanium_collapsed_reference(struct itanium_printer *w, uint16_t node,
					    bool *ret_is_rvalue)
{
	bool is_rvalue = itanium_at(w, node)->kind == ITANIUM_RREF;
	uint16_t inner = itanium_at(w, node)->a;
	while (ux_name_text_charge(&w->text, 1)) {
		uint16_t seen = itanium_see_through(w, inner);
		uint8_t kind = itanium_at(w, seen)->kind;
		if (kind != ITANIUM_LREF && kind != ITANIUM_RREF)
			break;
		is_rvalue = is_rvalue && kind == ITANIUM_RREF;
		inner = itanium_at(w, seen)->a;
	}
	*ret_is_rvalue = is_rvalue;
	return inner;
}

static void itanium_print_declarator(struct itanium_printer *w, uint16_t inner, const char *mark,
				     size_t n)
{
	itanium_put_left(w, inner);
	if (itanium_needs_parentheses(w, inner)) {
		if (itanium_plain_kind(w, inner) == ITANIUM_ARRAY && itanium_last(w) != ' ')
			itanium_put_char(w, ' ');
		itanium_put_char(w, '(');
	}
	itanium_put_bytes(w, mark, n);
}

static void itanium_print_member_left(struct itanium_printer *w, const struct itanium_node *n)
{
	itanium_put_left(w, n->b);
	if (itanium_plain_kind(w, n->b) != ITANIUM_FUNCTION && itanium_last(w) != ' ')
		itanium_put_char(w, ' ');
	if (itanium_needs_parentheses(w, n->b))
		itanium_put_char(w, '(');
	itanium_put(w, n->a);
	ITANIUM_PUT(w, "::*");
}

/* Writes the return type before a function's name, without a space after "void (*". */
void itanium_put_returned(struct itanium_printer *w, uint16_t type, bool of_type)
{
	itanium_put_left(w, type);
	if (of_type && w->style.llvm) {
		itanium_put_char(w, ' ');
		return;
	}
	uint16_t inner = itanium_see_through(w, type);
	while (inner && ux_name_text_charge(&w->text, 1)) {
		const struct itanium_node *n = itanium_at(w, inner);
		if (n->kind == ITANIUM_POINTER || n->kind == ITANIUM_LREF ||
		    n->kind == ITANIUM_RREF)
			inner = n->a;
		else if (n->kind == ITANIUM_MEMBER)
			inner = n->b;
		else
			break;
		if (itanium_needs_parentheses(w, inner))
			return;
		inner = itanium_see_through(w, inner);
	}
	itanium_put_char(w, ' ');
}

/* Returns the qualifiers that the type already has; they are not repeated. */
static uint8_t itanium_qualifiers_of(struct itanium_printer *w, uint16_t type)
{
	const struct itanium_node *n = itanium_at(w, itanium_see_through(w, type));
	return n->kind == ITANIUM_QUALIFIER ? n->flags : 0;
}

/* Writes the part of a declaration before the declared name. */
static void itanium_print_left_of(struct itanium_printer *w, uint16_t node)
{
	const struct itanium_node *n = itanium_at(w, node);
	bool is_rvalue = false;
	uint16_t inner = 0;
	switch (n->kind) {
	case ITANIUM_POINTER:
		itanium_print_declarator(w, n->a, "*", 1);
		return;
	case ITANIUM_LREF:
	case ITANIUM_RREF:
		inner = itanium_collapsed_reference(w, node, &is_rvalue);
		itanium_print_declarator(w, inner, "&&", is_rvalue ? 2 : 1);
		return;
	case ITANIUM_MEMBER:
		itanium_print_member_left(w, n);
		return;
	case ITANIUM_QUALIFIER:
		itanium_put_left(w, n->a);
		itanium_put_qualifiers(w, n->flags & (uint8_t)~itanium_qualifiers_of(w, n->a));
		return;
	case ITANIUM_VENDOR:
		itanium_put_left(w, n->a);
		itanium_put_char(w, ' ');
		itanium_put(w, n->b);
		return;
	case ITANIUM_POSTFIX:
		itanium_put_left(w, n->a);
		itanium_put_word(w, n->b);
		return;
	case ITANIUM_FUNCTION:
		itanium_put_returned(w, n->a, /* of_type= */ true);
		return;
	case ITANIUM_ARRAY:
		itanium_put_left(w, n->a);
		return;
	case ITANIUM_PARAMETER:
		inner = itanium_argument_of(w, node);
		if (inner && inner != node)
			itanium_put_left(w, inner);
		return;
	default:
		itanium_put(w, node);
	}
}

static void itanium_put_exceptions(struct itanium_printer *w, const struct itanium_node *n)
{
	if (n->kind == ITANIUM_TEXT) {
		itanium_put_char(w, ' ');
		itanium_put_word(w, n->a);
		return;
	}
	itanium_put_bytes(w, n->kind == ITANIUM_THROWS ? " throw" : " noexcept",
			  n->kind == ITANIUM_THROWS ? 6 : 9);
	if (!n->a && n->kind == ITANIUM_NOEXCEPT)
		return;
	itanium_put_char(w, '(');
	if (n->kind == ITANIUM_THROWS)
		itanium_put_list(w, n->a);
	else
		itanium_put(w, n->a);
	itanium_put_char(w, ')');
}

static void itanium_print_function_right(struct itanium_printer *w, const struct itanium_node *n)
{
	itanium_put_char(w, '(');
	itanium_put_list(w, n->b);
	itanium_put_char(w, ')');
	itanium_put_qualifiers(w, n->flags);
	if (n->c)
		itanium_put_exceptions(w, itanium_at(w, n->c));
	itanium_put_right(w, n->a);
}

static void itanium_print_array_right(struct itanium_printer *w, const struct itanium_node *n)
{
	if (itanium_last(w) != ']')
		itanium_put_char(w, ' ');
	itanium_put_char(w, '[');
	if (n->b)
		itanium_put(w, n->b);
	itanium_put_char(w, ']');
	itanium_put_right(w, n->a);
}

/* Writes the part of a declaration after the declared name. */
static void itanium_print_right_of(struct itanium_printer *w, uint16_t node)
{
	const struct itanium_node *n = itanium_at(w, node);
	bool is_rvalue = false;
	uint16_t inner = n->a;
	switch (n->kind) {
	case ITANIUM_LREF:
	case ITANIUM_RREF:
		inner = itanium_collapsed_reference(w, node, &is_rvalue);
		break;
	case ITANIUM_MEMBER:
		inner = n->b;
		break;
	case ITANIUM_POINTER:
		break;
	case ITANIUM_QUALIFIER:
	case ITANIUM_VENDOR:
	case ITANIUM_POSTFIX:
		itanium_put_right(w, inner);
		return;
	case ITANIUM_FUNCTION:
		itanium_print_function_right(w, n);
		return;
	case ITANIUM_ARRAY:
		itanium_print_array_right(w, n);
		return;
	case ITANIUM_PARAMETER:
		inner = itanium_argument_of(w, node);
		if (inner && inner != node)
			itanium_put_right(w, inner);
		return;
	default:
		return;
	}
	if (itanium_needs_parentheses(w, inner))
		itanium_put_char(w, ')');
	itanium_put_right(w, inner);
}

void itanium_put_left(struct itanium_printer *w, uint16_t node)
{
	if (!itanium_print_enter(w))
		return;
	itanium_print_left_of(w, node);
	w->text.depth--;
}

void itanium_put_right(struct itanium_printer *w, uint16_t node)
{
	if (!itanium_print_enter(w))
		return;
	itanium_print_right_of(w, node);
	w->text.depth--;
}
