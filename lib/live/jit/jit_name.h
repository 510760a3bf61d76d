/* SPDX-License-Identifier: Apache-2.0 */
/* Names that run-time compilers write: made printable, taken apart. */
#ifndef UX_JIT_NAME_H
#define UX_JIT_NAME_H

#include "arena.h"
#include "bytes.h"
#include "unhex/frame.h"

enum {
	UX_JIT_NAME_MOST = 64 << 10, /* bytes of a name that are kept */
};

/* Three strings in one: "function", NUL, "directory", NUL, "file", NUL. */
struct ux_jit_name {
	const char *text; /* in an arena; NULL: memory is short */
	uint32_t line;    /* where the function begins; 0: not told */
};

/*
 * Keeps a name. What is no UTF-8, and control characters, become U+FFFD; what passes
 * UX_JIT_NAME_MOST is cut. File and line are taken out of the forms that have them:
 *   V8       JS:*hot /path/t.js:1:13 (also Function:, LazyCompile:, Script:, Eval:, RegExp:)
 *   CPython  py::K.meth:/tmp/t.py
 *   LuaJIT   TRACE_3::/path/t.lua:12
 * All other names are the function.
 */
struct ux_jit_name ux_jit_name_keep(struct ux_arena *a, struct ux_bytes name);

/* "directory", NUL, "file", NUL, made printable likewise; NULL when memory is short. */
const char *ux_jit_path_keep(struct ux_arena *a, struct ux_bytes path);

/* Whether it is UTF-8 without control characters. */
bool ux_jit_text_is_clean(struct ux_bytes text);

/* The frame of a name, `offset` bytes behind its code's start. */
struct ux_frame ux_jit_name_frame(struct ux_jit_name name, uint64_t offset);

/* Sets directory and file of a frame to those of ux_jit_path_keep(). */
void ux_jit_path_frame(const char *path, struct ux_frame *frame);

#endif
