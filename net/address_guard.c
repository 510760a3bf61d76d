/* SPDX-License-Identifier: Apache-2.0 */
/* The ranges of addresses that are not everybody's. */
#include "address_guard.h"

#include <arpa/inet.h>
#include <netinet/in.h>

struct range4 {
	uint32_t first;
	unsigned bits; /* of the prefix */
	enum ux_address_kind kind;
};

static const struct range4 ranges4[] = {
	{0x00000000, 8, UX_ADDRESS_NEVER},    /* 0.0.0.0: this host, to many systems */
	{0x0a000000, 8, UX_ADDRESS_PRIVATE},  /* 10.0.0.0 */
	{0x64400000, 10, UX_ADDRESS_PRIVATE}, /* 100.64.0.0: of a carrier */
	{0x7f000000, 8, UX_ADDRESS_PRIVATE},  /* 127.0.0.0: loopback */
	{0xa9fe0000, 16, UX_ADDRESS_NEVER},   /* 169.254.0.0: link-local */
	{0xac100000, 12, UX_ADDRESS_PRIVATE}, /* 172.16.0.0 */
	{0xc0000000, 24, UX_ADDRESS_PRIVATE}, /* 192.0.0.0: protocol assignments */
	{0xc0000200, 24, UX_ADDRESS_PRIVATE}, /* 192.0.2.0: documentation */
	{0xc0a80000, 16, UX_ADDRESS_PRIVATE}, /* 192.168.0.0 */
	{0xc6120000, 15, UX_ADDRESS_PRIVATE}, /* 198.18.0.0: benchmarks */
	{0xc6336400, 24, UX_ADDRESS_PRIVATE}, /* 198.51.100.0: documentation */
	{0xcb007100, 24, UX_ADDRESS_PRIVATE}, /* 203.0.113.0: documentation */
	{0xe0000000, 4, UX_ADDRESS_NEVER},    /* 224.0.0.0: multicast */
	{0xf0000000, 4, UX_ADDRESS_NEVER},    /* 240.0.0.0: reserved; broadcast */
};

struct range6 {
	uint8_t first[16];
	unsigned bits;
	enum ux_address_kind kind;
};

static const struct range6 ranges6[] = {
	{{0xfe, 0x80}, 10, UX_ADDRESS_NEVER},                     /* link-local */
	{{0xff}, 8, UX_ADDRESS_NEVER},                            /* multicast */
	{{0xfc}, 7, UX_ADDRESS_PRIVATE},                          /* unique local */
	{{0xfe, 0xc0}, 10, UX_ADDRESS_PRIVATE},                   /* site-local */
	{{0x01}, 64, UX_ADDRESS_NEVER},                           /* 100::, discarded */
	{{0x00, 0x64, 0xff, 0x9b, 0, 1}, 48, UX_ADDRESS_PRIVATE}, /* NAT64 of a network's own */
	{{0x20, 0x01, 0x0d, 0xb8}, 32, UX_ADDRESS_PRIVATE},       /* documentation */
};

/* Where an IPv6 address of some kind carries one of IPv4. */
static const struct carrier {
	uint8_t first[16];
	unsigned bits;
	unsigned at;    /* byte of the address */
	uint8_t invert; /* Teredo's is stored inverted */
} carriers[] = {
	{{[10] = 0xff, 0xff}, 96, 12, 0},                /* mapped */
	{{0}, 96, 12, 0},                                /* compatible; ::1 and :: too */
	{{0x00, 0x64, 0xff, 0x9b}, 96, 12, 0},           /* NAT64 */
	{{0x20, 0x02}, 16, 2, 0},                        /* 6to4 */
	{{0x20, 0x01, 0x00, 0x00}, 32, 12, UINT8_C(255)} /* Teredo */
};

static enum ux_address_kind kind4(uint32_t address)
{
	for (size_t i = 0; i < ux_countof(ranges4); i++)
		if ((address ^ ranges4[i].first) >> (32 - ranges4[i].bits) == 0)
			return ranges4[i].kind;
	return UX_ADDRESS_PUBLIC;
}

static bool begins(const uint8_t *address, const uint8_t *first, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;
	return memcmp(address, first, whole) == 0 &&
	       (rest == 0 || (address[whole] ^ first[whole]) >> (8 - rest) == 0);
}

static enum ux_address_kind kind6(const uint8_t *address)
{
	static const uint8_t loopback[16] = {[15] = 1};
	enum ux_address_kind kind = UX_ADDRESS_PUBLIC;
	if (memcmp(address, loopback, sizeof(loopback)) == 0)
		return UX_ADDRESS_PRIVATE;
	for (size_t i = 0; i < ux_countof(ranges6); i++)
		if (begins(address, ranges6[i].first, ranges6[i].bits))
			kind = ux_max(kind, ranges6[i].kind);
	for (size_t i = 0; i < ux_countof(carriers); i++) {
		uint32_t carried = 0;
		if (!begins(address, carriers[i].first, carriers[i].bits))
			continue;
		for (unsigned k = 0; k < 4; k++)
			carried = carried << 8 |
				  (uint8_t)(address[carriers[i].at + k] ^ carriers[i].invert);
		kind = ux_max(kind, kind4(carried));
	}
	return kind;
}

enum ux_address_kind ux_address_kind(const struct sockaddr *address, socklen_t size)
{
	if (address->sa_family == AF_INET && size >= sizeof(struct sockaddr_in)) {
		struct sockaddr_in in;
		memcpy(&in, address, sizeof(in));
		return kind4(ntohl(in.sin_addr.s_addr));
	}
	if (address->sa_family == AF_INET6 && size >= sizeof(struct sockaddr_in6)) {
		struct sockaddr_in6 in;
		memcpy(&in, address, sizeof(in));
		return kind6(in.sin6_addr.s6_addr);
	}
	return UX_ADDRESS_NEVER;
}
