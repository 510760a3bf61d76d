/* SPDX-License-Identifier: Apache-2.0 */
/* Attributes by slot, and the sizes of forms (DWARF 5, 7.5.5 and 7.5.6). */
#include "dwarf_attribute.h"

#include "dwarf_defs.h"

/*
 * Classes whose sizes depend on the layout, numbered after the classes of 0 to 16 bytes. The class
 * of n bytes is n + 1, since 0 is a form of variable size or an unknown form.
 */
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
	case DW_FORM_LLVM_addrx_offset:
		return UX_OP_ULEB_4;
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

enum ux_dwarf_kind ux_dwarf_kind_of_tag(uint64_t tag)
{
	switch (tag) {
	case DW_TAG_subprogram:
		return UX_KIND_FUNCTION;
	case DW_TAG_inlined_subroutine:
		return UX_KIND_INLINE;
	case DW_TAG_compile_unit:
	case DW_TAG_partial_unit:
	case DW_TAG_type_unit:
	case DW_TAG_skeleton_unit:
		return UX_KIND_ROOT;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_interface_type:
	case DW_TAG_enumeration_type:
		return UX_KIND_CLASS;
	case DW_TAG_array_type:
	case DW_TAG_subroutine_type:
	case DW_TAG_formal_parameter:
	case DW_TAG_variable:
	case DW_TAG_call_site:
	case DW_TAG_GNU_call_site:
	case DW_TAG_GNU_formal_parameter_pack:
		return UX_KIND_LEAF;
	default:
		return UX_KIND_PLAIN;
	}
}

#define SLOT(attr, slot) [attr] = (slot) + 1

const uint8_t ux_dwarf_slots[UX_DWARF_ATTRS] = {
	SLOT(DW_AT_sibling, UX_SLOT_SIBLING),
	SLOT(DW_AT_location, UX_SLOT_LOCATION),
	SLOT(DW_AT_name, UX_SLOT_NAME),
	SLOT(DW_AT_stmt_list, UX_SLOT_STMT_LIST),
	SLOT(DW_AT_low_pc, UX_SLOT_LOW_PC),
	SLOT(DW_AT_high_pc, UX_SLOT_HIGH_PC),
	SLOT(DW_AT_language, UX_SLOT_LANGUAGE),
	SLOT(DW_AT_comp_dir, UX_SLOT_COMP_DIR),
	SLOT(DW_AT_producer, UX_SLOT_PRODUCER),
	SLOT(DW_AT_abstract_origin, UX_SLOT_ORIGIN),
	SLOT(DW_AT_decl_file, UX_SLOT_DECL_FILE),
	SLOT(DW_AT_decl_line, UX_SLOT_DECL_LINE),
	SLOT(DW_AT_specification, UX_SLOT_SPECIFICATION),
	SLOT(DW_AT_ranges, UX_SLOT_RANGES),
	SLOT(DW_AT_call_column, UX_SLOT_CALL_COLUMN),
	SLOT(DW_AT_call_file, UX_SLOT_CALL_FILE),
	SLOT(DW_AT_call_line, UX_SLOT_CALL_LINE),
	SLOT(DW_AT_signature, UX_SLOT_SIGNATURE),
	SLOT(DW_AT_linkage_name, UX_SLOT_LINKAGE_NAME),
	SLOT(DW_AT_str_offsets_base, UX_SLOT_STR_OFFSETS_BASE),
	SLOT(DW_AT_addr_base, UX_SLOT_ADDR_BASE),
	SLOT(DW_AT_rnglists_base, UX_SLOT_RNGLISTS_BASE),
	SLOT(DW_AT_dwo_name, UX_SLOT_DWO_NAME),
};

enum ux_dwarf_slot ux_dwarf_slot_of_vendor(uint64_t attr)
{
	switch (attr) {
	case DW_AT_language_name:
		return UX_SLOT_LANGUAGE_NAME;
	case DW_AT_GNU_addr_base:
		return UX_SLOT_ADDR_BASE;
	case DW_AT_GNU_dwo_name:
		return UX_SLOT_DWO_NAME;
	case DW_AT_GNU_dwo_id:
		return UX_SLOT_DWO_ID;
	case DW_AT_GNU_ranges_base:
		return UX_SLOT_RANGES_BASE;
	case DW_AT_MIPS_linkage_name:
		return UX_SLOT_LINKAGE_NAME;
	case DW_AT_LLVM_stmt_sequence:
		return UX_SLOT_STMT_LIST;
	default:
		return UX_SLOT_COUNT;
	}
}
