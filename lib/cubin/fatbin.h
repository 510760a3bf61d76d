/* SPDX-License-Identifier: Apache-2.0 */
/* Fat binaries: containers of code for several GPUs, as nvcc puts them into host programs. */
#ifndef UX_FATBIN_H
#define UX_FATBIN_H

#include "bytes.h"
#include "error.h"
#include "vec.h"

/* What an entry holds; other values exist and are kept as they are. */
enum ux_fatbin_kind {
	UX_FATBIN_PTX = 1,    /* text that the driver compiles when the program runs */
	UX_FATBIN_CUBIN = 2,  /* code for one GPU: an ELF file */
	UX_FATBIN_LTO_IR = 8, /* for nvlink -dlto */
};

/* Bits of ux_fatbin_entry.flags. */
enum {
	UX_FATBIN_LZ4 = 0x2000,
	UX_FATBIN_ZSTD = 0x8000,
	UX_FATBIN_OBSCURED = 0x10000,       /* LTO IR: not to be read by others */
	UX_FATBIN_ARCH_SPECIFIC = 0x100000, /* sm_90a */
	UX_FATBIN_ARCH_FAMILY = 0x200000,   /* sm_100f */
};

/* One entry. The slices point into the bytes that were walked. */
struct ux_fatbin_entry {
	uint64_t off;            /* of its header, in those bytes */
	uint16_t kind;           /* enum ux_fatbin_kind, or another */
	uint16_t major, minor;   /* of the cubin's format, or of the PTX language */
	uint32_t arch;           /* 80 for sm_80 and compute_80 */
	uint64_t flags;          /* UX_FATBIN_* and more */
	struct ux_bytes name;    /* the source file's, as a rule; often empty */
	struct ux_bytes payload; /* as it stands, without padding */
	uint64_t size;           /* bytes of its content, unpacked */
};

/* Walks containers that stand one behind the other. On the caller's stack; owns nothing. */
struct ux_fatbin {
	struct ux_bytes bytes;
	const char *section; /* for messages; outlives it */
	uint64_t next; /* where the next container, or rest of the one at hand, is looked for */
	uint64_t end;  /* of the container at hand; 0: none is */
};

/* True when the first bytes are those of a container. */
bool ux_fatbin_is(struct ux_bytes file);

/* Starts at the first container; bytes may be a section or a whole file, where containers begin at
 * multiples of 8 with anything between them. */
void ux_fatbin_open(struct ux_fatbin *walk, struct ux_bytes bytes, const char *section);

/*
 * The next entry, of whichever container. UX_ENOTFOUND, with nothing said in err: there is none.
 * UX_ECORRUPT: the rest of a container is damaged; the next call goes on behind it.
 */
enum ux_code ux_fatbin_next(struct ux_fatbin *walk, struct ux_fatbin_entry *ret,
			    struct ux_error *err) ux_must;

enum {
	UX_FATBIN_ARCH_TEXT = 32
};

/* "sm_90a" for a cubin, "compute_80" for anything else, into text (UX_FATBIN_ARCH_TEXT bytes). */
const char *ux_fatbin_arch(const struct ux_fatbin_entry *entry, char *text);

/* "cubin", "ptx", "lto-ir" or "unknown"; never NULL. */
const char *ux_fatbin_kind_name(uint16_t kind);

#endif
