/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a crash report as text with the names of its frames. */
#ifndef UX_CRASH_SYMBOLIZE_H
#define UX_CRASH_SYMBOLIZE_H

#include "crash_module.h"
#include "crash_naming.h"
#include "demangle.h"
#include "out.h"

enum {
	UX_CRASH_FILES_MAX = 4096,             /* modules of one report */
	UX_CRASH_FRAMES_IN_PART_MAX = 1 << 20, /* frames in one part of a text */
	UX_CRASH_NAMES_BUDGET = 64 << 20,      /* bytes of names of modules, and of reasons */
};

/* A report that is read part by part. Zeroed, with naming.source and naming.limits set to
 * `sources` and the limits above, is the start. */
struct ux_crash_symbolizer {
	struct ux_crash_sources *sources;
	struct ux_crash_naming naming;
	enum ux_demangle_mode demangle;
	bool verbose;                   /* write below each frame without a name why it has none */
	struct ux_crash_reader written; /* reads the text again while it is written */
};

/* The limits of a report in a command. */
extern const struct ux_crash_limits ux_crash_symbolize_limits;

/*
 * Appends a part of a report, which ends at the end of a line, with its names: each frame is
 * followed by one line for each function, the innermost first, and everything else is copied byte
 * for byte. Frames that already have function, file and line stay unchanged. Codes of
 * ux_crash_naming_read().
 */
enum ux_code ux_crash_symbolize(struct ux_crash_symbolizer *s, struct ux_bytes text,
				struct ux_out *out, struct ux_error *err) ux_must;

#endif
