/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing the name of a function. */
#include "function_name.h"

#include "elf_defs.h"

enum {
	NAME_BYTES_MAX = 1 << 16, /* bytes of a name that are compared */
};

static struct ux_bytes name_of_symbol(const struct ux_code_symbol *s)
{
	return ux_bytes(s->name, s->name_size);
}

static const char *name_terminated(struct ux_bytes name, struct ux_arena *arena, bool *ret_nomem)
{
	if (name.data[name.size] == '\0')
		return (const char *)name.data;
	const char *copy = ux_arena_strndup(arena, name.data, name.size);
	*ret_nomem |= !copy;
	return copy;
}

const char *ux_symbol_name(const struct ux_code_symbol *symbol, struct ux_arena *arena,
			   bool *ret_nomem)
{
	return name_terminated(name_of_symbol(symbol), arena, ret_nomem);
}

struct ux_bytes ux_name_without(struct ux_bytes name, struct ux_bytes word)
{
	size_t n = name.size;
	while (n > 0 && name.data[n - 1] >= '0' && name.data[n - 1] <= '9')
		n--;
	if (n > 0 && n < name.size && name.data[n - 1] == '.')
		n--;
	else
		n = name.size;
	if (n > word.size && memcmp(name.data + n - word.size, word.data, word.size) == 0)
		return ux_bytes(name.data, n - word.size);
	return name;
}

static struct ux_bytes name_without_cold(struct ux_bytes name)
{
	return ux_name_without(name, UX_STR(".cold"));
}

size_t ux_names_structor(struct ux_bytes a, struct ux_bytes b)
{
	size_t at = 0;
	if (a.size != b.size)
		return 0;
	while (at < a.size && a.data[at] == b.data[at])
		at++;
	if (at == 0 || at == a.size || (a.data[at - 1] != 'C' && a.data[at - 1] != 'D'))
		return 0;
	return memcmp(a.data + at + 1, b.data + at + 1, a.size - at - 1) == 0 ? at : 0;
}

/* Compares names like _ZN1AC4Ev and _ZN1AC2Ev. */
static bool name_is_structor(struct ux_bytes symbol, struct ux_bytes dwarf)
{
	size_t at = ux_names_structor(symbol, dwarf);
	return at > 0 && dwarf.data[at] == '4' && ux_bytes_starts(dwarf, UX_STR("_Z"));
}

/* Returns the identifier in a name, f of f<int> or ~f, as it occurs in the mangled name. */
static struct ux_bytes name_bare_word(struct ux_bytes name)
{
	if (ux_bytes_starts(name, UX_STR("~")))
		name = ux_bytes(name.data + 1, name.size - 1);
	const uint8_t *open = name.size > 1 ? memchr(name.data + 1, '<', name.size - 1) : NULL;
	return open ? ux_bytes(name.data, (size_t)(open - name.data)) : name;
}

/*
 * Returns true for operator(), operator<, ...; their mangled names do not contain the identifier.
 */
static bool name_is_operator(struct ux_bytes name)
{
	struct ux_bytes word = UX_STR("operator");
	struct ux_bytes next = UX_STR("()<>=!+-*/%^&|~,[] \"");
	return ux_bytes_starts(name, word) && name.size > word.size &&
	       memchr(next.data, name.data[word.size], next.size);
}

/* __m_MOD_f: f of the Fortran module m. */
static bool name_is_fortran(struct ux_bytes symbol, struct ux_bytes dwarf)
{
	struct ux_bytes word = UX_STR("_MOD_");
	size_t tail = word.size + dwarf.size;
	return ux_bytes_starts(symbol, UX_STR("__")) && symbol.size > tail + 2 &&
	       memcmp(symbol.data + symbol.size - tail, word.data, word.size) == 0 &&
	       memcmp(symbol.data + symbol.size - dwarf.size, dwarf.data, dwarf.size) == 0;
}

/*
 * Returns true for names that compilers make up for closures, which are not in the mangled name:
 * {closure#0} of rustc, <lambda(int)> of gcc.
 */
static bool name_is_closure(struct ux_bytes name)
{
	return ux_bytes_starts(name, UX_STR("{")) || ux_bytes_starts(name, UX_STR("<lambda"));
}

