/* SPDX-License-Identifier: Apache-2.0 */
/* The public functions for lookups in a module. */
#include "unhex/module.h"

#include "extract.h"
#include "gsym_inspect.h"
#include "gsym_names.h"
#include "gsym_reader.h"
#include "id.h"
#include "macho_fat.h"
#include "out.h"
#include "public.h"

#define OPTS_MIN     (offsetof(struct ux_module_opts, flags) + sizeof(uint64_t))
#define FUNCTION_MIN (offsetof(struct ux_function, bytes) + sizeof(uint64_t))

struct ux_module {
	struct ux_opened
		file; /* the file, if it is a GSYM; closed after the extraction of any other file */
	struct ux_out built;          /* the GSYM of another file */
	struct ux_column_vec columns; /* columns of its files */
	struct ux_gsym gsym;          /* over `file` or `built` */
	struct ux_gsym_names names;
	char build_id[UX_ID_TEXT];
};

static_assert((int)UX_FRAMES_MAX == (int)UX_GSYM_DEPTH_MAX + 1,
	      "the public limit equals the internal one");

void ux_module_close(struct ux_module *m)
{
	if (!m)
		return;
	ux_gsym_names_deinit(&m->names);
	ux_gsym_index_free(&m->gsym);
	ux_opened_close(&m->file);
	ux_out_deinit(&m->built);
	ux_column_vec_deinit(&m->columns);
	free(m);
}

static void module_guard(struct ux_module **m)
{
	ux_module_close(*m);
}

static enum ux_code module_sink(void *ctx, struct ux_bytes bytes, struct ux_error *err)
{
	struct ux_out *out = ctx;
	ux_out_put(out, bytes.data, bytes.size);
	return ux_out_status(out, err);
}

/* Opens the GSYM: the file itself, or the result of extracting it. */
static enum ux_code module_open_gsym(struct ux_module *m, const char *path,
				     const struct ux_module_opts *opts, struct ux_error *err)
{
	bool columns = (opts->flags & UX_MODULE_COLUMNS) != 0;
	struct ux_extract_result result;
	if (ux_gsym_is(m->file.bytes))
		return ux_gsym_open(&m->gsym, m->file.bytes, err);
	if (!ux_extract_supports(m->file.bytes))
		return ux_error_set(err, UX_EUNSUPPORTED, "not an ELF, Mach-O or GSYM file");
	UX_TRY(ux_public_extract(m->file.bytes, path, opts->extract, module_sink, NULL, &m->built,
				 columns ? &m->columns : NULL, &result, err));
	ux_opened_close(&m->file);
	UX_TRY(ux_gsym_open(&m->gsym, ux_out_bytes(&m->built), err));
	m->gsym.columns = m->columns.data;
	return UX_OK;
}

enum ux_code ux_module_open(const struct ux_input *in, const struct ux_module_opts *caller,
			    struct ux_module **ret, struct ux_error *err)
{
	struct ux_module_opts opts;
	struct ux_id id = {0};
	UX_TRY(ux_sized_read(&opts, sizeof(opts), OPTS_MIN, caller, err));
	if ((opts.flags & ~(uint64_t)(UX_MODULE_INDEX | UX_MODULE_NAMES | UX_MODULE_COLUMNS)) != 0)
		return ux_error_set(err, UX_EINVAL, "unknown flag in 0x%" PRIx64, opts.flags);
	ux_cleanup(module_guard) struct ux_module *m = calloc(1, sizeof(*m));
	if (!m)
		return ux_error_nomem(err);
	UX_TRY(ux_opened_open(&m->file, in, err));
	enum ux_id_type type = ux_macho_any(m->file.bytes) ? UX_ID_UUID : UX_ID_GNU;
	UX_TRY(module_open_gsym(m, in->path, &opts, err));
	if ((opts.flags & UX_MODULE_INDEX) != 0)
		UX_TRY(ux_gsym_index_build(&m->gsym, err));
	if ((opts.flags & UX_MODULE_NAMES) != 0)
		UX_TRY(ux_gsym_names_build(&m->names, &m->gsym, /* work= */ NULL, err));
	if (m->gsym.uuid.size > 0 && m->gsym.uuid.size <= UX_ID_GNU_MAX)
		UX_TRY(ux_id_make(type, m->gsym.uuid, &id, err));
	ux_id_format(&id, m->build_id);
	*ret = ux_take(&m);
	return UX_OK;
}

const char *ux_module_build_id(const struct ux_module *m)
{
	return m->build_id;
}

