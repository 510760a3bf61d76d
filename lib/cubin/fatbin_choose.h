/* SPDX-License-Identifier: Apache-2.0 */
/* Which piece of a program's GPU code a person means. */
#ifndef UX_FATBIN_CHOOSE_H
#define UX_FATBIN_CHOOSE_H

#include "fatbin_list.h"
#include "id.h"

/* What a cubin is known by: File ID, and CUPTI's number as an alias. */
enum ux_code ux_cubin_ids(struct ux_bytes cubin, struct ux_id_set *ret, struct ux_error *err)
	ux_must;

/*
 * The number in list->entries of the one cubin that `text` means: a number from 1 on, in the order
 * of the list; "sm_90", if one alone is for it; an identity of the cubin (file:..., cubin-crc:...);
 * NULL: the only one. Entries without code of a function are no answer to "sm_90" or NULL.
 * UX_ENOTFOUND: there is none, or the number is that of PTX; UX_ECONFLICT: several are meant. The
 * message tells what there is. UX_EINVAL: an identity that is none.
 */
enum ux_code ux_fatbin_choose(const struct ux_fatbin_list *list, const char *text, size_t *ret,
			      struct ux_error *err) ux_must;

/* "sm_80, sm_90, compute_90 (not compiled)", each once and as many as fit, into text (size bytes).
 */
const char *ux_fatbin_archs(const struct ux_fatbin_list *list, char *text, size_t size);

#endif
