/* SPDX-License-Identifier: Apache-2.0 */
/* What Swift's compiler makes from functions: thunks, forwarders, records. */
#include "swift_tree.h"

static uint16_t pop_entity(struct swift *p)
{
	return swift_pop_class(p, SWIFT_IS_ENTITY);
}

static uint16_t reabstraction(struct swift *p, enum swift_kind kind)
{
	uint16_t signature = swift_pop(p, SWIFT_SIGNATURE);
	uint16_t self = 0;
	if (kind == SWIFT_REABSTRACTION_SELF) {
		self = swift_pop_type(p);
		if (!self)
			return 0;
	}
	uint16_t to = swift_pop_type(p);
	uint16_t from = swift_pop_type(p);
	return to && from ? SWIFT_MAKE_SOME(p, kind, signature, self, to, from) : 0;
}

static uint16_t with_conformance(struct swift *p)
{
	uint16_t entity = pop_entity(p);
	return SWIFT_MAKE(p, SWIFT_WITNESS, swift_conformance(p), entity);
}

static uint16_t vtable_thunk(struct swift *p)
{
	uint16_t base = pop_entity(p);
	uint16_t derived = pop_entity(p);
	return SWIFT_MAKE(p, SWIFT_VTABLE_THUNK, derived, base);
}

static uint16_t associated_conformance(struct swift *p, enum swift_kind kind)
{
	uint16_t protocol = swift_pop_protocol(p);
	uint16_t path = protocol ? swift_associated_path(p) : 0;
	uint16_t type = path ? swift_pop_type(p) : 0;
	return SWIFT_MAKE(p, kind, type, path, protocol);
}

static uint16_t base_conformance(struct swift *p)
{
	uint16_t protocol = swift_pop_protocol(p);
	uint16_t type = swift_pop_type(p);
	return SWIFT_MAKE(p, SWIFT_BASE_DESCRIPTOR, type, protocol);
}

/* The types on top of the stack, in front of which is a signature and what a path leads to. */
static uint16_t key_path_accessor(struct swift *p, enum swift_kind kind)
{
	uint16_t kids[SWIFT_LIST_MOST];
	size_t n = 2;
	uint16_t serialized = swift_take(p, 'q') ? swift_leaf(p, SWIFT_SPEC_SERIALIZED) : 0;
	unsigned from = p->n_stack;
	while (from > p->first_stack && swift_is(p, p->stack[from - 1], SWIFT_IS_TYPE))
		from--;
	size_t m = p->n_stack - from;
	if (m == 0 || m > SWIFT_LIST_MOST - 3)
		return 0;
	memcpy(kids + n, p->stack + from, m * sizeof(*kids));
	n += m;
	p->n_stack = from;
	kids[1] = swift_pop(p, SWIFT_SIGNATURE);
	kids[0] = swift_pop_any(p);
	kids[n++] = serialized;
	return kids[0] ? swift_make_some(p, kind, n, kids) : 0;
}

static uint16_t key_path_set(struct swift *p)
{
	if (p->end - p->pos >= 2 && memcmp(p->pos, "mu", 2) == 0) {
		p->pos += 2;
		return key_path_accessor(p, SWIFT_KEY_PATH_METHOD);
	}
	if (p->end - p->pos >= 2 && memcmp(p->pos, "MA", 2) == 0) {
		p->pos += 2;
		return key_path_accessor(p, SWIFT_KEY_PATH_APPLIED);
	}
	return key_path_accessor(p, SWIFT_KEY_PATH_SETTER);
}

/* Everything on the stack, but a signature goes last. */
static uint16_t key_path_index(struct swift *p, enum swift_kind kind)
{
	swift_take(p, 'q');
	uint16_t signature = swift_pop(p, SWIFT_SIGNATURE);
	unsigned n = p->n_stack - p->first_stack;
	uint16_t kids[SWIFT_LIST_MOST];
	if (n >= SWIFT_LIST_MOST)
		return 0;
	memcpy(kids, p->stack + p->first_stack, n * sizeof(*kids));
	for (unsigned i = 0; i < n; i++)
		if (!swift_is(p, kids[i], SWIFT_IS_TYPE))
			return 0;
	p->n_stack = p->first_stack;
	kids[n++] = signature;
	return swift_make_some(p, kind, n, kids);
}

static uint16_t completion_handler(struct swift *p, enum swift_kind kind)
{
	char c = swift_peek(p);
	bool has_flag = c == '_' || (c >= '0' && c <= '9');
	uint16_t flag = has_flag ? swift_index_node(p) : swift_leaf(p, SWIFT_INDEX);
	uint16_t signature = swift_pop(p, SWIFT_SIGNATURE);
	uint16_t result = swift_pop_type(p);
	uint16_t block = swift_pop_type(p);
	if (!flag || !result || !block)
		return 0;
	return SWIFT_MAKE_SOME(p, kind, block, result, flag, signature);
}

static uint16_t outlined_variable(struct swift *p)
{
	uint32_t v = 0;
	if (!swift_index(p, &v))
		return 0;
	return swift_number(
		p, swift_take(p, 'r') ? SWIFT_OUTLINED_READ_ONLY : SWIFT_OUTLINED_VARIABLE, v);
}

/* What is bridged, as letters up to the '_'. */
static uint16_t outlined_bridged(struct swift *p)
{
	const char *from = p->pos;
	char c = swift_next(p);
	if (!c || !strchr("opam", c))
		return 0;
	while ((c = swift_next(p)) != '_')
		if (c != 'n' && c != 'b' && c != 'g')
			return 0;
	return swift_text(p, SWIFT_OUTLINED_BRIDGED, from, (size_t)(p->pos - 1 - from));
}

