/* SPDX-License-Identifier: Apache-2.0 */
/* Which URLs and paths lie below a place that the operator has named. */
#ifndef UX_URL_H
#define UX_URL_H

#include "base.h"

/*
 * Tests whether a URL lies below a base: both http or https with the same scheme, host and port, or
 * both absolute paths, with or without file://. Returns the rest of the URL: "", or from the slash
 * on; NULL: it lies elsewhere.
 *
 * A URL from outside may lead to another place than its text says, so these lie nowhere: a URL with
 * a user name, a path with "." or "..", also as %2e, an escaped slash, backslash or NUL. A query is
 * part of the rest.
 */
const char *ux_url_below(const char *url, const char *base) ux_must;

#endif
