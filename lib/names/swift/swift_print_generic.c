/* SPDX-License-Identifier: Apache-2.0 */
/* Generic signatures of Swift's functions and types as text. */
#include "swift_printer.h"

void swift_put_param(struct swift_printer *w, uint32_t depth, uint32_t index)
{
	do {
		put_char(w, (char)('A' + index % 26));
		index /= 26;
	} while (index);
	if (depth > 0)
		swift_put_number(w, depth);
}

/* Whether a requirement marks that parameter; gives its node. */
static uint16_t mark_of(const struct swift_printer *w, uint16_t node, enum swift_kind kind,
			uint32_t param)
{
	for (unsigned i = 0; i < at(w, node)->n; i++) {
		uint16_t r = kid(w, node, i);
		if (at(w, r)->kind == kind && at(w, kid(w, r, 0))->at == param)
			return r;
	}
	return 0;
}

static void put_params(struct swift_printer *w, uint16_t node, uint32_t depth, uint32_t n)
{
	for (uint32_t i = 0; i < n && !w->failed; i++) {
		if (i > 0)
			PUT(w, ", ");
		if (i == SWIFT_SIGNATURE_MOST) {
			PUT(w, "...");
			return;
		}
		uint16_t value = mark_of(w, node, SWIFT_VALUE_MARK, depth << 16 | i);
		if (mark_of(w, node, SWIFT_PACK_MARK, depth << 16 | i))
			PUT(w, "each ");
		if (value)
			PUT(w, "let ");
		swift_put_param(w, depth, i);
		if (value) {
			PUT(w, ": ");
			swift_put(w, kid(w, value, 1));
		}
	}
}

void swift_put_signature(struct swift_printer *w, uint16_t node)
{
	bool any = false;
	put_char(w, '<');
	if (w->style.elide) {
		PUT(w, "...>");
		return;
	}
	for (unsigned i = 0; i < at(w, node)->n && !w->failed; i++) {
		uint16_t part = kid(w, node, i);
		enum swift_kind kind = at(w, part)->kind;
		if (kind == SWIFT_PARAM_COUNT) {
			if (i > 0)
				PUT(w, "><");
			put_params(w, node, i, at(w, part)->at);
			continue;
		}
		if (w->style.simple || kind == SWIFT_PACK_MARK || kind == SWIFT_VALUE_MARK)
			continue;
		if (any)
			PUT(w, ", ");
		else
			PUT(w, " where ");
		any = true;
		swift_put(w, part);
	}
	put_char(w, '>');
}

static void put_layout(struct swift_printer *w, uint16_t node)
{
	static const struct {
		char letter;
		const char *name;
	} names[] = {
		{'U', "_UnknownLayout"},
		{'R', "_RefCountedObject"},
		{'N', "_NativeRefCountedObject"},
		{'C', "AnyObject"},
		{'D', "_NativeClass"},
		{'T', "_Trivial"},
		{'E', "_Trivial"},
		{'e', "_Trivial"},
		{'M', "_TrivialAtMost"},
		{'m', "_TrivialAtMost"},
	};
	char c = w->tree->text[at(w, kid(w, node, 1))->at];
	swift_put(w, kid(w, node, 0));
	PUT(w, ": ");
	for (size_t i = 0; i < ux_countof(names); i++)
		if (names[i].letter == c)
			put(w, names[i].name, strlen(names[i].name));
	if (!kid(w, node, 2))
		return;
	put_char(w, '(');
	swift_put(w, kid(w, node, 2));
	if (kid(w, node, 3)) {
		PUT(w, ", ");
		swift_put(w, kid(w, node, 3));
	}
	put_char(w, ')');
}

static void put_inverse(struct swift_printer *w, uint16_t node)
{
	uint32_t bit = at(w, kid(w, node, 1))->at;
	swift_put(w, kid(w, node, 0));
	PUT(w, ": ~Swift.");
	if (bit == 0) {
		PUT(w, "Copyable");
	} else if (bit == 1) {
		PUT(w, "Escapable");
	} else {
		PUT(w, "<bit ");
		swift_put_number(w, bit);
		put_char(w, '>');
	}
}

void swift_put_requirement(struct swift_printer *w, uint16_t node)
{
	switch ((unsigned)at(w, node)->kind) {
	case SWIFT_SAME_TYPE:
		swift_put_kids(w, node, " == ");
		return;
	case SWIFT_SAME_SHAPE:
		swift_put_kids(w, node, ".shape == ");
		PUT(w, ".shape");
		return;
	case SWIFT_LAYOUT:
		put_layout(w, node);
		return;
	case SWIFT_INVERSE:
		put_inverse(w, node);
		return;
	default:
		swift_put_kids(w, node, ": ");
		return;
	}
}
