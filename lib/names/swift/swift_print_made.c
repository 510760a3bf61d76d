/* SPDX-License-Identifier: Apache-2.0 */
/* Writing entities that are derived from types, conformances and functions. */
#include "swift_printer.h"

/* Texts of kinds with children that are written in another order or with words between. */
struct phrase {
	uint16_t kind;
	const char *parts; /* a digit is replaced by the child with that number */
};

static const struct phrase phrases[] = {
	{SWIFT_WITNESS, "1 in conformance 0"},
	{SWIFT_VTABLE_THUNK, "1 dispatching to 0"},
	{SWIFT_WITNESS_LAZY_ACCESSOR, "0 and conformance 1"},
	{SWIFT_WITNESS_LAZY_CACHE, "0 and conformance 1"},
	{SWIFT_ASSOCIATED_METADATA, "1 in 0"},
	{SWIFT_ASSOCIATED_WITNESS, "1 : 2 in 0"},
	{SWIFT_BASE_WITNESS, "1 in 0"},
	{SWIFT_BASE_DESCRIPTOR, "0: 1"},
	{SWIFT_ASSOCIATED_CONFORMANCE_DESCRIPTOR, "0.1: 2"},
	{SWIFT_ASSOCIATED_CONFORMANCE_DEFAULT, "0.1: 2"},
	{SWIFT_BEHAVIOR_CONFORMANCE, "2 in 0 : 1"},
	{SWIFT_REABSTRACTION_ACTOR, "0 with global actor constraint 1"},
	{SWIFT_CONFORMANCE_CONCRETE, "0 to 1"},
	{SWIFT_TYPED_THROWS, "0)"},
	{SWIFT_GLOBAL_ACTOR, "0 "},
	{SWIFT_ANONYMOUS_DESCRIPTOR, "0"},
	{SWIFT_ASSOCIATED_PARAM_REF, "0.1"},
};

static bool swift_put_phrase(struct swift_printer *w, uint16_t node)
{
	enum swift_kind kind = swift_at(w, node)->kind;
	for (size_t i = 0; i < ux_countof(phrases); i++) {
		if (phrases[i].kind != kind)
			continue;
		swift_put_word(w, kind);
		for (const char *s = phrases[i].parts; *s; s++) {
			if (*s >= '0' && *s <= '9')
				swift_put(w, swift_print_kid(w, node, (unsigned)(*s - '0')));
			else
				swift_put_char(w, *s);
		}
		return true;
	}
	return false;
}

static void swift_put_conformance(struct swift_printer *w, uint16_t node)
{
	swift_put(w, swift_print_kid(w, node, 0));
	if (w->style.simple)
		return;
	SWIFT_PUT(w, " : ");
	swift_put(w, swift_print_kid(w, node, 1));
	SWIFT_PUT(w, " in ");
	swift_put(w, swift_print_kid(w, node, 2));
}

static void swift_put_once(struct swift_printer *w, uint16_t node)
{
	uint16_t names = swift_print_kid(w, node, 1);
	swift_put_word(w, swift_at(w, node)->kind);
	bool many = swift_at(w, names)->n != 1;
	if (many)
		swift_put_char(w, '(');
	swift_put_kids(w, names, ", ");
	if (many)
		swift_put_char(w, ')');
}

static void swift_put_reabstraction(struct swift_printer *w, uint16_t node)
{
	enum swift_kind kind = swift_at(w, node)->kind;
	unsigned n = swift_at(w, node)->n, i = 0;
	if (w->style.simple) {
		SWIFT_PUT(w, "thunk for ");
		swift_put(w, swift_print_kid(w, node, n - 1));
		return;
	}
	swift_put_word(w, kind);
	if (swift_at(w, swift_print_kid(w, node, 0))->kind == SWIFT_SIGNATURE) {
		swift_put(w, swift_print_kid(w, node, i++));
		swift_put_char(w, ' ');
	}
	uint16_t self = kind == SWIFT_REABSTRACTION_SELF ? swift_print_kid(w, node, i++) : 0;
	SWIFT_PUT(w, "from ");
	swift_put(w, swift_print_kid(w, node, i + 1));
	SWIFT_PUT(w, " to ");
	swift_put(w, swift_print_kid(w, node, i));
	if (self) {
		SWIFT_PUT(w, " self ");
		swift_put(w, self);
	}
}

