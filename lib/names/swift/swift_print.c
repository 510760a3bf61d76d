/* SPDX-License-Identifier: Apache-2.0 */
/* The text of Swift names. */
#include "swift_printer.h"

void swift_give_up(struct swift_printer *w)
{
	w->failed = true;
	w->pos = w->end = w->start; /* nothing more gets in, so that everything ends soon */
}

void swift_put_number(struct swift_printer *w, uint32_t v)
{
	char digits[12];
	int n = snprintf(digits, sizeof(digits), "%u", v);
	put(w, digits, (size_t)n);
}

void swift_put_kids(struct swift_printer *w, uint16_t node, const char *between)
{
	for (unsigned i = 0; i < at(w, node)->n && !w->failed; i++) {
		if (i > 0)
			put(w, between, strlen(between));
		swift_put(w, kid(w, node, i));
	}
}

/* Attributes, the name, what back ends put behind it. */
static void put_global(struct swift_printer *w, uint16_t node)
{
	unsigned n = at(w, node)->n;
	for (unsigned i = 0; i < n && !w->failed; i++) {
		uint16_t part = kid(w, node, i);
		enum swift_kind kind = at(w, part)->kind;
		swift_put(w, part);
		if (kind != SWIFT_PARTIAL_APPLY && kind != SWIFT_PARTIAL_APPLY_OBJC)
			continue;
		if (i + 1 < n && at(w, kid(w, node, i + 1))->kind != SWIFT_SUFFIX)
			PUT(w, " for ");
	}
}

static void put_private_name(struct swift_printer *w, uint16_t node)
{
	bool named = at(w, node)->n > 1;
	uint16_t where = kid(w, node, 0);
	if (w->style.simple) {
		if (named)
			swift_put(w, kid(w, node, 1));
		return;
	}
	put_char(w, '(');
	if (named) {
		swift_put(w, kid(w, node, 1));
		put_char(w, ' ');
	}
	PUT(w, "in ");
	swift_put(w, where);
	put_char(w, ')');
}

static void put_name(struct swift_printer *w, uint16_t node)
{
	switch ((unsigned)at(w, node)->kind) {
	case SWIFT_PRIVATE_NAME:
		put_private_name(w, node);
		return;
	case SWIFT_LOCAL_NAME:
		swift_put(w, kid(w, node, 1));
		PUT(w, " #");
		swift_put_number(w, at(w, kid(w, node, 0))->at + 1);
		return;
	case SWIFT_RELATED_NAME:
		PUT(w, "related decl '");
		swift_put(w, kid(w, node, 0));
		PUT(w, "' for ");
		swift_put(w, kid(w, node, 1));
		return;
	default:
		put_text(w, node);
		if (at(w, node)->kind == SWIFT_INFIX_OPERATOR)
			PUT(w, " infix");
		if (at(w, node)->kind == SWIFT_PREFIX_OPERATOR)
			PUT(w, " prefix");
		if (at(w, node)->kind == SWIFT_POSTFIX_OPERATOR)
			PUT(w, " postfix");
		return;
	}
}

static void put_attribute(struct swift_printer *w, uint16_t node)
{
	enum swift_kind kind = at(w, node)->kind;
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
		put_char(w, '(');
		swift_put_number(w, at(w, kid(w, node, 0))->at);
		put_char(w, ')');
		put_word(w, kind);
		return;
	case SWIFT_OUTLINED_VARIABLE:
	case SWIFT_OUTLINED_READ_ONLY:
		put_word(w, kind);
		swift_put_number(w, at(w, node)->at);
		PUT(w, " of ");
		return;
	case SWIFT_OUTLINED_BRIDGED:
		put_word(w, kind);
		put_text(w, node);
		PUT(w, ") of ");
		return;
	case SWIFT_PARTIAL_APPLY:
	case SWIFT_PARTIAL_APPLY_OBJC:
		if (w->style.simple)
			PUT(w, "partial apply");
		else
			put_word(w, kind);
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
			put_word(w, kind);
		return;
	default:
		put_word(w, kind);
		return;
	}
}

static void put_module(struct swift_printer *w, uint16_t node)
{
	if (!w->style.simple)
		put_text(w, node);
}

