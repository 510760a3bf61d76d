/* SPDX-License-Identifier: Apache-2.0 */
/* Output of commands: errors to stderr, results to stdout, and exit statuses. */
#ifndef UX_OUTPUT_H
#define UX_OUTPUT_H

#include "bytes.h"
#include "error.h"
#include "out.h"
#include "unhex/quality.h"

enum ux_exit {
	UX_EXIT_DONE = 0,
	UX_EXIT_SOME = 1,   /* not found, or some inputs failed */
	UX_EXIT_USAGE = 2,  /* an invalid command line */
	UX_EXIT_SERVER = 3, /* a server refused or cannot be reached */
};

/* The exit status for a failure. */
int ux_exit_of(enum ux_code code);

/* Prints "unhex: subject: error" to stderr, escaped; returns ux_exit_of(). subject may be NULL. */
int ux_print_error(const char *subject, const struct ux_error *err);

/* Prints "unhex: ..." to stderr. */
void ux_print_message(const char *fmt, ...) ux_printf(1, 2);

/*
 * Appends text for a terminal: control characters and invalid UTF-8 become \xNN, so that a hostile
 * name cannot write escape sequences; a backslash is not escaped.
 */
void ux_text(struct ux_out *out, struct ux_bytes text);

/* "12.3 MiB". */
void ux_text_size(struct ux_out *out, uint64_t bytes);

/* Writes the buffer to stdout and empties it. UX_EIO: the reader has gone, the disk is full. */
enum ux_code ux_flush(struct ux_out *out, struct ux_error *err) ux_must;

/* The same at the end of a command: prints a failure itself and returns its exit status, else
 * `status`. */
int ux_finish(struct ux_out *out, int status);

#endif
