/* SPDX-License-Identifier: Apache-2.0 */
/* Swift's specializations of functions, by types and by arguments. */
#include "swift_tree.h"

/* A specialization in the making. */
struct spec {
	uint16_t kids[SWIFT_LIST_MOST];
	size_t n;
};

static bool spec_add(struct spec *s, uint16_t node)
{
	if (node == 0 || s->n == SWIFT_LIST_MOST)
		return false;
	s->kids[s->n++] = node;
	return true;
}

/* SPEC-INFO: how, and the pass of the compiler that did it, which has no text. */
static bool spec_info(struct swift *p, struct spec *s)
{
	swift_take(p, 'm');
	if (swift_take(p, 'q') && !spec_add(s, swift_leaf(p, SWIFT_SPEC_SERIALIZED)))
		return false;
	if (!swift_take(p, 'a'))
		swift_take(p, 'r');
	char pass = swift_next(p);
	return pass >= '0' && pass <= '9';
}

static uint16_t by_types(struct swift *p, enum swift_kind kind, struct spec *s)
{
	if (!spec_info(p, s))
		return 0;
	uint16_t types = swift_type_list(p);
	for (unsigned i = 0; types && i < p->nodes[types].n; i++)
		if (!spec_add(s, SWIFT_MAKE(p, SWIFT_SPEC_TYPE, swift_kid(p, types, i))))
			return 0;
	return types ? swift_make(p, kind, s->n, s->kids) : 0;
}

static uint16_t partly(struct swift *p, enum swift_kind kind, struct spec *s)
{
	if (!spec_info(p, s))
		return 0;
	if (!spec_add(s, SWIFT_MAKE(p, SWIFT_SPEC_PARTIAL, swift_pop_type(p))))
		return 0;
	return swift_make(p, kind, s->n, s->kids);
}

/* Numbers of arguments that are gone, which have no text: 't' NATURAL?. */
static bool dropped(struct swift *p)
{
	do {
		uint32_t v = 0;
		char c = swift_peek(p);
		if (c >= '0' && c <= '9' && !swift_natural(p, &v))
			return false;
	} while (swift_take(p, 't'));
	return true;
}

/* What happened to an argument, as bits in the order that they have as text. */
enum {
	TO_GENERIC = 1,
	DEAD = 2,
	TO_GUARANTEED = 4,
	TO_OWNED = 8,
	EXPLODED = 16,
};

static uint16_t flags(struct swift *p, char c)
{
	uint32_t v = c == 'e'   ? TO_GENERIC
		     : c == 'd' ? DEAD
		     : c == 'g' ? TO_GUARANTEED
		     : c == 'o' ? TO_OWNED
				: EXPLODED;
	if (c == 'e' && swift_take(p, 'D'))
		v |= DEAD;
	if ((c == 'e' || c == 'd') && swift_take(p, 'G'))
		v |= TO_GUARANTEED;
	if ((c == 'e' || c == 'd') && swift_take(p, 'O'))
		v |= TO_OWNED;
	if (c != 'x' && swift_take(p, 'X'))
		v |= EXPLODED;
	return swift_number(p, SWIFT_SPEC_FLAGS, v);
}

static uint16_t digits(struct swift *p)
{
	const char *from = p->pos;
	while (swift_peek(p) >= '0' && swift_peek(p) <= '9')
		p->pos++;
	return p->pos > from ? swift_text(p, SWIFT_SPEC_PAYLOAD, from, (size_t)(p->pos - from)) : 0;
}

/* A constant; what it is comes from the stack when all arguments are known. */
static uint16_t constant(struct swift *p, enum swift_kind kind)
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
		text = digits(p);
		return SWIFT_MAKE(p, kind, swift_leaf(p, SWIFT_SPEC_INTEGER), text);
	case 'd':
		text = digits(p);
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

static uint16_t argument(struct swift *p, enum swift_kind kind)
{
	char c = swift_next(p);
	switch (c) {
	case 'n':
		return swift_leaf(p, kind);
	case 'c':
		return SWIFT_MAKE(p, kind, swift_leaf(p, SWIFT_SPEC_CLOSURE));
	case 'p':
		return constant(p, kind);
	case 'e':
	case 'd':
	case 'g':
	case 'o':
	case 'x':
		return SWIFT_MAKE(p, kind, flags(p, c));
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

/* The text that a constant is of: often a name itself. */
static uint16_t payload(struct swift *p, bool string)
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

/* The argument with what the stack has for it: types, below them a name. */
static uint16_t completed(struct swift *p, uint16_t node)
{
	enum swift_kind kind = swift_kind_of(p, node);
	uint16_t what = swift_kid(p, node, 0);
	enum swift_kind of = what ? swift_kind_of(p, what) : SWIFT_NONE;
	bool types = of == SWIFT_SPEC_CLOSURE || of == SWIFT_SPEC_KEYPATH;
	if (!types && of != SWIFT_SPEC_FUNCTION && of != SWIFT_SPEC_GLOBAL &&
	    of != SWIFT_SPEC_STRING)
		return node;
	uint16_t kids[SWIFT_LIST_MOST];
	size_t n = 0;
	kids[n++] = what;
	if (of == SWIFT_SPEC_STRING)
		kids[n++] = swift_kid(p, node, 1);
	unsigned from = p->n_stack;
	while (types && from > p->first_stack && swift_is(p, p->stack[from - 1], SWIFT_IS_TYPE))
		from--;
	size_t m = p->n_stack - from;
	if (m > SWIFT_LIST_MOST - 3)
		return 0;
	memcpy(kids + n + 1, p->stack + from, m * sizeof(*kids));
	p->n_stack = from;
	kids[n] = payload(p, of == SWIFT_SPEC_STRING);
	return swift_make(p, kind, n + 1 + m, kids);
}

static uint16_t by_arguments(struct swift *p, struct spec *s)
{
	if (!spec_info(p, s))
		return 0;
	while (!swift_take(p, '_'))
		if (!spec_add(s, argument(p, SWIFT_SPEC_ARGUMENT)))
			return 0;
	if (!swift_take(p, 'n') && !spec_add(s, argument(p, SWIFT_SPEC_RETURN)))
		return 0;
	for (size_t i = s->n; i-- > 0;) {
		if (swift_kind_of(p, s->kids[i]) != SWIFT_SPEC_ARGUMENT)
			continue;
		s->kids[i] = completed(p, s->kids[i]);
		if (!s->kids[i])
			return 0;
	}
	return swift_make(p, SWIFT_SPECIALIZED_SIGNATURE, s->n, s->kids);
}

uint16_t swift_specialization(struct swift *p, char c)
{
	struct spec s = {.n = 0};
	if (c == 't') {
		if (!dropped(p))
			return 0;
		c = swift_next(p);
		if (c != 'g' && c != 'G' && c != 'B')
			return 0;
	}
	switch (c) {
	case 'g':
		return by_types(p, SWIFT_SPECIALIZED, &s);
	case 'G':
		return by_types(p, SWIFT_SPECIALIZED_SAME, &s);
	case 'B':
		return by_types(p, SWIFT_SPECIALIZED_DOMAIN, &s);
	case 's':
		return by_types(p, SWIFT_SPECIALIZED_EARLY, &s);
	case 'i':
		return by_types(p, SWIFT_SPECIALIZED_INLINED, &s);
	case 'p':
		return partly(p, SWIFT_SPECIALIZED_PARTLY, &s);
	case 'P':
		return partly(p, SWIFT_SPECIALIZED_PARTLY_SAME, &s);
	case 'f':
		return by_arguments(p, &s);
	default:
		return 0;
	}
}
