/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols to look in, on this machine: a GSYM file, or another that is extracted in memory. */
#ifndef UX_SYMBOL_SOURCE_H
#define UX_SYMBOL_SOURCE_H

#include "file.h"
#include "gsym_reader.h"
#include "out.h"
#include "symbol_files.h"

/* Zeroed = closed. gsym points into file, built or cached. */
struct ux_symbol_source {
	struct ux_mapping file;
	struct ux_out built;
	struct ux_mapping cached; /* in place of built: symbol_cache.h */
	struct ux_gsym gsym;
	struct ux_error
		lost; /* of its debug files, see struct ux_symbol_files; code UX_OK: nothing */
};

/* How it is opened. */
struct ux_symbol_choice {
	struct ux_finder finder; /* of debug files; its server stays the caller's */
	const char *arch;  /* slice of a universal file; NULL: see struct ux_extract_options */
	const char *gpu;   /* which piece of its GPU code; NULL: see ux_extract_options */
	bool alternatives; /* keep other names of a range, which a GSYM has or has not */
	uint32_t without;  /* sources that are left out, see struct ux_extract_options */
};

/*
 * Opens path. For an ELF file without debug information of its own, the debug file of the same
 * build ID is looked for; for a Mach-O file the dSYM bundle beside it. path may be such a bundle.
 * UX_EUNSUPPORTED: neither a GSYM nor an ELF nor a Mach-O file, nor a fat binary.
 */
enum ux_code ux_symbol_source_open(struct ux_symbol_source *s, const char *path,
				   const struct ux_symbol_choice *choice, struct ux_error *err)
	ux_must;
void ux_symbol_source_close(struct ux_symbol_source *s);

#endif
