/* SPDX-License-Identifier: Apache-2.0 */
/* Rust's names before v0 ("_ZN...17h<hash>E"). Source: rustc,
 * compiler/rustc_symbol_mangling/legacy.rs. */
#include "demangle_schemes.h"
#include "text.h"

enum {
	RUST_HASH_SIZE = 20, /* 17h, 16 digits, E */
};

static bool rust_legacy_is_char(uint64_t c)
{
	return c <= 0x10ffff && !(c >= 0xd800 && c < 0xe000);
}

/* Returns true when the 16 digits look like a hash: at least five of them are different. */
static bool rust_legacy_is_hash(const uint8_t *digits)
{
	unsigned seen = 0;
	for (size_t i = 0; i < 16; i++) {
		int digit = ux_hex_digit((char)digits[i]);
		if (digit < 0 || (digits[i] >= 'A' && digits[i] <= 'F'))
			return false;
		seen |= 1U << digit;
	}
	return __builtin_popcount(seen) >= 5;
}

size_t ux_rust_legacy_size(struct ux_bytes name)
{
	if (!ux_bytes_starts(name, UX_STR("_ZN")))
		return 0;
	for (size_t i = RUST_HASH_SIZE; i <= name.size; i++) {
		const uint8_t *dot = memchr(name.data + i, '.', name.size - i);
		i = dot ? (size_t)(dot - name.data) : name.size;
		const uint8_t *hash = name.data + i - RUST_HASH_SIZE;
		if (name.data[i - 1] == 'E' && memcmp(hash, "17h", 3) == 0)
			return rust_legacy_is_hash(hash + 3) ? i : 0;
	}
	return 0;
}

/* Reads "u7e$" after a '$': returns its length, and the character; 0: not such an escape. */
static size_t rust_legacy_code_point(struct ux_bytes s, uint32_t *ret)
{
	uint32_t c = 0;
	for (size_t i = 1; i < s.size && i < 8 && s.data[0] == 'u'; i++) {
		int digit = ux_hex_digit((char)s.data[i]);
		if (s.data[i] == '$' && i > 1) {
			*ret = c;
			return c >= 0x20 && c != 0x7f && rust_legacy_is_char(c) ? i + 1 : 0;
		}
		if (digit < 0 || (s.data[i] >= 'A' && s.data[i] <= 'F'))
			return 0;
		c = c << 4 | (uint32_t)digit;
	}
	return 0;
}

/* Writes the text of the escape at s ("$LT$") and returns its length; 0: it is not an escape. */
static size_t rust_legacy_escape(struct ux_bytes s, struct ux_name_text *text)
{
	static const char escapes[][2][6] = {
		{"$SP$", "@"}, {"$BP$", "*"}, {"$RF$", "&"}, {"$LT$", "<"},
		{"$GT$", ">"}, {"$LP$", "("}, {"$RP$", ")"}, {"$C$", ","},
	};
	for (size_t i = 0; i < ux_countof(escapes); i++) {
		if (!ux_bytes_starts(s, ux_bytes_cstr(escapes[i][0])))
			continue;
		ux_name_text_cstr(text, escapes[i][1]);
		return strlen(escapes[i][0]);
	}
	uint32_t c = 0;
	size_t n = rust_legacy_code_point(ux_bytes(s.data + 1, s.size - 1), &c);
	if (n > 0)
		ux_name_text_utf8(text, c);
	return n > 0 ? n + 1 : 0;
}

static void rust_legacy_part(struct ux_bytes s, struct ux_name_text *text)
{
	/* An identifier may not begin with an escape. */
	size_t i = ux_bytes_starts(s, UX_STR("_$")) ? 1 : 0;
	while (i < s.size) {
		struct ux_bytes rest = ux_bytes(s.data + i, s.size - i);
		size_t n = *rest.data == '$' ? rust_legacy_escape(rest, text) : 0;
		if (n == 0 && ux_bytes_starts(rest, UX_STR(".."))) {
			UX_NAME_TEXT_PUT(text, "::");
			n = 2;
		} else if (n == 0 &&
			   *rest.data ==
				   '$') { /* an unknown escape: the rest is written unchanged */
			ux_name_text_put(text, (const char *)rest.data, rest.size);
			n = rest.size;
		} else if (n == 0) {
			ux_name_text_char(text, (char)*rest.data);
			n = 1;
		}
		i += n;
	}
}

static bool rust_legacy_is_letter(uint8_t c)
{
	return ux_is_digit(c) || ux_is_letter(c) || c == '_' || c == '.' || c == '$';
}

bool ux_rust_legacy_demangle(struct ux_bytes name, struct ux_name_text *text)
{
	const uint8_t *p = name.data + 3, *end = name.data + name.size - RUST_HASH_SIZE;
	while (p < end) {
		size_t n = 0;
		const uint8_t *digits = p;
		for (; p < end && ux_is_digit(*p) && n <= name.size; p++)
			n = n * 10 + (size_t)(*p - '0');
		if (p == digits || *digits == '0' || n > (size_t)(end - p))
			return false;
		for (size_t i = 0; i < n; i++)
			if (!rust_legacy_is_letter(p[i]))
				return false;
		if (text->pos > text->start)
			UX_NAME_TEXT_PUT(text, "::");
		rust_legacy_part(ux_bytes(p, n), text);
		p += n;
	}
	return p == end && !text->failed && text->pos > text->start;
}
