/* SPDX-License-Identifier: Apache-2.0 */
/* Forms: how many bytes a value takes (DWARF 5, 7.5.5 and 7.5.6). */
#include "dwarf_form.h"

#include "dwarf_defs.h"

/* Sizes that the layout gives, behind those of 0 to 16 bytes, to which 1 is added: 0 is a form of
 * variable size, or none. */
enum {
	BY_ADDR = 18,
	BY_OFFSET = 19,
	BY_REF_ADDR = 20,
};

static_assert(BY_REF_ADDR + 1 == UX_DWARF_FORM_CLASSES, "each class has a size");

const uint8_t ux_dwarf_form_class[UX_DWARF_FORMS] = {
	[DW_FORM_flag_present] = 1,
	[DW_FORM_implicit_const] = 1,
	[DW_FORM_data1] = 2,
	[DW_FORM_flag] = 2,
	[DW_FORM_ref1] = 2,
	[DW_FORM_strx1] = 2,
	[DW_FORM_addrx1] = 2,
	[DW_FORM_data2] = 3,
	[DW_FORM_ref2] = 3,
	[DW_FORM_strx2] = 3,
	[DW_FORM_addrx2] = 3,
	[DW_FORM_strx3] = 4,
	[DW_FORM_addrx3] = 4,
	[DW_FORM_data4] = 5,
	[DW_FORM_ref4] = 5,
	[DW_FORM_strx4] = 5,
	[DW_FORM_addrx4] = 5,
	[DW_FORM_ref_sup4] = 5,
	[DW_FORM_data8] = 9,
	[DW_FORM_ref8] = 9,
	[DW_FORM_ref_sig8] = 9,
	[DW_FORM_ref_sup8] = 9,
	[DW_FORM_data16] = 17,
	[DW_FORM_addr] = BY_ADDR,
	[DW_FORM_ref_addr] = BY_REF_ADDR,
	[DW_FORM_strp] = BY_OFFSET,
	[DW_FORM_sec_offset] = BY_OFFSET,
	[DW_FORM_line_strp] = BY_OFFSET,
	[DW_FORM_strp_sup] = BY_OFFSET,
};

struct ux_dwarf_form_sizes ux_dwarf_form_sizes(struct ux_dwarf_layout layout)
{
	struct ux_dwarf_form_sizes sizes;
	for (int i = 0; i < BY_ADDR; i++)
		sizes.of[i] = (int8_t)(i - 1);
	sizes.of[BY_ADDR] = (int8_t)layout.addr_size;
	sizes.of[BY_OFFSET] = (int8_t)layout.offset_size;
	sizes.of[BY_REF_ADDR] = (int8_t)layout.ref_addr_size;
	return sizes;
}

int ux_dwarf_form_size(uint64_t form, struct ux_dwarf_layout layout)
{
	if (form == DW_FORM_GNU_ref_alt || form == DW_FORM_GNU_strp_alt)
		return layout.offset_size;
	unsigned class = form < UX_DWARF_FORMS ? ux_dwarf_form_class[form] : 0;
	switch (class) {
	case BY_ADDR:
		return layout.addr_size;
	case BY_OFFSET:
		return layout.offset_size;
	case BY_REF_ADDR:
		return layout.ref_addr_size;
	default:
		return (int)class - 1;
	}
}

enum ux_dwarf_op ux_dwarf_form_op(uint64_t form)
{
	switch (form) {
	case DW_FORM_sdata:
	case DW_FORM_udata:
	case DW_FORM_ref_udata:
	case DW_FORM_strx:
	case DW_FORM_addrx:
	case DW_FORM_loclistx:
	case DW_FORM_rnglistx:
	case DW_FORM_GNU_addr_index:
	case DW_FORM_GNU_str_index:
		return UX_OP_ULEB;
	case DW_FORM_string:
		return UX_OP_STRING;
	case DW_FORM_block1:
		return UX_OP_BLOCK1;
	case DW_FORM_block2:
		return UX_OP_BLOCK2;
	case DW_FORM_block4:
		return UX_OP_BLOCK4;
	case DW_FORM_block:
	case DW_FORM_exprloc:
		return UX_OP_BLOCK;
	case DW_FORM_indirect:
		return UX_OP_INDIRECT;
	default:
		return UX_OP_END;
	}
}
