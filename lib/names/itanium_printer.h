/* SPDX-License-Identifier: Apache-2.0 */
/* The printer of C++ names: its state, and what its parts share. */
#ifndef UX_ITANIUM_PRINTER_H
#define UX_ITANIUM_PRINTER_H

#include "itanium_tree.h"

enum {
	ITANIUM_PRINT_DEPTH_MOST =
		768, /* of nodes in each other, of about 200 bytes of stack each */
};

/* A text while it is written. */
struct itanium_printer {
	const struct itanium *tree;
	struct ux_name_text text;
	struct ux_itanium_style style;
	bool bare;   /* functions without their return type: they enclose something */
	int element; /* of packs that are being expanded; -1: none is */
};

/* The argument that a PARAMETER stands for in this element of an expansion; 0: none. */
uint16_t itanium_argument_of(struct itanium_printer *w, uint16_t node);

/* " const", " &", ... */
void itanium_put_qualifiers(struct itanium_printer *w, uint8_t flags);

/* The parts of a type before and behind the name that it would declare. */
void itanium_put_left(struct itanium_printer *w, uint16_t node);
void itanium_put_right(struct itanium_printer *w, uint16_t node);

/* What a function returns, in front of its name: "void (*" is followed by no space. of_type: in a
 * type, where LLVM puts one. */
void itanium_put_returned(struct itanium_printer *w, uint16_t type, bool of_type);

/* Any node. */
void itanium_put(struct itanium_printer *w, uint16_t node);

/* Items with ", " between those that have a text. */
void itanium_put_list(struct itanium_printer *w, uint16_t list);

/* An operand: in parentheses, unless it is a name. */
void itanium_put_operand(struct itanium_printer *w, uint16_t node);

void itanium_put_operator(struct itanium_printer *w, const struct itanium_node *n);
void itanium_put_literal(struct itanium_printer *w, const struct itanium_node *n);

/* The kinds that only expressions have; another ends the text. */
void itanium_put_expression(struct itanium_printer *w, const struct itanium_node *n);

/* The first pack that the pattern names, which is what it is expanded over; 0: none. */
uint16_t itanium_pack_in(struct itanium_printer *w, uint16_t node);

ux_inline const struct itanium_node *itanium_at(const struct itanium_printer *w, uint16_t node)
{
	return &w->tree->nodes[node];
}

ux_inline bool itanium_print_enter(struct itanium_printer *w)
{
	return ux_name_text_enter(&w->text, ITANIUM_PRINT_DEPTH_MOST);
}

ux_inline void itanium_put_number(struct itanium_printer *w, unsigned v)
{
	ux_name_text_number(&w->text, v);
}

ux_inline void itanium_put_bytes(struct itanium_printer *w, const char *s, size_t n)
{
	ux_name_text_put(&w->text, s, n);
}

ux_inline void itanium_put_char(struct itanium_printer *w, char c)
{
	ux_name_text_char(&w->text, c);
}

#define ITANIUM_PUT(w, literal) UX_NAME_TEXT_PUT(&(w)->text, literal)

ux_inline char itanium_last(const struct itanium_printer *w)
{
	return ux_name_text_last(&w->text);
}

ux_inline void itanium_put_word(struct itanium_printer *w, uint16_t text)
{
	const struct itanium_word *word = &itanium_words[text];
	itanium_put_bytes(w, word->text, word->size);
}

#endif
