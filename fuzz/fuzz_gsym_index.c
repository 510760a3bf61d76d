/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Target: an index changes no answer, and the pieces of functions have the same frames as lookups.
 * The first byte is the number of frames requested.
 */
#include "fuzz_gsym.h"

#include "gsym_pieces.h"
#include "gsym_reader.h"

enum {
	ALL = 0x80, /* request all frames; else the rest of the byte is the number */
	PIECES_BUDGET = 64 << 20,
	PIECES_MAX = 64, /* pieces and functions that are checked */
};

/* Returns the frames of a piece; 0: one of its strings or files is damaged. */
static size_t frames_of_piece(const struct ux_gsym *g, const struct ux_gsym_pieces *pieces,
			      const struct ux_gsym_piece *piece, struct ux_frame *frames)
{
	struct ux_gsym_call call = {.file = piece->file, .line = piece->line, .inlined = true};
	uint32_t node = piece->node;
	for (size_t n = 0; n < FUZZ_FRAMES; node = call.caller) {
		struct ux_frame *f = &frames[n++];
		*f = (struct ux_frame){.dir = "", .base = "", .line = call.line};
		if ((call.file != 0 && !ux_gsym_file(g, call.file, &f->dir, &f->base)) ||
		    !ux_gsym_pieces_call(g, pieces, node, &call))
			return 0;
		f->function = call.function;
		f->inlined = call.inlined;
		if (!call.inlined)
			return n;
	}
	return 0;
}

/* Each piece begins where it says, and has the same frames up to the next one. */
static void check_pieces(const struct ux_gsym *g, uint32_t i)
{
	UX_ARENA(arena, PIECES_BUDGET);
	struct ux_gsym_pieces pieces;
	if (ux_gsym_pieces_find(g, i, &arena, &pieces) != UX_OK)
		return;
	for (size_t k = 0; k < pieces.n && k < PIECES_MAX; k++) {
		const uint32_t end = k + 1 < pieces.n ? pieces.list[k + 1].off : pieces.size;
		const uint32_t offs[] = {pieces.list[k].off, end - 1};
		fuzz_truth(pieces.list[k].off < end);
		for (size_t at = 0; at < 2; at++) {
			struct ux_frame a[FUZZ_FRAMES], b[FUZZ_FRAMES];
			size_t n_a = 0;
			enum ux_code code = ux_gsym_lookup(g, ux_gsym_start(g, i) + offs[at], a,
							   FUZZ_FRAMES, &n_a, NULL);
			size_t n_b = frames_of_piece(g, &pieces, &pieces.list[k], b);
			fuzz_truth((code == UX_OK) == (n_b > 0));
			for (size_t f = 0; f < n_a && code == UX_OK; f++)
				b[f].offset = a[f].offset; /* a piece does not contain it */
			fuzz_truth(code != UX_OK || fuzz_same_frames(a, n_a, b, n_b));
		}
	}
}

FUZZ_TARGET(gsym_index)(const uint8_t *data, size_t size)
{
	struct ux_gsym plain;
	uint64_t pcs[FUZZ_PCS_MAX];
	if (size == 0 || ux_gsym_open(&plain, ux_bytes(data + 1, size - 1), NULL) != UX_OK)
		return 0;
	struct ux_gsym indexed = plain;
	fuzz_truth(ux_gsym_index_build(&indexed, NULL) == UX_OK);
	size_t max = (data[0] & ALL) != 0 ? FUZZ_FRAMES : data[0];
	size_t n = fuzz_pcs(&plain, size ^ data[size / 2], pcs);
	for (size_t i = 0; i < n; i++) {
		struct ux_frame a[FUZZ_FRAMES], b[FUZZ_FRAMES];
		size_t n_a = 0, n_b = 0;
		enum ux_code code = ux_gsym_lookup(&plain, pcs[i], a, max, &n_a, NULL);
		fuzz_truth(ux_gsym_lookup(&indexed, pcs[i], b, max, &n_b, NULL) == code);
		fuzz_truth(code != UX_OK || fuzz_same_frames(a, n_a, b, n_b));
	}
	ux_gsym_index_free(&indexed);
	bool sorted = true;
	for (uint32_t i = 1; i < plain.n_functions; i++)
		sorted &= ux_gsym_start(&plain, i - 1) <= ux_gsym_start(&plain, i);
	for (uint32_t i = 0; sorted && i < plain.n_functions && i < PIECES_MAX; i++)
		check_pieces(&plain, i);
	return 0;
}
