/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modules of a pasted crash report in the store, as a source of crash_naming.h. Nothing is
 * waited for: a module whose symbols are still being extracted counts as closed.
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
	UX_PASTE_MODULES_MAX = 64,       /* modules of one text, which are open at the same time */
	UX_PASTE_NAMES_BUDGET = 8 << 20, /* bytes of names of modules, and of reasons */
};

/* A build that a name may mean. */
struct ux_paste_build {
	int64_t number; /* of the module: later ones have higher numbers */
	const char *id;
	const char *file_name;
	ux_time created;
};

/* A module as frames name it: the record of the source. */
struct ux_paste_module {
	const char *id;                /* canonical; NULL: no build was chosen */
	struct ux_open_module *module; /* NULL: it has no symbols here */
	struct ux_paste_build builds[UX_CRASH_BUILDS_MAX]; /* newest first; of an ambiguous name */
	size_t n_builds;
	bool more_builds;
	struct ux_requested_pcs pcs; /* that are looked up */
};

/* A source (crash_source.h). */
struct ux_paste {
	struct ux_crash_source source;
	struct ux_request *req;
	struct ux_work work;
	uint64_t name_budget; /* functions whose names may still be read */
};

/* Its results live as long as the request. */
void ux_paste_init(struct ux_paste *p, struct ux_request *req);

#endif
