/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the modules of a pasted crash report in the store, as a source for crash_naming.h. It never
 * waits: a module whose symbols are still being extracted counts as closed.
 */
#ifndef UX_PASTE_H
#define UX_PASTE_H

#include "crash_naming.h"
#include "page.h"
#include "request_work.h"
#include "resolve.h"
#include "symbolize.h"

enum {
	UX_PASTE_LINES_MAX = 20000,
	UX_PASTE_FRAMES_MAX = 5000,
	UX_PASTE_MODULES_MAX = 64,       /* modules of one text; all are open at the same time */
	UX_PASTE_NAMES_BUDGET = 8 << 20, /* bytes for names of modules and for reasons */
};

/* A build that an ambiguous name may mean. */
struct ux_paste_build {
	int64_t number; /* number of the module: later modules have higher numbers */
	const char *id;
	const char *file_name;
	ux_time created;
};

/* A module as frames name it: the source's own record. */
struct ux_paste_module {
	const char *id;                /* canonical; NULL: no build was chosen */
	struct ux_open_module *module; /* NULL: the store has no symbols of it */
	/* builds of an ambiguous name, newest first */
	struct ux_paste_build builds[UX_CRASH_BUILDS_MAX];
	size_t n_builds;
	bool more_builds;
	struct ux_requested_pcs pcs; /* addresses to look up */
};

/* A source (crash_source.h). */
struct ux_paste {
	struct ux_crash_source source;
	struct ux_request *req;
	struct ux_work work;
	uint64_t name_budget; /* bytes of function names that may still be read */
};

/* Its results live as long as the request. */
void ux_paste_init(struct ux_paste *p, struct ux_request *req);

#endif
