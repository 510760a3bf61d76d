/* SPDX-License-Identifier: Apache-2.0 */
/* Which way in a file takes. */
#include "extract.h"

#include "elf_file.h"
#include "extract_elf.h"

/* Kinds of files, told by their first bytes. */
static const struct {
	bool (*is)(struct ux_bytes file);
	ux_extract_fn *extract;
} ways_in[] = {
	{ux_elf_is, ux_extract_elf},
};

enum ux_code ux_extract(struct ux_bytes exe, struct ux_bytes debug,
			const struct ux_extract_options *options, ux_gsym_sink_fn *sink, void *ctx,
			struct ux_extract_stats *ret_stats, struct ux_error *err)
{
	for (size_t i = 0; i < ux_countof(ways_in); i++)
		if (ways_in[i].is(exe))
			return ways_in[i].extract(exe, debug, options, sink, ctx, ret_stats, err);
	return ux_elf_check(exe, err); /* says what the file starts with */
}
