/* SPDX-License-Identifier: Apache-2.0 */
/* The listening side: sockets and threads around a program's exchanges. */
#ifndef UX_HTTP_SERVER_H
#define UX_HTTP_SERVER_H

#include "address.h"
#include "error.h"
#include "exchange.h"
#include "http.h"
#include "timer.h"

#include <stdbool.h>
#include <stddef.h>

struct ux_http_server;

/* Where and how to serve. */
struct ux_http_place {
	const char *listen; /* "HOST:PORT" ([::1]:80 for IPv6; port 0 takes a free one) */
	int fd;             /* a listening socket instead, which becomes the server's; -1: none */
	bool tls;           /* with what ux_tls_load() loaded before */
};

/*
 * Serves app, which must outlive the server, on threads of its own. UX_EINVAL: an address that
 * makes no sense; UX_EUNAVAILABLE: the address is taken or not ours.
 */
enum ux_code ux_http_server_open_at(struct ux_http_server **ret, const struct ux_http_place *place,
				    const struct ux_http_app *app, struct ux_error *err) ux_must;

/* The same without TLS, on an address. */
enum ux_code ux_http_server_open(struct ux_http_server **ret, const char *listen,
				 const struct ux_http_app *app, struct ux_error *err) ux_must;

/* "127.0.0.1:8420": where it really listens. Lives as long as the server. */
const char *ux_http_server_address(const struct ux_http_server *s);

/* What ux_http_server_open() would refuse with UX_EINVAL, before anything else is begun. */
enum ux_code ux_http_listen_check(const char *listen, struct ux_error *err) ux_must;

/* True when "HOST:PORT" names a loopback address, so that only this machine can connect. */
bool ux_http_is_loopback(const char *listen);

/* Closes the listening socket; requests in flight go on, and say that their connection ends. */
void ux_http_server_quiesce(struct ux_http_server *s);

/* Waits until no request is in flight, at most so long; returns how many still are. */
unsigned ux_http_server_wait(struct ux_http_server *s, unsigned ms);

/* Quiesces, lets requests in flight end (stop_seconds), cuts the rest, and frees. NULL is fine. */
void ux_http_server_close(struct ux_http_server *s);

/* The last of these without waiting. */
void ux_http_server_cut(struct ux_http_server *s);

/* --- listening sockets ------------------------------------------------------------------------ */

/* Room for "[IPv6%zone]:65535" and for "unix:" with a path. */
enum {
	UX_LISTEN_TEXT = 128
};

/* A listening TCP socket for "HOST:PORT"; address gets where it really listens. */
enum ux_code ux_listen_open(const char *text, unsigned backlog, int *ret_fd, char *address,
			    size_t size, struct ux_error *err) ux_must;

/* UX_EINVAL when "HOST:PORT" makes no sense or resolves to nothing; nothing is opened. */
enum ux_code ux_listen_check(const char *text, struct ux_error *err) ux_must;

/* True when "HOST:PORT" names a loopback address, so that only this machine can connect. */
bool ux_listen_is_loopback(const char *text);

/*
 * The same words for a socket that somebody else opened: "HOST:PORT", or "unix:PATH". UX_EINVAL: it
 * is no stream socket that listens. It becomes non-blocking and close-on-exec.
 */
enum ux_code ux_listen_adopt(int fd, char *address, size_t size, struct ux_error *err) ux_must;

/* --- connections, and the limits on slow clients ---------------------------------------------- */

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
