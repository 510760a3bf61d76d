/* SPDX-License-Identifier: Apache-2.0 */
/* The listening side: sockets and threads around a program's exchanges. */
#ifndef UX_HTTP_SERVER_H
#define UX_HTTP_SERVER_H

#include "exchange.h"

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

#endif
