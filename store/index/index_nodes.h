/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the index about nodes: the servers that share it, which of them are alive, and their
 * changes.
 */
#ifndef UX_INDEX_NODES_H
#define UX_INDEX_NODES_H

#include "arena.h"
#include "error.h"
#include "index_access.h"

struct ux_index;

enum {
	UX_NODE_NAME = 64 + 1,     /* bytes of a node's name, with the NUL */
	UX_NODE_INSTANCE = 32 + 1, /* bytes of the name of its process */
	UX_NODE_FORGET_S = 24 * 60 * 60,
	UX_CHANGES_KEPT_S = 600, /* seconds for which changes are kept */
};

/* Tests for letters, digits, '.', '_' and '-', at least one and at most UX_NODE_NAME - 1. */
bool ux_node_name_valid(const char *name) ux_must;

struct ux_node {
	const char *name;     /* also the owner of its leases */
	const char *instance; /* random, of this process */
	const char *version;
	ux_time started;
	ux_time seen;
};

/* The result of a node's heartbeat. */
struct ux_node_others {
	bool duplicate;  /* another process uses its name, and was seen a moment ago */
	bool outdated;   /* a later version changed the index so that this version cannot use it */
	uint64_t alive;  /* nodes, this one included */
	uint64_t leases; /* jobs that this node has leased */
};

struct ux_node_list {
	struct ux_node *nodes;
	size_t n;
};

/* A node's position in the changes of others. Zeroed: nothing read yet. */
struct ux_changes {
	int64_t from; /* all changes of earlier transactions have been read */
	struct ux_change *seen;
	size_t n_seen; /* changes of later transactions that were already read */
};

/* Changes in the database, as of one moment. */
struct ux_change_batch {
	/*
	 * by the database's clock, since 1970; 0: the database is unavailable, and a replica
	 * answered
	 */
	int64_t time_ms;
	/* since the last transaction that the replica has; 0: no replica answered */
	int64_t lag_ms;
	bool jobs_due;    /* some due extractions are not leased by any node */
	bool everything;  /* the changes are unknown: everything may have changed */
	int64_t *modules; /* numbers of modules that changed; in the arena */
	size_t n_modules;
};

/* Part of struct ux_index; see there for general rules. Only for a database server. */
struct ux_index_nodes {
	/* Writes a heartbeat. */
	enum ux_code (*seen)(struct ux_index *ix, const struct ux_node *node,
			     struct ux_node_others *ret, struct ux_error *err);
	/* Removes the node of this process, and ends its leases. */
	enum ux_code (*leave)(struct ux_index *ix, const struct ux_node *node, ux_time now,
			      struct ux_error *err);
	/*
	 * Ends the leases of nodes that were not seen for UX_NODE_DEAD_S, and forgets old nodes and
	 * changes. *ret: number of ended leases.
	 */
	enum ux_code (*reap)(struct ux_index *ix, ux_time now, uint64_t *ret, struct ux_error *err);
	/* Lists all nodes that are alive, by name. */
	enum ux_code (*list)(struct ux_index *ix, ux_time now, struct ux_arena *arena,
			     struct ux_node_list *ret, struct ux_error *err);
	/* Reads the database's clock, in milliseconds since 1970. */
	enum ux_code (*time)(struct ux_index *ix, int64_t *ret_ms, struct ux_error *err);
	/*
	 * Waits until a node notifies the others, wake_fd can be read, or the timeout expires.
	 * *ret: poll() may find something. Called by one thread, like poll().
	 */
	enum ux_code (*wait)(struct ux_index *ix, int wake_fd, uint32_t timeout_ms, bool *ret,
			     struct ux_error *err);
	/* Gets the changes since the last call with the same `changes`. */
	enum ux_code (*poll)(struct ux_index *ix, struct ux_changes *changes,
			     struct ux_arena *arena, struct ux_change_batch *ret,
			     struct ux_error *err);
};

void ux_changes_deinit(struct ux_changes *c);

#endif
