/* SPDX-License-Identifier: Apache-2.0 */
/* The files that hold the split units of a module: one .dwp, or a .dwo for each unit. */
#ifndef UX_DWO_FILES_H
#define UX_DWO_FILES_H

#include "arena.h"
#include "debug_sections.h"
#include "dwarf_name.h"
#include "dwarf_split.h"
#include "dwarf_unit.h"
#include "file.h"

#include <limits.h>

/* --- .dwo files ------------------------------------------------------------------------------- */

/* A .dwo file, or the part of a package for one unit. Once it is open, any thread may read it. */
struct ux_dwo_file {
	struct ux_mapping file;
	struct ux_object *object;
	struct ux_debug_sections loaded;
	struct ux_dwarf_sections sections; /* sections of this file and of the linked one, combined
					      for reading a unit */
	struct ux_dwarf_units units;
	struct ux_dwarf_split_ids ids;
	struct ux_error outcome; /* why the file cannot be read; code UX_OK: it can be read */
	uint64_t inflated;       /* bytes of inflated sections */
	unsigned holders;        /* references; guarded by the cache's lock */
};

/*
 * A cache of open files. Link-time optimization puts thousands of units into one file, and a
 * hostile file may refer to a few files in turn; neither should open a file a thousand times. Any
 * thread may use it.
 */
struct ux_split_cache;

/* linked has the sections of the skeletons; it and spill (as for ux_debug_sections_load()) must
 * outlive the cache. NULL when memory is short. */
struct ux_split_cache *ux_split_cache_create(const struct ux_dwarf_sections *linked,
					     struct ux_spill *spill);
/* All files must have been released. Returns NULL. */
struct ux_split_cache *ux_split_cache_destroy(struct ux_split_cache *cache);

/*
 * Opens the file at path, which stays open until it is released. UX_ENOTFOUND, with err unchanged:
 * no such file. UX_ENOMEM. A file that cannot be read is returned with UX_OK, and its outcome has
 * the error.
 */
enum ux_code ux_split_cache_get(struct ux_split_cache *cache, const char *path,
				struct ux_dwo_file **ret, struct ux_error *err) ux_must;
void ux_split_cache_release(struct ux_split_cache *cache, struct ux_dwo_file *file);

/* Prepares the units of a part of a package; dwo has its sections. UX_ENOMEM is the only failure.
 * `file` must be zeroed before. Call ux_dwo_file_close() also after a failure. */
enum ux_code ux_dwo_file_prepare(struct ux_dwo_file *file, const struct ux_dwarf_sections *linked,
				 const struct ux_dwarf_sections *dwo, struct ux_error *err) ux_must;
/* Opens a file from its bytes. bytes, linked and spill must outlive it. Codes other than UX_ENOMEM
 * describe damage of the file. */
enum ux_code ux_dwo_file_read(struct ux_dwo_file *file, struct ux_bytes bytes,
			      const struct ux_dwarf_sections *linked, struct ux_spill *spill,
			      struct ux_error *err) ux_must;
void ux_dwo_file_close(struct ux_dwo_file *file);

enum {
	/* Files that stay open without a reference. With 64 files of a hostile megabyte, each
	 * opening costs 16 KB; inflated sections of real programs take a few megabytes. */
	UX_DWO_FILES_KEPT = 64,
	UX_SPLIT_INFLATED_KEPT = 64 << 20, /* bytes */
};

/* The file that contains a split unit. */
struct ux_split_location {
	uint64_t dwo_id;
	uint32_t file;
};

UX_VEC(ux_split_location_vec, struct ux_split_location);
UX_VEC(ux_dwo_file_vec, struct ux_dwo_file *);

/* Files that the caller of the extraction supplied. A zeroed struct has none. Any thread may use
 * it. */
struct ux_split_given {
	struct ux_dwo_file_vec files; /* .dwo files, all open */
	/* sorted by ID; of equal IDs only the first file is here */
	struct ux_split_location_vec locations;
	struct ux_bytes package; /* the first .dwp file; empty: none */
};

/* Opens a .dwp or .dwo file, or an archive (ar_member.h) of such. Damaged files are skipped, and
 * *reason describes the first one. bytes, linked and spill must outlive it. UX_ENOMEM. */
enum ux_code ux_split_given_open(struct ux_split_given *given, struct ux_bytes bytes,
				 const struct ux_dwarf_sections *linked, struct ux_spill *spill,
				 struct ux_error *reason, struct ux_error *err) ux_must;
void ux_split_given_close(struct ux_split_given *given);

/* Returns the file that contains the unit; NULL when none does. */
const struct ux_dwo_file *ux_split_given_find(const struct ux_split_given *given, uint64_t dwo_id);

/* The files of one module. Any thread may use it. */
struct ux_dwo_files {
	const struct ux_dwarf_sections *linked; /* sections of the skeletons */
	const char *paths[2]; /* paths of the debug file and the module; NULL: unknown */
	struct ux_spill *spill;
	struct ux_mapping file; /* the package; empty when none was found */
	struct ux_object *object;
	struct ux_debug_sections sections;
	struct ux_content index;
	struct ux_dwarf_package package;
	bool has_package;
	struct ux_split_cache *cache; /* cache of .dwo files */
	struct ux_split_given given;
	/* why the package cannot be used; code UX_OK: it can be used, or none was found */
	struct ux_error reason;
};

/*
 * Finds the package: FILE.dwp beside the debug file or the module (NULL: unknown); for a FILE.debug
 * also without that suffix. The first readable one is used. Returns false when none is found.
 */
