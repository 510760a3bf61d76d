/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of a local file: a GSYM file, or a binary that is extracted in memory. */
#ifndef UX_SYMBOL_SOURCE_H
#define UX_SYMBOL_SOURCE_H

#include "address_filter.h"
#include "extract.h"
#include "file.h"
#include "gsym_reader.h"
#include "out.h"
#include "symbol_files.h"

#include <sys/stat.h>

/* The value of UNHEX_CACHE. */
enum ux_cache_policy {
	UX_CACHE_OFF,     /* "off" or empty */
	UX_CACHE_DEFAULT, /* not set: the directory of the user, if that is safe */
	UX_CACHE_ON,      /* "on": the directory of the user; else its value is a directory */
};

enum ux_cache_policy ux_cache_policy(void);

/*
 * Appends the path of the cache directory with a '/' at the end and without a NUL, and creates the
 * directory with mode 0700 if it is missing. That of the user is $XDG_CACHE_HOME/unhex, else
 * $HOME/.cache/unhex, of absolute paths (XDG Base Directory Specification 0.8). Unless UNHEX_CACHE
 * asks for it, it is used only if the base directory exists, both directories belong to us and are
 * not writable by others, and we do not run with more rights than the user who started us. False:
 * there is no directory.
 */
bool ux_cache_folder(enum ux_cache_policy policy, struct ux_out *out);

/* Whether only we can have written a file. */
bool ux_cache_is_ours(const struct stat *st);

/*
 * One entry of the cache, a directory of files. Each is named after its inputs: our executable,
 * options, and of each input its device, inode, size and time of change; so it is never stale, and
 * a replaced binary has another name. Files appear whole, by rename, when they are on disk: any
 * number of processes may use one directory. Only files that belong to us and that no other user
 * may write are used.
 *
 * The directory stays below UX_SYMBOL_CACHE_MOST and UX_SYMBOL_CACHE_FILES: the least recently used
 * files are removed. Failures are silent: then there is no cache.
 *
 * With UNHEX_CACHE every GSYM is kept. The default cache keeps only those that have become worth
 * it: a second file beside the GSYM grows by one byte for each millisecond that was spent without
 * it.
 */
struct ux_symbol_cache {
	char *path;      /* malloc'ed: path of the GSYM; NULL: it is not cached */
	char *cost_path; /* malloc'ed: path of the file that counts milliseconds; NULL: the GSYM is
			kept at once */
};

enum {
	UX_SYMBOL_CACHE_LEAST =
		4 << 20, /* bytes of inputs; smaller ones are fast without a cache */
	UX_SYMBOL_CACHE_USUAL = 16 << 20, /* the same for the default cache */
	UX_SYMBOL_CACHE_FILES = 4096,
	UX_SYMBOL_CACHE_INPUTS = 3,
};

#define UX_SYMBOL_CACHE_MOST (UINT64_C(2) << 30) /* bytes */

/*
 * Sets the path for the GSYM of these inputs (those that are mapped) and options (letters and
 * digits). usual: use the default cache if UNHEX_CACHE is not set.
 */
void ux_symbol_cache_init(struct ux_symbol_cache *c,
			  const struct ux_mapping *const inputs[UX_SYMBOL_CACHE_INPUTS],
			  const char *options, bool usual);
void ux_symbol_cache_deinit(struct ux_symbol_cache *c);

/* Maps the GSYM; false when it is missing or not ours. Its contents are not checked. */
bool ux_symbol_cache_find(const struct ux_symbol_cache *c, struct ux_mapping *ret) ux_must;

/* Whether the whole GSYM should be extracted and written for later commands: always with
 * UNHEX_CACHE, in the default cache once `most_ms` were spent. */
bool ux_symbol_cache_is_due(const struct ux_symbol_cache *c, uint64_t most_ms);

/* Adds the time that an answer without the GSYM has taken. */
void ux_symbol_cache_add_cost(const struct ux_symbol_cache *c, uint64_t ms);

/* Writes a GSYM to the cache and resets the counted time. A failure leaves no file. */
void ux_symbol_cache_write(const struct ux_symbol_cache *c, struct ux_bytes gsym);

/* Removes a damaged GSYM. */
void ux_symbol_cache_drop(const struct ux_symbol_cache *c);

/* Zeroed = closed. gsym points into file, built or cached. */
struct ux_symbol_source {
	struct ux_mapping file;
	struct ux_out built;
	struct ux_mapping cached; /* in place of built: from the cache */
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
	bool usual_cache;  /* use the default cache of GSYM files */
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