static void swift_put_completion_handler(struct swift_printer *w, uint16_t node)
{
	swift_put_word(w, swift_at(w, node)->kind);
	if (swift_print_kid(w, node, 3))
		swift_put(w, swift_print_kid(w, node, 3));
	swift_put(w, swift_print_kid(w, node, 0));
	SWIFT_PUT(w, " with result type ");
	swift_put(w, swift_print_kid(w, node, 1));
	uint32_t flag = swift_at(w, swift_print_kid(w, node, 2))->at;
	if (flag == 1)
		SWIFT_PUT(w, " nonzero on error");
	if (flag == 2)
		SWIFT_PUT(w, " zero on error");
}

static void swift_put_key_path(struct swift_printer *w, uint16_t node)
{
	swift_put_word(w, swift_at(w, node)->kind);
	swift_put(w, swift_print_kid(w, node, 0));
	SWIFT_PUT(w, " : ");
	for (unsigned i = 1; i < swift_at(w, node)->n && !w->text.failed; i++) {
		if (swift_at(w, swift_print_kid(w, node, i))->kind == SWIFT_SPEC_SERIALIZED)
			SWIFT_PUT(w, ", ");
		swift_put(w, swift_print_kid(w, node, i));
	}
}

static void swift_put_key_path_index(struct swift_printer *w, uint16_t node)
{
	unsigned n = swift_at(w, node)->n;
	uint16_t signature = swift_find(w->tree, node, SWIFT_SIGNATURE);
	SWIFT_PUT(w, "key path index ");
	swift_put_word(w, swift_at(w, node)->kind);
	SWIFT_PUT(w, " operator for ");
	if (signature) {
		swift_put(w, signature);
		n--;
	}
	swift_put_char(w, '(');
	for (unsigned i = 0; i < n && !w->text.failed; i++) {
		if (i > 0)
			SWIFT_PUT(w, ", ");
		swift_put(w, swift_print_kid(w, node, i));
	}
	swift_put_char(w, ')');
}

static void swift_put_indices(struct swift_printer *w, uint16_t node)
{
	bool any = false;
	swift_put_char(w, '{');
	for (unsigned i = 0; i < swift_at(w, node)->n; i++) {
		if (w->tree->text[swift_at(w, node)->at + i] != 'S')
			continue;
		if (any)
			SWIFT_PUT(w, ", ");
		any = true;
		swift_put_number(w, i);
	}
	swift_put_char(w, '}');
}

static void swift_put_autodiff_kind(struct swift_printer *w, uint16_t node, bool witness)
{
	switch ((char)swift_at(w, node)->at) {
	case 'f':
		swift_put_bytes(w, "forward-mode derivative", witness ? 12 : 23);
		return;
	case 'r':
		swift_put_bytes(w, "reverse-mode derivative", witness ? 12 : 23);
		return;
	case 'l':
		SWIFT_PUT(w, "linear");
		return;
	case 'p':
		SWIFT_PUT(w, "pullback");
		return;
	default:
		if (witness)
			SWIFT_PUT(w, "normal");
		else
			SWIFT_PUT(w, "differential");
		return;
	}
}

