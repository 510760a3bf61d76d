/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of a server: their IDs, which may be abbreviated, and their text. */
#ifndef UX_REMOTE_MODULES_H
#define UX_REMOTE_MODULES_H

#include "error.h"
#include "id.h"
#include "out.h"

struct ux_http_client;
struct json_t; /* of jansson */

/* Returns whether the text may be an ID or the beginning of one (id_prefix.h). Without its type, a
 * GNU build ID of one byte is too short. */
bool ux_remote_id_is(const char *text);

/* Returns whether the text has fewer hexadecimal digits than the beginning of an ID. The error then
 * says that it is neither a file nor an ID. */
bool ux_remote_id_is_short(const char *text, struct ux_error *err);

/*
 * Writes the ID that `text` names to ret (UX_ID_TEXT bytes): a whole ID unchanged, without a
 * request; an abbreviated one completed, if only one module of the server matches. A well-formed ID
 * that the server does not have stays unchanged: a server may fetch it. UX_ECONFLICT: several
 * modules match; they were printed to stderr. UX_ENOTFOUND: none matches. UX_EINVAL, UX_ELIMIT: the
 * text is not the beginning of an ID. Other codes of ux_http_client_call() and ux_server_answer().
 */
enum ux_code ux_remote_id_resolve(struct ux_http_client *client, const char *text, char *ret,
				  struct ux_error *err) ux_must;

/* Writes one line: ID, quality, time of the last change, file, "pinned". `module` is an object of
 * GET /v1/modules. */
void ux_module_line(struct ux_out *out, const struct json_t *module);

/* Writes everything that GET /v1/modules/{id} returns. */
void ux_module_text(struct ux_out *out, const struct json_t *module);

#endif
