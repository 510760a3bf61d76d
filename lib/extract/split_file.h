/* SPDX-License-Identifier: Apache-2.0 */
/* Files of split units (.dwo): those that are looked for, and those that were given. */
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
 * The files that were used last. Link-time optimization puts thousands of units into one file, and
 * hostile skeletons may name a few in turn: neither is to open one a thousand times. Any thread.
 */
struct ux_split_cache;

/* linked: the skeletons' sections, which like spill (as for ux_debug_sections_load()) must outlive
 * it. NULL when memory is short. */
struct ux_split_cache *ux_split_cache_create(const struct ux_dwarf_sections *linked,
					     const char *spill);
/* No file is held any more. */
struct ux_split_cache *ux_split_cache_destroy(struct ux_split_cache *cache);

/* The file at path, held until it is released. UX_ENOTFOUND: there is none, and err stays as it
 * is; UX_ENOMEM. One that cannot be read is found, and says so in its outcome. */
enum ux_code ux_split_cache_get(struct ux_split_cache *cache, const char *path,
				struct ux_split_file **ret, struct ux_error *err) ux_must;
void ux_split_cache_release(struct ux_split_cache *cache, struct ux_split_file *file);

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
	/* What stays open although it is not held. With 64 files of a hostile megabyte each opening
	 * costs 16 KB; inflated ones of real programs come to a few megabytes. */
	UX_SPLIT_FILES_KEPT = 64,
	UX_SPLIT_INFLATED_KEPT = 64 << 20, /* bytes */
};

/* Where a split unit is. */
struct ux_split_location {
	uint64_t dwo_id;
	uint32_t file;
};

UX_VEC(ux_split_location_vec, struct ux_split_location);
UX_VEC(ux_split_file_vec, struct ux_split_file *);

/* Zeroed = none. Any thread. */
struct ux_split_given {
	struct ux_split_file_vec files;         /* .dwo files, open as long as this is */
	struct ux_split_location_vec locations; /* ascending IDs, of equal ones the first file */
	struct ux_bytes package;                /* the first .dwp file; empty: there is none */
};

/*
 * Opens what `bytes` are: a .dwp or a .dwo file, or an archive (ar_member.h) of such. What is
 * damaged is passed over, and the first time *reason says so. bytes, linked and spill must outlive
 * it. UX_ENOMEM.
 */
enum ux_code ux_split_given_open(struct ux_split_given *given, struct ux_bytes bytes,
				 const struct ux_dwarf_sections *linked, const char *spill,
				 struct ux_error *reason, struct ux_error *err) ux_must;
void ux_split_given_close(struct ux_split_given *given);

/* The file that has the unit, or NULL. */
const struct ux_split_file *ux_split_given_find(const struct ux_split_given *given,
						uint64_t dwo_id);

#endif
