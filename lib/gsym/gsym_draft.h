/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Drafts: a function's line table and inlined calls, encoded except for the numbers of names and
 * files, which are only known when all functions have been read. Those numbers are stored beside
 * the encoded bytes. A draft is a third of the size of its input. Threads make drafts while a
 * unit's rows are still in the CPU's caches, and finishing a draft is little more than a copy.
 */
#ifndef UX_GSYM_DRAFT_H
#define UX_GSYM_DRAFT_H

#include "arena.h"
#include "gsym_encode.h"
#include "vec.h"

UX_VEC(ux_gsym_refs, uint32_t);

/*
 * A draft. It exists only in memory and is always made by ux_gsym_draft_make(), so its content is
 * not checked.
 */
struct ux_gsym_draft {
	/*
	 * First, for each SetFile of the line table, the file and the number of bytes up to the
	 * next SetFile. Then, for each inlined call, its name and its call_file. Then the encoded
	 * bytes: the line table without SetFile, and the inline tree without its root, names and
	 * files, but with the sizes of the parts that are copied in one go.
	 */
	const uint32_t *refs;
	uint32_t n_rows;
	uint32_t n_sets;
	uint32_t n_inlines;
	uint32_t lines_size;   /* bytes */
	uint32_t inlines_size; /* bytes */
	uint32_t line_bytes;   /* bytes of code that have a line other than 0 */
};

/* Buffers that are reused from draft to draft. Zeroed is ready. */
struct ux_gsym_drafter {
	struct ux_out out;
	struct ux_gsym_refs refs;
};

/*
 * Encodes f's rows and inlined calls into the arena, with the numbers of names and files that f
 * has. f's own name and merged functions are left out. False when memory is short or the arena's
 * budget is used up; see ux_arena_fail().
 */
bool ux_gsym_draft_make(struct ux_gsym_drafter *drafter, const struct ux_gsym_function *f,
			struct ux_arena *arena, struct ux_gsym_draft *ret) ux_must;
void ux_gsym_drafter_deinit(struct ux_gsym_drafter *drafter);

/*
 * Maps the numbers of names and files in a draft to the final numbers. Names from n_names on have
 * no final number and become 0.
 */
struct ux_gsym_numbers {
	const uint32_t *names; /* NULL: drafts have the final numbers */
	const uint32_t *files;
	uint32_t n_names;
};

/* Returns the largest size that a record of the draft can have, without merged functions. */
uint64_t ux_gsym_draft_max(const struct ux_gsym_draft *draft);

/* Appends the content of the line table block; only for a draft with rows. */
void ux_gsym_draft_put_lines(struct ux_out *out, const struct ux_gsym_draft *draft,
			     const struct ux_gsym_numbers *numbers);

/* Appends the content of the inline block of a function of `size` bytes; only for a draft with
 * inlined calls. */
void ux_gsym_draft_put_inlines(struct ux_out *out, const struct ux_gsym_draft *draft,
			       const struct ux_gsym_numbers *numbers, uint32_t size, uint32_t name);

/*
 * The decoded content of a draft, with the draft's own numbers: n_rows rows and n_inlines inlined
 * calls.
 */
struct ux_gsym_content {
	struct ux_gsym_row *rows;
	struct ux_code_inline *inlines;
	struct ux_gsym_range *ranges;
};

/*
 * Decodes a draft into the arena, without calls that a record cannot hold. False as of
 * ux_gsym_draft_make().
 */
bool ux_gsym_draft_read(const struct ux_gsym_draft *draft, struct ux_arena *arena,
			struct ux_gsym_content *ret) ux_must;

/*
 * Appends the content of a line table block without its SetFile opcodes, for at least one row, in
 * ascending order. For each omitted SetFile, its file and the number of bytes up to the next one
 * are appended to sets. The output depends on the rows alone. False when memory for sets is short.
 */
bool ux_gsym_encode_lines(struct ux_out *out, struct ux_gsym_refs *sets,
			  const struct ux_gsym_row *rows, size_t n) ux_must;

#endif
