/* SPDX-License-Identifier: Apache-2.0 */
/* Dispatch of the operators of Swift names, and entities derived from types and conformances. */
#include "swift_tree.h"

enum operand {
	NOTHING,
	TYPE,
	PROTOCOL,
	ANYTHING,
	ENTITY,
	CONFORMANCE,
};

/* A letter for a node with one operand. */
struct maker {
	char letter;
	uint8_t operand; /* enum operand */
	uint16_t kind;
};

static uint16_t swift_operand_of(struct swift *p, enum operand operand)
{
	switch (operand) {
	case NOTHING:
		return 0;
	case TYPE:
		return swift_pop_type(p);
	case PROTOCOL:
		return swift_pop_protocol(p);
	case ANYTHING:
		return swift_pop_any(p);
	case ENTITY:
		return swift_pop_class(p, SWIFT_IS_ENTITY);
	case CONFORMANCE:
		return swift_conformance(p);
	}
	return 0;
}

static uint16_t swift_made_by(struct swift *p, char c, const struct maker *makers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (makers[i].letter == c)
			return SWIFT_MAKE(p, makers[i].kind,
					  swift_operand_of(p, (enum operand)makers[i].operand));
	return 0;
}

/* Metadata of contexts: MX and a letter. */
static uint16_t swift_context_descriptor(struct swift *p)
{
	uint16_t second = 0, first = 0;
	switch (swift_next(p)) {
	case 'E':
		return SWIFT_MAKE(p, SWIFT_EXTENSION_DESCRIPTOR, swift_pop_context(p));
	case 'M':
		return SWIFT_MAKE(p, SWIFT_MODULE_DESCRIPTOR, swift_pop_module(p));
	case 'X':
		return SWIFT_MAKE(p, SWIFT_ANONYMOUS_DESCRIPTOR, swift_pop_context(p));
	case 'Y':
		second = swift_pop_any(p);
		first = swift_pop_context(p);
		return SWIFT_MAKE(p, SWIFT_ANONYMOUS_DESCRIPTOR, first, second);
	case 'A':
		second = swift_associated_path(p);
		first = swift_pop_type(p);
		return SWIFT_MAKE(p, SWIFT_ASSOCIATED_PARAM_REF, first, second);
	default:
		return 0;
	}
}

uint16_t swift_metadata(struct swift *p)
{
	static const struct maker makers[] = {
		{'a', TYPE, SWIFT_METADATA_ACCESSOR},
		{'A', CONFORMANCE, SWIFT_REFLECTION_ASSOCIATED},
		{'b', TYPE, SWIFT_METADATA_CANONICAL_ACCESSOR},
		{'B', TYPE, SWIFT_REFLECTION_BUILTIN},
		{'c', CONFORMANCE, SWIFT_CONFORMANCE_DESCRIPTOR},
		{'C', TYPE, SWIFT_REFLECTION_SUPERCLASS},
		{'D', TYPE, SWIFT_METADATA_DEMANGLING_CACHE},
		{'f', TYPE, SWIFT_FULL_METADATA},
		{'F', TYPE, SWIFT_REFLECTION_FIELD},
		{'g', ANYTHING, SWIFT_OPAQUE_ACCESSOR},
		{'h', ANYTHING, SWIFT_OPAQUE_ACCESSOR_IMPL},
		{'i', TYPE, SWIFT_METADATA_INSTANTIATION},
		{'I', TYPE, SWIFT_METADATA_TYPE_CACHE},
		{'j', ANYTHING, SWIFT_OPAQUE_ACCESSOR_KEY},
		{'J', ANYTHING, SWIFT_METADATA_NONCANONICAL_CACHE},
		{'k', ANYTHING, SWIFT_OPAQUE_ACCESSOR_VARIABLE},
		{'K', ANYTHING, SWIFT_METADATA_INSTANTIATION_CACHE},
		{'l', TYPE, SWIFT_METADATA_SINGLETON_CACHE},
		{'L', TYPE, SWIFT_METADATA_LAZY_CACHE},
		{'m', TYPE, SWIFT_METACLASS},
		{'M', TYPE, SWIFT_METADATA_CANONICAL_METACLASS},
		{'n', TYPE, SWIFT_NOMINAL_DESCRIPTOR},
		{'N', TYPE, SWIFT_METADATA_NONCANONICAL},
		{'o', TYPE, SWIFT_METADATA_BASE_OFFSET},
		{'p', PROTOCOL, SWIFT_PROTOCOL_DESCRIPTOR},
		{'P', TYPE, SWIFT_METADATA_PATTERN},
		{'q', ANYTHING, SWIFT_UNIQUABLE},
		{'Q', ANYTHING, SWIFT_OPAQUE_DESCRIPTOR},
		{'r', TYPE, SWIFT_METADATA_COMPLETION},
		{'s', TYPE, SWIFT_OBJC_STUB},
		{'S', PROTOCOL, SWIFT_SELF_DESCRIPTOR},
		{'t', TYPE, SWIFT_OBJC_FULL_STUB},
		{'u', TYPE, SWIFT_METHOD_LOOKUP},
		{'U', TYPE, SWIFT_OBJC_UPDATE},
		{'V', ENTITY, SWIFT_PROPERTY_DESCRIPTOR},
		{'z', TYPE, SWIFT_METADATA_CANONICAL_TOKEN},
	};
	char c = swift_next(p);
	return c == 'X' ? swift_context_descriptor(p)
			: swift_made_by(p, c, makers, ux_countof(makers));
}

