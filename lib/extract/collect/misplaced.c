/* SPDX-License-Identifier: Apache-2.0 */
/* Finds functions that a linker describes at the address of another one. */
#include "misplaced.h"

#include "elf_defs.h"
#include "function_name.h"
#include "hash.h"

enum {
	NAME_BYTES_MAX = 1 << 16,
	CHAINS_MIN = 1 << 10,
	NAME_HASHED = 256, /* bytes of a name that are hashed, so that long names cost no more */
};

static struct ux_bytes misplaced_name(const struct ux_code_symbol *s)
{
	return ux_bytes(s->name, s->name_size);
}

static uint64_t misplaced_hash(struct ux_bytes name)
{
	return ux_hash_bytes(ux_bytes(name.data, ux_min(name.size, (size_t)NAME_HASHED)));
}

/* Makes the index of exported linkage names. */
static bool symbol_names_build(struct ux_symbol_names *names,
			       const struct ux_code_symbol_vec *symbols)
{
	size_t n = ux_min(symbols->size, (size_t)UINT32_MAX - 1), cap = CHAINS_MIN;
	while (cap < n)
		cap *= 2;
	names->chains = calloc(cap, sizeof(*names->chains));
	if (!names->chains)
		return false;
	names->cap = cap;
	for (size_t i = 0; i < n; i++) {
		const struct ux_code_symbol *s = &symbols->data[i];
		struct ux_bytes name = misplaced_name(s);
		if (s->bind == STB_LOCAL || !ux_name_is_mangled(name))
			continue;
		uint64_t hash = misplaced_hash(name);
		uint32_t *chain = &names->chains[hash & (cap - 1)];
		struct ux_symbol_hash entry = {(uint32_t)hash, (uint32_t)i, *chain};
		if (!ux_symbol_hash_vec_append(&names->hashes, entry))
			return false;
		*chain = (uint32_t)names->hashes.size;
	}
	return true;
}

/* Makes the index if it is not made yet. */
static bool symbol_names_need(struct ux_symbol_names *names,
			      const struct ux_code_symbol_vec *symbols)
{
	pthread_mutex_lock(&names->lock);
	bool ok = names->chains || symbol_names_build(names, symbols);
	pthread_mutex_unlock(&names->lock);
	return ok;
}

/* Returns whether an exported symbol has that name. */
static bool symbol_names_has(const struct ux_symbol_names *names,
			     const struct ux_code_symbol_vec *symbols, struct ux_bytes name)
{
	uint64_t hash = misplaced_hash(name);
	for (uint32_t at = names->chains[hash & (names->cap - 1)]; at != 0;) {
		const struct ux_symbol_hash *h = &names->hashes.data[at - 1];
		if (h->hash == (uint32_t)hash &&
		    ux_bytes_eq(misplaced_name(&symbols->data[h->index]), name))
			return true;
		at = h->next;
	}
	return false;
}

void ux_symbol_names_deinit(struct ux_symbol_names *names)
{
	ux_symbol_hash_vec_deinit(&names->hashes);
	free(names->chains);
	pthread_mutex_destroy(&names->lock);
}

/* Returns true when one of the n symbols that begin with the function may be its own: the name, a
 * clone of it, or another variant of a constructor or destructor. */
static bool misplaced_has_own_symbol(struct ux_bytes name, const struct ux_code_symbol *symbols,
				     size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct ux_bytes symbol = misplaced_name(&symbols[i]);
		bool clone = symbol.size > name.size && symbol.data[name.size] == '.';
		struct ux_bytes plain = clone ? ux_bytes(symbol.data, name.size) : symbol;
		if (ux_bytes_eq(plain, name) || ux_names_structor(plain, name) > 0)
			return true;
	}
	return false;
}

/* Returns true when a symbol with a size covers the function's start. */
static bool misplaced_is_covered(const struct ux_piece *p, const struct ux_code_symbol_vec *symbols,
				 size_t first, size_t n)
{
	if (n > 0)
		return symbols->data[first].size > 0 && !symbols->data[first].untyped;
	const struct ux_code_symbol *before = first > 0 ? &symbols->data[first - 1] : NULL;
	return before && !before->untyped && p->start - before->start < before->size;
}

bool ux_piece_is_misplaced(const struct ux_piece *p, const struct ux_code_symbol_vec *symbols,
			   size_t first, size_t n, struct ux_symbol_names *names, bool *ret_nomem)
{
	if (!p->name || p->name[0] != '_' || p->own > 0)
		return false;
	struct ux_bytes name = ux_bytes(p->name, strnlen(p->name, NAME_BYTES_MAX));
	if (!ux_name_is_mangled(name) || !misplaced_is_covered(p, symbols, first, n) ||
	    misplaced_has_own_symbol(name, &symbols->data[first], n))
		return false;
	if (!symbol_names_need(names, symbols)) {
		*ret_nomem = true;
		return false;
	}
	return symbol_names_has(names, symbols, name);
}

enum ux_code ux_misplaced_drop(struct ux_collection *collection,
			       const struct ux_code_symbol_vec *symbols, struct ux_error *err)
{
	ux_cleanup(ux_symbol_names_deinit) struct ux_symbol_names names = UX_SYMBOL_NAMES_INIT;
	bool no_memory = false;
	for (size_t u = 0; u < collection->n_units; u++) {
		struct ux_unit_pieces *unit = &collection->units[u];
		uint32_t kept = 0;
		for (uint32_t i = 0; i < unit->n_functions; i++) {
			const struct ux_piece *p = &unit->functions[i];
			size_t first = ux_code_symbols_index_from(symbols, p->start);
			size_t n = ux_code_symbols_count(symbols, first, p->start);
			if (!ux_piece_is_misplaced(p, symbols, first, n, &names, &no_memory))
				unit->functions[kept++] = *p;
		}
		unit->n_functions = kept;
	}
	return no_memory ? ux_error_nomem(err) : UX_OK;
}
