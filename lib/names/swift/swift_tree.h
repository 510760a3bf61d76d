/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of a Swift name, and the parser state that all productions share. */
#ifndef UX_SWIFT_TREE_H
#define UX_SWIFT_TREE_H

#include "swift.h"
#include "text.h"

enum swift_kind {
#define X(name, classes, text) SWIFT_##name,
#include "swift_kinds.h"
#undef X
	SWIFT_N_KINDS
};

/* Classes of nodes that operators accept as operands. */
enum {
	SWIFT_IS_TYPE = 1,
	SWIFT_IS_CONTEXT = 2,
	SWIFT_IS_ANY_GENERIC = 4, /* a nominal type without its arguments */
	SWIFT_IS_NOMINAL = SWIFT_IS_TYPE | SWIFT_IS_ANY_GENERIC,
	SWIFT_IS_NAME = 8,
	SWIFT_IS_ATTRIBUTE = 16, /* written before the name of a function */
	SWIFT_IS_REQUIREMENT = 32,
	SWIFT_IS_CONFORMANCE = 64,
	SWIFT_IS_ENTITY = SWIFT_IS_TYPE | SWIFT_IS_CONTEXT,
};

struct swift_kind_facts {
	uint8_t classes;
	uint8_t size;
	const char *text;
};

extern const struct swift_kind_facts swift_kinds[];

enum {
	SWIFT_NODES_MAX = 8192, /* each byte of a name makes about one node */
	SWIFT_KIDS_MAX = 16384,
	SWIFT_SUBS_MAX = 4096,
	SWIFT_STACK_MAX = 4096,
	SWIFT_WORDS_MAX = 26,
	SWIFT_TEXT_MAX = 1 << 15, /* bytes of all identifiers of a name */
	SWIFT_LIST_MAX = 256,     /* elements of one list */
	SWIFT_REPEAT_MAX = 2048,  /* repetitions of one substitution */
	SWIFT_NESTED_MAX = 4,     /* nesting of names in names of specializations */
	SWIFT_DEPTH_MAX = 128,    /* nesting of types that enclose a type with arguments */
};

/* A leaf has a text or a number; any other node has children. */
struct swift_node {
	uint16_t kind;
	uint16_t n;  /* number of children, or bytes of text */
	uint32_t at; /* index of the first child, or offset in the text, or the number */
};

struct swift_word {
	const char *text;
	size_t size;
};

/*
 * The parser of one name. Nodes are numbered: 0 is not a node; as a function's result it is a
 * failure.
 */
struct swift {
	const char *start, *pos, *end;
	struct ux_name_text *budget; /* the budget, and the writer of the text */
	bool old;                    /* mangled by Swift 4.0: labels are in the types */
	unsigned nested;
	unsigned depth;
	unsigned n_nodes, n_kids, n_text;
	unsigned n_stack, n_subs, n_words;
	unsigned first_stack, first_sub; /* entries below belong to an enclosing name */
	uint16_t stack[SWIFT_STACK_MAX];
	uint16_t subs[SWIFT_SUBS_MAX];
	struct swift_word words[SWIFT_WORDS_MAX];
	uint16_t kids[SWIFT_KIDS_MAX];
	char text[SWIFT_TEXT_MAX];
	struct swift_node nodes[SWIFT_NODES_MAX];
};

ux_inline char swift_peek(const struct swift *p)
{
	return p->pos < p->end ? *p->pos : '\0';
}

/* Returns the next byte; NUL at the end. */
ux_inline char swift_next(struct swift *p)
{
	return p->pos < p->end ? *p->pos++ : '\0';
}

ux_inline bool swift_eat(struct swift *p, char c)
{
	if (swift_peek(p) != c || p->pos == p->end)
		return false;
	p->pos++;
	return true;
}

ux_inline uint16_t swift_kind_of(const struct swift *p, uint16_t node)
{
	return p->nodes[node].kind;
}

ux_inline bool swift_is(const struct swift *p, uint16_t node, unsigned classes)
{
	return (swift_kinds[p->nodes[node].kind].classes & classes) != 0;
}

/* Returns the i-th child of a node; 0: the node has fewer children. */
ux_inline uint16_t swift_kid(const struct swift *p, uint16_t node, unsigned i)
{
	const struct swift_node *n = &p->nodes[node];
	return i < n->n ? p->kids[n->at + i] : 0;
}

/* Returns the first child of a kind; 0: none. */
uint16_t swift_find(const struct swift *p, uint16_t node, enum swift_kind kind);

/* Makes a node without children. */
uint16_t swift_leaf(struct swift *p, enum swift_kind kind);
uint16_t swift_number(struct swift *p, enum swift_kind kind, uint32_t v);
/* Makes a leaf with a copy of the text. */
uint16_t swift_text(struct swift *p, enum swift_kind kind, const char *text, size_t n);

/* Makes a node with n children; 0 when one of them is 0. */
uint16_t swift_make(struct swift *p, enum swift_kind kind, size_t n, const uint16_t *kids);
/* As swift_make(), but leaves out children that are 0. */
uint16_t swift_make_some(struct swift *p, enum swift_kind kind, size_t n, const uint16_t *kids);