/* Outlined operations: signature?, type. */
static uint16_t swift_outlined(struct swift *p)
{
	static const struct maker makers[] = {
		{'y', TYPE, SWIFT_OUTLINED_COPY},        {'e', TYPE, SWIFT_OUTLINED_CONSUME},
		{'r', TYPE, SWIFT_OUTLINED_RETAIN},      {'s', TYPE, SWIFT_OUTLINED_RELEASE},
		{'B', TYPE, SWIFT_OUTLINED_INIT_TAKE},   {'b', TYPE, SWIFT_OUTLINED_INIT_TAKE},
		{'C', TYPE, SWIFT_OUTLINED_INIT_COPY},   {'c', TYPE, SWIFT_OUTLINED_INIT_COPY},
		{'D', TYPE, SWIFT_OUTLINED_ASSIGN_TAKE}, {'d', TYPE, SWIFT_OUTLINED_ASSIGN_TAKE},
		{'F', TYPE, SWIFT_OUTLINED_ASSIGN_COPY}, {'f', TYPE, SWIFT_OUTLINED_ASSIGN_COPY},
		{'H', TYPE, SWIFT_OUTLINED_DESTROY},     {'h', TYPE, SWIFT_OUTLINED_DESTROY},
		{'g', TYPE, SWIFT_OUTLINED_TAG_GET},     {'i', TYPE, SWIFT_OUTLINED_TAG_STORE},
		{'j', TYPE, SWIFT_OUTLINED_PROJECT},
	};
	char c = swift_next(p);
	if ((c == 'i' || c == 'j') && !swift_index_node(p))
		return 0;
	swift_pop(p, SWIFT_SIGNATURE);
	return swift_made_by(p, c, makers, ux_countof(makers));
}

static uint16_t swift_once(struct swift *p, enum swift_kind kind)
{
	uint16_t names[SWIFT_LIST_MAX];
	size_t at = SWIFT_LIST_MAX;
	while (swift_pop(p, SWIFT_FIRST_ELEMENT)) {
		uint16_t name = swift_pop_class(p, SWIFT_IS_NAME);
		if (!name || at == 0)
			return 0;
		names[--at] = name;
	}
	uint16_t context = swift_pop_context(p);
	uint16_t list = swift_make(p, SWIFT_ONCE_NAMES, SWIFT_LIST_MAX - at, names + at);
	return SWIFT_MAKE(p, kind, context, list);
}

static uint16_t swift_lazy_witness(struct swift *p, enum swift_kind kind)
{
	uint16_t conformance = swift_conformance(p);
	uint16_t type = swift_pop_type(p);
	return SWIFT_MAKE(p, kind, type, conformance);
}

static uint16_t swift_associated_witness(struct swift *p, char c)
{
	uint16_t protocol = 0, path = 0;
	if (c == 't') {
		path = swift_pop_class(p, SWIFT_IS_NAME);
		return SWIFT_MAKE(p, SWIFT_ASSOCIATED_METADATA, swift_conformance(p), path);
	}
	protocol = swift_pop_type(p);
	if (c == 'b')
		return SWIFT_MAKE(p, SWIFT_BASE_WITNESS, swift_conformance(p), protocol);
	path = swift_associated_path(p);
	return SWIFT_MAKE(p, SWIFT_ASSOCIATED_WITNESS, swift_conformance(p), path, protocol);
}

static uint16_t swift_field_offset(struct swift *p)
{
	char c = swift_next(p);
	if (c != 'd' && c != 'i')
		return 0;
	uint16_t how = swift_number(p, SWIFT_DIRECTNESS, c == 'i');
	return SWIFT_MAKE(p, SWIFT_FIELD_OFFSET, how, swift_pop_class(p, SWIFT_IS_ENTITY));
}

