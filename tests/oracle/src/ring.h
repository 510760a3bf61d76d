/* SPDX-License-Identifier: Apache-2.0 */
/* Code in a header: inlined several levels deep into each unit that includes it. */
#ifndef RING_H
#define RING_H

#include <stdint.h>
#include <stdlib.h>

enum {
	RING_SIZE = 64
};

struct ring {
	uint32_t at[RING_SIZE];
	unsigned head;
	unsigned count;
};

static inline unsigned ring_wrap(unsigned i)
{
	return i % RING_SIZE;
}

static inline uint32_t *ring_slot(struct ring *r, unsigned i)
{
	return &r->at[ring_wrap(r->head + i)];
}

static inline int ring_full(const struct ring *r)
{
	return r->count == RING_SIZE;
}

__attribute__((always_inline)) static inline void ring_push(struct ring *r, uint32_t v)
{
	if (ring_full(r)) {
		r->head = ring_wrap(r->head + 1);
		r->count--;
	}
	*ring_slot(r, r->count) = v;
	r->count++;
}

static inline uint32_t ring_sum(struct ring *r)
{
	uint32_t sum = 0;
	for (unsigned i = 0; i < r->count; i++)
		sum += *ring_slot(r, i);
	return sum;
}

#define RING_EACH(r, v)                                       \
	for (unsigned each_ = 0; each_ < (r)->count; each_++) \
		for (int once_ = 1; once_; once_ = 0)         \
			for (uint32_t v = *ring_slot((r), each_); once_; once_ = 0)

uint32_t mix(uint32_t a, uint32_t b);
int machine_run(const char *program, struct ring *stack);
long sum_of(int n, ...);
uint32_t collatz(uint32_t n, unsigned depth);
int sort_ring(struct ring *r);
int bare_assembly(int v);
int never_called(struct ring *r);
_Noreturn void give_up(const char *why, ...) __attribute__((cold));

#endif
