/* SPDX-License-Identifier: Apache-2.0 */
/* Hexadecimal text. */
#include "hex.h"

void ux_hex_encode(struct ux_bytes bytes, char *text)
{
	static const char digits[] = "0123456789abcdef";
	for (size_t i = 0; i < bytes.size; i++) {
		*text++ = digits[bytes.data[i] >> 4];
		*text++ = digits[bytes.data[i] & 15];
	}
	*text = '\0';
}

int ux_hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

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
