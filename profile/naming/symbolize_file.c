/* SPDX-License-Identifier: Apache-2.0 */
/* Names by files of this machine, and by its vDSO. */
#include "symbolize_batch.h"

#include "address_filter.h"
#include "file.h"
#include "order.h"
#include "packed_file.h"
#include "process.h"
#include "profile_file.h"
#include "profile_kernel.h"

size_t ux_symbolize_offsets(struct ux_symbolize_batch *b, uint32_t module,
			    const struct ux_file_symbols *s)
{
	struct ux_profile_module *m = &b->profile->modules.data[module];
	size_t lost = 0;
	uint64_t base = s->n_loads > 0 ? UINT64_MAX : 0;
	for (size_t i = 0; i < s->n_loads; i++)
		base = ux_min(base, s->loads[i].pc);
	m->base = base;
	m->has_base = s->n_loads > 0;
	for (size_t i = 0; i < b->n; i++) {
		struct ux_profile_location *l = &b->profile->locations.data[b->locations[i]];
		uint64_t pc = 0;
		if (l->kind == UX_PROFILE_RELATIVE) {
			l->kind = UX_PROFILE_PC;
			l->address += base;
		} else if (l->kind == UX_PROFILE_OFFSET && ux_file_symbols_pc(s, l->address, &pc)) {
			l->kind = UX_PROFILE_PC;
			l->address = pc;
		}
		if (l->kind == UX_PROFILE_PC)
			ux_symbolize_add_pc(b, b->locations[i], l->address);
		lost += l->kind == UX_PROFILE_OFFSET;
	}
	return lost;
}

/*
 * Sorts the pcs. Otherwise each use would sort them, and the locations that the answers belong to
 * could not be prefetched. Pcs that are too far apart are left unsorted.
 */
static enum ux_code symbolize_sort(struct ux_symbolize_batch *b)
{
	ux_cleanup(ux_order_deinit) struct ux_order order = {0};
	uint64_t low = UINT64_MAX, high = 0;
	if (b->n_pcs == 0)
		return UX_OK;
	for (size_t i = 0; i < b->n_pcs; i++) {
		low = ux_min(low, b->pcs[i]);
		high = ux_max(high, b->pcs[i]);
	}
	if (!ux_order_init(&order, b->n_pcs))
		return ux_error_nomem(b->err);
	if (high - low > ux_order_limit(&order))
		return UX_OK;
	for (size_t i = 0; i < b->n_pcs; i++)
		ux_order_add(&order, b->pcs[i] - low, i);
	if (!ux_order_sort(&order))
		return ux_error_nomem(b->err);
	uint32_t *owners = malloc(b->n_pcs * sizeof(*owners));
	if (!owners)
		return ux_error_nomem(b->err);
	memcpy(owners, b->owners, b->n_pcs * sizeof(*owners));
	for (size_t i = 0; i < b->n_pcs; i++) {
		b->pcs[i] = ux_order_address(&order, i) + low;
		b->owners[i] = owners[ux_order_place(&order, i)];
	}
	free(owners);
	return UX_OK;
}

/*
 * Extracts only the symbols of the batch's addresses, which is faster than all and takes less
 * memory: a recording has few addresses of a file. gsym_cache: all symbols are in the cache if
 * earlier commands have extracted parts of the file often enough.
 */
enum ux_code ux_symbolize_extract(struct ux_symbolize_batch *b, const char *path,
				  const struct ux_profile_sources *sources, bool gsym_cache,
				  struct ux_file_symbols **ret, struct ux_error *err)
{
	const struct ux_symbol_search *search =
		ux_symbols_cache_search(ux_process_cache_symbols(sources->cache));
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_address_filter_deinit) struct ux_address_filter filter = {0};
	struct ux_symbol_input in = {.path = path, .only = &filter, .no_dwarf = sources->no_dwarf};
	UX_TRY(ux_file_map(path, &file, err));
	in.mapped = !ux_packed_is(file.bytes); /* the unpacked bytes are not mapped from a file */
	UX_TRY(ux_packed_open(&file, err));
	in.file = file.bytes;
	in.cacheable = gsym_cache ? &file : NULL;
	if (!ux_address_filter_init(&filter, b->pcs, b->n_pcs))
		return ux_error_nomem(err);
	UX_TRY(ux_file_symbols_create(file.bytes, ret, err));
	return ux_file_symbols_extract(*ret, &in, search, err);
}

