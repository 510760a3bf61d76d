/* SPDX-License-Identifier: Apache-2.0 */
/* Declarations of Swift, and the types of functions. */
#include "swift_tree.h"

/* Operands: context, name, labels if any, type. */
static uint16_t swift_declaration(struct swift *p, enum swift_kind kind)
{
	uint16_t type = swift_pop_type(p);
	uint16_t labels = swift_labels(p, type);
	uint16_t name = swift_pop_class(p, SWIFT_IS_NAME);
	uint16_t context = swift_pop_context(p);
	if (!type || !name || !context)
		return 0;
	return SWIFT_MAKE_SOME(p, kind, context, name, labels, type);
}

uint16_t swift_function(struct swift *p)
{
	uint16_t signature = swift_pop(p, SWIFT_SIGNATURE);
	uint16_t type = swift_function_type(p, SWIFT_FUNCTION_TYPE, /* c_type= */ false);
	if (!type)
		return 0;
	uint16_t labels = swift_labels(p, type);
	if (signature)
		type = SWIFT_MAKE(p, SWIFT_GENERIC, signature, type);
	uint16_t name = swift_pop_class(p, SWIFT_IS_NAME);
	uint16_t context = swift_pop_context(p);
	if (!type || !name || !context)
		return 0;
	return SWIFT_MAKE_SOME(p, SWIFT_FUNCTION, context, name, labels, type);
}

static enum swift_kind swift_addressor(char c, bool mutable)
{
	switch (c) {
	case 'O':
		return mutable ? SWIFT_OWNING_MUTABLE_ADDRESSOR : SWIFT_OWNING_ADDRESSOR;
	case 'o':
		return mutable ? SWIFT_NATIVE_OWNING_MUTABLE_ADDRESSOR
			       : SWIFT_NATIVE_OWNING_ADDRESSOR;
	case 'p':
		return mutable ? SWIFT_NATIVE_PINNING_MUTABLE_ADDRESSOR
			       : SWIFT_NATIVE_PINNING_ADDRESSOR;
	case 'u':
		return mutable ? SWIFT_UNSAFE_MUTABLE_ADDRESSOR : SWIFT_UNSAFE_ADDRESSOR;
	default:
		return SWIFT_NONE;
	}
}

static enum swift_kind swift_accessor_kind(char c)
{
	switch (c) {
	case 'm':
		return SWIFT_MATERIALIZE;
	case 's':
		return SWIFT_SETTER;
	case 'g':
		return SWIFT_GETTER;
	case 'G':
		return SWIFT_GLOBAL_GETTER;
	case 'w':
		return SWIFT_WILL_SET;
	case 'W':
		return SWIFT_DID_SET;
	case 'r':
		return SWIFT_READ;
	case 'y':
		return SWIFT_READ2;
	case 'M':
		return SWIFT_MODIFY;
	case 'x':
		return SWIFT_MODIFY2;
	case 'i':
		return SWIFT_INIT_ACCESSOR;
	case 'b':
		return SWIFT_BORROW;
	case 'z':
		return SWIFT_MUTATE;
	default:
		return SWIFT_NONE;
	}
}

static uint16_t swift_accessor(struct swift *p, uint16_t storage)
{
	char c = swift_next(p);
	if (c == 'p')
		return storage;
	enum swift_kind kind = c == 'a' || c == 'l' ? swift_addressor(swift_next(p), c == 'a')
						    : swift_accessor_kind(c);
	return kind ? SWIFT_MAKE(p, kind, storage) : 0;
}

uint16_t swift_variable(struct swift *p)
{
	return swift_accessor(p, swift_declaration(p, SWIFT_VARIABLE));
}

uint16_t swift_subscript(struct swift *p)
{
	uint16_t where = swift_pop(p, SWIFT_PRIVATE_NAME);
	uint16_t type = swift_pop_type(p);
	uint16_t labels = swift_labels(p, type);
	uint16_t context = swift_pop_context(p);
	if (!type || !context)
		return 0;
	return swift_accessor(p, SWIFT_MAKE_SOME(p, SWIFT_SUBSCRIPT, context, labels, type, where));
}

