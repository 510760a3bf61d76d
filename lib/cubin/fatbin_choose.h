/* SPDX-License-Identifier: Apache-2.0 */
/* Selects one cubin of a program's GPU code, by number, GPU or ID. */
#ifndef UX_FATBIN_CHOOSE_H
#define UX_FATBIN_CHOOSE_H

#include "fatbin_list.h"
#include "id.h"

/* Adds the IDs of a cubin to *ret: its File ID, and CUPTI's hash of it as an alias. */
enum ux_code ux_cubin_ids(struct ux_bytes cubin, struct ux_id_set *ret, struct ux_error *err)
	ux_must;

/*
 * Sets *ret to the index in list->entries of the one cubin that `text` selects. text is a number
 * from 1 on, in the order of the list; "sm_90", when exactly one cubin is for that GPU; an ID of
 * the cubin (file:..., cubin-crc:...); or NULL, when there is exactly one cubin. Entries that
 * contain no code are not considered for "sm_90" and NULL. UX_ENOTFOUND: no such cubin, or the
 * number is of PTX. UX_ECONFLICT: several cubins match. The messages list the available ones.
 * UX_EINVAL: text is a malformed ID.
 */
enum ux_code ux_fatbin_choose(const struct ux_fatbin_list *list, const char *text, size_t *ret,
			      struct ux_error *err) ux_must;

/* Writes a list such as "sm_80, sm_90, compute_90 (not compiled)" into text (size bytes), and
 * returns text. Each architecture is listed once, as far as there is room;
 * the list then ends with ", and 5 more". */
const char *ux_fatbin_archs(const struct ux_fatbin_list *list, char *text, size_t size);

#endif
