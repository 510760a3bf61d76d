/* SPDX-License-Identifier: Apache-2.0 */
/* C++ names, by the Itanium ABI. */
#ifndef UX_ITANIUM_H
#define UX_ITANIUM_H

#include "bytes.h"
#include "out.h"

/* How a name is written. */
struct ux_itanium_style {
	bool parameters; /* of functions, with what they return and a clone's suffix */
	bool elide;      /* "<...>" in place of template arguments */
	bool llvm;       /* as LLVM's tools write it, else as GNU's */
};

/*
 * Appends the text of the linkage name ("_Z...", perhaps with the suffix of a clone) to out. False,
 * and nothing appended, for what is malformed, needs over `most` bytes of text, nests too deep or
 * uses a rare part of the grammar that this leaves to others: concepts, modules, requires, vendors'
 * attributes. Time is bounded, memory is on the stack (140 KB, and 300 KB for the deepest name).
 * Source: Itanium C++ ABI, 5.1 "External Names (a.k.a. Mangling)".
 */
bool ux_itanium_demangle(struct ux_bytes name, struct ux_itanium_style style, size_t most,
			 struct ux_out *out);

#endif
