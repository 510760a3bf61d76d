/* SPDX-License-Identifier: Apache-2.0 */
/* What the server does by itself, while others serve: uses, sweeps, retention. */
#ifndef UX_KEEPER_H
#define UX_KEEPER_H

#include "store.h"
#include "server.h"

enum {
	UX_KEEPER_TICK_S = 1 /* between two calls of ux_keeper_tick() */
};

struct ux_keeper {
	struct ux_server *server;
	struct ux_retention retention;
	int64_t sweep_grace_s; /* that garbage is left alone */
	int64_t sweep_every_s;
	int64_t audit_s; /* that lines of the audit are kept; 0: for ever */
	/* Seconds of the monotonic clock. */
	int64_t next_write; /* of the clock and of uses */
	int64_t next_sweep;
};

/* The defaults. */
struct ux_keeper ux_keeper_make(struct ux_server *server);

/* Does what is due; logs. One thread. */
void ux_keeper_tick(struct ux_keeper *k);

/* Writes what is not written yet; before the store is closed. */
void ux_keeper_finish(struct ux_keeper *k);

#endif
