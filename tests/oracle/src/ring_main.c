/* SPDX-License-Identifier: Apache-2.0 */
/* A C program whose shapes the oracle test looks up: recursion, variadics, nested blocks, cold. */
#include "ring.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static int verbose;

_Noreturn void give_up(const char *why, ...)
{
	va_list args;
	va_start(args, why);
	vfprintf(stderr, why, args);
	va_end(args);
	exit(1);
}

long sum_of(int n, ...)
{
	long sum = 0;
	va_list args;
	va_start(args, n);
	for (int i = 0; i < n; i++)
		sum += va_arg(args, int);
	va_end(args);
	return sum;
}

uint32_t collatz(uint32_t n, unsigned depth)
{
	if (n <= 1 || depth > 500)
		return depth;
	if (n & 1)
		return collatz(3 * n + 1, depth + 1);
	return collatz(n / 2, depth + 1);
}

static int nested_blocks(int n)
{
	int total = 0;
	for (int i = 0; i < n; i++) {
		int square = i * i;
		if (square & 1) {
			int odd = (int)mix((uint32_t)square, (uint32_t)i);
			{
				char text[16];
				snprintf(text, sizeof(text), "%d", odd);
				total += (int)strlen(text);
			}
		} else {
			struct ring local = {.count = 0};
			ring_push(&local, (uint32_t)square);
			ring_push(&local, (uint32_t)i);
			RING_EACH(&local, v)
			total += (int)v;
		}
	}
	return total;
}

static const char *name_of(int kind)
{
	static const char *const names[] = {"none", "few", "many"};
	if (kind < 0 || kind > 2)
		give_up("kind %d is none of 0 to 2\n", kind);
	return names[kind];
}

static int checked(int argc, char **argv, struct ring *r)
{
	for (int i = 1; i < argc; i++) {
		if (strlen(argv[i]) > 1000)
			give_up("argument %d is longer than 1000 bytes\n", i);
		ring_push(r, (uint32_t)strtoul(argv[i], NULL, 0));
	}
	return argc;
}

int main(int argc, char **argv)
{
	struct ring r = {.count = 0};
	verbose = argc > 3;
	int n = checked(argc, argv, &r);
	for (uint32_t i = 0; i < 100; i++)
		ring_push(&r, mix(i, (uint32_t)n));
	long total = nested_blocks(n + 9);
	total += machine_run("+++*-d/%x!", &r);
	total += sum_of(3, n, 2, 1) + collatz(27, 0) + sort_ring(&r) + bare_assembly(n);
	if (verbose)
		printf("%s: %ld %u\n", name_of(n % 3), total, (unsigned)ring_sum(&r));
	return total == 0;
}
