/* SPDX-License-Identifier: Apache-2.0 */
/* An assembler for fat binaries. */
#ifndef UX_MAKE_FATBIN_H
#define UX_MAKE_FATBIN_H

#include "fatbin.h"
#include "out.h"

/* An entry as the test wants it; it is packed as its flags say. */
struct make_fatbin_entry {
	uint16_t kind; /* 0: a cubin */
	uint32_t arch;
	uint64_t flags;
	const char *name;    /* NULL: none */
	const char *options; /* of PTX; NULL: none */
	struct ux_bytes content;
	uint64_t claimed; /* unpacked size in the header; 0: the right one */
};

/* Appends a container: its header, then entries, then make_fatbin_end(). It aborts when memory is
 * short. Returns where it begins. */
size_t make_fatbin_begin(struct ux_out *out);
void make_fatbin_add(struct ux_out *out, const struct make_fatbin_entry *entry);
void make_fatbin_end(struct ux_out *out, size_t begin);

#endif
