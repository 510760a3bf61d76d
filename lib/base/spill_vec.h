/* SPDX-License-Identifier: Apache-2.0 */
/* Growing arrays that may be regions in files. */
#ifndef UX_SPILL_VEC_H
#define UX_SPILL_VEC_H

#include "region.h"
#include "vec.h"

/* Grows the array to room for at least `want` elements of `size` bytes. False when memory or disk
 * space is short. */
__attribute__((noinline, unused)) ux_must static bool ux_spill_vec_grow(struct ux_spill *spill,
									void **data, size_t *cap,
									size_t want, size_t size)
{
	size_t bytes = 0, n = ux_vec_capacity(*cap, want);
	void *p = __builtin_mul_overflow(n, size, &bytes) ? NULL
							  : ux_spill_realloc(spill, *data, bytes);
	if (!p)
		return false;
	*data = p;
	*cap = n;
	return true;
}

/*
 * UX_SPILL_VEC(points, struct point) declares a struct as UX_VEC() does (vec.h), with the field
 * `spill`: where a large array is kept; NULL: in memory. It is set before the first element.
 * points_deinit(v) keeps it. There is no points_steal(), since the array may not be malloc'ed.
 */
#define UX_SPILL_VEC(name, T)                                                                 \
	struct name {                                                                         \
		T *data;                                                                      \
		size_t size;                                                                  \
		size_t cap;                                                                   \
		struct ux_spill *spill;                                                       \
	};                                                                                    \
	__attribute__((unused)) static inline bool name##_grow(struct name *v, size_t n)      \
	{                                                                                     \
		return ux_spill_vec_grow(v->spill, (void **)&v->data, &v->cap, n, sizeof(T)); \
	}                                                                                     \
	UX_VEC_FUNCTIONS(name, T)                                                             \
	__attribute__((unused)) static inline void name##_deinit(struct name *v)              \
	{                                                                                     \
		ux_spill_free(v->data);                                                       \
		*v = (struct name){.spill = v->spill};                                        \
	}                                                                                     \
	struct name

#endif
