/* SPDX-License-Identifier: Apache-2.0 */
/* The faults of a server, and whether it should get requests in spite of them. */
#ifndef UX_READINESS_H
#define UX_READINESS_H

#include "server.h"

/* docs/fleet.md and docs/api/openapi.yaml have the same causes; tests compare them. */
enum ux_fault {
	UX_FAULT_STOPPING,
	UX_FAULT_STUCK,
	UX_FAULT_OUTDATED,
	UX_FAULT_INDEX,
	UX_FAULT_STALLED,
	UX_FAULT_DISK,
	UX_FAULT_CLOCK,
	UX_FAULT_DATABASE,
	UX_FAULT_BUCKET,
	UX_FAULT_DUPLICATE,
	UX_FAULTS
};

/* The state of a server at one moment. */
struct ux_ready_state {
	unsigned faults; /* a bit 1 << fault for each */
	bool others;     /* other nodes can answer instead */
	/* for UX_FAULT_STUCK, by ux_watch_is_fine() */
	const char *busy;
	int64_t busy_s;
};

/*
 * Looks once a second at what takes system calls, locks or the index, so that the thread that
 * answers probes does not have to. Logs each change of the faults.
 */
struct ux_readiness;

enum ux_code ux_readiness_open(struct ux_readiness **ret, struct ux_server *s, struct ux_error *err)
	ux_must;
/* NULL is allowed. */
void ux_readiness_close(struct ux_readiness *r);

/*
 * Returns the state. With s->readiness it takes no lock that is held over work. Without, for tests,
 * it looks at everything itself. Any thread.
 */
struct ux_ready_state ux_ready_state_of(struct ux_server *s);

/*
 * Tests whether the server should get no requests. A fault that the nodes of a fleet share is no
 * reason: the others do no better. A fault of this node is one, unless it can still answer and no
 * other node is there to answer instead.
 */
bool ux_ready_state_refuses(const struct ux_ready_state *state);

/* Writes the document of /readyz. */
void ux_ready_state_write(const struct ux_ready_state *state, struct ux_out *out);

#endif
