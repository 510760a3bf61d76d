/* SPDX-License-Identifier: Apache-2.0 */
/* Swift's types as text. */
#include "swift_printer.h"

/* Whether "?" or ".Type" can follow the type without parentheses. */
static bool is_simple(const struct swift_printer *w, uint16_t node)
{
	uint16_t list = 0;
	enum swift_kind kind = at(w, node)->kind;
	if (kind >= SWIFT_FUNCTION_TYPE && kind <= SWIFT_CALLED_ONCE_TYPE)
		return false;
	switch ((unsigned)kind) {
	case SWIFT_PROTOCOLS:
		return at(w, kid(w, node, 0))->n <= 1;
	case SWIFT_PROTOCOLS_OBJECT:
		list = kid(w, kid(w, node, 0), 0);
		return at(w, list)->n == 0;
	case SWIFT_PROTOCOLS_CLASS:
	case SWIFT_IMPL_FUNCTION:
	case SWIFT_INOUT:
	case SWIFT_SHARED:
	case SWIFT_OWNED:
	case SWIFT_ISOLATED:
	case SWIFT_SENDING:
	case SWIFT_COMPILE_TIME:
	case SWIFT_CONST_VALUE:
	case SWIFT_NO_DERIVATIVE:
	case SWIFT_WEAK:
	case SWIFT_UNOWNED:
	case SWIFT_UNMANAGED:
	case SWIFT_PACK_EXPANSION:
	case SWIFT_PACK_ELEMENT:
	case SWIFT_CONSTRAINED_EXISTENTIAL:
	case SWIFT_OPAQUE:
	case SWIFT_SOME:
		return false;
	default:
		return true;
	}
}

static void put_operand(struct swift_printer *w, uint16_t node)
{
	bool simple = is_simple(w, node);
	if (!simple)
		put_char(w, '(');
	swift_put(w, node);
	if (!simple)
		put_char(w, ')');
}

static bool is_of_swift(const struct swift_printer *w, uint16_t decl, const char *name)
{
	uint16_t module = kid(w, decl, 0), id = kid(w, decl, 1);
	size_t n = strlen(name);
	return at(w, module)->kind == SWIFT_MODULE && at(w, module)->n == 5 &&
	       memcmp(w->tree->text + at(w, module)->at, "Swift", 5) == 0 &&
	       at(w, id)->kind == SWIFT_IDENTIFIER && at(w, id)->n == n &&
	       memcmp(w->tree->text + at(w, id)->at, name, n) == 0;
}

static void put_enclosed(struct swift_printer *w, uint16_t first, const char *between,
			 uint16_t second)
{
	put_char(w, '[');
	swift_put(w, first);
	if (second) {
		put(w, between, strlen(between));
		swift_put(w, second);
	}
	put_char(w, ']');
}

/* The types that have a syntax of their own; false: another. */
static bool put_sugar(struct swift_printer *w, uint16_t decl, uint16_t list, enum swift_kind kind)
{
	unsigned n = at(w, list)->n;
	uint16_t first = kid(w, list, 0), second = kid(w, list, 1);
	bool optional = is_of_swift(w, decl, "Optional");
	if (kind == SWIFT_BOUND_ENUM && n == 1 &&
	    (optional || is_of_swift(w, decl, "ImplicitlyUnwrappedOptional"))) {
		put_operand(w, first);
		put_char(w, optional ? '?' : '!');
		return true;
	}
	if (kind != SWIFT_BOUND_STRUCTURE)
		return false;
	if (n == 1 && is_of_swift(w, decl, "Array")) {
		put_enclosed(w, first, "", 0);
		return true;
	}
	if (n == 2 && is_of_swift(w, decl, "Dictionary")) {
		put_enclosed(w, first, " : ", second);
		return true;
	}
	return false;
}

static void put_list(struct swift_printer *w, uint16_t list)
{
	put_char(w, '<');
	if (w->style.elide)
		PUT(w, "...");
	else
		swift_put_kids(w, list, ", ");
	put_char(w, '>');
}

