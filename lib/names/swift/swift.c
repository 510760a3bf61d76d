/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Demangling a Swift name: from name to tree to text, and the functions that all productions share.
 */
#include "swift_tree.h"

const struct swift_kind_facts swift_kinds[] = {
#define X(name, classes, text) {classes, sizeof(text) - 1, text},
#include "swift_kinds.h"
#undef X
};

uint16_t swift_find(const struct swift *p, uint16_t node, enum swift_kind kind)
{
	const struct swift_node *n = &p->nodes[node];
	for (unsigned i = 0; i < n->n; i++)
		if (swift_kind_of(p, p->kids[n->at + i]) == kind)
			return p->kids[n->at + i];
	return 0;
}

uint16_t swift_number(struct swift *p, enum swift_kind kind, uint32_t v)
{
	if (ux_unlikely(p->n_nodes == SWIFT_NODES_MAX))
		return 0;
	p->nodes[p->n_nodes] = (struct swift_node){.kind = (uint16_t)kind, .at = v};
	return (uint16_t)p->n_nodes++;
}

uint16_t swift_leaf(struct swift *p, enum swift_kind kind)
{
	return swift_number(p, kind, 0);
}

uint16_t swift_text(struct swift *p, enum swift_kind kind, const char *text, size_t n)
{
	if (ux_unlikely(SWIFT_TEXT_MAX - p->n_text < n))
		return 0;
	uint16_t node = swift_number(p, kind, p->n_text);
	if (!node)
		return 0;
	memcpy(p->text + p->n_text, text, n);
	p->nodes[node].n = (uint16_t)n;
	p->n_text += (unsigned)n;
	return node;
}

uint16_t swift_make(struct swift *p, enum swift_kind kind, size_t n, const uint16_t *kids)
{
	if (ux_unlikely(SWIFT_KIDS_MAX - p->n_kids < n))
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (!kids[i])
			return 0;
		p->kids[p->n_kids + i] = kids[i];
	}
	uint16_t node = swift_number(p, kind, p->n_kids);
	if (!node)
		return 0;
	p->nodes[node].n = (uint16_t)n;
	p->n_kids += (unsigned)n;
	return node;
}

uint16_t swift_make_some(struct swift *p, enum swift_kind kind, size_t n, const uint16_t *kids)
{
	uint16_t there[SWIFT_LIST_MAX];
	size_t m = 0;
	for (size_t i = 0; i < n && m < SWIFT_LIST_MAX; i++)
		if (kids[i])
			there[m++] = kids[i];
	return swift_make(p, kind, m, there);
}

bool swift_push(struct swift *p, uint16_t node)
{
	if (ux_unlikely(node == 0 || p->n_stack == SWIFT_STACK_MAX))
		return false;
	p->stack[p->n_stack++] = node;
	return true;
}

uint16_t swift_pop_any(struct swift *p)
{
	return p->n_stack > p->first_stack ? p->stack[--p->n_stack] : 0;
}

uint16_t swift_pop(struct swift *p, enum swift_kind kind)
{
	bool is = p->n_stack > p->first_stack && swift_kind_of(p, p->stack[p->n_stack - 1]) == kind;
	return is ? p->stack[--p->n_stack] : 0;
}

uint16_t swift_pop_class(struct swift *p, unsigned classes)
{
	bool is = p->n_stack > p->first_stack && swift_is(p, p->stack[p->n_stack - 1], classes);
	return is ? p->stack[--p->n_stack] : 0;
}

uint16_t swift_pop_module(struct swift *p)
{
	uint16_t name = swift_pop(p, SWIFT_IDENTIFIER);
	if (!name)
		return swift_pop(p, SWIFT_MODULE);
	/* Substitutions keep the identifier, so the module is a node of its own. */
	uint16_t module = swift_leaf(p, SWIFT_MODULE);
	if (module) {
		p->nodes[module].n = p->nodes[name].n;
		p->nodes[module].at = p->nodes[name].at;
	}
	return module;
}

uint16_t swift_pop_context(struct swift *p)
{
	uint16_t module = swift_pop_module(p);
	if (module)
		return module;
	/* A type is a context if it has a declaration. */
	return swift_pop_class(p, SWIFT_IS_CONTEXT | SWIFT_IS_ANY_GENERIC);
}

uint16_t swift_pop_protocol(struct swift *p)
{
	uint16_t type = swift_pop_type(p);
	if (type)
		return swift_kind_of(p, type) == SWIFT_PROTOCOL ? type : 0;
	uint16_t name = swift_pop_class(p, SWIFT_IS_NAME);
	uint16_t context = swift_pop_context(p);
	return SWIFT_MAKE(p, SWIFT_PROTOCOL, context, name);
}

uint16_t swift_add_substitution(struct swift *p, uint16_t node)
{
	if (ux_unlikely(node == 0 || p->n_subs == SWIFT_SUBS_MAX))
		return 0;
	p->subs[p->n_subs++] = node;
	return node;
}

bool swift_natural(struct swift *p, uint32_t *ret)
{
	const char *from = p->pos;
	uint32_t v = 0;
	for (; p->pos < p->end && *p->pos >= '0' && *p->pos <= '9'; p->pos++) {
		if (v > INT32_MAX / 10 - 1)
			return false;
		v = v * 10 + (uint32_t)(*p->pos - '0');
	}
	*ret = v;
	return p->pos > from;
}

