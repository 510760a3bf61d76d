/* SPDX-License-Identifier: Apache-2.0 */
/* The connections of a server, and when a slow one is cut. */
#ifndef UX_CONNECTIONS_H
#define UX_CONNECTIONS_H

#include "address.h"
#include "http.h"
#include "timer.h"

/*
 * All connections of one server, checked once a second. One whose client takes too long is shut
 * down; whoever owns the socket then finds it closed.
 *
 * A byte now and then keeps a connection from being idle, so the sum counts: the headers of a
 * request have to be complete idle_seconds after the request before, and bodies and answers have to
 * move at rate_bytes a second on the average, after idle_seconds for a start. While nearly all
 * connections are taken, those without a request under way are cut after two seconds.
 */
struct ux_connections;
struct ux_connection;

enum ux_connection_phase {
	UX_CONNECTION_WAITING, /* for the headers of a request */
	UX_CONNECTION_BODY,    /* of a request is read */
	UX_CONNECTION_WORK,    /* the server is busy: the client's time does not count */
	UX_CONNECTION_ANSWER,  /* is sent */
};

/* The timers outlive it. */
enum ux_code ux_connections_open(struct ux_connections **ret, const struct ux_http_limits *limits,
				 struct ux_timers *timers, struct ux_error *err) ux_must;

/* NULL is fine. All connections have been removed before. */
void ux_connections_close(struct ux_connections *c);

/* May one more be accepted from there? False when that host has address_connections already; this
 * machine always may. */
bool ux_connections_allow(struct ux_connections *c, const struct ux_address *from);

/* NULL when there is no memory: then it is never cut. The socket stays open until remove. */
struct ux_connection *ux_connections_add(struct ux_connections *c, int fd,
					 const struct ux_address *from);

/* NULL is fine here and below. */
void ux_connections_remove(struct ux_connections *c, struct ux_connection *one);

/* By the thread that serves the connection. */
void ux_connection_enter(struct ux_connection *one, enum ux_connection_phase phase);

/* So many bytes of the body came. */
void ux_connection_moved(struct ux_connection *one, size_t bytes);

/* How many were shut down so far. */
uint64_t ux_connections_cut(const struct ux_connections *c);

/* The rules alone: has a client taken too long? crowded: nearly all connections are taken. */
bool ux_connection_is_slow(const struct ux_http_limits *limits, enum ux_connection_phase phase,
			   int64_t elapsed_ms, uint64_t moved, bool crowded);

#endif
