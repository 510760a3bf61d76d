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

static size_t size_of(const void *sized)
{
	size_t size = 0;
	memcpy(&size, sized, sizeof(size));
	return size;
}

enum ux_code ux_sized_check(const void *to, size_t least, struct ux_error *err)
{
	if (to && size_of(to) < least)
		return ux_error_set(err, UX_EINVAL, "size of a struct is %zu; expected %zu or more",
				    size_of(to), least);
	return UX_OK;
}

enum ux_code ux_sized_take(void *to, size_t known, size_t least, const void *from,
			   struct ux_error *err)
{
	UX_TRY(ux_sized_check(from, least, err));
	size_t size = from ? size_of(from) : 0;
	for (size_t i = known; i < size; i++)
		if (((const uint8_t *)from)[i] != 0)
			return ux_error_set(err, UX_EINVAL,
					    "option at byte %zu is set; this version knows %zu", i,
					    known);
	memset(to, 0, known);
	if (size > 0)
		memcpy(to, from, ux_min(size, known));
	return UX_OK;
}

void ux_sized_give(void *to, const void *from, size_t known)
{
	if (!to)
		return;
	size_t size = size_of(to);
	memcpy((uint8_t *)to + sizeof(size), (const uint8_t *)from + sizeof(size),
	       ux_min(size, known) - sizeof(size));
}
