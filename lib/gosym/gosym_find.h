/* SPDX-License-Identifier: Apache-2.0 */
/* Where a module's pclntab is. */
#ifndef UX_GOSYM_FIND_H
#define UX_GOSYM_FIND_H

#include "gosym_table.h"

/* What sections and symbols of the file say; 0 where they say nothing. All pcs. */
struct ux_gosym_hints {
	uint64_t table;      /* .gopclntab, .data.rel.ro.gopclntab, __gopclntab, runtime.pclntab */
	uint64_t table_size; /* bytes; 0: as many as there are */
	uint64_t module;     /* .go.module, runtime.firstmoduledata */
	uint64_t version;    /* .go.buildinfo */
	uint64_t text;       /* runtime.text */
};

/*
 * The table that the hints name, else the first one that a search of the image meets: where there
 * are neither section headers nor symbols, and where a linker has put it into a section with other
 * things (.data.rel.ro of externally linked PIEs). What is found has been looked into: places in
 * order and names that are text. UX_ENOTFOUND, with nothing said in err: no table.
 */
enum ux_code ux_gosym_table_find(const struct ux_gosym_image *image,
				 const struct ux_gosym_hints *hints, struct ux_gosym_table *ret,
				 struct ux_error *err) ux_must;

#endif
