/* SPDX-License-Identifier: Apache-2.0 */
/* Who asks through proxies. */
#ifndef UX_FORWARDED_H
#define UX_FORWARDED_H

#include "address.h"
#include "http.h"

struct ux_forwarded {
	struct ux_address client; /* the peer, or whom trusted proxies name */
	bool proxied;             /* somebody says that the request came through a proxy */
	bool https;               /* a trusted proxy says that it came encrypted */
};

/*
 * Reads X-Forwarded-For, X-Forwarded-Proto and Forwarded (RFC 7239) of a request whose peer is
 * trusted, from the right, as far as those who wrote them are trusted: the first address that is
 * not in the list is the client. What a client itself may have written counts for nothing. When
 * both headers are there and name different clients, one of them was passed on unseen: then the
 * peer is all that is known.
 */
struct ux_forwarded ux_forwarded_of(const struct ux_request *req,
				    const struct ux_networks *trusted);

#endif
