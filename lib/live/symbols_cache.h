/* SPDX-License-Identifier: Apache-2.0 */
/* A cache of the symbols of files and of the kernel, which several processes share. */
#ifndef UX_SYMBOLS_CACHE_H
#define UX_SYMBOLS_CACHE_H

#include "file.h"
#include "file_symbols.h"
#include "kernel_symbols.h"

/*
 * The key of a file is its device, inode, size and time of change; files with the same build ID
 * share the symbols of the first one. May be used by any thread. If several threads need the same
 * file at the same time, one extracts it and the others wait.
 */
struct ux_symbols_cache;

/* Creates a cache. The strings of opts are copied. UX_ENOMEM. */
enum ux_code ux_symbols_cache_create(const struct ux_process_cache_opts *opts,
				     struct ux_symbols_cache **ret, struct ux_error *err) ux_must;
struct ux_symbols_cache *ux_symbols_cache_hold(struct ux_symbols_cache *c);
void ux_symbols_cache_drop(struct ux_symbols_cache *c); /* NULL is fine */

/* How much of a file is read. */
enum ux_symbols_depth {
	UX_SYMBOLS_ALL,
	UX_SYMBOLS_HEAD, /* the identity and the segments; the symbols are empty */
	UX_SYMBOLS_DEPTH_COUNT
};

/* Returns the symbols of an open regular file as a reference that the caller must drop. path is
 * used to find the files of split DWARF and may be NULL. If the file is not ELF or has no symbols,
 * they are empty and contain the reason. UX_ENOMEM. */
enum ux_code ux_symbols_cache_file(struct ux_symbols_cache *c, int fd, const char *path,
				   enum ux_symbols_depth depth, struct ux_file_symbols **ret,
				   struct ux_error *err) ux_must;

/* Returns the symbols of an ELF image in memory. Its key is a hash of its bytes. */
enum ux_code ux_symbols_cache_image(struct ux_symbols_cache *c, struct ux_bytes image,
				    enum ux_symbols_depth depth, struct ux_file_symbols **ret,
				    struct ux_error *err) ux_must;

/* Returns the symbols of a mapped file; its debug file may already be known. */
enum ux_code ux_symbols_cache_input(struct ux_symbols_cache *c, const struct ux_mapping *file,
				    const struct ux_symbol_input *in, struct ux_file_symbols **ret,
				    struct ux_error *err) ux_must;

/* Returns a reference to the cached symbols of a build ID, or NULL. */
struct ux_file_symbols *ux_symbols_cache_find(struct ux_symbols_cache *c, const char *build_id);

/* Return, in this order: where debug files are searched; the prefix of /proc, /sys and
 * /lib/modules, which is "" except in tests; and the directories of the kernel's debug files. The
 * results live as long as c. */
const struct ux_symbol_search *ux_symbols_cache_search(const struct ux_symbols_cache *c);
const char *ux_symbols_cache_kernel_root(const struct ux_symbols_cache *c);
const char *ux_symbols_cache_kernel_dirs(const struct ux_symbols_cache *c);

/* Returns a reference to the kernel's symbols. They are read again if they were read before
 * not_before_ns. */
enum ux_code ux_symbols_cache_kernel(struct ux_symbols_cache *c, uint64_t now_ns,
				     uint64_t not_before_ns, struct ux_kernel **ret,
				     struct ux_error *err) ux_must;

#endif
