/* SPDX-License-Identifier: Apache-2.0 */
/* The abbreviation tables of a module, each parsed once for all units that use it. */
#include "dwarf_abbrev.h"

#include <stdatomic.h>

/* The result of parsing a table. */
struct ux_dwarf_parsed_table {
	struct ux_dwarf_abbrevs abbrevs;
	enum ux_code code;
	struct ux_error err;
};

/* The table that a unit uses, and the number of that unit. */
struct table_use {
	struct ux_dwarf_table bounds;
	size_t index;
};

static int layout_cmp(struct ux_dwarf_layout a, struct ux_dwarf_layout b)
{
	if (a.addr_size != b.addr_size)
		return a.addr_size < b.addr_size ? -1 : 1;
	if (a.offset_size != b.offset_size)
		return a.offset_size < b.offset_size ? -1 : 1;
	return (a.ref_addr_size > b.ref_addr_size) - (a.ref_addr_size < b.ref_addr_size);
}

static int table_use_cmp(const void *a, const void *b)
{
	const struct table_use *x = a, *y = b;
	if (x->bounds.off != y->bounds.off)
		return x->bounds.off < y->bounds.off ? -1 : 1;
	return layout_cmp(x->bounds.layout, y->bounds.layout);
}

/* Makes the list of distinct tables from the sorted uses; returns their number. */
static size_t abbrev_cache_unite(const struct table_use *uses, size_t n,
				 struct ux_dwarf_cached_table *tables, uint32_t *ret_index)
{
	size_t count = 0;
	for (size_t i = 0; i < n; i++) {
		if (i == 0 || table_use_cmp(&uses[i - 1], &uses[i]) != 0)
			tables[count++].bounds = uses[i].bounds;
		tables[count - 1].users++;
		ret_index[uses[i].index] = (uint32_t)(count - 1);
	}
	return count;
}

/* Each table ends where the next one at another offset begins, the last one at `end`. */
static void abbrev_cache_set_ends(struct ux_dwarf_cached_table *tables, size_t count, uint64_t end)
{
	uint64_t next = end;
	for (size_t i = count; i-- > 0;) {
		if (i + 1 < count && tables[i + 1].bounds.off != tables[i].bounds.off)
			next = tables[i + 1].bounds.off;
		tables[i].bounds.end = ux_max(next, tables[i].bounds.off);
	}
}

enum ux_code ux_dwarf_abbrev_cache_create(const struct ux_dwarf_sections *sections,
					  const struct ux_dwarf_table *tables, size_t n,
					  uint32_t *ret_index, struct ux_dwarf_abbrev_cache **ret,
					  struct ux_error *err)
{
	struct ux_dwarf_abbrev_cache *cache = calloc(1, sizeof(*cache));
	ux_cleanup(ux_free_ptr) struct table_use *uses = calloc(n + 1, sizeof(*uses));
	if (cache)
		cache->tables = calloc(n + 1, sizeof(*cache->tables));
	if (!cache || !uses || !cache->tables) {
		ux_dwarf_abbrev_cache_destroy(cache);
		return ux_error_nomem(err);
	}
	bool ascending = true;
	for (size_t i = 0; i < n; i++) {
		uses[i] = (struct table_use){tables[i], i};
		ascending &= i == 0 || table_use_cmp(&uses[i - 1], &uses[i]) <= 0;
	}
	if (!ascending)
		qsort(uses, n, sizeof(*uses), table_use_cmp);
	cache->n_tables = abbrev_cache_unite(uses, n, cache->tables, ret_index);
	abbrev_cache_set_ends(cache->tables, cache->n_tables, sections->data[UX_DWARF_ABBREV].size);
	*ret = cache;
	return UX_OK;
}

static void cached_table_destroy(struct ux_dwarf_parsed_table *parsed)
{
	if (!parsed)
		return;
	ux_dwarf_abbrevs_free(&parsed->abbrevs);
	free(parsed);
}

struct ux_dwarf_abbrev_cache *ux_dwarf_abbrev_cache_destroy(struct ux_dwarf_abbrev_cache *cache)
{
	if (!cache)
		return NULL;
	for (size_t i = 0; i < cache->n_tables; i++)
		cached_table_destroy(
			atomic_load_explicit(&cache->tables[i].parsed, memory_order_relaxed));
	free(cache->tables);
	free(cache);
	return NULL;
}

/*
 * Parses a table and publishes the result. When two threads do so at the same time, the first
 * result is used.
 */
static enum ux_code cached_table_parse(struct ux_dwarf_cached_table *table,
				       const struct ux_dwarf_sections *sections,
				       struct ux_dwarf_parsed_table **ret, struct ux_error *err)
{
	struct ux_dwarf_parsed_table *fresh = calloc(1, sizeof(*fresh));
	if (!fresh)
		return ux_error_nomem(err);
	fresh->err = (struct ux_error)UX_ERROR_INIT;
	fresh->code =
		ux_dwarf_abbrevs_parse(sections, &table->bounds, &fresh->abbrevs, &fresh->err);
	if (fresh->code == UX_ENOMEM) {
		free(fresh);
		return ux_error_nomem(err);
	}
	struct ux_dwarf_parsed_table *known = NULL;
	if (!atomic_compare_exchange_strong_explicit(&table->parsed, &known, fresh,
						     memory_order_acq_rel, memory_order_acquire))
		cached_table_destroy(fresh);
	*ret = known ? known : fresh;
	return UX_OK;
}

enum ux_code ux_dwarf_abbrev_cache_get(struct ux_dwarf_abbrev_cache *cache,
				       const struct ux_dwarf_sections *sections, uint32_t table,
				       struct ux_dwarf_abbrev_buffers *buffers,
				       struct ux_dwarf_abbrevs *ret, struct ux_error *err)
{
	assert(table < cache->n_tables);
	struct ux_dwarf_cached_table *slot = &cache->tables[table];
	struct ux_dwarf_parsed_table *parsed =
		atomic_load_explicit(&slot->parsed, memory_order_acquire);
	if (!parsed && buffers && slot->users == 1)
		return ux_dwarf_abbrevs_parse_into(sections, &slot->bounds, buffers, ret, err);
	if (!parsed)
		UX_TRY(cached_table_parse(slot, sections, &parsed, err));
	if (parsed->code == UX_OK)
		*ret = parsed->abbrevs;
	else if (err && err->code == UX_OK)
		*err = parsed->err;
	return parsed->code;
}