static void put_extension(struct swift_printer *w, uint16_t node)
{
	if (!w->style.simple) {
		PUT(w, "(extension in ");
		swift_put(w, kid(w, node, 0));
		PUT(w, "):");
	}
	swift_put(w, kid(w, node, 1));
	if (kid(w, node, 2))
		swift_put(w, kid(w, node, 2));
}

static void put_anonymous(struct swift_printer *w, uint16_t node)
{
	if (w->style.simple)
		return;
	swift_put(w, kid(w, node, 1));
	PUT(w, ".(unknown context at ");
	swift_put(w, kid(w, node, 0));
	PUT(w, ")");
	uint16_t types = kid(w, node, 2);
	if (at(w, types)->n == 0)
		return;
	put_char(w, '<');
	swift_put_kids(w, types, ", ");
	put_char(w, '>');
}

static void put_suffix(struct swift_printer *w, uint16_t node)
{
	if (w->style.simple)
		return;
	PUT(w, " with unmangled suffix \"");
	for (unsigned i = 0; i < at(w, node)->n; i++) {
		char c = w->tree->text[at(w, node)->at + i];
		if (c == '"' || c == '\\')
			put_char(w, '\\');
		put_char(w, c);
	}
	put_char(w, '"');
}

/* Contexts that are no declarations with a type, names, and parts of them; false: another node. */
static bool put_part(struct swift_printer *w, uint16_t node)
{
	enum swift_kind kind = at(w, node)->kind;
	if (swift_is(w->tree, node, SWIFT_IS_NAME)) {
		put_name(w, node);
		return true;
	}
	switch ((unsigned)kind) {
	case SWIFT_GLOBAL:
		put_global(w, node);
		return true;
	case SWIFT_SUFFIX:
		put_suffix(w, node);
		return true;
	case SWIFT_MODULE:
		put_module(w, node);
		return true;
	case SWIFT_EXTENSION:
		put_extension(w, node);
		return true;
	case SWIFT_ANONYMOUS_CONTEXT:
		put_anonymous(w, node);
		return true;
	case SWIFT_INDEX:
		swift_put_number(w, at(w, node)->at);
		return true;
	default:
		return false;
	}
}

static uint16_t put_any(struct swift_printer *w, uint16_t node, bool prefix)
{
	const struct swift *p = w->tree;
	if (put_part(w, node))
		return 0;
	if (swift_is(p, node, SWIFT_IS_ATTRIBUTE))
		put_attribute(w, node);
	else if (swift_is(p, node, SWIFT_IS_CONTEXT | SWIFT_IS_ANY_GENERIC))
		return swift_put_entity(w, node, prefix);
	else if (swift_is(p, node, SWIFT_IS_TYPE))
		swift_put_type(w, node);
	else if (swift_is(p, node, SWIFT_IS_REQUIREMENT))
		swift_put_requirement(w, node);
	else if (at(w, node)->kind == SWIFT_TUPLE_ELEMENT)
		swift_put_tuple_element(w, node);
	else if (at(w, node)->kind == SWIFT_SIGNATURE)
		swift_put_signature(w, node);
	else
		swift_put_made(w, node);
	return 0;
}

static uint16_t put_bounded(struct swift_printer *w, uint16_t node, bool prefix)
{
	if (w->failed || w->depth == SWIFT_PRINT_DEPTH_MOST || ++w->steps > SWIFT_STEPS_MOST) {
		swift_give_up(w);
		return 0;
	}
	w->depth++;
	uint16_t later = put_any(w, node, prefix);
	w->depth--;
	return later;
}

void swift_put(struct swift_printer *w, uint16_t node)
{
	put_bounded(w, node, /* prefix= */ false);
}

uint16_t swift_put_prefix(struct swift_printer *w, uint16_t node)
{
	return put_bounded(w, node, /* prefix= */ true);
}

bool swift_print(const struct swift *p, uint16_t root, struct ux_swift_style style, size_t most,
		 struct ux_out *out)
{
	char text[1 << 16];
	struct swift_printer w = {
		.tree = p,
		.start = text,
		.pos = text,
		.end = text + ux_min(most, sizeof(text)),
		.style = style,
	};
	swift_put(&w, root);
	if (w.failed || w.pos == w.start)
		return false;
	ux_out_put(out, text, (size_t)(w.pos - text));
	return true;
}
