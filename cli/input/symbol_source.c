/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of a local file, which is a GSYM file or a binary that is extracted in memory. */
#include "symbol_source.h"

#include "clock.h"
#include "core_file.h"
#include "cubin.h"
#include "dsym.h"
#include "elf_file.h"
#include "file_kind.h"

enum {
	/* Bytes of the index of records that are looked up repeatedly: enough for any one giant
	 * function, small compared with an extraction. */
	INDEX_MAX = 64 << 20,
};

static enum ux_code symbol_source_write_gsym(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_out *out = ctx;
	ux_out_put(out, bytes.data, bytes.size);
	return ux_out_status(out, err);
}

static void symbol_source_close_gsym(struct ux_symbol_source *s)
{
	ux_gsym_index_free(&s->gsym);
	s->gsym = (struct ux_gsym){0};
}

/* Opens the GSYM with an index that grows. */
static enum ux_code symbol_source_open_gsym(struct ux_symbol_source *s, struct ux_bytes gsym,
					    struct ux_error *err)
{
	UX_TRY(ux_gsym_open(&s->gsym, gsym, err));
	s->gsym.columns = s->columns.data;
	return ux_gsym_index_open(&s->gsym, INDEX_MAX, err);
}

bool ux_symbol_source_drop_cached(struct ux_symbol_source *s)
{
	if (!s->cached.bytes.data)
		return false;
	ux_extract_cache_drop(&s->cache);
	symbol_source_close_gsym(s);
	ux_file_unmap(&s->cached);
	s->whole = false;
	return true;
}

/* Opens the cached GSYM. Damage inside of it is not checked here; lookups detect it. */
static bool symbol_source_open_cached(struct ux_symbol_source *s)
{
	if (!ux_extract_cache_find(&s->cache, &s->cached))
		return false;
	if (symbol_source_open_gsym(s, s->cached.bytes, NULL) == UX_OK && s->gsym.n_functions > 0)
		return s->whole = true;
	(void)ux_symbol_source_drop_cached(s);
	return false;
}

static void symbol_source_inputs(const struct ux_symbol_source *s,
				 const struct ux_mapping *ret[UX_EXTRACT_CACHE_INPUTS])
{
	ret[0] = &s->file;
	ret[1] = &s->files.debug.file;
	ret[2] = &s->files.supplementary;
}

/* Only ELF files are cached, because the key does not include the files of split units or the
 * object files of a Mach-O file. */
static void symbol_source_init_cache(struct ux_symbol_source *s)
{
	char words[32];
	const struct ux_mapping *inputs[UX_EXTRACT_CACHE_INPUTS];
	symbol_source_inputs(s, inputs);
	if (s->options.columns || !ux_elf_is(s->file.bytes) || s->options.gpu ||
	    ux_cubin_is(s->file.bytes))
		return;
	snprintf(words, sizeof(words), "%c%x", s->options.alternatives ? 'a' : 'n',
		 s->options.without);
	ux_extract_cache_init(&s->cache, inputs, words);
}

/* Extracts the file, or a part of it if options.filter is set. */
static enum ux_code symbol_source_extract(struct ux_symbol_source *s, struct ux_error *err)
{
	symbol_source_close_gsym(s);
	ux_out_deinit(&s->built);
	UX_TRY(ux_extract(s->file.bytes, s->files.debug.file.bytes, &s->options,
			  symbol_source_write_gsym, &s->built, &s->stats, err));
	if (s->built.size == 0) /* the file has nothing at these addresses */
		return UX_OK;
	return symbol_source_open_gsym(s, ux_out_bytes(&s->built), err);
}

static enum ux_code symbol_source_extract_whole(struct ux_symbol_source *s, struct ux_error *err)
{
	const struct ux_extract_stats *stats = &s->stats;
	s->whole = true;
	UX_TRY(symbol_source_extract(s, err));
	/* The cache cannot store the warnings about a damaged file. */
	if (stats->split_units == 0 && stats->bad_units + stats->bad_go + stats->bad_relocs == 0)
		ux_extract_cache_write(&s->cache, ux_out_bytes(&s->built));
	return UX_OK;
}

/* Returns the processor time of this process, in ms. */
static uint64_t symbol_source_cpu_ms(void)
{
	return (uint64_t)ux_clock_read(CLOCK_PROCESS_CPUTIME_ID) / UX_CLOCK_NS_IN_MS;
}

/* Extracts the symbols of a few pcs. */
static enum ux_code symbol_source_extract_part(struct ux_symbol_source *s, const uint64_t *pcs,
					       size_t n, struct ux_error *err)
{
	uint64_t before = symbol_source_cpu_ms();
	ux_address_filter_deinit(&s->filter);
	if (!ux_address_filter_init(&s->filter, pcs, n))
		return ux_error_nomem(err);
	s->options.filter = &s->filter;
	enum ux_code code = symbol_source_extract(s, err);
	s->options.filter = NULL;
	uint64_t ms = symbol_source_cpu_ms() - before;
	s->has_part = true;
	s->parts_ms += ux_max(ms, (uint64_t)1);
	s->whole = code == UX_OK && !s->filter.narrowed;
	if (code == UX_OK && s->stats.split_units == 0)
		ux_extract_cache_add_cost(&s->cache, ms);
	return code;
}

bool ux_symbol_source_has(const struct ux_symbol_source *s, uint64_t pc)
{
	return s->whole || (s->has_part && ux_address_filter_covers(&s->filter, pc));
}

/* Returns whether it is faster to extract only the functions at n pcs than everything. */
static bool symbol_source_part_pays(const struct ux_symbol_source *s, size_t n)
{
	const struct ux_mapping *inputs[UX_EXTRACT_CACHE_INPUTS];
	symbol_source_inputs(s, inputs);
	uint64_t max = ux_extract_cache_max_ms(inputs);
	return n <= UX_SYMBOL_PART_PCS && (!s->has_part || s->parts_ms < max) &&
	       !ux_extract_cache_is_due(&s->cache, max);
}

