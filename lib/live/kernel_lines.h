/* SPDX-License-Identifier: Apache-2.0 */
/* The files of the running kernel and of its modules, which have the lines of their code. They are
 * read when first needed. */
#ifndef UX_KERNEL_LINES_H
#define UX_KERNEL_LINES_H

#include "symbols_cache.h"

/* The code of a part of k; it lives as long as k. Code without symbols, which only has the reason
 * in `lost`, is a success. UX_ENOMEM. Any thread. */
enum ux_code ux_kernel_code_get(struct ux_symbols_cache *cache, struct ux_kernel *k,
				const struct ux_kernel_part *part,
				const struct ux_kernel_code **ret, struct ux_error *err) ux_must;

/* The code of the running kernel from a vmlinux at a path. UX_ECONFLICT: the file is of another
 * kernel. UX_ENOMEM, and any failure to read the file. */
enum ux_code ux_kernel_code_open(struct ux_symbols_cache *cache, struct ux_kernel *k,
				 const char *path, struct ux_kernel_code **ret,
				 struct ux_error *err) ux_must;

/* The BPF programs that were loaded at the first call; they live as long as k. UX_ENOMEM. Any
 * thread. */
enum ux_code ux_kernel_bpf_get(struct ux_kernel *k, const struct ux_bpf_programs **ret,
			       struct ux_error *err) ux_must;

#endif
