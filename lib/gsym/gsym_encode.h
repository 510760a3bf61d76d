/* SPDX-License-Identifier: Apache-2.0 */
/* GSYM, writing: one function's record, and the file around the records. */
#ifndef UX_GSYM_ENCODE_H
#define UX_GSYM_ENCODE_H

#include "bytes.h"
#include "code_unit.h"
#include "error.h"
#include "out.h"

/* A row of a line table: from start + off on, this file and line. Ascending off, no two alike. */
struct ux_gsym_row {
	uint32_t off; /* bytes from the function's start */
	uint32_t line;
	uint32_t file; /* index into the file table; 0 = none */
};

/* Half-open, in bytes from the function's start. */
struct ux_gsym_range {
	uint32_t lo;
	uint32_t hi;
};

/*
 * Inlined calls are `struct ux_code_inline` with names that are string table offsets, and with
 * ranges in bytes from the function's start, each call at least one: sorted, disjoint, not
 * touching, and each in one range of the parent. Calls deeper than UX_GSYM_DEPTH_MOST are not
 * written.
 */

/* One function as it is to be written: everything final, nothing owned. */
struct ux_gsym_function {
	uint64_t start; /* pc */
	uint32_t size;  /* bytes, at least 1 */
	uint32_t name;  /* string table offset, not 0 */
	const struct ux_gsym_row *rows;
	size_t n_rows;
	const struct ux_code_inline *inlines;
	size_t n_inlines;
	const struct ux_gsym_range *ranges;
	const uint32_t *merged; /* names of other functions of the same range; none is 0 */
	size_t n_merged;
};

/*
 * Appends the record of f to out in the form of version 1 (Size, Name, line table, inline tree,
 * merged functions, end), starting and ending 4-aligned. Rows are encoded with the
 * MinDelta/MaxDelta that cost the fewest bytes. Pure: same input, same bytes, any thread.
 */
void ux_gsym_encode_function(struct ux_out *out, const struct ux_gsym_function *f);

struct ux_gsym_draft;
struct ux_gsym_numbers;

/* The same of f's head, with the lines and inlined calls of a draft; see gsym_draft.h. */
void ux_gsym_put_function(struct ux_out *out, const struct ux_gsym_function *f,
			  const struct ux_gsym_draft *draft, const struct ux_gsym_numbers *numbers);

/* {directory, base name}, as string table offsets; entry 0 is {0, 0}. */
struct ux_gsym_file_entry {
	uint32_t dir;
	uint32_t base;
};

/* Everything around the records. */
struct ux_gsym_image {
	unsigned version;     /* 1, 2, or 0: 1 when that holds it, else 2 */
	uint64_t v1_most;     /* bytes that a file of version 1 may have; 0: 4 GiB less one */
	bool swap;            /* the described module's byte order is not the machine's */
	uint64_t base;        /* pc the address table counts from: vaddr of the first PT_LOAD; a
				 function below it lowers it to that function's start */
	struct ux_bytes uuid; /* version 1: at most UX_GSYM_UUID_MOST bytes */
	size_t n_functions;
	const uint64_t *starts;  /* ascending; equal starts are legal */
	const uint64_t *records; /* offset of each function's record in `data` */
	size_t n_files;
	const struct ux_gsym_file_entry *files;
	struct ux_bytes strings; /* begins and ends with a NUL */
	unsigned string_shift;   /* names and file entries are offsets >> string_shift: 32 bits then
				    reach further than 4 GiB; only version 2 can have more than 0 */
	/* the records in pieces, in order, as the threads made them; each piece's size is a
	 * multiple of 4 */
	const struct ux_bytes *data;
	size_t n_data;
	uint64_t placed; /* of version 1: bytes of records that the file has already, behind all
			    that ux_gsym_image_write() then writes; `data` is not looked at */
};

enum {
	UX_GSYM_UUID_MOST = 20 /* bytes, in version 1 */
};

/*
 * The version that `image` is written in: image->version, or the first that holds it. Depends on
 * sizes alone; the content is not looked at. Needs a function.
 */
unsigned ux_gsym_image_version(const struct ux_gsym_image *image);

/*
 * True when a version 1 of the image holds `most` bytes of records, whatever else is still to be
 * filled in: then *ret_off is where in the file they begin. Counts, starts, files, strings and uuid
 * must be there.
 */
bool ux_gsym_image_records_off(const struct ux_gsym_image *image, uint64_t most, uint64_t *ret_off);

/*
 * Hands the file, front to back, to `sink` (header, directory, address table, record offsets,
 * files, strings, records: LLVM's own order). UX_ELIMIT when the requested version cannot hold it;
 * UX_EINVAL without a function (LLVM's reader does not survive that), without the NULs, or for
 * another version; UX_ECORRUPT for records that ux_gsym_encode_function() did not make, where
 * version 2 has to know them.
 */
typedef enum ux_code ux_gsym_sink_fn(void *ctx, struct ux_bytes bytes, struct ux_error *err);

/* Writes bytes at an offset of the file, anywhere behind what the sink was given so far. Called by
 * any thread. */
typedef enum ux_code ux_gsym_write_at_fn(void *ctx, uint64_t off, struct ux_bytes bytes,
					 struct ux_error *err);
enum ux_code ux_gsym_image_write(const struct ux_gsym_image *image, ux_gsym_sink_fn *sink,
				 void *ctx, struct ux_error *err) ux_must;

#endif
