/* SPDX-License-Identifier: Apache-2.0 */
/* Selects the reader for a file. */
#include "extract.h"

#include "core_file.h"
#include "cubin.h"
#include "elf_file.h"
#include "extract_cubin.h"
#include "extract_object.h"
#include "fatbin.h"
#include "file_kind.h"

static bool extract_is_object(struct ux_bytes file)
{
	return ux_object_format(file) != NULL;
}

/* The kinds of files, recognized by their first bytes. The formats of object files have a table of
 * their own in object.c. */
static const struct {
	bool (*is)(struct ux_bytes file);
	ux_extract_fn *extract;
} extract_ways[] = {
	{ux_cubin_is,
	 ux_extract_cubin}, /* before ux_extract_object, since a cubin is an ELF file, too */
	{extract_is_object, ux_extract_object},
	{ux_fatbin_is, ux_extract_fatbin},
};

static ux_extract_fn *extract_way(struct ux_bytes file)
{
	for (size_t i = 0; i < ux_countof(extract_ways); i++)
		if (extract_ways[i].is(file))
			return extract_ways[i].extract;
	return NULL;
}

bool ux_extract_supports(struct ux_bytes file)
{
	return extract_way(file) != NULL;
}

enum ux_code ux_extract_check(struct ux_bytes file, struct ux_error *err)
{
	if (ux_core_is(file))
		return ux_error_set(err, UX_EUNSUPPORTED, "is %s", ux_file_kind(file));
	return ux_extract_supports(file) ? UX_OK : ux_elf_check(file, err);
}

bool ux_extract_includes(const struct ux_extract_options *options, enum ux_source source)
{
	bool excluded = source == UX_SOURCE_DWARF && options->no_dwarf;
	return !excluded && (options->without & 1u << source) == 0;
}

enum ux_code ux_extract(struct ux_bytes exe, struct ux_bytes debug,
			const struct ux_extract_options *options, ux_gsym_sink_fn *sink, void *ctx,
			struct ux_extract_stats *ret_stats, struct ux_error *err)
{
	ux_extract_fn *extract =
		options->gpu && !ux_cubin_is(exe) ? ux_extract_fatbin : extract_way(exe);
	if (!extract)
		return ux_extract_check(exe, err);
	return extract(exe, debug, options, sink, ctx, ret_stats, err);
}
