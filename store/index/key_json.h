/* SPDX-License-Identifier: Apache-2.0 */
/* Keys as JSON, in the form that the command and the server print. */
#ifndef UX_KEY_JSON_H
#define UX_KEY_JSON_H

#include "json_out.h"
#include "keys.h"

/* Writes the member "scopes", an array of names. */
void ux_json_scopes(struct ux_json *j, unsigned scopes);

/* Writes the key as an object. token: a new one, which is shown only this once; NULL: omitted. */
void ux_json_api_key(struct ux_json *j, const struct ux_key *key, const char *token);

#endif
