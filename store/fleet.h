/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store as one node of several that share an index in a database: its name, and the thread that
 * sends heartbeats and receives the changes of the others. docs/fleet.md.
 */
#ifndef UX_FLEET_H
#define UX_FLEET_H

#include "index_nodes.h"

struct ux_store;
struct ux_fleet;

/*
 * Gets the name of this node: `name`, or if that is NULL the one in DIR/node, which is created if
 * it does not exist: the name of the machine and random digits. UX_EINVAL: the name is not valid.
 */
enum ux_code ux_node_name_of(const char *dir, const char *name, char ret[UX_NODE_NAME],
			     struct ux_error *err) ux_must;

/*
 * Writes the node's row, so that its leases count, and starts the thread. The store's index must be
 * open, and its node named.
 */
enum ux_code ux_fleet_start(struct ux_fleet **ret, struct ux_store *s, struct ux_error *err)
	ux_must;

/* Stops the thread, and ends the node's leases. NULL is allowed. */
void ux_fleet_stop(struct ux_fleet *f);

/*
 * Tests whether this node does the work that only one of them has to do: sweeps, retention,
 * merging. Any thread.
 */
bool ux_fleet_does_maintenance(const struct ux_fleet *f);

/* A node's view of itself and the others; counters are since its start. */
struct ux_fleet_status {
	bool duplicate;  /* another process used the name of this node within UX_NODE_DEAD_S */
	bool outdated;   /* a later version changed the index so that this version cannot use it */
	bool maintains;  /* ux_fleet_does_maintenance() */
	uint64_t alive;  /* nodes, this one included */
	uint64_t leases; /* jobs that this node has leased */
	uint64_t notifications; /* notifications, each followed by a poll */
	uint64_t polls;
	uint64_t failed_polls;
	uint64_t changes;  /* modules changed by any node */
	uint64_t late;     /* changes found by a poll without a notification */
	uint64_t resets;   /* polls after which everything counted as changed */
	int64_t silent_ms; /* ms since the last successful poll */
	/* lag of the replica at that poll in ms; 0: no replica, or it is unavailable */
	int64_t lag_ms;
};

/*
 * Returns the status. Each value is from the last seconds, but not all from the same moment. Any
 * thread.
 */
struct ux_fleet_status ux_fleet_status(const struct ux_fleet *f);

#endif
