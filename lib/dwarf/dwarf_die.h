/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading DIEs: decoding one into slots with its abbreviation's program, reading the values in
 * slots, and skipping DIEs that are not needed.
 */
#ifndef UX_DWARF_DIE_H
#define UX_DWARF_DIE_H

#include "dwarf_unit.h"

/* The attributes of one DIE that have slots, not yet decoded; decoding needs the unit's context. */
struct ux_dwarf_die {
	uint64_t off;  /* offset of its abbreviation code in .debug_info */
	uint32_t have; /* one bit for each slot that is set */
	uint16_t form[UX_SLOT_COUNT];
	uint64_t raw[UX_SLOT_COUNT]; /* the number; for inline text its offset in .debug_info */
};

ux_inline bool ux_dwarf_die_has(const struct ux_dwarf_die *die, enum ux_dwarf_slot slot)
{
	return (die->have >> slot & 1) != 0;
}

ux_inline void ux_dwarf_skip_uleb(struct ux_cur *c)
{
	const uint8_t *p = c->pos;
	while (p < c->end && *p >= 0x80)
		p++;
	ux_cur_skip(c, (uint64_t)(p - c->pos) + 1);
}

/* Skips a value of a form that ux_dwarf_form_op() knows. */
ux_inline void ux_dwarf_step(struct ux_cur *c, enum ux_dwarf_op op)
{
	switch (op) {
	case UX_OP_ULEB:
		ux_dwarf_skip_uleb(c);
		return;
	case UX_OP_ULEB_4:
		ux_dwarf_skip_uleb(c);
		ux_cur_skip(c, sizeof(uint32_t));
		return;
	case UX_OP_STRING:
		(void)ux_cur_str(c);
		return;
	case UX_OP_BLOCK1:
		ux_cur_skip(c, ux_cur_u8(c));
		return;
	case UX_OP_BLOCK2:
		ux_cur_skip(c, ux_cur_u16(c));
		return;
	case UX_OP_BLOCK4:
		ux_cur_skip(c, ux_cur_u32(c));
		return;
	case UX_OP_BLOCK:
		ux_cur_skip(c, ux_cur_uleb(c));
		return;
	case UX_OP_END:
	case UX_OP_SKIP:
	case UX_OP_INDIRECT:
	case UX_OP_LOAD:
	case UX_OP_READ:
	case UX_OP_CONST:
	case UX_OP_UNKNOWN:
		break;
	}
	ux_cur_bad(c, "unknown form");
}

/* Reads an index of .debug_addr, for the upper half of the result, and an offset from the address
 * there, for the lower half (clang -mllvm -minimize-addr-in-v5=Form). */
ux_inline uint64_t ux_dwarf_read_addrx_offset(struct ux_cur *c)
{
	uint64_t index = ux_cur_uleb(c);
	if (index > UINT32_MAX)
		ux_cur_bad(c, "index of an address is too large");
	return index << 32 | ux_cur_u32(c);
}

/*
 * Reads the value of a form as a number; for text and blocks it is the offset of their first byte.
 */
ux_inline uint64_t ux_dwarf_read(struct ux_cur *c, uint64_t form, struct ux_dwarf_layout layout)
{
	uint64_t off = 0;
	switch (form) {
	case DW_FORM_data4:
	case DW_FORM_ref4:
	case DW_FORM_strx4:
	case DW_FORM_addrx4:
		return ux_cur_u32(c);
	case DW_FORM_data1:
	case DW_FORM_flag:
	case DW_FORM_ref1:
	case DW_FORM_strx1:
	case DW_FORM_addrx1:
		return ux_cur_u8(c);
	case DW_FORM_strp:
	case DW_FORM_line_strp:
	case DW_FORM_sec_offset:
		return ux_cur_uint(c, layout.offset_size);
	case DW_FORM_flag_present:
		return 1;
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_rnglistx:
	case DW_FORM_loclistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return ux_cur_uleb(c);
	case DW_FORM_sdata:
		return (uint64_t)ux_cur_sleb(c);
	case DW_FORM_LLVM_addrx_offset:
		return ux_dwarf_read_addrx_offset(c);
	case DW_FORM_string:
		off = ux_cur_off(c);
		(void)ux_cur_str(c);
		return off;
	case DW_FORM_data16:
		off = ux_cur_off(c);
		ux_cur_skip(c, 16);
		return off;
	default:
		break;
	}
	int size = ux_dwarf_form_size(form, layout);
	if (size > 0)
		return ux_cur_uint(c, (unsigned)size);
	off = ux_cur_off(c);
	ux_dwarf_step(c, ux_dwarf_form_op(form));
	return off;
}

