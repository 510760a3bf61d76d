/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing of an unhex server's answers. */
#ifndef UX_SERVER_ANSWER_H
#define UX_SERVER_ANSWER_H

#include "error.h"
#include "http_client.h"

#include <jansson.h>

/*
 * Returns the document of a 2xx answer, which the caller releases with json_decref(). Otherwise
 * returns the server's error, with its message in err: UX_EDENIED for 401 and 403, UX_ENOTFOUND for
 * 404, UX_ECONFLICT for 409, UX_ELIMIT for 413, UX_EUNAVAILABLE for 408, 429, 500, 502, 503 and
 * 504, UX_EIO for other 5xx, UX_EINVAL for other 4xx, UX_EUNSUPPORTED for a redirect and for a body
 * that is not JSON.
 */
enum ux_code ux_server_answer(const struct ux_http_answer *answer, json_t **ret,
			      struct ux_error *err) ux_must;

/* Appends a document as one line. UX_ENOMEM. */
enum ux_code ux_server_answer_line(const json_t *doc, struct ux_out *out, struct ux_error *err)
	ux_must;

/* The code in the error document ("better_there", ...); "" when there is none. */
void ux_server_error_word(const struct ux_http_answer *answer, char *word, size_t size);

#endif
