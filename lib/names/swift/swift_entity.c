/* SPDX-License-Identifier: Apache-2.0 */
/* Functions, variables and other declarations that Swift's names are of. */
#include "swift_tree.h"

/* Context, name, labels if it has such, type. */
static uint16_t declaration(struct swift *p, enum swift_kind kind)
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

static enum swift_kind addressor(char c, bool mutable)
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

static enum swift_kind accessor_kind(char c)
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

static uint16_t accessor(struct swift *p, uint16_t storage)
{
	char c = swift_next(p);
	if (c == 'p')
		return storage;
	enum swift_kind kind =
		c == 'a' || c == 'l' ? addressor(swift_next(p), c == 'a') : accessor_kind(c);
	return kind ? SWIFT_MAKE(p, kind, storage) : 0;
}

uint16_t swift_variable(struct swift *p)
{
	return accessor(p, declaration(p, SWIFT_VARIABLE));
}

uint16_t swift_subscript(struct swift *p)
{
	uint16_t where = swift_pop(p, SWIFT_PRIVATE_NAME);
	uint16_t type = swift_pop_type(p);
	uint16_t labels = swift_labels(p, type);
	uint16_t context = swift_pop_context(p);
	if (!type || !context)
		return 0;
	return accessor(p, SWIFT_MAKE_SOME(p, SWIFT_SUBSCRIPT, context, labels, type, where));
}

/* Context, labels, type, name of a private one. */
static uint16_t constructor(struct swift *p, enum swift_kind kind)
{
	uint16_t where = swift_pop(p, SWIFT_PRIVATE_NAME);
	uint16_t type = swift_pop_type(p);
	uint16_t labels = swift_labels(p, type);
	uint16_t context = swift_pop_context(p);
	return type && context ? SWIFT_MAKE_SOME(p, kind, context, labels, type, where) : 0;
}

static uint16_t closure(struct swift *p, enum swift_kind kind)
{
	uint16_t number = swift_index_node(p);
	uint16_t type = number ? swift_pop_type(p) : 0;
	uint16_t context = type ? swift_pop_context(p) : 0;
	return SWIFT_MAKE(p, kind, context, number, type);
}

/* Context, what it is attached to, macro's name, number. */
static uint16_t attached_macro(struct swift *p, enum swift_kind kind)
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

static uint16_t free_macro(struct swift *p, enum swift_kind kind)
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

/* Where an expansion is in a file: line and column. */
static uint16_t macro_location(struct swift *p)
{
	uint16_t line = swift_index_node(p);
	uint16_t column = line ? swift_index_node(p) : 0;
	uint16_t file = swift_pop(p, SWIFT_IDENTIFIER);
	uint16_t module = swift_pop(p, SWIFT_IDENTIFIER);
	return SWIFT_MAKE(p, SWIFT_MACRO_LOCATION, module, file, line, column);
}

static uint16_t macro(struct swift *p)
{
	switch (swift_next(p)) {
	case 'a':
		return attached_macro(p, SWIFT_MACRO_ACCESSOR);
	case 'r':
		return attached_macro(p, SWIFT_MACRO_MEMBER_ATTRIBUTE);
	case 'f':
		return free_macro(p, SWIFT_MACRO_FREESTANDING);
	case 'm':
		return attached_macro(p, SWIFT_MACRO_MEMBER);
	case 'p':
		return attached_macro(p, SWIFT_MACRO_PEER);
	case 'c':
		return attached_macro(p, SWIFT_MACRO_CONFORMANCE);
	case 'e':
		return attached_macro(p, SWIFT_MACRO_EXTENSION);
	case 'q':
		return attached_macro(p, SWIFT_MACRO_PREAMBLE);
	case 'b':
		return attached_macro(p, SWIFT_MACRO_BODY);
	case 'u':
		return free_macro(p, SWIFT_MACRO_UNIQUE);
	case 'X':
		return macro_location(p);
	default:
		return 0;
	}
}

static enum swift_kind untyped_kind(char c)
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
	enum swift_kind untyped = untyped_kind(c);
	if (untyped)
		return SWIFT_MAKE(p, untyped, swift_pop_context(p));
	switch (c) {
	case 'C':
		return constructor(p, SWIFT_ALLOCATOR);
	case 'c':
		return constructor(p, SWIFT_CONSTRUCTOR);
	case 'U':
		return closure(p, SWIFT_EXPLICIT_CLOSURE);
	case 'u':
		return closure(p, SWIFT_IMPLICIT_CLOSURE);
	case 'A':
		number = swift_index_node(p);
		return SWIFT_MAKE(p, SWIFT_DEFAULT_ARGUMENT, swift_pop_context(p), number);
	case 'a':
		return SWIFT_MAKE(p, SWIFT_ATTRIBUTE_GENERATOR, swift_pop_context(p));
	case 'm':
		return declaration(p, SWIFT_MACRO);
	case 'M':
		return macro(p);
	case 'p':
		return declaration(p, SWIFT_GENERIC_PARAM_DECL);
	case 'o':
		return declaration(p, SWIFT_ENUM_ELEMENT);
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