/* DW_FORM_indirect: the form is stored before the value. */
ux_inline void ux_dwarf_indirect(struct ux_cur *c, enum ux_dwarf_slot slot,
				 struct ux_dwarf_layout layout, struct ux_dwarf_die *die)
{
	uint64_t form = ux_cur_uleb(c);
	if (form == DW_FORM_indirect || form == DW_FORM_implicit_const || form > UINT16_MAX) {
		ux_cur_bad(c, "indirect form does not name a direct form");
		return;
	}
	uint64_t value = ux_dwarf_read(c, form, layout);
	if (slot == UX_SLOT_COUNT)
		return;
	die->have |= 1u << slot;
	die->form[slot] = (uint16_t)form;
	die->raw[slot] = value;
}

/* Reads an integer of 1 to 8 bytes, without a branch on its size when eight bytes can be read. */
ux_inline uint64_t ux_dwarf_load(struct ux_cur *c, uint32_t skip, uint32_t size)
{
	if (ux_likely(ux_cur_left(c) >= (uint64_t)skip + sizeof(uint64_t) && !c->swap)) {
		uint64_t v;
		memcpy(&v, c->pos + skip, sizeof(v));
		c->prev = c->pos + skip;
		c->pos += skip + size;
		return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
			       ? v & (UINT64_MAX >> (64 - 8 * size))
			       : v >> (64 - 8 * size);
	}
	ux_cur_skip(c, skip);
	return ux_cur_uint(c, size);
}

/*
 * Reads a DIE with its program: moves c from after the DIE's code to its end, and sets die->have,
 * form and raw.
 */
ux_inline void ux_dwarf_die_run(struct ux_cur *c, const uint32_t *words,
				struct ux_dwarf_layout layout, struct ux_dwarf_die *die)
{
	die->have = 0;
	for (;; words++) {
		enum ux_dwarf_op op = *words & 0xff;
		uint32_t arg = *words >> 8;
		switch (op) {
		case UX_OP_END:
			return;
		case UX_OP_SKIP:
			ux_cur_skip(c, arg);
			break;
		case UX_OP_LOAD: {
			uint32_t slot = arg & 31;
			die->have |= 1u << slot;
			die->form[slot] = (uint16_t)(arg >> 9);
			die->raw[slot] = ux_dwarf_load(c, *++words, arg >> 5 & 15);
			break;
		}
		case UX_OP_READ:
			die->have |= 1u << (arg & 0xff);
			die->form[arg & 0xff] = (uint16_t)(arg >> 8);
			die->raw[arg & 0xff] = ux_dwarf_read(c, arg >> 8, layout);
			break;
		case UX_OP_CONST:
			die->have |= 1u << arg;
			die->form[arg] = DW_FORM_implicit_const;
			die->raw[arg] = words[1] | (uint64_t)words[2] << 32;
			words += 2;
			break;
		case UX_OP_INDIRECT:
			ux_dwarf_indirect(c, arg, layout, die);
			break;
		case UX_OP_ULEB:
		case UX_OP_ULEB_4:
		case UX_OP_STRING:
		case UX_OP_BLOCK1:
		case UX_OP_BLOCK2:
		case UX_OP_BLOCK4:
		case UX_OP_BLOCK:
			ux_dwarf_step(c, op);
			break;
		case UX_OP_UNKNOWN:
			ux_cur_bad(c, "unknown form");
			return;
		}
	}
}

enum {
	/*
	 * Largest size of a DIE that is the target of a reference. Without this limit, thousands of
	 * references to a DIE with one long text would read the text thousands of times.
	 */
	UX_DWARF_DIE_MAX = 1u << 14,
};

/*
 * Reads the DIE at c, moves c after it and returns its abbreviation. NULL for a null entry, and for
 * an unknown code, which makes c fail.
 */
