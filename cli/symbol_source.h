/* SPDX-License-Identifier: Apache-2.0 */
/* The symbols of a local file, which is a GSYM file or a binary that is extracted in memory, and
 * the cache of GSYM files of binaries that were extracted before. */
#ifndef UX_SYMBOL_SOURCE_H
#define UX_SYMBOL_SOURCE_H

#include "address_filter.h"
#include "extract.h"
#include "file.h"
#include "gsym_reader.h"
#include "out.h"
#include "symbol_files.h"

#include <sys/stat.h>

/* The value of the environment variable UNHEX_CACHE. */
enum ux_cache_policy {
	UX_CACHE_OFF,     /* "off" or empty */
	UX_CACHE_DEFAULT, /* not set: the user's cache directory is used if that is safe */
	UX_CACHE_ON,      /* "on": the user's cache directory; any other value is a directory */
};

enum ux_cache_policy ux_cache_policy(void);

/*
 * Appends the path of the cache directory with a '/' at the end and without a NUL, and creates the
 * directory with mode 0700 if it is missing. The user's cache directory is $XDG_CACHE_HOME/unhex,
 * else $HOME/.cache/unhex; both variables must be absolute paths (XDG Base Directory Specification
 * 0.8). Unless UNHEX_CACHE is "on", it is used only if the base directory exists, both directories
 * belong to the user and are not writable by others, and the process does not run with more rights
 * than the user who started it. Returns false when there is no cache directory.
 */
bool ux_cache_folder(enum ux_cache_policy policy, struct ux_out *out);

/* Whether the file belongs to this user and no other user can have written it. */
bool ux_cache_is_ours(const struct stat *st);

/*
 * One entry of the cache, which is a directory of files. The name of a file is made from its
 * inputs: the executable of unhex, the options, and the device, inode, size and time of change of
 * each input file. So an entry is never stale: a binary that was replaced has another name. A file
 * is renamed into the cache when it is complete and on disk, so any number of processes may use one
 * directory. Only files that belong to this user and that no other user may write are used.
 *
 * The directory is kept below UX_SYMBOL_CACHE_MOST bytes and UX_SYMBOL_CACHE_FILES files by
 * removing the least recently used files. Failures are not reported; the command then works without
 * the cache.
 *
 * With UNHEX_CACHE every GSYM is stored. The default cache stores only a GSYM that saves enough
 * time: a second file, at the path of the GSYM with another suffix, grows by one byte for each
 * millisecond that commands have spent without the GSYM.
 */
struct ux_symbol_cache {
	char *path;      /* malloc'ed: path of the GSYM; NULL: it is not cached */
	char *cost_path; /* malloc'ed: path of the file that counts milliseconds; NULL: the GSYM is
			    stored at once */
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
 * Sets the path for the GSYM of these inputs and options. Inputs that are not mapped are ignored;
 * options is a string of letters and digits. usual: the default cache is used if UNHEX_CACHE is not
 * set.
 */
void ux_symbol_cache_init(struct ux_symbol_cache *c,
			  const struct ux_mapping *const inputs[UX_SYMBOL_CACHE_INPUTS],
			  const char *options, bool usual);
void ux_symbol_cache_deinit(struct ux_symbol_cache *c);

/* Maps the GSYM. Returns false when it is missing or another user could have written it. Its
 * contents are not checked. */
bool ux_symbol_cache_find(const struct ux_symbol_cache *c, struct ux_mapping *ret) ux_must;

/* Whether the whole GSYM should be extracted and written for later commands. With UNHEX_CACHE
 * this is always the case, in the default cache once commands have spent `most_ms` without it. */
bool ux_symbol_cache_is_due(const struct ux_symbol_cache *c, uint64_t most_ms);

/* Adds the time that a command took to answer without the GSYM. */
void ux_symbol_cache_add_cost(const struct ux_symbol_cache *c, uint64_t ms);

/* Writes a GSYM to the cache and resets the counted time. A failure leaves no file. */
void ux_symbol_cache_write(const struct ux_symbol_cache *c, struct ux_bytes gsym);

/* Removes a damaged GSYM. */
void ux_symbol_cache_drop(const struct ux_symbol_cache *c);

/* An open file with its symbols. gsym points into file, built or cached. Zeroed = closed. */
struct ux_symbol_source {
	struct ux_mapping file;
	struct ux_out built;
	struct ux_column_vec columns; /* of the files of built, if they were requested */
	struct ux_mapping cached;     /* GSYM from the cache; built is then empty */
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
	bool usual_cache;        /* use the default cache if UNHEX_CACHE is not set */
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

/* Whether gsym contains pc already. */
bool ux_symbol_source_has(const struct ux_symbol_source *s, uint64_t pc);

void ux_symbol_source_close(struct ux_symbol_source *s);

#endif
