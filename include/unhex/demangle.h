/* SPDX-License-Identifier: Apache-2.0 */
/* Linkage names as people write them. */
#ifndef UNHEX_DEMANGLE_H
#define UNHEX_DEMANGLE_H

#include <stddef.h>

#include <unhex/api.h>

#ifdef __cplusplus
extern "C" {
#endif

enum ux_demangle_mode {
	UX_DEMANGLE_NONE,  /* the linkage name */
	UX_DEMANGLE_SHORT, /* no parameter list, no return type, no clone suffix */
	UX_DEMANGLE_FULL,  /* as binutils print it; a clone's suffix in brackets */
	UX_DEMANGLE_ELIDED /* short, with "<...>" or "[...]" in place of template arguments */
};

/*
 * Writes the text for `name` (C++, Rust, D, Swift, Go, Haskell, OCaml, Fortran, Nim, Kotlin; any
 * other name, and a malformed one, as it is) to buf, cut at size - 1 bytes and always
 * NUL-terminated; size 0 writes nothing. Returns the bytes of the whole text without its NUL, as
 * snprintf does. Time, stack and text are bounded whatever the name (64 KiB of text; what would
 * need more stays as it is). Allocates while it works; without memory the text is the name. Any
 * thread. Since 0.1.
 */
UX_API size_t ux_demangle_name(const char *name, enum ux_demangle_mode mode, char *buf,
			       size_t size);

#ifdef __cplusplus
}
#endif
#endif
