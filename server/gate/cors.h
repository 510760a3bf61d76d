/* SPDX-License-Identifier: Apache-2.0 */
/* What pages of other sites may read (the Fetch standard, "CORS protocol"). */
#ifndef UX_CORS_H
#define UX_CORS_H

#include "server.h"

/*
 * Lets the page that asks see the answer: any page where everybody may read, those of the listed
 * sites elsewhere; of routes that only read. Never with the browser's own credentials. Once a
 * request, when its caller is known.
 */
void ux_cors_answer(struct ux_request *req, struct ux_response *res);

/* The same before a page asks: see struct ux_http_app. */
ux_handler_fn ux_server_options;

#endif
