/* SPDX-License-Identifier: Apache-2.0 */
/* Swift's types, except function types. */
#include "swift_tree.h"

uint16_t swift_nominal(struct swift *p, enum swift_kind kind)
{
	uint16_t name = swift_pop_class(p, SWIFT_IS_NAME);
	uint16_t context = swift_pop_context(p);
	return swift_add_substitution(p, SWIFT_MAKE(p, kind, context, name));
}

/* "Builtin.Int64" and the like: NATURAL '_'. */
static uint16_t swift_sized_builtin(struct swift *p, const char *name, uint16_t element)
{
	uint32_t size = 0;
	if (!swift_natural(p, &size) || size == 0 || !swift_eat(p, '_'))
		return 0;
	char text[SWIFT_LIST_MAX];
	int n = snprintf(text, sizeof(text), "Builtin.%s%u", name, size);
	if (element) {
		size_t skip = strlen("Builtin.");
		const struct swift_node *e = &p->nodes[element];
		if (e->n <= skip || (size_t)n + e->n >= sizeof(text))
			return 0;
		text[n++] = 'x';
		memcpy(text + n, p->text + e->at + skip, e->n - skip);
		n += (int)(e->n - skip);
	}
	return swift_text(p, SWIFT_BUILTIN, text, (size_t)n);
}

static uint16_t swift_named_builtin(struct swift *p, char c)
{
	static const struct {
		char letter;
		const char *name;
	} names[] = {
		{'A', "Builtin.ImplicitActor"},
		{'b', "Builtin.BridgeObject"},
		{'B', "Builtin.UnsafeValueBuffer"},
		{'c', "Builtin.RawUnsafeContinuation"},
		{'D', "Builtin.DefaultActorStorage"},
		{'d', "Builtin.NonDefaultDistributedActorStorage"},
		{'e', "Builtin.Executor"},
		{'I', "Builtin.IntLiteral"},
		{'j', "Builtin.Job"},
		{'O', "Builtin.UnknownObject"},
		{'o', "Builtin.NativeObject"},
		{'P', "Builtin.PackIndex"},
		{'p', "Builtin.RawPointer"},
		{'t', "Builtin.SILToken"},
		{'w', "Builtin.Word"},
	};
	for (size_t i = 0; i < ux_countof(names); i++)
		if (names[i].letter == c)
			return swift_text(p, SWIFT_BUILTIN, names[i].name, strlen(names[i].name));
	return 0;
}

uint16_t swift_builtin(struct swift *p)
{
	char c = swift_next(p);
	uint16_t element = 0;
	switch (c) {
	case 'f':
		return swift_sized_builtin(p, "FPIEEE", 0);
	case 'i':
		return swift_sized_builtin(p, "Int", 0);
	case 'v':
		element = swift_pop(p, SWIFT_BUILTIN);
		return element ? swift_sized_builtin(p, "Vec", element) : 0;
	case 'V': {
		element = swift_pop_type(p);
		uint16_t size = swift_pop_type(p);
		return SWIFT_MAKE(p, SWIFT_BUILTIN_ARRAY, size, element);
	}
	case 'T':
		return swift_leaf(p, SWIFT_BUILTIN_TUPLE);
	default:
		return swift_named_builtin(p, c);
	}
}

/* Arguments of a type and of the types around it. */
struct arguments {
	uint16_t lists[SWIFT_LIST_MAX]; /* the innermost type's first */
	size_t n;
	size_t used;
};

static bool swift_pop_arguments(struct swift *p, struct arguments *args)
{
	for (args->n = args->used = 0; args->n < SWIFT_LIST_MAX;) {
		unsigned from = p->n_stack;
		while (from > p->first_stack && swift_is(p, p->stack[from - 1], SWIFT_IS_TYPE))
			from--;
		uint16_t list = swift_make(p, SWIFT_TYPE_LIST, p->n_stack - from, p->stack + from);
		p->n_stack = from;
		if (!list)
			return false;
		args->lists[args->n++] = list;
		if (swift_pop(p, SWIFT_EMPTY_LIST))
			return true;
		if (!swift_pop(p, SWIFT_FIRST_ELEMENT))
			return false;
	}
	return false;
}

