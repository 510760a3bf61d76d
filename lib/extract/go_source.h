/* SPDX-License-Identifier: Apache-2.0 */
/* Go's own tables as a source of functions with rows and inlined calls, for every object format. */
#ifndef UX_GO_SOURCE_H
#define UX_GO_SOURCE_H

#include "gosym.h"
#include "module_build.h"
#include "object.h"

/* What a way in has to find tables in. Owns its arrays; the bytes are the
 * file's. Zeroed is empty: no Go. */
struct ux_go_memory {
	struct ux_gosym_image image;
	struct ux_gosym_hints hints;
	struct ux_gosym_segment *segments;
	struct ux_gosym_word *words;
};

/* The image gets the first n segments, sorted. */
void ux_go_memory_settle(struct ux_go_memory *memory, size_t n);
void ux_go_memory_close(struct ux_go_memory *memory);

/* Zeroed is empty. Must outlive the module's build: names are in the memory. */
struct ux_go_source {
	struct ux_go_memory memory; /* the way in's to open */
	struct ux_gosym tables;
	struct ux_collection units; /* until they are added to a module, piece.unit counts from 0 */
	struct ux_range_vec rest;   /* of the text */
	bool leave;                 /* DWARF tells the rest alone */
};

/*
 * Reads the tables in the memory, if there are any. With inlined calls they tell at least what the
 * DWARF of Go's compiler does, of every function and much faster: DWARF is left the rest, which is
 * C. Without (before 1.9, or where the trees are not found) they fill in behind DWARF.
 */
enum ux_code ux_go_source_read(struct ux_go_source *go, struct ux_module_build *build,
			       struct ux_error *err) ux_must;

/* The text for DWARF; good until `go` or the module's text changes. */
struct ux_range_set ux_go_source_rest(const struct ux_go_source *go,
				      const struct ux_module_build *build);

/* Adds what was read to the module, behind DWARF's units. */
enum ux_code ux_go_source_add(struct ux_go_source *go, struct ux_module_build *build,
			      struct ux_error *err) ux_must;
void ux_go_source_close(struct ux_go_source *go);

/* The text without the functions that have lines in `go`: what DWARF is read for. */
enum ux_code ux_go_ranges_subtract(const struct ux_collection *go, const struct ux_range_vec *text,
				   struct ux_range_vec *ret, struct ux_error *err) ux_must;

/* The memory of a Go program in an object file, and what the file says of its tables. */

/*
 * Loads segments, the words that the loader fills in, and hints of sections and symbols. What does
 * not look like Go's, and what is not linked, has no memory. Damage is as if the part was not
 * there. UX_ENOMEM.
 */
enum ux_code ux_go_image_open(const struct ux_object *object, struct ux_go_memory *ret,
			      struct ux_error *err) ux_must;

#endif
