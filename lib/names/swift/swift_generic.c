/* SPDX-License-Identifier: Apache-2.0 */
/* Generic signatures, associated types and conformances of Swift names. */
#include "swift_tree.h"

static uint16_t swift_param_at(struct swift *p, uint32_t depth, uint32_t index)
{
	if (depth > UINT16_MAX || index > UINT16_MAX)
		return 0;
	return swift_number(p, SWIFT_GENERIC_PARAM, depth << 16 | index);
}

uint16_t swift_generic_param(struct swift *p)
{
	uint32_t depth = 0, index = 0;
	if (swift_eat(p, 'd')) {
		if (!swift_index(p, &depth) || !swift_index(p, &index))
			return 0;
		return swift_param_at(p, depth + 1, index);
	}
	if (swift_eat(p, 'z'))
		return swift_param_at(p, 0, 0);
	if (swift_eat(p, 's'))
		return swift_leaf(p, SWIFT_EXISTENTIAL_SELF);
	return swift_index(p, &index) ? swift_param_at(p, 0, index + 1) : 0;
}

uint16_t swift_signature(struct swift *p, bool counts)
{
	uint16_t kids[SWIFT_LIST_MAX];
	size_t n = 0;
	if (!counts)
		kids[n++] = swift_number(p, SWIFT_PARAM_COUNT, 1);
	while (counts && !swift_eat(p, 'l')) {
		uint32_t count = 0;
		bool none = swift_eat(p, 'z');
		if (n == SWIFT_LIST_MAX || (!none && !swift_index(p, &count)))
			return 0;
		kids[n++] = swift_number(p, SWIFT_PARAM_COUNT, none ? 0 : count + 1);
	}
	unsigned from = p->n_stack;
	while (from > p->first_stack && swift_is(p, p->stack[from - 1], SWIFT_IS_REQUIREMENT))
		from--;
	size_t m = p->n_stack - from;
	if (m > SWIFT_LIST_MAX - n)
		return 0;
	memcpy(kids + n, p->stack + from, m * sizeof(*kids));
	p->n_stack = from;
	return swift_make(p, SWIFT_SIGNATURE, n + m, kids);
}

uint16_t swift_associated_name(struct swift *p)
{
	uint16_t protocol = swift_pop_type(p);
	if (protocol && swift_kind_of(p, protocol) != SWIFT_PROTOCOL)
		return 0;
	uint16_t name = swift_pop(p, SWIFT_IDENTIFIER);
	return name ? SWIFT_MAKE_SOME(p, SWIFT_ASSOCIATED_NAME, name, protocol) : 0;
}

uint16_t swift_associated_path(struct swift *p)
{
	return swift_list(p, SWIFT_ASSOCIATED_PATH, swift_associated_name);
}

uint16_t swift_member(struct swift *p, uint16_t base)
{
	uint16_t name = swift_associated_name(p);
	if (!base)
		base = swift_pop_type(p);
	return SWIFT_MAKE(p, SWIFT_MEMBER, base, name);
}

uint16_t swift_member_path(struct swift *p, uint16_t base)
{
	uint16_t path = swift_associated_path(p);
	if (!path || p->nodes[path].n == 0)
		return 0;
	if (!base)
		base = swift_pop_type(p);
	for (unsigned i = 0; base && i < p->nodes[path].n; i++)
		base = SWIFT_MAKE(p, SWIFT_MEMBER, base, swift_kid(p, path, i));
	return base;
}

/* The subject of a requirement. */
enum subject {
	PARAM,
	MEMBER,
	MEMBER_PATH,
	SAID_BEFORE,
};

static uint16_t swift_subject_of(struct swift *p, enum subject subject)
{
	uint16_t base = 0;
	if (subject == SAID_BEFORE)
		return swift_pop_type(p);
	base = swift_generic_param(p);
	if (!base || subject == PARAM)
		return base;
	return swift_add_substitution(p, subject == MEMBER ? swift_member(p, base)
							   : swift_member_path(p, base));
}

