/* SPDX-License-Identifier: Apache-2.0 */
/* The printer of Swift names: its state, and the functions that its parts share. */
#ifndef UX_SWIFT_PRINTER_H
#define UX_SWIFT_PRINTER_H

#include "swift_tree.h"

enum {
	SWIFT_PRINT_DEPTH_MAX = 512, /* deepest nesting of nodes; a level takes about 300 bytes */
	SWIFT_SIGNATURE_MAX = 128,   /* most parameters of one depth that are written */
};

struct swift_printer {
	const struct swift *tree;
	struct ux_name_text text;
	struct ux_swift_style style;
	bool plain;       /* write types without their special syntax, as in names of arguments */
	bool specialized; /* "specialized " was written */
};

/* Writes any node. */
void swift_put(struct swift_printer *w, uint16_t node);

/*
 * Writes a context before the entity that is declared in it. When the context has a type or several
 * words, it must be written after the declaration: nothing is written, and the node is returned;
 * else 0.
 */
uint16_t swift_put_prefix(struct swift_printer *w, uint16_t node);

void swift_put_number(struct swift_printer *w, uint32_t v);
void swift_put_kids(struct swift_printer *w, uint16_t node, const char *between);

/* Writes a declaration; prefix and result as of swift_put_prefix(). */
uint16_t swift_put_entity(struct swift_printer *w, uint16_t node, bool prefix);

/* Writes a function's type. labels: the labels of its parameters, or 0. */
void swift_put_function_type(struct swift_printer *w, uint16_t labels, uint16_t type);
void swift_put_impl_function(struct swift_printer *w, uint16_t type);
void swift_put_type(struct swift_printer *w, uint16_t node);
/* "A" to "Z", "AA", ... and the depth when it is not the outermost. */
void swift_put_param(struct swift_printer *w, uint32_t depth, uint32_t index);
void swift_put_tuple_element(struct swift_printer *w, uint16_t node);
void swift_put_signature(struct swift_printer *w, uint16_t node);
void swift_put_requirement(struct swift_printer *w, uint16_t node);

/* Returns true for a type that is written after a name without a space. */
bool swift_is_function_type(const struct swift *p, uint16_t node);

/* Specializations, with " of " at their end. */
void swift_put_specialization(struct swift_printer *w, uint16_t node);

/* Entities derived from types, conformances and functions. */
void swift_put_made(struct swift_printer *w, uint16_t node);

ux_inline const struct swift_node *swift_at(const struct swift_printer *w, uint16_t node)
{
	return &w->tree->nodes[node];
}

ux_inline uint16_t swift_print_kid(const struct swift_printer *w, uint16_t node, unsigned i)
{
	return swift_kid(w->tree, node, i);
}

ux_inline void swift_put_bytes(struct swift_printer *w, const char *s, size_t n)
{
	ux_name_text_put(&w->text, s, n);
}

ux_inline void swift_put_char(struct swift_printer *w, char c)
{
	ux_name_text_char(&w->text, c);
}

#define SWIFT_PUT(w, literal) UX_NAME_TEXT_PUT(&(w)->text, literal)

/* Writes the text of a kind. */
ux_inline void swift_put_word(struct swift_printer *w, enum swift_kind kind)
{
	swift_put_bytes(w, swift_kinds[kind].text, swift_kinds[kind].size);
}

/* Writes the text of a leaf. */
ux_inline void swift_put_text(struct swift_printer *w, uint16_t node)
{
	swift_put_bytes(w, w->tree->text + swift_at(w, node)->at, swift_at(w, node)->n);
}

#endif
