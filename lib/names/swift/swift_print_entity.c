/* SPDX-License-Identifier: Apache-2.0 */
/* Writing Swift's declarations and types of functions. */
#include "swift_printer.h"

enum typing {
	NO_TYPE,
	AFTER_COLON,
	AS_FUNCTION,
};

/* How a declaration is written. */
struct form {
	uint16_t node;
	enum typing typing;
	bool named;          /* its second child is a name */
	const char *instead; /* text that is written instead of a name, or NULL */
	const char *extra;   /* after the name, or before it if it has several words */
	uint16_t macro;      /* macro named in extra, or 0 */
	bool numbered;
	uint32_t number;
};

static uint16_t swift_type_in(const struct swift *p, uint16_t node)
{
	for (unsigned i = 1; i < p->nodes[node].n; i++)
		if (swift_is(p, swift_kid(p, node, i), SWIFT_IS_TYPE))
			return swift_kid(p, node, i);
	return 0;
}

static void swift_put_extra(struct swift_printer *w, const struct form *f)
{
	swift_put_bytes(w, f->extra, strlen(f->extra));
	if (f->macro) {
		swift_put(w, f->macro);
		SWIFT_PUT(w, " expansion #");
	}
	if (f->numbered)
		swift_put_number(w, f->number);
}

static void swift_put_entity_type(struct swift_printer *w, uint16_t node, uint16_t type,
				  uint16_t arguments)
{
	uint16_t labels = swift_find(w->tree, node, SWIFT_LABELS);
	if (!labels && !arguments) {
		swift_put(w, type);
		return;
	}
	if (arguments) {
		swift_put_char(w, '<');
		swift_put_kids(w, arguments, ", ");
		swift_put_char(w, '>');
	}
	if (swift_at(w, type)->kind == SWIFT_GENERIC) {
		if (!arguments)
			swift_put(w, swift_print_kid(w, type, 0));
		type = swift_print_kid(w, type, 1);
		if (!swift_is_function_type(w->tree, type))
			swift_put_char(w, ' ');
	}
	swift_put_function_type(w, labels, type);
}

static void swift_put_own_name(struct swift_printer *w, const struct form *f)
{
	if (f->instead) {
		swift_put_bytes(w, f->instead, strlen(f->instead));
		return;
	}
	uint16_t name = swift_print_kid(w, f->node, 1);
	if (name && swift_at(w, name)->kind != SWIFT_PRIVATE_NAME)
		swift_put(w, name);
	uint16_t private = swift_find(w->tree, f->node, SWIFT_PRIVATE_NAME);
	if (private)
		swift_put(w, private);
}

static void swift_put_typed(struct swift_printer *w, const struct form *f, bool words,
			    uint16_t arguments)
{
	uint16_t type = swift_type_in(w->tree, f->node);
	if (!type) {
		ux_name_text_fail(&w->text);
		return;
	}
	uint16_t bare = type;
	while (swift_at(w, bare)->kind == SWIFT_GENERIC)
		bare = swift_print_kid(w, bare, 1);
	switch ((unsigned)swift_at(w, bare)->kind) {
	case SWIFT_FUNCTION_TYPE:
	case SWIFT_NOESCAPE_TYPE:
	case SWIFT_UNCURRIED_TYPE:
	case SWIFT_C_FUNCTION_TYPE:
	case SWIFT_THIN_TYPE:
		break;
	default:
		bare = 0;
	}
	if (f->typing == AS_FUNCTION && bare) {
		if (words || !(swift_is_function_type(w->tree, type) ||
			       swift_at(w, type)->kind == SWIFT_GENERIC))
			swift_put_char(w, ' ');
		swift_put_entity_type(w, f->node, type, arguments);
	} else if (!w->style.simple) {
		SWIFT_PUT(w, " : ");
		swift_put_entity_type(w, f->node, type, arguments);
	}
}

