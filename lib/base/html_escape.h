/* SPDX-License-Identifier: Apache-2.0 */
/* Text in HTML and XML. */
#ifndef UX_HTML_ESCAPE_H
#define UX_HTML_ESCAPE_H

#include "bytes.h"
#include "out.h"

/*
 * Appends text so that it is safe between tags and inside double quotes. Replaced by U+FFFD are:
 * bytes that are not UTF-8, control characters except newline and tab (a CR before a newline is
 * dropped), and characters that change the text direction, so that a name cannot be made to look
 * like another one.
 */
void ux_html_escape(struct ux_out *out, struct ux_bytes text);

#endif
