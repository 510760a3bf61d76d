/* SPDX-License-Identifier: Apache-2.0 */
/* The options of llvm-symbolizer. */
#ifndef UX_SYMBOLIZER_OPTIONS_H
#define UX_SYMBOLIZER_OPTIONS_H

#include "symbolizer_print.h"

#include <stdio.h>

/* What the options say. To be released. */
struct ux_symbolizer_options {
	const char *program;  /* the name in messages */
	bool is_addr2line;    /* it speaks as llvm-addr2line */
	const char *object;   /* the module of all requests; NULL: each names its own */
	const char *build_id; /* the same by build ID; NULL: not so */
	const char *arch;     /* of universal files; NULL: their own choice */
	bool inlines;
	uint64_t adjust; /* to be taken from each address */
	struct ux_symbolizer_print print;
	struct ux_out debug_dirs; /* "DIR:DIR"; empty: the default */
};

void ux_symbolizer_options_deinit(struct ux_symbolizer_options *o);

/*
 * Takes the options of the command line; optind is then the first word behind them. False ends the
 * command with *ret_status: it was told on stderr what is wrong, or that was all (--help).
 */
bool ux_symbolizer_options_parse(struct ux_symbolizer_options *o, int argc, char **argv,
				 int *ret_status);

/* What --help says. */
void ux_symbolizer_usage(FILE *to);

#endif
