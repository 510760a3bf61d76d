/* SPDX-License-Identifier: Apache-2.0 */
/* Entities derived from functions: thunks, specializations, derivatives. */
#include "swift_tree.h"

static uint16_t swift_pop_entity(struct swift *p)
{
	return swift_pop_class(p, SWIFT_IS_ENTITY);
}

static uint16_t swift_reabstraction(struct swift *p, enum swift_kind kind)
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

static uint16_t swift_with_conformance(struct swift *p)
{
	uint16_t entity = swift_pop_entity(p);
	return SWIFT_MAKE(p, SWIFT_WITNESS, swift_conformance(p), entity);
}

static uint16_t swift_vtable_thunk(struct swift *p)
{
	uint16_t base = swift_pop_entity(p);
	uint16_t derived = swift_pop_entity(p);
	return SWIFT_MAKE(p, SWIFT_VTABLE_THUNK, derived, base);
}

static uint16_t swift_thunk_associated_conformance(struct swift *p, enum swift_kind kind)
{
	uint16_t protocol = swift_pop_protocol(p);
	uint16_t path = protocol ? swift_associated_path(p) : 0;
	uint16_t type = path ? swift_pop_type(p) : 0;
	return SWIFT_MAKE(p, kind, type, path, protocol);
}

static uint16_t swift_base_conformance(struct swift *p)
{
	uint16_t protocol = swift_pop_protocol(p);
	uint16_t type = swift_pop_type(p);
	return SWIFT_MAKE(p, SWIFT_BASE_DESCRIPTOR, type, protocol);
}

/* Operands of a key path's thunk: types, below them a signature and the accessed entity. */
static uint16_t swift_key_path_accessor(struct swift *p, enum swift_kind kind)
{
	uint16_t kids[SWIFT_LIST_MAX];
	size_t n = 2;
	uint16_t serialized = swift_eat(p, 'q') ? swift_leaf(p, SWIFT_SPEC_SERIALIZED) : 0;
	unsigned from = p->n_stack;
	while (from > p->first_stack && swift_is(p, p->stack[from - 1], SWIFT_IS_TYPE))
		from--;
	size_t m = p->n_stack - from;
	if (m == 0 || m > SWIFT_LIST_MAX - 3)
		return 0;
	memcpy(kids + n, p->stack + from, m * sizeof(*kids));
	n += m;
	p->n_stack = from;
	kids[1] = swift_pop(p, SWIFT_SIGNATURE);
	kids[0] = swift_pop_any(p);
	kids[n++] = serialized;
	return kids[0] ? swift_make_some(p, kind, n, kids) : 0;
}

static uint16_t swift_key_path_set(struct swift *p)
{
	if (p->end - p->pos >= 2 && memcmp(p->pos, "mu", 2) == 0) {
		p->pos += 2;
		return swift_key_path_accessor(p, SWIFT_KEY_PATH_METHOD);
	}
	if (p->end - p->pos >= 2 && memcmp(p->pos, "MA", 2) == 0) {
		p->pos += 2;
		return swift_key_path_accessor(p, SWIFT_KEY_PATH_APPLIED);
	}
	return swift_key_path_accessor(p, SWIFT_KEY_PATH_SETTER);
}

/* All operands on the stack, with a signature moved to the end. */
static uint16_t swift_key_path_index(struct swift *p, enum swift_kind kind)
{
	swift_eat(p, 'q');
	uint16_t signature = swift_pop(p, SWIFT_SIGNATURE);
	unsigned n = p->n_stack - p->first_stack;
	uint16_t kids[SWIFT_LIST_MAX];
	if (n >= SWIFT_LIST_MAX)
		return 0;
	memcpy(kids, p->stack + p->first_stack, n * sizeof(*kids));
	for (unsigned i = 0; i < n; i++)
		if (!swift_is(p, kids[i], SWIFT_IS_TYPE))
			return 0;
	p->n_stack = p->first_stack;
	kids[n++] = signature;
	return swift_make_some(p, kind, n, kids);
}

static uint16_t swift_completion_handler(struct swift *p, enum swift_kind kind)
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

static uint16_t swift_outlined_variable(struct swift *p)
{
	uint32_t v = 0;
	if (!swift_index(p, &v))
		return 0;
	return swift_number(
		p, swift_eat(p, 'r') ? SWIFT_OUTLINED_READ_ONLY : SWIFT_OUTLINED_VARIABLE, v);
}

/* Reads the bridged parts, as letters up to the '_'. */
static uint16_t swift_outlined_bridged(struct swift *p)
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

