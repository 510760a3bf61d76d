/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Watches whether the threads of a running server make progress, and ends the server on a signal.
 */
#ifndef UX_WATCH_H
#define UX_WATCH_H

#include "error.h"
#include "http_server.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

enum {
	/*
	 * ms added to the time for requests in flight: for ending children, writing uses and
	 * closing the index; then the process exits, whatever still runs
	 */
	UX_WATCH_END_MS = 10000,
};

/*
 * A separate thread receives the signals, so that they have an effect even if the main thread or a
 * worker is stuck. While all threads make progress it notifies the service manager. After a signal
 * requested a stop, it ends the process if that takes too long; nothing that was acknowledged is
 * lost then, as after kill -9.
 */
struct ux_watch;

/* signals: blocked in all threads; SIGHUP, and the signals that request a stop. */
enum ux_code ux_watch_open(struct ux_watch **ret, const sigset_t *signals, struct ux_error *err)
	ux_must;

/* NULL is allowed. No request may be running any more. */
void ux_watch_close(struct ux_watch *w);

/*
 * stuck_ms: how long a thread may be busy with one thing. stop_ms: the time for requests in flight
 * after the signal. Any thread.
 */
void ux_watch_set_limits(struct ux_watch *w, int64_t stuck_ms, int64_t stop_ms);

/* Sets the server whose threads are watched; NULL before it is freed. */
void ux_watch_set_server(struct ux_watch *w, struct ux_http_server *http);

/*
 * Waits for a signal, at most ms. Returns its number, or -1. Called by the main thread, as its
 * heartbeat.
 */
int ux_watch_wait(struct ux_watch *w, unsigned ms);

/*
 * Tests whether all threads make progress. *ret_what names the thread that has been busy with one
 * thing for the longest time, as a static text, and *ret_ms says for how long. NULL is allowed and
 * fine. Any thread.
 */
bool ux_watch_is_fine(struct ux_watch *w, const char **ret_what, int64_t *ret_ms);

#endif
