/* SPDX-License-Identifier: Apache-2.0 */
/* Source lines of the running kernel and of its modules, from their files. The files are read
 * when they are first needed. */
#ifndef UX_KERNEL_LINES_H
#define UX_KERNEL_LINES_H

#include "symbols_cache.h"

/* Returns the code of a part of k, which lives as long as k. If there are no symbols, the call
 * succeeds and `lost` of the code has the reason. UX_ENOMEM. May be called by any thread. */
enum ux_code ux_kernel_code_get(struct ux_symbols_cache *cache, struct ux_kernel *k,
				const struct ux_kernel_part *part,
				const struct ux_kernel_code **ret, struct ux_error *err) ux_must;

/* Creates the code of the running kernel from the vmlinux file at a path. UX_ECONFLICT: the file
 * belongs to another kernel. UX_ENOMEM, and any failure to read the file. */
enum ux_code ux_kernel_code_open(struct ux_symbols_cache *cache, struct ux_kernel *k,
				 const char *path, struct ux_kernel_code **ret,
				 struct ux_error *err) ux_must;

/* Returns the BPF programs, which are read at the first call and live as long as k. UX_ENOMEM.
 * May be called by any thread. */
enum ux_code ux_kernel_bpf_get(struct ux_kernel *k, const struct ux_bpf_programs **ret,
			       struct ux_error *err) ux_must;

#endif
