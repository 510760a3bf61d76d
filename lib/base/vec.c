/* SPDX-License-Identifier: Apache-2.0 */
/* Growing arrays. */
#include "vec.h"

enum {
	FIRST_ELEMENTS = 8
};

bool ux_vec_grow(void **data, size_t *cap, size_t want, size_t size)
{
	size_t n = *cap > SIZE_MAX / 2 ? want : ux_max(*cap * 2, (size_t)FIRST_ELEMENTS);
	n = ux_max(n, want);
	void *p = reallocarray(*data, n, size);
	if (!p)
		return false;
	*data = p;
	*cap = n;
	return true;
}