/* The classes of std that the Itanium ABI abbreviates ("Compression"), as in _ZNSsC1Ev. */
static bool name_is_abbreviated(struct ux_bytes symbol, struct ux_bytes word)
{
	static const struct {
		const char *word;
		const char *code;
	} classes[] = {
		{"allocator", "Sa"},     {"basic_string", "Sb"},  {"basic_string", "Ss"},
		{"basic_istream", "Si"}, {"basic_ostream", "So"}, {"basic_iostream", "Sd"},
	};
	for (size_t i = 0; i < ux_countof(classes); i++)
		if (ux_bytes_eq(word, ux_bytes_cstr(classes[i].word)) &&
		    memmem(symbol.data, symbol.size, classes[i].code, 2))
			return true;
	return false;
}

/*
 * Looks for "1f", the mangled form of the identifier f. Rust's v0 scheme writes "2__f" for _f: a
 * separator where the identifier begins with a digit or an underscore.
 */
static bool name_has_identifier(struct ux_bytes symbol, struct ux_bytes word)
{
	char length[24];
	int digits = snprintf(length, sizeof(length), "%zu", word.size);
	size_t need = (size_t)digits + word.size;
	for (size_t at = 2; at + need <= symbol.size; at++) {
		const uint8_t *text = symbol.data + at + digits;
		if (memcmp(symbol.data + at, length, (size_t)digits) != 0)
			continue;
		if (memcmp(text, word.data, word.size) == 0)
			return true;
		if (*text == '_' && at + need < symbol.size &&
		    memcmp(text + 1, word.data, word.size) == 0)
			return true;
	}
	return false;
}

/* _Z1fi contains "1f", the mangled form of the short name f; so does _Z1fIiEvT_ for f<int>. */
static bool name_is_mangled_form(struct ux_bytes symbol, struct ux_bytes dwarf)
{
	if (!ux_name_is_mangled(symbol) || ux_bytes_starts(dwarf, UX_STR("_Z")))
		return false;
	if (name_is_operator(dwarf) || name_is_closure(dwarf))
		return true;
	struct ux_bytes word = name_bare_word(dwarf);
	return name_has_identifier(symbol, word) || name_is_abbreviated(symbol, word);
}

static bool name_is_word_byte(uint8_t c)
{
	return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
	       c == '_';
}

/*
 * *Array(Int32)#push<Int32>:Array(Int32) is Crystal's name of push, and ~procProc(Nil)@FILE:LINE of
 * a block, which DWARF calls "->". GNU ld takes the text from @ on for a version, and .dynsym then
 * lacks it.
 */
static bool name_is_crystal(struct ux_bytes symbol, struct ux_bytes dwarf)
{
	if (ux_bytes_eq(dwarf, UX_STR("->")))
		return ux_bytes_starts(symbol, UX_STR("~")) &&
		       memchr(symbol.data, '@', symbol.size);
	if (!ux_bytes_starts(symbol, UX_STR("*")) || dwarf.size == 0)
		return false;
	const uint8_t *end = symbol.data + symbol.size;
	for (const uint8_t *p = symbol.data; p < end; p++) {
		p = memmem(p, (size_t)(end - p), dwarf.data, dwarf.size);
		if (!p)
			return false;
		bool begins = p > symbol.data && !name_is_word_byte(p[-1]);
		if (begins && (p + dwarf.size == end || !name_is_word_byte(p[dwarf.size])))
			return true;
	}
	return false;
}

/*
 * Returns the exported alias that callers use for a function when DWARF has its library's internal
 * name: malloc for __libc_malloc, __libc_start_main for __libc_start_main_impl. NULL when DWARF's
 * name is as public as any alias.
 */
static const struct ux_code_symbol *name_public_alias(struct ux_bytes dwarf,
						      const struct ux_code_symbol *symbols,
						      size_t n)
{
	const struct ux_code_symbol *best = NULL;
	bool exported = false;
	if (ux_name_underscores(dwarf) == 0 || ux_name_is_mangled(dwarf))
		return NULL;
	for (size_t i = 0; i < n; i++) {
		struct ux_bytes name = name_of_symbol(&symbols[i]);
		if (symbols[i].bind == STB_LOCAL || symbols[i].untyped || ux_name_is_mangled(name))
			continue;
		exported |= ux_bytes_eq(name, dwarf);
		if (!best)
			best = &symbols[i]; /* the symbols are sorted, the best first */
	}
	if (!best)
		return NULL;
	size_t theirs = ux_name_underscores(name_of_symbol(best)), own = ux_name_underscores(dwarf);
	return theirs < own || (theirs == own && !exported) ? best : NULL;
}

