/* SPDX-License-Identifier: Apache-2.0 */
/* Finding PHP's state in one file of a live process. */
#ifndef UX_TARGET_PHP_H
#define UX_TARGET_PHP_H

#include "target_elf.h"
#include "unhex/interp.h"

/*
 * Completes root->version by the text "X-Powered-By: PHP/8.2.35" that every PHP has. UX_ENOTFOUND:
 * root->addr is 0, the file has no executor_globals; UX_EUNSUPPORTED: a PHP with threads (ZTS),
 * which keeps them per thread, or of an unknown version.
 */
enum ux_code ux_target_php(const struct ux_target_elf *e, const struct ux_memory_reader *memory,
			   struct ux_interp_root *root, struct ux_error *err) ux_must;

#endif
