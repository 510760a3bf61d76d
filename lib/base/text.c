/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing characters. */
#include "text.h"

struct ux_bytes ux_trim(struct ux_bytes s)
{
	while (s.size > 0 && ux_is_blank(s.data[s.size - 1]))
		s.size--;
	while (s.size > 0 && ux_is_blank(s.data[0]))
		s = ux_bytes(s.data + 1, s.size - 1);
	return s;
}

void ux_hex_encode(struct ux_bytes bytes, char *text)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < bytes.size; i++) {
		*text++ = digits[bytes.data[i] >> 4];
		*text++ = digits[bytes.data[i] & 15];
	}
	*text = '\0';
}

const uint8_t ux_hex_digits[256] = {
	['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,
	['6'] = 7,  ['7'] = 8,  ['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12,
	['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16, ['A'] = 11, ['B'] = 12,
	['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

bool ux_hex_decode(struct ux_bytes text, uint8_t *bytes, size_t max, size_t *ret_n)
{
	if (text.size % 2 != 0 || text.size / 2 > max)
		return false;
	for (size_t i = 0; i < text.size; i += 2) {
		int hi = ux_hex_digit((char)text.data[i]);
		int lo = ux_hex_digit((char)text.data[i + 1]);
		if (hi < 0 || lo < 0)
			return false;
		bytes[i / 2] = (uint8_t)(hi << 4 | lo);
	}
	*ret_n = text.size / 2;
	return true;
}

void ux_base64url_encode(struct ux_bytes bytes, char *text)
{
	static const char letters[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	uint32_t bits = 0;
	unsigned n = 0; /* number of low bits that are not written yet */
	for (size_t i = 0; i < bytes.size; i++) {
		bits = bits << 8 | bytes.data[i];
		for (n += 8; n >= 6; n -= 6)
			*text++ = letters[bits >> (n - 6) & 63];
	}
	if (n > 0)
		*text++ = letters[bits << (6 - n) & 63];
	*text = '\0';
}

bool ux_hex_parse_u64(struct ux_bytes text, bool hex, uint64_t *ret)
{
	uint64_t base = hex ? 16 : 10;
	size_t i = 0;
	if (text.size > 2 && text.data[0] == '0' && (text.data[1] | 0x20) == 'x') {
		base = 16;
		i = 2;
	}
	if (i == text.size)
		return false;
	uint64_t v = 0;
	for (; i < text.size; i++) {
		int digit = ux_hex_digit((char)text.data[i]);
		if (digit < 0 || (uint64_t)digit >= base || __builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit, &v))
			return false;
	}
	*ret = v;
	return true;
}

size_t ux_digits_parse(struct ux_bytes text, unsigned base, uint64_t *ret)
{
	uint64_t v = 0;
	size_t i = 0;
	for (; i < text.size; i++) {
		int digit = ux_hex_digit((char)text.data[i]);
		if (digit < 0 || (unsigned)digit >= base)
			break;
		if (__builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, (uint64_t)digit, &v))
			return 0;
	}
	if (i > 0)
		*ret = v;
	return i;
}

static int text_base64_digit(uint8_t c)
{
	if (ux_is_upper(c))
		return c - 'A';
	if (ux_is_lower(c))
		return c - 'a' + 26;
	if (ux_is_digit(c))
		return c - '0' + 52;
	if (c == '-' || c == '+')
		return 62;
	return c == '_' || c == '/' ? 63 : -1;
}

bool ux_base64_decode(struct ux_bytes text, uint8_t *bytes, size_t *ret_n)
{
	uint32_t bits = 0;
	unsigned have = 0;
	size_t n = 0;
	if (text.size % 4 == 0)
		for (int i = 0; i < 2 && text.size > 0 && text.data[text.size - 1] == '='; i++)
			text.size--;
	for (size_t i = 0; i < text.size; i++) {
		int digit = text_base64_digit(text.data[i]);
		if (digit < 0)
			return false;
		bits = bits << 6 | (uint32_t)digit;
		have += 6;
		if (have >= 8) {
			have -= 8;
			bytes[n++] = (uint8_t)(bits >> have);
		}
	}
	*ret_n = n;
	return text.size % 4 != 1 && (bits & ((1u << have) - 1)) == 0;
}

bool ux_decimal_parse(struct ux_bytes text, uint64_t *ret)
{
	uint64_t v = 0;
	if (text.size == 0 || ux_digits_parse(text, 10, &v) != text.size)
		return false;
	*ret = v;
	return true;
}

size_t ux_utf8_size(struct ux_bytes s, size_t *ret_bad)
{
	uint8_t c = s.data[0], low = 0x80, high = 0xbf;
	size_t n = c < 0xc2 ? 0 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : c < 0xf5 ? 4 : 0;
	size_t good = 1;
	if (c < 0x80)
		return 1;
	if (c == 0xe0)
		low = 0xa0;
	else if (c == 0xed)
		high = 0x9f;
	else if (c == 0xf0)
		low = 0x90;
	else if (c == 0xf4)
		high = 0x8f;
	while (good < n && good < s.size && s.data[good] >= low && s.data[good] <= high) {
		low = 0x80;
		high = 0xbf;
		good++;
	}
	if (ret_bad)
		*ret_bad = good;
	return good == n ? n : 0;
}

struct ux_bytes ux_utf8_take(struct ux_bytes *text)
{
	size_t bad = 0, good = ux_utf8_size(*text, &bad);
	struct ux_bytes taken = good > 0 ? ux_bytes(text->data, good) : UX_STR(UX_UTF8_REPLACEMENT);
	size_t n = good > 0 ? good : bad;
	*text = ux_bytes(text->data + n, text->size - n);
	return taken;
}

bool ux_text_cut(struct ux_bytes *text, size_t max)
{
	assert(max >= sizeof(UX_TEXT_CUT) - 1);
	if (text->size <= max)
		return false;
	size_t size = max - (sizeof(UX_TEXT_CUT) - 1);
	for (unsigned i = 1; i < UX_UTF8_MAX && (text->data[size] & 0xc0) == 0x80; i++)
		size--;
	text->size = size;
	return true;
}

size_t ux_utf8_printable_size(struct ux_bytes s)
{
	size_t n = ux_utf8_size(s, NULL);
	if (n == 1)
		return s.data[0] >= 0x20 && s.data[0] != 0x7f;
	return n == 2 && s.data[0] == 0xc2 && s.data[1] < 0xa0 ? 0 : n;
}

size_t ux_utf8_harmless_size(struct ux_bytes s)
{
	size_t n = ux_utf8_printable_size(s);
	if (n != 3 || s.data[0] != 0xe2)
		return n;
	uint8_t next = s.data[1], last = s.data[2];
	bool bidi = (next == 0x80 &&
		     (last == 0x8e || last == 0x8f || (last >= 0xa8 && last <= 0xae))) ||
		    (next == 0x81 && last >= 0xa6 && last <= 0xa9);
	return bidi ? 0 : n;
}

bool ux_utf8_is_printable(struct ux_bytes text)
{
	while (text.size > 0) {
		size_t n = ux_utf8_printable_size(text);
		if (n == 0)
			return false;
		text = ux_bytes(text.data + n, text.size - n);
	}
	return true;
}

size_t ux_utf8_encode(uint32_t c, char *to)
{
	static const uint8_t heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
	if (c == 0 || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
		c = 0xfffd;
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	size_t n = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = n; i-- > 1; c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)(heads[n] | c);
	return n;
}