static enum swift_kind swift_bound_kind(enum swift_kind kind)
{
	switch ((unsigned)kind) {
	case SWIFT_CLASS:
		return SWIFT_BOUND_CLASS;
	case SWIFT_STRUCTURE:
		return SWIFT_BOUND_STRUCTURE;
	case SWIFT_ENUM:
		return SWIFT_BOUND_ENUM;
	case SWIFT_PROTOCOL:
		return SWIFT_BOUND_PROTOCOL;
	case SWIFT_TYPE_ALIAS:
		return SWIFT_BOUND_ALIAS;
	case SWIFT_OTHER_NOMINAL:
		return SWIFT_BOUND_OTHER;
	case SWIFT_FUNCTION:
	case SWIFT_CONSTRUCTOR:
		return SWIFT_BOUND_FUNCTION;
	default:
		return SWIFT_NONE;
	}
}

/* Returns true when a context can have arguments of its own. */
static bool swift_takes_arguments(enum swift_kind kind)
{
	switch ((unsigned)kind) {
	case SWIFT_VARIABLE:
	case SWIFT_SUBSCRIPT:
	case SWIFT_IMPLICIT_CLOSURE:
	case SWIFT_EXPLICIT_CLOSURE:
	case SWIFT_DEFAULT_ARGUMENT:
	case SWIFT_INITIALIZER:
	case SWIFT_WRAPPER_BACKING:
	case SWIFT_WRAPPER_PROJECTED:
	case SWIFT_STATIC:
		return false;
	default:
		return true;
	}
}

static uint16_t swift_bind(struct swift *p, uint16_t decl, struct arguments *args);

/* Returns the same declaration in a context that is bound to its arguments. */
static uint16_t swift_bind_context(struct swift *p, uint16_t decl, struct arguments *args)
{
	uint16_t context = swift_kid(p, decl, 0);
	uint16_t bound = 0;
	if (swift_kind_of(p, context) == SWIFT_EXTENSION) {
		bound = swift_bind(p, swift_kid(p, context, 1), args);
		bound = bound ? SWIFT_MAKE_SOME(p, SWIFT_EXTENSION, swift_kid(p, context, 0), bound,
						swift_kid(p, context, 2))
			      : 0;
	} else {
		bound = swift_bind(p, context, args);
	}
	if (!bound)
		return 0;
	uint16_t kids[SWIFT_LIST_MAX] = {bound};
	size_t n = ux_min(p->nodes[decl].n, SWIFT_LIST_MAX);
	memcpy(kids + 1, p->kids + p->nodes[decl].at + 1, (n - 1) * sizeof(*kids));
	return swift_make(p, swift_kind_of(p, decl), n, kids);
}

static uint16_t swift_bind(struct swift *p, uint16_t decl, struct arguments *args)
{
	enum swift_kind kind = swift_kind_of(p, decl);
	if (args->used == args->n || !swift_is(p, decl, SWIFT_IS_CONTEXT | SWIFT_IS_ANY_GENERIC) ||
	    kind == SWIFT_MODULE || kind == SWIFT_BUILTIN_TUPLE || p->depth == SWIFT_DEPTH_MAX)
		return 0;
	uint16_t list = args->lists[args->used];
	bool takes = swift_takes_arguments(kind);
	args->used += takes;
	if (args->used < args->n) {
		p->depth++;
		decl = swift_bind_context(p, decl, args);
		p->depth--;
	}
	if (!decl || !takes || p->nodes[list].n == 0)
		return decl;
	enum swift_kind bound = swift_bound_kind(kind);
	return bound ? SWIFT_MAKE(p, bound, decl, list) : 0;
}

uint16_t swift_bound(struct swift *p)
{
	struct arguments args;
	swift_drop_retroactive(p);
	if (!swift_pop_arguments(p, &args))
		return 0;
	uint16_t decl = swift_pop_class(p, SWIFT_IS_ANY_GENERIC);
	return decl ? swift_add_substitution(p, swift_bind(p, decl, &args)) : 0;
}