#define SWIFT_MAKE(p, kind, ...)                                                      \
	swift_make((p), (kind), sizeof((uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t), \
		   (const uint16_t[]){__VA_ARGS__})
#define SWIFT_MAKE_SOME(p, kind, ...)                                                      \
	swift_make_some((p), (kind), sizeof((uint16_t[]){__VA_ARGS__}) / sizeof(uint16_t), \
			(const uint16_t[]){__VA_ARGS__})

/* The operand stack; each pop gives 0 if the top is of another kind. */
bool swift_push(struct swift *p, uint16_t node);
uint16_t swift_pop_any(struct swift *p);
uint16_t swift_pop(struct swift *p, enum swift_kind kind);
uint16_t swift_pop_class(struct swift *p, unsigned classes);

ux_inline uint16_t swift_pop_type(struct swift *p)
{
	return swift_pop_class(p, SWIFT_IS_TYPE);
}

uint16_t swift_pop_module(struct swift *p);
uint16_t swift_pop_context(struct swift *p);
uint16_t swift_pop_protocol(struct swift *p);

/* Records a substitution for later A operators; returns node, or 0 when there are too many. */
uint16_t swift_add_substitution(struct swift *p, uint16_t node);

/* NATURAL; false without a digit, or past 2^31. */
bool swift_natural(struct swift *p, uint32_t *ret);
/* INDEX: "_" is 0, "0_" is 1. */
bool swift_index(struct swift *p, uint32_t *ret);
uint16_t swift_index_node(struct swift *p);

/* swift_name.c: identifiers, substitutions, contexts. */
uint16_t swift_identifier(struct swift *p);
uint16_t swift_operator_name(struct swift *p);
uint16_t swift_local_name(struct swift *p);
uint16_t swift_substitutions(struct swift *p);
uint16_t swift_known(struct swift *p);

/* swift_type.c: types except function types. */
uint16_t swift_nominal(struct swift *p, enum swift_kind kind);
uint16_t swift_builtin(struct swift *p);
uint16_t swift_bound(struct swift *p);
uint16_t swift_special_type(struct swift *p);
uint16_t swift_annotation(struct swift *p);
uint16_t swift_protocol_list(struct swift *p);
uint16_t swift_tuple(struct swift *p);
uint16_t swift_integer(struct swift *p);
uint16_t swift_archetype(struct swift *p);
/* ELEMENT '_' ELEMENT*, or the empty list; pop takes one element from the stack. */
typedef uint16_t swift_pop_fn(struct swift *p);
uint16_t swift_list(struct swift *p, enum swift_kind kind, swift_pop_fn *pop);
uint16_t swift_type_list(struct swift *p);
/* swift_generic.c: signatures, requirements, associated types, conformances. */
uint16_t swift_generic_param(struct swift *p);
uint16_t swift_signature(struct swift *p, bool counts);
uint16_t swift_requirement(struct swift *p);
uint16_t swift_associated_name(struct swift *p);
uint16_t swift_associated_path(struct swift *p);
uint16_t swift_member(struct swift *p, uint16_t base);
uint16_t swift_member_path(struct swift *p, uint16_t base);
uint16_t swift_conformance(struct swift *p);
uint16_t swift_conformance_operator(struct swift *p);
uint16_t swift_retroactive(struct swift *p);
/* Removes retroactive conformances from the stack; they have no text. */
void swift_drop_retroactive(struct swift *p);

/* swift_entity.c: types of functions. */
uint16_t swift_function_type(struct swift *p, enum swift_kind kind, bool c_type);
uint16_t swift_c_type(struct swift *p);
uint16_t swift_impl_function(struct swift *p);
/* Labels of the parameters of a function of that type. */
uint16_t swift_labels(struct swift *p, uint16_t type);

/* swift_entity.c: functions, variables, ... */
uint16_t swift_function(struct swift *p);
uint16_t swift_variable(struct swift *p);
uint16_t swift_subscript(struct swift *p);
uint16_t swift_function_entity(struct swift *p);
uint16_t swift_extension(struct swift *p);

/* swift_global.c: entities derived from types and conformances. */
uint16_t swift_metadata(struct swift *p);
uint16_t swift_witness(struct swift *p);
uint16_t swift_value_witness(struct swift *p);

/* swift_thunk.c: entities derived from functions. */
uint16_t swift_thunk(struct swift *p);

/* swift_thunk.c: specializations by arguments; the last letter of the operator. */
uint16_t swift_specialization(struct swift *p, char c);

/* swift_thunk.c: the productions after TJ and WJ. */
uint16_t swift_autodiff(struct swift *p);
uint16_t swift_autodiff_witness(struct swift *p);

/* Reads a whole name after its prefix and returns a GLOBAL node. */
uint16_t swift_global(struct swift *p);

/*
 * Reads a mangled name inside of another one, such as the constant of a specialization; 0: not a
 * mangled name.
 */
uint16_t swift_nested_name(struct swift *p, const char *name, size_t n);

/* Returns the size of the prefix of a Swift name; 0: none. old: it is the prefix of Swift 4.0. */
size_t swift_mark(const char *name, size_t n, bool *ret_old);

/* Writes node `root`; false when that exceeds the budget. */
bool swift_print(const struct swift *p, uint16_t root, struct ux_swift_style style);

#endif
