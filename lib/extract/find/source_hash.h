/* SPDX-License-Identifier: Apache-2.0 */
/* Comparison of a source file with what the debug information knows of it. */
#ifndef UX_SOURCE_HASH_H
#define UX_SOURCE_HASH_H

#include "bytes.h"
#include "error.h"

enum {
	UX_MD5_BYTES = 16
};

/*
 * Is this the file that is compared? A relative name counts from dir, and a relative dir from
 * comp_dir; either may be NULL.
 */
typedef bool ux_source_is_fn(void *ctx, const char *comp_dir, const char *dir, const char *name);

/*
 * Looks for the file's MD5 in all line tables of the ELF file (DWARF 5; clang and rustc write it,
 * gcc does not). UX_OK: a table has this MD5 of it; UX_ECONFLICT: all that have one of it have
 * another; UX_ENOTFOUND: none has. UX_ECORRUPT, UX_EUNSUPPORTED: the file cannot be read. As the
 * hash is MD5, it shows a file of another version, and not one that was made to deceive.
 */
enum ux_code ux_source_hash_check(struct ux_bytes elf, const uint8_t md5[UX_MD5_BYTES],
				  ux_source_is_fn *is, void *ctx, struct ux_error *err) ux_must;

#endif
