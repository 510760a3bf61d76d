/* SPDX-License-Identifier: Apache-2.0 */
/* The running kernel and its modules as files to be sent. */
#ifndef UX_HOST_KERNEL_H
#define UX_HOST_KERNEL_H

#include "file_table.h"

/* Zeroed: the kernel was not looked at. */
struct ux_host_kernel {
	uint64_t modules; /* hash of /proc/modules as of the last look */
	bool looked;
	uint64_t nameless;   /* parts, the kernel or modules, whose names nothing has */
	struct ux_error why; /* why /proc/kallsyms has none; code UX_OK: it has */
};

/*
 * Adds the kernel, and the modules that are loaded, to the waiting files, when they were not yet:
 * the files of those whose files are here, for others a GSYM of what /proc/kallsyms has. Called
 * again, it reads only /proc/modules while that stays as it is. debug_dirs: "DIR:DIR". UX_ENOMEM.
 */
enum ux_code ux_host_kernel_look(struct ux_host_kernel *h, const char *debug_dirs,
				 struct ux_file_table *t, struct ux_error *err) ux_must;

#endif
