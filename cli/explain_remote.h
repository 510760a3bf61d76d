/* SPDX-License-Identifier: Apache-2.0 */
/* What a server says of a module that it has, or has not. */
#ifndef UX_EXPLAIN_REMOTE_H
#define UX_EXPLAIN_REMOTE_H

#include "out.h"
#include "server_options.h"

/*
 * GET /v1/explain: appends to out, as text or as one object of JSON a line, what the server says of
 * the ID, and of each pc. *ret_found: it answers for the module, and for each of the pcs. Codes as
 * of ux_http_client_call() and ux_server_answer().
 */
enum ux_code ux_explain_remote(const struct ux_server_choice *server, const char *id,
			       const uint64_t *pcs, size_t n, bool json, struct ux_out *out,
			       bool *ret_found, struct ux_error *err) ux_must;

#endif
