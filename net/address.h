/* SPDX-License-Identifier: Apache-2.0 */
/* Addresses of the Internet, lists of networks, and which of them are public. */
#ifndef UX_ADDRESS_H
#define UX_ADDRESS_H

#include "bytes.h"
#include "error.h"

struct sockaddr;

enum {
	UX_ADDRESS_TEXT = 48,  /* room for any, with its NUL */
	UX_NETWORKS_MOST = 64, /* of one list */
};

/* IPv4 as ::ffff:a.b.c.d. All zero and not known: of a Unix socket, or no address. */
struct ux_address {
	uint8_t bytes[16];
	bool known;
};

struct ux_network {
	uint8_t bytes[16];
	unsigned bits; /* that count, of 128 */
};

struct ux_networks {
	struct ux_network items[UX_NETWORKS_MOST];
	size_t n;
	bool local_sockets; /* "unix": peers without an address */
};

/* Of a connection; not known for other families. */
struct ux_address ux_address_of(const struct sockaddr *sa);

/* "192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]:80". */
bool ux_address_parse(struct ux_bytes text, struct ux_address *ret) ux_must;

/* text has room for UX_ADDRESS_TEXT; "local" when it is not known. Returns text. */
const char *ux_address_text(const struct ux_address *a, char *text);

bool ux_address_is_loopback(const struct ux_address *a);

/* "10.0.0.0/8", "2001:db8::/32", "192.0.2.7", "unix". UX_EINVAL: it makes no sense. UX_ELIMIT:
 * there are too many. */
enum ux_code ux_networks_add(struct ux_networks *list, const char *text, struct ux_error *err)
	ux_must;

bool ux_networks_have(const struct ux_networks *list, const struct ux_address *a);

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
enum ux_address_kind ux_address_kind(const struct sockaddr *address, unsigned size);

#endif
