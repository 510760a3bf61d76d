/* SPDX-License-Identifier: Apache-2.0 */
/* Names from the store for the locations of an OTLP message. */
#ifndef UX_OTLP_SYMBOLIZE_H
#define UX_OTLP_SYMBOLIZE_H

#include "server.h"

/*
 * Appends the message with names from the modules of the caller's namespace. What cannot be named
 * is left as it is: a module that is missing is fetched from upstreams meanwhile, and known to the
 * next message; when the request's work is over its budget, the other locations stay without names.
 * UX_ECORRUPT: the message is malformed, with the offset. UX_EUNAVAILABLE: the request's deadline
 * has passed, or its client has left. UX_ELIMIT, UX_ENOMEM.
 */
enum ux_code ux_otlp_symbolize(struct ux_request *req, struct ux_bytes message, struct ux_out *out)
	ux_must;

#endif
