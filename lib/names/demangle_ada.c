/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ada's names as GNAT encodes them. Source: GNAT, exp_dbug.ads; the text is the same as binutils'.
 */
#include "demangle_schemes.h"
#include "text.h"

struct ada {
	const char *pos, *end;
	struct ux_name_text *text;
};

struct ada_word {
	const char *code;
	const char *text;
};

static char ada_at(const struct ada *a, size_t i)
{
	return (size_t)(a->end - a->pos) > i ? a->pos[i] : '\0';
}

static bool ada_is_name(char c)
{
	return (c >= 'a' && c <= 'z') || ux_is_digit(c);
}

static void ada_skip_digits(struct ada *a)
{
	while (ux_is_digit(ada_at(a, 0)))
		a->pos++;
}

/* Writes the text of the next word; false when it is not in the list. */
static bool ada_word(struct ada *a, const struct ada_word *words, size_t n)
{
	struct ux_bytes rest = ux_bytes(a->pos, (size_t)(a->end - a->pos));
	for (size_t i = 0; i < n; i++) {
		if (!ux_bytes_starts(rest, ux_bytes_cstr(words[i].code)))
			continue;
		a->pos += strlen(words[i].code);
		ux_name_text_cstr(a->text, words[i].text);
		return true;
	}
	return false;
}

/* Reads an identifier, in lower case with single underscores, or an operator. */
static bool ada_entity(struct ada *a)
{
	static const struct ada_word operators[] = {
		{"Oabs", "\"abs\""},  {"Oand", "\"and\""},    {"Omod", "\"mod\""},
		{"Onot", "\"not\""},  {"Oor", "\"or\""},      {"Orem", "\"rem\""},
		{"Oxor", "\"xor\""},  {"Oeq", "\"=\""},       {"One", "\"/=\""},
		{"Olt", "\"<\""},     {"Ole", "\"<=\""},      {"Ogt", "\">\""},
		{"Oge", "\">=\""},    {"Oadd", "\"+\""},      {"Osubtract", "\"-\""},
		{"Oconcat", "\"&\""}, {"Omultiply", "\"*\""}, {"Odivide", "\"/\""},
		{"Oexpon", "\"**\""},
	};
	if (!ada_is_name(ada_at(a, 0)) || ux_is_digit(ada_at(a, 0)))
		return ada_word(a, operators, ux_countof(operators));
	do
		ux_name_text_char(a->text, *a->pos++);
	while (ada_is_name(ada_at(a, 0)) || (ada_at(a, 0) == '_' && ada_is_name(ada_at(a, 1))));
	return true;
}

/* Skips X and letters that tell where a body is nested; they have no text. */
static void ada_skip_nesting(struct ada *a)
{
	if (ada_at(a, 0) != 'X')
		return;
	do
		a->pos++;
	while (ada_at(a, 0) == 'n' || ada_at(a, 0) == 'b');
}

enum ada_result {
	ADA_MORE, /* another entity follows */
	ADA_REST, /* a suffix that may end a name follows */
	ADA_DONE,
	ADA_UNKNOWN,
};

/* Reads capitals directly after an entity. */
static enum ada_result ada_suffix(struct ada *a)
{
	static const struct ada_word streams[] = {
		{"SR", "'Read"}, {"SW", "'Write"}, {"SI", "'Input"}, {"SO", "'Output"}};
	static const struct ada_word controlled[] = {{"DF", ".Finalize"}, {"DA", ".Adjust"}};
	size_t left = (size_t)(a->end - a->pos);
	char c = ada_at(a, 0);
	if (c == 'T' && ada_at(a, 1) == 'K') { /* a task: its body, or an entity declared in it */
		if (left == 3 && ada_at(a, 2) == 'B')
			return ADA_DONE;
		if (ada_at(a, 2) != '_' || ada_at(a, 3) != '_')
			return ADA_UNKNOWN;
		a->pos += 4;
		ux_name_text_char(a->text, '.');
		return ADA_MORE;
	}
	if (left == 1 && (c == 'P' || c == 'N')) /* a subprogram of a protected type */
		return ADA_DONE;
	if (left == 1 && (c == 'E' || c == 'S')) /* an exception, a table of names */
		return ADA_UNKNOWN;
	ada_skip_nesting(a);
	if (ada_at(a, 0) == 'S' && ada_at(a, 1) && (ada_at(a, 2) == '_' || !ada_at(a, 2)))
		return ada_word(a, streams, ux_countof(streams)) ? ADA_REST : ADA_UNKNOWN;
	if (ada_at(a, 0) == 'D')
		return ada_word(a, controlled, ux_countof(controlled)) ? ADA_DONE : ADA_UNKNOWN;
	return ADA_REST;
}

