/* SPDX-License-Identifier: Apache-2.0 */
/* @FILE on a command line: the words that are in the file. */
#ifndef UX_RESPONSE_FILE_H
#define UX_RESPONSE_FILE_H

#include "error.h"
#include "vec.h"

UX_VEC(ux_words, char *);

/* A command line whose words and list are its own (malloc'ed). Zeroed = empty. */
struct ux_command_line {
	struct ux_words argv; /* and a NULL behind them */
	int argc;
};

/*
 * argv with every "@FILE" replaced by the words of that file, also where a file names another one;
 * a word "@FILE" whose file cannot be read stays. Words end at white space; '...' and "..." keep
 * theirs, a backslash that of the next character, as in the GNU tools (libiberty, "expandargv").
 * UX_ELIMIT: files name each other endlessly, or over UX_RESPONSE_MOST bytes.
 */
enum ux_code ux_command_line_expand(struct ux_command_line *ret, int argc, char **argv,
				    struct ux_error *err) ux_must;
void ux_command_line_deinit(struct ux_command_line *c);

enum {
	UX_RESPONSE_FILES_MOST = 2000, /* as many as GNU's tools read */
	UX_RESPONSE_MOST = 64 << 20,   /* bytes of all files */
};

#endif
