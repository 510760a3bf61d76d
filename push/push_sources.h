/* SPDX-License-Identifier: Apache-2.0 */
/* The source files of a module to push. */
#ifndef UX_PUSH_SOURCES_H
#define UX_PUSH_SOURCES_H

#include "out.h"
#include "push_run.h"

enum {
	UX_PUSH_SOURCES_MOST = 100000,          /* files of a module */
	UX_PUSH_SOURCE_MOST = 16 << 20,         /* bytes of one file */
	UX_PUSH_SOURCES_BYTES_MOST = 512 << 20, /* bytes of all of them together */
	UX_PUSH_BUNDLE_MOST = 256 << 20,        /* bytes of the archive */
};

/* Zeroed is none. */
struct ux_push_sources {
	struct ux_out archive; /* bundle_write.h */
	uint64_t files;        /* in it */
	uint64_t missing;      /* that are not here, or cannot be read */
	uint64_t left_out;     /* that are no source by their names, or too large */
};

/*
 * Collects the source files that a GSYM names into one archive, under the paths that it has for
 * them. o->prefixes say where else they are: a path that begins with FROM is looked for with TO in
 * its place, the first that fits. Only regular files are read, and of these only those whose names
 * are those of sources: debug information may be a stranger's, and could name /etc/shadow. The same
 * files give the same bytes. UX_ENOTFOUND: no file is here; UX_EUNSUPPORTED: no archives can be
 * written here; UX_EINVAL: o->prefixes.
 */
enum ux_code ux_push_sources_collect(struct ux_bytes gsym, const struct ux_push_options *o,
				     struct ux_push_sources *ret, struct ux_error *err) ux_must;
void ux_push_sources_deinit(struct ux_push_sources *s);

/* Is each of them FROM=TO? */
enum ux_code ux_push_prefixes_check(const char *prefixes, struct ux_error *err) ux_must;

#endif
