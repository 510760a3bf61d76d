/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns of the names of several languages, tried in order. */
#include "demangle_schemes.h"

#include "text.h"

/* Returns the offset of `word` in s; s.size: not found. */
static size_t plain_find(struct ux_bytes s, struct ux_bytes word)
{
	const uint8_t *at = memmem(s.data, s.size, word.data, word.size);
	return at ? (size_t)(at - s.data) : s.size;
}

static struct ux_bytes plain_from(struct ux_bytes s, size_t n)
{
	return ux_bytes(s.data + n, s.size - n);
}

/* Returns the name without a trailing "_123". */
static struct ux_bytes plain_without_stamp(struct ux_bytes s)
{
	size_t n = s.size;
	while (n > 0 && ux_is_digit(s.data[n - 1]))
		n--;
	return n > 1 && n < s.size && s.data[n - 1] == '_' ? ux_bytes(s.data, n - 1) : s;
}

/* OCaml: "__" and since 5.1 "." between modules, "$xx" for other characters, a stamp at the end. */
static bool plain_ocaml(struct ux_bytes name, struct ux_out *out)
{
	if (name.size < 6 || !ux_bytes_starts(name, UX_STR("caml")) || !ux_is_upper(name.data[4]))
		return false;
	struct ux_bytes s = plain_without_stamp(plain_from(name, 4));
	if (plain_find(s, UX_STR("__")) == s.size && !memchr(s.data, '.', s.size))
		return false;
	for (size_t i = 0; i < s.size; i++) {
		uint8_t byte = 0;
		size_t n = 0;
		if (i > 0 && s.size - i > 2 && s.data[i] == '_' && s.data[i + 1] == '_') {
			ux_out_u8(out, '.');
			i++;
		} else if (s.data[i] == '$' && s.size - i > 2 &&
			   ux_hex_decode(ux_bytes(s.data + i + 1, 2), &byte, 1, &n) &&
			   byte >= 0x20) {
			ux_out_u8(out, byte);
			i += 2;
		} else {
			ux_out_u8(out, s.data[i]);
		}
	}
	return true;
}

/* gfortran: __module_MOD_procedure. */
static bool plain_fortran(struct ux_bytes name, struct ux_out *out)
{
	struct ux_bytes word = UX_STR("_MOD_");
	if (!ux_bytes_starts(name, UX_STR("__")))
		return false;
	struct ux_bytes s = plain_from(name, 2);
	size_t at = plain_find(s, word);
	if (at == 0 || at + word.size >= s.size)
		return false;
	ux_out_put(out, s.data, at);
	ux_out_cstr(out, "::");
	ux_out_put(out, s.data + at + word.size, s.size - at - word.size);
	return true;
}

static bool plain_is_word(struct ux_bytes s)
{
	for (size_t i = 0; i < s.size; i++) {
		uint8_t c = s.data[i] | 0x20;
		if (!(c >= 'a' && c <= 'z') && !ux_is_digit(s.data[i]) && s.data[i] != '_')
			return false;
	}
	return s.size > 0 && !ux_is_digit(*s.data);
}

/* Returns whether the name begins with the name of Ada's own library. */
static bool plain_is_ada(struct ux_bytes name)
{
	static const char *const roots[] = {"system__", "ada__", "interfaces__", "gnat__"};
	for (size_t i = 0; i < ux_countof(roots); i++)
		if (ux_bytes_starts(name, ux_bytes_cstr(roots[i])))
			return true;
	return false;
}

/*
 * Nim 2: name__module_u123. Names of C types that end like this have no stamp. Neither part may
 * contain two underscores, as Ada's system__stream_attributes__i_u24 does.
 */
