/* SPDX-License-Identifier: Apache-2.0 */
/* The log: one line for each event on stderr, as key=value or as a JSON object. */
#ifndef UX_EVENT_LOG_H
#define UX_EVENT_LOG_H

#include "bytes.h"
#include "settings.h"

/* Settings of the whole process; before the call they are text and info. Any thread. */
void ux_log_configure(enum ux_log_format format, enum ux_log_level level);

/*
 * Writes an event. level ("error", "warning", "info", "debug") and event are words. The formatted
 * text is "key=value key=value", where a value is a word without spaces or the result of
 * ux_log_quote(). The JSON object is made from the same text. Anything that looks like an unhex
 * token is shortened to "ux_…", and bytes that are not text become '?', so that no value can begin
 * a new line. Any thread.
 */
void ux_log_line(const char *level, const char *event, const char *fmt, ...) ux_printf(3, 4);

/* Like ux_log_line(), with text that is already formatted. */
void ux_log_text(const char *level, const char *event, struct ux_bytes text);

/*
 * Returns buf with s in quotes, escaped as in JSON, and truncated to fit with "..." after the
 * closing quote. All untrusted text in the log must pass through this function. size: at least 8.
 */
const char *ux_log_quote(struct ux_bytes s, char *buf, size_t size);

/* Writes text to out, with each unhex token shortened to "ux_…". */
void ux_log_redact(struct ux_bytes text, struct ux_out *out);

#endif
