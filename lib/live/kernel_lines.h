/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of kernel code: the files of the kernel and of its modules, read when they are asked for.
 */
#ifndef UX_KERNEL_LINES_H
#define UX_KERNEL_LINES_H

#include "symbols_cache.h"

/* The code of a part of k, which has it as long as it lives. One without symbols, that only says
 * what is lost, is an answer. UX_ENOMEM. Any thread. */
enum ux_code ux_kernel_lines(struct ux_symbols_cache *cache, struct ux_kernel_symbols_now *k,
			     const struct ux_kernel_part *part, const struct ux_kernel_code **ret,
			     struct ux_error *err) ux_must;

/* The code of the running kernel by a file that somebody gave. UX_ECONFLICT: it is another
 * kernel's. Whatever is wrong with the file; UX_ENOMEM. */
enum ux_code ux_kernel_lines_of(struct ux_symbols_cache *cache, struct ux_kernel_symbols_now *k,
				const char *path, struct ux_kernel_code **ret, struct ux_error *err)
	ux_must;

/* The BPF programs that were loaded when k was first asked for them; k has them as long as it
 * lives. UX_ENOMEM. Any thread. */
enum ux_code ux_kernel_bpf(struct ux_kernel_symbols_now *k, const struct ux_bpf_programs **ret,
			   struct ux_error *err) ux_must;

#endif
