/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the local file of a module of a profile. */
#ifndef UX_PROFILE_FILE_H
#define UX_PROFILE_FILE_H

#include "file_symbols.h"
#include "id.h"
#include "profile_symbolize.h"
#include "symbols_cache.h"

/*
 * Opens the file with the identity of a module: at its path, below each folder of
 * sources->file_dirs, in the build-ID trees of these and of the debug folders, and in perf's cache
 * ($HOME/.debug). A file with another identity is not used. *ret_path is its path, which the caller
 * frees, and *ret its symbols, or only their head, a reference. UX_ENOTFOUND: `err` names the files
 * that did not match. UX_ENOMEM.
 */
enum ux_code ux_profile_file_find(const struct ux_profile_sources *sources, const char *path,
				  const struct ux_id *id, enum ux_symbols_depth depth,
				  char **ret_path, struct ux_file_symbols **ret,
				  struct ux_error *err) ux_must;

/*
 * The same for a kernel module that is known by its name in the kernel, "ext4", and by the kernel's
 * release, below /lib/modules of each folder and of this machine. *release may be empty: then it is
 * found only by its build ID.
 */
enum ux_code ux_profile_ko_find(const struct ux_profile_sources *sources, struct ux_bytes release,
				const char *name, const struct ux_id *id,
				enum ux_symbols_depth depth, char **ret_path,
				struct ux_file_symbols **ret, struct ux_error *err) ux_must;

/* The same for a module of a profile, which may be known only by its debug ID. */
enum ux_code ux_profile_module_find(const struct ux_profile_sources *sources,
				    const struct ux_profile *p, const struct ux_profile_module *m,
				    enum ux_symbols_depth depth, char **ret_path,
				    struct ux_file_symbols **ret, struct ux_error *err) ux_must;

#endif
