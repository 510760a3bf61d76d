/* SPDX-License-Identifier: Apache-2.0 */
/* Structs that callers hand over in the size of their version. */
#include "sized.h"

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
