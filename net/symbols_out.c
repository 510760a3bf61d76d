/* SPDX-License-Identifier: Apache-2.0 */
/* Quality and counts. */
#include "symbols_out.h"

void ux_counts_out(struct ux_json *j, const struct ux_counts *counts)
{
	ux_json_key(j, "counts");
	ux_json_object_begin(j);
	ux_json_key_u64(j, "functions", counts->functions);
	ux_json_key_u64(j, "inlines", counts->inlines);
	ux_json_key_u64(j, "rows", counts->rows);
	ux_json_key_u64(j, "code_bytes", counts->code_bytes);
	ux_json_key_u64(j, "line_bytes", counts->line_bytes);
	if (counts->unnamed > 0) {
		ux_json_key_u64(j, "unnamed", counts->unnamed);
		ux_json_key_u64(j, "unnamed_bytes", counts->unnamed_bytes);
	}
	ux_json_object_end(j);
}

void ux_symbols_out(struct ux_json *j, enum ux_quality quality, const struct ux_counts *counts)
{
	ux_json_key_cstr(j, "quality", ux_quality_name(quality));
	ux_counts_out(j, counts);
}
