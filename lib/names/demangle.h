/* SPDX-License-Identifier: Apache-2.0 */
/* Demangling linkage names. */
#ifndef UX_DEMANGLE_H
#define UX_DEMANGLE_H

#include "bytes.h"
#include "out.h"
#include "unhex/demangle.h"

enum {
	UX_DEMANGLE_NAME_MAX = 8192,  /* a longer linkage name is not demangled */
	UX_DEMANGLE_TEXT_MAX = 65536, /* neither is a name with a text longer than this */
};

/* "none", "short", "full" or "templates-elided"; false for any other word. */
bool ux_demangle_mode_parse(struct ux_bytes word, enum ux_demangle_mode *ret) ux_must;

/* Mangling schemes. A name may match several. */
enum {
	UX_SCHEME_ITANIUM = 1, /* C++ */
	UX_SCHEME_RUST = 2,    /* legacy and v0 */
	UX_SCHEME_DLANG = 4,
	UX_SCHEME_ADA = 8, /* GNAT; its rules also match many names that are not Ada's */
	UX_SCHEME_OTHERS =
		16, /* schemes that are recognized reliably by the name alone: demangle_plain.c */
	UX_SCHEME_ALL = UX_SCHEME_ITANIUM | UX_SCHEME_RUST | UX_SCHEME_DLANG | UX_SCHEME_OTHERS,
};

struct ux_demangle_how {
	enum ux_demangle_mode mode;
	unsigned schemes;
	bool llvm; /* write C++ as LLVM's tools do, else as GNU's tools do */
};

/*
 * Appends the demangled name to out. A name of none of the schemes, and one that is malformed, too
 * long or too deeply nested, is appended unchanged. Time, stack and output are bounded for any
 * input. Any thread.
 */
void ux_demangle_as(struct ux_bytes name, const struct ux_demangle_how *how, struct ux_out *out);

/* As ux_demangle_as(), with all schemes that are recognized reliably by the name alone. */
void ux_demangle(struct ux_bytes name, enum ux_demangle_mode mode, struct ux_out *out);

#endif
