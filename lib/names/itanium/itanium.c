/* SPDX-License-Identifier: Apache-2.0 */
/* C++ names: from linkage name to tree to text, and the tables that all productions share. */
#include "itanium_direct.h"

const struct itanium_word itanium_words[] = {
#define X(name, text) {text, sizeof(text) - 1},
	ITANIUM_TEXTS
#undef X
};

const char *const itanium_phrases[] = {
#define X(name, text) text,
	ITANIUM_PHRASES
#undef X
};

/* Sorted by code. */
const struct itanium_operator itanium_operators[] = {
	{"aN", 2, 2, "&="},      {"aS", 2, 1, "="},         {"aa", 2, 2, "&&"},
	{"ad", 1, 1, "&"},       {"an", 2, 1, "&"},         {"aw", 0, 9, " co_await"},
	{"cl", 0, 2, "()"},      {"cm", 2, 1, ","},         {"co", 1, 1, "~"},
	{"dV", 2, 2, "/="},      {"da", 0, 9, " delete[]"}, {"de", 1, 1, "*"},
	{"dl", 0, 7, " delete"}, {"ds", 2, 2, ".*"},        {"dt", 2, 1, "."},
	{"dv", 2, 1, "/"},       {"eO", 2, 2, "^="},        {"eo", 2, 1, "^"},
	{"eq", 2, 2, "=="},      {"ge", 2, 2, ">="},        {"gt", 2, 1, ">"},
	{"ix", 0, 2, "[]"},      {"lS", 2, 3, "<<="},       {"le", 2, 2, "<="},
	{"ls", 2, 2, "<<"},      {"lt", 2, 1, "<"},         {"mI", 2, 2, "-="},
	{"mL", 2, 2, "*="},      {"mi", 2, 1, "-"},         {"ml", 2, 1, "*"},
	{"mm", 0, 2, "--"},      {"na", 0, 6, " new[]"},    {"ne", 2, 2, "!="},
	{"ng", 1, 1, "-"},       {"nt", 1, 1, "!"},         {"nw", 0, 4, " new"},
	{"oR", 2, 2, "|="},      {"oo", 2, 2, "||"},        {"or", 2, 1, "|"},
	{"pL", 2, 2, "+="},      {"pl", 2, 1, "+"},         {"pm", 2, 3, "->*"},
	{"pp", 0, 2, "++"},      {"ps", 1, 1, "+"},         {"pt", 2, 2, "->"},
	{"qu", 0, 1, "?"},       {"rM", 2, 2, "%="},        {"rS", 2, 3, ">>="},
	{"rm", 2, 1, "%"},       {"rs", 2, 2, ">>"},        {"ss", 2, 3, "<=>"},
};

int itanium_operator_find(char first, char second)
{
	size_t lo = 0, hi = ux_countof(itanium_operators);
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const char *code = itanium_operators[mid].code;
		if (code[0] == first && code[1] == second)
			return (int)mid;
		if (code[0] < first || (code[0] == first && code[1] < second))
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
}

int itanium_operator_read(struct itanium *p)
{
	int number = itanium_operator_find(itanium_peek(p), itanium_peek2(p));
	p->pos += number < 0 ? 0 : 2;
	return number;
}

