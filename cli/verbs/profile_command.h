/* SPDX-License-Identifier: Apache-2.0 */
/* Functions shared by the commands about one profile: it is a file, or is recorded now; then it is
 * reported on. */
#ifndef UX_PROFILE_COMMAND_H
#define UX_PROFILE_COMMAND_H

#include "record_input.h"

/* Zeroed = nothing is open, with UX_PROFILE_COMMAND_INIT. */
struct ux_profile_command {
	struct ux_profile_input input;
	const char *name; /* the file, "-", or the recorded command or process */
	bool records;     /* the profile is recorded now */
	struct ux_record_options record;
	struct ux_record_result recorded;
	enum ux_demangle_mode demangle; /* set to the command's default before it begins */
};

#define UX_PROFILE_COMMAND_INIT ((struct ux_profile_command){.input = UX_PROFILE_INPUT_INIT})

/* The values of a command line that concern its profile, which live as long as the command. */
struct ux_profile_command_values {
	const struct ux_record_values *record; /* NULL: the command never records */
	struct ux_profile_options *profile;
	const char *demangle; /* --demangle; NULL: the default */
	const char *hint;     /* appended to the error about several profiles; "": nothing */
};

/*
 * Determines the profile. False: the command line is invalid, an error was printed, and *ret_status
 * is the exit status.
 */
bool ux_profile_command_begin(struct ux_profile_command *c, const struct ux_command *cmd,
			      const struct ux_profile_command_values *v, const struct ux_args *args,
			      int *ret_status) ux_must;

/* Reads the profile, or records it; without names. */
enum ux_code ux_profile_command_read(struct ux_profile_command *c,
				     const struct ux_profile_options *v, struct ux_error *err)
	ux_must;

/* Returns a name of the profile for messages. */
const char *ux_profile_command_subject(const struct ux_profile_command *c);

/* Prints an error about `subject`, and keeps the recording. Returns the exit status. */
int ux_profile_command_fail(const struct ux_profile_command *c, const char *subject,
			    const struct ux_error *err);

/* Prints to stderr a summary of the recording, the share that has names and the modules that lack
 * them; after the name of the written file, unless `output` is NULL or "-". Returns the exit
 * status. */
int ux_profile_command_report(const struct ux_profile_command *c, const char *output, bool verbose);

void ux_profile_command_deinit(struct ux_profile_command *c);

#endif
