/* SPDX-License-Identifier: Apache-2.0 */
/* The text of names and types. */
#include "itanium_printer.h"

static void print_left(struct itanium_printer *w, uint16_t node);
static void print_right(struct itanium_printer *w, uint16_t node);

void itanium_give_up(struct itanium_printer *w)
{
	w->failed = true;
	w->pos = w->end = w->start; /* nothing more gets in, so that everything ends soon */
}

void itanium_put_number(struct itanium_printer *w, unsigned v)
{
	char digits[12];
	int n = snprintf(digits, sizeof(digits), "%u", v);
	put(w, digits, (size_t)n);
}

static void put_slice(struct itanium_printer *w, unsigned offset, size_t n)
{
	put(w, w->tree->start + offset, n);
}

void itanium_put_list(struct itanium_printer *w, uint16_t list)
{
	char *mark = NULL; /* behind the last item that had one */
	for (; list; list = at(w, list)->b) {
		char *before = w->pos;
		if (mark)
			PUT(w, ", ");
		char *item = w->pos;
		itanium_put(w, at(w, list)->a);
		if (w->failed)
			return;
		if (w->pos == item)
			w->pos = before;
		else
			mark = w->pos;
	}
}

static void print_template_args(struct itanium_printer *w, uint16_t list)
{
	if (!w->style.llvm && last(w) == '<')
		put_char(w, ' ');
	if (w->style.elide) {
		PUT(w, "<...>");
		return;
	}
	put_char(w, '<');
	itanium_put_list(w, list);
	if (!w->style.llvm && last(w) == '>')
		put_char(w, ' ');
	put_char(w, '>');
}

/* The argument that a PARAMETER stands for at this place of an expansion; 0: none. */
static uint16_t argument_of(const struct itanium_printer *w, uint16_t node)
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

static void print_expansion(struct itanium_printer *w, uint16_t pattern)
{
	uint16_t pack = itanium_pack_in(w, pattern);
	if (!pack) {
		itanium_put_operand(w, pattern);
		PUT(w, "...");
		return;
	}
	int outer = w->element;
	bool any = false;
	w->element = 0;
	for (uint16_t item = at(w, pack)->a; item && !w->failed; item = at(w, item)->b) {
		char *before = w->pos;
		if (any)
			PUT(w, ", ");
		char *from = w->pos;
		itanium_put(w, pattern);
		if (w->failed)
			break;
		if (w->pos == from)
			w->pos = before;
		else
			any = true;
		w->element++;
	}
	w->element = outer;
}

static void print_qualifiers(struct itanium_printer *w, uint8_t flags)
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
		uint16_t argument = argument_of(w, node);
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
	print_left(w, inner);
	if (needs_parentheses(w, inner)) {
		if (plain_kind(w, inner) == ITANIUM_ARRAY && last(w) != ' ')
			put_char(w, ' ');
		put_char(w, '(');
	}
	put(w, mark, n);
}

static void print_member_left(struct itanium_printer *w, const struct itanium_node *n)
{
	print_left(w, n->b);
	if (plain_kind(w, n->b) != ITANIUM_FUNCTION && last(w) != ' ')
		put_char(w, ' ');
	if (needs_parentheses(w, n->b))
		put_char(w, '(');
	itanium_put(w, n->a);
	PUT(w, "::*");
}

/* What a function returns, in front of its name: "void (*" is followed by no space. */
static void print_returned(struct itanium_printer *w, uint16_t type, bool of_type)
{
	print_left(w, type);
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
		print_left(w, n->a);
		print_qualifiers(w, n->flags & (uint8_t)~qualifiers_of(w, n->a));
		return;
	case ITANIUM_VENDOR:
		print_left(w, n->a);
		put_char(w, ' ');
		itanium_put(w, n->b);
		return;
	case ITANIUM_POSTFIX:
		print_left(w, n->a);
		put_word(w, n->b);
		return;
	case ITANIUM_FUNCTION:
		print_returned(w, n->a, /* of_type= */ true);
		return;
	case ITANIUM_ARRAY:
		print_left(w, n->a);
		return;
	case ITANIUM_PARAMETER:
		inner = argument_of(w, node);
		if (inner && inner != node)
			print_left(w, inner);
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
	print_qualifiers(w, n->flags);
	if (n->c) {
		PUT(w, " noexcept");
		if (at(w, n->c)->a) {
			put_char(w, '(');
			itanium_put(w, at(w, n->c)->a);
			put_char(w, ')');
		}
	}
	print_right(w, n->a);
}

