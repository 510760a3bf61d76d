/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a GSYM: opening it, and looking up one address or many. */
#ifndef UX_GSYM_READER_H
#define UX_GSYM_READER_H

#include "bytes.h"
#include "code_budget.h"
#include "error.h"
#include "unhex/frame.h"

struct ux_gsym_index;
struct gsym_cut;

/*
 * An open GSYM over bytes that the caller owns. Immutable once open: any number of threads may look
 * up.
 */
struct ux_gsym {
	struct ux_bytes file;
	bool swap;
	uint16_t version;
	uint8_t addr_size;   /* 1, 2, 4 or 8: width of the address table's values */
	uint8_t offset_size; /* 4 or 8: width of the offsets of strings and records. Lookups depend
				on the version only through this and `body`. */
	uint64_t base;
	uint32_t n_functions;
	uint32_t n_files;
	const uint8_t *addrs;
	const uint8_t *records; /* offset of each record in `body` */
	struct ux_bytes
		body; /* the bytes that hold the records: the whole file, or a section of it */
	const uint8_t *files; /* entries of {directory, base name} */
	struct ux_bytes strings;
	struct ux_bytes uuid;
	const uint16_t *columns; /* column numbers of each file, as an extraction in memory returns
				    them; set by the caller; NULL: unknown */
	struct ux_gsym_index *index; /* NULL, or from ux_gsym_index_build() or _open() */
};

/*
 * Checks the header and the bounds of tables, in constant time. Records are checked when they are
 * read. Versions 1 and 2 are supported. UX_EUNSUPPORTED: an unknown magic, version or encoding of
 * strings, which is in the message. UX_ECORRUPT: tables are missing or exceed the file, or the
 * strings do not end with a NUL.
 */
enum ux_code ux_gsym_open(struct ux_gsym *g, struct ux_bytes file, struct ux_error *err) ux_must;

enum {
	UX_GSYM_BASE_BYTES = 64, /* from the start of a GSYM, for ux_gsym_image_base() */
};

/*
 * Reads the lowest virtual address of the module's image from the first UX_GSYM_BASE_BYTES of a
 * GSYM. Writers without the image put the start of the first function in the same place, which says
 * nothing about the image's start unless it is 0: UX_ENOTFOUND. UX_EUNSUPPORTED, UX_ECORRUPT.
 */
enum ux_code ux_gsym_image_base(struct ux_bytes head, uint64_t *ret, struct ux_error *err) ux_must;

/*
 * Does the same for an open GSYM, of either version. False: the file does not record where the
 * image begins.
 */
bool ux_gsym_image_start(const struct ux_gsym *g, uint64_t *ret);

/* Returns true when the file begins with GSYM's magic in either byte order. */
bool ux_gsym_is(struct ux_bytes file);

enum {
	UX_GSYM_DEPTH_MAX = 256,    /* deepest nesting of inlined calls; real files stay under 50 */
	UX_GSYM_SAME_START_MAX = 64 /* most functions with the same start that a lookup examines */
};

/* Returns the pc of function i < n_functions. */
uint64_t ux_gsym_start(const struct ux_gsym *g, uint32_t i);

/* Returns the offset in g->body of the record of function i < n_functions; not checked. */
uint64_t ux_gsym_record(const struct ux_gsym *g, uint32_t i);

/* Returns the NUL-terminated string at offset off; NULL when off is past the table. */
ux_inline const char *ux_gsym_string(const struct ux_gsym *g, uint64_t off)
{
	return ux_likely(off < g->strings.size) ? (const char *)g->strings.data + off : NULL;
}

/* Reads entry `file` of the file table; false when it or its strings are past their tables. */
bool ux_gsym_file(const struct ux_gsym *g, uint32_t file, const char **ret_dir,
		  const char **ret_base);

/*
 * Writes the frames at pc, innermost first, at most `max` of them (the outermost are kept when
 * there are more). Allocates nothing; the strings point into the file. UX_ENOTFOUND: no function
 * covers pc. UX_ECORRUPT: the record is damaged. A function without a row for pc still has a frame
 * with its name. Of the functions with the greatest start at or before pc, the first in the file
 * that covers pc is used; writers put smaller functions first. No other function's record is read.
 */
enum ux_code ux_gsym_lookup(const struct ux_gsym *g, uint64_t pc, struct ux_frame *frames,
			    size_t max, size_t *ret_n, struct ux_error *err) ux_must;

