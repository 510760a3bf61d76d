/* SPDX-License-Identifier: Apache-2.0 */
/* IDs as clients write them, to the one form that the store knows. */
#ifndef UX_MODULE_IDS_H
#define UX_MODULE_IDS_H

#include "arena.h"
#include "bytes.h"
#include "error.h"
#include "json_in.h"

/* Canonical text in the arena. UX_EINVAL: it is no ID. */
enum ux_code ux_module_id(struct ux_bytes text, struct ux_arena *arena, const char **ret,
			  struct ux_error *err) ux_must;

/* The array of strings o.ids, each canonical, 1 to UX_INDEX_IDS_MOST of them. */
enum ux_code ux_module_ids(const json_t *o, struct ux_arena *arena, const char ***ret,
			   size_t *ret_n, struct ux_error *err) ux_must;

#endif