static void put_bound(struct swift_printer *w, uint16_t node)
{
	enum swift_kind kind = at(w, node)->kind;
	uint16_t decl = kid(w, node, 0), list = kid(w, node, 1);
	if (kind == SWIFT_BOUND_PROTOCOL) {
		swift_put_kids(w, list, "");
		PUT(w, " as ");
		swift_put(w, decl);
		return;
	}
	if (!w->plain && put_sugar(w, decl, list, kind))
		return;
	swift_put(w, decl);
	put_list(w, list);
}

void swift_put_tuple_element(struct swift_printer *w, uint16_t node)
{
	bool variadic = false;
	for (unsigned i = 0; i < at(w, node)->n; i++) {
		uint16_t part = kid(w, node, i);
		if (at(w, part)->kind == SWIFT_VARIADIC_MARK) {
			variadic = true;
			continue;
		}
		swift_put(w, part);
		if (at(w, part)->kind == SWIFT_IDENTIFIER)
			PUT(w, ": ");
	}
	if (variadic)
		PUT(w, "...");
}

static bool is_existential(const struct swift_printer *w, uint16_t node)
{
	switch ((unsigned)at(w, node)->kind) {
	case SWIFT_EXISTENTIAL_METATYPE:
	case SWIFT_PROTOCOLS:
	case SWIFT_PROTOCOLS_CLASS:
	case SWIFT_PROTOCOLS_OBJECT:
		return true;
	default:
		return false;
	}
}

static void put_metatype(struct swift_printer *w, uint16_t node)
{
	uint16_t type = kid(w, node, 0);
	if (at(w, type)->kind == SWIFT_METATYPE_REPRESENTATION) {
		put_text(w, type);
		put_char(w, ' ');
		type = kid(w, node, 1);
	}
	if (at(w, node)->kind == SWIFT_EXISTENTIAL_METATYPE)
		swift_put(w, type);
	else
		put_operand(w, type);
	if (at(w, node)->kind == SWIFT_METATYPE && is_existential(w, type))
		PUT(w, ".Protocol");
	else
		PUT(w, ".Type");
}

static void put_protocols(struct swift_printer *w, uint16_t node)
{
	enum swift_kind kind = at(w, node)->kind;
	uint16_t list = kid(w, kind == SWIFT_PROTOCOLS ? node : kid(w, node, 0), 0);
	if (kind == SWIFT_PROTOCOLS_CLASS) {
		swift_put(w, kid(w, node, 1));
		PUT(w, " & ");
	}
	swift_put_kids(w, list, " & ");
	if (kind == SWIFT_PROTOCOLS && at(w, list)->n == 0)
		PUT(w, "Any");
	if (kind != SWIFT_PROTOCOLS_OBJECT)
		return;
	if (at(w, list)->n > 0)
		PUT(w, " & ");
	PUT(w, "Swift.AnyObject");
}

static void put_box(struct swift_printer *w, uint16_t node)
{
	uint16_t signature = swift_find(w->tree, node, SWIFT_SIGNATURE);
	uint16_t arguments = swift_find(w->tree, node, SWIFT_TYPE_LIST);
	if (signature) {
		swift_put(w, signature);
		put_char(w, ' ');
	}
	put_char(w, '{');
	for (unsigned i = 0; i < at(w, kid(w, node, 0))->n && !w->failed; i++) {
		uint16_t field = kid(w, kid(w, node, 0), i);
		if (i > 0)
			put_char(w, ',');
		put_char(w, ' ');
		put_word(w, at(w, field)->kind);
		swift_put(w, kid(w, field, 0));
	}
	PUT(w, " }");
	if (!arguments)
		return;
	PUT(w, " <");
	swift_put_kids(w, arguments, ", ");
	put_char(w, '>');
}

static void put_sugared(struct swift_printer *w, uint16_t node)
{
	uint16_t first = kid(w, node, 0), second = kid(w, node, 1);
	switch ((unsigned)at(w, node)->kind) {
	case SWIFT_SUGARED_OPTIONAL:
		put_operand(w, first);
		put_char(w, '?');
		return;
	case SWIFT_SUGARED_ARRAY:
		put_enclosed(w, first, "", 0);
		return;
	case SWIFT_SUGARED_DICTIONARY:
		put_enclosed(w, first, " : ", second);
		return;
	case SWIFT_SUGARED_INLINE_ARRAY:
		put_enclosed(w, first, " of ", second);
		return;
	default:
		put_char(w, '(');
		swift_put(w, first);
		put_char(w, ')');
		return;
	}
}