enum ux_code ux_symbolize_with(struct ux_symbolize_batch *b, uint32_t module,
			       struct ux_file_symbols *s, const char *path)
{
	struct ux_profile_module *m = &b->profile->modules.data[module];
	struct ux_error why = UX_ERROR_INIT;
	if (ux_file_symbols_is_empty(s) && s->why.code != UX_OK)
		return ux_symbolize_reason(b, module, &s->why);
	UX_TRY(ux_profile_string(b->profile, ux_bytes_cstr(path), &m->source, b->err));
	struct ux_gsym_batch batch = {
		.pcs = b->pcs, .n = b->n_pcs, .fn = ux_symbolize_take, .ctx = b};
	b->has_starts = b->profile->keep_starts;
	enum ux_code code =
		ux_file_symbols_is_empty(s) ? UX_OK : ux_gsym_batch(&s->gsym, &batch, &why);
	b->has_starts = false;
	if (b->code != UX_OK)
		return b->code;
	if (code == UX_ECORRUPT && ux_file_symbols_drop_cached(s)) {
		ux_symbolize_forget_texts(b);
		return code;
	}
	if (code == UX_ECORRUPT)
		return ux_symbolize_reason(b, module, &why);
	if (code != UX_OK)
		return ux_error_set(b->err, code, "%s", why.text);
	return s->lost.code != UX_OK ? ux_symbolize_reason(b, module, &s->lost) : UX_OK;
}

/* Names the batch's addresses with symbols extracted from a file, now or by an earlier command. */
static enum ux_code symbolize_by_path(struct ux_symbolize_batch *b, uint32_t module,
				      const char *path, const struct ux_profile_sources *sources,
				      bool gsym_cache)
{
	ux_cleanup(ux_file_symbols_guard) struct ux_file_symbols *s = NULL;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code = ux_symbolize_extract(b, path, sources, gsym_cache, &s, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(b->err);
	return code == UX_OK ? ux_symbolize_with(b, module, s, path)
			     : ux_symbolize_reason(b, module, &why);
}

enum ux_code ux_symbolize_file(struct ux_symbolize_batch *b, uint32_t module,
			       const struct ux_profile_sources *sources)
{
	struct ux_profile_module *m = &b->profile->modules.data[module];
	ux_cleanup(ux_free_ptr) char *path = NULL;
	ux_cleanup(ux_file_symbols_guard) struct ux_file_symbols *head = NULL;
	struct ux_error why = UX_ERROR_INIT;
	enum ux_code code =
		ux_profile_module_find(sources, b->profile, m, UX_SYMBOLS_HEAD, &path, &head, &why);
	if (code == UX_ENOTFOUND)
		return ux_symbolize_reason(b, module, &why);
	if (code != UX_OK)
		return ux_error_set(b->err, code, "%s", why.text);
	struct ux_id id;
	if (m->id.size == 0 && ux_id_parse(ux_bytes_cstr(head->id), &id, NULL) == UX_OK)
		m->id = id;
	if (ux_symbolize_offsets(b, module, head) > 0 && !ux_file_symbols_has_content(head)) {
		(void)ux_error_set(&why, UX_ENOTFOUND,
				   "file offsets need the executable itself, not %s", path);
		UX_TRY(ux_symbolize_reason(b, module, &why));
	}
	UX_TRY(symbolize_sort(b));
	code = symbolize_by_path(b, module, path, sources, sources->gsym_cache);
	if (code == UX_ECORRUPT)
		code = symbolize_by_path(b, module, path, sources, /* gsym_cache= */ false);
	return code;
}

enum ux_code ux_symbolize_vdso(struct ux_symbolize_batch *b, uint32_t module,
			       const struct ux_profile_sources *sources)
{
	struct ux_profile_module *m = &b->profile->modules.data[module];
	ux_cleanup(ux_file_symbols_guard) struct ux_file_symbols *s = NULL;
	struct ux_error why = UX_ERROR_INIT;
	if (sources->no_local || !ux_profile_is_vdso(b->profile, m))
		return ux_symbolize_file(b, module, sources);
	enum ux_code code = ux_profile_own_vdso(b->profile, module, sources, &s, &why);
	if (code == UX_OK) {
		(void)ux_symbolize_offsets(b, module, s);
		return ux_symbolize_with(b, module, s, "the vDSO of this machine");
	}
	if (code != UX_ENOTFOUND)
		return ux_error_set(b->err, code, "%s", why.text);
	UX_TRY(ux_symbolize_file(b, module, sources));
	return m->source == 0 ? ux_symbolize_reason(b, module, &why) : UX_OK;
}
