/* SPDX-License-Identifier: Apache-2.0 */
/* Source lines of the running kernel and of its modules, from their files. */
#include "kernel_lines.h"

#include "debug_file.h"
#include "dsym.h"
#include "error.h"
#include "file.h"
#include "kernel_files.h"

static struct ux_kernel_loaded kernel_part_loaded(struct ux_symbols_cache *cache,
						  const struct ux_kernel *k,
						  const struct ux_kernel_part *part)
{
	return (struct ux_kernel_loaded){.root = ux_symbols_cache_kernel_root(cache),
					 .module = part->name,
					 .start = part->start,
					 .kallsyms = &k->symbols};
}

/* Fetches a debug file through the callback of the caller. *ret is NULL when there is none. */
static enum ux_code kernel_debug_file_find(struct ux_symbols_cache *cache, const char *build_id,
					   struct ux_file_symbols **ret, struct ux_error *lost,
					   struct ux_error *err)
{
	const struct ux_symbol_search *search = ux_symbols_cache_search(cache);
	ux_cleanup(ux_free_ptr) char *path = NULL;
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	struct ux_error why = UX_ERROR_INIT;
	struct ux_id id = {0};
	const char *bad = "is no file";
	if (!search->find || ux_id_parse(ux_bytes_cstr(build_id), &id, NULL) != UX_OK)
		return UX_OK;
	enum ux_code code = search->find(search->ctx, build_id, &path, &why);
	if (code == UX_ENOMEM)
		return ux_error_nomem(err);
	if (code == UX_OK && (!path || !ux_debug_map_id(path, &id, &file, &bad)))
		code = ux_error_set(&why, UX_ECORRUPT, "what was found for %.50s %s", build_id,
				    bad);
	if (code != UX_OK && code != UX_ENOTFOUND)
		*lost = why;
	if (code != UX_OK)
		return UX_OK;
	*lost = (struct ux_error)UX_ERROR_INIT;
	struct ux_symbol_input in = {.file = file.bytes, .path = path};
	return ux_symbols_cache_input(cache, &file, &in, ret, err);
}

/* Loads the symbols of a part. *ret is NULL when there are none; *lost then has the reason. */
static enum ux_code kernel_part_find_symbols(struct ux_symbols_cache *cache,
					     const struct ux_kernel *k,
					     const struct ux_kernel_part *part,
					     struct ux_file_symbols **ret, struct ux_error *lost,
					     struct ux_error *err)
{
	ux_cleanup(ux_kernel_files_close) struct ux_kernel_files files = {0};
	struct ux_kernel_dirs dirs = {.root = ux_symbols_cache_kernel_root(cache),
				      .release = k->release,
				      .debug = ux_symbols_cache_kernel_dirs(cache)};
	*ret = ux_symbols_cache_find(cache, part->build_id);
	if (*ret)
		return UX_OK;
	UX_TRY(ux_kernel_files_find(&dirs, part->name, part->build_id, &files, err));
	*lost = files.lost;
	if (!files.path)
		return kernel_debug_file_find(cache, part->build_id, ret, lost, err);
	struct ux_symbol_input in = {.file = files.file.bytes,
				     .path = files.path,
				     .debug = files.debug.bytes,
				     .debug_path = files.debug_path};
	UX_TRY(ux_symbols_cache_input(cache, &files.file, &in, ret, err));
	if ((*ret)->has_dwarf)
		*lost = (struct ux_error)UX_ERROR_INIT;
	else if ((*ret)->lost.code != UX_OK)
		*lost = (*ret)->lost;
	return UX_OK;
}

static enum ux_code kernel_part_load(struct ux_symbols_cache *cache, const struct ux_kernel *k,
				     const struct ux_kernel_part *part, struct ux_kernel_code **ret,
				     struct ux_error *err)
{
	struct ux_file_symbols *symbols = NULL;
	struct ux_error lost = UX_ERROR_INIT;
	struct ux_kernel_loaded loaded = kernel_part_loaded(cache, k, part);
	/* No file has the code that BPF, ftrace and kprobes generate. */
	if (!part->is_file)
		ux_error_set(&lost, UX_ENOTFOUND, "made while the kernel runs");
	else
		UX_TRY(kernel_part_find_symbols(cache, k, part, &symbols, &lost, err));
	UX_TRY(ux_kernel_code_create(symbols, &loaded, ret, err));
	if ((*ret)->lost.code == UX_OK)
		(*ret)->lost = lost;
	return UX_OK;
}

enum ux_code ux_kernel_code_get(struct ux_symbols_cache *cache, struct ux_kernel *k,
				const struct ux_kernel_part *part,
				const struct ux_kernel_code **ret, struct ux_error *err)
{
	struct ux_kernel_code *_Atomic *slot = &k->code[part - k->parts.data];
	/* Acquire pairs with the release with which another thread published it. */
	struct ux_kernel_code *known = atomic_load_explicit(slot, memory_order_acquire);
	struct ux_kernel_code *made = NULL;
	if (!known) {
		UX_TRY(kernel_part_load(cache, k, part, &made, err));
		if (atomic_compare_exchange_strong_explicit(
			    slot, &known, made, memory_order_acq_rel, memory_order_acquire))
			known = made;
		else
			ux_kernel_code_free(made); /* another thread was first */
	}
	*ret = known;
	return UX_OK;
}

enum ux_code ux_kernel_bpf_get(struct ux_kernel *k, const struct ux_bpf_programs **ret,
			       struct ux_error *err)
{
	struct ux_bpf_programs *known = atomic_load_explicit(&k->bpf, memory_order_acquire);
	struct ux_bpf_programs *made = NULL;
	if (!known) {
		UX_TRY(ux_bpf_programs_read(&made, err));
		if (atomic_compare_exchange_strong_explicit(
			    &k->bpf, &known, made, memory_order_acq_rel, memory_order_acquire))
			known = made;
		else
			ux_bpf_programs_free(made); /* another thread was first */
	}
	*ret = known;
	return UX_OK;
}

enum ux_code ux_kernel_code_open(struct ux_symbols_cache *cache, struct ux_kernel *k,
				 const char *path, struct ux_kernel_code **ret,
				 struct ux_error *err)
{
	ux_cleanup(ux_file_unmap) struct ux_mapping file = {0};
	ux_cleanup(ux_file_symbols_guard) struct ux_file_symbols *symbols = NULL;
	const struct ux_kernel_part *kernel = ux_kernel_part_find(k, "");
	struct ux_kernel_loaded loaded = kernel_part_loaded(cache, k, kernel);
	UX_TRY(ux_dsym_map(path, UX_BYTES_NONE, &file, err));
	struct ux_symbol_input in = {.file = file.bytes, .path = path};
	UX_TRY(ux_symbols_cache_input(cache, &file, &in, &symbols, err));
	if (ux_file_symbols_is_empty(symbols)) {
		if (err && err->code == UX_OK)
			*err = symbols->why;
		return symbols->why.code;
	}
	if (strcmp(kernel->build_id, symbols->build_id) != 0)
		return ux_error_set(err, UX_ECONFLICT, "is %.50s; the running kernel is %.50s",
				    *symbols->build_id ? symbols->build_id : "of no build ID",
				    *kernel->build_id ? kernel->build_id : "of no build ID");
	return ux_kernel_code_create(ux_take(&symbols), &loaded, ret, err);
}
