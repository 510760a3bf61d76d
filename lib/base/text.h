/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing characters: ASCII classes, lines, digits and numbers, hexadecimal, UTF-8. */
#ifndef UX_TEXT_H
#define UX_TEXT_H

#include "bytes.h"

/*
 * ASCII character classes. Unlike <ctype.h> they do not depend on the locale, and they accept a
 * char as well as a byte.
 */
ux_inline bool ux_is_digit(int c)
{
	return c >= '0' && c <= '9';
}

ux_inline bool ux_is_lower(int c)
{
	return c >= 'a' && c <= 'z';
}

ux_inline bool ux_is_upper(int c)
{
	return c >= 'A' && c <= 'Z';
}

ux_inline bool ux_is_letter(int c)
{
	return ux_is_lower(c) || ux_is_upper(c);
}

/* Blanks are space and tab. White space also includes line breaks, vertical tab and form feed. */
ux_inline bool ux_is_blank(int c)
{
	return c == ' ' || c == '\t';
}

ux_inline bool ux_is_space(int c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Returns s without the blanks at both ends. */
struct ux_bytes ux_trim(struct ux_bytes s);

/* Takes the next line off the text; *ret lacks its line break. False, with *ret unchanged: nothing
 * is left. */
static inline bool ux_text_take_line(struct ux_bytes *text, struct ux_bytes *ret)
{
	if (text->size == 0)
		return false;
	const uint8_t *end = memchr(text->data, '\n', text->size);
	size_t n = end ? (size_t)(end - text->data) : text->size;
	*ret = ux_bytes(text->data, n);
	n += end != NULL;
	*text = ux_bytes(text->data + n, text->size - n);
	return true;
}

/* For each character: its value plus 1 if it is a hexadecimal digit, else 0. */
extern const uint8_t ux_hex_digits[256];

/* Returns the value of a hexadecimal digit of either case, or -1; without branches, which a
 * processor cannot predict for addresses. */
ux_inline int ux_hex_digit(char c)
{
	return ux_hex_digits[(unsigned char)c] - 1;
}

/* Writes 2n lower-case digits and a NUL to text, which has room for 2n + 1. */
void ux_hex_encode(struct ux_bytes bytes, char *text);

/* Reads 2n digits of either case; false for an odd count, another character or more than `max`
 * bytes. */
bool ux_hex_decode(struct ux_bytes text, uint8_t *bytes, size_t max, size_t *ret_n) ux_must;

/*
 * Decodes base64 of the standard or the URL-safe alphabet, with padding or without (RFC 4648,
 * sections 4 and 5), into at most 3/4 of the text's size. False for another character, a size that
 * no encoding has, and unused bits that are not 0.
 */
bool ux_base64_decode(struct ux_bytes text, uint8_t *bytes, size_t *ret_n) ux_must;

/*
 * Writes base64 of the URL-safe alphabet without padding (RFC 4648, section 5) and a NUL to text,
 * which has room for 4 characters for each started group of 3 bytes, and the NUL.
 */
void ux_base64url_encode(struct ux_bytes bytes, char *text);

/*
 * Parses an address as people type it: 0x..., or decimal, or with `hex` bare hexadecimal. False for
 * anything else and for a value over 64 bits.
 */
bool ux_hex_parse_u64(struct ux_bytes text, bool hex, uint64_t *ret) ux_must;

/* Parses a number of decimal digits alone. False, with *ret unchanged, for anything else and for a
 * value over 64 bits. */
bool ux_decimal_parse(struct ux_bytes text, uint64_t *ret) ux_must;

/*
 * Parses the number at the start of the text, in base 8, 10 or 16, without a prefix or sign, and
 * returns the number of its digits. 0, with *ret unchanged: no digits, or the number is over 64
 * bits.
 */
size_t ux_digits_parse(struct ux_bytes text, unsigned base, uint64_t *ret) ux_must;

enum {
	UX_UTF8_MAX = 4 /* most bytes of a character */
};

/*
 * Returns the length of the UTF-8 character that s, which is not empty, begins with. Surrogates,
 * code points over U+10FFFF and overlong forms are invalid (RFC 3629, section 4; The Unicode
 * Standard, table 3-7). 0: the bytes are invalid, and *ret_bad (which may be NULL) is the length of
 * the longest valid beginning of a character there, at least 1, which one U+FFFD replaces.
 */
size_t ux_utf8_size(struct ux_bytes s, size_t *ret_bad) ux_must;

#define UX_UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/*
 * Takes the next character of the text, which is not empty. If the bytes are not UTF-8, it takes
 * the bytes that one U+FFFD replaces (see ux_utf8_size()), and returns U+FFFD.
 */
struct ux_bytes ux_utf8_take(struct ux_bytes *text) ux_must;

/* Appended to a text that was cut because it is too long. */
#define UX_TEXT_CUT "...[cut]"

/*
 * If the text has more than `max` bytes, shortens it at the beginning of a character, so that it
 * has at most `max` bytes including UX_TEXT_CUT after it, and returns true.
 */
bool ux_text_cut(struct ux_bytes *text, size_t max);

/* As ux_utf8_size(), but also 0 for control characters: U+0000 to U+001F and U+007F to U+009F. */
size_t ux_utf8_printable_size(struct ux_bytes s) ux_must;

/*
 * As ux_utf8_printable_size(), but also 0 for separators of lines and for bidirectional marks,
 * which reorder the text that a person sees: U+200E, U+200F, U+2028 to U+202E, U+2066 to U+2069.
 */
size_t ux_utf8_harmless_size(struct ux_bytes s) ux_must;

/* Returns whether the whole text is UTF-8 without control characters. */
bool ux_utf8_is_printable(struct ux_bytes text) ux_must;

/*
 * Writes one code point and returns the bytes written, 1 to UX_UTF8_MAX. A code point that a C
 * string of UTF-8 cannot contain (NUL, surrogates, over U+10FFFF) is written as U+FFFD.
 */
size_t ux_utf8_encode(uint32_t c, char *to);

#endif
