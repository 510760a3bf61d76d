/* SPDX-License-Identifier: Apache-2.0 */
/* The unwind tables .eh_frame and .debug_frame: which functions they describe, and their rules. */
#ifndef UX_DWARF_FRAME_H
#define UX_DWARF_FRAME_H

#include "dwarf_ranges.h"

/* A section of frame descriptions, and the bases of its addresses. */
struct ux_dwarf_frames {
	struct ux_bytes data;
	uint64_t pc;      /* pc of data's first byte */
	uint64_t text_pc; /* pc of .text, for DW_EH_PE_textrel */
	uint64_t data_pc; /* pc of .got, for DW_EH_PE_datarel */
	bool eh;          /* .eh_frame, not .debug_frame */
	bool swap;
	uint8_t address_size; /* 4 or 8 */
};

/* A CIE: the data shared by the functions that refer to it. */
struct ux_dwarf_cie {
	uint64_t off; /* offset in the section; UINT64_MAX: no CIE was read yet */
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;                  /* column of the return address */
	struct ux_bytes instructions; /* the rules of each function begin with these */
	uint8_t encoding;             /* encoding of addresses in its FDEs */
	uint8_t address_size;
	uint8_t segment_size;
	bool augmented; /* its FDEs have augmentation data, which begin with their size */
	bool signal;    /* signal handlers return to its functions */
	bool known;     /* its augmentation was decoded as far as its FDEs need it */
};

/* An FDE: the rules of one function. */
struct ux_dwarf_fde {
	uint64_t off; /* offset of the entry in the section */
	uint64_t lo;
	uint64_t hi;
	struct ux_bytes instructions;
	const struct ux_dwarf_cie *cie; /* valid as long as the fde, during the call */
};

/* Receives each FDE. False: memory is short. */
typedef bool ux_dwarf_fde_fn(void *ctx, const struct ux_dwarf_fde *fde);

/*
 * Calls fn for every non-empty function, in the section's order (DWARF 5, 6.4.1; Linux Standard
 * Base, "Exception Frames"). UX_ECORRUPT: an entry exceeds the section or is malformed; fn was
 * called for the functions before it. UX_ENOMEM.
 */
enum ux_code ux_dwarf_frames_each(const struct ux_dwarf_frames *frames, ux_dwarf_fde_fn *fn,
				  void *ctx, struct ux_error *err) ux_must;

/*
 * Reads the FDE at an offset that ux_dwarf_frames_each() gave. *cie is a CIE that was read before,
 * or has off = UINT64_MAX; it becomes the FDE's CIE. UX_ECORRUPT: no valid FDE is there.
 */
enum ux_code ux_dwarf_fde_read(const struct ux_dwarf_frames *frames, uint64_t off,
			       struct ux_dwarf_cie *cie, struct ux_dwarf_fde *ret,
			       struct ux_error *err) ux_must;

/*
 * Reads an address with an encoding DW_EH_PE_*; f->pc is the address of the cursor's first byte.
 * False: the address depends on more than the file.
 */
bool ux_dwarf_frame_pointer(struct ux_cur *c, const struct ux_dwarf_frames *f, uint8_t encoding,
			    unsigned address_size, uint64_t *ret);

/*
 * Appends the range of every non-empty function, in the section's order (DWARF 5, 6.4.1; Linux
 * Standard Base, "Exception Frames"). UX_ECORRUPT: an entry exceeds the section or is malformed;
 * the ranges before it are appended nevertheless. UX_ENOMEM.
 */
enum ux_code ux_dwarf_frames_read(const struct ux_dwarf_frames *frames, struct ux_range_vec *out,
				  struct ux_error *err) ux_must;

/*
 * Finds the pc of .eh_frame from its index .eh_frame_hdr (bytes `hdr`, at pc), for files without a
 * section table. False when the index does not contain it.
 */
bool ux_dwarf_frame_hdr(struct ux_bytes hdr, uint64_t pc, bool swap, uint8_t address_size,
			uint64_t *ret_pc);

#endif
