/* SPDX-License-Identifier: Apache-2.0 */
/* A GSYM's functions for programs. */
#ifndef UX_GSYM_JSON_H
#define UX_GSYM_JSON_H

#include "gsym_reader.h"
#include "out.h"

/*
 * One object a line for every function, with its rows and inlined calls, to out, which is written
 * to stdout when it gets long. UX_ECORRUPT at the first record that cannot be read.
 */
enum ux_code ux_gsym_json(const struct ux_gsym *g, struct ux_out *out, struct ux_error *err)
	ux_must;

#endif
