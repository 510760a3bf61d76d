/* SPDX-License-Identifier: Apache-2.0 */
/* Which server, with which key: options, then environment, then the default. */
#ifndef UX_SERVER_OPTIONS_H
#define UX_SERVER_OPTIONS_H

#include "error.h"
#include "options.h"

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
	{"url", 'u', UX_OPTION_TEXT, offsetof(values, member.url), "URL", \
	 "server [UNHEX_URL, " UX_URL_DEFAULT "]"}, \
	{"token", 't', UX_OPTION_TEXT, offsetof(values, member.token), "TOKEN", \
	 "its key; better kept in a file or in UNHEX_TOKEN"}, \
	{"token-file", 0, UX_OPTION_TEXT, offsetof(values, member.token_file), "FILE", \
	 "file whose first line is the key"}, \
	{"cacert", 0, UX_OPTION_TEXT, offsetof(values, member.cacert), "FILE", \
	 "roots (PEM) that https trusts [UNHEX_CACERT, the system's]"}
/* clang-format on */

enum {
	UX_TOKEN_MOST = 1024 /* bytes of a token */
};

/* Url and token, complete. */
struct ux_server_choice {
	const char *url;
	const char *cacert;        /* NULL: the system's */
	char token[UX_TOKEN_MOST]; /* "" for none */
};

/*
 * Decides, and overwrites a token that stood on the command line, so that it is not in the list of
 * processes for longer than it must. UX_EINVAL: token and token file both, or a URL with a user
 * name in it; UX_ELIMIT: a token that is too long.
 */
enum ux_code ux_server_choose(struct ux_server_values *values, struct ux_server_choice *ret,
			      struct ux_error *err) ux_must;

#endif
