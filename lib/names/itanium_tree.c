/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and small parts that all productions share. */
#include "itanium_tree.h"

const struct itanium_word itanium_words[] = {
#define X(name, text) {text, sizeof(text) - 1},
#include "itanium_texts.h"
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

int itanium_operator_take(struct itanium *p)
{
	char first = itanium_peek(p), second = itanium_peek2(p);
	size_t lo = 0, hi = ux_countof(itanium_operators);
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		const char *code = itanium_operators[mid].code;
		if (code[0] == first && code[1] == second) {
			p->pos += 2;
			return (int)mid;
		}
		if (code[0] < first || (code[0] == first && code[1] < second))
			lo = mid + 1;
		else
			hi = mid;
	}
	return -1;
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
};

static_assert(ux_countof(itanium_children) == ITANIUM_SCOPED + 1, "a kind is missing");

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
	return itanium_take(p, '_');
}
