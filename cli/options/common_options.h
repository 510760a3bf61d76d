/* SPDX-License-Identifier: Apache-2.0 */
/* Options that several commands share: the output format, where debug files are searched, and
 * which server is used. */
#ifndef UX_COMMON_OPTIONS_H
#define UX_COMMON_OPTIONS_H

#include "demangle.h"
#include "error.h"
#include "options.h"
#include "out.h"
#include "symbol_files.h"

/* Embed in a command's values and add UX_ANSWER_OPTIONS to its table. */
struct ux_answer_values {
	bool json;
	bool hex;
	const char *demangle; /* NULL: full, or templates-elided on a terminal */
};

/* clang-format off */
#define UX_ANSWER_OPTIONS(values, member) \
	{"json", 'j', UX_OPTION_FLAG, offsetof(values, member.json), NULL, \
	 "print one JSON object per line"}, \
	{"hex", 'x', UX_OPTION_FLAG, offsetof(values, member.hex), NULL, \
	 "read addresses without 0x as hexadecimal, too"}, \
	{"demangle", 0, UX_OPTION_TEXT, offsetof(values, member.demangle), "MODE", \
	 "full, short (no parameters), templates-elided or none [full; templates-elided on a " \
	 "terminal]", "full short templates-elided none"}
/* clang-format on */

/* Parses the value of --demangle. Returns false for an unknown mode; an error was then printed,
 * and *ret_status is the exit status. */
bool ux_answer_mode(const struct ux_command *cmd, const struct ux_answer_values *values,
		    enum ux_demangle_mode *ret, int *ret_status) ux_must;

/* Embed in a command's values and add UX_FIND_OPTIONS to its table. */
struct ux_find_values {
	char *dirs; /* malloc'ed: all values and the default, joined by ':' */
	const char *debuginfod;
};

/* clang-format off */
#define UX_DEBUG_DIR_OPTION(values, member) \
	{"debug-dir", 0, UX_OPTION_DIRS, offsetof(values, member), "DIR", \
	 "folder of debug files, searched before /usr/lib/debug; may be repeated; \"\": not in " \
	 "/usr/lib/debug"}
#define UX_FIND_OPTIONS(values, member) \
	UX_DEBUG_DIR_OPTION(values, member.dirs), \
	{"debuginfod", 0, UX_OPTION_TEXT, offsetof(values, member.debuginfod), "URL", \
	 "ask this server for missing files [DEBUGINFOD_URLS]"}
/* clang-format on */

/* Creates a finder from the values. No server is contacted yet. UX_EINVAL: a URL is invalid. The
 * finder must be closed also after a failure, and the values must outlive it. */
enum ux_code ux_find_open(struct ux_finder *ret, const struct ux_find_values *values,
			  struct ux_error *err) ux_must;
void ux_find_close(struct ux_finder *finder);

/* Prints a warning if files were not found (field `lost` of struct ux_symbol_files). */
void ux_find_warn(const char *path, const struct ux_error *lost);

#define UX_URL_DEFAULT "http://127.0.0.1:8420"

/* Embed in a command's values and add UX_SERVER_OPTIONS to its table. */
struct ux_server_values {
	const char *url;
	char *token;
	const char *token_file;
	const char *cacert;
};

/* clang-format off */
#define UX_SERVER_OPTIONS(values, member) \
	UX_SERVER_OPTIONS_OF(values, member, "server [UNHEX_URL, " UX_URL_DEFAULT "]")

/* The same for commands that ask a server only if one is named. */
#define UX_SERVER_OPTIONS_OPTIONAL(values, member) \
	UX_SERVER_OPTIONS_OF(values, member, "ask this server, too [UNHEX_URL, else none]")

#define UX_SERVER_OPTIONS_OF(values, member, help) \
	{"url", 'u', UX_OPTION_TEXT, offsetof(values, member.url), "URL", help}, \
	{"token", 't', UX_OPTION_TEXT, offsetof(values, member.token), "TOKEN", \
	 "the server's key; --token-file and UNHEX_TOKEN keep it out of the process list"}, \
	{"token-file", 0, UX_OPTION_TEXT, offsetof(values, member.token_file), "FILE", \
	 "file with the key on its first line"}, \
	{"cacert", 0, UX_OPTION_TEXT, offsetof(values, member.cacert), "FILE", \
	 "file of root certificates (PEM) for https [UNHEX_CACERT, the system's]"}
/* clang-format on */

enum {
	UX_TOKEN_MAX = 1024 /* bytes of a token */
};

/* The selected server. */
struct ux_server_selection {
	const char *url;
	const char *cacert;       /* NULL: the system's certificates are used */
	char token[UX_TOKEN_MAX]; /* "" for none */
	const char *url_source;   /* the option or variable of the URL; NULL: the default */
	const char *subject;      /* after a failure: the option, variable or file that is wrong */
	/* the option, variable or file that the key is from; NULL without a key */
	const char *key_source;
};

/*
 * Selects the server from the options, the environment or the default. A token on the command line
 * is overwritten, so that the process list shows it only for a moment. UX_EINVAL: both a token and
 * a token file are given, or the URL has a user name. UX_ELIMIT: the token is too long.
 */
enum ux_code ux_server_select(struct ux_server_values *values, struct ux_server_selection *ret,
			      struct ux_error *err) ux_must;

/* Returns whether an option or the environment names a server: without one, some commands ask
 * none. */
bool ux_server_is_named(const struct ux_server_values *values);

/* Returns whether an error of a request means that the server refused it, or cannot be reached. */
bool ux_server_is_refusal(const struct ux_error *err);

/*
 * Appends advice after an error of a request to the selected server: where its key or its URL is
 * from, and what to do. Appends nothing for other errors.
 */
void ux_server_put_advice(const struct ux_server_selection *server, const struct ux_error *err,
			  struct ux_out *out);

/*
 * Prints an error of a request to the selected server as ux_print_error() does, with the advice
 * above. Returns the exit status: UX_EXIT_SERVER for ux_server_is_refusal(), else the error's.
 */
int ux_server_print_error(const struct ux_server_selection *server, const char *subject,
			  const struct ux_error *err);

/* Prints a line that tells where the key is from, for reports that have printed the refusal. */
void ux_server_print_key_source(const struct ux_server_selection *server);

#endif
