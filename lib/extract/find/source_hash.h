/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a source file with the hashes in the debug information. */
#ifndef UX_SOURCE_HASH_H
#define UX_SOURCE_HASH_H

#include "bytes.h"
#include "error.h"

enum {
	UX_MD5_BYTES = 16
};

/*
 * Returns whether this is the file being compared. A relative name counts from dir, and a relative
 * dir from comp_dir; either may be NULL.
 */
typedef bool ux_source_is_fn(void *ctx, const char *comp_dir, const char *dir, const char *name);

/*
 * Looks for the file's MD5 in all line tables of the ELF file (DWARF 5; clang and rustc write it,
 * gcc does not). UX_OK: a table has this MD5 for the file; UX_ECONFLICT: all tables with an MD5 for
 * it have another one; UX_ENOTFOUND: no table has an MD5 for it. UX_ECORRUPT, UX_EUNSUPPORTED: the
 * file cannot be read. Since the hash is MD5, it detects another version of the file, but not a
 * file made to deceive.
 */
enum ux_code ux_source_hash_check(struct ux_bytes elf, const uint8_t md5[UX_MD5_BYTES],
				  ux_source_is_fn *is, void *ctx, struct ux_error *err) ux_must;

#endif
