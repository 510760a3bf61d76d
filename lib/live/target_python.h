/* SPDX-License-Identifier: Apache-2.0 */
/* Finding CPython's state in one file of a live process. */
#ifndef UX_TARGET_PYTHON_H
#define UX_TARGET_PYTHON_H

#include "target_elf.h"
#include "unhex/interp.h"

/*
 * Completes root->addr (0: the file has no symbol _PyRuntime) and root->version. Without a symbol
 * the section .PyRuntime says where it is (3.13 and newer), and else the file's writable data are
 * searched for what only _PyRuntime looks like. UX_ENOTFOUND: not in this file.
 */
enum ux_code ux_target_python(const struct ux_target_elf *e, const struct ux_memory_reader *memory,
			      struct ux_interp_root *root, struct ux_error *err) ux_must;

#endif
