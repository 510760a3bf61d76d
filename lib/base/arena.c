/* SPDX-License-Identifier: Apache-2.0 */
/* Arenas. */
#include "arena.h"

#include <sys/mman.h>

enum {
	HUGE_PAGE = 2u << 20,
	BLOCK_FIRST = 4096, /* small, so that arenas with little content are cheap */
	BLOCK_MAX = 2 * HUGE_PAGE -
		    64, /* large allocations are rare; a block with its head is whole pages */
	BLOCK_SPILLED = 2 * HUGE_PAGE - 64, /* each spilled block is a file */
};

struct ux_arena_block {
	struct ux_arena_block *older;
	uint8_t *old_pos; /* pos and end of the older block when this one was added */
	uint8_t *old_end;
	size_t size; /* size of data */
	_Alignas(max_align_t) uint8_t data[];
};

void ux_arena_init(struct ux_arena *a, size_t budget)
{
	*a = (struct ux_arena){.budget = budget};
}

/*
 * Allocates a block with its head. A spilled block is mapped as a whole. Large blocks use huge
 * pages: an extraction that fills 100 MB would otherwise spend a twentieth of its time on page
 * faults.
 */
static struct ux_arena_block *arena_add_block(const struct ux_arena *a, size_t size)
{
	void *region = NULL;
	if (a->spill)
		return ux_spill_map(a->spill, size, &region, NULL) == UX_OK ? region : NULL;
	if (size < HUGE_PAGE || size > SIZE_MAX - HUGE_PAGE)
		return malloc(size);
	size = (size + HUGE_PAGE - 1) & ~(size_t)(HUGE_PAGE - 1);
	region = aligned_alloc(HUGE_PAGE, size);
	if (region)
		(void)madvise(region, size, MADV_HUGEPAGE); /* only advice: failure is ignored */
	return region;
}

static void arena_pop_block(struct ux_arena *a)
{
	struct ux_arena_block *b = a->last;
	assert(b && a->used >= b->size);
	a->last = b->older;
	a->pos = b->old_pos;
	a->end = b->old_end;
	a->used -= b->size;
	if (a->spill)
		ux_spill_unmap(b, sizeof(*b) + b->size);
	else
		free(b);
}

void ux_arena_deinit(struct ux_arena *a)
{
	while (a->last)
		arena_pop_block(a);
}

void *ux_arena_more(struct ux_arena *a, size_t size, size_t align)
{
	assert(align > 0 && (align & (align - 1)) == 0);
	a->over = false;
	size_t need = 0;
	if (__builtin_add_overflow(size, align, &need)) {
		a->over = true;
		return NULL;
	}
	size_t block = a->last ? ux_min(a->used, (size_t)BLOCK_MAX) : (size_t)BLOCK_FIRST;
	if (a->spill)
		block = BLOCK_SPILLED;
#ifdef __SANITIZE_ADDRESS__
	block = 0;
#endif
	size_t room = a->used < a->budget ? a->budget - a->used : 0;
	block = ux_max(ux_min(block, room), need);
	if (block > room) {
		a->over = true;
		return NULL;
	}
	struct ux_arena_block *b = arena_add_block(a, sizeof(*b) + block);
	if (!b)
		return NULL;
	*b = (struct ux_arena_block){a->last, a->pos, a->end, block};
	a->last = b;
	a->used += block;
	size_t pad = -(uintptr_t)b->data & (align - 1);
	a->pos = b->data + pad + size;
	a->end = b->data + block;
	return b->data + pad;
}

char *ux_arena_strndup(struct ux_arena *a, const void *s, size_t n)
{
	if (n == SIZE_MAX) {
		a->over = true;
		return NULL;
	}
	char *copy = ux_arena_alloc(a, n + 1, 1);
	if (!copy)
		return NULL;
	if (n)
		memcpy(copy, s, n);
	copy[n] = '\0';
	return copy;
}

enum ux_code ux_arena_fail(const struct ux_arena *a, struct ux_error *err)
{
	if (!a->over)
		return ux_error_nomem(err);
	return ux_error_set(err, UX_ELIMIT, "memory budget of %zu bytes is used up", a->budget);
}

struct ux_arena_mark ux_arena_mark(const struct ux_arena *a)
{
	return (struct ux_arena_mark){a->last, a->pos};
}

void ux_arena_rewind(struct ux_arena *a, struct ux_arena_mark mark)
{
	while (a->last != mark.last)
		arena_pop_block(a);
	assert(mark.pos <= a->pos);
	a->pos = mark.pos;
}
