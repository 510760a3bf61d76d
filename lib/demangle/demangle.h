/* SPDX-License-Identifier: Apache-2.0 */
/* Linkage names as people write them: C++, Rust and D. */
#ifndef UX_DEMANGLE_H
#define UX_DEMANGLE_H

#include "bytes.h"
#include "out.h"
#include "unhex/demangle.h"

enum {
	UX_DEMANGLE_NAME_MOST = 4096,  /* a longer linkage name is left as it is */
	UX_DEMANGLE_TEXT_MOST = 65536, /* so is one that would need more text than this */
};

/* "none", "short" or "full"; false for any other word. */
bool ux_demangle_mode_parse(struct ux_bytes word, enum ux_demangle_mode *ret) ux_must;

/* Schemes that linkage names are made by; a name may look like one of several. */
enum {
	UX_SCHEME_ITANIUM = 1, /* C++ */
	UX_SCHEME_RUST = 2,    /* legacy and v0 */
	UX_SCHEME_DLANG = 4,
	UX_SCHEME_ADA = 8, /* GNAT */
	UX_SCHEME_ALL = 7,
};

/* The same for names of these schemes alone; others stay as they are. */
void ux_demangle_by(unsigned schemes, struct ux_bytes name, enum ux_demangle_mode mode,
		    struct ux_out *out);

/*
 * Appends the text for name to out: Itanium C++, Rust (legacy and v0) and D; anything else, and
 * whatever is malformed, too long or too deep, unchanged. Bounded in time, stack and output for
 * any input: libiberty's recursion limit stays on, which also leaves C++ names over 1,024 bytes as
 * they are. Any thread.
 */
void ux_demangle(struct ux_bytes name, enum ux_demangle_mode mode, struct ux_out *out);

#endif
