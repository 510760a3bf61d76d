/* SPDX-License-Identifier: Apache-2.0 */
/* Address ranges: low_pc and high_pc, .debug_ranges (DWARF 4, 2.17.3), .debug_rnglists (DWARF
 * 5, 7.25). */
#include "dwarf_ranges.h"

const struct ux_dwarf_range *ux_dwarf_text_find(const struct ux_dwarf_text *text, uint64_t pc)
{
	size_t lo = 0, hi = text->count;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (text->list[mid].hi <= pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < text->count && text->list[lo].lo <= pc ? &text->list[lo] : NULL;
}

struct reader {
	const struct ux_dwarf_context *ctx;
	const struct ux_dwarf_text *text;
	struct ux_dwarf_range_vec *out;
	uint64_t mask; /* all ones of the address size */
	size_t count;
	bool no_memory;
};

static void add(struct reader *r, struct ux_cur *c, uint64_t lo, uint64_t hi)
{
	lo &= r->mask;
	hi &= r->mask;
	if (r->count++ == UX_DWARF_RANGES_MOST)
		ux_cur_bad(c, "range list with over 1048576 entries");
	if (lo >= hi)
		return;
	const struct ux_dwarf_range *section = ux_dwarf_text_find(r->text, lo);
	if (!section)
		return;
	struct ux_dwarf_range range = {lo, ux_min(hi, section->hi)};
	if (!ux_dwarf_range_vec_append(r->out, range))
		r->no_memory = true;
}

/* .debug_ranges: pairs, (0, 0) ends, (-1, x) makes x the base. */
static void read_pairs(struct reader *r, struct ux_cur *c)
{
	unsigned size = r->ctx->unit->layout.addr_size;
	uint64_t base = r->ctx->low_pc;
	while (!c->failed && !r->no_memory) {
		uint64_t lo = ux_cur_uint(c, size);
		uint64_t hi = ux_cur_uint(c, size);
		if (lo == 0 && hi == 0)
			return;
		if (lo == r->mask)
			base = hi;
		else if (!c->failed)
			add(r, c, base + lo, base + hi);
	}
}

static uint64_t indexed(struct reader *r, struct ux_cur *c)
{
	uint64_t index = ux_cur_uleb(c);
	uint64_t pc = 0;
	if (!c->failed && !ux_dwarf_addr_at(r->ctx, index, &pc))
		ux_cur_bad(c, "range list names an entry that .debug_addr does not have");
	return pc;
}

/* One entry of .debug_rnglists; false at the end of the list. */
static bool read_entry(struct reader *r, struct ux_cur *c, uint64_t *base)
{
	unsigned size = r->ctx->unit->layout.addr_size;
	uint64_t lo = 0, hi = 0;
	switch (ux_cur_u8(c)) {
	case DW_RLE_end_of_list:
		return false;
	case DW_RLE_base_addressx:
		*base = indexed(r, c);
		return true;
	case DW_RLE_base_address:
		*base = ux_cur_uint(c, size);
		return true;
	case DW_RLE_startx_endx:
		lo = indexed(r, c);
		hi = indexed(r, c);
		break;
	case DW_RLE_startx_length:
		lo = indexed(r, c);
		hi = lo + ux_cur_uleb(c);
		break;
	case DW_RLE_offset_pair:
		/* A dropped function's base is a tombstone; adding an offset must not bring it
		 * back. */
		lo = ux_cur_uleb(c);
		hi = ux_cur_uleb(c);
		if (*base == r->mask || *base == r->mask - 1)
			return true;
		lo += *base;
		hi += *base;
		break;
	case DW_RLE_start_end:
		lo = ux_cur_uint(c, size);
		hi = ux_cur_uint(c, size);
		break;
	case DW_RLE_start_length:
		lo = ux_cur_uint(c, size);
		hi = lo + ux_cur_uleb(c);
		break;
	default:
		ux_cur_bad(c, "unknown kind of range list entry");
		return false;
	}
	if (!c->failed)
		add(r, c, lo, hi);
	return true;
}

/* Where the DIE's list begins in .debug_rnglists. */
static struct ux_cur list_at(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *die)
{
	const struct ux_dwarf_sections *s = ctx->sections;
	uint64_t raw = die->raw[UX_SLOT_RANGES];
	if (die->form[UX_SLOT_RANGES] != DW_FORM_rnglistx)
		return ux_dwarf_cur_at(s, UX_DWARF_RNGLISTS, raw);
	unsigned size = ctx->unit->layout.offset_size;
	uint64_t off = 0;
	struct ux_cur table = ux_dwarf_cur_at(s, UX_DWARF_RNGLISTS, ctx->rnglists_base);
	if (__builtin_mul_overflow(raw, (uint64_t)size, &off))
		ux_cur_bad(&table, "range list index too large");
	ux_cur_skip(&table, off);
	off = ux_cur_uint(&table, size);
	if (!table.failed)
		ux_cur_seek(&table, ctx->rnglists_base + off);
	return table;
}

/* low_pc alone or with high_pc, an address or a length. */
static void read_low_high(struct reader *r, struct ux_cur *c, const struct ux_dwarf_die *die)
{
	uint64_t lo = 0, hi = 0;
	if (!ux_dwarf_die_pc(r->ctx, die, UX_SLOT_LOW_PC, &lo) ||
	    !ux_dwarf_die_has(die, UX_SLOT_HIGH_PC))
		return;
	if (!ux_dwarf_die_pc(r->ctx, die, UX_SLOT_HIGH_PC, &hi))
		hi = lo + die->raw[UX_SLOT_HIGH_PC];
	add(r, c, lo, hi);
}

enum ux_code ux_dwarf_die_ranges(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *die,
				 const struct ux_dwarf_text *text, struct ux_dwarf_range_vec *out,
				 struct ux_error *err)
{
	unsigned size = ctx->unit->layout.addr_size;
	struct reader r = {
		.ctx = ctx,
		.text = text,
		.out = out,
		.mask = size >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size) - 1,
	};
	struct ux_cur c = {0};
	if (!ux_dwarf_die_has(die, UX_SLOT_RANGES)) {
		read_low_high(&r, &c, die);
	} else if (ctx->unit->version < 5) {
		c = ux_dwarf_cur_at(ctx->sections, UX_DWARF_RANGES, die->raw[UX_SLOT_RANGES]);
		read_pairs(&r, &c);
	} else {
		uint64_t base = ctx->low_pc;
		c = list_at(ctx, die);
		while (!c.failed && !r.no_memory && read_entry(&r, &c, &base))
			;
	}
	if (r.no_memory)
		return ux_error_nomem(err);
	return ux_cur_status(&c, err);
}
