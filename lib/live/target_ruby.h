/* SPDX-License-Identifier: Apache-2.0 */
/* Finding Ruby's state in one file of a live process. */
#ifndef UX_TARGET_RUBY_H
#define UX_TARGET_RUBY_H

#include "target_elf.h"
#include "unhex/interp.h"

/* Completes root->version by the symbol ruby_version. UX_ENOTFOUND: root->addr is 0, the file has
 * no ruby_current_vm_ptr; UX_EUNSUPPORTED: an unknown version. */
enum ux_code ux_target_ruby(const struct ux_target_elf *e, const struct ux_memory_reader *memory,
			    struct ux_interp_root *root, struct ux_error *err) ux_must;

#endif
