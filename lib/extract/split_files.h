/* SPDX-License-Identifier: Apache-2.0 */
/* The files that hold a module's split units: one .dwp, or a .dwo for each unit. */
#ifndef UX_SPLIT_FILES_H
#define UX_SPLIT_FILES_H

#include "arena.h"
#include "dwarf_name.h"
#include "dwarf_split.h"
#include "dwarf_unit.h"
#include "split_file.h"

#include <limits.h>

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
 * Takes what is given (split_file.h; empty: nothing). With a path looks for the package, too.
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
