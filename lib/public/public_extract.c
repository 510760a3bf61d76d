/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions for extraction. */
#include "public.h"

#include "debug_file.h"
#include "dsym.h"
#include "elf_file.h"
#include "extract.h"
#include "macho_fat.h"

enum ux_code ux_opened_open(struct ux_opened *o, const struct ux_input *in, struct ux_error *err)
{
	struct ux_mapping map = {0};
	if (!in || (!in->path && !in->data && in->size > 0))
		return ux_error_set(err, UX_EINVAL, "no input; expected a path or bytes");
	if (in->path)
		UX_TRY(ux_dsym_map(in->path, UX_BYTES_NONE, &map, err));
	*o = (struct ux_opened){in->path ? map.bytes : ux_bytes(in->data, in->size), map};
	return UX_OK;
}

void ux_opened_close(struct ux_opened *o)
{
	ux_file_unmap(&o->map);
	*o = (struct ux_opened){0};
}

/* Sizes of the first version's structs. */
#define OPTS_MIN   (offsetof(struct ux_extract_opts, flags) + sizeof(uint32_t))
#define RESULT_MIN (offsetof(struct ux_extract_result, dwarf_version) + sizeof(uint32_t))

#define VERSIONS ((uint32_t)(UX_EXTRACT_GSYM_1 | UX_EXTRACT_GSYM_2))
#define FLAGS                                                                    \
	(VERSIONS | (uint32_t)(UX_EXTRACT_NO_DWARF | UX_EXTRACT_ALLOW_MISMATCH | \
			       UX_EXTRACT_ALTERNATIVES | UX_EXTRACT_FIND_DEBUG))

/* The files of one extraction. */
struct files {
	struct ux_opened debug;
	struct ux_opened given;  /* the supplementary file, if the options name one */
	struct ux_mapping found; /* the supplementary file, if it was found by the link */
	struct ux_debug_file searched;
};

static_assert((int)UX_SOURCE_COUNT <= (int)UX_SOURCES_MAX, "the header has room for all sources");

static void opened_files_close(struct files *f)
{
	ux_opened_close(&f->debug);
	ux_opened_close(&f->given);
	ux_file_unmap(&f->found);
	ux_debug_file_close(&f->searched);
}

static bool input_is_given(const struct ux_input *in)
{
	return in->path || in->data || in->size > 0;
}

/* Opens the debug file, which may be a dSYM bundle with several files. */
static enum ux_code opened_files_debug(struct ux_opened *o, const struct ux_input *in,
				       struct ux_bytes exe, struct ux_error *err)
{
	if (!in->path)
		return ux_opened_open(o, in, err);
	UX_TRY(ux_dsym_map(in->path, exe, &o->map, err));
	o->bytes = o->map.bytes;
	return UX_OK;
}

static enum ux_code opened_files_open(struct files *f, struct ux_bytes exe, const char *exe_path,
				      const struct ux_extract_opts *opts, struct ux_error *err)
{
	const char *from = input_is_given(&opts->debug) ? opts->debug.path : exe_path;
	UX_TRY(opened_files_debug(&f->debug, &opts->debug, exe, err));
	if (input_is_given(&opts->debug) && !ux_extract_supports(f->debug.bytes))
		return ux_error_set(err, UX_EUNSUPPORTED,
				    "debug file is neither an ELF nor a Mach-O file");
	if (!input_is_given(&opts->debug) && (opts->flags & UX_EXTRACT_FIND_DEBUG) != 0) {
		struct ux_debug_search search = {.dirs = opts->debug_dirs};
		UX_TRY(ux_debug_file_find(&f->searched, exe, exe_path, &search, err));
		f->debug.bytes = f->searched.file.bytes; /* unmapped with `searched` */
		from = f->searched.path ? f->searched.path : from;
	}
	if (input_is_given(&opts->supplementary))
		return ux_opened_open(&f->given, &opts->supplementary, err);
	/* Without the supplementary file some names are unknown, which is better than failing. */
	struct ux_bytes file = f->debug.bytes.size > 0 ? f->debug.bytes : exe;
	if (from && !(opts->flags & UX_EXTRACT_NO_DWARF) && ux_elf_is(file) &&
	    ux_supplementary_find(file, from, opts->debug_dirs, &f->found, NULL) != UX_OK)
		f->found = (struct ux_mapping){0};
	return UX_OK;
}

