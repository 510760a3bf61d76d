/* SPDX-License-Identifier: Apache-2.0 */
/* Inflating an xz file in memory. */
#ifndef UX_UNXZ_H
#define UX_UNXZ_H

#include "elf_file.h"

/* True when bytes begin as an xz file does. */
bool ux_xz_is(struct ux_bytes bytes);

enum {
	UX_XZ_MEMORY = 72 << 20, /* bytes for a decoder: xz -9 has a dictionary of 64 MiB */
};

/* The code and words for a failure of liblzma (an lzma_ret), `off` bytes into a section (NULL: the
 * file). */
enum ux_code ux_xz_failure(int status, const char *section, uint64_t off, struct ux_error *err);

/*
 * Inflates packed, one or several xz streams (the .xz file format, 1.1), by liblzma. UX_ELIMIT:
 * more than `most` bytes come out, or the dictionary is larger than `xz -9` makes it. UX_ECORRUPT:
 * not xz, damaged, or cut off. UX_EUNSUPPORTED: a filter or check that liblzma was built without.
 * section is for messages. *ret is set on success.
 */
enum ux_code ux_xz_inflate(struct ux_bytes packed, const char *section, uint64_t most,
			   struct ux_elf_content *ret, struct ux_error *err) ux_must;

#endif
