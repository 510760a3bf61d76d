/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of a linked ELF file that its segments, its header and its table of segments occupy.
 * They keep their content and their order, and move towards the start of the file where something
 * between them was removed: editors such as patchelf append segments behind the debug information.
 */
#ifndef UX_FILE_PIECES_H
#define UX_FILE_PIECES_H

#include "elf_pair.h"

/* A range of the input, and where it is in the stripped file. */
struct ux_file_piece {
	uint64_t off;
	uint64_t end;
	uint64_t align; /* the largest p_align of its segments: moves are multiples of it */
	uint64_t moved; /* the new offset of off */
};

UX_VEC(ux_file_pieces, struct ux_file_piece);

/*
 * Finds the pieces, in ascending order, and assigns their new offsets. Bytes between two pieces
 * belong to them unless a removed section or the table of sections is there. UX_ENOMEM.
 */
enum ux_code ux_file_pieces_find(const struct ux_elf_pair *pair, struct ux_file_pieces *ret,
				 struct ux_error *err) ux_must;

/* The piece that contains the n bytes from off on, or NULL. An empty range may be at its end. */
const struct ux_file_piece *ux_file_pieces_at(const struct ux_file_pieces *pieces, uint64_t off,
					      uint64_t n);

/* The offset in the stripped file of a range of the input; that of the input when it is in no
 * piece. */
uint64_t ux_file_pieces_move(const struct ux_file_pieces *pieces, uint64_t off, uint64_t n);

#endif