enum ux_code ux_public_extract(struct ux_bytes exe, const char *exe_path,
			       const struct ux_extract_opts *caller, ux_gsym_sink_fn *sink,
			       ux_gsym_write_at_fn *write_at, void *ctx,
			       struct ux_column_vec *columns, struct ux_extract_result *ret,
			       struct ux_error *err)
{
	ux_cleanup(opened_files_close) struct files files = {0};
	struct ux_extract_opts opts;
	struct ux_extract_stats stats = {0};
	UX_TRY(ux_sized_read(&opts, sizeof(opts), OPTS_MIN, caller, err));
	if ((opts.flags & ~FLAGS) != 0)
		return ux_error_set(err, UX_EINVAL, "unknown flag in 0x%" PRIx32, opts.flags);
	if ((opts.flags & VERSIONS) == VERSIONS)
		return ux_error_set(err, UX_EINVAL, "two versions of GSYM are requested");
	UX_TRY(opened_files_open(&files, exe, exe_path, &opts, err));
	struct ux_spill spill = {.folder = opts.spill};
	struct ux_extract_options how = {
		.threads = opts.threads,
		.memory = opts.memory,
		.spill = opts.spill ? &spill : NULL,
		.place = write_at,
		.path = ux_macho_any(exe) ? exe_path
					  : NULL, /* to find the dSYM bundle beside the file */
		.arch = opts.arch,
		.gpu = opts.gpu,
		.supplementary = files.given.bytes.size > 0 ? files.given.bytes : files.found.bytes,
		.gsym_version = (opts.flags & UX_EXTRACT_GSYM_1) != 0   ? 1
				: (opts.flags & UX_EXTRACT_GSYM_2) != 0 ? 2
									: 0,
		.alternatives = (opts.flags & UX_EXTRACT_ALTERNATIVES) != 0,
		.no_dwarf = (opts.flags & UX_EXTRACT_NO_DWARF) != 0,
		.allow_mismatch = (opts.flags & UX_EXTRACT_ALLOW_MISMATCH) != 0,
		.columns = columns,
	};
	UX_TRY(ux_extract(exe, files.debug.bytes, &how, sink, ctx, &stats, err));
	*ret = (struct ux_extract_result){
		.size = sizeof(*ret),
		.gsym_bytes = stats.gsym_bytes,
		.units = stats.units,
		.bad_units = stats.bad_units,
		.first_bad = stats.first_bad,
		.counts = stats.counts,
		.quality = stats.quality,
		.dwarf_version = stats.dwarf_version,
		.text_bytes = stats.text_bytes,
		.bad_sources = stats.bad_sources,
		.first_bad_source = stats.first_bad_source,
	};
	memcpy(ret->found, stats.found, sizeof(stats.found));
	return UX_OK;
}

/* Opens the input, extracts, fills the caller's result. */
static enum ux_code extract_input(const struct ux_input *in, const struct ux_extract_opts *opts,
				  ux_gsym_sink_fn *sink, ux_gsym_write_at_fn *write_at, void *ctx,
				  struct ux_extract_result *ret, struct ux_error *err)
{
	ux_cleanup(ux_opened_close) struct ux_opened exe = {0};
	struct ux_extract_result result;
	UX_TRY(ux_sized_check(ret, RESULT_MIN, err));
	UX_TRY(ux_opened_open(&exe, in, err));
	UX_TRY(ux_public_extract(exe.bytes, in->path, opts, sink, write_at, ctx,
				 /* columns= */ NULL, &result, err));
	ux_sized_write(ret, &result, sizeof(result));
	return UX_OK;
}

static enum ux_code extract_write_file(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	const struct ux_file_new *f = ctx;
	return ux_file_write(f->fd, bytes, err);
}

static enum ux_code extract_write_file_at(void *ctx, uint64_t off, struct ux_bytes bytes,
					  struct ux_error *err)
{
	const struct ux_file_new *f = ctx;
	return ux_file_write_at(f->fd, off, bytes, err);
}

enum ux_code ux_extract_to_path(const struct ux_input *exe, const char *path,
				const struct ux_extract_opts *opts, struct ux_extract_result *ret,
				struct ux_error *err)
{
	ux_cleanup(ux_file_new_deinit) struct ux_file_new f = UX_FILE_NEW_INIT;
	struct ux_extract_result result = {.size = sizeof(result)};
	UX_TRY(ux_sized_check(ret, RESULT_MIN, err));
	UX_TRY(ux_file_new_open(&f, path, err));
	UX_TRY(extract_input(exe, opts, extract_write_file, extract_write_file_at, &f, &result,
			     err));
	UX_TRY(ux_file_new_commit(&f, /* sync= */ false, err));
	ux_sized_write(ret, &result, sizeof(result));
	return UX_OK;
}

/* The function that receives the output. */
struct receiver {
	ux_write_fn *fn;
	void *ctx;
};

static enum ux_code extract_give(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	const struct receiver *r = ctx;
	enum ux_code code = r->fn(r->ctx, bytes.data, bytes.size);
	return code == UX_OK ? UX_OK
			     : ux_error_set(err, code, "the output function ended the extraction");
}

enum ux_code ux_extract_to_fn(const struct ux_input *exe, ux_write_fn *fn, void *ctx,
			      const struct ux_extract_opts *opts, struct ux_extract_result *ret,
			      struct ux_error *err)
{
	struct receiver receiver = {fn, ctx};
	return extract_input(exe, opts, extract_give, NULL, &receiver, ret, err);
}