/*
 * Does the same, charging each byte of the record that may be read. UX_EUNAVAILABLE, with no
 * message: the work was refused.
 */
enum ux_code ux_gsym_lookup_within(const struct ux_gsym *g, uint64_t pc, struct ux_work *work,
				   struct ux_frame *frames, size_t max, size_t *ret_n,
				   struct ux_error *err) ux_must;

/*
 * Returns the start of the function that is the outermost frame at pc, and its size, 0 when that is
 * unknown. If another function is inside of it, the size extends to the other one, or to the end of
 * the part with pc. Codes of ux_gsym_lookup().
 */
enum ux_code ux_gsym_extent(const struct ux_gsym *g, uint64_t pc, uint64_t *ret_start,
			    uint64_t *ret_size, struct ux_error *err) ux_must;

/*
 * Writes the names of the functions that are merged with the one at pc, in the file's order, at
 * most `max` of them; *ret_n is how many there are. Merged functions inside of merged functions are
 * ignored. The strings point into the file. UX_ENOTFOUND: no function covers pc. UX_OK with none:
 * the function has no other name. UX_ECORRUPT: the record is damaged.
 */
enum ux_code ux_gsym_alternatives(const struct ux_gsym *g, uint64_t pc, const char **names,
				  size_t max, size_t *ret_n, struct ux_error *err) ux_must;

/* --- batches of addresses --------------------------------------------------------------------- */

/*
 * A batch of addresses, in any order and with duplicates, and the destination of the frames: either
 * fn, which is called in unspecified order, or the arrays frames and spans. The caller owns all
 * arrays.
 */
struct ux_gsym_batch {
	const uint64_t *pcs;
	size_t n;
	uint64_t back; /* subtracted from each pc before the lookup: 1 for return addresses */
	struct ux_work *work; /* charged as in ux_gsym_lookup_within(); NULL: no limit */

	ux_frames_fn *fn; /* NULL: the arrays are used */
	void *ctx;

	struct ux_frame *frames;
	size_t max;                  /* room in frames */
	struct ux_frame_span *spans; /* n elements; equal pcs share their frames */
	size_t n_frames;             /* result: how many frames were written, or would be needed */
};

/*
 * Looks up a batch. Each pc gets the same frames as from ux_gsym_lookup(); none if that fails. (In
 * a damaged file whose functions are not in ascending order, or wrap at 2^64, some functions may
 * not be found.) UX_ELIMIT: frames is too small, n_frames is the number that is needed, and the
 * content of frames and spans is undefined. UX_ECORRUPT: a record is damaged, and err describes the
 * first one; all other results are valid. UX_ENOMEM: results are missing; so it is with
 * UX_EUNAVAILABLE, when work was refused. Needs 16 bytes of memory for each pc for sorting (8 when
 * they are already sorted) and a fixed 170 KB. Any thread.
 */
enum ux_code ux_gsym_batch(const struct ux_gsym *g, struct ux_gsym_batch *b, struct ux_error *err)
	ux_must;

/* --- shorter lookups -------------------------------------------------------------------------- */

/*
 * Builds an index for g, which lookups of g then use: the results are the same, but faster. Records
 * that are small or damaged are not indexed. On UX_ENOMEM g is unchanged. It takes about as much
 * memory as the file's size, and three times the time of reading the file once.
 */
enum ux_code ux_gsym_index_build(struct ux_gsym *g, struct ux_error *err) ux_must;

/*
 * As ux_gsym_index_build(), but reads nothing yet: lookups and batches add a large record to the
 * index when they read it for the third time, until the index has `max` bytes. It begins with 8
 * bytes for each function. The cost of adding a record is bounded as well: by `max` bytes of memory
 * and about 30 times the time of reading the record once. Any number of threads may look up.
 */
enum ux_code ux_gsym_index_open(struct ux_gsym *g, size_t max, struct ux_error *err) ux_must;
void ux_gsym_index_free(struct ux_gsym *g);

/* Returns the memory that the index of g uses now; 0 without one. */
size_t ux_gsym_index_bytes(const struct ux_gsym *g);

/* Sizes of an index. */
struct ux_gsym_index_counts {
	size_t functions;
	size_t nodes;
	size_t rows;
};
struct ux_gsym_index_counts ux_gsym_index_count(const struct ux_gsym *g);

#endif
