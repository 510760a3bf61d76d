/* SPDX-License-Identifier: Apache-2.0 */
/* Small functions of a unit of their own: link time optimization inlines them across units. */
#include "ring.h"

static uint32_t rotate(uint32_t v, unsigned by)
{
	return v << by | v >> (32 - by);
}

static uint32_t scramble(uint32_t v)
{
	v ^= rotate(v, 13);
	v *= 0x85ebca6bu;
	return v ^ rotate(v, 7);
}

uint32_t mix(uint32_t a, uint32_t b)
{
	return scramble(a) + scramble(b);
}

/* A function in two pieces: gcc moves the unlikely half away. */
__attribute__((noinline)) int mostly_hot(int v)
{
	if (__builtin_expect(v < 0, 0)) {
		struct ring r = {.count = 0};
		ring_push(&r, (uint32_t)v);
		give_up("%d is below zero, %u\n", v, (unsigned)ring_sum(&r));
	}
	return v + 1;
}

__attribute__((constructor)) static void before_main(void)
{
	if (mostly_hot(1) != 2)
		give_up("one and one is not two\n");
}
