/* SPDX-License-Identifier: Apache-2.0 */
/* Writing numbers, characters and Punycode into the text of a name. */
#include "name_text.h"

#include "text.h"

void ux_name_text_number(struct ux_name_text *t, uint64_t v)
{
	char digits[24];
	size_t at = sizeof(digits);
	do
		digits[--at] = (char)('0' + v % 10);
	while ((v /= 10) > 0);
	ux_name_text_put(t, digits + at, sizeof(digits) - at);
}

void ux_name_text_hex(struct ux_name_text *t, uint64_t v)
{
	char digits[20];
	size_t at = sizeof(digits);
	do
		digits[--at] = "0123456789abcdef"[v & 15];
	while ((v >>= 4) > 0);
	ux_name_text_put(t, digits + at, sizeof(digits) - at);
}

void ux_name_text_utf8(struct ux_name_text *t, uint32_t c)
{
	char bytes[UX_UTF8_MAX];
	ux_name_text_put(t, bytes, ux_utf8_encode(c, bytes));
}

static void name_text_reverse(char *from, char *to)
{
	while (to - from > 1) {
		char c = *from;
		*from++ = *--to;
		*to = c;
	}
}

void ux_name_text_rotate(struct ux_name_text *t, char *first, char *middle)
{
	if (t->failed || !ux_name_text_charge_bytes(t, (size_t)(t->pos - first)))
		return;
	name_text_reverse(first, middle);
	name_text_reverse(middle, t->pos);
	name_text_reverse(first, t->pos);
}

enum {
	PUNYCODE_LETTERS_MAX = 512, /* longest identifier in code points */
	PUNYCODE_BASE = 36,
	PUNYCODE_T_MIN = 1,
	PUNYCODE_T_MAX = 26,
	PUNYCODE_SKEW = 38,
	PUNYCODE_DAMP = 700,
	PUNYCODE_FIRST_BIAS = 72,
	PUNYCODE_FIRST_LETTER = 0x80,
	PUNYCODE_LAST_LETTER = 0x10ffff,
	SURROGATES = 0xd800,
	SURROGATES_END = 0xe000,
};

static unsigned punycode_adapt(unsigned delta, unsigned n, bool first)
{
	unsigned k = 0;
	delta /= first ? PUNYCODE_DAMP : 2;
	delta += delta / n;
	for (; delta > (PUNYCODE_BASE - PUNYCODE_T_MIN) * PUNYCODE_T_MAX / 2; k += PUNYCODE_BASE)
		delta /= PUNYCODE_BASE - PUNYCODE_T_MIN;
	return k + (PUNYCODE_BASE - PUNYCODE_T_MIN + 1) * delta / (delta + PUNYCODE_SKEW);
}

/* Returns the value of a digit; -1: it is not a digit. */
static int punycode_digit(char c, enum ux_punycode form)
{
	char first = form == UX_PUNYCODE_SWIFT ? 'A' : '0';
	if (c >= 'a' && c <= 'z')
		return c - 'a';
	return c >= first && c < first + 10 ? c - first + 26 : -1;
}

/* Adds one generalized integer (RFC 3492, 3.3) to *i; false when malformed. */
static bool punycode_add_delta(const char **s, const char *end, unsigned bias,
			       enum ux_punycode form, unsigned *i)
{
	unsigned weight = 1;
	for (unsigned k = PUNYCODE_BASE;; k += PUNYCODE_BASE) {
		int digit = *s == end ? -1 : punycode_digit(*(*s)++, form);
		unsigned add = 0;
		if (digit < 0 || __builtin_mul_overflow((unsigned)digit, weight, &add) ||
		    __builtin_add_overflow(*i, add, i))
			return false;
		unsigned t = k <= bias                    ? PUNYCODE_T_MIN
			     : k >= bias + PUNYCODE_T_MAX ? PUNYCODE_T_MAX
							  : k - bias;
		if ((unsigned)digit < t)
			return true;
		if (__builtin_mul_overflow(weight, PUNYCODE_BASE - t, &weight))
			return false;
	}
}

/* Code points in their order; 0: malformed. */
static size_t punycode_decode(const char *s, size_t n, enum ux_punycode form, uint32_t *letters)
{
	const char *end = s + n, *mark = memrchr(s, '_', n);
	size_t m = 0;
	for (; mark && s < mark; s++) {
		if (m == PUNYCODE_LETTERS_MAX || (unsigned char)*s >= 0x80)
			return 0;
		letters[m++] = (unsigned char)*s;
	}
	s += mark != NULL;
	unsigned letter = PUNYCODE_FIRST_LETTER, i = 0, bias = PUNYCODE_FIRST_BIAS;
	while (s < end) {
		unsigned before = i;
		if (m == PUNYCODE_LETTERS_MAX || !punycode_add_delta(&s, end, bias, form, &i))
			return 0;
		unsigned size = (unsigned)m + 1;
		bias = punycode_adapt(i - before, size, before == 0);
		letter += i / size;
		i %= size;
		if (letter < PUNYCODE_FIRST_LETTER || letter > PUNYCODE_LAST_LETTER)
			return 0;
		memmove(letters + i + 1, letters + i, (m - i) * sizeof(*letters));
		letters[i++] = letter;
		m++;
	}
	return m;
}

void ux_name_text_punycode(struct ux_name_text *t, const char *s, size_t n, enum ux_punycode form)
{
	uint32_t letters[PUNYCODE_LETTERS_MAX];
	size_t m = ux_name_text_charge(t, n) ? punycode_decode(s, n, form, letters) : 0;
	if (m == 0)
		ux_name_text_fail(t);
	for (size_t i = 0; i < m; i++) {
		uint32_t c = letters[i];
		bool surrogate = c >= SURROGATES && c < SURROGATES_END;
		if (surrogate && form == UX_PUNYCODE_SWIFT && c < SURROGATES + 0x80)
			c -= SURROGATES;
		else if (surrogate)
			c = 0;
		if (c == 0)
			ux_name_text_fail(t);
		else
			ux_name_text_utf8(t, c);
	}
}
