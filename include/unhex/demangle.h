/* SPDX-License-Identifier: Apache-2.0 */
/* Demangling: from linkage names to names as they are written in source code. */
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
	UX_DEMANGLE_FULL,  /* as binutils print it, with a clone's suffix in brackets */
	UX_DEMANGLE_ELIDED /* short, with "<...>" or "[...]" in place of template arguments */
};

/*
 * Writes the demangled form of `name` to buf, cut at size - 1 bytes and always NUL-terminated; size
 * 0 writes nothing. Known are the names of C++, Rust, D, Swift, Go, Haskell, OCaml, Fortran, Nim
 * and Kotlin; any other or malformed name is written unchanged. Returns the length of the whole
 * text without its NUL, as snprintf does. Time, stack and text are bounded for every name: a name
 * with a text over 64 KiB is written unchanged. Allocates temporary memory; when that fails the
 * name is written unchanged. Any thread. Since 0.1.
 */
UX_API size_t ux_demangle_name(const char *name, enum ux_demangle_mode mode, char *buf,
			       size_t size);

#ifdef __cplusplus
}
#endif
#endif
