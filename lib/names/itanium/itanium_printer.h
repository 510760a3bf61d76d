/* SPDX-License-Identifier: Apache-2.0 */
/* The printer of C++ names: its state, and the functions that its parts share. */
#ifndef UX_ITANIUM_PRINTER_H
#define UX_ITANIUM_PRINTER_H

#include "itanium_tree.h"

enum {
	ITANIUM_PRINT_DEPTH_MAX =
		768, /* deepest nesting of nodes, each of about 200 bytes of stack */
};

/* State of writing one name. */
struct itanium_printer {
	struct itanium *tree; /* only `written` changes in it */
	struct ux_name_text text;
	struct ux_itanium_style style;
	bool bare;   /* write functions without their return type, as they enclose an entity */
	int element; /* current element of the packs that are being expanded; -1: none */
	bool varies; /* the text since this was cleared depends on `element` */
	/* the first position at which the preceding character was examined */
	const char *looked;
};

/*
 * Returns the template argument that a PARAMETER refers to in the current element of an expansion;
 * 0: none.
 */
uint16_t itanium_argument_of(struct itanium_printer *w, uint16_t node);

/* " const", " &", ... */
void itanium_put_qualifiers(struct itanium_printer *w, uint8_t flags);

/* Write the parts of a type before and after the name that it would declare. */
void itanium_put_left(struct itanium_printer *w, uint16_t node);
void itanium_put_right(struct itanium_printer *w, uint16_t node);

/*
 * Writes a function's return type before its name, without a space after "void (*". of_type: the
 * function is part of a type, and LLVM then writes a space.
 */
void itanium_put_returned(struct itanium_printer *w, uint16_t type, bool of_type);

/* Writes any node. */
void itanium_put(struct itanium_printer *w, uint16_t node);

/* Writes the items of a list, with ", " between the items that are not empty. */
void itanium_put_list(struct itanium_printer *w, uint16_t list);

/* Writes an operand, in parentheses unless it is a name. */
void itanium_put_operand(struct itanium_printer *w, uint16_t node);

void itanium_put_operator(struct itanium_printer *w, const struct itanium_node *n);
void itanium_put_literal(struct itanium_printer *w, const struct itanium_node *n);

/* Writes a node of a kind that only occurs in expressions. Any other kind fails the text. */
void itanium_put_expression(struct itanium_printer *w, const struct itanium_node *n);

/* Returns the first pack in the pattern, over which it is expanded; 0: none. */
uint16_t itanium_pack_in(struct itanium_printer *w, uint16_t node);

ux_inline const struct itanium_node *itanium_at(const struct itanium_printer *w, uint16_t node)
{
	return &w->tree->nodes[node];
}

ux_inline bool itanium_print_enter(struct itanium_printer *w)
{
	return ux_name_text_enter(&w->text, ITANIUM_PRINT_DEPTH_MAX);
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

ux_inline char itanium_last(struct itanium_printer *w)
{
	w->looked = ux_min(w->looked, (const char *)w->text.pos);
	return ux_name_text_last(&w->text);
}

ux_inline void itanium_put_word(struct itanium_printer *w, uint16_t text)
{
	const struct itanium_word *word = &itanium_words[text];
	ux_name_text_put_short(&w->text, word->text, word->size);
}

#endif