/* Writes the context after a declaration of several words. */
static void swift_put_later(struct swift_printer *w, enum swift_kind kind, uint16_t context)
{
	bool of = kind == SWIFT_DEFAULT_ARGUMENT || kind == SWIFT_INITIALIZER ||
		  kind == SWIFT_WRAPPER_BACKING || kind == SWIFT_WRAPPER_PROJECTED ||
		  kind == SWIFT_WRAPPED_FIELD_INIT;
	if (of)
		SWIFT_PUT(w, " of ");
	else
		SWIFT_PUT(w, " in ");
	swift_put(w, context);
}

static bool swift_is_local(const struct swift_printer *w, const struct form *f)
{
	return f->named && swift_at(w, swift_print_kid(w, f->node, 1))->kind == SWIFT_LOCAL_NAME;
}

/* arguments: of a bound generic function, or 0; prefix as in swift_put_prefix(). */
static uint16_t swift_put_form(struct swift_printer *w, struct form f, uint16_t arguments,
			       bool prefix)
{
	bool words = (f.extra && strchr(f.extra, ' ')) || swift_is_local(w, &f);
	if (prefix && (f.typing != NO_TYPE || words))
		return f.node;
	uint16_t context = swift_print_kid(w, f.node, 0), later = words ? context : 0;
	if (w->style.simple && swift_at(w, context)->kind == SWIFT_MODULE)
		later = 0;
	if (!words) {
		char *before = w->text.pos;
		later = swift_put_prefix(w, context);
		if (w->text.pos != before)
			swift_put_char(w, '.');
	}
	if (f.named || f.instead) {
		if (f.extra && strchr(f.extra, ' ')) {
			swift_put_extra(w, &f);
			SWIFT_PUT(w, " of ");
			f.extra = NULL;
		}
		char *before = w->text.pos;
		swift_put_own_name(w, &f);
		if (f.extra && w->text.pos != before)
			swift_put_char(w, '.');
	}
	if (f.extra)
		swift_put_extra(w, &f);
	if (f.typing != NO_TYPE)
		swift_put_typed(w, &f, words, arguments);
	if (later && !prefix) {
		swift_put_later(w, swift_at(w, f.node)->kind, later);
		later = 0;
	}
	return later;
}

static uint16_t swift_put_storage(struct swift_printer *w, uint16_t node, const char *extra,
				  bool prefix)
{
	bool variable = swift_at(w, node)->kind == SWIFT_VARIABLE;
	if (!variable && swift_at(w, node)->kind != SWIFT_SUBSCRIPT) {
		ux_name_text_fail(&w->text);
		return 0;
	}
	struct form f = {
		.node = node,
		.typing = AFTER_COLON,
		.named = variable,
		.instead = variable ? NULL : "subscript",
		.extra = extra,
	};
	return swift_put_form(w, f, 0, prefix);
}

/* Writes macro expansions: in attached expansions the number is the fourth child. */
static uint16_t swift_put_macro(struct swift_printer *w, uint16_t node, bool prefix)
{
	enum swift_kind kind = swift_at(w, node)->kind;
	bool attached = kind != SWIFT_MACRO_FREESTANDING && kind != SWIFT_MACRO_UNIQUE;
	uint16_t number = swift_print_kid(w, node, attached ? 3 : 2);
	struct form f = {
		.node = node,
		.named = true,
		.extra = swift_kinds[kind].text,
		.macro = attached ? swift_print_kid(w, node, 2) : 0,
		.numbered = true,
		.number = swift_at(w, number)->at + 1,
	};
	return swift_put_form(w, f, 0, prefix);
}

static void swift_put_macro_location(struct swift_printer *w, uint16_t node)
{
	SWIFT_PUT(w, "module ");
	swift_put(w, swift_print_kid(w, node, 0));
	SWIFT_PUT(w, " file ");
	swift_put(w, swift_print_kid(w, node, 1));
	SWIFT_PUT(w, " line ");
	swift_put(w, swift_print_kid(w, node, 2));
	SWIFT_PUT(w, " column ");
	swift_put(w, swift_print_kid(w, node, 3));
}

