/* SPDX-License-Identifier: Apache-2.0 */
/* What the command says: complaints to stderr, lines to stdout, exit statuses. */
#ifndef UX_OUTPUT_H
#define UX_OUTPUT_H

#include "bytes.h"
#include "error.h"
#include "out.h"
#include "unhex/quality.h"

enum ux_exit {
	UX_EXIT_DONE = 0,
	UX_EXIT_SOME = 1,   /* not found, or some inputs failed */
	UX_EXIT_USAGE = 2,  /* the command line makes no sense */
	UX_EXIT_SERVER = 3, /* a server refused or cannot be reached */
};

/* The exit status for a failure. */
int ux_exit_of(enum ux_code code);

/* "unhex: subject: what is wrong" on stderr, escaped; returns ux_exit_of(). subject may be NULL. */
int ux_complain(const char *subject, const struct ux_error *err);

/* "unhex: ..." on stderr. */
void ux_say(const char *fmt, ...) ux_printf(1, 2);

/*
 * Appends text for a terminal: control characters and bytes that are no UTF-8 become \xNN, a
 * backslash stays, so that a hostile name cannot write escape sequences.
 */
void ux_text(struct ux_out *out, struct ux_bytes text);

/* "12.3 MiB". */
void ux_text_size(struct ux_out *out, uint64_t bytes);

/* Writes everything to stdout and forgets it. UX_EIO: the reader has gone, the disk is full. */
enum ux_code ux_flush(struct ux_out *out, struct ux_error *err) ux_must;

/* The same at the end of a command: complains by itself and gives its exit status, or `status`. */
int ux_finish(struct ux_out *out, int status);

#endif
