/* SPDX-License-Identifier: Apache-2.0 */
/* From a path to a GSYM that can be asked. */
#include "symbol_source.h"

#include "cubin.h"
#include "dsym.h"
#include "elf_file.h"
#include "extract.h"
#include "symbol_cache.h"

static enum ux_code keep(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_out *out = ctx;
	ux_out_put(out, bytes.data, bytes.size);
	return ux_out_status(out, err);
}

/* The cache's GSYM, if it is whole: what else could be wrong with it, a lookup meets. */
static bool find_cached(struct ux_symbol_source *s, const struct ux_symbol_cache *cache)
{
	if (!ux_symbol_cache_find(cache, &s->cached))
		return false;
	if (ux_gsym_open(&s->gsym, s->cached.bytes, NULL) == UX_OK)
		return true;
	ux_file_unmap(&s->cached);
	return false;
}

/* Files of split units and objects beside a Mach-O file are no part of a cached GSYM's name. */
static enum ux_code build_or_find(struct ux_symbol_source *s,
				  const struct ux_mapping *const inputs[UX_SYMBOL_CACHE_INPUTS],
				  const struct ux_extract_options *options, struct ux_error *err)
{
	char words[32];
	struct ux_extract_stats stats = {0};
	ux_cleanup(ux_symbol_cache_deinit) struct ux_symbol_cache cache = {0};
	snprintf(words, sizeof(words), "%c%x", options->alternatives ? 'a' : 'n', options->without);
	if (ux_elf_is(s->file.bytes))
		ux_symbol_cache_init(&cache, inputs, words);
	if (find_cached(s, &cache))
		return UX_OK;
	UX_TRY(ux_extract(s->file.bytes, inputs[1]->bytes, options, keep, &s->built, &stats, err));
	if (stats.split_units == 0)
		ux_symbol_cache_keep(&cache, ux_out_bytes(&s->built));
	return UX_OK;
}

static enum ux_code build(struct ux_symbol_source *s, const char *path,
			  const struct ux_symbol_choice *choice, struct ux_error *err)
{
	ux_cleanup(ux_symbol_files_close) struct ux_symbol_files files = {0};
	struct ux_extract_options options = {
		.path = path,
		.arch = choice->arch,
		.alternatives = choice->alternatives,
		.without = choice->without,
	};
	struct ux_extract_stats stats = {0};
	options.gpu = choice->gpu;
	if (choice->gpu || ux_cubin_is(s->file.bytes)) /* which has its symbols in itself */
		return ux_extract(s->file.bytes, UX_BYTES_NONE, &options, keep, &s->built, &stats,
				  err);
	/* Without them some names are unknown, which is better than no answer. */
	UX_TRY(ux_symbol_files_find(&files, &choice->finder, s->file.bytes, path, err));
	s->lost = files.lost;
	options.supplementary = files.supplementary.bytes;
	options.debug_path = files.debug.path;
	const struct ux_mapping *inputs[UX_SYMBOL_CACHE_INPUTS] = {&s->file, &files.debug.file,
								   &files.supplementary};
	return build_or_find(s, inputs, &options, err);
}

static enum ux_code check_kind(struct ux_bytes file, struct ux_error *err)
{
	if (ux_extract_takes(file))
		return UX_OK;
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
				   const struct ux_symbol_choice *choice, struct ux_error *err)
{
	UX_TRY(ux_dsym_map(path, UX_BYTES_NONE, &s->file, err));
	if (ux_gsym_is(s->file.bytes))
		return ux_gsym_open(&s->gsym, s->file.bytes, err);
	UX_TRY(check_kind(s->file.bytes, err));
	UX_TRY(build(s, path, choice, err));
	return s->cached.bytes.data ? UX_OK : ux_gsym_open(&s->gsym, ux_out_bytes(&s->built), err);
}

void ux_symbol_source_close(struct ux_symbol_source *s)
{
	ux_out_deinit(&s->built);
	ux_file_unmap(&s->cached);
	ux_file_unmap(&s->file);
	*s = (struct ux_symbol_source){0};
}
