/* SPDX-License-Identifier: Apache-2.0 */
/* The files that the running kernel and its modules were loaded from, and their debug files. */
#ifndef UX_KERNEL_FILES_H
#define UX_KERNEL_FILES_H

#include "error.h"
#include "file.h"

/* Where they are looked for. */
struct ux_kernel_places {
	const char *root;    /* what stands before /boot and /lib/modules; "": nothing */
	const char *release; /* of the kernel, as uname -r tells it */
	const char *dirs;    /* of debug files, "DIR:DIR" */
};

/* Zeroed = none. */
struct ux_kernel_files {
	struct ux_mapping file; /* inflated, if it was compressed */
	char *path;             /* malloc'ed; NULL: there is none */
	struct ux_mapping debug;
	char *debug_path;     /* malloc'ed; NULL: there is none, or none is needed */
	struct ux_error lost; /* why there is none, or no debug file; code UX_OK: nothing is lost */
};

/*
 * Finds the ELF file with the build ID, "gnu:HEX", of a module, or of the kernel (""), and another
 * one with the debug information if it has none: where depmod, distributions' packages and the
 * kernel's own build put them (docs/formats/kernel.md). Alone a debug file will do. That there is
 * none is said in ret->lost. UX_ENOMEM. Must be closed also then.
 */
enum ux_code ux_kernel_files_find(const struct ux_kernel_places *places, const char *module,
				  const char *build_id, struct ux_kernel_files *ret,
				  struct ux_error *err) ux_must;
void ux_kernel_files_close(struct ux_kernel_files *f);

#endif
