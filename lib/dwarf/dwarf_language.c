/* SPDX-License-Identifier: Apache-2.0 */
/* The languages that units are written in. */
#include "dwarf_language.h"

uint64_t ux_dwarf_language_named(uint64_t name)
{
	static const uint8_t languages[] = {
		[DW_LNAME_C] = DW_LANG_C,
		[DW_LNAME_C_plus_plus] = DW_LANG_C_plus_plus,
		[DW_LNAME_Crystal] = DW_LANG_Crystal,
		[DW_LNAME_D] = DW_LANG_D,
		[DW_LNAME_Fortran] = DW_LANG_Fortran90,
		[DW_LNAME_Java] = DW_LANG_Java,
		[DW_LNAME_Kotlin] = DW_LANG_Kotlin,
		[DW_LNAME_ObjC_plus_plus] = DW_LANG_ObjC_plus_plus,
		[DW_LNAME_Rust] = DW_LANG_Rust,
		[DW_LNAME_Swift] = DW_LANG_Swift,
		[DW_LNAME_Zig] = DW_LANG_Zig,
		[DW_LNAME_C_sharp] = DW_LANG_C_sharp,
		[DW_LNAME_OpenCL_CPP] = DW_LANG_OpenCL_CPP,
		[DW_LNAME_CPP_for_OpenCL] = DW_LANG_CPP_for_OpenCL,
		[DW_LNAME_SYCL] = DW_LANG_SYCL,
		[DW_LNAME_HIP] = DW_LANG_HIP,
		[DW_LNAME_Metal] = DW_LANG_Metal,
	};
	return name < ux_countof(languages) ? languages[name] : 0;
}

const char *ux_dwarf_joint(uint64_t language)
{
	switch (language) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_C_plus_plus_17:
	case DW_LANG_C_plus_plus_20:
	case DW_LANG_C_plus_plus_23:
	case DW_LANG_ObjC_plus_plus:
	case DW_LANG_OpenCL_CPP:
	case DW_LANG_CPP_for_OpenCL:
	case DW_LANG_HIP:
	case DW_LANG_SYCL:
	case DW_LANG_Metal:
	case DW_LANG_Crystal:
	case DW_LANG_Fortran90:
	case DW_LANG_Fortran95:
	case DW_LANG_Fortran03:
	case DW_LANG_Fortran08:
	case DW_LANG_Fortran18:
	case DW_LANG_Rust:
		return "::";
	case DW_LANG_C_sharp:
	case DW_LANG_D:
	case DW_LANG_Java:
	case DW_LANG_Kotlin:
	case DW_LANG_Swift:
	case DW_LANG_Zig:
		return ".";
	default:
		return NULL;
	}
}
