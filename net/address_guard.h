/* SPDX-License-Identifier: Apache-2.0 */
/* Which addresses a server may be talked into connecting to. */
#ifndef UX_ADDRESS_GUARD_H
#define UX_ADDRESS_GUARD_H

#include "base.h"

#include <sys/socket.h>

enum ux_address_kind {
	UX_ADDRESS_PUBLIC,
	UX_ADDRESS_PRIVATE, /* of this machine, or of a network that is not everybody's */
	UX_ADDRESS_NEVER,   /* link-local (clouds keep their keys there), multicast, no address */
};

/*
 * By the registries of special addresses (IANA; RFC 6890 and those after it). An IPv6 address that
 * carries one of IPv4 (mapped, NAT64, 6to4, Teredo) is what that one is, if that is worse. Another
 * family than the two is UX_ADDRESS_NEVER.
 */
enum ux_address_kind ux_address_kind(const struct sockaddr *address, socklen_t size);

#endif
