/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols that processes share: each file once, the kernel's once. */
#ifndef UX_SYMBOLS_CACHE_H
#define UX_SYMBOLS_CACHE_H

#include "file_symbols.h"
#include "kernel_symbols.h"

/*
 * Files by device, inode, size and time of change, and files of one build ID share what was
 * extracted from the first. Any thread: two that want one file at once wait for one extraction.
 */
struct ux_symbols_cache;

/* debug_dirs: as of ux_file_symbols_extract(). */
enum ux_code ux_symbols_cache_create(const char *debug_dirs, struct ux_symbols_cache **ret,
				     struct ux_error *err) ux_must;
struct ux_symbols_cache *ux_symbols_cache_hold(struct ux_symbols_cache *c);
void ux_symbols_cache_drop(struct ux_symbols_cache *c); /* NULL is fine */

/* The symbols of an open regular file, held for the caller; path is for split DWARF, may be NULL.
 * A file without symbols, or that is no ELF file, is an answer that says why. UX_ENOMEM. */
enum ux_code ux_symbols_cache_file(struct ux_symbols_cache *c, int fd, const char *path,
				   struct ux_file_symbols **ret, struct ux_error *err) ux_must;

/* The same for an ELF image in memory, known by its bytes. */
enum ux_code ux_symbols_cache_image(struct ux_symbols_cache *c, struct ux_bytes image,
				    struct ux_file_symbols **ret, struct ux_error *err) ux_must;

/* The kernel's symbols, held for the caller: as they were read not before not_before_ns. */
enum ux_code ux_symbols_cache_kernel(struct ux_symbols_cache *c, uint64_t now_ns,
				     uint64_t not_before_ns, struct ux_kernel_symbols_now **ret,
				     struct ux_error *err) ux_must;

#endif
