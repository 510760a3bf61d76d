/* SPDX-License-Identifier: Apache-2.0 */
/* Address ranges: low_pc and high_pc, .debug_ranges (DWARF 4, 2.17.3), .debug_rnglists (DWARF
 * 5, 7.25). */
#include "dwarf_ranges.h"

#include "leb.h"

void ux_dwarf_range_reader_init(struct ux_dwarf_range_reader *reader,
				const struct ux_dwarf_context *ctx, const struct ux_range_set *text,
				struct ux_range_vec *out)
{
	static const struct ux_range none = {0, 0};
	unsigned size = ctx->unit->layout.addr_size;
	*reader = (struct ux_dwarf_range_reader){
		.ctx = ctx,
		.text = text,
		.section = text->count > 0 ? text->list : &none,
		.mask = size >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * size) - 1,
		.entries = (ctx->unit->end - ctx->unit->off) * UX_DWARF_RANGES_PER_BYTE,
		.out = out,
	};
}

/*
 * Finds the section that contains lo, after the section of the last range was checked. NULL: lo is
 * not code.
 */
static const struct ux_range *range_section(struct ux_dwarf_range_reader *reader, uint64_t lo)
{
	const struct ux_range *section = ux_range_set_find(reader->text, lo);
	if (section)
		reader->section = section;
	return section;
}

/* Appends one range, if it is not empty and begins in text. False when memory is short. */
ux_inline bool range_add(struct ux_dwarf_range_reader *r, uint64_t lo, uint64_t hi)
{
	lo &= r->mask;
	hi &= r->mask;
	if (lo >= hi)
		return true;
	const struct ux_range *section = r->section;
	if (ux_unlikely(lo - section->lo >= section->hi - section->lo)) {
		section = range_section(r, lo);
		if (!section)
			return true;
	}
	return ux_range_vec_append(r->out, (struct ux_range){lo, ux_min(hi, section->hi)});
}

/* One range list. */
struct range_list {
	struct ux_dwarf_range_reader *reader;
	const struct ux_dwarf_context *ctx;
	uint64_t base; /* the address that offsets are relative to */
	bool no_memory;
};

static void range_list_add(struct range_list *r, uint64_t lo, uint64_t hi)
{
	r->no_memory |= !range_add(r->reader, lo, hi);
}

/* Returns false when the base is the tombstone of a dropped function. */
static bool range_list_has_base(const struct range_list *r)
{
	return r->base != r->reader->mask && r->base != r->reader->mask - 1;
}

/*
 * Adds a range that is relative to the base. When the base is the tombstone of a dropped function,
 * the range is dropped, since base plus offset would look like a valid address.
 */
static void range_list_add_from_base(struct range_list *r, uint64_t lo, uint64_t hi)
{
	if (range_list_has_base(r))
		range_list_add(r, r->base + lo, r->base + hi);
}

/*
 * Reads one pair of .debug_ranges: (0, 0) is the end, (-1, x) makes x the base. False at the end.
 */
static bool range_list_read_pair(struct range_list *r, struct ux_cur *c)
{
	unsigned size = r->ctx->unit->layout.addr_size;
	uint64_t lo = ux_cur_uint(c, size);
	uint64_t hi = ux_cur_uint(c, size);
	if (lo == 0 && hi == 0)
		return false;
	if (lo == r->reader->mask)
		r->base = hi;
	else if (!c->failed)
		range_list_add_from_base(r, lo, hi);
	return true;
}

static uint64_t range_list_address(struct range_list *r, struct ux_cur *c)
{
	uint64_t index = ux_cur_uleb(c);
	uint64_t pc = 0;
	if (!c->failed && !ux_dwarf_addr_at(r->ctx, index, &pc))
		ux_cur_bad(c, "range list refers past the end of .debug_addr");
	return pc;
}

