/* SPDX-License-Identifier: Apache-2.0 */
/* Code objects of a CPython: names, files and line tables. */
#ifndef UX_PYTHON_CODE_H
#define UX_PYTHON_CODE_H

#include "bytes.h"
#include "interp_stack.h"
#include "python_object.h"

/* A code object. Its strings are in the arena into which it was read. */
struct ux_python_code {
	const char *name; /* qualified from 3.11 on; "": unknown */
	const char *file;
	int32_t first_line;
	uint64_t instrs;       /* address of the first instruction */
	uint64_t instrs_size;  /* bytes; 0: unknown */
	struct ux_bytes lines; /* the line table */
	uint64_t fields[4]; /* addresses of name, file, lines and type, by which it is recognised */
	uint64_t fingerprint; /* fingerprint of the name's text */
};

/*
 * Reads the code object at addr. *ret_found is false when there is none, or when it was replaced
 * while it was read. Strings that cannot be read are "".
 */
enum ux_code ux_python_code_read(struct ux_python *p, uint64_t addr, struct ux_arena *a,
				 struct ux_python_code *ret, bool *ret_found, struct ux_error *err)
	ux_must;

/* Returns whether addr still has the code object that was read from there, with the same name. */
bool ux_python_code_unchanged(struct ux_python *p, uint64_t addr, const struct ux_python_code *code)
	ux_must;

/*
 * Returns the line of the instruction at `offset` bytes; 0: unknown. A negative offset means a
 * frame that has not started: the result is the first line of the function.
 */
uint32_t ux_python_code_line(struct ux_python *p, const struct ux_python_code *code,
			     int64_t offset);

/*
 * Decodes a line table. Returns the line of the instruction at `offset` bytes in a function that
 * begins at line `first`; 0 when the instruction has no line or is outside of the table (a table of
 * kind LNOTAB has no end). A corrupt table gives a wrong line or none, because the format has
 * nothing that could be checked.
 */
uint32_t ux_python_line(enum ux_python_lines kind, struct ux_bytes table, int32_t first,
			uint64_t offset);

/*
 * Finds the qualified name of the function that runs in a frame; it is in the arena. Before 3.11
 * code objects have only a short name. The qualified name is searched in the generator that the
 * frame belongs to, in the function object, which stays on the value stack of the caller until the
 * call returns, and in the methods of the class of the first argument. The result is "" when none
 * is found, as for a function that is not a method and was called from C. caller may be NULL.
 */
enum ux_code ux_python_qualname(struct ux_python *p, const struct ux_raw_frame *frame,
				const struct ux_raw_frame *caller, struct ux_arena *a,
				const char **ret, struct ux_error *err) ux_must;

#endif