bool ux_split_package_path(const char *debug_path, const char *module_path, char ret[PATH_MAX]);

/*
 * Opens the supplied files (given; empty: none) and, if a path is known, searches for the package.
 * linked and paths (each may be NULL) must outlive files; spill is as for ux_debug_sections_load().
 * Damage of a package is described by `reason`, and is not a failure. UX_ENOMEM.
 */
enum ux_code ux_dwo_files_open(struct ux_dwo_files *files, const struct ux_dwarf_sections *linked,
			       struct ux_bytes given, const char *debug_path,
			       const char *module_path, struct ux_spill *spill,
			       struct ux_error *err) ux_must;
void ux_dwo_files_close(struct ux_dwo_files *files);

/* The result of the search for a skeleton's split unit. */
enum ux_split_outcome {
	UX_SPLIT_NONE,     /* not searched for */
	UX_SPLIT_READ,     /* found */
	UX_SPLIT_MISSING,  /* no file was found */
	UX_SPLIT_MISMATCH, /* a file was found with another ID: it belongs to an older or newer
			      build */
	UX_SPLIT_DAMAGED,  /* a file was found, but cannot be read */
};

#define UX_SPLIT_SAME_(a, b) ux_bytes_eq(a, b)
UX_MAP(ux_split_texts, struct ux_bytes, const char *, ux_hash_bytes, UX_SPLIT_SAME_);

/* The split unit that one thread has open; a thread opens one after the other. Zeroed is ready for
 * use. */
struct ux_split_unit {
	struct ux_split_cache *cache; /* the cache that `shared` is from */
	struct ux_dwo_file *shared;   /* a reference to a file of the cache; NULL: not open, or
					   `part` or `given` is used */
	struct ux_dwo_file part;      /* part of a package */
	const struct ux_dwo_file *given;
	struct ux_dwarf_names names; /* names of units in the file */
	bool ready;                  /* `names` is initialized */
	struct ux_split_texts texts; /* copies of names made so far */
};

/*
 * Opens the split unit of a skeleton. It is searched for in the package, then in the supplied
 * files, then by DW_AT_dwo_name relative to DW_AT_comp_dir and to the folders of the debug file and
 * the module, and finally in these folders by its file name only. *ret is valid until the next
 * call. UX_ENOMEM is the only failure; *reason describes UX_SPLIT_DAMAGED.
 */
enum ux_code ux_split_unit_open(struct ux_split_unit *unit, const struct ux_dwo_files *files,
				const struct ux_dwarf_context *skeleton,
				struct ux_dwarf_context *ret, enum ux_split_outcome *ret_outcome,
				struct ux_error *reason, struct ux_error *err) ux_must;

/*
 * Searches like ux_split_unit_open(), for a unit that is neither in the package nor supplied: *ret
 * is the path of its file, which has the unit's ID. *ret_found is false when no such file is found.
 * UX_ENOMEM.
 */
enum ux_code ux_split_unit_path(struct ux_split_unit *unit, const struct ux_dwo_files *files,
				const struct ux_dwarf_context *skeleton, char ret[PATH_MAX],
				bool *ret_found, struct ux_error *err) ux_must;

/* Copies the names that unit->names lists into arena, each text once, so that the file may be
 * closed. */
enum ux_code ux_split_unit_copy_names(struct ux_split_unit *unit, struct ux_arena *arena,
				      struct ux_error *err) ux_must;

void ux_split_unit_close(struct ux_split_unit *unit);

enum {
	/* How many skeletons with one ID are read; an object that is linked twice makes two. A
	 * hostile file with thousands would have the same split unit read thousands of times. */
	UX_SPLIT_DUPLICATES_MAX = 4,
	UX_SKELETON_MAX = 512, /* most bytes of a unit that may be a skeleton */
};

/*
 * Sets (*ret)[i] for each unit i with an ID that UX_SPLIT_DUPLICATES_MAX earlier units have; the
 * caller must free *ret. Units of DWARF 4 have their IDs in their first entry, so the ones that may
 * be skeletons are opened. UX_ENOMEM.
 */
enum ux_code ux_split_duplicates_find(const struct ux_dwarf_sections *sections,
				      const struct ux_dwarf_units *units, bool **ret,
				      struct ux_error *err) ux_must;

/* --- paths of .dwo files ---------------------------------------------------------------------- */

UX_VEC(ux_dwo_path_vec, const char *);

/* A zeroed struct is empty. */
struct ux_dwo_paths {
	struct ux_dwo_path_vec list; /* in the order of the units, each file once */
	struct ux_arena arena;       /* holds the paths */
};

enum {
	UX_DWO_PATHS_MAX = 1 << 20,         /* most files of one program */
	UX_DWO_PATHS_BYTES_MAX = 256 << 20, /* bytes; limit for all paths together */
};

/*
 * Finds the .dwo files of `file`, the executable or debug file with the skeletons, by
 * DW_AT_dwo_name and the other ways of ux_split_unit_open(). A path is only returned when the file
 * there has the ID of the unit, so that a hostile program cannot make its reader send any other
 * file. Units in a package are left out. Files in other formats, and files without split units,
 * have no paths. debug_path and module_path as for ux_dwo_files_open(). Free *ret also after a
 * failure. Codes as of ux_debug_sections_load(), and UX_ENOMEM, UX_ELIMIT.
 */
enum ux_code ux_dwo_paths_find(struct ux_bytes file, const char *debug_path,
			       const char *module_path, struct ux_dwo_paths *ret,
			       struct ux_error *err) ux_must;
void ux_dwo_paths_deinit(struct ux_dwo_paths *p);

#endif