static uint16_t swift_layout(struct swift *p, enum subject subject)
{
	uint16_t type = swift_subject_of(p, subject);
	uint16_t size = 0, align = 0;
	char c = swift_next(p);
	if (!c || !strchr("URNCDTBSEeMm", c))
		return 0;
	if (strchr("EeMm", c)) {
		size = swift_index_node(p);
		if (!size)
			return 0;
	}
	if (c == 'E' || c == 'M') {
		align = swift_index_node(p);
		if (!align)
			return 0;
	}
	uint16_t name = swift_text(p, SWIFT_IDENTIFIER, &c, 1);
	return type && name ? SWIFT_MAKE_SOME(p, SWIFT_LAYOUT, type, name, size, align) : 0;
}

static uint16_t swift_inverse(struct swift *p, enum subject subject)
{
	uint16_t number = swift_index_node(p);
	uint16_t type = number ? swift_subject_of(p, subject) : 0;
	return SWIFT_MAKE(p, SWIFT_INVERSE, type, number);
}

static uint16_t swift_with_type(struct swift *p, enum swift_kind kind, enum subject subject)
{
	uint16_t about = swift_subject_of(p, subject);
	uint16_t type = about ? swift_pop_type(p) : 0;
	return SWIFT_MAKE(p, kind, about, type);
}

static uint16_t swift_conforms(struct swift *p, enum subject subject)
{
	uint16_t about = swift_subject_of(p, subject);
	uint16_t protocol = about ? swift_pop_protocol(p) : 0;
	return SWIFT_MAKE(p, SWIFT_CONFORMS, about, protocol);
}

uint16_t swift_requirement(struct swift *p)
{
	char c = swift_next(p);
	switch (c) {
	case 'v':
		return SWIFT_MAKE(p, SWIFT_PACK_MARK, swift_subject_of(p, PARAM));
	case 'V':
		return swift_with_type(p, SWIFT_VALUE_MARK, PARAM);
	case 'b':
		return swift_with_type(p, SWIFT_CONFORMS, PARAM);
	case 'c':
		return swift_with_type(p, SWIFT_CONFORMS, MEMBER);
	case 'C':
		return swift_with_type(p, SWIFT_CONFORMS, MEMBER_PATH);
	case 'B':
		return swift_with_type(p, SWIFT_CONFORMS, SAID_BEFORE);
	case 's':
		return swift_with_type(p, SWIFT_SAME_TYPE, PARAM);
	case 't':
		return swift_with_type(p, SWIFT_SAME_TYPE, MEMBER);
	case 'T':
		return swift_with_type(p, SWIFT_SAME_TYPE, MEMBER_PATH);
	case 'S':
		return swift_with_type(p, SWIFT_SAME_TYPE, SAID_BEFORE);
	case 'h':
		return swift_with_type(p, SWIFT_SAME_SHAPE, PARAM);
	case 'l':
		return swift_layout(p, PARAM);
	case 'm':
		return swift_layout(p, MEMBER);
	case 'M':
		return swift_layout(p, MEMBER_PATH);
	case 'L':
		return swift_layout(p, SAID_BEFORE);
	case 'i':
		return swift_inverse(p, PARAM);
	case 'j':
		return swift_inverse(p, MEMBER);
	case 'J':
		return swift_inverse(p, MEMBER_PATH);
	case 'I':
		return swift_inverse(p, SAID_BEFORE);
	case 'p':
		return swift_conforms(p, MEMBER);
	case 'P':
		return swift_conforms(p, MEMBER_PATH);
	case 'Q':
		return swift_conforms(p, SAID_BEFORE);
	case '\0':
		return 0;
	default:
		p->pos--;
		return swift_conforms(p, PARAM);
	}
}

uint16_t swift_conformance(struct swift *p)
{
	uint16_t signature = swift_pop(p, SWIFT_SIGNATURE);
	uint16_t module = swift_pop_module(p);
	uint16_t protocol = swift_pop_protocol(p);
	uint16_t type = swift_pop_type(p);
	uint16_t behavior = type ? 0 : swift_pop(p, SWIFT_IDENTIFIER);
	if (behavior)
		type = swift_pop_type(p);
	if (signature)
		type = SWIFT_MAKE(p, SWIFT_GENERIC, signature, type);
	if (behavior)
		return SWIFT_MAKE(p, SWIFT_BEHAVIOR_CONFORMANCE, type, protocol, behavior);
	return SWIFT_MAKE(p, SWIFT_CONFORMANCE, type, protocol, module);
}

static uint16_t swift_pop_any_conformance(struct swift *p)
{
	return swift_pop_class(p, SWIFT_IS_CONFORMANCE);
}

