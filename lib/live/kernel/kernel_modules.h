/* SPDX-License-Identifier: Apache-2.0 */
/* The modules of a kernel: those that are loaded, and the files that depmod lists. */
#ifndef UX_KERNEL_MODULES_H
#define UX_KERNEL_MODULES_H

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "vec.h"

struct ux_kernel_module {
	uint64_t start; /* 0: hidden by the kernel */
	uint64_t size;
	const char *name;
};

UX_VEC(ux_kernel_module_list, struct ux_kernel_module);

/* Immutable once parsed. */
struct ux_kernel_modules {
	struct ux_arena arena;
	struct ux_kernel_module_list list; /* sorted by start */
	uint64_t skipped;                  /* malformed lines */
};

/*
 * Parses the lines of /proc/modules: "NAME SIZE USERS DEPENDENCIES STATE ADDRESS [(TAINT)]".
 * UX_ELIMIT, UX_ENOMEM; *ret is zeroed on failure. Source: Linux, kernel/module/procfs.c, m_show().
 */
enum ux_code ux_kernel_modules_parse(struct ux_bytes list, struct ux_kernel_modules *ret,
				     struct ux_error *err) ux_must;
void ux_kernel_modules_deinit(struct ux_kernel_modules *m);

/* The module that contains an address, or NULL. */
const struct ux_kernel_module *ux_kernel_modules_find(const struct ux_kernel_modules *m,
						      uint64_t addr);

/* The GNU build ID in ELF notes of the running kernel: /sys/kernel/notes, or
 * /sys/module/NAME/notes/.note.gnu.build-id; empty when there is none. */
struct ux_bytes ux_kernel_build_id(struct ux_bytes notes);

/*
 * Finds the path of the file of a module in modules.dep: "kernel/fs/ext4/ext4.ko.xz", relative to
 * the directory of the list unless it begins with '/'. name is as in /proc/modules, where '-' is
 * '_'. Returns a slice of the list; empty when the module is not listed. Source: modules.dep(5).
 */
struct ux_bytes ux_modules_dep_find(struct ux_bytes list, const char *name);

/* The path of a module up to and including ".ko", without the suffix of a compression; empty when
 * it has no ".ko" at its end or before such a suffix. */
struct ux_bytes ux_module_path_plain(struct ux_bytes path);

#endif
