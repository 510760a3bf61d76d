/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations as text: what a Swift name is of, in what contexts. */
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
	const char *instead; /* of a name, or NULL */
	const char *extra;   /* behind the name; a text of several words goes before it */
	uint16_t macro;      /* that is named in extra, or 0 */
	bool numbered;
	uint32_t number;
};

static uint16_t type_in(const struct swift *p, uint16_t node)
{
	for (unsigned i = 1; i < p->nodes[node].n; i++)
		if (swift_is(p, swift_kid(p, node, i), SWIFT_IS_TYPE))
			return swift_kid(p, node, i);
	return 0;
}

static void put_extra(struct swift_printer *w, const struct form *f)
{
	put(w, f->extra, strlen(f->extra));
	if (f->macro) {
		swift_put(w, f->macro);
		PUT(w, " expansion #");
	}
	if (f->numbered)
		swift_put_number(w, f->number);
}

static void put_type(struct swift_printer *w, uint16_t node, uint16_t type, uint16_t arguments)
{
	uint16_t labels = swift_find(w->tree, node, SWIFT_LABELS);
	if (!labels && !arguments) {
		swift_put(w, type);
		return;
	}
	if (arguments) {
		put_char(w, '<');
		swift_put_kids(w, arguments, ", ");
		put_char(w, '>');
	}
	if (at(w, type)->kind == SWIFT_GENERIC) {
		if (!arguments)
			swift_put(w, kid(w, type, 0));
		type = kid(w, type, 1);
		if (!swift_is_function_type(w->tree, type))
			put_char(w, ' ');
	}
	swift_put_function_type(w, labels, type);
}

static void put_own_name(struct swift_printer *w, const struct form *f)
{
	if (f->instead) {
		put(w, f->instead, strlen(f->instead));
		return;
	}
	uint16_t name = kid(w, f->node, 1);
	if (name && at(w, name)->kind != SWIFT_PRIVATE_NAME)
		swift_put(w, name);
	uint16_t private = swift_find(w->tree, f->node, SWIFT_PRIVATE_NAME);
	if (private)
		swift_put(w, private);
}

static void put_typed(struct swift_printer *w, const struct form *f, bool words, uint16_t arguments)
{
	uint16_t type = type_in(w->tree, f->node);
	if (!type) {
		swift_give_up(w);
		return;
	}
	uint16_t bare = type;
	while (at(w, bare)->kind == SWIFT_GENERIC)
		bare = kid(w, bare, 1);
	switch ((unsigned)at(w, bare)->kind) {
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
		if (words ||
		    !(swift_is_function_type(w->tree, type) || at(w, type)->kind == SWIFT_GENERIC))
			put_char(w, ' ');
		put_type(w, f->node, type, arguments);
	} else if (!w->style.simple) {
		PUT(w, " : ");
		put_type(w, f->node, type, arguments);
	}
}

/* The context behind a declaration of several words. */
static void put_later(struct swift_printer *w, enum swift_kind kind, uint16_t context)
{
	bool of = kind == SWIFT_DEFAULT_ARGUMENT || kind == SWIFT_INITIALIZER ||
		  kind == SWIFT_WRAPPER_BACKING || kind == SWIFT_WRAPPER_PROJECTED ||
		  kind == SWIFT_WRAPPED_FIELD_INIT;
	if (of)
		PUT(w, " of ");
	else
		PUT(w, " in ");
	swift_put(w, context);
}

static bool is_local(const struct swift_printer *w, const struct form *f)
{
	return f->named && at(w, kid(w, f->node, 1))->kind == SWIFT_LOCAL_NAME;
}

/* arguments: of a generic function that is bound to them, or 0; prefix as in swift_put_prefix(). */
static uint16_t put_form(struct swift_printer *w, struct form f, uint16_t arguments, bool prefix)
{
	bool words = (f.extra && strchr(f.extra, ' ')) || is_local(w, &f);
	if (prefix && (f.typing != NO_TYPE || words))
		return f.node;
	uint16_t context = kid(w, f.node, 0), later = words ? context : 0;
	if (w->style.simple && at(w, context)->kind == SWIFT_MODULE)
		later = 0;
	if (!words) {
		char *before = w->pos;
		later = swift_put_prefix(w, context);
		if (w->pos != before)
			put_char(w, '.');
	}
	if (f.named || f.instead) {
		if (f.extra && strchr(f.extra, ' ')) {
			put_extra(w, &f);
			PUT(w, " of ");
			f.extra = NULL;
		}
		char *before = w->pos;
		put_own_name(w, &f);
		if (f.extra && w->pos != before)
			put_char(w, '.');
	}
	if (f.extra)
		put_extra(w, &f);
	if (f.typing != NO_TYPE)
		put_typed(w, &f, words, arguments);
	if (later && !prefix) {
		put_later(w, at(w, f.node)->kind, later);
		later = 0;
	}
	return later;
}

static uint16_t put_storage(struct swift_printer *w, uint16_t node, const char *extra, bool prefix)
{
	bool variable = at(w, node)->kind == SWIFT_VARIABLE;
	if (!variable && at(w, node)->kind != SWIFT_SUBSCRIPT) {
		swift_give_up(w);
		return 0;
	}
	struct form f = {
		.node = node,
		.typing = AFTER_COLON,
		.named = variable,
		.instead = variable ? NULL : "subscript",
		.extra = extra,
	};
	return put_form(w, f, 0, prefix);
}

