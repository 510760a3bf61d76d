/* SPDX-License-Identifier: Apache-2.0 */
/* Go's own tables as a source of functions with rows and inlined calls, for every object format. */
#ifndef UX_GO_SOURCE_H
#define UX_GO_SOURCE_H

#include "gosym.h"
#include "module_build.h"
#include "object.h"

/* The memory image of a Go program and hints about its tables. It owns its arrays; the bytes belong
 * to the file. A zeroed struct is empty: not a Go program. */
struct ux_go_memory {
	struct ux_gosym_image image;
	struct ux_gosym_hints hints;
	struct ux_gosym_segment *segments;
	struct ux_gosym_word *words;
};

/* Sorts the first n segments and makes them the segments of the image. */
void ux_go_memory_sort(struct ux_go_memory *memory, size_t n);
void ux_go_memory_close(struct ux_go_memory *memory);

/* Zeroed is empty. It must outlive the module's build, since names point into the memory. */
struct ux_go_source {
	struct ux_go_memory memory; /* opened by the reader of the object format */
	struct ux_gosym tables;
	struct ux_collection units; /* piece.unit counts from 0 until they are added to a module */
	struct ux_range_vec rest;   /* the part of the text for which DWARF is read */
	bool dwarf_rest_only;       /* DWARF is read only for `rest` */
};

/*
 * Reads the tables in the memory, if it has any. Tables with inlined calls have at least the same
 * details of each function as the DWARF of Go's compiler, and are much faster to read: DWARF is
 * then read only for the rest, which is C code. Tables without inlined calls (before Go 1.9, or
 * when the trees are not found) only fill gaps of DWARF.
 */
enum ux_code ux_go_source_read(struct ux_go_source *go, struct ux_module_build *build,
			       struct ux_error *err) ux_must;

/* Returns the text for which DWARF is read. It is valid until `go` or the module's text changes. */
struct ux_range_set ux_go_source_rest(const struct ux_go_source *go,
				      const struct ux_module_build *build);

/* Adds the units to the module, after DWARF's units. */
enum ux_code ux_go_source_add(struct ux_go_source *go, struct ux_module_build *build,
			      struct ux_error *err) ux_must;
void ux_go_source_close(struct ux_go_source *go);

/* Sets *ret to the text without the functions that have rows in `go`. */
enum ux_code ux_go_ranges_subtract(const struct ux_collection *go, const struct ux_range_vec *text,
				   struct ux_range_vec *ret, struct ux_error *err) ux_must;

/* --- The memory image of a Go program in an object file --------------------------------------- */

/* Returns true for an object file with Go's table of functions, which strip leaves in. */
bool ux_go_image_has_table(const struct ux_object *object);

/*
 * Loads the segments, the words that the loader relocates, and hints from sections and symbols. A
 * file that does not look like Go's, or is not linked, has no memory. Damaged parts are treated as
 * missing. UX_ENOMEM.
 */
enum ux_code ux_go_image_open(const struct ux_object *object, struct ux_go_memory *ret,
			      struct ux_error *err) ux_must;

#endif
