/* SPDX-License-Identifier: Apache-2.0 */
/* The form that asks for a token. */
#ifndef UX_SIGN_IN_H
#define UX_SIGN_IN_H

#include "out.h"

/* next: path of this server where the browser goes then. */
void ux_sign_in_form(struct ux_out *out, struct ux_bytes next);

#endif
