/* SPDX-License-Identifier: Apache-2.0 */
/* GSYM files for tests, fuzz targets and benchmarks: valid ones, drawn from bytes. */
#ifndef MAKE_GSYM_H
#define MAKE_GSYM_H

#include "arena.h"
#include "gsym_encode.h"

/* The worked example of docs/formats/gsym.md, as LLVM 24 wrote it, except for the directory's name.
 */
enum {
	MAKE_GSYM_EXAMPLE_SIZE = 214,
	MAKE_GSYM_EXAMPLE2_SIZE = 386,
	MAKE_GSYM_EXAMPLE_RECORDS = 0x78, /* where the records of the first begin */
};
extern const uint8_t make_gsym_example[MAKE_GSYM_EXAMPLE_SIZE];
/* The same in version 2: put together from the format's description, as LLVM 23 lays it out. */
extern const uint8_t make_gsym_example2[MAKE_GSYM_EXAMPLE2_SIZE];

/* The parts of a file. Everything is in the arena, which the caller owns. */
struct make_gsym {
	struct ux_arena *arena;
	unsigned version; /* 0 when drawn: the first that holds it */
	bool swap;
	uint64_t base;
	struct ux_bytes uuid;
	struct ux_gsym_function *functions; /* ascending starts, disjoint */
	size_t n_functions;
	struct ux_gsym_file_entry *files;
	size_t n_files;
	struct ux_bytes strings;
};

/*
 * Draws a file's content from input: any bytes give a valid one, and each part of the format is
 * within reach. Address tables come out 1, 2, 4 or 8 wide, rows near and far, inlined calls with
 * several ranges. UX_ENOMEM and UX_ELIMIT are the arena's.
 */
enum ux_code make_gsym_draw(struct make_gsym *m, struct ux_arena *arena, struct ux_bytes input)
	ux_must;

/* The file, by ux_gsym_encode_function() and ux_gsym_image_write(). */
enum ux_code make_gsym_write(const struct make_gsym *m, struct ux_out *out) ux_must;

/* A sink that appends to the struct ux_out ctx. */
enum ux_code make_gsym_to_out(void *ctx, struct ux_bytes bytes, struct ux_error *err) ux_must;

#endif
