/* SPDX-License-Identifier: Apache-2.0 */
/* Reports the state of this server as one node of several to /metrics and the log. */
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

/* Tests whether the database has not answered for some seconds. */
bool ux_node_is_cut_off(const struct ux_fleet_status *n);

/* Writes the metrics of the node, and of its connections to the index. */
void ux_node_metrics(struct ux_server *s, struct ux_out *out);

#endif