uint16_t swift_protocol_list(struct swift *p)
{
	return SWIFT_MAKE(p, SWIFT_PROTOCOLS, swift_list(p, SWIFT_TYPE_LIST, swift_pop_protocol));
}

static uint16_t swift_tuple_element(struct swift *p)
{
	uint16_t mark = swift_pop(p, SWIFT_VARIADIC_MARK);
	uint16_t label = swift_pop(p, SWIFT_IDENTIFIER);
	uint16_t type = swift_pop_type(p);
	return type ? SWIFT_MAKE_SOME(p, SWIFT_TUPLE_ELEMENT, mark, label, type) : 0;
}

uint16_t swift_tuple(struct swift *p)
{
	return swift_list(p, SWIFT_TUPLE, swift_tuple_element);
}

uint16_t swift_integer(struct swift *p)
{
	bool negative = swift_eat(p, 'n');
	uint32_t v = 0;
	if (!swift_index(p, &v))
		return 0;
	return swift_number(p, negative ? SWIFT_NEGATIVE_INTEGER : SWIFT_INTEGER, v);
}

static uint16_t swift_type_over_type(struct swift *p, enum swift_kind kind)
{
	return SWIFT_MAKE(p, kind, swift_pop_type(p));
}

static uint16_t swift_metatype(struct swift *p, enum swift_kind kind)
{
	static const char *const texts[] = {"@thin", "@thick", "@objc_metatype"};
	char c = swift_next(p);
	int which = c == 't' ? 0 : c == 'T' ? 1 : c == 'o' ? 2 : -1;
	if (which < 0)
		return 0;
	uint16_t how =
		swift_text(p, SWIFT_METATYPE_REPRESENTATION, texts[which], strlen(texts[which]));
	uint16_t type = swift_pop_type(p);
	return SWIFT_MAKE(p, kind, how, type);
}

static uint16_t swift_pop_requirement(struct swift *p)
{
	return swift_pop_class(p, SWIFT_IS_REQUIREMENT);
}

static uint16_t swift_box(struct swift *p, bool generic)
{
	uint16_t signature = 0, arguments = 0;
	if (generic) {
		signature = swift_pop(p, SWIFT_SIGNATURE);
		arguments = swift_type_list(p);
		if (!signature || !arguments)
			return 0;
	}
	uint16_t types = swift_type_list(p);
	uint16_t fields[SWIFT_LIST_MAX];
	size_t n = types ? p->nodes[types].n : 0;
	for (size_t i = 0; i < n; i++) {
		uint16_t type = swift_kid(p, types, (unsigned)i);
		bool var = swift_kind_of(p, type) == SWIFT_INOUT;
		fields[i] = SWIFT_MAKE(p, var ? SWIFT_BOX_VAR : SWIFT_BOX_LET,
				       var ? swift_kid(p, type, 0) : type);
	}
	uint16_t layout = types ? swift_make(p, SWIFT_BOX_FIELDS, n, fields) : 0;
	return layout ? SWIFT_MAKE_SOME(p, SWIFT_SIL_BOX_LAYOUT, layout, signature, arguments) : 0;
}

static uint16_t swift_sugared(struct swift *p)
{
	uint16_t second = 0, first = 0;
	switch (swift_next(p)) {
	case 'q':
		return swift_type_over_type(p, SWIFT_SUGARED_OPTIONAL);
	case 'a':
		return swift_type_over_type(p, SWIFT_SUGARED_ARRAY);
	case 'p':
		return swift_type_over_type(p, SWIFT_SUGARED_PAREN);
	case 'D':
		second = swift_pop_type(p);
		first = swift_pop_type(p);
		return SWIFT_MAKE(p, SWIFT_SUGARED_DICTIONARY, first, second);
	case 'A':
		second = swift_pop_type(p);
		first = swift_pop_type(p);
		return SWIFT_MAKE(p, SWIFT_SUGARED_INLINE_ARRAY, first, second);
	default:
		return 0;
	}
}