const uint8_t itanium_children[] = {
	[ITANIUM_QUALIFIED] = ITANIUM_A | ITANIUM_B,
	[ITANIUM_TEMPLATE] = ITANIUM_A | ITANIUM_B,
	[ITANIUM_LIST] = ITANIUM_A | ITANIUM_B,
	[ITANIUM_TAGGED] = ITANIUM_A | ITANIUM_B,
	[ITANIUM_CTOR] = ITANIUM_A,
	[ITANIUM_DTOR] = ITANIUM_A,
	[ITANIUM_CONVERSION] = ITANIUM_A,
	[ITANIUM_LITERAL_OP] = ITANIUM_A,
	[ITANIUM_LAMBDA] = ITANIUM_A,
	[ITANIUM_BINDING] = ITANIUM_A,
	[ITANIUM_LOCAL] = ITANIUM_A | ITANIUM_B,
	[ITANIUM_ENCODING] = ITANIUM_A | ITANIUM_B | ITANIUM_C,
	[ITANIUM_SPECIAL] = ITANIUM_B,
	[ITANIUM_IN] = ITANIUM_A | ITANIUM_B,
	[ITANIUM_QUALIFIER] = ITANIUM_A,
	[ITANIUM_VENDOR] = ITANIUM_A | ITANIUM_B,
	[ITANIUM_POINTER] = ITANIUM_A,
	[ITANIUM_LREF] = ITANIUM_A,
	[ITANIUM_RREF] = ITANIUM_A,
	[ITANIUM_POSTFIX] = ITANIUM_A,
	[ITANIUM_FUNCTION] = ITANIUM_A | ITANIUM_B | ITANIUM_C,
	[ITANIUM_ARRAY] = ITANIUM_A | ITANIUM_B,
	[ITANIUM_VECTOR] = ITANIUM_A | ITANIUM_B,
	[ITANIUM_MEMBER] = ITANIUM_A | ITANIUM_B,
	[ITANIUM_PARAMETER] = ITANIUM_A,
	[ITANIUM_PACK] = ITANIUM_A,
	[ITANIUM_EXPANSION] = ITANIUM_A,
	[ITANIUM_DECLTYPE] = ITANIUM_A,
	[ITANIUM_NOEXCEPT] = ITANIUM_A,
	[ITANIUM_LITERAL] = ITANIUM_A,
	[ITANIUM_UNARY] = ITANIUM_B,
	[ITANIUM_BINARY] = ITANIUM_B | ITANIUM_C,
	[ITANIUM_CALL] = ITANIUM_A | ITANIUM_B,
	[ITANIUM_CAST] = ITANIUM_A | ITANIUM_B,
	[ITANIUM_LIST_CAST] = ITANIUM_A | ITANIUM_B,
	[ITANIUM_BRACED] = ITANIUM_A | ITANIUM_B,
	[ITANIUM_SIZEOF] = ITANIUM_B,
	[ITANIUM_SCOPED] = ITANIUM_A | ITANIUM_B,
	[ITANIUM_FRIEND] = ITANIUM_A,
	[ITANIUM_IN_MODULE] = ITANIUM_A,
	[ITANIUM_VENDOR_OP] = ITANIUM_A,
	[ITANIUM_THROWS] = ITANIUM_A,
	[ITANIUM_FOLD] = ITANIUM_B | ITANIUM_C,
	[ITANIUM_PHRASE] = ITANIUM_B | ITANIUM_C,
};

static_assert(ux_countof(itanium_children) == ITANIUM_PHRASE + 1, "a kind is missing");

bool itanium_append(struct itanium *p, struct itanium_list *list, uint16_t item)
{
	uint16_t node = itanium_over(p, ITANIUM_LIST, item);
	if (!node)
		return false;
	if (list->last)
		p->nodes[list->last].b = node;
	else
		list->first = node;
	list->last = node;
	return true;
}

uint16_t itanium_text_node(struct itanium *p, enum itanium_text text)
{
	return itanium_node(p, ITANIUM_TEXT, (uint16_t)text, 0, 0);
}

bool itanium_number(struct itanium *p, uint16_t *ret)
{
	unsigned v = 0;
	const char *from = p->pos;
	for (; p->pos < p->end && *p->pos >= '0' && *p->pos <= '9'; p->pos++) {
		v = v * 10 + (unsigned)(*p->pos - '0');
		if (v > UINT16_MAX)
			return false;
	}
	*ret = (uint16_t)v;
	return p->pos > from;
}

bool itanium_sequence(struct itanium *p, unsigned base, uint16_t *ret)
{
	unsigned v = 0;
	bool any = false;
	for (; p->pos < p->end && *p->pos != '_'; p->pos++, any = true) {
		char c = *p->pos;
		unsigned digit = c >= '0' && c <= '9'                 ? (unsigned)(c - '0')
				 : base == 36 && c >= 'A' && c <= 'Z' ? (unsigned)(c - 'A') + 10
								      : base;
		v = v * base + digit;
		if (digit >= base || v >= UINT16_MAX)
			return false;
	}
	*ret = (uint16_t)(any ? v + 1 : 0);
	return itanium_eat(p, '_');
}

