/* SPDX-License-Identifier: Apache-2.0 */
/* The way in for object files: one flow for all formats, and what Mach-O has beside it. */
#ifndef UX_EXTRACT_OBJECT_H
#define UX_EXTRACT_OBJECT_H

#include "debug_sections.h"
#include "split_files.h"
#include "file.h"
#include "debug_map.h"
#include "go_source.h"
#include "module_build.h"

/* One extraction at work; released whole. */
struct ux_extraction {
	const struct ux_extract_steps *steps;
	struct ux_object *exe;
	struct ux_object *debug; /* NULL: there is none */
	struct ux_mapping found; /* the debug file, where the steps found it */
	struct ux_object *inner; /* symbols that are inside of exe */
	struct ux_debug_sections sections;
	struct ux_object *sup; /* the supplementary file (debug_file.h) */
	struct ux_debug_sections sup_sections;
	struct ux_split_files split;
	struct ux_debug_map map;
	struct ux_go_source go;
	struct ux_module_build build;
	struct ux_address_filter *filter; /* the addresses that it is for; NULL: all */
};

/* What a format does in its own way. All functions are optional. */
struct ux_extract_steps {
	const struct ux_object_format *format; /* NULL: any other */
	const char *expected; /* what was looked for, for the message when nothing was found */
	/* Maps a debug file that none was given for. */
	enum ux_code (*find_debug)(struct ux_extraction *x, struct ux_error *err);
	/* Collects DWARF that is neither in exe nor in debug. */
	enum ux_code (*read_elsewhere)(struct ux_extraction *x, struct ux_error *err);
};

/*
 * As ux_extract(), for object files of any format (object.h). Mach-O: without a debug file and
 * DWARF of its own, the dSYM bundle of its UUID beside options->path is used, else the debug map.
 */
ux_extract_fn ux_extract_object ux_must;

extern const struct ux_extract_steps ux_extract_macho;

#endif