uint16_t swift_witness(struct swift *p)
{
	static const struct maker makers[] = {
		{'C', ENTITY, SWIFT_ENUM_CASE},
		{'V', TYPE, SWIFT_VALUE_WITNESS_TABLE},
		{'S', PROTOCOL, SWIFT_WITNESS_SELF_TABLE},
		{'P', CONFORMANCE, SWIFT_WITNESS_TABLE},
		{'p', CONFORMANCE, SWIFT_WITNESS_PATTERN},
		{'G', CONFORMANCE, SWIFT_WITNESS_GENERIC},
		{'I', CONFORMANCE, SWIFT_WITNESS_INSTANTIATION},
		{'r', CONFORMANCE, SWIFT_WITNESS_RESILIENT},
		{'a', CONFORMANCE, SWIFT_WITNESS_ACCESSOR},
	};
	char c = swift_next(p);
	switch (c) {
	case 'v':
		return swift_field_offset(p);
	case 'l':
		return swift_lazy_witness(p, SWIFT_WITNESS_LAZY_ACCESSOR);
	case 'L':
		return swift_lazy_witness(p, SWIFT_WITNESS_LAZY_CACHE);
	case 't':
	case 'T':
	case 'b':
		return swift_associated_witness(p, c);
	case 'O':
		return swift_outlined(p);
	case 'Z':
		return swift_once(p, SWIFT_ONCE_FUNCTION);
	case 'z':
		return swift_once(p, SWIFT_ONCE_TOKEN);
	case 'J':
		return swift_autodiff_witness(p);
	default:
		return swift_made_by(p, c, makers, ux_countof(makers));
	}
}

uint16_t swift_value_witness(struct swift *p)
{
	static const struct {
		char code[3];
		const char *name;
	} names[] = {
		{"al", "allocateBuffer"},
		{"ca", "assignWithCopy"},
		{"ta", "assignWithTake"},
		{"de", "deallocateBuffer"},
		{"xx", "destroy"},
		{"XX", "destroyBuffer"},
		{"Xx", "destroyArray"},
		{"CP", "initializeBufferWithCopyOfBuffer"},
		{"Cp", "initializeBufferWithCopy"},
		{"cp", "initializeWithCopy"},
		{"TK", "initializeBufferWithTakeOfBuffer"},
		{"Tk", "initializeBufferWithTake"},
		{"tk", "initializeWithTake"},
		{"pr", "projectBuffer"},
		{"xs", "storeExtraInhabitant"},
		{"xg", "getExtraInhabitantIndex"},
		{"Cc", "initializeArrayWithCopy"},
		{"Tt", "initializeArrayWithTakeFrontToBack"},
		{"tT", "initializeArrayWithTakeBackToFront"},
		{"ug", "getEnumTag"},
		{"up", "destructiveProjectEnumData"},
		{"ui", "destructiveInjectEnumTag"},
		{"et", "getEnumTagSinglePayload"},
		{"st", "storeEnumTagSinglePayload"},
	};
	char a = swift_next(p), b = swift_next(p);
	for (size_t i = 0; i < ux_countof(names); i++) {
		if (names[i].code[0] != a || names[i].code[1] != b)
			continue;
		uint16_t name =
			swift_text(p, SWIFT_IDENTIFIER, names[i].name, strlen(names[i].name));
		return SWIFT_MAKE(p, SWIFT_VALUE_WITNESS, name, swift_pop_type(p));
	}
	return 0;
}

/* Reads the mangling of a type, for debuggers; functions may have labels. */
static uint16_t swift_type_mangling(struct swift *p)
{
	uint16_t type = swift_pop_type(p);
	uint16_t labels = swift_labels(p, type);
	return type ? SWIFT_MAKE_SOME(p, SWIFT_TYPE_MANGLING, labels, type) : 0;
}

static uint16_t swift_module_swift(struct swift *p)
{
	return swift_text(p, SWIFT_MODULE, "Swift", 5);
}

/* Reads the suffix that the back end appended. */
static uint16_t swift_global_suffix(struct swift *p)
{
	p->pos--;
	uint16_t node = swift_text(p, SWIFT_SUFFIX, p->pos, (size_t)(p->end - p->pos));
	p->pos = p->end;
	return node;
}

static uint16_t swift_global_over_type(struct swift *p, enum swift_kind kind)
{
	return SWIFT_MAKE(p, kind, swift_pop_type(p));
}

static uint16_t swift_generic_type(struct swift *p)
{
	uint16_t signature = swift_pop(p, SWIFT_SIGNATURE);
	uint16_t type = swift_pop_type(p);
	return SWIFT_MAKE(p, SWIFT_GENERIC, signature, type);
}