/* Derivatives: the original, an optional signature, then three or four properties. */
static void swift_put_autodiff(struct swift_printer *w, uint16_t node)
{
	enum swift_kind kind = swift_at(w, node)->kind;
	unsigned first = 0; /* index of the first of the properties */
	while (swift_at(w, swift_print_kid(w, node, first))->kind != SWIFT_AUTODIFF_KIND)
		first++;
	uint16_t signature = swift_find(w->tree, node, SWIFT_SIGNATURE);
	swift_put_word(w, kind);
	swift_put_autodiff_kind(w, swift_print_kid(w, node, first), kind == SWIFT_AUTODIFF_WITNESS);
	if (kind == SWIFT_AUTODIFF_SUBSET)
		SWIFT_PUT(w, " from ");
	else if (kind == SWIFT_AUTODIFF_WITNESS)
		SWIFT_PUT(w, " differentiability witness for ");
	else
		SWIFT_PUT(w, " of ");
	for (unsigned i = 0; i < first && !w->text.failed; i++)
		if (swift_print_kid(w, node, i) != signature)
			swift_put(w, swift_print_kid(w, node, i));
	if (w->style.simple)
		return;
	SWIFT_PUT(w, " with respect to parameters ");
	swift_put(w, swift_print_kid(w, node, first + 1));
	SWIFT_PUT(w, " and results ");
	swift_put(w, swift_print_kid(w, node, first + 2));
	if (swift_print_kid(w, node, first + 3)) {
		SWIFT_PUT(w, " to parameters ");
		swift_put(w, swift_print_kid(w, node, first + 3));
	}
	if (signature) {
		SWIFT_PUT(w, " with ");
		swift_put(w, signature);
	}
}

static void swift_put_autodiff_reorder(struct swift_printer *w, uint16_t node)
{
	unsigned n = swift_at(w, node)->n;
	swift_put_word(w, SWIFT_AUTODIFF_REORDER);
	SWIFT_PUT(w, "for ");
	if (!w->style.simple) {
		swift_put_autodiff_kind(w, swift_print_kid(w, node, 0), /* witness= */ false);
		if (n > 3) {
			swift_put_char(w, ' ');
			swift_put(w, swift_print_kid(w, node, 1));
		}
		SWIFT_PUT(w, " from ");
	}
	swift_put(w, swift_print_kid(w, node, n - 2));
	if (w->style.simple)
		return;
	SWIFT_PUT(w, " to ");
	swift_put(w, swift_print_kid(w, node, n - 1));
}

static void swift_put_type_mangling(struct swift_printer *w, uint16_t node)
{
	uint16_t type = swift_print_kid(w, node, 1);
	if (!type)
		swift_put(w, swift_print_kid(w, node, 0));
	else if (swift_is_function_type(w->tree, type) && swift_at(w, type)->kind != SWIFT_GENERIC)
		swift_put_function_type(w, swift_print_kid(w, node, 0), type);
	else
		swift_put(w, type);
}

static void swift_put_value_witness(struct swift_printer *w, uint16_t node)
{
	swift_put(w, swift_print_kid(w, node, 0));
	if (w->style.simple)
		SWIFT_PUT(w, " for ");
	else
		SWIFT_PUT(w, " value witness for ");
	swift_put(w, swift_print_kid(w, node, 1));
}

static void swift_put_field_offset(struct swift_printer *w, uint16_t node)
{
	if (swift_at(w, swift_print_kid(w, node, 0))->at)
		SWIFT_PUT(w, "indirect ");
	else
		SWIFT_PUT(w, "direct ");
	swift_put_word(w, SWIFT_FIELD_OFFSET);
	swift_put(w, swift_print_kid(w, node, 1));
}

