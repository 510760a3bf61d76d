/* SPDX-License-Identifier: Apache-2.0 */
/* The tree of a C++ name, with nodes that refer to each other by number, and its parser. */
#ifndef UX_ITANIUM_TREE_H
#define UX_ITANIUM_TREE_H

#include "demangle_schemes.h"
#include "text.h"

enum itanium_kind {
	ITANIUM_NONE,
	ITANIUM_NAME,       /* a: offset in the name, b: bytes */
	ITANIUM_TEXT,       /* a: enum itanium_text */
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
	ITANIUM_LAMBDA, /* a: list of parameters, b: number, c: list of its template parameters */
	ITANIUM_HEAD,   /* a: name; b: type, list of HEADs, constraint, or 0; c: 1 for a pack */
	ITANIUM_HEAD_NAME, /* a: enum itanium_head; b: number within its kind; c: overall number */
	ITANIUM_BLOCK,     /* b: number */
	ITANIUM_FRIEND,    /* a: name */
	ITANIUM_MODULE,    /* a: enclosing module or 0; b: name; c: 1 for a partition */
	ITANIUM_IN_MODULE, /* a: name, b: module */
	ITANIUM_VENDOR_OP, /* a: name */
	ITANIUM_UNNAMED,   /* b: number */
	ITANIUM_BINDING,   /* a: list of names */
	ITANIUM_LOCAL,     /* a: encoding of the function, b: entity; c: 1 + number of a default
			      argument, or 0 */
	ITANIUM_ENCODING,  /* a: name, b: list of parameters, c: type that is returned, or 0 */
	ITANIUM_SPECIAL,   /* a: enum itanium_text, b: node that follows it */
	ITANIUM_IN,        /* a "-in-" b */
	ITANIUM_QUALIFIER, /* a: type; flags */
	ITANIUM_VENDOR,    /* a: type, b: qualifier */
	ITANIUM_POINTER,   /* a: type */
	ITANIUM_LREF,
	ITANIUM_RREF,
	ITANIUM_POSTFIX,   /* a: type, b: enum itanium_text */
	ITANIUM_FUNCTION,  /* a: type that is returned, b: list of parameters, c: NOEXCEPT, THROWS,
			      TEXT or 0 */
	ITANIUM_ARRAY,     /* a: type, b: dimension or 0 */
	ITANIUM_VECTOR,    /* the same */
	ITANIUM_MEMBER,    /* a: class, b: type */
	ITANIUM_PARAMETER, /* a: the argument of the template */
	ITANIUM_AUTO,      /* b: number of a generic lambda's parameter */
	ITANIUM_PACK,      /* a: list */
	ITANIUM_EXPANSION, /* a: pattern */
	ITANIUM_DECLTYPE,  /* a: expression */
	ITANIUM_NOEXCEPT,  /* a: expression or 0 */
	ITANIUM_THROWS,    /* a: list of types */
	ITANIUM_LITERAL,   /* a: type, b: offset, c: bytes */
	ITANIUM_UNARY,     /* a: number of the operator, b: operand */
	ITANIUM_BINARY,    /* a: number of the operator, b, c: operands */
	ITANIUM_CALL,      /* a: function, b: list */
	ITANIUM_CAST,      /* a: type, b: expression */
	ITANIUM_LIST_CAST, /* a: type, b: list */
	ITANIUM_BRACED,    /* a: type or 0, b: list */
	ITANIUM_SIZEOF,    /* a: enum itanium_text, b: operand */
	ITANIUM_FUNCTION_PARAMETER, /* b: number */
	ITANIUM_SCOPED,             /* a "::" b in an expression */
	ITANIUM_FOLD,               /* a: number of the operator, b, c: operands or 0 */
	ITANIUM_PHRASE,             /* a: enum itanium_phrase_of; b, c: operands */
};

