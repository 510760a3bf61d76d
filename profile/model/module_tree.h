/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the files of kernel modules: below /lib/modules/RELEASE, plain, compressed, or of debug
 * information. */
#ifndef UX_MODULE_TREE_H
#define UX_MODULE_TREE_H

#include "bytes.h"
#include "error.h"

/*
 * Finds the file of a module below a root ("" is this machine's), for a kernel's release: by
 * modules.dep, or else among the files there, in the order of their names. `name` is as in
 * /proc/modules, where '_' replaces '-'. The caller frees *ret. UX_ENOTFOUND: there is no such
 * file, or the release or the name is malformed. UX_ENOMEM. Source: modules.dep(5).
 */
enum ux_code ux_module_tree_find(struct ux_bytes root, struct ux_bytes release, const char *name,
				 char **ret, struct ux_error *err) ux_must;

enum {
	UX_MODULE_NAME_MAX = 64, /* bytes; MODULE_NAME_LEN of Linux, include/linux/moduleparam.h */
};

/* Sets the kernel's name of a module "[NAME]" or ".../NAME.ko.xz". False: it has none. */
bool ux_module_name(struct ux_bytes path, char name[static UX_MODULE_NAME_MAX]);

#endif
