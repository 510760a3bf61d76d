/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files of the running kernel and its modules. */
#ifndef UX_HOST_KERNEL_H
#define UX_HOST_KERNEL_H

#include "file_table.h"

/* Zeroed: the kernel was not examined yet. */
struct ux_host_kernel {
	uint64_t modules; /* hash of /proc/modules at the last call */
	bool looked;
	/* monotonic time when files whose file system did not answer are searched again; 0: all
	 * were searched */
	int64_t again_ms;
	/* parts (the kernel or modules) without a file and without symbols in kallsyms */
	uint64_t nameless;
	struct ux_error why; /* reason why /proc/kallsyms has no symbols; code UX_OK: it has them */
};

/*
 * Adds the kernel and its loaded modules to the waiting files, each once: its file if this host has
 * it, else a GSYM of its symbols in /proc/kallsyms. A later call reads only /proc/modules as long
 * as that is unchanged. debug_dirs: "DIR:DIR". UX_ENOMEM.
 */
enum ux_code ux_host_kernel_look(struct ux_host_kernel *h, const char *debug_dirs,
				 struct ux_file_table *t, struct ux_error *err) ux_must;

#endif
