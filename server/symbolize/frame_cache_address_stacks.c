/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of a frame cache by their addresses. */
#include "frame_cache_internal.h"

#include "table_memory.h"

enum {
	SLOTS_PART = 8,   /* the table may take 1/8 of the cache's memory */
	FREE_PART = 4,    /* at most 1/4 of the slots are taken, because each further probe is a
			     mispredicted branch */
	SLOTS_AHEAD = 32, /* how many slots ahead is prefetched */
	LOCKED = 256,     /* stacks added before the lock is released for readers */
};

static size_t frame_cache_stack_index(const struct ux_frame_cache *m, uint64_t pc)
{
	return (size_t)ux_hash_u64(pc) & (m->stack_slots_cap - 1);
}

/* Returns the slot of an address, or the free slot where it belongs. */
ux_inline struct stack_slot *frame_cache_stack_slot(const struct ux_frame_cache *m, uint64_t pc)
{
	size_t i = frame_cache_stack_index(m, pc);
	while (m->stack_slots[i].stack && m->stack_slots[i].pc != pc)
		i = (i + 1) & (m->stack_slots_cap - 1);
	return &m->stack_slots[i];
}

size_t ux_frame_cache_find_address_stacks(struct ux_frame_cache *m, const uint64_t *pcs, size_t n,
					  const struct ux_cached_stack **ret)
{
	size_t unknown = 0;
	pthread_rwlock_rdlock(&m->lock);
	if (m->stack_slots_cap == 0)
		unknown = n;
	for (size_t i = 0; i < n && m->stack_slots_cap > 0; i++) {
		if (i + SLOTS_AHEAD < n)
			__builtin_prefetch(
				&m->stack_slots[frame_cache_stack_index(m, pcs[i + SLOTS_AHEAD])]);
		ret[i] = frame_cache_stack_slot(m, pcs[i])->stack;
		unknown += ret[i] == NULL;
	}
	pthread_rwlock_unlock(&m->lock);
	return unknown;
}

/* Makes a free slot for an address. False: memory is short, or the table has its whole share. */
static bool frame_cache_reserve_stack_slot(struct ux_frame_cache *m)
{
	struct stack_slot *old = m->stack_slots;
	size_t n = m->stack_slots_cap, cap = 0;
	if (m->n_stack_slots < n / FREE_PART)
		return true;
	if (2 * n * sizeof(*old) > m->max / SLOTS_PART)
		return false;
	struct stack_slot *table = frame_cache_table_grow(m, n, sizeof(*table), &cap);
	if (!table)
		return false;
	m->stack_slots = table;
	m->stack_slots_cap = cap;
	for (size_t i = 0; i < n; i++)
		if (old[i].stack)
			*frame_cache_stack_slot(m, old[i].pc) = old[i];
	ux_table_free(old, n * sizeof(*old));
	return true;
}

/* Adds the stack of an address. False: no room. */
static bool frame_cache_add_address_stack(struct ux_frame_cache *m, uint64_t pc,
					  const struct ux_cached_stack *stack)
{
	if (!frame_cache_reserve_stack_slot(m))
		return false;
	struct stack_slot *slot = frame_cache_stack_slot(m, pc);
	m->n_stack_slots += slot->stack == NULL;
	*slot = (struct stack_slot){pc, stack};
	return true;
}

void ux_frame_cache_add_address_stacks(struct ux_frame_cache *m, const uint64_t *pcs, size_t n,
				       const struct ux_cached_stack *const *stacks)
{
	bool room = true;
	for (size_t at = 0; room && at < n;) {
		ux_frame_cache_lock(m);
		for (size_t end = ux_min(at + LOCKED, n); room && at < end; at++)
			room = !stacks[at] || frame_cache_add_address_stack(m, pcs[at], stacks[at]);
		ux_frame_cache_unlock(m);
	}
}
