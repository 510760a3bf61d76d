/* SPDX-License-Identifier: Apache-2.0 */
/* What callers hand over. */
#include "public_input.h"

#include "dsym.h"

enum ux_code ux_opened_open(struct ux_opened *o, const struct ux_input *in, struct ux_error *err)
{
	struct ux_mapping map = {0};
	if (!in || (!in->path && !in->data && in->size > 0))
		return ux_error_set(err, UX_EINVAL, "no input; expected a path or bytes");
	if (in->path)
		UX_TRY(ux_dsym_map(in->path, UX_BYTES_NONE, &map, err));
	*o = (struct ux_opened){in->path ? map.bytes : ux_bytes(in->data, in->size), map};
	return UX_OK;
}

void ux_opened_close(struct ux_opened *o)
{
	ux_file_unmap(&o->map);
	*o = (struct ux_opened){0};
}
