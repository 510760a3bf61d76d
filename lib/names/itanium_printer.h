/* SPDX-License-Identifier: Apache-2.0 */
/* A text in the making: what the parts of the printer share. */
#ifndef UX_ITANIUM_PRINTER_H
#define UX_ITANIUM_PRINTER_H

#include "itanium_tree.h"

enum {
	STEPS_MOST = 1 << 18, /* nodes that are written, with those that have no text */
	DEPTH_MOST = 768,     /* of nodes in each other; a level takes about 200 bytes of stack */
};

/* One text in the making. It is kept here until it is whole. */
struct itanium_printer {
	const struct itanium *tree;
	char *start, *pos, *end;
	struct ux_itanium_style style;
	bool failed;
	bool bare;   /* functions without what they return: they enclose something */
	int element; /* of packs that are being expanded; -1: none is */
	unsigned depth;
	unsigned steps;
};

/* Ends the text: it is no good, and whatever is still written goes nowhere. */
void itanium_give_up(struct itanium_printer *w);
void itanium_put_number(struct itanium_printer *w, unsigned v);

/* One node deeper; false, and the text is ended, when that is too deep or takes too long. Each true
 * is undone by w->depth--. */
bool itanium_print_enter(struct itanium_printer *w);

/* The argument that a PARAMETER stands for at this place of an expansion; 0: none. */
uint16_t itanium_argument_of(const struct itanium_printer *w, uint16_t node);

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

ux_inline const struct itanium_node *at(const struct itanium_printer *w, uint16_t node)
{
	return &w->tree->nodes[node];
}

ux_inline void put(struct itanium_printer *w, const char *text, size_t n)
{
	if (ux_unlikely((size_t)(w->end - w->pos) < n)) {
		itanium_give_up(w);
		return;
	}
	memcpy(w->pos, text, n);
	w->pos += n;
}

ux_inline void put_char(struct itanium_printer *w, char c)
{
	if (ux_unlikely(w->pos == w->end)) {
		itanium_give_up(w);
		return;
	}
	*w->pos++ = c;
}

#define PUT(w, literal) put((w), (literal), sizeof(literal) - 1)

ux_inline char last(const struct itanium_printer *w)
{
	return w->pos > w->start ? w->pos[-1] : '\0';
}

ux_inline void put_word(struct itanium_printer *w, uint16_t text)
{
	const struct itanium_word *word = &itanium_words[text];
	put(w, word->text, word->size);
}

#endif
