/* SPDX-License-Identifier: Apache-2.0 */
/* Fat binaries: containers that nvcc embeds into host programs, with code for several GPUs. */
#ifndef UX_FATBIN_H
#define UX_FATBIN_H

#include "bytes.h"
#include "error.h"
#include "id.h"
#include "region.h"
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

/* --- content -----------------------------------------------------------------------------------
 */

enum {
	/*
	 * Content may be UX_FATBIN_RATIO times as large as its packed bytes, plus UX_FATBIN_FREE
	 * bytes for each entry. Of 11,000 entries in cuBLAS, cuDNN, NCCL and others, the highest
	 * ratio was 134.
	 */
	UX_FATBIN_RATIO = 192,
	UX_FATBIN_FREE = 1 << 16,
	UX_FATBIN_SPILL_MIN = 8 << 20, /* bytes of content that may be in a file */
};

/* Content of an entry. A zeroed struct is empty. */
struct ux_fatbin_content {
	struct ux_bytes bytes;
	uint8_t *owned; /* the array of ux_spill_realloc() that `bytes` points into, or NULL */
};

/*
 * Sets *ret to the entry's content: a slice of the payload when it is stored, else decompressed
 * memory, which ux_fatbin_content_free() releases. Large content is in a file of the spill; spill
 * NULL: all is in memory. UX_ECORRUPT: the payload is damaged, or does not decompress to the size
 * that the entry states. UX_ELIMIT: that size exceeds the bounds above. UX_EUNSUPPORTED: the flags
 * name two compressions, or the content is obscured.
 */
enum ux_code ux_fatbin_unpack(const struct ux_fatbin_entry *entry, struct ux_spill *spill,
			      struct ux_fatbin_content *ret, struct ux_error *err) ux_must;
void ux_fatbin_content_free(struct ux_fatbin_content *content);

/* --- the list of a file -------------------------------------------------------------------------
 */

UX_VEC(ux_fatbin_entry_vec, struct ux_fatbin_entry);

/* Zeroed is empty. */
struct ux_fatbin_list {
	/* in file order; `off` counts from the start of the file */
	struct ux_fatbin_entry_vec entries;
	uint64_t bad;           /* containers that are damaged as a whole or in part */
	struct ux_error reason; /* damage of the first of them */
};

/*
 * Lists the entries of a fat binary, or the entries in the sections .nv_fatbin and __nv_relfatbin
 * of an ELF file. Other files, and ELF files without a section table, have none. The rest of a
 * damaged container is skipped, and the damage is counted. Release the list with
 * ux_fatbin_list_deinit(). UX_ENOMEM.
 */
enum ux_code ux_fatbin_list_read(struct ux_bytes file, struct ux_fatbin_list *ret,
				 struct ux_error *err) ux_must;
void ux_fatbin_list_deinit(struct ux_fatbin_list *list);

/* --- one cubin of the list ----------------------------------------------------------------------
 */

/* Adds the IDs of a cubin to *ret: its File ID, and CUPTI's hash of it as an alias. */
enum ux_code ux_cubin_ids(struct ux_bytes cubin, struct ux_id_set *ret, struct ux_error *err)
	ux_must;

/*
 * Sets *ret to the index in list->entries of the one cubin that `text` selects. text is a number
 * from 1 on, in the order of the list; "sm_90", when exactly one cubin is for that GPU; an ID of
 * the cubin (file:..., cubin-crc:...); or NULL, when there is exactly one cubin. Entries that
 * contain no code are not considered for "sm_90" and NULL. UX_ENOTFOUND: no such cubin, or the
 * number is of PTX. UX_ECONFLICT: several cubins match. The messages list the available ones.
 * UX_EINVAL: text is a malformed ID.
 */
enum ux_code ux_fatbin_choose(const struct ux_fatbin_list *list, const char *text, size_t *ret,
			      struct ux_error *err) ux_must;

/* Writes a list such as "sm_80, sm_90, compute_90 (not compiled)" into text (size bytes), and
 * returns text. Each architecture is listed once, as far as there is room;
 * the list then ends with ", and 5 more". */
const char *ux_fatbin_archs(const struct ux_fatbin_list *list, char *text, size_t size);

#endif
