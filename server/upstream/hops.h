/* SPDX-License-Identifier: Apache-2.0 */
/* Which servers a question has passed, so that it comes to none twice. */
#ifndef UX_HOPS_H
#define UX_HOPS_H

#include "bytes.h"

#define UX_HOPS_HEADER "X-Unhex-Via"

enum {
	UX_HOPS_MOST = 8,     /* servers that one question may pass */
	UX_SERVER_ID = 16 + 1 /* hex digits that name a running server, and a NUL */
};

/* Server IDs, oldest first. */
struct ux_hops {
	char via[UX_HOPS_MOST][UX_SERVER_ID];
	unsigned n;
	unsigned forwarded; /* hops that X-Forwarded-For has */
};

/* Header lines of a request; empty when they are not there. */
struct ux_hops_lines {
	struct ux_bytes via;       /* X-Unhex-Via: ID, ID */
	struct ux_bytes forwarded; /* X-Forwarded-For: debuginfod's servers count these */
	struct ux_bytes agent;     /* User-Agent: debuginfod's servers hand on the asker's */
};

/*
 * False: the question was here already, or came a long way, or its list makes no sense: what is
 * here is the answer, and nobody else is asked. own: this server's ID.
 */
bool ux_hops_read(const struct ux_hops_lines *lines, const char *own, struct ux_hops *ret) ux_must;

enum {
	UX_HOPS_TEXT = 256 /* bytes of each line below */
};

/* What this server sends: "X-Unhex-Via: ...", "X-Forwarded-For: unknown, ..." (whose addresses
 * those were is nobody's business), "unhex/VERSION (via ID)" for User-Agent. */
struct ux_hops_sent {
	char via[UX_HOPS_TEXT];
	char forwarded[UX_HOPS_TEXT];
	char agent[UX_HOPS_TEXT];
};

void ux_hops_write(const struct ux_hops *hops, const char *own, struct ux_hops_sent *ret);

#endif