/* Operands: context, labels, type, and the name of a private one. */
static uint16_t swift_constructor(struct swift *p, enum swift_kind kind)
{
	uint16_t where = swift_pop(p, SWIFT_PRIVATE_NAME);
	uint16_t type = swift_pop_type(p);
	uint16_t labels = swift_labels(p, type);
	uint16_t context = swift_pop_context(p);
	return type && context ? SWIFT_MAKE_SOME(p, kind, context, labels, type, where) : 0;
}

static uint16_t swift_closure(struct swift *p, enum swift_kind kind)
{
	uint16_t number = swift_index_node(p);
	uint16_t type = number ? swift_pop_type(p) : 0;
	uint16_t context = type ? swift_pop_context(p) : 0;
	return SWIFT_MAKE(p, kind, context, number, type);
}

/* Operands: context, attached declaration, name of the macro, number. */
static uint16_t swift_attached_macro(struct swift *p, enum swift_kind kind)
{
	uint16_t macro = swift_pop(p, SWIFT_IDENTIFIER);
	uint16_t where = macro ? swift_pop(p, SWIFT_PRIVATE_NAME) : 0;
	uint16_t name = macro ? swift_pop_class(p, SWIFT_IS_NAME) : 0;
	uint16_t context = swift_pop_context(p);
	if (!context)
		context = swift_pop_any(p);
	uint16_t number = swift_index_node(p);
	if (!macro || !name || !context || !number)
		return 0;
	return SWIFT_MAKE_SOME(p, kind, context, name, macro, number, where);
}

static uint16_t swift_free_macro(struct swift *p, enum swift_kind kind)
{
	uint16_t where = swift_pop(p, SWIFT_PRIVATE_NAME);
	uint16_t name = swift_pop_class(p, SWIFT_IS_NAME);
	uint16_t context = swift_pop_context(p);
	if (!context)
		context = swift_pop_any(p);
	uint16_t number = swift_index_node(p);
	if (!name || !context || !number)
		return 0;
	return SWIFT_MAKE_SOME(p, kind, context, name, number, where);
}

/* Reads the location of an expansion: line and column. */
static uint16_t swift_macro_location(struct swift *p)
{
	uint16_t line = swift_index_node(p);
	uint16_t column = line ? swift_index_node(p) : 0;
	uint16_t file = swift_pop(p, SWIFT_IDENTIFIER);
	uint16_t module = swift_pop(p, SWIFT_IDENTIFIER);
	return SWIFT_MAKE(p, SWIFT_MACRO_LOCATION, module, file, line, column);
}

static uint16_t swift_macro(struct swift *p)
{
	switch (swift_next(p)) {
	case 'a':
		return swift_attached_macro(p, SWIFT_MACRO_ACCESSOR);
	case 'r':
		return swift_attached_macro(p, SWIFT_MACRO_MEMBER_ATTRIBUTE);
	case 'f':
		return swift_free_macro(p, SWIFT_MACRO_FREESTANDING);
	case 'm':
		return swift_attached_macro(p, SWIFT_MACRO_MEMBER);
	case 'p':
		return swift_attached_macro(p, SWIFT_MACRO_PEER);
	case 'c':
		return swift_attached_macro(p, SWIFT_MACRO_CONFORMANCE);
	case 'e':
		return swift_attached_macro(p, SWIFT_MACRO_EXTENSION);
	case 'q':
		return swift_attached_macro(p, SWIFT_MACRO_PREAMBLE);
	case 'b':
		return swift_attached_macro(p, SWIFT_MACRO_BODY);
	case 'u':
		return swift_free_macro(p, SWIFT_MACRO_UNIQUE);
	case 'X':
		return swift_macro_location(p);
	default:
		return 0;
	}
}

static enum swift_kind swift_untyped_kind(char c)
{
	switch (c) {
	case 'D':
		return SWIFT_DEALLOCATOR;
	case 'd':
		return SWIFT_DESTRUCTOR;
	case 'Z':
		return SWIFT_ISOLATED_DEALLOCATOR;
	case 'E':
		return SWIFT_IVAR_DESTROYER;
	case 'e':
		return SWIFT_IVAR_INITIALIZER;
	case 'i':
		return SWIFT_INITIALIZER;
	case 'P':
		return SWIFT_WRAPPER_BACKING;
	case 'W':
		return SWIFT_WRAPPER_PROJECTED;
	case 'F':
		return SWIFT_WRAPPED_FIELD_INIT;
	default:
		return SWIFT_NONE;
	}
}