static void print_array_right(struct itanium_printer *w, const struct itanium_node *n)
{
	if (last(w) != ']')
		put_char(w, ' ');
	put_char(w, '[');
	if (n->b)
		itanium_put(w, n->b);
	put_char(w, ']');
	print_right(w, n->a);
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
		print_right(w, inner);
		return;
	case ITANIUM_FUNCTION:
		print_function_right(w, n);
		return;
	case ITANIUM_ARRAY:
		print_array_right(w, n);
		return;
	case ITANIUM_PARAMETER:
		inner = argument_of(w, node);
		if (inner && inner != node)
			print_right(w, inner);
		return;
	default:
		return;
	}
	if (needs_parentheses(w, inner))
		put_char(w, ')');
	print_right(w, inner);
}

static bool enter(struct itanium_printer *w)
{
	if (w->failed || w->depth == DEPTH_MOST || ++w->steps > STEPS_MOST) {
		itanium_give_up(w);
		return false;
	}
	w->depth++;
	return true;
}

static void print_left(struct itanium_printer *w, uint16_t node)
{
	if (!enter(w))
		return;
	print_left_of(w, node);
	w->depth--;
}

static void print_right(struct itanium_printer *w, uint16_t node)
{
	if (!enter(w))
		return;
	print_right_of(w, node);
	w->depth--;
}

/* The name of a function and, if wanted, its parameters and what it returns. */
static void print_encoding(struct itanium_printer *w, const struct itanium_node *n)
{
	bool bare = w->bare;
	w->bare = false;
	if (!w->style.parameters) {
		itanium_put(w, n->a);
		return;
	}
	if (n->c && !bare)
		print_returned(w, n->c, /* of_type= */ false);
	itanium_put(w, n->a);
	put_char(w, '(');
	itanium_put_list(w, n->b);
	put_char(w, ')');
	print_qualifiers(w, n->flags);
	if (n->c && !bare)
		print_right(w, n->c);
}

static void print_local(struct itanium_printer *w, const struct itanium_node *n)
{
	w->bare = !w->style.llvm && at(w, n->a)->kind == ITANIUM_ENCODING;
	itanium_put(w, n->a);
	w->bare = false;
	PUT(w, "::");
	if (n->c) {
		PUT(w, "{default arg#");
		itanium_put_number(w, n->c);
		PUT(w, "}::");
	}
	itanium_put(w, n->b);
}

static void print_lambda(struct itanium_printer *w, const struct itanium_node *n)
{
	if (w->style.llvm) {
		PUT(w, "'lambda");
		if (n->b > 0)
			itanium_put_number(w, n->b - 1U);
		PUT(w, "'(");
		itanium_put_list(w, n->a);
		put_char(w, ')');
		return;
	}
	PUT(w, "{lambda(");
	itanium_put_list(w, n->a);
	PUT(w, ")#");
	itanium_put_number(w, n->b + 1U);
	put_char(w, '}');
}

static void print_unnamed(struct itanium_printer *w, const struct itanium_node *n)
{
	if (w->style.llvm) {
		PUT(w, "'unnamed");
		if (n->b > 0)
			itanium_put_number(w, n->b - 1U);
		put_char(w, '\'');
		return;
	}
	PUT(w, "{unnamed type#");
	itanium_put_number(w, n->b + 1U);
	put_char(w, '}');
}

static void print_special(struct itanium_printer *w, const struct itanium_node *n)
{
	put_word(w, n->a);
	if (n->a == ITANIUM_T_REFERENCE_TEMPORARY) {
		itanium_put_number(w, n->c);
		PUT(w, " for ");
	}
	itanium_put(w, n->b);
}

