/* SPDX-License-Identifier: Apache-2.0 */
/* Modules to push: which file gives the identity, which one the symbols. */
#ifndef UX_PUSH_MODULE_H
#define UX_PUSH_MODULE_H

#include "debug_file.h"
#include "elf_ids.h"
#include "macho_fat.h"
#include "unhex/quality.h"
#include "vec.h"

/* One module. Paths are malloc'ed. */
struct ux_push_module {
	char *path;                    /* the file that gives the identity */
	char *debug;                   /* the file that the symbols come from; NULL: path */
	struct ux_id_set ids;          /* GNU, Go and File IDs, UUID; the first one names it */
	char arch[UX_MACHO_ARCH_TEXT]; /* which slice of a Mach-O file; "": of another format */
	struct ux_id alias; /* cubin-crc ID of a cubin: others may have it too, so it goes with an
			       upload and is never queried; size 0: none */
	unsigned gpu;       /* which piece of GPU code in path; 0: path itself */
	enum ux_quality claim; /* the best that its sections can be good for */
	bool named;            /* named on the command line, not found in a folder */
	bool debug_only;       /* path is a separate debug file: its code is elsewhere */
	bool debug_found;      /* debug was found, not given: it may turn out useless */
};

void ux_push_module_deinit(struct ux_push_module *m);

UX_VEC(ux_push_modules, struct ux_push_module);

void ux_push_modules_free(struct ux_push_modules *v);

/*
 * Appends the module in the ELF or Mach-O file at path, or those in a universal one, with their
 * identities and what their sections promise. UX_EUNSUPPORTED: another file, or one that is never
 * loaded as it is (object file, core dump). A debug file that stands alone has no File ID.
 */
enum ux_code ux_push_modules_read(struct ux_push_modules *v, const char *path, struct ux_error *err)
	ux_must;

/* Fills *m from the bytes of the ELF file at path, or of a cubin in it. Codes as above. */
enum ux_code ux_push_module_read_elf(struct ux_push_module *m, const char *path,
				     struct ux_bytes file, struct ux_error *err) ux_must;

/* Where a debug file comes from. */
enum ux_debug_origin {
	UX_DEBUG_FOUND,
	UX_DEBUG_GIVEN,
	UX_DEBUG_GIVEN_ANYWAY, /* given, and its build ID may be another */
};

/*
 * Sets path as the file that the symbols come from. UX_ECONFLICT: it was given and its build ID
 * or UUID is not m's, so that a wrong pair is refused before the server is queried.
 */
enum ux_code ux_push_module_debug(struct ux_push_module *m, const char *path,
				  enum ux_debug_origin origin, struct ux_error *err) ux_must;

/* Looks for a separate debug file in dirs when m has no DWARF: see ux_debug_file_find(). */
enum ux_code ux_push_module_find_debug(struct ux_push_module *m, const char *dirs,
				       struct ux_error *err) ux_must;

/*
 * Joins what `other` adds to m, a module of the same ID: the file with the code gives the identity,
 * one with DWARF the symbols, every file with code its File ID. True when other was of use.
 */
bool ux_push_module_join(struct ux_push_module *m, struct ux_push_module *other);

/*
 * Appends a module for each cubin with functions in the program or fat binary at path. Pieces that
 * cannot be read, and PTX, are left out; none is no failure. The codes of ux_file_map(), UX_ENOMEM.
 */
enum ux_code ux_push_gpu_read(const char *path, struct ux_push_modules *ret, struct ux_error *err)
	ux_must;

/*
 * Appends a module for each slice of the Mach-O file, which is at path. UX_EUNSUPPORTED: one is
 * never loaded as it is (object file, core dump). A dSYM file is debug_only and has no File ID.
 */
enum ux_code ux_push_macho_read(struct ux_push_modules *v, const char *path, struct ux_bytes file,
				struct ux_error *err) ux_must;

/* As ux_push_module_debug() for a module of Mach-O; path may be a dSYM bundle. */
enum ux_code ux_push_macho_debug(struct ux_push_module *m, const char *path,
				 enum ux_debug_origin origin, struct ux_error *err) ux_must;

/* Raises the claim when there is a dSYM bundle beside m, or when the objects that it was linked
 * from are there; extraction finds either again. */
enum ux_code ux_push_macho_find_debug(struct ux_push_module *m, struct ux_error *err) ux_must;

#endif
