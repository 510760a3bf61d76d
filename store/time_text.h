/* SPDX-License-Identifier: Apache-2.0 */
/* Times as people and programs read them. */
#ifndef UX_TIME_TEXT_H
#define UX_TIME_TEXT_H

#include "index.h"

enum {
	UX_TIME_TEXT = 32 /* bytes of a time's text, with the NUL */
};

/* "2026-08-21T10:00:00Z" (RFC 3339), "unknown" for a time that no calendar has; returns text. */
const char *ux_time_text(ux_time t, char text[UX_TIME_TEXT]);

#endif
