/* SPDX-License-Identifier: Apache-2.0 */
/* Linkage names as people write them. */
#ifndef UX_DEMANGLE_H
#define UX_DEMANGLE_H

#include "bytes.h"
#include "out.h"
#include "unhex/demangle.h"

enum {
	UX_DEMANGLE_NAME_MOST = 8192,  /* a longer linkage name is left as it is */
	UX_DEMANGLE_TEXT_MOST = 65536, /* so is one that would need more text than this */
};

/* "none", "short", "full" or "templates-elided"; false for any other word. */
bool ux_demangle_mode_parse(struct ux_bytes word, enum ux_demangle_mode *ret) ux_must;

/* Schemes that linkage names are made by; a name may look like one of several. */
enum {
	UX_SCHEME_ITANIUM = 1, /* C++ */
	UX_SCHEME_RUST = 2,    /* legacy and v0 */
	UX_SCHEME_DLANG = 4,
	UX_SCHEME_ADA = 8,     /* GNAT; its rule changes many names that are not Ada's */
	UX_SCHEME_OTHERS = 16, /* what is safe to tell by the name alone: demangle_plain.h */
	UX_SCHEME_ALL = UX_SCHEME_ITANIUM | UX_SCHEME_RUST | UX_SCHEME_DLANG | UX_SCHEME_OTHERS,
};

struct ux_demangle_how {
	enum ux_demangle_mode mode;
	unsigned schemes;
	bool llvm; /* C++ as LLVM's tools write it, else as GNU's do */
};

/*
 * Appends the text for name to out; anything that is of none of the schemes, and whatever is
 * malformed, too long or too deep, unchanged. Bounded in time, stack and output for any input. Any
 * thread.
 */
void ux_demangle_as(struct ux_bytes name, const struct ux_demangle_how *how, struct ux_out *out);

/* The same for all schemes that are safe to tell by the name alone. */
void ux_demangle(struct ux_bytes name, enum ux_demangle_mode mode, struct ux_out *out);

#endif
