/* SPDX-License-Identifier: Apache-2.0 */
/* Getting past DIEs that nobody looks at. */
#include "dwarf_step.h"

uint64_t ux_dwarf_skip_children(const struct ux_dwarf_context *ctx, struct ux_cur *c)
{
	struct ux_dwarf_depth depth = {.now = 1};
	uint64_t passed = 0;
	while (ux_cur_more(c)) {
		passed += ux_dwarf_stride(ctx, c, UX_STEP_LOOSE, UX_STEP_SIBLING, &depth);
		if (depth.now == 0 || !ux_cur_more(c))
			break;
		uint64_t code = ux_cur_uleb(c);
		passed++;
		if (code == 0) {
			if (--depth.now == 0)
				break;
			continue;
		}
		const struct ux_dwarf_abbrev *abbrev = ux_dwarf_abbrevs_find(&ctx->abbrevs, code);
		uint64_t sibling = 0;
		if (!abbrev) {
			ux_cur_bad(c, "abbreviation code that its table does not have");
			break;
		}
		bool known = ux_dwarf_step_over(ctx, c, abbrev, &sibling);
		if (abbrev->has_children && !(known && ux_dwarf_jump(c, sibling)))
			depth.now++;
	}
	return passed;
}
