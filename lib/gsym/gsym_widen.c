/* SPDX-License-Identifier: Apache-2.0 */
/* Names of records, widened. */
#include "gsym_widen.h"

#include "gsym_format.h"

static void widen_name(struct ux_out *out, struct ux_cur *c, unsigned shift)
{
	ux_out_u64(out, (uint64_t)ux_cur_u32(c) << shift);
}

static void copy(struct ux_out *out, struct ux_bytes bytes)
{
	ux_out_put(out, bytes.data, bytes.size);
}

/* What lies between two states of a cursor. */
static struct ux_bytes between(struct ux_cur from, const struct ux_cur *to)
{
	return ux_cur_take(&from, ux_cur_left(&from) - ux_cur_left(to));
}

/* The nesting of lists does not matter: names are all that changes. */
static void widen_inlines(struct ux_out *out, struct ux_cur *c, unsigned shift)
{
	struct ux_cur from = *c;
	while (ux_cur_more(c)) {
		uint64_t ranges = ux_cur_uleb(c);
		if (ranges == 0)
			continue;
		for (uint64_t i = 0; i < ranges && ux_cur_more(c); i++) {
			ux_cur_uleb(c);
			ux_cur_uleb(c);
		}
		ux_cur_u8(c); /* flag for children */
		copy(out, between(from, c));
		widen_name(out, c, shift);
		from = *c;
		ux_cur_uleb(c);
		ux_cur_uleb(c);
	}
	copy(out, between(from, c));
}

/* Size, name and blocks up to the end tuple. Merged functions have none in them, for the encoder
 * does not nest; so nothing recurses without a bound. */
static void widen_function(struct ux_out *out, struct ux_cur *c, unsigned shift, bool nested);

static void widen_merged(struct ux_out *out, struct ux_cur *c, unsigned shift)
{
	uint32_t n = ux_cur_u32(c);
	ux_out_u32(out, n);
	for (uint32_t i = 0; i < n && !c->failed; i++) {
		struct ux_cur one = ux_cur_sub(c, ux_cur_u32(c));
		size_t start = out->size + sizeof(uint32_t);
		ux_out_u32(out, 0);
		widen_function(out, &one, shift, /* nested= */ true);
		ux_out_patch_u32(out, start - sizeof(uint32_t), (uint32_t)(out->size - start));
		if (one.failed)
			ux_cur_bad(c, "merged function is damaged");
	}
}

static void widen_block(struct ux_out *out, struct ux_cur *c, uint32_t type, unsigned shift)
{
	if (type == GSYM_INFO_INLINES)
		widen_inlines(out, c, shift);
	else if (type == GSYM_INFO_MERGED)
		widen_merged(out, c, shift);
	else if (type == GSYM_INFO_LINES)
		copy(out, ux_cur_take(c, ux_cur_left(c)));
	else
		ux_cur_bad(c, "block of a type that is not written here");
}

static void widen_function(struct ux_out *out, struct ux_cur *c, unsigned shift, bool nested)
{
	ux_out_u32(out, ux_cur_u32(c));
	widen_name(out, c, shift);
	for (uint32_t type = GSYM_INFO_COUNT; type != GSYM_INFO_END && !c->failed;) {
		type = ux_cur_u32(c);
		ux_out_u32(out, type);
		struct ux_cur block = ux_cur_sub(c, ux_cur_u32(c));
		size_t start = out->size + sizeof(uint32_t);
		ux_out_u32(out, 0);
		if (type == GSYM_INFO_MERGED && nested)
			ux_cur_bad(&block, "merged functions in merged functions");
		else if (type != GSYM_INFO_END)
			widen_block(out, &block, type, shift);
		ux_out_patch_u32(out, start - sizeof(uint32_t), (uint32_t)(out->size - start));
		if (block.failed)
			ux_cur_bad(c, "block is damaged");
	}
}

void gsym_widen_record(struct ux_out *out, struct ux_cur *c, unsigned shift)
{
	widen_function(out, c, shift, /* nested= */ false);
	ux_cur_align(c, GSYM_RECORD_ALIGN);
	ux_out_align(out, GSYM_RECORD_ALIGN);
}