static bool swift_of_class(const struct swift_printer *w, uint16_t node)
{
	return swift_at(w, swift_print_kid(w, node, 0))->kind == SWIFT_CLASS;
}

/* Writes declarations without a name of their own. */
static uint16_t swift_put_unnamed(struct swift_printer *w, uint16_t node, bool prefix)
{
	enum swift_kind kind = swift_at(w, node)->kind;
	struct form f = {.node = node, .extra = swift_kinds[kind].text};
	switch ((unsigned)kind) {
	case SWIFT_ALLOCATOR:
		f.extra = swift_of_class(w, node) ? "__allocating_init" : "init";
		f.typing = AS_FUNCTION;
		break;
	case SWIFT_CONSTRUCTOR:
		f.extra = "init";
		f.typing = AS_FUNCTION;
		break;
	case SWIFT_DEALLOCATOR:
		f.extra = swift_of_class(w, node) ? f.extra : "deinit";
		break;
	case SWIFT_ISOLATED_DEALLOCATOR:
		f.extra = swift_of_class(w, node) ? f.extra : "deinit";
		break;
	case SWIFT_EXPLICIT_CLOSURE:
	case SWIFT_IMPLICIT_CLOSURE:
		f.typing = w->style.simple ? NO_TYPE : AS_FUNCTION;
		f.numbered = true;
		f.number = swift_at(w, swift_print_kid(w, node, 1))->at + 1;
		break;
	case SWIFT_DEFAULT_ARGUMENT:
		f.numbered = true;
		f.number = swift_at(w, swift_print_kid(w, node, 1))->at;
		break;
	default:
		break;
	}
	return swift_put_form(w, f, 0, prefix);
}

static uint16_t swift_put_named(struct swift_printer *w, uint16_t node, enum typing typing,
				bool prefix)
{
	struct form f = {.node = node, .typing = typing, .named = true};
	return swift_put_form(w, f, 0, prefix);
}

/* Contexts written as a word and another declaration; false for other nodes. */
static bool swift_put_around(struct swift_printer *w, uint16_t node)
{
	enum swift_kind kind = swift_at(w, node)->kind;
	switch ((unsigned)kind) {
	case SWIFT_OPAQUE_OF:
		swift_put_word(w, kind);
		swift_put(w, swift_print_kid(w, node, 0));
		SWIFT_PUT(w, ">>");
		return true;
	case SWIFT_STATIC:
	case SWIFT_CURRY_THUNK:
	case SWIFT_IDENTITY_THUNK:
	case SWIFT_ATTRIBUTE_GENERATOR:
		swift_put_word(w, kind);
		swift_put(w, swift_print_kid(w, node, 0));
		return true;
	case SWIFT_MACRO_LOCATION:
		swift_put_macro_location(w, node);
		return true;
	case SWIFT_BUILTIN_TUPLE:
		swift_put_word(w, kind);
		return true;
	default:
		return false;
	}
}

uint16_t swift_put_entity(struct swift_printer *w, uint16_t node, bool prefix)
{
	enum swift_kind kind = swift_at(w, node)->kind;
	if (swift_put_around(w, node))
		return 0;
	if (kind >= SWIFT_GETTER && kind <= SWIFT_UNSAFE_MUTABLE_ADDRESSOR)
		return swift_put_storage(w, swift_print_kid(w, node, 0), swift_kinds[kind].text,
					 prefix);
	if (kind >= SWIFT_MACRO_ACCESSOR && kind <= SWIFT_MACRO_UNIQUE)
		return swift_put_macro(w, node, prefix);
	if (kind >= SWIFT_ALLOCATOR && kind <= SWIFT_IMPLICIT_CLOSURE)
		return swift_put_unnamed(w, node, prefix);
	struct form f = {.node = node, .typing = AS_FUNCTION, .named = true};
	switch ((unsigned)kind) {
	case SWIFT_FUNCTION:
	case SWIFT_MACRO:
		return swift_put_form(w, f, 0, prefix);
	case SWIFT_BOUND_FUNCTION:
		f.node = swift_print_kid(w, node, 0);
		if (swift_at(w, f.node)->kind == SWIFT_CONSTRUCTOR) {
			f.named = false;
			f.extra = "init";
		}
		return swift_put_form(w, f, swift_print_kid(w, node, 1), prefix);
	case SWIFT_VARIABLE:
		return swift_put_named(w, node, AFTER_COLON, prefix);
	case SWIFT_SUBSCRIPT:
		f.named = false;
		f.instead = "subscript";
		return swift_put_form(w, f, 0, prefix);
	default:
		return swift_put_named(w, node, NO_TYPE, prefix);
	}
}

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