/* Returns the number that the flags subtract from each address. */
static enum ux_code lookup_flags_back(uint32_t flags, uint64_t *ret, struct ux_error *err)
{
	if (ux_unlikely((flags & ~(uint32_t)UX_LOOKUP_RETURN_ADDRESS) != 0))
		return ux_error_set(err, UX_EINVAL, "unknown flag in 0x%" PRIx32, flags);
	*ret = flags & UX_LOOKUP_RETURN_ADDRESS;
	return UX_OK;
}

enum ux_code ux_module_lookup(const struct ux_module *m, uint64_t pc, uint32_t flags,
			      struct ux_frame *frames, size_t max, size_t *ret_n,
			      struct ux_error *err)
{
	uint64_t back = 0;
	UX_TRY(lookup_flags_back(flags, &back, err));
	if (pc < back)
		return ux_error_set(err, UX_ENOTFOUND, "no call returns to 0x0");
	return ux_gsym_lookup(&m->gsym, pc - back, frames, max, ret_n, err);
}

enum ux_code ux_module_function(const struct ux_module *m, uint64_t pc, uint32_t flags,
				struct ux_function *ret, struct ux_error *err)
{
	uint64_t back = 0;
	size_t n = 0;
	struct ux_frame outermost;
	struct ux_function function = {0};
	UX_TRY(ux_sized_check(ret, FUNCTION_MIN, err));
	UX_TRY(lookup_flags_back(flags, &back, err));
	if (pc < back)
		return ux_error_set(err, UX_ENOTFOUND, "no call returns to 0x0");
	UX_TRY(ux_gsym_lookup(&m->gsym, pc - back, &outermost, 1, &n, err));
	UX_TRY(ux_gsym_extent(&m->gsym, pc - back, &function.start, &function.bytes, err));
	function.name = outermost.function;
	ux_sized_write(ret, &function, sizeof(function));
	return UX_OK;
}

enum ux_code ux_module_find(const struct ux_module *m, const char *function, uint64_t offset,
			    uint64_t *ret, struct ux_error *err)
{
	ux_cleanup(ux_gsym_names_deinit) struct ux_gsym_names own = {0};
	uint64_t start = 0;
	if (!m->names.list)
		UX_TRY(ux_gsym_names_build(&own, &m->gsym, /* work= */ NULL, err));
	UX_TRY(ux_gsym_names_find(m->names.list ? &m->names : &own, &m->gsym,
				  ux_bytes_cstr(function), &start, err));
	*ret = start + offset;
	return UX_OK;
}

enum ux_code ux_module_lookup_many(const struct ux_module *m, const uint64_t *pcs, size_t n,
				   uint32_t flags, struct ux_frame_span *spans,
				   struct ux_frame *frames, size_t max, size_t *ret_n,
				   struct ux_error *err)
{
	struct ux_gsym_batch batch = {
		.pcs = pcs, .n = n, .frames = frames, .max = max, .spans = spans};
	UX_TRY(lookup_flags_back(flags, &batch.back, err));
	enum ux_code code = ux_gsym_batch(&m->gsym, &batch, err);
	if (code != UX_ENOMEM)
		*ret_n = batch.n_frames;
	return code;
}

enum ux_code ux_module_lookup_each(const struct ux_module *m, const uint64_t *pcs, size_t n,
				   uint32_t flags, ux_frames_fn *fn, void *ctx,
				   struct ux_error *err)
{
	struct ux_gsym_batch batch = {.pcs = pcs, .n = n, .fn = fn, .ctx = ctx};
	UX_TRY(lookup_flags_back(flags, &batch.back, err));
	return ux_gsym_batch(&m->gsym, &batch, err);
}

enum ux_code ux_module_alternatives(const struct ux_module *m, uint64_t pc, uint32_t flags,
				    const char **names, size_t max, size_t *ret_n,
				    struct ux_error *err)
{
	uint64_t back = 0;
	UX_TRY(lookup_flags_back(flags, &back, err));
	if (pc < back)
		return ux_error_set(err, UX_ENOTFOUND, "no call returns to 0x0");
	return ux_gsym_alternatives(&m->gsym, pc - back, names, max, ret_n, err);
}

static enum ux_quality module_quality(const struct ux_counts *c)
{
	if (c->inlines > 0)
		return UX_QUALITY_INLINES;
	if (c->line_bytes > 0)
		return UX_QUALITY_LINES;
	return c->functions > 0 ? UX_QUALITY_SYMTAB : UX_QUALITY_NONE;
}

enum ux_code ux_module_measure(const struct ux_module *m, enum ux_quality *ret_quality,
			       struct ux_counts *ret_counts, struct ux_error *err)
{
	struct ux_counts counts;
	UX_TRY(ux_gsym_measure(&m->gsym, &counts, err));
	*ret_quality = module_quality(&counts);
	if (ret_counts)
		*ret_counts = counts;
	return UX_OK;
}
