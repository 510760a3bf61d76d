/* SPDX-License-Identifier: Apache-2.0 */
/* Does periodic work of a running server: writes uses, sweeps, applies retention. */
#ifndef UX_KEEPER_H
#define UX_KEEPER_H

#include "node_state.h"
#include "server.h"
#include "store.h"

enum {
	UX_KEEPER_TICK_S = 1 /* seconds between two calls of ux_keeper_tick() */
};

struct ux_keeper {
	struct ux_server *server;
	struct ux_retention retention;
	int64_t sweep_grace_s; /* minimum age in seconds of garbage that is removed */
	int64_t sweep_every_s;
	int64_t audit_s; /* seconds for which entries of the audit log are kept; 0: unlimited */
	/* Times below are seconds of the monotonic clock. */
	int64_t next_write; /* when the clock and uses are written */
	int64_t next_sweep;
	int64_t next_find; /* when blobs are compared with the list of the bucket */
	struct ux_node_logged logged;
};

/* Returns a keeper with the default settings. */
struct ux_keeper ux_keeper_make(struct ux_server *server);

/* Does the work that is due, and logs it. Called by one thread. */
void ux_keeper_tick(struct ux_keeper *k);

/* Writes everything that has not been written yet. Called before the store is closed. */
void ux_keeper_finish(struct ux_keeper *k);

#endif
