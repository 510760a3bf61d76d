/* SPDX-License-Identifier: Apache-2.0 */
/* Internet addresses, lists of networks, and the classification of public and private addresses. */
#ifndef UX_ADDRESS_H
#define UX_ADDRESS_H

#include "bytes.h"
#include "error.h"

struct sockaddr;

enum {
	UX_ADDRESS_TEXT = 48, /* room for any address, with its NUL */
	UX_NETWORKS_MAX = 64, /* networks of one list */
};

/*
 * An IPv6 address; IPv4 is stored as ::ffff:a.b.c.d. For a Unix socket, or without an address, all
 * bytes are zero and known is false.
 */
struct ux_address {
	uint8_t bytes[16];
	bool known;
};

struct ux_network {
	uint8_t bytes[16];
	unsigned bits; /* prefix length, of 128 */
};

struct ux_networks {
	struct ux_network items[UX_NETWORKS_MAX];
	size_t n;
	bool local_sockets; /* "unix" is in the list: peers without an address match */
};

/* Returns the address of a connection; not known for other families. */
struct ux_address ux_address_of(const struct sockaddr *sa);

/* Parses "192.0.2.1", "192.0.2.1:80", "2001:db8::1", "[2001:db8::1]:80". */
bool ux_address_parse(struct ux_bytes text, struct ux_address *ret) ux_must;

/*
 * Formats an address; text has room for UX_ADDRESS_TEXT; "local" if the address is not known.
 * Returns text.
 */
const char *ux_address_text(const struct ux_address *a, char *text);

bool ux_address_is_loopback(const struct ux_address *a);

/*
 * Adds "10.0.0.0/8", "2001:db8::/32", "192.0.2.7" or "unix". UX_EINVAL: the text is malformed.
 * UX_ELIMIT: the list is full.
 */
enum ux_code ux_networks_add(struct ux_networks *list, const char *text, struct ux_error *err)
	ux_must;

bool ux_networks_have(const struct ux_networks *list, const struct ux_address *a);

enum ux_address_kind {
	UX_ADDRESS_PUBLIC,
	UX_ADDRESS_PRIVATE, /* an address of this machine or of a private network */
	/* link-local (clouds serve credentials there), multicast, or not an address */
	UX_ADDRESS_NEVER,
};

/*
 * Classifies an address by the IANA registries of special-purpose addresses (RFC 6890 and its
 * updates). An IPv6 address that embeds an IPv4 address (mapped, NAT64, 6to4, Teredo) is classified
 * by the IPv4 address if that is more restrictive. Other address families are UX_ADDRESS_NEVER.
 */
enum ux_address_kind ux_address_kind(const struct sockaddr *address, unsigned size);

#endif
