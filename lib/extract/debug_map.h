/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The debug map of a Mach-O file: which functions came out of which object file, where the linker
 * leaves the DWARF. dsymutil makes a dSYM bundle of it; here the objects are read where they are.
 *
 *   N_OSO  path of the object, or ARCHIVE(MEMBER); n_value: when it was last written
 *   N_FUN  name, n_value: where the function was linked to; then N_FUN "", n_value: its size
 *
 * An object's DWARF has the addresses of the object; a function is found in it by its symbol, and
 * all of its pieces are moved by the distance. What the linker dropped is in no map.
 */
#ifndef UX_DEBUG_MAP_H
#define UX_DEBUG_MAP_H

#include "collect.h"
#include "macho_file.h"

struct ux_map_object;
struct ux_map_function;

/* Zeroed is closed. The units that it gives point into it. */
struct ux_debug_map {
	struct ux_map_object *objects; /* malloc'ed */
	size_t n_objects;              /* those of functions */
	struct ux_map_function *functions;
	size_t n_functions;
	uint64_t missing;    /* objects that are not there */
	uint64_t changed;    /* written since */
	uint64_t damaged;    /* there, and not to be read */
	struct ux_error bad; /* why the first damaged one was given up */
	uint64_t size;       /* bytes of those that were read */
};

/* Reads which objects there are, opening none. UX_ECORRUPT: the symbol table leaves the file. */
enum ux_code ux_debug_map_open(struct ux_debug_map *map, const struct ux_macho *exe,
			       struct ux_error *err) ux_must;
void ux_debug_map_close(struct ux_debug_map *map);

/* True when the first of the objects is a file that is there. */
bool ux_debug_map_there(const struct ux_debug_map *map);

/*
 * Reads the objects that are there, on several threads. spill: NULL, or the folder whose disk holds
 * what is made of them. An object that cannot be used is counted. UX_ENOMEM.
 */
enum ux_code ux_debug_map_read(struct ux_debug_map *map, unsigned threads, const char *spill,
			       struct ux_error *err) ux_must;

/* How the .debug_info of the first object that was read begins; empty when none was. */
struct ux_bytes ux_debug_map_info(const struct ux_debug_map *map);

/* What object i gave, moved to where its functions are in exe; empty when it was not read. The
 * pieces' unit numbers count from 0 in each object. */
const struct ux_collection *ux_debug_map_collection(const struct ux_debug_map *map, size_t i);

#endif
