/* SPDX-License-Identifier: Apache-2.0 */
/* Frames of a memo as JSON. */
#ifndef UX_MEMO_JSON_H
#define UX_MEMO_JSON_H

#include "memo.h"
#include "out.h"

/* Appends the array of a frame (0: none) and of what it is inlined into. */
void ux_memo_json(const struct ux_memo *m, uint32_t frame, struct ux_out *out);

#endif