/* Flags of a QUALIFIER, a FUNCTION, an ENCODING. */
enum {
	ITANIUM_CONST = 1,
	ITANIUM_VOLATILE = 2,
	ITANIUM_RESTRICT = 4,
	ITANIUM_CV = 7,
	ITANIUM_FOR_LREF = 8, /* callable on an lvalue: "&" */
	ITANIUM_FOR_RREF = 16,
	ITANIUM_FOR_OBJECT = 32, /* the first parameter is the object: \"this\" */
	ITANIUM_SHARED = 64,     /* on any kind: several places of the name refer to the node */
};

enum {
	ITANIUM_NAME_MAX = 8192,  /* longest name in bytes: offsets have 16 bits */
	ITANIUM_NODES_MAX = 8192, /* each byte of a name makes about one node */
	ITANIUM_SUBS_MAX = 1024,
	ITANIUM_ARGS_MAX = 256,
	ITANIUM_HEADS_MAX = 64,
	ITANIUM_DEPTH_MAX =
		192, /* recursion limit of the grammar; a level takes about 1 KB of stack */
};

struct itanium_node {
	uint8_t kind; /* enum itanium_kind */
	uint8_t flags;
	uint16_t a, b, c;
};

/* Where the text of a shared node was written; size 0: it has not been, or cannot be copied. */
struct itanium_written {
	uint32_t from; /* offset in the text of the name */
	uint32_t size;
};

/*
 * The parser of one name. Nodes are numbered: 0 is not a node; as a function's result it is a
 * failure.
 */
struct itanium {
	const char *start;
	const char *pos;
	const char *end;
	struct ux_name_text
		*text; /* the budget: walking a tree with shared parts can take exponential time */
	unsigned n_nodes;
	unsigned n_subs;
	unsigned first_arg; /* index in args: those before it belong to an enclosing encoding */
	unsigned n_args;
	unsigned n_forward;
	unsigned context; /* number of the encoding with the template arguments that T_ refers to */
	unsigned n_contexts;
	unsigned n_heads;   /* number of template parameters of a generic lambda */
	uint16_t module;    /* module of the next name; 0: none */
	bool in_lambda;     /* template parameters belong to a generic lambda */
	bool in_constraint; /* template parameters may belong to a template whose arguments are not
			       in the name */
	bool in_conversion; /* A conversion operator's type is being read: arguments after its T_
			       belong to the operator, and the type may refer to arguments that
			       follow later. */
	uint8_t flags;      /* flags of the last nested name */
	uint16_t subs[ITANIUM_SUBS_MAX];
	uint16_t sub_contexts[ITANIUM_SUBS_MAX]; /* the context in which each substitution was read:
						    see itanium_here() */
	uint16_t args[ITANIUM_ARGS_MAX];         /* arguments of the current template */
	uint16_t forward[ITANIUM_ARGS_MAX]; /* PARAMETER nodes with arguments that follow later */
	uint16_t heads[ITANIUM_HEADS_MAX];
	struct itanium_node nodes[ITANIUM_NODES_MAX];
	struct itanium_written written[ITANIUM_NODES_MAX]; /* set only for shared nodes */
};

ux_inline char itanium_peek(const struct itanium *p)
{
	return p->pos < p->end ? *p->pos : '\0';
}

ux_inline char itanium_peek2(const struct itanium *p)
{
	return p->end - p->pos > 1 ? p->pos[1] : '\0';
}

ux_inline bool itanium_eat(struct itanium *p, char c)
{
	if (itanium_peek(p) != c)
		return false;
	p->pos++;
	return true;
}

ux_inline bool itanium_eat2(struct itanium *p, const char *two)
{
	if (p->end - p->pos < 2 || p->pos[0] != two[0] || p->pos[1] != two[1])
		return false;
	p->pos += 2;
	return true;
}

