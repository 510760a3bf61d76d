/* SPDX-License-Identifier: Apache-2.0 */
/* Modules of a server, as text. */
#ifndef UX_MODULES_OUT_H
#define UX_MODULES_OUT_H

#include "out.h"

struct json_t; /* of jansson */

/* Writes one line: ID, quality, time of the last change, file, "pinned". `module` is an object of
 * GET /v1/modules. */
void ux_module_line(struct ux_out *out, const struct json_t *module);

/* Writes all that GET /v1/modules/{id} tells. */
void ux_module_text(struct ux_out *out, const struct json_t *module);

#endif
