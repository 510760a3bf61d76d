/* SPDX-License-Identifier: Apache-2.0 */
/* GHC's z-encoding. Source: GHC, "Commentary/Compiler/SymbolNames". */
#include "demangle_schemes.h"

#include "text.h"

/* Returns the character for a code of z or Z and a letter; 0: no such code. */
static char haskell_of_code(uint8_t lead, uint8_t code)
{
	static const char lower[][2] = {
		{'a', '&'}, {'b', '|'}, {'c', '^'},  {'d', '$'},  {'e', '='},
		{'g', '>'}, {'h', '#'}, {'i', '.'},  {'l', '<'},  {'m', '-'},
		{'n', '!'}, {'p', '+'}, {'q', '\''}, {'r', '\\'}, {'s', '/'},
		{'t', '*'}, {'u', '_'}, {'v', '%'},  {'z', 'z'},
	};
	static const char upper[][2] = {{'C', ':'}, {'L', '('}, {'M', '['},
					{'N', ']'}, {'R', ')'}, {'Z', 'Z'}};
	const char(*table)[2] = lead == 'z' ? lower : upper;
	size_t n = lead == 'z' ? ux_countof(lower) : ux_countof(upper);
	for (size_t i = 0; i < n; i++)
		if (table[i][0] == code)
			return table[i][1];
	return 0;
}

/* Reads z<hex>U, a character by its code point. Returns the number of bytes read; 0: malformed. */
static size_t haskell_code_point(struct ux_bytes s, struct ux_out *out)
{
	uint32_t c = 0;
	for (size_t i = 0; i < s.size && i < 8; i++) {
		int digit = ux_hex_digit((char)s.data[i]);
		bool surrogate = c >= 0xd800 && c < 0xe000;
		if (s.data[i] == 'U' && i > 0 && c > 0 && c < 0x110000 && !surrogate) {
			char text[UX_UTF8_MAX];
			ux_out_put(out, text, ux_utf8_encode(c, text));
			return i + 1;
		}
		if (digit < 0)
			return 0;
		c = c << 4 | (uint32_t)digit;
	}
	return 0;
}

/*
 * Reads Z<n>T and Z<n>H: boxed and unboxed tuples. Returns the number of bytes read; 0: malformed.
 */
static size_t haskell_tuple(struct ux_bytes s, struct ux_out *out)
{
	enum {
		MAX = 99
	};
	unsigned n = 0;
	size_t i = 0;
	for (; i < s.size && i < 2 && ux_is_digit(s.data[i]); i++)
		n = n * 10 + (unsigned)(s.data[i] - '0');
	if (i == 0 || i == s.size || n > MAX || (s.data[i] != 'T' && s.data[i] != 'H'))
		return 0;
	bool unboxed = s.data[i] == 'H';
	ux_out_cstr(out, unboxed ? "(#" : "(");
	for (unsigned k = 1; k < n; k++)
		ux_out_u8(out, ',');
	ux_out_cstr(out, unboxed ? "#)" : ")");
	return i + 1;
}

bool ux_haskell_decode(struct ux_bytes part, struct ux_out *out)
{
	for (size_t i = 0; i < part.size;) {
		uint8_t c = part.data[i++];
		if (c != 'z' && c != 'Z') {
			ux_out_u8(out, c);
			continue;
		}
		struct ux_bytes rest = ux_bytes(part.data + i, part.size - i);
		char plain = rest.size > 0 ? haskell_of_code(c, *rest.data) : 0;
		size_t n = plain      ? 1
			   : c == 'z' ? haskell_code_point(rest, out)
				      : haskell_tuple(rest, out);
		if (n == 0)
			return false;
		if (plain)
			ux_out_u8(out, (uint8_t)plain);
		i += n;
	}
	return true;
}

/* Kinds of symbols, longest first; the kind is not written for code. */
static const struct {
	const char *text;
	bool code;
} kinds[] = {
	{"_static_closure", false},
	{"_static_info", false},
	{"_con_entry", true},
	{"_con_info", false},
	{"_closure", false},
	{"_entry", true},
	{"_bytes", false},
	{"_info", true},
	{"_fast", true},
	{"_slow", true},
	{"_srt", false},
	{"_ret", true},
};

static size_t haskell_part_size(struct ux_bytes s)
{
	const uint8_t *end = s.size > 0 ? memchr(s.data, '_', s.size) : NULL;
	return end ? (size_t)(end - s.data) : s.size;
}

/* Decodes package, module and name; false for a name that does not look like GHC's. */
static bool haskell_decode_parts(struct ux_bytes s, bool package, struct ux_out *out)
{
	struct ux_bytes parts[3];
	for (size_t i = 0; i < 3; i++) {
		size_t n = i < 2 ? haskell_part_size(s) : s.size;
		if (n == 0 || (i < 2 && n == s.size))
			return false;
		parts[i] = ux_bytes(s.data, n);
		s = i < 2 ? ux_bytes(s.data + n + 1, s.size - n - 1) : s;
	}
	bool is_module = *parts[1].data >= 'A' && *parts[1].data <= 'Z';
	if (!is_module || (package && !ux_haskell_decode(parts[0], out)))
		return false;
	if (package)
		ux_out_u8(out, ':');
	if (!ux_haskell_decode(parts[1], out))
		return false;
	ux_out_u8(out, '.');
	return ux_haskell_decode(parts[2], out);
}

bool ux_haskell_demangle(struct ux_bytes name, enum ux_demangle_mode mode, struct ux_out *out)
{
	size_t before = out->size;
	/* A name of GHC has an encoded character; my_Own_map_info is a name of C. */
	if (!memchr(name.data, 'z', name.size) && !memchr(name.data, 'Z', name.size))
		return false;
	for (size_t i = 0; i < ux_countof(kinds); i++) {
		struct ux_bytes kind = ux_bytes_cstr(kinds[i].text);
		if (name.size <= kind.size ||
		    memcmp(name.data + name.size - kind.size, kind.data, kind.size) != 0)
			continue;
		struct ux_bytes rest = ux_bytes(name.data, name.size - kind.size);
		if (!haskell_decode_parts(rest, mode == UX_DEMANGLE_FULL, out)) {
			out->size = before;
			return false;
		}
		if (mode == UX_DEMANGLE_FULL && !kinds[i].code)
			ux_out_fmt(out, " [%s]", kinds[i].text + 1);
		return true;
	}
	return false;
}