/* Parts of intermediate functions. */
static bool swift_put_impl_part(struct swift_printer *w, uint16_t node)
{
	uint16_t c_type = 0;
	switch ((unsigned)swift_at(w, node)->kind) {
	case SWIFT_IMPL_ATTRIBUTE:
		swift_put_text(w, node);
		return true;
	case SWIFT_IMPL_COROUTINE:
		swift_put_word(w, SWIFT_IMPL_COROUTINE);
		swift_put_text(w, node);
		return true;
	case SWIFT_IMPL_CONVENTION:
		swift_put_word(w, SWIFT_IMPL_CONVENTION);
		swift_put(w, swift_print_kid(w, node, 0));
		c_type = swift_print_kid(w, node, 1);
		if (c_type) {
			SWIFT_PUT(w, ", mangledCType: \"");
			swift_put_text(w, c_type);
			swift_put_char(w, '"');
		}
		swift_put_char(w, ')');
		return true;
	case SWIFT_IMPL_PARAMETER:
	case SWIFT_IMPL_RESULT:
	case SWIFT_IMPL_YIELD:
	case SWIFT_IMPL_ERROR:
		swift_put_word(w, swift_at(w, node)->kind);
		swift_put_kids(w, node, " ");
		return true;
	default:
		return false;
	}
}

void swift_put_made(struct swift_printer *w, uint16_t node)
{
	if (swift_put_phrase(w, node) || swift_put_impl_part(w, node))
		return;
	enum swift_kind kind = swift_at(w, node)->kind;
	switch ((unsigned)kind) {
	case SWIFT_CONFORMANCE:
		swift_put_conformance(w, node);
		return;
	case SWIFT_ONCE_FUNCTION:
	case SWIFT_ONCE_TOKEN:
		swift_put_once(w, node);
		return;
	case SWIFT_REABSTRACTION:
	case SWIFT_REABSTRACTION_HELPER:
	case SWIFT_REABSTRACTION_SELF:
		swift_put_reabstraction(w, node);
		return;
	case SWIFT_COMPLETION_HANDLER:
	case SWIFT_COMPLETION_HANDLER_PREDEFINED:
		swift_put_completion_handler(w, node);
		return;
	case SWIFT_KEY_PATH_GETTER:
	case SWIFT_KEY_PATH_SETTER:
	case SWIFT_KEY_PATH_METHOD:
	case SWIFT_KEY_PATH_APPLIED:
		swift_put_key_path(w, node);
		return;
	case SWIFT_KEY_PATH_EQUALS:
	case SWIFT_KEY_PATH_HASH:
		swift_put_key_path_index(w, node);
		return;
	case SWIFT_AUTODIFF_INDICES:
		swift_put_indices(w, node);
		return;
	case SWIFT_AUTODIFF_FUNCTION:
	case SWIFT_AUTODIFF_VTABLE:
	case SWIFT_AUTODIFF_SUBSET:
	case SWIFT_AUTODIFF_WITNESS:
		swift_put_autodiff(w, node);
		return;
	case SWIFT_AUTODIFF_REORDER:
		swift_put_autodiff_reorder(w, node);
		return;
	case SWIFT_TYPE_MANGLING:
		swift_put_type_mangling(w, node);
		return;
	case SWIFT_VALUE_WITNESS:
		swift_put_value_witness(w, node);
		return;
	case SWIFT_FIELD_OFFSET:
		swift_put_field_offset(w, node);
		return;
	case SWIFT_ASSOCIATED_NAME:
		if (swift_print_kid(w, node, 1)) {
			swift_put(w, swift_print_kid(w, node, 1));
			swift_put_char(w, '.');
		}
		swift_put(w, swift_print_kid(w, node, 0));
		return;
	case SWIFT_ASSOCIATED_PATH:
		swift_put_kids(w, node, ".");
		return;
	default:
		swift_put_word(w, kind);
		swift_put_kids(w, node, "");
		return;
	}
}

static void swift_put_flags(struct swift_printer *w, uint32_t flags)
{
	static const char *const texts[] = {"Existential To Protocol Constrained Generic", "Dead",
					    "Owned To Guaranteed", "Guaranteed To Owned",
					    "Exploded"};
	bool any = false;
	for (size_t i = 0; i < ux_countof(texts); i++) {
		if (!(flags & 1u << i))
			continue;
		if (any)
			SWIFT_PUT(w, " and ");
		any = true;
		swift_put_bytes(w, texts[i], strlen(texts[i]));
	}
}

