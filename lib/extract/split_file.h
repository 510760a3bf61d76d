/* SPDX-License-Identifier: Apache-2.0 */
/* Files of split units (.dwo), opened once for all that they hold. */
#ifndef UX_SPLIT_FILE_H
#define UX_SPLIT_FILE_H

#include "debug_sections.h"
#include "dwarf_split.h"
#include "dwarf_unit.h"
#include "file.h"

/* One file, or a package's part for one unit, ready to be read by any thread. */
struct ux_split_file {
	struct ux_mapping file;
	struct ux_object *object;
	struct ux_debug_sections loaded;
	struct ux_dwarf_sections sections; /* of both files, as a unit is read */
	struct ux_dwarf_units units;
	struct ux_dwarf_split_ids ids;
	struct ux_error outcome; /* why it cannot be read; code UX_OK: it can */
	uint64_t inflated;       /* bytes beside the file */
	unsigned holders;        /* guarded by the cache's lock */
};

/*
 * The files that were asked for last. Link-time optimization puts thousands of units into one file,
 * and a stranger's skeletons may name a few in turn: neither is to open one a thousand times. Any
 * thread.
 */
struct ux_split_cache;

/* linked: the skeletons' sections, which like spill (as for ux_debug_sections_load()) must outlive
 * it. NULL when memory is short. */
struct ux_split_cache *ux_split_cache_create(const struct ux_dwarf_sections *linked,
					     const char *spill);
/* Nobody holds a file any more. */
struct ux_split_cache *ux_split_cache_destroy(struct ux_split_cache *cache);

/* The file at path, held until it is given back. UX_ENOTFOUND: there is none, and err stays as it
 * is; UX_ENOMEM. One that cannot be read is found, and says so in its outcome. */
enum ux_code ux_split_cache_take(struct ux_split_cache *cache, const char *path,
				 struct ux_split_file **ret, struct ux_error *err) ux_must;
void ux_split_cache_give(struct ux_split_cache *cache, struct ux_split_file *file);

/* Makes the units of a part of a package readable; dwo is its sections. UX_ENOMEM alone. Zeroed
 * `file` is ready; ux_split_file_close() also after a failure. */
enum ux_code ux_split_file_prepare(struct ux_split_file *file,
				   const struct ux_dwarf_sections *linked,
				   const struct ux_dwarf_sections *dwo, struct ux_error *err)
	ux_must;
/* Reads the file that `bytes` are, which stay the caller's and must outlive it, and so must linked
 * and spill. Other codes than UX_ENOMEM say what is wrong with it. */
enum ux_code ux_split_file_read(struct ux_split_file *file, struct ux_bytes bytes,
				const struct ux_dwarf_sections *linked, const char *spill,
				struct ux_error *err) ux_must;
void ux_split_file_close(struct ux_split_file *file);

enum {
	/* What is kept although nobody holds it. With 64 files of a hostile megabyte each opening
	 * costs 16 KB; inflated ones of real programs come to a few megabytes. */
	UX_SPLIT_FILES_KEPT = 64,
	UX_SPLIT_INFLATED_KEPT = 64 << 20, /* bytes */
};

#endif
