/* SPDX-License-Identifier: Apache-2.0 */
/* Private declarations of the agent: its state, and the way of a file to the server. */
#ifndef UX_AGENT_WORK_H
#define UX_AGENT_WORK_H

#include "agent.h"
#include "host_watch.h"
#include "push_work.h"

struct ux_agent {
	const struct ux_agent_options *o;
	struct ux_agent_summary *summary;
	struct ux_push_options push; /* o->push, completed */
	struct ux_push_work work;    /* client, children, counts */
	struct ux_host_watch watch;
	struct ux_mapped_files files; /* that were found and not sent yet */
	struct ux_push_by_id done;    /* IDs that need nothing more; the values have no meaning */
	bool away;                    /* the server could not be reached the last time */
};

/*
 * Identifies the files, queries the server about those that have an ID that is new, extracts and
 * sends those that it wants. Each file is read by a confined child. Takes the files that it has
 * dealt with out of a->files; after an error of the connection the others stay there. Codes: those
 * of ux_push_query().
 */
enum ux_code ux_agent_send(struct ux_agent *a, struct ux_error *err) ux_must;

#endif