static uint16_t numbered(struct swift *p, enum swift_kind kind)
{
	return SWIFT_MAKE(p, kind, swift_index_node(p));
}

static uint16_t with_actor(struct swift *p)
{
	uint16_t actor = swift_pop_type(p);
	return SWIFT_MAKE(p, SWIFT_REABSTRACTION_ACTOR, swift_pop_any(p), actor);
}

/* Attributes that are one letter, or 'w' and one. */
static enum swift_kind attribute_kind(char c)
{
	switch (c) {
	case 'o':
		return SWIFT_OBJC;
	case 'O':
		return SWIFT_NONOBJC;
	case 'D':
		return SWIFT_DYNAMIC;
	case 'd':
		return SWIFT_DIRECT_METHOD;
	case 'E':
		return SWIFT_DISTRIBUTED_THUNK;
	case 'F':
		return SWIFT_DISTRIBUTED_ACCESSOR;
	case 'a':
		return SWIFT_PARTIAL_APPLY_OBJC;
	case 'A':
		return SWIFT_PARTIAL_APPLY;
	case 'm':
		return SWIFT_MERGED;
	case 'X':
		return SWIFT_REPLACEABLE_VARIABLE;
	case 'x':
		return SWIFT_REPLACEABLE_KEY;
	case 'I':
		return SWIFT_REPLACEABLE_THUNK;
	case 'u':
		return SWIFT_ASYNC_POINTER;
	default:
		return SWIFT_NONE;
	}
}

static enum swift_kind attribute_w_kind(char c)
{
	switch (c) {
	case 'b':
		return SWIFT_BACK_DEPLOYMENT;
	case 'B':
		return SWIFT_BACK_DEPLOYMENT_FALLBACK;
	case 'c':
		return SWIFT_CORO_POINTER;
	case 'd':
		return SWIFT_DEFAULT_OVERRIDE;
	case 'S':
		return SWIFT_HAS_SYMBOL;
	default:
		return SWIFT_NONE;
	}
}

static uint16_t made_of_entity(struct swift *p, char c)
{
	switch (c) {
	case 'c':
		return SWIFT_MAKE(p, SWIFT_CURRY_THUNK, pop_entity(p));
	case 'j':
		return SWIFT_MAKE(p, SWIFT_DISPATCH_THUNK, pop_entity(p));
	case 'q':
		return SWIFT_MAKE(p, SWIFT_METHOD_DESCRIPTOR, pop_entity(p));
	case 'S':
		return SWIFT_MAKE(p, SWIFT_WITNESS_SELF, pop_entity(p));
	case 'V':
		return vtable_thunk(p);
	case 'W':
		return with_conformance(p);
	case 'K':
		return key_path_accessor(p, SWIFT_KEY_PATH_GETTER);
	case 'k':
		return key_path_set(p);
	case 'v':
		return outlined_variable(p);
	case 'e':
		return outlined_bridged(p);
	case 'J':
		return swift_autodiff(p);
	default:
		return swift_specialization(p, c);
	}
}

static uint16_t made_of_type(struct swift *p, char c)
{
	switch (c) {
	case 'C':
		return SWIFT_MAKE(p, SWIFT_CONTINUATION, swift_pop_type(p));
	case 'z':
		return completion_handler(p, SWIFT_COMPLETION_HANDLER);
	case 'Z':
		return completion_handler(p, SWIFT_COMPLETION_HANDLER_PREDEFINED);
	case 'R':
		return reabstraction(p, SWIFT_REABSTRACTION_HELPER);
	case 'r':
		return reabstraction(p, SWIFT_REABSTRACTION);
	case 'y':
		return reabstraction(p, SWIFT_REABSTRACTION_SELF);
	case 'U':
		return with_actor(p);
	case 'l':
		return SWIFT_MAKE(p, SWIFT_ASSOCIATED_DESCRIPTOR, swift_associated_name(p));
	case 'M':
		return SWIFT_MAKE(p, SWIFT_ASSOCIATED_METADATA_DEFAULT, swift_associated_name(p));
	case 'L':
		return SWIFT_MAKE(p, SWIFT_PROTOCOL_REQUIREMENTS, swift_pop_protocol(p));
	case 'n':
		return associated_conformance(p, SWIFT_ASSOCIATED_CONFORMANCE_DESCRIPTOR);
	case 'N':
		return associated_conformance(p, SWIFT_ASSOCIATED_CONFORMANCE_DEFAULT);
	case 'b':
		return base_conformance(p);
	case 'H':
		return key_path_index(p, SWIFT_KEY_PATH_EQUALS);
	case 'h':
		return key_path_index(p, SWIFT_KEY_PATH_HASH);
	default:
		return made_of_entity(p, c);
	}
}

uint16_t swift_thunk(struct swift *p)
{
	char c = swift_next(p);
	enum swift_kind kind = c == 'w' ? attribute_w_kind(swift_next(p)) : attribute_kind(c);
	if (kind)
		return swift_leaf(p, kind);
	switch (c) {
	case 'w':
		return 0;
	case 'Y':
		return numbered(p, SWIFT_SUSPEND_RESUME);
	case 'Q':
		return numbered(p, SWIFT_AWAIT_RESUME);
	default:
		return made_of_type(p, c);
	}
}
