/* SPDX-License-Identifier: Apache-2.0 */
/* What is made for Swift's types, conformances and functions, as text. */
#include "swift_printer.h"

/* Texts between the children of kinds that do not have them in their order. */
struct phrase {
	uint16_t kind;
	const char *parts; /* with a digit where that child goes */
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

static bool put_phrase(struct swift_printer *w, uint16_t node)
{
	enum swift_kind kind = at(w, node)->kind;
	for (size_t i = 0; i < ux_countof(phrases); i++) {
		if (phrases[i].kind != kind)
			continue;
		put_word(w, kind);
		for (const char *s = phrases[i].parts; *s; s++) {
			if (*s >= '0' && *s <= '9')
				swift_put(w, kid(w, node, (unsigned)(*s - '0')));
			else
				put_char(w, *s);
		}
		return true;
	}
	return false;
}

static void put_conformance(struct swift_printer *w, uint16_t node)
{
	swift_put(w, kid(w, node, 0));
	if (w->style.simple)
		return;
	PUT(w, " : ");
	swift_put(w, kid(w, node, 1));
	PUT(w, " in ");
	swift_put(w, kid(w, node, 2));
}

static void put_once(struct swift_printer *w, uint16_t node)
{
	uint16_t names = kid(w, node, 1);
	put_word(w, at(w, node)->kind);
	bool many = at(w, names)->n != 1;
	if (many)
		put_char(w, '(');
	swift_put_kids(w, names, ", ");
	if (many)
		put_char(w, ')');
}

static void put_reabstraction(struct swift_printer *w, uint16_t node)
{
	enum swift_kind kind = at(w, node)->kind;
	unsigned n = at(w, node)->n, i = 0;
	if (w->style.simple) {
		PUT(w, "thunk for ");
		swift_put(w, kid(w, node, n - 1));
		return;
	}
	put_word(w, kind);
	if (at(w, kid(w, node, 0))->kind == SWIFT_SIGNATURE) {
		swift_put(w, kid(w, node, i++));
		put_char(w, ' ');
	}
	uint16_t self = kind == SWIFT_REABSTRACTION_SELF ? kid(w, node, i++) : 0;
	PUT(w, "from ");
	swift_put(w, kid(w, node, i + 1));
	PUT(w, " to ");
	swift_put(w, kid(w, node, i));
	if (self) {
		PUT(w, " self ");
		swift_put(w, self);
	}
}

static void put_completion_handler(struct swift_printer *w, uint16_t node)
{
	put_word(w, at(w, node)->kind);
	if (kid(w, node, 3))
		swift_put(w, kid(w, node, 3));
	swift_put(w, kid(w, node, 0));
	PUT(w, " with result type ");
	swift_put(w, kid(w, node, 1));
	uint32_t flag = at(w, kid(w, node, 2))->at;
	if (flag == 1)
		PUT(w, " nonzero on error");
	if (flag == 2)
		PUT(w, " zero on error");
}

static void put_key_path(struct swift_printer *w, uint16_t node)
{
	put_word(w, at(w, node)->kind);
	swift_put(w, kid(w, node, 0));
	PUT(w, " : ");
	for (unsigned i = 1; i < at(w, node)->n && !w->failed; i++) {
		if (at(w, kid(w, node, i))->kind == SWIFT_SPEC_SERIALIZED)
			PUT(w, ", ");
		swift_put(w, kid(w, node, i));
	}
}

static void put_key_path_index(struct swift_printer *w, uint16_t node)
{
	unsigned n = at(w, node)->n;
	uint16_t signature = swift_find(w->tree, node, SWIFT_SIGNATURE);
	PUT(w, "key path index ");
	put_word(w, at(w, node)->kind);
	PUT(w, " operator for ");
	if (signature) {
		swift_put(w, signature);
		n--;
	}
	put_char(w, '(');
	for (unsigned i = 0; i < n && !w->failed; i++) {
		if (i > 0)
			PUT(w, ", ");
		swift_put(w, kid(w, node, i));
	}
	put_char(w, ')');
}

static void put_indices(struct swift_printer *w, uint16_t node)
{
	bool any = false;
	put_char(w, '{');
	for (unsigned i = 0; i < at(w, node)->n; i++) {
		if (w->tree->text[at(w, node)->at + i] != 'S')
			continue;
		if (any)
			PUT(w, ", ");
		any = true;
		swift_put_number(w, i);
	}
	put_char(w, '}');
}

static void put_autodiff_kind(struct swift_printer *w, uint16_t node, bool witness)
{
	switch ((char)at(w, node)->at) {
	case 'f':
		put(w, "forward-mode derivative", witness ? 12 : 23);
		return;
	case 'r':
		put(w, "reverse-mode derivative", witness ? 12 : 23);
		return;
	case 'l':
		PUT(w, "linear");
		return;
	case 'p':
		PUT(w, "pullback");
		return;
	default:
		if (witness)
			PUT(w, "normal");
		else
			PUT(w, "differential");
		return;
	}
}

/* Functions of differentiation: what they are of, perhaps a signature, then three or four facts. */
static void put_autodiff(struct swift_printer *w, uint16_t node)
{
	enum swift_kind kind = at(w, node)->kind;
	unsigned first = 0; /* of the facts */
	while (at(w, kid(w, node, first))->kind != SWIFT_AUTODIFF_KIND)
		first++;
	uint16_t signature = swift_find(w->tree, node, SWIFT_SIGNATURE);
	put_word(w, kind);
	put_autodiff_kind(w, kid(w, node, first), kind == SWIFT_AUTODIFF_WITNESS);
	if (kind == SWIFT_AUTODIFF_SUBSET)
		PUT(w, " from ");
	else if (kind == SWIFT_AUTODIFF_WITNESS)
		PUT(w, " differentiability witness for ");
	else
		PUT(w, " of ");
	for (unsigned i = 0; i < first && !w->failed; i++)
		if (kid(w, node, i) != signature)
			swift_put(w, kid(w, node, i));
	if (w->style.simple)
		return;
	PUT(w, " with respect to parameters ");
	swift_put(w, kid(w, node, first + 1));
	PUT(w, " and results ");
	swift_put(w, kid(w, node, first + 2));
	if (kid(w, node, first + 3)) {
		PUT(w, " to parameters ");
		swift_put(w, kid(w, node, first + 3));
	}
	if (signature) {
		PUT(w, " with ");
		swift_put(w, signature);
	}
}

static void put_autodiff_reorder(struct swift_printer *w, uint16_t node)
{
	unsigned n = at(w, node)->n;
	put_word(w, SWIFT_AUTODIFF_REORDER);
	PUT(w, "for ");
	if (!w->style.simple) {
		put_autodiff_kind(w, kid(w, node, 0), /* witness= */ false);
		if (n > 3) {
			put_char(w, ' ');
			swift_put(w, kid(w, node, 1));
		}
		PUT(w, " from ");
	}
	swift_put(w, kid(w, node, n - 2));
	if (w->style.simple)
		return;
	PUT(w, " to ");
	swift_put(w, kid(w, node, n - 1));
}

static void put_type_mangling(struct swift_printer *w, uint16_t node)
{
	uint16_t type = kid(w, node, 1);
	if (!type)
		swift_put(w, kid(w, node, 0));
	else if (swift_is_function_type(w->tree, type) && at(w, type)->kind != SWIFT_GENERIC)
		swift_put_function_type(w, kid(w, node, 0), type);
	else
		swift_put(w, type);
}

static void put_value_witness(struct swift_printer *w, uint16_t node)
{
	swift_put(w, kid(w, node, 0));
	if (w->style.simple)
		PUT(w, " for ");
	else
		PUT(w, " value witness for ");
	swift_put(w, kid(w, node, 1));
}

static void put_field_offset(struct swift_printer *w, uint16_t node)
{
	if (at(w, kid(w, node, 0))->at)
		PUT(w, "indirect ");
	else
		PUT(w, "direct ");
	put_word(w, SWIFT_FIELD_OFFSET);
	swift_put(w, kid(w, node, 1));
}

/* Parts of intermediate functions. */
static bool put_impl_part(struct swift_printer *w, uint16_t node)
{
	uint16_t c_type = 0;
	switch ((unsigned)at(w, node)->kind) {
	case SWIFT_IMPL_ATTRIBUTE:
		put_text(w, node);
		return true;
	case SWIFT_IMPL_COROUTINE:
		put_word(w, SWIFT_IMPL_COROUTINE);
		put_text(w, node);
		return true;
	case SWIFT_IMPL_CONVENTION:
		put_word(w, SWIFT_IMPL_CONVENTION);
		swift_put(w, kid(w, node, 0));
		c_type = kid(w, node, 1);
		if (c_type) {
			PUT(w, ", mangledCType: \"");
			put_text(w, c_type);
			put_char(w, '"');
		}
		put_char(w, ')');
		return true;
	case SWIFT_IMPL_PARAMETER:
	case SWIFT_IMPL_RESULT:
	case SWIFT_IMPL_YIELD:
	case SWIFT_IMPL_ERROR:
		put_word(w, at(w, node)->kind);
		swift_put_kids(w, node, " ");
		return true;
	default:
		return false;
	}
}

void swift_put_made(struct swift_printer *w, uint16_t node)
{
	if (put_phrase(w, node) || put_impl_part(w, node))
		return;
	enum swift_kind kind = at(w, node)->kind;
	switch ((unsigned)kind) {
	case SWIFT_CONFORMANCE:
		put_conformance(w, node);
		return;
	case SWIFT_ONCE_FUNCTION:
	case SWIFT_ONCE_TOKEN:
		put_once(w, node);
		return;
	case SWIFT_REABSTRACTION:
	case SWIFT_REABSTRACTION_HELPER:
	case SWIFT_REABSTRACTION_SELF:
		put_reabstraction(w, node);
		return;
	case SWIFT_COMPLETION_HANDLER:
	case SWIFT_COMPLETION_HANDLER_PREDEFINED:
		put_completion_handler(w, node);
		return;
	case SWIFT_KEY_PATH_GETTER:
	case SWIFT_KEY_PATH_SETTER:
	case SWIFT_KEY_PATH_METHOD:
	case SWIFT_KEY_PATH_APPLIED:
		put_key_path(w, node);
		return;
	case SWIFT_KEY_PATH_EQUALS:
	case SWIFT_KEY_PATH_HASH:
		put_key_path_index(w, node);
		return;
	case SWIFT_AUTODIFF_INDICES:
		put_indices(w, node);
		return;
	case SWIFT_AUTODIFF_FUNCTION:
	case SWIFT_AUTODIFF_VTABLE:
	case SWIFT_AUTODIFF_SUBSET:
	case SWIFT_AUTODIFF_WITNESS:
		put_autodiff(w, node);
		return;
	case SWIFT_AUTODIFF_REORDER:
		put_autodiff_reorder(w, node);
		return;
	case SWIFT_TYPE_MANGLING:
		put_type_mangling(w, node);
		return;
	case SWIFT_VALUE_WITNESS:
		put_value_witness(w, node);
		return;
	case SWIFT_FIELD_OFFSET:
		put_field_offset(w, node);
		return;
	case SWIFT_ASSOCIATED_NAME:
		if (kid(w, node, 1)) {
			swift_put(w, kid(w, node, 1));
			put_char(w, '.');
		}
		swift_put(w, kid(w, node, 0));
		return;
	case SWIFT_ASSOCIATED_PATH:
		swift_put_kids(w, node, ".");
		return;
	default:
		put_word(w, kind);
		swift_put_kids(w, node, "");
		return;
	}
}
