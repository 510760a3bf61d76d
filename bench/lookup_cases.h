/* SPDX-License-Identifier: Apache-2.0 */
/* Code shared by both sides of the lookup benchmark: addresses in, time out. Also C++. */
#ifndef LOOKUP_CASES_H
#define LOOKUP_CASES_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The addresses of a file of 64-bit numbers; malloc'ed. Ends the program when it cannot. */
static uint64_t *lookup_addresses(const char *path, size_t *ret_n)
{
	FILE *f = fopen(path, "rb");
	long size = -1;
	if (f && fseek(f, 0, SEEK_END) == 0)
		size = ftell(f);
	uint64_t *all = (uint64_t *)(size > 0 ? malloc((size_t)size) : NULL);
	if (!all || fseek(f, 0, SEEK_SET) != 0 ||
	    fread(all, sizeof(*all), (size_t)size / sizeof(*all), f) == 0) {
		perror(path);
		exit(2);
	}
	fclose(f);
	*ret_n = (size_t)size / sizeof(*all);
	return all;
}

/* Processor time, in ns: other programs on the machine affect it only through the caches. */
static double lookup_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Prints nanoseconds for an address, and the numbers of results, on which both sides have to agree.
 */
static inline void lookup_report(double ns, size_t n, uint64_t frames, uint64_t lines)
{
	printf("%.2f %llu %llu\n", ns / (double)n, (unsigned long long)frames,
	       (unsigned long long)lines);
}

#endif