uint16_t swift_function_entity(struct swift *p)
{
	char c = swift_next(p);
	uint16_t number = 0;
	enum swift_kind untyped = swift_untyped_kind(c);
	if (untyped)
		return SWIFT_MAKE(p, untyped, swift_pop_context(p));
	switch (c) {
	case 'C':
		return swift_constructor(p, SWIFT_ALLOCATOR);
	case 'c':
		return swift_constructor(p, SWIFT_CONSTRUCTOR);
	case 'U':
		return swift_closure(p, SWIFT_EXPLICIT_CLOSURE);
	case 'u':
		return swift_closure(p, SWIFT_IMPLICIT_CLOSURE);
	case 'A':
		number = swift_index_node(p);
		return SWIFT_MAKE(p, SWIFT_DEFAULT_ARGUMENT, swift_pop_context(p), number);
	case 'a':
		return SWIFT_MAKE(p, SWIFT_ATTRIBUTE_GENERATOR, swift_pop_context(p));
	case 'm':
		return swift_declaration(p, SWIFT_MACRO);
	case 'M':
		return swift_macro(p);
	case 'p':
		return swift_declaration(p, SWIFT_GENERIC_PARAM_DECL);
	case 'o':
		return swift_declaration(p, SWIFT_ENUM_ELEMENT);
	default:
		return 0;
	}
}

uint16_t swift_extension(struct swift *p)
{
	uint16_t signature = swift_pop(p, SWIFT_SIGNATURE);
	uint16_t module = swift_pop_module(p);
	uint16_t type = swift_pop_class(p, SWIFT_IS_ANY_GENERIC);
	return module && type ? SWIFT_MAKE_SOME(p, SWIFT_EXTENSION, module, type, signature) : 0;
}

uint16_t swift_c_type(struct swift *p)
{
	uint32_t n = 0;
	if (!swift_natural(p, &n) || n == 0 || n > (size_t)(p->end - p->pos))
		return 0;
	p->pos += n;
	return swift_text(p, SWIFT_C_TYPE, p->pos - n, n);
}

/* Reads a type of parameters or of a result: the empty list is (). */
static uint16_t swift_operand(struct swift *p, enum swift_kind kind)
{
	uint16_t type =
		swift_pop(p, SWIFT_EMPTY_LIST) ? swift_leaf(p, SWIFT_TUPLE) : swift_pop_type(p);
	return SWIFT_MAKE(p, kind, type);
}

static uint16_t swift_isolation(struct swift *p)
{
	uint16_t node = swift_pop(p, SWIFT_GLOBAL_ACTOR);
	if (!node)
		node = swift_pop(p, SWIFT_ISOLATED_ANY);
	return node ? node : swift_pop(p, SWIFT_NONISOLATED_CALLER);
}

uint16_t swift_function_type(struct swift *p, enum swift_kind kind, bool c_type)
{
	uint16_t c = c_type ? swift_c_type(p) : 0;
	if (c_type && !c)
		return 0;
	uint16_t sending = swift_pop(p, SWIFT_SENDING_RESULT);
	uint16_t isolated = swift_isolation(p);
	uint16_t differentiable = swift_pop(p, SWIFT_DIFFERENTIABLE);
	uint16_t throws = swift_pop(p, SWIFT_THROWS);
	if (!throws)
		throws = swift_pop(p, SWIFT_TYPED_THROWS);
	uint16_t sendable = swift_pop(p, SWIFT_SENDABLE);
	uint16_t async = swift_pop(p, SWIFT_ASYNC);
	uint16_t parameters = swift_operand(p, SWIFT_ARGUMENT);
	uint16_t result = parameters ? swift_operand(p, SWIFT_RESULT) : 0;
	return result ? SWIFT_MAKE_SOME(p, kind, c, sending, isolated, differentiable, throws,
					sendable, async, parameters, result)
		      : 0;
}

