/* SPDX-License-Identifier: Apache-2.0 */
/* Output for a person at a terminal: line width, colours, a progress line. Programs that read a
 * pipe or a file do not get it. */
#ifndef UX_TERMINAL_H
#define UX_TERMINAL_H

#include "base.h"

enum {
	UX_TERMINAL_WIDTH = 80, /* columns if the output is not a terminal */
};

/* Returns the number of columns of the terminal fd, at least 40 and at most 120, because longer
 * lines are hard to read; UX_TERMINAL_WIDTH if fd is not a terminal. */
unsigned ux_terminal_width(int fd);

/* Returns whether escape sequences for colours may be written to fd: it is a terminal, TERM is not
 * "dumb", and NO_COLOR is empty or not set (https://no-color.org). */
bool ux_terminal_has_colors(int fd);

/* The sequences in use; each is "" where colours are off. */
struct ux_colors {
	const char *name;   /* a function */
	const char *dim;    /* addresses, and text between names and lines */
	const char *source; /* a file and line */
	const char *none;   /* resets to the terminal's own */
};

struct ux_colors ux_colors_of(int fd);

/*
 * A line on stderr that is overwritten: "push: 3 of 12 files, 1.2 of 40.0 MiB, 3.1 MiB/s, 12 s
 * left". It appears after half a second of work, changes ten times a second at most, and is erased
 * at the end. Nothing is written if stderr is not a terminal. Zeroed = off. One thread.
 */
struct ux_progress {
	bool on;
	bool shown;
	const char *verb; /* "push" */
	/* a state without numbers, followed by the seconds so far; NULL: the numbers */
	const char *state;
	const char *unit; /* what kind of bytes they are, such as " of DWARF"; NULL: not printed */
	int64_t started;  /* milliseconds of the monotonic clock */
	int64_t last;     /* when the line was written */
	uint64_t files, files_total;
	uint64_t bytes, bytes_total; /* 0 for the total: unknown */
	/* finished work, in any unit, for a bar and the remaining time; total 0: no bar */
	uint64_t work, work_total;
};

void ux_progress_init(struct ux_progress *p, const char *verb);

/* Writes the line with the numbers in *p, if it is time for it. */
void ux_progress_show(struct ux_progress *p);

/* Erases the line. Call it before anything else is written to the terminal. */
void ux_progress_clear(struct ux_progress *p);

#endif
