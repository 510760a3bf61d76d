/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unified diffs, the form in which distributions keep their changes to source files. A diff is
 * applied with dpkg-source's rules: the lines must match exactly, but may be at another place.
 * Source: POSIX.1-2017, diff, "Diff -u or -U Output Format"; GNU diffutils' manual, "Detailed
 * Description of Unified Format"; dpkg-source(1), "Format: 3.0 (quilt)".
 */
#ifndef UX_UNIFIED_DIFF_H
#define UX_UNIFIED_DIFF_H

#include "bytes.h"
#include "error.h"
#include "out.h"

enum {
	UX_DIFF_LINES_MAX = 1 << 24, /* lines of one file, and of one part of a diff */
};

/* Comparisons of lines for all files of one tree: a hunk that is not at its stated place needs
 * many. */
#define UX_DIFF_WORK_MAX ((uint64_t)1 << 31)

/* The change of one file. The slices are parts of the diff. */
struct ux_diff_file {
	/* after "---" and "+++", without the date; empty: /dev/null, the file does not exist */
	struct ux_bytes old_name, new_name;
	struct ux_bytes hunks;
	uint64_t off; /* offset of the hunks in the diff */
};

/* Reads front to back. The text must outlive it. */
struct ux_diff {
	struct ux_bytes text;
	size_t at;
};

/* Sets the next file. Text that belongs to no file is skipped. False: there are no more. */
bool ux_diff_next(struct ux_diff *d, struct ux_diff_file *ret) ux_must;

/* Returns the name without its first folder, as "patch -p1" does. Empty: nothing is left. */
struct ux_bytes ux_diff_strip(struct ux_bytes name);

/*
 * Appends to out the text with the hunks applied; nothing if they remove all of it. *work counts
 * comparisons of lines over many calls. UX_ECONFLICT: the lines of a hunk are nowhere in the text;
 * UX_ECORRUPT: a hunk is malformed, with its offset in the diff; UX_ELIMIT: UX_DIFF_WORK_MAX or
 * UX_DIFF_LINES_MAX. After a failure drop `out`.
 */
enum ux_code ux_diff_apply(const struct ux_diff_file *f, struct ux_bytes text, uint64_t *work,
			   struct ux_out *out, struct ux_error *err) ux_must;

#endif
