/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The compact unwind tables of 32-bit ARM, .ARM.exidx and .ARM.extab ("Exception Handling ABI for
 * the Arm Architecture", sections 6, 7 and 10), as rules in the form of call frame information.
 */
#ifndef UX_UNWIND_EXIDX_H
#define UX_UNWIND_EXIDX_H

#include "dwarf_cfi.h"
#include "object.h"

/* The section .ARM.exidx. */
struct ux_exidx {
	struct ux_bytes data;
	uint64_t pc; /* pc of its first byte */
	bool swap;
	const struct ux_object_ranges *image; /* contains the entries in .ARM.extab */
};

/* Receives the start of each function and the offset of its entry. False: memory is short. */
typedef bool ux_exidx_fn(void *ctx, uint64_t pc, uint64_t off);

/* Calls fn for each entry of the section. UX_ENOMEM. */
enum ux_code ux_exidx_each(const struct ux_exidx *x, ux_exidx_fn *fn, void *ctx,
			   struct ux_error *err) ux_must;

/*
 * Computes the rules of the function with the entry at an offset of the section. They are valid
 * where the function calls others, but not before it has saved its registers or after it has
 * restored them. UX_ENOTFOUND: the entry says that the function cannot be unwound. UX_ECORRUPT;
 * UX_EUNSUPPORTED: a personality routine or an instruction without a meaning.
 */
enum ux_code ux_exidx_row(const struct ux_exidx *x, uint64_t off, struct ux_cfi_row *ret,
			  struct ux_error *err) ux_must;

#endif
