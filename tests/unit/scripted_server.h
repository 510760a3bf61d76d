/* SPDX-License-Identifier: Apache-2.0 */
/* An HTTP server that sends the test's bytes, for tests of clients. */
#ifndef SCRIPTED_SERVER_H
#define SCRIPTED_SERVER_H

#include "base.h"

#include <pthread.h>

enum {
	SCRIPT_STEPS_MAX = 16,
	SCRIPT_REQUEST_MAX = 200 << 10,
};

/* The server's reaction to one request. */
struct script_step {
	const char *answer; /* NULL: the connection is closed without an answer */
	unsigned delay_ms;  /* time before the answer */
	const char *more;   /* then one more byte every 400 ms */
	bool close;         /* after the answer */
	bool stall;         /* then nothing, and the connection stays open */
};

/* A server on its own port. It answers requests in order, on any connection. */
struct script {
	const struct script_step *steps;
	size_t n_steps, n_done;
	int listener;
	uint16_t port;
	char requests[SCRIPT_STEPS_MAX][SCRIPT_REQUEST_MAX];
	int stop[2];
	pthread_t thread;
	char url[64];
};

/* Large: not for the stack. Aborts if it cannot listen. The steps must outlive it. */
void script_open(struct script *s, const struct script_step *steps, size_t n);

/* The same at the first free port from first to last; 0 and 0: any. */
void script_open_at(struct script *s, const struct script_step *steps, size_t n, uint16_t first,
		    uint16_t last);

/* Ends the thread; returns how many requests came. */
size_t script_close(struct script *s);

#define SCRIPT(name, ...)                                               \
	static const struct script_step name##_steps[] = {__VA_ARGS__}; \
	static struct script name;                                      \
	script_open(&name, name##_steps, ux_countof(name##_steps))

#endif
