/* SPDX-License-Identifier: Apache-2.0 */
/* Output of commands: errors on stderr, results on stdout, and exit statuses. */
#ifndef UX_OUTPUT_H
#define UX_OUTPUT_H

#include "bytes.h"
#include "error.h"
#include "out.h"
#include "unhex/quality.h"

enum ux_exit {
	UX_EXIT_DONE = 0,
	UX_EXIT_SOME = 1,   /* something was not found, or some inputs failed */
	UX_EXIT_USAGE = 2,  /* the command line is invalid */
	UX_EXIT_SERVER = 3, /* a server refused the request or cannot be reached */
};

/* Returns the exit status for a failure. */
int ux_exit_of(enum ux_code code);

/* Prints "unhex: subject: error" to stderr, escaped; returns ux_exit_of(). subject may be NULL. */
int ux_print_error(const char *subject, const struct ux_error *err);

/* The same, followed by the note unless that is NULL or empty. */
int ux_print_error_note(const char *subject, const struct ux_error *err, const char *note);

/*
 * Appends {"file":PATH,"error":TEXT} and a newline: with --json each file has an object, even if it
 * failed.
 */
void ux_json_failure(struct ux_out *out, const char *path, const struct ux_error *err);

/* Prints a line to stderr, escaped. */
void ux_print_line(struct ux_bytes text);

/* Prints "unhex: ..." to stderr. */
void ux_print_message(const char *fmt, ...) ux_printf(1, 2);

/*
 * Appends text for a terminal. Control characters and invalid UTF-8 become \xNN, so that an
 * untrusted name cannot write escape sequences. A backslash is not escaped.
 */
void ux_text(struct ux_out *out, struct ux_bytes text);

/* Appends a size like "12.3 MiB". */
void ux_text_size(struct ux_out *out, uint64_t bytes);

/* Writes the buffer to stdout and empties it. UX_EIO: the reading process has closed the pipe,
 * or the disk is full. */
enum ux_code ux_flush(struct ux_out *out, struct ux_error *err) ux_must;

/* Calls ux_flush() at the end of a command. After a failure it prints the error and returns the
 * exit status for it, else it returns `status`. */
int ux_finish(struct ux_out *out, int status);

#endif
