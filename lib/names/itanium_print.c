/* SPDX-License-Identifier: Apache-2.0 */
/* The text of names. */
#include "itanium_printer.h"

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

bool itanium_print_enter(struct itanium_printer *w)
{
	if (w->failed || w->depth == DEPTH_MOST || ++w->steps > STEPS_MOST) {
		itanium_give_up(w);
		return false;
	}
	w->depth++;
	return true;
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
		itanium_put_returned(w, n->c, /* of_type= */ false);
	itanium_put(w, n->a);
	put_char(w, '(');
	itanium_put_list(w, n->b);
	put_char(w, ')');
	itanium_put_qualifiers(w, n->flags);
	if (n->c && !bare)
		itanium_put_right(w, n->c);
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
		argument = itanium_argument_of(w, node);
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
		itanium_put_left(w, node);
		itanium_put_right(w, node);
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
	if (!itanium_print_enter(w))
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
