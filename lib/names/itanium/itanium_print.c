/* SPDX-License-Identifier: Apache-2.0 */
/* Writing names. */
#include "itanium_printer.h"

static void itanium_put_slice(struct itanium_printer *w, unsigned offset, size_t n)
{
	ux_name_text_put_short(&w->text, w->tree->start + offset, n);
}

void itanium_put_list(struct itanium_printer *w, uint16_t list)
{
	char *mark = NULL; /* end of the last item with a text */
	for (; list; list = itanium_at(w, list)->b) {
		char *before = w->text.pos;
		if (mark)
			ITANIUM_PUT(w, ", ");
		char *item = w->text.pos;
		itanium_put(w, itanium_at(w, list)->a);
		if (w->text.failed)
			return;
		if (w->text.pos == item)
			w->text.pos = before;
		else
			mark = w->text.pos;
	}
}

static void itanium_print_template_args(struct itanium_printer *w, uint16_t list)
{
	if (!w->style.llvm && itanium_last(w) == '<')
		itanium_put_char(w, ' ');
	if (w->style.elide) {
		ITANIUM_PUT(w, "<...>");
		return;
	}
	itanium_put_char(w, '<');
	itanium_put_list(w, list);
	if (!w->style.llvm && itanium_last(w) == '>')
		itanium_put_char(w, ' ');
	itanium_put_char(w, '>');
}

static void itanium_print_expansion(struct itanium_printer *w, uint16_t pattern)
{
	uint16_t pack = itanium_pack_in(w, pattern);
	if (!pack) {
		itanium_put_operand(w, pattern);
		ITANIUM_PUT(w, "...");
		return;
	}
	int outer = w->element;
	bool any = false, varies = w->varies;
	w->element = 0;
	for (uint16_t item = itanium_at(w, pack)->a; item && !w->text.failed;
	     item = itanium_at(w, item)->b) {
		char *before = w->text.pos;
		if (any)
			ITANIUM_PUT(w, ", ");
		char *from = w->text.pos;
		itanium_put(w, pattern);
		if (w->text.failed)
			break;
		if (w->text.pos == from)
			w->text.pos = before;
		else
			any = true;
		w->element++;
	}
	w->element = outer;
	w->varies = varies;
}

/* Writes a function: its name, and unless the style is short its parameters and return type. */
static void itanium_print_encoding(struct itanium_printer *w, const struct itanium_node *n)
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
	itanium_put_char(w, '(');
	if (n->flags & ITANIUM_FOR_OBJECT)
		ITANIUM_PUT(w, "this ");
	itanium_put_list(w, n->b);
	itanium_put_char(w, ')');
	itanium_put_qualifiers(w, n->flags);
	if (n->c && !bare)
		itanium_put_right(w, n->c);
}

static void itanium_print_local(struct itanium_printer *w, const struct itanium_node *n)
{
	uint8_t kind = itanium_at(w, n->a)->kind;
	w->bare = !w->style.llvm && (kind == ITANIUM_ENCODING || kind == ITANIUM_PHRASE);
	itanium_put(w, n->a);
	w->bare = false;
	ITANIUM_PUT(w, "::");
	if (n->c) {
		ITANIUM_PUT(w, "{default arg#");
		itanium_put_number(w, n->c);
		ITANIUM_PUT(w, "}::");
	}
	itanium_put(w, n->b);
}

/*
 * Writes a made-up name of a template parameter: "$T", "$N0" in LLVM's style, "$T0", "$N1" in
 * GNU's.
 */
static void itanium_print_head_name(struct itanium_printer *w, const struct itanium_node *n)
{
	static const char *const names[] = {"$T", "$N", "$TT"};
	ux_name_text_cstr(&w->text, names[n->a]);
	if (!w->style.llvm)
		itanium_put_number(w, n->c);
	else if (n->b > 0)
		itanium_put_number(w, n->b - 1U);
}

/* named: write the name after it, which GNU omits inside of a template template parameter. */
static void itanium_print_head(struct itanium_printer *w, const struct itanium_node *n, bool named)
{
	const struct itanium_node *name = itanium_at(w, n->a);
	if (name->a == ITANIUM_HEAD_TEMPLATE) {
		ITANIUM_PUT(w, "template<");
		for (uint16_t i = n->b; i && !w->text.failed; i = itanium_at(w, i)->b) {
			if (i != n->b)
				ITANIUM_PUT(w, ", ");
			if (!itanium_print_enter(w))
				return;
			itanium_print_head(w, itanium_at(w, itanium_at(w, i)->a), w->style.llvm);
			w->text.depth--;
		}
		itanium_put_bytes(w, w->style.llvm ? "> typename" : "> class",
				  w->style.llvm ? 10 : 7);
	} else if (n->b) {
		itanium_put(w, n->b);
	} else {
		ITANIUM_PUT(w, "typename");
	}
	if (n->c && !w->style.llvm)
		ITANIUM_PUT(w, "...");
	if (named)
		itanium_put_char(w, ' ');
	if (n->c && w->style.llvm)
		ITANIUM_PUT(w, "...");
	if (named)
		itanium_put(w, n->a);
}

