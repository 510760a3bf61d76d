/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a source file around a line. */
#ifndef UX_SOURCE_LINES_H
#define UX_SOURCE_LINES_H

#include "out.h"
#include "unhex/frame.h"

/*
 * Appends `n` lines around the frame's, numbered and the frame's own marked with '>', as
 * llvm-symbolizer does; nothing when the file is not there.
 */
void ux_source_lines_put(struct ux_out *out, const struct ux_frame *frame, unsigned n);

#endif
