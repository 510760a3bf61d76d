/* SPDX-License-Identifier: Apache-2.0 */
/* Commands and their options as tables, used by both the parser and --help. */
#ifndef UX_OPTIONS_H
#define UX_OPTIONS_H

#include "base.h"

enum ux_option_type {
	UX_OPTION_FLAG,  /* bool, becomes true; takes no argument */
	UX_OPTION_TEXT,  /* const char *, in argv */
	UX_OPTION_COUNT, /* unsigned, at least 1 */
	UX_OPTION_LIST,  /* char *, malloc'ed: all values, joined by ':' */
	UX_OPTION_DIRS,  /* the same for folders with debug files, followed by UX_DEBUG_DIRS_DEFAULT
			    unless a value is "" */
	UX_OPTION_BYTES, /* uint64_t: 100, 100K, 100M, 2G (powers of 1024) */
	UX_OPTION_EACH,  /* struct ux_option_each: all values, in argv */
};

enum {
	UX_OPTION_EACH_MAX = 64
};

struct ux_option_each {
	const char *items[UX_OPTION_EACH_MAX];
	size_t n;
};

struct ux_option {
	const char *long_name; /* without its dashes */
	char short_name;       /* 0: none */
	enum ux_option_type type;
	size_t target;   /* offset in the command's struct of values */
	const char *arg; /* name of the argument in the help; NULL for a flag */
	const char *help;
	const char *values; /* words that the argument may be, or may list with commas if `arg` is
			       "LIST", separated by spaces, for shell completion; NULL: others */
	char also; /* a short name that means something else for other commands: accepted, since
		      earlier versions had it, and named at the end of the help; 0: none */
	const char *verbs; /* first operands that the option is for, separated by spaces; with '!'
			      before them all others; NULL: all */
};

/* The operands of the command line. */
struct ux_args {
	char **items; /* in argv; NULL-terminated */
	size_t n;
	bool ended;   /* there was a "--" */
	size_t front; /* number of items before it; n without one */
};

struct ux_command {
	const char *name; /* "extract" */
	const char
		*usage; /* the rest of the synopsis: "FILE... [options]"; one line for each form */
	const char *words;    /* words that the first operand may be besides the verbs that begin
				 forms of usage, separated by spaces, for shell completion; NULL:
				 others */
	const char *line;     /* one line for the list of commands */
	const char *text;     /* paragraphs for --help, without a newline at the end */
	const char *examples; /* lines of a shell, each indented by two spaces, without a newline at
				 the end; NULL: none */
	const struct ux_option *options;
	size_t n_options;
	void (*help)(FILE *to); /* replaces usage, text and options for a command that replaces
				   another program */
	int (*run)(const struct ux_command *cmd, int argc, char **argv); /* exit status */
};

/*
 * Parses argv[1..] into values. Options and operands may be mixed, "--" ends the options, and if an
 * option is repeated its last value is used. Operands are moved to the front of argv. Returns false
 * if the command must end with *ret_status: help was printed, or an option was invalid, or not for
 * the first operand, and an error was printed.
 */
bool ux_options_parse(const struct ux_command *cmd, int argc, char **argv, void *values,
		      struct ux_args *ret, int *ret_status) ux_must;

/* Parses a value of an option of type UX_OPTION_BYTES. False: it is malformed or too large. */
bool ux_option_parse_bytes(const char *text, uint64_t *ret) ux_must;

enum {
	UX_OPTION_HELP_MAX = 512 /* bytes of an option's help */
};

/* Writes the help of an option with its other short name to text (UX_OPTION_HELP_MAX bytes), and
 * returns it. */
const char *ux_option_help(const struct ux_option *o, char *text);

/* Prints an error about the command line to stderr; returns UX_EXIT_USAGE. */
int ux_usage_error(const struct ux_command *cmd, const char *fmt, ...) ux_printf(2, 3);

/*
 * The same as ux_usage_error(), for a command whose first operand is one of `verbs`, which spaces
 * separate: names the nearest one, or all of them. word NULL: there is no operand.
 */
int ux_usage_verb(const struct ux_command *cmd, const char *word, const char *verbs);

/* Prints the help of a command, as for --help. */
void ux_command_help(const struct ux_command *cmd, FILE *to);

#endif
