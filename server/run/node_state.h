/* SPDX-License-Identifier: Apache-2.0 */
/* This server as one node of several: what /readyz, /metrics and the log say about it. */
#ifndef UX_NODE_STATE_H
#define UX_NODE_STATE_H

#include "server.h"

/* What was logged last. Zeroed: nothing. */
struct ux_node_logged {
	bool duplicate;
	bool outdated;
	bool silent;
};

/* Logs what has changed since the last call. Called by one thread. */
void ux_node_log(struct ux_server *s, struct ux_node_logged *logged);

/* UX_EUNAVAILABLE: the node cannot use the index any more, so that it should get no requests. */
enum ux_code ux_node_check(struct ux_server *s, struct ux_error *err) ux_must;

/* Does another process have the name of this node? */
bool ux_node_has_duplicate(struct ux_server *s);

/* Writes the metrics of the node, and of its connections to the index. */
void ux_node_metrics(struct ux_server *s, struct ux_out *out);

#endif
