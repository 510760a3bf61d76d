/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of file names, as clients send them. */
#include "name_glob.h"

#include <inttypes.h>

#include <stdio.h>
#include <string.h>

/*
 * Reads one character of UTF-8 and advances *p. Each byte of malformed text counts as a character,
 * so that the end of the text is never passed.
 */
static uint32_t glob_next(const char **p)
{
	const uint8_t *s = (const uint8_t *)*p;
	unsigned more = s[0] >= 0xf0 ? 3 : s[0] >= 0xe0 ? 2 : s[0] >= 0xc0 ? 1 : 0;
	uint32_t c = more == 0 ? s[0] : s[0] & (0x3fU >> more);
	for (unsigned i = 1; i <= more; i++) {
		if ((s[i] & 0xc0) != 0x80) {
			*p += 1;
			return s[0];
		}
		c = c << 6 | (s[i] & 0x3f);
	}
	*p += 1 + more;
	return c;
}

static enum ux_code glob_too_much(struct ux_error *err, int max, const char *what)
{
	return ux_error_set(err, UX_EINVAL, "pattern has more than %d %s", max, what);
}

/* Parses the set after its '['. A ']' at the start is a member of the set. */
static enum ux_code glob_parse_set(const char *pattern, const char **p, struct ux_glob *g,
				   struct ux_glob_part *part, struct ux_error *err)
{
	const char *at = *p;
	part->type = UX_GLOB_SET;
	part->first_range = (uint16_t)g->n_ranges;
	part->negated = *at == '^';
	at += part->negated;
	for (bool first = true; first || *at != ']'; first = false) {
		if (*at == '\0')
			return ux_error_set(err, UX_EINVAL,
					    "pattern: the '[' at byte %td has no ']'",
					    *p - pattern - 1);
		if (g->n_ranges == UX_GLOB_RANGES_MAX)
			return glob_too_much(err, UX_GLOB_RANGES_MAX, "characters in brackets");
		struct ux_glob_range *r = &g->ranges[g->n_ranges++];
		r->first = r->last = glob_next(&at);
		if (at[0] == '-' && at[1] != ']' && at[1] != '\0') {
			at++;
			r->last = glob_next(&at);
		}
	}
	part->n_ranges = (uint16_t)(g->n_ranges - part->first_range);
	*p = at + 1;
	return UX_OK;
}

enum ux_code ux_glob_parse(const char *pattern, struct ux_glob *ret, struct ux_error *err)
{
	size_t stars = 0;
	const char *p = pattern;
	bool literal = true;
	ret->n_parts = ret->n_ranges = ret->prefix_bytes = 0;
	if (strlen(pattern) > UX_GLOB_BYTES_MAX)
		return glob_too_much(err, UX_GLOB_BYTES_MAX, "bytes");
	while (*p != '\0') {
		struct ux_glob_part part = {.type = UX_GLOB_CHARACTER};
		part.character = glob_next(&p);
		if (part.character == '*')
			part.type = UX_GLOB_STAR;
		else if (part.character == '?')
			part.type = UX_GLOB_ANY;
		else if (part.character == '[')
			UX_TRY(glob_parse_set(pattern, &p, ret, &part, err));
		literal = literal && part.type == UX_GLOB_CHARACTER;
		if (literal)
			ret->prefix_bytes = (size_t)(p - pattern);
		bool again = part.type == UX_GLOB_STAR && ret->n_parts > 0 &&
			     ret->parts[ret->n_parts - 1].type == UX_GLOB_STAR;
		if (again)
			continue;
		if (part.type == UX_GLOB_STAR && ++stars > UX_GLOB_STARS_MAX)
			return glob_too_much(err, UX_GLOB_STARS_MAX, "'*'");
		ret->parts[ret->n_parts++] = part;
	}
	return UX_OK;
}

static bool glob_part_matches(const struct ux_glob *g, const struct ux_glob_part *part, uint32_t c)
{
	switch (part->type) {
	case UX_GLOB_CHARACTER:
		return part->character == c;
	case UX_GLOB_ANY:
		return true;
	case UX_GLOB_STAR:
		return false;
	case UX_GLOB_SET:
		break;
	}
	bool in = false;
	for (size_t i = 0; i < part->n_ranges && !in; i++) {
		const struct ux_glob_range *r = &g->ranges[part->first_range + i];
		in = r->first <= c && c <= r->last;
	}
	return in != part->negated;
}

/* Returns the next place where the part after a '*' may match: the end of the text if it cannot. */
static const char *glob_resume(const struct ux_glob *g, size_t star, const char *text)
{
	const struct ux_glob_part *part = star < g->n_parts ? &g->parts[star] : NULL;
	if (!part || part->type != UX_GLOB_CHARACTER || part->character >= 0x80)
		return text;
	const char *found = strchr(text, (char)part->character);
	return found ? found : text + strlen(text);
}

/*
 * Matches a text. After a mismatch only the last '*' matches more characters. The matches of
 * earlier '*' stay, because the text after each was found at its first place.
 */
bool ux_glob_matches(const struct ux_glob *g, const char *text)
{
	size_t at = 0, star = SIZE_MAX; /* star: the part after the last '*' */
	const char *resume = text;      /* where that part is tried next */
	while (*text != '\0') {
		const char *next = text;
		uint32_t c = glob_next(&next);
		if (at < g->n_parts && g->parts[at].type == UX_GLOB_STAR) {
			star = ++at;
			text = resume = glob_resume(g, star, text);
		} else if (at < g->n_parts && glob_part_matches(g, &g->parts[at], c)) {
			at++;
			text = next;
		} else if (star != SIZE_MAX) {
			at = star;
			(void)glob_next(&resume);
			text = resume = glob_resume(g, star, resume);
		} else {
			return false;
		}
		if (at == g->n_parts && star == g->n_parts)
			return true; /* the pattern ends with a '*' */
	}
	while (at < g->n_parts && g->parts[at].type == UX_GLOB_STAR)
		at++;
	return at == g->n_parts;
}

/* Writes a character as a code point, so that none has a special meaning. */
static void glob_put_character(struct ux_out *out, uint32_t c)
{
	char text[16];
	snprintf(text, sizeof(text), "\\U%08" PRIx32, c);
	ux_out_cstr(out, text);
}

/* Writes a set. Ranges that end before they begin have no members. */
static void glob_put_set(const struct ux_glob *g, const struct ux_glob_part *part,
			 struct ux_out *out)
{
	const struct ux_glob_range *r = &g->ranges[part->first_range];
	size_t n = 0;
	for (size_t i = 0; i < part->n_ranges; i++) {
		if (r[i].first > r[i].last)
			continue;
		if (n++ == 0)
			ux_out_cstr(out, part->negated ? "[^" : "[");
		glob_put_character(out, r[i].first);
		ux_out_cstr(out, "-");
		glob_put_character(out, r[i].last);
	}
	ux_out_cstr(out, n > 0 ? "]" : part->negated ? "." : "(?!.|$)");
}

void ux_glob_expression(const struct ux_glob *g, struct ux_out *out)
{
	ux_out_cstr(out, "^");
	for (size_t i = 0; i < g->n_parts; i++) {
		const struct ux_glob_part *part = &g->parts[i];
		switch (part->type) {
		case UX_GLOB_CHARACTER:
			glob_put_character(out, part->character);
			break;
		case UX_GLOB_ANY:
			ux_out_cstr(out, ".");
			break;
		case UX_GLOB_STAR:
			ux_out_cstr(out, ".*");
			break;
		case UX_GLOB_SET:
			glob_put_set(g, part, out);
			break;
		}
	}
	ux_out_cstr(out, "$");
}
