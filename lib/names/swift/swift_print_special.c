/* SPDX-License-Identifier: Apache-2.0 */
/* Swift's specializations as text. */
#include "swift_printer.h"

static void put_flags(struct swift_printer *w, uint32_t flags)
{
	static const char *const texts[] = {"Existential To Protocol Constrained Generic", "Dead",
					    "Owned To Guaranteed", "Guaranteed To Owned",
					    "Exploded"};
	bool any = false;
	for (size_t i = 0; i < ux_countof(texts); i++) {
		if (!(flags & 1u << i))
			continue;
		if (any)
			PUT(w, " and ");
		any = true;
		put(w, texts[i], strlen(texts[i]));
	}
}

/* A constant's text, or the name that it is, which is told in full. */
static void put_payload(struct swift_printer *w, uint16_t node)
{
	if (at(w, node)->kind != SWIFT_SPEC_NAME) {
		put_text(w, node);
		return;
	}
	bool plain = w->plain;
	w->plain = true;
	swift_put(w, kid(w, node, 0));
	w->plain = plain;
}

static void put_argument(struct swift_printer *w, uint16_t node)
{
	uint16_t what = kid(w, node, 0);
	enum swift_kind kind = at(w, what)->kind;
	switch ((unsigned)kind) {
	case SWIFT_SPEC_FLAGS:
		put_flags(w, at(w, what)->at);
		return;
	case SWIFT_SPEC_BOX_VALUE:
	case SWIFT_SPEC_BOX_STACK:
	case SWIFT_SPEC_INOUT:
		put_word(w, kind);
		return;
	default:
		break;
	}
	put_char(w, '[');
	put_word(w, kind);
	PUT(w, " : ");
	put_payload(w, kid(w, node, 1));
	if (kind == SWIFT_SPEC_STRING) {
		put_char(w, '\'');
		put_payload(w, kid(w, node, 2));
		put_char(w, '\'');
	}
	bool closure = kind == SWIFT_SPEC_CLOSURE, path = kind == SWIFT_SPEC_KEYPATH;
	if (closure)
		PUT(w, ", Argument Types : [");
	if (path)
		put_char(w, '<');
	for (unsigned i = 2; (closure || path) && i < at(w, node)->n && !w->failed; i++) {
		if (i > 2 && path)
			put_char(w, ',');
		else if (i > 2)
			PUT(w, ", ");
		swift_put(w, kid(w, node, i));
	}
	if (path)
		put_char(w, '>');
	put_char(w, ']');
}

static void put_part(struct swift_printer *w, uint16_t part, unsigned argument)
{
	switch ((unsigned)at(w, part)->kind) {
	case SWIFT_SPEC_SERIALIZED:
		put_word(w, SWIFT_SPEC_SERIALIZED);
		return;
	case SWIFT_SPEC_ARGUMENT:
		PUT(w, "Arg[");
		swift_put_number(w, argument);
		PUT(w, "] = ");
		put_argument(w, part);
		return;
	case SWIFT_SPEC_RETURN:
		PUT(w, "Return = ");
		put_argument(w, part);
		return;
	default:
		put_word(w, at(w, part)->kind);
		swift_put_kids(w, part, "");
		return;
	}
}

void swift_put_specialization(struct swift_printer *w, uint16_t node)
{
	if (w->style.simple) {
		if (!w->specialized)
			PUT(w, "specialized ");
		w->specialized = true;
		return;
	}
	bool any = false;
	unsigned argument = 0;
	put_word(w, at(w, node)->kind);
	PUT(w, " <");
	for (unsigned i = 0; i < at(w, node)->n && !w->failed; i++) {
		uint16_t part = kid(w, node, i);
		enum swift_kind kind = at(w, part)->kind;
		bool is_argument = kind == SWIFT_SPEC_ARGUMENT || kind == SWIFT_SPEC_RETURN;
		bool unchanged = is_argument && at(w, part)->n == 0;
		if (!unchanged) {
			if (any)
				PUT(w, ", ");
			any = true;
			put_part(w, part, argument);
		}
		argument += is_argument;
	}
	PUT(w, "> of ");
}
