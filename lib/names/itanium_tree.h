/* SPDX-License-Identifier: Apache-2.0 */
/* What a mangled name is parsed into: nodes that name each other by number. */
#ifndef UX_ITANIUM_TREE_H
#define UX_ITANIUM_TREE_H

#include "itanium.h"

enum itanium_kind {
	ITANIUM_NONE,
	ITANIUM_NAME,       /* a: offset in the name, b: bytes */
	ITANIUM_TEXT,       /* a: number of a constant text */
	ITANIUM_ANONYMOUS,  /* namespace */
	ITANIUM_QUALIFIED,  /* a: scope, b: name */
	ITANIUM_TEMPLATE,   /* a: name, b: list of arguments */
	ITANIUM_LIST,       /* a: item, b: next of it */
	ITANIUM_TAGGED,     /* a: name, b: tag of the ABI */
	ITANIUM_CTOR,       /* a: name of the class */
	ITANIUM_DTOR,       /* the same */
	ITANIUM_OPERATOR,   /* a: number of the operator */
	ITANIUM_CONVERSION, /* a: type */
	ITANIUM_LITERAL_OP, /* a: name */
	ITANIUM_LAMBDA,     /* a: list of parameters, b: number */
	ITANIUM_UNNAMED,    /* b: number */
	ITANIUM_BINDING,    /* a: list of names */
	ITANIUM_LOCAL,      /* a: encoding of the function, b: entity; c: 1 + number of a default
			       argument, or 0 */
	ITANIUM_ENCODING,   /* a: name, b: list of parameters, c: type that is returned, or 0 */
	ITANIUM_SPECIAL,    /* a: number of a constant text, b: what follows it */
	ITANIUM_IN,         /* a "-in-" b */
	ITANIUM_QUALIFIER,  /* a: type; flags */
	ITANIUM_VENDOR,     /* a: type, b: qualifier */
	ITANIUM_POINTER,    /* a: type */
	ITANIUM_LREF,
	ITANIUM_RREF,
	ITANIUM_POSTFIX,   /* a: type, b: number of a constant text */
	ITANIUM_FUNCTION,  /* a: type that is returned, b: list of parameters, c: exceptions */
	ITANIUM_ARRAY,     /* a: type, b: dimension or 0 */
	ITANIUM_VECTOR,    /* the same */
	ITANIUM_MEMBER,    /* a: class, b: type */
	ITANIUM_PARAMETER, /* a: the argument of the template */
	ITANIUM_AUTO,      /* b: number of a generic lambda's parameter */
	ITANIUM_PACK,      /* a: list */
	ITANIUM_EXPANSION, /* a: pattern */
	ITANIUM_DECLTYPE,  /* a: expression */
	ITANIUM_NOEXCEPT,  /* a: expression or 0 */
	ITANIUM_LITERAL,   /* a: type, b: offset, c: bytes */
	ITANIUM_UNARY,     /* a: number of the operator, b: operand */
	ITANIUM_BINARY,    /* a: number of the operator, b, c: operands */
	ITANIUM_CALL,      /* a: function, b: list */
	ITANIUM_CAST,      /* a: type, b: expression */
	ITANIUM_LIST_CAST, /* a: type, b: list */
	ITANIUM_BRACED,    /* a: type or 0, b: list */
	ITANIUM_SIZEOF,    /* a: number of a constant text, b: what it is of */
	ITANIUM_FUNCTION_PARAMETER, /* b: number */
	ITANIUM_SCOPED,             /* a "::" b in an expression */
};

/* Flags of a QUALIFIER, a FUNCTION, an ENCODING. */
enum {
	ITANIUM_CONST = 1,
	ITANIUM_VOLATILE = 2,
	ITANIUM_RESTRICT = 4,
	ITANIUM_CV = 7,
	ITANIUM_FOR_LREF = 8, /* callable on an lvalue: "&" */
	ITANIUM_FOR_RREF = 16,
};

enum {
	ITANIUM_NAME_MOST = 8192,  /* bytes: offsets are of 16 bits */
	ITANIUM_NODES_MOST = 8192, /* a byte of a name makes about one */
	ITANIUM_SUBS_MOST = 1024,
	ITANIUM_STEPS_MOST = 1 << 16, /* trees share parts: walking one may take forever */
	ITANIUM_ARGS_MOST = 256,
	ITANIUM_DEPTH_MOST = 192, /* of the grammar; a level takes about 1 KB of stack */
};

struct itanium_node {
	uint8_t kind; /* enum itanium_kind */
	uint8_t flags;
	uint16_t a, b, c;
};

/* One name's parse. Numbers of nodes: 0 is no node, and as a result a failure. */
struct itanium {
	const char *start;
	const char *pos;
	const char *end;
	unsigned depth;
	unsigned n_nodes;
	unsigned n_subs;
	unsigned first_arg; /* of args: those before it are of an enclosing encoding */
	unsigned n_args;
	unsigned n_forward;
	unsigned context; /* number of the encoding whose template T_ means */
	unsigned n_contexts;
	unsigned steps;     /* nodes that were read again for what T_ in them means */
	bool in_lambda;     /* template parameters are those of a generic lambda */
	bool in_conversion; /* what follows a type's T_ are the arguments of the operator, and it
			       may name arguments that are yet to come */
	uint8_t flags;      /* of the nested name that was read last */
	uint16_t subs[ITANIUM_SUBS_MOST];
	uint16_t sub_contexts[ITANIUM_SUBS_MOST]; /* where each was read: see itanium_here() */
	uint16_t args[ITANIUM_ARGS_MOST];         /* of the template that is being named */
	uint16_t forward[ITANIUM_ARGS_MOST]; /* PARAMETER nodes whose argument is yet to come */
	struct itanium_node nodes[ITANIUM_NODES_MOST];
};