/* __GI_abort and abort: glibc's internal aliases for its own functions. */
static bool name_is_public(struct ux_bytes symbol, struct ux_bytes dwarf)
{
	struct ux_bytes internal = UX_STR("__GI_");
	return ux_bytes_starts(dwarf, internal) && symbol.size == dwarf.size - internal.size &&
	       memcmp(dwarf.data + internal.size, symbol.data, symbol.size) == 0;
}

/*
 * main.f[go.shape.int] and main.f[...]: Go 1.18 to 1.20 omit the type arguments in their own
 * tables.
 */
static bool name_is_go_instance(struct ux_bytes symbol, struct ux_bytes name)
{
	struct ux_bytes word = UX_STR("[...]");
	const uint8_t *at = memmem(name.data, name.size, word.data, word.size);
	size_t head = at ? (size_t)(at - name.data) + 1 : 0, tail = name.size - head - 3;
	return at && symbol.size > head + tail && memcmp(symbol.data, name.data, head) == 0 &&
	       memcmp(symbol.data + symbol.size - tail, at + 4, tail) == 0;
}

/*
 * f.abi0 and f: Go's linker marks the calling convention with a suffix; the function is the same.
 */
static bool name_is_go_abi(struct ux_bytes suffix)
{
	return ux_bytes_eq(suffix, UX_STR(".abi0")) || ux_bytes_eq(suffix, UX_STR(".abiinternal"));
}

/* Returns true when the symbol, without .cold, is a more exact name of the same function. */
static bool name_is_closer(struct ux_bytes symbol, struct ux_bytes dwarf)
{
	struct ux_bytes plain = symbol;
	if (symbol.size > dwarf.size &&
	    name_is_go_abi(ux_bytes(symbol.data + dwarf.size, symbol.size - dwarf.size)))
		return false;
	if (symbol.size > dwarf.size && symbol.data[dwarf.size] == '.')
		plain.size = dwarf.size; /* a clone: the rest of the symbol identifies it */
	return (plain.size < symbol.size && ux_bytes_eq(plain, dwarf)) ||
	       name_is_structor(plain, dwarf) || name_is_mangled_form(symbol, dwarf) ||
	       name_is_fortran(plain, dwarf) || name_is_go_instance(symbol, dwarf) ||
	       name_is_crystal(symbol, dwarf);
}

const char *ux_function_name(const char *dwarf_name, uint32_t own,
			     const struct ux_code_symbol *symbols, size_t n, struct ux_arena *arena,
			     bool *ret_nomem)
{
	if (!dwarf_name)
		return n > 0 ? name_terminated(name_without_cold(name_of_symbol(&symbols[0])),
					       arena, ret_nomem)
			     : NULL;
	const char *bare = dwarf_name + own;
	struct ux_bytes dwarf = ux_bytes(bare, strnlen(bare, NAME_BYTES_MAX));
	n = ux_min(n, (size_t)UX_CODE_ALIASES_MAX);
	const struct ux_code_symbol *alias = own == 0 ? name_public_alias(dwarf, symbols, n) : NULL;
	if (alias)
		return name_terminated(name_of_symbol(alias), arena, ret_nomem);
	const struct ux_code_symbol *better = NULL;
	bool exact = false;
	for (size_t i = 0; i < n; i++) {
		struct ux_bytes symbol = name_without_cold(name_of_symbol(&symbols[i]));
		if (name_is_public(symbol, dwarf))
			return name_terminated(symbol, arena, ret_nomem);
		exact |= ux_bytes_eq(symbol, dwarf);
		if (!better && name_is_closer(symbol, dwarf))
			better = &symbols[i];
	}
	if (exact)
		return bare;
	return better ? name_terminated(name_without_cold(name_of_symbol(better)), arena, ret_nomem)
		      : dwarf_name;
}
