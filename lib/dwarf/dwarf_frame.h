/* SPDX-License-Identifier: Apache-2.0 */
/* Where functions begin and end by the tables for unwinding: .eh_frame and .debug_frame. */
#ifndef UX_DWARF_FRAME_H
#define UX_DWARF_FRAME_H

#include "dwarf_ranges.h"

/* A section of frame descriptions, and what its addresses count from. */
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
 * Appends the range of every function that is described, in the section's order, empty ones left
 * out (DWARF 5, 6.4.1; Linux Standard Base, "Exception Frames"). UX_ECORRUPT: an entry leaves the
 * section or makes no sense; what came before is appended all the same. UX_ENOMEM.
 */
enum ux_code ux_dwarf_frames_read(const struct ux_dwarf_frames *frames, struct ux_range_vec *out,
				  struct ux_error *err) ux_must;

/*
 * Where .eh_frame is by its index .eh_frame_hdr (bytes `hdr`, at pc): for files without a section
 * table. False when the index does not give it.
 */
bool ux_dwarf_frame_hdr(struct ux_bytes hdr, uint64_t pc, bool swap, uint8_t address_size,
			uint64_t *ret_pc);

#endif