ux_inline char itanium_peek(const struct itanium *p)
{
	return p->pos < p->end ? *p->pos : '\0';
}

ux_inline char itanium_peek2(const struct itanium *p)
{
	return p->end - p->pos > 1 ? p->pos[1] : '\0';
}

ux_inline bool itanium_take(struct itanium *p, char c)
{
	if (itanium_peek(p) != c)
		return false;
	p->pos++;
	return true;
}

ux_inline bool itanium_take2(struct itanium *p, const char *two)
{
	if (p->end - p->pos < 2 || p->pos[0] != two[0] || p->pos[1] != two[1])
		return false;
	p->pos += 2;
	return true;
}

/* A node; 0 when there are too many. */
ux_inline uint16_t itanium_node(struct itanium *p, enum itanium_kind kind, uint16_t a, uint16_t b,
				uint16_t c)
{
	if (ux_unlikely(p->n_nodes == ITANIUM_NODES_MOST))
		return 0;
	p->nodes[p->n_nodes] = (struct itanium_node){.kind = (uint8_t)kind, .a = a, .b = b, .c = c};
	return (uint16_t)p->n_nodes++;
}

/* The same when `a` is there. */
ux_inline uint16_t itanium_over(struct itanium *p, enum itanium_kind kind, uint16_t a)
{
	return a ? itanium_node(p, kind, a, 0, 0) : 0;
}

/* Which T_ are meant here. */
ux_inline uint16_t itanium_here(const struct itanium *p)
{
	return (uint16_t)(p->context * 2 + p->in_lambda);
}

/* Remembers node for later S_; gives it back, or 0 when there are too many. */
ux_inline uint16_t itanium_remember(struct itanium *p, uint16_t node)
{
	if (ux_unlikely(node == 0 || p->n_subs == ITANIUM_SUBS_MOST))
		return 0;
	p->sub_contexts[p->n_subs] = itanium_here(p);
	p->subs[p->n_subs++] = node;
	return node;
}

/* Which of a, b and c of a kind are nodes. */
enum {
	ITANIUM_A = 1,
	ITANIUM_B = 2,
	ITANIUM_C = 4,
};

extern const uint8_t itanium_children[];

/* A list that grows at its end. */
struct itanium_list {
	uint16_t first;
	uint16_t last;
};

bool itanium_append(struct itanium *p, struct itanium_list *list, uint16_t item);

/* Constant texts. */
enum itanium_text {
#define X(name, text) ITANIUM_T_##name,
#include "itanium_texts.h"
#undef X
};

struct itanium_word {
	const char *text;
	uint8_t size;
};

extern const struct itanium_word itanium_words[];

uint16_t itanium_text_node(struct itanium *p, enum itanium_text text);

/* Operators, by their two letters. */
struct itanium_operator {
	char code[2];
	uint8_t arity; /* in an expression; 0: not one of those that are read */
	uint8_t size;
	const char *text;
};

extern const struct itanium_operator itanium_operators[];

/* The operator at the place of reading, which is then passed; -1: none. */
int itanium_operator_take(struct itanium *p);

/* The productions of the grammar, by the names that the ABI gives them. */
uint16_t itanium_encoding(struct itanium *p);
uint16_t itanium_name(struct itanium *p, bool naming);
uint16_t itanium_source_name(struct itanium *p);
uint16_t itanium_unqualified_name(struct itanium *p, uint16_t scope);
uint16_t itanium_type(struct itanium *p);
uint16_t itanium_types_until(struct itanium *p, bool *ret_ok);
uint16_t itanium_template_args(struct itanium *p, uint16_t name, bool naming);
uint16_t itanium_template_param(struct itanium *p);
uint16_t itanium_substitution(struct itanium *p, bool in_prefix);
uint16_t itanium_decltype(struct itanium *p);
uint16_t itanium_expression(struct itanium *p);
uint16_t itanium_literal(struct itanium *p);
uint8_t itanium_qualifiers(struct itanium *p);

/* Digits; false without any, or past 65,535. */
bool itanium_number(struct itanium *p, uint16_t *ret);

/* "_" is 0, "0_" is 1, ...; with base 36 digits and upper-case letters. */
bool itanium_sequence(struct itanium *p, unsigned base, uint16_t *ret);

/* One level deeper; false when that is too deep. Each true is undone by itanium_leave(). */
ux_inline bool itanium_enter(struct itanium *p)
{
	return p->depth++ < ITANIUM_DEPTH_MOST;
}

ux_inline uint16_t itanium_leave(struct itanium *p, uint16_t result)
{
	p->depth--;
	return result;
}

/* Writes node `root`; false when it needs over `most` bytes or too many steps. */
bool itanium_print(const struct itanium *p, uint16_t root, struct ux_itanium_style style,
		   size_t most, struct ux_out *out);

#endif
