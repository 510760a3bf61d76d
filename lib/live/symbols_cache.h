/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of symbols that processes share: those of each file, and of the kernel. */
#ifndef UX_SYMBOLS_CACHE_H
#define UX_SYMBOLS_CACHE_H

#include "file.h"
#include "file_symbols.h"
#include "kernel_symbols.h"

/*
 * Files are known by device, inode, size and time of change; files with the same build ID share the
 * symbols of the first. Any thread: two that need the same file at once wait for one extraction.
 */
struct ux_symbols_cache;

/* Strings of opts are copied. UX_ENOMEM. */
enum ux_code ux_symbols_cache_create(const struct ux_process_cache_opts *opts,
				     struct ux_symbols_cache **ret, struct ux_error *err) ux_must;
struct ux_symbols_cache *ux_symbols_cache_hold(struct ux_symbols_cache *c);
void ux_symbols_cache_drop(struct ux_symbols_cache *c); /* NULL is fine */

/* The symbols of an open regular file, as a reference for the caller. path is for split DWARF and
 * may be NULL. A file that is not ELF or has no symbols gives empty symbols with the reason.
 * UX_ENOMEM. */
enum ux_code ux_symbols_cache_file(struct ux_symbols_cache *c, int fd, const char *path,
				   struct ux_file_symbols **ret, struct ux_error *err) ux_must;

/* The same for an ELF image in memory, which is known by a hash of its bytes. */
enum ux_code ux_symbols_cache_image(struct ux_symbols_cache *c, struct ux_bytes image,
				    struct ux_file_symbols **ret, struct ux_error *err) ux_must;

/* The same for a mapped file whose debug file may be known already. */
enum ux_code ux_symbols_cache_input(struct ux_symbols_cache *c, const struct ux_mapping *file,
				    const struct ux_symbol_input *in, struct ux_file_symbols **ret,
				    struct ux_error *err) ux_must;

/* A reference to cached symbols of a build ID, or NULL. */
struct ux_file_symbols *ux_symbols_cache_find(struct ux_symbols_cache *c, const char *build_id);

/* Where debug files are searched; the prefix of /proc, /sys and /lib/modules (""; for tests another
 * root); the directories of the kernel's debug files. They live as long as c. */
const struct ux_symbol_search *ux_symbols_cache_search(const struct ux_symbols_cache *c);
const char *ux_symbols_cache_kernel_root(const struct ux_symbols_cache *c);
const char *ux_symbols_cache_kernel_dirs(const struct ux_symbols_cache *c);

/* A reference to the kernel's symbols, which are read again if they are older than not_before_ns.
 */
enum ux_code ux_symbols_cache_kernel(struct ux_symbols_cache *c, uint64_t now_ns,
				     uint64_t not_before_ns, struct ux_kernel **ret,
				     struct ux_error *err) ux_must;

#endif
