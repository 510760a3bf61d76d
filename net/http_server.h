/* SPDX-License-Identifier: Apache-2.0 */
/* The listening side: sockets and threads around a program's exchanges. */
#ifndef UX_HTTP_SERVER_H
#define UX_HTTP_SERVER_H

#include "exchange.h"

struct ux_http_server;

/*
 * Listens on "HOST:PORT" ([::1]:80 for IPv6; port 0 takes a free one) and serves app, which must
 * outlive the server, on threads of its own. UX_EINVAL: an address that makes no sense;
 * UX_EUNAVAILABLE: the address is taken or not ours.
 */
enum ux_code ux_http_server_open(struct ux_http_server **ret, const char *listen,
				 const struct ux_http_app *app, struct ux_error *err) ux_must;

/* "127.0.0.1:8420": where it really listens. Lives as long as the server. */
const char *ux_http_server_address(const struct ux_http_server *s);

/* What ux_http_server_open() would refuse with UX_EINVAL, before anything else is begun. */
enum ux_code ux_http_listen_check(const char *listen, struct ux_error *err) ux_must;

/* True when "HOST:PORT" names a loopback address, so that only this machine can connect. */
bool ux_http_is_loopback(const char *listen);

/* Takes no new connections, lets requests in flight end (stop_seconds), then frees. NULL is fine.
 */
void ux_http_server_close(struct ux_http_server *s);

#endif
