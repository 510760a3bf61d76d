/* SPDX-License-Identifier: Apache-2.0 */
/* Writing Swift names. */
#include "swift_printer.h"

void swift_put_number(struct swift_printer *w, uint32_t v)
{
	ux_name_text_number(&w->text, v);
}

void swift_put_kids(struct swift_printer *w, uint16_t node, const char *between)
{
	for (unsigned i = 0; i < swift_at(w, node)->n && !w->text.failed; i++) {
		if (i > 0)
			swift_put_bytes(w, between, strlen(between));
		swift_put(w, swift_print_kid(w, node, i));
	}
}

/* Attributes, the name, the suffix. */
static void swift_put_global(struct swift_printer *w, uint16_t node)
{
	unsigned n = swift_at(w, node)->n;
	for (unsigned i = 0; i < n && !w->text.failed; i++) {
		uint16_t part = swift_print_kid(w, node, i);
		enum swift_kind kind = swift_at(w, part)->kind;
		swift_put(w, part);
		if (kind != SWIFT_PARTIAL_APPLY && kind != SWIFT_PARTIAL_APPLY_OBJC)
			continue;
		if (i + 1 < n && swift_at(w, swift_print_kid(w, node, i + 1))->kind != SWIFT_SUFFIX)
			SWIFT_PUT(w, " for ");
	}
}

static void swift_put_private_name(struct swift_printer *w, uint16_t node)
{
	bool named = swift_at(w, node)->n > 1;
	uint16_t where = swift_print_kid(w, node, 0);
	if (w->style.simple) {
		if (named)
			swift_put(w, swift_print_kid(w, node, 1));
		return;
	}
	swift_put_char(w, '(');
	if (named) {
		swift_put(w, swift_print_kid(w, node, 1));
		swift_put_char(w, ' ');
	}
	SWIFT_PUT(w, "in ");
	swift_put(w, where);
	swift_put_char(w, ')');
}

static void swift_put_name(struct swift_printer *w, uint16_t node)
{
	switch ((unsigned)swift_at(w, node)->kind) {
	case SWIFT_PRIVATE_NAME:
		swift_put_private_name(w, node);
		return;
	case SWIFT_LOCAL_NAME:
		swift_put(w, swift_print_kid(w, node, 1));
		SWIFT_PUT(w, " #");
		swift_put_number(w, swift_at(w, swift_print_kid(w, node, 0))->at + 1);
		return;
	case SWIFT_RELATED_NAME:
		SWIFT_PUT(w, "related decl '");
		swift_put(w, swift_print_kid(w, node, 0));
		SWIFT_PUT(w, "' for ");
		swift_put(w, swift_print_kid(w, node, 1));
		return;
	default:
		swift_put_text(w, node);
		if (swift_at(w, node)->kind == SWIFT_INFIX_OPERATOR)
			SWIFT_PUT(w, " infix");
		if (swift_at(w, node)->kind == SWIFT_PREFIX_OPERATOR)
			SWIFT_PUT(w, " prefix");
		if (swift_at(w, node)->kind == SWIFT_POSTFIX_OPERATOR)
			SWIFT_PUT(w, " postfix");
		return;
	}
}

static void swift_put_attribute(struct swift_printer *w, uint16_t node)
{
	enum swift_kind kind = swift_at(w, node)->kind;
	switch ((unsigned)kind) {
	case SWIFT_SPECIALIZED:
	case SWIFT_SPECIALIZED_EARLY:
	case SWIFT_SPECIALIZED_SAME:
	case SWIFT_SPECIALIZED_DOMAIN:
	case SWIFT_SPECIALIZED_INLINED:
	case SWIFT_SPECIALIZED_PARTLY:
	case SWIFT_SPECIALIZED_PARTLY_SAME:
	case SWIFT_SPECIALIZED_SIGNATURE:
		swift_put_specialization(w, node);
		return;
	case SWIFT_AWAIT_RESUME:
	case SWIFT_SUSPEND_RESUME:
		if (w->style.simple)
			return;
		swift_put_char(w, '(');
		swift_put_number(w, swift_at(w, swift_print_kid(w, node, 0))->at);
		swift_put_char(w, ')');
		swift_put_word(w, kind);
		return;
	case SWIFT_OUTLINED_VARIABLE:
	case SWIFT_OUTLINED_READ_ONLY:
		swift_put_word(w, kind);
		swift_put_number(w, swift_at(w, node)->at);
		SWIFT_PUT(w, " of ");
		return;
	case SWIFT_OUTLINED_BRIDGED:
		swift_put_word(w, kind);
		swift_put_text(w, node);
		SWIFT_PUT(w, ") of ");
		return;
	case SWIFT_PARTIAL_APPLY:
	case SWIFT_PARTIAL_APPLY_OBJC:
		if (w->style.simple)
			SWIFT_PUT(w, "partial apply");
		else
			swift_put_word(w, kind);
		return;
	case SWIFT_MERGED:
	case SWIFT_REPLACEABLE_THUNK:
	case SWIFT_REPLACEABLE_KEY:
	case SWIFT_REPLACEABLE_VARIABLE:
	case SWIFT_DISTRIBUTED_THUNK:
	case SWIFT_DISTRIBUTED_ACCESSOR:
	case SWIFT_ACCESSIBLE_RECORD:
	case SWIFT_BACK_DEPLOYMENT:
		if (!w->style.simple)
			swift_put_word(w, kind);
		return;
	default:
		swift_put_word(w, kind);
		return;
	}
}