/* An operator marks conformances in the module of the type or of the protocol. */
static uint16_t swift_conformance_ref(struct swift *p)
{
	uint16_t ref = swift_pop(p, SWIFT_CONFORMANCE_REF_TYPE);
	if (!ref)
		ref = swift_pop(p, SWIFT_CONFORMANCE_REF_PROTOCOL);
	if (ref)
		return ref;
	uint16_t module = swift_pop_module(p);
	uint16_t protocol = module ? swift_pop_protocol(p) : 0;
	return SWIFT_MAKE(p, SWIFT_CONFORMANCE_REF_OTHER, protocol, module);
}

static uint16_t swift_concrete(struct swift *p)
{
	uint16_t conditions = swift_list(p, SWIFT_CONFORMANCE_LIST, swift_pop_any_conformance);
	uint16_t ref = conditions ? swift_conformance_ref(p) : 0;
	uint16_t type = ref ? swift_pop_type(p) : 0;
	return SWIFT_MAKE(p, SWIFT_CONFORMANCE_CONCRETE, type, ref, conditions);
}

static uint16_t swift_generic_associated_conformance(struct swift *p)
{
	uint16_t protocol = swift_pop_protocol(p);
	uint16_t type = swift_pop_type(p);
	return SWIFT_MAKE(p, SWIFT_ASSOCIATED_CONFORMANCE, type, protocol);
}

static uint16_t swift_dependent(struct swift *p, char c)
{
	uint16_t number = c == 'O' ? swift_leaf(p, SWIFT_INDEX) : swift_index_node(p);
	uint16_t second = 0, first = 0;
	if (!number)
		return 0;
	switch (c) {
	case 'D':
		second = swift_pop_protocol(p);
		first = swift_pop_type(p);
		return SWIFT_MAKE(p, SWIFT_CONFORMANCE_ROOT, first, second, number);
	case 'I':
		second = swift_pop_protocol(p);
		first = swift_pop_any_conformance(p);
		return SWIFT_MAKE(p, SWIFT_CONFORMANCE_INHERITED, first, second, number);
	case 'A':
		second = swift_generic_associated_conformance(p);
		first = swift_pop_any_conformance(p);
		return SWIFT_MAKE(p, SWIFT_CONFORMANCE_ASSOCIATED, first, second, number);
	default:
		second = swift_pop_type(p);
		first = swift_pop_any_conformance(p);
		return SWIFT_MAKE(p, SWIFT_CONFORMANCE_OPAQUE, first, second);
	}
}

uint16_t swift_conformance_operator(struct swift *p)
{
	char c = swift_next(p);
	switch (c) {
	case 'A':
	case 'D':
	case 'I':
	case 'O':
		return swift_dependent(p, c);
	case 'C':
		return swift_concrete(p);
	case 'X':
		return SWIFT_MAKE(p, SWIFT_CONFORMANCE_PACK,
				  swift_list(p, SWIFT_CONFORMANCE_LIST, swift_pop_any_conformance));
	case 'P':
		return SWIFT_MAKE(p, SWIFT_CONFORMANCE_REF_TYPE, swift_pop_protocol(p));
	case 'p':
		return SWIFT_MAKE(p, SWIFT_CONFORMANCE_REF_PROTOCOL, swift_pop_protocol(p));
	case 'c':
		return SWIFT_MAKE(p, SWIFT_CONFORMANCE_RECORD, swift_conformance(p));
	case 'n':
		return SWIFT_MAKE(p, SWIFT_NOMINAL_RECORD, swift_pop_type(p));
	case 'o':
		return SWIFT_MAKE(p, SWIFT_OPAQUE_RECORD, swift_pop_any(p));
	case 'r':
		return SWIFT_MAKE(p, SWIFT_PROTOCOL_RECORD, swift_pop_protocol(p));
	case 'F':
		return swift_leaf(p, SWIFT_ACCESSIBLE_RECORD);
	default:
		return 0;
	}
}

uint16_t swift_retroactive(struct swift *p)
{
	uint16_t number = swift_index_node(p);
	uint16_t conformance = swift_pop_any_conformance(p);
	return SWIFT_MAKE(p, SWIFT_RETROACTIVE, number, conformance);
}

void swift_drop_retroactive(struct swift *p)
{
	while (swift_pop(p, SWIFT_RETROACTIVE))
		continue;
}
