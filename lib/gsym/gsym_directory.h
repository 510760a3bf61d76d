/* SPDX-License-Identifier: Apache-2.0 */
/* The directory of a GSYM of version 2: which sections it has, and where. */
#ifndef UX_GSYM_DIRECTORY_H
#define UX_GSYM_DIRECTORY_H

#include "cursor.h"

enum {
	GSYM_SECTIONS_MOST = 1024 /* entries that are read; six types exist */
};

/* A section; types that no one knows are somebody's own. */
struct gsym_section {
	uint32_t type;
	uint64_t off; /* from the file's start */
	struct ux_bytes content;
};

/* A walk over the entries. */
struct gsym_directory {
	struct ux_bytes file;
	struct ux_cur c;
	unsigned n;
};

/* Of a file whose header has been read. */
struct gsym_directory gsym_directory_open(struct ux_bytes file, bool swap);

/*
 * The next section, which is in the file and not empty; false behind the last, where d->c then
 * stands, or when that failed. LLVM refuses the same (GsymReaderV2.cpp: an empty section, one that
 * leaves the file, a list without its end).
 */
bool gsym_directory_next(struct gsym_directory *d, struct gsym_section *ret);

#endif
