/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The mirrors from which a worker may fetch. The packages of a crawl are announced by whoever has a
 * key, and a worker opens their URLs on its machine and in its network: only the operator's list
 * decides where that may be.
 */
#ifndef UX_MIRRORS_H
#define UX_MIRRORS_H

#include "error.h"
#include "http_client.h"

struct ux_mirror {
	const char *url; /* as ux_repo_url_check() allows: a URL or a folder */
	/* the operator named it, so its host may have an address of a private network */
	bool own_network;
};

struct ux_mirrors {
	const struct ux_mirror *items;
	size_t n;
};

/*
 * Checks that a URL or path lies below a mirror (url.h), without opening anything. UX_EDENIED: it
 * does not. m NULL: everything is allowed.
 */
enum ux_code ux_mirrors_check(const struct ux_mirrors *m, const char *url, struct ux_error *err)
	ux_must;

/*
 * Returns which addresses the host of a URL may have: private ones only if own_network is set, and
 * never a link-local one. Where a proxy connects, the option's or the environment's, its rules
 * decide.
 */
enum ux_http_reach ux_mirrors_reach(const struct ux_mirrors *m, const char *origin, bool proxy)
	ux_must;

#endif
