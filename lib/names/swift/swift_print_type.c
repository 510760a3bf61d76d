/* SPDX-License-Identifier: Apache-2.0 */
/* Writing Swift's types and generic signatures. */
#include "swift_printer.h"

/* Returns true when "?" or ".Type" can follow the type without parentheses. */
static bool swift_is_simple(const struct swift_printer *w, uint16_t node)
{
	uint16_t list = 0;
	enum swift_kind kind = swift_at(w, node)->kind;
	if (kind >= SWIFT_FUNCTION_TYPE && kind <= SWIFT_CALLED_ONCE_TYPE)
		return false;
	switch ((unsigned)kind) {
	case SWIFT_PROTOCOLS:
		return swift_at(w, swift_print_kid(w, node, 0))->n <= 1;
	case SWIFT_PROTOCOLS_OBJECT:
		list = swift_print_kid(w, swift_print_kid(w, node, 0), 0);
		return swift_at(w, list)->n == 0;
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

static void swift_put_operand(struct swift_printer *w, uint16_t node)
{
	bool simple = swift_is_simple(w, node);
	if (!simple)
		swift_put_char(w, '(');
	swift_put(w, node);
	if (!simple)
		swift_put_char(w, ')');
}

static bool swift_is_of_swift(const struct swift_printer *w, uint16_t decl, const char *name)
{
	uint16_t module = swift_print_kid(w, decl, 0), id = swift_print_kid(w, decl, 1);
	size_t n = strlen(name);
	return swift_at(w, module)->kind == SWIFT_MODULE && swift_at(w, module)->n == 5 &&
	       memcmp(w->tree->text + swift_at(w, module)->at, "Swift", 5) == 0 &&
	       swift_at(w, id)->kind == SWIFT_IDENTIFIER && swift_at(w, id)->n == n &&
	       memcmp(w->tree->text + swift_at(w, id)->at, name, n) == 0;
}

static void swift_put_enclosed(struct swift_printer *w, uint16_t first, const char *between,
			       uint16_t second)
{
	swift_put_char(w, '[');
	swift_put(w, first);
	if (second) {
		swift_put_bytes(w, between, strlen(between));
		swift_put(w, second);
	}
	swift_put_char(w, ']');
}

/* Writes types with a syntax of their own (Optional, Array, Dictionary); false for others. */
static bool swift_put_sugar(struct swift_printer *w, uint16_t decl, uint16_t list,
			    enum swift_kind kind)
{
	unsigned n = swift_at(w, list)->n;
	uint16_t first = swift_print_kid(w, list, 0), second = swift_print_kid(w, list, 1);
	bool optional = swift_is_of_swift(w, decl, "Optional");
	if (kind == SWIFT_BOUND_ENUM && n == 1 &&
	    (optional || swift_is_of_swift(w, decl, "ImplicitlyUnwrappedOptional"))) {
		swift_put_operand(w, first);
		swift_put_char(w, optional ? '?' : '!');
		return true;
	}
	if (kind != SWIFT_BOUND_STRUCTURE)
		return false;
	if (n == 1 && swift_is_of_swift(w, decl, "Array")) {
		swift_put_enclosed(w, first, "", 0);
		return true;
	}
	if (n == 2 && swift_is_of_swift(w, decl, "Dictionary")) {
		swift_put_enclosed(w, first, " : ", second);
		return true;
	}
	return false;
}

static void swift_put_list(struct swift_printer *w, uint16_t list)
{
	swift_put_char(w, '<');
	if (w->style.elide)
		SWIFT_PUT(w, "...");
	else
		swift_put_kids(w, list, ", ");
	swift_put_char(w, '>');
}

static void swift_put_bound(struct swift_printer *w, uint16_t node)
{
	enum swift_kind kind = swift_at(w, node)->kind;
	uint16_t decl = swift_print_kid(w, node, 0), list = swift_print_kid(w, node, 1);
	if (kind == SWIFT_BOUND_PROTOCOL) {
		swift_put_kids(w, list, "");
		SWIFT_PUT(w, " as ");
		swift_put(w, decl);
		return;
	}
	if (!w->plain && swift_put_sugar(w, decl, list, kind))
		return;
	swift_put(w, decl);
	swift_put_list(w, list);
}

void swift_put_tuple_element(struct swift_printer *w, uint16_t node)
{
	bool variadic = false;
	for (unsigned i = 0; i < swift_at(w, node)->n; i++) {
		uint16_t part = swift_print_kid(w, node, i);
		if (swift_at(w, part)->kind == SWIFT_VARIADIC_MARK) {
			variadic = true;
			continue;
		}
		swift_put(w, part);
		if (swift_at(w, part)->kind == SWIFT_IDENTIFIER)
			SWIFT_PUT(w, ": ");
	}
	if (variadic)
		SWIFT_PUT(w, "...");
}

static bool swift_is_existential(const struct swift_printer *w, uint16_t node)
{
	switch ((unsigned)swift_at(w, node)->kind) {
	case SWIFT_EXISTENTIAL_METATYPE:
	case SWIFT_PROTOCOLS:
	case SWIFT_PROTOCOLS_CLASS:
	case SWIFT_PROTOCOLS_OBJECT:
		return true;
	default:
		return false;
	}
}

static void swift_put_metatype(struct swift_printer *w, uint16_t node)
{
	uint16_t type = swift_print_kid(w, node, 0);
	if (swift_at(w, type)->kind == SWIFT_METATYPE_REPRESENTATION) {
		swift_put_text(w, type);
		swift_put_char(w, ' ');
		type = swift_print_kid(w, node, 1);
	}
	if (swift_at(w, node)->kind == SWIFT_EXISTENTIAL_METATYPE)
		swift_put(w, type);
	else
		swift_put_operand(w, type);
	if (swift_at(w, node)->kind == SWIFT_METATYPE && swift_is_existential(w, type))
		SWIFT_PUT(w, ".Protocol");
	else
		SWIFT_PUT(w, ".Type");
}

static void swift_put_protocols(struct swift_printer *w, uint16_t node)
{
	enum swift_kind kind = swift_at(w, node)->kind;
	uint16_t list =
		swift_print_kid(w, kind == SWIFT_PROTOCOLS ? node : swift_print_kid(w, node, 0), 0);
	if (kind == SWIFT_PROTOCOLS_CLASS) {
		swift_put(w, swift_print_kid(w, node, 1));
		SWIFT_PUT(w, " & ");
	}
	swift_put_kids(w, list, " & ");
	if (kind == SWIFT_PROTOCOLS && swift_at(w, list)->n == 0)
		SWIFT_PUT(w, "Any");
	if (kind != SWIFT_PROTOCOLS_OBJECT)
		return;
	if (swift_at(w, list)->n > 0)
		SWIFT_PUT(w, " & ");
	SWIFT_PUT(w, "Swift.AnyObject");
}

static void swift_put_box(struct swift_printer *w, uint16_t node)
{
	uint16_t signature = swift_find(w->tree, node, SWIFT_SIGNATURE);
	uint16_t arguments = swift_find(w->tree, node, SWIFT_TYPE_LIST);
	if (signature) {
		swift_put(w, signature);
		swift_put_char(w, ' ');
	}
	swift_put_char(w, '{');
	for (unsigned i = 0; i < swift_at(w, swift_print_kid(w, node, 0))->n && !w->text.failed;
	     i++) {
		uint16_t field = swift_print_kid(w, swift_print_kid(w, node, 0), i);
		if (i > 0)
			swift_put_char(w, ',');
		swift_put_char(w, ' ');
		swift_put_word(w, swift_at(w, field)->kind);
		swift_put(w, swift_print_kid(w, field, 0));
	}
	SWIFT_PUT(w, " }");
	if (!arguments)
		return;
	SWIFT_PUT(w, " <");
	swift_put_kids(w, arguments, ", ");
	swift_put_char(w, '>');
}

static void swift_put_sugared(struct swift_printer *w, uint16_t node)
{
	uint16_t first = swift_print_kid(w, node, 0), second = swift_print_kid(w, node, 1);
	switch ((unsigned)swift_at(w, node)->kind) {
	case SWIFT_SUGARED_OPTIONAL:
		swift_put_operand(w, first);
		swift_put_char(w, '?');
		return;
	case SWIFT_SUGARED_ARRAY:
		swift_put_enclosed(w, first, "", 0);
		return;
	case SWIFT_SUGARED_DICTIONARY:
		swift_put_enclosed(w, first, " : ", second);
		return;
	case SWIFT_SUGARED_INLINE_ARRAY:
		swift_put_enclosed(w, first, " of ", second);
		return;
	default:
		swift_put_char(w, '(');
		swift_put(w, first);
		swift_put_char(w, ')');
		return;
	}
}

/* Writes types written as a word and another type, ... */
static void swift_put_over(struct swift_printer *w, uint16_t node)
{
	enum swift_kind kind = swift_at(w, node)->kind;
	swift_put_word(w, kind);
	switch ((unsigned)kind) {
	case SWIFT_DYNAMIC_SELF:
	case SWIFT_SOME:
	case SWIFT_EXISTENTIAL_SELF:
	case SWIFT_ERROR_TYPE:
		return;
	case SWIFT_INTEGER:
	case SWIFT_NEGATIVE_INTEGER:
		swift_put_number(w, swift_at(w, node)->at);
		return;
	case SWIFT_PACK:
	case SWIFT_PACK_DIRECT:
	case SWIFT_PACK_INDIRECT:
		swift_put_kids(w, node, ", ");
		swift_put_char(w, '}');
		return;
	case SWIFT_EXTENDED_SHAPE:
		if (swift_print_kid(w, node, 1)) {
			swift_put(w, swift_print_kid(w, node, 0));
			swift_put_char(w, ' ');
		}
		SWIFT_PUT(w, "any ");
		swift_put(w, swift_print_kid(w, node, swift_at(w, node)->n - 1));
		return;
	case SWIFT_CONSTRAINED_EXISTENTIAL:
		swift_put(w, swift_print_kid(w, node, 0));
		swift_put_list(w, swift_print_kid(w, node, 1));
		return;
	default:
		swift_put(w, swift_print_kid(w, node, 0));
		return;
	}
}

/* Writes types that are neither functions nor bound to arguments. */
static void swift_put_plain(struct swift_printer *w, uint16_t node)
{
	switch ((unsigned)swift_at(w, node)->kind) {
	case SWIFT_BUILTIN:
		swift_put_text(w, node);
		return;
	case SWIFT_BUILTIN_ARRAY:
		SWIFT_PUT(w, "Builtin.FixedArray");
		swift_put_list(w, node);
		return;
	case SWIFT_TUPLE:
		swift_put_char(w, '(');
		swift_put_kids(w, node, ", ");
		swift_put_char(w, ')');
		return;
	case SWIFT_GENERIC_PARAM:
		swift_put_param(w, swift_at(w, node)->at >> 16, swift_at(w, node)->at & UINT16_MAX);
		return;
	case SWIFT_GENERIC:
		swift_put(w, swift_print_kid(w, node, 0));
		if (!swift_is_function_type(w->tree, swift_print_kid(w, node, 1)))
			swift_put_char(w, ' ');
		swift_put(w, swift_print_kid(w, node, 1));
		return;
	case SWIFT_MEMBER:
	case SWIFT_ASSOCIATED:
		swift_put_kids(w, node, ".");
		return;
	case SWIFT_OPAQUE:
		swift_put(w, swift_print_kid(w, node, 0));
		swift_put_char(w, '.');
		swift_put(w, swift_print_kid(w, node, 1));
		return;
	case SWIFT_PROTOCOLS:
	case SWIFT_PROTOCOLS_CLASS:
	case SWIFT_PROTOCOLS_OBJECT:
		swift_put_protocols(w, node);
		return;
	case SWIFT_METATYPE:
	case SWIFT_EXISTENTIAL_METATYPE:
		swift_put_metatype(w, node);
		return;
	case SWIFT_SIL_BOX_LAYOUT:
		swift_put_box(w, node);
		return;
	case SWIFT_PACK_ELEMENT:
		SWIFT_PUT(w, "/* level: ");
		swift_put(w, swift_print_kid(w, node, 1));
		SWIFT_PUT(w, " */ each ");
		swift_put(w, swift_print_kid(w, node, 0));
		return;
	case SWIFT_IMPL_FUNCTION:
		swift_put_impl_function(w, node);
		return;
	default:
		swift_put_over(w, node);
		return;
	}
}

void swift_put_type(struct swift_printer *w, uint16_t node)
{
	enum swift_kind kind = swift_at(w, node)->kind;
	if (kind >= SWIFT_FUNCTION_TYPE && kind <= SWIFT_CALLED_ONCE_TYPE) {
		swift_put_function_type(w, 0, node);
		return;
	}
	if (kind >= SWIFT_BOUND_CLASS && kind <= SWIFT_BOUND_OTHER) {
		swift_put_bound(w, node);
		return;
	}
	if (kind >= SWIFT_SUGARED_OPTIONAL && kind <= SWIFT_SUGARED_INLINE_ARRAY) {
		swift_put_sugared(w, node);
		return;
	}
	swift_put_plain(w, node);
}

void swift_put_param(struct swift_printer *w, uint32_t depth, uint32_t index)
{
	do {
		swift_put_char(w, (char)('A' + index % 26));
		index /= 26;
	} while (index);
	if (depth > 0)
		swift_put_number(w, depth);
}

/* Returns the requirement that marks this parameter as a pack or a value, or 0. */
static uint16_t swift_mark_of(const struct swift_printer *w, uint16_t node, enum swift_kind kind,
			      uint32_t param)
{
	for (unsigned i = 0; i < swift_at(w, node)->n; i++) {
		uint16_t r = swift_print_kid(w, node, i);
		if (swift_at(w, r)->kind == kind &&
		    swift_at(w, swift_print_kid(w, r, 0))->at == param)
			return r;
	}
	return 0;
}

static void swift_put_params(struct swift_printer *w, uint16_t node, uint32_t depth, uint32_t n)
{
	for (uint32_t i = 0; i < n && !w->text.failed; i++) {
		if (i > 0)
			SWIFT_PUT(w, ", ");
		if (i == SWIFT_SIGNATURE_MAX) {
			SWIFT_PUT(w, "...");
			return;
		}
		uint16_t value = swift_mark_of(w, node, SWIFT_VALUE_MARK, depth << 16 | i);
		if (swift_mark_of(w, node, SWIFT_PACK_MARK, depth << 16 | i))
			SWIFT_PUT(w, "each ");
		if (value)
			SWIFT_PUT(w, "let ");
		swift_put_param(w, depth, i);
		if (value) {
			SWIFT_PUT(w, ": ");
			swift_put(w, swift_print_kid(w, value, 1));
		}
	}
}

void swift_put_signature(struct swift_printer *w, uint16_t node)
{
	bool any = false;
	swift_put_char(w, '<');
	if (w->style.elide) {
		SWIFT_PUT(w, "...>");
		return;
	}
	for (unsigned i = 0; i < swift_at(w, node)->n && !w->text.failed; i++) {
		uint16_t part = swift_print_kid(w, node, i);
		enum swift_kind kind = swift_at(w, part)->kind;
		if (kind == SWIFT_PARAM_COUNT) {
			if (i > 0)
				SWIFT_PUT(w, "><");
			swift_put_params(w, node, i, swift_at(w, part)->at);
			continue;
		}
		if (w->style.simple || kind == SWIFT_PACK_MARK || kind == SWIFT_VALUE_MARK)
			continue;
		if (any)
			SWIFT_PUT(w, ", ");
		else
			SWIFT_PUT(w, " where ");
		any = true;
		swift_put(w, part);
	}
	swift_put_char(w, '>');
}

static void swift_put_layout(struct swift_printer *w, uint16_t node)
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
	char c = w->tree->text[swift_at(w, swift_print_kid(w, node, 1))->at];
	swift_put(w, swift_print_kid(w, node, 0));
	SWIFT_PUT(w, ": ");
	for (size_t i = 0; i < ux_countof(names); i++)
		if (names[i].letter == c)
			swift_put_bytes(w, names[i].name, strlen(names[i].name));
	if (!swift_print_kid(w, node, 2))
		return;
	swift_put_char(w, '(');
	swift_put(w, swift_print_kid(w, node, 2));
	if (swift_print_kid(w, node, 3)) {
		SWIFT_PUT(w, ", ");
		swift_put(w, swift_print_kid(w, node, 3));
	}
	swift_put_char(w, ')');
}

static void swift_put_inverse(struct swift_printer *w, uint16_t node)
{
	uint32_t bit = swift_at(w, swift_print_kid(w, node, 1))->at;
	swift_put(w, swift_print_kid(w, node, 0));
	SWIFT_PUT(w, ": ~Swift.");
	if (bit == 0) {
		SWIFT_PUT(w, "Copyable");
	} else if (bit == 1) {
		SWIFT_PUT(w, "Escapable");
	} else {
		SWIFT_PUT(w, "<bit ");
		swift_put_number(w, bit);
		swift_put_char(w, '>');
	}
}

void swift_put_requirement(struct swift_printer *w, uint16_t node)
{
	switch ((unsigned)swift_at(w, node)->kind) {
	case SWIFT_SAME_TYPE:
		swift_put_kids(w, node, " == ");
		return;
	case SWIFT_SAME_SHAPE:
		swift_put_kids(w, node, ".shape == ");
		SWIFT_PUT(w, ".shape");
		return;
	case SWIFT_LAYOUT:
		swift_put_layout(w, node);
		return;
	case SWIFT_INVERSE:
		swift_put_inverse(w, node);
		return;
	default:
		swift_put_kids(w, node, ": ");
		return;
	}
}
