/* SPDX-License-Identifier: Apache-2.0 */
/* What all parts of the index share. */
#ifndef UX_INDEX_BASE_H
#define UX_INDEX_BASE_H

#include "arena.h"
#include "blobs.h"
#include "bytes.h"
#include "error.h"
#include "unhex/quality.h"

enum {
	UX_INDEX_VERSION = 2,
	UX_INDEX_IDS_MOST = 16,     /* IDs of one upload */
	UX_INDEX_ID_BYTES = 256,    /* text of one ID */
	UX_INDEX_TEXT_BYTES = 1024, /* description, file name, reason */
	UX_INDEX_NS_BYTES = 64,     /* name of a namespace */
	UX_INDEX_CANDIDATES_MOST =
		4096, /* of one module: a program has as many .dwo files as units */
};

#define UX_NAMESPACE_DEFAULT "default"

/* Seconds since 1970. Which clock is the caller's to say; see store_clock.h for the server's. */
typedef int64_t ux_time;

struct ux_index;

/* Who writes, for the audit (index_audit.h). Strings, never NULL. */
struct ux_who {
	const char *key_id; /* "" without a key */
	const char *from;   /* address of the client, or "cli", "server" */
};

#endif
