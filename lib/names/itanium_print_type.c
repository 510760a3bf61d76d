/* SPDX-License-Identifier: Apache-2.0 */
/* The text of types: what stands in front of a declared name, and what behind it. */
#include "itanium_printer.h"

uint16_t itanium_argument_of(const struct itanium_printer *w, uint16_t node)
{
	while (at(w, node)->kind == ITANIUM_PARAMETER)
		node = at(w, node)->a;
	if (at(w, node)->kind != ITANIUM_PACK || w->element < 0)
		return node;
	uint16_t item = at(w, node)->a;
	for (int i = 0; i < w->element && item; i++)
		item = at(w, item)->b;
	return item ? at(w, item)->a : 0;
}

/* A parameter's argument is a pack, or has packs that are no concern of the pattern. */
static uint16_t argument_pack(const struct itanium_printer *w, uint16_t node)
{
	while (at(w, node)->kind == ITANIUM_PARAMETER)
		node = at(w, node)->a;
	return at(w, node)->kind == ITANIUM_PACK ? node : 0;
}

static uint16_t pack_below(struct itanium_printer *w, const struct itanium_node *n)
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
	if (node == 0 || w->depth == DEPTH_MOST || ++w->steps > STEPS_MOST)
		return 0;
	const struct itanium_node *n = at(w, node);
	if (n->kind == ITANIUM_PACK)
		return node;
	if (n->kind == ITANIUM_PARAMETER)
		return argument_pack(w, node);
	if (n->kind == ITANIUM_EXPANSION) /* has its own */
		return 0;
	w->depth++;
	uint16_t found = pack_below(w, n);
	w->depth--;
	return found;
}

void itanium_put_qualifiers(struct itanium_printer *w, uint8_t flags)
{
	if (flags & ITANIUM_CONST)
		PUT(w, " const");
	if (flags & ITANIUM_VOLATILE)
		PUT(w, " volatile");
	if (flags & ITANIUM_RESTRICT)
		PUT(w, " restrict");
	if (flags & ITANIUM_FOR_LREF)
		PUT(w, " &");
	if (flags & ITANIUM_FOR_RREF)
		PUT(w, " &&");
}

/* What a type is when parameters of templates are looked through. */
static uint16_t seen_through(const struct itanium_printer *w, uint16_t node)
{
	while (node && at(w, node)->kind == ITANIUM_PARAMETER) {
		uint16_t argument = itanium_argument_of(w, node);
		if (argument == node)
			break;
		node = argument;
	}
	return node;
}

/* The kind of a type, whatever it is qualified with. */
static uint8_t plain_kind(const struct itanium_printer *w, uint16_t node)
{
	uint16_t seen = seen_through(w, node);
	uint8_t kind = at(w, seen)->kind;
	if (kind == ITANIUM_QUALIFIER || kind == ITANIUM_VENDOR)
		kind = at(w, seen_through(w, at(w, seen)->a))->kind;
	return kind;
}

static bool needs_parentheses(const struct itanium_printer *w, uint16_t node)
{
	uint8_t kind = plain_kind(w, node);
	return kind == ITANIUM_FUNCTION || kind == ITANIUM_ARRAY;
}

/* References to references collapse: what is referred to, and whether by & or &&. */
static uint16_t referred(const struct itanium_printer *w, uint16_t node, bool *ret_is_rvalue)
{
	bool is_rvalue = at(w, node)->kind == ITANIUM_RREF;
	uint16_t inner = at(w, node)->a;
	for (unsigned i = 0; i < DEPTH_MOST; i++) {
		uint16_t seen = seen_through(w, inner);
		uint8_t kind = at(w, seen)->kind;
		if (kind != ITANIUM_LREF && kind != ITANIUM_RREF)
			break;
		is_rvalue = is_rvalue && kind == ITANIUM_RREF;
		inner = at(w, seen)->a;
	}
	*ret_is_rvalue = is_rvalue;
	return inner;
}

static void print_declarator(struct itanium_printer *w, uint16_t inner, const char *mark, size_t n)
{
	itanium_put_left(w, inner);
	if (needs_parentheses(w, inner)) {
		if (plain_kind(w, inner) == ITANIUM_ARRAY && last(w) != ' ')
			put_char(w, ' ');
		put_char(w, '(');
	}
	put(w, mark, n);
}

