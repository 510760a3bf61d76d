/* SPDX-License-Identifier: Apache-2.0 */
/* The files that hold the split units of a module: one .dwp, or a .dwo for each unit. */
#ifndef UX_SPLIT_FILES_H
#define UX_SPLIT_FILES_H

#include "arena.h"
#include "debug_sections.h"
#include "dwarf_name.h"
#include "dwarf_split.h"
#include "dwarf_unit.h"
#include "file.h"

#include <limits.h>

/* Files of split units (.dwo): those that are looked for, and those that were given. */

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

/* What a module has in common for all of its units. Any thread. */
struct ux_split_files {
	const struct ux_dwarf_sections *linked; /* the skeletons' */
	const char *paths[2];                   /* of debug file and module; NULL: none */
	const char *spill;
	struct ux_mapping file; /* of the package; nothing mapped: there is none */
	struct ux_object *object;
	struct ux_debug_sections sections;
	struct ux_content index;
	struct ux_dwarf_package package;
	bool has_package;
	struct ux_split_cache *cache; /* of .dwo files */
	struct ux_split_given given;
	struct ux_error reason; /* why a package that is there cannot be used; UX_OK: it can */
};

/* FILE.dwp, and for a FILE.debug also the name without that, beside the debug file and beside the
 * module (NULL: not known): the first that can be read. False: there is none. */
bool ux_split_package_path(const char *debug_path, const char *module_path, char ret[PATH_MAX]);

/*
 * Takes what is given (empty: nothing). With a path looks for the package, too.
 * linked and paths (either may be NULL) must outlive files; spill as for
 * ux_debug_sections_load(). A package that is damaged is `reason`, not a failure. UX_ENOMEM.
 */
enum ux_code ux_split_files_open(struct ux_split_files *files,
				 const struct ux_dwarf_sections *linked, struct ux_bytes given,
				 const char *debug_path, const char *module_path, const char *spill,
				 struct ux_error *err) ux_must;
void ux_split_files_close(struct ux_split_files *files);

/* What became of a skeleton's search. */
enum ux_split_outcome {
	UX_SPLIT_NONE,     /* not searched for */
	UX_SPLIT_READ,     /* found */
	UX_SPLIT_MISSING,  /* there is no such file */
	UX_SPLIT_MISMATCH, /* there is one, of another ID: an older or newer build's */
	UX_SPLIT_DAMAGED,  /* there is one, and it cannot be read */
};

#define UX_SPLIT_SAME_(a, b) ux_bytes_eq(a, b)
UX_MAP(ux_split_texts, struct ux_bytes, const char *, ux_hash_bytes, UX_SPLIT_SAME_);

/* One thread's split unit, opened one after the other. Zeroed is ready. */
struct ux_split_unit {
	struct ux_split_cache *cache; /* whose the next one is */
	struct ux_split_file *shared; /* held; NULL: none, or `part` or `given` */
	struct ux_split_file part;    /* of a package */
	const struct ux_split_file *given;
	struct ux_dwarf_names names; /* of units in it */
	bool ready;                  /* names are */
	struct ux_split_texts texts; /* copies made so far */
};

/*
 * Opens the split unit of a skeleton: from the package, from what was given, else DW_AT_dwo_name
 * from DW_AT_comp_dir, from the folders of the debug file and the module, or just there under its
 * last name. *ret is good until the next call. Only UX_ENOMEM is a failure; *reason says why for
 * UX_SPLIT_DAMAGED.
 */
enum ux_code ux_split_unit_open(struct ux_split_unit *unit, const struct ux_split_files *files,
				const struct ux_dwarf_context *skeleton,
				struct ux_dwarf_context *ret, enum ux_split_outcome *ret_outcome,
				struct ux_error *reason, struct ux_error *err) ux_must;

/* Copies the names that unit->names lists into arena, each text once: the file goes, they stay. */
enum ux_code ux_split_unit_copy_names(struct ux_split_unit *unit, struct ux_arena *arena,
				      struct ux_error *err) ux_must;

void ux_split_unit_close(struct ux_split_unit *unit);

enum {
	/* Skeletons of one ID whose split unit is read; an object that is linked twice makes two.
	 * Thousands in a hostile file would read it thousands of times. */
	UX_SPLIT_DUPLICATES_MOST = 4,
	UX_SKELETON_MOST = 512, /* bytes of a unit that is likely to be a skeleton */
};

/*
 * Sets (*ret)[i] for each unit i whose ID that many units before it have; *ret is malloc'ed, the
 * caller's. Opens the units of DWARF 4 that may be skeletons, whose ID is in their entry.
 * UX_ENOMEM.
 */
enum ux_code ux_split_duplicates_find(const struct ux_dwarf_sections *sections,
				      const struct ux_dwarf_units *units, bool **ret,
				      struct ux_error *err) ux_must;

#endif
