/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a server lets in, and how much of it they may take: what its owner decides. */
#ifndef UX_ACCESS_H
#define UX_ACCESS_H

#include "address.h"
#include "rate.h"

/* Immutable: see ux_server.access. */
struct ux_access {
	struct ux_networks proxies; /* that are believed about who asks */
	/* Sites whose pages may read: where reading is open, all may; with a key, and where it is
	 * open to this machine alone, those of this list, "https://profiler.firefox.com"; "*" is
	 * any. */
	const char *const *origins;
	size_t n_origins;
	struct ux_rate key_rate; /* of requests; a key may have its own */
	struct ux_rate address_rate;
	unsigned wait_most_ms; /* for clients that wait rather than hear that they are many */
	uint64_t uploads_key;  /* announced in the last hour and not ended; 0: any number */
	uint64_t uploads_all;
	uint64_t upload_bytes_key; /* of those; 0: any number */
	uint64_t upload_bytes_all;
};

extern const struct ux_access ux_access_default;

enum {
	UX_UPLOAD_FRESH_S = 3600 /* then an upload that nobody ended counts no more */
};

#endif
