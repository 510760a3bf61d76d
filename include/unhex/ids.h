/* SPDX-License-Identifier: Apache-2.0 */
/* The identities of a module, as text. */
#ifndef UNHEX_IDS_H
#define UNHEX_IDS_H

#include <unhex/api.h>
#include <unhex/error.h>
#include <unhex/input.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
	UX_ID_TEXT = 5 + 128 + 1, /* bytes: longest prefix, longest value, NUL */
	UX_IDS_MOST = 8,
};

/* Distinct, at most one of a type. */
struct ux_ids {
	size_t n;
	char text[UX_IDS_MOST][UX_ID_TEXT];
};

/*
 * The identities of an ELF file: "gnu:HEX" (GNU build ID), "go:TEXT" (Go build ID), and last
 * "file:HEX32", a hash of the ends of the file, which every file has. The two first survive strip
 * and objcopy --only-keep-debug; a File ID does not. Of a Mach-O file: "uuid:HEX32", which its dSYM
 * bundle has too, and "file:HEX32". Of a universal one those of the only slice or of this machine's
 * (UX_ENOTFOUND: there is neither); the File ID is that of the slice alone. Of a cubin also
 * "cubin-crc:HEX8", by which CUPTI names it and others as well.
 *
 * UX_EUNSUPPORTED: neither an ELF nor a Mach-O file. UX_ECORRUPT: a damaged one. UX_ENOTFOUND,
 * UX_EDENIED, UX_EIO: it cannot be read. *ret is untouched on failure. err may be NULL. Reads a few
 * pages. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_ids_read(const struct ux_input *in, struct ux_ids *ret,
				struct ux_error *err) UX_MUST;

#ifdef __cplusplus
}
#endif
#endif
