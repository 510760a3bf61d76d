/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of a local file: a GSYM file, or a binary that is extracted in memory. */
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
	struct ux_mapping cached; /* in place of built: from symbol_cache.h */
	struct ux_symbol_files files;
	struct ux_symbol_cache cache;
	char *path; /* malloc'ed: path of file */
	struct ux_extract_options options;
	struct ux_address_filter filter; /* the addresses that gsym has, unless it is whole */
	bool whole;                      /* gsym has all addresses */
	bool has_part;                   /* gsym was extracted for a few addresses */
	uint64_t parts_ms;               /* processor time that partial extractions took */
	struct ux_gsym gsym;
	struct ux_error lost; /* debug files that were not found, see struct ux_symbol_files; code
				 UX_OK: none */
};

enum {
	UX_SYMBOL_PART_PCS = 2048, /* pcs that one partial extraction may serve: for libjvm that
				      takes 0.29 s, all of it 0.55 s */
};

/* How a source is opened. */
struct ux_symbol_options {
	struct ux_finder finder; /* of debug files; its server is owned by the caller */
	const char *arch;  /* slice of a universal file; NULL: see struct ux_extract_options */
	const char *gpu;   /* a piece of its GPU code; NULL: see struct ux_extract_options */
	bool usual_cache;  /* use the default cache of symbol_cache.h */
	bool by_need;      /* extract later, in ux_symbol_source_load(), where that is faster */
	bool alternatives; /* keep other names of a range */
	uint32_t without;  /* sources that are left out, see struct ux_extract_options */
};

/*
 * Opens path. For an ELF file without debug information of its own, the debug file of the same
 * build ID is searched; for a Mach-O file the dSYM bundle beside it. path may be such a bundle.
 * UX_EUNSUPPORTED: neither a GSYM nor an ELF nor a Mach-O file, nor a fat binary.
 */
enum ux_code ux_symbol_source_open(struct ux_symbol_source *s, const char *path,
				   const struct ux_symbol_options *choice, struct ux_error *err)
	ux_must;

/*
 * Makes gsym contain these pcs, if the source was opened with by_need: the first few by a partial
 * extraction, and when these have taken too long, by extracting everything. Invalidates the frames
 * of earlier lookups.
 */
enum ux_code ux_symbol_source_load(struct ux_symbol_source *s, const uint64_t *pcs, size_t n,
				   struct ux_error *err) ux_must;

/* Drops a damaged GSYM from the cache; ux_symbol_source_load() extracts it again. False: gsym is
 * not from the cache. */
bool ux_symbol_source_drop_cached(struct ux_symbol_source *s);

/* Whether gsym contains pc already. */
bool ux_symbol_source_has(const struct ux_symbol_source *s, uint64_t pc);

void ux_symbol_source_close(struct ux_symbol_source *s);

#endif