static uint16_t swift_numbered(struct swift *p, enum swift_kind kind)
{
	return SWIFT_MAKE(p, kind, swift_index_node(p));
}

static uint16_t swift_with_actor(struct swift *p)
{
	uint16_t actor = swift_pop_type(p);
	return SWIFT_MAKE(p, SWIFT_REABSTRACTION_ACTOR, swift_pop_any(p), actor);
}

/* Attributes of one letter, or of 'w' and one. */
static enum swift_kind swift_attribute_kind(char c)
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

static enum swift_kind swift_attribute_w_kind(char c)
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

static uint16_t swift_made_of_entity(struct swift *p, char c)
{
	switch (c) {
	case 'c':
		return SWIFT_MAKE(p, SWIFT_CURRY_THUNK, swift_pop_entity(p));
	case 'j':
		return SWIFT_MAKE(p, SWIFT_DISPATCH_THUNK, swift_pop_entity(p));
	case 'q':
		return SWIFT_MAKE(p, SWIFT_METHOD_DESCRIPTOR, swift_pop_entity(p));
	case 'S':
		return SWIFT_MAKE(p, SWIFT_WITNESS_SELF, swift_pop_entity(p));
	case 'V':
		return swift_vtable_thunk(p);
	case 'W':
		return swift_with_conformance(p);
	case 'K':
		return swift_key_path_accessor(p, SWIFT_KEY_PATH_GETTER);
	case 'k':
		return swift_key_path_set(p);
	case 'v':
		return swift_outlined_variable(p);
	case 'e':
		return swift_outlined_bridged(p);
	case 'J':
		return swift_autodiff(p);
	default:
		return swift_specialization(p, c);
	}
}

static uint16_t swift_made_of_type(struct swift *p, char c)
{
	switch (c) {
	case 'C':
		return SWIFT_MAKE(p, SWIFT_CONTINUATION, swift_pop_type(p));
	case 'z':
		return swift_completion_handler(p, SWIFT_COMPLETION_HANDLER);
	case 'Z':
		return swift_completion_handler(p, SWIFT_COMPLETION_HANDLER_PREDEFINED);
	case 'R':
		return swift_reabstraction(p, SWIFT_REABSTRACTION_HELPER);
	case 'r':
		return swift_reabstraction(p, SWIFT_REABSTRACTION);
	case 'y':
		return swift_reabstraction(p, SWIFT_REABSTRACTION_SELF);
	case 'U':
		return swift_with_actor(p);
	case 'l':
		return SWIFT_MAKE(p, SWIFT_ASSOCIATED_DESCRIPTOR, swift_associated_name(p));
	case 'M':
		return SWIFT_MAKE(p, SWIFT_ASSOCIATED_METADATA_DEFAULT, swift_associated_name(p));
	case 'L':
		return SWIFT_MAKE(p, SWIFT_PROTOCOL_REQUIREMENTS, swift_pop_protocol(p));
	case 'n':
		return swift_thunk_associated_conformance(p,
							  SWIFT_ASSOCIATED_CONFORMANCE_DESCRIPTOR);
	case 'N':
		return swift_thunk_associated_conformance(p, SWIFT_ASSOCIATED_CONFORMANCE_DEFAULT);
	case 'b':
		return swift_base_conformance(p);
	case 'H':
		return swift_key_path_index(p, SWIFT_KEY_PATH_EQUALS);
	case 'h':
		return swift_key_path_index(p, SWIFT_KEY_PATH_HASH);
	default:
		return swift_made_of_entity(p, c);
	}
}

uint16_t swift_thunk(struct swift *p)
{
	char c = swift_next(p);
	enum swift_kind kind =
		c == 'w' ? swift_attribute_w_kind(swift_next(p)) : swift_attribute_kind(c);
	if (kind)
		return swift_leaf(p, kind);
	switch (c) {
	case 'w':
		return 0;
	case 'Y':
		return swift_numbered(p, SWIFT_SUSPEND_RESUME);
	case 'Q':
		return swift_numbered(p, SWIFT_AWAIT_RESUME);
	default:
		return swift_made_of_type(p, c);
	}
}

/* A specialization while it is parsed. */
struct spec {
	uint16_t kids[SWIFT_LIST_MAX];
	size_t n;
};

static bool swift_spec_add(struct spec *s, uint16_t node)
{
	if (node == 0 || s->n == SWIFT_LIST_MAX)
		return false;
	s->kids[s->n++] = node;
	return true;
}

