/* SPDX-License-Identifier: Apache-2.0 */
/* Types of Swift's functions as text. */
#include "swift_printer.h"

bool swift_is_function_type(const struct swift *p, uint16_t node)
{
	switch ((unsigned)swift_kind_of(p, node)) {
	case SWIFT_FUNCTION_TYPE:
	case SWIFT_NOESCAPE_TYPE:
	case SWIFT_UNCURRIED_TYPE:
	case SWIFT_GENERIC:
		return true;
	default:
		return false;
	}
}

static void put_parameter_label(struct swift_printer *w, uint16_t labels, unsigned i)
{
	uint16_t label = kid(w, labels, i);
	if (label && at(w, label)->kind == SWIFT_IDENTIFIER)
		put_text(w, label);
	else
		put_char(w, '_');
	put_char(w, ':');
}

static void put_parameters(struct swift_printer *w, uint16_t labels, uint16_t type)
{
	bool types = !w->style.simple, labeled = labels && at(w, labels)->n > 0;
	if (at(w, type)->kind != SWIFT_TUPLE) {
		put_char(w, '(');
		if (types)
			swift_put(w, type);
		else
			PUT(w, "_:");
		put_char(w, ')');
		return;
	}
	put_char(w, '(');
	for (unsigned i = 0; i < at(w, type)->n && !w->failed; i++) {
		uint16_t element = kid(w, type, i);
		uint16_t own = swift_find(w->tree, element, SWIFT_IDENTIFIER);
		if (i > 0 && types)
			PUT(w, ", ");
		if (labeled) {
			put_parameter_label(w, labels, i);
			if (types)
				put_char(w, ' ');
		} else if (!types) {
			if (own)
				put_text(w, own);
			else
				put_char(w, '_');
			put_char(w, ':');
		}
		if (types)
			swift_put(w, element);
	}
	put_char(w, ')');
}

static void put_differentiable(struct swift_printer *w, uint16_t node)
{
	switch ((char)at(w, node)->at) {
	case 'f':
		PUT(w, "@differentiable(_forward) ");
		return;
	case 'r':
		PUT(w, "@differentiable(reverse) ");
		return;
	case 'l':
		PUT(w, "@differentiable(_linear) ");
		return;
	default:
		PUT(w, "@differentiable ");
		return;
	}
}

static void put_convention(struct swift_printer *w, uint16_t type)
{
	enum swift_kind kind = at(w, type)->kind;
	uint16_t c_type = swift_find(w->tree, type, SWIFT_C_TYPE);
	put_word(w, kind);
	if (kind != SWIFT_C_FUNCTION_TYPE && kind != SWIFT_BLOCK_TYPE &&
	    kind != SWIFT_ESCAPING_BLOCK_TYPE)
		return;
	if (c_type) {
		PUT(w, ", mangledCType: \"");
		put_text(w, c_type);
		put_char(w, '"');
	}
	PUT(w, ") ");
}

void swift_put_function_type(struct swift_printer *w, uint16_t labels, uint16_t type)
{
	uint16_t throws = 0, parameters = 0, result = 0;
	bool async = false, sendable = false, sending = false;
	put_convention(w, type);
	for (unsigned i = 0; i < at(w, type)->n; i++) {
		uint16_t part = kid(w, type, i);
		switch ((unsigned)at(w, part)->kind) {
		case SWIFT_GLOBAL_ACTOR:
		case SWIFT_ISOLATED_ANY:
		case SWIFT_NONISOLATED_CALLER:
			swift_put(w, part);
			break;
		case SWIFT_DIFFERENTIABLE:
			put_differentiable(w, part);
			break;
		case SWIFT_THROWS:
		case SWIFT_TYPED_THROWS:
			throws = part;
			break;
		case SWIFT_ARGUMENT:
			parameters = kid(w, part, 0);
			break;
		case SWIFT_RESULT:
			result = kid(w, part, 0);
			break;
		default:
			async = async || at(w, part)->kind == SWIFT_ASYNC;
			sendable = sendable || at(w, part)->kind == SWIFT_SENDABLE;
			sending = sending || at(w, part)->kind == SWIFT_SENDING_RESULT;
			break;
		}
	}
	if (!parameters || !result) {
		swift_give_up(w);
		return;
	}
	if (sendable)
		PUT(w, "@Sendable ");
	put_parameters(w, labels, parameters);
	if (w->style.simple)
		return;
	if (async)
		PUT(w, " async");
	if (throws)
		swift_put(w, throws);
	PUT(w, " -> ");
	if (sending)
		PUT(w, "sending ");
	swift_put(w, result);
}

enum place {
	ATTRIBUTES,
	INPUTS,
	RESULTS,
};

static enum place place_of(enum swift_kind kind)
{
	switch ((unsigned)kind) {
	case SWIFT_IMPL_PARAMETER:
		return INPUTS;
	case SWIFT_IMPL_RESULT:
	case SWIFT_IMPL_YIELD:
	case SWIFT_IMPL_ERROR:
		return RESULTS;
	default:
		return ATTRIBUTES;
	}
}

/* What stands between attributes, parameters and results, from one place to a later one. */
static void put_places(struct swift_printer *w, uint16_t type, enum place from, enum place to)
{
	uint16_t pattern = swift_find(w->tree, type, SWIFT_IMPL_PATTERN);
	if (from == ATTRIBUTES && to > ATTRIBUTES) {
		if (pattern) {
			put_word(w, SWIFT_IMPL_PATTERN);
			swift_put(w, kid(w, pattern, 0));
			put_char(w, ' ');
		}
		put_char(w, '(');
	}
	if (from < RESULTS && to == RESULTS) {
		PUT(w, ") -> ");
		if (swift_find(w->tree, type, SWIFT_SENDING_RESULT))
			PUT(w, "sending ");
		put_char(w, '(');
	}
}

static void put_impl_substitutions(struct swift_printer *w, uint16_t list)
{
	PUT(w, " for <");
	swift_put_kids(w, list, ", ");
	put_char(w, '>');
}

void swift_put_impl_function(struct swift_printer *w, uint16_t type)
{
	enum place place = ATTRIBUTES;
	uint16_t pattern = 0, invocation = 0;
	bool first = true; /* of its place */
	for (unsigned i = 0; i < at(w, type)->n && !w->failed; i++) {
		uint16_t part = kid(w, type, i);
		enum swift_kind kind = at(w, part)->kind;
		if (kind == SWIFT_IMPL_PATTERN)
			pattern = part;
		if (kind == SWIFT_IMPL_INVOCATION)
			invocation = part;
		if (kind == SWIFT_IMPL_PATTERN || kind == SWIFT_IMPL_INVOCATION ||
		    kind == SWIFT_SENDING_RESULT)
			continue;
		enum place next = ux_max(place_of(kind), place);
		put_places(w, type, place, next);
		first = first || next != place;
		place = next;
		if (place != ATTRIBUTES && !first)
			PUT(w, ", ");
		first = false;
		swift_put(w, part);
		if (place == ATTRIBUTES)
			put_char(w, ' ');
	}
	put_places(w, type, place, RESULTS);
	put_char(w, ')');
	if (pattern)
		put_impl_substitutions(w, kid(w, pattern, 1));
	if (invocation)
		put_impl_substitutions(w, kid(w, invocation, 0));
}
