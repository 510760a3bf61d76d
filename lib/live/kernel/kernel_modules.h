/* SPDX-License-Identifier: Apache-2.0 */
/* What the running kernel is made of: loaded modules and build IDs. */
#ifndef UX_KERNEL_MODULES_H
#define UX_KERNEL_MODULES_H

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "vec.h"

struct ux_kernel_module {
	uint64_t start; /* 0: the kernel hides it */
	uint64_t size;
	const char *name;
};

UX_VEC(ux_kernel_module_list, struct ux_kernel_module);

/* Immutable once parsed. */
struct ux_kernel_modules {
	struct ux_arena arena;
	struct ux_kernel_module_list list; /* by start */
	uint64_t skipped;                  /* lines that are none */
};

/*
 * Reads the lines of /proc/modules: "NAME SIZE USERS DEPENDENCIES STATE ADDRESS [(TAINT)]".
 * UX_ELIMIT, UX_ENOMEM; *ret is zeroed on failure. Source: Linux, kernel/module/procfs.c, m_show().
 */
enum ux_code ux_kernel_modules_parse(struct ux_bytes list, struct ux_kernel_modules *ret,
				     struct ux_error *err) ux_must;
void ux_kernel_modules_deinit(struct ux_kernel_modules *m);

/* The module that has an address, or NULL. */
const struct ux_kernel_module *ux_kernel_modules_find(const struct ux_kernel_modules *m,
						      uint64_t addr);

/* The GNU build ID in notes as the kernel gives them: /sys/kernel/notes, or
 * /sys/module/NAME/notes/.note.gnu.build-id; empty when there is none. */
struct ux_bytes ux_kernel_build_id(struct ux_bytes notes);

#endif