static uint16_t swift_anonymous_context(struct swift *p)
{
	uint16_t types = swift_type_list(p);
	uint16_t name = swift_pop(p, SWIFT_IDENTIFIER);
	uint16_t parent = swift_pop_context(p);
	return SWIFT_MAKE(p, SWIFT_ANONYMOUS_CONTEXT, name, parent, types);
}

static uint16_t swift_existential(struct swift *p, char c)
{
	uint16_t second = 0, first = 0;
	switch (c) {
	case 'P':
		second = swift_list(p, SWIFT_EXISTENTIAL_REQUIREMENTS, swift_pop_requirement);
		first = swift_pop_type(p);
		return SWIFT_MAKE(p, SWIFT_CONSTRAINED_EXISTENTIAL, first, second);
	case 'c':
		second = swift_pop_type(p);
		first = swift_protocol_list(p);
		return SWIFT_MAKE(p, SWIFT_PROTOCOLS_CLASS, first, second);
	case 'l':
		return SWIFT_MAKE(p, SWIFT_PROTOCOLS_OBJECT, swift_protocol_list(p));
	case 'g':
		return swift_type_over_type(p, SWIFT_EXTENDED_SHAPE);
	default:
		second = swift_pop_type(p);
		first = swift_pop(p, SWIFT_SIGNATURE);
		return SWIFT_MAKE(p, SWIFT_EXTENDED_SHAPE, first, second);
	}
}

/* Returns the kind of a type that X and a letter make over another type. */
static enum swift_kind swift_over_kind(char c)
{
	switch (c) {
	case 'o':
		return SWIFT_UNOWNED;
	case 'u':
		return SWIFT_UNMANAGED;
	case 'w':
		return SWIFT_WEAK;
	case 'b':
		return SWIFT_SIL_BOX;
	case 'D':
		return SWIFT_DYNAMIC_SELF;
	case 'p':
		return SWIFT_EXISTENTIAL_METATYPE;
	default:
		return SWIFT_NONE;
	}
}

static enum swift_kind swift_function_kind(char c)
{
	switch (c) {
	case 'E':
		return SWIFT_NOESCAPE_TYPE;
	case 'A':
		return SWIFT_ESCAPING_AUTOCLOSURE_TYPE;
	case 'f':
		return SWIFT_THIN_TYPE;
	case 'K':
		return SWIFT_AUTOCLOSURE_TYPE;
	case 'U':
		return SWIFT_UNCURRIED_TYPE;
	case 'L':
		return SWIFT_ESCAPING_BLOCK_TYPE;
	case 'B':
		return SWIFT_BLOCK_TYPE;
	case 'C':
		return SWIFT_C_FUNCTION_TYPE;
	case 'O':
		return SWIFT_CALLED_ONCE_TYPE;
	default:
		return SWIFT_NONE;
	}
}

uint16_t swift_special_type(struct swift *p)
{
	char c = swift_next(p);
	bool c_type = c == 'z';
	if (c_type)
		c = swift_next(p);
	enum swift_kind kind = swift_function_kind(c);
	if (kind && (!c_type || c == 'B' || c == 'C'))
		return swift_function_type(p, kind, c_type);
	if (c_type)
		return 0;
	kind = swift_over_kind(c);
	if (kind)
		return swift_type_over_type(p, kind);
	switch (c) {
	case 'M':
		return swift_metatype(p, SWIFT_METATYPE);
	case 'm':
		return swift_metatype(p, SWIFT_EXISTENTIAL_METATYPE);
	case 'X':
	case 'x':
		return swift_box(p, c == 'X');
	case 'Y':
		return swift_nominal(p, SWIFT_OTHER_NOMINAL);
	case 'Z':
		return swift_anonymous_context(p);
	case 'e':
		return swift_leaf(p, SWIFT_ERROR_TYPE);
	case 'S':
		return swift_sugared(p);
	case 'P':
	case 'c':
	case 'l':
	case 'g':
	case 'G':
		return swift_existential(p, c);
	default:
		return 0;
	}
}

