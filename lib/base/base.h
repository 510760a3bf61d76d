/* SPDX-License-Identifier: Apache-2.0 */
/* Included by every file of the tree: attributes, scope guards, poisoned calls. */
#ifndef UX_BASE_H
#define UX_BASE_H

#include <assert.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ux_must           __attribute__((warn_unused_result))
#define ux_cold           __attribute__((cold, noinline))
#define ux_inline         static inline __attribute__((always_inline))
#define ux_printf(f, a)   __attribute__((format(printf, f, a)))
#define ux_likely(x)      __builtin_expect(!!(x), 1)
#define ux_unlikely(x)    __builtin_expect(!!(x), 0)
#define ux_countof(array) (sizeof(array) / sizeof((array)[0]))

/*
 * Runs fn(&variable) when the variable leaves its scope. It is written in the variable's
 * declaration.
 */
#define ux_cleanup(fn) __attribute__((cleanup(fn)))

/*
 * Moves a pointer out of a guarded variable, which is set to NULL: an explicit transfer of
 * ownership.
 */
#define ux_take(p)                                           \
	__extension__({                                      \
		__typeof__(p) ux_take_ = (p);                \
		__typeof__(*ux_take_) ux_taken_ = *ux_take_; \
		*ux_take_ = NULL;                            \
		ux_taken_;                                   \
	})

#define ux_container_of(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#define UX_PASTE_(a, b) a##b
#define UX_PASTE(a, b)  UX_PASTE_(a, b)
#define UX_PICK_(a, b, op, x, y)       \
	__extension__({                \
		__typeof__(a) x = (a); \
		__typeof__(b) y = (b); \
		x op y ? x : y;        \
	})
/*
 * Each argument is evaluated once. The local names are unique, so that the macros nest without
 * shadowing.
 */
#define ux_min(a, b) UX_PICK_(a, b, <, UX_PASTE(ux_x_, __COUNTER__), UX_PASTE(ux_y_, __COUNTER__))
#define ux_max(a, b) UX_PICK_(a, b, >, UX_PASTE(ux_x_, __COUNTER__), UX_PASTE(ux_y_, __COUNTER__))

/* Frees *(void **)p. The scope guard of malloc'ed pointers is ux_cleanup(ux_free_ptr). */
static inline void ux_free_ptr(void *p)
{
	free(*(void **)p);
}

/* Each of these has caused security releases elsewhere; slices and snprintf replace them all. */
#undef alloca /* the C library defines some of them as macros */
#undef sprintf
#undef vsprintf
#undef strcpy
#undef strcat
#pragma GCC poison strcpy strcat sprintf vsprintf strtok atoi atol gets alloca

/* Prefetches the memory off bytes after `base`, which may be NULL: no pointer is computed from it.
 * (Always inlined: gcc drops calls of a function that only prefetches.) */
ux_inline void ux_prefetch_at(const void *base, size_t off)
{
	__builtin_prefetch((const void *)((uintptr_t)base + off));
}

#endif