/* SPEC-INFO: flags, and the number of the compiler pass, which has no text. */
static bool swift_spec_info(struct swift *p, struct spec *s)
{
	swift_eat(p, 'm');
	if (swift_eat(p, 'q') && !swift_spec_add(s, swift_leaf(p, SWIFT_SPEC_SERIALIZED)))
		return false;
	if (!swift_eat(p, 'a'))
		swift_eat(p, 'r');
	char pass = swift_next(p);
	return pass >= '0' && pass <= '9';
}

static uint16_t swift_by_types(struct swift *p, enum swift_kind kind, struct spec *s)
{
	if (!swift_spec_info(p, s))
		return 0;
	uint16_t types = swift_type_list(p);
	for (unsigned i = 0; types && i < p->nodes[types].n; i++)
		if (!swift_spec_add(s, SWIFT_MAKE(p, SWIFT_SPEC_TYPE, swift_kid(p, types, i))))
			return 0;
	return types ? swift_make(p, kind, s->n, s->kids) : 0;
}

static uint16_t swift_partly(struct swift *p, enum swift_kind kind, struct spec *s)
{
	if (!swift_spec_info(p, s))
		return 0;
	if (!swift_spec_add(s, SWIFT_MAKE(p, SWIFT_SPEC_PARTIAL, swift_pop_type(p))))
		return 0;
	return swift_make(p, kind, s->n, s->kids);
}

/* Numbers of removed arguments, which have no text: 't' NATURAL?. */
static bool swift_dropped(struct swift *p)
{
	do {
		uint32_t v = 0;
		char c = swift_peek(p);
		if (c >= '0' && c <= '9' && !swift_natural(p, &v))
			return false;
	} while (swift_eat(p, 't'));
	return true;
}

/* The change to an argument, as bits in the order of their text. */
enum {
	TO_GENERIC = 1,
	DEAD = 2,
	TO_GUARANTEED = 4,
	TO_OWNED = 8,
	EXPLODED = 16,
};

static uint16_t swift_flags(struct swift *p, char c)
{
	uint32_t v = c == 'e'   ? TO_GENERIC
		     : c == 'd' ? DEAD
		     : c == 'g' ? TO_GUARANTEED
		     : c == 'o' ? TO_OWNED
				: EXPLODED;
	if (c == 'e' && swift_eat(p, 'D'))
		v |= DEAD;
	if ((c == 'e' || c == 'd') && swift_eat(p, 'G'))
		v |= TO_GUARANTEED;
	if ((c == 'e' || c == 'd') && swift_eat(p, 'O'))
		v |= TO_OWNED;
	if (c != 'x' && swift_eat(p, 'X'))
		v |= EXPLODED;
	return swift_number(p, SWIFT_SPEC_FLAGS, v);
}

static uint16_t swift_digits(struct swift *p)
{
	const char *from = p->pos;
	while (swift_peek(p) >= '0' && swift_peek(p) <= '9')
		p->pos++;
	return p->pos > from ? swift_text(p, SWIFT_SPEC_PAYLOAD, from, (size_t)(p->pos - from)) : 0;
}

/* Reads a propagated constant; its operands are taken from the stack after all arguments. */
static uint16_t swift_constant(struct swift *p, enum swift_kind kind)
{
	char c = swift_next(p);
	uint16_t text = 0;
	switch (c) {
	case 'f':
		return SWIFT_MAKE(p, kind, swift_leaf(p, SWIFT_SPEC_FUNCTION));
	case 'g':
		return SWIFT_MAKE(p, kind, swift_leaf(p, SWIFT_SPEC_GLOBAL));
	case 'k':
		return SWIFT_MAKE(p, kind, swift_leaf(p, SWIFT_SPEC_KEYPATH));
	case 'i':
		text = swift_digits(p);
		return SWIFT_MAKE(p, kind, swift_leaf(p, SWIFT_SPEC_INTEGER), text);
	case 'd':
		text = swift_digits(p);
		return SWIFT_MAKE(p, kind, swift_leaf(p, SWIFT_SPEC_FLOAT), text);
	case 's':
		c = swift_next(p);
		if (c != 'b' && c != 'w' && c != 'c')
			return 0;
		text = c == 'b'   ? swift_text(p, SWIFT_SPEC_PAYLOAD, "u8", 2)
		       : c == 'w' ? swift_text(p, SWIFT_SPEC_PAYLOAD, "u16", 3)
				  : swift_text(p, SWIFT_SPEC_PAYLOAD, "objc", 4);
		return SWIFT_MAKE(p, kind, swift_leaf(p, SWIFT_SPEC_STRING), text);
	default:
		return 0;
	}
}