static void swift_put_parameter_label(struct swift_printer *w, uint16_t labels, unsigned i)
{
	uint16_t label = swift_print_kid(w, labels, i);
	if (label && swift_at(w, label)->kind == SWIFT_IDENTIFIER)
		swift_put_text(w, label);
	else
		swift_put_char(w, '_');
	swift_put_char(w, ':');
}

static void swift_put_parameters(struct swift_printer *w, uint16_t labels, uint16_t type)
{
	bool types = !w->style.simple, labeled = labels && swift_at(w, labels)->n > 0;
	if (swift_at(w, type)->kind != SWIFT_TUPLE) {
		swift_put_char(w, '(');
		if (types)
			swift_put(w, type);
		else
			SWIFT_PUT(w, "_:");
		swift_put_char(w, ')');
		return;
	}
	swift_put_char(w, '(');
	for (unsigned i = 0; i < swift_at(w, type)->n && !w->text.failed; i++) {
		uint16_t element = swift_print_kid(w, type, i);
		uint16_t own = swift_find(w->tree, element, SWIFT_IDENTIFIER);
		if (i > 0 && types)
			SWIFT_PUT(w, ", ");
		if (labeled) {
			swift_put_parameter_label(w, labels, i);
			if (types)
				swift_put_char(w, ' ');
		} else if (!types) {
			if (own)
				swift_put_text(w, own);
			else
				swift_put_char(w, '_');
			swift_put_char(w, ':');
		}
		if (types)
			swift_put(w, element);
	}
	swift_put_char(w, ')');
}

static void swift_put_differentiable(struct swift_printer *w, uint16_t node)
{
	switch ((char)swift_at(w, node)->at) {
	case 'f':
		SWIFT_PUT(w, "@differentiable(_forward) ");
		return;
	case 'r':
		SWIFT_PUT(w, "@differentiable(reverse) ");
		return;
	case 'l':
		SWIFT_PUT(w, "@differentiable(_linear) ");
		return;
	default:
		SWIFT_PUT(w, "@differentiable ");
		return;
	}
}

static void swift_put_convention(struct swift_printer *w, uint16_t type)
{
	enum swift_kind kind = swift_at(w, type)->kind;
	uint16_t c_type = swift_find(w->tree, type, SWIFT_C_TYPE);
	swift_put_word(w, kind);
	if (kind != SWIFT_C_FUNCTION_TYPE && kind != SWIFT_BLOCK_TYPE &&
	    kind != SWIFT_ESCAPING_BLOCK_TYPE)
		return;
	if (c_type) {
		SWIFT_PUT(w, ", mangledCType: \"");
		swift_put_text(w, c_type);
		swift_put_char(w, '"');
	}
	SWIFT_PUT(w, ") ");
}

