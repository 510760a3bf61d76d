/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds which bytes of a file its parts cover, in memory that does not depend on the file's size: a
 * bitmap covers a window of the bytes, and each window takes a pass.
 */
#ifndef UX_GSYM_COVERAGE_H
#define UX_GSYM_COVERAGE_H

#include "gsym_reader.h"

enum {
	GSYM_WINDOW_MAX =
		16 << 20, /* bytes of a bitmap, which covers a window of eight times that size */
	GSYM_TABLES_MAX = 1024, /* tables of a file; version 2 may have more than the known 6 */
};

/* A bit for each byte from lo to hi of a file or table of `size` bytes. */
struct gsym_window {
	uint8_t *bits;
	uint64_t lo, hi;
};

/* Opens the first window, with no bit set. */
enum ux_code gsym_window_init(struct gsym_window *w, uint64_t size, struct ux_error *err) ux_must;
void gsym_window_deinit(struct gsym_window *w);

/* Moves on to the next window, with no bit set; false after the last one. */
bool gsym_window_next(struct gsym_window *w, uint64_t size);

/* Sets the bits from lo to hi, which are inside of the window. */
void gsym_window_fill(struct gsym_window *w, uint64_t lo, uint64_t hi);

/* Returns the first byte from lo on with that value of its bit; hi: none before hi. */
uint64_t gsym_window_find(const struct gsym_window *w, uint64_t lo, uint64_t hi, bool value);

/* A part of the file. */
struct gsym_part {
	uint64_t lo;
	uint64_t hi;
};

/* The parts of a file that are not records. */
struct gsym_tables {
	struct gsym_part parts[GSYM_TABLES_MAX];
	size_t n;
};

/* UX_ECORRUPT: more than GSYM_TABLES_MAX parts. */
enum ux_code gsym_tables_add(struct gsym_tables *t, uint64_t lo, uint64_t hi, struct ux_error *err)
	ux_must;

/*
 * Checks that no two parts overlap, and counts the bytes that belong to no part and are not
 * padding. The content of all records must have been verified, and the sum of their sizes must not
 * exceed the file's size. *ret_end: where the last part ends.
 */
enum ux_code gsym_coverage_check(const struct ux_gsym *g, const struct gsym_tables *tables,
				 uint64_t *ret_foreign, uint64_t *ret_end, struct ux_error *err)
	ux_must;

#endif
