/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols to look in, on this machine: a GSYM file, or another that is extracted in memory. */
#ifndef UX_SYMBOL_SOURCE_H
#define UX_SYMBOL_SOURCE_H

#include "extract.h"
#include "file.h"
#include "gsym_reader.h"
#include "out.h"
#include "symbol_cache.h"
#include "symbol_files.h"
#include "address_filter.h"

/* Zeroed = closed. gsym points into file, built or cached. */
struct ux_symbol_source {
	struct ux_mapping file;
	struct ux_out built;
	struct ux_mapping cached; /* in place of built: symbol_cache.h */
	struct ux_symbol_files files;
	struct ux_symbol_cache cache;
	char *path; /* malloc'ed: of file */
	struct ux_extract_options options;
	struct ux_address_filter filter; /* what gsym tells of, unless it is whole */
	bool whole;                      /* gsym tells of every address */
	bool has_part;                   /* a GSYM of a few addresses was made */
	uint64_t parts_ms;               /* of processor time that went into such */
	struct ux_gsym gsym;
	struct ux_error
		lost; /* of its debug files, see struct ux_symbol_files; code UX_OK: nothing */
};

enum {
	UX_SYMBOL_PART_PCS = 2048, /* pcs that are needed at once and answered by reading a part: of
				      libjvm they take 0.29 s, everything 0.55 s */
};

/* How it is opened. */
struct ux_symbol_choice {
	struct ux_finder finder; /* of debug files; its server stays the caller's */
	const char *arch;  /* slice of a universal file; NULL: see struct ux_extract_options */
	const char *gpu;   /* which piece of its GPU code; NULL: see ux_extract_options */
	bool usual_cache;  /* keep what was extracted where nobody forbids it: symbol_cache.h */
	bool by_need;      /* leave the extraction to ux_symbol_source_need() where that pays */
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

/*
 * Makes gsym tell of these pcs, with a source that was opened by need: of a few first ones by
 * reading only what of the file is about them, then, when that has cost too much, by reading
 * everything. Frames of lookups before
 * are gone.
 */
enum ux_code ux_symbol_source_need(struct ux_symbol_source *s, const uint64_t *pcs, size_t n,
				   struct ux_error *err) ux_must;

/* Gives up a GSYM of the cache that turned out to be damaged: it is to be made anew by need. False:
 * gsym is none. */
bool ux_symbol_source_distrust(struct ux_symbol_source *s);

/* True when that has nothing to do for pc. */
bool ux_symbol_source_has(const struct ux_symbol_source *s, uint64_t pc);

void ux_symbol_source_close(struct ux_symbol_source *s);

#endif
