/* SPDX-License-Identifier: Apache-2.0 */
/* Decompresses the content of a fat binary's entry. */
#ifndef UX_FATBIN_UNPACK_H
#define UX_FATBIN_UNPACK_H

#include "fatbin.h"
#include "region.h"

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

#endif
