/* SPDX-License-Identifier: Apache-2.0 */
/* A module's memory as its loader lays it out, whatever file it comes from. */
#ifndef UX_GOSYM_IMAGE_H
#define UX_GOSYM_IMAGE_H

#include "bytes.h"
#include "error.h"

/* What a file has for the addresses from pc on. */
struct ux_gosym_segment {
	uint64_t pc;
	struct ux_bytes bytes;
	bool exec;
	bool writable;
};

/* A word that the loader writes, whatever the file has there: a relative relocation with an addend
 * of its own. */
struct ux_gosym_word {
	uint64_t pc;
	uint64_t value;
};

/* Both arrays are the caller's, in ascending order of pc, and must stay. Any number of threads. */
struct ux_gosym_image {
	const struct ux_gosym_segment *segments;
	size_t n_segments;
	const struct ux_gosym_word *words;
	size_t n_words;
	bool swap; /* the module's byte order is not the machine's */
};

/* The bytes from pc to the end of its segment; none where there is nothing. */
struct ux_bytes ux_gosym_image_at(const struct ux_gosym_image *image, uint64_t pc);

/* The first word of the loader's at pc or behind it: a place in words, n_words when there is none.
 */
size_t ux_gosym_image_words_from(const struct ux_gosym_image *image, uint64_t pc);

/* The word of `size` (4 or 8) bytes at pc, once loaded; false where there is none. */
bool ux_gosym_image_word(const struct ux_gosym_image *image, uint64_t pc, unsigned size,
			 uint64_t *ret);

/* True when [lo, hi) is code that the file has, all in one segment. */
bool ux_gosym_image_is_code(const struct ux_gosym_image *image, uint64_t lo, uint64_t hi);

#endif
