/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A function's lines and inlined calls as good as written: only the numbers of names and files,
 * which no one can know before all functions are there, stand beside the bytes. Drafts are a third
 * of the size of what they are made of, threads make them while a unit's rows are hot, and
 * finishing one is little more than a copy.
 */
#ifndef UX_GSYM_DRAFT_H
#define UX_GSYM_DRAFT_H

#include "arena.h"
#include "gsym_encode.h"
#include "vec.h"

UX_VEC(ux_gsym_refs, uint32_t);

/* In memory of this process only: always what ux_gsym_draft_make() made, so never checked. */
struct ux_gsym_draft {
	/* For each SetFile of the line table the file, and how many bytes come until the next one;
	 * then, for each inlined call, its name and its call_file. Then the bytes: the line table
	 * without SetFile and the inline tree without its root, names and files, but with the sizes
	 * of what is to be copied in one go. */
	const uint32_t *refs;
	uint32_t n_rows;
	uint32_t n_sets;
	uint32_t n_inlines;
	uint32_t lines_size;   /* bytes */
	uint32_t inlines_size; /* bytes */
	uint32_t line_bytes;   /* code that has a line other than 0 */
};

/* Working memory, kept from one draft to the next. Zeroed is ready. */
struct ux_gsym_drafter {
	struct ux_out out;
	struct ux_gsym_refs refs;
};

/*
 * Drafts f's rows and inlined calls, with the names and files they have there, into the arena; f's
 * own name and merged functions are left out. False when memory is short or the arena's budget is
 * used up; see ux_arena_fail().
 */
bool ux_gsym_draft_make(struct ux_gsym_drafter *drafter, const struct ux_gsym_function *f,
			struct ux_arena *arena, struct ux_gsym_draft *ret) ux_must;
void ux_gsym_drafter_deinit(struct ux_gsym_drafter *drafter);

/* Where the final numbers stand, by the draft's. A name from n_names on has none: it becomes 0. */
struct ux_gsym_numbers {
	const uint32_t *names; /* NULL: drafts hold the final numbers */
	const uint32_t *files;
	uint32_t n_names;
};

/* Bytes that a record of the draft may come to, merged functions apart. */
uint64_t ux_gsym_draft_most(const struct ux_gsym_draft *draft);

/* Appends the content of the line table block; only for a draft with rows. */
void ux_gsym_draft_put_lines(struct ux_out *out, const struct ux_gsym_draft *draft,
			     const struct ux_gsym_numbers *numbers);

/* Appends the content of the inline block of a function of `size` bytes; only for a draft with
 * inlined calls. */
void ux_gsym_draft_put_inlines(struct ux_out *out, const struct ux_gsym_draft *draft,
			       const struct ux_gsym_numbers *numbers, uint32_t size, uint32_t name);

/* What a draft was made of, under its own numbers: n_rows rows and n_inlines inlined calls. */
struct ux_gsym_content {
	struct ux_gsym_row *rows;
	struct ux_code_inline *inlines;
	struct ux_gsym_range *ranges;
};

/* Reads a draft back, into the arena; calls that a record cannot hold are gone. False as above. */
bool ux_gsym_draft_read(const struct ux_gsym_draft *draft, struct ux_arena *arena,
			struct ux_gsym_content *ret) ux_must;

/*
 * Appends the content of a line table block, of at least one row, ascending, but for every SetFile:
 * its file goes to sets, together with how many bytes come behind it. Pure. False when memory for
 * sets is short.
 */
bool ux_gsym_encode_lines(struct ux_out *out, struct ux_gsym_refs *sets,
			  const struct ux_gsym_row *rows, size_t n) ux_must;

#endif
