/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of a local file, which is a GSYM file or a binary that is extracted in memory, unless
 * the cache has its GSYM. */
#ifndef UX_SYMBOL_SOURCE_H
#define UX_SYMBOL_SOURCE_H

#include "address_filter.h"
#include "extract.h"
#include "extract_cache.h"
#include "file.h"
#include "gsym_reader.h"
#include "out.h"
#include "symbol_files.h"

/* An open file with its symbols. gsym points into file, built or cached. Zeroed = closed. */
struct ux_symbol_source {
	struct ux_mapping file;
	struct ux_out built;
	struct ux_column_vec columns; /* columns for the files of `built`, if requested */
	struct ux_mapping cached;     /* GSYM from the cache; built is then empty */
	struct ux_symbol_files files;
	struct ux_extract_cache cache;
	char *path; /* malloc'ed: path of file */
	struct ux_extract_options options;
	struct ux_address_filter filter; /* the addresses that gsym has, unless it is whole */
	bool whole;                      /* gsym has all addresses */
	bool has_part;                   /* gsym was extracted for a few addresses */
	uint64_t parts_ms;               /* processor time of partial extractions */
	struct ux_gsym gsym;
	struct ux_extract_stats stats; /* results of the last extraction; zeroed: none yet */
	struct ux_error lost; /* debug files that were not found, see struct ux_symbol_files; code
				 UX_OK: nothing is missing */
};

enum {
	UX_SYMBOL_PART_PCS = 2048, /* pcs for which one partial extraction is used: for libjvm it
				      takes 0.29 s, and extracting everything 0.55 s */
};

/* How a source is opened. */
struct ux_symbol_options {
	struct ux_finder finder; /* searches debug files; its server is owned by the caller */
	const char *arch;        /* slice of a universal file, as in struct ux_extract_options */
	const char *gpu;         /* piece of GPU code, as in struct ux_extract_options */
	bool no_cache;           /* neither use nor write the cache */
	bool lazy;               /* extract in ux_symbol_source_load() if that is faster */
	bool columns;            /* read columns; the cache has none and is not used */
	bool alternatives;       /* store other names of a range, too */
	uint32_t without;        /* sources that are left out, see struct ux_extract_options */
};

/*
 * Opens path. For an ELF file without debug information of its own, the debug file with the same
 * build ID is searched; for a Mach-O file the dSYM bundle beside it. path may be such a bundle
 * itself. UX_EUNSUPPORTED: the file is neither a GSYM, an ELF nor a Mach-O file, nor a fat binary.
 */
enum ux_code ux_symbol_source_open(struct ux_symbol_source *s, const char *path,
				   const struct ux_symbol_options *choice, struct ux_error *err)
	ux_must;

/*
 * Makes sure that gsym contains these pcs, if the source was opened with `lazy`. The first few pcs
 * are extracted alone; when such partial extractions have taken too long, everything is extracted.
 * Frames of earlier lookups become invalid.
 */
enum ux_code ux_symbol_source_load(struct ux_symbol_source *s, const uint64_t *pcs, size_t n,
				   struct ux_error *err) ux_must;

/* Removes a damaged GSYM from the cache, after which ux_symbol_source_load() extracts it again.
 * Returns false when gsym is not from the cache. */
bool ux_symbol_source_drop_cached(struct ux_symbol_source *s);

/* Returns whether gsym contains pc already. */
bool ux_symbol_source_has(const struct ux_symbol_source *s, uint64_t pc);

void ux_symbol_source_close(struct ux_symbol_source *s);

#endif
