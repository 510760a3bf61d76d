/* SPDX-License-Identifier: Apache-2.0 */
/* HTTP server: sockets and threads that drive exchanges. */
#ifndef UX_HTTP_SERVER_H
#define UX_HTTP_SERVER_H

#include "address.h"
#include "error.h"
#include "exchange.h"
#include "http.h"
#include "timer.h"
#include "work_queue.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/socket.h>

struct ux_http_server;

/* The address and transport of a server. */
struct ux_http_endpoint {
	/* "HOST:PORT" ([::1]:80 for IPv6; with port 0 the system chooses one) */
	const char *listen;
	/* a listening socket to use instead, owned by the server from then on; -1: none */
	int fd;
	bool tls; /* serve TLS with the certificate that ux_tls_load() loaded */
};

/*
 * Serves app, which must outlive the server, on its own threads. UX_EINVAL: the address is
 * malformed; UX_EUNAVAILABLE: the address is in use, or does not belong to this machine.
 */
enum ux_code ux_http_server_open_at(struct ux_http_server **ret,
				    const struct ux_http_endpoint *endpoint,
				    const struct ux_http_app *app, struct ux_error *err) ux_must;

/* Serves at an address, without TLS. */
enum ux_code ux_http_server_open(struct ux_http_server **ret, const char *listen,
				 const struct ux_http_app *app, struct ux_error *err) ux_must;

/*
 * Returns the counts of requests whose handlers run on the work queue, or wait for it. Any thread.
 */
struct ux_work_counts ux_http_server_work(const struct ux_http_server *s);

/* Returns the address that it listens on, such as "127.0.0.1:8420". Valid as long as the server. */
const char *ux_http_server_address(const struct ux_http_server *s);

/* Reports the UX_EINVAL errors of ux_http_server_open() without opening anything. */
enum ux_code ux_http_listen_check(const char *listen, struct ux_error *err) ux_must;

/* Tests whether "HOST:PORT" names a loopback address, so that only this machine can connect. */
bool ux_http_is_loopback(const char *listen);

/*
 * Closes the listening socket. Requests in flight continue, and their answers announce the end of
 * the connection.
 */
void ux_http_server_quiesce(struct ux_http_server *s);

/*
 * Returns how long one of its threads has been busy with one thing, in milliseconds: the longest of
 * all. It is short unless that thread is stuck. *ret_what names the thing, as a static text. Any
 * thread.
 */
int64_t ux_http_server_busy_ms(struct ux_http_server *s, const char **ret_what);

/*
 * Waits until no request is in flight, at most ms; returns the number of requests still in flight.
 */
unsigned ux_http_server_wait(struct ux_http_server *s, unsigned ms);

/*
 * Quiesces, waits for requests in flight (stop_seconds), closes the remaining connections, and
 * frees the server. NULL is allowed.
 */
void ux_http_server_close(struct ux_http_server *s);

/* Like ux_http_server_close(), without waiting. */
void ux_http_server_cut(struct ux_http_server *s);

/* --- listening sockets ------------------------------------------------------------------------ */

/* room for "[IPv6%zone]:65535" and for "unix:" with a path */
enum {
	UX_LISTEN_TEXT = 128
};

/* Opens a listening TCP socket for "HOST:PORT"; address receives the actual address. */
enum ux_code ux_listen_open(const char *text, unsigned backlog, int *ret_fd, char *address,
			    size_t size, struct ux_error *err) ux_must;

/* Checks an address, and opens nothing. UX_EINVAL: "HOST:PORT" is malformed or does not resolve. */
enum ux_code ux_listen_check(const char *text, struct ux_error *err) ux_must;

/* Tests whether "HOST:PORT" names a loopback address, so that only this machine can connect. */
bool ux_listen_is_loopback(const char *text);

/*
 * Takes over a listening socket that another process opened. address receives "HOST:PORT" or
 * "unix:PATH". UX_EINVAL: it is not a listening stream socket. It becomes non-blocking and
 * close-on-exec.
 */
enum ux_code ux_listen_adopt(int fd, char *address, size_t size, struct ux_error *err) ux_must;

/*
 * Accepts connections on a thread of its own. The threads that serve them accept one in each turn
 * over all of their connections, so a few hundred busy ones keep a new one waiting for seconds.
 */
struct ux_acceptor;

struct ux_acceptor_user {
	/* tests whether connections have to wait in the socket's queue for now */
	bool (*is_full)(void *ctx);
	/* takes ownership of the connection, which is non-blocking and close-on-exec */
	void (*take)(void *ctx, int fd, const struct sockaddr *from, socklen_t size);
	void *ctx;
};

