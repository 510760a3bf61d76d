/* SPDX-License-Identifier: Apache-2.0 */
/* Which attributes of which DIEs are wanted. */
#include "dwarf_slot.h"

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

#define WANT(attr, slot) [attr] = (slot) + 1

const uint8_t ux_dwarf_slots[UX_WANT_COUNT][UX_DWARF_ATTRS] = {
	[UX_WANT_SIBLING] =
		{
			WANT(DW_AT_sibling, UX_SLOT_SIBLING),
		},
	[UX_WANT_CODE] =
		{
			WANT(DW_AT_name, UX_SLOT_NAME),
			WANT(DW_AT_linkage_name, UX_SLOT_LINKAGE_NAME),
			WANT(DW_AT_low_pc, UX_SLOT_LOW_PC),
			WANT(DW_AT_high_pc, UX_SLOT_HIGH_PC),
			WANT(DW_AT_ranges, UX_SLOT_RANGES),
			WANT(DW_AT_abstract_origin, UX_SLOT_ORIGIN),
			WANT(DW_AT_specification, UX_SLOT_SPECIFICATION),
			WANT(DW_AT_call_file, UX_SLOT_CALL_FILE),
			WANT(DW_AT_call_line, UX_SLOT_CALL_LINE),
			WANT(DW_AT_sibling, UX_SLOT_SIBLING),
		},
	[UX_WANT_ROOT] =
		{
			WANT(DW_AT_name, UX_SLOT_NAME),
			WANT(DW_AT_stmt_list, UX_SLOT_STMT_LIST),
			WANT(DW_AT_comp_dir, UX_SLOT_COMP_DIR),
			WANT(DW_AT_language, UX_SLOT_LANGUAGE),
			WANT(DW_AT_producer, UX_SLOT_PRODUCER),
			WANT(DW_AT_low_pc, UX_SLOT_LOW_PC),
			WANT(DW_AT_high_pc, UX_SLOT_HIGH_PC),
			WANT(DW_AT_ranges, UX_SLOT_RANGES),
			WANT(DW_AT_str_offsets_base, UX_SLOT_STR_OFFSETS_BASE),
			WANT(DW_AT_addr_base, UX_SLOT_ADDR_BASE),
			WANT(DW_AT_rnglists_base, UX_SLOT_RNGLISTS_BASE),
			WANT(DW_AT_dwo_name, UX_SLOT_DWO_NAME),
		},
	[UX_WANT_NAME] =
		{
			WANT(DW_AT_name, UX_SLOT_NAME),
			WANT(DW_AT_specification, UX_SLOT_SPECIFICATION),
			WANT(DW_AT_signature, UX_SLOT_SIGNATURE),
		},
	[UX_WANT_VARIABLE] =
		{
			WANT(DW_AT_location, UX_SLOT_LOCATION),
			WANT(DW_AT_decl_file, UX_SLOT_DECL_FILE),
			WANT(DW_AT_decl_line, UX_SLOT_DECL_LINE),
			WANT(DW_AT_abstract_origin, UX_SLOT_ORIGIN),
			WANT(DW_AT_specification, UX_SLOT_SPECIFICATION),
		},
};

static enum ux_dwarf_slot of_root(uint64_t attr)
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
	default:
		return UX_SLOT_COUNT;
	}
}

static enum ux_dwarf_slot of_code(uint64_t attr)
{
	switch (attr) {
	case DW_AT_MIPS_linkage_name:
		return UX_SLOT_LINKAGE_NAME;
	case DW_AT_LLVM_stmt_sequence:
		return UX_SLOT_STMT_LIST;
	default:
		return UX_SLOT_COUNT;
	}
}

enum ux_dwarf_slot ux_dwarf_slot_of_vendor(enum ux_dwarf_want want, uint64_t attr)
{
	switch (want) {
	case UX_WANT_ROOT:
		return of_root(attr);
	case UX_WANT_CODE:
		return of_code(attr);
	case UX_WANT_SIBLING:
	case UX_WANT_NAME:
	case UX_WANT_VARIABLE:
	case UX_WANT_COUNT:
		break;
	}
	return UX_SLOT_COUNT;
}