const struct ux_dwarf_abbrev *ux_dwarf_die_read(const struct ux_dwarf_context *ctx,
						struct ux_cur *c, struct ux_dwarf_die *die);

/*
 * Reads the DIE at offset off of this unit, the target of a reference. UX_ECORRUPT: off is outside
 * of the unit's DIEs, the code is unknown, or bytes are missing. UX_ENOTFOUND: a null entry.
 * UX_ELIMIT: the DIE is larger than UX_DWARF_DIE_MAX.
 */
enum ux_code ux_dwarf_die_at(const struct ux_dwarf_context *ctx, uint64_t off,
			     struct ux_dwarf_die *ret, struct ux_error *err) ux_must;

/*
 * Returns the text of a slot; NULL when it is absent, has no string form, or its offset is invalid.
 */
const char *ux_dwarf_die_text(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *die,
			      enum ux_dwarf_slot slot);

/*
 * Computes the address of the expression in a slot of a block form: an address or an index of one,
 * optionally plus a constant. False for an expression that computes more, such as a thread-local
 * variable's, and for any other form.
 */
bool ux_dwarf_die_place(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *die,
			enum ux_dwarf_slot slot, uint64_t *ret);

/* Reads the address in a slot of an address form (addr, addrx, ...) or of an expression. False for
 * any other form. */
bool ux_dwarf_die_pc(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *die,
		     enum ux_dwarf_slot slot, uint64_t *ret);

/* Reads the number in a slot of a constant form. False for any other form. */
bool ux_dwarf_die_const(const struct ux_dwarf_die *die, enum ux_dwarf_slot slot, uint64_t *ret);

/*
 * Reads the section offset in a slot: sec_offset, or data4 and data8, which DWARF before version 4
 * used. False for any other form.
 */
bool ux_dwarf_die_off(const struct ux_dwarf_die *die, enum ux_dwarf_slot slot, uint64_t *ret);

/*
 * Reads the offset in .debug_info that a reference slot refers to. False for an unsupported form.
 */
bool ux_dwarf_die_ref(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *die,
		      enum ux_dwarf_slot slot, uint64_t *ret);

/* A reference to a DIE of the same file or of the supplementary file. */
struct ux_dwarf_ref {
	uint64_t off; /* offset in .debug_info of that file */
	bool sup;
};

/*
 * Reads the reference of abstract_origin, else of specification. False when there is neither, or
 * its form is unsupported.
 */
bool ux_dwarf_die_origin(const struct ux_dwarf_context *ctx, const struct ux_dwarf_die *die,
			 struct ux_dwarf_ref *ret);

/* Reads entry `index` of the unit's part of .debug_addr. */
bool ux_dwarf_addr_at(const struct ux_dwarf_context *ctx, uint64_t index, uint64_t *ret);

/* Skips the attributes of a DIE. True, and *ret_sibling is set, when it has DW_AT_sibling. */
ux_inline bool ux_dwarf_step_over(const struct ux_dwarf_context *ctx, struct ux_cur *c,
				  const struct ux_dwarf_abbrev *abbrev, uint64_t *ret_sibling)
{
	struct ux_dwarf_die die;
	ux_dwarf_die_run(c, ctx->abbrevs.words + abbrev->program, ctx->unit->layout, &die);
	return ux_dwarf_die_has(&die, UX_SLOT_SIBLING) &&
	       ux_dwarf_die_ref(ctx, &die, UX_SLOT_SIBLING, ret_sibling);
}

/* Moves to a sibling. False when its offset is not ahead. */
ux_inline bool ux_dwarf_cur_jump(struct ux_cur *c, uint64_t off)
{
	uint64_t here = (uint64_t)(c->pos - c->start);
	if (off <= here || off > (uint64_t)(c->end - c->start))
		return false;
	c->pos = c->start + off;
	/* The hardware prefetcher cannot predict the target of a jump. */
	for (size_t ahead = 64; ahead <= 512; ahead += 64)
		__builtin_prefetch(c->pos + ahead);
	return true;
}

/*
 * Skips the children of the DIE after its attributes were skipped. Returns the number of DIEs
 * skipped.
 */
uint64_t ux_dwarf_skip_children(const struct ux_dwarf_context *ctx, struct ux_cur *c);

#endif
