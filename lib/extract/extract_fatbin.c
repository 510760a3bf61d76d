/* SPDX-License-Identifier: Apache-2.0 */
/* The way in for GPU code inside of other files. */
#include "extract_fatbin.h"

#include "extract_cubin.h"
#include "fatbin_choose.h"
#include "fatbin_unpack.h"

enum ux_code ux_extract_fatbin(struct ux_bytes exe, struct ux_bytes debug,
			       const struct ux_extract_options *options, ux_gsym_sink_fn *sink,
			       void *ctx, struct ux_extract_stats *ret_stats, struct ux_error *err)
{
	ux_cleanup(ux_fatbin_list_deinit) struct ux_fatbin_list list = {0};
	ux_cleanup(ux_fatbin_content_free) struct ux_fatbin_content content = {0};
	size_t chosen = 0;
	UX_TRY(ux_fatbin_list_read(exe, &list, err));
	UX_TRY(ux_fatbin_choose(&list, options->gpu, &chosen, err));
	UX_TRY(ux_fatbin_unpack(&list.entries.data[chosen], &content, err));
	return ux_extract_cubin(content.bytes, debug, options, sink, ctx, ret_stats, err);
}