/* Writes the text of a constant, demangled in full if it is a name. */
static void swift_put_payload(struct swift_printer *w, uint16_t node)
{
	if (swift_at(w, node)->kind != SWIFT_SPEC_NAME) {
		swift_put_text(w, node);
		return;
	}
	bool plain = w->plain;
	w->plain = true;
	swift_put(w, swift_print_kid(w, node, 0));
	w->plain = plain;
}

static void swift_put_argument(struct swift_printer *w, uint16_t node)
{
	uint16_t what = swift_print_kid(w, node, 0);
	enum swift_kind kind = swift_at(w, what)->kind;
	switch ((unsigned)kind) {
	case SWIFT_SPEC_FLAGS:
		swift_put_flags(w, swift_at(w, what)->at);
		return;
	case SWIFT_SPEC_BOX_VALUE:
	case SWIFT_SPEC_BOX_STACK:
	case SWIFT_SPEC_INOUT:
		swift_put_word(w, kind);
		return;
	default:
		break;
	}
	swift_put_char(w, '[');
	swift_put_word(w, kind);
	SWIFT_PUT(w, " : ");
	swift_put_payload(w, swift_print_kid(w, node, 1));
	if (kind == SWIFT_SPEC_STRING) {
		swift_put_char(w, '\'');
		swift_put_payload(w, swift_print_kid(w, node, 2));
		swift_put_char(w, '\'');
	}
	bool closure = kind == SWIFT_SPEC_CLOSURE, path = kind == SWIFT_SPEC_KEYPATH;
	if (closure)
		SWIFT_PUT(w, ", Argument Types : [");
	if (path)
		swift_put_char(w, '<');
	for (unsigned i = 2; (closure || path) && i < swift_at(w, node)->n && !w->text.failed;
	     i++) {
		if (i > 2 && path)
			swift_put_char(w, ',');
		else if (i > 2)
			SWIFT_PUT(w, ", ");
		swift_put(w, swift_print_kid(w, node, i));
	}
	if (path)
		swift_put_char(w, '>');
	swift_put_char(w, ']');
}

static void swift_put_specialization_part(struct swift_printer *w, uint16_t part, unsigned argument)
{
	switch ((unsigned)swift_at(w, part)->kind) {
	case SWIFT_SPEC_SERIALIZED:
		swift_put_word(w, SWIFT_SPEC_SERIALIZED);
		return;
	case SWIFT_SPEC_ARGUMENT:
		SWIFT_PUT(w, "Arg[");
		swift_put_number(w, argument);
		SWIFT_PUT(w, "] = ");
		swift_put_argument(w, part);
		return;
	case SWIFT_SPEC_RETURN:
		SWIFT_PUT(w, "Return = ");
		swift_put_argument(w, part);
		return;
	default:
		swift_put_word(w, swift_at(w, part)->kind);
		swift_put_kids(w, part, "");
		return;
	}
}

void swift_put_specialization(struct swift_printer *w, uint16_t node)
{
	if (w->style.simple) {
		if (!w->specialized)
			SWIFT_PUT(w, "specialized ");
		w->specialized = true;
		return;
	}
	bool any = false;
	unsigned argument = 0;
	swift_put_word(w, swift_at(w, node)->kind);
	SWIFT_PUT(w, " <");
	for (unsigned i = 0; i < swift_at(w, node)->n && !w->text.failed; i++) {
		uint16_t part = swift_print_kid(w, node, i);
		enum swift_kind kind = swift_at(w, part)->kind;
		bool is_argument = kind == SWIFT_SPEC_ARGUMENT || kind == SWIFT_SPEC_RETURN;
		bool unchanged = is_argument && swift_at(w, part)->n == 0;
		if (!unchanged) {
			if (any)
				SWIFT_PUT(w, ", ");
			any = true;
			swift_put_specialization_part(w, part, argument);
		}
		argument += is_argument;
	}
	SWIFT_PUT(w, "> of ");
}