/* Types that are a word and another type, ... */
static void put_over(struct swift_printer *w, uint16_t node)
{
	enum swift_kind kind = at(w, node)->kind;
	put_word(w, kind);
	switch ((unsigned)kind) {
	case SWIFT_DYNAMIC_SELF:
	case SWIFT_SOME:
	case SWIFT_EXISTENTIAL_SELF:
	case SWIFT_ERROR_TYPE:
		return;
	case SWIFT_INTEGER:
	case SWIFT_NEGATIVE_INTEGER:
		swift_put_number(w, at(w, node)->at);
		return;
	case SWIFT_PACK:
	case SWIFT_PACK_DIRECT:
	case SWIFT_PACK_INDIRECT:
		swift_put_kids(w, node, ", ");
		put_char(w, '}');
		return;
	case SWIFT_EXTENDED_SHAPE:
		if (kid(w, node, 1)) {
			swift_put(w, kid(w, node, 0));
			put_char(w, ' ');
		}
		PUT(w, "any ");
		swift_put(w, kid(w, node, at(w, node)->n - 1));
		return;
	case SWIFT_CONSTRAINED_EXISTENTIAL:
		swift_put(w, kid(w, node, 0));
		put_list(w, kid(w, node, 1));
		return;
	default:
		swift_put(w, kid(w, node, 0));
		return;
	}
}

/* Types that are neither functions nor bound to arguments. */
static void put_plain(struct swift_printer *w, uint16_t node)
{
	switch ((unsigned)at(w, node)->kind) {
	case SWIFT_BUILTIN:
		put_text(w, node);
		return;
	case SWIFT_BUILTIN_ARRAY:
		PUT(w, "Builtin.FixedArray");
		put_list(w, node);
		return;
	case SWIFT_TUPLE:
		put_char(w, '(');
		swift_put_kids(w, node, ", ");
		put_char(w, ')');
		return;
	case SWIFT_GENERIC_PARAM:
		swift_put_param(w, at(w, node)->at >> 16, at(w, node)->at & UINT16_MAX);
		return;
	case SWIFT_GENERIC:
		swift_put(w, kid(w, node, 0));
		if (!swift_is_function_type(w->tree, kid(w, node, 1)))
			put_char(w, ' ');
		swift_put(w, kid(w, node, 1));
		return;
	case SWIFT_MEMBER:
	case SWIFT_ASSOCIATED:
		swift_put_kids(w, node, ".");
		return;
	case SWIFT_OPAQUE:
		swift_put(w, kid(w, node, 0));
		put_char(w, '.');
		swift_put(w, kid(w, node, 1));
		return;
	case SWIFT_PROTOCOLS:
	case SWIFT_PROTOCOLS_CLASS:
	case SWIFT_PROTOCOLS_OBJECT:
		put_protocols(w, node);
		return;
	case SWIFT_METATYPE:
	case SWIFT_EXISTENTIAL_METATYPE:
		put_metatype(w, node);
		return;
	case SWIFT_SIL_BOX_LAYOUT:
		put_box(w, node);
		return;
	case SWIFT_PACK_ELEMENT:
		PUT(w, "/* level: ");
		swift_put(w, kid(w, node, 1));
		PUT(w, " */ each ");
		swift_put(w, kid(w, node, 0));
		return;
	case SWIFT_IMPL_FUNCTION:
		swift_put_impl_function(w, node);
		return;
	default:
		put_over(w, node);
		return;
	}
}

void swift_put_type(struct swift_printer *w, uint16_t node)
{
	enum swift_kind kind = at(w, node)->kind;
	if (kind >= SWIFT_FUNCTION_TYPE && kind <= SWIFT_CALLED_ONCE_TYPE) {
		swift_put_function_type(w, 0, node);
		return;
	}
	if (kind >= SWIFT_BOUND_CLASS && kind <= SWIFT_BOUND_OTHER) {
		put_bound(w, node);
		return;
	}
	if (kind >= SWIFT_SUGARED_OPTIONAL && kind <= SWIFT_SUGARED_INLINE_ARRAY) {
		put_sugared(w, node);
		return;
	}
	put_plain(w, node);
}
