/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of the cost of an input, asserted for every input.
 *
 * 1 MB may take 2 s of processor time (all threads together) and 256 MiB; the limit of a smaller
 * input is lower in proportion, so that a quadratic cost is found long before 1 MB. Sanitizers and
 * the counters that guide fuzzers multiply the time by up to ten, which their builds are allowed.
 * In these builds memory is counted by allocations, since sanitizers keep freed memory; without
 * them the kernel's count is used.
 */
#include "fuzz.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SLOWER 10
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SLOWER 10
#endif
#endif
#ifndef SLOWER
#define SLOWER 1
#endif

enum {
	MB = 1 << 20,
	MS_FREE = 250, /* ms of processor time for threads and a server's store */
	MS_MAX = 2000,
	MEMORY_FREE = 64 * MB, /* bytes for tables of fixed size, and for budgets that small inputs
				  may use up */
	MEMORY_MAX = 256 * MB,
};

/* A build with AddressSanitizer defines these. */
int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void *, size_t),
					      void (*free_hook)(const volatile void *))
	__attribute__((weak));
size_t __sanitizer_get_allocated_size(const volatile void *p) __attribute__((weak));

static _Atomic int64_t live, peak; /* bytes */

static void on_malloc(const volatile void *p, size_t size)
{
	(void)p;
	int64_t now = atomic_fetch_add_explicit(&live, (int64_t)size, memory_order_relaxed) +
		      (int64_t)size;
	int64_t max = atomic_load_explicit(&peak, memory_order_relaxed);
	while (now > max && !atomic_compare_exchange_weak_explicit(
				    &peak, &max, now, memory_order_relaxed, memory_order_relaxed))
		continue;
}

static void on_free(const volatile void *p)
{
	if (p)
		atomic_fetch_sub_explicit(&live, (int64_t)__sanitizer_get_allocated_size(p),
					  memory_order_relaxed);
}

/* Returns true when allocations are counted, from the first call on. */
static bool counts_allocations(void)
{
	static int installed = -1;
	if (installed < 0)
		installed = __sanitizer_install_malloc_and_free_hooks &&
			    __sanitizer_get_allocated_size &&
			    __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) > 0;
	return installed > 0;
}

/* Returns a number of /proc/self/status in bytes; 0 if it is missing. */
static int64_t status_bytes(const char *name)
{
	char text[4096];
	int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
	if (fd >= 0)
		close(fd);
	text[n > 0 ? n : 0] = '\0';
	const char *at = strstr(text, name);
	return at ? strtoll(at + strlen(name), NULL, 10) * 1024 : 0;
}

/* Resets the kernel's peak to the memory in use now. */
static void forget_peak(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	ssize_t n = write(fd, "5", 1);
	(void)n; /* if this fails, the bound applies to all inputs together */
	close(fd);
}

static int64_t begin_memory(void)
{
	if (counts_allocations()) {
		int64_t now = atomic_load_explicit(&live, memory_order_relaxed);
		atomic_store_explicit(&peak, now, memory_order_relaxed);
		return now;
	}
	forget_peak();
	return status_bytes("VmRSS:");
}

static int64_t end_memory(int64_t before)
{
	int64_t max = counts_allocations() ? atomic_load_explicit(&peak, memory_order_relaxed)
					   : status_bytes("VmHWM:");
	return max - before;
}

static int64_t now_ms(void)
{
	struct timespec t;
	fuzz_truth(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0);
	return t.tv_sec * INT64_C(1000) + t.tv_nsec / 1000000;
}

/*
 * Returns the cost allowed for `size` bytes, if an empty input may cost `none` and 1 MB may cost
 * `max`.
 */
static int64_t allowed(size_t size, int64_t none, int64_t max)
{
	return none + (max - none) * (int64_t)ux_min(size, (size_t)MB) / MB;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static bool warm;
	int64_t memory = begin_memory(), started = now_ms();
	fuzz_input(data, size);
	int64_t took = now_ms() - started, used = end_memory(memory);
	int64_t ms_max = allowed(size, MS_FREE, MS_MAX) * SLOWER;
	int64_t memory_max = allowed(size, MEMORY_FREE, MEMORY_MAX);
	if (warm && (took > ms_max || used > memory_max))
		fprintf(stderr, "%zu bytes took %" PRId64 " ms and %" PRId64 " bytes\n", size, took,
			used);
	fuzz_truth(!warm || took <= ms_max);
	fuzz_truth(!warm || used <= memory_max);
	warm = true; /* the first input pays for libraries and tables that are made only once */
	return 0;
}