static bool itanium_is_clone_letter(char c)
{
	return ux_is_lower(c) || c == '_';
}

/* Returns the length of a clone suffix at s (".isra.0", ".llvm.123", ".1"); 0: none. */
static size_t itanium_clone_suffix(const char *s, const char *end)
{
	const char *p = s + 1;
	if (p == end || !(itanium_is_clone_letter(*p) || ux_is_digit(*p)))
		return 0;
	if (itanium_is_clone_letter(*p))
		while (p < end && itanium_is_clone_letter(*p))
			p++;
	else
		while (p < end && ux_is_digit(*p))
			p++;
	while (end - p > 1 && *p == '.' && ux_is_digit(p[1]))
		for (p++; p < end && ux_is_digit(*p);)
			p++;
	return (size_t)(p - s);
}

/* Writes the clone suffixes from s on, after the mangled part; false when something else is
 * there. */
static bool itanium_put_clones(struct ux_name_text *t, const char *s, const char *end,
			       struct ux_itanium_style style)
{
	const char *first = s;
	while (s < end) {
		size_t n = *s == '.' ? itanium_clone_suffix(s, end) : 0;
		if (n == 0)
			return false;
		if (style.parameters && !style.llvm) {
			UX_NAME_TEXT_PUT(t, " [clone ");
			ux_name_text_put(t, s, n);
			UX_NAME_TEXT_PUT(t, "]");
		}
		s += n;
	}
	if (style.parameters && style.llvm && first < end) {
		UX_NAME_TEXT_PUT(t, " (");
		ux_name_text_put(t, first, (size_t)(end - first));
		UX_NAME_TEXT_PUT(t, ")");
	}
	return true;
}

/* Reads the suffix "_block_invoke", optionally with a number, of an Apple block's function. */
static uint16_t itanium_block_invocation(struct itanium *p, uint16_t root)
{
	static const char word[] = "_block_invoke";
	size_t n = sizeof(word) - 1;
	if (!root || (size_t)(p->end - p->pos) < n || memcmp(p->pos, word, n) != 0)
		return 0;
	p->pos += n;
	(void)itanium_eat(p, '_');
	while (ux_is_digit(itanium_peek(p)))
		p->pos++;
	return itanium_node(p, ITANIUM_SPECIAL, ITANIUM_T_BLOCK_INVOCATION, root, 0);
}

/* block: the name is of an Apple block's function, and its suffix follows. */
static bool itanium_demangle_tree(struct ux_bytes name, bool block, struct ux_itanium_style style,
				  struct ux_name_text *text)
{
	struct itanium p;
	p.text = text;
	p.start = (const char *)name.data;
	p.pos = p.start + 2;
	p.end = p.start + name.size;
	p.n_heads = p.module = 0;
	p.context = p.n_contexts = p.n_subs = p.first_arg = p.n_args = p.n_forward = 0;
	p.n_nodes = 1;
	p.nodes[0] = (struct itanium_node){0};
	p.in_lambda = p.in_conversion = p.in_constraint = false;
	p.flags = 0;
	uint16_t root = itanium_encoding(&p);
	if (block)
		root = itanium_block_invocation(&p, root);
	return root && (p.pos == p.end || *p.pos == '.') && itanium_print(&p, root, style) &&
	       itanium_put_clones(text, p.pos, p.end, style) && !text->failed;
}

bool ux_itanium_demangle(struct ux_bytes name, struct ux_itanium_style style,
			 struct ux_name_text *text)
{
	size_t block = ux_bytes_starts(name, UX_STR("____Z"))  ? 3
		       : ux_bytes_starts(name, UX_STR("___Z")) ? 2
							       : 0;
	name = ux_bytes(name.data + block, name.size - block);
	if (name.size > ITANIUM_NAME_MAX || !ux_bytes_starts(name, UX_STR("_Z")))
		return false;
	const char *pos = NULL, *end = (const char *)name.data + name.size;
	bool direct = !block && !style.tree && style.parameters && !style.elide && !style.llvm;
	if (direct && itanium_direct(name, text, &pos))
		return itanium_put_clones(text, pos, end, style) && !text->failed;
	return itanium_demangle_tree(name, block != 0, style, text);
}
