/* SPDX-License-Identifier: Apache-2.0 */
/* Punycode, as Swift writes it. */
#include "swift_text.h"

#include "text.h"

enum {
	LETTERS_MOST = 512, /* of one identifier */
	BASE = 36,
	T_MIN = 1,
	T_MAX = 26,
	SKEW = 38,
	DAMP = 700,
	FIRST_BIAS = 72,
	FIRST_LETTER = 0x80,
	LAST_LETTER = 0x10ffff,
	/* ASCII that identifiers of the grammar cannot have is mapped to surrogates. */
	ASCII_FROM = 0xd800,
	ASCII_TO = 0xd880,
};

static unsigned adapted(unsigned delta, unsigned n, bool first)
{
	unsigned k = 0;
	delta /= first ? DAMP : 2;
	delta += delta / n;
	for (; delta > (BASE - T_MIN) * T_MAX / 2; k += BASE)
		delta /= BASE - T_MIN;
	return k + (BASE - T_MIN + 1) * delta / (delta + SKEW);
}

static bool digit_at(char c, unsigned *ret)
{
	if (c >= 'a' && c <= 'z')
		*ret = (unsigned)(c - 'a');
	else if (c >= 'A' && c <= 'J')
		*ret = (unsigned)(c - 'A') + 26;
	else
		return false;
	return true;
}

/* One generalized integer of RFC 3492, 3.3, added to *i. */
static bool delta_at(const char **s, const char *end, unsigned bias, unsigned *i)
{
	unsigned weight = 1;
	for (unsigned k = BASE;; k += BASE) {
		unsigned digit = 0;
		if (*s == end || !digit_at(*(*s)++, &digit))
			return false;
		if (__builtin_mul_overflow(digit, weight, &digit) ||
		    __builtin_add_overflow(*i, digit, i))
			return false;
		unsigned t = k <= bias ? T_MIN : k >= bias + T_MAX ? T_MAX : k - bias;
		unsigned last = 0;
		digit_at((*s)[-1], &last);
		if (last < t)
			return true;
		if (__builtin_mul_overflow(weight, BASE - t, &weight))
			return false;
	}
}

/* Code points, in their order; 0: malformed. */
static size_t letters_of(const char *s, size_t n, uint32_t *letters)
{
	const char *end = s + n, *mark = memrchr(s, '_', n);
	size_t m = 0;
	for (; mark && s < mark; s++) {
		if (m == LETTERS_MOST || (unsigned char)*s >= 0x80)
			return 0;
		letters[m++] = (unsigned char)*s;
	}
	s += mark != NULL;
	unsigned letter = FIRST_LETTER, i = 0, bias = FIRST_BIAS;
	while (s < end) {
		unsigned before = i;
		if (m == LETTERS_MOST || !delta_at(&s, end, bias, &i))
			return 0;
		unsigned size = (unsigned)m + 1;
		bias = adapted(i - before, size, before == 0);
		letter += i / size;
		i %= size;
		if (letter < FIRST_LETTER || letter > LAST_LETTER)
			return 0;
		memmove(letters + i + 1, letters + i, (m - i) * sizeof(*letters));
		letters[i++] = letter;
		m++;
	}
	return m;
}

size_t swift_punycode(const char *s, size_t n, char *to, size_t most)
{
	uint32_t letters[LETTERS_MOST];
	size_t m = letters_of(s, n, letters), size = 0;
	for (size_t i = 0; i < m; i++) {
		uint32_t c = letters[i];
		if (most - size < 4)
			return 0;
		if (c >= ASCII_FROM && c < ASCII_TO)
			c -= ASCII_FROM;
		else if (c >= ASCII_TO && c < 0xe000)
			return 0;
		if (c == 0)
			return 0;
		size += ux_utf8_encode(c, to + size);
	}
	return size;
}