bool swift_index(struct swift *p, uint32_t *ret)
{
	*ret = 0;
	if (swift_eat(p, '_'))
		return true;
	if (!swift_natural(p, ret) || !swift_eat(p, '_'))
		return false;
	++*ret;
	return true;
}

uint16_t swift_index_node(struct swift *p)
{
	uint32_t v = 0;
	return swift_index(p, &v) ? swift_number(p, SWIFT_INDEX, v) : 0;
}

uint16_t swift_list(struct swift *p, enum swift_kind kind, swift_pop_fn *pop)
{
	uint16_t items[SWIFT_LIST_MAX];
	size_t at = SWIFT_LIST_MAX;
	if (swift_pop(p, SWIFT_EMPTY_LIST))
		return swift_leaf(p, kind);
	for (bool first = false; !first;) {
		first = swift_pop(p, SWIFT_FIRST_ELEMENT) != 0;
		uint16_t item = pop(p);
		if (!item || at == 0)
			return 0;
		items[--at] = item;
	}
	return swift_make(p, kind, SWIFT_LIST_MAX - at, items + at);
}

uint16_t swift_type_list(struct swift *p)
{
	return swift_list(p, SWIFT_TYPE_LIST, swift_pop_type);
}

static bool swift_begins(const char *s, size_t n, const char *with)
{
	size_t m = strlen(with);
	return n >= m && memcmp(s, with, m) == 0;
}

size_t swift_mark(const char *name, size_t n, bool *ret_old)
{
	static const char *const marks[] = {"$s",  "_$s",           "$S", "_$S", "$e",
					    "_$e", "@__swiftmacro_"};
	static const char *const old[] = {"_T0", "__T0"};
	*ret_old = false;
	for (size_t i = 0; i < ux_countof(marks); i++)
		if (swift_begins(name, n, marks[i]))
			return strlen(marks[i]);
	*ret_old = true;
	for (size_t i = 0; i < ux_countof(old); i++)
		if (swift_begins(name, n, old[i]))
			return strlen(old[i]);
	return 0;
}

/* Asynchronous top-level code is a function without a prefix, but thunks of it are mangled. */
#define ASYNC_MAIN "async_Main"

/* Returns the length of that name if an operator follows it, else 0. */
static size_t swift_async_main(const char *name, size_t n)
{
	size_t skip = swift_begins(name, n, "_");
	return swift_begins(name + skip, n - skip, ASYNC_MAIN "T") ? skip + strlen(ASYNC_MAIN) : 0;
}

bool ux_swift_marked(struct ux_bytes name)
{
	const char *s = (const char *)name.data;
	return swift_mark(s, name.size, &(bool){false}) != 0 || swift_async_main(s, name.size) != 0;
}

uint16_t swift_nested_name(struct swift *p, const char *name, size_t n)
{
	bool old = false;
	size_t mark = swift_mark(name, n, &old);
	if (mark == 0 || p->nested == SWIFT_NESTED_MAX)
		return 0;
	struct swift_word words[SWIFT_WORDS_MAX];
	memcpy(words, p->words, sizeof(words));
	const char *start = p->start, *pos = p->pos, *end = p->end;
	bool was_old = p->old;
	unsigned n_stack = p->n_stack, n_subs = p->n_subs, n_words = p->n_words;
	unsigned first_stack = p->first_stack, first_sub = p->first_sub;
	p->start = name;
	p->pos = name + mark;
	p->end = name + n;
	p->old = old;
	p->first_stack = n_stack;
	p->first_sub = n_subs;
	p->n_words = 0;
	p->nested++;
	uint16_t node = swift_global(p);
	p->nested--;
	p->first_stack = first_stack;
	p->first_sub = first_sub;
	p->n_stack = n_stack;
	p->n_subs = n_subs;
	p->n_words = n_words;
	p->old = was_old;
	p->start = start;
	p->pos = pos;
	p->end = end;
	memcpy(p->words, words, sizeof(words));
	return node;
}

bool ux_swift_demangle(struct ux_bytes name, struct ux_swift_style style, struct ux_name_text *text)
{
	struct swift p;
	bool old = false;
	const char *s = (const char *)name.data;
	size_t mark = swift_mark(s, name.size, &old);
	bool unmarked = mark == 0;
	if (unmarked) {
		mark = swift_async_main(s, name.size);
		old = false;
	}
	if (mark == 0)
		return false;
	p.start = s;
	p.pos = s + mark;
	p.end = s + name.size;
	p.budget = text;
	p.old = old;
	p.nested = p.depth = p.n_kids = p.n_text = 0;
	p.n_stack = p.n_subs = p.n_words = p.first_stack = p.first_sub = 0;
	p.nodes[0] = (struct swift_node){0};
	p.n_nodes = 1;
	if (unmarked)
		swift_push(&p, swift_text(&p, SWIFT_IDENTIFIER, ASYNC_MAIN, strlen(ASYNC_MAIN)));
	uint16_t root = swift_global(&p);
	return root && swift_print(&p, root, style);
}
