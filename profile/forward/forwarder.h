/* SPDX-License-Identifier: Apache-2.0 */
/* Passes messages of OTLP profiles on to the next receiver. */
#ifndef UX_FORWARDER_H
#define UX_FORWARDER_H

#include "error.h"
#include "out.h"

struct ux_forwarder;

/* An event, for the log of the program: "forward_failed", "forward_refused", "forward_again". */
typedef void ux_forward_log_fn(void *ctx, const char *level, const char *event, const char *text);

struct ux_forward_options {
	/* where to: a URL without a path gets /v1development/profiles */
	const char *url;
	const char *header_file; /* its lines are headers to send along; NULL: none */
	const char *cafile;      /* PEM file of trusted roots; NULL: the system's */
	const char *dir;         /* folder of the queue */
	uint64_t bytes_max;      /* of the queue */
	unsigned connections;    /* to the receiver: the number of lanes */
	ux_forward_log_fn *log;  /* called by the forwarder's threads; NULL: none */
	void *log_ctx;
};

/* Checks the URL and the file of headers. UX_EINVAL, UX_EIO. */
enum ux_code ux_forward_check(const struct ux_forward_options *options, struct ux_error *err)
	ux_must;

/*
 * Opens the queue, and begins to send what is in it: messages of one sender one after the other, in
 * order. A message is sent again until it was taken (2xx), or refused for what it is. Answers 429,
 * 502, 503 and 504, and no answer, are tried again after Retry-After, or after 1 s, then up to 30
 * s. After 401, 403 and 404 it waits for 30 s: no message would be taken. The options are copied.
 * Codes of ux_forward_check() and ux_disk_queue_open().
 */
enum ux_code ux_forwarder_open(struct ux_forwarder **ret, const struct ux_forward_options *options,
			       struct ux_error *err) ux_must;

/* Stops sending and closes the queue, whose messages stay on disk. NULL is allowed. */
void ux_forwarder_close(struct ux_forwarder *f);

/* Is there room for more? A hint, so that work is not done for a message that is refused then. */
bool ux_forwarder_has_room(struct ux_forwarder *f);

/*
 * Compresses a message and adds it to the queue, behind those of the same sender. It is durable
 * when this returns. Codes of ux_disk_queue_add(). Any thread.
 */
enum ux_code ux_forwarder_add(struct ux_forwarder *f, uint64_t sender, struct ux_bytes message,
			      struct ux_error *err) ux_must;

/* Writes the forwarder's metrics in the text format of Prometheus. Any thread. */
void ux_forwarder_metrics(struct ux_forwarder *f, struct ux_out *out);

#endif
