/* SPDX-License-Identifier: Apache-2.0 */
/* The content of a fat binary's entry, unpacked. */
#ifndef UX_FATBIN_UNPACK_H
#define UX_FATBIN_UNPACK_H

#include "fatbin.h"

enum {
	/* What content may unpack to: so many times its packed bytes, and as much beside
	 * for each. Of 11,000
	 * entries in cuBLAS, cuDNN, NCCL and others the one that shrank best did to a 134th. */
	UX_FATBIN_RATIO = 192,
	UX_FATBIN_FREE = 1 << 16,
};

/* Content of an entry. Zeroed is empty. */
struct ux_fatbin_content {
	struct ux_bytes bytes;
	uint8_t *owned; /* NULL, or malloc'ed: where bytes points to */
};

/*
 * The content: a slice of the payload where that is stored, else unpacked into memory, which needs
 * ux_fatbin_content_free(). UX_ECORRUPT: the payload is damaged, or does not unpack to as many
 * bytes as the entry says. UX_ELIMIT: that would be more than the bounds above. UX_EUNSUPPORTED:
 * packed in two ways at once, or obscured.
 */
enum ux_code ux_fatbin_unpack(const struct ux_fatbin_entry *entry, struct ux_fatbin_content *ret,
			      struct ux_error *err) ux_must;
void ux_fatbin_content_free(struct ux_fatbin_content *content);

#endif
