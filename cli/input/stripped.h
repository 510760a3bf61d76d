/* SPDX-License-Identifier: Apache-2.0 */
/* What would give a stripped file its names, for messages. */
#ifndef UX_STRIPPED_H
#define UX_STRIPPED_H

#include "bytes.h"
#include "out.h"

/* Whether it is an ELF file without DWARF, symbol table and Go's tables: only dynamic symbols and
 * the tables of the loader and the unwinder tell of its functions. */
bool ux_stripped_is(struct ux_bytes file);

/* Whether it is, and has a GNU build ID by which a server may know it; its text is written to ret
 * (UX_ID_TEXT bytes). */
bool ux_stripped_id(struct ux_bytes file, char *ret);

/*
 * Appends what gives names to the stripped file at `path`: "install dpkg-dbgsym, or push its debug
 * file (unhex push FILE)". `server`: one was asked, and did not have it; else the options lead to a
 * folder or to a server.
 */
void ux_stripped_help(struct ux_out *out, const char *path, bool server);

/* What a report has said before, and does not say again. */
struct ux_stripped_told {
	bool help;    /* what helps with any file */
	bool archive; /* the archive that has debug packages */
};

/*
 * As above, with "is stripped; " before it, if the file at `path` is. Else appends nothing and
 * returns false. *told is updated.
 */
bool ux_stripped_advice(struct ux_out *out, const char *path, bool server,
			struct ux_stripped_told *told);

#endif
