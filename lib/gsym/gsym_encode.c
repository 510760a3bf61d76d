/* SPDX-License-Identifier: Apache-2.0 */
/* One function's record. */
#include "gsym_encode.h"

#include "gsym_draft.h"
#include "gsym_format.h"

/* Opens a block of a record; its length is known when it is closed. */
static size_t block_open(struct ux_out *out, uint32_t type)
{
	ux_out_u32(out, type);
	ux_out_u32(out, 0);
	return out->size;
}

static void block_close(struct ux_out *out, size_t start)
{
	ux_out_patch_u32(out, start - sizeof(uint32_t), (uint32_t)(out->size - start));
}

/* Functions of which the name is all that is said: where they are, their owner says. */
static void put_merged(struct ux_out *out, const struct ux_gsym_function *f)
{
	ux_out_u32(out, (uint32_t)f->n_merged);
	for (size_t i = 0; i < f->n_merged; i++) {
		ux_out_u32(out, GSYM_RECORD_LEAST);
		ux_out_u32(out, f->size);
		ux_out_u32(out, f->merged[i]);
		ux_out_u32(out, GSYM_INFO_END);
		ux_out_u32(out, 0);
	}
}

void ux_gsym_put_function(struct ux_out *out, const struct ux_gsym_function *f,
			  const struct ux_gsym_draft *draft, const struct ux_gsym_numbers *numbers)
{
	ux_out_align(out, GSYM_RECORD_ALIGN);
	ux_out_u32(out, f->size);
	ux_out_u32(out, f->name);
	if (draft->n_rows > 0) {
		size_t start = block_open(out, GSYM_INFO_LINES);
		ux_gsym_draft_put_lines(out, draft, numbers);
		block_close(out, start);
	}
	if (draft->n_inlines > 0) {
		size_t start = block_open(out, GSYM_INFO_INLINES);
		ux_gsym_draft_put_inlines(out, draft, numbers, f->size, f->name);
		block_close(out, start);
	}
	if (f->n_merged > 0) {
		size_t start = block_open(out, GSYM_INFO_MERGED);
		put_merged(out, f);
		block_close(out, start);
	}
	ux_out_u32(out, GSYM_INFO_END);
	ux_out_u32(out, 0);
	ux_out_align(out, GSYM_RECORD_ALIGN);
}

void ux_gsym_encode_function(struct ux_out *out, const struct ux_gsym_function *f)
{
	ux_cleanup(ux_gsym_drafter_deinit) struct ux_gsym_drafter drafter = {0};
	ux_cleanup(ux_arena_deinit) struct ux_arena arena;
	struct ux_gsym_draft draft;
	ux_arena_init(&arena, SIZE_MAX);
	if (ux_gsym_draft_make(&drafter, f, &arena, &draft))
		ux_gsym_put_function(out, f, &draft, &(struct ux_gsym_numbers){0});
	else
		out->failed = true;
}
