/* SPDX-License-Identifier: Apache-2.0 */
/* The profile that a command reads: its content tells its format, and the options select the
 * sources of names for its locations. */
#ifndef UX_PROFILE_INPUT_H
#define UX_PROFILE_INPUT_H

#include "common_options.h"
#include "dash_file.h"
#include "file.h"
#include "profile_document.h"
#include "profile_jit.h"
#include "profile_symbolize.h"
#include "remote.h"
#include "terminal.h"

#include <stdatomic.h>

/* Embed in a command's values and add UX_PROFILE_OPTIONS to its table. */
struct ux_profile_options {
	struct ux_find_values find;
	struct ux_server_values server;
	char *files; /* malloc'ed: all values, joined by ':' */
	bool no_local;
	bool no_dwarf;
	bool no_cache;
	bool verbose;
};

/* clang-format off */
#define UX_PROFILE_OPTIONS(values, member) \
	{"files", 0, UX_OPTION_LIST, offsetof(values, member.files), "DIR", \
	 "folder with the binaries of the recorded machine, by path or build ID; may be " \
	 "repeated"}, \
	{"no-local", 0, UX_OPTION_FLAG, offsetof(values, member.no_local), NULL, \
	 "do not read files, kernel and perf maps of this machine, because the profile" \
	 " is from another one"}, \
	{"no-dwarf", 0, UX_OPTION_FLAG, offsetof(values, member.no_dwarf), NULL, \
	 "read only symbol tables and Go's own tables: fast, without lines and inlined" \
	 " calls"}, \
	{"no-cache", 0, UX_OPTION_FLAG, offsetof(values, member.no_cache), NULL, \
	 "do not use the cache of extracted symbols (UNHEX_CACHE=off)"}, \
	UX_FIND_OPTIONS(values, member.find), \
	UX_SERVER_OPTIONS_OPTIONAL(values, member.server), \
	{"verbose", 'v', UX_OPTION_FLAG, offsetof(values, member.verbose), NULL, \
	 "print the symbol source of each module, or why it has none"}
/* clang-format on */

void ux_profile_options_free(struct ux_profile_options *v);

/* An open profile. Zeroed = closed, with UX_PROFILE_INPUT_INIT. */
struct ux_profile_input {
	struct ux_dash_file dash;
	struct ux_bytes head; /* bytes that were already read from standard input, owned by the
				 caller */
	struct ux_mapping file;
	bool keep_starts; /* set before naming: keep the starts of functions */
	bool keep_times;  /* set before reading: samples with times stay separate */
	bool packed;      /* it was compressed by gzip */
	struct ux_profile profile;
	struct ux_profile_document document;
	struct ux_profile_sources reading; /* where files are searched while the profile is read */
	struct ux_profile_jit jit;         /* jitdumps of its processes */
	struct ux_finder finder;
	struct ux_process_cache *cache;
	struct ux_server_selection server;
	atomic_bool refused; /* the server refused a request, or could not be reached */
	atomic_bool denied;  /* it was a refusal */
	bool selecting;      /* the server's URL and key are being read, or one of them is wrong */
	bool selected;       /* the server was selected: its token on the command line is
				overwritten */
	struct ux_runtime_list runtime; /* symbols of the last looked-up process: */
	uint32_t runtime_pid;           /* 0: none */
	struct ux_progress progress;
};

#define UX_PROFILE_INPUT_INIT ((struct ux_profile_input){.dash = UX_DASH_FILE_INIT})

/*
 * Reads a profile from a file, or from standard input if `name` is "-". UX_EUNSUPPORTED: unknown
 * format; the message lists the known ones. Copies of stacks in a recording are unwound with the
 * files that the options select. The input must be closed in any case.
 */
enum ux_code ux_profile_input_read(struct ux_profile_input *in, const char *name,
				   const struct ux_profile_options *v, struct ux_error *err)
	ux_must;

/* Opens the sources that the options select; they live as long as the input. */
enum ux_code ux_profile_input_sources(struct ux_profile_input *in, struct ux_profile_options *v,
				      struct ux_profile_sources *ret, struct ux_error *err) ux_must;

/* Names the locations. The server is used if the options or UNHEX_URL name one. */
enum ux_code ux_profile_input_symbolize(struct ux_profile_input *in, struct ux_profile_options *v,
					struct ux_error *err) ux_must;

/*
 * Prints to stderr the share of the samples that have a name, and the modules that lack names.
 * Returns the exit status: UX_EXIT_SOME if nothing was named in a profile that has addresses.
 */
int ux_profile_input_report(const struct ux_profile_input *in, bool verbose, struct ux_error *err);

/* Prints an error about `subject`, or about the option, variable or file that selects the server.
 * Returns the exit status. */
int ux_profile_input_fail(const struct ux_profile_input *in, const char *subject,
			  const struct ux_error *err);

/* Returns the exit status of a command that would exit with `status`: UX_EXIT_SERVER if the server
 * refused a request or cannot be reached. Prints where a refused key is from. */
int ux_profile_input_exit(const struct ux_profile_input *in, int status);

void ux_profile_input_close(struct ux_profile_input *in);

/* Returns whether the name of an output ends with the suffix, and has something before it. */
bool ux_profile_name_ends(const char *name, const char *suffix);

#endif
