/* SPDX-License-Identifier: Apache-2.0 */
/* Finds other names of the same range. */
#include "pack.h"

#include "function_name.h"
#include "partition.h"
#include "text.h"

enum {
	NAME_BYTES_MAX = 1 << 12, /* bytes of a name that are compared */
	RUST_HASH = 3 + 16 + 1    /* "17h", 16 digits, "E" */
};

/* --- names that are alike --------------------------------------------------------------------- */

/* Returns the name without one suffix ".word" or ".word.N" that compilers add to copies of
 * functions. */
static struct ux_bytes without_clone(struct ux_bytes name)
{
	static const char *const words[] = {".constprop", ".isra", ".part",      ".cold",
					    ".lto_priv",  ".llvm", ".localalias"};
	for (size_t i = 0; i < ux_countof(words); i++) {
		struct ux_bytes plain = ux_name_without(name, ux_bytes_cstr(words[i]));
		if (plain.size < name.size)
			return plain;
	}
	return name;
}

/* Removes the hash of a Rust name, which distinguishes copies of one function:
 * _ZN4core3fmt5write17h0123456789abcdefE. */
static struct ux_bytes without_hash(struct ux_bytes name)
{
	if (name.size <= RUST_HASH || !ux_bytes_starts(name, UX_STR("_ZN")) ||
	    name.data[name.size - 1] != 'E')
		return name;
	const uint8_t *hash = name.data + name.size - RUST_HASH;
	if (memcmp(hash, "17h", 3) != 0)
		return name;
	for (size_t i = 3; i < RUST_HASH - 1; i++)
		if (!(hash[i] >= '0' && hash[i] <= '9') && !(hash[i] >= 'a' && hash[i] <= 'f'))
			return name;
	return ux_bytes(name.data, name.size - RUST_HASH);
}

/* Returns a name without all suffixes and underscores that make no difference. */
static struct ux_bytes core(struct ux_bytes name)
{
	for (struct ux_bytes less = without_clone(name); less.size < name.size;
	     less = without_clone(name))
		name = less;
	name = without_hash(name);
	if (ux_bytes_starts(name, UX_STR("_Z")) || ux_bytes_starts(name, UX_STR("_R")))
		return name;
	struct ux_bytes internal = UX_STR("__GI_");
	if (ux_bytes_starts(name, internal) && name.size > internal.size)
		name = ux_bytes(name.data + internal.size, name.size - internal.size);
	while (name.size > 1 && name.data[0] == '_')
		name = ux_bytes(name.data + 1, name.size - 1);
	return name;
}

/* Returns true for two variants of one constructor or destructor: _ZN1AC1Ev and _ZN1AC2Ev. */
static bool same_structor(struct ux_bytes a, struct ux_bytes b)
{
	size_t at = ux_names_structor(a, b);
	return at > 0 && ux_is_digit(a.data[at]) && ux_is_digit(b.data[at]) &&
	       ux_bytes_starts(a, UX_STR("_ZN"));
}

bool ux_names_alike(struct ux_bytes a, struct ux_bytes b)
{
	a = core(a);
	b = core(b);
	return ux_bytes_eq(a, b) || same_structor(a, b);
}

/* --- finding the names ------------------------------------------------------------------------ */

/* A DWARF function that has the range of a piece and another name. */
struct dwarf_name {
	uint32_t piece;
	uint32_t order; /* index of the function, counted over all units */
	const char *name;
};

UX_VEC(dwarf_name_vec, struct dwarf_name);

struct finder {
	const struct ux_code_symbol_vec *symbols;
	const struct ux_piece_vec *pieces;
	struct ux_arena *arena;
	struct dwarf_name_vec dwarf_names;
	struct ux_alternative_vec *ret;
};

static void finder_deinit(struct finder *f)
{
	dwarf_name_vec_deinit(&f->dwarf_names);
}

static struct ux_bytes text_of(const char *name)
{
	return ux_bytes(name, strnlen(name, NAME_BYTES_MAX));
}

/* Returns the piece with exactly this range; the number of pieces if none has it. */
static size_t find_piece(const struct ux_piece_vec *pieces, const struct ux_piece *range)
{
	size_t lo = ux_partition_point(i, 0, pieces->size, pieces->data[i].start < range->start);
	bool found = lo < pieces->size && pieces->data[lo].start == range->start &&
		     pieces->data[lo].size == range->size;
	return found ? lo : pieces->size;
}

/* Sets *ret when the piece's name is only a more exact form of DWARF's name, as "_ZN1a1fEv" is of
 * a::f. */
