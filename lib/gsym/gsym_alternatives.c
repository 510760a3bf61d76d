/* SPDX-License-Identifier: Apache-2.0 */
/* Names of merged functions. */
#include "gsym_reader.h"

#include "gsym_decode.h"
#include "gsym_record.h"

/* The function that a lookup of pc asks. */
static enum ux_code find(const struct ux_gsym *g, uint64_t pc, uint32_t *ret, struct ux_error *err)
{
	struct gsym_record r;
	struct ux_cur c;
	if (pc < g->base || g->n_functions == 0)
		return UX_ENOTFOUND;
	struct gsym_starts s = gsym_starts_find(g, pc - g->base);
	if (s.value > pc - g->base)
		return UX_ENOTFOUND;
	size_t i = gsym_record_choose(g, &s, pc - g->base - s.value, &c, &r);
	if (i == s.end)
		return UX_ENOTFOUND;
	*ret = (uint32_t)i;
	return ux_cur_status(&c, err);
}

static enum ux_code read_names(const struct ux_gsym *g, struct ux_cur block, const char **names,
			       size_t max, size_t *ret_n, struct ux_error *err)
{
	struct ux_gsym_merged m = ux_gsym_merged_open(g, block);
	struct ux_gsym_raw raw;
	for (*ret_n = 0; ux_gsym_merged_next(&m, &raw); ++*ret_n) {
		const char *name = ux_gsym_string(g, raw.name);
		if (!name)
			return ux_error_set(err, UX_ECORRUPT, "name %" PRIu64 " is past its table",
					    raw.name);
		if (*ret_n < max)
			names[*ret_n] = name;
	}
	return ux_cur_status(&m.c, err);
}

enum ux_code ux_gsym_alternatives(const struct ux_gsym *g, uint64_t pc, const char **names,
				  size_t max, size_t *ret_n, struct ux_error *err)
{
	struct ux_gsym_raw raw;
	struct ux_gsym_block block;
	uint32_t i = 0;
	size_t n = 0;
	enum ux_code code = find(g, pc, &i, err);
	if (code == UX_ENOTFOUND)
		return ux_error_set(err, code, "no function at 0x%" PRIx64, pc);
	UX_TRY(code);
	UX_TRY(ux_gsym_raw_find(g, i, &raw, err));
	while (ux_gsym_raw_next(&raw, &block))
		if (block.type == GSYM_INFO_MERGED)
			UX_TRY(read_names(g, block.content, names, max, &n, err));
	UX_TRY(ux_cur_status(&raw.rest, err));
	*ret_n = n;
	return UX_OK;
}