/* Reads one entry of .debug_rnglists; false at the end of the list. */
static bool range_list_read_entry(struct range_list *r, struct ux_cur *c)
{
	unsigned size = r->ctx->unit->layout.addr_size;
	uint64_t lo = 0, hi = 0;
	switch (ux_cur_u8(c)) {
	case DW_RLE_end_of_list:
		return false;
	case DW_RLE_base_addressx:
		r->base = range_list_address(r, c);
		return true;
	case DW_RLE_base_address:
		r->base = ux_cur_uint(c, size);
		return true;
	case DW_RLE_startx_endx:
		lo = range_list_address(r, c);
		hi = range_list_address(r, c);
		break;
	case DW_RLE_startx_length:
		lo = range_list_address(r, c);
		hi = lo + ux_cur_uleb(c);
		break;
	case DW_RLE_offset_pair:
		lo = ux_cur_uleb(c);
		hi = ux_cur_uleb(c);
		if (!c->failed)
			range_list_add_from_base(r, lo, hi);
		return true;
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
		range_list_add(r, lo, hi);
	return true;
}

/* Returns a cursor at the DIE's list. */
static struct ux_cur range_list_cur(const struct ux_dwarf_context *ctx,
				    const struct ux_dwarf_die *die)
{
	bool v5 = ctx->unit->version >= 5;
	enum ux_dwarf_section section = v5 ? UX_DWARF_RNGLISTS : UX_DWARF_RANGES;
	struct ux_cur c = ux_dwarf_cur(ctx->sections, section);
	uint64_t raw = die->raw[UX_SLOT_RANGES], off = 0;
	if (v5 && die->form[UX_SLOT_RANGES] == DW_FORM_rnglistx) {
		unsigned size = ctx->unit->layout.offset_size;
		uint64_t at = 0, list = 0;
		if (__builtin_mul_overflow(raw, (uint64_t)size, &at) ||
		    __builtin_add_overflow(ctx->rnglists_base, at, &at))
			ux_cur_bad(&c, "range list index too large");
		ux_cur_seek(&c, at);
		list = ux_cur_uint(&c, size);
		if (__builtin_add_overflow(ctx->rnglists_base, list, &off))
			ux_cur_bad(&c, "range list offset too large");
	} else if (!ux_dwarf_die_off(die, UX_SLOT_RANGES, &off)) {
		ux_cur_bad(&c, "form does not refer to a range list");
	} else if (!v5 && __builtin_add_overflow(ctx->ranges_base, off, &off)) {
		ux_cur_bad(&c, "range list offset too large");
	}
	ux_cur_seek(&c, off);
	return c;
}

/*
 * The fast path of DWARF 5: reads bases of eight bytes, offset pairs and their end, the entries
 * that compilers write into nearly all lists. It stops before any other entry, with *at there.
 * False at the end of the list.
 */
ux_inline bool range_list_run_pairs(struct range_list *r, const uint8_t **at, const uint8_t *end)
{
	enum {
		ENTRY_MAX = 1 + 2 * (int)sizeof(uint64_t), /* bytes that may be read */
	};
	struct ux_dwarf_range_reader *reader = r->reader;
	const bool plain_base =
		r->ctx->unit->layout.addr_size == sizeof(uint64_t) && !r->ctx->sections->swap;
	const uint8_t *p = *at, *done = p;
	uint64_t entries = reader->entries, base = r->base;
	bool has_base = range_list_has_base(r), more = true;
	for (; end - p >= ENTRY_MAX && entries > 0; done = p, entries--) {
		uint32_t lo = 0, hi = 0;
		if (*p == DW_RLE_end_of_list) {
			more = false;
			break;
		}
		if (*p == DW_RLE_base_address && plain_base) {
			memcpy(&base, p + 1, sizeof(base));
			r->base = base;
			has_base = range_list_has_base(r);
			p += 1 + sizeof(base);
			continue;
		}
		if (*p++ != DW_RLE_offset_pair || !ux_leb_short(&p, &lo) || !ux_leb_short(&p, &hi))
			break;
		if (has_base && !range_add(reader, base + lo, base + hi)) {
			r->no_memory = true;
			break;
		}
	}
	entries -= !more;
	reader->entries = entries;
	*at = done;
	return more;
}

static enum ux_code range_list_read(struct range_list *r, struct ux_cur c, struct ux_error *err)
{
	struct ux_dwarf_range_reader *reader = r->reader;
	bool v5 = r->ctx->unit->version >= 5;
	bool more = true;
	while (more && !c.failed && !r->no_memory) {
		if (v5 && (!range_list_run_pairs(r, &c.pos, c.end) || r->no_memory))
			break;
		if (reader->entries == 0)
			return ux_error_at(err, UX_ELIMIT, c.section, ux_cur_off(&c),
					   "range lists exceed %d entries per byte of their unit",
					   (int)UX_DWARF_RANGES_PER_BYTE);
		reader->entries--;
		more = v5 ? range_list_read_entry(r, &c) : range_list_read_pair(r, &c);
	}
	return r->no_memory ? ux_error_nomem(err) : ux_cur_status(&c, err);
}

/*
 * Reads low_pc and high_pc, which is an address or a length. low_pc alone is an address and not a
 * range. False when memory is short.
 */
static bool range_read_low_high(struct ux_dwarf_range_reader *r, const struct ux_dwarf_die *die)
{
	uint64_t lo = 0, hi = 0;
	if (!ux_dwarf_die_pc(r->ctx, die, UX_SLOT_LOW_PC, &lo))
		return true;
	if (ux_dwarf_die_pc(r->ctx, die, UX_SLOT_HIGH_PC, &hi))
		return range_add(r, lo, hi);
	return !ux_dwarf_die_const(die, UX_SLOT_HIGH_PC, &hi) || range_add(r, lo, lo + hi);
}

enum ux_code ux_dwarf_die_ranges(struct ux_dwarf_range_reader *reader,
				 const struct ux_dwarf_die *die, struct ux_error *err)
{
	if (!ux_dwarf_die_has(die, UX_SLOT_RANGES))
		return range_read_low_high(reader, die) ? UX_OK : ux_error_nomem(err);
	struct range_list list = {
		.reader = reader, .ctx = reader->ctx, .base = reader->ctx->low_pc};
	return range_list_read(&list, range_list_cur(reader->ctx, die), err);
}

/*
 * Returns true when the unit's DIE has ranges. GCC's units without code have 0 for both ends, and
 * their list may be empty.
 */
static bool unit_has_ranges(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *root)
{
	uint64_t pc = 0;
	return ux_dwarf_die_has(root, UX_SLOT_RANGES) ||
	       (ux_dwarf_die_pc(ctx, root, UX_SLOT_LOW_PC, &pc) &&
		(ux_dwarf_die_pc(ctx, root, UX_SLOT_HIGH_PC, &pc) ||
		 ux_dwarf_die_const(root, UX_SLOT_HIGH_PC, &pc)));
}

bool ux_dwarf_unit_ranges(const struct ux_dwarf_context *ctx, struct ux_range_vec *out)
{
	/*
	 * Not limited to text sections: a range may begin before the section that contains its
	 * code.
	 */
	static const struct ux_range everything = {0, UINT64_MAX};
	const struct ux_range_set text = {&everything, 1};
	struct ux_dwarf_range_reader reader;
	struct ux_dwarf_die root;
	out->size = 0;
	ux_dwarf_range_reader_init(&reader, ctx, &text, out);
	if (ux_dwarf_die_at(ctx, ctx->unit->die_off, &root, NULL) != UX_OK)
		return false;
	return unit_has_ranges(ctx, &root) && ux_dwarf_die_ranges(&reader, &root, NULL) == UX_OK;
}