static bool plain_nim(struct ux_bytes name, struct ux_out *out)
{
	static const char *const types[] = {"_u8", "_u16", "_u32", "_u64", "_u128"};
	size_t n = name.size;
	while (n > 0 && ux_is_digit(name.data[n - 1]))
		n--;
	if (n < 3 || n == name.size || name.data[n - 1] != 'u' || name.data[n - 2] != '_')
		return false;
	for (size_t i = 0; i < ux_countof(types); i++)
		if (ux_bytes_eq(plain_from(name, n - 2), ux_bytes_cstr(types[i])))
			return false;
	struct ux_bytes s = ux_bytes(name.data, n - 2);
	size_t at = plain_find(s, UX_STR("__"));
	if (at == 0 || at + 2 >= s.size || !plain_is_word(ux_bytes(s.data, at)) ||
	    !plain_is_word(plain_from(s, at + 2)) || plain_is_ada(name))
		return false;
	struct ux_bytes module = plain_from(s, at + 2);
	if (plain_find(module, UX_STR("__")) < module.size)
		return false;
	ux_out_put(out, s.data + at + 2, s.size - at - 2);
	ux_out_u8(out, '.');
	ux_out_put(out, s.data, at);
	return true;
}

/* Kotlin/Native: kfun:package.Class#method(arguments){parameters}result. */
static bool plain_kotlin(struct ux_bytes name, enum ux_demangle_mode mode, struct ux_out *out)
{
	struct ux_bytes word = UX_STR("kfun:");
	if (!ux_bytes_starts(name, word) || name.size == word.size)
		return false;
	struct ux_bytes s = plain_from(name, word.size);
	const uint8_t *end = memchr(s.data, mode == UX_DEMANGLE_FULL ? '{' : '(', s.size);
	size_t n = end ? (size_t)(end - s.data) : s.size;
	size_t before = out->size;
	for (size_t i = 0; i < n; i++)
		if (s.data[i] != '#')
			ux_out_u8(out, s.data[i]);
		else if (i > 0)
			ux_out_u8(out, '.');
	return out->size > before;
}

/* Go: type arguments as tracebacks write them. */
static bool plain_go(struct ux_bytes name, enum ux_demangle_mode mode, struct ux_out *out)
{
	const uint8_t *open = memchr(name.data, '[', name.size);
	size_t at = open ? (size_t)(open - name.data) : 0, depth = 0;
	if (mode == UX_DEMANGLE_FULL || at == 0 || !memchr(name.data, '.', at) ||
	    name.data[0] == '-' || name.data[0] == '+')
		return false;
	for (size_t i = 0; i < name.size; i++) {
		depth += name.data[i] == '[';
		if (depth == 0)
			ux_out_u8(out, name.data[i]);
		if (depth > 0 && name.data[i] == ']' && --depth == 0)
			ux_out_cstr(out, "[...]");
	}
	return depth == 0;
}

/* Demangles suffixes that compilers and linkers append to a function that they copied or split. */
static bool plain_clone(struct ux_bytes name, enum ux_demangle_mode mode, struct ux_out *out)
{
	static const char *const words[] = {".cold",      ".part.", ".constprop.", ".isra.",
					    ".lto_priv.", ".llvm.", ".__uniq."};
	size_t n = name.size;
	if (mode == UX_DEMANGLE_FULL)
		return false;
	for (size_t i = 0; i < ux_countof(words); i++)
		n = ux_min(n, plain_find(ux_bytes(name.data, n), ux_bytes_cstr(words[i])));
	struct ux_bytes s = ux_bytes(name.data, n);
	if (ux_bytes_starts(s, UX_STR("__pfx_")) && s.size > 6)
		s = plain_from(s, 6);
	if (n == 0 || s.size == name.size)
		return false;
	ux_out_put(out, s.data, s.size);
	return true;
}

bool ux_demangle_plain(struct ux_bytes name, enum ux_demangle_mode mode, struct ux_out *out)
{
	size_t before = out->size;
	bool done = false;
	switch (name.data[0]) {
	case 'c':
		done = plain_ocaml(name, out);
		break;
	case 'k':
		done = plain_kotlin(name, mode, out);
		break;
	case '_':
		done = plain_fortran(name, out);
		break;
	default:
		break;
	}
	if (!done && memchr("oeytws", name.data[name.size - 1], 6))
		done = ux_haskell_demangle(name, mode, out);
	if (!done && ux_is_digit(name.data[name.size - 1]))
		done = plain_nim(name, out);
	if (!done) {
		out->size = before;
		done = plain_go(name, mode, out);
	}
	if (!done) {
		out->size = before;
		done = plain_clone(name, mode, out);
	}
	if (!done)
		out->size = before;
	return done;
}
