/* SPDX-License-Identifier: Apache-2.0 */
/* From a Swift name to its tree to its text. */
#include "swift_tree.h"

static bool begins(const char *s, size_t n, const char *with)
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
		if (begins(name, n, marks[i]))
			return strlen(marks[i]);
	*ret_old = true;
	for (size_t i = 0; i < ux_countof(old); i++)
		if (begins(name, n, old[i]))
			return strlen(old[i]);
	return 0;
}

/* Top-level code that is async is a function without a mark; what is made from it is mangled. */
#define ASYNC_MAIN "async_Main"

/* Bytes of that name where an operator follows it; 0: it is another. */
static size_t async_main(const char *name, size_t n)
{
	size_t skip = begins(name, n, "_");
	return begins(name + skip, n - skip, ASYNC_MAIN "T") ? skip + strlen(ASYNC_MAIN) : 0;
}

bool ux_swift_marked(struct ux_bytes name)
{
	const char *s = (const char *)name.data;
	return swift_mark(s, name.size, &(bool){false}) != 0 || async_main(s, name.size) != 0;
}

uint16_t swift_nested_name(struct swift *p, const char *name, size_t n)
{
	bool old = false;
	size_t mark = swift_mark(name, n, &old);
	if (mark == 0 || p->nested == SWIFT_NESTED_MOST)
		return 0;
	struct swift_word words[SWIFT_WORDS_MOST];
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

bool ux_swift_demangle(struct ux_bytes name, struct ux_swift_style style, size_t most,
		       struct ux_out *out)
{
	struct swift p;
	bool old = false;
	const char *s = (const char *)name.data;
	size_t mark = swift_mark(s, name.size, &old);
	bool unmarked = mark == 0;
	if (unmarked) {
		mark = async_main(s, name.size);
		old = false;
	}
	if (mark == 0)
		return false;
	p.start = s;
	p.pos = s + mark;
	p.end = s + name.size;
	p.old = old;
	p.nested = p.depth = p.n_kids = p.n_text = 0;
	p.n_stack = p.n_subs = p.n_words = p.first_stack = p.first_sub = 0;
	p.nodes[0] = (struct swift_node){0};
	p.n_nodes = 1;
	if (unmarked)
		swift_push(&p, swift_text(&p, SWIFT_IDENTIFIER, ASYNC_MAIN, strlen(ASYNC_MAIN)));
	uint16_t root = swift_global(&p);
	return root && swift_print(&p, root, style, most, out);
}
