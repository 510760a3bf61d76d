/* SPDX-License-Identifier: Apache-2.0 */
/* Passes messages of OTLP profiles on to the next receiver. */
#ifndef UX_FORWARDER_H
#define UX_FORWARDER_H

#include "error.h"
#include "out.h"

struct ux_forwarder;

/* Logs an event: "forward_failed", "forward_refused", "forward_again". */
typedef void ux_forward_log_fn(void *ctx, const char *level, const char *event, const char *text);

struct ux_forward_options {
	/* target; a URL without a path gets /v1development/profiles */
	const char *url;
	const char *header_file; /* a file with one request header a line; NULL: none */
	const char *cafile;      /* PEM file of trusted roots; NULL: the system's */
	const char *dir;         /* folder of the queue */
	uint64_t bytes_max;      /* bytes of the queue */
	unsigned connections;    /* connections to the receiver: the number of lanes */
	ux_forward_log_fn *log;  /* called by the forwarder's threads; NULL: none */
	void *log_ctx;
};

/* Checks the URL and the file of headers. UX_EINVAL, UX_EIO. */
enum ux_code ux_forward_check(const struct ux_forward_options *options, struct ux_error *err)
	ux_must;

/*
 * Opens the queue and starts to send its messages, the messages of one sender in order. A message
 * is sent again until the receiver accepts it (2xx) or refuses it for its content. Answers 429,
 * 502, 503 and 504, and no answer, are retried after Retry-After, or after 1 s, then up to 30 s.
 * After 401, 403 and 404 it waits for 30 s: the receiver would accept no message. The options are
 * copied. Codes of ux_forward_check() and ux_disk_queue_open().
 */
enum ux_code ux_forwarder_open(struct ux_forwarder **ret, const struct ux_forward_options *options,
			       struct ux_error *err) ux_must;

/* Stops sending and closes the queue; its messages stay on disk. NULL is allowed. */
void ux_forwarder_close(struct ux_forwarder *f);

/* Returns whether there is room for more. A hint: it saves work on a message that would be refused.
 */
bool ux_forwarder_has_room(struct ux_forwarder *f);

/*
 * Compresses a message and adds it to the queue, after earlier messages of the same sender. It is
 * durable when this returns. Codes of ux_disk_queue_add(). Any thread.
 */
enum ux_code ux_forwarder_add(struct ux_forwarder *f, uint64_t sender, struct ux_bytes message,
			      struct ux_error *err) ux_must;

/* Writes the forwarder's metrics in the text format of Prometheus. Any thread. */
void ux_forwarder_metrics(struct ux_forwarder *f, struct ux_out *out);

#endif