/* Makes a node; 0 when there are too many. */
ux_inline uint16_t itanium_node(struct itanium *p, enum itanium_kind kind, uint16_t a, uint16_t b,
				uint16_t c)
{
	if (ux_unlikely(p->n_nodes == ITANIUM_NODES_MAX))
		return 0;
	p->nodes[p->n_nodes] = (struct itanium_node){.kind = (uint8_t)kind, .a = a, .b = b, .c = c};
	return (uint16_t)p->n_nodes++;
}

/* As itanium_node(), but 0 when `a` is 0. */
ux_inline uint16_t itanium_over(struct itanium *p, enum itanium_kind kind, uint16_t a)
{
	return a ? itanium_node(p, kind, a, 0, 0) : 0;
}

/* Returns the context that T_ refers to at this point: an encoding, or a lambda in it. */
ux_inline uint16_t itanium_here(const struct itanium *p)
{
	return (uint16_t)(p->context * 2 + p->in_lambda);
}

/* Notes another reference to a node that is already in the tree; returns it. */
ux_inline uint16_t itanium_share(struct itanium *p, uint16_t node)
{
	p->nodes[node].flags |= ITANIUM_SHARED;
	p->written[node].size = 0;
	return node;
}

/* Records node for later S_; returns it, or 0 when there are too many. */
ux_inline uint16_t itanium_add_substitution(struct itanium *p, uint16_t node)
{
	if (ux_unlikely(node == 0 || p->n_subs == ITANIUM_SUBS_MAX))
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
#define ITANIUM_TEXTS                                                                       \
	X(STD, "std")                                                                       \
	X(VOID, "void")                                                                     \
	X(WCHAR, "wchar_t")                                                                 \
	X(BOOL, "bool")                                                                     \
	X(CHAR, "char")                                                                     \
	X(SCHAR, "signed char")                                                             \
	X(UCHAR, "unsigned char")                                                           \
	X(SHORT, "short")                                                                   \
	X(USHORT, "unsigned short")                                                         \
	X(INT, "int")                                                                       \
	X(UINT, "unsigned int")                                                             \
	X(LONG, "long")                                                                     \
	X(ULONG, "unsigned long")                                                           \
	X(LLONG, "long long")                                                               \
	X(ULLONG, "unsigned long long")                                                     \
	X(INT128, "__int128")                                                               \
	X(UINT128, "unsigned __int128")                                                     \
	X(FLOAT, "float")                                                                   \
	X(DOUBLE, "double")                                                                 \
	X(LDOUBLE, "long double")                                                           \
	X(FLOAT128, "__float128")                                                           \
	X(ELLIPSIS, "...")                                                                  \
	X(DECIMAL32, "decimal32")                                                           \
	X(DECIMAL64, "decimal64")                                                           \
	X(DECIMAL128, "decimal128")                                                         \
	X(HALF, "half")                                                                     \
	X(CHAR8, "char8_t")                                                                 \
	X(CHAR16, "char16_t")                                                               \
	X(CHAR32, "char32_t")                                                               \
	X(AUTO, "auto")                                                                     \
	X(DECLTYPE_AUTO, "decltype(auto)")                                                  \
	X(NULLPTR, "decltype(nullptr)")                                                     \
	X(COMPLEX, " _Complex")                                                             \
	X(IMAGINARY, " _Imaginary")                                                         \
	X(ALLOCATOR, "allocator")                                                           \
	X(BASIC_STRING, "basic_string")                                                     \
	X(STRING, "string")                                                                 \
	X(ISTREAM, "istream")                                                               \
	X(OSTREAM, "ostream")                                                               \
	X(IOSTREAM, "iostream")                                                             \
	X(LONG_STRING, "basic_string<char, std::char_traits<char>, std::allocator<char> >") \
	X(LONG_ISTREAM, "basic_istream<char, std::char_traits<char> >")                     \
	X(LONG_OSTREAM, "basic_ostream<char, std::char_traits<char> >")                     \
	X(LONG_IOSTREAM, "basic_iostream<char, std::char_traits<char> >")                   \
	X(BASIC_ISTREAM, "basic_istream")                                                   \
	X(BASIC_OSTREAM, "basic_ostream")                                                   \
	X(BASIC_IOSTREAM, "basic_iostream")                                                 \
	X(STRING_LITERAL, "string literal")                                                 \
	X(VTABLE, "vtable for ")                                                            \
	X(VTT, "VTT for ")                                                                  \
	X(CONSTRUCTION, "construction vtable for ")                                         \
	X(TYPEINFO, "typeinfo for ")                                                        \
	X(TYPEINFO_NAME, "typeinfo name for ")                                              \
	X(TYPEINFO_FN, "typeinfo fn for ")                                                  \
	X(NON_VIRTUAL_THUNK, "non-virtual thunk to ")                                       \
	X(VIRTUAL_THUNK, "virtual thunk to ")                                               \
	X(COVARIANT_THUNK, "covariant return thunk to ")                                    \
	X(GUARD, "guard variable for ")                                                     \
	X(TLS_INIT, "TLS init function for ")                                               \
	X(TLS_WRAPPER, "TLS wrapper function for ")                                         \
	X(REFERENCE_TEMPORARY, "reference temporary #")                                     \
	X(HIDDEN_ALIAS, "hidden alias for ")                                                \
	X(TRANSACTION, "transaction clone for ")                                            \
	X(NON_TRANSACTION, "non-transaction clone for ")                                    \
	X(SIZEOF, "sizeof ")                                                                \
	X(SIZEOF_PACK, "sizeof...")                                                         \
	X(ALIGNOF, "alignof ")                                                              \
	X(THIS, "this")                                                                     \
	X(THROW, "throw")                                                                   \
	X(ZERO, "0")                                                                        \
	X(BFLOAT16, "std::bfloat16_t")                                                      \
	X(TRANSACTION_SAFE, "transaction_safe")                                             \
	X(MODULE_INITIALIZER, "initializer for module ")                                    \
	X(TEMPLATE_OBJECT, "template parameter object for ")                                \
	X(BLOCK_INVOCATION, "invocation function for block in ")

enum itanium_text {
#define X(name, text) ITANIUM_T_##name,
	ITANIUM_TEXTS
#undef X
};

/*
 * Expressions and types with a fixed text. In the text, \1 and \2 are the nodes b and c, \3 and \4
 * the same as operands, \5 and \6 as lists, \7 and \10 as lists without separators.
 */
#define ITANIUM_PHRASES                                 \
	X(ALTERNATIVES, "\3 : \4")                      \
	X(AT_INDEX, "[\1]=\4")                          \
	X(AT_MEMBER, ".\1=\4")                          \
	X(AT_OFFSET, "\1 at offset \2")                 \
	X(AWAIT, "co_await \3")                         \
	X(BITINT, "_BitInt(\1)")                        \
	X(CALL, "\1(\6)")                               \
	X(CONDITIONAL, "\3?\2")                         \
	X(CONSTRAINED_AUTO, "\1 auto")                  \
	X(CONSTRAINED_DECLTYPE, "\1 decltype(auto)")    \
	X(CONST_CAST, "const_cast<\1>(\2)")             \
	X(DELETE, "delete \3")                          \
	X(DELETE_ARRAY, "delete[] \3")                  \
	X(DYNAMIC_CAST, "dynamic_cast<\1>(\2)")         \
	X(ENABLE_IF, "\1 [enable_if:\6]")               \
	X(FLOAT_N, "_Float\1")                          \
	X(GLOBAL, "::\1")                               \
	X(NEW, "new \1")                                \
	X(NEW_AT, "new (\5) \2")                        \
	X(NEW_WITH, "\1(\6)")                           \
	X(NOEXCEPT, "noexcept (\1)")                    \
	X(PIXEL_VECTOR, "pixel vector[\1]")             \
	X(POST_MINUS, "\3--")                           \
	X(POST_PLUS, "\3++")                            \
	X(PRE_MINUS, "--\3")                            \
	X(PRE_PLUS, "++\3")                             \
	X(RANGE, "\1 ... \2")                           \
	X(REINTERPRET_CAST, "reinterpret_cast<\1>(\2)") \
	X(REQUIRE, " \1;")                              \
	X(REQUIRE_NESTED, " requires \1;")              \
	X(REQUIRE_NOEXCEPT, " {\1} noexcept;")          \
	X(REQUIRE_NOEXCEPT_OF, " {\1} noexcept -> \2;") \
	X(REQUIRE_OF, " {\1} -> \2;")                   \
	X(REQUIRE_TYPE, " typename \1;")                \
	X(REQUIRES, "requires {\7 }")                   \
	X(REQUIRES_CLAUSE, "\1 requires \2")            \
	X(REQUIRES_OF, "requires (\5) {\10 }")          \
	X(SIZEOF_ALL, "sizeof... (\5)")                 \
	X(SIZEOF_PACK, "sizeof... (\1)")                \
	X(STATIC_CAST, "static_cast<\1>(\2)")           \
	X(STRING, "\"<\1>\"")                           \
	X(SUBOBJECT, "\1.<\2>")                         \
	X(SUBSCRIPT, "\3[\2]")                          \
	X(THROW, "throw \3")                            \
	X(TYPEID, "typeid (\1)")                        \
	X(UNSIGNED_BITINT, "unsigned _BitInt(\1)")

enum itanium_phrase_of {
#define X(name, text) ITANIUM_P_##name,
	ITANIUM_PHRASES
#undef X
};

extern const char *const itanium_phrases[];

/* Kinds of template parameters of a generic lambda. */
enum itanium_head {
	ITANIUM_HEAD_TYPE,
	ITANIUM_HEAD_VALUE,
	ITANIUM_HEAD_TEMPLATE,
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
	uint8_t arity; /* number of operands in an expression; 0: not used in expressions */
	uint8_t size;
	const char *text;
};

extern const struct itanium_operator itanium_operators[];

/* Returns the number of an operator; -1: no such operator. */
int itanium_operator_find(char first, char second);

/* Does the same for the operator at the current position. */
int itanium_operator_read(struct itanium *p);

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
uint16_t itanium_template_arg(struct itanium *p);
uint16_t itanium_simple_name(struct itanium *p);
uint16_t itanium_operator_name(struct itanium *p);
uint16_t itanium_phrase(struct itanium *p, enum itanium_phrase_of phrase, uint16_t b, uint16_t c);
uint8_t itanium_qualifiers(struct itanium *p);

/* Reads the template parameters of a generic lambda; false when malformed. */
bool itanium_heads(struct itanium *p, uint16_t *ret);

/*
 * Reads an optional constraint: Q and an expression. False when malformed; *ret is 0 without one.
 */
bool itanium_constraint(struct itanium *p, uint16_t *ret);

/* Reads digits; false without any, or past 65,535. */
bool itanium_number(struct itanium *p, uint16_t *ret);

/* "_" is 0, "0_" is 1, ...; with base 36 digits and upper-case letters. */
bool itanium_sequence(struct itanium *p, unsigned base, uint16_t *ret);

/*
 * Enters a level of recursion; false when that is too deep. Each call must be undone by
 * itanium_leave().
 */
ux_inline bool itanium_enter(struct itanium *p)
{
	return ux_name_text_enter(p->text, ITANIUM_DEPTH_MAX);
}

ux_inline uint16_t itanium_leave(struct itanium *p, uint16_t result)
{
	p->text->depth--;
	return result;
}

/* Builtin types by letter: 1 + enum itanium_text, or 0. */
extern const uint8_t itanium_builtins[26];

/* Writes node `root`; false when that exceeds the budget of p->text. */
bool itanium_print(struct itanium *p, uint16_t root, struct ux_itanium_style style);

#endif
