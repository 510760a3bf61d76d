/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols that processes share: each file once, the kernel's once. */
#ifndef UX_SYMBOLS_CACHE_H
#define UX_SYMBOLS_CACHE_H

#include "file.h"
#include "file_symbols.h"
#include "kernel_symbols.h"

/*
 * Files by device, inode, size and time of change, and files of one build ID share what was
 * extracted from the first. Any thread: two that want one file at once wait for one extraction.
 */
struct ux_symbols_cache;

/* Strings of opts are copied. UX_ENOMEM. */
enum ux_code ux_symbols_cache_create(const struct ux_process_cache_opts *opts,
				     struct ux_symbols_cache **ret, struct ux_error *err) ux_must;
struct ux_symbols_cache *ux_symbols_cache_hold(struct ux_symbols_cache *c);
void ux_symbols_cache_drop(struct ux_symbols_cache *c); /* NULL is fine */

/* The symbols of an open regular file, held for the caller; path is for split DWARF, may be NULL.
 * A file without symbols, or that is no ELF file, is an answer that says why. UX_ENOMEM. */
enum ux_code ux_symbols_cache_file(struct ux_symbols_cache *c, int fd, const char *path,
				   struct ux_file_symbols **ret, struct ux_error *err) ux_must;

/* The same for an ELF image in memory, known by its bytes. */
enum ux_code ux_symbols_cache_image(struct ux_symbols_cache *c, struct ux_bytes image,
				    struct ux_file_symbols **ret, struct ux_error *err) ux_must;

/* The same for a file that is mapped, and what is known beside it. */
enum ux_code ux_symbols_cache_input(struct ux_symbols_cache *c, const struct ux_mapping *file,
				    const struct ux_symbol_input *in, struct ux_file_symbols **ret,
				    struct ux_error *err) ux_must;

/* Symbols of a build ID that are there already, held; or NULL. */
struct ux_file_symbols *ux_symbols_cache_known(struct ux_symbols_cache *c, const char *build_id);

/* Where debug files are looked for; what stands before /proc, /sys and /lib/modules ("": nothing);
 * folders of the kernel's debug files. They live as long as c. */
const struct ux_symbol_search *ux_symbols_cache_search(const struct ux_symbols_cache *c);
const char *ux_symbols_cache_kernel_root(const struct ux_symbols_cache *c);
const char *ux_symbols_cache_kernel_dirs(const struct ux_symbols_cache *c);

/* The kernel's symbols, held for the caller: as they were read not before not_before_ns. */
enum ux_code ux_symbols_cache_kernel(struct ux_symbols_cache *c, uint64_t now_ns,
				     uint64_t not_before_ns, struct ux_kernel_symbols_now **ret,
				     struct ux_error *err) ux_must;

#endif
