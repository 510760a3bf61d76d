/* SPDX-License-Identifier: Apache-2.0 */
/* Names for the frames of a crash report, which is written with them. */
#ifndef UX_CRASH_SYMBOLIZE_H
#define UX_CRASH_SYMBOLIZE_H

#include "crash_module.h"
#include "demangle.h"
#include "out.h"

/* What became of the frames of one module. */
struct ux_crash_tally {
	uint64_t frames;
	uint64_t named;
	const char *source; /* where its symbols are from; NULL: from nowhere */
	const char *why;    /* why frames have no names; NULL: no reason is known */
};

UX_VEC(ux_crash_files, struct ux_crash_file);
UX_VEC(ux_crash_tallies, struct ux_crash_tally);
UX_MAP(ux_crash_file_numbers, struct ux_bytes, uint32_t, ux_hash_bytes, ux_bytes_eq);

enum {
	UX_CRASH_FILES_MAX = 4096,             /* modules of one report */
	UX_CRASH_FRAMES_IN_PART_MAX = 1 << 20, /* of one part of a text */
};

/* A report that is read part by part. Zeroed, with the first three fields set, is the start. */
struct ux_crash_symbolizer {
	const struct ux_crash_sources *sources;
	enum ux_demangle_mode demangle;
	bool verbose; /* below each frame without a name the text says why */
	struct ux_crash_report report;
	struct ux_crash_files files;          /* [0] is of frames that have no module */
	struct ux_crash_tallies tallies;      /* of each file */
	struct ux_crash_file_numbers numbers; /* by "NAME\nID" */
	struct ux_arena arena;
	struct ux_crash_reader reader, written;
	uint64_t frames;
	uint64_t named;   /* frames that have got names */
	uint64_t in_text; /* frames that had names, and have got no others */
};

void ux_crash_symbolizer_deinit(struct ux_crash_symbolizer *s);

/*
 * Appends a part of a report, which ends at the end of a line, with its names: each frame is
 * followed by one line for each function, the innermost first, and everything else is copied byte
 * for byte. Frames that have function, file and line already are left alone. UX_ENOMEM; UX_ELIMIT:
 * the part has more than UX_CRASH_FRAMES_IN_PART_MAX frames.
 */
enum ux_code ux_crash_symbolize(struct ux_crash_symbolizer *s, struct ux_bytes text,
				struct ux_out *out, struct ux_error *err) ux_must;

#endif
