/* SPDX-License-Identifier: Apache-2.0 */
/* The bounds of functions from the unwind tables .eh_frame and .debug_frame. */
#ifndef UX_DWARF_FRAME_H
#define UX_DWARF_FRAME_H

#include "dwarf_ranges.h"

/* A section of frame descriptions, and the bases of its addresses. */
struct ux_dwarf_frames {
	struct ux_bytes data;
	uint64_t pc;      /* of data's first byte */
	uint64_t text_pc; /* of .text, for DW_EH_PE_textrel */
	uint64_t data_pc; /* of .got, for DW_EH_PE_datarel */
	bool eh;          /* .eh_frame, not .debug_frame */
	bool swap;
	uint8_t address_size; /* 4 or 8 */
};

/*
 * Appends the range of every function in the section, in its order, without empty ones (DWARF 5,
 * 6.4.1; Linux Standard Base, "Exception Frames"). UX_ECORRUPT: an entry exceeds the section or is
 * malformed; the ranges before it are appended nevertheless. UX_ENOMEM.
 */
enum ux_code ux_dwarf_frames_read(const struct ux_dwarf_frames *frames, struct ux_range_vec *out,
				  struct ux_error *err) ux_must;

/*
 * Finds the pc of .eh_frame from its index .eh_frame_hdr (bytes `hdr`, at pc), for files without a
 * section table. False when the index does not have it.
 */
bool ux_dwarf_frame_hdr(struct ux_bytes hdr, uint64_t pc, bool swap, uint8_t address_size,
			uint64_t *ret_pc);

#endif
