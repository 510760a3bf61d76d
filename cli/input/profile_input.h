/* SPDX-License-Identifier: Apache-2.0 */
/* The profile that a command reads: its format is found from its content, and its locations get
 * names from what the options select. */
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
	struct ux_bytes head; /* what was read of standard input before, owned by the caller */
	struct ux_mapping file;
	bool keep_starts; /* set before it is named: where functions begin is kept */
	bool keep_times;  /* set before it is read: samples with times stay on their own */
	bool packed;      /* it was compressed by gzip */
	struct ux_profile profile;
	struct ux_profile_document document;
	struct ux_profile_sources reading; /* where files are searched while it is read */
	struct ux_profile_jit jit;         /* jitdumps of its processes */
	struct ux_finder finder;
	struct ux_process_cache *cache;
	struct ux_server_selection server;
	atomic_bool refused; /* the server refused a request, or could not be reached */
	atomic_bool denied;  /* it was a refusal */
	bool selecting;      /* the server's URL and key are being read, or have a defect */
	bool selected;       /* the server was: its token on the command line is overwritten */
	struct ux_runtime_list runtime; /* of the process that was looked up last: */
	uint32_t runtime_pid;           /* 0: none */
	struct ux_progress progress;
};

#define UX_PROFILE_INPUT_INIT ((struct ux_profile_input){.dash = UX_DASH_FILE_INIT})

/*
 * Reads a profile from a file, or from standard input when `name` is "-". UX_EUNSUPPORTED: its
 * format is not known; the message names those that are. Copies of stacks in a recording are
 * unwound with the files that the options select. The input must be closed in any case.
 */
enum ux_code ux_profile_input_read(struct ux_profile_input *in, const char *name,
				   const struct ux_profile_options *v, struct ux_error *err)
	ux_must;

/* Opens what the options select; it lives as long as the input. */
enum ux_code ux_profile_input_sources(struct ux_profile_input *in, struct ux_profile_options *v,
				      struct ux_profile_sources *ret, struct ux_error *err) ux_must;

/* Gives names to its locations. The server is used if the options or UNHEX_URL name one. */
enum ux_code ux_profile_input_symbolize(struct ux_profile_input *in, struct ux_profile_options *v,
					struct ux_error *err) ux_must;

/*
 * Prints to stderr which share of the samples has a name, and what is missing. Returns the exit
 * status: UX_EXIT_SOME if nothing was named in a profile that has addresses.
 */
int ux_profile_input_report(const struct ux_profile_input *in, bool verbose, struct ux_error *err);

/* Prints an error about `subject`, or about the option, variable or file that selects the server.
 * Returns the exit status. */
int ux_profile_input_fail(const struct ux_profile_input *in, const char *subject,
			  const struct ux_error *err);

/* The exit status of a command whose own one is `status`: UX_EXIT_SERVER if the server refused a
 * request or cannot be reached. Says where a refused key is from. */
int ux_profile_input_exit(const struct ux_profile_input *in, int status);

void ux_profile_input_close(struct ux_profile_input *in);

/* Whether the name of an output ends so, and has something before it. */
bool ux_profile_name_ends(const char *name, const char *suffix);

#endif
