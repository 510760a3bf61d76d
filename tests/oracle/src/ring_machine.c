/* SPDX-License-Identifier: Apache-2.0 */
/* A switch large enough for a jump table, and code that linkers throw away. */
#include "ring.h"

static uint32_t pop(struct ring *s)
{
	if (s->count == 0)
		give_up("the stack is empty at head %u\n", s->head);
	s->count--;
	return *ring_slot(s, s->count);
}

static int step(char op, struct ring *s)
{
	uint32_t a;
	uint32_t b;
	switch (op) {
	case '+':
		ring_push(s, pop(s) + pop(s));
		break;
	case '-':
		ring_push(s, pop(s) - pop(s));
		break;
	case '*':
		ring_push(s, pop(s) * pop(s));
		break;
	case '/':
		a = pop(s);
		b = pop(s);
		if (b == 0)
			return -1;
		ring_push(s, a / b);
		break;
	case '%':
		a = pop(s);
		ring_push(s, a % 7);
		break;
	case 'd':
		a = pop(s);
		ring_push(s, a);
		ring_push(s, a);
		break;
	case 'x':
		a = pop(s);
		b = pop(s);
		ring_push(s, a);
		ring_push(s, b);
		break;
	case '!':
		ring_push(s, mix(pop(s), 1));
		break;
	case '<':
		ring_push(s, pop(s) << 1);
		break;
	case '>':
		ring_push(s, pop(s) >> 1);
		break;
	default:
		give_up("no operation is called %c\n", op);
	}
	return 0;
}

int machine_run(const char *program, struct ring *stack)
{
	for (; *program; program++) {
		int r = step(*program, stack);
		if (r < 0)
			return r;
	}
	return (int)ring_sum(stack);
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a;
	uint32_t y = *(const uint32_t *)b;
	return (x > y) - (x < y);
}

int sort_ring(struct ring *r)
{
	qsort(r->at, r->count, sizeof(r->at[0]), by_value);
	return (int)r->at[0];
}

static int dead_helper(struct ring *r, int by)
{
	int n = 0;
	RING_EACH(r, v)
	n += (int)v / by;
	return n;
}

/* With -ffunction-sections and --gc-sections this and its helper leave only their DWARF. */
int never_called(struct ring *r)
{
	return dead_helper(r, 3) + dead_helper(r, 5);
}
