/* SPDX-License-Identifier: Apache-2.0 */
/* Fat binaries: containers that nvcc embeds into host programs, with code for several GPUs. */
#ifndef UX_FATBIN_H
#define UX_FATBIN_H

#include "bytes.h"
#include "error.h"
#include "vec.h"

/* The kind of an entry. Unknown values are kept unchanged. */
enum ux_fatbin_kind {
	UX_FATBIN_PTX = 1,    /* text that the driver compiles when the program runs */
	UX_FATBIN_CUBIN = 2,  /* code for one GPU: an ELF file */
	UX_FATBIN_LTO_IR = 8, /* intermediate code for nvlink -dlto */
};

/* Bits of ux_fatbin_entry.flags. */
enum {
	UX_FATBIN_LZ4 = 0x2000,
	UX_FATBIN_ZSTD = 0x8000,
	UX_FATBIN_OBSCURED = 0x10000,       /* LTO IR that NVIDIA has made unreadable */
	UX_FATBIN_ARCH_SPECIFIC = 0x100000, /* sm_90a */
	UX_FATBIN_ARCH_FAMILY = 0x200000,   /* sm_100f */
};

/* One entry of a container. The slices point into the bytes that are being read. */
struct ux_fatbin_entry {
	uint64_t off;            /* offset of the entry's header in those bytes */
	uint16_t kind;           /* enum ux_fatbin_kind, or an unknown value */
	uint16_t major, minor;   /* version of the cubin's format, or of the PTX language */
	uint32_t arch;           /* 80 for sm_80 and compute_80 */
	uint64_t flags;          /* UX_FATBIN_*; other bits may be set */
	struct ux_bytes name;    /* usually the name of the source file; often empty */
	struct ux_bytes payload; /* as stored, without padding */
	uint64_t size;           /* bytes of the content after decompression */
};

/* Iterates over the entries of consecutive containers. It owns nothing. */
struct ux_fatbin {
	struct ux_bytes bytes;
	const char *section; /* for error messages; must outlive the iterator */
	uint64_t next; /* where the next entry of the current container, or the next container, is
			  searched for */
	uint64_t end;  /* end of the current container; 0: none */
};

/* Returns true when the file begins with a container. */
bool ux_fatbin_is(struct ux_bytes file);

/* Starts an iteration. bytes may be a section or a whole file. Containers begin at multiples of 8,
 * and there may be any data between them. */
void ux_fatbin_open(struct ux_fatbin *walk, struct ux_bytes bytes, const char *section);

/*
 * Reads the next entry, and goes on to the next container at the end of one. UX_ENOTFOUND, with err
 * unchanged: no more entries. UX_ECORRUPT: the rest of a container is damaged; the next call
 * continues after it.
 */
enum ux_code ux_fatbin_next(struct ux_fatbin *walk, struct ux_fatbin_entry *ret,
			    struct ux_error *err) ux_must;

enum {
	UX_FATBIN_ARCH_TEXT = 32
};

/* Writes "sm_90a" for a cubin, or "compute_80" for other kinds, into text (UX_FATBIN_ARCH_TEXT
 * bytes), and returns text. */
const char *ux_fatbin_arch(const struct ux_fatbin_entry *entry, char *text);

/* "cubin", "ptx", "lto-ir" or "unknown"; never NULL. */
const char *ux_fatbin_kind_name(uint16_t kind);

#endif