static void itanium_print_heads(struct itanium_printer *w, uint16_t heads)
{
	if (!heads)
		return;
	itanium_put_char(w, '<');
	itanium_put_list(w, heads);
	itanium_put_char(w, '>');
}

static void itanium_print_lambda(struct itanium_printer *w, const struct itanium_node *n)
{
	if (w->style.llvm) {
		ITANIUM_PUT(w, "'lambda");
		if (n->b > 0)
			itanium_put_number(w, n->b - 1U);
		itanium_put_char(w, '\'');
	} else {
		ITANIUM_PUT(w, "{lambda");
	}
	itanium_print_heads(w, n->c);
	itanium_put_char(w, '(');
	itanium_put_list(w, n->a);
	itanium_put_char(w, ')');
	if (w->style.llvm)
		return;
	itanium_put_char(w, '#');
	itanium_put_number(w, n->b + 1U);
	itanium_put_char(w, '}');
}

static void itanium_print_unnamed(struct itanium_printer *w, const struct itanium_node *n)
{
	if (n->kind == ITANIUM_BLOCK) {
		ITANIUM_PUT(w, "'block-literal'");
		return;
	}
	if (w->style.llvm) {
		ITANIUM_PUT(w, "'unnamed");
		if (n->b > 0)
			itanium_put_number(w, n->b - 1U);
		itanium_put_char(w, '\'');
		return;
	}
	ITANIUM_PUT(w, "{unnamed type#");
	itanium_put_number(w, n->b + 1U);
	itanium_put_char(w, '}');
}

/* "mod.sub:part" */
static void itanium_print_module(struct itanium_printer *w, const struct itanium_node *n)
{
	if (n->a)
		itanium_put(w, n->a);
	if (n->c)
		itanium_put_char(w, ':');
	else if (n->a)
		itanium_put_char(w, '.');
	itanium_put(w, n->b);
}

static void itanium_print_special(struct itanium_printer *w, const struct itanium_node *n)
{
	itanium_put_word(w, n->a);
	if (n->a == ITANIUM_T_REFERENCE_TEMPORARY) {
		itanium_put_number(w, n->c);
		ITANIUM_PUT(w, " for ");
	}
	itanium_put(w, n->b);
}

