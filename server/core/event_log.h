/* SPDX-License-Identifier: Apache-2.0 */
/* One line per event on stderr: key=value, or an object of JSON. */
#ifndef UX_EVENT_LOG_H
#define UX_EVENT_LOG_H

#include "bytes.h"
#include "settings.h"

/* For the whole process; text and info before. Any thread. */
void ux_log_configure(enum ux_log_format format, enum ux_log_level level);

/*
 * level ("error", "warning", "info", "debug") and event are words; what follows is text,
 * "key=value key=value": a value is a word without blanks, or what ux_log_quote() made. An object
 * of JSON is written from the same text. Whatever looks like a token of ours is cut to "ux_…", and
 * bytes that are not text become '?': no value can begin a line. Any thread.
 */
void ux_log_line(const char *level, const char *event, const char *fmt, ...) ux_printf(3, 4);

/* The same with the text complete. */
void ux_log_text(const char *level, const char *event, struct ux_bytes text);

/* s in quotes, escaped as JSON, cut to fit with "..." behind the quotes; returns buf. The one place
 * where untrusted text becomes part of a line. size: at least 8. */
const char *ux_log_quote(struct ux_bytes s, char *buf, size_t size);

/* Writes text to out with each token of ours in it cut to "ux_…". */
void ux_log_redact(struct ux_bytes text, struct ux_out *out);

#endif