static uint16_t swift_argument(struct swift *p, enum swift_kind kind)
{
	char c = swift_next(p);
	switch (c) {
	case 'n':
		return swift_leaf(p, kind);
	case 'c':
		return SWIFT_MAKE(p, kind, swift_leaf(p, SWIFT_SPEC_CLOSURE));
	case 'p':
		return swift_constant(p, kind);
	case 'e':
	case 'd':
	case 'g':
	case 'o':
	case 'x':
		return SWIFT_MAKE(p, kind, swift_flags(p, c));
	case 'i':
		return SWIFT_MAKE(p, kind, swift_leaf(p, SWIFT_SPEC_BOX_VALUE));
	case 's':
		return SWIFT_MAKE(p, kind, swift_leaf(p, SWIFT_SPEC_BOX_STACK));
	case 'r':
		return SWIFT_MAKE(p, kind, swift_leaf(p, SWIFT_SPEC_INOUT));
	default:
		return 0;
	}
}

/* Reads the text of a constant, which is often a mangled name. */
static uint16_t swift_payload(struct swift *p, bool string)
{
	uint16_t name = swift_pop(p, SWIFT_IDENTIFIER);
	if (!name)
		return 0;
	const struct swift_node *n = &p->nodes[name];
	unsigned at = n->at, size = n->n;
	if (string && size > 0 && p->text[at] == '_') {
		at++;
		size--;
	}
	uint16_t nested = swift_nested_name(p, p->text + at, size);
	if (nested)
		return SWIFT_MAKE(p, SWIFT_SPEC_NAME, nested);
	uint16_t text = swift_leaf(p, SWIFT_SPEC_PAYLOAD);
	if (text) {
		p->nodes[text].at = at;
		p->nodes[text].n = (uint16_t)size;
	}
	return text;
}

/* Completes an argument with its operands: types, below them a name. */
static uint16_t swift_completed(struct swift *p, uint16_t node)
{
	enum swift_kind kind = swift_kind_of(p, node);
	uint16_t what = swift_kid(p, node, 0);
	enum swift_kind of = what ? swift_kind_of(p, what) : SWIFT_NONE;
	bool types = of == SWIFT_SPEC_CLOSURE || of == SWIFT_SPEC_KEYPATH;
	if (!types && of != SWIFT_SPEC_FUNCTION && of != SWIFT_SPEC_GLOBAL &&
	    of != SWIFT_SPEC_STRING)
		return node;
	uint16_t kids[SWIFT_LIST_MAX];
	size_t n = 0;
	kids[n++] = what;
	if (of == SWIFT_SPEC_STRING)
		kids[n++] = swift_kid(p, node, 1);
	unsigned from = p->n_stack;
	while (types && from > p->first_stack && swift_is(p, p->stack[from - 1], SWIFT_IS_TYPE))
		from--;
	size_t m = p->n_stack - from;
	if (m > SWIFT_LIST_MAX - 3)
		return 0;
	memcpy(kids + n + 1, p->stack + from, m * sizeof(*kids));
	p->n_stack = from;
	kids[n] = swift_payload(p, of == SWIFT_SPEC_STRING);
	return swift_make(p, kind, n + 1 + m, kids);
}

static uint16_t swift_by_arguments(struct swift *p, struct spec *s)
{
	if (!swift_spec_info(p, s))
		return 0;
	while (!swift_eat(p, '_'))
		if (!swift_spec_add(s, swift_argument(p, SWIFT_SPEC_ARGUMENT)))
			return 0;
	if (!swift_eat(p, 'n') && !swift_spec_add(s, swift_argument(p, SWIFT_SPEC_RETURN)))
		return 0;
	for (size_t i = s->n; i-- > 0;) {
		if (swift_kind_of(p, s->kids[i]) != SWIFT_SPEC_ARGUMENT)
			continue;
		s->kids[i] = swift_completed(p, s->kids[i]);
		if (!s->kids[i])
			return 0;
	}
	return swift_make(p, SWIFT_SPECIALIZED_SIGNATURE, s->n, s->kids);
}

