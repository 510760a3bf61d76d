/* SPDX-License-Identifier: Apache-2.0 */
/* Extraction from object files: one procedure for all formats, with steps that depend on the
 * format. */
#ifndef UX_EXTRACT_OBJECT_H
#define UX_EXTRACT_OBJECT_H

#include "debug_map.h"
#include "debug_sections.h"
#include "dwarf_units.h"
#include "dwo_files.h"
#include "file.h"
#include "go_source.h"
#include "module_build.h"

/* The state of one extraction. Everything in it is released together. */
struct ux_extraction {
	const struct ux_extract_steps *steps;
	struct ux_object *exe;
	struct ux_object *debug; /* debug file; NULL: none */
	struct ux_mapping found; /* the debug file, if find_debug() found it */
	struct ux_object *inner; /* the compressed symbol table inside of exe (.gnu_debugdata) */
	const struct ux_object
		*dwarf; /* exe or debug: the file that DWARF is read from; NULL: none */
	struct ux_debug_sections sections;
	struct ux_dwarf_units_ahead ahead;
	struct ux_object *sup; /* supplementary file (debug_file.h) */
	struct ux_debug_sections sup_sections;
	struct ux_dwo_files split;
	struct ux_debug_map map;
	struct ux_go_source go;
	struct ux_module_build build;
	struct ux_address_filter *filter; /* limits the extraction; NULL: all addresses */
};

/* The steps that depend on the format. All functions are optional. */
struct ux_extract_steps {
	const struct ux_object_format *format; /* NULL: any format without steps of its own */
	/* the kinds of symbols that were searched for, for the error message when nothing was
	 * found */
	const char *expected;
	/* Searches for a debug file when the caller supplied none. */
	enum ux_code (*find_debug)(struct ux_extraction *x, struct ux_error *err);
	/* Collects DWARF that is neither in exe nor in debug. */
	enum ux_code (*read_elsewhere)(struct ux_extraction *x, struct ux_error *err);
};

/*
 * Like ux_extract(), for object files of any format (object.h). A Mach-O file without DWARF and
 * without a debug file gets it from the dSYM bundle with its UUID beside options->path, or else by
 * its debug map.
 */
ux_extract_fn ux_extract_object ux_must;

extern const struct ux_extract_steps ux_extract_macho;

#endif
