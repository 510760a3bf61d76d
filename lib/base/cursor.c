/* SPDX-License-Identifier: Apache-2.0 */
/* Describing a failed cursor. */
#include "cursor.h"

enum ux_code ux_cur_report(struct ux_cur c, struct ux_error *err)
{
	uint64_t off = c.base + (uint64_t)(c.prev - c.start);
	if (c.what)
		return ux_error_at(err, UX_ECORRUPT, c.section, off, "%s", c.what);
	return ux_error_at(err, UX_ECORRUPT, c.section, off,
			   "ends too early: %" PRIu64 " bytes expected, %" PRIu64 " found", c.need,
			   (uint64_t)(c.end - c.prev));
}
