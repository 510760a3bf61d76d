/* SPDX-License-Identifier: Apache-2.0 */
/* The line table of one function, written. */
#ifndef UX_GSYM_LINE_ENCODE_H
#define UX_GSYM_LINE_ENCODE_H

#include "gsym_encode.h"

/* Appends the content of a line table block: at least one row, ascending. Pure. */
void ux_gsym_encode_lines(struct ux_out *out, const struct ux_gsym_row *rows, size_t n);

#endif
