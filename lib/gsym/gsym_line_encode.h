/* SPDX-License-Identifier: Apache-2.0 */
/* The line table of one function, drafted. */
#ifndef UX_GSYM_LINE_ENCODE_H
#define UX_GSYM_LINE_ENCODE_H

#include "gsym_draft.h"

/*
 * Appends the content of a line table block, of at least one row, ascending: every SetFile without
 * its operand, which goes to files. Pure. False when memory for files is short.
 */
bool ux_gsym_encode_lines(struct ux_out *out, struct ux_gsym_refs *files,
			  const struct ux_gsym_row *rows, size_t n) ux_must;

#endif
