/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the state of this server as one node of several to /readyz, /metrics and the log. */
#ifndef UX_NODE_STATE_H
#define UX_NODE_STATE_H

#include "server.h"

/* The state that was logged last. Zeroed: nothing. */
struct ux_node_logged {
	bool duplicate;
	bool outdated;
	bool silent;
};

/* Logs changes since the last call. Called by one thread. */
void ux_node_log(struct ux_server *s, struct ux_node_logged *logged);

/*
 * Checks the node. UX_EUNAVAILABLE: it cannot use the index any more, so it should get no requests.
 */
enum ux_code ux_node_check(struct ux_server *s, struct ux_error *err) ux_must;

/* Tests whether another process has the name of this node. */
bool ux_node_has_duplicate(struct ux_server *s);

/* Writes the metrics of the node, and of its connections to the index. */
void ux_node_metrics(struct ux_server *s, struct ux_out *out);

#endif