/* Takes ownership of the listening socket, if it succeeds. */
enum ux_code ux_acceptor_open(struct ux_acceptor **ret, int fd, const struct ux_acceptor_user *user,
			      struct ux_error *err) ux_must;

/* Ends the thread, then closes the listening socket. NULL is allowed. */
void ux_acceptor_close(struct ux_acceptor *a);

/* --- connections, and the limits on slow clients ---------------------------------------------- */

/*
 * All connections of one server, checked once a second. A connection whose client is too slow is
 * shut down; the owner of the socket then finds it closed.
 *
 * A client that sends a byte now and then is never idle, so the totals are checked. The headers of
 * a request must be complete idle_seconds after the previous request. Bodies and answers must move
 * at rate_bytes a second in each window of idle_seconds: earlier speed does not count. Time in
 * which the server itself does not read or write is not held against the client.
 *
 * While nearly all connections are in use, connections without a request are closed after two
 * seconds, and bodies and answers must move at 4 KiB a second, measured over some seconds. While a
 * quarter of the memory for requests is used, connections that hold some of it must move at 32 KiB
 * a second, measured over some seconds.
 */
struct ux_connections;
struct ux_connection;

enum ux_connection_phase {
	UX_CONNECTION_WAITING, /* waits for the headers of a request */
	UX_CONNECTION_BODY,    /* receives the body of a request */
	UX_CONNECTION_WORK,    /* the server is working: no limit on the client */
	UX_CONNECTION_ANSWER,  /* sends the answer */
};

/* memory, which may be NULL, and the timers must outlive the connections. */
enum ux_code ux_connections_open(struct ux_connections **ret, const struct ux_http_limits *limits,
				 const struct ux_http_memory *memory, struct ux_timers *timers,
				 struct ux_error *err) ux_must;

/* NULL is allowed. All connections must have been removed before. */
void ux_connections_close(struct ux_connections *c);

/*
 * Tests whether another connection from this host may be accepted. False if it already has
 * address_connections. Connections from this machine are always accepted.
 */
bool ux_connections_allow(struct ux_connections *c, const struct ux_address *from);

/* Tests whether there are as many connections as the limits allow. */
bool ux_connections_are_full(struct ux_connections *c);

/*
 * Counts a connection that was accepted, until it is added. If it never is, it is counted for some
 * seconds.
 */
void ux_connections_expect(struct ux_connections *c, int fd, const struct ux_address *from);

/*
 * Adds a connection, which may be expected. NULL when memory is short: then the connection is never
 * shut down for slowness. The socket must stay open until it is removed.
 */
struct ux_connection *ux_connections_add(struct ux_connections *c, int fd,
					 const struct ux_address *from);

/* NULL is allowed here and below. */
void ux_connections_remove(struct ux_connections *c, struct ux_connection *one);

/* Sets the phase. Called by the thread that serves the connection. */
void ux_connection_enter(struct ux_connection *one, enum ux_connection_phase phase);

/* Counts received bytes of the body. */
void ux_connection_moved(struct ux_connection *one, size_t bytes);

/* Notes that a thread begins or ends work on the connection. */
void ux_connection_busy(struct ux_connection *one, bool busy);

/*
 * Returns the milliseconds for which a thread has been busy with one connection: the longest of
 * all.
 */
int64_t ux_connections_busy_ms(struct ux_connections *c);

/* Returns the milliseconds since the last check of all connections; usually at most a second. */
int64_t ux_connections_unchecked_ms(const struct ux_connections *c);

/* Sets the bytes of memory that the request holds: see ux_request_hold(). */
void ux_connection_holds(struct ux_connection *one, size_t bytes);

/* Returns the number of connections that were shut down so far. */
uint64_t ux_connections_cut(const struct ux_connections *c);

/*
 * The rules as pure functions: tests whether the client is too slow. For bodies and answers,
 * elapsed_ms and moved are of the current window. crowded: nearly all connections are in use.
 */
bool ux_connection_is_slow(const struct ux_http_limits *limits, enum ux_connection_phase phase,
			   int64_t elapsed_ms, uint64_t moved, bool crowded);

/*
 * The rule while something is short. rate: bytes a second at which a body or an answer then has to
 * move; 0: nothing is short.
 */
bool ux_connection_is_a_burden(enum ux_connection_phase phase, int64_t elapsed_ms, uint64_t moved,
			       unsigned rate);

#endif