static bool symbol_is_stub(const char *name)
{
	static const char plt[] = "@plt";
	size_t n = strlen(name), k = sizeof(plt) - 1;
	return n > k && memcmp(name + n - k, plt, k) == 0;
}

/*
 * Returns false for a function without lines, unless it is a stub. Some units have line rows
 * outside of the ranges that they declare (Ada, and code that a sanitizer adds). These rows belong
 * to the symbol at their address, and they are found only when all units are read.
 */
static bool symbol_source_has_line(const struct ux_symbol_source *s, uint64_t pc)
{
	struct ux_frame frames[UX_FRAMES_MAX];
	size_t n = 0;
	if (ux_gsym_lookup(&s->gsym, pc, frames, ux_countof(frames), &n, NULL) != UX_OK || n == 0)
		return true;
	return frames[0].base[0] != '\0' || symbol_is_stub(frames[0].function);
}

static bool symbol_source_all_have_lines(const struct ux_symbol_source *s, const uint64_t *pcs,
					 size_t n)
{
	for (size_t i = 0; i < n && !s->whole; i++)
		if (!symbol_source_has_line(s, pcs[i]))
			return false;
	return true;
}

enum ux_code ux_symbol_source_load(struct ux_symbol_source *s, const uint64_t *pcs, size_t n,
				   struct ux_error *err)
{
	size_t known = 0;
	while (known < n && ux_symbol_source_has(s, pcs[known]))
		known++;
	if (known == n || (!s->has_part && symbol_source_open_cached(s)))
		return UX_OK;
	/* If the partial extraction fails, the whole one may succeed, or return the reason. */
	if (symbol_source_part_pays(s, n) && symbol_source_extract_part(s, pcs, n, NULL) == UX_OK &&
	    symbol_source_all_have_lines(s, pcs, n))
		return UX_OK;
	return symbol_source_extract_whole(s, err);
}

/* Returns whether extraction can wait until ux_symbol_source_load() is called. This is possible
 * only for a valid ELF file. */
static bool symbol_source_is_lazy(const struct ux_symbol_source *s,
				  const struct ux_symbol_options *choice)
{
	ux_cleanup(ux_elf_close) struct ux_elf elf = {0};
	return choice->lazy && !choice->gpu && !ux_cubin_is(s->file.bytes) &&
	       ux_elf_is(s->file.bytes) && ux_elf_open(&elf, s->file.bytes, NULL) == UX_OK;
}

static enum ux_code symbol_source_prepare(struct ux_symbol_source *s, const char *path,
					  const struct ux_symbol_options *choice,
					  struct ux_error *err)
{
	s->path = strdup(path);
	if (!s->path)
		return ux_error_nomem(err);
	s->options = (struct ux_extract_options){
		.path = s->path,
		.arch = choice->arch,
		.gpu = choice->gpu,
		.alternatives = choice->alternatives,
		.without = choice->without,
		.mapped = !s->file.unpacked,
		.columns = choice->columns ? &s->columns : NULL,
	};
	/* A cubin needs no other files. For all other inputs missing files are not a failure;
	 * some names then stay unknown. */
	if (!choice->gpu && !ux_cubin_is(s->file.bytes))
		UX_TRY(ux_symbol_files_find(&s->files, &choice->finder, s->file.bytes, path, err));
	s->lost = s->files.lost;
	s->options.supplementary = s->files.supplementary.bytes;
	s->options.debug_path = s->files.debug.path;
	if (!choice->no_cache)
		symbol_source_init_cache(s);
	if (symbol_source_is_lazy(s, choice) || symbol_source_open_cached(s))
		return UX_OK;
	return symbol_source_extract_whole(s, err);
}

static enum ux_code symbol_source_check_kind(struct ux_bytes file, struct ux_error *err)
{
	if (ux_core_is(file))
		return ux_error_set(err, UX_EUNSUPPORTED, "is %s", ux_file_kind(file));
	if (ux_extract_supports(file))
		return UX_OK;
	const char *kind = ux_file_kind(file);
	if (kind)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "is %s; expected an ELF, a Mach-O or a GSYM file", kind);
	if (file.size < 4)
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "is %zu bytes long; expected an ELF, a Mach-O or a GSYM file",
				    file.size);
	return ux_error_set(
		err, UX_EUNSUPPORTED,
		"starts with %02x %02x %02x %02x; expected an ELF, a Mach-O or a GSYM file",
		file.data[0], file.data[1], file.data[2], file.data[3]);
}

enum ux_code ux_symbol_source_open(struct ux_symbol_source *s, const char *path,
				   const struct ux_symbol_options *choice, struct ux_error *err)
{
	UX_TRY(ux_dsym_map(path, UX_BYTES_NONE, &s->file, err));
	s->whole = ux_gsym_is(s->file.bytes);
	if (s->whole)
		return symbol_source_open_gsym(s, s->file.bytes, err);
	UX_TRY(symbol_source_check_kind(s->file.bytes, err));
	return symbol_source_prepare(s, path, choice, err);
}

void ux_symbol_source_close(struct ux_symbol_source *s)
{
	symbol_source_close_gsym(s);
	ux_column_vec_deinit(&s->columns);
	ux_out_deinit(&s->built);
	ux_address_filter_deinit(&s->filter);
	ux_symbol_files_close(&s->files);
	ux_extract_cache_deinit(&s->cache);
	free(s->path);
	ux_file_unmap(&s->cached);
	ux_file_unmap(&s->file);
	*s = (struct ux_symbol_source){0};
}
