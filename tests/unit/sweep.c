/* SPDX-License-Identifier: Apache-2.0 */
/* Guard pages and sweeps. */
#include "sweep.h"

#include <sys/mman.h>
#include <unistd.h>

/* Takes the pattern of tests from the environment: cmocka supports one, but reads it nowhere. */
__attribute__((constructor)) static void choose_tests(void)
{
	const char *pattern = getenv("CMOCKA_TEST_FILTER");
	if (pattern)
		cmocka_set_test_filter(pattern);
}

static size_t page_round(size_t n)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	return (n + page - 1) & ~(page - 1);
}

struct ux_bytes guard(struct ux_bytes bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t room = page_round(bytes.size);
	uint8_t *map =
		mmap(NULL, room + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_true(map != MAP_FAILED);
	assert_int_equal(mprotect(map + room, page, PROT_NONE), 0);
	uint8_t *at = map + room - bytes.size;
	if (bytes.size > 0)
		memcpy(at, bytes.data, bytes.size);
	return ux_bytes(at, bytes.size);
}

void guard_free(struct ux_bytes guarded)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t room = page_round(guarded.size);
	uint8_t *end = (uint8_t *)(uintptr_t)guarded.data + guarded.size;
	munmap(end - room, room + page);
}

void each_prefix(struct ux_bytes good, sweep_fn *body, void *ctx)
{
	for (size_t n = 0; n <= good.size; n++) {
		struct ux_bytes input = guard(ux_bytes(good.data, n));
		body(input, ctx);
		guard_free(input);
	}
}

static void each_value(struct ux_bytes good, sweep_fn *body, void *ctx, size_t values,
		       uint8_t (*change)(uint8_t old, size_t i))
{
	for (size_t at = 0; at < good.size; at++) {
		for (size_t i = 0; i < values; i++) {
			struct ux_bytes input = guard(good);
			uint8_t *byte = (uint8_t *)(uintptr_t)input.data + at;
			*byte = change(*byte, i);
			body(input, ctx);
			guard_free(input);
		}
	}
}

static uint8_t flip_bit(uint8_t old, size_t i)
{
	return (uint8_t)(old ^ 1u << i);
}

void each_bit_flip(struct ux_bytes good, sweep_fn *body, void *ctx)
{
	each_value(good, body, ctx, 8, flip_bit);
}

static uint8_t extreme(uint8_t old, size_t i)
{
	(void)old;
	return (const uint8_t[]){0x00, 0x7f, 0x80, 0xff}[i];
}

void each_byte_extreme(struct ux_bytes good, sweep_fn *body, void *ctx)
{
	each_value(good, body, ctx, 4, extreme);
}

/* One test runs at a time, but threads of the code under test allocate too. */
static _Atomic long fail_at = -1; /* -1: never */
static _Atomic unsigned failures;

static bool fails(void)
{
	if (fail_at < 0 || fail_at-- != 0)
		return false;
	failures++;
	return true;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_reallocarray(void *p, size_t n, size_t size);
char *__real_strdup(const char *s);
void *__real_aligned_alloc(size_t align, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_reallocarray(void *p, size_t n, size_t size);
char *__wrap_strdup(const char *s);
void *__wrap_aligned_alloc(size_t align, size_t n);

void *__wrap_malloc(size_t n)
{
	return fails() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n)
{
	return fails() ? NULL : __real_realloc(p, n);
}

void *__wrap_reallocarray(void *p, size_t n, size_t size)
{
	return fails() ? NULL : __real_reallocarray(p, n, size);
}

char *__wrap_strdup(const char *s)
{
	return fails() ? NULL : __real_strdup(s);
}

void *__wrap_aligned_alloc(size_t align, size_t n)
{
	return fails() ? NULL : __real_aligned_alloc(align, n);
}

unsigned each_failed_alloc(alloc_fn *body, void *ctx, bool may_recover)
{
	unsigned runs = 0;
	for (long n = 0;; n++) {
		failures = 0;
		fail_at = n;
		enum ux_code code = body(ctx);
		fail_at = -1;
		runs++;
		if (failures == 0) {
			assert_int_equal(code, UX_OK);
			return runs;
		}
		if (!may_recover)
			assert_int_equal(code, UX_ENOMEM);
	}
}
