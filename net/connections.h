/* SPDX-License-Identifier: Apache-2.0 */
/* Who is connected, and for how long that may keep others waiting. */
#ifndef UX_CONNECTIONS_H
#define UX_CONNECTIONS_H

#include "address.h"
#include "http.h"

/*
 * Connections of one server, looked at once a second by a thread of its own. One that has a client
 * on it who takes too long is shut down; whoever owns the socket then finds it closed.
 *
 * A byte now and then keeps a connection from being idle. So what counts is the sum: a request's
 * headers have to be in idle_seconds after the request before; and bodies and answers move at
 * rate_bytes a second on the average, after idle_seconds for a start. While nearly all connections
 * are taken, who has no request under way has to go after a moment.
 */
struct ux_connections;
struct ux_connection;

enum ux_connection_phase {
	UX_CONNECTION_WAITING, /* for the headers of a request */
	UX_CONNECTION_BODY,    /* which comes */
	UX_CONNECTION_WORK,    /* of the server's own: not the client's fault */
	UX_CONNECTION_ANSWER,  /* which goes out */
};

enum ux_code ux_connections_open(struct ux_connections **ret, const struct ux_http_limits *limits,
				 struct ux_error *err) ux_must;

/* NULL is fine. All connections have been removed before. */
void ux_connections_close(struct ux_connections *c);

/* May one more come from there? False when it has address_connections; this machine always may. */
bool ux_connections_allow(struct ux_connections *c, const struct ux_address *from);

/* NULL when there is no memory: then nobody looks at it. The socket stays open until remove. */
struct ux_connection *ux_connections_add(struct ux_connections *c, int fd,
					 const struct ux_address *from);

/* NULL is fine here and below. */
void ux_connections_remove(struct ux_connections *c, struct ux_connection *one);

/* By the thread that serves the connection. */
void ux_connection_enter(struct ux_connection *one, enum ux_connection_phase phase);

/* Bytes of the body came. */
void ux_connection_moved(struct ux_connection *one, size_t bytes);

/* How many were shut down so far. */
uint64_t ux_connections_cut(const struct ux_connections *c);

/* The rules alone: has a client taken too long? crowded: nearly all connections are taken. */
bool ux_connection_is_slow(const struct ux_http_limits *limits, enum ux_connection_phase phase,
			   int64_t elapsed_ms, uint64_t moved, bool crowded);

#endif
