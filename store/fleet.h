/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A store as one node of several that share an index in a database: its name, the thread that says
 * that it is alive and hears what the others change. docs/fleet.md.
 */
#ifndef UX_FLEET_H
#define UX_FLEET_H

#include "index_nodes.h"

struct ux_store;
struct ux_fleet;

/*
 * Sets the name of this node: `name`, or when that is NULL the one in DIR/node, which is made when
 * there is none: the name of the machine and random digits. UX_EINVAL: the name is not valid.
 */
enum ux_code ux_node_name_of(const char *dir, const char *name, char ret[UX_NODE_NAME],
			     struct ux_error *err) ux_must;

/*
 * Writes the node's row, so that its leases count, and starts the thread. The store's index is
 * open, and its node is named.
 */
enum ux_code ux_fleet_start(struct ux_fleet **ret, struct ux_store *s, struct ux_error *err)
	ux_must;

/* Stops the thread, and ends the node's leases. NULL is allowed. */
void ux_fleet_stop(struct ux_fleet *f);

/*
 * Is this the node that does what one of them has to do: sweeps, retention, merging? Any thread.
 */
bool ux_fleet_does_maintenance(const struct ux_fleet *f);

/* What a node knows of itself and the others; counters are since its start. */
struct ux_fleet_status {
	bool duplicate;  /* another process has had the name of this node within UX_NODE_DEAD_S */
	bool outdated;   /* a later version has made the index one that this version cannot use */
	bool maintains;  /* ux_fleet_does_maintenance() */
	uint64_t alive;  /* nodes, this one included */
	uint64_t leases; /* jobs that this node has leased */
	uint64_t notifications; /* after which it polled */
	uint64_t polls;
	uint64_t failed_polls;
	uint64_t changes;  /* modules that others or this node changed */
	uint64_t late;     /* of these, what was found by a poll without a notification */
	uint64_t resets;   /* polls after which everything counted as changed */
	int64_t silent_ms; /* since the last poll that succeeded */
	int64_t lag_ms;    /* of the replica at that poll; 0: there is none, or it is away */
};

/* Any thread. Each value is one of the last seconds; together they are of no one moment. */
struct ux_fleet_status ux_fleet_status(const struct ux_fleet *f);

#endif
