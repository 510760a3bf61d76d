/* SPDX-License-Identifier: Apache-2.0 */
/* Growing arrays, typed by macro. */
#ifndef UX_VEC_H
#define UX_VEC_H

#include "base.h"

/* Returns the capacity of an array that grows to room for at least `want` elements. */
static inline size_t ux_vec_capacity(size_t cap, size_t want)
{
	const size_t first = 8;
	return cap > SIZE_MAX / 2 ? want : ux_max(ux_max(cap * 2, first), want);
}

/*
 * Grows the array to room for at least `want` elements of `size` bytes. False when memory is short.
 */
__attribute__((noinline, unused)) ux_must static bool ux_vec_grow(void **data, size_t *cap,
								  size_t want, size_t size)
{
	size_t n = ux_vec_capacity(*cap, want);
	void *p = reallocarray(*data, n, size);
	if (!p)
		return false;
	*data = p;
	*cap = n;
	return true;
}

/* Functions that all arrays have, based on name##_grow(v, n). */
#define UX_VEC_FUNCTIONS(name, T)                                                           \
	__attribute__((unused)) static inline bool name##_reserve(struct name *v, size_t n) \
	{                                                                                   \
		return n <= v->cap || name##_grow(v, n);                                    \
	}                                                                                   \
	__attribute__((unused)) static inline bool name##_append(struct name *v, T value)   \
	{                                                                                   \
		if (ux_unlikely(v->size == v->cap) && !name##_reserve(v, v->size + 1))      \
			return false;                                                       \
		v->data[v->size++] = value;                                                 \
		return true;                                                                \
	}                                                                                   \
	__attribute__((unused)) static inline T *name##_end(const struct name *v)           \
	{                                                                                   \
		return v->data ? v->data + v->size : NULL;                                  \
	}

/*
 * UX_VEC(points, struct point) declares struct points {data, size, cap}, zeroed = empty, and
 *   points_append(v, value)   false when memory is short
 *   points_reserve(v, n)      room for n elements in all; false when memory is short
 *   points_steal(v, &n)       moves the malloc'ed array out
 *   points_begin(v), points_end(v)
 *   points_deinit(v)
 * Pointers into data are invalid after the next append or reserve.
 */
#define UX_VEC(name, T)                                                                      \
	struct name {                                                                        \
		T *data;                                                                     \
		size_t size;                                                                 \
		size_t cap;                                                                  \
	};                                                                                   \
	__attribute__((unused)) static inline bool name##_grow(struct name *v, size_t n)     \
	{                                                                                    \
		return ux_vec_grow((void **)&v->data, &v->cap, n, sizeof(T));                \
	}                                                                                    \
	UX_VEC_FUNCTIONS(name, T)                                                            \
	__attribute__((unused)) static inline T *name##_begin(const struct name *v)          \
	{                                                                                    \
		return v->data;                                                              \
	}                                                                                    \
	__attribute__((unused)) static inline T *name##_steal(struct name *v, size_t *ret_n) \
	{                                                                                    \
		T *data = v->data;                                                           \
		*ret_n = v->size;                                                            \
		*v = (struct name){0};                                                       \
		return data;                                                                 \
	}                                                                                    \
	__attribute__((unused)) static inline void name##_deinit(struct name *v)             \
	{                                                                                    \
		free(v->data);                                                               \
		*v = (struct name){0};                                                       \
	}                                                                                    \
	struct name

#endif
