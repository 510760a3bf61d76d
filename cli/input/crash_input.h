/* SPDX-License-Identifier: Apache-2.0 */
/* A crash report that a command reads, part by part, and writes with names. */
#ifndef UX_CRASH_INPUT_H
#define UX_CRASH_INPUT_H

#include "crash_symbolize.h"
#include "profile_input.h"
#include "stream.h"

/* A text that may be a crash report. Initialize it with UX_CRASH_INPUT_INIT. */
struct ux_crash_input {
	struct ux_dash_file dash;
	struct ux_mapping file; /* mapping of a file; empty: standard input is read */
	struct ux_bytes left;   /* file: bytes that are not read yet */
	struct ux_out head;     /* standard input: bytes that were read but not used yet */
	bool is_stream, at_end;
	bool follow;          /* write lines as soon as no more come, instead of in parts */
	bool is_core;         /* the file is a core dump; a report is made from it first */
	struct ux_out report; /* that report */
	bool cut;             /* the beginning of a line was passed on */
};

#define UX_CRASH_INPUT_INIT ((struct ux_crash_input){.dash = UX_DASH_FILE_INIT})

/*
 * Opens a file, or standard input for "-", and finds out whether it is a crash report. If it is
 * not, `head` has the bytes read from standard input, which ux_profile_input_read() takes. The
 * input must be closed in any case. UX_EINVAL: standard input is a terminal; codes of
 * ux_file_map().
 */
enum ux_code ux_crash_input_open(struct ux_crash_input *in, const char *name, bool *ret_is_report,
				 struct ux_error *err) ux_must;
void ux_crash_input_close(struct ux_crash_input *in);

/*
 * Reads the report to its end and passes it on with names. Memory does not depend on its size:
 * parts have 16 MiB at most, and modules of one part are known in all later ones. A longer line is
 * passed on unchanged.
 */
enum ux_code ux_crash_input_symbolize(struct ux_crash_input *in, struct ux_crash_symbolizer *s,
				      struct ux_stream *out, struct ux_error *err) ux_must;

/* How a report is written. */
struct ux_crash_output {
	const char *path; /* NULL or "-": standard output */
	enum ux_demangle_mode demangle;
	struct ux_option_each modules; /* "[NAME=]WHAT" of struct ux_crash_choice */
	bool force;                    /* they are used even if the text has a different ID */
};

/*
 * Writes the report with names, whole or not at all if it is a file, and then prints
 * ux_crash_input_report() to stderr. Returns the exit status; after a failure it was printed.
 */
int ux_crash_input_run(struct ux_crash_input *in, const char *name,
		       const struct ux_crash_output *output, struct ux_profile_options *options);

/*
 * Prints to stderr how many frames have names, and advice for the others. Returns the exit status:
 * UX_EXIT_SOME if there are frames and none has a name.
 */
int ux_crash_input_report(const struct ux_crash_symbolizer *s, bool verbose, struct ux_error *err);

#endif