/* Removes the label from a tuple's element and returns it: Swift 4.0 had labels in types. */
static uint16_t swift_take_label(struct swift *p, uint16_t element)
{
	const struct swift_node *n = &p->nodes[element];
	if (n->kind != SWIFT_TUPLE_ELEMENT)
		return swift_leaf(p, SWIFT_FIRST_ELEMENT);
	for (unsigned i = 0; i < n->n; i++) {
		uint16_t kid = p->kids[n->at + i];
		if (swift_kind_of(p, kid) != SWIFT_IDENTIFIER)
			continue;
		memmove(&p->kids[n->at + i], &p->kids[n->at + i + 1],
			(n->n - i - 1) * sizeof(*p->kids));
		p->nodes[element].n--;
		return kid;
	}
	return swift_leaf(p, SWIFT_FIRST_ELEMENT);
}

/*
 * Returns the number of parameters of a function of that type; *ret_tuple is the tuple of them or
 * 0.
 */
static unsigned swift_parameters_of(const struct swift *p, uint16_t type, uint16_t *ret_tuple)
{
	*ret_tuple = 0;
	if (swift_kind_of(p, type) == SWIFT_GENERIC)
		type = swift_kid(p, type, 1);
	if (swift_kind_of(p, type) != SWIFT_FUNCTION_TYPE &&
	    swift_kind_of(p, type) != SWIFT_NOESCAPE_TYPE)
		return 0;
	uint16_t parameters = swift_kid(p, swift_find(p, type, SWIFT_ARGUMENT), 0);
	if (swift_kind_of(p, parameters) != SWIFT_TUPLE)
		return 1;
	*ret_tuple = parameters;
	return p->nodes[parameters].n;
}

uint16_t swift_labels(struct swift *p, uint16_t type)
{
	uint16_t labels[SWIFT_LIST_MAX];
	uint16_t tuple = 0;
	if (!p->old && swift_pop(p, SWIFT_EMPTY_LIST))
		return swift_leaf(p, SWIFT_LABELS);
	unsigned n = type ? swift_parameters_of(p, type, &tuple) : 0;
	bool any = false;
	if (n == 0 || n > SWIFT_LIST_MAX)
		return 0;
	for (unsigned i = 0; i < n; i++) {
		unsigned at = p->old ? i : n - 1 - i;
		labels[at] = !p->old ? swift_pop_any(p)
			     : tuple ? swift_take_label(p, swift_kid(p, tuple, i))
				     : swift_leaf(p, SWIFT_FIRST_ELEMENT);
		enum swift_kind kind = labels[at] ? swift_kind_of(p, labels[at]) : SWIFT_NONE;
		if (kind != SWIFT_IDENTIFIER && kind != SWIFT_FIRST_ELEMENT)
			return 0;
		any = any || kind == SWIFT_IDENTIFIER;
	}
	return any ? swift_make(p, SWIFT_LABELS, n, labels) : swift_leaf(p, SWIFT_LABELS);
}

static uint16_t swift_text_node(struct swift *p, enum swift_kind kind, const char *text)
{
	return swift_text(p, kind, text, strlen(text));
}

/* A letter and its text. */
struct letter {
	char letter;
	const char *text;
};

/* Reads a letter of the table and returns its text; NULL: it is not in the table. */
static const char *swift_take_letter(struct swift *p, const struct letter *letters)
{
	char c = swift_peek(p);
	for (; letters->letter && c; letters++) {
		if (letters->letter != c)
			continue;
		p->pos++;
		return letters->text;
	}
	return NULL;
}

/* The parts of an intermediate function type, in the order of their text. */
struct impl {
	uint16_t kids[SWIFT_LIST_MAX];
	size_t n;
	bool failed;
};

static void swift_impl_add(struct impl *f, uint16_t node)
{
	if (node == 0 || f->n == SWIFT_LIST_MAX)
		f->failed = true;
	else
		f->kids[f->n++] = node;
}

static void swift_impl_attribute(struct swift *p, struct impl *f, const char *text)
{
	swift_impl_add(f, swift_text_node(p, SWIFT_IMPL_ATTRIBUTE, text));
}