static uint16_t swift_upper_operator(struct swift *p, char c)
{
	switch (c) {
	case 'A':
		return swift_substitutions(p);
	case 'B':
		return swift_builtin(p);
	case 'C':
		return swift_nominal(p, SWIFT_CLASS);
	case 'D':
		return swift_type_mangling(p);
	case 'E':
		return swift_extension(p);
	case 'F':
		return swift_function(p);
	case 'G':
		return swift_bound(p);
	case 'H':
		return swift_conformance_operator(p);
	case 'I':
		return swift_impl_function(p);
	case 'K':
		return swift_leaf(p, SWIFT_THROWS);
	case 'L':
		return swift_local_name(p);
	case 'M':
		return swift_metadata(p);
	case 'N':
		return swift_global_over_type(p, SWIFT_TYPE_METADATA);
	case 'O':
		return swift_nominal(p, SWIFT_ENUM);
	case 'P':
		return swift_nominal(p, SWIFT_PROTOCOL);
	case 'Q':
		return swift_archetype(p);
	case 'R':
		return swift_requirement(p);
	case 'S':
		return swift_known(p);
	case 'T':
		return swift_thunk(p);
	case 'V':
		return swift_nominal(p, SWIFT_STRUCTURE);
	case 'W':
		return swift_witness(p);
	case 'X':
		return swift_special_type(p);
	case 'Y':
		return swift_annotation(p);
	case 'Z':
		return SWIFT_MAKE(p, SWIFT_STATIC, swift_pop_class(p, SWIFT_IS_ENTITY));
	default:
		return 0;
	}
}

static uint16_t swift_lower_operator(struct swift *p, char c)
{
	switch (c) {
	case 'a':
		return swift_nominal(p, SWIFT_TYPE_ALIAS);
	case 'c':
		return swift_function_type(p, SWIFT_FUNCTION_TYPE, /* c_type= */ false);
	case 'd':
		return swift_leaf(p, SWIFT_VARIADIC_MARK);
	case 'f':
		return swift_function_entity(p);
	case 'g':
		return swift_retroactive(p);
	case 'h':
		return swift_global_over_type(p, SWIFT_SHARED);
	case 'i':
		return swift_subscript(p);
	case 'l':
		return swift_signature(p, /* counts= */ false);
	case 'm':
		return swift_global_over_type(p, SWIFT_METATYPE);
	case 'n':
		return swift_global_over_type(p, SWIFT_OWNED);
	case 'o':
		return swift_operator_name(p);
	case 'p':
		return swift_protocol_list(p);
	case 'q':
		return swift_generic_param(p);
	case 'r':
		return swift_signature(p, /* counts= */ true);
	case 's':
		return swift_module_swift(p);
	case 't':
		return swift_tuple(p);
	case 'u':
		return swift_generic_type(p);
	case 'v':
		return swift_variable(p);
	case 'w':
		return swift_value_witness(p);
	case 'x':
		return swift_leaf(p, SWIFT_GENERIC_PARAM);
	case 'y':
		return swift_leaf(p, SWIFT_EMPTY_LIST);
	case 'z':
		return swift_global_over_type(p, SWIFT_INOUT);
	default:
		return 0;
	}
}

static uint16_t swift_one_operator(struct swift *p)
{
	char c = *p->pos++;
	if (c >= 'A' && c <= 'Z')
		return swift_upper_operator(p, c);
	if (c >= 'a' && c <= 'z')
		return swift_lower_operator(p, c);
	if (c >= '0' && c <= '9') {
		p->pos--;
		return swift_identifier(p);
	}
	switch (c) {
	case '_':
		return swift_leaf(p, SWIFT_FIRST_ELEMENT);
	case '.':
		return swift_global_suffix(p);
	case '$':
		return swift_integer(p);
	default:
		return 0;
	}
}

uint16_t swift_global(struct swift *p)
{
	while (p->pos < p->end)
		if (!ux_name_text_charge(p->budget, 1) || !swift_push(p, swift_one_operator(p)))
			return 0;
	uint16_t kids[SWIFT_LIST_MAX];
	size_t n = 0;
	uint16_t clone = swift_pop(p, SWIFT_SUFFIX), node = 0;
	/* Attributes are written in reverse order. */
	while ((node = swift_pop_class(p, SWIFT_IS_ATTRIBUTE)) != 0) {
		if (n == SWIFT_LIST_MAX - 2)
			return 0;
		kids[n++] = node;
	}
	kids[n] = swift_pop_any(p);
	bool whole = kids[n] && p->n_stack == p->first_stack &&
		     swift_kind_of(p, kids[n]) != SWIFT_FIRST_ELEMENT &&
		     swift_kind_of(p, kids[n]) != SWIFT_EMPTY_LIST;
	if (!whole)
		return 0;
	n++;
	if (clone)
		kids[n++] = clone;
	return swift_make(p, SWIFT_GLOBAL, n, kids);
}
