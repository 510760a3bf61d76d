/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that dies together, with a budget. */
#ifndef UX_ARENA_H
#define UX_ARENA_H

#include "base.h"
#include "error.h"

/*
 * Blocks from malloc or, with `spill` set before the first use, from the disk; handed out front to
 * back, freed at once. budget bounds the sum of the blocks, so that hostile input ends in UX_ELIMIT
 * and never in the OOM killer. One thread at a time.
 */
struct ux_arena_block;
struct ux_arena {
	struct ux_arena_block *last; /* newest block; older ones hang behind it */
	uint8_t *pos;                /* free bytes of the newest block */
	uint8_t *end;
	size_t used;       /* bytes of all blocks */
	size_t budget;     /* bytes that used may reach */
	bool over;         /* the last NULL was the budget's, not malloc's */
	const char *spill; /* NULL, or the folder whose disk holds the blocks (region.h) */
};

/* A place to come back to. */
struct ux_arena_mark {
	struct ux_arena_block *last;
	uint8_t *pos;
};

void ux_arena_init(struct ux_arena *a, size_t budget);
void ux_arena_deinit(struct ux_arena *a);

/* Declares an arena that is released at the end of the scope. */
#define UX_ARENA(name, budget_bytes) \
	ux_cleanup(ux_arena_deinit) struct ux_arena name = {.budget = (budget_bytes)}

/* The slow path of ux_arena_alloc(). */
void *ux_arena_more(struct ux_arena *a, size_t size, size_t align) ux_cold;

/* size bytes, not cleared, aligned to align (a power of two); NULL: see ux_arena_fail(). */
__attribute__((malloc, alloc_size(2), alloc_align(3))) static inline void *ux_arena_alloc(
	struct ux_arena *a, size_t size, size_t align)
{
	size_t pad = -(uintptr_t)a->pos & (align - 1);
	size_t left = (size_t)(a->end - a->pos);
#ifdef __SANITIZE_ADDRESS__
	left = 0; /* a block each, so that the sanitizer sees every overrun */
#endif
	if (ux_unlikely(left < pad || left - pad < size || size == 0))
		return ux_arena_more(a, size, align);
	uint8_t *p = a->pos + pad;
	a->pos = p + size;
	return p;
}

/* n * size bytes with the product checked. */
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

/* A copy of n bytes with a NUL behind them; NULL on failure. */
char *ux_arena_strndup(struct ux_arena *a, const void *s, size_t n);

/* The code and words for a NULL: UX_ELIMIT naming the budget, or UX_ENOMEM. */
enum ux_code ux_arena_fail(const struct ux_arena *a, struct ux_error *err);

/* Everything handed out since the mark is given back. */
struct ux_arena_mark ux_arena_mark(const struct ux_arena *a);
void ux_arena_rewind(struct ux_arena *a, struct ux_arena_mark mark);

#endif