static void print_member_left(struct itanium_printer *w, const struct itanium_node *n)
{
	itanium_put_left(w, n->b);
	if (plain_kind(w, n->b) != ITANIUM_FUNCTION && last(w) != ' ')
		put_char(w, ' ');
	if (needs_parentheses(w, n->b))
		put_char(w, '(');
	itanium_put(w, n->a);
	PUT(w, "::*");
}

/* What a function returns, in front of its name: "void (*" is followed by no space. */
void itanium_put_returned(struct itanium_printer *w, uint16_t type, bool of_type)
{
	itanium_put_left(w, type);
	if (of_type && w->style.llvm) {
		put_char(w, ' ');
		return;
	}
	uint16_t inner = seen_through(w, type);
	for (unsigned i = 0; i < DEPTH_MOST && inner; i++) {
		const struct itanium_node *n = at(w, inner);
		if (n->kind == ITANIUM_POINTER || n->kind == ITANIUM_LREF ||
		    n->kind == ITANIUM_RREF)
			inner = n->a;
		else if (n->kind == ITANIUM_MEMBER)
			inner = n->b;
		else
			break;
		if (needs_parentheses(w, inner))
			return;
		inner = seen_through(w, inner);
	}
	put_char(w, ' ');
}

/* What the type says itself, and need not be said again. */
static uint8_t qualifiers_of(const struct itanium_printer *w, uint16_t type)
{
	const struct itanium_node *n = at(w, seen_through(w, type));
	return n->kind == ITANIUM_QUALIFIER ? n->flags : 0;
}

/* The part of a type in front of the name that it would declare. */
static void print_left_of(struct itanium_printer *w, uint16_t node)
{
	const struct itanium_node *n = at(w, node);
	bool is_rvalue = false;
	uint16_t inner = 0;
	switch (n->kind) {
	case ITANIUM_POINTER:
		print_declarator(w, n->a, "*", 1);
		return;
	case ITANIUM_LREF:
	case ITANIUM_RREF:
		inner = referred(w, node, &is_rvalue);
		print_declarator(w, inner, "&&", is_rvalue ? 2 : 1);
		return;
	case ITANIUM_MEMBER:
		print_member_left(w, n);
		return;
	case ITANIUM_QUALIFIER:
		itanium_put_left(w, n->a);
		itanium_put_qualifiers(w, n->flags & (uint8_t)~qualifiers_of(w, n->a));
		return;
	case ITANIUM_VENDOR:
		itanium_put_left(w, n->a);
		put_char(w, ' ');
		itanium_put(w, n->b);
		return;
	case ITANIUM_POSTFIX:
		itanium_put_left(w, n->a);
		put_word(w, n->b);
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

static void print_function_right(struct itanium_printer *w, const struct itanium_node *n)
{
	put_char(w, '(');
	itanium_put_list(w, n->b);
	put_char(w, ')');
	itanium_put_qualifiers(w, n->flags);
	if (n->c) {
		PUT(w, " noexcept");
		if (at(w, n->c)->a) {
			put_char(w, '(');
			itanium_put(w, at(w, n->c)->a);
			put_char(w, ')');
		}
	}
	itanium_put_right(w, n->a);
}

static void print_array_right(struct itanium_printer *w, const struct itanium_node *n)
{
	if (last(w) != ']')
		put_char(w, ' ');
	put_char(w, '[');
	if (n->b)
		itanium_put(w, n->b);
	put_char(w, ']');
	itanium_put_right(w, n->a);
}

/* The part of a type behind the name. */
static void print_right_of(struct itanium_printer *w, uint16_t node)
{
	const struct itanium_node *n = at(w, node);
	bool is_rvalue = false;
	uint16_t inner = n->a;
	switch (n->kind) {
	case ITANIUM_LREF:
	case ITANIUM_RREF:
		inner = referred(w, node, &is_rvalue);
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
		print_function_right(w, n);
		return;
	case ITANIUM_ARRAY:
		print_array_right(w, n);
		return;
	case ITANIUM_PARAMETER:
		inner = itanium_argument_of(w, node);
		if (inner && inner != node)
			itanium_put_right(w, inner);
		return;
	default:
		return;
	}
	if (needs_parentheses(w, inner))
		put_char(w, ')');
	itanium_put_right(w, inner);
}

void itanium_put_left(struct itanium_printer *w, uint16_t node)
{
	if (!itanium_print_enter(w))
		return;
	print_left_of(w, node);
	w->depth--;
}

void itanium_put_right(struct itanium_printer *w, uint16_t node)
{
	if (!itanium_print_enter(w))
		return;
	print_right_of(w, node);
	w->depth--;
}