/*
 * Reads after "__": the number of an overloaded entity, an attribute of a unit or type, an entity.
 */
static enum ada_result ada_separated(struct ada *a)
{
	static const struct ada_word attributes[] = {
		{"_elabb", "'Elab_Body"},     {"_elabs", "'Elab_Spec"}, {"_size", "'Size"},
		{"_alignment", "'Alignment"}, {"_assign", ".\":=\""},
	};
	if (ux_is_digit(ada_at(a, 0))) {
		do
			a->pos++;
		while (ux_is_digit(ada_at(a, 0)) ||
		       (ada_at(a, 0) == '_' && ux_is_digit(ada_at(a, 1))));
		ada_skip_nesting(a);
		return ADA_REST;
	}
	if (ada_at(a, 0) == '_' && ada_at(a, 1) != '_')
		return ada_word(a, attributes, ux_countof(attributes)) ? ADA_DONE : ADA_UNKNOWN;
	ux_name_text_char(a->text, '.');
	return ADA_MORE;
}

/* Reads an entry's body or barrier, "_B12s". */
static enum ada_result ada_entry(struct ada *a)
{
	ada_skip_digits(a);
	return ada_at(a, 0) == 's' && a->end - a->pos == 1 ? ADA_DONE : ADA_UNKNOWN;
}

static enum ada_result ada_part(struct ada *a)
{
	if (!ada_entity(a))
		return ADA_UNKNOWN;
	enum ada_result result = ada_suffix(a);
	if (result != ADA_REST)
		return result;
	if (ada_at(a, 0) == '_') {
		char c = ada_at(a, 1);
		a->pos += a->end - a->pos > 1 ? 2 : 1;
		if (c != '_')
			return c == 'B' || c == 'E' ? ada_entry(a) : ADA_UNKNOWN;
		result = ada_separated(a);
		if (result != ADA_REST)
			return result;
	}
	if (ada_at(a, 0) == '.' && ux_is_digit(ada_at(a, 1))) { /* a nested subprogram */
		a->pos += 2;
		ada_skip_digits(a);
	}
	return a->pos == a->end ? ADA_DONE : ADA_UNKNOWN;
}

bool ux_ada_demangle(struct ux_bytes name, struct ux_name_text *text)
{
	const char *s = (const char *)name.data;
	struct ada a = {.pos = s, .end = s + name.size, .text = text};
	if (ux_bytes_starts(name, UX_STR("_ada_"))) /* a unit of the library */
		a.pos = s = s + 5;
	enum ada_result result =
		ux_is_digit(ada_at(&a, 0)) || !ada_is_name(ada_at(&a, 0)) ? ADA_UNKNOWN : ADA_MORE;
	while (result == ADA_MORE)
		result = ada_part(&a);
	if (result == ADA_DONE)
		return !text->failed;
	/* The name belongs to another language, or does not stand for an entity. */
	ux_name_text_cut(text, text->start);
	bool marked = s < a.end && *s == '<';
	if (!marked)
		ux_name_text_char(text, '<');
	ux_name_text_put(text, s, (size_t)(a.end - s));
	if (!marked)
		ux_name_text_char(text, '>');
	return !text->failed;
}
