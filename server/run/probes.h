/* SPDX-License-Identifier: Apache-2.0 */
/* Answers to probes: /healthz and /readyz, and a listener for nothing else. */
#ifndef UX_PROBES_H
#define UX_PROBES_H

#include "server.h"

enum {
	/* connections of the listener, each a file descriptor */
	UX_PROBES_CONNECTIONS = 64,
	UX_PROBES_DESCRIPTORS = UX_PROBES_CONNECTIONS + 8,
};

ux_handler_fn ux_handle_health, ux_handle_ready;

/*
 * A listener with a thread of its own that answers only probes. It takes no lock that is held over
 * work, and neither logs nor counts its requests, so nothing that clients do at the other listener
 * delays it.
 */
struct ux_probes;

/* seed: as in struct ux_http_app. The codes of ux_http_server_open(). */
enum ux_code ux_probes_open(struct ux_probes **ret, struct ux_server *s, const char *listen,
			    uint64_t seed, struct ux_error *err) ux_must;
/* NULL is allowed. */
void ux_probes_close(struct ux_probes *p);

/* The address that it listens on; valid as long as it is open. */
const char *ux_probes_address(const struct ux_probes *p);

#endif
