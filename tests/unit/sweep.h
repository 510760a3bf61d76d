/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the unit tests: inputs against an unreadable page, and sweeps over damaged inputs. */
#ifndef UX_SWEEP_H
#define UX_SWEEP_H

/* cmocka wants these before itself. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "bytes.h"
#include "error.h"
#include "suites.h"

/* Without the casts of cmocka before 1.1.8, so that each release rejects the same as the newest. */
#undef assert_string_equal
#define assert_string_equal(a, b) _assert_string_equal((a), (b), __FILE__, __LINE__)

/* A test function's name is a sentence; this is its registration. */
#define UX_TEST(fn) cmocka_unit_test(fn)

/*
 * A copy of bytes that ends exactly at an unreadable page: reading one byte too many dies with
 * SIGSEGV in every build. Lives until guard_free().
 */
struct ux_bytes guard(struct ux_bytes bytes);
void guard_free(struct ux_bytes guarded);

/* The body of a sweep; the input is guarded and dies when it returns. It must not fail a test on an
 * error code: any clean answer is right, only crashes, leaks and broken promises are wrong. */
typedef void sweep_fn(struct ux_bytes input, void *ctx);

/* Runs body on every prefix of good (from 0 bytes to all of it). */
void each_prefix(struct ux_bytes good, sweep_fn *body, void *ctx);

/* Runs body on good with each single bit flipped in turn. */
void each_bit_flip(struct ux_bytes good, sweep_fn *body, void *ctx);

/* Runs body on good with each byte in turn set to 0x00, 0x7f, 0x80 and 0xff: the values that turn
 * lengths and LEB128s into extremes. */
void each_byte_extreme(struct ux_bytes good, sweep_fn *body, void *ctx);

/*
 * Runs body again and again, failing its first allocation, its second, ... until a run makes fewer
 * allocations than that; returns the number of runs. body returns the code it ended with, and the
 * sweep asserts that a run with a failed allocation did not end in UX_OK unless `may_recover`.
 * Counts malloc, calloc, realloc, reallocarray and strdup of the code under test (the test programs
 * are linked with --wrap).
 */
typedef enum ux_code alloc_fn(void *ctx);
unsigned each_failed_alloc(alloc_fn *body, void *ctx, bool may_recover);

#endif