static void itanium_print_node(struct itanium_printer *w, uint16_t node)
{
	const struct itanium_node *n = itanium_at(w, node);
	uint16_t argument = 0;
	switch (n->kind) {
	case ITANIUM_NAME:
		itanium_put_slice(w, n->a, n->b);
		return;
	case ITANIUM_TEXT:
		if (w->style.llvm && n->a == ITANIUM_T_NULLPTR)
			ITANIUM_PUT(w, "std::nullptr_t");
		else
			itanium_put_word(w, n->a);
		return;
	case ITANIUM_ANONYMOUS:
		ITANIUM_PUT(w, "(anonymous namespace)");
		return;
	case ITANIUM_QUALIFIED:
	case ITANIUM_SCOPED:
		itanium_put(w, n->a);
		ITANIUM_PUT(w, "::");
		itanium_put(w, n->b);
		return;
	case ITANIUM_TEMPLATE:
		itanium_put(w, n->a);
		itanium_print_template_args(w, n->b);
		return;
	case ITANIUM_TAGGED:
		itanium_put(w, n->a);
		ITANIUM_PUT(w, "[abi:");
		itanium_put(w, n->b);
		itanium_put_char(w, ']');
		return;
	case ITANIUM_DTOR:
		itanium_put_char(w, '~');
		itanium_put(w, n->a);
		return;
	case ITANIUM_CTOR:
		itanium_put(w, n->a);
		return;
	case ITANIUM_OPERATOR:
		itanium_put_operator(w, n);
		return;
	case ITANIUM_CONVERSION:
	case ITANIUM_VENDOR_OP:
		ITANIUM_PUT(w, "operator ");
		itanium_put(w, n->a);
		return;
	case ITANIUM_LITERAL_OP:
		ITANIUM_PUT(w, "operator\"\" ");
		itanium_put(w, n->a);
		return;
	case ITANIUM_LAMBDA:
		itanium_print_lambda(w, n);
		return;
	case ITANIUM_HEAD:
		itanium_print_head(w, n, /* named= */ true);
		return;
	case ITANIUM_HEAD_NAME:
		itanium_print_head_name(w, n);
		return;
	case ITANIUM_FRIEND:
		if (w->style.llvm)
			ITANIUM_PUT(w, "friend ");
		itanium_put(w, n->a);
		if (!w->style.llvm)
			ITANIUM_PUT(w, "[friend]");
		return;
	case ITANIUM_MODULE:
		itanium_print_module(w, n);
		return;
	case ITANIUM_IN_MODULE:
		itanium_put(w, n->a);
		itanium_put_char(w, '@');
		itanium_put(w, n->b);
		return;
	case ITANIUM_BLOCK:
	case ITANIUM_UNNAMED:
		itanium_print_unnamed(w, n);
		return;
	case ITANIUM_BINDING:
		itanium_put_char(w, '[');
		itanium_put_list(w, n->a);
		itanium_put_char(w, ']');
		return;
	case ITANIUM_LOCAL:
		itanium_print_local(w, n);
		return;
	case ITANIUM_ENCODING:
		itanium_print_encoding(w, n);
		return;
	case ITANIUM_SPECIAL:
		itanium_print_special(w, n);
		return;
	case ITANIUM_IN:
		itanium_put(w, n->a);
		ITANIUM_PUT(w, "-in-");
		itanium_put(w, n->b);
		return;
	case ITANIUM_VECTOR:
		itanium_put(w, n->a);
		ITANIUM_PUT(w, " __vector(");
		itanium_put(w, n->b);
		itanium_put_char(w, ')');
		return;
	case ITANIUM_PARAMETER:
		argument = itanium_argument_of(w, node);
		if (argument)
			itanium_put(w, argument);
		return;
	case ITANIUM_AUTO:
		ITANIUM_PUT(w, "auto");
		if (!w->style.llvm) {
			itanium_put_char(w, ':');
			itanium_put_number(w, n->b + 1U);
		}
		return;
	case ITANIUM_PACK:
		itanium_put_list(w, n->a);
		return;
	case ITANIUM_EXPANSION:
		itanium_print_expansion(w, n->a);
		return;
	case ITANIUM_DECLTYPE:
		itanium_put_bytes(w, "decltype (", w->style.llvm ? 8 : 10);
		if (w->style.llvm)
			itanium_put_char(w, '(');
		itanium_put(w, n->a);
		itanium_put_char(w, ')');
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
	case ITANIUM_THROWS:
	case ITANIUM_FOLD:
	case ITANIUM_PHRASE:
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

/*
 * Writes a node that several places refer to. Its text is copied from the place where it was first
 * written, if it is the same everywhere: it must not depend on the element of a pack, nor on the
 * character before it.
 */
static void itanium_print_shared(struct itanium_printer *w, uint16_t node)
{
	struct itanium_written *written = &w->tree->written[node];
	if (written->size > 0) {
		if (ux_name_text_charge_bytes(&w->text, written->size))
			itanium_put_bytes(w, w->text.start + written->from, written->size);
		return;
	}
	bool varies = w->varies;
	const char *looked = w->looked, *from = w->text.pos;
	w->varies = false;
	w->looked = w->text.end;
	itanium_print_node(w, node);
	if (!w->text.failed && !w->varies && w->looked > from)
		*written = (struct itanium_written){(uint32_t)(from - w->text.start),
						    (uint32_t)(w->text.pos - from)};
	w->varies |= varies;
	w->looked = ux_min(w->looked, looked);
}

void itanium_put(struct itanium_printer *w, uint16_t node)
{
	if (!itanium_print_enter(w))
		return;
	if ((itanium_at(w, node)->flags & ITANIUM_SHARED) && !w->bare)
		itanium_print_shared(w, node);
	else
		itanium_print_node(w, node);
	w->text.depth--;
}

bool itanium_print(struct itanium *p, uint16_t root, struct ux_itanium_style style)
{
	struct itanium_printer w = {
		.tree = p,
		.text = *p->text,
		.style = style,
		.element = -1,
		.looked = p->text->end,
	};
	itanium_put(&w, root);
	*p->text = w.text;
	return !w.text.failed && w.text.pos > w.text.start;
}
