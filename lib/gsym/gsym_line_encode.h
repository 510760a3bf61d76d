/* SPDX-License-Identifier: Apache-2.0 */
/* The line table of one function, drafted. */
#ifndef UX_GSYM_LINE_ENCODE_H
#define UX_GSYM_LINE_ENCODE_H

#include "gsym_draft.h"

/*
 * Appends the content of a line table block, of at least one row, ascending, but for every SetFile:
 * its file goes to sets, together with how many bytes come behind it. Pure. False when memory for
 * sets is short.
 */
bool ux_gsym_encode_lines(struct ux_out *out, struct ux_gsym_refs *sets,
			  const struct ux_gsym_row *rows, size_t n) ux_must;

#endif