static enum ux_code is_same(struct finder *f, const struct ux_piece *dwarf, const char *dwarf_name,
			    bool *ret, struct ux_error *err)
{
	bool no_memory = false;
	struct ux_code_symbol symbol = {.name = dwarf_name,
					.name_size = (uint32_t)text_of(dwarf_name).size};
	const char *name =
		ux_function_name(dwarf->name, dwarf->own, &symbol, 1, f->arena, &no_memory);
	*ret = name != dwarf->name;
	return no_memory ? ux_arena_fail(f->arena, err) : UX_OK;
}

/*
 * Finds the DWARF functions with the range of a piece and another name. Linkers leave a DWARF
 * function for each copy of a function that they dropped; nearly all of these have the same name.
 */
static enum ux_code find_dwarf_names(struct finder *f, const struct ux_collection *collection,
				     struct ux_error *err)
{
	uint32_t order = 0;
	for (size_t u = 0; u < collection->n_units; u++) {
		const struct ux_unit_pieces *unit = &collection->units[u];
		for (uint32_t i = 0; i < unit->n_functions; i++, order++) {
			const struct ux_piece *p = &unit->functions[i];
			size_t at = p->name ? find_piece(f->pieces, p) : f->pieces->size;
			if (at == f->pieces->size || f->pieces->data[at].name == p->name)
				continue;
			bool same = false;
			UX_TRY(is_same(f, p, f->pieces->data[at].name, &same, err));
			if (same)
				continue;
			struct dwarf_name t = {(uint32_t)at, order, p->name};
			if (!dwarf_name_vec_append(&f->dwarf_names, t))
				return ux_error_nomem(err);
		}
	}
	return UX_OK;
}

static int by_piece(const void *x, const void *y)
{
	const struct dwarf_name *a = x, *b = y;
	if (a->piece != b->piece)
		return a->piece < b->piece ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

/* Adds the name, unless it is like the piece's own name or a name that was added before (from
 * `first` on). */
static enum ux_code add_alternative(struct finder *f, size_t piece, size_t first, const char *name,
				    struct ux_error *err)
{
	struct ux_bytes text = text_of(name);
	if (f->ret->size - first == UX_ALTERNATIVES_MAX || text.size == 0 ||
	    ux_names_alike(text, text_of(f->pieces->data[piece].name)))
		return UX_OK;
	for (size_t i = first; i < f->ret->size; i++)
		if (ux_names_alike(text, text_of(f->ret->data[i].name)))
			return UX_OK;
	struct ux_alternative kept = {(uint32_t)piece, name};
	return ux_alternative_vec_append(f->ret, kept) ? UX_OK : ux_error_nomem(err);
}

static enum ux_code keep_symbols(struct finder *f, size_t piece, size_t first, struct ux_error *err)
{
	const struct ux_piece *p = &f->pieces->data[piece];
	size_t n = 0;
	const struct ux_code_symbol *at = ux_code_symbols_at(f->symbols, p->start, &n);
	for (size_t i = 0; i < n; i++) {
		bool no_memory = false;
		if (at[i].size != p->size || at[i].name == ux_no_name)
			continue;
		const char *name = ux_symbol_name(&at[i], f->arena, &no_memory);
		if (no_memory)
			return ux_arena_fail(f->arena, err);
		UX_TRY(add_alternative(f, piece, first, name, err));
	}
	return UX_OK;
}

enum ux_code ux_alternatives_find(const struct ux_collection *collection,
				  const struct ux_code_symbol_vec *symbols,
				  const struct ux_piece_vec *pieces, struct ux_arena *arena,
				  struct ux_alternative_vec *ret, struct ux_error *err)
{
	ux_cleanup(finder_deinit) struct finder f = {
		.symbols = symbols, .pieces = pieces, .arena = arena, .ret = ret};
	UX_TRY(find_dwarf_names(&f, collection, err));
	if (f.dwarf_names.size > 1)
		qsort(f.dwarf_names.data, f.dwarf_names.size, sizeof(*f.dwarf_names.data),
		      by_piece);
	size_t next = 0;
	for (size_t i = 0; i < pieces->size; i++) {
		size_t first = ret->size;
		UX_TRY(keep_symbols(&f, i, first, err));
		for (; next < f.dwarf_names.size && f.dwarf_names.data[next].piece == i; next++)
			UX_TRY(add_alternative(&f, i, first, f.dwarf_names.data[next].name, err));
	}
	return UX_OK;
}
