/* SPDX-License-Identifier: Apache-2.0 */
/* Writing a GSYM: the records of functions, and the file around them. */
#ifndef UX_GSYM_ENCODE_H
#define UX_GSYM_ENCODE_H

#include "bytes.h"
#include "code_unit.h"
#include "error.h"
#include "out.h"

/*
 * A row of a line table: from start + off on, the code is from this file and line. Rows are sorted
 * by off and no two have the same.
 */
struct ux_gsym_row {
	uint32_t off; /* bytes from the function's start */
	uint32_t line;
	uint32_t file; /* index into the file table; 0 = none */
};

/* A half-open range, in bytes from the function's start. */
struct ux_gsym_range {
	uint32_t lo;
	uint32_t hi;
};

/*
 * Inlined calls are `struct ux_code_inline`. Here their names are string table offsets, and their
 * ranges are in bytes from the function's start. Each call has at least one range: sorted,
 * disjoint, not touching, and each in one range of the parent. Calls deeper than UX_GSYM_DEPTH_MAX
 * are not written.
 */

/* One function to be written. All numbers are final; nothing is owned. */
struct ux_gsym_function {
	uint64_t start;  /* pc */
	uint32_t size;   /* bytes, at least 1 */
	uint32_t name;   /* string table offset, not 0 */
	uint32_t before; /* bytes from the function's start to `start`; 0: it starts there */
	const struct ux_gsym_row *rows;
	size_t n_rows;
	const struct ux_code_inline *inlines;
	size_t n_inlines;
	const struct ux_gsym_range *ranges;
	const uint32_t *merged; /* names of other functions with the same range, none of them 0 */
	size_t n_merged;
};

/*
 * Appends the record of f to out in the format of version 1 (Size, Name, line table, inline tree,
 * merged functions, end). The record begins and ends at a multiple of 4. Rows are encoded with the
 * MinDelta and MaxDelta that need the fewest bytes. The output depends on f alone. Any thread.
 */
void ux_gsym_encode_function(struct ux_out *out, const struct ux_gsym_function *f);

struct ux_gsym_draft;
struct ux_gsym_numbers;

/*
 * As ux_gsym_encode_function(), but with the lines and inlined calls of a draft instead of f's; see
 * gsym_draft.h.
 */
void ux_gsym_put_function(struct ux_out *out, const struct ux_gsym_function *f,
			  const struct ux_gsym_draft *draft, const struct ux_gsym_numbers *numbers);

/* An entry of the file table: {directory, base name} as string table offsets. Entry 0 is {0, 0}. */
struct ux_gsym_file_entry {
	uint32_t dir;
	uint32_t base;
};

/* The content of a GSYM file. */
struct ux_gsym_image {
	unsigned version; /* 1, 2, or 0: version 1 when that can hold the content, else 2 */
	uint64_t v1_max;  /* largest size of a file of version 1; 0: 4 GiB less one */
	bool swap;        /* the described module's byte order is not the machine's */
	uint64_t base; /* The pc that the address table is relative to: vaddr of the first PT_LOAD.
			  If a function is below it, that function's start is used. */
	struct ux_bytes uuid; /* in version 1 at most UX_GSYM_UUID_MAX bytes */
	size_t n_functions;
	const uint64_t *starts;  /* ascending; equal starts are legal */
	const uint64_t *records; /* offset of each function's record in `data` */
	size_t n_files;
	const struct ux_gsym_file_entry *files;
	struct ux_bytes strings; /* begins and ends with a NUL */
	unsigned string_shift;   /* Names and file entries hold offsets >> string_shift, so that 32
				    bits can address more than 4 GiB of strings. Only version 2 can
				    have more than 0. */
	/*
	 * The records, in order, in the pieces that threads encoded. Each piece's size is a
	 * multiple of 4.
	 */
	const struct ux_bytes *data;
	size_t n_data;
	uint64_t placed; /* Version 1 only: size of the records that the caller has already written
			    after everything that ux_gsym_image_write() will write. `data` is then
			    not used. */
};

enum {
	UX_GSYM_UUID_MAX = 20 /* bytes, in version 1 */
};

/*
 * Returns the version that `image` will be written in: image->version, or the lowest that can hold
 * it. It depends on sizes alone; the content is not read. There must be at least one function.
 */
unsigned ux_gsym_image_version(const struct ux_gsym_image *image);

/*
 * Returns true when a file of version 1 can hold `max` bytes of records besides the rest of the
 * image; *ret_off is then the offset at which the records begin. Counts, starts, files, strings and
 * uuid must be set.
 */
bool ux_gsym_image_records_off(const struct ux_gsym_image *image, uint64_t max, uint64_t *ret_off);

/*
 * ux_gsym_image_write() passes the file, from front to back, to `sink`, in LLVM's own order:
 * header, directory, address table, record offsets, files, strings, records. UX_ELIMIT: the
 * requested version cannot hold the content. UX_EINVAL: no function (LLVM's reader crashes on such
 * a file), the strings lack a NUL at one end, or the version is unknown. UX_ECORRUPT: version 2 has
 * to convert the records, and they were not made by ux_gsym_encode_function().
 */
typedef enum ux_code ux_gsym_sink_fn(void *ctx, struct ux_bytes bytes, struct ux_error *err);

/*
 * Writes bytes at an offset of the file after everything that the sink has received so far. Any
 * thread may call it.
 */
typedef enum ux_code ux_gsym_write_at_fn(void *ctx, uint64_t off, struct ux_bytes bytes,
					 struct ux_error *err);
enum ux_code ux_gsym_image_write(const struct ux_gsym_image *image, ux_gsym_sink_fn *sink,
				 void *ctx, struct ux_error *err) ux_must;

#endif
