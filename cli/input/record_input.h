/* SPDX-License-Identifier: Apache-2.0 */
/* A recording as the input of a command: its options, and the report about it. */
#ifndef UX_RECORD_INPUT_H
#define UX_RECORD_INPUT_H

#include "options.h"
#include "profile_input.h"
#include "record.h"

/* Embed in a command's values and add UX_RECORD_OPTIONS to its table. */
struct ux_record_values {
	const char *pid;
	const char *duration;
	const char *calls;
	unsigned frequency;
	bool all;
};

/* clang-format off */
#define UX_RECORD_OPTIONS(values, member, letter_of_all) \
	{"pid", 'p', UX_OPTION_TEXT, offsetof(values, member.pid), "PID", \
	 "record this process, its threads and its new child processes"}, \
	{"all", letter_of_all, UX_OPTION_FLAG, offsetof(values, member.all), NULL, \
	 "record all processes, and the kernel"}, \
	{"frequency", 'F', UX_OPTION_COUNT, offsetof(values, member.frequency), "HZ", \
	 "samples per second on each processor [99]"}, \
	{"duration", 0, UX_OPTION_TEXT, offsetof(values, member.duration), "TIME", \
	 "recording time: 10, 500ms, 5m [until the command ends, or Ctrl-C]"}, \
	{"call-graph", 0, UX_OPTION_TEXT, offsetof(values, member.calls), "HOW", \
	 "how to find callers: dwarf (unwind tables and stack copies; dwarf,BYTES sets" \
	 " their size [8192]), fp (frame pointers) or none [dwarf; with --all fp]", "fp dwarf none"}
/* clang-format on */

/*
 * Reports that a recording without samples did not replace `output`. Returns the exit status: the
 * command's if it failed, else UX_EXIT_SOME.
 */
int ux_record_empty(const struct ux_record_result *r, const char *output);

/* Copies a recording whose output failed to a named file in TMPDIR or /tmp, and prints its name. */
void ux_record_keep(int fd);

/* Returns whether the command line requests a recording: a command after "--", a process, or all
 * processes. */
bool ux_record_is_wanted(const struct ux_record_values *v, const struct ux_args *args);

/*
 * Converts values and operands to options, which refer to both. If the process sees other files
 * than we do, as in a container, its files are added to the ones that `profile` selects. False:
 * they are invalid, an error was printed, and *ret_status is the exit status.
 */
bool ux_record_options_parse(const struct ux_command *cmd, const struct ux_record_values *v,
			     const struct ux_args *args, struct ux_profile_options *profile,
			     struct ux_record_options *ret, int *ret_status) ux_must;

/* Records into a temporary file, and reads it as a profile. Codes of ux_record(). */
enum ux_code ux_record_read(const struct ux_record_options *o, const struct ux_profile_options *v,
			    struct ux_profile_input *in, struct ux_record_result *ret,
			    struct ux_error *err) ux_must;

/* Returns the subject of the recording, for messages: the command, or the process. */
const char *ux_record_subject(const struct ux_record_options *o);

/* Prints to stderr a summary of the recording, and the limits of the machine. */
void ux_record_report(const struct ux_record_options *o, const struct ux_record_result *result);

/* Returns the exit status of a command that ended by itself; 0 without one. */
int ux_record_exit(const struct ux_record_result *result);

#endif
