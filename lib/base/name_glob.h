/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of file names: '*', '?' and sets in brackets, matched in bounded time. */
#ifndef UX_NAME_GLOB_H
#define UX_NAME_GLOB_H

#include "error.h"
#include "out.h"

enum {
	UX_GLOB_BYTES_MAX = 512,  /* length of a pattern */
	UX_GLOB_STARS_MAX = 16,   /* '*' in it; several in a row count as one */
	UX_GLOB_RANGES_MAX = 128, /* characters and ranges in all its brackets together */
};

enum ux_glob_type {
	UX_GLOB_CHARACTER, /* this character */
	UX_GLOB_ANY,       /* ?: any character */
	UX_GLOB_STAR,      /* *: any number of characters */
	UX_GLOB_SET,       /* [...]: a character of the set; [^...]: any other one */
};

/* One part of a pattern. Characters are Unicode code points. */
struct ux_glob_part {
	enum ux_glob_type type;
	uint32_t character;
	uint16_t first_range; /* of a set */
	uint16_t n_ranges;
	bool negated;
};

struct ux_glob_range {
	uint32_t first, last;
};

/* A parsed pattern. It owns no memory. */
struct ux_glob {
	size_t n_parts;
	size_t n_ranges;
	size_t prefix_bytes; /* leading bytes of the pattern that are matched literally */
	struct ux_glob_part parts[UX_GLOB_BYTES_MAX];
	struct ux_glob_range ranges[UX_GLOB_RANGES_MAX];
};

/* UX_EINVAL: a bracket is not closed, or the pattern exceeds one of the limits. */
enum ux_code ux_glob_parse(const char *pattern, struct ux_glob *ret, struct ux_error *err) ux_must;

/*
 * Tests whether the pattern matches the whole text. The number of steps is at most the number of
 * parts times the length of the text.
 */
bool ux_glob_matches(const struct ux_glob *g, const char *text);

/*
 * Appends the regular expression that matches the same texts, in the syntax of PostgreSQL
 * (PostgreSQL documentation, 9.7.3 "POSIX Regular Expressions").
 */
void ux_glob_expression(const struct ux_glob *g, struct ux_out *out);

#endif
