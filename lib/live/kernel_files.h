/* SPDX-License-Identifier: Apache-2.0 */
/* The search for the files of the running kernel and of its modules. */
#ifndef UX_KERNEL_FILES_H
#define UX_KERNEL_FILES_H

#include "error.h"
#include "file.h"

#include <limits.h>

enum {
	UX_KERNEL_PLACE_COUNT = 7,
};

/* A place at which distributions or the kernel's own build have the file of the kernel. */
struct ux_kernel_place {
	const char *name; /* '@' stands for the release */
	bool is_debug;    /* below a directory of debug files; otherwise below the root */
};

/* All of them, the best first: debug files, and files of a build before the booted file, which may
 * be stripped. */
extern const struct ux_kernel_place ux_kernel_places[UX_KERNEL_PLACE_COUNT];

/* Joins BASE, NAME with the release in place of '@', and TAIL; false when that is too long. */
bool ux_kernel_path(struct ux_bytes base, const char *name, struct ux_bytes release,
		    struct ux_bytes tail, char ret[PATH_MAX]) ux_must;

/* Where the files are searched. */
struct ux_kernel_dirs {
	const char *root;    /* prefix of /boot and /lib/modules; usually "" */
	const char *release; /* the kernel's release, as in uname -r */
	const char *debug;   /* directories of debug files, "DIR:DIR" */
};

/* The file of the kernel or of a module, and its debug file. Zeroed = none. */
struct ux_kernel_files {
	struct ux_mapping file; /* decompressed, if it was compressed */
	char *path;             /* malloc'ed; NULL: none */
	struct ux_mapping debug;
	char *debug_path;     /* malloc'ed; NULL: none was found, or `file` has DWARF */
	struct ux_error lost; /* why a file is missing; code UX_OK: none is missing */
};

/*
 * Finds the ELF file of a module, or of the kernel (""), by its build ID "gnu:HEX", and a second
 * file with the debug information if the first has none. It searches the paths of depmod, of
 * distributions' packages and of the kernel's own build (docs/formats/kernel.md). A debug file
 * alone is enough. When neither is found, ret->lost has the reason. UX_ENOMEM; *ret must be closed
 * also then.
 */
enum ux_code ux_kernel_files_find(const struct ux_kernel_dirs *dirs, const char *module,
				  const char *build_id, struct ux_kernel_files *ret,
				  struct ux_error *err) ux_must;
void ux_kernel_files_close(struct ux_kernel_files *f);

#endif
