/* SPDX-License-Identifier: Apache-2.0 */
/* Reading one DIE: stepping over it with its abbreviation's program, filling the slots. */
#ifndef UX_DWARF_DIE_H
#define UX_DWARF_DIE_H

#include "dwarf_abbrev.h"
#include "dwarf_defs.h"

/* The wanted attributes of one DIE, as they stand; the unit's context gives them meaning. */
struct ux_dwarf_die {
	uint64_t off;  /* of its abbreviation code, in .debug_info */
	uint32_t have; /* bit per slot */
	uint16_t form[UX_SLOT_COUNT];
	uint64_t raw[UX_SLOT_COUNT]; /* the number; for text in the DIE its offset in .debug_info */
};

ux_inline bool ux_dwarf_die_has(const struct ux_dwarf_die *die, enum ux_dwarf_slot slot)
{
	return (die->have >> slot & 1) != 0;
}

/* Moves past a form that ux_dwarf_form_op() knows. */
ux_inline void ux_dwarf_step(struct ux_cur *c, enum ux_dwarf_op op)
{
	switch (op) {
	case UX_OP_ULEB: {
		const uint8_t *p = c->pos;
		while (p < c->end && *p >= 0x80)
			p++;
		ux_cur_skip(c, (uint64_t)(p - c->pos) + 1);
		return;
	}
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

/* The value of a form as a number; text and blocks give the offset of their first byte. */
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

/* DW_FORM_indirect: the form stands in front of the value. */
ux_inline void ux_dwarf_indirect(struct ux_cur *c, enum ux_dwarf_slot slot,
				 struct ux_dwarf_layout layout, struct ux_dwarf_die *die)
{
	uint64_t form = ux_cur_uleb(c);
	if (form == DW_FORM_indirect || form == DW_FORM_implicit_const || form > UINT16_MAX) {
		ux_cur_bad(c, "indirect form names no plain form");
		return;
	}
	uint64_t value = ux_dwarf_read(c, form, layout);
	if (slot == UX_SLOT_COUNT)
		return;
	die->have |= 1u << slot;
	die->form[slot] = (uint16_t)form;
	die->raw[slot] = value;
}

/* An integer of 1 to 8 bytes, without a branch on its size where eight bytes can be read. */
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

/* Moves c from behind the DIE's code to its end, filling die->have, form and raw. */
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

#endif
