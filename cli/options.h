/* SPDX-License-Identifier: Apache-2.0 */
/* Commands and their options as tables; parsing and --help come from the table alone. */
#ifndef UX_OPTIONS_H
#define UX_OPTIONS_H

#include "base.h"

enum ux_option_type {
	UX_OPTION_FLAG,  /* bool, becomes true; takes no argument */
	UX_OPTION_TEXT,  /* const char *, in argv */
	UX_OPTION_COUNT, /* unsigned, at least 1 */
	UX_OPTION_LIST,  /* char *, malloc'ed: all that were given, with ':' between */
	UX_OPTION_BYTES, /* uint64_t: 100, 100K, 100M, 2G (powers of 1024) */
	UX_OPTION_EACH,  /* struct ux_option_each: all that were given, in argv */
};

enum {
	UX_OPTION_EACH_MOST = 64
};

struct ux_option_each {
	const char *items[UX_OPTION_EACH_MOST];
	size_t n;
};

struct ux_option {
	const char *long_name; /* without its dashes */
	char short_name;       /* 0: none */
	enum ux_option_type type;
	size_t target;   /* offset in the command's struct of values */
	const char *arg; /* name of the argument in the help; NULL for a flag */
	const char *help;
};

/* What is left of the command line. */
struct ux_args {
	char **items; /* in argv */
	size_t n;
};

struct ux_command {
	const char *name; /* "extract" */
	const char
		*usage; /* what follows the name: "FILE... [options]"; lines when there are forms */
	const char *line; /* one line for the list of commands */
	const char *text; /* paragraphs for --help, without a newline at the end */
	const struct ux_option *options;
	size_t n_options;
	void (*help)(FILE *to); /* instead of usage, text and options, for another's command line */
	int (*run)(const struct ux_command *cmd, int argc, char **argv); /* exit status */
};

/*
 * Reads argv[1..] into values; options and operands may be mixed, "--" ends the options, and the
 * last of two alike wins. Operands are moved to the front of argv. False: the command is over with
 * *ret_status, because help was asked for and printed, or an option made no sense and stderr says
 * which.
 */
bool ux_options_parse(const struct ux_command *cmd, int argc, char **argv, void *values,
		      struct ux_args *ret, int *ret_status) ux_must;

/* Says on stderr what is wrong with the call; gives UX_EXIT_USAGE. */
int ux_usage_error(const struct ux_command *cmd, const char *fmt, ...) ux_printf(2, 3);

/* The help of a command, as --help prints it. */
void ux_command_help(const struct ux_command *cmd, FILE *to);

#endif
