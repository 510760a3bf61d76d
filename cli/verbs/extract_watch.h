/* SPDX-License-Identifier: Apache-2.0 */
/* Shows the progress of an extraction on a terminal. */
#ifndef UX_EXTRACT_WATCH_H
#define UX_EXTRACT_WATCH_H

#include "extract.h"
#include "terminal.h"

#include <pthread.h>

/* A thread that writes the progress line, because ux_extract() returns only at the end. */
struct ux_extract_watch {
	struct ux_extract_progress counts; /* written by the extraction, read by the thread */
	struct ux_progress line;           /* used only by the thread until it has ended */
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t ended; /* wakes the thread */
	bool end;             /* protected by lock */
	bool running;
};

/*
 * Starts the thread when standard error is a terminal. Returns the counts for
 * ux_extract_options.progress; NULL when nothing is shown. The caller must call
 * ux_extract_watch_end(), and may not write to the terminal before.
 */
struct ux_extract_progress *ux_extract_watch_begin(struct ux_extract_watch *w, const char *verb);

/* Ends the thread and erases the line. Does nothing when no thread runs. */
void ux_extract_watch_end(struct ux_extract_watch *w);

#endif