static void print_node(struct itanium_printer *w, uint16_t node)
{
	const struct itanium_node *n = at(w, node);
	uint16_t argument = 0;
	switch (n->kind) {
	case ITANIUM_NAME:
		put_slice(w, n->a, n->b);
		return;
	case ITANIUM_TEXT:
		if (w->style.llvm && n->a == ITANIUM_T_NULLPTR)
			PUT(w, "std::nullptr_t");
		else
			put_word(w, n->a);
		return;
	case ITANIUM_ANONYMOUS:
		PUT(w, "(anonymous namespace)");
		return;
	case ITANIUM_QUALIFIED:
	case ITANIUM_SCOPED:
		itanium_put(w, n->a);
		PUT(w, "::");
		itanium_put(w, n->b);
		return;
	case ITANIUM_TEMPLATE:
		itanium_put(w, n->a);
		print_template_args(w, n->b);
		return;
	case ITANIUM_TAGGED:
		itanium_put(w, n->a);
		PUT(w, "[abi:");
		itanium_put(w, n->b);
		put_char(w, ']');
		return;
	case ITANIUM_DTOR:
		put_char(w, '~');
		itanium_put(w, n->a);
		return;
	case ITANIUM_CTOR:
		itanium_put(w, n->a);
		return;
	case ITANIUM_OPERATOR:
		itanium_put_operator(w, n);
		return;
	case ITANIUM_CONVERSION:
		PUT(w, "operator ");
		itanium_put(w, n->a);
		return;
	case ITANIUM_LITERAL_OP:
		PUT(w, "operator\"\" ");
		itanium_put(w, n->a);
		return;
	case ITANIUM_LAMBDA:
		print_lambda(w, n);
		return;
	case ITANIUM_UNNAMED:
		print_unnamed(w, n);
		return;
	case ITANIUM_BINDING:
		put_char(w, '[');
		itanium_put_list(w, n->a);
		put_char(w, ']');
		return;
	case ITANIUM_LOCAL:
		print_local(w, n);
		return;
	case ITANIUM_ENCODING:
		print_encoding(w, n);
		return;
	case ITANIUM_SPECIAL:
		print_special(w, n);
		return;
	case ITANIUM_IN:
		itanium_put(w, n->a);
		PUT(w, "-in-");
		itanium_put(w, n->b);
		return;
	case ITANIUM_VECTOR:
		itanium_put(w, n->a);
		PUT(w, " __vector(");
		itanium_put(w, n->b);
		put_char(w, ')');
		return;
	case ITANIUM_PARAMETER:
		argument = argument_of(w, node);
		if (argument)
			itanium_put(w, argument);
		return;
	case ITANIUM_AUTO:
		PUT(w, "auto");
		if (!w->style.llvm) {
			put_char(w, ':');
			itanium_put_number(w, n->b + 1U);
		}
		return;
	case ITANIUM_PACK:
		itanium_put_list(w, n->a);
		return;
	case ITANIUM_EXPANSION:
		print_expansion(w, n->a);
		return;
	case ITANIUM_DECLTYPE:
		put(w, "decltype (", w->style.llvm ? 8 : 10);
		if (w->style.llvm)
			put_char(w, '(');
		itanium_put(w, n->a);
		put_char(w, ')');
		return;
	case ITANIUM_LITERAL:
		itanium_put_literal(w, n);
		return;
	case ITANIUM_QUALIFIER:
	case ITANIUM_VENDOR:
	case ITANIUM_POINTER:
	case ITANIUM_LREF:
	case ITANIUM_RREF:
	case ITANIUM_POSTFIX:
	case ITANIUM_FUNCTION:
	case ITANIUM_ARRAY:
	case ITANIUM_MEMBER:
		print_left(w, node);
		print_right(w, node);
		return;
	case ITANIUM_NONE:
	case ITANIUM_LIST:
	case ITANIUM_NOEXCEPT:
	case ITANIUM_UNARY:
	case ITANIUM_BINARY:
	case ITANIUM_CALL:
	case ITANIUM_CAST:
	case ITANIUM_LIST_CAST:
	case ITANIUM_BRACED:
	case ITANIUM_SIZEOF:
	case ITANIUM_FUNCTION_PARAMETER:
		itanium_put_expression(w, n);
	}
}

void itanium_put(struct itanium_printer *w, uint16_t node)
{
	if (!enter(w))
		return;
	print_node(w, node);
	w->depth--;
}

bool itanium_print(const struct itanium *p, uint16_t root, struct ux_itanium_style style,
		   size_t most, struct ux_out *out)
{
	char text[1 << 16];
	struct itanium_printer w = {
		.tree = p,
		.start = text,
		.pos = text,
		.end = text + ux_min(most, sizeof(text)),
		.style = style,
		.element = -1,
	};
	itanium_put(&w, root);
	if (w.failed || w.pos == w.start)
		return false;
	ux_out_put(out, text, (size_t)(w.pos - text));
	return true;
}
