/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas: memory that is released in one call, with a budget. */
#ifndef UX_ARENA_H
#define UX_ARENA_H

#include "base.h"
#include "error.h"
#include "region.h"

/*
 * An arena takes blocks from malloc or, when `spill` is set before the first use, from files on
 * disk. Memory is allocated from the front of a block to its end and is freed in one call. `budget`
 * limits the sum of the blocks, so that hostile input ends in UX_ELIMIT and not in the OOM killer.
 * An arena is not thread-safe.
 */
struct ux_arena_block;
struct ux_arena {
	struct ux_arena_block *last; /* newest block; it links to the older ones */
	uint8_t *pos;                /* first free byte of the newest block */
	uint8_t *end;
	size_t used;   /* bytes of all blocks */
	size_t budget; /* limit of `used` */
	bool over;     /* the last NULL was returned because of the budget, not because of malloc */
	struct ux_spill *spill; /* NULL, or where the blocks are regions in files */
};

/* A state of the arena that ux_arena_rewind() can return to. */
struct ux_arena_mark {
	struct ux_arena_block *last;
	uint8_t *pos;
};

void ux_arena_init(struct ux_arena *a, size_t budget);
void ux_arena_deinit(struct ux_arena *a);

/* Declares an arena that is released at the end of the scope. */
#define UX_ARENA(name, budget_bytes) \
	ux_cleanup(ux_arena_deinit) struct ux_arena name = {.budget = (budget_bytes)}

/* Allocates when the newest block has no room: the slow path of ux_arena_alloc(). */
void *ux_arena_more(struct ux_arena *a, size_t size, size_t align) ux_cold;

/*
 * Returns size bytes, which are not cleared, aligned to align (a power of two). NULL:
 * ux_arena_fail() says why.
 */
__attribute__((malloc, alloc_size(2), alloc_align(3))) static inline void *ux_arena_alloc(
	struct ux_arena *a, size_t size, size_t align)
{
	size_t pad = -(uintptr_t)a->pos & (align - 1);
	size_t left = (size_t)(a->end - a->pos);
#ifdef __SANITIZE_ADDRESS__
	left = 0; /* each allocation gets its own block, so that the sanitizer sees every overrun */
#endif
	if (ux_unlikely(left < pad || left - pad < size || size == 0))
		return ux_arena_more(a, size, align);
	uint8_t *p = a->pos + pad;
	a->pos = p + size;
	return p;
}

/* Allocates n * size bytes with the product checked. */
__attribute__((malloc, alloc_size(2, 3))) static inline void *ux_arena_alloc_n(struct ux_arena *a,
									       size_t n,
									       size_t size,
									       size_t align)
{
	size_t bytes = 0;
	if (__builtin_mul_overflow(n, size, &bytes)) {
		a->over = true;
		return NULL;
	}
	return ux_arena_alloc(a, bytes, align);
}

#define ux_arena_new(a, T)      ((T *)ux_arena_alloc((a), sizeof(T), _Alignof(T)))
#define ux_arena_array(a, T, n) ((T *)ux_arena_alloc_n((a), (n), sizeof(T), _Alignof(T)))

/* Copies n bytes and adds a NUL; NULL on failure. */
char *ux_arena_strndup(struct ux_arena *a, const void *s, size_t n);

/* Reports why an allocation returned NULL: UX_ELIMIT with the budget, or UX_ENOMEM. */
enum ux_code ux_arena_fail(const struct ux_arena *a, struct ux_error *err);

/* ux_arena_rewind() frees everything that was allocated after the mark was taken. */
struct ux_arena_mark ux_arena_mark(const struct ux_arena *a);
void ux_arena_rewind(struct ux_arena *a, struct ux_arena_mark mark);

#endif