/* Macro expansions: the number is the fourth child of those that are attached to something. */
static uint16_t put_macro(struct swift_printer *w, uint16_t node, bool prefix)
{
	enum swift_kind kind = at(w, node)->kind;
	bool attached = kind != SWIFT_MACRO_FREESTANDING && kind != SWIFT_MACRO_UNIQUE;
	uint16_t number = kid(w, node, attached ? 3 : 2);
	struct form f = {
		.node = node,
		.named = true,
		.extra = swift_kinds[kind].text,
		.macro = attached ? kid(w, node, 2) : 0,
		.numbered = true,
		.number = at(w, number)->at + 1,
	};
	return put_form(w, f, 0, prefix);
}

static void put_macro_location(struct swift_printer *w, uint16_t node)
{
	PUT(w, "module ");
	swift_put(w, kid(w, node, 0));
	PUT(w, " file ");
	swift_put(w, kid(w, node, 1));
	PUT(w, " line ");
	swift_put(w, kid(w, node, 2));
	PUT(w, " column ");
	swift_put(w, kid(w, node, 3));
}

static bool of_class(const struct swift_printer *w, uint16_t node)
{
	return at(w, kid(w, node, 0))->kind == SWIFT_CLASS;
}

/* Declarations that have no name of their own. */
static uint16_t put_unnamed(struct swift_printer *w, uint16_t node, bool prefix)
{
	enum swift_kind kind = at(w, node)->kind;
	struct form f = {.node = node, .extra = swift_kinds[kind].text};
	switch ((unsigned)kind) {
	case SWIFT_ALLOCATOR:
		f.extra = of_class(w, node) ? "__allocating_init" : "init";
		f.typing = AS_FUNCTION;
		break;
	case SWIFT_CONSTRUCTOR:
		f.extra = "init";
		f.typing = AS_FUNCTION;
		break;
	case SWIFT_DEALLOCATOR:
		f.extra = of_class(w, node) ? f.extra : "deinit";
		break;
	case SWIFT_ISOLATED_DEALLOCATOR:
		f.extra = of_class(w, node) ? f.extra : "deinit";
		break;
	case SWIFT_EXPLICIT_CLOSURE:
	case SWIFT_IMPLICIT_CLOSURE:
		f.typing = w->style.simple ? NO_TYPE : AS_FUNCTION;
		f.numbered = true;
		f.number = at(w, kid(w, node, 1))->at + 1;
		break;
	case SWIFT_DEFAULT_ARGUMENT:
		f.numbered = true;
		f.number = at(w, kid(w, node, 1))->at;
		break;
	default:
		break;
	}
	return put_form(w, f, 0, prefix);
}

static uint16_t put_named(struct swift_printer *w, uint16_t node, enum typing typing, bool prefix)
{
	struct form f = {.node = node, .typing = typing, .named = true};
	return put_form(w, f, 0, prefix);
}

/* Contexts that are another declaration with something said before it; false: it is none. */
static bool put_around(struct swift_printer *w, uint16_t node)
{
	enum swift_kind kind = at(w, node)->kind;
	switch ((unsigned)kind) {
	case SWIFT_OPAQUE_OF:
		put_word(w, kind);
		swift_put(w, kid(w, node, 0));
		PUT(w, ">>");
		return true;
	case SWIFT_STATIC:
	case SWIFT_CURRY_THUNK:
	case SWIFT_IDENTITY_THUNK:
	case SWIFT_ATTRIBUTE_GENERATOR:
		put_word(w, kind);
		swift_put(w, kid(w, node, 0));
		return true;
	case SWIFT_MACRO_LOCATION:
		put_macro_location(w, node);
		return true;
	case SWIFT_BUILTIN_TUPLE:
		put_word(w, kind);
		return true;
	default:
		return false;
	}
}

uint16_t swift_put_entity(struct swift_printer *w, uint16_t node, bool prefix)
{
	enum swift_kind kind = at(w, node)->kind;
	if (put_around(w, node))
		return 0;
	if (kind >= SWIFT_GETTER && kind <= SWIFT_UNSAFE_MUTABLE_ADDRESSOR)
		return put_storage(w, kid(w, node, 0), swift_kinds[kind].text, prefix);
	if (kind >= SWIFT_MACRO_ACCESSOR && kind <= SWIFT_MACRO_UNIQUE)
		return put_macro(w, node, prefix);
	if (kind >= SWIFT_ALLOCATOR && kind <= SWIFT_IMPLICIT_CLOSURE)
		return put_unnamed(w, node, prefix);
	struct form f = {.node = node, .typing = AS_FUNCTION, .named = true};
	switch ((unsigned)kind) {
	case SWIFT_FUNCTION:
	case SWIFT_MACRO:
		return put_form(w, f, 0, prefix);
	case SWIFT_BOUND_FUNCTION:
		f.node = kid(w, node, 0);
		if (at(w, f.node)->kind == SWIFT_CONSTRUCTOR) {
			f.named = false;
			f.extra = "init";
		}
		return put_form(w, f, kid(w, node, 1), prefix);
	case SWIFT_VARIABLE:
		return put_named(w, node, AFTER_COLON, prefix);
	case SWIFT_SUBSCRIPT:
		f.named = false;
		f.instead = "subscript";
		return put_form(w, f, 0, prefix);
	default:
		return put_named(w, node, NO_TYPE, prefix);
	}
}