static void swift_impl_callee(struct swift *p, struct impl *f)
{
	static const struct letter callees[] = {{'y', "@callee_unowned"},
						{'g', "@callee_guaranteed"},
						{'x', "@callee_owned"},
						{'t', "@convention(thin)"},
						{0, NULL}};
	static const struct letter conventions[] = {{'B', "block"},          {'C', "c"},
						    {'M', "method"},         {'J', "objc_method"},
						    {'K', "closure"},        {'V', "com_method"},
						    {'W', "witness_method"}, {0, NULL}};
	const char *callee = swift_take_letter(p, callees);
	if (!callee) {
		f->failed = true;
		return;
	}
	swift_impl_attribute(p, f, callee);
	uint16_t c_type = 0;
	const char *convention = NULL;
	if (swift_eat(p, 'z')) {
		convention = swift_peek(p) == 'B' || swift_peek(p) == 'C'
				     ? swift_take_letter(p, conventions)
				     : NULL;
		c_type = convention ? swift_c_type(p) : 0;
		f->failed = f->failed || !c_type;
	} else {
		convention = swift_take_letter(p, conventions);
	}
	if (!convention)
		return;
	uint16_t text = swift_text_node(p, SWIFT_IDENTIFIER, convention);
	swift_impl_add(f, text ? SWIFT_MAKE_SOME(p, SWIFT_IMPL_CONVENTION, text, c_type) : 0);
}

static void swift_impl_attributes(struct swift *p, struct impl *f)
{
	static const struct letter coroutines[] = {
		{'A', "yield_once"}, {'I', "yield_once_2"}, {'G', "yield_many"}, {0, NULL}};
	if (swift_eat(p, 'e'))
		swift_impl_attribute(p, f, "@escaping");
	if (swift_eat(p, 'A'))
		swift_impl_attribute(p, f, "@isolated(any)");
	else if (swift_eat(p, 'N'))
		swift_impl_attribute(p, f, "nonisolated(nonsending)");
	if (swift_eat(p, 'O'))
		swift_impl_attribute(p, f, "@called(atMostOnce)");
	char c = swift_peek(p);
	if (c && strchr("dlfr", c)) {
		p->pos++;
		swift_impl_attribute(p, f,
				     c == 'd'   ? "@differentiable"
				     : c == 'l' ? "@differentiable(_linear)"
				     : c == 'f' ? "@differentiable(_forward)"
						: "@differentiable(reverse)");
	}
	swift_impl_callee(p, f);
	const char *coroutine = swift_take_letter(p, coroutines);
	if (coroutine)
		swift_impl_add(f, swift_text_node(p, SWIFT_IMPL_COROUTINE, coroutine));
	if (swift_eat(p, 'h'))
		swift_impl_attribute(p, f, "@Sendable");
	if (swift_eat(p, 'H'))
		swift_impl_attribute(p, f, "@async");
}

static const struct letter parameter_letters[] = {
	{'i', "@in"},
	{'c', "@in_constant"},
	{'l', "@inout"},
	{'b', "@inout_aliasable"},
	{'n', "@in_guaranteed"},
	{'X', "@in_cxx"},
	{'x', "@owned"},
	{'g', "@guaranteed"},
	{'e', "@deallocating"},
	{'y', "@unowned"},
	{'v', "@pack_owned"},
	{'p', "@pack_guaranteed"},
	{'m', "@pack_inout"},
	{0, NULL},
};

static const struct letter result_letters[] = {
	{'r', "@out"},
	{'o', "@owned"},
	{'d', "@unowned"},
	{'u', "@unowned_inner_pointer"},
	{'a', "@autoreleased"},
	{'k', "@pack_out"},
	{'l', "@guaranteed_address"},
	{'g', "@guaranteed"},
	{'m', "@inout"},
	{0, NULL},
};

/* Reads one parameter or result without its type. */
static void swift_impl_operand(struct swift *p, struct impl *f, enum swift_kind kind,
			       const char *text)
{
	uint16_t kids[6] = {swift_text_node(p, SWIFT_IMPL_ATTRIBUTE, text)};
	size_t n = 1;
	bool parameter = kind == SWIFT_IMPL_PARAMETER;
	if ((parameter || kind == SWIFT_IMPL_RESULT) && swift_eat(p, 'w'))
		kids[n++] = swift_text_node(p, SWIFT_IMPL_ATTRIBUTE, "@noDerivative");
	if (parameter && swift_eat(p, 'T'))
		kids[n++] = swift_text_node(p, SWIFT_IMPL_ATTRIBUTE, "sending");
	if (parameter && swift_eat(p, 'I'))
		kids[n++] = swift_text_node(p, SWIFT_IMPL_ATTRIBUTE, "isolated");
	if (parameter && swift_eat(p, 'L'))
		kids[n++] = swift_text_node(p, SWIFT_IMPL_ATTRIBUTE, "sil_implicit_leading_param");
	/* The last element is reserved for the type. */
	uint16_t node = swift_make(p, kind, n, kids);
	if (node && p->n_kids < SWIFT_KIDS_MAX) {
		p->kids[p->n_kids++] = 0;
		p->nodes[node].n++;
	} else {
		node = 0;
	}
	swift_impl_add(f, node);
}

