/* SPDX-License-Identifier: Apache-2.0 */
/* Names that run-time compilers write: made printable and split into function, file and line. */
#ifndef UX_JIT_NAME_H
#define UX_JIT_NAME_H

#include "arena.h"
#include "bytes.h"
#include "unhex/frame.h"

enum {
	UX_JIT_NAME_MOST = 64 << 10, /* bytes of a name; the rest is cut off */
};

/* Three strings in one: "function", NUL, "directory", NUL, "file", NUL. */
struct ux_jit_name {
	const char *text; /* in an arena; NULL: memory is short */
	uint32_t line;    /* the first line of the function; 0: unknown */
};

/*
 * Parses a name into the arena. Invalid UTF-8 and control characters become U+FFFD; names are cut
 * at UX_JIT_NAME_MOST bytes. File and line are taken from the forms that have them: V8 JS:*hot
 * /path/t.js:1:13 (also Function:, LazyCompile:, Script:, Eval:, RegExp:) CPython
 * py::K.meth:/tmp/t.py LuaJIT   TRACE_3::/path/t.lua:12 All other names are the name of the
 * function.
 */
struct ux_jit_name ux_jit_name_parse(struct ux_arena *a, struct ux_bytes name);

/* Splits a path into "directory", NUL, "file", NUL in the arena, made printable likewise; NULL when
 * memory is short. */
const char *ux_jit_path_parse(struct ux_arena *a, struct ux_bytes path);

/* Whether a text is valid UTF-8 without control characters. */
bool ux_jit_text_is_printable(struct ux_bytes text);

/* The frame of a name, `offset` bytes after the start of its code. */
struct ux_frame ux_jit_name_frame(struct ux_jit_name name, uint64_t offset);

/* Sets directory and file of a frame to the result of ux_jit_path_parse(). */
void ux_jit_path_frame(const char *path, struct ux_frame *frame);

#endif
