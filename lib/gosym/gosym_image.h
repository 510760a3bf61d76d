/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a module as its loader lays it out. It does not depend on the object format. */
#ifndef UX_GOSYM_IMAGE_H
#define UX_GOSYM_IMAGE_H

#include "bytes.h"
#include "error.h"

/* The bytes in the file for the addresses from pc on. */
struct ux_gosym_segment {
	uint64_t pc;
	struct ux_bytes bytes;
	bool exec;
	bool writable;
};

/* A word that the loader writes, overriding the bytes of the file: a relative relocation with an
 * explicit addend. */
struct ux_gosym_word {
	uint64_t pc;
	uint64_t value;
};

/* The caller owns both arrays, which are sorted by pc and must outlive the image. Any number of
 * threads may read it. */
struct ux_gosym_image {
	const struct ux_gosym_segment *segments;
	size_t n_segments;
	const struct ux_gosym_word *words;
	size_t n_words;
	bool swap; /* the module's byte order differs from this machine's */
};

/* Returns the bytes from pc to the end of its segment; empty when no segment contains pc. */
struct ux_bytes ux_gosym_image_at(const struct ux_gosym_image *image, uint64_t pc);

/* Returns the index of the first relocated word at or after pc; n_words when there is none. */
size_t ux_gosym_image_words_from(const struct ux_gosym_image *image, uint64_t pc);

/* Reads the word of `size` (4 or 8) bytes at pc as it is after loading. Returns false when the
 * image does not contain it. */
bool ux_gosym_image_word(const struct ux_gosym_image *image, uint64_t pc, unsigned size,
			 uint64_t *ret);

/* Returns true when [lo, hi) lies in one executable segment, and the file has its bytes. */
bool ux_gosym_image_is_code(const struct ux_gosym_image *image, uint64_t lo, uint64_t hi);

#endif
