/* SPDX-License-Identifier: Apache-2.0 */
/* An assembler for .eh_frame and .debug_frame; and xz streams. */
#ifndef UX_MAKE_FRAMES_H
#define UX_MAKE_FRAMES_H

#include "bytes.h"
#include "out.h"

/* A section while it is made. */
struct make_frames {
	struct ux_out out;
	uint64_t pc;      /* of its first byte */
	uint64_t data_pc; /* base address of DW_EH_PE_datarel */
	bool eh;
	bool is64;    /* addresses have 8 bytes */
	bool is_wide; /* lengths of 64-bit DWARF */
	uint8_t version;
	uint8_t encoding;             /* DW_EH_PE_* of the addresses */
	size_t cie;                   /* where the last one is */
	struct ux_bytes initial;      /* instructions of CIEs */
	struct ux_bytes instructions; /* of FDEs */
};

/* big: byte order. Version 1, addresses as most compilers write them: pcrel | sdata4. */
void make_frames_init(struct make_frames *f, bool is64, bool big, uint64_t pc);
void make_frames_deinit(struct make_frames *f);

/* A CIE with that augmentation text; the data of its letters come from the fields. */
void make_frames_cie(struct make_frames *f, const char *augmentation);

/* An FDE of the last CIE. */
void make_frames_fde(struct make_frames *f, uint64_t lo, uint64_t size);

/* A length of 0. */
void make_frames_end(struct make_frames *f);

/* Appends content as an xz stream with a dictionary of that many bytes. */
void make_xz(struct ux_out *out, struct ux_bytes content, uint32_t dictionary);

#endif