static void swift_put_module(struct swift_printer *w, uint16_t node)
{
	if (!w->style.simple)
		swift_put_text(w, node);
}

static void swift_put_extension(struct swift_printer *w, uint16_t node)
{
	if (!w->style.simple) {
		SWIFT_PUT(w, "(extension in ");
		swift_put(w, swift_print_kid(w, node, 0));
		SWIFT_PUT(w, "):");
	}
	swift_put(w, swift_print_kid(w, node, 1));
	if (swift_print_kid(w, node, 2))
		swift_put(w, swift_print_kid(w, node, 2));
}

static void swift_put_anonymous(struct swift_printer *w, uint16_t node)
{
	if (w->style.simple)
		return;
	swift_put(w, swift_print_kid(w, node, 1));
	SWIFT_PUT(w, ".(unknown context at ");
	swift_put(w, swift_print_kid(w, node, 0));
	SWIFT_PUT(w, ")");
	uint16_t types = swift_print_kid(w, node, 2);
	if (swift_at(w, types)->n == 0)
		return;
	swift_put_char(w, '<');
	swift_put_kids(w, types, ", ");
	swift_put_char(w, '>');
}

static void swift_put_suffix(struct swift_printer *w, uint16_t node)
{
	if (w->style.simple)
		return;
	SWIFT_PUT(w, " with unmangled suffix \"");
	for (unsigned i = 0; i < swift_at(w, node)->n; i++) {
		char c = w->tree->text[swift_at(w, node)->at + i];
		if (c == '"' || c == '\\')
			swift_put_char(w, '\\');
		swift_put_char(w, c);
	}
	swift_put_char(w, '"');
}

/* Names, their parts, and contexts without a type; false for other nodes. */
static bool swift_put_part(struct swift_printer *w, uint16_t node)
{
	enum swift_kind kind = swift_at(w, node)->kind;
	if (swift_is(w->tree, node, SWIFT_IS_NAME)) {
		swift_put_name(w, node);
		return true;
	}
	switch ((unsigned)kind) {
	case SWIFT_GLOBAL:
		swift_put_global(w, node);
		return true;
	case SWIFT_SUFFIX:
		swift_put_suffix(w, node);
		return true;
	case SWIFT_MODULE:
		swift_put_module(w, node);
		return true;
	case SWIFT_EXTENSION:
		swift_put_extension(w, node);
		return true;
	case SWIFT_ANONYMOUS_CONTEXT:
		swift_put_anonymous(w, node);
		return true;
	case SWIFT_INDEX:
		swift_put_number(w, swift_at(w, node)->at);
		return true;
	default:
		return false;
	}
}

static uint16_t swift_put_any(struct swift_printer *w, uint16_t node, bool prefix)
{
	const struct swift *p = w->tree;
	if (swift_put_part(w, node))
		return 0;
	if (swift_is(p, node, SWIFT_IS_ATTRIBUTE))
		swift_put_attribute(w, node);
	else if (swift_is(p, node, SWIFT_IS_CONTEXT | SWIFT_IS_ANY_GENERIC))
		return swift_put_entity(w, node, prefix);
	else if (swift_is(p, node, SWIFT_IS_TYPE))
		swift_put_type(w, node);
	else if (swift_is(p, node, SWIFT_IS_REQUIREMENT))
		swift_put_requirement(w, node);
	else if (swift_at(w, node)->kind == SWIFT_TUPLE_ELEMENT)
		swift_put_tuple_element(w, node);
	else if (swift_at(w, node)->kind == SWIFT_SIGNATURE)
		swift_put_signature(w, node);
	else
		swift_put_made(w, node);
	return 0;
}

static uint16_t swift_put_bounded(struct swift_printer *w, uint16_t node, bool prefix)
{
	if (!ux_name_text_enter(&w->text, SWIFT_PRINT_DEPTH_MAX))
		return 0;
	uint16_t later = swift_put_any(w, node, prefix);
	w->text.depth--;
	return later;
}

void swift_put(struct swift_printer *w, uint16_t node)
{
	swift_put_bounded(w, node, /* prefix= */ false);
}

uint16_t swift_put_prefix(struct swift_printer *w, uint16_t node)
{
	return swift_put_bounded(w, node, /* prefix= */ true);
}

bool swift_print(const struct swift *p, uint16_t root, struct ux_swift_style style)
{
	struct swift_printer w = {
		.tree = p,
		.text = *p->budget,
		.style = style,
	};
	swift_put(&w, root);
	*p->budget = w.text;
	return !w.text.failed && w.text.pos > w.text.start;
}
