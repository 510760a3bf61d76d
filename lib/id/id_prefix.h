/* SPDX-License-Identifier: Apache-2.0 */
/* Abbreviated identities, as people type them: the beginning of the text form. */
#ifndef UX_ID_PREFIX_H
#define UX_ID_PREFIX_H

#include "id.h"

enum {
	UX_ID_PREFIX_MIN = 4, /* characters after the type, as in git */
};

/*
 * Writes the beginning of a text form, lower-case, to ret (UX_ID_TEXT bytes): "gnu:93ac6" for
 * "93AC6" or "gnu:93AC6". Dashes of a File ID or UUID are left out. UX_EINVAL: an unknown type,
 * fewer characters than UX_ID_PREFIX_MIN, or a character that such an ID cannot have. UX_ELIMIT: it
 * is longer than such an ID. A whole ID is a prefix, too.
 */
enum ux_code ux_id_prefix_parse(struct ux_bytes text, char *ret, struct ux_error *err) ux_must;

/*
 * Returns whether the prefix is as long as an ID of its type usually is, so that it is not an
 * abbreviation: GNU build IDs of 16 bytes or more, Go build IDs with all four parts, and all digits
 * of the other types.
 */
bool ux_id_prefix_is_whole(const char *prefix);

#endif
