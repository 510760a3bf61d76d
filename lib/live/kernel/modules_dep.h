/* SPDX-License-Identifier: Apache-2.0 */
/* Where the files of a kernel's modules are, as depmod lists them in modules.dep. */
#ifndef UX_MODULES_DEP_H
#define UX_MODULES_DEP_H

#include "bytes.h"

/*
 * The path, a slice of the list, of the file of a module: "kernel/fs/ext4/ext4.ko.xz", below the
 * folder of the list, or from the root on when it begins with '/'. name is as the kernel tells it,
 * where '-' is '_'. Empty when it is not listed. Source: modules.dep(5).
 */
struct ux_bytes ux_modules_dep_find(struct ux_bytes list, const char *name);

/* A path of a module's file up to and with ".ko", so without what says how it is compressed; empty
 * when it has no ".ko" at or before its end. */
struct ux_bytes ux_module_path_plain(struct ux_bytes path);

#endif
