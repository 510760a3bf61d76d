/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a GSYM over a mapping: opening it, and from addresses to frames, one by one or many. */
#ifndef UX_GSYM_READER_H
#define UX_GSYM_READER_H

#include "bytes.h"
#include "error.h"
#include "unhex/frame.h"

struct ux_gsym_index;

/* Over bytes that stay the caller's. Immutable once open: any number of threads may look up. */
struct ux_gsym {
	struct ux_bytes file;
	bool swap;
	uint16_t version;
	uint8_t addr_size;   /* 1, 2, 4 or 8: width of the address table's values */
	uint8_t offset_size; /* 4 or 8: width of a string's or record's offset. This and `body` are
				all that a lookup sees of the version */
	uint64_t base;
	uint32_t n_functions;
	uint32_t n_files;
	const uint8_t *addrs;
	const uint8_t *records; /* where in `body` each record is */
	struct ux_bytes body;   /* what holds the records: the file, or a section of it */
	const uint8_t *files;   /* {directory, base name} each */
	struct ux_bytes strings;
	struct ux_bytes uuid;
	const struct ux_gsym_index *index; /* NULL, or what ux_gsym_index_build() made */
};

/*
 * Checks header and table bounds, in constant time; records are checked as they are read. Versions
 * 1 and 2. UX_EUNSUPPORTED: another magic, version or encoding of strings, which the message names;
 * UX_ECORRUPT: tables that leave the file or are missing, or strings whose last has no NUL.
 */
enum ux_code ux_gsym_open(struct ux_gsym *g, struct ux_bytes file, struct ux_error *err) ux_must;

/* True when the first bytes are a GSYM's, in either byte order. */
bool ux_gsym_is(struct ux_bytes file);

enum {
	UX_GSYM_DEPTH_MOST = 256,    /* inlined calls in each other; real files stay under 50 */
	UX_GSYM_SAME_START_MOST = 64 /* functions with one start that a lookup tries */
};

/* pc of function i < n_functions. */
uint64_t ux_gsym_start(const struct ux_gsym *g, uint32_t i);

/* Where in g->body the record of function i < n_functions is; not checked. */
uint64_t ux_gsym_record(const struct ux_gsym *g, uint32_t i);

/* The string at off, ended by a NUL inside the table; NULL when off is past the table. */
ux_inline const char *ux_gsym_string(const struct ux_gsym *g, uint64_t off)
{
	return ux_likely(off < g->strings.size) ? (const char *)g->strings.data + off : NULL;
}

/* Entry `file` of the file table; false when it or its strings are past their tables. */
bool ux_gsym_file(const struct ux_gsym *g, uint32_t file, const char **ret_dir,
		  const char **ret_base);

/*
 * The frames at pc, innermost first, at most `max` of them (the outermost are kept when there are
 * more). Allocates nothing; the strings point into the file. UX_ENOTFOUND when no function covers
 * pc, UX_ECORRUPT when the record is bad; a function without a row for pc still gives its name. Of
 * the functions with the greatest start at or before pc the first in the file that reaches pc
 * answers; writers put the smaller first. No other function's record is consulted.
 */
enum ux_code ux_gsym_lookup(const struct ux_gsym *g, uint64_t pc, struct ux_frame *frames,
			    size_t max, size_t *ret_n, struct ux_error *err) ux_must;

/* Where the function begins whose frame would be the outermost one at pc, and its bytes, 0 when
 * that is unknown. Codes as above. */
enum ux_code ux_gsym_extent(const struct ux_gsym *g, uint64_t pc, uint64_t *ret_start,
			    uint64_t *ret_size, struct ux_error *err) ux_must;

/*
 * The names of the functions that are merged with the one at pc, in the file's order, at most `max`
 * of them; *ret_n is how many there are. Of merged functions in merged functions the outer ones
 * count. The strings point into the file. UX_ENOTFOUND when no function covers pc; UX_OK and none
 * when the one that does has no other name; UX_ECORRUPT when the record is bad.
 */
enum ux_code ux_gsym_alternatives(const struct ux_gsym *g, uint64_t pc, const char **names,
				  size_t max, size_t *ret_n, struct ux_error *err) ux_must;

/* --- many addresses at once ------------------------------------------------------------------- */

/*
 * The addresses, in any order and repeated or not, and where the answers go: either to fn, in an
 * order of ours, or into frames and spans. All arrays are the caller's.
 */
struct ux_gsym_batch {
	const uint64_t *pcs;
	size_t n;
	uint64_t back; /* subtracted from each pc first: 1 for return addresses */

	ux_frames_fn *fn; /* NULL: into the arrays */
	void *ctx;

	struct ux_frame *frames;
	size_t max;                  /* how many fit there */
	struct ux_frame_span *spans; /* n of them; equal pcs share their frames */
	size_t n_frames;             /* set: how many were written, or would have to be */
};

/*
 * The frames are those of ux_gsym_lookup() for each pc by itself, all of them; none where that
 * fails. (A damaged file whose functions are not in ascending order, or pass 2^64, gives some of
 * its functions.) UX_ELIMIT: frames is too small, n_frames is how many it takes, and frames and
 * spans have no meaning. UX_ECORRUPT: a record was bad, err describes the first such failure; the
 * other answers are all there. UX_ENOMEM: answers are missing. Takes 16 bytes a pc for sorting (8
 * when they come sorted) and a fixed 170 KB. Any thread.
 */
enum ux_code ux_gsym_batch(const struct ux_gsym *g, struct ux_gsym_batch *b, struct ux_error *err)
	ux_must;

/* --- shorter lookups -------------------------------------------------------------------------- */

/*
 * Reads all of g, and from then on lookups of g use what was made: the same answers sooner. What is
 * small enough already, or damaged, is read as before. UX_ENOMEM leaves g as it was. Takes memory
 * about as large as the file, and the time of reading it once.
 */
enum ux_code ux_gsym_index_build(struct ux_gsym *g, struct ux_error *err) ux_must;
void ux_gsym_index_free(struct ux_gsym *g);

/* What an index holds. */
struct ux_gsym_index_counts {
	size_t functions;
	size_t nodes;
	size_t rows;
};
struct ux_gsym_index_counts ux_gsym_index_count(const struct ux_gsym *g);

#endif
