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
	UX_IDS_MAX = 8,
};

/* A module's identities: no two are equal, and no two have the same type. */
struct ux_ids {
	size_t n;
	char text[UX_IDS_MAX][UX_ID_TEXT];
};

/*
 * Reads the identities of a file. An ELF file has "gnu:HEX" (GNU build ID), "go:TEXT" (Go build
 * ID), and last "file:HEX32" (File ID), a hash of the beginning and the end of the file, which
 * every file has. The first two survive strip and objcopy --only-keep-debug; a File ID does not. A
 * Mach-O file has "uuid:HEX32", which its dSYM bundle has too, and "file:HEX32". Of a universal
 * file the only slice or this machine's slice is read (UX_ENOTFOUND: it has neither); the File ID
 * is computed over the slice alone. A cubin also has "cubin-crc:HEX8", which CUPTI identifies it
 * by; several cubins can have the same one.
 *
 * UX_EUNSUPPORTED: neither an ELF nor a Mach-O file. UX_ECORRUPT: the file is damaged.
 * UX_ENOTFOUND, UX_EDENIED, UX_EIO: it cannot be read. *ret is unchanged on failure. err may be
 * NULL. Reads a few pages. Any thread. Since 0.1.
 */
UX_API enum ux_code ux_ids_read(const struct ux_input *in, struct ux_ids *ret,
				struct ux_error *err) UX_MUST;

#ifdef __cplusplus
}
#endif
#endif
