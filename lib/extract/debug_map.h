/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the DWARF of a Mach-O file by its debug map. The linker leaves the DWARF in the object
 * files; the debug map tells which function comes from which object file. dsymutil makes a dSYM
 * bundle of it; here the object files are read directly.
 *
 *   N_OSO  path of the object, or ARCHIVE(MEMBER); n_value: its modification time
 *   N_FUN  name, n_value: the function's linked address; then N_FUN "", n_value: its size
 *
 * The DWARF of an object has the object's own addresses. A function is found there by its symbol,
 * and all of its pieces are moved by the difference of the addresses. Dropped functions are not in
 * the map.
 */
#ifndef UX_DEBUG_MAP_H
#define UX_DEBUG_MAP_H

#include "collect.h"
#include "macho_file.h"

struct ux_map_object;
struct ux_map_function;

/* A zeroed struct is closed. The units of its collections point into it. */
struct ux_debug_map {
	struct ux_map_object *objects; /* malloc'ed */
	size_t n_objects;              /* objects that have functions */
	struct ux_map_function *functions;
	size_t n_functions;
	uint64_t missing;    /* objects that are missing */
	uint64_t changed;    /* objects that were modified after linking */
	uint64_t damaged;    /* objects that cannot be read */
	struct ux_error bad; /* error of the first damaged object */
	uint64_t size;       /* bytes of the objects that were read */
};

/* Reads the list of objects and functions, without opening any object. UX_ECORRUPT: the symbol
 * table leaves the file. */
enum ux_code ux_debug_map_open(struct ux_debug_map *map, const struct ux_macho *exe,
			       struct ux_error *err) ux_must;
void ux_debug_map_close(struct ux_debug_map *map);

/* Returns true when the first object's file exists. */
bool ux_debug_map_there(const struct ux_debug_map *map);

/* Reads the objects that exist, on several threads. spill: regions for the
 * results; NULL: they are in memory. An object that cannot be used is counted. UX_ENOMEM. */
enum ux_code ux_debug_map_read(struct ux_debug_map *map, unsigned threads, struct ux_spill *spill,
			       struct ux_error *err) ux_must;

/* Returns the beginning of the .debug_info of the first object that was read; empty when none was
 * read. */
struct ux_bytes ux_debug_map_info(const struct ux_debug_map *map);

/* Returns the pieces of object i, moved to the addresses of its functions in exe; empty when it was
 * not read. The pieces' unit numbers count from 0 in each object. */
const struct ux_collection *ux_debug_map_collection(const struct ux_debug_map *map, size_t i);

#endif