void swift_put_function_type(struct swift_printer *w, uint16_t labels, uint16_t type)
{
	uint16_t throws = 0, parameters = 0, result = 0;
	bool async = false, sendable = false, sending = false;
	swift_put_convention(w, type);
	for (unsigned i = 0; i < swift_at(w, type)->n; i++) {
		uint16_t part = swift_print_kid(w, type, i);
		switch ((unsigned)swift_at(w, part)->kind) {
		case SWIFT_GLOBAL_ACTOR:
		case SWIFT_ISOLATED_ANY:
		case SWIFT_NONISOLATED_CALLER:
			swift_put(w, part);
			break;
		case SWIFT_DIFFERENTIABLE:
			swift_put_differentiable(w, part);
			break;
		case SWIFT_THROWS:
		case SWIFT_TYPED_THROWS:
			throws = part;
			break;
		case SWIFT_ARGUMENT:
			parameters = swift_print_kid(w, part, 0);
			break;
		case SWIFT_RESULT:
			result = swift_print_kid(w, part, 0);
			break;
		default:
			async = async || swift_at(w, part)->kind == SWIFT_ASYNC;
			sendable = sendable || swift_at(w, part)->kind == SWIFT_SENDABLE;
			sending = sending || swift_at(w, part)->kind == SWIFT_SENDING_RESULT;
			break;
		}
	}
	if (!parameters || !result) {
		ux_name_text_fail(&w->text);
		return;
	}
	if (sendable)
		SWIFT_PUT(w, "@Sendable ");
	swift_put_parameters(w, labels, parameters);
	if (w->style.simple)
		return;
	if (async)
		SWIFT_PUT(w, " async");
	if (throws)
		swift_put(w, throws);
	SWIFT_PUT(w, " -> ");
	if (sending)
		SWIFT_PUT(w, "sending ");
	swift_put(w, result);
}

enum section {
	ATTRIBUTES,
	INPUTS,
	RESULTS,
};

static enum section swift_section_of(enum swift_kind kind)
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

/* Punctuation between the sections of a function type, from one section to a later one. */
static void swift_put_sections(struct swift_printer *w, uint16_t type, enum section from,
			       enum section to)
{
	uint16_t pattern = swift_find(w->tree, type, SWIFT_IMPL_PATTERN);
	if (from == ATTRIBUTES && to > ATTRIBUTES) {
		if (pattern) {
			swift_put_word(w, SWIFT_IMPL_PATTERN);
			swift_put(w, swift_print_kid(w, pattern, 0));
			swift_put_char(w, ' ');
		}
		swift_put_char(w, '(');
	}
	if (from < RESULTS && to == RESULTS) {
		SWIFT_PUT(w, ") -> ");
		if (swift_find(w->tree, type, SWIFT_SENDING_RESULT))
			SWIFT_PUT(w, "sending ");
		swift_put_char(w, '(');
	}
}

static void swift_put_impl_substitutions(struct swift_printer *w, uint16_t list)
{
	SWIFT_PUT(w, " for <");
	swift_put_kids(w, list, ", ");
	swift_put_char(w, '>');
}

void swift_put_impl_function(struct swift_printer *w, uint16_t type)
{
	enum section section = ATTRIBUTES;
	uint16_t pattern = 0, invocation = 0;
	bool first = true; /* the next one is the first of its section */
	for (unsigned i = 0; i < swift_at(w, type)->n && !w->text.failed; i++) {
		uint16_t part = swift_print_kid(w, type, i);
		enum swift_kind kind = swift_at(w, part)->kind;
		if (kind == SWIFT_IMPL_PATTERN)
			pattern = part;
		if (kind == SWIFT_IMPL_INVOCATION)
			invocation = part;
		if (kind == SWIFT_IMPL_PATTERN || kind == SWIFT_IMPL_INVOCATION ||
		    kind == SWIFT_SENDING_RESULT)
			continue;
		enum section next = ux_max(swift_section_of(kind), section);
		swift_put_sections(w, type, section, next);
		first = first || next != section;
		section = next;
		if (section != ATTRIBUTES && !first)
			SWIFT_PUT(w, ", ");
		first = false;
		swift_put(w, part);
		if (section == ATTRIBUTES)
			swift_put_char(w, ' ');
	}
	swift_put_sections(w, type, section, RESULTS);
	swift_put_char(w, ')');
	if (pattern)
		swift_put_impl_substitutions(w, swift_print_kid(w, pattern, 1));
	if (invocation)
		swift_put_impl_substitutions(w, swift_print_kid(w, invocation, 0));
}
