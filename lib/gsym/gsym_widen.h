/* SPDX-License-Identifier: Apache-2.0 */
/* Records of version 1 in the form of version 2: every name is 8 bytes wide. */
#ifndef UX_GSYM_WIDEN_H
#define UX_GSYM_WIDEN_H

#include "cursor.h"
#include "out.h"

/*
 * Appends the wide form of the record at c to out, which is 4-aligned before and afterwards; c
 * moves to the next record. Names are multiplied by 2^shift. A damaged record is c's failure.
 *
 * Records are encoded before it is known whether version 1 holds them all, and what differs is this
 * little, so there is one encoder, and a second pass for the files that need it.
 */
void gsym_widen_record(struct ux_out *out, struct ux_cur *c, unsigned shift);

#endif
