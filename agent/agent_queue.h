/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols that wait on disk while the server is away. */
#ifndef UX_AGENT_QUEUE_H
#define UX_AGENT_QUEUE_H

#include "disk_queue.h"
#include "id.h"
#include "out.h"
#include "push_module.h"
#include "unhex/quality.h"

enum {
	UX_AGENT_PATH_MAX = 4096, /* maximum bytes of a module's path in a message */
};

/* A message of the queue: the symbols of one module in the form in which they are uploaded. */
struct ux_agent_message {
	struct ux_id_set ids;
	enum ux_quality quality;
	struct ux_push_origin origin; /* of a message of unhex 0.1: a file that users can change */
	struct ux_bytes path;         /* path under which the server lists the module */
	struct ux_bytes gsym;
};

/*
 * Writes the head of a message, which precedes the symbols, for ux_disk_queue_add(). A path over
 * UX_AGENT_PATH_MAX is cut.
 */
void ux_agent_message_write_head(struct ux_out *out, const struct ux_agent_message *m);

/*
 * Reads a message; path and gsym point into the bytes. The symbols are not read. UX_ECORRUPT.
 * UX_EUNSUPPORTED: another version wrote it.
 */
enum ux_code ux_agent_message_parse(struct ux_bytes bytes, struct ux_agent_message *ret,
				    struct ux_error *err) ux_must;

#endif
