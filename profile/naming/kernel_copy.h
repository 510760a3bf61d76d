/* SPDX-License-Identifier: Apache-2.0 */
/* The kernel symbols that perf keeps with the binaries that it has recorded. */
#ifndef UX_KERNEL_COPY_H
#define UX_KERNEL_COPY_H

#include "id.h"
#include "kernel.h"

/* A copy of /proc/kallsyms. Zeroed = none. */
struct ux_kernel_copy {
	struct ux_kallsyms symbols;
	char *path; /* malloc'ed */
};

/*
 * Reads the copy of the kernel with a build ID: ~/.debug/.build-id/xx/yyyy/kallsyms. It was made in
 * the boot in which perf first recorded that kernel: in a later boot the kernel as a whole may be
 * at another address, and modules anywhere. UX_ENOTFOUND: there is no copy. UX_EDENIED: its
 * addresses are hidden. UX_ECORRUPT, UX_ELIMIT: it is not a copy. UX_ENOMEM. *ret is zeroed on
 * failure. Source: Linux, tools/perf/util/build-id.c, build_id_cache__add_s().
 */
enum ux_code ux_kernel_copy_read(const struct ux_id *id, struct ux_kernel_copy *ret,
				 struct ux_error *err) ux_must;
void ux_kernel_copy_deinit(struct ux_kernel_copy *c);

/*
 * Finds the kernel function at an address of a recording whose kernel is at `text` (_text, or
 * _stext of a kernel without it), and shifts its bounds to the recording's addresses. False:
 * unknown, or it belongs to a module.
 */
bool ux_kernel_copy_find(const struct ux_kernel_copy *c, uint64_t text, uint64_t address,
			 struct ux_kernel_symbol *ret);

#endif