/* Pops the types of the operands, the last operand's first. */
static void swift_impl_types(struct swift *p, struct impl *f, size_t from)
{
	for (size_t i = f->n; i-- > from && !f->failed;) {
		const struct swift_node *n = &p->nodes[f->kids[i]];
		if (n->kind != SWIFT_IMPL_PARAMETER && n->kind != SWIFT_IMPL_RESULT &&
		    n->kind != SWIFT_IMPL_YIELD && n->kind != SWIFT_IMPL_ERROR)
			continue;
		uint16_t type = swift_pop_type(p);
		f->failed = type == 0;
		p->kids[n->at + n->n - 1] = type;
	}
}

static void swift_impl_operands(struct swift *p, struct impl *f)
{
	const char *text = NULL;
	bool sending = swift_eat(p, 'T');
	while (!f->failed && (text = swift_take_letter(p, parameter_letters)))
		swift_impl_operand(p, f, SWIFT_IMPL_PARAMETER, text);
	if (sending)
		swift_impl_add(f, swift_leaf(p, SWIFT_SENDING_RESULT));
	while (!f->failed && (text = swift_take_letter(p, result_letters)))
		swift_impl_operand(p, f, SWIFT_IMPL_RESULT, text);
	while (!f->failed && swift_eat(p, 'Y')) {
		text = swift_take_letter(p, parameter_letters);
		f->failed = !text;
		if (text)
			swift_impl_operand(p, f, SWIFT_IMPL_YIELD, text);
	}
	if (!f->failed && swift_eat(p, 'z')) {
		text = swift_take_letter(p, result_letters);
		f->failed = !text;
		if (text)
			swift_impl_operand(p, f, SWIFT_IMPL_ERROR, text);
	}
}

/* Substitutions for the parameters of a signature: 'y' TYPE*. */
static uint16_t swift_impl_substitutions(struct swift *p, enum swift_kind kind, bool invocation)
{
	swift_drop_retroactive(p);
	unsigned from = p->n_stack;
	while (from > p->first_stack && swift_is(p, p->stack[from - 1], SWIFT_IS_TYPE))
		from--;
	uint16_t types = swift_make(p, SWIFT_TYPE_LIST, p->n_stack - from, p->stack + from);
	p->n_stack = from;
	if (!types || !swift_pop(p, SWIFT_EMPTY_LIST))
		return 0;
	if (invocation)
		return SWIFT_MAKE(p, kind, types);
	return SWIFT_MAKE(p, kind, swift_pop(p, SWIFT_SIGNATURE), types);
}

uint16_t swift_impl_function(struct swift *p)
{
	struct impl f = {.n = 0};
	uint16_t pattern = 0, invocation = 0;
	if (swift_eat(p, 's')) {
		pattern = swift_impl_substitutions(p, SWIFT_IMPL_PATTERN, /* invocation= */ false);
		f.failed = !pattern;
	}
	if (!f.failed && swift_eat(p, 'I')) {
		invocation =
			swift_impl_substitutions(p, SWIFT_IMPL_INVOCATION, /* invocation= */ true);
		f.failed = !invocation;
	}
	uint16_t signature = swift_pop(p, SWIFT_SIGNATURE);
	swift_eat(p, 'P'); /* pseudo-generic */
	swift_impl_attributes(p, &f);
	if (signature)
		swift_impl_add(&f, signature);
	size_t from = f.n;
	swift_impl_operands(p, &f);
	f.failed = f.failed || !swift_eat(p, '_');
	swift_impl_types(p, &f, from);
	if (pattern)
		swift_impl_add(&f, pattern);
	if (invocation)
		swift_impl_add(&f, invocation);
	return f.failed ? 0 : swift_make(p, SWIFT_IMPL_FUNCTION, f.n, f.kids);
}