uint16_t swift_specialization(struct swift *p, char c)
{
	struct spec s = {.n = 0};
	if (c == 't') {
		if (!swift_dropped(p))
			return 0;
		c = swift_next(p);
		if (c != 'g' && c != 'G' && c != 'B')
			return 0;
	}
	switch (c) {
	case 'g':
		return swift_by_types(p, SWIFT_SPECIALIZED, &s);
	case 'G':
		return swift_by_types(p, SWIFT_SPECIALIZED_SAME, &s);
	case 'B':
		return swift_by_types(p, SWIFT_SPECIALIZED_DOMAIN, &s);
	case 's':
		return swift_by_types(p, SWIFT_SPECIALIZED_EARLY, &s);
	case 'i':
		return swift_by_types(p, SWIFT_SPECIALIZED_INLINED, &s);
	case 'p':
		return swift_partly(p, SWIFT_SPECIALIZED_PARTLY, &s);
	case 'P':
		return swift_partly(p, SWIFT_SPECIALIZED_PARTLY_SAME, &s);
	case 'f':
		return swift_by_arguments(p, &s);
	default:
		return 0;
	}
}

/* Reads a set of parameters or results: U for one that is not in it, S for one that is. */
static uint16_t swift_autodiff_indices(struct swift *p)
{
	const char *from = p->pos;
	while (swift_peek(p) == 'S' || swift_peek(p) == 'U')
		p->pos++;
	return p->pos > from ? swift_text(p, SWIFT_AUTODIFF_INDICES, from, (size_t)(p->pos - from))
			     : 0;
}

static uint16_t swift_kind_of_function(struct swift *p, const char *kinds)
{
	char c = swift_next(p);
	return c && strchr(kinds, c) ? swift_number(p, SWIFT_AUTODIFF_KIND, (unsigned char)c) : 0;
}

/* Operands on the stack, then kind, parameters, results. */
static uint16_t swift_autodiff_function(struct swift *p, enum swift_kind kind, const char *kinds)
{
	uint16_t kids[SWIFT_LIST_MAX];
	uint16_t signature = swift_pop(p, SWIFT_SIGNATURE);
	size_t n = p->n_stack - p->first_stack;
	if (n == 0 || n > SWIFT_LIST_MAX - 4)
		return 0;
	memcpy(kids, p->stack + p->first_stack, n * sizeof(*kids));
	p->n_stack = p->first_stack;
	if (signature)
		kids[n++] = signature;
	kids[n++] = swift_kind_of_function(p, kinds);
	kids[n++] = swift_autodiff_indices(p);
	kids[n++] = swift_eat(p, 'p') ? swift_autodiff_indices(p) : 0;
	return swift_eat(p, 'r') ? swift_make(p, kind, n, kids) : 0;
}

static uint16_t swift_reorder(struct swift *p)
{
	uint16_t signature = swift_pop(p, SWIFT_SIGNATURE);
	uint16_t to = swift_pop_type(p);
	uint16_t from = swift_pop_type(p);
	uint16_t kind = swift_kind_of_function(p, "frdp");
	if (!to || !from || !kind)
		return 0;
	return SWIFT_MAKE_SOME(p, SWIFT_AUTODIFF_REORDER, kind, signature, from, to);
}

static uint16_t swift_subset(struct swift *p)
{
	uint16_t kids[SWIFT_LIST_MAX];
	size_t n = p->n_stack - p->first_stack;
	if (n == 0 || n > SWIFT_LIST_MAX - 4)
		return 0;
	memcpy(kids, p->stack + p->first_stack, n * sizeof(*kids));
	p->n_stack = p->first_stack;
	kids[n++] = swift_kind_of_function(p, "frdp");
	kids[n++] = swift_autodiff_indices(p);
	kids[n++] = swift_eat(p, 'p') ? swift_autodiff_indices(p) : 0;
	kids[n++] = swift_eat(p, 'r') ? swift_autodiff_indices(p) : 0;
	return swift_eat(p, 'P') ? swift_make(p, SWIFT_AUTODIFF_SUBSET, n, kids) : 0;
}

uint16_t swift_autodiff(struct swift *p)
{
	if (swift_eat(p, 'V'))
		return swift_autodiff_function(p, SWIFT_AUTODIFF_VTABLE, "frdp");
	if (swift_eat(p, 'O'))
		return swift_reorder(p);
	if (swift_eat(p, 'S'))
		return swift_subset(p);
	return swift_autodiff_function(p, SWIFT_AUTODIFF_FUNCTION, "frdp");
}

uint16_t swift_autodiff_witness(struct swift *p)
{
	return swift_autodiff_function(p, SWIFT_AUTODIFF_WITNESS, "frdl");
}
