/* SPDX-License-Identifier: Apache-2.0 */
/* Which way in a file takes. */
#include "extract.h"

#include "cubin.h"
#include "elf_file.h"
#include "extract_cubin.h"
#include "extract_elf.h"
#include "extract_fatbin.h"
#include "extract_macho.h"
#include "fatbin.h"
#include "macho_fat.h"

/* Kinds of files, told by their first bytes. */
static const struct {
	bool (*is)(struct ux_bytes file);
	ux_extract_fn *extract;
} ways_in[] = {
	{ux_cubin_is, ux_extract_cubin}, /* an ELF file, too */
	{ux_elf_is, ux_extract_elf},
	{ux_macho_any, ux_extract_macho},
	{ux_fatbin_is, ux_extract_fatbin},
};

static ux_extract_fn *way_in(struct ux_bytes file)
{
	for (size_t i = 0; i < ux_countof(ways_in); i++)
		if (ways_in[i].is(file))
			return ways_in[i].extract;
	return NULL;
}

bool ux_extract_takes(struct ux_bytes file)
{
	return way_in(file) != NULL;
}

enum ux_code ux_extract_check(struct ux_bytes file, struct ux_error *err)
{
	return ux_extract_takes(file) ? UX_OK : ux_elf_check(file, err);
}

bool ux_extract_wants(const struct ux_extract_options *options, enum ux_source source)
{
	bool excluded = source == UX_SOURCE_DWARF && options->no_dwarf;
	return !excluded && (options->without & 1u << source) == 0;
}

enum ux_code ux_extract(struct ux_bytes exe, struct ux_bytes debug,
			const struct ux_extract_options *options, ux_gsym_sink_fn *sink, void *ctx,
			struct ux_extract_stats *ret_stats, struct ux_error *err)
{
	ux_extract_fn *extract =
		options->gpu && !ux_cubin_is(exe) ? ux_extract_fatbin : way_in(exe);
	if (!extract)
		return ux_extract_check(exe, err);
	return extract(exe, debug, options, sink, ctx, ret_stats, err);
}
