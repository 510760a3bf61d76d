/* SPDX-License-Identifier: Apache-2.0 */
/* Advice for messages: how to get the names of a stripped file. */
#ifndef UX_STRIPPED_H
#define UX_STRIPPED_H

#include "bytes.h"
#include "out.h"

/* Returns whether it is an ELF file without DWARF, symbol table and Go's tables: only dynamic
 * symbols and the tables of the loader and the unwinder describe its functions. */
bool ux_stripped_is(struct ux_bytes file);

/* Returns whether it is, and has a GNU build ID that a server may know; writes its text to ret
 * (UX_ID_TEXT bytes). */
bool ux_stripped_id(struct ux_bytes file, char *ret);

/*
 * Appends the ways to get names for the stripped file at `path`: "install dpkg-dbgsym, or push its
 * debug file (unhex push FILE)". `server`: one was queried, and lacked it; else options for a
 * folder or a server are suggested.
 */
void ux_stripped_help(struct ux_out *out, const char *path, bool server);

/* Advice that a report has printed before, and does not repeat. */
struct ux_stripped_told {
	bool help;    /* advice for any file */
	bool archive; /* the archive with debug packages */
};

/*
 * Appends the advice, after "is stripped; ", if the file at `path` is stripped. Else appends
 * nothing and returns false. Updates *told.
 */
bool ux_stripped_advice(struct ux_out *out, const char *path, bool server,
			struct ux_stripped_told *told);

#endif
