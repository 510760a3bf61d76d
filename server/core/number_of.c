/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers in a query. */
#include "number_of.h"

#include "text.h"

enum ux_code ux_number_of(struct ux_request *req, const char *name, uint64_t lo, uint64_t hi,
			  uint64_t *ret)
{
	struct ux_bytes text;
	uint64_t v = 0;
	if (!ux_request_query(req, name, &text))
		return UX_OK;
	if (!ux_hex_parse_u64(text, /* hex= */ false, &v) || v < lo || v > hi)
		return ux_error_set(
			&req->err, UX_EINVAL, "%s is '%.*s'; expected %" PRIu64 " to %" PRIu64,
			name, (int)ux_min(text.size, (size_t)32), (const char *)text.data, lo, hi);
	*ret = v;
	return UX_OK;
}
