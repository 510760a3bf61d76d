/* SPDX-License-Identifier: Apache-2.0 */
/* Line tables of CPython's code objects. */
#ifndef UX_PYTHON_LINES_H
#define UX_PYTHON_LINES_H

#include "bytes.h"

enum ux_python_lines {
	UX_PYTHON_LNOTAB, /* to 3.9 (Objects/lnotab_notes.txt of 3.9): every instruction has a line
			   */
	UX_PYTHON_LINETABLE, /* 3.10, PEP 626 (Objects/lnotab_notes.txt of 3.10) */
	UX_PYTHON_LOCATIONS, /* from 3.11 on, PEP 657 (Objects/locations.md of 3.11) */
};

/*
 * The line of the instruction at `offset` bytes, of a function that begins at line `first`; 0: it
 * has none, or lies outside of the table (of which an LNOTAB says no end). What is wrong in a table
 * gives a wrong line or none: nothing in it can be told from what is right.
 */
uint32_t ux_python_line(enum ux_python_lines kind, struct ux_bytes table, int32_t first,
			uint64_t offset);

#endif
