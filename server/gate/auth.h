/* SPDX-License-Identifier: Apache-2.0 */
/* Who may do what. */
#ifndef UX_AUTH_H
#define UX_AUTH_H

#include "server.h"

/*
 * Finds out who asks, and refuses what they may not or may not yet; struct ux_http_app says when.
 * With local_only, who has no key must have asked for "localhost" or an address, and not through a
 * proxy: a web page can make a name of its own point to this machine and then read what is answered
 * under it (DNS rebinding), but that name stays in the Host line.
 */
ux_handler_fn ux_server_gate;

/* To whom the namespace of this request is open; one whose caller is not known, to nobody. */
enum ux_code ux_server_openness(struct ux_request *req, enum ux_openness *ret) ux_must;

#endif