uint16_t swift_annotation(struct swift *p)
{
	char c = swift_next(p);
	switch (c) {
	case 'a':
		return swift_leaf(p, SWIFT_ASYNC);
	case 'A':
		return swift_leaf(p, SWIFT_ISOLATED_ANY);
	case 'b':
		return swift_leaf(p, SWIFT_SENDABLE);
	case 'C':
		return swift_leaf(p, SWIFT_NONISOLATED_CALLER);
	case 'T':
		return swift_leaf(p, SWIFT_SENDING_RESULT);
	case 'c':
		return swift_type_over_type(p, SWIFT_GLOBAL_ACTOR);
	case 'K':
		return swift_type_over_type(p, SWIFT_TYPED_THROWS);
	case 'i':
		return swift_type_over_type(p, SWIFT_ISOLATED);
	case 'k':
		return swift_type_over_type(p, SWIFT_NO_DERIVATIVE);
	case 't':
		return swift_type_over_type(p, SWIFT_COMPILE_TIME);
	case 'g':
		return swift_type_over_type(p, SWIFT_CONST_VALUE);
	case 'u':
		return swift_type_over_type(p, SWIFT_SENDING);
	case 'j':
		c = swift_next(p);
		return c && strchr("dlfr", c)
			       ? swift_number(p, SWIFT_DIFFERENTIABLE, (unsigned char)c)
			       : 0;
	default:
		return 0;
	}
}

static uint16_t swift_opaque(struct swift *p)
{
	struct arguments args;
	uint16_t number = swift_index_node(p);
	swift_drop_retroactive(p);
	if (!swift_pop_arguments(p, &args))
		return 0;
	uint16_t name = swift_pop_any(p);
	uint16_t lists = swift_make(p, SWIFT_TYPE_LIST, args.n, args.lists);
	return swift_add_substitution(p, SWIFT_MAKE(p, SWIFT_OPAQUE, name, number, lists));
}

static uint16_t swift_pack(struct swift *p, char c)
{
	enum swift_kind kind = SWIFT_PACK;
	if (c == 'S') {
		char how = swift_next(p);
		if (how != 'd' && how != 'i')
			return 0;
		kind = how == 'd' ? SWIFT_PACK_DIRECT : SWIFT_PACK_INDIRECT;
	}
	return swift_list(p, kind, swift_pop_type);
}

static uint16_t swift_associated(struct swift *p)
{
	uint16_t name = swift_pop(p, SWIFT_IDENTIFIER);
	uint16_t type = swift_pop_type(p);
	return swift_add_substitution(p, SWIFT_MAKE(p, SWIFT_ASSOCIATED, type, name));
}

uint16_t swift_archetype(struct swift *p)
{
	char c = swift_next(p);
	uint16_t first = 0, second = 0;
	switch (c) {
	case 'a':
		return swift_associated(p);
	case 'O':
		return SWIFT_MAKE(p, SWIFT_OPAQUE_OF, swift_pop_context(p));
	case 'o':
		return swift_opaque(p);
	case 'r':
	case 'u':
		return swift_leaf(p, SWIFT_SOME);
	case 'R':
	case 'U':
		return SWIFT_MAKE(p, SWIFT_SOME, swift_index_node(p));
	case 'x':
		return swift_add_substitution(p, swift_member(p, 0));
	case 'X':
		return swift_add_substitution(p, swift_member_path(p, 0));
	case 'y':
	case 'Y':
	case 'z':
	case 'Z':
		first = c == 'y' || c == 'Y' ? swift_generic_param(p)
					     : swift_leaf(p, SWIFT_GENERIC_PARAM);
		if (!first)
			return 0;
		second =
			c == 'y' || c == 'z' ? swift_member(p, first) : swift_member_path(p, first);
		return swift_add_substitution(p, second);
	case 'p':
		second = swift_pop_type(p);
		first = swift_pop_type(p);
		return SWIFT_MAKE(p, SWIFT_PACK_EXPANSION, first, second);
	case 'e':
		first = swift_pop_type(p);
		return SWIFT_MAKE(p, SWIFT_PACK_ELEMENT, first, swift_index_node(p));
	case 'P':
	case 'S':
		return swift_pack(p, c);
	default:
		return 0;
	}
}
